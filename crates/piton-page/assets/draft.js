// The draft: kept in this browser with every letter, and on the server a second later for other devices. The
// newer one is shown and the other one offered. It goes when the server has the message, not when it is sent.

import { byId, conversation, size } from "./page.js";

const PUT_MS = 1_000;
const ANSWER_MS = 5_000; // a message waits for a draft that is on its way
const OFFERED_LETTERS = 80;
const key = () => `piton-draft-${conversation() || "new"}`;
const address = () => `/c/${encodeURIComponent(conversation())}/draft`;
export const saved = (words) => { if (byId("saved")) byId("saved").textContent = words; };

// What is kept here: the text, when it was typed, which draft of the server it goes on from, and whether it
// differs from that one.
const NONE = { text: "", changed: 0, at: 0, differs: false };
function kept() {
  try { return { ...NONE, ...JSON.parse(localStorage.getItem(key())) }; } catch { return NONE; }
}
function keep(draft) {
  try { localStorage.setItem(key(), JSON.stringify(draft)); return true; } catch { return false; }
}
function typed() {
  const { value } = byId("draft");
  const isKept = keep({ ...kept(), text: value, changed: Date.now(), differs: true });
  saved(!value ? "" : isKept ? "draft kept" : `not kept: this browser has no room for ${size(value.length)}`);
  later();
}

// ---- on the server

let timer = 0;
let putting = Promise.resolve();
function later() {
  clearTimeout(timer);
  if (conversation()) timer = setTimeout(() => { putting = put(); }, PUT_MS);
}
async function put() {
  timer = 0;
  const sent = kept();
  const body = JSON.stringify({ text: sent.text });
  const headers = { Piton: "module", "Content-Type": "application/json" };
  const answer = await fetch(address(), { method: "PUT", body, headers, keepalive: body.length < 60_000, signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  if (!answer?.ok) return; // it is kept here, and tried again with the next letter or the next page
  const { at } = await answer.json();
  const now = kept();
  keep({ ...now, at, differs: now.text !== sent.text });
}
async function compare() {
  const answer = await fetch(address(), { headers: { Piton: "module" }, signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
  if (!answer?.ok) return;
  const [there, here] = [await answer.json(), kept()];
  if (there.text === here.text) { keep({ ...here, at: there.at, differs: false }); return; }
  if (here.differs && here.at === there.at) { later(); return; } // it goes on from what the server has
  const isNewer = there.text ? !here.text || here.changed < there.at : !here.differs && here.at > 0;
  if (!isNewer) { offer(there.text); later(); return; }
  show(there.text);
  keep({ ...NONE, text: there.text, changed: there.at, at: there.at });
  offer(here.text);
}

// ---- on the page

function show(text) {
  byId("draft").value = text;
}
// The draft that is not shown is not lost: a line above the composer has it.
function offer(text) {
  byId("other-draft")?.remove();
  if (!text.trim()) return;
  const [line, words] = [document.createElement("p"), document.createElement("span")];
  [line.id, line.className] = ["other-draft", "other-draft"];
  const shown = text.length > OFFERED_LETTERS ? `${text.slice(0, OFFERED_LETTERS)}…` : text;
  [words.textContent, words.dir] = [`Another draft: ${shown}`, "auto"];
  const button = (name, act) => {
    const it = document.createElement("button");
    [it.type, it.className, it.textContent] = ["button", "b plain", name];
    it.addEventListener("click", () => { line.remove(); act(); byId("draft").focus(); });
    return it;
  };
  const use = () => { const now = byId("draft").value; show(text); typed(); offer(now); };
  line.append(words, button("Use it", use), button("Drop it", () => {}));
  byId("draft").before(line);
}
export function restoreDraft() {
  const draft = byId("draft");
  if (!draft) return;
  if (!draft.value) show(kept().text);
  draft.addEventListener("input", typed);
  if (conversation()) compare();
}
// Nothing is on its way to the server any more that could come after the message itself; which draft of the
// server the message goes on from.
export async function rest() {
  clearTimeout(timer);
  timer = 0;
  await putting;
  return kept().at;
}
// The server has the message. What was typed meanwhile is the next draft.
export function sentDraft(text) {
  const draft = byId("draft");
  if (draft.value === text) show("");
  keep({ ...NONE, text: draft.value, changed: Date.now(), differs: true });
  if (draft.value) later();
}
// Another tab has sent it, or goes on with it: a tab that shows the same goes along.
addEventListener("storage", (event) => {
  if (event.key !== key() || !byId("draft")) return;
  try { if (JSON.parse(event.oldValue)?.text === byId("draft").value) show(kept().text); } catch { /* nothing was kept */ }
});
addEventListener("pagehide", () => { if (timer) { clearTimeout(timer); put(); } });
