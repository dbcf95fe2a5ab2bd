// The ground of the page: its elements by name, HTML from the server, times, and what is told to a person
// who does not look. Knows nothing of the stream, and sends nothing.

export const byId = (id) => document.getElementById(id);
export const root = document.documentElement;
export const main = () => byId("main");
export const conversation = () => main()?.dataset.conversation ?? "";
export const isLast = () => main()?.dataset.window === "last";

// ---- HTML from the server: one policy, one function

const asIs = { createHTML: (html) => html };
const policy = globalThis.trustedTypes?.createPolicy("piton", asIs) ?? asIs;
export function parse(html) {
  const box = document.createElement("template");
  box.innerHTML = policy.createHTML(html);
  localise(box.content);
  return box.content;
}

// ---- sizes, and times in the zone of the reader, clocks that go on

export const size = (bytes) => bytes < 1024 ? `${bytes} bytes` : bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
export function localise(within) {
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

// ---- what ears hear: boundaries only

let lastSaid = 0;
let saying = 0;
export function say(words) {
  clearTimeout(saying);
  saying = setTimeout(() => { byId("say").textContent = words; lastSaid = Date.now(); }, Math.max(300, lastSaid + 500 - Date.now()));
}
export const alarm = (words) => { byId("alarm").textContent = words; };
let noted = { state: "", asks: 0 };
export function note() {
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

// ---- notifications: asked for by a click, rung by one tab, and only when nobody looks at any

export let rings = false;
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
export function takeBell() {
  if (globalThis.Notification?.permission !== "granted" || !navigator.locks) return;
  navigator.locks.request("piton-bell", () => { rings = true; return new Promise(() => {}); }); // held as long as the tab lives
}
export function showBell() {
  const button = document.querySelector("[data-bell]");
  if (button) button.hidden = !globalThis.Notification || !navigator.locks || Notification.permission !== "default";
}
