"""The playground in a real browser: headless Chromium, at a real server."""

import asyncio
import json
import re
import threading
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette

from proxy.browsing import HIDDEN, TAKEN, assert_fits, assert_named, assert_untouched, reads, says, settled
from proxy.running import running
from xmltools import dialects
from xmltools.dialects import named
from xmltools.models.events import CallStarted, ReasoningDelta, Skipped, TextDelta
from xmltools.parser import Parser, parse
from xmltools.proxy.playground import routes
from xmltools.render import render_instructions, render_retry
from xmltools.tools import load_tools

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

ADD = {
    "name": "add",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["a"],
    },
}
TOOLS = load_tools([ADD])
TEXT = (
    "Hi \U0001f600 <b>.\n<think>hm</think>\n"
    "<tool><tool_name>add</tool_name><arguments><a>+5</a><note>x & y</note></arguments></tool> <to"
)
BLOCK = TEXT[TEXT.index("<tool>") : TEXT.index("</tool>") + 7]
FOREIGN = '<tool_call>{"name": "add", "arguments": {"a": 5}}</tool_call>'
WRONG = "<tool><tool_name>add</tool_name><arguments><a>five</a></arguments></tool>"
OTHER = (
    "<think>\nhm\n</think>\n\nAdding.\n<tool_call>\n<function=add>\n<parameter=a>\n+5\n</parameter>\n"
    "<parameter=note>\nx & y\n</parameter>\n</function>\n</tool_call><|im_end|>"
)
TABS = ("prompt", "grammar", "events", "result")


class Site:
    """The server, whose analyses can be held back."""

    def __init__(self):
        self._app = Starlette(routes=routes())
        self._free = threading.Event()
        self._free.set()

    async def __call__(self, scope, receive, send):
        while scope.get("path") == "/playground/api/analyse" and not self._free.is_set():
            await asyncio.sleep(0.005)
        await self._app(scope, receive, send)

    @contextmanager
    def held(self):
        """Hold back all answers to what pages ask, and let them go at the end."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()


@pytest.fixture(scope="module")
def site():
    site = Site()
    with running(site) as site.url:
        yield site


def fill(page, text, tools=(ADD,)):
    """Put text and tools into the fields, and wait until the page shows what came of them."""
    page.fill("#tools", json.dumps(list(tools)) if tools else "")
    page.fill("#text", text)
    settled(page)
    reads(page, "#source", re.compile(re.escape(text[:20])))


def source(page, kind=""):
    """The text of the pieces of a kind, joined."""
    return "".join(page.locator(f"#source .piece{kind and '.' + kind}").all_text_contents())


def sums(page, calls, repairs, errors):
    """Wait for the badges, and nothing on its way."""
    settled(page)
    reads(page, "#summary", f"{calls}{repairs}{errors}")


def slide(page, position):
    page.locator("#slider").fill(str(position))
    total = page.locator("#slider").get_attribute("max")
    place = "End of the stream" if position >= int(total) else f"After {position:,} of"
    says(page, "#position", place)


def choose(page, name, value):
    page.select_option(f"#{name}", value)
    settled(page)


def paste(page, text):
    """Put a long text into the field as pasting does: a browser types it for seconds."""
    page.locator("#text").evaluate(
        """(field, text) => {
            field.value = text;
            field.dispatchEvent(new InputEvent("input", { bubbles: true }));
        }""",
        text,
    )


def test_a_text_is_shown_as_coloured_spans_that_tile_it_with_all_that_came_of_it(visit):
    page = visit.open()
    sums(page, "1 call", "0 repairs", "0 errors")
    assert "clamp" in source(page, "call")
    fill(page, TEXT)
    sums(page, "1 call", "2 repairs", "0 errors")
    assert source(page) == TEXT
    assert (source(page, "reasoning"), source(page, "call")) == ("<think>hm</think>", BLOCK)
    assert page.locator("#source .mark.repair").all_text_contents() == ["<a>", "&"]
    row = page.locator("#result article.call tbody tr").first
    expect(row.locator("th, td")).to_have_text(["a", "integer", "5"])

    page.click("#tab-prompt")
    prompt, grammar = page.locator("#prompt pre"), page.locator("#grammar pre")
    expect(prompt).to_have_text(render_instructions(TOOLS), use_inner_text=False)
    choose(page, "style", "compact")
    expect(prompt).to_have_text(render_instructions(TOOLS, style="compact"), use_inner_text=False)
    page.locator("#source .mark").nth(1).click()  # a mark leads to its note, and back
    expect(page.locator("#note-1")).to_be_focused()
    expect(page.locator("#result")).to_be_visible()
    page.locator("#note-1 a").click()
    expect(page.locator("#mark-1")).to_be_focused()
    page.click("#tab-grammar")
    expect(grammar).to_contain_text("::=")
    choose(page, "format", "lark")
    expect(grammar).to_contain_text("%llguidance")
    page.click("#tab-events")
    events = page.locator("#events tbody tr")
    expect(events.first).to_contain_text("TextDelta")
    expect(events.first).to_contain_text("Hi \U0001f600 <b>.")  # a run of events is one line

    page.check("[name=strict]")
    sums(page, "0 calls", "0 repairs", "1 error")
    page.uncheck("[name=strict]")
    page.fill("[name=reasoning_tags]", "ponder")
    expect(page.locator("#source .piece.reasoning")).to_have_count(0)
    sums(page, "1 call", "2 repairs", "0 errors")
    fill(page, WRONG)
    assert page.locator("#result article.error pre").text_content() == render_retry(
        parse(WRONG, TOOLS).errors[0], TOOLS
    )
    assert source(page, "error") == WRONG
    page.fill("#text", "")
    says(page, "#source", "Nothing here yet")
    page.locator("#text").press_sequentially("<tool><tool_name>x</tool_name></tool>")
    says(page, "#result article.error", "unknown_tool")


def test_every_example_can_be_chosen(visit):
    page = visit.open()
    for option in page.locator("#example option").all()[1:]:
        page.select_option("#example", label=option.text_content())
        settled(page)
        expect(page.locator("#about")).not_to_be_empty()
        reads(page, "#source", page.input_value("#text"))


def test_a_call_in_another_notation_is_marked_and_told_of(visit):
    page = visit.open()
    page.select_option("#dialect", "forge")
    fill(page, f"One.\n{FOREIGN}\nTwo.")
    sums(page, "0 calls", "0 repairs1 notice", "0 errors")
    assert page.locator("#source .mark.notice").all_text_contents() == ["<tool_call>"]
    notice = page.locator("#result article.notice")
    expect(notice).to_contain_text("a call of 'add' in another notation (hermes) stayed text line 2, column 1")
    notice.locator("summary").click()
    (told,) = parse(FOREIGN, TOOLS).notices
    assert notice.locator("pre").text_content() == render_retry(told, TOOLS)
    notice.locator("a.place").click()
    expect(page.locator("#source .mark.notice")).to_be_in_viewport()
    slide(page, 10)
    expect(notice).to_have_count(0)


def test_the_dialect_of_a_text_is_detected_or_chosen(visit):
    page = visit.open()
    found = page.locator("#dialect-found")
    expect(found).to_contain_text("Detected forge (1 call). A call: <tool>")
    reads(page, "#dialect option", ["detect", *(dialect.name for dialect in dialects.all())])
    fill(page, OTHER)
    expect(found).to_contain_text(
        "Detected qwen3_coder (1 call); others that find calls here: mimo (1 call), seed_oss (1 call). "
        "A call: <tool_call>"
    )
    sums(page, "1 call", "1 repair", "0 errors")
    assert (source(page), source(page, "reasoning")) == (OTHER, "<think>\nhm\n</think>")
    assert source(page, "call") == OTHER[OTHER.index("<tool_call>") : OTHER.index("<|im")]
    assert source(page, "skipped") == "\n\n\n<|im_end|>"
    assert page.locator("#source .mark.repair").count() == 1
    reads(page, "#result article.call td.value", ["5", "x & y"])
    choose(page, "dialect", "forge")
    sums(page, "0 calls", "0 repairs1 notice", "0 errors")
    expect(found).to_have_text(f"A call: {named('forge').example}")
    choose(page, "dialect", "qwen3_coder")
    sums(page, "1 call", "1 repair", "0 errors")
    page.click("#tab-prompt")
    says(page, "#prompt-text", "<function=")
    choose(page, "dialect", "cohere")
    says(page, "#prompt-text", "it is not known how they are written")
    choose(page, "dialect", "hermes")
    fill(page, FOREIGN.replace("5", '"five"'))
    told = page.locator("#result article.error pre").text_content()
    assert told.endswith("</tool_call>") and '<tool_call>\n{"name": "add"' in told
    choose(page, "dialect", "detect")
    fill(page, f"{FOREIGN}\n{FOREIGN}\n{OTHER}")
    expect(found).to_contain_text("Detected hermes (2 calls); others that find calls here: ")
    fill(page, "Just words.")
    expect(found).to_contain_text("No call detected: read as forge. A call: <tool>")


def test_a_stream_in_any_dialect_is_stepped_and_cut(visit):
    page = visit.open()
    tools = [{"name": "get", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
    for name in (dialect.name for dialect in dialects.all()):
        page.select_option("#dialect", name)
        before = "" if named(name).is_bare else "Adding.\n"  # a call without a mark stands alone
        text = f"{before}{named(name).example}\n"
        fill(page, text, tools=tools)
        for position in range(0, len(text) + 2, 19):
            slide(page, position)
            assert source(page) == text
        parser = Parser(load_tools(tools), dialect=name)
        events = [*parser.feed(text), *parser.close()]
        page.click("#tab-events")
        says(page, "#events tbody", "CallCompleted")
        skipped = sum(isinstance(event, Skipped) for event in events)
        assert page.locator("#events tbody tr", has_text="Skipped").count() == skipped, name


def test_the_slider_shows_what_a_parser_says_that_was_fed_so_far(visit):
    page = visit.open()
    fill(page, TEXT)
    for position in [*range(0, len(TEXT) + 1, 7), TEXT.index("<think") + 3, TEXT.index("</tool>") + 3]:
        parser = Parser(TOOLS)
        events = [event for sign in TEXT[:position] for event in parser.feed(sign)]
        covered = max([event.span[1] for event in events if hasattr(event, "span")], default=0)
        calls = [type(event) for event in events if not isinstance(event, TextDelta | ReasoningDelta)]
        is_open = CallStarted in calls and not hasattr(events[-1], "call") and covered < TEXT.index("</tool>")
        slide(page, position)
        assert source(page, "future") == TEXT[position:]
        assert source(page, "open" if is_open else "held") == TEXT[covered:position]
        assert source(page, "held" if is_open else "open") == ""
        assert source(page) == TEXT
    slide(page, TEXT.index("& y"))
    call, explanation = page.locator("#result article.call.open"), page.locator("#explanation")
    expect(call.locator("tbody tr")).to_have_count(2)
    assert call.locator("td.value").all_text_contents() == ["+5", "x "]
    expect(explanation).to_contain_text("Inside a call of add")
    slide(page, len(TEXT))
    expect(explanation).to_contain_text("Characters held back, that may still become markup: 3.")
    assert source(page, "held") == "<to"
    slide(page, len(TEXT) + 1)
    expect(explanation).to_have_text("Nothing is held back.")
    assert source(page, "held") == ""
    page.click("#play")  # from the beginning
    reads(page, "#play", "Pause")
    reads(page, "#play", "Play", timeout=20_000)
    reads(page, "#position", "End of the stream.")
    page.click("#cut")
    says(page, "#verdict", "nothing changed")
    assert page.locator("#source .cut").count() > 0
    assert source(page) == TEXT
    fill(page, "a line of prose\n" * 200)  # the place that the stream has come to is in sight
    for position in (3000, 40, 1600):
        slide(page, position)
        head, box = (
            page.locator(f"#source{inner}").evaluate("e => [e.getClientRects()[0].top, e.getClientRects()[0].bottom]")
            for inner in (" .future", "")
        )
        assert box[0] <= head[0] and head[1] <= box[1]


def opacity(page, value):
    for panel in page.locator(".output > .panel").all():
        expect(panel).to_have_css("opacity", value)


def test_what_is_wrong_is_told_at_its_field_and_forgotten_when_mended(visit):
    page = visit.open()
    page.fill("#tools", "[{]")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("line 1, column 3")
    expect(page.locator("#tools[aria-invalid] + #error")).to_have_count(1)
    page.fill("#tools", "")
    expect(alert).to_have_count(0)
    asked = len(visit.requests)
    paste(page, "x" * 1_100_000)
    expect(alert).to_have_text(
        "The text has 1,100,000 characters, and no more than 1,048,576 characters are analysed: shorten it."
    )
    opacity(page, "0.5")
    assert len(visit.requests) == asked
    fill(page, TEXT)
    expect(alert).to_have_count(0)
    opacity(page, "1")
    paste(page, "é" * 600_000)
    expect(alert).to_contain_text("larger than 1,048,576 bytes")
    for status in ("400", "413"):
        visit.forgive(status)


def test_what_is_older_than_the_text_is_dimmed_until_the_answer_is_there(visit, site):
    page = visit.open()
    progress = page.locator("#progress")
    with site.held():
        page.fill("#text", TEXT)
        opacity(page, "0.5")
        expect(progress).to_have_text(
            f"Analysing {len(TEXT) + 1} characters in the background. What is shown below is older."
        )  # the picture in it counts as two
        says(page, "#summary", "1 call0 repairs")
    sums(page, "0 calls", "0 repairs", "1 error")
    opacity(page, "1")
    expect(progress).to_be_hidden()


LARGE = {
    "words": "Some words, & a <b>tag</b>.\n" * 33_000,
    "one line": "x" * 990_000,
    "calls": "<tool><tool_name>add</tool_name><arguments><a>x & y</a></arguments></tool>\n" * 5_000,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_text_is_analysed_in_the_background_and_the_page_goes_on(visit, site, text):
    page = visit.open()
    page.fill("#tools", "")
    settled(page)
    with site.held():
        paste(page, text)
        says(page, "#progress", f"Analysing {len(text):,} characters in the background")
    settled(page)
    expect(page.locator("#progress")).to_be_hidden()
    says(page, "#source .gap", "characters before this are not shown")
    assert len(source(page)) == 40_000
    slide(page, 0)
    page.locator("#slider").fill("10000")  # of steps with several characters
    expect(page.locator("#source .gap")).to_have_count(2)
    assert page.locator("#source").evaluate("e => e.textContent.length") < 50_000
    assert page.locator("main").evaluate("e => e.querySelectorAll('*').length") < 15_000
    # What is laid out is bounded: one line of this length takes a browser eight seconds, in which nothing moves.
    found = page.locator("#result .body, #result td, #events td").evaluate_all(
        "all => all.map((e) => e.textContent.length)"
    )
    assert max(found) < 21_000
    assert page.locator("#result > *").count() <= 201


def test_a_mark_that_is_far_away_is_found(visit):
    page = visit.open()
    page.fill("#tools", json.dumps([ADD]))
    paste(page, TEXT + "x" * 100_000)
    settled(page)
    expect(page.locator("#mark-1")).to_have_count(0)
    page.locator("#note-1 a").click()
    expect(page.locator("#mark-1")).to_be_focused()
    says(page, "#source .gap", "characters after this are not shown")


def test_the_dialect_is_kept_and_chooses_the_examples(visit):
    page = visit.open()
    options = page.locator("#example option")
    count = options.count()
    choose(page, "dialect", "hermes")
    found = options.all_text_contents()
    assert 1 < len(found) < count
    page.reload()
    says(page, "#summary", "1 call")
    assert page.input_value("#dialect") == "hermes"
    assert options.all_text_contents() == found
    says(page, "#source", "<tool_call>")
    page.click("#tab-prompt")
    says(page, "#prompt-text", "<tool_call>")
    page.select_option("#dialect", "detect")
    assert options.count() == count


def test_hostile_text_is_shown_as_text_everywhere(visit):
    page = visit.open()
    hostile = (
        f"{TAKEN}</script><script>document.title='taken'</script>\n"
        f"<tool><tool_name>add</tool_name><arguments><a>1</a><note>{TAKEN}</note></arguments></tool>"
        f"<tool><tool_name><b>x</b></tool_name></tool>{''.join(HIDDEN)}[31m"
    )
    fill(page, hostile, [ADD, {"name": TAKEN, "description": "</pre><script>1</script>"}])
    assert source(page) == hostile.translate(str.maketrans(HIDDEN))
    expect(page.locator("#result td.value").nth(1)).to_have_text(TAKEN)
    for tab in TABS:
        page.click(f"#tab-{tab}")
    for position in range(0, len(hostile), 40):
        slide(page, position)
    assert_untouched(page)


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_follows_the_system_and_the_switch_outlasts_a_reload(visit):
    page = visit.open(scheme="dark")
    dark = background(page)
    switch = page.locator("#theme")
    expect(switch).to_have_attribute("aria-pressed", "true")
    switch.click()
    light = background(page)
    assert light != dark
    assert light == background(visit.open("/live", scheme="light"))
    visit.forgive("404")
    page.reload()
    expect(switch).to_have_attribute("aria-pressed", "false")
    assert background(page) == light
    switch.click()
    assert background(page) == dark


def contrast(one, other):
    """The ratio of the two colours by WCAG 2."""

    def light(colour):
        parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted([light(one), light(other)])
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_source_text_has_contrast_enough(visit, scheme):
    page = visit.open(scheme=scheme)
    shown = {
        OTHER: ["skipped"],
        f"{TEXT}\n{WRONG}": ["text", "reasoning", "call", "mark.repair", "error", "mark.error"],
    }
    for text, kinds in shown.items():
        fill(page, text)
        for kind in kinds:
            ink, paper = page.locator(f"#source .piece.{kind}").first.evaluate(
                """element => {
                    const transparent = "rgba(0, 0, 0, 0)";
                    let below = element;
                    while (getComputedStyle(below).backgroundColor === transparent) below = below.parentElement;
                    return [getComputedStyle(element).color, getComputedStyle(below).backgroundColor];
                }"""
            )
            assert contrast(ink, paper) >= 4.5, kind


def tab_to(page, id):
    for _ in range(60):
        if page.evaluate("document.activeElement.id || document.activeElement.name") == id:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{id} is not in the tab order")


def test_everything_can_be_done_with_the_keyboard_and_has_a_name(visit):
    page = visit.open()
    assert_named(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips the header
    tab_to(page, "text")
    page.keyboard.press("Control+A")
    page.keyboard.type("a <b <think>c</think>")
    reads(page, "#source", "a <b <think>c</think>")
    settled(page)
    tab_to(page, "dialect")
    page.keyboard.press("ArrowDown")
    assert page.input_value("#dialect") == "forge"
    settled(page)
    tab_to(page, "strict")
    page.keyboard.press("Space")
    assert page.is_checked("[name=strict]")
    settled(page)
    tab_to(page, "slider")
    for keys, place in ((["Home"], "After 0 of 21"), (["ArrowRight"] * 3, "After 3 of 21"), (["End"], "End of the")):
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator("#slider")).to_have_attribute("aria-valuetext", re.compile(place))
        assert source(page, "held") == ("<" if "3" in place else "")
    tab_to(page, "tab-result")
    for tab in TABS:
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{tab}"
        expect(page.locator(f"#{tab}")).to_be_visible()
        expect(page.locator("[role=tabpanel]:visible")).to_have_count(1)


@pytest.mark.parametrize("width", [360, 390, 768, 1920])
def test_it_fits_every_window_and_at_390_pixels_the_result_comes_before_explanations(visit, width):
    page = visit.open(width=width, height=844)
    if width == 390:
        fill(page, TEXT)
        tops = [
            page.locator(each).bounding_box()["y"] for each in ("#text", "#result", ".legend", "#tools", "#options")
        ]
        assert tops == sorted(tops) and tops[1] < 844
        expect(page.locator("#text-hint")).to_be_hidden()
    fill(page, TEXT + "x" * 500 + WRONG + f"<tool><tool_name>{'y' * 250}</tool_name></tool>")
    for tab in TABS:
        page.click(f"#tab-{tab}")
        assert_fits(page)
    slider, panel = (page.locator(each).bounding_box() for each in ("#slider", ".stepper"))
    assert slider["x"] + slider["width"] == pytest.approx(panel["x"] + panel["width"], abs=1)


def test_where_the_live_view_is_off_a_page_says_how_to_turn_it_on(visit):
    page = visit.open("/live")
    says(page, "main", "xmltools serve --live")
    visit.forgive("404")
