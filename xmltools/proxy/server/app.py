"""The server: an app of Starlette, and how it is run."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Api, Exchange
from xmltools.proxy.playground import LiveHub
from xmltools.proxy.scripted.server import ScriptedModel
from xmltools.proxy.server.chat_templates import ToldDialects
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.first_look import report_upstream
from xmltools.proxy.server.guard import Guard
from xmltools.proxy.server.in_process import InProcess
from xmltools.proxy.server.logging import configure_logging
from xmltools.proxy.server.metrics import Metrics
from xmltools.proxy.server.network import Connections, Sender
from xmltools.proxy.server.routes import make_routes
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.upstream import Upstream
from xmltools.terminal import say

_HEADERS = ("x-request-id", "request-id", "retry-after")
_HEAD_SIZE = 64 * 1024
_BACKLOG = 2048
_SWITCH = 0.0005
"""Seconds after which a thread that reads what is long lets the event loop go on."""
_OTHER_FILES = 256
_PORTS = {"http": 80, "https": 443}
_LOOK = 0.1
"""Seconds after which it is looked whether the process was told again to stop."""
_LAST_WORDS = 1.5
"""Seconds for what is open when the server is stopped: a little more than it takes for its error event."""


def create_app(config: ServeConfig, *, sender: Sender | None = None) -> Starlette:
    """Return the server as an ASGI app.

    `sender` sends the requests to the upstream and stays the caller's; by default they go over the network, or, for a
    demo, to the scripted model. Raises XMLToolsError if recordings can't be kept where they should.
    """
    hub = LiveHub() if config.live else None
    metrics = Metrics()
    used = sender or _sender(config)
    upstream = Upstream(config, used)
    told = ToldDialects(config, upstream)
    service = Service(config, upstream, metrics, hub, told)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        if sender is None:
            await used.close()

    middleware = [Middleware(Guard, config=config, metrics=metrics)]
    if config.origins:
        middleware.insert(0, Middleware(CORSMiddleware, **_cors(config)))
    app = Starlette(routes=make_routes(service), middleware=middleware, lifespan=lifespan)
    app.state.hub = hub
    return app


def _cors(config: ServeConfig) -> dict[str, Any]:
    every = {"allow_methods": ["*"], "allow_headers": ["*"]}
    return {"allow_origins": list(config.origins), "expose_headers": list(_HEADERS), **every}


def _sender(config: ServeConfig) -> Sender:
    if config.demo:
        return InProcess(ScriptedModel(speed=config.speed))
    return Connections(config.base_url, config.connect_timeout, option=" (--connect-timeout)")


class _Server(uvicorn.Server):
    """A server whose end is orderly.

    It first ends what pages of the live view read, which has no end of its own. What is open may go on for `grace`
    seconds, or until the process is told to stop again. Then it is cancelled, and has some time for its last words:
    uvicorn would end the process without them, and log each as a fault.
    """

    def __init__(self, app: ASGIApp, grace: float, hub: LiveHub | None = None, *, is_beside: bool = False) -> None:
        options: dict[str, Any] = {"log_config": None, "access_log": False, "ws": "none", "server_header": False}
        # The other reader of HTTP has no bound for heads.
        super().__init__(uvicorn.Config(app, http="h11", h11_max_incomplete_event_size=_HEAD_SIZE, **options))
        self._hub = hub
        self._grace = grace
        self._hurried = False
        self._is_beside = is_beside
        self.beside: list[BaseProcess] = []

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at the second signal without waiting for what is open, at the third at once. The other processes get
        each signal from here, so they ignore those of a terminal."""
        if self._is_beside and sig == signal.SIGINT:
            return
        for each in self.beside:
            each.terminate()
        if self.should_exit and not self._hurried:
            self._hurried = True
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: take nothing new, and let what is open come to its end."""
        if self._hub is not None:
            self._hub.close()
        ending = asyncio.create_task(self._end_open())
        await super().shutdown(sockets)
        ending.cancel()

    async def _end_open(self) -> None:
        until = time.monotonic() + self._grace
        while time.monotonic() < until and not self._hurried:
            await asyncio.sleep(_LOOK)
        tasks = set(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def run(config: ServeConfig, *, log_format: str = "text") -> int:
    """Serve until the process is told to stop. Returns the exit status.

    `log_format` is "text" or "json". Raises XMLToolsError if the address can't be listened at, or is the upstream's.
    """
    check_elsewhere(config)
    app = _ready_app(config, log_format)
    _allow_files(2 * config.max_streams + _OTHER_FILES)
    target = "a scripted model" if config.demo else config.base_url

    def listening(listener: socket.socket) -> list[BaseProcess]:
        if not config.demo:
            # Only a process that goes on may have such a thread: one that ends meanwhile may crash.
            threading.Thread(target=report_upstream, args=(config,), name="xmltools-start", daemon=True).start()
        spawned = multiprocessing.get_context("spawn")
        beside = [
            spawned.Process(target=_run_beside, args=(config, log_format, listener), daemon=True)
            for _ in range(config.workers - 1)
        ]
        for each in beside:
            each.start()
        return list(beside)

    what = f"in front of {target}"
    return run_app(app, config.host, config.port, what, grace=config.grace, hub=app.state.hub, listening=listening)


def _ready_app(config: ServeConfig, log_format: str) -> Starlette:
    app = create_app(config)
    _load_translators()
    # What was loaded stays. The garbage collector, which stops all streams while it looks, need not look at it.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH)
    configure_logging(log_format)
    return app


def _run_beside(config: ServeConfig, log_format: str, listener: socket.socket) -> None:
    """Serve in another process, until the one that started it ends or says stop."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Server(_ready_app(config, log_format), config.grace, is_beside=True).run(sockets=[listener])


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def check_elsewhere(config: ServeConfig) -> None:
    """Raise XMLToolsError if the upstream is the address to listen at: the server would ask itself without end."""
    parts = urlsplit(config.base_url)
    if config.demo or config.port == 0 or (parts.port or _PORTS[parts.scheme]) != config.port:
        return
    own, others = _addresses(config.host, config.port), _addresses(parts.hostname or "", config.port)
    is_everywhere = any(ipaddress.ip_address(each).is_unspecified for each in own)
    if own & others or (is_everywhere and any(map(_is_here, others))):
        raise XMLToolsError(
            f"upstream: expected the URL of the model's server, but {config.base_url} is where this server is to "
            "listen itself; give the model's, or choose another --port for this one"
        )


def _addresses(host: str, port: int) -> set[str]:
    """Return the addresses of a host, none if there is no such host: who connects to it says so."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        return set()
    return {str(address[0]).partition("%")[0] for *_, address in found}


def _is_here(address: str) -> bool:
    """Return whether an address is one of this machine: nothing can be bound to any other."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


_MESSAGES = [{"role": "user", "content": "-"}]
_SMALLEST_REQUESTS: dict[Api, dict[str, Any]] = {
    "chat": {"model": "none", "messages": _MESSAGES, "stream": True},
    "messages": {"model": "none", "messages": _MESSAGES, "max_tokens": 1, "stream": True},
    "responses": {"model": "none", "input": "-", "stream": True},
}


def _load_translators() -> None:
    """Read a request and a reply of each API, so that what is loaded on first use is there for the first client."""
    for api, request in _SMALLEST_REQUESTS.items():
        exchange = Exchange(api, request)
        exchange.feed({"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]})
        exchange.end()


def _allow_files(number: int) -> None:
    """Let the process have so many open files, or as many as the system allows: each stream holds two connections."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def run_app(
    app: ASGIApp,
    host: str,
    port: int,
    what: str,
    *,
    grace: float = 0.0,
    hub: LiveHub | None = None,
    listening: Callable[[socket.socket], list[BaseProcess]] = lambda listener: [],
) -> int:
    """Run an ASGI app until the process is told to stop; say on stderr where it is and `what` it is. `listening` is
    called when the address is ours; it may start processes that serve there too, and returns these.

    Returns the exit status. Raises XMLToolsError if the address can't be listened at.
    """
    listener = _listen(host, port)
    server = _Server(app, grace, hub)
    server.beside = listening(listener)
    name = f"[{host}]" if ":" in host else host
    said = f"xmltools: http://{name}:{listener.getsockname()[1]}/v1 {what}; Ctrl-C stops it"
    say(said, sys.stderr, "  ", flush=True)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # what it is stopped by, when all is done
        return 0
    finally:
        listener.close()
        for each in server.beside:
            each.join()
    return 0


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        # Not socket.create_server: asyncio turns off Nagle's algorithm, which holds back small pieces, only for sockets
        # that were made with the protocol's number.
        listener = socket.socket(*found[0][:3])
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(found[0][4])
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise XMLToolsError(f"can't listen at {host} port {port}: {reason}; choose another --host or --port") from None
    return listener
