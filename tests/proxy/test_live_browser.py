"""The live view in a real browser, at the real server, in front of an upstream that does what a test says."""

import json
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette

from proxy.browsing import HIDDEN, TAKEN, Visit, assert_fits, assert_named, assert_untouched, reads, says
from proxy.running import running, serving
from proxy.test_live import CHAT, FOREIGN, SLOPPY, WRONG
from proxy.test_server_upstream import (
    BODIES,
    CALL,
    Answer,
    Cut,
    Gate,
    Upstream,
    as_json,
    chunk,
    eventually,
    stream,
    world,
)
from xmltools.cli.conformance import read_corpus
from xmltools.parser import parse
from xmltools.proxy.bridge import Settings
from xmltools.proxy.playground import LiveHub, routes
from xmltools.proxy.playground.live import LONGEST_TEXT
from xmltools.render import render_retry
from xmltools.tools import load_tools

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

TOOLS = load_tools(BODIES[CHAT]["tools"])
HOSTILE = (
    f"<script>document.title='taken'</script>{TAKEN}{''.join(HIDDEN)}[31m {'y' * 20_000}\n"
    f"<tool><tool_name>write</tool_name><arguments><path>{TAKEN}</path></arguments></tool>"
    "<tool><tool_name><b>x</b></tool_name></tool>"
)


class Stage:
    """A server with the live view. What the model says is chosen by the first word of the user."""

    def __init__(self):
        self.gates = {"waits": Gate(), "writes": Gate(), "leaves": Gate()}
        self.asked = {}
        self.threads = []

    def answer(self, seen):
        words = next(each["content"] for each in seen.json["messages"] if each["role"] == "user")
        self.asked[words] = self.asked.get(words, 0) + 1
        answers = {
            "sloppy": lambda: Answer(stream(SLOPPY)),
            "retried": lambda: Answer(stream(WRONG if self.asked[words] == 1 else CALL)),
            "rejected": lambda: Answer(stream(WRONG)),
            "failed": lambda: as_json({"error": {"message": "the model is <b>overloaded</b>"}}, 503),
            "cut": lambda: Answer([chunk(CALL[:40]), Cut()]),
            "waits": lambda: Answer(stream(CALL), before=self.gates["waits"]),
            "writes": lambda: Answer([chunk(CALL[:80]), self.gates["writes"], *stream(CALL[80:])]),
            "leaves": lambda: Answer([chunk(CALL[:40]), self.gates["leaves"]]),
            "hostile": lambda: Answer(stream(HOSTILE, size=999)),
            "long": lambda: Answer(stream("x" * LONGEST_TEXT + CALL, size=60_000)),
        }
        return answers.get(words.split()[0], lambda: Answer(stream(CALL)))()

    def ask(self, words, **more):
        body = {**BODIES[CHAT], "stream": True, "messages": [{"role": "user", "content": words}], **more}
        with suppress(httpx2.HTTPError):
            self.world.client.post(CHAT, json=body)

    def begin(self, words):
        """Ask in a thread, and return when the upstream has been asked."""
        thread = threading.Thread(target=self.ask, args=(words,))
        thread.start()
        self.threads.append(thread)
        eventually(lambda: words in self.asked, "the upstream was asked")

    @contextmanager
    def open(self):
        with world(Upstream(make=self.answer), live=True) as self.world:
            self.url = self.world.url
            try:
                yield self
            finally:
                for gate in self.gates.values():
                    with suppress(Exception):  # it was opened
                        gate.open()
                for thread in self.threads:
                    thread.join()


@pytest.fixture
def site():
    with Stage().open() as stage:
        yield stage


def row(page, words):
    return page.locator("#exchanges > li", has_text=words)


def choose(page, words):
    row(page, words).locator("a").click()
    says(page, "#details", "What the client asked")
    return page.locator("#details")


def unfold(details):
    """Unfold all that can be, also in what was unfolded."""
    closed = details.locator("details:not([open]) > summary:visible")
    while closed.count():
        closed.first.click()


def raw(page, number=0):
    return page.locator("#details .source").nth(number)


ENDS = {
    "fine": "done",
    "sloppy": "done",
    "retried": "done after 1 retry",
    "rejected": "call rejected",
    "failed": "failed",
    "cut": "cut off",
}


def test_every_state_is_shown_and_the_list_is_filtered_paused_and_cleared(visit, site):
    page = visit.open("/live")
    shown, none = page.locator("#shown"), page.locator("#none")
    reads(page, "#connection", "Connected")
    expect(none).to_be_visible()
    for words in ENDS:
        site.ask(words)
    site.ask("refused", tools=[{"type": "function", "function": {"name": ""}}])
    site.begin("waits")
    site.begin("writes")
    states = {**ENDS, "tools[0]": "refused", "waits": "waiting for the model", "writes": "writing"}
    body = {**BODIES[CHAT], "stream": True, "messages": [{"role": "user", "content": "leaves"}]}
    with site.world.client.stream("POST", CHAT, json=body) as response:
        pieces = response.iter_bytes()
        next(pieces)
        expect(row(page, "leaves").locator(".badge").first).to_have_text("writing")
    for words, state in {**states, "leaves": "client left"}.items():
        expect(row(page, words).locator(".badge").first).to_have_text(state)
    expect(page.locator("#exchanges > li").first.locator("a > *").first).to_have_text("leaves")  # the words come first
    expect(row(page, "call rejected").locator(".badge.error")).to_have_text(["call rejected", "2 rejected"])
    expect(row(page, "failed")).to_contain_text("the model is <b>overloaded</b>")
    expect(shown).to_have_text("10 exchanges")

    def words_shown():
        found = page.locator("#exchanges > li:visible .words:not(.why)").all_text_contents()
        return sorted(each.split()[0] for each in found)

    page.fill("#find", "RETRIED")
    expect(shown).to_have_text("1 of 10 exchanges")
    assert words_shown() == ["retried"]
    page.fill("#find", "bare_ampersand forge")
    assert words_shown() == ["sloppy"]
    page.fill("#find", "nothing like this")
    expect(none).to_have_text("No exchange fits the filter.")
    page.fill("#find", "")
    page.check("#trouble")
    assert words_shown() == ["cut", "failed", "rejected", "retried", "sloppy"]
    page.uncheck("#trouble")
    for state, words in {"open": ["waits", "writes"], "rejected": ["rejected"], "client_left": ["leaves"]}.items():
        page.select_option("#state", state)
        assert words_shown() == words
    page.select_option("#state", "")

    details = choose(page, "writes")  # a stream is shown while it comes
    expect(raw(page)).to_have_text(CALL[:80], use_inner_text=False)
    expect(details.locator("article.call.open td.value").first).to_have_text("a b.py")
    expect(details).to_contain_text("not over yet")
    for name in ("waits", "writes"):
        site.gates[name].open()
        expect(row(page, name).locator(".badge").first).to_have_text("done")
    expect(details.locator("article.call.open")).to_have_count(0)
    expect(details.locator("article.call")).to_contain_text("clean")
    expect(raw(page)).to_have_text(CALL, use_inner_text=False)
    reads(page, "#exchanges .badge.clean", ["done"] * 4)  # fine, sloppy, waits, writes

    page.click("#clear")
    expect(row(page, "fine")).to_be_hidden()
    expect(none).to_have_text("Cleared. What comes next is shown here.")
    page.click("#pause")
    site.ask("paused")
    reads(page, "#connection", "Paused")
    expect(row(page, "paused")).to_have_count(0)
    page.click("#pause")
    expect(row(page, "paused")).to_be_visible()


def test_an_exchange_is_shown_with_its_request_attempts_and_answer(visit, site, tmp_path):
    site.ask("retried", temperature=0.25)
    site.ask("sloppy")
    page = visit.open("/live")
    details = choose(page, "retried")
    assert_named(page)
    first, second = details.locator(".attempt").all()
    expect(first).to_contain_text("Attempt 1 of 2")
    expect(first.locator(".badge", has_text="sent back to the model")).to_be_visible()
    expect(first.locator("article.error")).to_contain_text("invalid_arguments")
    expect(first.locator("article.error")).to_contain_text("path: expected string, got nothing")
    expect(first).to_contain_text("first byte after")
    assert second.locator("pre").first.text_content() == render_retry(parse(WRONG, TOOLS).errors[0], TOOLS)
    expect(second.locator("article.call")).to_contain_text("clean")
    assert [raw(page, number).text_content() for number in (0, 1)] == [WRONG, CALL]
    with page.expect_download() as download:
        details.get_by_role("link", name="Save as corpus case").first.click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    assert len(list(read_corpus(tmp_path))) == 1
    unfold(details)
    request, sent = details.locator("section.fold").all()
    for told in ("retried", '"temperature": 0.25', '"description": "Write a file."'):
        expect(request).to_contain_text(told)
    expect(first).to_contain_text("To call a tool, write a <tool> block")
    expect(sent).to_contain_text("a b.py")

    choose(page, "sloppy")  # repairs are marked in the raw reply, and lead to their notes
    mark, note = raw(page).locator(".mark.repair"), page.locator(".notes li")
    expect(mark).to_have_text("&")
    mark.click()
    expect(note).to_be_focused()
    expect(note).to_contain_text("bare_ampersand")
    page.locator(".notes a").click()
    expect(mark).to_be_focused()
    assert page.evaluate("location.hash").startswith("#exchange-")


@pytest.mark.parametrize("dialect", ["forge", "hermes"])
def test_a_reply_is_opened_in_the_playground(browser, dialect):
    text = {"forge": SLOPPY, "hermes": f"Hm</think>\n{FOREIGN}"}[dialect]
    settings = Settings(dialect=dialect, starts_in_reasoning=dialect == "hermes", also="known")
    with world(Upstream(make=lambda seen: Answer(stream(text))), live=True, settings=settings) as it:
        it.post(stream=True)
        visit = Visit(browser, it)
        page = visit.open("/live")
        choose(page, "Write it.").get_by_role("button", name="Open in playground").click()
        says(page, "#about", "A reply from the live view")
        says(page, "#summary", "1 call")
        assert [page.input_value(each) for each in ("#text", "#dialect", "[name=also]")] == [text, dialect, "known"]
        assert page.is_checked("[name=starts_in_reasoning]") == (dialect == "hermes")
        assert json.loads(page.input_value("#tools"))[0]["name"] == "write"
        assert page.evaluate("sessionStorage.length") == 0
        assert not [url for url in visit.requests if "tool" in url.lower() or "%3C" in url or "?text" in url]
        page.go_back()
        expect(page.locator("#details .source")).to_be_visible()
        visit.close()
        assert visit.complaints == []


def test_hostile_and_long_text_is_shown_as_text_everywhere(visit, site):
    site.ask(f"hostile {TAKEN}\u202e", model=TAKEN)
    site.ask("long")
    page = visit.open("/live")
    unfold(choose(page, "hostile"))
    assert raw(page).text_content() == HOSTILE.translate(str.maketrans(HIDDEN))
    expect(row(page, "hostile").locator(".line").first).to_contain_text(TAKEN)
    assert_untouched(page)
    assert_fits(page)
    details = choose(page, "long")
    expect(details).to_contain_text(f"{len(CALL.encode()):,} bytes of the reply are not shown")
    expect(details.get_by_role("link", name="Save as corpus case")).to_have_count(0)
    expect(details).to_contain_text("Only a reply that is over, whole and was given tools")
    expect(row(page, "long")).to_contain_text("1 call")


def test_a_restart_of_the_server_is_survived_and_said(browser):
    hub = LiveHub()
    hub.begin("req_before", "chat", json.dumps(BODIES[CHAT]).encode()).end("ok")
    with serving(Starlette(routes=routes(hub))) as server:
        visit = Visit(browser, server)
        page = visit.open("/live")
        choose(page, "done")
        hub.close()
    reads(page, "#connection", "Not connected; trying again", timeout=20_000)
    new = LiveHub()
    with running(Starlette(routes=routes(new)), port=urlsplit(server.url).port):
        reads(page, "#connection", "Connected", timeout=20_000)
        says(page, "#notice", "The server was restarted")
        expect(page.locator("#exchanges > li")).to_have_count(0)
        expect(page.locator("#details")).to_have_class("output stale")
        assert page.evaluate("location.hash") == ""
        visit.close()
        new.close()
    visit.forgive("ERR_")
    assert visit.complaints == []


def test_the_keyboard_reaches_everything_and_comes_back(visit, site):
    site.ask("retried")
    page = visit.open("/live")
    expect(row(page, "retried")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips the header
    for _ in range(6):  # three filters, two buttons, the row
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#details .attempt")).to_have_count(2)
    expect(row(page, "retried").locator("a")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "fold-request"
    page.keyboard.press("Enter")
    expect(page.locator("#details details[open]").first).to_contain_text("retried")


@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1920])
def test_nothing_stands_out_of_the_window_and_a_narrow_one_goes_to_the_chosen_exchange(visit, site, width):
    for words in ("hostile", "retried", *map(str, range(9))):
        site.ask(words, model="m" * 150)
    page = visit.open("/live", width=width)
    for words in ("hostile", "retried"):
        details = choose(page, words)
        if width < 1024:
            expect(details).to_be_focused()
            expect(details.locator("h2")).to_be_in_viewport()
        unfold(details)
        assert_fits(page)
        if width < 1024:
            details.get_by_role("link", name="Back to the list").click()
            expect(page.locator("#exchanges")).to_be_in_viewport()
