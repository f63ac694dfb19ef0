// Light or dark: what the system says, until the switch is used. It runs before the page is shown, so that nothing flashes.
"use strict";

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function stored() {
    try {
      return localStorage.getItem("xmltools-theme");
    } catch {
      return null; // storage may be forbidden
    }
  }

  function choose(theme) {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("xmltools-theme", theme);
    } catch {
      // then it lasts as long as the page
    }
  }

  if (stored() === "dark" || stored() === "light") root.dataset.theme = stored();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      choose(isDark() ? "light" : "dark");
      show();
    });
    system.addEventListener("change", show);
    show();
  });
})();
