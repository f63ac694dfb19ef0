"""The workers (`--helpers`): processes that read for the server what may take long, so no client waits for another."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections import Counter, deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import xmltools
from xmltools.proxy.bridge.worker import LENGTHS, WorkerAnswer, pack_message

_LOG = logging.getLogger("xmltools.serve")
_COMMAND = (sys.executable, "-P", "-m", "xmltools.proxy.bridge.worker")
_PATIENCE = 5.0
"""Seconds in which a process ends that has nothing more to do."""


class WorkerLostError(Exception):
    """The process that read something has ended, and what it knew is lost."""


class Worker:
    """One process. It does one thing after the other; `clients` are those for which it has something open."""

    def __init__(self) -> None:
        self.clients: Counter[str] = Counter()
        self.is_lost = False
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: deque[asyncio.Future[WorkerAnswer]] = deque()  # a worker answers in order
        self._reading: asyncio.Task[None] | None = None
        self._numbers = count(1)

    def number(self) -> int:
        """Return a number for something new."""
        return next(self._numbers)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start the process. Raises OSError if the system does not let us."""
        path = os.pathsep.join(filter(None, (str(Path(xmltools.__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        pipe = subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path}
        )
        self._reading = asyncio.create_task(self._read())

    async def ask(self, head: dict[str, Any], body: bytes = b"") -> WorkerAnswer:
        """Send a message; return its answer. Raises WorkerLostError if there is none."""
        answer = self.tell(head, body)
        try:
            if self._process is not None and self._process.stdin is not None:
                await self._process.stdin.drain()
            return await answer
        except ConnectionError:
            raise WorkerLostError from None
        finally:
            answer.cancel()  # where nobody waits any more

    def tell(self, head: dict[str, Any], body: bytes = b"") -> asyncio.Future[WorkerAnswer]:
        """Send a message; return what gets its answer."""
        if self.is_lost or self._process is None or self._process.stdin is None:
            raise WorkerLostError
        answer: asyncio.Future[WorkerAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._process.stdin.write(pack_message(head, body))
        return answer

    def give_back(self, client: str, number: int = 0) -> None:
        """Say that something of a client's is over, and by which number it was known."""
        self.clients[client] -= 1
        if not self.clients[client]:
            del self.clients[client]
        if number and not self.is_lost:
            self.tell({"do": "abandon", "number": number}).cancel()

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        source = self._process.stdout
        try:
            while True:
                size, more = LENGTHS.unpack(await source.readexactly(LENGTHS.size))
                head: dict[str, Any] = json.loads(await source.readexactly(size))
                body = await source.readexactly(more)
                waiting = self._waiting.popleft()
                if not waiting.done():
                    waiting.set_result((head, body))
        except (asyncio.IncompleteReadError, ConnectionError):
            _LOG.warning("a process that reads for the server has ended; another one is started when it is needed")
        finally:
            self.is_lost = True
            for each in self._waiting:
                if not each.done():
                    each.set_exception(WorkerLostError())

    async def close(self) -> None:
        """End the process."""
        self.is_lost = True
        process = self._process
        if process is None:
            return
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if process.stdin is not None:
            process.stdin.close()
        # What it still says must be taken: asyncio knows of its end only when it has seen that of its output.
        skipping = asyncio.create_task(_skip(process.stdout)) if process.stdout is not None else None
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()
        finally:
            if skipping is not None:
                skipping.cancel()


async def _skip(source: asyncio.StreamReader) -> None:
    """Read what nobody wants."""
    with suppress(ConnectionError):
        while await source.read(1 << 16):
            pass


class Workers:
    """The processes of a server: at most so many, and each is started when it is first needed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._workers: list[Worker] = []
        self._starting = asyncio.Lock()
        self._is_refused = False

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that run."""
        return [each.pid for each in self._workers if not each.is_lost]

    async def take(self, client: str) -> Worker | None:
        """Return a process for something of a client's, None if the system lets us have none.

        A client keeps to one process while that has something open for it: so it can't fill all of them. Others get
        the one that has the least to do, by the number of clients.
        """
        if not self._most:
            return None
        async with self._starting:
            for lost in [each for each in self._workers if each.is_lost]:
                self._workers.remove(lost)
                await lost.close()
            own = next((each for each in self._workers if each.clients[client]), None)
            worker = own or min(self._workers, key=lambda each: len(each.clients), default=None)
            if worker is None or (not own and worker.clients and len(self._workers) < self._most):
                worker = await self._start() or worker
        if worker is not None:
            worker.clients[client] += 1
        return worker

    async def _start(self) -> Worker | None:
        worker = Worker()
        try:
            await worker.start()
        except OSError as error:
            if not self._is_refused:
                self._is_refused = True
                _LOG.warning("no process can be started (%s): what takes long is read where all clients wait", error)
            return None
        self._workers.append(worker)
        return worker

    async def close(self) -> None:
        """End all processes."""
        workers, self._workers = self._workers, []
        for each in workers:
            await each.close()
