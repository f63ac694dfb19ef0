"""Files in, files out: on all cores, and so that a run that was killed goes on where it was.

The input is read in pieces, each piece is parsed by a worker that writes a part of the output, and when all parts are
there they are put together. Where a piece ends does not depend on the number of workers, nor on when the run began.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmltools import __version__
from xmltools.batch.files.join_parts import Assembly
from xmltools.batch.files.places import Place, Source, Target, absolute, find_sources, find_targets
from xmltools.batch.files.read_pieces import ROWS, SIZE, Piece, check_columns, read_weighted
from xmltools.batch.files.resume import Parts, Record
from xmltools.batch.files.workers import Pool, Task, available_cores, run_here
from xmltools.batch.options import BatchOptions, BatchUsageError
from xmltools.batch.summary import BatchProgress, BatchSummary, Counts, Tell
from xmltools.errors import XMLToolsError

_LITTLE = 4 << 20
"""Bytes of input for which no other process is worth its start."""


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
    if not isinstance(options, BatchOptions):
        raise XMLToolsError(f"options: expected BatchOptions, got {type(options).__name__}")
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise XMLToolsError(f"jobs: expected a whole number from 1, or None for one a core, got {jobs!r:.40}")
    targets = find_targets(find_sources(inputs, output), output, format)
    place = absolute(output)
    run = _Run(targets, Parts(place), Record(place), options, jobs or 0, resume, overwrite)
    return run.go(on_progress or (lambda progress: None))


@dataclass
class _Run:
    """A run that can begin: its files are there, and nothing is in the way of its output. Raises as `parse_files`."""

    targets: Sequence[Target]
    parts: Parts
    record: Record
    options: BatchOptions
    jobs: int
    resume: bool
    overwrite: bool

    def __post_init__(self) -> None:
        self.sources = [source for target in self.targets for source in target.sources]
        self.size = sum(source.size for source in self.sources)
        self.jobs = self.jobs or (available_cores() if self.size > _LITTLE else 1)
        self.places: list[int] = []  # the target of each part, as far as the input has been read
        self.skipped_rows = 0
        self.skipped_share = 0.0
        self._check_place()

    def _check_place(self) -> None:
        """Raise if something is in the way."""
        if self.overwrite or (self.resume and self.parts.folder.exists()):
            return
        if self.parts.folder.exists():
            raise BatchUsageError(
                f"{self.parts.folder}: an earlier run did not end; --resume (resume=True) goes on with it, "
                "--overwrite (overwrite=True) begins anew"
            )
        there = [target for target in self.targets if target.path.exists()]
        if not there:
            return
        if not self.resume:
            raise BatchUsageError(
                f"{there[0].path}: there is such a file already; --overwrite (overwrite=True) replaces it"
            )
        for target in there:
            if not self.record.is_as_written(absolute(target.path)):
                raise BatchUsageError(
                    f"{target.path}: it was changed after the run that wrote it; --overwrite (overwrite=True) makes it "
                    "anew"
                )
            if changed := self.record.changed(absolute(target.path), _made_of(self.options, target)):
                raise BatchUsageError(
                    f"{target.path}: made with other {' and '.join(changed)} than now; give what it was made with, "
                    "or --overwrite (overwrite=True) to begin anew"
                )
        if missing := [source for target in self.targets if target not in there for source in target.sources]:
            raise BatchUsageError(
                f"{missing[0].path}: not in the output of the run that has ended; to add it, give it alone, with the "
                "same output and without --resume (resume=True)"
            )

    def _is_complete(self) -> bool:
        """Return whether all that is asked for is there; that it was made of the same is checked before."""
        return not self.parts.folder.exists() and all(target.path.exists() for target in self.targets)

    def go(self, tell: Tell) -> BatchSummary:
        """Do it. Returns the summary; one without rows if it is resumed and was complete. Raises as `parse_files`."""
        files: dict[str, Any] = {
            "inputs": tuple(source.path for source in self.sources),
            "outputs": tuple(target.path for target in self.targets),
        }
        start = time.monotonic()
        complete = self.resume and self._is_complete()
        with Pool(self.options, self.jobs) as pool:
            if not complete and self.jobs > 1:
                pool.start(1 + self.size // SIZE)  # others when there are rows for them
            for source in self.sources:
                check_columns(source, self.options)
            if complete:
                return BatchSummary(**files)
            depends = _what_counts(self.options, self.targets)
            if self.resume and self.parts.folder.exists():
                self.parts.resume(depends)
            else:
                self.parts.discard()
                self.parts.begin(depends)
            counts = self._work(pool, tell)
        self.record.add({absolute(target.path): _made_of(self.options, target) for target in self.targets})
        self.parts.discard()
        return counts.summary(skipped_rows=self.skipped_rows, seconds=time.monotonic() - start, **files)

    def _work(self, pool: Pool, tell: Tell) -> Counts:
        done = run_here(self._tasks(), self.options) if self.jobs == 1 else pool.run(self._tasks())
        rows, share = 0, 0.0
        with _Outputs(self) as outputs:
            for task in done:
                rows += task.rows
                share += task.weight
                tell(BatchProgress(rows, self.skipped_rows, min(1.0, share + self.skipped_share)))
                if self.jobs > 1:
                    outputs.advance()
            return outputs.finish()

    def _tasks(self) -> Iterator[Task]:
        """Yield the tasks, made while they are asked for; those whose parts are there are left out."""
        done = self.parts.done()
        for place, target in enumerate(self.targets):
            for source in target.sources:
                for piece, weight in self._read(source):
                    number = len(self.places)
                    self.places.append(place)
                    if number in done:
                        self.skipped_rows += piece.rows
                        self.skipped_share += weight
                        continue
                    data = piece.encode() if piece.span is None else b""
                    path, lines = self.parts.path(number), source.kind.format == "jsonl"
                    rows = (piece.first, piece.rows, weight, data)
                    yield Task(path, str(source.path), lines, *rows, target.kind, piece.span)

    def _read(self, source: Source) -> Iterator[tuple[Piece, float]]:
        """Yield the pieces of a file. What is wrong in the middle of it says how to go on."""
        try:
            yield from read_weighted(source, self.size)
        except XMLToolsError as error:
            others = ", or take it out of the inputs" if len(self.sources) > 1 else ""
            raise XMLToolsError(
                f"{error}; correct the file{others}, and begin anew with --overwrite (overwrite=True)"
            ) from None


class _Outputs:
    """Puts the outputs together, each part when those in front of it are there, in a thread beside the work."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._counts = Counts()
        self._assembly: Assembly | None = None
        self._place = -1  # of the target that is being written
        self._next = 0  # the part whose turn it is
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="xmltools-batch")
        self._steps: deque[Future[None]] = deque()

    def __enter__(self) -> _Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)
        if self._assembly is not None:
            self._assembly.close()

    def advance(self) -> None:
        """Let what is there be written. Raises what went wrong with what was there before."""
        while self._steps and self._steps[0].done():
            self._steps.popleft().result()
        places = self._run.places
        while self._next < len(places) and (part := self._run.parts.path(self._next)).exists():
            self._steps.append(self._thread.submit(self._add, places[self._next], part))
            self._next += 1

    def finish(self) -> Counts:
        """Write what is left, when all parts are there. Returns what they say of their rows."""
        self.advance()
        self._steps.append(self._thread.submit(self._go_to, len(self._run.targets)))
        for step in self._steps:
            step.result()
        return self._counts

    def _add(self, place: int, part: Path) -> None:
        self._go_to(place)
        assert self._assembly is not None
        self._assembly.add(part)

    def _go_to(self, place: int) -> None:
        """Finish the targets in front of one and begin it, or finish all."""
        while self._place < place:
            if self._assembly is not None:
                self._assembly.finish()
                self._assembly = None
            self._place += 1
            if self._place < len(self._run.targets):
                self._assembly = self._begin(self._run.targets[self._place])

    def _begin(self, target: Target) -> Assembly:
        alike = len(target.sources) == 1 and target.sources[0].kind.format != "jsonl"
        return Assembly(target.path, target.kind, self._run.options, self._counts, alike=alike)


def _made_of(options: BatchOptions, target: Target) -> dict[str, Any]:
    return {"options": options.as_json(), "inputs": [_state(source.path) for source in target.sources]}


def _what_counts(options: BatchOptions, targets: Sequence[Target]) -> dict[str, Any]:
    """Return all that the parts of a run depend on."""
    versions = [__version__]
    sources = [source for target in targets for source in target.sources]
    if {kind.format for kind in [each.kind for each in targets] + [each.kind for each in sources]} - {"jsonl"}:
        from xmltools.batch.arrow import pa

        versions.append(pa.__version__)
    return {
        "versions": versions,
        "pieces": [ROWS, SIZE],
        "options": options.as_json(),
        "inputs": [_state(source.path) for source in sources],
        "outputs": [[str(target.path.absolute()), *target.kind] for target in targets],
    }


def _state(path: Path) -> list[Any]:
    state = path.stat()
    return [str(path.absolute()), state.st_size, state.st_mtime_ns]
