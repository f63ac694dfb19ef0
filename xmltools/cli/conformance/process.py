"""A program that answers lines: one line in, one line out, and whatever it does, the caller gets on.

A thread of its own writes the line and reads the answer, so that a program which neither reads nor writes costs no
more than the time that it is given. A program that hangs is killed with all that it started; one that ended is
started anew, be it that it answers only one line in its life.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from xmltools.errors import XMLToolsError

_LONGEST_ANSWER = 1 << 26
_FAREWELL = 1.0
"""Seconds that a program has to end by itself once its input is closed."""


class NoAnswerError(Exception):
    """The program gave no line. The message says what it did instead."""


class Program:
    """A program, started when it is asked first. As a context, it is ended with the block.

    Takes the command as a list of words, which no shell reads, and the seconds that an answer may take.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = command
        self._timeout = timeout
        self._child: _Child | None = None

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(_FAREWELL if error is None else 0)

    def ask(self, line: bytes) -> bytes:
        """Send a line, and return the line that comes back, its end included if it had one.

        Raises `NoAnswerError` if none comes in time, or the program ends without one, and `XMLToolsError` if it can't
        be started.
        """
        try:
            return self._exchange(line, anew=self._child is None)
        except _EndedBeforeError:
            return self._exchange(line, anew=True)

    def stop(self, grace: float = 0) -> None:
        """End the program: its input is closed, and after `grace` seconds it is killed. The next question starts it."""
        if self._child is not None:
            self._child.stop(grace)
            self._child = None

    def _exchange(self, line: bytes, *, anew: bool) -> bytes:
        self._child = self._child or _Child(self._command)
        answer = self._child.ask(line, self._timeout)
        if answer:
            return answer
        ending = self._child.stop(0 if answer is None else _FAREWELL)
        self._child = None
        if answer is None:
            raise NoAnswerError(f"no line in {self._timeout:g} seconds; is each answer flushed, with a line break?")
        if anew or ending:
            raise NoAnswerError(f"the program ended with status {ending}")
        raise _EndedBeforeError


class _EndedBeforeError(Exception):
    """The program ended as it should, after the line before or at this one: a new one will tell."""


class _Child:
    """One run of the program."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = _start(command)
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._thread = Thread(target=self._talk, daemon=True)
        self._thread.start()

    def ask(self, line: bytes, timeout: float) -> bytes | None:
        """Return the answer: empty if the program ended, None if it took too long."""
        self._lines.put(line)
        try:
            return self._answers.get(timeout=timeout)
        except Empty:
            return None

    def stop(self, grace: float) -> int:
        """End the program and return its status. Without `grace`, what it started is killed too if it has ended."""
        self._lines.put(None)
        if not grace or not self._ends_within(grace):
            _kill(self._process)
        status = self._process.wait()
        self._thread.join(_FAREWELL)  # It closes the pipes.
        return status

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _talk(self) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError
        with suppress(OSError, ValueError), stdout, stdin:
            for line in iter(self._lines.get, None):
                stdin.write(line)
                stdin.flush()
                self._answers.put(stdout.readline(_LONGEST_ANSWER))
        self._answers.put(b"")


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        # In a session of its own, so that what it starts can be killed with it.
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise XMLToolsError(f"--runner: cannot start {command[0]!r:.80}: {reason}") from None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
