"""Each notation that an engine has a parser for is read in one of our dialects, or the list says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xmltools as xt
from xmltools import dialects

GIVEN = json.loads(Path(__file__).with_name("engine_parsers.json").read_text(encoding="utf-8"))
PARSERS = [(each["engine"], name, entry) for each in GIVEN["engines"] for name, entry in each["parsers"].items()]
TOOLS = [xt.Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})]


def named(engine: str, name: str) -> str:
    return f"{engine}-{name}"


@pytest.mark.parametrize(("engine", "name", "entry"), PARSERS, ids=[named(*each[:2]) for each in PARSERS])
def test_a_parser_of_an_engine_has_a_dialect_or_a_reason(engine: str, name: str, entry: dict[str, Any]) -> None:
    if "reason" in entry:
        assert entry["reason"] and "dialect" not in entry
        return
    dialect = dialects.named(entry["dialect"])
    reply = xt.parse(entry.get("reply", dialect.example), TOOLS, dialect=dialect)
    assert [(call.name, call.arguments, call.repairs) for call in reply.calls] == [("get", {"n": 1}, ())]
    assert (reply.errors, reply.notices, reply.text.strip()) == ((), (), "")


def test_all_parsers_of_these_versions_are_there() -> None:
    assert {each["engine"]: len(each["parsers"]) for each in GIVEN["engines"]} == {"vLLM": 58, "SGLang": 44}
