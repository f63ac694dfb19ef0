"""The parts that make up a running server, which every endpoint gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from xmltools.proxy.bridge import AddedFields
from xmltools.proxy.playground import LiveHub
from xmltools.proxy.server.chat_templates import ToldDialects
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import PassedOver, Record
from xmltools.proxy.server.metrics import Metrics
from xmltools.proxy.server.upstream import Upstream

LONG = 8_192
"""Characters that take some milliseconds to read in the worst of requests and replies."""
_THREADS = 4
"""Threads that read what is long. More would only take time from the event loop."""
_T = TypeVar("_T")


@dataclass(slots=True)
class Service:
    """The parts that make up a running server."""

    config: ServeConfig
    upstream: Upstream
    metrics: Metrics
    hub: LiveHub | None
    told: ToldDialects
    added: AddedFields = field(default_factory=AddedFields)
    passed_over: PassedOver = field(default_factory=PassedOver)
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_THREADS))

    def relay_options(self, record: Record) -> dict[str, Any]:
        """Return the options of a relay that answers a request."""
        return {"most": self.config.max_answer, "request_id": record.id}

    async def in_thread(self, work: Callable[..., _T], *given: Any) -> _T:
        """Do what takes long in a thread. Requests that wait for one get it in the order in which they came."""
        return await anyio.to_thread.run_sync(work, *given, limiter=self.threads)

    async def read(self, body: bytes, work: Callable[[], _T]) -> _T:
        """Return the result of reading a request, in a thread if that may take long."""
        return await self.in_thread(work) if len(body) > LONG else work()
