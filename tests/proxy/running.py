"""A real server for tests: an ASGI app behind uvicorn, in a thread, on a free port of the loopback interface."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

__all__ = ["Server", "body_of", "running", "serving"]

_PATIENCE = 20.0  # seconds until a server that does not start or stop is a failure


class Server(uvicorn.Server):
    """A server that says when it listens, and can be told to stop from another thread."""

    def __init__(self, app: Any, *, port: int = 0, **options: Any) -> None:
        settings = {"log_level": "critical", "lifespan": "auto", "timeout_graceful_shutdown": 5, "ws": "none"} | options
        super().__init__(uvicorn.Config(app, **settings))
        self._listening = threading.Event()
        # With the protocol's number asyncio sends without delay; without it, each answer waits for 40 ms.
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(2048)
        self._thread = threading.Thread(target=self._run_thread, name="uvicorn", daemon=True)
        self._failure: BaseException | None = None
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening.set()

    def start(self) -> None:
        """Return as soon as connections are taken."""
        self._thread.start()
        listening = self._listening.wait(_PATIENCE)
        if self._failure is not None:
            raise self._failure
        assert listening and self.started, "the server did not start"

    def ask_to_stop(self) -> None:
        """Let the server finish what is open and take nothing new; it returns at once."""
        self.should_exit = True

    def stop(self) -> None:
        """Ask the server to stop, and return when it has."""
        self.ask_to_stop()
        self._thread.join(_PATIENCE)
        assert not self._thread.is_alive(), "the server did not stop"
        self._listener.close()

    def _run_thread(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self.serve(sockets=[self._listener]))
        except BaseException as failure:  # a failed start ends with SystemExit
            self._failure = failure
        finally:
            self._listening.set()


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[Server]:
    """Run `app`; yield its server, which has `url`, `ask_to_stop()` and uvicorn's `server_state`.

    `port` is any that is free, unless it is given. Other `options` go to `uvicorn.Config`.
    """
    server = Server(app, **options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """Run `app` for the time of the block; yield its address, such as `http://127.0.0.1:40001`, without a slash."""
    with serving(app, **options) as server:
        yield server.url


async def body_of(receive: Callable[[], Awaitable[Any]]) -> bytes:
    """Return the whole body of the request that an app has got."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body
