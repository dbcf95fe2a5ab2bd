// The page's module: takes frames, follows the end, keeps what a person typed, and comes back by itself.
// Without it every form is a plain POST and every fold a link. It keeps no truth: what is shown comes from
// the server, and a page that lost its way asks for all of it again.

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const main = () => byId("main");
const conversation = () => main()?.dataset.conversation ?? "";
const isLast = () => main()?.dataset.window === "last";
root.dataset.module = "on";

// ---- HTML from the server: one policy, one function

const asIs = { createHTML: (html) => html };
const policy = globalThis.trustedTypes?.createPolicy("piton", asIs) ?? asIs;
function parse(html) {
  const box = document.createElement("template");
  box.innerHTML = policy.createHTML(html);
  localise(box.content);
  return box.content;
}

// ---- frames: [op, id, html or text or value, length or name]

const ATTRIBUTES = ["aria-busy", "data-is", "hidden", "placeholder"];
const YOUNG_MS = 600; // a control that has just appeared takes no click: a moving page must not answer for you
const MISSING_MAX = 3;
const MISSING_MS = 60_000;
const foldedByHand = new Map(); // id of a fold -> open, as a person left it
const touchedFields = new WeakSet(); // fields that a person changed
const madeOf = new WeakMap(); // element -> the HTML it was made of
const born = new WeakMap(); // element -> when it appeared
const waiting = new Map(); // id -> operation that waits for a selection to go
let missing = [];

// A fold that a patch brings opens by itself and says so: only a click is a person's word.
document.addEventListener("click", (event) => {
  const fold = event.target.closest("summary")?.parentElement;
  if (fold?.id && !event.defaultPrevented) foldedByHand.set(fold.id, !fold.open);
});
document.addEventListener("toggle", (event) => { if (event.target.open && event.target.id) load(event.target); }, true);
document.addEventListener("input", (event) => {
  const field = event.target;
  touchedFields.add(field);
  if (field.name !== "own" || !field.value) return;
  const other = field.form?.querySelector('input[type="radio"][name="text"][value=""]');
  if (other) { other.checked = true; touchedFields.add(other); } // own words are an answer: no option that was offered takes their place
}, true);
document.addEventListener("selectionchange", () => {
  if (!waiting.size || !getSelection()?.isCollapsed) return;
  const late = [...waiting.values()];
  waiting.clear();
  take(late);
});

function isSelected(element) {
  const selection = getSelection();
  return selection && !selection.isCollapsed && selection.containsNode(element, true);
}
function target(id) {
  const element = byId(id);
  if (!element) {
    missing = [...missing.filter((at) => Date.now() - at < MISSING_MS), Date.now()];
    root.dataset.missing = Number(root.dataset.missing ?? 0) + 1;
    if (missing.length >= MISSING_MAX) { missing = []; readAgain(); }
  }
  return element;
}
function isNew(fragment) {
  for (const child of [...fragment.children]) if (child.id && byId(child.id)) child.remove();
  for (const child of fragment.children) born.set(child, Date.now());
  return fragment;
}
function keepChoices(old, fresh) {
  for (const fold of fresh.querySelectorAll("details[id]")) {
    if (foldedByHand.has(fold.id)) fold.open = foldedByHand.get(fold.id);
  }
  for (const field of old.querySelectorAll("input, textarea, select")) {
    if (!touchedFields.has(field) || !field.name) continue;
    const same = [...fresh.querySelectorAll(`[name="${CSS.escape(field.name)}"]`)];
    const other = same.find((it) => it.type !== "radio" || it.value === field.value);
    if (!other) continue;
    if (field.type === "radio" || field.type === "checkbox") other.checked = field.checked;
    else if (field.type !== "file") other.value = field.value;
    touchedFields.add(other);
  }
}
const ops = {
  replace(id, html, length) {
    const old = target(id);
    if (!old || madeOf.get(old) === html) return;
    if (length !== undefined && Number(old.dataset.len ?? 0) > length) return; // text never shrinks
    if (isSelected(old)) { waiting.set(id, ["replace", id, html, length]); return; }
    const fresh = parse(html);
    const element = fresh.firstElementChild;
    if (!element) return;
    keepChoices(old, fresh);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const caret = focused?.selectionStart === undefined ? null : [focused.selectionStart, focused.selectionEnd];
    if (old.tagName !== element.tagName || old.hidden) born.set(element, Date.now());
    if (length !== undefined) element.dataset.len = length;
    madeOf.set(element, html);
    old.replaceWith(fresh);
    if (element.open) load(element);
    if (focused) refocus(element, focused, caret);
  },
  append(id, html) { target(id)?.append(isNew(parse(html))); },
  prepend(id, html) { target(id)?.prepend(isNew(parse(html))); },
  before(id, html) { target(id)?.before(isNew(parse(html))); },
  remove(id) {
    const old = target(id);
    if (!old) return;
    const turn = old.contains(document.activeElement) ? old.closest(".turn") : null;
    old.remove();
    if (turn?.isConnected) focusOn(turn.querySelector("h2, h3"));
  },
  text(id, text) {
    const element = target(id);
    if (!element || element.textContent === text) return;
    const atEnd = rest(element) < 8;
    element.textContent = text;
    if (atEnd) element.scrollTop = element.scrollHeight;
  },
  attr(id, value, name) {
    const element = ATTRIBUTES.includes(name) ? target(id) : null;
    if (!element) return;
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  },
};
function focusOn(element) {
  if (!element) return;
  if (!element.matches("a, button, input, select, textarea, summary, [tabindex]")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}
function refocus(element, focused, caret) {
  const same = (focused.id && byId(focused.id)) ||
    (focused.name && element.querySelector(`[name="${CSS.escape(focused.name)}"][value="${CSS.escape(focused.value)}"]`));
  if (same) {
    same.focus({ preventScroll: true });
    if (caret && same.setSelectionRange) try { same.setSelectionRange(...caret); } catch { /* a field without one */ }
  } else if (element.matches(".asked")) {
    focusOn(document.querySelector(".ask h3") ?? byId("draft")); // answered: to the next question
  } else focusOn(element.closest(".turn")?.querySelector("h3"));
}
function take(batch) {
  for (const [op, ...rest] of batch) ops[op]?.(...rest);
}
// In the order in which they came; before the next picture, or at once where nobody looks.
const queue = [];
function soon(batch) {
  queue.push(batch);
  if (document.hidden) flush();
  else if (queue.length === 1) requestAnimationFrame(flush);
}
function flush() {
  for (const batch of queue.splice(0)) apply(batch);
}
function apply(batch) {
  const box = scroller();
  const held = anchor(box);
  take(batch);
  if (box && readers.get(box).follow) prune(box);
  keep(box, held);
  note();
}

// ---- scrolling: follow at the end, else hold the first visible item where it is

const NEAR_END_PX = 48;
const readers = new WeakMap(); // scroller -> { follow, top, seen }
const rest = (box) => box.scrollHeight - box.scrollTop - box.clientHeight;
const scroller = () => document.querySelector("[data-follow]");

// Any move up ends following, a move down to the end begins it; growth changes nothing. Looked at before every
// frame: a flag that an event handler sets later loses the race with a frame.
function look(box) {
  const reader = readers.get(box);
  if (box.scrollTop < reader.top - 1 && rest(box) > 1) reader.follow = false;
  else if (box.scrollTop > reader.top && rest(box) < NEAR_END_PX) reader.follow = true;
  reader.top = box.scrollTop;
  if (reader.follow) reader.seen = box.querySelectorAll(".at").length;
  return reader;
}
function anchor(box) {
  if (!box || look(box).follow) return null;
  const top = box.getBoundingClientRect().top;
  const item = [...box.querySelectorAll(".at")].find((at) => at.id && at.getBoundingClientRect().bottom > top);
  return item && { id: item.id, y: item.getBoundingClientRect().top };
}
function keep(box, held) {
  if (!box) return;
  const reader = readers.get(box);
  if (reader.follow) box.scrollTop = box.scrollHeight;
  else if (held && byId(held.id)) box.scrollTop += byId(held.id).getBoundingClientRect().top - held.y;
  reader.top = box.scrollTop;
  showJump(box, reader);
}
function watch() {
  const box = scroller();
  if (!box || readers.has(box)) return;
  readers.set(box, { follow: isLast(), top: 0, seen: 0 });
  box.addEventListener("scroll", () => { const reader = look(box); showJump(box, reader); }, { passive: true });
  const resized = new ResizeObserver(() => keep(box, null));
  resized.observe(box);
  resized.observe(box.firstElementChild);
  keep(box, null);
}
// A reader at the end of a long page does not need its beginning: it can be asked for again.
const ITEMS_MAX = 400;
function prune(box) {
  const turns = [...box.querySelectorAll(".log > .turn")]; // those of workers are within
  let items = box.querySelectorAll(".at").length;
  const last = turns.pop();
  while (items > ITEMS_MAX && turns.length) {
    const gone = turns.shift();
    items -= gone.querySelectorAll(".at").length;
    gone.remove();
    const older = byId("older");
    const first = (turns[0] ?? last).id.slice(1);
    older.setAttribute("href", `/c/${encodeURIComponent(conversation())}/earlier?before=${first}`);
    older.dataset.earlier = "";
    older.textContent = "↑ earlier turns";
    older.hidden = false;
  }
}
function toEnd() {
  const box = scroller();
  if (!box) return;
  readers.get(box).follow = true;
  keep(box, null);
}
function showJump(box, reader) {
  const jump = byId("jump");
  if (!jump) return;
  const open = [...box.querySelectorAll(".ask")].find((card) => {
    const [its, all] = [card.getBoundingClientRect(), box.getBoundingClientRect()];
    return its.bottom < all.top || its.top > all.bottom;
  });
  const count = box.querySelectorAll(".at").length - reader.seen;
  const words = open ? "A question waits for you" : count > 0 ? `To the end · ${count} new` : "To the end";
  jump.hidden = (reader.follow || rest(box) < NEAR_END_PX) && !open;
  jump.dataset.is = open ? "ask" : "";
  jump.querySelector("span").textContent = words;
}

// ---- what ears hear: boundaries only

let lastSaid = 0;
let saying = 0;
function say(words) {
  clearTimeout(saying);
  saying = setTimeout(() => { byId("say").textContent = words; lastSaid = Date.now(); }, Math.max(300, lastSaid + 500 - Date.now()));
}
const alarm = (words) => { byId("alarm").textContent = words; };
let noted = { state: "", asks: 0 };
function note() {
  const state = byId("bar-state")?.dataset.is ?? "";
  const asks = document.querySelectorAll(".ask").length;
  if (asks > noted.asks) alarm(`Waits for you: ${document.querySelector(".ask h3")?.textContent ?? ""}`);
  else if (state !== noted.state && noted.state) say({ running: "Answer begins.", done: "Answer complete.", bad: "Failed.", halt: "Interrupted." }[state] ?? "");
  noted = { state, asks };
  ring();
  const needs = document.querySelectorAll('.conv[data-is="ask"]').length;
  const title = byId("bar-title")?.querySelector("h1")?.textContent;
  if (byId("asks") && location.search === "") byId("asks").textContent = needs || "";
  document.title = `${needs ? `(${needs}) ` : ""}${title ? `${title} · ` : ""}piton`;
  for (const link of document.querySelectorAll(".conv")) {
    if (link.getAttribute("href") === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// ---- the stream: one for a tab; noticed when it is silent, and opened again

const SILENT_MS = 25_000;
const HIDDEN_MS = 60_000;
const BAR_MS = 2_000;
const BACKOFF_MS = [500, 15_000];
let source = null;
let cursor = [Number(main()?.dataset.cursor ?? 0), Number(root.dataset.list || 0)];
let heard = Date.now();
let lostAt = 0;
let tries = 0;
let retry = 0;

function connect() {
  source?.close();
  clearTimeout(retry);
  const address = new URL("/page/stream", location);
  if (conversation() && isLast()) address.searchParams.set("c", conversation());
  address.searchParams.set("after", cursor.join("."));
  source = new EventSource(address);
  heard = Date.now();
  const on = (name, act) => source.addEventListener(name, (event) => {
    heard = Date.now();
    found();
    act(event);
  });
  on("hello", (event) => {
    const { build } = JSON.parse(event.data);
    if (build && root.dataset.build && build !== root.dataset.build) bar("piton was updated.", "Reload", () => location.reload());
  });
  on("patch", (event) => durable(event, 0));
  on("list", (event) => durable(event, 1));
  on("live", (event) => soon(JSON.parse(event.data)));
  on("beat", () => {});
  on("reset", (event) => { moveTo(event.lastEventId); readAgain(); });
  on("bye", () => lost());
  source.addEventListener("error", () => lost());
}
function durable(event, which) {
  const at = Number(event.lastEventId.split(".")[which]);
  if (!(at > cursor[which])) return; // seen already
  cursor[which] = at;
  soon(JSON.parse(event.data));
}
function moveTo(id) {
  const [c, l] = id.split(".").map(Number);
  cursor = [c || cursor[0], l || cursor[1]];
}
function found() {
  if (lostAt && Date.now() - lostAt > BAR_MS) alarm("The server is back.");
  [lostAt, tries] = [0, 0];
  root.dataset.link = "on";
  if (byId("link")?.dataset.of === "lost") hideBar();
}
function lost() {
  source?.close();
  root.dataset.link = "off";
  lostAt ||= Date.now();
  clearTimeout(retry);
  const [least, most] = BACKOFF_MS;
  const wait = Math.min(most, least * 2 ** tries++) * (0.75 + Math.random() / 2);
  retry = setTimeout(connect, wait);
  setTimeout(async () => {
    if (!lostAt || document.hidden) return;
    const answer = await fetch("/", { method: "HEAD", headers: { Piton: "module" }, redirect: "manual" }).catch(() => null);
    if (!lostAt) return;
    if (answer?.status === 401 || answer?.type === "opaqueredirect") bar("You are signed out. What you typed is kept here.", "Sign in", () => { location.href = "/sign-in"; });
    else bar("The server does not answer. Commands and finished work are safe.", "Try now", connect, "lost");
  }, Math.max(0, lostAt + BAR_MS - Date.now()));
}
function bar(words, button, act, of = "") {
  const box = byId("link");
  if (!box) return;
  if (box.dataset.of === of && !box.hidden && box.firstElementChild?.textContent === words) return;
  const [text, press] = [document.createElement("div"), document.createElement("button")];
  text.textContent = words;
  press.textContent = button;
  press.className = "b push";
  press.type = "button";
  press.addEventListener("click", act);
  box.replaceChildren(text, press);
  box.className = "notice bad";
  box.dataset.of = of;
  box.setAttribute("role", "alert");
  box.hidden = false;
}
function hideBar() {
  const box = byId("link");
  if (box) [box.hidden, box.dataset.of] = [true, ""];
}
let reading = false;
async function readAgain() {
  if (reading || !conversation()) return;
  reading = true;
  try {
    const answer = await fetch(`/c/${encodeURIComponent(conversation())}/main`, { headers: { Piton: "module" } });
    if (!answer.ok) return;
    const fresh = parse(await answer.text()).querySelector("#main");
    const at = Number(fresh?.dataset.cursor ?? 0);
    if (!fresh || at < cursor[0]) return;
    cursor[0] = at;
    const box = scroller();
    const held = anchor(box);
    keepChoices(main(), fresh);
    for (const id of ["bar", "log", "imported", "covered", "undone", "plan", "queue", "model-of", "mode-of", "send"]) {
      const next = fresh.querySelector(`#${id}`);
      if (next) byId(id)?.replaceWith(next);
    }
    const draft = fresh.querySelector("#draft");
    if (draft && byId("draft")) byId("draft").placeholder = draft.placeholder;
    const composer = fresh.querySelector("#composer");
    if (composer && byId("composer")) byId("composer").dataset.is = composer.dataset.is;
    keep(box, held);
    note();
    if (byId("log").querySelector("[data-worker]")) connect(); // what workers did comes with a new stream
  } finally { reading = false; }
}

setInterval(() => { if (!document.hidden && source && Date.now() - heard > SILENT_MS) { lost(); } }, 5_000);
let hideTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) { flush(); hideTimer = setTimeout(() => { if (!rings) { source?.close(); source = null; } }, HIDDEN_MS); }
  else if (!source || Date.now() - heard > 30_000) connect();
});
addEventListener("online", connect);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });

// ---- notifications: asked for by a click, rung by one tab, and only when nobody looks at any

let rings = false;
const seenKey = "piton-seen";
let needing = new Map(); // conversation -> where it stands
function ring() {
  const now = new Map([...document.querySelectorAll(".conv")].map((link) => [link.getAttribute("href"), link]));
  const isSeen = !document.hidden || Date.now() - Number(localStorage.getItem(seenKey) ?? 0) < 10_000;
  for (const [address, link] of now) {
    const [was, is] = [needing.get(address), link.dataset.is];
    const words = { ask: "waits for you", bad: "failed", halt: "interrupted", done: was === "running" ? "done" : "" }[is];
    if (!rings || isSeen || !was || was === is || !words) continue;
    const bell = new Notification(link.querySelector(".conv-title").textContent, { body: words, tag: address });
    bell.addEventListener("click", () => { focus(); location.href = address; });
  }
  needing = new Map([...now].map(([address, link]) => [address, link.dataset.is]));
}
function takeBell() {
  if (globalThis.Notification?.permission !== "granted" || !navigator.locks) return;
  navigator.locks.request("piton-bell", () => { rings = true; return new Promise(() => {}); }); // held as long as the tab lives
}
function showBell() {
  const button = document.querySelector("[data-bell]");
  if (button) button.hidden = !globalThis.Notification || !navigator.locks || Notification.permission !== "default";
}

// ---- forms: sent without leaving the page; what is refused is said beside the button

const WAIT_MS = 10_000;
const isYoung = (element) => {
  for (let at = element; at; at = at.parentElement) if (Date.now() - (born.get(at) ?? 0) < YOUNG_MS && at.matches(".ask, .halt, .at, .fail")) return true;
  return false;
};
document.addEventListener("submit", async (event) => {
  const [form, button] = [event.target, event.submitter];
  if (form.action.endsWith("/new")) sessionStorage.setItem("piton-began", "yes");
  if (form.method !== "post" || form.action.endsWith("/sign-in") || form.action.endsWith("/new")) return;
  event.preventDefault();
  if (form.id === "composer" && !button?.hasAttribute("formaction")) { sendDraft(button?.value ?? "now"); return; }
  if (button?.getAttribute("aria-disabled") === "true" || isYoung(form)) return;
  if (button?.dataset.sure && !(await isSure(button.dataset.sure))) return;
  const data = new URLSearchParams();
  if (form.id === "composer") data.set(button.name, button.value);
  else for (const [name, value] of new FormData(form, button)) if (typeof value === "string") data.append(name, value);
  if (button?.hasAttribute("data-stop")) button.querySelector(".word").textContent = "Stopping";
  await post(form, button, data);
});
async function post(form, button, data) {
  const controls = [...form.querySelectorAll("button, a.b")];
  const free = () => controls.forEach((it) => { it.removeAttribute("aria-disabled"); it.removeAttribute("aria-busy"); });
  controls.forEach((it) => it.setAttribute("aria-disabled", "true"));
  button?.setAttribute("aria-busy", "true");
  form.querySelector(".refused")?.remove();
  const problem = await deliver(button?.getAttribute("formaction") ?? form.getAttribute("action"), data);
  if (problem === null) {
    const fold = form.closest("details");
    if (fold) load(fold); // a preview is read again: what was pressed has changed it
    setTimeout(free, WAIT_MS);
    return true;
  }
  free();
  refuse(form, problem);
  return false;
}
// Null if it was taken, else words.
async function deliver(address, data) {
  try {
    const answer = await fetch(address, { method: "POST", body: data, headers: { Piton: "module" } });
    if (answer.ok) {
      const to = answer.headers.get("Location");
      if (to) location.href = to;
      return null;
    }
    if (answer.status === 401) return "You are signed out. Sign in again; what you typed is kept here.";
    const { error } = await answer.json();
    return [error.message, error.hint].filter(Boolean).join(" ");
  } catch { return "The server does not answer. Nothing was sent; try again."; }
}
function refuse(form, words) {
  const line = document.createElement("p");
  line.className = "refused wrong";
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
  if (field.type === "file") { for (const file of field.files) attach(file); field.value = ""; }
  if (field.id === "no-letters") localStorage.setItem("piton-no-letters", field.checked ? "yes" : "");
});

// ---- composer: the draft is kept here at once, and cleared when the server has the message

const draftKey = () => `piton-draft-${conversation() || "new"}`;
const saved = (words) => { if (byId("saved")) byId("saved").textContent = words; };
let messageId = "";
let files = []; // { name, element, blob, error, request }
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return [...bytes].map((byte) => "0123456789abcdefghjkmnpqrstvwxyz"[byte % 32]).join("");
}
function restoreDraft() {
  const draft = byId("draft");
  if (!draft) return;
  if (conversation() && sessionStorage.getItem("piton-began")) {
    localStorage.removeItem("piton-draft-new"); // the server has it: this page is what came of it
    sessionStorage.removeItem("piton-began");
  }
  if (!draft.value) draft.value = localStorage.getItem(draftKey()) ?? "";
  draft.addEventListener("input", () => {
    messageId = "";
    localStorage.setItem(draftKey(), draft.value);
    saved(draft.value ? "draft kept" : "");
  });
}
async function sendDraft(how) {
  const [draft, form] = [byId("draft"), byId("composer")];
  const busy = files.filter((file) => !file.blob && !file.error).length;
  if (busy) { saved(`${busy} file${busy > 1 ? "s are" : " is"} still uploading`); return; }
  const good = files.filter((file) => file.blob);
  if (!draft.value.trim() && !good.length) return;
  messageId ||= newId();
  const data = new URLSearchParams({ text: draft.value, how, id: messageId });
  for (const name of ["model", "permissions"]) if (form.elements[name]) data.set(name, form.elements[name].value);
  for (const file of good) data.append("blob", JSON.stringify(file.blob));
  const text = draft.value;
  const sent = await post(form, byId("send").querySelector(".main"), data);
  byId("send").querySelectorAll("button").forEach((it) => { it.removeAttribute("aria-disabled"); it.removeAttribute("aria-busy"); });
  if (!sent) { saved("kept here; not sent"); return; }
  messageId = "";
  if (draft.value === text) draft.value = "";
  localStorage.setItem(draftKey(), draft.value);
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
const size = (bytes) => bytes < 1024 ? `${bytes} bytes` : bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
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

// ---- what is loaded when it is opened

async function load(fold) {
  const link = fold.querySelector(":scope > .call-body > [data-load]");
  if (!link || link.dataset.load === "now") return;
  link.dataset.load = "now";
  const answer = await fetch(link.href, { headers: { Piton: "module" } }).catch(() => null);
  if (!answer?.ok) { link.dataset.load = ""; link.textContent = "Could not be loaded. Try again."; return; }
  const html = await answer.text();
  const body = byId(fold.id)?.querySelector(":scope > .call-body");
  if (!body) return;
  const held = anchor(scroller());
  body.replaceChildren(parse(html));
  keep(scroller(), held);
}
async function earlier(link) {
  if (link.getAttribute("aria-busy")) return;
  link.setAttribute("aria-busy", "true");
  const answer = await fetch(link.href, { headers: { Piton: "module" } }).catch(() => null);
  if (!answer?.ok) { link.removeAttribute("aria-busy"); return; }
  const fresh = parse(await answer.text());
  const held = anchor(scroller());
  byId("older")?.replaceWith(fresh);
  keep(scroller(), held);
}

// ---- clicks

async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch {
    // Only loopback and HTTPS have a clipboard: elsewhere a selection does it.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied.");
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
  if (copied) copy((copied.dataset.copy === "code" ? copied.closest("figure").querySelector("code") : copied.closest(".user").querySelector(".words")).textContent);
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
  q: () => { const card = document.querySelector(".ask h3"); card?.scrollIntoView({ block: "start" }); card?.focus({ preventScroll: true }); },
  e: toEnd,
  j: () => step([...document.querySelectorAll(".log .at:not([hidden])")], 1),
  k: () => step([...document.querySelectorAll(".log .at:not([hidden])")], -1),
  "[": () => neighbour(-1),
  "]": () => neighbour(1),
  n: () => { location.href = "/new"; },
  "?": () => byId("keys")?.showModal(),
};
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
  const isBusy = byId("composer").dataset.is === "busy";
  sendDraft(isBusy ? (event.ctrlKey || event.metaKey ? "steer" : "next") : "now");
}
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return; // a word is being composed
  const far = event.ctrlKey || event.metaKey;
  if (far && event.key === "k") { event.preventDefault(); byId("find")?.focus(); return; }
  if (far && event.key === ".") { event.preventDefault(); document.querySelector("[data-stop]")?.click(); return; }
  if (event.target.id === "draft" && byId("composer")) { composerKey(event); return; }
  const typing = event.target.closest("input, textarea, select, dialog");
  if (event.key === "Escape") for (const menu of document.querySelectorAll(".menu-of[open]")) menu.open = false;
  if (event.key === "Escape" && event.target.closest(".ask")) { byId("draft")?.focus(); return; } // closing is not answering
  if (typing || far || event.altKey || localStorage.getItem("piton-no-letters")) return;
  const card = event.target.closest(".ask");
  const word = { y: "yes", n: "no" }[event.key];
  if (card && word) {
    event.preventDefault();
    card.querySelector(`button[value="${word}"]`)?.click();
    return;
  }
  if (card && event.key === "a") { const fold = card.querySelector(".rules:last-of-type"); if (fold) fold.open = true; return; }
  const said = event.target.closest(".user");
  const onItem = said && { y: "[data-copy]", f: 'form[action$="/fork"] button', r: ".retry button.main, .again > summary" }[event.key];
  if (onItem && said.querySelector(onItem)) { event.preventDefault(); said.querySelector(onItem).click(); return; }
  const act = letters[event.key];
  if (act) { event.preventDefault(); act(); }
});

// ---- times in the zone of the reader, clocks that go on

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
function localise(within) {
  const now = new Date();
  for (const element of within.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    const isToday = at.toDateString() === now.toDateString();
    element.textContent = (isToday ? HOUR : at.getFullYear() === now.getFullYear() ? DAY : DATE).format(at);
    element.title = at.toLocaleString();
  }
  tick(within);
}
function lasting(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} m ${seconds % 60} s` : `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} m`;
}
function tick(within) {
  for (const clock of within.querySelectorAll("[data-since]")) clock.textContent = lasting(Date.now() - Number(clock.dataset.since));
  for (const clock of within.querySelectorAll("[data-until]")) clock.textContent = lasting(Number(clock.dataset.until) - Date.now());
}
setInterval(() => {
  tick(document);
  if (!document.hidden) localStorage.setItem(seenKey, Date.now());
}, 1000);

// ---- begin

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
