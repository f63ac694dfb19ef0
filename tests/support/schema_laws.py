"""What holds of every schema: functions of a trial that assert. `fuzz` and `test_schema_laws` bring the trials.

1 nothing raises but XMLToolsError · 2 values are judged as jsonschema judges them · 3 a call that fits is read as it
was meant: as elements, as JSON text in an element, as a JSON body · 4 chunks don't matter · 5 prompts and grammars can
be made · 6 the work grows with the text, and no faster.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from fuzz.record import normal
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from support.random_schemas import doubling_schema, plain_schema, value_for, wild_schema, with_forms

from xmltools import Parser, Tool, XMLToolsError, parse
from xmltools.grammar import FORMATS, build_grammar
from xmltools.models import ToolCall
from xmltools.render import render_call, render_instructions
from xmltools.render.writable import same
from xmltools.tools.schema import example_arguments, find_problems

__all__ = ["LAWS", "SchemaTrial", "first_broken", "laws_for", "trial"]

MAX_CALLS = 20_000
"""Calls of functions for each character of a text and of the schema, at most; a hundredth of that is usual."""
VALUES = 4
JUDGED = 7
"""Definitions of a schema on which jsonschema is tried, which goes all the ways that lead from each to the next."""


@dataclass
class SchemaTrial:
    """A schema, values for its argument `x`, and what is drawn from `seed` beside them."""

    kind: str
    schema: Any
    values: list[Any]
    seed: str
    counts: Counter[str] = field(default_factory=Counter)

    def __getstate__(self) -> dict[str, Any]:
        """What another process is told: the tool is made anew there, for not all that it remembers can be sent."""
        return {name: value for name, value in self.__dict__.items() if name != "tool"}

    @cached_property
    def tool(self) -> Tool | None:
        """The tool with this schema; None if it is refused."""
        tool = Tool(name="f", parameters=self.schema)
        try:
            return tool if tool.shape else None
        except XMLToolsError:
            return None

    def fitting(self) -> list[Any]:
        """The values that fit."""
        assert self.tool is not None
        return [value for value in self.values if not find_problems({"x": value}, self.tool.shape)]

    def __str__(self) -> str:
        return f"SchemaTrial({self.kind!r}, {self.schema!r}, {self.values!r}, {self.seed!r})"


def trial(seed: object, number: int) -> SchemaTrial:
    """Trial `number` of a seed: always the same."""
    name = f"{seed}/schema/{number}"
    rng = Random(name)
    kind = ("plain", "wild", "plain", "hostile", "doubling")[number % 5]
    if kind == "doubling":
        schema = doubling_schema(rng)
    else:
        schema = plain_schema(rng) if kind == "plain" else wild_schema(rng, kind == "hostile")
    inner = schema["properties"]["x"]
    values = [value_for(rng, inner, schema) for _ in range(VALUES)]
    return SchemaTrial(kind, with_forms(rng, schema) if rng.random() < 0.3 else schema, values, name)


# The laws


def law_verdicts(trial: SchemaTrial) -> None:
    """2. jsonschema says the same of every value."""
    if trial.tool is None or trial.kind == "hostile" or len(trial.schema["$defs"]) > JUDGED:
        return  # jsonschema would not come to an end
    # To Python, `$` is also in front of a line break at the end.
    judge = Draft202012Validator(json.loads(json.dumps(trial.schema).replace('$"', '\\\\Z"')))
    for value in trial.values:
        try:
            wanted = _fits(judge, {"x": value})
        except RecursionError:
            continue
        found = find_problems({"x": value}, trial.tool.shape)
        trial.counts["fits" if wanted else "does not fit"] += 1
        if wanted or not trial.tool.shape.make.document.unchecked:
            assert (not found) is wanted, f"{value!r}: {found}"
        assert len(set(map(str, found))) >= min(len(found), 1)


def _fits(judge: Draft202012Validator, value: Any) -> bool:
    try:
        judge.validate(value)
    except ValidationError:
        return False
    return True


def law_readings(trial: SchemaTrial) -> None:
    """3. A call that fits is read as it was meant, in every spelling; if its schema can tell its values apart."""
    if trial.tool is None:
        return
    for value in trial.fitting():
        call = ToolCall(id="", name="f", server="local", arguments={"x": value})
        for legacy_json in (False, True):
            try:
                text = render_call(call, trial.tool, legacy_json=legacy_json)
            except XMLToolsError as error:
                assert "can't be written so that they read back" in str(error) or "lone surrogate" in str(error)
                trial.counts["ambiguous"] += 1
                assert trial.kind != "plain", f"{value!r}: {error}"
                continue
            _assert_read(trial, text, value)
            trial.counts["JSON" if text.startswith("<tool>\n{") else "elements"] += 1
        if trial.kind == "plain" and isinstance(value, (dict, list)) and value:
            _assert_json_text(trial, value)


def _assert_read(trial: SchemaTrial, text: str, value: Any) -> None:
    reply = parse(text, [trial.tool])
    assert [call.clean for call in reply.calls] == [True], f"{text!r}: {reply.errors or reply.calls[0].repairs}"
    assert same(reply.calls[0].arguments, {"x": value}), f"{text!r}: {reply.calls[0].arguments}"


def _assert_json_text(trial: SchemaTrial, value: Any) -> None:
    written = json.dumps(value).replace("&", "&amp;").replace("<", "&lt;")
    text = f"<tool><tool_name>f</tool_name><arguments><x>{written}</x></arguments></tool>"
    reply = parse(text, [trial.tool])
    assert len(reply.calls) == 1, f"{text!r}: {reply.errors}"
    assert same(reply.calls[0].arguments, {"x": value}), f"{text!r}: {reply.calls[0].arguments}"
    trial.counts["JSON text"] += 1


def law_texts(trial: SchemaTrial) -> None:
    """1 and 4. No text raises, and it is read as whole as in pieces."""
    if trial.tool is None:
        return
    rng = Random(trial.seed)
    for text in _texts(rng, trial):
        whole = _read(trial.tool, [text])
        size = rng.choice([1, 1, 3, 7])
        assert _read(trial.tool, [text[at : at + size] for at in range(0, len(text), size)]) == whole, repr(text)
        cut = rng.randrange(len(text) + 1)
        assert _read(trial.tool, [text[:cut], text[cut:]]) == whole, repr(text)
        trial.counts["texts"] += 1


def _read(tool: Tool, chunks: list[str]) -> list[tuple[Any, ...]]:
    ids = itertools.count()
    parser = Parser([tool], new_id=lambda: str(next(ids)))
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return normal([*events, *parser.close()])


_ODDS = (
    "<x>",
    "</x>",
    "<item>",
    "</item>",
    "<a>",
    "</a>",
    "x",
    " ",
    "5",
    '<a nil="true"/>',
    "[",
    "{",
    '"',
    "<b>",
    "</b>",
)


def _texts(rng: Random, trial: SchemaTrial) -> list[str]:
    """Calls as they were meant, some tokens put wrong, and elements that nobody meant."""
    texts = []
    for value in trial.values[:2]:
        try:
            call = ToolCall(id="", name="f", server="local", arguments={"x": value})
            text = render_call(call, trial.tool, legacy_json=rng.random() < 0.2)
        except XMLToolsError:
            continue
        at = rng.randrange(len(text))
        texts.append(text[:at] + rng.choice(_ODDS) + text[at + rng.choice([0, 0, 1, 4]) :])
    soup = "".join(rng.choice(_ODDS) for _ in range(rng.randint(1, 12)))
    nested = rng.choice(["<item>", "<a>", "<x1>", "[", '{"a":']) * rng.choice([3, 3, 10, 20, 58])
    before, after = "<tool><tool_name>f</tool_name><arguments><x>", "</x></arguments></tool>"
    return [*texts, *(f"{before}{inner}{after}" for inner in (soup, nested))]


def law_prompts(trial: SchemaTrial) -> None:
    """5. Prompts and grammars are made, or refused with a reason."""
    if trial.tool is None:
        return
    rng = Random(trial.seed)
    sample = example_arguments(trial.tool.shape)
    if sample is not None:
        assert not find_problems(sample, trial.tool.shape), repr(sample)
        trial.counts["samples"] += 1
    try:
        assert render_instructions([trial.tool], style=rng.choice(["full", "compact"]))
        assert build_grammar(trial.tool, rng.choice(sorted(FORMATS)))
        trial.counts["grammars"] += 1
    except XMLToolsError:
        trial.counts["no grammar"] += 1


def law_work(trial: SchemaTrial) -> None:
    """6. The work on a text has a bound for each of its characters, whatever the schema."""
    if trial.tool is None:
        return
    size = len(json.dumps(trial.schema))
    for text in _texts(Random(trial.seed), trial):
        most = MAX_CALLS * (len(text) + size)
        done = _calls_of(lambda text=text: parse(text, [trial.tool]), most)  # type: ignore[misc]
        assert done <= most, f"{done} calls for {len(text)} characters: {text!r}"
        trial.counts["work"] += 1


def _calls_of(work: Any, most: int) -> int:
    """How many calls of functions the work takes; it is ended if they are far more than `most`."""
    count = 0

    def seen(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > most + 100_000:
            sys.setprofile(None)
            raise AssertionError(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


LAWS = (law_verdicts, law_readings, law_texts, law_prompts, law_work)


def first_broken(trial: SchemaTrial, laws: Iterable[Callable[[SchemaTrial], None]] = LAWS) -> tuple[str, str] | None:
    """Return the name of the first law that the trial breaks, and how; any exception breaks it."""
    for law in laws:
        try:
            law(trial)
        except Exception as error:
            return law.__name__, f"{type(error).__name__}: {error}"
    return None


def laws_for(number: int) -> list[Callable[[SchemaTrial], None]]:
    """Return the laws for trial `number`: each holds for all, but some take much longer than the others."""
    often = [law_verdicts, law_readings, law_texts]
    return [*often, *[law_prompts] * (number // 5 % 4 == 0), *[law_work] * (number // 5 % 4 == 2)]
