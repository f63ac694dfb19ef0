// How an exchange is going, in words and colours, and how long things took.

import { count, el } from "./dom.js";

export const STATES = {
  waiting: { label: "waiting for the model", kind: "held" },
  writing: { label: "writing", kind: "call" },
  done: { label: "done", kind: "clean" },
  rejected: { label: "call rejected", kind: "error" },
  cut: { label: "cut off", kind: "error" },
  failed: { label: "failed", kind: "error" },
  left: { label: "client left", kind: "repair" },
  stopped: { label: "server stopped", kind: "repair" },
  refused: { label: "refused", kind: "error" },
};

export const isOpen = (exchange) => exchange.open;

// What ended well, but not at the first try, is not green: a call of it was rejected on the way.
export function stateBadge({ state, retries }) {
  const { label, kind } = STATES[state];
  if (state === "done" && retries > 0) return el("span", { class: "badge repair" }, `done after ${count(retries, "retry")}`);
  return el("span", { class: `badge ${kind}` }, label);
}

export function badgesOf({ made, repaired, rejected, unread }) {
  const counts = [
    [made, "call", count(made, "call")],
    [repaired, "repair", `${repaired} repaired`],
    [rejected, "error", `${rejected} rejected`],
    [unread, "repair", `${count(unread, "call")} in another notation`],
  ];
  return counts.filter(([number]) => number).map(([, kind, text]) => el("span", { class: `badge ${kind}` }, text));
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
