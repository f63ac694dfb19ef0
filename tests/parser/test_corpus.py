"""The language-neutral corpus: every case, whole and in pieces, gives what it says (tests/corpus/README.md)."""

import json
import random
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from xmltools.errors import Code
from xmltools.parser import Limits, Parser, build_reply
from xmltools.tools import Tool

pytestmark = pytest.mark.uncounted
FOLDER = Path(__file__).parents[1] / "corpus"
PATHS = [*sorted(FOLDER.glob("[0-9]*.json")), *sorted((FOLDER / "optional").glob("[0-9]*.json"))]
FILES = {path: json.loads(path.read_text("utf-8")) for path in PATHS}
CASES = [case for cases in FILES.values() for case in cases]
OPTIONAL_OPTIONS = {"code_fences", "bracket_reasoning", "reasoning_tags", "limits"}
OPTIONAL_VALUES = {"edge-depth-default", "edge-depth-default-over", "character-surrogate", "json-long-integer"}


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
    two = [[i] for i in range(1, len(text), max(1, len(text) // 200) if len(text) > 1000 else 1)]
    some = [sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, 8))) for _ in range(5)]
    for cuts in [range(1, len(text)), *two, *some]:
        yield [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    def read(chunks):
        parser = Parser(tools, **options)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        return outcome(build_reply(events, unclosed_reasoning=parser.unclosed_reasoning))

    options = case["options"] | {"limits": Limits(**case["options"].get("limits", {}))}
    tools = None if case["tools"] is None else [Tool(**tool) for tool in case["tools"]]
    whole = read([case["text"]])
    expected = expectation(case["expect"], whole)  # compared as JSON, where True is not 1
    assert json.dumps(whole, sort_keys=True) == json.dumps(expected, sort_keys=True)
    for chunks in chunkings(case["text"], case["id"]):
        assert read(chunks) == whole, chunks


@pytest.mark.parametrize("case", [case for case in CASES if not case["options"]], ids=lambda case: case["id"])
def test_case_in_a_long_text(case):
    """What stands around it, and the size of the pieces, changes nothing either."""

    def read(size):
        parser = Parser(tools)
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        return outcome(build_reply(events, unclosed_reasoning=parser.unclosed_reasoning))

    around = "prose without markup. " * 250
    text = f"{around}\n{case['text']}\n{around}{case['text']}"
    tools = None if case["tools"] is None else [Tool(**tool) for tool in case["tools"]]
    assert read(len(text)) == read(977) == read(4096)


def test_files():
    schema = json.loads((FOLDER / "schema.json").read_text("utf-8"))
    for cases in FILES.values():
        jsonschema.validate(cases, schema)
    assert len({case["id"] for case in CASES}) == len(CASES)
    entries = [entry for case in CASES for kind in ("calls", "errors") for entry in case["expect"][kind]]
    codes = {code for code in Code if not code.is_notice}
    assert {code for e in entries for code in e.get("repairs", [e.get("code")])} == codes


def test_what_a_parser_may_decide_otherwise_stands_apart():
    for path, cases in FILES.items():
        for case in cases:
            optional = bool(OPTIONAL_OPTIONS & case["options"].keys()) or case["id"] in OPTIONAL_VALUES
            assert (path.parent.name == "optional") == optional, case["id"]


def test_enough_is_required():
    assert sum(len(cases) for path, cases in FILES.items() if path.parent == FOLDER) >= 500
