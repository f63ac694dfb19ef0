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

pytestmark = pytest.mark.corpus
FOLDER = Path(__file__).parent / "corpus"
FILES = {path.name: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("[0-9]*.json"))}
CASES = [case for cases in FILES.values() for case in cases]


def outcome(reply):
    """The reply as a dict that can be compared and says all that `expect` of a case may say."""
    calls = [
        {"server": call.server, "name": call.name, "arguments": call.arguments, "clean": call.clean}
        | {"repairs": [repair.code.value for repair in call.repairs]}
        | {"legacy_json": call.legacy_json, "span": list(call.span)}
        for call in reply.calls
    ]
    errors = [{"code": error.code.value, "span": list(error.span), "name": error.name} for error in reply.errors]
    said = {"text": reply.text, "reasoning": reply.reasoning, "unclosed_reasoning": reply.unclosed_reasoning}
    return {**said, "calls": calls, "errors": errors}


def only_said(expect, found):
    """What was found, without what the case leaves open; what it leaves out because it is false is filled in."""
    for kind, default in (("calls", {"legacy_json": False}), ("errors", {})):
        expect = {**expect, kind: [default | entry for entry in expect[kind]]}
        if len(expect[kind]) == len(found[kind]):
            pairs = zip(expect[kind], found[kind], strict=True)
            found = {**found, kind: [{key: entry.get(key) for key in said} for said, entry in pairs]}
    return {"unclosed_reasoning": False, **expect}, found


def chunkings(text, seed):
    """One character at a time, splits in two, and five random ones."""
    yield list(text)
    yield from ([text[:i], text[i:]] for i in range(0, len(text), max(1, len(text) // 200 if len(text) > 2000 else 1)))
    pick = random.Random(seed)
    for _ in range(5):
        cuts = sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, 8)))
        yield [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case):
    def read(chunks):
        parser = Parser(tools, **options)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        return outcome(build_reply(events, unclosed_reasoning=parser.unclosed_reasoning))

    options = {**case["options"], "limits": Limits(**case["options"].get("limits", {}))}
    tools = None if case["tools"] is None else [Tool(**tool) for tool in case["tools"]]
    whole = read([case["text"]])
    expected, found = only_said(case["expect"], whole)
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)  # True is not 1 here
    for chunks in chunkings(case["text"], case["id"]):
        assert read(chunks) == whole, chunks


def test_files_are_as_described():
    schema = json.loads((FOLDER / "schema.json").read_text("utf-8"))
    for cases in FILES.values():
        jsonschema.validate(cases, schema)
    assert len({case["id"] for case in CASES}) == len(CASES)
    seen = {code for case in CASES for call in case["expect"]["calls"] for code in call["repairs"]}
    assert set(Code) <= seen | {error["code"] for case in CASES for error in case["expect"]["errors"]}
