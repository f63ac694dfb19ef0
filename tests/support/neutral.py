"""The fixtures of the package `canitoolcall`, read by our parsers and judged by its own checks."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache
from typing import Any

from canitoolcall import checks, fixtures, results

from xmltools.dialects import for_model, opens_reasoning
from xmltools.errors import XMLToolsError
from xmltools.models import Reply
from xmltools.parser import Parser, build_reply
from xmltools.tools import load_tools

FAMILIES = fixtures.load_families()
SEEDS = range(5)


@cache
def all_fixtures() -> tuple[Any, ...]:
    return tuple(fixtures.load_fixtures())


def is_known(model: str) -> bool:
    """Whether the dialect of a model is read."""
    try:
        for_model(model)
    except XMLToolsError:
        return False
    return True


def prompt_of(fixture: Any) -> str:
    """The end of the prompt after which the text was written: where a fixture has none, that of its first model."""
    if fixture.generation_prompt is not None:
        return str(fixture.generation_prompt)
    models = FAMILIES[fixture.family].reference_models
    return next((each.default_generation_prompt or "" for each in models if each.repo == fixture.models[0]), "")


def read(fixture: Any, chunks: list[str]) -> Reply:
    """The reply, read as the fixture's model writes it, after its prompt."""
    tools = load_tools(json.loads(json.dumps(fixture.tools)))
    dialect = for_model(fixture.models[0])
    parser = Parser(tools, dialect=dialect, starts_in_reasoning=opens_reasoning(dialect, prompt_of(fixture)))
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    return build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)


def result(reply: Reply) -> Any:
    """The reply in the words of the suite."""
    calls = [results.ParsedToolCall(name=call.name, arguments_raw=json.dumps(call.arguments)) for call in reply.calls]
    return results.ParseResult(content=reply.text, reasoning_content=reply.reasoning, tool_calls=calls)


def cuts(length: int) -> dict[str, list[int]]:
    """Ways to cut a text of so many units, by name: the sizes of the pieces."""
    ways = {f"by {size}": [size] * -(-length // size) for size in (1, 3)}
    for seed in SEEDS:
        pick, sizes = random.Random(seed), [0]
        while sum(sizes) < length:
            sizes.append(pick.randint(1, 20))
        ways[f"rand:{seed}:20"] = sizes[1:]
    return ways


def pieces(text: str, sizes: list[int]) -> list[str]:
    ends = itertools.accumulate(sizes, initial=0)
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def judge(fixture: Any, whole: Any, streams: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The status of a fixture, and the rows of the checks that don't pass strictly."""
    seen = results.Observation(nonstream=whole, streams=streams)
    rows = checks.run_checks(fixture, FAMILIES[fixture.family], seen)
    return checks.case_status(rows), [row for row in rows if row.status is not results.Status.PASS]


def ours(fixture: Any) -> tuple[Any, list[Any]]:
    """What the checks say of our parser."""
    text = fixture.raw_output
    streams = {name: result(read(fixture, pieces(text, sizes))) for name, sizes in cuts(len(text)).items()}
    return judge(fixture, result(read(fixture, [text])), streams)
