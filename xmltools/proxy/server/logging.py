"""What is known of one request, for the log, the metrics and the traces, and the line that the log gets of it.

Never content, headers or keys: when, what, how long, what came of it.

Names that clients give (ids, models) are cut and written so that they can't break a line or steer a terminal.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers

from xmltools.proxy.bridge import Api, Stats
from xmltools.proxy.playground import LiveExchange
from xmltools.terminal import columns_of, wrapped

LOGGER = logging.getLogger("xmltools.serve")
logging.getLogger("xmltools").addHandler(logging.NullHandler())

_KEY = "xmltools.record"
_ID = re.compile(r"[A-Za-z0-9._:@=/+-]{1,128}")
_OTHER = "other"
_ROUTES = frozenset(
    (
        *("/", "/healthz", "/metrics", "/playground", "/playground/api/analyse", "/playground/api/dialects"),
        *("/live", "/live/events", "/live/exchange", "/live/case"),
        *("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/models"),
    )
)
_STARTS = {"/playground/static/": "/playground/static", "/v1/models/": "/v1/models", "/v1/": "passthrough"}
"""What logs and numbers have for other paths, by how these start."""
_MOST = 100
_PLAIN_NAME = r"[A-Za-z0-9_.-]{1,64}"
_LONGEST = 128
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/+-,")
_WARNED = ("upstream_error", "timeout", "call_failed", "call_unread")
_LEVELS = {"failed": logging.ERROR} | dict.fromkeys(_WARNED, logging.WARNING)


@dataclass(slots=True)
class Record:
    """One request. Times are seconds since it came, None for what did not happen.

    `api`: whose errors the client understands. `outcome`: "ok", "call_failed" (the client was told that a call was not
    made), "call_unread" (a call in another notation stayed text), "refused" (by us), "upstream_error", "timeout",
    "client_left", "stopped" (by the end of the server) or "failed" (our fault). `ttft`: from the question to the
    upstream until its first byte. `overhead`: what our own work on the request and the answer took. `first_argument`:
    until the first piece of an argument was read. `error`: why the upstream gave no whole answer, in our own words.
    `reason`: the code of a refusal. `live`: what the live view keeps of the request; it has content, and is not read
    here.
    """

    id: str
    method: str
    api: Api
    route: str
    model: str = ""
    stream: bool = False
    status: int = 0
    outcome: str = "ok"
    upstream_status: int = 0
    error: str = ""
    reason: str = ""
    ttft: float | None = None
    first_argument: float | None = None
    overhead: float = 0.0
    stats: Stats | None = None
    live: LiveExchange | None = None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, scope: MutableMapping[str, Any]) -> Record:
        """Make the record of a request and keep it in its scope. The client's own id is taken if it is a plain word."""
        given = Headers(scope=scope).get("x-request-id", "")
        id = given if _ID.fullmatch(given) else f"req_{uuid.uuid4().hex}"
        path = scope["path"]
        record = cls(id=id, method=scope["method"], api=_api_of(path), route=_route_of(path))
        scope[_KEY] = record
        return record

    @property
    def elapsed(self) -> float:
        """Seconds since the request came."""
        return time.perf_counter() - self.started


def _api_of(path: str) -> Api:
    """Return the API whose errors a client understands that asks for `path`."""
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return "messages"
    return "responses" if path.startswith("/v1/responses") else "chat"


def _route_of(path: str) -> str:
    """Return what numbers and logs have of a path."""
    if path in _ROUTES:
        return path
    return next((route for start, route in _STARTS.items() if path.startswith(start)), _OTHER)


def record_of(scope: MutableMapping[str, Any]) -> Record:
    """Return the record of a request."""
    record: Record = scope[_KEY]
    return record


class Names:
    """The names that clients have used since the process began. Only the first hundred are told apart, since each is a
    time series and a line of the log; `plain` is a pattern of those that may be."""

    def __init__(self, plain: str = _PLAIN_NAME) -> None:
        self._plain = re.compile(plain)
        self._known: set[str] = set()

    def known(self, name: str) -> str:
        """Return the name; "other" if it is long or strange, or there are many already."""
        if name not in self._known:
            if len(self._known) >= _MOST or not self._plain.fullmatch(name):
                return _OTHER
            self._known.add(name)
        return name


def log_request(record: Record) -> None:
    """Write the line of a request that has been answered."""
    level = _LEVELS.get(record.outcome, logging.INFO)
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, "request", extra={"fields": dict(_fields(record))})


def _fields(record: Record) -> Iterator[tuple[str, Any]]:
    yield from (("id", record.id), ("method", record.method), ("route", record.route), ("status", record.status))
    yield "outcome", record.outcome
    if record.reason:
        yield "reason", record.reason
    yield "ms", _milliseconds(record.elapsed)
    if record.model:
        yield from (("model", record.model[:_LONGEST]), ("stream", record.stream))
    if record.upstream_status:
        yield "upstream_status", record.upstream_status
    if record.error:
        yield "error", record.error
    if record.ttft is not None:
        yield "ttft_ms", _milliseconds(record.ttft)
    if record.stats is not None:
        yield "overhead_ms", _milliseconds(record.overhead)
        yield from _reply_fields(record)


def _reply_fields(record: Record) -> Iterator[tuple[str, Any]]:
    assert record.stats is not None
    stats = record.stats
    yield "dialect", stats.dialect
    yield "calls", len(stats.calls)
    for name, counts in (("repairs", stats.repairs), ("errors", stats.errors)):
        if counts:
            yield name, ",".join(f"{code}:{number}" for code, number in sorted(counts.items()))
    for name in ("retries", "failed", "invented", "foreign", "bad_arguments"):
        if count := getattr(stats, name):
            yield name, count
    if stats.again:
        yield "again", ",".join(stats.again)
    if stats.unread:
        yield "unread", stats.unread
    if stats.finish_reasons:
        yield "finish", ",".join(map(str, stats.finish_reasons))[:_LONGEST]
    for name, key in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        number = (stats.usage or {}).get(key)
        if isinstance(number, int):
            yield name, number


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


def log_failure(record: Record, error: BaseException) -> None:
    """Write that our own code failed: which error and where, but not its message, which may quote the reply."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f"{last.tb_frame.f_globals.get('__name__')}:{last.tb_lineno}" if last is not None else ""
    LOGGER.error("failure", extra={"fields": {"id": record.id, "error": type(error).__name__, "at": place}})


class PassedOver:
    """Says once for each name which fields and tools of requests nothing comes of here."""

    def __init__(self) -> None:
        self._fields = Names()
        self._types = Names()
        self._told: set[tuple[str, str]] = set()

    def tell(self, stats: Stats, route: str) -> None:
        """Write a line for each field and each type of tool that has none yet: names, never values."""
        for name in stats.ignored:
            self._tell("field", self._fields.known(name), logging.INFO, "ignored", route)
        for name in stats.left_out:
            self._tell("tool", self._types.known(name), logging.WARNING, "left_out", route)

    def _tell(self, kind: str, name: str, level: int, message: str, route: str) -> None:
        if (kind, name) not in self._told:
            self._told.add((kind, name))
            LOGGER.log(level, message, extra={"fields": {kind: name, "route": route}})


class _TextFormatter(logging.Formatter):
    """`time LEVEL message name=value name=value`, on a terminal in lines that end between words."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        words = [_time(record), record.levelname, _one_line(record.getMessage())]
        line = " ".join([*words, *(f"{name}={_written(value)}" for name, value in fields.items())])
        return wrapped(line, columns_of(sys.stderr), "  ")


class _JSONFormatter(logging.Formatter):
    """One JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        head = {"time": _time(record), "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps({**head, **fields}, default=str)


def _time(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)


def _written(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text and _PLAIN.issuperset(text) else json.dumps(text)


def configure_logging(format: str) -> None:
    """Send the log to standard error, as "text" or as "json"; what uvicorn has to say too, from warnings up."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JSONFormatter() if format == "json" else _TextFormatter())
    for name, level in (("xmltools", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
