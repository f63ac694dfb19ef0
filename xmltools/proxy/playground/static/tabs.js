// Tabs as the WAI-ARIA practices have them: one is in the tab order, the arrow keys go from one to the next.

import { byId } from "./dom.js";

const tabsOf = (list) => [...list.querySelectorAll("[role=tab]")];

export function showTab(tab) {
  for (const each of tabsOf(tab.parentElement)) {
    const selected = each === tab;
    each.setAttribute("aria-selected", String(selected));
    each.tabIndex = selected ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = !selected;
  }
}

const MOVES = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (at, count) => count - 1,
};

export function setUpTabs(list) {
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) showTab(tab);
  });
  list.addEventListener("keydown", (event) => {
    const tabs = tabsOf(list);
    const at = tabs.indexOf(event.target);
    if (at < 0 || !MOVES[event.key]) return;
    event.preventDefault();
    const next = tabs[MOVES[event.key](at, tabs.length)];
    showTab(next);
    next.focus();
  });
}
