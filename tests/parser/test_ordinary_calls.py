"""The short way for ordinary calls says what the machine says, chunk by chunk, and is taken where it should be."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dialect_marks import write
from support.often import examples
from support.ordinary_calls import (
    law_short_chunks,
    law_short_way,
    narrow_case,
    ordinary_case,
    ordinary_dialect_case,
    without_short_way,
)
from support.strategies import Case, cases

from xmltools import dialects
from xmltools.models.events import ArgumentDelta, CallCompleted
from xmltools.parser import COMPILED, Parser, parse
from xmltools.tools import Tool
from xmltools.tools.schema import plain_members

TEXT = {"type": "string"}
WEATHER = Tool(
    name="get_weather",
    parameters={
        "properties": {
            "city": TEXT,
            "days": {"type": "integer"},
            "unit": {"enum": ["C", "F"]},
            "places": {"type": "array", "items": TEXT},
            "at": {"type": "object", "properties": {"lat": {"type": "number"}, "ok": {"type": "boolean"}}},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "most": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            "names": {"anyOf": [{"type": "array", "items": TEXT, "maxItems": 2}, {"type": "null"}]},
            "either": {"type": ["integer", "string"]},
            "scale": {"enum": [1, 2.5, "auto", None]},
            "first": {"if": TEXT, "then": {"minLength": 2}},
        },
        "required": ["city"],
    },
)
"""All kinds of plain arguments, and one that has a condition."""
PLAIN = "<city>Oslo</city><days>3</days><unit>C</unit>"
NESTED = "<city>Oslo</city><places><place>a</place><item>b</item></places><at><lat>1.5</lat><ok>true</ok></at>"


def in_chunks(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def block(arguments: str) -> str:
    return f"<tool>\n<tool_name>get_weather</tool_name>\n<arguments>{arguments}</arguments>\n</tool>"


watched = pytest.mark.skipif(COMPILED, reason="methods of a compiled class can't be replaced")


def blocks_made(text: str, size: int, monkeypatch: pytest.MonkeyPatch, tools: list[Tool] | None) -> tuple[int, Any]:
    """How many calls the machine had to read, and the arguments of the last call."""
    made: list[Any] = []
    for name in ("_read_as_block", "_open_block"):
        real = getattr(Parser, name)
        monkeypatch.setattr(Parser, name, lambda self, *given, real=real: (made.append(given), real(self, *given)))
    parser = Parser(tools)
    events = [event for chunk in in_chunks(text, size) for event in parser.feed(chunk)]
    events += parser.close()
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    return len(made), calls[-1].arguments if calls else None


@watched
@pytest.mark.parametrize("size", [1, 4, 64, 10_000])
@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (PLAIN, {"city": "Oslo", "days": 3, "unit": "C"}),
        (NESTED, {"city": "Oslo", "places": ["a", "b"], "at": {"lat": 1.5, "ok": True}}),
        ("<city>two\nlines, a > b</city>", {"city": "two\nlines, a > b"}),
        ("<city>\n  Oslo\n</city>", {"city": "  Oslo"}),
        ("<city><![CDATA[<b> & [1]]]></city>", {"city": "<b> & [1]"}),
        ("<city>Oslo</city><code>ab</code>", {"city": "Oslo", "code": "ab"}),
        ("<city>Oslo</city><most>7</most><scale>2.5</scale>", {"city": "Oslo", "most": 7, "scale": 2.5}),
        ("<city>Oslo</city><most>null</most><scale>null</scale>", {"city": "Oslo", "most": None, "scale": None}),
        ("<city>Oslo</city><either>7</either><scale>auto</scale>", {"city": "Oslo", "either": 7, "scale": "auto"}),
        ("<city>Oslo</city><either>7 days</either>", {"city": "Oslo", "either": "7 days"}),
        ("<city>Oslo</city><names><name>a</name></names>", {"city": "Oslo", "names": ["a"]}),
        ("<city><![CDATA[" + "line\n" * 2_000 + "]]></city>", {"city": "line\n" * 2_000}),
    ],
)
def test_ordinary_calls_take_the_short_way(
    arguments: str, typed: dict[str, Any], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert blocks_made(block(arguments), size, monkeypatch, [WEATHER]) == (0, typed)


@watched
@pytest.mark.parametrize("size", [1, 4, 10_000])
@pytest.mark.parametrize(
    "arguments",
    [
        "<city>Oslo & Bergen</city>",  # an entity, or none
        "<city>a < b</city>",
        "<city>a</city><city>b</city>",  # given twice
        "<city>Oslo</city><days>three</days>",  # no integer
        "<city>Oslo</city><code>AB</code>",  # it does not match the pattern
        "<city>Oslo</city><most>0</most>",  # less than the minimum
        "<city>Oslo</city><either>+7</either>",  # a number, or a string?
        "<city>Oslo</city><either>12345678901234567890</either>",  # it is no string, and too long to be read at once
        "<city>Oslo</city><names><name>a</name><name>b</name><name>c</name></names>",  # too many
        "<city>Oslo</city><names></names>",  # an empty list, or null?
        "<city>Oslo</city><first>ab</first>",  # a schema with a condition
        "<city>Oslo</city><town>x</town>",  # not declared
        "<days>3</days>",  # `city` is missing
        '<city lang="no">Oslo</city>',
        "<city>Oslo</ city>",
        "<city><![CDATA[a]]> b</city>",
        "Oslo",
    ],
)
def test_others_are_left_to_the_machine(arguments: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blocks_made(block(arguments), size, monkeypatch, [WEATHER])[0] == 1


@watched
def test_what_came_between_values_before_is_taken_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    real = Parser._take_step
    monkeypatch.setattr(Parser, "_take_step", lambda self, *given: taken.append(real(self, *given)) or taken[-1])
    tool = Tool(name="get_weather", parameters={"properties": {"city": TEXT, "only_here": TEXT}})
    text = block("<city>Oslo</city>\n<only_here>x</only_here>\n")
    for count in (0, 1):  # in the second reply it is known
        parser = Parser([tool])
        for chunk in in_chunks(text, 4):
            parser.feed(chunk)
        assert taken.count(True) == count


def test_no_more_is_kept_of_replies_than_a_few_steps_of_declared_names() -> None:
    tool = Tool(name="get_weather", parameters={"properties": {"city": TEXT, "days": TEXT, "not_given": TEXT}})
    members = plain_members(tool.shape)
    assert members is not None
    for number in range(20):
        space = " " * number
        for arguments in (f"<city>Oslo</city>{space}<days>3</days>", f"<days>3</days>{space}<town>x</town>"):
            for size in (4, 10_000):
                parser = Parser([tool])
                for chunk in in_chunks(block(f"{space}{arguments}{' ' * 400 * (number % 2)}"), size):
                    parser.feed(chunk)
    assert members.steps.keys() == {"", "city", "days"}
    for steps in members.steps.values():
        assert 0 < len(steps) <= 4
        for step in steps:
            assert len(step.text) < 300
            assert not re.sub(r"\s|</?(?:arguments|tool|city|days)>", "", step.text)


@pytest.mark.parametrize("size", [1, 4, 64, 10_000])
@pytest.mark.parametrize("mark", ["", "<", ">", "&", " ", "x", "<days>"])
def test_what_begins_like_the_call_before_may_go_on_otherwise(mark: str, size: int) -> None:
    """Each character of a call is left out, or has something in front of it, after a call that was read up to its end:
    the machine says the same, chunk by chunk."""
    usual = block("\n<city>Oslo</city>\n<days>3</days>\n<unit>C</unit>\n")
    for at in range(len(usual)):
        text = f"{usual}\n{usual[:at]}{mark}{usual[at + (not mark) :]}\n{usual}"
        law_short_chunks(in_chunks(text, size), [WEATHER])


@pytest.mark.parametrize("size", [1, 4, 64, 10_000])
@pytest.mark.parametrize(
    "text",
    [
        f"{block(PLAIN)}<think><to",  # reasoning has begun, where a call may follow
        f"{block(PLAIN)}\\{block(PLAIN)}",  # the call is only shown
        f"{block(PLAIN)}\n```\n{block(PLAIN)}\n```",
        f"{block(PLAIN)}<city>Oslo",
        block("<city>e t</city>")[:-40],  # a chunk ends in white space, and the value goes on
        block("<city>Oslo</city><days> </days>")[:-30],  # white space is told when the end tag of a number comes
        block("<city>\n Oslo\n </city>") * 2,
    ],
)
def test_what_random_replies_have_found(text: str, size: int) -> None:
    for chunks in (in_chunks(text, size), in_chunks(block(PLAIN) + text, size)):
        law_short_chunks(chunks, [WEATHER])


@pytest.mark.parametrize("size", [1, 4, 64, 10_000])
def test_the_end_of_a_part_is_not_that_of_the_whole(size: int) -> None:
    """A schema may be its own part: what ends a call when it is the whole ends nothing where it is a part."""
    tool = Tool(name="get_weather", parameters={"properties": {"city": TEXT, "next": {"$ref": "#"}}})
    whole = block("<city>Oslo</city>")
    law_short_chunks(in_chunks(whole * 2 + block("<next><city>Oslo</city>") + whole, size), [tool])


@pytest.mark.parametrize("size", [1, 2, 4, 10_000])
def test_without_deltas_every_repair_is_told_too(size: int) -> None:
    text = block("<city>Oslo & Bergen</city>\n<days>3</days>")
    parser = Parser([WEATHER], argument_deltas=False)
    events = [event for chunk in in_chunks(text, size) for event in parser.feed(chunk)]
    completed = [event for event in events if isinstance(event, CallCompleted)]
    assert [repair.code for event in completed for repair in event.call.repairs] == ["bare_ampersand"]


def test_the_short_way_can_be_left_out() -> None:
    parser = without_short_way(Parser([WEATHER]))
    parser.feed(block(PLAIN)[:40])
    assert parser._ordinary is None and parser._block is not None


@given(st.randoms(use_true_random=False))
@examples(600)
def test_it_says_what_the_machine_says(rng: Random) -> None:
    law_short_way(ordinary_case(rng))


@given(st.randoms(use_true_random=False))
@examples(600)
def test_so_do_values_that_may_have_several_types_and_limits(rng: Random) -> None:
    law_short_way(narrow_case(rng))


@pytest.mark.parametrize("joined", [{"$ref": "#/$defs/closed"}, {"allOf": [{"$ref": "#/$defs/closed"}]}])
def test_what_another_schema_forbids_is_no_argument(joined: dict[str, Any]) -> None:
    closed = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}
    value = {**joined, "properties": {"b": TEXT}}
    parameters = {"type": "object", "properties": {"value": value}, "$defs": {"closed": closed}}
    text = "<tool><tool_name>f</tool_name><arguments><value><b>x</b></value></arguments></tool>"
    (error,) = parse(text, [Tool(name="f", parameters=parameters)]).errors
    assert (error.code, error.message) == ("invalid_arguments", "value.b: expected nothing of this name, got 'x'")


@pytest.mark.parametrize("first", [TEXT, {"type": "integer"}, {"type": "integer", "enum": [1]}, {"enum": ["1"]}])
def test_nor_is_a_value_that_another_schema_forbids(first: dict[str, Any]) -> None:
    tool = Tool(name="f", parameters={"properties": {"a": {"allOf": [first, {"type": "boolean"}]}}})
    (error,) = parse("<tool><tool_name>f</tool_name><arguments><a>1</a></arguments></tool>", [tool]).errors
    assert error.code == "invalid_arguments"


@pytest.mark.parametrize("value", ["1", "1.0", "null", "a", '"a"', "2"])
@pytest.mark.parametrize("kind", ["true", "false"])
@pytest.mark.parametrize("other", [{"enum": [1, 2]}, {"enum": [1, "a"]}, TEXT, {"type": "integer"}, {"type": "number"}])
def test_what_says_whether_it_is_a_string_is_read_so(value: str, kind: str, other: dict[str, Any]) -> None:
    tool = Tool(name="f", parameters={"properties": {"a": {"anyOf": [other, {"type": "null"}]}}})
    text = write(dialects.named("dsml"), "f", {"a": "VALUE"}).replace('"true"', f'"{kind}"').replace("VALUE", value)
    assert f'string="{kind}">{value}<' in text
    law_short_chunks([text], [tool], dialect="dsml")


PAIRS = ("qwen3_coder", "glm", "minimax_m2", "invoke", "dsml", "seed_oss", "hunyuan")
OF_JSON = ("hermes", "deepseek_v3", "kimi_k2", "cohere", "internlm2", "nemotron_nano")


def opened_blocks(monkeypatch: pytest.MonkeyPatch, text: str, **options: Any) -> tuple[int, list[dict[str, Any]]]:
    """How many calls the machine had to read of a text, and the arguments of all calls."""
    made: list[Any] = []
    real = Parser._open_block
    monkeypatch.setattr(Parser, "_open_block", lambda self, *given: (made.append(given), real(self, *given)))
    parser = Parser([WEATHER], **options)
    events = parser.feed(text) + parser.close()
    return len(made), [event.call.arguments for event in events if isinstance(event, CallCompleted)]


@watched
@pytest.mark.parametrize("gap", ["", "\n"])
@pytest.mark.parametrize("name", [*PAIRS, *OF_JSON])
def test_whole_calls_of_other_dialects_are_read_at_once(name: str, gap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"city": "Oslo & Bergen,\nall", "days": 3, "unit": "C"}
    text = "Now this:\n" + write(dialects.named(name), "get_weather", given, gap) + "\nDone."
    assert opened_blocks(monkeypatch, text * 2, dialect=name) == (0, [given, given])


@watched
def test_so_is_json_in_forges(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"city": "Oslo", "at": {"lat": 1, "ok": True}, "places": ["a", "b"]}
    text = f"<tool>{json.dumps({'tool_name': 'get_weather', 'arguments': given})}</tool>"
    assert opened_blocks(monkeypatch, text) == (0, [given])
    assert opened_blocks(monkeypatch, text.replace("1", "1.5"))[0] == 1  # a delta would not know how it is written


def test_values_that_are_json_have_no_deltas() -> None:
    given = {"city": "Oslo", "days": 3}
    events = Parser([WEATHER], dialect="dsml").feed(write(dialects.named("dsml"), "get_weather", given))
    assert [event.path for event in events if isinstance(event, ArgumentDelta)] == [("city",)]


@watched
@pytest.mark.parametrize("name", [*PAIRS, *OF_JSON])
@pytest.mark.parametrize(
    "given",
    [
        {"days": 3},  # `city` is missing
        {"city": "Oslo", "days": "three"},
        {"city": "Oslo", "days": 3.0},
        {"city": "Oslo", "town": "x"},
        {"city": "Oslo", "code": "AB"},
        {"city": "Oslo\x01"},
        {"city": "Oslo", "unit": "K"},
    ],
)
def test_other_calls_of_them_are_left_to_the_machine(
    name: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write(dialects.named(name), "get_weather", given)
    assert opened_blocks(monkeypatch, text, dialect=name)[0] == 1


@given(st.randoms(use_true_random=False))
@examples(600)
def test_of_other_dialects_it_says_what_the_machine_says(rng: Random) -> None:
    law_short_way(ordinary_dialect_case(rng))


@given(cases())
@examples(300)
def test_so_it_does_of_any_document(case: Case) -> None:
    law_short_way(case)


@pytest.mark.parametrize(
    "value", ["Oslo", "two\nlines", "<![CDATA[Oslo]]>", "<![CDATA[a]] > b]]>", "Oslo &amp; Bergen"]
)
@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_call_ends_as_soon_without_deltas_as_with_them(value: str, size: int) -> None:
    text = block(f"<city>{value}</city><days>3</days>") + " Done. " * 20
    chunks = [text[at : at + size] for at in range(0, len(text), size)]

    def ended(*, argument_deltas: bool) -> list[tuple[int, Any]]:
        parser = Parser([WEATHER], argument_deltas=argument_deltas)
        told = [(number, event) for number, chunk in enumerate(chunks) for event in parser.feed(chunk)]
        return [(number, event.call.arguments) for number, event in told if isinstance(event, CallCompleted)]

    assert ended(argument_deltas=False) == ended(argument_deltas=True) != []


@pytest.mark.parametrize("words", ["word " * 1_000, "word " * 5_000, "line\n" * 20_000])
@pytest.mark.parametrize("frame", ["{}.", "<![CDATA[{}.]]>", "<![CDATA[<b>{}.]]>"])
def test_values_of_any_size_are_the_same_in_one_piece_and_in_many(frame: str, words: str) -> None:
    text = block(f"<city>{frame.format(words)}</city><days>3</days>")
    expected = {"city": f"{'<b>' if '<b>' in frame else ''}{words}.", "days": 3}
    for size in (len(text), len(text) // 2, 5_000, 64):
        parser = Parser([WEATHER])
        events = [event for chunk in in_chunks(text, size) for event in parser.feed(chunk)]
        calls = [event.call for event in events if isinstance(event, CallCompleted)]
        assert [(call.arguments, call.clean) for call in calls] == [(expected, True)]
        deltas = [event.text for event in events if isinstance(event, ArgumentDelta) and event.path == ("city",)]
        assert "".join(deltas) == expected["city"]
