// What had been said after so many steps of the stream. Places are counted in characters (code points) throughout.

// Text whose places are characters: JavaScript counts pairs of surrogates as two.
export class Source {
  constructor(text) {
    this.text = text;
    const points = Array.from(text);
    this.points = points.length === text.length ? null : points;
    this.length = points.length;
  }

  slice(start, end) {
    return this.points === null ? this.text.slice(start, end) : this.points.slice(start, end).join("");
  }
}

// How many of an entry's characters had come: all at once, or `first` and then a step's worth each step.
function arrived(entry, position, size, whole) {
  return entry.first === undefined ? whole : Math.min(whole, entry.first + (position - entry.at) * size);
}

function textOf(entry, position, size) {
  entry.source ??= new Source(entry.text);
  return entry.source.slice(0, arrived(entry, position, size, entry.source.length));
}

function endOf(entry, position, size) {
  const [start, end] = entry.span;
  return entry.first === undefined ? end : start + arrived(entry, position, size, end - start);
}

function addText(parts, entry, position, size) {
  let part = parts.at(-1);
  if (part?.kind !== entry.kind) {
    part = { kind: entry.kind, text: "" };
    parts.push(part);
  }
  part.text += textOf(entry, position, size);
}

function addArgument(open, entry, position, size) {
  const known = open.arguments.get(entry.path) ?? "";
  open.arguments.set(entry.path, known + textOf(entry, position, size));
}

// `fed`: characters that the parser had; `covered`: those it had made up its mind about; `open`: the call that it was in.
export function stateAt(steps, length, position) {
  const state = { position, fed: Math.min(position * steps.size, length), covered: 0, parts: [], open: null };
  state.ended = position > steps.count;
  for (const entry of steps.entries) {
    if (entry.at > position) break;
    if (entry.kind === "started") state.open = { ...entry, arguments: new Map() };
    else if (entry.kind === "argument") addArgument(state.open, entry, position, steps.size);
    else if (entry.kind === "text" || entry.kind === "reasoning") addText(state.parts, entry, position, steps.size);
    else if (entry.kind === "call" || entry.kind === "error") {
      state.parts.push({ kind: entry.kind, block: entry.block });
      state.open = null;
    }
    if (entry.span) state.covered = endOf(entry, position, steps.size);
  }
  return state;
}

// The same of a text that was read as far as it goes, without steps.
export function wholeState(reading, length) {
  const blocks = new Map(reading.parts.filter(({ kind }) => kind === "call" || kind === "error").map((part, block) => [part, block]));
  const shown = reading.parts.filter(({ kind }) => kind !== "skipped");
  const parts = shown.map((part) => (blocks.has(part) ? { kind: part.kind, block: blocks.get(part) } : { kind: part.kind, text: part.text }));
  const open = reading.open && { name: reading.open.name, arguments: new Map(reading.open.arguments) };
  const covered = reading.ended ? length : reading.parts.at(-1)?.span[1] ?? 0;
  return { position: length, fed: length, covered, parts, open, ended: reading.ended };
}
