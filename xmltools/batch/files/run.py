"""Files in, files out: on all cores, and so that a run that was killed goes on where it was.

The input is read in pieces, each piece is parsed by a worker that writes a part of the output, and each output is put
together from its parts in their order. Where a piece ends does not depend on the number of workers, nor on when the run
began.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby, islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from xmltools import __version__
from xmltools.batch.files.places import Place, Source, Target, absolute, find_sources, find_targets
from xmltools.batch.files.read_pieces import ROWS, SIZE, Piece, check_columns, read_pieces
from xmltools.batch.files.resume import Made, Parts, Record, hashed, open_part
from xmltools.batch.files.workers import Pool, Task, available_cores, run_here
from xmltools.batch.options import BatchOptions, BatchUsageError
from xmltools.batch.summary import BatchProgress, BatchSummary, Counts, Tell
from xmltools.errors import XMLToolsError

_FEW = 3
"""Pieces for which no other process is worth its start."""

Engine = Callable[[Iterator[Task]], Iterator[Task]]
"""Does tasks. Yields each that is done, in any order."""


def parse_files(
    inputs: Place | Iterable[Place],
    output: Place,
    options: BatchOptions,
    *,
    jobs: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    format: str | None = None,
    on_progress: Tell | None = None,
) -> BatchSummary:
    """Parse the rows of files, in their order.

    Takes files, folders and patterns, read as their endings say: Parquet, Arrow, JSON Lines and CSV, the last two also
    compressed by gzip. Writes one file in the format of its ending; or, if `output` is a folder (one that is there, or
    a name without ending), one file for each that is read, in its format or in `format`. Returns the summary.

    - The columns of the input come first, unchanged, and those that `parse_table` adds after them. Lines of JSON stay
      as they were written, with the new keys at their end. A line that holds no object is a row with the error
      `invalid_line`, and kept as text. From JSON Lines to a table, a column of values that have no one type, and any
      value that Arrow would not give back as it was, becomes JSON text. In CSV all columns are text: lists are JSON.
    - `jobs` processes work (default: one for each core). As always with processes, a script that calls this needs
      `if __name__ == "__main__":` around it; with `jobs=1` it does not.
    - Until the end, what is done is kept in a folder beside the output, with the ending `.parts`. `resume` goes on with
      it, and gives what the whole run would have given; `overwrite` begins anew, and replaces the output. Of a run that
      has ended, the small file `.OUT.run.json` beside the output has hashes of the options and inputs, for `resume`.
    - `on_progress` is called with a `BatchProgress` after each part.

    Raises `XMLToolsError` for files that are missing or not what their endings say, columns as `parse_table` does, an
    output that is there already, a run to resume that was begun otherwise, and a worker that was killed.
    """
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise XMLToolsError(f"jobs: expected a whole number from 1, or None for one a core, got {jobs!r:.40}")
    run = Run(inputs, output, options, resume=resume, overwrite=overwrite, format=format)
    most = jobs or available_cores()

    def work(tasks: Iterator[Task]) -> Iterator[Task]:
        first = list(islice(tasks, _FEW + 1)) if jobs is None else []
        is_small = jobs is None and len(first) <= _FEW
        every = chain(first, tasks)
        return run_here(every, options) if most == 1 or is_small else pool.run(every)

    with Pool(options, most) as pool:
        if most > 1 and (jobs is not None or run.size > _FEW * SIZE):
            pool.start(1 + run.size // SIZE)  # others when there are rows for them
        return run.go(work, on_progress)


class Run:
    """A run that can begin: its files are there, and nothing is in the way of its output. Raises as `parse_files`."""

    def __init__(
        self,
        inputs: Place | Iterable[Place],
        output: Place,
        options: BatchOptions,
        *,
        resume: bool = False,
        overwrite: bool = False,
        format: str | None = None,
    ) -> None:
        if not isinstance(options, BatchOptions):
            raise XMLToolsError(f"options: expected BatchOptions, got {type(options).__name__}")
        self._options = options
        self._resume = resume
        self._targets = find_targets(find_sources(inputs, output), output, format)
        self._sources = [source for target in self._targets for source in target.sources]
        self.size = sum(source.size for source in self._sources)
        place = absolute(output)
        self._parts, self._record = Parts(place), Record(place)
        self._places: list[int] = []  # the target of each part, as far as the input has been read
        self._done: set[int] = set()
        self._skipped_rows = 0
        self._skipped_share = 0.0
        self._ready: SimpleQueue[int | None] = SimpleQueue()
        self._is_stopped = False
        if not overwrite:
            self._check_place()

    def _check_place(self) -> None:
        """Raise if something is in the way."""
        if self._parts.folder.exists():
            if self._resume:
                return
            raise BatchUsageError(
                f"{self._parts.folder}: an earlier run did not end; --resume (resume=True) goes on with it, "
                "--overwrite (overwrite=True) begins anew"
            )
        there = [target for target in self._targets if target.path.exists()]
        if there and not self._resume:
            raise BatchUsageError(
                f"{there[0].path}: there is such a file already; --overwrite (overwrite=True) replaces it"
            )
        for target in there:
            self._record.check(absolute(target.path), self._made_of(target.sources))
        missing = [source for target in self._targets if target not in there for source in target.sources]
        if there and missing:
            raise BatchUsageError(
                f"{missing[0].path}: not in the output of the run that has ended; to add it, give it alone, with the "
                "same output and without --resume (resume=True)"
            )

    def go(self, work: Engine, tell: Tell | None = None) -> BatchSummary:
        """Do it. Returns the summary; one without rows if it is resumed and was complete. Raises as `parse_files`."""
        start = time.monotonic()
        files: dict[str, Any] = {
            "inputs": tuple(source.path for source in self._sources),
            "outputs": tuple(target.path for target in self._targets),
        }
        for source in self._sources:
            check_columns(source, self._options)
        # That it was made of the same is checked before.
        if self._resume and not self._parts.folder.exists() and self._targets[0].path.exists():
            return BatchSummary(**files)
        outputs = [[str(target.path.absolute()), *target.kind] for target in self._targets]
        depends = hashed(versions=__version__, pieces=[ROWS, SIZE], outputs=outputs)
        self._parts.begin({**self._made_of(self._sources), **depends}, resume=self._resume)
        counts = self._work(work(self._tasks()), tell or (lambda progress: None))
        self._record.add({absolute(target.path): self._made_of(target.sources) for target in self._targets})
        self._parts.discard()
        return counts.summary(skipped_rows=self._skipped_rows, seconds=time.monotonic() - start, **files)

    def _made_of(self, sources: Iterable[Source]) -> Made:
        states = [(source.path, source.path.stat()) for source in sources]
        inputs = [[str(path.absolute()), state.st_size, state.st_mtime_ns] for path, state in states]
        return hashed(options=self._options.as_json(), inputs=inputs)

    def _tasks(self) -> Iterator[Task]:
        """Yield the tasks, made while they are asked for; those whose parts are there are left out."""
        self._done = self._parts.done()
        for place, target in enumerate(self._targets):
            for source in target.sources:
                share = 0.0
                for piece in self._read(source):
                    weight = (piece.share - share) * source.size / self.size
                    share = piece.share
                    number = len(self._places)
                    self._places.append(place)
                    if number not in self._done:
                        path = self._parts.path(number)
                        yield Task(number, piece.data, source, piece.first, piece.rows, path, target.kind, weight)
                    else:
                        self._skipped_rows += piece.rows
                        self._skipped_share += weight

    def _read(self, source: Source) -> Iterator[Piece]:
        """Yield the pieces of a file. What is wrong in the middle of it says how to go on."""
        try:
            yield from read_pieces(source)
        except XMLToolsError as error:
            others = ", or take it out of the inputs" if len(self._sources) > 1 else ""
            raise XMLToolsError(
                f"{error}; correct the file{others}, and begin anew with --overwrite (overwrite=True)"
            ) from None

    def _work(self, done: Iterator[Task], tell: Tell) -> Counts:
        """Take what is done, while a thread puts the outputs together: each part when those before it are there."""
        rows, share, following = 0, 0.0, 0
        with ThreadPoolExecutor(1, thread_name_prefix="xmltools-batch") as thread:
            counts = thread.submit(self._join)
            try:
                for task in done:
                    rows += task.rows
                    share += task.weight
                    tell(BatchProgress(rows, self._skipped_rows, min(1.0, share + self._skipped_share)))
                    self._done.add(task.number)
                    while following in self._done and following < len(self._places):
                        self._ready.put(following)
                        following += 1
                    if counts.done():  # it went wrong
                        break
                for number in range(following, len(self._places)):  # done before
                    self._ready.put(number)
                self._ready.put(None)
                return counts.result()
            except BaseException:
                self._is_stopped = True
                self._ready.put(None)
                raise

    def _join(self) -> Counts:
        """Put the outputs together. Returns what the parts say of their rows."""
        counts = Counts()
        groups = groupby(self._take(), key=self._places.__getitem__)
        place, parts = next(groups, (-1, iter(())))
        for number, target in enumerate(self._targets):
            is_here = place == number
            _join_parts(target, map(self._parts.path, parts if is_here else ()), self._options, counts)
            if is_here:
                place, parts = next(groups, (-1, iter(())))
        return counts

    def _take(self) -> Iterator[int]:
        """Yield the numbers of the parts, each when it is ready."""
        while (number := self._ready.get()) is not None and not self._is_stopped:
            yield number
        if self._is_stopped:
            raise XMLToolsError("the run was stopped")


def _join_parts(target: Target, parts: Iterator[Path], options: BatchOptions, counts: Counts) -> None:
    """Write a file, which is there only when all of it is. What its parts say of their rows is added to `counts`.

    Raises `XMLToolsError` if the format cannot hold the columns.
    """
    # In the same folder: that may be on a disk of its own.
    draft = target.path.with_name(f".{target.path.name}.tmp")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        with draft.open("wb") as file:
            if target.kind.format == "jsonl":
                for part in parts:
                    counted, rows = open_part(part)
                    counts.add(counted)
                    with rows:
                        shutil.copyfileobj(rows, file, 1 << 20)
            else:
                from xmltools.batch.files.tables import write_tables

                write_tables(file, target, parts, options, counts)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target.path)
    finally:
        draft.unlink(missing_ok=True)
