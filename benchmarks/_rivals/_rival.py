"""What every rival is to the benchmark: something that reads chunks of a reply and gives the calls in it."""

from __future__ import annotations

import gc
import operator
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from _rivals._dialects import Call

__all__ = ["MissingError", "Rival", "Run", "cut"]


class MissingError(Exception):
    """A rival is not installed. The text says how to install it."""


class Stopped(BaseException):
    """The time is up. Not an `Exception`, since rivals catch those and go on."""


class Run(NamedTuple):
    """One measurement: CPU seconds, the share of the text that was read, and what was found, or what went wrong."""

    seconds: float
    share: float
    calls: list[Call] | None
    error: str = ""

    @property
    def stopped(self) -> bool:
        return self.calls is None and not self.error


def cut(text: str, size: int) -> list[str]:
    """`text` in chunks; 0 is one chunk."""
    return [text[at : at + size] for at in range(0, len(text), size)] if size else [text]


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise `Stopped` in the block when so much CPU time has gone, and again if somebody swallowed it."""

    def stop(*_: object) -> None:
        raise Stopped

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Rival(ABC):
    """An adapter. Making one imports what it needs, or raises `MissingError`.

    `deltas` says how soon the arguments of a call can be seen while the model still writes them.
    """

    name: str
    package: str
    dialect = "xml"
    deltas = "each chunk"
    json_body = False  # whether the calls of the text "JSON body" are in its dialect
    install = "python benchmarks/rivals.py --install"

    @property
    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def stream(self, chunks: Iterator[str]) -> list[Call]:
        """Read the reply as it comes in."""

    def whole(self, text: str) -> list[Call]:
        """Read a reply that is complete: with the rival's own function for that, if it has one."""
        return self.stream(iter([text]))

    def measure(self, text: str, chunk: int, cap: float, loops: int = 1) -> Run:
        """CPU time of this thread for one reading, as the mean of `loops`; stopped after `cap` seconds."""
        runs = [iter(cut(text, chunk)) for _ in range(loops)]
        calls: list[Call] | None = None
        error = ""
        gc.collect()
        gc.disable()
        start = time.thread_time()
        try:
            with limit(cap):
                for chunks in runs:
                    calls = self.stream(chunks) if chunk else self.whole(text)
        except Stopped:
            calls = None
        except Exception as problem:
            calls, error = None, f"{type(problem).__name__}: {problem}".splitlines()[0][:80]
        finally:
            seconds = (time.thread_time() - start) / loops
            gc.enable()
        left = operator.length_hint(runs[-1]) if chunk else 1
        return Run(seconds, 1 - left * (chunk or len(text)) / max(len(text), 1), calls, error)
