// One exchange: what the client asked, what the model was asked and wrote, what was read in it, what the client got.

import { byId, count, el, listing, visible } from "./dom.js";
import { showNative, showParts } from "./parts.js";
import { showSource } from "./source.js";
import { badgesOf, duration, stateBadge } from "./states.js";
import { Source, wholeState } from "./steps.js";

// What is on the page of the chosen exchange: a section is made anew only if what it shows has changed, so that nobody
// loses their place. `open` are the parts that were unfolded or folded.
const shown = { sections: new Map(), open: new Map(), looks: new Map() };

// Shows the place of a mark that is too far away to be on the page.
export function revealMark(name) {
  const [, prefix, number] = /^mark-(\d+-\d+-)(\d+)$/.exec(name) ?? [];
  const found = shown.looks.get(prefix);
  if (found && !byId(name)) found.look(found.reading.marks[Number(number)]?.offset);
}

export function forgetExchange(target) {
  shown.sections.clear();
  shown.open.clear();
  target.classList.remove("stale");
  target.replaceChildren(el("p", { class: "panel empty" }, "Choose an exchange to see its request, the prompt, the reply and what became of it."));
}

export function showExchange(target, exchange) {
  const wanted = [
    ["head", headData(exchange), () => head(exchange)],
    ["request", exchange.request, () => asked(exchange)],
    ...exchange.attempts_made.map((attempt, number) => [`attempt-${number}`, [attempt, exchange.attempts, exchange.open], () => attemptSection(exchange, attempt, number)]),
    ["sent", [exchange.sent, exchange.status], () => sent(exchange)],
  ];
  if (!shown.sections.size) target.replaceChildren();
  const focused = document.activeElement?.id;
  let before = null;
  for (const [key, data, make] of wanted) {
    before = place(target, key, JSON.stringify(data), make, before);
  }
  if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
}

function place(target, key, written, make, before) {
  const old = shown.sections.get(key);
  if (old?.written === written) return old.element;
  const element = make();
  shown.sections.set(key, { written, element });
  if (!old) {
    if (before) before.after(element);
    else target.prepend(element);
    return element;
  }
  const scrolled = [...old.element.querySelectorAll(".source")].map(({ scrollTop, scrollHeight, clientHeight }) => (scrollTop + clientHeight >= scrollHeight - 4 ? Infinity : scrollTop));
  old.element.replaceWith(element);
  element.querySelectorAll(".source").forEach((box, at) => (box.scrollTop = Math.min(scrolled[at] ?? 0, box.scrollHeight)));
  return element;
}

// A part that can be folded. What it holds is made when it is first unfolded.
function folded(key, summary, make, isOpen = false) {
  const box = el("details", {}, el("summary", { id: `fold-${key}` }, ...summary));
  const fill = () => {
    if (box.open && box.children.length === 1) box.append(...make().filter(Boolean));
  };
  box.open = shown.open.get(key) ?? isOpen;
  fill();
  box.addEventListener("toggle", () => {
    shown.open.set(key, box.open);
    fill();
  });
  return box;
}

const dim = (text) => el("span", { class: "dim" }, text);
const size = (text) => count(Array.from(text).length, "character");

function lostNote(lost, where) {
  return lost ? el("p", { class: "remark" }, `${count(lost, "byte")} ${where} are not shown: the live view keeps the beginning of what is long.`) : "";
}

// The head

const headData = ({ request, attempts_made, sent: _, ...rest }) => ({ ...rest, seconds: rest.open ? 0 : rest.seconds });

function head(exchange) {
  const { api, route, model, id, dialect, stream, plain, time, seconds, open, message, status, warnings, tools_lost: toolsLost } = exchange;
  const facts = [
    ["Request", `${route || api}${stream ? ", streamed" : ""}`],
    ["Id", id],
    ["Dialect", dialect || "no tools, so none"],
    ["Began", new Date(time * 1000).toLocaleString()],
    ["Took", open ? "not over yet" : duration(seconds)],
    ["Client got", status ? `status ${status}` : "nothing yet"],
  ];
  const rows = facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, visible(value))]);
  return el(
    "section",
    { class: "panel", "aria-label": "Summary" },
    el("div", { class: "title" }, el("h2", {}, visible(model || "No model named")), el("p", { class: "badges" }, ...badgesOf(exchange), stateBadge(exchange))),
    message ? el("p", { class: "alert" }, visible(message)) : "",
    plain ? el("p", { class: "remark" }, "This request has no tools: it was passed on as it came, and nothing was read in the reply.") : "",
    ...(warnings ? warnings.split("\n").map((each) => el("p", { class: "remark" }, visible(each))) : []),
    toolsLost ? el("p", { class: "remark" }, "The tools are too long to be kept: what calls there were is counted, but the reply is shown as text.") : "",
    el("dl", { class: "facts" }, ...rows),
    el("p", { class: "back" }, el("a", { href: "#exchanges" }, "Back to the list")),
  );
}

// Requests

function requestParts(key, request) {
  if (request.text) return wholeText(request.text);
  const messages = request.messages.map(({ role, text }, at) => {
    const first = text.trimStart().slice(0, 100).split("\n")[0];
    const summary = [el("strong", {}, visible(role || "other")), " ", dim(size(text)), " ", dim(visible(first))];
    return folded(`${key}-message-${at}`, summary, () => [listing(text, `Message of ${role}`)], at === request.messages.length - 1 && text.length < 4000);
  });
  return [
    request.left_out ? el("p", { class: "dim" }, `${count(request.left_out, "earlier message")} not shown.`) : "",
    ...messages,
    request.tools ? folded(`${key}-tools`, [el("strong", {}, count(request.tools.count, "tool")), " ", dim(size(request.tools.text))], () => [listing(request.tools.text, "Tools")]) : "",
    request.fields && request.fields !== "{}" ? folded(`${key}-fields`, [el("strong", {}, "Other fields")], () => [listing(request.fields, "Other fields of the request")]) : "",
  ];
}

function wholeText({ head: start, tail, lost }) {
  if (!start && !lost) return [el("p", { class: "empty" }, "Nothing that is a JSON object.")];
  const note = lost ? el("p", { class: "remark" }, `It is long: ${count(lost, "byte")} in the middle are not kept, so it is shown as text.`) : "";
  return [note, listing(start, "The beginning"), tail ? listing(tail, "The end") : ""];
}

function asked({ request }) {
  const summary = [el("h3", {}, "What the client asked"), " ", dim(request.text ? "" : count(request.messages.length + request.left_out, "message"))];
  return el("section", { class: "panel fold" }, folded("request", summary, () => requestParts("request", request)));
}

function sent({ sent: answer, status }) {
  const summary = [el("h3", {}, "What the client was sent"), " ", dim(status ? `status ${status}, ${size(answer.head)}` : "nothing")];
  const body = () => [answer.head ? listing(answer.head, "The answer") : el("p", { class: "empty" }, "Nothing."), lostNote(answer.lost, "of the answer")];
  return el("section", { class: "panel fold" }, folded("sent", summary, body));
}

// Attempts

function timing({ asked: start, answered, first, first_call: firstCall, ended }) {
  const since = (moment) => duration(moment - start);
  const known = [
    ["answered", answered],
    ["first byte", first],
    ["first call", firstCall],
    ["over", ended],
  ];
  const times = known.filter(([, moment]) => moment !== null).map(([name, moment]) => `${name} after ${since(moment)}`);
  return el("p", { class: "dim" }, times.length ? `${times.join(", ")}.` : "No answer yet.");
}

function attemptSection(exchange, attempt, number) {
  const many = exchange.attempts > 1;
  const status = attempt.status ? el("span", { class: attempt.status < 300 ? "badge" : "badge error" }, `upstream ${attempt.status}`) : "";
  const back = attempt.sent_back ? el("span", { class: "badge repair" }, "sent back to the model") : "";
  const title = el("h3", {}, many ? `Attempt ${number + 1} of ${exchange.attempts}` : "The model");
  const told = attempt.told ? [el("p", { class: "label" }, "What the model was told"), listing(attempt.told, "What the model was told")] : [];
  const { prompt } = attempt;
  const summary = [el("strong", {}, "Prompt as sent to the upstream"), " ", dim(prompt.text ? "" : count(prompt.messages.length + prompt.left_out, "message"))];
  const replies = attempt.replies.flatMap((reply) => replyParts(exchange, reply, number, attempt.replies.length > 1));
  return el(
    "section",
    { class: "panel attempt", "aria-label": many ? `Attempt ${number + 1}` : "The model" },
    el("div", { class: "title" }, title, el("p", { class: "badges" }, ...badgesOf(attempt), status, back)),
    timing(attempt),
    ...told,
    folded(`prompt-${number}`, summary, () => requestParts(`prompt-${number}`, prompt)),
    ...(replies.length ? replies : [el("p", { class: "empty" }, missing(exchange, attempt))]),
  );
}

function missing({ plain }, { is_over: isOver, status }) {
  if (status >= 400) return `The upstream refused the request with status ${status}.`;
  if (plain) return "The reply was passed on as it came; it stands below, as the client got it.";
  return isOver ? "The model wrote nothing." : "The model has written nothing yet.";
}

function replyParts(exchange, reply, attempt, isOneOfMany) {
  const { text, reading, thoughts, calls, choice } = reply;
  const source = new Source(text);
  const heading = isOneOfMany ? el("h4", {}, `Choice ${choice + 1}`) : "";
  const ended = reply.finish ? `, ended with “${visible(reply.finish)}”` : "";
  const label = el("p", { class: "label" }, `Raw reply: ${size(text)}${ended}`);
  const continues = reply.continues ? el("p", { class: "remark" }, "This reply continues the call that was cut off before: both are shown joined.") : "";
  const told = thoughts.head ? folded(`thoughts-${attempt}-${choice}`, [el("strong", {}, "Reasoning that the upstream told apart"), " ", dim(size(thoughts.head))], () => [listing(thoughts.head, "Reasoning"), lostNote(thoughts.lost, "of it")]) : "";
  const native = calls.length ? [el("p", { class: "label" }, "Calls that the upstream told apart"), el("div", { class: "parts" }, ...showNative(calls))] : [];
  if (!text) return [heading, told, ...native];
  if (reading.error) return [heading, told, label, el("p", { class: "remark" }, reading.error), listing(text, "Raw reply")];
  reading.prefix = `${attempt}-${choice}-`;
  const state = wholeState(reading, source.length);
  const box = el("pre", { class: "source", id: `raw-${attempt}-${choice}`, tabindex: "0", role: "region", "aria-label": "The raw reply, coloured by what was read" });
  const result = el("div", { class: "parts" });
  const look = (place) => showSource(box, source, reading, state, [], place);
  look(exchange.open ? source.length : reading.marks[0]?.offset ?? 0);
  shown.looks.set(reading.prefix, { look, reading });
  showParts(result, reading, state);
  return [heading, told, label, continues, box, lostNote(reply.lost, "of the reply"), actions(exchange, reply, attempt), result, ...native];
}

// What can be done with a reply

function actions({ number, tools, options }, reply, attempt) {
  const open = el("button", { type: "button", class: "quiet", id: `open-${attempt}-${reply.choice}` }, "Open in playground");
  open.addEventListener("click", () => openInPlayground(open, { text: reply.text, tools: tools ?? "", options }));
  const href = `live/case?number=${number}&attempt=${attempt}&choice=${reply.choice}`;
  const save = reply.savable
    ? el("a", { class: "button quiet", id: `save-${attempt}-${reply.choice}`, href, download: true }, "Save as corpus case")
    : el("span", { class: "dim" }, "Only a reply that is over, whole and was given tools can be saved as a case.");
  return el("p", { class: "actions" }, open, save);
}

// The text goes by way of the browser's memory for this tab: it stands in no address, and reaches no server's log.
function openInPlayground(button, given) {
  try {
    sessionStorage.setItem("xmltools-open", JSON.stringify(given));
  } catch {
    button.after(el("span", { class: "dim" }, "The browser does not let this page hand the text over: it may be too long, or storage is off."));
    return;
  }
  location.href = "playground";
}
