"""What the host chooses for all requests of a transport."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Exchange, Settings

__all__ = ["DEFAULTS", "MAX_BODY", "Options", "check_request"]

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request, and of an answer that is no stream, unless the host says otherwise."""
DEFAULTS = Settings()

_PATH = re.compile(r'/[!"$->@-~]*')  # what is printable, without ? and #


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for all requests of a transport."""

    settings: Settings
    upstream_path: str | None
    max_body: int
    on_exchange: Callable[[Exchange], None] | None

    def __post_init__(self) -> None:
        if self.upstream_path is not None and not _PATH.fullmatch(self.upstream_path):
            raise XMLToolsError(
                f"upstream_path: expected a path such as '/v1/chat/completions', got {self.upstream_path!r:.80}; "
                "the host is that of the request"
            )
        if type(self.max_body) is not int or self.max_body < 1:
            raise XMLToolsError(f"max_body: expected a number of bytes from 1, got {self.max_body!r:.40}")


def check_request(request: object, transport: type) -> None:
    """Raise XMLToolsError for a request of another library: `httpx` takes any transport, and fails later."""
    if not isinstance(request, httpx2.Request):
        client = "AsyncClient" if transport.__name__.startswith("Async") else "Client"
        library = type(request).__module__.partition(".")[0]
        raise XMLToolsError(
            f"{transport.__name__} is for httpx2.{client}, and this is a client of {library}; "
            f"make it with httpx2: httpx2.{client}(transport={transport.__name__}())"
        )
