// The live view: streams that pass through the proxy, as they come.

import { byId, count, el, visible } from "./dom.js";

const STREAMS = 50; // cards on the page
const LONGEST = 20_000; // characters of one text on the page: the oldest go
const WAITING = 10_000; // messages kept while the page pauses

const cards = new Map();
const waiting = [];
let paused = false;
let lost = 0;

// Cards

function makeCard(id) {
  const head = el("header", {});
  const body = el("div", { class: "parts" });
  const card = { element: el("li", { class: "panel stream" }, head, body), head, body, choices: new Map(), outcome: "", calls: 0 };
  cards.set(id, card);
  byId("streams").prepend(card.element);
  byId("none").hidden = true;
  while (cards.size > STREAMS) {
    const [oldest, gone] = cards.entries().next().value;
    gone.element.remove();
    cards.delete(oldest);
  }
  return card;
}

function showHead(id, card) {
  const state = card.outcome
    ? el("span", { class: `badge ${card.outcome === "ok" ? "clean" : "error"}` }, visible(card.outcome))
    : el("span", { class: "badge held" }, "streaming");
  const began = card.time ? new Date(card.time * 1000).toLocaleTimeString() : "began before this page";
  card.head.replaceChildren(
    el("span", { class: "label" }, visible(card.api ?? "stream")),
    el("strong", {}, visible(card.model || "unknown model")),
    el("span", { class: "dim" }, visible(id)),
    el("span", { class: "dim" }, card.seconds === undefined ? began : `${began}, ${card.seconds.toFixed(1)} s`),
    card.calls ? el("span", { class: "badge call" }, count(card.calls, "call")) : "",
    state,
  );
}

// What a choice says is appended to the last part if that is of the same kind.
function choiceOf(card, number) {
  let choice = card.choices.get(number);
  if (!choice) {
    choice = { body: el("div", { class: "choice" }), kind: "", text: null, call: null, arguments: new Map() };
    if (number > 0) choice.body.append(el("p", { class: "dim" }, `Choice ${number + 1}`));
    card.choices.set(number, choice);
    card.body.append(choice.body);
  }
  return choice;
}

function append(node, text) {
  node.appendData(visible(text));
  if (node.length > LONGEST) node.deleteData(0, node.length - LONGEST);
}

// White space at the end of a text was there to part it from what follows.
function settle(choice) {
  if (choice.text) choice.text.data = choice.text.data.trimEnd();
  choice.text = null;
}

const LABELS = { text: "Text", reasoning: "Reasoning" };

function addText(choice, { type, text, cut }) {
  if (choice.kind !== type) {
    settle(choice);
    choice.kind = type;
    choice.text = document.createTextNode("");
    const body = el("div", { class: "body" }, choice.text);
    choice.body.append(el("article", { class: type }, el("header", {}, el("span", { class: "label" }, LABELS[type])), body));
  }
  append(choice.text, text);
  if (cut) append(choice.text, ` [${count(cut, "character")} not shown] `);
}

function startCall(choice, name, server) {
  settle(choice);
  const body = el("tbody", {});
  const state = el("span", { class: "badge held" }, "still being written");
  const where = server ? el("span", { class: "dim" }, `on ${visible(server)}`) : "";
  const header = el("header", {}, el("span", { class: "label" }, "Call"), el("strong", {}, visible(name)), where, state);
  choice.call = { body, state, element: el("article", { class: "call open" }, header, el("table", {}, body)) };
  choice.arguments = new Map();
  choice.kind = "call";
  choice.body.append(choice.call.element);
}

function addArgument(choice, { path, text, cut }) {
  if (!choice.call) startCall(choice, "unknown tool", "");
  let node = choice.arguments.get(path);
  if (!node) {
    node = document.createTextNode("");
    choice.arguments.set(path, node);
    choice.call.body.append(el("tr", {}, el("th", { scope: "row" }, visible(path)), el("td", { class: "value" }, node)));
  }
  append(node, text);
  if (cut) append(node, ` [${count(cut, "character")} not shown] `);
}

function endCall(choice, message) {
  if (!choice.call) startCall(choice, message.name, "");
  const { element, body, state } = choice.call;
  element.classList.remove("open");
  const rows = message.arguments.map(({ path, type, value }) =>
    el("tr", {}, el("th", { scope: "row" }, visible(path)), el("td", { class: "type" }, type), el("td", { class: "value" }, visible(value))),
  );
  body.replaceChildren(...rows);
  state.className = message.repairs.length ? "badge repair" : "badge clean";
  state.textContent = message.repairs.length ? `repaired: ${message.repairs.join(", ")}` : "clean";
  Object.assign(choice, { call: null, kind: "" });
}

function failCall(choice, { code, message }) {
  if (choice.call) {
    choice.call.element.classList.replace("call", "error");
    choice.call.state.remove();
  }
  const target = choice.call?.element ?? choice.body.appendChild(el("article", { class: "error" }));
  const header = el("header", {}, el("span", { class: "label" }, "Error"), el("span", { class: "badge error" }, code));
  target.append(header, el("p", {}, visible(message)));
  Object.assign(choice, { call: null, kind: "" });
}

function addNotice(choice, { code, message }) {
  const header = el("header", {}, el("span", { class: "label" }, "Notice"), el("span", { class: "badge repair" }, code));
  choice.body.append(el("article", { class: "notice" }, header, el("p", {}, visible(message))));
  settle(choice);
  choice.kind = "notice";
}

// Messages

function begin(card, { api, model, time }) {
  Object.assign(card, { api, model, time });
}

function end(card, { outcome, time }) {
  card.outcome = outcome;
  if (card.time) card.seconds = time - card.time;
}

function say(card, message) {
  const choice = choiceOf(card, message.choice);
  if (message.type === "text" || message.type === "reasoning") addText(choice, message);
  else if (message.type === "started") startCall(choice, message.name, message.server);
  else if (message.type === "argument") addArgument(choice, message);
  else if (message.type === "error") failCall(choice, message);
  else if (message.type === "notice") addNotice(choice, message);
  else if (message.type === "call") {
    endCall(choice, message);
    card.calls += 1;
  }
}

const HEADS = new Set(["begin", "end", "call"]);

function take(message) {
  if (message.type === "hello") return clear();
  if (message.type === "dropped") return loseSome(message.count);
  const isNew = !cards.has(message.stream);
  const card = cards.get(message.stream) ?? makeCard(message.stream);
  if (message.type === "begin") begin(card, message);
  else if (message.type === "end") end(card, message);
  else say(card, message);
  if (isNew || HEADS.has(message.type)) showHead(message.stream, card);
  return undefined;
}

function loseSome(number) {
  lost += number;
  byId("lost").textContent = `${count(lost, "message")} lost: this page was too slow for what the proxy has to show.`;
  byId("lost").hidden = false;
}

function clear() {
  cards.clear();
  byId("streams").replaceChildren();
  byId("none").hidden = false;
  byId("lost").hidden = true;
  lost = 0;
}

function pause() {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  byId("pause").textContent = paused ? "Go on" : "Pause";
  if (!paused) waiting.splice(0).forEach(take);
}

function receive(event) {
  const message = JSON.parse(event.data);
  if (!paused) return take(message);
  waiting.push(message);
  if (waiting.length > WAITING) {
    waiting.shift();
    loseSome(1);
  }
  return undefined;
}

function showConnection(text, kind) {
  byId("connection").textContent = text;
  byId("connection").className = `badge ${kind}`;
}

const stream = new EventSource("live/events");
stream.addEventListener("open", () => showConnection("Connected", "clean"));
stream.addEventListener("error", () => {
  if (stream.readyState === EventSource.CLOSED) showConnection("Refused: too many pages, or this host name is not allowed", "error");
  else showConnection("Not connected; trying again", "error");
});
stream.addEventListener("message", receive);
byId("pause").addEventListener("click", pause);
byId("clear").addEventListener("click", clear);
