"""Parsing on Ray: from a laptop to a cluster.

`parse_dataset` brings `parse_table` to the rows of a data set. `run_on_ray` is `parse_files` with the tasks of Ray in
place of processes. A task that Ray repeats writes the same part again.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xmltools.batch.files.places import Place
from xmltools.batch.files.run import Run
from xmltools.batch.files.workers import Task, Worker
from xmltools.batch.options import BatchOptions, BatchUsageError
from xmltools.batch.summary import BatchSummary, Tell
from xmltools.batch.table import parse_table
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line


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
    compute = data.ActorPoolStrategy(min_size=least, max_size=most)
    return dataset.map_batches(
        _Parse, fn_constructor_args=(options,), batch_format="pyarrow", batch_size=batch_size, compute=compute
    )


class _Parse:
    """`parse_table` in a worker, which gets the options, and compiles the tools, once."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options

    def __call__(self, table: Any) -> Any:
        return parse_table(table, self._options)


def run_on_ray(
    inputs: Place | Iterable[Place],
    output: Place,
    options: BatchOptions,
    *,
    address: str | None = None,
    on_progress: Tell | None = None,
    **how: Any,
) -> BatchSummary:
    """Parse the rows of files as `parse_files` does, which describes the arguments, on Ray.

    Without `address` the run has the Ray that this process has begun, or one on this machine that ends with it, and
    which nobody reaches from elsewhere. With it, it has the cluster that is there: each of its machines has xmltools,
    and sees the folder of the output under the same name. Raises `ImportError` without Ray.
    """
    run = Run(inputs, output, options, **how)
    with _connected(address) as ray:
        return run.go(partial(_work, ray, options), on_progress)


def _work(ray: Any, options: BatchOptions, tasks: Iterator[Task]) -> Iterator[Task]:
    """Do tasks, as many at once as the cluster has cores. Yields each that is done."""
    attempt, shared = ray.remote(_attempt), ray.put(options)
    running: dict[Any, Task] = {}
    while True:
        room = int(ray.cluster_resources().get("CPU", 1)) + 1 - len(running)
        for task in islice(tasks, max(0, room)):
            running[attempt.remote(shared, task)] = task._replace(data=b"")
        if not running:
            return
        (ended,), _ = ray.wait(list(running), num_returns=1)
        try:
            problem = ray.get(ended)
        except ray.exceptions.RayError as error:
            raise XMLToolsError(f"Ray ended the run: {str(error).partition(chr(10))[0]:.300}") from None
        if problem is not None:
            raise problem
        yield running.pop(ended)


_worker = lru_cache(maxsize=1)(Worker)
"""Returns the worker of a process, which has made its tools for the tasks that come after the first."""


def _attempt(options: BatchOptions, task: Task) -> Exception | None:
    return _worker(options).attempt(task)


# Ray itself: where it comes from, and its cluster

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# Ray would listen on all interfaces, and whoever reaches its ports runs code. What forbids clusters keeps it on
# loopback.
_LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def _import_ray() -> Any:
    """Return Ray, which tells nobody that it is used. Raises `ImportError` if it is not installed."""
    os.environ.update(_QUIET | os.environ)
    try:
        import_module("ray.data")
    except ImportError:
        raise ImportError(f"xmltools.batch on Ray needs the library ray: {install_line('ray')}") from None
    return import_module("ray")


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Return Ray with a cluster: that of this process, the one at the address, or one that ends afterwards."""
    address = None if address == "local" else address  # the word that Ray has for none
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
    logging.getLogger("ray").setLevel(logging.CRITICAL)
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
