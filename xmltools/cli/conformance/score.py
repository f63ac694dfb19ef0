"""The score of a conformance run: a table by file, the first failures, and the same as JSON.

Optional cases have a score of their own: a parser that decides them otherwise conforms all the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from xmltools.cli.conformance.run import Difference, Result

_SHOWN_FAILURES = 10
_SHOWN_DIFFERENCES = 3
_WIDTH = 100
_BEFORE = 30


class Score(NamedTuple):
    """How many cases passed, failed and had no answer, and in how many of them the cuts mattered."""

    passed: int
    failed: int
    no_answer: int
    cut_matters: int


def score(results: Iterable[Result]) -> Score:
    """Return the score of some results."""
    results = list(results)
    verdicts = [result.verdict for result in results]
    passed, failed, lost = (verdicts.count(verdict) for verdict in ("passed", "failed", "no answer"))
    return Score(passed, failed, lost, sum(result.cut_matters for result in results))


def report(results: Sequence[Result]) -> dict[str, Any]:
    """Return the whole score as JSON: `required`, `optional`, `files`, and `failures`, all of them."""
    required, optional = _halves(results)
    return {
        "required": score(required)._asdict(),
        "optional": score(optional)._asdict(),
        "files": {file: score(each)._asdict() for file, each in _by_file(results).items()},
        "failures": [_failure(result) for result in results if result.verdict != "passed"],
    }


def _halves(results: Iterable[Result]) -> tuple[list[Result], list[Result]]:
    results = list(results)
    return [each for each in results if not each.case.optional], [each for each in results if each.case.optional]


def _by_file(results: Iterable[Result]) -> dict[str, list[Result]]:
    files: dict[str, list[Result]] = {}
    for result in results:
        files.setdefault(result.case.file, []).append(result)
    return files


def _failure(result: Result) -> dict[str, Any]:
    about = {name: getattr(result.case, name) for name in ("id", "file", "rule")}
    found = {name: getattr(result, name) for name in ("verdict", "way", "reason", "cut_matters")}
    return about | found | {"differences": [difference._asdict() for difference in result.differences]}


def write_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of the table: one a file, and the sums of the required and of the optional cases."""
    required, optional = _halves(results)
    width = max(len(file) for file in (*_by_file(results), "required", "optional"))
    yield f"{'':<{width}}  passed  failed  no answer  cut matters"
    for name, half in (("required", required), ("optional", optional)):
        if half:
            yield from (_row(file, width, score(each)) for file, each in _by_file(half).items())
            whole = score(half)
            # Rounded down: only a score without a failure is 100 %.
            yield _row(name, width, whole) + f"  {whole.passed * 1000 // len(half) / 10:.1f} %"


def _row(name: str, width: int, score: Score) -> str:
    return f"{name:<{width}}  {score.passed:>6}  {score.failed:>6}  {score.no_answer:>9}  {score.cut_matters:>11}"


def write_failures(results: Iterable[Result]) -> Iterator[str]:
    """Yield lines that show the first failures, required cases before optional ones, and how many more there are."""
    required, optional = _halves(result for result in results if result.verdict != "passed")
    failures = required + optional
    for result in failures[:_SHOWN_FAILURES]:
        case = result.case
        way = f", {result.way}" if result.way else ""
        yield f"{result.verdict}: {case.id} ({case.file}, rule {case.rule}{way}): {case.about}"
        if result.reason:
            yield f"  {result.reason}"
        yield from _write_differences(result.differences)
    if len(failures) > _SHOWN_FAILURES:
        yield f"and {len(failures) - _SHOWN_FAILURES} more, which --json names"


def _write_differences(differences: Sequence[Difference]) -> Iterator[str]:
    for place, expected, found in differences[:_SHOWN_DIFFERENCES]:
        start = max(0, _common(expected, found) - _BEFORE)
        yield f"  {place}"
        yield f"    expected {_cut(expected, start)}"
        yield f"    found    {_cut(found, start)}"
    if len(differences) > _SHOWN_DIFFERENCES:
        yield f"  and {len(differences) - _SHOWN_DIFFERENCES} more places"


def _common(a: str, b: str) -> int:
    """How many characters two texts have in common at their start."""
    return bisect_left(range(min(len(a), len(b))), True, key=lambda size: a[: size + 1] != b[: size + 1])


def _cut(text: str, start: int) -> str:
    """What is worth showing of a text: all of it, or what is around the place where it begins to differ."""
    if len(text) <= _WIDTH:
        return text
    shown = text[start : start + _WIDTH]
    return ("…" if start else "") + shown + ("…" if start + _WIDTH < len(text) else "")
