"""The live view in a real browser, at the real server, in front of an upstream that does what a test says."""

import json
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette

from proxy.browsing import Visit
from proxy.running import running, serving
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

CHAT = "/v1/chat/completions"
TOOLS = load_tools(BODIES[CHAT]["tools"])
WRONG = "I try.\n<tool><tool_name>write</tool_name><arguments><text>x</text></arguments></tool>"
SLOPPY = "So:\n<tool><tool_name>write</tool_name><arguments><path>a & b</path></arguments></tool>"
HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u202e\x1b[31m "
    f"{'y' * 20_000}\n<tool><tool_name>write</tool_name><arguments><path><img src=x onerror=\"document.title='taken'\">"
    "</path></arguments></tool><tool><tool_name><b>x</b></tool_name></tool>"
)
HOSTILE_SHOWN = HOSTILE.replace("\u202e", "⟨U+202E⟩").replace("\x1b", "␛")


class Stage:
    """A server with the live view. What the model says is chosen by the first word of the user."""

    def __init__(self):
        self.gates = {"waits": Gate(), "writes": Gate(), "leaves": Gate()}
        self.asked = {}
        self.threads = []

    def answer(self, seen):
        words = next(each["content"] for each in seen.json["messages"] if each["role"] == "user")
        self.asked[words] = self.asked.get(words, 0) + 1
        match words.split()[0]:
            case "sloppy":
                return Answer(stream(SLOPPY))
            case "retried":
                return Answer(stream(WRONG if self.asked[words] == 1 else CALL))
            case "rejected":
                return Answer(stream(WRONG))
            case "failed":
                return as_json({"error": {"message": "the model is <b>overloaded</b>"}}, 503)
            case "cut":
                return Answer([chunk(CALL[:40]), Cut()])
            case "waits":
                return Answer(stream(CALL), before=self.gates["waits"])
            case "writes":
                return Answer([chunk(CALL[:80]), self.gates["writes"], *stream(CALL[80:])])
            case "leaves":
                return Answer([chunk(CALL[:40]), self.gates["leaves"]])
            case "hostile":
                return Answer(stream(HOSTILE, size=999))
            case "long":
                return Answer(stream("x" * LONGEST_TEXT + CALL, size=60_000))
        return Answer(stream(CALL))

    def ask(self, words, path=CHAT, **more):
        body = {**BODIES[path], "stream": True, "messages": [{"role": "user", "content": words}], **more}
        with suppress(httpx2.HTTPError):
            self.world.client.post(path, json=body)

    def begin(self, words):
        """Ask in a thread, and return when the upstream has been asked."""
        thread = threading.Thread(target=self.ask, args=(words,))
        thread.start()
        self.threads.append(thread)
        eventually(lambda: words in self.asked, "the upstream was asked")

    @property
    def url(self):
        return self.world.url

    @contextmanager
    def open(self, **config):
        with world(Upstream(make=self.answer), live=True, **config) as self.world:
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


def state_of(page, words):
    return row(page, words).locator(".badge").first


def choose(page, words):
    row(page, words).locator("a").click()
    expect(page.locator("#details")).to_contain_text("What the client asked")
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


def test_every_state_is_shown_and_each_exchange_comes_to_its_end(visit, site):
    page = visit.open("/live")
    expect(page.locator("#connection")).to_have_text("Connected")
    expect(page.locator("#none")).to_be_visible()
    for words in ENDS:
        site.ask(words)
    site.ask("refused", tools=[{"type": "function", "function": {"name": ""}}])
    site.begin("waits")
    site.begin("writes")
    body = {**BODIES[CHAT], "stream": True, "messages": [{"role": "user", "content": "leaves"}]}
    with site.world.client.stream("POST", CHAT, json=body) as response:
        pieces = response.iter_bytes()
        next(pieces)
        expect(state_of(page, "leaves")).to_have_text("writing")
    for words, state in ENDS.items():
        expect(state_of(page, words)).to_have_text(state)
    expect(state_of(page, "tools[0]")).to_have_text("refused")
    expect(state_of(page, "waits")).to_have_text("waiting for the model")
    expect(state_of(page, "writes")).to_have_text("writing")
    expect(state_of(page, "leaves")).to_have_text("client left")
    for name in ("waits", "writes"):
        site.gates[name].open()
        expect(state_of(page, name)).to_have_text("done")
    greens = page.locator("#exchanges .badge.clean")
    expect(greens).to_have_text(["done"] * 4)  # fine, sloppy, waits, writes
    expect(row(page, "call rejected").locator(".badge.error")).to_have_text(["call rejected", "2 rejected"])
    expect(row(page, "failed")).to_contain_text("the model is <b>overloaded</b>")
    expect(page.locator("#shown")).to_have_text("10 exchanges")
    first = page.locator("#exchanges > li").first
    expect(first).to_contain_text("leaves")


def test_a_stream_is_shown_while_it_comes(visit, site):
    page = visit.open("/live")
    site.begin("writes")
    details = choose(page, "writes")
    expect(raw(page)).to_have_text(CALL[:80], use_inner_text=False)
    expect(details.locator("article.call.open td.value").first).to_have_text("a b.py")
    expect(details).to_contain_text("not over yet")
    site.gates["writes"].open()
    expect(details.locator("article.call.open")).to_have_count(0)
    expect(details.locator("article.call")).to_contain_text("clean")
    expect(raw(page)).to_have_text(CALL, use_inner_text=False)


def test_a_retry_is_an_attempt_of_its_own_with_what_the_model_was_told(visit, site):
    site.ask("retried")
    page = visit.open("/live")
    details = choose(page, "retried")
    first, second = details.locator(".attempt").all()
    expect(first).to_contain_text("Attempt 1 of 2")
    expect(first.locator(".badge", has_text="sent back to the model")).to_be_visible()
    expect(first.locator("article.error")).to_contain_text("invalid_arguments")
    expect(first.locator("article.error")).to_contain_text("path: expected string, got nothing")
    expect(first).to_contain_text("first byte after")
    told = second.locator("pre").first.text_content()
    assert told == render_retry(parse(WRONG, TOOLS).errors[0], TOOLS)
    expect(second.locator("article.call")).to_contain_text("clean")
    assert raw(page, 0).text_content() == WRONG
    assert raw(page, 1).text_content() == CALL


def test_repairs_are_marked_in_the_raw_reply_and_lead_to_their_notes(visit, site):
    site.ask("sloppy")
    page = visit.open("/live")
    choose(page, "sloppy")
    assert raw(page).locator(".mark.repair").all_text_contents() == ["&"]
    raw(page).locator(".mark.repair").click()
    expect(page.locator(".notes li")).to_be_focused()
    expect(page.locator(".notes li")).to_contain_text("bare_ampersand")
    page.locator(".notes a").click()
    expect(raw(page).locator(".mark.repair")).to_be_focused()
    assert page.evaluate("location.hash").startswith("#exchange-")


def test_request_prompt_and_answer_can_be_unfolded(visit, site):
    site.ask("fine", temperature=0.25)
    page = visit.open("/live")
    details = choose(page, "fine")
    request, sent = details.locator("section.fold").all()
    request.locator("summary").first.click()
    expect(request).to_contain_text("fine")
    request.locator("summary", has_text="Other fields").click()
    expect(request).to_contain_text('"temperature": 0.25')
    request.locator("summary", has_text="1 tool").click()
    expect(request).to_contain_text('"description": "Write a file."')
    details.locator("summary", has_text="Prompt as sent").click()
    details.locator("summary", has_text="system").click()
    expect(details.locator(".attempt")).to_contain_text("To call a tool, write a <tool> block")
    sent.locator("summary").click()
    expect(sent).to_contain_text("a b.py")


def test_the_list_is_filtered_by_text_state_and_trouble(visit, site):
    for words in ENDS:
        site.ask(words)
    site.begin("waits")
    page = visit.open("/live")
    expect(page.locator("#exchanges > li")).to_have_count(7)
    shown = page.locator("#exchanges > li:visible")

    def words_shown():
        return sorted(each.split()[0] for each in shown.locator(".words:not(.why)").all_text_contents())

    page.fill("#find", "RETRIED")
    expect(page.locator("#shown")).to_have_text("1 of 7 exchanges")
    assert words_shown() == ["retried"]
    page.fill("#find", "bare_ampersand forge")
    assert words_shown() == ["sloppy"]
    page.fill("#find", "nothing like this")
    expect(page.locator("#none")).to_have_text("No exchange fits the filter.")
    page.fill("#find", "")
    page.check("#trouble")
    assert words_shown() == ["cut", "failed", "rejected", "retried", "sloppy"]
    page.uncheck("#trouble")
    page.select_option("#state", "open")
    assert words_shown() == ["waits"]
    page.select_option("#state", "rejected")
    assert words_shown() == ["rejected"]


@pytest.mark.parametrize("dialect", ["forge", "hermes"])
def test_a_reply_is_opened_in_the_playground(browser, dialect):
    text = {
        "forge": SLOPPY,
        "hermes": 'Hm</think>\n<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>',
    }
    settings = Settings(dialect=dialect, starts_in_reasoning=dialect == "hermes", also="known")
    upstream = Upstream(make=lambda seen: Answer(stream(text[dialect])))
    with world(upstream, live=True, settings=settings) as it:
        it.post(stream=True)
        visit = Visit(browser, it)
        page = visit.open("/live")
        choose(page, "Write it.").get_by_role("button", name="Open in playground").click()
        expect(page.locator("#about")).to_contain_text("A reply from the live view")
        expect(page.locator("#summary")).to_contain_text("1 call")
        assert page.input_value("#text") == text[dialect]
        assert page.input_value("#dialect") == dialect
        assert page.input_value("#also") == "known"
        assert page.is_checked("#starts_in_reasoning") == (dialect == "hermes")
        assert json.loads(page.input_value("#tools"))[0]["name"] == "write"
        assert page.evaluate("sessionStorage.length") == 0
        assert not [url for url in visit.requests if "tool" in url.lower() or "%3C" in url or "?text" in url]
        page.go_back()
        expect(page.locator("#details .source")).to_be_visible()
        visit.close()
        assert visit.complaints == []


def test_a_reply_is_saved_as_a_case_that_the_corpus_takes(visit, site, tmp_path):
    site.ask("retried")
    page = visit.open("/live")
    details = choose(page, "retried")
    with page.expect_download() as download:
        details.get_by_role("link", name="Save as corpus case").first.click()
    name = download.value.suggested_filename
    download.value.save_as(tmp_path / name)
    (case,) = read_corpus(tmp_path)
    (given,) = json.loads((tmp_path / name).read_text("utf-8"))
    assert (given["text"], given["expect"]["errors"][0]["code"]) == (WRONG, "invalid_arguments")
    assert given["tools"] == [tool.model_dump() for tool in TOOLS]
    assert case is not None


def test_hostile_text_is_shown_as_text_everywhere(visit, site):
    name = "<img src=x onerror=\"document.title='taken'\">"
    site.ask(f"hostile {name}", model=name, messages=[{"role": "user", "content": f"hostile {name}\u202e"}])
    page = visit.open("/live")
    details = choose(page, "hostile")
    unfold(details)
    assert raw(page).text_content() == HOSTILE_SHOWN
    expect(row(page, "hostile").locator("strong")).to_have_text(name)
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == "Live · xmltools"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_what_is_too_long_says_that_it_was_cut(visit, site):
    site.ask("long")
    page = visit.open("/live")
    details = choose(page, "long")
    expect(details).to_contain_text(f"{len(CALL.encode()):,} bytes of the reply are not shown")
    expect(details.get_by_role("link", name="Save as corpus case")).to_have_count(0)
    expect(details).to_contain_text("Only a reply that is over, whole and was given tools")
    expect(row(page, "long")).to_contain_text("1 call")


def test_it_pauses_and_is_cleared(visit, site):
    page = visit.open("/live")
    site.ask("fine")
    expect(row(page, "fine")).to_be_visible()
    page.click("#clear")
    expect(row(page, "fine")).to_be_hidden()
    expect(page.locator("#none")).to_have_text("Cleared. What comes next is shown here.")
    page.click("#pause")
    site.ask("sloppy")
    expect(page.locator("#pause")).to_have_text("Go on (1)")
    expect(row(page, "sloppy")).to_have_count(0)
    page.click("#pause")
    expect(row(page, "sloppy")).to_be_visible()


def test_a_restart_of_the_server_is_survived_and_said(browser):
    hub = LiveHub()
    hub.begin("req_before", "chat", json.dumps(BODIES[CHAT]).encode()).end("ok")
    with serving(Starlette(routes=routes(hub))) as server:
        visit = Visit(browser, server)
        page = visit.open("/live")
        choose(page, "done")
        hub.close()
    expect(page.locator("#connection")).to_have_text("Not connected; trying again", timeout=20_000)
    new = LiveHub()
    with running(Starlette(routes=routes(new)), port=urlsplit(server.url).port):
        expect(page.locator("#connection")).to_have_text("Connected", timeout=20_000)
        expect(page.locator("#notice")).to_contain_text("The server was restarted")
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
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#details .attempt")).to_have_count(2)
    expect(row(page, "retried").locator("a")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "fold-request"
    page.keyboard.press("Enter")
    expect(page.locator("#details details[open]").first).to_contain_text("retried")


def test_every_control_has_a_name(visit, site):
    site.ask("retried")
    page = visit.open("/live")
    choose(page, "retried")
    for control in page.locator("button, input, select, pre[tabindex], a").all():
        name = control.evaluate(
            """e => e.getAttribute("aria-label") || [...(e.labels ?? [])].map((label) => label.textContent).join("")
                || e.textContent"""
        )
        assert name.strip(), control.evaluate("e => e.outerHTML")


@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1920])
def test_nothing_stands_out_of_the_window(visit, site, width):
    site.ask("hostile")
    site.ask("retried", model="m" * 150)
    page = visit.open("/live", width=width)
    for words in ("hostile", "retried"):
        details = choose(page, words)
        unfold(details)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
