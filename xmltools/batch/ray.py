"""Parsing on Ray: from a laptop to a cluster.

`parse_dataset` brings `parse_table` to the rows of a data set. `run_on_ray` parses files: Ray reads them in pieces,
one task a file, and each task that parses writes a file of its own, so that rows never come back to the driver. A
task that Ray repeats writes another file: those that count are the ones that the driver heard of.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from xmltools.batch.arrow import pa
from xmltools.batch.files.join_parts import Assembly
from xmltools.batch.files.places import ENDINGS, FORMATS, PARTS, Kind, Place, Source, find_sources, kind_of
from xmltools.batch.files.read_pieces import check_columns, read_weighted
from xmltools.batch.files.workers import Task, Worker
from xmltools.batch.options import BatchOptions, BatchUsageError
from xmltools.batch.summary import BatchProgress, BatchSummary, Counts, Tell
from xmltools.batch.table import parse_table
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line

_BLOCK = 16 << 20
"""Bytes of the pieces that one task parses, and so about those of a file that it writes."""

_SETTINGS = {"enable_progress_bars": False, "max_errored_blocks": 0, "target_max_block_size": _BLOCK}


# Data sets


def parse_dataset(
    dataset: Any, options: BatchOptions, *, batch_size: int = 1024, concurrency: int | tuple[int, int] | None = None
) -> Any:
    """Parse a column of a data set of Ray, when its rows are asked for.

    Takes a `ray.data.Dataset`, and how many workers are to parse: a number, or the least and the most of them (default:
    as many as there is room for). Each gets `batch_size` rows at a time. Returns the data set with the columns that
    `parse_table` adds.

    Raises `XMLToolsError` for anything else, and `ImportError` without Ray. A column that is missing is an exception of
    Ray's, once the rows are asked for.
    """
    data = _import_ray().data
    if not isinstance(dataset, data.Dataset):
        raise XMLToolsError(f"expected a ray.data.Dataset, got {type(dataset).__name__}")
    if not isinstance(options, BatchOptions):
        raise XMLToolsError(f"options: expected BatchOptions, got {type(options).__name__}")
    least, most = concurrency if isinstance(concurrency, tuple) else (concurrency or 1, concurrency)
    return dataset.map_batches(
        _Parse,
        fn_constructor_args=(options,),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(min_size=least, max_size=most),
    )


class _Parse:
    """`parse_table` in a worker, which gets the options, and compiles the tools, once."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options

    def __call__(self, table: Any) -> Any:
        return parse_table(table, self._options)


# Files


def run_on_ray(
    inputs: Place | Iterable[Place],
    output: Place,
    options: BatchOptions,
    *,
    address: str | None = None,
    format: str | None = None,
    on_progress: Tell | None = None,
) -> BatchSummary:
    """Parse the rows of files as `parse_files` does, on Ray.

    Takes files, folders and patterns. The output is a folder that is not there yet, of files in `format`, or as the
    ending of the folder's name says, or as all inputs are. They are in the order of the rows; each has the columns of
    its own rows. It is there only when all rows are in it.

    Without `address` the run has the Ray that this process has begun, else one on this machine that ends with it, and
    which nobody reaches from elsewhere. With it, it has the cluster that is there: each of its machines has xmltools,
    and the files under the same names. `on_progress` is called with a `BatchProgress` after each file.

    Raises `XMLToolsError` as `parse_files` does, and `ImportError` without Ray.
    """
    if not isinstance(options, BatchOptions):
        raise XMLToolsError(f"options: expected BatchOptions, got {type(options).__name__}")
    start = time.monotonic()
    sources = [source._replace(path=source.path.absolute()) for source in find_sources(inputs, output)]
    for source in sources:
        check_columns(source, options)
    kind = _output_kind(sources, Path(output), format)
    counts = Counts()
    with _connected(address) as ray, _draft_of(Path(output).absolute()) as draft:
        done = []
        for each in _run(ray, sources, options, draft, kind):
            done.append(each)
            counts.add(json.loads(each["counts"]))
            if on_progress is not None:
                share = min(1.0, sum(each["weight"] for each in done))
                on_progress(BatchProgress(counts.numbers["rows"], 0, share))
        names = _sorted(draft, done, kind)
    return counts.summary(
        seconds=time.monotonic() - start,
        inputs=tuple(source.path for source in sources),
        outputs=tuple(Path(output) / name for name in names),
    )


def _output_kind(sources: Sequence[Source], output: Path, format: str | None) -> Kind:
    if format is not None and format not in FORMATS:
        raise BatchUsageError(f"format: expected one of {', '.join(FORMATS)}, got {format!r:.40}")
    kinds = {source.kind for source in sources}
    kind = ENDINGS[f".{format}"] if format else kind_of(output)
    if kind is None and len(kinds) > 1:
        raise BatchUsageError(f"{output}: the inputs have several formats; give the one of the files in this folder")
    return kind or kinds.pop()


@contextmanager
def _draft_of(output: Path) -> Iterator[Path]:
    """Make a folder that becomes the output, if nothing goes wrong. Whatever goes wrong, no part of it is left."""
    if output.is_dir() and not any(output.iterdir()):
        output.rmdir()
    if output.exists():
        what = "a folder with files" if output.is_dir() else "a file"
        raise BatchUsageError(f"{output}: there is {what} already; with Ray the output must be a new folder")
    draft = output.with_name(output.name + PARTS)
    if draft.exists():
        raise BatchUsageError(f"{draft}: an earlier run did not end; remove this folder")
    draft.mkdir(parents=True)
    try:
        yield draft
        draft.rename(output)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _sorted(draft: Path, done: Sequence[Mapping[str, Any]], kind: Kind) -> list[str]:
    """Name the files after the order of their rows, and remove those of tasks that Ray repeated."""
    ending = next(ending for ending, each in ENDINGS.items() if each == kind)
    names = []
    for place, each in enumerate(sorted(done, key=lambda each: (each["number"], each["first"]))):
        names.append(f"part-{place:05}{ending}")
        (draft / each["file"]).rename(draft / names[-1])
    for left in {path.name for path in draft.iterdir()} - set(names):
        (draft / left).unlink(missing_ok=True)
    return names


# What Ray does


def _run(ray: Any, sources: Sequence[Source], options: BatchOptions, folder: Path, kind: Kind) -> Iterator[Any]:
    """Yield what the tasks have written. Raises `XMLToolsError` for what went wrong in one."""
    with _settings(ray.data.DataContext.get_current()):
        numbers = ray.data.from_items([{"number": place} for place in range(len(sources))])
        # Tasks that ask for other resources are not made one with those that parse: a file would have one worker.
        pieces = numbers.repartition(len(sources)).map_batches(
            _read_files, fn_kwargs={"sources": sources}, batch_size=1, batch_format="pyarrow", num_cpus=0.01
        )
        done = pieces.map_batches(
            _parse_pieces,
            fn_kwargs={"sources": sources, "options": options, "folder": folder, "kind": kind},
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=1,
        )
        try:
            for batch in done.iter_batches(batch_size=None, batch_format="pyarrow"):
                for result in batch.to_pylist():
                    if result["problem"] is not None:
                        raise XMLToolsError(result["problem"])
                    yield result
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            raise XMLToolsError(f"Ray ended the run: {str(error).partition(chr(10))[0]:.300}") from None


@contextmanager
def _settings(context: Any) -> Iterator[None]:
    """Have data sets that are made here say nothing, and leave out nothing."""
    before = {name: getattr(context, name) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        setattr(context, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)


# What the tasks do. What goes wrong is a result too: Ray keeps no more of an exception than its text.

_INT, _FLOAT, _TEXT = pa.int64(), pa.float64(), pa.string()
_PIECES = pa.schema(
    {"number": _INT, "first": _INT, "rows": _INT, "weight": _FLOAT, "data": pa.large_binary(), "problem": _TEXT}
)
"""What is read: rows of the file with the number, or why there are none."""
_DONE = pa.schema({"file": _TEXT, "number": _INT, "first": _INT, "weight": _FLOAT, "counts": _TEXT, "problem": _TEXT})
"""What is written: the file, where its rows come from and what they hold, or why there is none."""


def _read_files(batch: Any, sources: Sequence[Source]) -> Iterator[Any]:
    """Yield the pieces of files, each as a table of one row."""
    total = sum(source.size for source in sources)
    for number in batch["number"].to_pylist():
        try:
            for piece, weight in read_weighted(sources[number], total):
                yield _one(_PIECES, number, piece.first, piece.rows, weight, piece.encode(), None)
        except (XMLToolsError, OSError) as error:
            yield _one(_PIECES, number, 0, 0, 0.0, b"", str(error))


def _one(schema: Any, *values: Any) -> Any:
    return pa.Table.from_pylist([dict(zip(schema.names, values, strict=True))], schema)


def _parse_pieces(pieces: Any, sources: Sequence[Source], options: BatchOptions, folder: Path, kind: Kind) -> Any:
    """Parse pieces and write a file with their rows. Returns a table with one row, which describes it."""
    found = pieces.to_pylist()
    if not found:
        return _DONE.empty_table()
    number, first = found[0]["number"], found[0]["first"]
    weight = sum(each["weight"] for each in found)
    file = uuid4().hex
    counts, problem = Counts(), None
    try:
        with TemporaryDirectory() as parts, Assembly(folder / file, kind, options, counts) as assembly:
            for place, piece in enumerate(found):
                source, problem = sources[piece.pop("number")], piece.pop("problem")
                if problem is not None:
                    raise XMLToolsError(problem)
                part, lines = Path(parts) / str(place), source.kind.format == "jsonl"
                _worker(options).do(Task(path=part, source=str(source.path), lines=lines, kind=kind, **piece))
                assembly.add(part)
            assembly.finish()
    except (XMLToolsError, OSError, MemoryError) as error:
        problem = str(error) or type(error).__name__
    return _one(_DONE, file, number, first, weight, json.dumps(counts.as_json()), problem)


@lru_cache(maxsize=1)
def _worker(options: BatchOptions) -> Worker:
    """Return the worker of this process, which has made its tools for the tasks that come after the first."""
    return Worker(options)


# Ray itself: where it comes from, and its cluster

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# Ray would listen on all interfaces, and whoever reaches its ports runs code. What forbids clusters keeps it on
# loopback.
_LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def _import_ray() -> Any:
    """Return Ray, which tells nobody that it is used. Raises `ImportError` if it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import_module("ray.data")
    except ImportError:
        raise ImportError(f"xmltools.batch on Ray needs the library ray: {install_line('ray')}") from None
    return import_module("ray")


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Return Ray with a cluster: that of this process, the one at the address, or one that ends afterwards."""
    if address == "local":  # the word that Ray has for none
        address = None
    if address is None and "ray" not in sys.modules:
        os.environ.update([_LOOPBACK])
    ray = _import_ray()
    if ray.is_initialized():
        if address is not None:
            raise BatchUsageError("address: this process is connected to Ray already; leave the address out")
        yield ray
        return
    # Names of sockets, which are in this folder, are not to be long.
    short = "/tmp" if Path("/tmp").is_dir() else None
    with TemporaryDirectory(prefix="xr-", dir=short, ignore_cleanup_errors=True) as folder:
        try:
            _connect(ray, address, folder)
            yield ray
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str | None, folder: str) -> None:
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address is None:
        if _LOOPBACK not in os.environ.items():
            raise BatchUsageError("Ray was imported before, and would listen on all interfaces; call ray.init() first")
        ray.init(address="local", include_dashboard=False, _temp_dir=folder, **quiet)
        return
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdecimal():  # Ray itself would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise XMLToolsError(f"there is no cluster of Ray at {address}: {reason:.200}") from None
