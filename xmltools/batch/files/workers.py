"""Workers: each takes a piece of a file and writes a part of the output, in this process or in one of its own.

One thread serves all processes, each at the end of a pipe: a worker gets a task when it has none, so that one more task
is held than there are workers, and a worker that dies takes one task with it, which can be named. A worker whose parent
is gone reads the end of its pipe and leaves.
"""

from __future__ import annotations

import gzip
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from xmltools.batch.files.places import Kind, Source
from xmltools.batch.files.resume import write_part
from xmltools.batch.json_lines import as_json, parse_lines, written
from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import Row, RowParser
from xmltools.batch.summary import Counts
from xmltools.errors import XMLToolsError

# Not forked: the parent may have threads, of Arrow or of its host.
_CONTEXT = multiprocessing.get_context("spawn")


class Task(NamedTuple):
    """Rows to parse: the number of their part, where they come from (`first` is the number of the first, or of its
    line), where the part is to be written, as what, and which share of the run they are."""

    number: int
    data: bytes
    source: Source
    first: int
    rows: int
    path: Path
    kind: Kind
    weight: float


class Worker:
    """Does tasks, one after the other."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options
        self._parser = RowParser(options)

    def do(self, task: Task) -> None:
        """Parse the rows of a task and write its part. Raises `XMLToolsError` for rows that cannot be in the output."""
        parser, counts = self._parser, Counts()
        parser.untyped_rows = 0
        parser.other_roles.clear()
        rows = self._from_lines(task, counts) if task.source.kind.format == "jsonl" else self._from_table(task, counts)
        if task.kind.gzipped and task.kind.format == "jsonl":
            rows = gzip.compress(rows, 6, mtime=0)
        counts.numbers["untyped_rows"] = parser.untyped_rows
        counts.tallies["other_roles"].update(parser.other_roles)
        write_part(task.path, counts.as_json(), rows)

    def _from_lines(self, task: Task, counts: Counts) -> bytes:
        lines = list(parse_lines(task.data, task.first, str(task.source.path), self._options, self._parser))
        for line in lines:
            counts.see(line.row)
        if task.kind.format == "jsonl":
            return b"".join(written(line, self._options) + b"\n" for line in lines)
        from xmltools.batch.files.tables import table_of

        return self._encode(table_of(lines, self._options), [line.row for line in lines])

    def _from_table(self, task: Task, counts: Counts) -> bytes:
        from xmltools.batch.arrow import json_text, pa, records_of
        from xmltools.batch.table import values_of

        table = pa.ipc.open_stream(task.data).read_all()
        self._options.check_columns(table.column_names, str(task.source.path))
        rows = [self._parser.parse(*values) for values in values_of(table, self._options)]
        for row in rows:
            counts.see(row)
        if task.kind.format != "jsonl":
            return self._encode(table, rows)
        records = zip(records_of(table), rows, strict=True)
        lines = (f"{json_text(each)[:-1]}, {as_json(row, self._options)[1:].decode()}\n" for each, row in records)
        return "".join(lines).encode()

    def _encode(self, table: Any, rows: list[Row]) -> bytes:
        from xmltools.batch.files.read_pieces import encode
        from xmltools.batch.table import with_rows

        return encode(with_rows(table, [rows], self._options))

    def attempt(self, task: Task) -> Exception | None:
        """Do a task. Returns what went wrong, where that need not end the worker."""
        try:
            self.do(task)
        except (XMLToolsError, OSError, MemoryError) as error:
            return error
        except Exception as error:  # a bug: what its own type holds may not pass to another process
            where = f"{task.rows} rows of {task.source.path} from {task.first} on"
            return RuntimeError(f"{where}: {type(error).__name__}: {error}")
        return None


def run_here(tasks: Iterable[Task], options: BatchOptions) -> Iterator[Task]:
    """Do tasks in this process. Yields each that is done."""
    worker = Worker(options)
    for task in tasks:
        worker.do(task)
        yield task


# Processes


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Up to `jobs` workers. When it is left, however that is, none is left of them."""

    def __init__(self, options: BatchOptions, jobs: int) -> None:
        self._options = options
        self._jobs = jobs
        self._workers: list[_Process] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.kill()  # a part that it is writing has not its name yet
        for worker in self._workers:
            worker.pipe.close()
            worker.process.join()
            worker.process.close()

    def start(self, number: int) -> None:
        """Start workers until there are so many, or `jobs`. They load what they need while their parent goes on."""
        while len(self._workers) < min(number, self._jobs):
            self._workers.append(_Process(self._options))

    def run(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Do tasks. Yields each that is done, in any order.

        Raises what a worker raised, and `XMLToolsError` if one died.
        """
        waiting = iter(tasks)
        # All are started before the first gets its task: it takes that only when it has loaded what it needs.
        first = list(islice(waiting, self._jobs))
        self.start(len(first))
        for worker, task in zip(self._workers, first, strict=False):
            worker.begin(task)
        del first
        following = next(waiting, None)  # read while the workers work
        while busy := {worker.pipe: worker for worker in self._workers if worker.task is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                done = worker.finish()
                if following is not None:
                    worker.begin(following)
                    following = next(waiting, None)
                else:
                    worker.process.kill()  # its memory is given back while others work
                yield done


class _Process:
    """A worker as its parent sees it, and the task that it has, without its data."""

    def __init__(self, options: BatchOptions) -> None:
        self.pipe, inner = _CONTEXT.Pipe()
        self.task: Task | None = None
        self.process = _CONTEXT.Process(target=_serve, args=(inner, options), daemon=True)
        with _without_interrupts():
            self.process.start()
        inner.close()

    def begin(self, task: Task) -> None:
        """Give it a task."""
        self.task = task._replace(data=b"")
        try:
            self.pipe.send(task)
        except OSError:
            self._report_death(task)

    def finish(self) -> Task:
        """Take the answer to its task. Returns the task, or raises what went wrong."""
        task, self.task = self.task, None
        assert task is not None
        try:
            problem = self.pipe.recv()
        except (EOFError, OSError):
            self._report_death(task)
        if problem is not None:
            raise problem
        return task

    def _report_death(self, task: Task) -> NoReturn:
        self.process.join()
        code = self.process.exitcode or 0
        line = "line" if task.source.kind.format == "jsonl" else "row"
        why = "if it ran out of memory, fewer jobs need less" if code < 0 else "what it printed says why"
        raise XMLToolsError(
            f"a worker ended (exit code {code}) while it parsed {task.rows:,} rows of {task.source.path} from {line} "
            f"{task.first:,} on; {why}, and the run can be resumed"
        )


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
    _load_less()
    worker = Worker(options)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(worker.attempt(pipe.recv()))


def _load_less() -> None:
    """Keep pyarrow from loading what no row needs: numpy's threads, one for each core, and pandas, which takes as long
    and as much memory as all the rest. Where the script that is run has loaded them, they stay."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, _NoPandas())


class _NoPandas(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Raise for pandas; of others it knows nothing."""
        if name == "pandas":
            raise ModuleNotFoundError("workers have no use for pandas", name=name)
