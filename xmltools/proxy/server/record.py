"""What is known of one request, for the log, the metrics and the traces: numbers, codes and names, no content.

Of the names that clients give, the first hundred plain ones are told apart: each is a time series and a line.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers

from xmltools.proxy.bridge import Stats

__all__ = ["OTHER", "Names", "Record", "record_of"]

_KEY = "xmltools.record"
_ID = re.compile(r"[A-Za-z0-9._:@=/+-]{1,128}")

OTHER = "other"
_MOST = 100
_PLAIN = r"[A-Za-z0-9_.-]{1,64}"


@dataclass(slots=True)
class Record:
    """One request. Times are seconds since it came, None for what did not happen.

    `outcome`: "ok", "call_failed" (the client was told that a call was not made), "refused" (by us), "upstream_error",
    "timeout", "client_left", "stopped" (by the end of the server) or "failed" (our fault). `ttft`: from the question to
    the upstream until its first byte. `overhead`: what our own work on the request and the answer took.
    `first_argument`: until the first piece of an argument was read. `error`: why the upstream was not reached.
    """

    id: str
    method: str
    route: str = "other"
    model: str = ""
    stream: bool = False
    status: int = 0
    outcome: str = "ok"
    upstream_status: int = 0
    error: str = ""
    ttft: float | None = None
    first_argument: float | None = None
    overhead: float = 0.0
    stats: Stats | None = None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, scope: MutableMapping[str, Any]) -> Record:
        """Make the record of a request and keep it in its scope. The client's own id is taken if it is a plain word."""
        given = Headers(scope=scope).get("x-request-id", "")
        record = cls(id=given if _ID.fullmatch(given) else f"req_{uuid.uuid4().hex}", method=scope["method"])
        scope[_KEY] = record
        return record

    @property
    def elapsed(self) -> float:
        """Seconds since the request came."""
        return time.perf_counter() - self.started


def record_of(scope: MutableMapping[str, Any]) -> Record:
    """Return the record of a request."""
    record: Record = scope[_KEY]
    return record


class Names:
    """The names that have been met since the process began. `plain` is a pattern of those that are told apart."""

    def __init__(self, plain: str = _PLAIN) -> None:
        self._plain = re.compile(plain)
        self._known: set[str] = set()

    def known(self, name: str) -> str:
        """Return the name; "other" if it is long or strange, or there are many already."""
        if name not in self._known:
            if len(self._known) >= _MOST or not self._plain.fullmatch(name):
                return OTHER
            self._known.add(name)
        return name
