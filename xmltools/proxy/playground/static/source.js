// The source, coloured by what the parser said of it up to a step of the stream.

import { el, visible } from "./dom.js";

const WINDOW = 40_000; // characters that are shown at once: more than that, and the page would stand still

function* allPieces(reading, state, length) {
  for (const span of reading.spans) {
    if (span.start >= state.covered) break;
    yield { ...span, end: Math.min(span.end, state.covered) };
  }
  const kind = state.open ? "open" : "held";
  if (state.fed > state.covered) yield { kind, start: state.covered, end: state.fed, marks: [] };
  if (length > state.fed) yield { kind: "future", start: state.fed, end: length, marks: [] };
}

// The pieces between two places.
function* pieces(reading, state, length, from, to) {
  for (const piece of allPieces(reading, state, length)) {
    if (piece.end <= from) continue;
    if (piece.start >= to) break;
    yield { ...piece, marks: piece.start >= from ? piece.marks : [], start: Math.max(piece.start, from), end: Math.min(piece.end, to) };
  }
}

// A text with a tick at each place where the stream was cut.
function* withCuts(source, piece, cuts) {
  let at = piece.start;
  for (const cut of cuts) {
    if (cut <= at || cut >= piece.end) {
      if (cut === at) yield el("i", { class: "cut", "aria-hidden": "true" });
      continue;
    }
    yield visible(source.slice(at, cut));
    yield el("i", { class: "cut", "aria-hidden": "true" });
    at = cut;
  }
  yield visible(source.slice(at, piece.end));
}

const TITLES = {
  text: "text",
  reasoning: "reasoning",
  call: "call",
  error: "error: this block is no call",
  open: "inside a call that has not ended",
  skipped: "layout, or a token that ends a turn: no text",
  held: "held back: it may still become markup",
  future: "not arrived yet",
};

function element(reading, piece, children) {
  if (!piece.marks.length) return el("span", { class: `piece ${piece.kind}`, title: TITLES[piece.kind] }, ...children);
  const marks = piece.marks.map((number) => reading.marks[number]);
  const attributes = {
    class: `piece ${piece.kind} mark ${marks[0].kind}`,
    id: `mark-${reading.prefix ?? ""}${piece.marks[0]}`,
    href: `#note-${reading.prefix ?? ""}${piece.marks[0]}`,
    title: marks.map((mark) => `${mark.code}: ${visible(mark.message)}`).join("\n"),
    "aria-label": `${marks[0].kind}: ${marks.map((mark) => mark.code).join(", ")}`,
  };
  return el("a", attributes, ...children);
}

// Scrolls the box, and not the page, so that the place where the stream has come to is seen.
function follow(box) {
  const head = box.querySelector(".future")?.getClientRects()[0];
  if (!head) return;
  const frame = box.getBoundingClientRect();
  const margin = 2 * head.height;
  if (head.top < frame.top + margin) box.scrollTop -= frame.top + margin - head.top;
  else if (head.bottom > frame.bottom - margin) box.scrollTop += head.bottom - frame.bottom + margin;
}

const gap = (number, where) => el("span", { class: "gap" }, `[${number.toLocaleString("en")} characters ${where} are not shown]`);

// A long text is shown around a place: that to which the stream has come, if no other is given.
export function showSource(target, source, reading, state, cuts, around = state.fed) {
  let first = 0;
  const from = source.length > WINDOW ? Math.max(0, Math.min(around - WINDOW / 2, source.length - WINDOW)) : 0;
  const to = Math.min(source.length, from + WINDOW);
  const shown = from > 0 ? [gap(from, "before this"), "\n"] : [];
  for (const piece of pieces(reading, state, source.length, from, to)) {
    while (first < cuts.length && cuts[first] < piece.start) first += 1;
    let last = first;
    while (last < cuts.length && cuts[last] < piece.end) last += 1;
    shown.push(element(reading, piece, [...withCuts(source, piece, cuts.slice(first, last))]));
  }
  if (to < source.length) shown.push("\n", gap(source.length - to, "after this"));
  if (!shown.length) shown.push(el("span", { class: "empty" }, "Nothing here yet. Paste what a model wrote, or choose an example."));
  target.replaceChildren(...shown);
  follow(target);
}

export function describe(state, steps, length) {
  if (state.ended) return "end of the stream";
  return `after ${state.fed.toLocaleString("en")} of ${length.toLocaleString("en")} characters`;
}

export function explain(state) {
  const waiting = state.fed - state.covered;
  const unit = waiting === 1 ? "character" : "characters";
  if (state.ended) return "The stream has ended: nothing is held back.";
  if (state.open) return `Inside a call of ${visible(state.open.name)}: ${waiting.toLocaleString("en")} ${unit} of it so far.`;
  if (waiting) return `Held back: ${waiting.toLocaleString("en")} ${unit} that may still become markup.`;
  return "Nothing is held back.";
}
