"""The scripted model as an upstream in the same process, without a port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from urllib.parse import unquote, urlsplit

from starlette.requests import Request as Asked
from starlette.types import Scope

from xmltools.proxy.scripted.player import Player
from xmltools.proxy.server.network import Request, Response


class InProcess:
    """Sends requests to a player, as `Sender` says."""

    def __init__(self, player: Player) -> None:
        self._player = player

    @asynccontextmanager
    async def open(self, request: Request, *, decode: bool) -> AsyncIterator[Response]:
        """Let the player choose an answer; give it as soon as it begins."""
        start, content = self._player.clock(), request.content
        if content is not None and not isinstance(content, bytes):
            content = b"".join([piece async for piece in content])
        url = urlsplit(request.url)
        scope: Scope = {"type": "http", "method": request.method, "path": unquote(url.path), "query_string": b""}
        scope["headers"] = [(name.lower(), value) for name, value in request.headers]
        scope["state"] = {"turn": request.turn}
        answer = self._player.answer(Asked(scope), content or b"")
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
        async with aclosing(self._player.play(answer, start)) as pieces:
            await anext(pieces)
            yield Response(answer.status, headers, pieces)

    async def close(self) -> None:
        """There is nothing to close."""
