// The page as the server has it: frames that patch elements by name, the stream that brings them, and what
// is loaded when it is opened. It keeps no truth: a page that lost its way asks for all of it again.

import { exchange, leaves } from "./hands.js";
import { alarm, byId, conversation, isLast, main, note, parse, rings, root } from "./page.js";
import { anchor, keep, prune, readers, rest, scroller, withoutNews } from "./scroll.js";

// ---- frames: [op, id, html or text or value, length or name]

const ATTRIBUTES = ["aria-busy", "data-is", "hidden", "placeholder"];
const YOUNG_MS = 600; // a control that has just appeared takes no click: a moving page must not answer for you
const MISSING_MAX = 3;
const MISSING_MS = 60_000;
export const foldedByHand = new Map(); // id of a fold -> open, as a person left it
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
  take(late.filter(([, id]) => byId(id)));
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
    if (old.tagName !== element.tagName || old.hidden) born.set(element, Date.now());
    if (length !== undefined) element.dataset.len = length;
    madeOf.set(element, html);
    exchange(old, element);
    if (element.open) load(element);
  },
  append(id, html) { target(id)?.append(isNew(parse(html))); },
  prepend(id, html) { target(id)?.prepend(isNew(parse(html))); },
  before(id, html) { target(id)?.before(isNew(parse(html))); },
  remove(id) {
    const old = target(id);
    if (old) leaves(old);
  },
  // The newest first; moved only if it is not so already, so that nothing loses its focus for nothing.
  sort(id) {
    const parent = target(id);
    if (!parent) return;
    const at = (child) => Number((child.dataset.at === undefined ? child.querySelector("[data-at]") : child)?.dataset.at ?? -1);
    const now = [...parent.children];
    const wanted = now.toSorted((a, b) => at(b) - at(a));
    if (now.every((child, place) => child === wanted[place])) return;
    const focused = parent.contains(document.activeElement) ? document.activeElement : null;
    parent.append(...wanted);
    focused?.focus({ preventScroll: true });
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
function take(batch) {
  for (const [op, ...rest] of batch) ops[op]?.(...rest);
}
// In the order in which they came; before the next picture, or at once where nobody looks. While the page
// reads itself again they wait: what is read then is newer than what is shown now.
const queue = []; // { batch, at: the entry that it brings, on: the entry that a page must show }
let shown = Number(main()?.dataset.cursor ?? 0); // the last entry that the page shows
function soon(batch, { at, on } = {}) {
  queue.push({ batch, at, on });
  if (document.hidden) flush();
  else if (queue.length === 1) requestAnimationFrame(flush);
}
function flush() {
  if (reading) return;
  for (const { batch, at, on } of queue.splice(0)) {
    if (on !== undefined && on !== shown) continue; // the page was read anew meanwhile, and shows what is newer
    shown = at ?? shown;
    apply(batch);
  }
}
function apply(batch) {
  const box = scroller();
  const held = anchor(box);
  take(batch);
  if (box && readers.get(box).follow) prune(box);
  keep(box, held);
  note();
}
export const isYoung = (element) => {
  for (let at = element; at; at = at.parentElement) if (Date.now() - (born.get(at) ?? 0) < YOUNG_MS && at.matches(".ask, .halt, .at, .fail")) return true;
  return false;
};

// ---- the stream: one for a tab; noticed when it is silent, and opened again

const SILENT_MS = Number(root.dataset.silenceMs) || 25_000; // the server says how often it gives a sign of life
const HIDDEN_MS = 60_000;
const BAR_MS = 2_000;
const PROBE_MS = 5_000;
const READ_MS = 15_000;
const BACKOFF_MS = [500, 15_000];
let source = null;
let cursor = [shown, Number(root.dataset.list || 0)]; // the last entry and the last list that came
let heard = Date.now();
let lostAt = 0;
let tries = 0;
let retry = 0;

export function connect() {
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
  on("live", (event) => soon(JSON.parse(event.data), { on: cursor[0] }));
  on("passing", (event) => soon(JSON.parse(event.data)));
  on("beat", () => {});
  on("reset", (event) => { moveTo(event.lastEventId); readAgain(); });
  on("bye", () => lost());
  source.addEventListener("error", () => lost());
}
function durable(event, which) {
  const at = Number(event.lastEventId.split(".")[which]);
  if (!(at > cursor[which])) return; // seen already
  cursor[which] = at;
  soon(JSON.parse(event.data), which === 0 ? { at } : {});
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
  for (const line of document.querySelectorAll('.refused[data-of="lost"]')) line.remove();
}
function lost() {
  source?.close();
  source = null; // nothing is listened to, so nothing is silent: the wait below is not begun again and again
  root.dataset.link = "off";
  lostAt ||= Date.now();
  clearTimeout(retry);
  const [least, most] = BACKOFF_MS;
  const wait = Math.min(most, least * 2 ** tries++) * (0.75 + Math.random() / 2);
  retry = setTimeout(connect, wait);
  setTimeout(async () => {
    if (!lostAt || document.hidden) return;
    const answer = await fetch("/", { method: "HEAD", headers: { Piton: "module" }, redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) }).catch(() => null);
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
let wanted = 0; // what is read has at least this entry
async function readAgain() {
  wanted = cursor[0];
  if (reading || !conversation()) return;
  reading = true;
  try {
    const answer = await fetch(`/c/${encodeURIComponent(conversation())}/main`, { headers: { Piton: "module" }, signal: AbortSignal.timeout(READ_MS) });
    if (!answer.ok) throw new Error("not read");
    const fresh = parse(await answer.text()).querySelector("#main");
    const at = Number(fresh?.dataset.cursor ?? 0);
    if (!fresh || at < wanted) throw new Error("too old");
    cursor[0] = Math.max(cursor[0], at);
    shown = at;
    queue.splice(0, queue.length, ...queue.filter((it) => it.at === undefined || it.at > at)); // those fit behind it
    const box = scroller();
    const held = anchor(box);
    keepChoices(main(), fresh);
    for (const id of ["bar", "log", "imported", "covered", "undone", "plan", "queue", "model-of", "mode-of", "send"]) {
      const next = fresh.querySelector(`#${id}`);
      if (next && byId(id)) exchange(byId(id), next);
    }
    const draft = fresh.querySelector("#draft");
    if (draft && byId("draft")) byId("draft").placeholder = draft.placeholder;
    const composer = fresh.querySelector("#composer");
    if (composer && byId("composer")) byId("composer").dataset.is = composer.dataset.is;
    keep(box, held);
    note();
    if (byId("log").querySelector("[data-worker]")) connect(); // what workers did comes with a new stream
  } catch {
    cursor[0] = 0; // what was missed is asked for again
    lost();
  } finally {
    reading = false;
    flush();
  }
}

setInterval(() => { if (!document.hidden && source && Date.now() - heard > SILENT_MS) { lost(); } }, SILENT_MS / 5);
let hideTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) { flush(); hideTimer = setTimeout(() => { if (!rings) { source?.close(); source = null; } }, HIDDEN_MS); }
  else if (!source || Date.now() - heard > 30_000) connect();
});
addEventListener("online", connect);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });

// ---- what is loaded when it is opened

export async function load(fold) {
  const link = fold.querySelector(":scope > .call-body > [data-load]");
  if (!link || link.dataset.load === "now") return;
  link.dataset.load = "now";
  const answer = await fetch(link.href, { headers: { Piton: "module" } }).catch(() => null);
  if (!answer?.ok) { link.dataset.load = ""; link.textContent = "Could not be loaded. Try again."; return; }
  const html = await answer.text();
  const body = byId(fold.id)?.querySelector(":scope > .call-body");
  if (!body) return;
  const held = anchor(scroller());
  withoutNews(() => body.replaceChildren(parse(html)));
  keep(scroller(), held);
}
export async function earlier(link) {
  if (link.getAttribute("aria-busy")) return;
  link.setAttribute("aria-busy", "true");
  const answer = await fetch(link.href, { headers: { Piton: "module" } }).catch(() => null);
  if (!answer?.ok) { link.removeAttribute("aria-busy"); return; }
  const fresh = parse(await answer.text());
  const held = anchor(scroller());
  withoutNews(() => byId("older")?.replaceWith(fresh));
  keep(scroller(), held);
}
