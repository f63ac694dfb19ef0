// What was read: text, reasoning, calls and errors in their order, up to a step of the stream.

import { badge, count, dim, el, empty, listing, remark, shortened, visible } from "./dom.js";

const ROWS = 1000; // values of a call, and events
const PARTS = 200; // texts, calls and errors

function tableOf(className, names, rows, caption) {
  const head = el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)));
  const parts = [el("thead", {}, head), el("tbody", {}, ...rows)];
  return el("table", { class: className, "aria-label": caption }, parts);
}

function row({ path, type, value }) {
  const shown = value === "" ? el("span", { class: "empty" }, "empty") : shortened(value);
  const cells = [el("td", { class: "type" }, type), el("td", { class: "value" }, shown)];
  return el("tr", {}, el("th", { scope: "row" }, visible(path)), cells);
}

function table(values, caption) {
  if (!values.length) return empty("No arguments.");
  const rows = values.slice(0, ROWS).map(row);
  if (values.length >= ROWS) {
    rows.push(el("tr", {}, el("td", { colspan: "3", class: "dim" }, "What follows is not shown.")));
  }
  return tableOf(null, ["Argument", "Type", "Value"], rows, caption);
}

function article(kind, name, title, badges, ...body) {
  const head = [el("span", { class: "label" }, title), name && el("strong", {}, visible(name)), badges];
  return el("article", { class: kind }, el("header", {}, ...head), ...body);
}

function said({ kind, text }) {
  const body = text.trim();
  const shown = body ? shortened(body) : "white space only";
  return article(kind, "", kind, [], el("div", { class: body ? "body" : "body empty" }, shown));
}

function place(reading, number) {
  const { line, column } = reading.marks[number] ?? {};
  if (!line) return "";
  const href = `#mark-${reading.prefix}${number}`;
  return [" ", el("a", { href, class: "place" }, `line ${line}, column ${column}`)];
}

function note(reading, mark, number) {
  const what = el("p", {}, el("code", {}, mark.code), " ", visible(mark.message), place(reading, number));
  const attributes = { id: `note-${reading.prefix}${number}`, class: mark.kind, tabindex: "-1" };
  return el("li", attributes, what, el("p", { class: "hint" }, mark.hint));
}

function call(reading, { name, server, arguments: values, repairs }, marks) {
  const notes = marks.map((number) => note(reading, reading.marks[number], number));
  const rest = repairs - notes.length;
  if (rest > 0) notes.push(el("li", {}, `${count(rest, "further repair")} not shown.`));
  const state = repairs ? badge("repair", count(repairs, "repair")) : badge("clean", "clean");
  const body = [table(values, `Arguments of ${name}`), notes.length > 0 && el("ul", { class: "notes" }, notes)];
  return article("call", name, "Call", [dim(`on ${visible(server)}`), state], ...body);
}

// An error, or a notice, whose mark has a number: what was wrong, and what to tell the model.
function wrong(reading, { kind, name, code, message, retry }, number, ...more) {
  const id = number >= 0 ? `note-${reading.prefix}${number}` : null;
  const what = el("p", { id, tabindex: "-1" }, visible(message), place(reading, number));
  const summary = el("summary", {}, "What to send back to the model");
  const told = el("details", { open: kind === "error" }, summary, listing(retry, "Retry message"));
  return article(kind, name, kind, [badge(kind === "error" ? "error" : "repair", code)], what, ...more, told);
}

function unfinished({ name, arguments: known }) {
  const values = [...known].map(([path, value]) => ({ path, type: "text so far", value }));
  const body = values.length ? table(values, `Arguments of ${name} so far`) : empty("No argument yet.");
  return article("call open", name, "Call", [badge("held", "still being written")], body);
}

function block(reading, found, number) {
  const marks = [...reading.marks.keys()].filter((at) => reading.marks[at].block === number);
  if (found.kind === "call") return call(reading, found, marks);
  const values = found.arguments.length && table(found.arguments, "Arguments that were read before the error");
  return wrong(reading, found, marks[0], el("p", { class: "hint" }, visible(found.hint)), values);
}

export function showParts(target, reading, state) {
  const make = (part) => ("block" in part ? block(reading, reading.blocks[part.block], part.block) : said(part));
  const rest = state.parts.length - PARTS;
  const shown = state.parts.slice(0, rest > 0 ? PARTS / 2 : PARTS).map(make);
  if (rest > 0) {
    shown.push(remark(`${count(rest, "part")} in the middle not shown.`), ...state.parts.slice(-PARTS / 2).map(make));
  }
  for (const [number, mark] of reading.marks.entries()) {
    const isSaid = mark.kind === "notice" && (state.ended || mark.span[1] <= state.covered);
    if (isSaid) shown.push(wrong(reading, mark, number));
  }
  if (state.open) shown.push(unfinished(state.open));
  if (state.ended && reading.unclosed_reasoning) shown.push(remark("The reply ended inside reasoning."));
  target.replaceChildren(...(shown.length ? shown : [empty("The parser has said nothing yet.")]));
}

// Calls that an upstream told apart itself, and that have no place in its text.
export const showNative = (blocks) => blocks.map((found) => block({ marks: [], prefix: "" }, found));

function detail({ path, text, name, id, span }) {
  if (path !== undefined) return `${path} = ${text}`;
  return text ?? (name ? `${name} (${id})` : `characters ${span[0]} to ${span[1]}`);
}

// A line for each run of events, made once; those that have not come yet are dimmed.
export function listEvents(target, steps) {
  const runs = [];
  for (const event of steps.events) {
    const last = runs.at(-1);
    const goesOn = event.kind.endsWith("Delta") && event.kind === last?.kind && event.path === last.path;
    if (goesOn) last.text += event.text;
    else runs.push({ ...event });
  }
  const rows = runs.slice(0, ROWS).map((run) => {
    const text = detail(run);
    const shown = JSON.stringify(text.length > 160 ? `${text.slice(0, 160)}\u2026` : text).slice(1, -1);
    const at = run.at > steps.count ? "end" : (run.at * steps.size).toLocaleString("en");
    const cells = [el("code", {}, run.kind), visible(shown)].map((cell) => el("td", {}, cell));
    return el("tr", { "data-at": run.at }, el("td", { class: "number" }, at), cells);
  });
  target.replaceChildren(tableOf("events", ["After character", "Event", "Content"], rows, "Events"));
  const rest = runs.length - rows.length;
  if (rest > 0) target.append(el("p", { class: "dim" }, `${count(rest, "further entry")} not shown.`));
}

export function dimEvents(target, position) {
  for (const each of target.querySelectorAll("tbody tr")) each.classList.toggle("later", each.dataset.at > position);
}
