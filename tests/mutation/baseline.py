"""What the tests do without a mutant: which lines each one reaches, how long it takes, and whether it passes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol
from mutation.mutants import SCOPE, digest_of, module_of

__all__ = ["Baseline", "run_item"]

_FREE = frozenset(("nothing_is_left_open", "request"))


def run_item(item: pytest.Item) -> str:
    """Run one test. Returns what it failed with, or "" if it did not; being skipped is not failing."""
    if isinstance(item, pytest.Function) and set(item.fixturenames) <= _FREE | _parameters(item).keys():
        return _call(item)
    reports = runtestprotocol(item, log=False, nextitem=None)
    return next((str(report.longrepr)[-300:] for report in reports if report.failed), "")


def _parameters(item: pytest.Function) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _call(item: pytest.Function) -> str:
    # A plain function: without the machinery of pytest around it, thousands run in a second.
    try:
        item.obj(**_parameters(item))
    except pytest.skip.Exception:
        return ""
    except BaseException as error:  # the tests' own failures are no Exception
        return f"{type(error).__name__}: {error}"[:300]
    return ""


class Baseline:
    """The tests that pass, with their time in seconds of CPU, and the tests that reach each line.

    They are measured once, by several processes, and kept in a file. Tests that are not in it are measured and added;
    of a module that has changed since it is not known which tests reach its lines, so all are asked. Delete the file
    to measure anew. Of the tests that take long, those with the marker `full`, it is known only how long.
    """

    def __init__(self, items: list[pytest.Item], place: Path, jobs: int) -> None:
        self.items = {item.nodeid: item for item in items}
        record = _read(place)
        new = [item for item in items if item.nodeid not in record["seconds"].keys() | record["failed"].keys()]
        if new:
            place.parent.mkdir(parents=True, exist_ok=True)
            parts = [place.with_suffix(f".{number}.json") for number in range(jobs)]
            _in_children([partial(_measure, new[number::jobs], part) for number, part in enumerate(parts)])
            for part in parts:
                _add(record, json.loads(part.read_text("utf-8")))
                part.unlink()
            place.write_text(json.dumps(record), "utf-8")
        self.seconds: dict[str, float] = {each: time for each, time in record["seconds"].items() if each in self.items}
        self.names: list[str] = record["names"]  # `lines` has a bit for each, as hexadecimal numbers
        self.lines: dict[str, dict[str, str] | None] = record["lines"]

    def reaching(self, path: Path, lines: range | list[int]) -> set[str]:
        """Return the tests that reach any of these lines."""
        known = self.lines.get(module_of(path)) or {}
        found = 0
        for line in lines:
            found |= int(known.get(str(line), "0"), 16)
        return {name for number, name in enumerate(self.names) if found >> number & 1} & self.seconds.keys()


def _read(place: Path) -> dict[str, Any]:
    record: dict[str, Any] = {"digests": {}, "names": [], "seconds": {}, "failed": {}, "lines": {}}
    if place.exists():
        record = json.loads(place.read_text("utf-8"))
    for path in SCOPE:
        name, digest = module_of(path), digest_of([path])
        if record["digests"].setdefault(name, digest) != digest:
            record["digests"][name] = digest
            record["lines"][name] = None
    return record


def _measure(items: list[pytest.Item], place: Path) -> None:
    """Run these tests and write what is to be added to the record into a file."""
    reach = coverage.Coverage(data_file=None, config_file=False, include=[str(path) for path in SCOPE])
    seconds, failed = {}, {}
    reach.start()
    for item in sorted(items, key=_takes_long):
        if _takes_long(item):
            reach.stop()
        else:
            reach.switch_context(item.nodeid)
        start = time.process_time()
        wrong = run_item(item)
        took = time.process_time() - start
        if wrong:
            failed[item.nodeid] = wrong
        else:
            seconds[item.nodeid] = took
    reach.stop()
    data = reach.get_data()
    numbers = {item.nodeid: number for number, item in enumerate(items)}
    lines = {
        module_of(path): {
            line: [numbers[test] for test in tests if test]
            for line, tests in data.contexts_by_lineno(str(path)).items()
        }
        for path in SCOPE
    }
    part = {"names": list(numbers), "seconds": seconds, "failed": failed, "lines": lines}
    place.write_text(json.dumps(part), "utf-8")


def _takes_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("full") is not None


def _add(record: dict[str, Any], part: dict[str, Any]) -> None:
    before = len(record["names"])
    record["names"] += part["names"]
    record["seconds"] |= part["seconds"]
    record["failed"] |= part["failed"]
    for module, reached in part["lines"].items():
        lines = record["lines"].setdefault(module, {})
        if lines is None:
            continue
        for line, tests in reached.items():
            found = int(lines.get(line, "0"), 16)
            for number in tests:
                found |= 1 << before + number
            lines[line] = f"{found:x}"


def _in_children(works: list[Callable[[], None]]) -> None:
    children = []
    for work in works:
        child = os.fork()
        if not child:
            try:
                work()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
