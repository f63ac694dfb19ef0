"""What all endpoints share: the configuration, the upstream, the numbers, and who watches."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from xmltools.bridge import Exchange
from xmltools.events import ArgumentDelta, Event
from xmltools.playground import LiveHub
from xmltools.serve._aside import Aside
from xmltools.serve._logging import PassedOver
from xmltools.serve._metrics import Metrics
from xmltools.serve._record import Record
from xmltools.serve._upstream import Upstream
from xmltools.serve.config import ServeConfig

__all__ = ["Service", "Stopwatch"]


@dataclass(slots=True)
class Service:
    """The parts that make up a running server."""

    config: ServeConfig
    upstream: Upstream
    metrics: Metrics
    hub: LiveHub | None = None
    passed_over: PassedOver = field(default_factory=PassedOver)
    aside: Aside = field(default_factory=Aside)

    def observe(self, exchange: Exchange, record: Record) -> None:
        """Listen to the events of an exchange: for the live view, and until the first piece of an argument.

        To be called in the event loop.
        """
        exchange.on_event = _hook(exchange, record, self.hub)


def _hook(exchange: Exchange, record: Record, hub: LiveHub | None) -> Callable[[int, Event], None]:
    loop, home = asyncio.get_running_loop(), threading.get_ident()

    def heard(choice: int, event: Event) -> None:
        if record.first_argument is None and isinstance(event, ArgumentDelta):
            record.first_argument = record.elapsed
            if hub is None:
                exchange.on_event = None  # nothing more is wanted, and every event would pay
        if hub is None:
            return
        if threading.get_ident() == home:
            hub.event(record.id, choice, event)
        else:
            loop.call_soon_threadsafe(hub.event, record.id, choice, event)

    return heard


class Stopwatch:
    """Adds the time that a block takes to a record's overhead."""

    __slots__ = ("_record", "_since")

    def __init__(self, record: Record) -> None:
        self._record = record
        self._since = 0.0

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._record.overhead += time.perf_counter() - self._since
