// The live view: which exchanges pass through the proxy, and how each is going. `exchange.js` shows the chosen one.

import { byId, count, dim, el, visible } from "./dom.js";
import { STATES, badgesOf, duration, forgetExchange, showExchange, stateBadge } from "./exchange.js";

const RETRY = 5000; // milliseconds until a refused connection is tried again
const REST = 300; // at least, between two looks at the chosen exchange

// `known`: the exchanges by number, with their rows; those up to `cleared` are hidden.
const page = { known: new Map(), cleared: 0, server: "", chosen: 0, looking: null };

// The list

function isWanted(exchange) {
  const { number, open, state, message, names, codes } = exchange;
  const isTrouble = codes.length > 0 || message || STATES[state][1] === "error";
  const wanted = byId("state").value;
  if (number <= page.cleared || (byId("trouble").checked && !isTrouble)) return false;
  if (wanted && wanted !== (open ? "open" : state)) return false;
  const { id, model, api, route, dialect, words } = exchange;
  const said = [id, model, api, route, dialect, message, words, STATES[state][0], ...names, ...codes];
  const text = said.join("\n").toLowerCase();
  return byId("find").value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

const elapsed = ({ open, seconds, heard }) => duration(open ? seconds + (performance.now() - heard) / 1000 : seconds);
const line = (...content) => el("span", { class: "line" }, ...content);

function showRow(exchange) {
  const { api, model, dialect, time, words, message, names } = exchange;
  const facts = [new Date(time * 1000).toLocaleTimeString(), api, dialect].filter(Boolean).join(" · ");
  const calls = [...badgesOf(exchange), names.length > 0 && dim(visible(names.join(", ")))];
  const shown = [
    words && el("strong", { class: "words" }, visible(words)),
    line(stateBadge(exchange), visible(model || "no model named")),
    message && el("span", { class: "words why" }, visible(message)),
    calls.some(Boolean) && line(...calls),
    line(dim(visible(facts)), el("span", { class: "dim elapsed" }, elapsed(exchange))),
  ];
  exchange.row.firstChild.replaceChildren(...shown.filter(Boolean));
  mark(exchange);
}

function filter() {
  const all = [...page.known.values()];
  for (const exchange of all) exchange.row.hidden = !isWanted(exchange);
  const kept = all.filter(({ number }) => number > page.cleared);
  const shown = kept.filter(({ row }) => !row.hidden).length;
  byId("shown").textContent = `${shown === kept.length ? "" : `${shown} of `}${count(kept.length, "exchange")}`;
  byId("shown").hidden = !kept.length;
  byId("none").hidden = shown > 0;
  if (!all.length) return;
  byId("none").textContent = kept.length ? "No exchange fits the filter." : "Cleared. What comes next is shown here.";
}

function remove(number) {
  page.known.get(number).row.remove();
  page.known.delete(number);
}

const notice = (text) => Object.assign(byId("notice"), { textContent: text, hidden: !text });

// Messages

function take(message) {
  for (const number of page.known.keys()) if (number < message.oldest) remove(number);
  const link = el("a", { href: `#exchange-${message.number}` });
  const row = page.known.get(message.number)?.row ?? el("li", {}, link);
  if (!row.isConnected) byId("exchanges").prepend(row); // numbers grow
  const exchange = { ...message, row, heard: performance.now() };
  page.known.set(exchange.number, exchange);
  showRow(exchange);
  filter();
  if (exchange.number === page.chosen) lookSoon();
}

function greet({ server }) {
  if (page.server && page.server !== server) {
    for (const number of page.known.keys()) remove(number);
    page.cleared = 0;
    filter();
    notice(`The server was restarted (${new Date().toLocaleTimeString()}): what it had kept is gone.`);
    leave();
  }
  page.server = server;
}

function clear() {
  page.cleared = Math.max(0, ...page.known.keys());
  notice("");
  filter();
}

function showConnection(text, kind) {
  if (byId("connection").textContent !== text) byId("connection").textContent = text;
  byId("connection").className = `badge ${kind}`;
}

function connect() {
  const stream = new EventSource("live/events");
  page.stream = stream;
  stream.addEventListener("open", () => showConnection("Connected", "clean"));
  stream.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    (message.type === "hello" ? greet : take)(message);
  });
  stream.addEventListener("error", () => {
    const isRefused = stream.readyState === EventSource.CLOSED;
    const why = isRefused ? "Refused: too many pages, or this host name is not allowed" : "Not connected";
    showConnection(`${why}; trying again`, "error");
    if (isRefused) page.retry = setTimeout(connect, RETRY);
  });
}

// What happens meanwhile is heard when the page connects again.
function pause({ target: button }) {
  const isPaused = button.textContent === "Pause";
  button.textContent = isPaused ? "Go on" : "Pause";
  clearTimeout(page.retry);
  page.stream.close();
  if (isPaused) showConnection("Paused", "held");
  else connect();
}

// The chosen exchange

function mark({ number, row }) {
  if (number === page.chosen) row.firstChild.setAttribute("aria-current", "true");
  else row.firstChild.removeAttribute("aria-current");
}

function choose() {
  const number = Number(/^#exchange-(\d+)$/.exec(location.hash)?.[1] ?? 0);
  if (number === page.chosen || location.hash === "#exchanges") return;
  page.looking?.abort();
  page.chosen = number;
  page.known.forEach(mark);
  forgetExchange(byId("details"));
  if (number) look(reveal);
}

// Where the chosen exchange is below the list, it comes into sight, and the keyboard goes on there.
function reveal() {
  if (!matchMedia("(max-width: 64rem)").matches) return;
  byId("details").focus({ preventScroll: true });
  byId("details").scrollIntoView({ block: "start" });
}

// What is shown of the chosen exchange stays, but its number may come to mean another one.
function leave() {
  page.looking?.abort();
  page.chosen = 0;
  history.replaceState(null, "", location.pathname);
  byId("details").classList.add("stale");
}

function lookSoon() {
  if (page.looking) page.again = true;
  else look();
}

// Shows the chosen exchange, and again as long as it changes; what takes long to read is looked at less often.
async function look(then = () => {}) {
  const call = new AbortController();
  const { signal } = call;
  Object.assign(page, { looking: call, again: false });
  signal.addEventListener("abort", () => (page.looking = null));
  const began = performance.now();
  const response = await fetch(`live/exchange?number=${page.chosen}`, { signal }).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (signal.aborted) return;
  const error = answer ? answer.error?.message : "The server can't be reached.";
  byId("details").classList.toggle("stale", Boolean(error));
  if (error) notice(`The chosen exchange: ${error}`);
  else showExchange(byId("details"), answer);
  then();
  setTimeout(() => {
    if (signal.aborted) return;
    page.looking = null;
    if (page.again) look();
  }, Math.max(REST, 3 * (performance.now() - began)));
}

const ends = Object.entries(STATES).slice(2);
byId("state").append(...ends.map(([state, [words]]) => el("option", { value: state }, words)));
for (const id of ["find", "state", "trouble"]) byId(id).addEventListener("input", filter);
byId("pause").addEventListener("click", pause);
byId("clear").addEventListener("click", clear);
addEventListener("hashchange", choose);
setInterval(() => {
  for (const exchange of page.known.values()) {
    if (exchange.open) exchange.row.querySelector(".elapsed").textContent = elapsed(exchange);
  }
}, 1000);
choose();
connect();
