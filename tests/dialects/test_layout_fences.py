"""Fence lines after white space that lays out calls: it is no text, but its lines are lines (PROTOCOL.md, 1.4)."""

from __future__ import annotations

import pytest

import xmltools as xt
from xmltools import dialects

GET = xt.Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
LAID_OUT = [each for each in dialects.all() if each.layout and not each.is_bare and each.opener]


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize("before", ["<think>\nHm.\n</think>\n\n", "<think>Hm.</think>", "CALL\n", "CALL \n\n", "a\n"])
@pytest.mark.parametrize("dialect", LAID_OUT, ids=lambda each: each.name)
def test_a_fence_line_after_a_call_or_after_reasoning_is_one(dialect: dialects.Dialect, before: str, size: int) -> None:
    if before[0] == "<" and not xt.parse(before, dialect=dialect).reasoning:
        pytest.skip("reasoning has other tags in this dialect")
    text = f"{before.replace('CALL', dialect.example)}```\n{dialect.example}\n```\n"
    for fences, ended in (("call", "code_fence"), ("text", None)):
        parser = xt.Parser([GET], dialect=dialect, code_fences=fences)
        events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
        calls = [event.call for event in events + parser.close() if isinstance(event, xt.CallCompleted)]
        own = calls[len(calls) - 1 :] if ended else calls[before.count("CALL") :]
        assert [[repair.code.value for repair in call.repairs] for call in own] == ([["code_fence"]] if ended else [])


@pytest.mark.parametrize("dialect", LAID_OUT, ids=lambda each: each.name)
def test_inline_code_right_after_a_call_that_white_space_lays_out_is_inline_code(dialect: dialects.Dialect) -> None:
    text = f"a\n{dialect.example}`{dialect.example}`"
    reply = xt.parse(text, [GET], dialect=dialect)
    assert len(reply.calls) == 1 and reply.text == f"a`{dialect.example}`"
