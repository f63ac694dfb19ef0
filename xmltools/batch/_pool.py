"""Workers in processes of their own, each at the end of a pipe.

One thread serves all of them: a worker gets a task when it has none, so that one more task is held than there are
workers, and whoever dies takes one task with it, which can be named. A worker whose parent is gone reads the end of its
pipe and leaves.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from xmltools.batch._options import BatchOptions
from xmltools.batch._work import Task, Worker
from xmltools.errors import XMLToolsError

__all__ = ["available_cores", "run_here", "run_in_pool"]

# Not forked: the parent may have threads, of Arrow or of its host.
_CONTEXT = multiprocessing.get_context("spawn")


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_here(tasks: Iterable[Task], options: BatchOptions) -> Iterator[Task]:
    """Do tasks in this process. Yields each that is done."""
    worker = Worker(options)
    for task in tasks:
        worker.do(task)
        yield task


def run_in_pool(tasks: Iterable[Task], options: BatchOptions, jobs: int) -> Iterator[Task]:
    """Do tasks in up to `jobs` processes. Yields each that is done, in any order.

    Raises what a worker raised, and `XMLToolsError` if one died. When it ends, however it does, no worker is left.
    """
    waiting = iter(tasks)
    workers: dict[Any, _Process] = {}
    try:
        # All are started before the first gets its task: it takes that only when it has loaded what it needs.
        first = list(islice(waiting, jobs))
        for _ in first:
            process = _Process(options)
            workers[process.pipe] = process
        for process, task in zip(workers.values(), first, strict=True):
            process.begin(task)
        del first
        following = next(waiting, None)  # read while the workers work
        while busy := [pipe for pipe, each in workers.items() if each.task is not None]:
            for pipe in wait(busy):
                process = workers[pipe]
                done = process.finish()
                if following is not None:
                    process.begin(following)
                    following = next(waiting, None)
                yield done
    finally:
        for process in workers.values():
            process.stop()


class _Process:
    """A worker as its parent sees it, and the task that it has."""

    def __init__(self, options: BatchOptions) -> None:
        self.pipe, inner = _CONTEXT.Pipe()
        self.task: Task | None = None
        self._process = _CONTEXT.Process(target=_serve, args=(inner, options), daemon=True)
        with _without_interrupts():
            self._process.start()
        inner.close()

    def begin(self, task: Task) -> None:
        """Give it a task."""
        self.task = task
        try:
            self.pipe.send(task)
        except OSError:
            self._report_death(task)

    def finish(self) -> Task:
        """Take the answer to its task. Returns the task, or raises what went wrong."""
        task = self.task
        assert task is not None
        try:
            problem = self.pipe.recv()
        except (EOFError, OSError):
            self._report_death(task)
        if problem is not None:
            raise problem
        self.task = None
        return task

    def _report_death(self, task: Task) -> NoReturn:
        self._process.join()
        code = self._process.exitcode or 0
        line = "line" if task.lines else "row"
        why = "if it ran out of memory, fewer jobs need less" if code < 0 else "what it printed says why"
        raise XMLToolsError(
            f"a worker ended (exit code {code}) while it parsed {task.rows:,} rows of {task.source} from {line} "
            f"{task.first:,} on; {why}, and the run can be resumed"
        )

    def stop(self) -> None:
        """End it, whatever it does. A part that it is writing has not its name yet."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process.close()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let what starts here ignore Ctrl-C, which goes to all processes of a terminal: the parent ends its workers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(pipe: Connection, options: BatchOptions) -> None:
    """Do the tasks that come through a pipe until it ends. The answer to each is None, or what went wrong."""
    worker = Worker(options)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(_attempt(worker, pipe.recv()))


def _attempt(worker: Worker, task: Task) -> Exception | None:
    try:
        worker.do(task)
    except (XMLToolsError, OSError, MemoryError) as error:
        return error
    except Exception as error:  # a bug: what its own type holds may not pass a pipe
        where = f"{task.rows} rows of {task.source} from {task.first} on"
        return RuntimeError(f"{where}: {type(error).__name__}: {error}")
    return None
