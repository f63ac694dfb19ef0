"""Who looks after a request while it waits: what the work is told, and what its caller is."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from starlette.types import Message

from xmltools.proxy.server.watch import Watch


async def nobody_leaves() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nobody leaves")


async def leaves() -> Message:
    return {"type": "http.disconnect"}


async def until_late(watch: Watch) -> None:
    """Go on until the time has run out, as work does that is not waiting for anything just then."""
    watch.wait(0.0)
    with anyio.CancelScope(shield=True):
        while not watch.expired:
            await asyncio.sleep(0)


@pytest.mark.parametrize("finishes", [False, True])
def test_an_answer_that_is_there_when_time_runs_out_is_not_late(finishes: bool) -> None:
    async def run() -> None:
        watch = Watch(nobody_leaves)

        async def work() -> None:
            await until_late(watch)
            if finishes:
                watch.finish()

        await watch.run(work)
        assert (watch.expired, watch.finished) == (not finishes, finishes)

    asyncio.run(run())


def test_work_for_a_client_that_has_left_is_cancelled() -> None:
    async def run() -> None:
        watch = Watch(leaves)
        await watch.run(asyncio.Event().wait)  # type: ignore[arg-type]
        assert (watch.left, watch.expired) == (True, False)

    asyncio.run(run())


def test_what_the_work_raises_is_raised() -> None:
    async def run() -> None:
        async def work() -> None:
            raise ValueError("no")

        await Watch(nobody_leaves).run(work)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(run())
