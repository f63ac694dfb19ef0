"""Ray itself, which is not installed for everybody: where it comes from, and with which cluster behind it."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xmltools.batch.options import BatchUsageError
from xmltools.errors import XMLToolsError

__all__ = ["connected", "import_ray"]

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# Ray would listen on all interfaces, and whoever reaches its ports runs code. What forbids clusters keeps it on
# loopback.
_LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def import_ray() -> Any:
    """Return Ray, which tells nobody that it is used. Raises `ImportError` if it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import_module("ray.data")
    except ImportError:
        raise ImportError("xmltools.batch on Ray needs the library ray: pip install 'xmltools[ray]'") from None
    return import_module("ray")


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Return Ray with a cluster: that of this process, the one at the address, or one that ends afterwards."""
    if address == "local":  # the word that Ray has for none
        address = None
    if address is None and "ray" not in sys.modules:
        os.environ.update([_LOOPBACK])
    ray = import_ray()
    if ray.is_initialized():
        if address is not None:
            raise BatchUsageError("address: this process is connected to Ray already; leave the address out")
        yield ray
        return
    with TemporaryDirectory(prefix="xr-", dir=_short(), ignore_cleanup_errors=True) as folder:
        try:
            _connect(ray, address, folder)
            yield ray
        finally:
            ray.shutdown()


def _short() -> str | None:
    """Return where a folder for sockets can be, whose names are not to be long."""
    return "/tmp" if Path("/tmp").is_dir() else None


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
        _reach(address)
        ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise XMLToolsError(f"there is no cluster of Ray at {address}: {reason:.200}") from None


def _reach(address: str) -> None:
    """Raise `OSError` if nobody listens at an address: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
