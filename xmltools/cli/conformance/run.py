"""Asks a program the cases, one line at a time, and compares its answers with what the cases expect.

Each case is asked several times: whole, by character, and cut at places that are the same in every run. What the
program does wrong with the protocol itself (no JSON, an answer to another case) ends the case, and it is started
anew, so that one case never spoils the next.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from xmltools.cli.conformance.corpus import Case, ways
from xmltools.cli.conformance.process import NoAnswerError, Program
from xmltools.errors import XMLToolsError

_PATIENCE = 10
_ENTRY_DEFAULTS = {"calls": {"legacy_json": False}, "errors": {}}


class Difference(NamedTuple):
    """One place of an answer: what was expected there and what was found, both as JSON."""

    place: str
    expected: str
    found: str


class Result(NamedTuple):
    """What came of a case: the first way of cutting it that went wrong, and in what.

    `reason` is empty if all answers could be read, and some only differ from what is expected. `cut_matters` says that
    they differ from each other too. `lost` says that the program hung, ended or did not keep to the protocol.
    """

    case: Case
    verdict: Literal["passed", "failed", "no answer"]
    way: str = ""
    reason: str = ""
    differences: Sequence[Difference] = ()
    cut_matters: bool = False
    lost: bool = False


class _UnusableError(Exception):
    """An answer that cannot be compared. The message says why; `is_refusal`: the program says that it can't read the
    case."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


def run_program(command: str, cases: Iterable[Case], *, timeout: float = 10.0) -> Iterator[Result]:
    """Give a program the cases, and yield what came of each, in order.

    Takes the command line of the program, which is cut into words as a shell would, but read by none, and the seconds
    that each answer may take. A program that is lost in ten cases in a row is not asked again: the others have no
    answer either. Raises `XMLToolsError` if the command is empty or can't be started.
    """
    lost = 0
    with Program(_split(command), timeout) as program:
        for case in cases:
            if lost >= _PATIENCE:
                yield Result(case, "no answer", reason=f"not asked: the {_PATIENCE} cases before it had no answer")
                continue
            result = _run_case(program, case)
            lost = lost + 1 if result.lost else 0
            yield result


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise XMLToolsError(f"--runner: expected a command, got {command!r:.80}: {error}") from None
    if not words:
        raise XMLToolsError("--runner: expected a command, got nothing")
    return words


def _run_case(program: Program, case: Case) -> Result:
    found: list[tuple[str, list[Difference]]] = []
    for number, (way, chunks) in enumerate(ways(case)):
        try:
            found.append((way, _ask(program, case, f"{case.id}/{number}", chunks)))
        except NoAnswerError as error:
            return Result(case, "no answer", way, str(error), cut_matters=number > 0, lost=True)
        except _UnusableError as error:
            if error.is_refusal:
                return Result(case, "no answer", way, str(error), cut_matters=number > 0)
            program.stop()
            return Result(case, "failed", way, str(error), cut_matters=number > 0, lost=True)
    way, wrong = next(((way, wrong) for way, wrong in found if wrong), ("", []))
    if not wrong:
        return Result(case, "passed")
    return Result(case, "failed", way, "", wrong, any(other != wrong for _, other in found))


def _ask(program: Program, case: Case, id: str, chunks: list[str]) -> list[Difference]:
    question = {"id": id, "chunks": chunks, "tools": case.tools, "options": case.options}
    line = program.ask(json.dumps(question).encode() + b"\n")
    try:
        return list(differences(case.expect, _read_answer(line, id)))
    except RecursionError:
        raise _UnusableError("expected an answer, got JSON that is nested too deeply") from None


def _read_answer(line: bytes, id: str) -> dict[str, Any]:
    try:
        answer = json.loads(line.decode("utf-8"))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _UnusableError(f"expected an answer, a JSON object in one line, got {line[:60]!r}")
    if "usage_error" in answer:
        raise _UnusableError(f"usage_error: {answer['usage_error']!s:.200}", is_refusal=True)
    if answer.get("id") != id:
        raise _UnusableError(f"expected the answer with the id {id!r}, got the id {answer.get('id')!r:.80}")
    return answer


# Comparing


def differences(expect: dict[str, Any], answer: dict[str, Any]) -> Iterator[Difference]:
    """Yield the places where an answer is not what the case expects. What is more in the answer does not matter."""
    for key in ("text", "reasoning"):
        yield from _compare(key, expect[key], answer.get(key))
    yield from _compare(
        "unclosed_reasoning", expect.get("unclosed_reasoning", False), answer.get("unclosed_reasoning", False)
    )
    for kind, defaults in _ENTRY_DEFAULTS.items():
        yield from _compare_entries(kind, defaults, expect[kind], answer.get(kind))


def _compare_entries(kind: str, defaults: dict[str, Any], expected: list[Any], found: Any) -> Iterator[Difference]:
    if not isinstance(found, list) or len(found) != len(expected):
        yield Difference(kind, _json(expected), _json(found))
        return
    for number, (entry, other) in enumerate(zip(expected, found, strict=True)):
        place = f"{kind}[{number}]"
        if not isinstance(other, dict):
            yield Difference(place, _json(entry), _json(other))
            continue
        for key, value in (defaults | entry).items():
            # Answers need not name the tool of an error.
            if key in other or (kind, key) != ("errors", "name"):
                yield from _compare(f"{place}.{key}", value, other.get(key, defaults.get(key)))


def _compare(place: str, expected: Any, found: Any) -> Iterator[Difference]:
    if not _same(expected, found):
        yield Difference(place, _json(expected), _json(found))


def _same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, but 3 is 3.0."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
