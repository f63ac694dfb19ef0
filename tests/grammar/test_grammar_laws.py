"""The laws of grammars, with real engines as judges (`make fuzz ARGS=--grammars` tries more).

Whatever an engine writes under a grammar is read clean and is valid; whatever is valid and written by our renderer, an
engine would have written; and all judges agree about the shared corpus.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support import grammar_values
from support.engines.llguidance_judge import LlguidanceJudge
from support.grammar_laws import EXAMPLES, FORMATS, judge, rendered, walk_is_right
from support.often import share

from grammar import CASES, TOOLS, Case
from xmltools.grammar import grammar_issues

pytestmark = pytest.mark.no_cover
WALKS = share(1_000)
"""Walks per engine and format; each toolset is used for some of them."""
TOOLSETS = share(50)


@pytest.fixture(scope="module", params=FORMATS)
def sample(request: pytest.FixtureRequest) -> Any:
    return judge(TOOLS, request.param)


def test_the_sample_tools_are_expressed_completely() -> None:
    for format in (*FORMATS, "regex"):
        assert grammar_issues(TOOLS, format) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_engines_agree_with_the_corpus(case: Case, sample: Any) -> None:
    narrow = case.narrow and not isinstance(sample, LlguidanceJudge)
    assert sample.accepts(case.text) is (case.valid and not narrow), case.why


@pytest.mark.parametrize("format", FORMATS)
def test_what_an_engine_writes_is_clean_and_valid(format: str) -> None:
    walks = 0
    for seed in range(TOOLSETS):
        rng = Random(f"walk/{format}/{seed}")
        tools = TOOLS if seed % 5 == 0 else grammar_values.tools(rng)[0]
        engine = judge(tools, format)
        for _ in range(WALKS // TOOLSETS):
            text = engine.walk(rng)
            if text is not None:
                walks += 1
                assert walk_is_right(text, tools, rng) == "", text
    assert walks > WALKS * 0.8  # the others came to no end, or were no UTF-8


@pytest.mark.parametrize("format", FORMATS)
def test_valid_calls_as_we_render_them_are_accepted(format: str) -> None:
    for seed in range(100):
        rng = Random(f"render/{seed}")
        tools, make = grammar_values.tools(rng)
        engine = judge(tools, format)
        for text in rendered(tools, make, rng, 4):
            # Grammars know one way to write CDATA in two sections, which is for ]]> alone.
            assert EXAMPLES.search(text) or engine.accepts(text), text
