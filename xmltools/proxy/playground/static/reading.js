// What was read in one text, at any place in the stream: the source, coloured, and what came of it.

import { byId, el, empty, visible } from "./dom.js";
import { showParts } from "./parts.js";

const WINDOW = 40_000; // characters that are shown at once: with more, the page would freeze

// Those that are on the page, by their prefixes: no two marks have one name.
export const readings = new Map();

export class Reading {
  constructor(box, result, prefix = "") {
    Object.assign(this, { box, result, prefix });
    readings.set(prefix, this);
  }

  take(text, { reading, steps, cuts }) {
    this.points = Array.from(text); // places are counted in characters, and JavaScript counts some of them as two
    Object.assign(this, { reading: { ...reading, prefix: this.prefix }, steps, cuts: cuts?.places ?? [] });
  }

  // Shows what the parser had said after so many steps. A long text is shown around a place: that to which the stream
  // has come, if no other is given.
  show(position, around = undefined) {
    this.position = position;
    this.state = stateAt(this.steps, this.points.length, position);
    this.box.replaceChildren(...this.pieces(around ?? this.state.fed));
    follow(this.box);
    showParts(this.result, this.reading, this.state);
  }

  showMark(number) {
    this.show(this.position, this.reading.marks[number]?.offset);
  }

  *pieces(around) {
    const length = this.points.length;
    const from = Math.max(0, Math.min(around - WINDOW / 2, length - WINDOW));
    const to = Math.min(length, from + WINDOW);
    if (!length) yield empty("Nothing here yet. Paste what a model wrote, or choose an example.");
    if (from > 0) yield* [gap(from, "before this"), "\n"];
    for (const { start, end, kind, marks } of this.spans()) {
      if (end <= from || start >= to || start === end) continue;
      yield this.piece(kind, start >= from ? marks : [], this.withCuts(Math.max(start, from), Math.min(end, to)));
    }
    if (to < length) yield* ["\n", gap(length - to, "after this")];
  }

  *spans() {
    const { covered, fed, open } = this.state;
    for (const span of this.reading.spans) {
      if (span.start < covered) yield { ...span, end: Math.min(span.end, covered) };
    }
    yield { kind: open ? "open" : "held", start: covered, end: fed, marks: [] };
    yield { kind: "future", start: fed, end: this.points.length, marks: [] };
  }

  // A text with a tick at each place where the stream was cut.
  withCuts(start, end) {
    const places = [start, ...this.cuts.filter((cut) => cut > start && cut < end), end];
    const texts = places.slice(1).map((place, at) => visible(this.points.slice(places[at], place).join("")));
    return texts.map((text, at) => [at > 0 && el("i", { class: "cut", "aria-hidden": "true" }), text]);
  }

  piece(kind, numbers, texts) {
    if (!numbers.length) return el("span", { class: `piece ${kind}`, title: TITLES[kind] }, ...texts);
    const marks = numbers.map((number) => this.reading.marks[number]);
    const attributes = {
      class: `piece ${kind} mark ${marks[0].kind}`,
      id: `mark-${this.prefix}${numbers[0]}`,
      href: `#note-${this.prefix}${numbers[0]}`,
      title: marks.map((mark) => `${mark.code}: ${visible(mark.message)}`).join("\n"),
      "aria-label": `${marks[0].kind}: ${marks.map((mark) => mark.code).join(", ")}`,
    };
    return el("a", attributes, ...texts);
  }
}

const gap = (number, where) =>
  el("span", { class: "gap" }, `[${number.toLocaleString("en")} characters ${where} are not shown]`);

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

// Scrolls the box, and not the page, so that the place where the stream has come to is seen.
function follow(box) {
  const head = box.querySelector(".future");
  if (head) box.scrollTop = head.offsetTop - box.offsetTop - box.clientHeight / 2;
}

// `fed`: characters that the parser had; `covered`: those it had made up its mind about; `open`: the call it was in.
function stateAt(steps, length, position) {
  const fed = Math.min(position * steps.size, length);
  const state = { fed, covered: 0, parts: [], blocks: 0, open: null, ended: position > steps.count };
  for (const event of steps.events) {
    if (event.at > position) break;
    if (event.span) state.covered = event.span[1];
    tell(state, event);
  }
  return state;
}

function tell(state, { kind, name, path, text }) {
  const { parts, open } = state;
  const said = { TextDelta: "text", ReasoningDelta: "reasoning" }[kind];
  if (said && parts.at(-1)?.kind !== said) parts.push({ kind: said, text: "" });
  if (said) parts.at(-1).text += text;
  else if (kind === "CallStarted") state.open = { name, arguments: new Map() };
  else if (kind === "ArgumentDelta") open.arguments.set(path, (open.arguments.get(path) ?? "") + text);
  else if (kind === "CallCompleted" || kind === "CallFailed") {
    parts.push({ block: state.blocks });
    state.blocks += 1;
    state.open = null;
  }
}

// Links lead from marks to their notes and back, and leave no entry in the history. A mark may be too far away to be on
// the page, a note in a hidden tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#mark-'], a[href^='#note-']");
  if (!link) return;
  event.preventDefault();
  const name = link.hash.slice(1);
  if (!byId(name)) readings.get(name.replace(/^mark-|\d+$/g, ""))?.showMark(Number(/\d+$/.exec(name)[0]));
  const target = byId(name);
  byId(target?.closest("[role=tabpanel]")?.getAttribute("aria-labelledby"))?.click();
  target?.scrollIntoView({ block: "nearest" });
  target?.focus();
});
