"""The fixtures of the package `canitoolcall`: what models wrote, and what every parser should read out of it.

They are judged by its own checks. Text is cut into characters, threes and random pieces: its token strategies need
tokenizers from the network. Where a fixture has no prompt, that of its first model counts.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from xmltools.dialects import for_model, opens_reasoning
from xmltools.errors import XMLToolsError
from xmltools.models import Reply
from xmltools.parser import Parser, build_reply
from xmltools.tools import load_tools

fixtures = pytest.importorskip("canitoolcall.fixtures")
checks = pytest.importorskip("canitoolcall.checks")
results = pytest.importorskip("canitoolcall.results")


def is_known(model: str) -> bool:
    """Whether the dialect of a model is read."""
    try:
        for_model(model)
    except XMLToolsError:
        return False
    return True


SOFT = {"gemma4/vllm-text-before-call"}
"""Read right but for white space: Gemma's template writes none before a call, so the text keeps its own."""
FAMILIES = fixtures.load_families()
FIXTURES = [each for each in fixtures.load_fixtures() if is_known(each.models[0])]


def read(fixture: Any, chunks: list[str]) -> Reply:
    """The reply, read as the fixture's model writes it, after its prompt."""
    prompt = fixture.generation_prompt
    if prompt is None:
        models = FAMILIES[fixture.family].reference_models
        prompt = next((each.default_generation_prompt for each in models if each.repo == fixture.models[0]), "")
    tools = load_tools(json.loads(json.dumps(fixture.tools)))
    dialect = for_model(fixture.models[0])
    parser = Parser(tools, dialect=dialect, starts_in_reasoning=opens_reasoning(dialect, prompt))
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    return build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)


def result(reply: Reply) -> Any:
    calls = [results.ParsedToolCall(name=call.name, arguments_raw=json.dumps(call.arguments)) for call in reply.calls]
    return results.ParseResult(content=reply.text, reasoning_content=reply.reasoning, tool_calls=calls)


def pieces(text: str, seed: int) -> list[str]:
    pick, cut = random.Random(seed), [0]
    while cut[-1] < len(text):
        cut.append(min(len(text), cut[-1] + pick.randint(1, 20)))
    return [text[start:end] for start, end in itertools.pairwise(cut)]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda each: each.id)
def test_fixture(fixture: Any) -> None:
    text = fixture.raw_output
    streams = {f"rand:{seed}:20": pieces(text, seed) for seed in range(5)}
    streams |= {f"by {size}": [text[at : at + size] for at in range(0, len(text), size)] for size in (1, 3)}
    seen = results.Observation(
        nonstream=result(read(fixture, [text])),
        streams={name: result(read(fixture, chunks)) for name, chunks in streams.items()},
    )
    rows = checks.run_checks(fixture, FAMILIES[fixture.family], seen)
    found = [(row.check, row.strategy, row.detail) for row in rows if row.status is not results.Status.PASS]
    expected = results.Status.SOFT_PASS if fixture.id in SOFT else results.Status.PASS
    assert checks.case_status(rows) is expected, found


def test_all_fixtures_are_here() -> None:
    assert len(FIXTURES) == 469
