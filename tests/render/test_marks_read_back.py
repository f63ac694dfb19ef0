"""Marks that stand in one another, or side by side, in what was written and is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dialect_marks import marks_of
from support.often import examples
from support.written import WRITTEN

from xmltools import dialects
from xmltools.models import ToolResult
from xmltools.render import read_results, render_result
from xmltools.tools import Tool

NAMES = ["f", "functools", "my_functools", "tool", "x", "INST", "a-b.c", "role"]
TOOLS = [Tool(name=name, parameters={"properties": {"path": {}, "functools": {}}}) for name in NAMES]
PIECES = (
    *("functools[", "functools[{", '"a": 1}]', "functools[ \n{", "functools[\n"),
    *("[INST]", "]~b]", "~b]", "]~!b[", "[e~[", "]<]minimax[>[", "[|system|]", "<]minimax[>[", "[TOOL_CALLS]"),
    *("&lt;", "&amp;lt;", "&#102;", "&amp;#102;", "&#93;", "&#91;", "&amp;", "amp;", "#102;", "lt;", "unctools[{"),
    *("<", ">", "<tool", "<tool_call>", "<|im_end|>", "<｜", "</", "[", "]", "|", " ", "=", "{", "a", "_"),
    *(f"<{name}" for name in NAMES),
    *sorted({mark for each in dialects.all() for mark in marks_of(each, ("f",), ("path",)) if mark.strip()}),
)
texts = st.lists(st.sampled_from(PIECES[:60]) | st.sampled_from(PIECES), max_size=6).map("".join)


def back(text: str, dialect: str, tools: list[Tool] | None) -> object:
    written = render_result(ToolResult(call_id="1", name="f", content=text), dialect=dialect, tools=tools)
    return read_results(written, dialect=dialect, tools=tools)[0].content


@pytest.mark.parametrize(
    "text",
    [
        '<functools[{"a": 1}]',
        "&lt;functools[{",
        "&lt;&#102;unctools[{",
        "&lt;tool&#102;unctools[{",
        "<toolfunctools[{",
        "&lt;toolfunctools[{",
        "<my_functools[{",
        "&lt;xfunctools[{",
        "[INST]~b]",
        "[e~[INST]",
        "]~b]~b]",
        "]~!b[INST]",
        "]<]minimax[>[INST]",
        "&#93;<]minimax[>[INST]",
        "[|system|]~b]~b]",
        "]~b" * 400 + "]",
        "<f <my_functools[ \n{",
    ],
)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["unknown", "known"])
@pytest.mark.parametrize("dialect", ["forge", "tag_per_tool", "hermes", "mistral"])
def test_marks_in_one_another_read_back(text: str, dialect: str, tools: list[Tool] | None) -> None:
    assert back(text, dialect, tools) == text


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["unknown", "known"])
@pytest.mark.parametrize("dialect", ["forge", *WRITTEN])
def test_any_mixture_of_marks_reads_back(dialect: str, tools: list[Tool] | None) -> None:
    @given(texts)
    @examples(150)
    def holds(text: str) -> None:
        # What begins with the word of a header that is written is read without it.
        assert back(f"-{text}", dialect, tools) == f"-{text}"

    holds()
