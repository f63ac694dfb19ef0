"""The language-neutral corpus: every case, whole and in pieces, gives what it says (tests/corpus/README.md)."""

import json
import random
from itertools import count, pairwise

import jsonschema
import pytest
from parser.test_laws import assert_that_spans_tile, merge, notices_of
from support.corpus import CASES, FILES, FOLDER, REQUIRED, options_of, tools_of
from support.often import some

from xmltools.errors import Code
from xmltools.models.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, ReasoningDelta, TextDelta
from xmltools.parser import Parser, build_reply

pytestmark = pytest.mark.no_cover
OPTIONAL_OPTIONS = {"code_fences", "bracket_reasoning", "reasoning_tags", "limits"}
OPTIONAL_VALUES = {"edge-depth-default", "edge-depth-default-over", "character-surrogate", "json-long-integer"}
SLOW = {"pattern-counted-repeats", "recursive-union-deep-elements"}
PROSE = "Words in front of it.\n" * 30
LONG_PROSE = "prose without markup. " * 250
FIRST = "end-of-reasoning-first"  # what it shows holds only where the reply begins
IN_PROSE = [case for case in CASES if "starts_in_reasoning" not in case["options"] and case["id"] != FIRST]


def reader_of(case):
    """What reads chunks with the tools and options of the case; the tools are made once."""

    def read(chunks):
        events, unclosed = events_of(chunks)
        return build_reply(events, unclosed_reasoning=unclosed)

    events_of = events_reader_of(case)
    return read


def events_reader_of(case):
    """As `reader_of`, for all events, and whether the reply ended in reasoning. The ids are 0, 1, 2, …"""

    def read(chunks):
        ids = count()
        parser = Parser(tools, new_id=lambda: str(next(ids)), **options)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        return events, parser.unclosed_reasoning

    tools, options = tools_of(case), options_of(case)
    return read


def outcome(reply):
    keys = ("server", "name", "arguments", "clean", "legacy_json", "span")
    calls = [{key: getattr(c, key) for key in keys} | {"repairs": [r.code for r in c.repairs]} for c in reply.calls]
    errors = [{key: getattr(error, key) for key in ("code", "span", "name")} for error in reply.errors]
    said = {key: getattr(reply, key) for key in ("text", "reasoning", "unclosed_reasoning")}
    return said | {"calls": calls, "errors": errors}


def expectation(expect, found):
    """What must be found: what is left out is false, but the name in an error, which may be anything."""
    names = [error["name"] for error in found["errors"]] + [None] * len(expect["errors"])
    errors = [{"name": name} | error for name, error in zip(names, expect["errors"], strict=False)]
    calls = [{"legacy_json": False} | call for call in expect["calls"]]
    return {"unclosed_reasoning": False} | expect | {"calls": calls, "errors": errors}


def chunkings(text, seed):
    pick = random.Random(seed)
    step = len(text) // (20 if seed in SLOW else 200) if len(text) > 1000 or seed in SLOW else 1
    two = [[i] for i in range(1, len(text), max(1, step))]
    many = [sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, 8))) for _ in range(5)]
    for cuts in [range(1, len(text)), *some(two, seed), *many]:
        yield [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    read = events_reader_of(case)
    events, unclosed = read([case["text"]])
    reply = build_reply(events, unclosed_reasoning=unclosed)
    whole = outcome(reply)
    expected = expectation(case["expect"], whole)  # compared as JSON, where True is not 1
    assert json.dumps(whole, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert_that_messages_are_sentences(reply)
    assert_that_events_agree(events, case["text"])
    for chunks in chunkings(case["text"], case["id"]):
        assert_that_nothing_else_is_said(read(chunks), (events, unclosed), chunks)


def assert_that_messages_are_sentences(reply):
    repairs = [(call, repair) for call in reply.calls for repair in call.repairs]
    said = [repair.message for _, repair in repairs]
    said += [sentence for error in reply.errors for sentence in (error.message, error.hint)]
    assert [each for each in said if " " not in each or "XX" in each or each.startswith("None")] == []
    assert all(call.span[0] <= repair.offset <= call.span[1] for call, repair in repairs)
    assert all(each.offset is None or each.span[0] <= each.offset <= each.span[1] for each in reply.errors)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_text_after_a_case_is_not_held_back(case):
    parser, tail = Parser(tools_of(case), **options_of(case)), " word" * 2_000
    assert_that_text_comes_at_once(parser, case["text"] + tail, len(tail))


def assert_that_text_comes_at_once(parser, text, tail):
    """If the text ends in prose, and in no block, nearly all of that is told before the end."""
    early = [event.span[1] for event in parser.feed(text) if hasattr(event, "span")]
    late = parser.close()
    if late and all(isinstance(event, TextDelta | ReasoningDelta) for event in late):
        assert max(early, default=0) > len(text) - tail // 2


@pytest.mark.parametrize("case", IN_PROSE, ids=lambda case: case["id"])
def test_case_after_prose(case):
    """What stands in front of it, or how far into a chunk it begins, changes nothing but the offsets."""
    read, pick = reader_of(case), random.Random(case["id"])
    text, alone = PROSE + case["text"], places(read([case["text"]]), 0)
    for _ in range(6):
        cut = pick.randint(len(PROSE), len(text))
        assert places(read([text[:cut], text[cut:]]), len(PROSE)) == alone, text[cut:]
    if not case["options"]:
        around = f"{LONG_PROSE}\n{case['text']}\n{LONG_PROSE}{case['text']}"
        whole = outcome(read([around]))
        for size in (977, 4096):
            assert outcome(read([around[at : at + size] for at in range(0, len(around), size)])) == whole


def assert_that_events_agree(events, text):
    """Spans tile the text, each call that starts ends once, with its name and id, and deltas are the value, but for
    white space that a schema does not allow."""
    assert_that_spans_tile(events, text)
    open_calls, last = {}, None
    for event in events:
        if isinstance(event, CallStarted):
            last = event.id
            open_calls[last] = event.name, {}
        elif isinstance(event, ArgumentDelta):
            assert event.text
            deltas = open_calls[last][1]
            deltas[event.path] = deltas.get(event.path, "") + event.text
        elif isinstance(event, CallFailed):
            assert event.id is None or open_calls.pop(event.id)
        elif isinstance(event, CallCompleted):
            name, deltas = open_calls.pop(event.call.id)
            assert name == event.call.name
            for (argument, *rest), written in deltas.items() if event.call.clean else ():
                value = event.call.arguments.get(argument)
                assert rest or not isinstance(value, str) or value in (written, written.strip())
    assert not open_calls


def assert_that_nothing_else_is_said(now, before, chunks):
    """Events and the end are the same, but that deltas are cut otherwise."""
    assert (merge(now[0]), now[1]) == (merge(before[0]), before[1]), chunks
    assert notices_of(now[0]) == notices_of(before[0]), chunks


def places(reply, shift):
    """All that was found, with offsets as if the text had begun `shift` characters later."""

    def moved(offset):
        return None if offset is None else offset - shift

    def found(each):
        return each.name, repr(each.arguments), *map(moved, each.span)

    return {
        "text": (reply.text[shift:], reply.reasoning, reply.unclosed_reasoning),
        "calls": [(*found(c), c.server, [(r.code, moved(r.offset)) for r in c.repairs]) for c in reply.calls],
        "errors": [(*found(error), error.code, error.source, moved(error.offset)) for error in reply.errors],
    }


def test_files():
    schema = json.loads((FOLDER / "schema.json").read_text("utf-8"))
    for cases in FILES.values():
        jsonschema.validate(cases, schema)
    assert len({case["id"] for case in CASES}) == len(CASES)
    entries = [entry for case in CASES for kind in ("calls", "errors") for entry in case["expect"][kind]]
    # The cases of other dialects are in a folder of their own.
    codes = {code for code in Code if not code.is_notice} - {Code.FOREIGN_DIALECT}
    assert {code for e in entries for code in e.get("repairs", [e.get("code")])} == codes


def test_what_a_parser_may_decide_otherwise_stands_apart():
    for path, cases in FILES.items():
        for case in cases:
            optional = bool(OPTIONAL_OPTIONS & case["options"].keys()) or case["id"] in OPTIONAL_VALUES
            assert (path.parent.name == "optional") == optional, case["id"]


def test_enough_is_required():
    assert len(REQUIRED) >= 500
