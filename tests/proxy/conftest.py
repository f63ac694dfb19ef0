"""What tests of the server share."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any

import pytest

from proxy.browsing import CHROMIUM, FLAGS, Visit


@pytest.fixture(autouse=True, scope="session")
def certificates_are_read_once() -> Iterator[None]:
    """All clients share one list of the authorities they trust: reading it takes 30 ms, more than most tests."""
    with pytest.MonkeyPatch.context() as patch, suppress(ImportError):
        import httpcore2

        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture
def open_client() -> Iterator[Any]:
    """Open OpenAI's client at a server whose model writes a text (or answers as a function says), and the upstream."""
    openai = pytest.importorskip("openai")
    from proxy.test_server_upstream import Upstream, reply, world  # only here: it needs uvicorn

    with ExitStack() as stack:

        def made(text: Any, **config: Any) -> tuple[Any, Upstream]:
            upstream = Upstream(make=reply(text) if isinstance(text, str) else text)
            it = stack.enter_context(world(upstream, **config))
            client = stack.enter_context(openai.OpenAI(base_url=f"{it.url}/v1", api_key="k", max_retries=0))
            return client, upstream

        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium. While it runs, its driver has the event loop of the thread: other modules need that too."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, site: Any) -> Iterator[Visit]:
    """Visits the site of a module; what a page may not do fails the test."""
    visit = Visit(browser, site)
    yield visit
    visit.close()
    assert visit.complaints == []
