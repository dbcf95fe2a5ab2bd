// Where the reader is: the page follows its end or holds still.

import { byId, conversation, isLast } from "./page.js";

// ---- scrolling: follow at the end, else hold the first visible item where it is

const NEAR_END_PX = 48;
export const readers = new WeakMap(); // scroller -> { follow, top, seen }
export const rest = (box) => box.scrollHeight - box.scrollTop - box.clientHeight;
export const scroller = () => document.querySelector("[data-follow]");

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
export function anchor(box) {
  if (!box || look(box).follow) return null;
  const top = box.getBoundingClientRect().top;
  const item = [...box.querySelectorAll(".at")].find((at) => at.id && at.getBoundingClientRect().bottom > top);
  return item && { id: item.id, y: item.getBoundingClientRect().top };
}
export function keep(box, held) {
  if (!box) return;
  const reader = readers.get(box);
  if (reader.follow) box.scrollTop = box.scrollHeight;
  else if (held && byId(held.id)) box.scrollTop += byId(held.id).getBoundingClientRect().top - held.y;
  reader.top = box.scrollTop;
  showJump(box, reader);
}
export function watch() {
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
export function prune(box) {
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
// What a person asked for is not new: earlier turns, and what is in a fold.
export function withoutNews(act) {
  const box = scroller();
  const before = box?.querySelectorAll(".at").length ?? 0;
  act();
  if (box) readers.get(box).seen += box.querySelectorAll(".at").length - before;
}
export function toEnd() {
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
  jump.dataset.to = open && open.getBoundingClientRect().top < box.getBoundingClientRect().top ? "up" : "down";
  jump.querySelector("span").textContent = words;
}
