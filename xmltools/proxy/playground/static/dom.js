// Elements from text. What a model wrote becomes text nodes only: nothing here reads HTML.

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Signs that are not seen, or that turn the direction of what follows them, are shown as pictures or numbers.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

function picture(sign) {
  const code = sign.codePointAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}

export const visible = (text) => text.replace(HIDDEN, picture);

export function count(number, noun) {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

const MOST = 20_000; // characters of one text that are laid out: a browser takes seconds for a megabyte without a space

// A text for the page; a long one without its middle.
export function shortened(text, most = MOST) {
  if (text.length <= most) return visible(text);
  const half = most / 2;
  return `${visible(text.slice(0, half))}\n[\u2026 ${count(text.length - most, "character")} not shown \u2026]\n${visible(text.slice(-half))}`;
}

// A text in a box of its own, with a button that copies all of it.
export function listing(text, label) {
  const box = el("pre", { tabindex: "0", role: "region", "aria-label": label }, shortened(text, 3 * MOST));
  return el("div", { class: "listing" }, copyButton(text, label), box);
}

function copyButton(text, label) {
  const button = el("button", { type: "button", class: "quiet copy", "aria-label": `Copy: ${label}` }, "Copy");
  button.hidden = !navigator.clipboard; // browsers have it on safe origins only
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
  });
  return button;
}

// Links between marks and their notes, which are no places in the history. `reveal` shows what a name stands for.
export function followMarks(reveal = () => {}) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#mark-'], a[href^='#note-']");
    if (!link) return;
    event.preventDefault();
    reveal(link.hash.slice(1));
    const target = byId(link.hash.slice(1));
    target?.scrollIntoView({ block: "nearest" });
    target?.focus();
  });
}
