"""What events and blocks share in memory, and that a large piece of prose costs no more than the same in small ones."""

import tracemalloc

import pytest
from effort import effort

import xmltools as xt
from xmltools.events import CallFailed

OVER = 1_000
"""The default of `Limits.blocks`."""


def failures(text, size):
    parser = xt.Parser()
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    return [event.error for event in (*events, *parser.close()) if isinstance(event, CallFailed)]


@pytest.mark.parametrize("size", [6, 4096, 10**6])
def test_blocks_over_the_limit_share_their_words_and_keep_their_own_places_and_arguments(size):
    count = OVER + 500
    errors = failures("<tool>" * count + "<a>", size)[OVER:]
    assert len(errors) == 500
    assert len({id(error.message) for error in errors}) == len({id(error.hint) for error in errors}) == 1
    assert errors[0].message == "the reply has more than 1000 tool calls"
    assert [error.span[0] for error in errors] == [6 * number for number in range(OVER, count)]
    assert len({id(error.arguments) for error in errors}) == 500  # a caller may change them


def test_each_limit_has_its_own_words():
    text = "<tool><tool_name>f</tool_name></tool>" * 4
    for most in (3, 2, 3, 1):
        reply = xt.parse(text, limits=xt.Limits(blocks=most))
        assert {error.message for error in reply.errors} == {f"the reply has more than {most} tool calls"}


def test_memory_of_a_reply_that_is_nothing_but_openers():
    count = 20_000
    text = "<tool>" * count
    tracemalloc.start()
    parser = xt.Parser()
    events = [*parser.feed(text), *parser.close()]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(events) == count - 1  # nothing follows the last one: it is text
    assert taken / count < 420  # an event, an error, its span and its arguments


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

    whole = min(effort(lambda: feed(len(text))) for _ in range(5))
    pieces = min(effort(lambda: feed(4096)) for _ in range(5))
    assert whole < 1.5 * pieces + 0.2
