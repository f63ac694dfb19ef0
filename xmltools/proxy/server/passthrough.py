"""What is not translated: passed on to the upstream and back, byte for byte as it comes.

The path of a request can't lead out of the upstream's: what would climb is refused, also if it is written in escapes.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import Scope

from xmltools.conversations.streams import to_sse
from xmltools.proxy.bridge import Api, Refusal, error_body, error_message
from xmltools.proxy.bridge.client_errors import UpstreamStatusError
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.bridge.relay import EVENTS, JSON, MAX_ERROR, Answered, Ask, Head, Relay, Steps, Take, read_whole
from xmltools.proxy.server import network
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.network import Content
from xmltools.proxy.server.passed_answers import PassedAnswer
from xmltools.proxy.server.relayed_answer import RelayedAnswer
from xmltools.proxy.server.request_bodies import body_pieces, check_size
from xmltools.proxy.server.server_parts import Service

_PREFIX = b"/v1"
_COMPLETIONS = b"/completions"
"""What paths end with below which a model replies; their streams say that they have ended."""


def passed_on(
    service: Service,
    request: Request,
    path: bytes,
    body: bytes | None = None,
    around: AbstractContextManager[None] | None = None,
) -> RelayedAnswer:
    """Return what passes on a request to `path` below the upstream's base URL, and the answer back. Its body is passed
    on while it comes, unless it is given."""
    record, most, body_read = record_of(request.scope), service.config.max_body, None
    content: Content = body
    if body is None and {"content-length", "transfer-encoding"} & set(request.headers):
        check_size(request, most)
        body_read = asyncio.Event()
        content = body_pieces(request, most, body_read)
    hides = service.config.upstream_key is not None
    relay = Passing(record.api, is_chat=path.endswith(_COMPLETIONS), hides=hides, **service.relay_options(record))

    def make(_: Ask) -> network.Request:
        return service.upstream.passed(request.scope, path, content)

    return RelayedAnswer(service, record, relay, relay.steps(), make, body_read=body_read, around=around)


def upstream_path(scope: Scope) -> bytes:
    """Return the path below the upstream's base URL. Raises Refusal for one that could lead out of it."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    path = raw.removeprefix(_PREFIX)
    # Some servers decode twice.
    plain = unquote(unquote(path.decode("latin-1"))).replace("\\", "/")
    if not path.startswith(b"/") or {".", ".."} & set(plain.split("/")) or not plain.isprintable():
        raise Refusal("the path may not hold '.' or '..' as a part, nor control characters", code="invalid_path")
    return path


class Passing(Relay):
    """The relay of an answer that is passed on unchanged. `is_chat`: it should be a completion. `hides`: errors are
    read whole, to take the upstream's key out of them, which the client must not see."""

    raw = True

    def __init__(self, api: Api, *, is_chat: bool, hides: bool, **options: Any) -> None:
        super().__init__(api, **options)
        self._is_chat = is_chat
        self._hides = hides
        self._tail: bytes | None = None  # of what has been passed on of a stream

    def steps(self) -> Steps:
        """Return the steps, from the request to the last byte for the client."""
        return self._guarded(self._passed())

    def _passed(self) -> Steps:
        answered: Answered = yield Ask()
        yield from (self._error if self._hides and answered.status >= 400 else self._as_it_is)(answered)

    def _as_it_is(self, answered: Answered) -> Steps:
        passed = PassedAnswer(answered, is_chat=self._is_chat)
        # An answer with a content length has no place for an error after it.
        if answered.content_type.startswith(EVENTS) and not answered.is_bounded:
            self._tail = b"\n\n"
        self.begun = True
        yield Head(answered.status, answered.content_type)
        while (piece := (yield Take.TAKE)) is not None:
            yield piece
            passed.take(piece)
            if self._tail is not None:
                self._tail = (self._tail + piece[-4:])[-4:]
        if fault := passed.fault():
            self.failure = Refusal(fault.message, code="upstream_error", in_log=fault.cause)

    def _error(self, answered: Answered) -> Steps:
        body = yield from read_whole("the upstream's answer", MAX_ERROR)
        kind = answered.content_type or "application/octet-stream"
        # The key can't be found in a compressed error, which was not asked for.
        if answered.encoding not in ("", "identity"):
            message = error_message(b"", answered.status)
            kind, body = JSON, encoded(error_body(self._api, message, status=answered.status, code="upstream_error"))
        self.failure = UpstreamStatusError(answered.status, kind, body)
        yield Head(answered.status, kind, len(body))
        yield body

    def fail(self, failure: Refusal) -> Steps:
        """Send an error where it has a place; otherwise leave the answer without an end."""
        if not self.begun:
            yield from super().fail(failure)
        elif self._tail is not None and self._tail.endswith((b"\n\n", b"\r\r", b"\r\n\r\n")):
            self.failure = failure
            body = failure.body(self._api, self._request_id)
            yield to_sse([("error", body) if self._api == "messages" else body])
        else:
            self.failure, self.is_cut = failure, True
