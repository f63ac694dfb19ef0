// The playground: when the fields change they go to the server, and what the parser made of them is shown.

import { badge, byId, count, el, keep, listing, recall, remark, visible } from "./dom.js";
import { dimEvents, listEvents } from "./parts.js";
import { Reading } from "./reading.js";

const PAUSE = 250; // milliseconds without a change after which an analysis begins
const LONG_PAUSE = 1000; // the same for a text that takes long
const LONG = 200_000; // characters from which on it does
const TOO_LONG = 1 << 20; // characters that no request can have
const SOON = 650; // milliseconds after which an answer that is not there is spoken of

const page = { dialects: [], examples: [], tools: {}, isPlaying: false, call: null };
const view = new Reading(byId("source"), byId("result"));
const options = [...document.querySelectorAll("main [name]")];

// What is shown is older than the fields: it is dimmed, after a moment with a word, until the answer is there.
function outdate() {
  const size = byId("text").value.length;
  byId("progress").textContent =
    `Analysing ${count(size, "character")} in the background. What is shown below is older.`;
  clearTimeout(page.soon);
  page.soon = setTimeout(() => (byId("progress").hidden = false), size > LONG ? 0 : SOON);
  document.body.classList.add("stale");
  document.querySelector(".output").setAttribute("aria-busy", "true");
}

// What is wrong, and with which field; null: nothing is.
function settle(error) {
  clearTimeout(page.soon);
  byId("progress").hidden = true;
  document.body.classList.toggle("stale", error !== null);
  const output = document.querySelector(".output");
  output.setAttribute("aria-busy", "false");
  const alert = Object.assign(byId("error"), { hidden: !error, textContent: visible(error?.message ?? "") });
  for (const name of ["text", "tools"]) byId(name).toggleAttribute("aria-invalid", name === error?.field);
  const field = document.querySelector("[aria-invalid]");
  if (field) field.after(alert);
  else output.prepend(alert);
}

// Requests

const wordsIn = (text) => text.split(/[\s,]+/).filter(Boolean);

function readOptions() {
  const read = {};
  for (const { name, type, checked, value } of options) {
    if (type === "checkbox" && checked) read[name] = value === "on" || value;
    if (type === "text" && value.trim()) read[name] = value.trim() === "known" ? "known" : wordsIn(value);
    if (type === "select-one") read[name] = value;
  }
  return read;
}

function change(pause = 0) {
  page.call?.abort();
  clearTimeout(page.timer);
  outdate();
  page.timer = setTimeout(() => analyse(), byId("text").value.length > LONG ? LONG_PAUSE : pause);
}

function typed() {
  byId("example").selectedIndex = 0;
  byId("about").textContent = "";
  change(PAUSE);
}

// With a seed the text is also cut at random, and compared.
async function analyse(seed) {
  const [text, tools] = [byId("text").value, byId("tools").value];
  if (text.length > TOO_LONG) {
    const [found, most] = [text.length, TOO_LONG].map((size) => count(size, "character"));
    settle({ field: "text", message: `The text has ${found}, and no more than ${most} are analysed: shorten it.` });
    return;
  }
  const call = new AbortController();
  page.call = call;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ text, tools, options: { ...readOptions(), seed } });
  const request = { method: "POST", headers, body, signal: call.signal };
  const response = await fetch("playground/api/analyse", request).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (call.signal.aborted) return; // the fields have changed meanwhile
  const lost = response ? `answered ${response.status}.` : "can't be reached. Is it still running?";
  const error = answer ? answer.error ?? null : { message: `The server ${lost}` };
  settle(error);
  if (!error) showAnswer(text, answer);
}

function showAnswer(text, answer) {
  const { reading, steps, prompt, grammar, cuts } = answer;
  play(false);
  view.take(text, answer);
  const verdict = cuts?.same ? "nothing changed." : "something changed. This is a fault of xmltools.";
  byId("verdict").textContent = cuts
    ? `${count(cuts.places.length + 1, "piece")}: ${verdict}`
    : "Cuts the stream elsewhere and compares: nothing may change.";
  Object.assign(byId("slider"), { max: steps.count + 1, value: steps.count + 1 });
  summarise(reading);
  tellDialect(reading);
  showPrompt(prompt);
  showGrammar(grammar);
  listEvents(byId("events"), steps);
  byId("source").scrollTop = 0;
  show();
}

function summarise({ blocks, marks }) {
  const number = (all, kind) => all.filter((each) => each.kind === kind).length;
  const repairs = blocks.reduce((sum, each) => sum + (each.repairs ?? 0), 0);
  const found = { call: number(blocks, "call"), repair: repairs, notice: number(marks, "notice") };
  found.error = number(blocks, "error");
  const shown = Object.entries(found).filter(([noun, many]) => many || noun !== "notice");
  const badges = shown.map(([noun, many]) => badge(many || noun === "call" ? noun : "", count(many, noun)));
  byId("summary").replaceChildren(...badges);
}

// Which dialect the text was read in, and how a call looks in it.
function tellDialect({ dialect, detected }) {
  const { example } = page.dialects.find(({ name }) => name === dialect) ?? {};
  const [first, ...others] = detected.map(({ name, calls }) => `${name} (${count(calls, "call")})`);
  const also = others.length ? `; others that find calls here: ${others.join(", ")}` : "";
  const found = first ? `Detected ${first}${also}. ` : `No call detected: read as ${dialect}. `;
  const call = el("span", { class: "example" }, "A call: ", el("code", {}, example));
  byId("dialect-found").replaceChildren(byId("dialect").value === "detect" ? el("strong", {}, found) : "", call);
}

function showPrompt({ error, text, tokens }) {
  const size = text ? `${count(Array.from(text).length, "character")}, about ${count(tokens, "token")}` : "";
  byId("prompt-size").textContent = size;
  const missing = error ?? "Without tools there is nothing to say to the model.";
  byId("prompt-text").replaceChildren(text ? listing(text, "Instructions for the system prompt") : remark(missing));
}

function showGrammar({ error, text, issues = [] }) {
  const summary = `${count(issues.length, "rule")} of the schemas that it can't hold a model to`;
  const list = el("ul", {}, issues.map((issue) => el("li", {}, visible(issue))));
  const limits = issues.length > 0 && el("details", {}, el("summary", {}, summary), list);
  byId("grammar-text").replaceChildren(el("div", {}, limits, error ? remark(error) : listing(text, "Grammar")));
}

// The place in the stream

function show() {
  if (!view.steps) return; // nothing has been read yet
  const position = Number(byId("slider").value);
  view.show(position);
  const { state, points } = view;
  const [fed, all, waiting] = [state.fed, points.length, state.fed - state.covered].map((n) => n.toLocaleString("en"));
  const place = state.ended ? "End of the stream" : `After ${fed} of ${all} characters`;
  byId("position").textContent = `${place}.`;
  byId("slider").setAttribute("aria-valuetext", place);
  const call = state.open && `Inside a call of ${visible(state.open.name)}, characters of it so far: ${waiting}.`;
  const held = state.fed > state.covered && `Characters held back, that may still become markup: ${waiting}.`;
  byId("explanation").textContent = call || held || "Nothing is held back.";
  dimEvents(byId("events"), position);
}

function play(is) {
  page.isPlaying = is;
  byId("play").textContent = is ? "Pause" : "Play";
  const slider = byId("slider");
  if (is && slider.value === slider.max) slider.value = 0;
  if (is) requestAnimationFrame(advance);
}

function advance() {
  if (!page.isPlaying) return;
  const slider = byId("slider");
  slider.value = Number(slider.value) + Math.ceil(slider.max / 600); // some ten seconds for the longest text
  show();
  if (slider.value === slider.max) play(false);
  else requestAnimationFrame(advance);
}

// Examples

const dialectOf = ({ options: { dialect = "forge" } }) => dialect;

async function loadExamples() {
  const load = async (path) => (await fetch(`playground/${path}`)).json();
  const [{ tools, examples }, { dialects }] = await Promise.all([load("static/examples.json"), load("api/dialects")]);
  const shown = new Set(examples.map(dialectOf));
  for (const { name, example, models } of dialects) {
    byId("dialect").append(el("option", { value: name, title: models.join(", ") }, name));
    const about = "One call, with the least that this dialect writes.";
    const least = { name: `A call in ${name}`, about, tools: "number", text: example, options: { dialect: name } };
    if (!shown.has(name)) examples.push(least);
  }
  Object.assign(page, { tools, dialects, examples });
}

// With a dialect there are the examples in that one only. It is the choice of this tab, even after a reload.
function chooseDialect(dialect) {
  byId("dialect").value = dialect;
  const chosen = byId("example").value;
  byId("example").replaceChildren(el("option", { value: "" }, "(your own)"));
  for (const [at, example] of page.examples.entries()) {
    if (dialect !== "detect" && dialect !== dialectOf(example)) continue;
    byId("example").append(el("option", { value: at, selected: String(at) === chosen }, example.name));
  }
}

function chooseExample() {
  const example = page.examples[byId("example").value || -1];
  if (example) fill({ ...example, tools: JSON.stringify(page.tools[example.tools], null, 2) ?? "" });
}

function fill({ about, text, tools, options: given }) {
  byId("about").textContent = about;
  byId("text").value = text;
  byId("tools").value = tools;
  for (const field of options) {
    const value = given[field.name] ?? "";
    if (field.type === "checkbox") field.checked = value === true || value === field.value;
    if (field.type === "text") field.value = [value].flat().join(" ");
  }
  change();
}

// Tabs as the WAI-ARIA practices have them: one is in the tab order, the arrow keys go from one to the next.

const tabs = [...document.querySelectorAll("[role=tab]")];

function showTab(tab) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = each !== tab;
  }
}

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => showTab(tab));
  tab.addEventListener("keydown", (event) => {
    const next = { ArrowRight: tabs[at + 1] ?? tabs[0], ArrowLeft: tabs.at(at - 1), Home: tabs[0], End: tabs.at(-1) };
    if (!next[event.key]) return;
    event.preventDefault();
    showTab(next[event.key]);
    next[event.key].focus();
  });
}

showTab(tabs[0]);

for (const id of ["text", "tools"]) byId(id).addEventListener("input", typed);
for (const id of ["options", "style", "format"]) byId(id).addEventListener("input", () => change());
byId("slider").addEventListener("input", () => {
  play(false);
  show();
});
byId("play").addEventListener("click", () => play(!page.isPlaying));
byId("cut").addEventListener("click", () => {
  change();
  clearTimeout(page.timer);
  analyse(crypto.getRandomValues(new Uint32Array(1))[0]);
});
await loadExamples();
byId("example").addEventListener("change", chooseExample);
byId("dialect").addEventListener("change", ({ target: { value } }) => {
  keep("xmltools-dialect", value);
  chooseDialect(value);
  change();
});
const handed = JSON.parse(recall("xmltools-open"));
const known = page.dialects.find(({ name }) => name === recall("xmltools-dialect"));
chooseDialect(handed?.options.dialect ?? known?.name ?? "detect");
if (handed) {
  sessionStorage.removeItem("xmltools-open"); // what the live view left for this page, once
  fill({ ...handed, about: "A reply from the live view, with its tools and its dialect." });
} else if (byId("text").value) {
  change(); // the browser kept what was typed before a reload
} else {
  byId("example").selectedIndex = 1;
  chooseExample();
}
