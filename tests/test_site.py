"""The site that `make docs` builds: every link leads somewhere, and a browser loads nothing from elsewhere."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the built pages. mkdocs ends with an error if a link leads nowhere, or to no heading."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "docs/site/build.py", "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    import xmltools as xt

    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    assert not [name for name in xt.__all__ if f'.{name}"' not in text]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_loads_nothing_from_elsewhere(site: Path, url: str) -> None:
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("request", lambda asked: None if asked.url.startswith((url, "data:")) else wrong.append(asked.url))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        for name in (
            "index.html",
            "docs/guides/run_a_proxy.html",
            "docs/serving.html",
            "reference/parsing.html",
            "benchmarks/results.html",
        ):
            page.goto(f"{url}/{name}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than a phone"
        browser.close()
    assert not wrong
