// The page's module: takes frames, follows the end, keeps what a person typed, and comes back by itself.
// Without it every form is a plain POST and every fold a link. This file has clicks and keys, and begins.

import { post, sendDraft } from "./composer.js";
import { restoreDraft } from "./draft.js";
import { focusOn, isForced, movedByPerson } from "./hands.js";
import { mentionKey } from "./mention.js";
import { alarm, byId, localise, note, root, say, showBell, takeBell } from "./page.js";
import { toEnd, watch } from "./scroll.js";
import { connect, earlier, foldedByHand, isYoung, load } from "./stream.js";

// ---- clicks

async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch {
    // Only loopback and HTTPS have a clipboard: elsewhere a selection does it.
    const [area, focused] = [document.createElement("textarea"), document.activeElement];
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    focused?.focus({ preventScroll: true });
  }
  say("Copied.");
}
// Text as it was written, not as it is drawn.
async function source(button) {
  const what = button.dataset.copy;
  if (what === "code") return button.closest("figure").querySelector("code").textContent;
  if (what === "unsent") return button.closest(".unsent").querySelector("textarea").value;
  if (what === "said") return button.closest(".user").querySelector(".words").textContent;
  const answer = await fetch(what, { headers: { Piton: "module" } }).catch(() => null);
  return answer?.ok ? answer.text() : null;
}
async function copyOf(button) {
  const text = await source(button);
  if (text === null) { alarm("Nothing was copied: the server does not answer."); return; }
  await copy(text);
  button.dataset.is = "done";
  setTimeout(() => { delete button.dataset.is; }, 2_000);
}
async function editFirst(button) {
  const message = byId(button.dataset.edit);
  const [draft, form] = [byId("draft"), button.form];
  const discard = form.querySelector("[data-sure]");
  if (!draft || !discard || !(await post(form, discard, new URLSearchParams(new FormData(form))))) return;
  draft.value = [message.querySelector(".words").textContent, draft.value].filter(Boolean).join("\n\n");
  draft.dispatchEvent(new Event("input", { bubbles: true }));
  draft.focus();
}
document.addEventListener("click", (event) => {
  const on = (selector) => event.target.closest(selector);
  if (on("button, a.b") && isYoung(event.target)) { event.preventDefault(); event.stopPropagation(); return; }
  if (on('[aria-disabled="true"]')) { event.preventDefault(); return; }
  for (const menu of document.querySelectorAll(".menu-of[open]")) if (!menu.contains(event.target)) menu.open = false;
  const copied = on("[data-copy]");
  if (copied) copyOf(copied);
  const loaded = on("a[data-load]");
  if (loaded) { event.preventDefault(); load(loaded.closest("details")); }
  const before = on("[data-earlier]");
  if (before) { event.preventDefault(); earlier(before); }
  const opens = on("[data-opens]");
  if (opens) {
    event.preventDefault();
    const fold = byId(opens.hash.slice(1));
    if (fold) { fold.open = true; foldedByHand.set(fold.id, true); fold.scrollIntoView({ block: "nearest" }); fold.querySelector("select, button")?.focus({ preventScroll: true }); }
  }
  const edited = on("[data-edit]");
  if (edited) editFirst(edited);
  if (on("[data-jump]")) {
    const card = byId("jump").dataset.is === "ask" ? document.querySelector(".ask h3") : null;
    if (card) { card.scrollIntoView({ block: "start" }); card.focus({ preventScroll: true }); } else toEnd();
  }
  if (on("[data-bell]")) Notification.requestPermission().then(() => { takeBell(); showBell(); });
  if (on("[data-theme-switch]")) {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    localStorage.setItem("piton-theme", root.dataset.theme);
  }
}, true);

// ---- keys: letters work only where nothing is typed; answers only on a focused card

function step(items, by) {
  const at = items.findIndex((it) => it.contains(document.activeElement));
  const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
  if (!next) return;
  const seat = next.matches("details") ? next.querySelector("summary") : next;
  focusOn(seat);
  next.scrollIntoView({ block: "nearest" });
}
const letters = {
  "/": () => byId("find")?.focus(),
  c: () => byId("draft")?.focus(),
  q: () => nextQuestion(),
  e: toEnd,
  j: () => step([...document.querySelectorAll(".log .at:not([hidden])")], 1),
  k: () => step([...document.querySelectorAll(".log .at:not([hidden])")], -1),
  "[": () => neighbour(-1),
  "]": () => neighbour(1),
  // An open question offers these two on its buttons: the first one goes to it, the second one answers.
  n: () => { if (document.querySelector(".ask")) letters.q(); else location.href = "/new"; },
  y: () => letters.q(),
  "?": () => byId("keys")?.showModal(),
};
// The question behind the one that has the focus, else the first one.
function nextQuestion() {
  const cards = [...document.querySelectorAll(".ask h3")];
  const at = cards.findIndex((it) => it.closest(".ask").contains(document.activeElement));
  const card = cards[(at + 1) % cards.length];
  card?.scrollIntoView({ block: "start" });
  card?.focus({ preventScroll: true });
}
function neighbour(by) {
  const all = [...document.querySelectorAll(".conv")];
  const at = all.findIndex((it) => it.getAttribute("aria-current") === "page");
  all[at + by]?.click();
}
function composerKey(event) {
  if (event.key === "Escape") { event.target.blur(); return; }
  if (event.key === "ArrowUp" && !event.target.value) {
    const last = document.querySelector(".queue li:last-child .edit-of");
    if (last) { event.preventDefault(); last.open = true; foldedByHand.set(last.id, true); last.querySelector("textarea")?.focus(); }
    return;
  }
  if (event.key !== "Enter" || event.shiftKey || matchMedia("(pointer: coarse)").matches) return;
  event.preventDefault();
  const composer = byId("composer");
  if (!composer) { event.target.form.requestSubmit(); return; } // a conversation that has not begun
  const isBusy = composer.dataset.is === "busy";
  sendDraft(isBusy ? (event.ctrlKey || event.metaKey ? "steer" : "next") : "now");
}
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return; // a word is being composed
  const far = event.ctrlKey || event.metaKey;
  if (far && event.key === "k") { event.preventDefault(); byId("find")?.focus(); return; }
  if (far && event.key === ".") { event.preventDefault(); document.querySelector("[data-stop]")?.click(); return; }
  if (event.target.id === "draft" && mentionKey(event)) return;
  if (event.target.id === "draft") { composerKey(event); return; }
  const typing = event.target.closest("input, textarea, select, dialog");
  if (event.key === "Escape") for (const menu of document.querySelectorAll(".menu-of[open]")) menu.open = false;
  if (event.key === "Escape" && event.target.closest(".ask")) { byId("draft")?.focus(); return; } // closing is not answering
  if (typing || far || event.altKey || localStorage.getItem("piton-no-letters")) return;
  // The page has moved the focus under hands that type: only the key that goes to a question does something.
  if (event.key === "q") movedByPerson();
  if (isForced()) return;
  const card = event.target.closest(".ask");
  const word = { y: "yes", n: "no" }[event.key];
  if (card && word) {
    event.preventDefault();
    card.querySelector(`button[value="${word}"]`)?.click();
    return;
  }
  if (card && event.key === "a") { const fold = card.querySelector(".rules:last-of-type"); if (fold) fold.open = true; return; }
  const said = event.target.closest(".user, .text");
  const onItem = said && { y: "[data-copy]", f: 'form[action$="/fork"] button', r: ".retry button.main, .again > summary" }[event.key];
  if (onItem && said.querySelector(onItem)) { event.preventDefault(); said.querySelector(onItem).click(); return; }
  const act = letters[event.key];
  if (act) { event.preventDefault(); act(); }
});

// ---- begin

root.dataset.module = "on";
const theme = localStorage.getItem("piton-theme");
if (theme) root.dataset.theme = theme;
if (byId("no-letters")) byId("no-letters").checked = Boolean(localStorage.getItem("piton-no-letters"));
localise(document);
takeBell();
showBell();
restoreDraft();
watch();
note();
if (byId("list")) connect();
