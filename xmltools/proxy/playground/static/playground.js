// The playground: when the fields change they go to the server, and what the parser made of them is shown.

import { badge, byId, count, el, keep, listing, recall, remark, visible } from "./dom.js";
import { dimEvents, listEvents } from "./parts.js";
import { Reading } from "./reading.js";

const PAUSE = 250; // milliseconds without a change after which an analysis begins
const LONG_PAUSE = 1000; // the same for a text that takes long
const LONG = 200_000; // characters from which on it does
const TOO_LONG = 1 << 20; // characters that no request can have
const SOON = 650; // milliseconds after which an answer that is not there is spoken of
const FLAGS = ["strict", "starts_in_reasoning", "bracket_reasoning"];
const CUTS = "Cuts the stream elsewhere and compares: nothing may change.";

const page = { view: null, dialects: [], examples: [], tools: {}, tried: 0, isPlaying: false, call: null };

// What is shown is older than the fields: it is dimmed, after a moment with a word, until the answer is there.
function outdate() {
  document.body.classList.add("stale");
  setBusy(true);
  const size = byId("text").value.length;
  byId("progress").textContent =
    `Analysing ${count(size, "character")} in the background. What is shown below is older.`;
  clearTimeout(page.soon);
  page.soon = setTimeout(() => (byId("progress").hidden = false), size > LONG ? 0 : SOON);
}

const setBusy = (is) => document.querySelector(".output").setAttribute("aria-busy", String(is));

// What is wrong, and with which field; null: nothing is.
function settle(error) {
  clearTimeout(page.soon);
  byId("progress").hidden = true;
  setBusy(false);
  document.body.classList.toggle("stale", error !== null);
  const alert = Object.assign(byId("error"), { hidden: !error, textContent: visible(error?.message ?? "") });
  const field = ["text", "tools"].find((name) => name === error?.field);
  if (field) byId(field).after(alert);
  else document.querySelector(".output").prepend(alert);
  for (const name of ["text", "tools"]) byId(name).toggleAttribute("aria-invalid", name === field);
}

// Requests

function parserOptions() {
  const options = { code_fences: byId("fences_text").checked ? "text" : "last", dialect: byId("dialect").value };
  for (const name of FLAGS) options[name] = byId(name).checked;
  const names = (id) => byId(id).value.split(/[\s,]+/).filter(Boolean);
  const [tags, also] = [names("reasoning_tags"), names("also")];
  if (tags.length) options.reasoning_tags = tags;
  if (also.length) options.also = also.join() === "known" ? "known" : also;
  return options;
}

// Returns the answer; null if there is none, or the fields have changed meanwhile.
async function ask(options) {
  page.call?.abort();
  const call = new AbortController();
  page.call = call;
  const body = { text: byId("text").value, tools: byId("tools").value, options: { ...parserOptions(), ...options } };
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body), signal: call.signal };
  const response = await fetch("playground/api/analyse", request).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (call.signal.aborted) return null;
  const lost = response ? `answered ${response.status}.` : "can't be reached. Is it still running?";
  settle(answer ? answer.error ?? null : { message: `The server ${lost}` });
  return answer && !answer.error ? answer : null;
}

function change(pause = 0) {
  page.call?.abort();
  clearTimeout(page.timer);
  outdate();
  page.timer = setTimeout(analyse, byId("text").value.length > LONG ? LONG_PAUSE : pause);
}

function typed() {
  byId("example").selectedIndex = 0;
  byId("about").textContent = "";
  change(PAUSE);
}

async function analyse() {
  const text = byId("text").value;
  if (text.length > TOO_LONG) {
    const [found, most] = [text.length, TOO_LONG].map((size) => count(size, "character"));
    const message = `The text has ${found}, and no more than ${most} are analysed: shorten it.`;
    settle({ field: "text", message });
    return;
  }
  const answer = await ask({ style: byId("style").value, grammar: byId("format").value });
  if (!answer) return;
  play(false);
  page.tried = 0;
  page.view.take(text, answer);
  Object.assign(byId("slider"), { max: answer.steps.count + 1, value: answer.steps.count + 1 });
  Object.assign(byId("verdict"), { textContent: CUTS, className: "dim" });
  summarise(answer.reading);
  tellDialect(answer.reading);
  showPrompt(answer.prompt);
  showGrammar(answer.grammar);
  listEvents(byId("events"), answer.steps);
  byId("source").scrollTop = 0;
  show();
}

function summarise({ parts, notices }) {
  const number = (kind) => parts.filter((part) => part.kind === kind).length;
  const repairs = parts.reduce((sum, part) => sum + (part.repairs ?? 0), 0);
  const found = { call: number("call"), repair: repairs, notice: notices.length, error: number("error") };
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

function showGrammar({ error, text, issues }) {
  const shown = [error ? remark(error) : listing(text, "Grammar")];
  if (issues?.length) {
    const summary = `${count(issues.length, "rule")} of the schemas that it can't hold a model to`;
    const list = el("ul", {}, issues.map((issue) => el("li", {}, visible(issue))));
    shown.unshift(el("details", {}, el("summary", {}, summary), list));
  }
  byId("grammar-text").replaceChildren(el("div", {}, ...shown));
}

// The place in the stream

function show() {
  if (!page.view.steps) return; // nothing has been read yet
  const position = Number(byId("slider").value);
  page.view.show(position);
  const { state, points } = page.view;
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

// The same text, cut elsewhere

async function rechunk() {
  clearTimeout(page.timer);
  if (document.body.classList.contains("stale")) await analyse();
  if (document.body.classList.contains("stale")) return; // there is an error, or the fields have changed again
  const [seed] = crypto.getRandomValues(new Uint32Array(1));
  setBusy(true);
  const answer = await ask({ sections: ["rechunk"], seed });
  if (!answer) return;
  const { same, pieces, smallest, largest, cuts } = answer.rechunk;
  page.view.cuts = cuts;
  page.tried += 1;
  const sizes = `${smallest === largest ? "" : `${smallest} to `}${count(largest, "character")}`;
  const tried = page.tried > 1 ? ` ${page.tried} cuttings tried.` : "";
  const all = ` Text, calls, repairs, errors, places and joined deltas are the same.${tried}`;
  const what = same ? all : ` This is a fault of xmltools; the seed is ${seed}.`;
  const verdict = el("strong", {}, same ? "nothing changed." : "something changed.");
  byId("verdict").replaceChildren(`${count(pieces, "piece")} of ${sizes}: `, verdict, what);
  byId("verdict").className = same ? "same" : "different";
  show();
}

// Examples

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

const dialectOf = ({ options }) => options.dialect ?? "forge";

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

function fill({ about, text, tools, options }) {
  byId("about").textContent = about;
  byId("text").value = text;
  byId("tools").value = tools;
  for (const name of FLAGS) byId(name).checked = options[name] ?? false;
  byId("fences_text").checked = options.code_fences === "text";
  byId("reasoning_tags").value = (options.reasoning_tags ?? []).join(" ");
  byId("also").value = [options.also ?? []].flat().join(" ");
  change();
}

export async function startPlayground() {
  page.view = new Reading(byId("source"), byId("result"));
  byId("text").addEventListener("input", typed);
  byId("tools").addEventListener("input", typed);
  byId("options").addEventListener("input", () => change());
  byId("slider").addEventListener("input", () => {
    play(false);
    show();
  });
  byId("play").addEventListener("click", () => play(!page.isPlaying));
  byId("rechunk").addEventListener("click", rechunk);
  for (const id of ["style", "format"]) byId(id).addEventListener("change", () => change());
  await loadExamples();
  byId("example").addEventListener("change", chooseExample);
  byId("dialect").addEventListener("change", () => {
    keep("xmltools-dialect", byId("dialect").value);
    chooseDialect(byId("dialect").value);
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
}
