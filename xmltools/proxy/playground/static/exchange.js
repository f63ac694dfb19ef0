// One exchange: what the client asked, what the model was asked and wrote, what was read in it, what the client got.

import { badge, badges, byId, count, dim, el, empty, keep, label, listing, remark, visible } from "./dom.js";
import { showNative } from "./parts.js";
import { Reading, readings } from "./reading.js";

// In words, and of which kind they are; the first two are not the end.
export const STATES = {
  waiting: ["waiting for the model", "held"],
  writing: ["writing", "call"],
  done: ["done", "clean"],
  rejected: ["call rejected", "error"],
  cut: ["cut off", "error"],
  failed: ["failed", "error"],
  client_left: ["client left", "repair"],
  refused: ["refused", "error"],
  stopped: ["server stopped", "repair"],
};

// What ended well, but not at the first try, is not green: a call of it was rejected on the way.
export function stateBadge({ state, retries }) {
  if (state === "done" && retries > 0) return badge("repair", `done after ${count(retries, "retry")}`);
  const [words, kind] = STATES[state];
  return badge(kind, words);
}

export function badgesOf({ made, repaired, rejected, unread }) {
  return [
    made > 0 && badge("call", count(made, "call")),
    repaired > 0 && badge("repair", `${repaired} repaired`),
    rejected > 0 && badge("error", `${rejected} rejected`),
    unread > 0 && badge("repair", `${count(unread, "call")} in another notation`),
  ].filter(Boolean);
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

// What is on the page of the chosen exchange: a section is made anew only if what it shows has changed, so that nobody
// loses their place. `open` are the parts that were unfolded or folded.
const shown = { sections: new Map(), open: new Map() };

export function forgetExchange(target) {
  shown.sections.clear();
  shown.open.clear();
  readings.clear();
  target.classList.remove("stale");
  const hint = "Choose an exchange to see its request, the prompt, the reply and what became of it.";
  target.replaceChildren(el("p", { class: "panel empty" }, hint));
}

export function showExchange(target, exchange) {
  const { request, attempts_made: attempts, sent: answer, seconds, ...rest } = exchange;
  const { open, status } = exchange;
  if (!shown.sections.size) target.replaceChildren();
  const focused = document.activeElement?.id;
  place(target, "head", [rest, open || seconds], () => head(exchange));
  place(target, "request", request, () => asked(request));
  for (const [number, attempt] of attempts.entries()) {
    place(target, `attempt-${number}`, [attempt, attempts.length, open], () => attemptSection(exchange, number));
  }
  target.append(place(target, "sent", [answer, status], () => sent(answer, status))); // behind new attempts
  if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
}

function place(target, key, data, make) {
  const old = shown.sections.get(key);
  const written = JSON.stringify(data);
  if (old?.written === written) return old.element;
  const element = make();
  shown.sections.set(key, { written, element });
  if (!old) target.append(element);
  else {
    const before = [...old.element.querySelectorAll(".source")];
    const scrolled = before.map((box) => (isAtEnd(box) ? box.scrollHeight * 2 : box.scrollTop));
    old.element.replaceWith(element);
    for (const [at, box] of element.querySelectorAll(".source").entries()) box.scrollTop = scrolled[at] ?? 0;
  }
  return element;
}

const isAtEnd = ({ scrollTop, scrollHeight, clientHeight }) => scrollTop + clientHeight >= scrollHeight - 4;

// A part that can be folded. What it holds is made when it is first unfolded.
function folded(key, title, facts, make, isOpen = false) {
  const name = typeof title === "string" ? el("strong", {}, title) : title;
  const known = facts.filter(Boolean).map((fact) => [" ", dim(visible(fact))]);
  const summary = el("summary", { id: `fold-${key}` }, name, known);
  const box = el("details", { open: shown.open.get(key) ?? isOpen }, summary);
  const fill = () => {
    if (box.open && box.children.length === 1) box.append(...make().filter(Boolean));
  };
  fill();
  box.addEventListener("toggle", () => {
    shown.open.set(key, box.open);
    fill();
  });
  return box;
}

const panel = (name, ...children) => el("section", { class: `panel ${name}` }, ...children);
const size = (text) => count(Array.from(text).length, "character");

function lostNote(lost, where) {
  const why = "are not shown: the live view keeps the beginning of what is long.";
  return lost > 0 && remark(`${count(lost, "byte")} ${where} ${why}`);
}

function head(exchange) {
  const { api, route, model, id, dialect, stream, time, seconds, open, message, status } = exchange;
  const facts = Object.entries({
    Request: `${route || api}${stream ? ", streamed" : ""}`,
    Id: id,
    Dialect: dialect || "no tools, so none",
    Began: new Date(time * 1000).toLocaleString(),
    Took: open ? "not over yet" : duration(seconds),
    "Client got": status ? `status ${status}` : "nothing yet",
  });
  const plain = "This request has no tools: it was passed on as it came, and nothing was read in the reply.";
  const remarks = [exchange.plain && plain, ...exchange.warnings.split("\n")];
  const title = el("h2", {}, visible(model || "No model named"));
  return panel(
    "summary",
    el("div", { class: "title" }, title, badges(...badgesOf(exchange), stateBadge(exchange))),
    message && el("p", { class: "alert" }, visible(message)),
    remarks.filter(Boolean).map(remark),
    el("dl", { class: "facts" }, facts.map(([name, fact]) => [el("dt", {}, name), el("dd", {}, visible(fact))])),
    el("p", { class: "back" }, el("a", { href: "#exchanges" }, "Back to the list")),
  );
}

// Requests

function requestParts(key, { text, messages, left_out: leftOut, tools, fields }) {
  if (text && !text.lost) return [empty("Nothing that is a JSON object.")];
  if (text) {
    const note = remark(`It is long: ${count(text.lost, "byte")} in the middle are not kept, so it is shown as text.`);
    return [note, listing(text.head, "The beginning"), listing(text.tail, "The end")];
  }
  const said = messages.map(({ role, text: words }, at) => {
    const facts = [size(words), words.trimStart().slice(0, 100).split("\n")[0]];
    const isOpen = at === messages.length - 1 && words.length < 4000;
    const make = () => [listing(words, `Message of ${role}`)];
    return folded(`${key}-message-${at}`, visible(role || "other"), facts, make, isOpen);
  });
  return [
    leftOut > 0 && el("p", { class: "dim" }, `${count(leftOut, "earlier message")} not shown.`),
    ...said,
    tools && folded(`${key}-tools`, count(tools.count, "tool"), [], () => [listing(tools.text, "Tools")]),
    fields && folded(`${key}-fields`, "Other fields", [], () => [listing(fields, "Other fields of the request")]),
  ];
}

function requestFold(key, title, request) {
  const many = request.text ? "" : count(request.messages.length + request.left_out, "message");
  return folded(key, title, [many], () => requestParts(key, request));
}

const asked = (request) => panel("fold", requestFold("request", el("h3", {}, "What the client asked"), request));

function sent({ head: start, lost }, status) {
  const facts = [status ? `status ${status}, ${size(start)}` : "nothing"];
  const make = () => [start ? listing(start, "The answer") : empty("Nothing."), lostNote(lost, "of the answer")];
  return panel("fold", folded("sent", el("h3", {}, "What the client was sent"), facts, make));
}

// Attempts

const TIMES = { answered: "answered", first: "first byte", first_call: "first call", ended: "over" };

function attemptSection(exchange, number) {
  const { [number - 1]: before, [number]: attempt, length: many } = exchange.attempts_made;
  const { asked: start, status, prompt, replies } = attempt;
  const title = many > 1 ? `Attempt ${number + 1} of ${many}` : "The model";
  const times = Object.entries(TIMES).filter(([name]) => attempt[name] !== undefined);
  const after = times.map(([name, word]) => `${word} after ${duration(attempt[name] - start)}`);
  const state = badges(
    ...badgesOf(attempt),
    status > 0 && badge(status < 300 ? "" : "error", `upstream ${status}`),
    number < many - 1 && status < 400 && badge("repair", "sent back to the model"),
  );
  // What the upstream refused is asked again in another form, and the model hears nothing of that.
  const told = before?.status < 400 && prompt.messages?.at(-1)?.text;
  return panel(
    "attempt",
    el("div", { class: "title" }, el("h3", {}, title), state),
    el("p", { class: "dim" }, after.length ? `${after.join(", ")}.` : "No answer yet."),
    told && [label("What the model was told"), listing(told, "What the model was told")],
    requestFold(`prompt-${number}`, "Prompt as sent to the upstream", prompt),
    replies.flatMap((reply) => replyParts(exchange, reply, number)),
    !replies.length && empty(missing(exchange, attempt)),
  );
}

function missing({ plain }, { ended, status }) {
  if (status >= 400) return `The upstream refused the request with status ${status}.`;
  if (plain) return "The reply was passed on as it came; it stands below, as the client got it.";
  return ended ? "The model wrote nothing." : "The model has written nothing yet.";
}

function replyParts(exchange, reply, attempt) {
  const { text, thoughts, calls, choice, finish, error } = reply;
  const { replies, ended } = exchange.attempts_made[attempt];
  const isWhole = ended && !reply.lost;
  const key = `${attempt}-${choice}`;
  const title = "Reasoning that the upstream told apart";
  const thought = () => [listing(thoughts.head, "Reasoning"), lostNote(thoughts.lost, "of it")];
  const native = calls.length > 0 && [label("Calls that the upstream told apart"), ...showNative(calls)];
  const name = "The raw reply, coloured by what was read";
  const box = el("pre", { class: "source", id: `raw-${key}`, tabindex: "0", role: "region", "aria-label": name });
  const result = el("div", { class: "parts" });
  if (text && !error) {
    const view = new Reading(box, result, `${key}-`);
    view.take(text, reply);
    // A reply that goes on is shown at its end, one that is over at the first thing that was wrong.
    view.show(isWhole ? 2 : 1, exchange.open ? undefined : reply.reading.marks[0]?.offset ?? 0);
  }
  const raw = [
    label(`Raw reply: ${size(text)}${finish ? `, ended with “${visible(finish)}”` : ""}`),
    reply.continues && remark("This reply continues the call that was cut off before: both are shown joined."),
    error ? [remark(error), listing(text, "Raw reply")] : box,
    lostNote(reply.lost, "of the reply"),
    actions(exchange, reply, attempt, isWhole && !error),
  ];
  return [
    replies.length > 1 && el("h4", {}, `Choice ${choice + 1}`),
    thoughts.head && folded(`thoughts-${key}`, title, [size(thoughts.head)], thought),
    ...(text ? raw : []),
    result,
    native && el("div", { class: "parts" }, native),
  ];
}

// The text goes by way of the browser's memory for this tab: it stands in no address, and reaches no server's log.
function actions({ number, tools, options }, { text, choice }, attempt, isCase) {
  const open = el("button", { type: "button", class: "quiet", id: `open-${attempt}-${choice}` }, "Open in playground");
  open.addEventListener("click", () => {
    if (keep("xmltools-open", JSON.stringify({ text, tools: tools ?? "", options }))) location.href = "playground";
    else open.after(dim("The browser does not hand the text over: it may be too long, or storage is off."));
  });
  const href = `live/case?number=${number}&attempt=${attempt}&choice=${choice}`;
  const link = { class: "button quiet", id: `save-${attempt}-${choice}`, href, download: true };
  const why = dim("Only a reply that is over, whole and was given tools can be saved as a case.");
  return el("p", { class: "actions" }, open, isCase ? el("a", link, "Save as corpus case") : why);
}
