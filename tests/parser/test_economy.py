"""What events and blocks share in memory, and that a large piece of prose costs no more than the same in small ones."""

import gc
import tracemalloc
from pathlib import Path
from statistics import median

import pytest
from support.dialect_marks import write
from support.effort import effort

import xmltools as xt
from xmltools import dialects
from xmltools.models.events import CallFailed, TextDelta

OVER = 1_000
"""The default of `Limits.blocks`."""
CALL = "<tool><tool_name>f</tool_name></tool>"


def kept_by_xmltools():
    """Bytes made by the package's own lines since tracing started, or by the tests here, which cut the pieces.

    Not those of the whole process, in which other tests' threads and the caches of libraries grow as well.
    """
    gc.collect()
    own = [tracemalloc.Filter(True, f"{Path(xt.__file__).parent}/*"), tracemalloc.Filter(True, __file__)]
    traces = tracemalloc.take_snapshot().filter_traces(own)
    return sum(each.size for each in traces.statistics("filename"))


def events_of(text, size, limits=None):
    parser = xt.Parser(limits=limits, new_id=lambda: "")
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    return [*events, *parser.close()]


@pytest.mark.parametrize("size", [6, 4096, 10**6])
def test_one_error_says_that_there_are_too_many_blocks_and_the_rest_is_text(size):
    events = events_of("<tool>" * (OVER + 500) + "<a>", size)
    *_, last = [event.error for event in events if isinstance(event, CallFailed)]
    assert sum(isinstance(event, CallFailed) for event in events) == OVER + 1
    assert last.message == "the reply has more than 1000 tool calls; what follows was read as text"
    assert last.span == (6 * OVER, 6 * OVER + 6)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "<tool>" * 499 + "<a>"


@pytest.mark.parametrize("size", [1, 5, 10**6])
def test_what_follows_too_many_blocks_is_not_parsed(size):
    rest = f" {CALL}<think>a</think>\n```\n[b]\n<"
    for most in (3, 2, 1):
        reply = xt.parser.build_reply(events_of(CALL * (most + 1) + rest, size, xt.Limits(blocks=most)))
        (error,) = reply.errors
        assert (len(reply.calls), error.code, error.span) == (most, "limit_exceeded", (37 * most, 37 * (most + 1)))
        assert (reply.text, reply.reasoning) == (rest, "")


def test_memory_of_a_reply_that_is_nothing_but_openers():
    text = "<tool>" * 20_000
    tracemalloc.start()
    parser = xt.Parser()
    events = [*parser.feed(text), *parser.close()]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(events) == OVER + 2  # the last one is text
    assert taken < OVER * 700 + 2 * len(text)  # an event, an error, its message, span and arguments


@pytest.mark.parametrize("value", ["x" * 400_000, "<![CDATA[" + "<b>\n" * 100_000 + "]]>", "a < b\n" * 60_000])
@pytest.mark.parametrize("size", [40, 4096])
def test_a_parser_lets_go_of_a_call_that_has_ended(value, size):
    text = f"<tool><tool_name>f</tool_name><arguments><a>{value}</a></arguments></tool>"
    parser = xt.Parser()
    tracemalloc.start()
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    kept = kept_by_xmltools()
    tracemalloc.stop()
    assert kept < 20_000
    assert parser.close() == []


@pytest.mark.parametrize("name", [each.name for each in dialects.all() if each.written])
@pytest.mark.parametrize("size", [40, 4096, 10**6])
def test_so_it_does_in_other_dialects(name, size):
    text = write(dialects.named(name), "f", {"a": "some text, " * 40_000}) + "\nDone."  # some have no end of their own
    parser = xt.Parser([TOOL], dialect=name)
    found = set()
    xt.parse(text, [TOOL], dialect=name)  # patterns that are compiled once
    tracemalloc.start()
    for at in range(0, len(text), size):
        found.update(map(type, parser.feed(text[at : at + size])))
    kept = kept_by_xmltools()
    tracemalloc.stop()
    found.update(map(type, parser.close()))
    assert xt.CallCompleted in found and kept < 20_000


def test_sections_of_one_value_are_not_those_of_another():
    cdata = "<![CDATA[<b>]]><![CDATA[ & ]]>"
    values = {"a": cdata, "b": "plain", "c": cdata, "d": "x", "e": f"y {cdata} z"}
    arguments = "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
    text = f"<tool><tool_name>f</tool_name><arguments>{arguments}</arguments></tool>"
    (call,) = xt.parse(text).calls
    assert call.arguments == {"a": "<b> & ", "b": "plain", "c": "<b> & ", "d": "x", "e": "y <b> &  z"}
    assert [call.arguments for call in xt.parse(text * 2).calls] == [call.arguments] * 2


@pytest.mark.parametrize("unit", ["a < b ", "words and words and a < b, ", "<p>text</p> ", "x <to y ", "<t", "<"])
def test_one_large_piece_of_prose_costs_no_more_than_many_small_ones(unit):
    text = unit * (1_000_000 // len(unit))

    def feed(size):
        parser = xt.Parser()
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])

    whole = median(effort(lambda: feed(len(text))) for _ in range(5))
    pieces = median(effort(lambda: feed(4096)) for _ in range(5))
    assert whole < 1.5 * pieces + 0.2


TEXT = {"type": "string"}
TOOL = xt.Tool(name="f", parameters={"properties": {"a": TEXT}, "required": ["a"]})
OPEN = "Words. <tool><tool_name>f</tool_name><arguments><a>"


@pytest.mark.parametrize("begun", ["some words", "<![CDATA[some words", "some &amp; words"])
@pytest.mark.parametrize("tools", [[TOOL], None])
@pytest.mark.parametrize("opener", ["<tool>", "<tool >"])
def test_an_open_call_is_pending_until_its_end(opener, tools, begun):
    parser, text = xt.Parser(tools), OPEN.replace("<tool>", opener) + begun
    parser.feed(text)
    assert parser.pending == len(text) - len("Words. ")
    parser.feed(("]]>" if "[" in begun else "") + "</a></arguments></tool>")
    assert parser.pending == 0


def test_outside_of_calls_what_is_held_back_is_pending():
    parser = xt.Parser()
    parser.feed("Words. ")
    assert parser.pending == 0
    parser.feed("<too")
    assert parser.pending == 4


def ratio(work, other):
    """How much longer the one takes than the other. Both are done in turn, since others may be busy."""
    return median(effort(work) / effort(other) for _ in range(7))


def test_a_long_section_costs_no_more_than_prose_however_its_call_begins():
    words = "word " * 5_000

    def feed(text):
        parser = xt.Parser([TOOL])
        for at in range(0, len(text), 4):
            parser.feed(text[at : at + 4])

    for opener in ("<tool>", "<tool >"):
        call = f"{OPEN.replace('<tool>', opener)}<![CDATA[{words}]]></a></arguments></tool>"
        assert ratio(lambda call=call: feed(call), lambda: feed(words)) < 3, opener
