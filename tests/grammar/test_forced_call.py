"""The grammar by which `xmltools doctor` finds out whether a server obeys one: nothing else can be written under it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support.engines.xgrammar_judge import XgrammarJudge

import xmltools as xt
from xmltools.proxy.doctor.examination import FORCED, GRAMMAR_ENGINES, forcing_fields


def grammar_in(fields: Any) -> str:
    """The text in the innermost field that holds a grammar."""
    while isinstance(fields, dict):
        fields = fields.get("ebnf") or next(iter(fields.values()))
    assert isinstance(fields, str)
    return fields


@pytest.mark.parametrize("engine", GRAMMAR_ENGINES)
def test_only_the_call_can_be_written(engine: str) -> None:
    judge = XgrammarJudge(grammar_in(forcing_fields(engine)))
    assert not judge.prefix("Hello")
    for seed in range(20):
        text = judge.walk(Random(seed))
        assert text is not None
        reply = xt.parse(text, [FORCED])
        assert [call.name for call in reply.calls] == [FORCED.name] and not reply.text.strip()
