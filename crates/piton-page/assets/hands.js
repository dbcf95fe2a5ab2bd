// Hands on the keys: who moved the focus, and what was typed where the page has taken a field away.
//
// A letter answers a question only where a person has put the focus. So whoever moves it is remembered: the page
// does when the element under somebody's hands goes. From then on letters do nothing until the person moves the
// focus, or clicks.

import { alarm, byId } from "./page.js";

// ---- who moved the focus

let isMovedByPage = false;
let seat = null; // what last had the focus
document.addEventListener("focusin", (event) => { seat = event.target; });
// An element that was taken away leaves the focus nowhere: that was the page, too.
export const isForced = () => isMovedByPage || Boolean(seat && !seat.isConnected && document.activeElement === document.body);
export function movedByPerson() { [isMovedByPage, seat] = [false, null]; }
document.addEventListener("pointerdown", movedByPerson, true);
const MOVES = new Set(["Tab", "Escape", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"]);
addEventListener("keydown", (event) => { if (MOVES.has(event.key)) movedByPerson(); }, true);

export function focusOn(element) {
  if (!element) return;
  if (!element.matches("a, button, input, select, textarea, summary, [tabindex]")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}
function force(element) {
  focusOn(element);
  isMovedByPage = true;
}

// ---- what a person has answered here: its card closes by that person's own hand

const answered = new WeakSet();
export const answers = (form) => answered.add(form);
export const takesBack = (form) => answered.delete(form);

// ---- text in a field whose question is closed elsewhere: kept, and offered

const isText = (field) => field.matches("textarea") || (field.matches("input") && ["text", "search", "url", "email", "number"].includes(field.type));
const typedIn = (form) => [...form.querySelectorAll("input, textarea")].filter((field) => isText(field) && field.value.trim() && field.value !== field.defaultValue);
// Offers what was typed in a card that is no longer open; the field in which somebody types goes on there.
export function rescue(form) {
  const active = document.activeElement;
  const heading = form.querySelector("h3")?.textContent ?? "";
  for (const field of typedIn(form)) offer(field.value, heading, field === active ? [field.selectionStart, field.selectionEnd] : null);
}
function offer(text, heading, caret) {
  const dock = byId("dock");
  if (!dock) return;
  const [box, words, area, acts] = ["section", "p", "textarea", "div"].map((tag) => document.createElement(tag));
  box.className = "unsent";
  box.setAttribute("aria-label", "Not sent");
  words.textContent = `Not sent, the question is closed: ${heading}`;
  [area.className, area.value, area.rows, area.dir] = ["field", text, 2, "auto"];
  area.setAttribute("aria-label", "What was not sent");
  acts.className = "row";
  const button = (name, act) => {
    const it = document.createElement("button");
    [it.type, it.className, it.textContent] = ["button", "b plain", name];
    it.addEventListener("click", act);
    acts.append(it);
  };
  const copy = document.createElement("button");
  [copy.type, copy.className, copy.textContent] = ["button", "b plain", "Copy"];
  copy.dataset.copy = "unsent";
  acts.append(copy);
  button("Put into the message", () => {
    const draft = byId("draft");
    draft.value = [draft.value, area.value].filter(Boolean).join("\n\n");
    box.remove();
    draft.dispatchEvent(new Event("input", { bubbles: true }));
    draft.focus();
  });
  button("Drop it", () => box.remove());
  box.append(words, area, acts);
  byId("composer").before(box);
  alarm("The question is closed. What you typed was not sent; it is kept above the composer.");
  if (!caret) return;
  area.focus({ preventScroll: true });
  try { area.setSelectionRange(...caret); } catch { /* a field without one */ }
}

// ---- an element takes the place of another one

// Puts it there; the focus stays, in the same field and at the same letter. Text in a card that goes is kept.
export function exchange(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const caret = focused?.selectionStart === undefined ? null : [focused.selectionStart, focused.selectionEnd];
  const card = focused?.closest(".ask");
  const isOwn = card && answered.has(card);
  closing(old, fresh);
  const isKept = focused && document.activeElement !== focused; // in the field of what was not sent
  old.replaceWith(fresh);
  if (focused && !isKept) refocus(fresh, { focused, caret, card, isOwn });
}
// Cards that are open in one element and not in the other.
export function closing(old, fresh) {
  const cards = [...(old.matches(".ask") ? [old] : []), ...old.querySelectorAll(".ask")];
  const isOpen = (card) => fresh && (fresh.id === card.id ? fresh : fresh.querySelector(`#${CSS.escape(card.id)}`))?.matches(".ask");
  for (const card of cards) if (!isOpen(card) && !answered.has(card)) rescue(card);
}
function refocus(fresh, { focused, caret, card, isOwn }) {
  const same = (focused.id && byId(focused.id)) ||
    (focused.name && fresh.querySelector(`[name="${CSS.escape(focused.name)}"][value="${CSS.escape(focused.value)}"]`));
  if (same) {
    same.focus({ preventScroll: true });
    if (caret && same.setSelectionRange) try { same.setSelectionRange(...caret); } catch { /* a field without one */ }
    return;
  }
  const closed = card && byId(card.id);
  // Who has answered stays where the answer stands; what is next is gone to by a key.
  if (closed && isOwn) focusOn(closed);
  else force(closed ?? fresh.closest(".turn")?.querySelector("h2, h3") ?? document.querySelector("[data-follow]"));
}
// The same for an element that goes and leaves nothing.
export function leaves(old) {
  const has = old.contains(document.activeElement);
  const turn = has ? old.closest(".turn") : null;
  closing(old, null);
  const isGone = has && old.contains(document.activeElement);
  old.remove();
  if (isGone) force(turn?.isConnected ? turn.querySelector("h2, h3") : document.querySelector("[data-follow]"));
}
