"""Judging mutants: each in a fork of a process that has all tests collected, until the first test fails.

Time is counted in CPU seconds, so that a machine that is busy, or stops the process, kills no mutant.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from argparse import Namespace
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
from mutation.baseline import Baseline, run_item
from mutation.mutants import SCOPE, Mutant, module_of
from mutation.swap import Swapper, cached_at, lines_with, names_at

__all__ = ["Judge"]

_MEMORY = 1 << 30


def _write(place: int, answer: dict[str, Any]) -> None:
    """Write this to a file, instead of what is there."""
    os.ftruncate(place, 0)
    os.pwrite(place, json.dumps(answer).encode(), 0)


class Judge:
    """A plugin of pytest that runs the tests it has collected once for each mutant, instead of once."""

    def __init__(
        self, mutants: list[Mutant], options: Namespace, tell: Callable[[Mutant, dict[str, Any]], None]
    ) -> None:
        self.mutants = mutants
        self.place: Path = options.out.with_name("baseline.json")
        self.jobs: int = options.jobs
        self.patience: float = options.patience
        self.thorough: bool = options.again
        self.first: list[str] = options.first
        self.tell = tell
        self.recent: dict[Path, deque[str]] = {}
        self.running: dict[int, tuple[Mutant, IO[bytes]]] = {}  # by process, with the file of its answer

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.baseline = Baseline(session.items, self.place, self.jobs)
        self.corpus: Any = sys.modules["test_corpus"]
        self.dialects: Any = sys.modules["test_dialect_corpus"]
        for path in SCOPE:  # also what is loaded when it is first used
            import_module(module_of(path))
        self.swapper = Swapper()
        self.recent = {path: deque(maxlen=6) for path in SCOPE}
        for path in {mutant.path for mutant in self.mutants}:
            self.swapper.original(next(each for each in self.mutants if each.path == path))
        gc.collect()
        gc.freeze()
        for mutant in self.mutants:
            while len(self.running) >= self.jobs:
                self._collect()
            self._start(mutant)
        while self.running:
            self._collect()
        return True

    def _start(self, mutant: Mutant) -> None:
        file = TemporaryFile()  # noqa: SIM115  # it is closed when the child has ended
        child = os.fork()
        if not child:
            self._child(mutant, file.fileno())
        self.running[child] = mutant, file

    def _collect(self) -> None:
        child, status, usage = os.wait3(0)
        if child not in self.running:
            return
        mutant, file = self.running.pop(child)
        with file:
            file.seek(0)
            answer = json.loads(file.read() or b"{}")
        if os.WIFSIGNALED(status):
            by_time = os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU)
            answer = {"verdict": "timeout" if by_time else "crash", "by": answer.get("at", "")}
        answer.setdefault("verdict", "error")
        answer["cpu"] = round(usage.ru_utime + usage.ru_stime, 3)
        by = answer.get("by")
        if answer.get("verdict") == "killed" and by in self.baseline.seconds and by not in self.recent[mutant.path]:
            self.recent[mutant.path].append(answer["by"])
        self.tell(mutant, answer)

    def _child(self, mutant: Mutant, place: int) -> None:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        answer: dict[str, Any] = {"verdict": "error"}
        try:
            answer = self._judge(mutant, place)
        except BaseException as error:
            answer = {"verdict": "error", "by": repr(error)[:300]}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            _write(place, answer)
            os._exit(0)

    def _judge(self, mutant: Mutant, place: int) -> dict[str, Any]:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (pages + _MEMORY, pages + _MEMORY))
        signal.setitimer(signal.ITIMER_PROF, 5)
        try:
            how = self.swapper.apply(mutant)
        except Exception as error:  # the module cannot even be imported
            return {"verdict": "killed", "by": "import", "with": repr(error)[:120]}
        if how in ("same", "nothing"):
            return {"verdict": "same" if how == "same" else "unapplied"}
        tests = self._tests(mutant, how)
        start, left = time.process_time(), set(tests)
        for name, test, seconds, whole in self._plan(mutant, tests):
            signal.setitimer(signal.ITIMER_PROF, 1 + 10 * seconds)
            if seconds > 0.05:
                _write(place, {"at": name})
            wrong = test()
            if wrong:
                verdict = "memory" if wrong.startswith("MemoryError") else "killed"
                return {"verdict": verdict, "by": name, "how": how, "with": wrong[:120]}
            left -= {name} if whole else set()
            if time.process_time() - start > self.patience:
                break
        return {"verdict": "survived" if tests else "unreached", "how": how, "tests": len(tests), "left": len(left)}

    def _tests(self, mutant: Mutant, how: str) -> list[str]:
        if how == "code":
            found = self.baseline.reaching(mutant.path, range(mutant.lines[0], mutant.lines[1] + 1))
            # What is remembered was reached by the first test only that asked.
            found |= self.baseline.reaching(mutant.path, lines_with(cached_at(mutant), mutant.path.read_text("utf-8")))
        else:
            names = names_at(mutant)
            found = set()
            for path in SCOPE:
                found |= self.baseline.reaching(path, lines_with(names, path.read_text("utf-8")))
        # What is remembered between tests (compiled schemas, caches) was reached by the first of them only.
        tests = self.baseline.seconds if self.thorough or not found else found
        return sorted(tests, key=lambda test: (test not in found, self.baseline.seconds[test]))

    def _plan(self, mutant: Mutant, tests: list[str]) -> Iterator[tuple[str, Callable[[], str], float, bool]]:
        """The tests in the order in which they are asked, and whether each is run in full.

        First what killed lately and both corpora in a hurry, then quick tests, few of each function, the corpora in
        pieces, the others, and the corpus as a whole.
        """
        seconds = self.baseline.seconds
        first = self.first
        if mutant.path.parent.name == "dialects":  # of what is told of a dialect, its own examples know most
            first = [*first, mutant.path.stem, mutant.path.stem.replace("_", "-")]
        yield from self._each([name for name in tests if any(each in name for each in first)], whole=True)
        cases = [name for name in tests if "corpus.py::test_case[" in name]
        lately = [name for name in reversed(self.recent[mutant.path]) if seconds[name] < 0.3]
        yield from self._each(lately, whole=True)
        with self._cut(lambda *_: ()):
            yield from self._each(cases, whole=False)
        # The tenth example of a function says less than the first one of another.
        effort: dict[str, float] = {}
        counts: Counter[str] = Counter()
        for name in (name for name in tests if "corpus.py::test_case[" not in name):
            counts[name.partition("[")[0]] += 1
            effort[name] = seconds[name] * counts[name.partition("[")[0]]
        others = sorted(effort, key=effort.__getitem__)
        yield from self._each([name for name in others if effort[name] < 0.1], whole=True)
        yield from self._each([name for name in cases if "test_corpus.py" not in name], whole=True)
        cases = [name for name in cases if "test_corpus.py" in name]
        chunkings = self.corpus.chunkings
        with self._cut(lambda text, seed: [next(chunkings(text, seed))]):
            yield from self._each(cases[: len(cases) // 2 : 2], whole=False)
        yield from self._each([name for name in others if effort[name] >= 0.1], whole=True)
        yield from self._each(cases, whole=True)

    def _each(self, names: list[str], *, whole: bool) -> Iterator[tuple[str, Callable[[], str], float, bool]]:
        for name in names:
            yield name, partial(run_item, self.baseline.items[name]), self.baseline.seconds[name], whole

    @contextmanager
    def _cut(self, chunkings: Callable[[str, str], Any]) -> Iterator[None]:
        """The corpus tries these ways of cutting its texts only, and that of the dialects none."""
        usual, self.corpus.chunkings = self.corpus.chunkings, chunkings
        pieces, self.dialects.PIECES = self.dialects.PIECES, ()
        try:
            yield
        finally:
            self.corpus.chunkings = usual
            self.dialects.PIECES = pieces
