"""Asking a program the cases, one line at a time.

Each case is asked several times: whole, by character, and cut at places that are the same in every run. What the
program does wrong with the protocol itself (no JSON, an answer to another case) ends the case, and it is started
anew, so that one case never spoils the next.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from xmltools.cli.conformance.corpus import Case, ways
from xmltools.cli.conformance.judge import Difference, differences
from xmltools.cli.conformance.program import NoAnswerError, Program
from xmltools.errors import XMLToolsError

__all__ = ["Result", "Verdict", "run_program"]

Verdict: TypeAlias = Literal["passed", "failed", "no answer"]

_PATIENCE = 10


class Result(NamedTuple):
    """What came of a case: the first way of cutting it that went wrong, and in what.

    `reason` is empty if all answers could be read, and some only differ from what is expected. `cut_matters` says that
    they differ from each other too. `lost` says that the program hung, ended or did not keep to the protocol.
    """

    case: Case
    verdict: Verdict
    way: str = ""
    reason: str = ""
    differences: Sequence[Difference] = ()
    cut_matters: bool = False
    lost: bool = False


class _RefusalError(Exception):
    """The program says that it can't read the case."""


class _BrokenAnswerError(Exception):
    """What came is no answer to the line that was sent. The message says why."""


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
        except _RefusalError as error:
            return Result(case, "no answer", way, str(error), cut_matters=number > 0)
        except NoAnswerError as error:
            return Result(case, "no answer", way, str(error), cut_matters=number > 0, lost=True)
        except _BrokenAnswerError as error:
            program.stop()
            return Result(case, "failed", way, str(error), cut_matters=number > 0, lost=True)
    return _judge(case, found)


def _judge(case: Case, found: list[tuple[str, list[Difference]]]) -> Result:
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
        raise _BrokenAnswerError("expected an answer, got JSON that is nested too deeply") from None


def _read_answer(line: bytes, id: str) -> dict[str, Any]:
    try:
        answer = json.loads(line.decode("utf-8"))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _BrokenAnswerError(f"expected an answer, a JSON object in one line, got {line[:60]!r}")
    if "usage_error" in answer:
        raise _RefusalError(f"usage_error: {answer['usage_error']!s:.200}")
    if answer.get("id") != id:
        raise _BrokenAnswerError(f"expected the answer with the id {id!r}, got the id {answer.get('id')!r:.80}")
    return answer
