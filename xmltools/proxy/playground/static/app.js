// The playground: what stands in the fields goes to the server, and what the parser made of it is shown.

import { byId, count, el, followMarks, listing, visible } from "./dom.js";
import { dimEvents, listEvents, showParts } from "./parts.js";
import { describe, explain, showSource } from "./source.js";
import { Source, stateAt } from "./steps.js";
import { setUpTabs, showTab } from "./tabs.js";

const PAUSE = 250; // milliseconds without typing after which an analysis begins
const LONG_PAUSE = 1000; // the same for a text that takes long
const LONG = 200_000; // characters from which on it does
const TOO_LONG = 1 << 20; // characters that no request can have
const SOON = 400; // milliseconds after which an answer that is not there is spoken of

const page = { dialects: [], source: new Source(""), reading: null, steps: null, cuts: [], tried: 0, playing: 0, around: undefined, timers: {}, calls: {}, busy: new Set() };

// What is shown will change: an answer is on its way, or typing is waited for.
function busy(what, is) {
  if (is) page.busy.add(what);
  else page.busy.delete(what);
  document.querySelector(".output").setAttribute("aria-busy", String(page.busy.size > 0));
}

function forget(timer) {
  clearTimeout(page.timers[timer]);
  busy(timer, false);
}

// What is shown is dimmed as soon as it is not of what stands in the fields.
function outdate(text) {
  document.body.classList.add("stale");
  const size = byId("text").value.length;
  const tell = () => {
    byId("progress").textContent = text.replace("#", count(size, "character"));
    byId("progress").hidden = false;
  };
  clearTimeout(page.timers.tell);
  if (size > LONG || !byId("progress").hidden) tell();
  else page.timers.tell = setTimeout(tell, SOON);
}

function quiet() {
  clearTimeout(page.timers.tell);
  byId("progress").hidden = true;
}

// Requests

function parserOptions() {
  const options = { code_fences: byId("fences_text").checked ? "text" : "last", dialect: byId("dialect").value };
  for (const name of ["strict", "starts_in_reasoning", "bracket_reasoning"]) options[name] = byId(name).checked;
  const names = (id) => byId(id).value.split(/[\s,]+/).filter(Boolean);
  const [tags, also] = [names("reasoning_tags"), names("also")];
  if (tags.length) options.reasoning_tags = tags;
  if (also.length) options.also = also.join() === "known" ? "known" : also;
  return options;
}

async function post(body, signal) {
  let response;
  try {
    response = await fetch("playground/api/analyse", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw Object.assign(new Error("The server can't be reached. Is it still running?"), { field: null });
  }
  const answer = await response.json().catch(() => ({ error: { message: `The server answered ${response.status}.` } }));
  if (answer.error) throw Object.assign(new Error(answer.error.message), { field: answer.error.field });
  return answer;
}

// Only the newest request of a kind counts. Returns null if a newer one came, or the answer is an error.
async function ask(kind, body) {
  page.calls[kind]?.abort();
  const call = new AbortController();
  page.calls[kind] = call;
  busy(kind, true);
  try {
    const answer = await post({ tools: byId("tools").value, ...body }, call.signal);
    return page.calls[kind] === call ? answer : null;
  } catch (error) {
    if (page.calls[kind] === call && !call.signal.aborted) showError(error);
    return null;
  } finally {
    if (page.calls[kind] === call) busy(kind, false);
  }
}

function showError(error) {
  quiet();
  const alert = byId("error");
  if (error.field === "text" || error.field === "tools") byId(error.field).after(alert);
  else document.querySelector(".output").prepend(alert);
  alert.textContent = visible(error.message);
  alert.hidden = false;
  for (const name of ["text", "tools"]) byId(name).toggleAttribute("aria-invalid", error.field === name);
  document.body.classList.add("stale");
}

function clearError() {
  quiet();
  byId("error").hidden = true;
  for (const name of ["text", "tools"]) byId(name).removeAttribute("aria-invalid");
  document.body.classList.remove("stale");
}

// The reading

async function analyse() {
  forget("analyse");
  const text = byId("text").value;
  if (text.length > TOO_LONG) {
    page.calls.reading?.abort();
    return showError({ field: "text", message: `The text has ${count(text.length, "character")}, and no more than ${count(TOO_LONG, "character")} are analysed: shorten it.` });
  }
  outdate("Analysing # in the background. What is shown below is older.");
  const answer = await ask("reading", { text, options: { ...parserOptions(), sections: ["reading", "steps"] } });
  if (!answer) return undefined;
  clearError();
  stop();
  const isOther = page.reading?.dialect !== answer.reading.dialect;
  Object.assign(page, { source: new Source(text), reading: answer.reading, steps: answer.steps, cuts: [], tried: 0 });
  if (isOther) describeTools();
  byId("slider").max = answer.steps.count + 1;
  byId("slider").value = answer.steps.count + 1;
  byId("verdict").textContent = "Cuts the stream elsewhere and compares: nothing may change.";
  byId("verdict").className = "dim";
  summarise(answer.reading);
  tellDialect(answer.reading);
  listEvents(byId("events"), answer.steps);
  byId("source").scrollTop = 0;
  show();
  return undefined;
}

function summarise(reading) {
  const number = (kind) => reading.parts.filter((part) => part.kind === kind).length;
  const repairs = reading.parts.reduce((sum, part) => sum + (part.repairs ?? 0), 0);
  const badges = [
    el("span", { class: "badge call" }, count(number("call"), "call")),
    el("span", { class: repairs ? "badge repair" : "badge" }, count(repairs, "repair")),
    ...(reading.notices.length ? [el("span", { class: "badge repair" }, count(reading.notices.length, "notice"))] : []),
    el("span", { class: number("error") ? "badge error" : "badge" }, count(number("error"), "error")),
  ];
  byId("summary").replaceChildren(...badges);
}

// Which dialect the text was read in, and how a call looks in it.
function tellDialect({ dialect, detected }) {
  const example = el("code", {}, page.dialects.find(({ name }) => name === dialect)?.example ?? "");
  const [first, ...others] = detected;
  const also = others.map(({ name, calls }) => `${name} (${count(calls, "call")})`).join(", ");
  const detect = byId("dialect").value === "detect";
  const found = first ? `Detected ${first.name} (${count(first.calls, "call")})${also ? `; others that find calls here: ${also}` : ""}.` : `No call detected: read as ${dialect}.`;
  byId("dialect-found").replaceChildren(...(detect ? [el("strong", {}, found), " "] : []), el("span", { class: "example" }, "A call: ", example));
}

function show() {
  const position = Number(byId("slider").value);
  const state = stateAt(page.steps, page.source.length, position);
  const place = describe(state, page.steps, page.source.length);
  byId("position").textContent = place;
  byId("slider").setAttribute("aria-valuetext", place);
  byId("explanation").textContent = explain(state);
  showSource(byId("source"), page.source, page.reading, state, page.cuts, page.around);
  showParts(byId("result"), page.reading, state);
  dimEvents(byId("events"), position);
}

function showAround(place) {
  page.around = place;
  show();
  page.around = undefined;
}

function showSoon() {
  cancelAnimationFrame(page.timers.show);
  page.timers.show = requestAnimationFrame(show);
}

// Playing

function stop() {
  cancelAnimationFrame(page.playing);
  page.playing = 0;
  byId("play").textContent = "Play";
}

function play() {
  if (!page.steps) return;
  if (page.playing) return stop();
  const slider = byId("slider");
  const last = page.steps.count + 1;
  if (Number(slider.value) >= last) slider.value = 0;
  const stride = Math.max(1, Math.ceil(last / 600)); // some ten seconds for the longest text
  byId("play").textContent = "Pause";
  const advance = () => {
    slider.value = Number(slider.value) + stride;
    show();
    if (Number(slider.value) >= last) stop();
    else page.playing = requestAnimationFrame(advance);
  };
  page.playing = requestAnimationFrame(advance);
}

// Cutting elsewhere

async function rechunk() {
  const [seed] = crypto.getRandomValues(new Uint32Array(1));
  const text = byId("text").value;
  if (!page.reading || text !== page.source.text) await analyse();
  const answer = await ask("rechunk", { text, options: { ...parserOptions(), sections: ["rechunk"], seed } });
  if (!answer) return;
  page.cuts = answer.rechunk.cuts;
  page.tried += 1;
  byId("verdict").replaceChildren(...verdict(answer.rechunk));
  byId("verdict").className = answer.rechunk.same ? "same" : "different";
  show();
}

function verdict({ same, pieces, smallest, largest, seed }) {
  const sizes = smallest === largest ? `of ${count(largest, "character")}` : `of ${smallest} to ${count(largest, "character")}`;
  const what = `${count(pieces, "piece")} ${sizes}: `;
  if (!same) return [what, el("strong", {}, "something changed."), ` This is a fault of xmltools; the seed is ${seed}.`];
  const tried = page.tried > 1 ? ` ${page.tried} cuttings tried.` : "";
  return [what, el("strong", {}, "nothing changed."), ` Text, calls, repairs, errors, places and joined deltas are the same.${tried}`];
}

// What the tools make

async function describeTools() {
  const dialect = page.reading?.dialect ?? "forge";
  const options = { sections: ["prompt", "grammar"], style: byId("style").value, grammar: byId("format").value, dialect };
  const answer = await ask("tools", { text: "", options });
  if (!answer) return;
  showPrompt(answer.prompt);
  showGrammar(answer.grammar);
}

function showPrompt(prompt) {
  byId("prompt-size").textContent = prompt.text
    ? `${count(prompt.characters, "character")}, about ${count(prompt.tokens, "token")}`
    : "";
  if (prompt.error) byId("prompt-text").replaceChildren(remark(prompt.error));
  else if (!prompt.text) byId("prompt-text").replaceChildren(remark("Without tools there is nothing to say to the model."));
  else byId("prompt-text").replaceChildren(listing(prompt.text, "Instructions for the system prompt"));
}

function showGrammar(grammar) {
  if (grammar.error) return byId("grammar-text").replaceChildren(remark(grammar.error));
  const texts = grammar.texts.flatMap(({ name, text }) => [
    name ? el("h3", {}, visible(name)) : null,
    listing(text, name ? `Grammar of ${name}` : "Grammar"),
  ]);
  const issues = grammar.issues.map((issue) => el("li", {}, visible(issue)));
  if (issues.length) texts.unshift(el("details", {}, el("summary", {}, `${count(issues.length, "rule")} of the schemas that it can't hold a model to`), el("ul", {}, ...issues)));
  return byId("grammar-text").replaceChildren(...texts.filter(Boolean));
}

const remark = (text) => el("p", { class: "remark" }, visible(text));

// Examples

async function loadExamples() {
  const load = async (path) => (await fetch(`playground/${path}`)).json();
  const [{ tools, examples }, { dialects }] = await Promise.all([load("static/examples.json"), load("api/dialects")]);
  page.dialects = dialects;
  const dialectOf = (example) => example.options.dialect ?? "forge";
  const shown = new Set(examples.map(dialectOf));
  for (const { name, example } of dialects.filter(({ name }) => !shown.has(name))) {
    examples.push({ name: `A call in ${name}`, about: "One call, with the least that this dialect writes.", tools: "number", text: example, options: { dialect: name } });
  }
  byId("dialect").append(...dialects.map(({ name, models }) => el("option", { value: name, title: models.join(", ") }, name)));
  const choose = () => {
    const example = examples[Number(byId("example").value)];
    if (byId("example").value && example) fill(example, tools[example.tools] ? JSON.stringify(tools[example.tools], null, 2) : "");
  };
  // With a dialect there are the examples in that one only.
  const list = () => {
    const dialect = byId("dialect").value;
    const found = examples.flatMap((example, at) => (dialect === "detect" || dialect === dialectOf(example) ? [el("option", { value: at }, example.name)] : []));
    const chosen = byId("example").value;
    byId("example").replaceChildren(el("option", { value: "" }, "(your own)"), ...found);
    if (found.some(({ value }) => value === chosen)) byId("example").value = chosen;
  };
  byId("example").addEventListener("change", choose);
  byId("dialect").addEventListener("change", () => {
    remember(byId("dialect").value);
    list();
  });
  const known = recalled();
  if ([...byId("dialect").options].some(({ value }) => value === known)) byId("dialect").value = known;
  list();
  const handed = takeHanded();
  if (handed) {
    byId("dialect").value = handed.options.dialect;
    list();
    fill({ ...handed, about: "A reply from the live view, with its tools and its dialect." }, handed.tools);
  } else if (!byId("text").value) {
    byId("example").selectedIndex = 1;
    choose();
  } else update(); // the browser kept what was typed before a reload
}

function fill(example, tools) {
  byId("about").textContent = example.about;
  byId("text").value = example.text;
  byId("tools").value = tools;
  const options = example.options ?? {};
  for (const name of ["strict", "starts_in_reasoning", "bracket_reasoning"]) byId(name).checked = options[name] ?? false;
  byId("fences_text").checked = options.code_fences === "text";
  byId("reasoning_tags").value = (options.reasoning_tags ?? []).join(" ");
  byId("also").value = [options.also ?? []].flat().join(" ");
  update();
}

// The dialect is the choice of this tab, also after a reload.
function remember(dialect) {
  try {
    sessionStorage.setItem("xmltools-dialect", dialect);
  } catch {
    // then it lasts as long as the page
  }
}

function recalled() {
  try {
    return sessionStorage.getItem("xmltools-dialect");
  } catch {
    return null; // storage may be forbidden
  }
}

// What the live view left for this page, once.
function takeHanded() {
  try {
    const handed = JSON.parse(sessionStorage.getItem("xmltools-open"));
    sessionStorage.removeItem("xmltools-open");
    return handed;
  } catch {
    return null; // storage may be forbidden
  }
}

function update() {
  forget("update");
  describeTools();
  analyse();
}

// Events of the page

function later(action) {
  return () => {
    byId("example").selectedIndex = 0;
    byId("about").textContent = "";
    forget(action.name);
    page.calls.reading?.abort();
    outdate("Waiting for a pause in typing, to analyse #. What is shown below is older.");
    page.timers[action.name] = setTimeout(action, byId("text").value.length > LONG ? LONG_PAUSE : PAUSE);
    busy(action.name, true);
  };
}

byId("text").addEventListener("input", later(analyse));
byId("tools").addEventListener("input", later(update));
byId("options").addEventListener("input", analyse);
byId("dialect").addEventListener("change", analyse);
byId("analyse").addEventListener("click", update);
byId("slider").addEventListener("input", () => {
  stop();
  if (page.steps) showSoon();
});
byId("play").addEventListener("click", play);
byId("rechunk").addEventListener("click", rechunk);
byId("style").addEventListener("change", describeTools);
byId("format").addEventListener("change", describeTools);
followMarks((name) => {
  if (name.startsWith("note-")) showTab(byId("tab-result"));
  else if (!byId(name)) showAround(page.reading.marks[Number(name.slice("mark-".length))]?.offset);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) update();
});
setUpTabs(document.querySelector("[role=tablist]"));
loadExamples();
