"""Schemas of all kinds, with values and texts: the laws in `schema_laws`, in small."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from fuzz import deep, evidence
from support.often import some
from support.schema_laws import LAWS, SchemaTrial, first_broken, law_work, trial
from support.stack import frames

from xmltools import Limits, Tool, parse
from xmltools.parser.limits import MAX_DEPTH
from xmltools.render import render_call
from xmltools.tools.schema import check as _check
from xmltools.tools.schema import elements_to_arguments as _read

# A signal ends one of these tests in the middle. If that is in the tracer, it keeps its lock, and the next test hangs.
pytestmark = pytest.mark.no_cover

BLOCKS = 20
COUNT = 25


@pytest.mark.parametrize("block", range(BLOCKS))
def test_schemas_break_no_law(block: int) -> None:
    for number in some(range(block * COUNT, (block + 1) * COUNT), "schemas"):
        tried = trial("suite", number)
        assert first_broken(tried) is None, tried


def test_most_schemas_are_taken_and_their_values_fit_and_do_not() -> None:
    counts: Counter[str] = Counter()
    for number in range(150):
        tried = trial("suite", number)
        assert first_broken(tried, LAWS[:3]) is None
        counts.update(tried.counts)
        counts["refused"] += tried.tool is None
    assert counts["refused"] < 40
    for what in ("fits", "does not fit", "elements", "JSON", "JSON text", "texts"):
        assert counts[what] > 30, what


def test_a_trial_is_the_same_each_time() -> None:
    assert [str(trial(3, number)) for number in range(50)] == [str(trial(3, number)) for number in range(50)]
    assert len({json.dumps(trial(3, number).schema) for number in range(50)}) > 45


NESTED = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/d0"}}, {"type": "integer"}]}
TRIAL = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/d0"}},
    "required": ["x"],
    "$defs": {"d0": NESTED},
}


@pytest.mark.parametrize("law", LAWS)
def test_the_laws_notice_faults(law, monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(self: object, *_: object) -> bool:
        return True

    tried = SchemaTrial("plain", TRIAL, [[5, [6]], "a"], "seed")
    assert first_broken(tried, [law]) is None
    if law is law_work:
        monkeypatch.setattr("support.schema_laws.MAX_CALLS", 0)
    elif law.__name__ == "law_verdicts":
        monkeypatch.setattr(_check, "is_one_of", lenient)
        monkeypatch.setattr("xmltools.tools.schema.keywords.is_one_of", lenient)
    elif law.__name__ == "law_prompts":
        monkeypatch.setattr("support.schema_laws.render_instructions", lambda *_, **__: 1 / 0)
    else:
        monkeypatch.setattr(_read._Reader, "arguments", lambda *_: 1 / 0)
    assert first_broken(tried, [law]) is not None


def test_a_schema_that_breaks_a_law_is_kept_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = SchemaTrial("plain", TRIAL, [[5]], "seed")
    finding = deep.Finding(7, "law_readings", tried)
    kept = json.loads(json.dumps(evidence.deep_found(finding, deep.report(finding, 1))))
    assert not evidence.stands(kept)
    monkeypatch.setattr("support.schema_laws.render_call", lambda *_, **__: "words")
    assert evidence.stands(kept)
    assert "law_readings, not fixed" in evidence._finding("schemas", kept)


def test_what_takes_too_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object, **__: object) -> None:
        while True:
            parse("", [])

    monkeypatch.setattr(deep, "SECONDS", 0.2)
    monkeypatch.setattr("support.schema_laws.find_problems", endless)
    gc.disable()  # Hypothesis has a callback in the collector, in which an exception is only printed
    try:
        done = deep._work_on_schemas(1, range(5), float("inf"))
    finally:
        gc.enable()
    assert [finding.law for finding in done.findings] == ["law_verdicts"]


AGAIN = {"$ref": "#/$defs/any"}
ANY = {
    "union": {
        "anyOf": [
            {"type": "array", "items": AGAIN},
            {"type": "object", "additionalProperties": AGAIN},
            {"type": "object", "properties": {"a": AGAIN, "b": AGAIN}, "required": ["b"]},
            {"type": "integer"},
            {"type": "null"},
        ]
    },
    "types": {"type": ["array", "object", "integer"], "items": AGAIN, "additionalProperties": AGAIN},
    "chain": {"allOf": [{"anyOf": [{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/map"}, {"type": "integer"}]}]},
}
MORE = {"list": {"type": "array", "items": AGAIN}, "map": {"type": "object", "additionalProperties": AGAIN}}


def nested(value: Any, levels: int, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("depth", [64, MAX_DEPTH])
@pytest.mark.parametrize("schema", ANY)
@pytest.mark.parametrize("spelling", ["elements", "JSON text", "JSON arguments", "JSON body"])
@pytest.mark.parametrize("kind", ["lists", "objects"])
def test_values_are_read_to_the_greatest_depth(schema: str, spelling: str, kind: str, depth: int) -> None:
    parameters = {"type": "object", "properties": {"x": AGAIN}, "$defs": {"any": ANY[schema], **MORE}}
    tool = Tool(name="f", parameters=parameters)
    tag, levels = ("item" if kind == "lists" else "a"), depth - 6
    value = nested(5, levels, lambda inner: [inner] if kind == "lists" else {"a": inner})
    body = {
        "elements": f"<x>{f'<{tag}>' * levels}5{f'</{tag}>' * levels}</x>",
        "JSON text": f"<x>{json.dumps(value)}</x>",
        "JSON arguments": json.dumps({"x": value}),
    }.get(spelling)
    text = f"<tool><tool_name>f</tool_name><arguments>{body}</arguments></tool>"
    if body is None:
        text = f"<tool>{json.dumps({'tool_name': 'f', 'arguments': {'x': value}})}</tool>"
    with frames(400):
        reply = parse(text, [tool], limits=Limits(depth=depth))
        assert [call.arguments == {"x": value} for call in reply.calls] == [True], reply.errors
        wrong = parse(text.replace("5", '"no"' if spelling != "elements" else "no"), [tool], limits=Limits(depth=depth))
        assert "no" in wrong.errors[0].message
    assert parse(render_call(reply.calls[0], tool), [tool], limits=Limits(depth=depth)).calls[0].clean
