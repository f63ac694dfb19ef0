"""The cases of other dialects than Forge's, read whole, by character, in threes, in random pieces, and cut in two
anywhere."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from parser.test_corpus import (
    assert_that_events_agree,
    assert_that_messages_are_sentences,
    assert_that_nothing_else_is_said,
    assert_that_text_comes_at_once,
    chunkings,
    expectation,
    outcome,
)
from support.corpus import FOLDER, tools_of
from support.often import some

from xmltools import dialects
from xmltools.models import Reply
from xmltools.models.events import Event
from xmltools.parser import Parser, build_reply

pytestmark = pytest.mark.no_cover

FILES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((FOLDER / "dialects").glob("*.json"))}
CASES = [case for cases in FILES.values() for case in cases]
PIECES = (1, 3)


def events_of(case: dict[str, Any], chunks: list[str]) -> tuple[list[Event], bool]:
    """All events, and whether the reply ended in reasoning."""
    ids = itertools.count()
    parser = Parser(tools_of(case), new_id=lambda: str(next(ids)), **case["options"])
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    return events, parser.unclosed_reasoning


def read(case: dict[str, Any], chunks: list[str]) -> Reply:
    events, unclosed = events_of(case, chunks)
    return build_reply(events, unclosed_reasoning=unclosed)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    text = case["text"]
    events, unclosed = events_of(case, [text])
    reply = build_reply(events, unclosed_reasoning=unclosed)
    whole = outcome(reply)
    expected = expectation(case["expect"], whole)
    assert json.dumps(whole, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert_that_messages_are_sentences(reply)
    assert_that_events_agree(events, text)
    for size in PIECES:
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert_that_nothing_else_is_said(events_of(case, chunks), (events, unclosed), chunks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_text_after_a_case_is_not_held_back(case: dict[str, Any]) -> None:
    parser, tail = Parser(tools_of(case), **case["options"]), " word" * 2_000
    assert_that_text_comes_at_once(parser, case["text"] + tail, len(tail))


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_wherever_it_is_cut(case: dict[str, Any]) -> None:
    whole = events_of(case, [case["text"]])
    for chunks in chunkings(case["text"], case["id"]):
        assert_that_nothing_else_is_said(events_of(case, chunks), whole, chunks)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_part_of_a_reply_has_no_clean_call_that_the_whole_has_not(case: dict[str, Any]) -> None:
    text = case["text"]
    if "`" in text or "<!--" in text:
        pytest.skip("what inline code and comments hide depends on their end")
    if case["rule"] == "4.5":
        pytest.skip("a call without an end delimiter is whole until more JSON follows")

    def clean(reply: Reply) -> list[tuple[Any, ...]]:
        return [(call.span and call.span[0], call.name, repr(call.arguments)) for call in reply.calls if call.clean]

    whole = [(call.span and call.span[0], call.name, repr(call.arguments)) for call in read(case, [text]).calls]
    for end in some(range(len(text)), case["id"]):
        if text[end - 1 : end + 1] == "](":
            continue  # a list of calls that a `(` makes the label of a link
        if case["rule"] == "1.3a":
            continue  # without the rest of the value nobody can know that it shows a call
        if case["rule"] == "1.2c" and text[:end].rstrip(" ;").endswith(")"):
            continue  # what follows in its line makes the call a part of a sentence
        part = clean(read(case, [text[:end]]))
        assert part == whole[: len(part)], text[:end]


def test_every_dialect_has_enough_cases() -> None:
    assert set(FILES) == {each.name for each in dialects.all()} - {"forge"} | {"also"}
    assert all(len(FILES[name]) >= 40 for name in ("hermes", "qwen3_coder", "glm"))
    assert all(len(cases) >= 30 for cases in FILES.values())
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["options"]["dialect"] == name for name in FILES.keys() - {"also"} for case in FILES[name])
