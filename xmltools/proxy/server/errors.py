"""What clients are told when the upstream has no answer for them."""

from __future__ import annotations

from starlette.types import Scope, Send

from xmltools.proxy.bridge import Api, error_message
from xmltools.proxy.server.answers import send_bytes, send_error
from xmltools.proxy.server.upstream import UpstreamError, UpstreamStatusError

__all__ = ["send_failed", "send_refused"]


async def send_refused(scope: Scope, send: Send, api: Api, error: UpstreamStatusError) -> None:
    """Send the upstream's error: as it is, or what it says in the words of Anthropic's API."""
    if api != "messages":
        (_, kind), *headers = error.headers
        await send_bytes(send, error.body, kind, error.status, headers)
        return
    message = error_message(error.body, error.status)
    await send_error(scope, send, api, message, error.status, headers=error.headers[1:])


async def send_failed(scope: Scope, send: Send, api: Api, error: UpstreamError) -> None:
    """Send that there is no answer."""
    await send_error(scope, send, api, str(error), error.status, "upstream_error")
