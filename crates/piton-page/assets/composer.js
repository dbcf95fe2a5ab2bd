// What a person sends: forms without leaving the page, the composer with its draft, and files.

import { rest, saved, sentDraft } from "./draft.js";
import { answers, rescue, takesBack } from "./hands.js";
import { byId, conversation, root, say, size } from "./page.js";
import { toEnd } from "./scroll.js";
import { isYoung, load } from "./stream.js";

// ---- forms: sent without leaving the page; what is refused is said beside the button

const GONE = "The server does not answer. Nothing was sent; try again.";
const WAIT_MS = 10_000;
const ANSWER_MS = 40_000; // longer than the server waits for a whole body
document.addEventListener("submit", async (event) => {
  const [form, button] = [event.target, event.submitter];
  if (form.method !== "post" || form.action.endsWith("/sign-in")) return;
  event.preventDefault();
  if (form.id === "composer" && !button?.hasAttribute("formaction")) { sendDraft(button?.value ?? "now"); return; }
  if (button?.getAttribute("aria-disabled") === "true" || isYoung(form)) return;
  if (form.action.endsWith("/new")) { // with its files
    const text = byId("draft").value;
    if (await post(form, button, new FormData(form, button))) sentDraft(text);
    return;
  }
  if (button?.dataset.sure && !(await isSure(button.dataset.sure))) return;
  const data = new URLSearchParams();
  if (form.id === "composer") data.set(button.name, button.value);
  else for (const [name, value] of new FormData(form, button)) if (typeof value === "string") data.append(name, value);
  if (button?.hasAttribute("data-stop")) button.querySelector(".word").textContent = "Stopping";
  await post(form, button, data);
});
export async function post(form, button, data) {
  const controls = [...form.querySelectorAll("button, a.b")];
  const free = () => controls.forEach((it) => { it.removeAttribute("aria-disabled"); it.removeAttribute("aria-busy"); });
  controls.forEach((it) => it.setAttribute("aria-disabled", "true"));
  button?.setAttribute("aria-busy", "true");
  form.querySelector(".refused")?.remove();
  if (form.matches(".ask")) answers(form); // the stream may close the card before the server has answered here
  const problem = await deliver(button?.getAttribute("formaction") ?? form.getAttribute("action"), data);
  if (problem === null) {
    const fold = form.closest("details");
    if (fold) load(fold); // a preview is read again: what was pressed has changed it
    setTimeout(free, WAIT_MS);
    return true;
  }
  free();
  takesBack(form);
  if (form.isConnected) refuse(form, problem);
  else { rescue(form); saved(problem); } // closed elsewhere meanwhile
  return false;
}
// Null if it was taken, else words.
async function deliver(address, data) {
  try {
    const answer = await fetch(address, { method: "POST", body: data, headers: { Piton: "module" }, signal: AbortSignal.timeout(ANSWER_MS) });
    if (answer.ok) {
      const to = answer.headers.get("Location");
      if (to) location.href = to;
      return null;
    }
    if (answer.status === 401) return "You are signed out. Sign in again; what you typed is kept here.";
    const { error } = await answer.json();
    return [error.message, error.hint].filter(Boolean).join(" ");
  } catch (error) {
    if (error.name === "TimeoutError") return "The server did not answer in time. It may have taken this: look before you try again.";
    return GONE;
  }
}
function refuse(form, words) {
  const line = document.createElement("p");
  line.className = "refused wrong";
  if (words === GONE) line.dataset.of = "lost"; // taken away when the server is back
  line.setAttribute("role", "alert");
  line.textContent = words;
  form.append(line);
}
function isSure(words) {
  const dialog = byId("sure");
  if (!dialog?.showModal) return Promise.resolve(true);
  byId("sure-h").textContent = words;
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.matches("select.model")) for (const other of document.querySelectorAll("select.model")) other.value = field.value;
  const what = field.dataset?.sets ?? (field.matches(".retry select.model") ? "model" : "");
  if (what && conversation()) deliver(`/c/${encodeURIComponent(conversation())}/model`, new URLSearchParams({ [what]: field.value })).then((problem) => problem && saved(problem));
  if (field.type === "file" && byId("files")) { for (const file of field.files) attach(file); field.value = ""; }
  if (field.id === "no-letters") localStorage.setItem("piton-no-letters", field.checked ? "yes" : "");
});

// ---- composer: the draft stays until the server has the message

let messageId = "";
let files = []; // { name, element, blob, error, request }
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return [...bytes].map((byte) => "0123456789abcdefghjkmnpqrstvwxyz"[byte % 32]).join("");
}
document.addEventListener("input", (event) => { if (event.target.id === "draft") messageId = ""; }); // another text is another message
export async function sendDraft(how) {
  const [draft, form] = [byId("draft"), byId("composer")];
  const busy = files.filter((file) => !file.blob && !file.error).length;
  if (busy) { saved(`${busy} file${busy > 1 ? "s are" : " is"} still uploading`); return; }
  const bad = files.filter((file) => file.error);
  if (bad.length) {
    const words = `Not sent: ${bad.map((file) => file.name).join(", ")} could not be attached. Remove ${bad.length > 1 ? "them" : "it"} to send without.`;
    form.querySelector(".refused")?.remove();
    refuse(form, words);
    return;
  }
  const good = files.filter((file) => file.blob);
  if (!draft.value.trim() && !good.length) return;
  messageId ||= newId();
  const data = new URLSearchParams({ text: draft.value, how, id: messageId });
  for (const name of ["model", "permissions"]) if (form.elements[name]) data.set(name, form.elements[name].value);
  for (const file of good) data.append("blob", JSON.stringify(file.blob));
  const text = draft.value;
  data.set("draft", await rest());
  const sent = await post(form, byId("send").querySelector(".main"), data);
  byId("send").querySelectorAll("button").forEach((it) => { it.removeAttribute("aria-disabled"); it.removeAttribute("aria-busy"); });
  if (!sent) { saved("kept here; not sent"); return; }
  messageId = "";
  sentDraft(text);
  files.forEach((file) => file.element.remove());
  files = [];
  byId("files").hidden = true;
  saved("");
  say(how === "now" ? "Sent." : how === "steer" ? "Steered." : "Queued.");
  toEnd();
}
function attach(file) {
  const list = byId("files");
  if (!list) return;
  const most = Number(root.dataset.fileBytes ?? 0);
  const [chip, name, about, bar, off] = ["li", "span", "small", "progress", "button"].map((tag) => document.createElement(tag));
  chip.className = "file";
  name.textContent = file.name;
  about.textContent = size(file.size);
  [bar.max, bar.value] = [100, 0];
  bar.setAttribute("aria-label", `Uploading ${file.name}`);
  [off.type, off.className, off.textContent] = ["button", "b plain icon", "×"];
  off.setAttribute("aria-label", `Remove ${file.name}`);
  chip.append(name, about, bar, off);
  list.append(chip);
  list.hidden = false;
  const kept = { name: file.name, element: chip, blob: null, error: "", request: null };
  files.push(kept);
  const fail = (words) => { kept.error = words; chip.dataset.is = "bad"; about.textContent = words; bar.remove(); };
  off.addEventListener("click", () => {
    kept.request?.abort();
    files = files.filter((it) => it !== kept);
    if (kept.error) byId("composer").querySelector(".refused")?.remove();
    chip.remove();
    list.hidden = !files.length;
    byId("draft").focus();
  });
  if (most && file.size > most) { fail(`${size(file.size)}: the limit is ${size(most)}`); return; }
  const request = new XMLHttpRequest(); // fetch tells no progress
  kept.request = request;
  request.open("POST", `/api/v1/blobs?name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
  request.upload.addEventListener("progress", (event) => { bar.value = (event.loaded / event.total) * 100; });
  request.addEventListener("load", () => {
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* told below */ }
    if (request.status >= 300) { fail(answer.error?.message ?? "not taken"); return; }
    kept.blob = { ...answer, name: file.name };
    bar.remove();
  });
  request.addEventListener("error", () => fail("the upload broke off"));
  request.send(file);
}
const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragover", (event) => { if (hasFiles(event)) { event.preventDefault(); byId("composer")?.classList.add("drop"); } });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) byId("composer")?.classList.remove("drop"); });
addEventListener("drop", (event) => {
  if (!hasFiles(event) || !byId("composer")) return;
  event.preventDefault();
  byId("composer").classList.remove("drop");
  for (const file of event.dataTransfer.files) attach(file);
});
addEventListener("paste", (event) => {
  if (!event.clipboardData?.files.length || !byId("composer")) return;
  event.preventDefault();
  for (const file of event.clipboardData.files) attach(file);
});
