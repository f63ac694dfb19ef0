// What was read: text, reasoning, calls and errors in their order, up to a step of the stream.

import { count, el, listing, shortened, visible } from "./dom.js";

const LABELS = { text: "Text", reasoning: "Reasoning" };

function row(path, type, value) {
  const shown = value === "" ? el("span", { class: "empty" }, "empty") : shortened(value);
  return el("tr", {}, el("th", { scope: "row" }, visible(path)), el("td", { class: "type" }, type), el("td", { class: "value" }, shown));
}

const ROWS = 1000; // values of a call, and events
const PARTS = 200; // texts, calls and errors

function table(rows, caption) {
  if (!rows.length) return el("p", { class: "empty" }, "No arguments.");
  const head = el("tr", {}, ...["Argument", "Type", "Value"].map((name) => el("th", { scope: "col" }, name)));
  const body = rows.slice(0, ROWS).map(({ path, type, value }) => row(path, type, value));
  if (rows.length >= ROWS) body.push(el("tr", {}, el("td", { colspan: "3", class: "dim" }, "What follows is not shown.")));
  return el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, head), el("tbody", {}, ...body));
}

function header(label, name, ...rest) {
  return el("header", {}, el("span", { class: "label" }, label), name ? el("strong", {}, visible(name)) : "", ...rest);
}

function plain(part) {
  const body = part.text.trim()
    ? el("div", { class: "body" }, shortened(part.text.trim()))
    : el("div", { class: "body empty" }, "white space only");
  return el("article", { class: part.kind }, header(LABELS[part.kind]), body);
}

// Several readings on one page have a prefix each, so that no two marks have one name.
const nameOf = (reading, number) => `${reading.prefix ?? ""}${number}`;

function placeOf(reading, number) {
  const mark = reading.marks[number];
  if (!mark) return "";
  return el("a", { href: `#mark-${nameOf(reading, number)}`, class: "place" }, `line ${mark.line}, column ${mark.column}`);
}

function note(reading, number) {
  const mark = reading.marks[number];
  const place = placeOf(reading, number);
  const what = el("p", {}, el("code", {}, mark.code), " ", visible(mark.message), " ", place);
  return el("li", { id: `note-${nameOf(reading, number)}`, class: mark.kind, tabindex: "-1" }, what, el("p", { class: "hint" }, mark.hint));
}

function notes(reading, part) {
  const number = reading.parts.indexOf(part);
  const found = reading.marks.flatMap((mark, index) => (mark.part === number ? [note(reading, index)] : []));
  const rest = part.repairs - found.length;
  if (rest > 0) found.push(el("li", {}, `${count(rest, "further repair")} not shown.`));
  return found.length ? el("ul", { class: "notes" }, ...found) : "";
}

function badge(kind, text) {
  return el("span", { class: `badge ${kind}` }, text);
}

function call(reading, part) {
  const state = part.repairs ? badge("repair", count(part.repairs, "repair")) : badge("clean", "clean");
  const server = el("span", { class: "dim" }, `on ${visible(part.server)}`);
  const body = [table(part.arguments, `Arguments of ${part.name}`), notes(reading, part)];
  return el("article", { class: "call" }, header("Call", part.name, server, state), ...body);
}

function failure(reading, part) {
  const number = reading.marks.findIndex((each) => each.part === reading.parts.indexOf(part));
  const id = number >= 0 ? `note-${nameOf(reading, number)}` : null;
  const what = el("p", { id, tabindex: "-1" }, visible(part.message), " ", placeOf(reading, number));
  const retry = el("details", { open: true }, el("summary", {}, "What to send back to the model"), listing(part.retry, "Retry message"));
  const read = part.arguments.length ? table(part.arguments, "Arguments that were read before the error") : "";
  const hint = el("p", { class: "hint" }, visible(part.hint));
  return el("article", { class: "error" }, header("Error", part.name ?? "", badge("error", part.code)), what, hint, read, retry);
}

function notice(reading, found, number) {
  const mark = reading.marks.findIndex((each) => each.notice === number);
  const id = mark >= 0 ? `note-${nameOf(reading, mark)}` : null;
  const what = el("p", { id, tabindex: "-1" }, visible(found.message), " ", placeOf(reading, mark));
  const retry = el("details", {}, el("summary", {}, "What to send back to the model"), listing(found.retry, "Retry message"));
  return el("article", { class: "notice" }, header("Notice", found.name ?? "", badge("repair", found.code)), what, retry);
}

function unfinished(open) {
  const rows = [...open.arguments].map(([path, value]) => ({ path, type: "text so far", value }));
  const body = rows.length ? table(rows, `Arguments of ${open.name} so far`) : el("p", { class: "empty" }, "No argument yet.");
  return el("article", { class: "call open" }, header("Call", open.name, badge("held", "still being written")), body);
}

export function showParts(target, reading, state) {
  const blocks = reading.parts.filter((part) => part.kind === "call" || part.kind === "error");
  const make = (part) => {
    if (part.block === undefined) return plain(part);
    const block = blocks[part.block];
    return block.kind === "call" ? call(reading, block) : failure(reading, block);
  };
  const rest = state.parts.length - PARTS;
  const first = state.parts.slice(0, rest > 0 ? PARTS / 2 : PARTS).map(make);
  const last = rest > 0 ? [el("p", { class: "remark" }, `${count(rest, "part")} in the middle not shown.`), ...state.parts.slice(-PARTS / 2).map(make)] : [];
  const shown = [...first, ...last];
  reading.notices.forEach((each, number) => {
    if (state.ended || each.span[1] <= state.covered) shown.push(notice(reading, each, number));
  });
  if (state.open) shown.push(unfinished(state.open));
  if (state.ended && reading.unclosed_reasoning) shown.push(el("p", { class: "remark" }, "The reply ended inside reasoning."));
  if (!shown.length) shown.push(el("p", { class: "empty" }, "The parser has said nothing yet."));
  target.replaceChildren(...shown);
}

// Calls that an upstream told apart itself, and that have no place in its text.
export function showNative(parts) {
  const reading = { parts, marks: [] };
  return parts.map((part) => (part.kind === "call" ? call(reading, part) : failure(reading, part)));
}

function detail(entry) {
  if (entry.kind === "argument") return `${entry.path} = ${entry.text}`;
  if (entry.kind === "started") return `${entry.name} (${entry.id})`;
  if (["call", "error", "skipped"].includes(entry.kind)) return `characters ${entry.span[0]} to ${entry.span[1]}`;
  return entry.text;
}

const NAMES = {
  text: "TextDelta",
  reasoning: "ReasoningDelta",
  started: "CallStarted",
  argument: "ArgumentDelta",
  call: "CallCompleted",
  error: "CallFailed",
  notice: "Noticed",
  skipped: "Skipped",
};

// A line for each run of events, made once; those that have not come yet are dimmed.
export function listEvents(target, steps) {
  const rows = steps.entries.slice(0, ROWS).map((entry) => {
    const text = detail(entry);
    const shown = text.length > 160 ? `${text.slice(0, 160)}\u2026` : text;
    const at = entry.at > steps.count ? "end" : (entry.at * steps.size).toLocaleString("en");
    const cells = [el("td", { class: "number" }, at), el("td", {}, el("code", {}, NAMES[entry.kind])), el("td", {}, visible(JSON.stringify(shown).slice(1, -1)))];
    return el("tr", { class: entry.kind, "data-at": entry.at }, ...cells);
  });
  const head = el("tr", {}, ...["After character", "Event", "Content"].map((name) => el("th", { scope: "col" }, name)));
  const rest = steps.entries.length - rows.length;
  target.replaceChildren(el("table", { class: "events" }, el("thead", {}, head), el("tbody", {}, ...rows)));
  if (rest > 0) target.append(el("p", { class: "dim" }, `${count(rest, "further entry")} not shown.`));
}

export function dimEvents(target, position) {
  for (const row of target.querySelectorAll("tbody tr")) row.classList.toggle("later", Number(row.dataset.at) > position);
}
