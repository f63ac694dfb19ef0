// What both pages share: the one of the two that is there begins, and links lead from marks to their notes and back.

import { byId } from "./dom.js";
import { startLive } from "./live.js";
import { startPlayground } from "./playground.js";
import { readings } from "./reading.js";

// Tabs as the WAI-ARIA practices have them: one is in the tab order, the arrow keys go from one to the next.

const tabs = [...document.querySelectorAll("[role=tab]")];

function showTab(tab) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = each !== tab;
  }
}

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => showTab(tab));
  tab.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: (at + 1) % tabs.length, ArrowLeft: at - 1, Home: 0, End: -1 };
    const next = tabs.at(moves[event.key] ?? at);
    if (next !== tab) event.preventDefault();
    showTab(next);
    next.focus();
  });
}

if (tabs.length) showTab(tabs[0]);

// These links leave no entry in the history. A mark may be too far away to be on the page, a note in a hidden tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#mark-'], a[href^='#note-']");
  if (!link) return;
  event.preventDefault();
  const name = link.hash.slice(1);
  if (!byId(name)) readings.get(name.replace(/^mark-|\d+$/g, ""))?.showMark(Number(/\d+$/.exec(name)[0]));
  const target = byId(name);
  const panel = target?.closest("[role=tabpanel]");
  if (panel) showTab(byId(panel.getAttribute("aria-labelledby")));
  target?.scrollIntoView({ block: "nearest" });
  target?.focus();
});

if (byId("text")) startPlayground();
if (byId("exchanges")) startLive();
