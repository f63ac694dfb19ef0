"""A real browser for tests of pages: headless Chromium, and what no page may do."""

from __future__ import annotations

import shutil
from typing import Any
from urllib.parse import urlsplit

__all__ = [
    *("CHROMIUM", "HIDDEN", "TAKEN", "Visit", "assert_fits", "assert_named", "assert_untouched"),
    *("reads", "says", "settled"),
]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
TAKEN = "<img src=x onerror=\"document.title='taken'\">"
"""Text that takes over a page which reads it as HTML."""
HIDDEN = {"\u202e": "⟨U+202E⟩", "\x1b": "␛"}
"""Signs that turn or hide text, and how pages show them."""


class Visit:
    """Opens pages of a site, which has a `url`, and writes down what no page may do: errors in the console, and
    requests to other hosts."""

    def __init__(self, browser: Any, site: Any) -> None:
        self.site = site
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._browser = browser
        self._contexts: list[Any] = []

    def open(self, path: str = "/playground", width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        """Open a page; that of the playground is returned when it shows its first example."""
        from playwright.sync_api import expect

        context = self._browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self._contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: message.type in ("error", "warning") and self.complaints.append(message.text)
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message) or dialog.dismiss())
        page.on("request", self._check)
        page.goto(self.site.url + path)
        if path == "/playground":
            expect(page.locator("#summary")).to_contain_text("1 call")
            settled(page)
        return page

    def forgive(self, word: str) -> None:
        """Forget complaints that have a word: browsers report some answers themselves."""
        self.complaints = [each for each in self.complaints if word not in each]

    def _check(self, request: Any) -> None:
        self.requests.append(request.url)
        if urlsplit(request.url).netloc != urlsplit(self.site.url).netloc:
            self.complaints.append(f"request to {request.url}")

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


def says(page: Any, selector: str, text: str, **more: Any) -> None:
    """Wait until an element has a text in it."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_contain_text(text, **more)


def reads(page: Any, selector: str, text: Any, **more: Any) -> None:
    """Wait until an element has a text, and nothing else."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_text(text, use_inner_text=False, **more)


def settled(page: Any) -> None:
    """Wait until no answer is on its way to the playground and no pause in typing is waited for."""
    from playwright.sync_api import expect

    expect(page.locator(".output")).to_have_attribute("aria-busy", "false", timeout=20_000)


def assert_named(page: Any) -> None:
    """Every control has a name."""
    for control in page.locator("button, input, select, textarea, a, [role=tabpanel], pre[tabindex]").all():
        name = control.evaluate(
            """e => e.getAttribute("aria-label")
                || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
                || [...(e.labels ?? [])].map((label) => label.textContent).join("") || e.textContent"""
        )
        assert name.strip(), control.evaluate("e => e.outerHTML")


def assert_fits(page: Any) -> None:
    """Nothing is wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def assert_untouched(page: Any) -> None:
    """Nothing that was shown became markup, or ran."""
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title().endswith(" · xmltools")
