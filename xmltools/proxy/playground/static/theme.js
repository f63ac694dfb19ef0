// Light or dark: what the system says, until the switch is used. It runs before the page is shown: nothing flashes.
"use strict";

(() => {
  const KEY = "xmltools-theme";
  const { dataset } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (dataset.theme ? dataset.theme === "dark" : system.matches);

  // Storage may be forbidden: then the choice lasts as long as the page.
  const attempt = (action) => {
    try {
      action(localStorage);
    } catch {}
  };
  attempt((memory) => (dataset.theme = memory.getItem(KEY) ?? ""));

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      dataset.theme = isDark() ? "light" : "dark";
      attempt((memory) => memory.setItem(KEY, dataset.theme));
      show();
    });
    system.addEventListener("change", show);
    show();
  });
})();
