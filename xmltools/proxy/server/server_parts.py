"""The parts that make up a running server, which every endpoint gets."""

from __future__ import annotations

from dataclasses import dataclass, field

from xmltools.models.events import ArgumentDelta, Event
from xmltools.proxy.bridge import Exchange
from xmltools.proxy.playground import LiveHub
from xmltools.proxy.server.chat_templates import ToldDialects
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import PassedOver, Record
from xmltools.proxy.server.metrics import Metrics
from xmltools.proxy.server.upstream import Upstream
from xmltools.proxy.server.workers import Workers


@dataclass(slots=True)
class Service:
    """The parts that make up a running server."""

    config: ServeConfig
    upstream: Upstream
    metrics: Metrics
    hub: LiveHub | None
    workers: Workers
    told: ToldDialects
    passed_over: PassedOver = field(default_factory=PassedOver)

    def observe(self, exchange: Exchange, record: Record) -> None:
        """Listen to the events of an exchange: for the live view, and until the first piece of an argument."""
        live = record.live

        def hear(choice: int, event: Event) -> None:
            if record.first_argument is None and isinstance(event, ArgumentDelta):
                record.first_argument = record.elapsed
                if live is None:
                    exchange.on_event = None  # nothing more is wanted, and every event would pay
            if live is not None:
                live.event(choice, event)

        exchange.on_event = hear
