// `@` in the composer: a menu of files that a message can name. The message is sent as it is typed; the server
// finds in it what it mentions.

import { byId, conversation, say } from "./page.js";

let menu = null;
let active = 0;
let isChosen = false; // by an arrow: then Enter takes it too
let asking = null;

// The mention that the caret stands behind, as the server would find it.
function mention() {
  const field = byId("draft");
  if (!field || document.activeElement !== field || field.selectionStart !== field.selectionEnd) return null;
  const before = field.value.slice(0, field.selectionStart);
  const found = /(?:^|[\s([{'`])@([^\s"]*)$/.exec(before);
  return found && { start: before.length - found[1].length, end: before.length, typed: found[1] };
}
async function look() {
  const word = mention();
  asking?.abort();
  if (!word) { close(); return; }
  asking = new AbortController();
  const address = new URL("/page/files", location);
  address.searchParams.set("q", word.typed);
  if (conversation()) address.searchParams.set("c", conversation());
  else address.searchParams.set("directory", byId("directory")?.value ?? "");
  try {
    const answer = await fetch(address, { headers: { Piton: "module" }, signal: asking.signal });
    const paths = answer.ok ? (await answer.json()).paths : [];
    if (mention()?.typed !== word.typed) return; // the caret has moved on
    if (!paths.length || (paths.length === 1 && paths[0] === word.typed)) close();
    else show(paths);
  } catch (error) { if (error.name !== "AbortError") close(); }
}
function show(paths) {
  const [field, isNew] = [byId("draft"), !menu];
  menu ??= document.createElement("ul");
  [menu.id, menu.className] = ["mention", "menu"];
  menu.setAttribute("role", "listbox");
  menu.setAttribute("aria-label", "Files");
  menu.replaceChildren(...paths.map((path, at) => {
    const [item, name] = [document.createElement("li"), document.createElement("span")];
    [item.id, name.textContent] = [`mention-${at}`, path];
    item.setAttribute("role", "option");
    item.append(name);
    item.addEventListener("pointerdown", (event) => { event.preventDefault(); active = at; take(); });
    return item;
  }));
  if (isNew) field.closest(".composer").append(menu);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", menu.id);
  field.setAttribute("aria-expanded", "true");
  isChosen = false;
  mark(0);
  if (isNew) say(paths.length === 1 ? "One file fits." : `${paths.length} files fit.`);
}
function mark(at) {
  active = (at + menu.children.length) % menu.children.length;
  for (const [place, item] of [...menu.children].entries()) item.setAttribute("aria-selected", place === active);
  byId("draft").setAttribute("aria-activedescendant", `mention-${active}`);
  menu.children[active].scrollIntoView({ block: "nearest" });
}
function close() {
  if (!menu) return;
  menu.remove();
  menu = null;
  for (const name of ["role", "aria-autocomplete", "aria-controls", "aria-expanded", "aria-activedescendant"]) byId("draft")?.removeAttribute(name);
}
function take() {
  const [field, word] = [byId("draft"), mention()];
  const path = menu?.children[active]?.textContent;
  close();
  if (!word || !path) return;
  field.setRangeText(path.endsWith("/") ? path : `${path} `, word.start, word.end, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
// Whether the menu took the key.
export function mentionKey(event) {
  if (!menu) return false;
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) { mark(active + by); isChosen = true; }
  else if (event.key === "Tab" || (event.key === "Enter" && isChosen && !event.shiftKey)) take();
  else if (event.key === "Escape") close();
  else return false;
  event.preventDefault();
  return true;
}
document.addEventListener("input", (event) => { if (event.target.id === "draft") look(); });
document.addEventListener("selectionchange", () => { if (menu && !mention()) close(); });
document.addEventListener("focusout", (event) => { if (event.target.id === "draft") close(); });
