// The states of the page, one after the other, each looked at by axe-core. Called by dev/axe:
// node axe.mjs PITON AXE DIRECTORY

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [piton, axePath, directory] = process.argv.slice(2);
const axe = readFileSync(axePath, "utf8");
const SERIOUS = ["serious", "critical"];
const WAIT_MS = 30_000;
const children = [];

// ---- programs

/** Starts a program, and reads its lines until one matches; what the match found. */
function start(program, args, options, channel, wanted) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  children.push(child);
  return new Promise((found, failed) => {
    child.on("exit", () => failed(new Error(`${program} ended`)));
    child.on("error", failed);
    createInterface({ input: child[channel] }).on("line", (line) => {
      const match = wanted.exec(line);
      if (match) found(match[1]);
    });
    child[channel === "stdout" ? "stderr" : "stdout"].resume();
  });
}
/** A server with a home of its own; the address that signs in. */
function serve(name, script) {
  const [home, work] = ["home", "work"].map((it) => join(directory, name, it));
  [home, work].forEach((it) => mkdirSync(it, { recursive: true }));
  const file = join(directory, name, "script.json");
  writeFileSync(file, JSON.stringify(script));
  writeFileSync(join(work, "notes.txt"), "one\ntwo\n");
  const env = { ...process.env, PITON_HOME: home, PITON_MODEL: `script:${file}`, PITON_NO_INPUT: "1" };
  return start(piton, ["serve", "--listen", "127.0.0.1:0"], { cwd: work, env }, "stderr", /(http:\S+\/sign-in\?code=\S+)/);
}

// ---- the browser

let session = "";
async function ask(path, body, method = "POST") {
  const answer = await fetch(`${session}${path}`, { method, body: body && JSON.stringify(body) });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${value.message}`);
  return value;
}
const cdp = (cmd, params = {}) => ask("/goog/cdp/execute", { cmd, params });
const run = (script) => ask("/execute/sync", { script, args: [] });
const go = (url) => ask("/url", { url });
async function until(expression) {
  const end = Date.now() + WAIT_MS;
  while (!(await run(`return Boolean(${expression})`))) {
    if (end < Date.now()) throw new Error(`never true: ${expression}`);
  }
}
async function element(selector) {
  await until(`document.querySelector(${JSON.stringify(selector)})?.checkVisibility()`);
  return Object.values(await ask("/element", { using: "css selector", value: selector }))[0];
}
const press = async (selector) => ask(`/element/${await element(selector)}/click`, {});
const type = async (selector, text) => ask(`/element/${await element(selector)}/value`, { text });
const stands = (is) => until(`document.querySelector("#bar-state")?.dataset.is === "${is}"`);
/** A control that has just appeared takes no click: it is pressed until it was taken. */
async function insist(selector, gone) {
  const end = Date.now() + WAIT_MS;
  while (await run(`return Boolean(document.querySelector(${JSON.stringify(gone)}))`)) {
    if (end < Date.now()) throw new Error(`never gone: ${gone}`);
    await run(`document.querySelector(${JSON.stringify(selector)})?.click()`);
  }
}
async function begin(address, text) {
  await go(address);
  await go(new URL("/new", address).href);
  await type("#draft", text);
  await press("form.hello button.main");
  await until('document.querySelector("#main")?.dataset.conversation');
}

// ---- what was found

const found = new Map(); // rule -> { impact, help, states: Map(state -> targets) }
let states = 0;
async function look(state) {
  for (const theme of ["light", "dark"]) {
    await cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: theme }] });
    await run(`${axe};`);
    const { violations } = await run("return axe.run(document, { resultTypes: ['violations'] });");
    states += 1;
    for (const { id, impact, help, nodes } of violations) {
      const rule = found.get(id) ?? { impact, help, states: new Map() };
      rule.states.set(`${state}, ${theme}`, nodes.map((node) => node.target.join(" ")));
      found.set(id, rule);
    }
  }
  process.stderr.write(`looked at: ${state}\n`);
}
function report() {
  for (const [id, { impact, help, states: where }] of found) {
    console.log(`${id} (${impact}): ${help}`);
    for (const [state, targets] of where) console.log(`    ${state}: ${targets.slice(0, 3).join(" | ")}${targets.length > 3 ? ` and ${targets.length - 3} more` : ""}`);
  }
  const serious = [...found.values()].filter((rule) => SERIOUS.includes(rule.impact)).length;
  console.log(`${states} states, ${found.size} rules broken, ${serious} of them serious`);
  return serious ? 1 : 0;
}

// ---- the states

const MARKDOWN = "# Heading\n\nText with `code`, **bold** and a [link](https://example.org).\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n\n> quoted";
async function working() {
  const address = await serve("working", { steps: [
    { think: "There is a file.", calls: [{ tool: "read_file", arguments: { path: "notes.txt" } }] },
    { calls: [{ tool: "ask_user", arguments: { question: "Which colour?", options: ["red", "green"] } }] },
    { calls: [{ tool: "edit_file", arguments: { path: "notes.txt", old: "one", new: "1" } }] },
    { calls: [{ tool: "shell", arguments: { command: "touch made.txt" } }] },
    { say: MARKDOWN },
  ] });
  await go(new URL("/sign-in", address).href);
  await look("sign in");
  await go(address);
  await look("the list, nothing begun");
  await begin(address, "Paint it");
  await until('document.querySelector(".ask")');
  await look("a question");
  await run('document.querySelector(".ask input[value=green]").checked = true');
  await insist(".ask button[value=text]", ".ask input[value=green]");
  await until('document.querySelector(".ask table")');
  await run('document.querySelectorAll(".ask details").forEach((it) => { it.open = true; })');
  await look("a permission with a difference");
  await insist(".ask button[value=yes]", ".ask table");
  await until('document.querySelector(".ask")');
  await look("a permission for a command");
  await insist(".ask button[value=yes]", ".ask");
  await stands("done");
  await run('document.querySelectorAll("#log details").forEach((it) => { it.open = true; })');
  // The preview of an undo offers to be loaded again.
  await until('[...document.querySelectorAll("#log [data-load]")].every((it) => it.textContent === "Look again")');
  await look("an answer, with all that is folded");
  await type("#draft", "see @");
  await until('document.querySelector("#mention")');
  await look("the menu of files");
  await run('document.querySelector("#draft").blur(); document.querySelector("#keys").showModal()');
  await look("the keys");
  await run('document.querySelector("#keys").close()');
  await run('document.querySelectorAll(".menu-of").forEach((it) => { it.open = true; })');
  await look("an open menu of the title");
  await cdp("Emulation.setDeviceMetricsOverride", { width: 390, height: 800, deviceScaleFactor: 2, mobile: true });
  await look("an answer on a phone");
  await go(new URL("/", address).href);
  await look("the list on a phone");
  await cdp("Emulation.clearDeviceMetricsOverride");
  await go(new URL("/search?q=Paint", address).href);
  await look("hits of a search");
  await go(new URL("/c/nothing", address).href);
  await look("a page that is not there");
}
async function running() {
  const say = Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ");
  const address = await serve("running", { steps: [{ say, chunk: 4, chunk_ms: 200 }] });
  await begin(address, "Count");
  await until('document.querySelector("#s1-1-t")?.textContent.includes("word2")');
  await type("#draft", "and then\n");
  await until('document.querySelector("#queue li")');
  await look("an answer that comes, and a message that waits");
  await press("[data-stop]");
  await stands("halt");
  await look("a turn that was stopped");
}
async function failed() {
  const fault = { kind: { fail: "auth" }, times: 9 };
  const address = await serve("failed", { steps: [{ say: "Never.", faults: [fault] }] });
  await begin(address, "Go");
  await stands("bad");
  await look("a message that failed");
  await insist("form.retry button[value=retry]", ".fail:not([id$='-2'])");
  await until('document.querySelector(".tries")');
  await run('document.querySelectorAll(".user details").forEach((it) => { it.open = true; })');
  await look("a message with attempts");
}

const port = await start("chromedriver", ["--port=0"], {}, "stdout", /successfully on port (\d+)/);
session = `http://127.0.0.1:${port}/session`;
const args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-prefers-reduced-motion", "--window-size=1280,800", `--user-data-dir=${join(directory, "profile")}`];
const { sessionId } = await ask("", { capabilities: { alwaysMatch: { "goog:chromeOptions": { args } } } });
session += `/${sessionId}`;
let code = 2;
try {
  await cdp("Page.setBypassCSP", { enabled: true });
  for (const part of [working, running, failed]) await part();
  code = report();
} catch (error) {
  console.error(`axe: a state could not be reached: ${error.message}`);
} finally {
  await ask("", undefined, "DELETE").catch(() => {});
  for (const child of children) child.kill();
}
process.exit(code);
