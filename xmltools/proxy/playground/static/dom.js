// Elements from text. What a model wrote becomes text nodes only: nothing here reads HTML.

export const byId = (id) => document.getElementById(id);

// Children may be lists; those that are empty are left out.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && (value ?? null) !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter(Boolean));
  return element;
}

// Signs that are not seen, or that turn the direction of what follows them, are shown as pictures or numbers.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

export const visible = (text) => text.replace(HIDDEN, (sign) => {
  const code = sign.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
});

export function count(number, noun) {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

export const badge = (kind, text) => el("span", { class: `badge ${kind}` }, text);
export const badges = (...all) => el("p", { class: "badges" }, ...all);
export const dim = (text) => el("span", { class: "dim" }, text);
export const empty = (text) => el("p", { class: "empty" }, text);
export const remark = (text) => el("p", { class: "remark" }, visible(text));
export const label = (text) => el("p", { class: "label" }, text);

const MOST = 20_000; // characters of one text that are laid out: a browser takes seconds for a megabyte without a space

// A text for the page; a long one without its middle.
export function shortened(text, most = MOST) {
  if (text.length <= most) return visible(text);
  const [start, end] = [text.slice(0, most / 2), text.slice(-most / 2)].map(visible);
  return `${start}\n[\u2026 ${count(text.length - most, "character")} not shown \u2026]\n${end}`;
}

// A text in a box of its own, with a button that copies all of it.
export function listing(text, name) {
  const box = el("pre", { tabindex: "0", role: "region", "aria-label": name }, shortened(text, 3 * MOST));
  const button = el("button", { type: "button", class: "quiet copy", "aria-label": `Copy: ${name}` }, "Copy");
  button.hidden = !navigator.clipboard; // browsers have it on safe origins only
  button.addEventListener("click", async () => {
    const copied = navigator.clipboard.writeText(text);
    button.textContent = await copied.then(() => "Copied", () => "Not allowed");
  });
  return el("div", { class: "listing" }, button, box);
}

// The memory of this tab, which a browser may forbid: then it holds nothing. Returns whether a text was kept.
export const recall = (name) => remember((memory) => memory.getItem(name));
export const keep = (name, text) => remember((memory) => memory.setItem(name, text) ?? true) === true;

function remember(action) {
  try {
    return action(sessionStorage);
  } catch {
    return null;
  }
}
