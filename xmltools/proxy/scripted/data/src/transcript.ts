/**
 * A transcript: what an agent said, what its tools answered, written to disk as XML.
 *
 * The transcript is kept in memory until `flush` is called.
 */

import { writeFileSync } from "node:fs";

/** Lengths of time, in milliseconds. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** Minutes and seconds, for people: `3:07`. */
export function duration(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / MINUTE);
  const seconds = Math.floor((milliseconds % MINUTE) / SECOND);
  return `${minutes}:${String(seconds).padStart(2, "0")}`;
}

export interface Entry {
  id: number;
  role: string;
  text: string;
  at: Date;
}

export interface Options {
  path: string;
  title?: string;
  pretty?: boolean;
}

export class Transcript {
  private entries: Entry[] = [];
  private nextId = 1;
  private listeners: ((entry: Entry) => void)[] = [];

  constructor(private readonly options: Options) {}

  add(role: string, text: string): Entry {
    const entry = { id: this.nextId++, role, text, at: new Date() };
    this.entries.push(entry);
    for (const listener of this.listeners) {
      listener(entry);
    }
    return entry;
  }

  onEntry(listener: (entry: Entry) => void) {
    this.listeners.push(listener);
  }

  get length() {
    return this.entries.length;
  }

  get(id: number): Entry | undefined {
    for (let i = 0; i < this.entries.length; i++) {
      if (this.entries[i].id == id) {
        return this.entries[i];
      }
    }
    return undefined;
  }

  last(count: number): Entry[] {
    return this.entries.slice(this.entries.length - count);
  }

  search(words: string[]): Entry[] {
    const found = [];
    for (const entry of this.entries) {
      let all = true;
      for (const word of words) {
        if (entry.text.indexOf(word) == -1) {
          all = false;
        }
      }
      if (all) {
        found.push(entry);
      }
    }
    return found;
  }

  clear() {
    this.entries = [];
  }

  toXml(): string {
    let out = '<?xml version="1.0"?>\n<transcript title="' + this.options.title + '">\n';
    for (const entry of this.entries) {
      out += '<entry id="' + entry.id + '" role="' + entry.role + '" at="' + entry.at.toISOString() + '">';
      out += "<![CDATA[" + entry.text + "]]" + ">";
      out += "</entry>\n";
    }
    return out + "</transcript>\n";
  }

  flush() {
    writeFileSync(this.options.path, this.toXml());
  }
}

/** Indent every line but the first, so that a value stands under its name. */
export function hang(text: string, width: number): string {
  return text.split("\n").join("\n" + " ".repeat(width));
}

/** The lines that two texts have in common at their start. */
export function commonStart(a: string, b: string): string[] {
  const left = a.split("\n");
  const right = b.split("\n");
  const end = left.findIndex((line, i) => line !== right[i]);
  return end === -1 ? left : left.slice(0, end);
}

/** Cut a model's reply at the first stop sequence. */
export function cutAtStop(reply: string, stops: string[]): string {
  for (const stop of stops) {
    const at = reply.indexOf(stop);
    if (at != -1) {
      reply = reply.substring(0, at);
    }
  }
  return reply;
}

/** How often each role spoke. */
export function countRoles(transcript: Transcript): any {
  const counts: any = {};
  for (const entry of transcript.last(transcript.length)) {
    counts[entry.role] = (counts[entry.role] || 0) + 1;
  }
  return counts;
}

/** The time between the first entry and the last. */
export function elapsed(entries: readonly { readonly at: Date }[]): string {
  if (entries.length < 2) {
    return duration(0);
  }
  const first = entries[0].at.getTime();
  const last = entries[entries.length - 1].at.getTime();
  return duration(last - first);
}

/** A line for the log: time, role, the first words. */
export function summary(entry: Entry): string {
  let text = entry.text.replace(/\n/g, " ");
  if (text.length > 60) {
    text = text.substring(0, 60) + "...";
  }
  return entry.at.toISOString() + " " + entry.role + ": " + text;
}
