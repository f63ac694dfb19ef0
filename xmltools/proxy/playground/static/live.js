// The live view: which exchanges pass through the proxy, and how each is going. `exchange.js` shows the chosen one.

import { byId, count, el, followMarks, visible } from "./dom.js";
import { forgetExchange, revealMark, showExchange } from "./exchange.js";
import { STATES, badgesOf, duration, isOpen, stateBadge } from "./states.js";

const RETRY = 5000; // milliseconds until a refused connection is tried again
const REST = 300; // at least, between two looks at the chosen exchange

const page = { known: new Map(), rows: new Map(), hidden: 0, server: "", paused: false, waiting: [], chosen: 0, loading: null, again: false, timer: 0 };

// The list

function isTrouble(exchange) {
  return exchange.repaired > 0 || exchange.rejected > 0 || exchange.unread > 0 || exchange.message !== "" || STATES[exchange.state].kind === "error";
}

function isWanted(exchange) {
  if (exchange.number <= page.hidden) return false;
  const state = byId("state").value;
  if (state && state !== (isOpen(exchange) ? "open" : exchange.state)) return false;
  if (byId("trouble").checked && !isTrouble(exchange)) return false;
  const { id, model, api, route, dialect, message, words, names, codes } = exchange;
  const text = [id, model, api, route, dialect, message, words, STATES[exchange.state].label, ...names, ...Object.keys(codes)].join("\n").toLowerCase();
  const wanted = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  return wanted.every((word) => text.includes(word));
}

function rowContent(exchange) {
  const { api, model, dialect, time, words, message, names } = exchange;
  const head = el("span", { class: "line" }, stateBadge(exchange), el("strong", {}, visible(model || "no model named")));
  const facts = [new Date(time * 1000).toLocaleTimeString(), api, dialect].filter(Boolean).join(" · ");
  const line = el("span", { class: "line dim" }, visible(facts), el("span", { class: "elapsed" }, elapsed(exchange)));
  const about = words ? el("span", { class: "words" }, visible(words)) : "";
  const why = message ? el("span", { class: "words why" }, visible(message)) : "";
  const badges = badgesOf(exchange);
  const calls = badges.length || names.length ? el("span", { class: "line" }, ...badges, names.length ? el("span", { class: "dim" }, visible(names.join(", "))) : "") : "";
  return [head, line, about, why, calls];
}

const elapsed = (exchange) => duration(isOpen(exchange) ? exchange.seconds + (performance.now() - exchange.heard) / 1000 : exchange.seconds);

function showRow(exchange) {
  let row = page.rows.get(exchange.number);
  if (!row) {
    const link = el("a", { href: `#exchange-${exchange.number}` });
    row = { item: el("li", {}, link), link };
    page.rows.set(exchange.number, row);
    byId("exchanges").prepend(row.item); // numbers grow
  }
  row.link.replaceChildren(...rowContent(exchange).filter(Boolean));
  row.item.hidden = !isWanted(exchange);
}

function countRows() {
  const all = [...page.known.values()].filter(({ number }) => number > page.hidden);
  const shown = all.filter(isWanted).length;
  byId("shown").textContent = all.length ? `${shown === all.length ? "" : `${shown} of `}${count(all.length, "exchange")}` : "";
  byId("none").hidden = shown > 0;
  if (page.known.size) byId("none").textContent = all.length ? "No exchange fits the filter." : "Cleared. What comes next is shown here.";
}

function filter() {
  for (const exchange of page.known.values()) page.rows.get(exchange.number).item.hidden = !isWanted(exchange);
  countRows();
}

function remove(number) {
  page.known.delete(number);
  page.rows.get(number)?.item.remove();
  page.rows.delete(number);
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

// Messages

function take(message) {
  if (message.type === "hello") return greet(message);
  const exchange = { ...message, heard: performance.now() };
  for (const number of page.known.keys()) if (number < message.oldest) remove(number);
  page.known.set(exchange.number, exchange);
  showRow(exchange);
  countRows();
  if (exchange.number === page.chosen) lookSoon();
  return undefined;
}

function greet({ server }) {
  if (page.server && page.server !== server) {
    for (const number of [...page.known.keys()]) remove(number);
    page.hidden = 0;
    page.waiting = [];
    countRows();
    notice(`The server was restarted (${new Date().toLocaleTimeString()}): what it had kept is gone.`);
    if (page.chosen) leave();
  }
  page.server = server;
}

function receive(event) {
  const message = JSON.parse(event.data);
  if (!page.paused || message.type === "hello") return take(message);
  page.waiting = page.waiting.filter((each) => each.number !== message.number); // only the latest of each counts
  page.waiting.push(message);
  byId("pause").textContent = `Go on (${page.waiting.length})`;
  return undefined;
}

function pause() {
  page.paused = !page.paused;
  byId("pause").setAttribute("aria-pressed", String(page.paused));
  byId("pause").textContent = page.paused ? "Go on" : "Pause";
  if (!page.paused) page.waiting.splice(0).forEach(take);
}

function clear() {
  page.hidden = Math.max(0, ...page.known.keys());
  notice("");
  filter();
}

function showConnection(text, kind) {
  if (byId("connection").textContent === text) return;
  byId("connection").textContent = text;
  byId("connection").className = `badge ${kind}`;
}

function connect() {
  const stream = new EventSource("live/events");
  stream.addEventListener("open", () => showConnection("Connected", "clean"));
  stream.addEventListener("message", receive);
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return showConnection("Not connected; trying again", "error");
    showConnection("Refused: too many pages, or this host name is not allowed; trying again", "error");
    setTimeout(connect, RETRY);
    return undefined;
  });
}

// The chosen exchange

function choose() {
  const number = Number(/^#exchange-(\d+)$/.exec(location.hash)?.[1] ?? 0);
  if (number === page.chosen || location.hash === "#exchanges") return;
  rest();
  page.chosen = number;
  for (const [each, { link }] of page.rows) mark(link, each === number);
  forgetExchange(byId("details"));
  if (number) look();
}

// What is shown of the chosen exchange stays, but its number may come to mean another one.
function leave() {
  rest();
  page.chosen = 0;
  history.replaceState(null, "", location.pathname);
  byId("details").classList.add("stale");
}

function rest() {
  page.loading?.abort();
  clearTimeout(page.timer);
  Object.assign(page, { loading: null, timer: 0 });
}

function mark(link, isChosen) {
  if (isChosen) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
}

function lookSoon() {
  mark(page.rows.get(page.chosen).link, true);
  if (page.loading) page.again = true;
  else if (!page.timer) page.timer = setTimeout(look, REST);
}

async function look() {
  clearTimeout(page.timer);
  page.timer = 0;
  const call = new AbortController();
  Object.assign(page, { loading: call, again: false });
  const began = performance.now();
  try {
    const response = await fetch(`live/exchange?number=${page.chosen}`, { signal: call.signal });
    const answer = await response.json();
    if (call.signal.aborted) return;
    if (answer.error) return lose(answer.error.message);
    byId("details").classList.remove("stale");
    showExchange(byId("details"), answer);
  } catch {
    if (!call.signal.aborted) lose("The server can't be reached.");
  } finally {
    if (page.loading === call) {
      page.loading = null;
      // What takes long to read is looked at less often.
      if (page.again) page.timer = setTimeout(look, Math.max(REST, 3 * (performance.now() - began)));
    }
  }
}

function lose(message) {
  byId("details").classList.add("stale");
  notice(`The chosen exchange: ${message}`);
}

setInterval(() => {
  for (const exchange of page.known.values()) {
    if (isOpen(exchange)) page.rows.get(exchange.number).link.querySelector(".elapsed").textContent = elapsed(exchange);
  }
}, 1000);

for (const id of ["find", "state", "trouble"]) byId(id).addEventListener("input", filter);
byId("pause").addEventListener("click", pause);
byId("clear").addEventListener("click", clear);
byId("exchanges").addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#exchange-']");
  if (link && matchMedia("(max-width: 64rem)").matches) setTimeout(() => byId("details").scrollIntoView({ block: "start" }));
});
addEventListener("hashchange", choose);
followMarks(revealMark);
choose();
connect();
