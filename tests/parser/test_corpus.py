"""The language-neutral corpus: every case, whole and in pieces, gives what it says (tests/corpus/README.md)."""

import json
import random
from itertools import pairwise

import jsonschema
import pytest
from support.corpus import CASES, FILES, FOLDER, REQUIRED, options_of, tools_of

from xmltools.errors import Code
from xmltools.parser import Parser, build_reply

pytestmark = pytest.mark.no_cover
OPTIONAL_OPTIONS = {"code_fences", "bracket_reasoning", "reasoning_tags", "limits"}
OPTIONAL_VALUES = {"edge-depth-default", "edge-depth-default-over", "character-surrogate", "json-long-integer"}
SLOW = {"pattern-counted-repeats", "recursive-union-deep-elements"}
PROSE = "Words in front of it.\n" * 30
LONG_PROSE = "prose without markup. " * 250
IN_PROSE = [case for case in CASES if "starts_in_reasoning" not in case["options"]]


def reader_of(case):
    """What reads chunks with the tools and options of the case; the tools are made once."""

    def read(chunks):
        parser = Parser(tools, **options)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        return build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)

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
    some = [sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, 8))) for _ in range(5)]
    for cuts in [range(1, len(text)), *two, *some]:
        yield [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    read = reader_of(case)
    reply = read([case["text"]])
    whole = outcome(reply)
    expected = expectation(case["expect"], whole)  # compared as JSON, where True is not 1
    assert json.dumps(whole, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert_that_messages_are_sentences(reply)
    for chunks in chunkings(case["text"], case["id"]):
        assert outcome(read(chunks)) == whole, chunks


def assert_that_messages_are_sentences(reply):
    repairs = [(call, repair) for call in reply.calls for repair in call.repairs]
    said = [repair.message for _, repair in repairs]
    said += [sentence for error in reply.errors for sentence in (error.message, error.hint)]
    assert [each for each in said if " " not in each or "XX" in each or each.startswith("None")] == []
    assert all(call.span[0] <= repair.offset <= call.span[1] for call, repair in repairs)
    assert all(each.offset is None or each.span[0] <= each.offset <= each.span[1] for each in reply.errors)


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
