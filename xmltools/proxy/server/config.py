"""What whoever runs the server chooses, checked before anything starts."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Settings
from xmltools.proxy.bridge.field_types import check_types
from xmltools.proxy.bridge.host_names import name_of
from xmltools.proxy.bridge.settings import AUTO, can_be_written, checked

_MIB = 1024 * 1024
_RIGHT_URL = "a URL such as http://localhost:8000/v1"
_SECONDS = ("connect_timeout", "first_byte_timeout", "idle_timeout", "keepalive")
_WHOLE = {
    "max_body": (1, math.inf, "a number of bytes from 1"),
    "max_answer": (1, math.inf, "a number of bytes from 1"),
    "max_streams": (0, math.inf, "a whole number from 0"),
    "workers": (1, math.inf, "a whole number from 1"),
    "port": (0, 65535, "a number from 0 (any that is free) through 65535"),
}
"""Whole numbers: the least, the most, and how that is said."""


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """How the server runs.

    `upstream` is the base URL of a server that speaks OpenAI's chat completions, such as `http://localhost:8000/v1`;
    without a path it gets `/v1`. `demo` takes the scripted model in its place, which waits like a real one, times
    `speed` faster (0: not at all). `settings` say how requests are written for the model.

    `api_key` must be sent by clients, as `Authorization: Bearer` or `x-api-key`; None asks for none. `upstream_key`
    goes to the upstream. Without both, the upstream gets what the client sent; a key of our own is never passed on.

    Time-outs are in seconds: `connect_timeout` until there is a connection, `first_byte_timeout` with that until an
    answer begins (where it is not streamed, that is when the model is ready), `idle_timeout` between two pieces.
    `keepalive`: when it was sent nothing for so long, a streaming client is told that we are still here. `grace`:
    how long open streams may go on when the server is stopped. `max_body` is the size of a request, `max_answer`
    that of an answer that is not streamed, in bytes. `max_streams` is how many requests to a model may be open at
    once, whether they stream or not, since each holds a connection to the upstream (0: any number); one more is
    refused with 503.

    `workers` is how many processes serve at the one address. Each has limits, metrics and requests of its own.

    `live` keeps exchanges, and shows them at `/live`. `record` is a folder that keeps all that the upstream says. Web
    pages of `origins` may use the server, others than its own may not ("*": all may). `hosts` are names under which the
    server is reached; where it listens on the loopback interface, all others but its own are refused.

    Raises XMLToolsError for values that make no sense.
    """

    upstream: str | None = None
    demo: bool = False
    speed: float = 1.0
    host: str = "127.0.0.1"
    port: int = 8080
    settings: Settings = field(default_factory=Settings)
    api_key: str | None = field(default=None, repr=False)
    upstream_key: str | None = field(default=None, repr=False)
    connect_timeout: float = 10.0
    first_byte_timeout: float = 600.0
    idle_timeout: float = 120.0
    keepalive: float = 15.0
    grace: float = 30.0
    max_body: int = 16 * _MIB
    max_answer: int = 64 * _MIB
    max_streams: int = 1000
    workers: int = 1
    live: bool = False
    record: Path | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked(self.settings)
        check_types(self, upstream=f"{_RIGHT_URL} or None")
        if self.demo == (self.upstream is not None):
            raise XMLToolsError(
                "expected either the URL of an upstream or the demo, not both; give upstream= or demo=True"
            )
        if self.demo:
            for dialect in (self.settings.dialect, *dict(self.settings.dialects).values()):
                if dialect != AUTO and not can_be_written(dialect):
                    raise XMLToolsError(f"dialect: the demo can't write calls in {dialect!r}; choose another one")
        if self.upstream is not None:
            _check_url(self.upstream)
            if self.speed != 1:
                raise XMLToolsError("speed: only the demo has one, not an upstream; leave it out")
        for name in (*_SECONDS, "speed", "grace"):
            value, above = getattr(self, name), name in _SECONDS
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if not is_number or value < 0 or (above and value == 0):
                raise XMLToolsError(f"{name}: expected a number {'above' if above else 'from'} 0, got {value!r:.60}")
        for name, (least, most, expected) in _WHOLE.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise XMLToolsError(f"{name}: expected {expected}, got {value!r:.60}")
        if self.live and self.workers > 1:
            raise XMLToolsError(
                "live: each process would show only its own requests; choose one worker, or leave it out"
            )
        for name in ("api_key", "upstream_key"):
            key = getattr(self, name)  # what a header can carry, and nothing that ends it
            if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key and key):
                raise XMLToolsError(
                    f"{name}: expected printable ASCII without spaces around it; check where the key is read from"
                )
        object.__setattr__(self, "hosts", tuple(map(_host, self.hosts)))
        object.__setattr__(self, "origins", tuple(map(_origin, self.origins)))

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names under which the server is reached, beside those of this machine."""
        return (self.host.lower(), *self.hosts)

    @property
    def base_url(self) -> str:
        """The URL under which the upstream has `/chat/completions`, without a slash at its end."""
        url = (self.upstream or "http://demo.invalid").rstrip("/")
        return url if urlsplit(url).path else f"{url}/v1"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        name = self.host.lower()
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost" or name.startswith("127.")


def _check_url(url: str) -> None:
    right = f"expected {_RIGHT_URL}"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise XMLToolsError(f"upstream: {right}, got one that can't be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise XMLToolsError(f"upstream: {right}, got {url!r:.200}")
    if parts.username is not None or parts.password is not None:
        raise XMLToolsError(f"upstream: {right} without a name or password; give the key as upstream_key")
    if parts.query or parts.fragment:
        raise XMLToolsError(f"upstream: {right} that ends with its path, without ? and #")


def _host(given: str) -> str:
    name = name_of(given if "://" in given else f"//{given}")
    if not name:
        raise XMLToolsError(f"hosts: expected a name such as tools.example, got {given!r:.100}")
    return name


def _origin(given: str) -> str:
    """Return an origin as browsers write it."""
    origin = given.strip().rstrip("/").lower()
    try:
        parts = urlsplit(origin)
        is_origin = bool(parts.scheme and parts.hostname) and origin == f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        is_origin = False
    if origin not in ("*", "null") and not is_origin:
        raise XMLToolsError(f"origins: expected an origin such as https://app.example, or *, got {given!r:.100}")
    return origin
