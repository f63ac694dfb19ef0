"""One client cannot hold up another: what takes long is read in other processes, and nobody sees where."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples

from proxy.test_server_upstream import BODIES as REQUESTS
from proxy.test_server_upstream import (
    PATIENCE,
    TOOL,
    Answer,
    Cut,
    Gate,
    Seen,
    Upstream,
    chunk,
    eventually,
    stream,
    whole,
    world,
)
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.bridge.worker import Journal
from xmltools.proxy.server.workers import Worker, WorkerLostError, Workers

ANY = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/any"}}, {"type": "string"}, {"type": "null"}]}


def slow_tool(name: str, argument: str) -> dict[str, Any]:
    properties = {argument: {"$ref": "#/$defs/any"}}
    parameters = {"type": "object", "properties": properties, "$defs": {"any": ANY}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SLOW_TOOL = slow_tool("slow", "v")
SLOW_VALUE = json.dumps([["x", None]] * 20_000)
SLOW_CALL = f"<tool><tool_name>slow</tool_name><arguments><v>{SLOW_VALUE}</v></arguments></tool>"
"""A call that takes some thousand times as long to read as a short reply."""
LONG_PATIENCE = 10 * PATIENCE
"""Seconds for what takes long: it comes last where the machine is busy."""
MANY_TOOLS = [slow_tool(f"slow_{number}", f"v{number}") for number in range(800)]


@pytest.mark.parametrize("case", ["stream", "small pieces", "whole", "tools"])
def test_others_are_answered_while_something_takes_long(case: str) -> None:
    gate = Gate()

    def answer(seen: Seen) -> Answer:
        if b"slow" not in seen.body:
            return Answer(stream("Hi"))
        if case == "whole":
            return Answer(whole(SLOW_CALL).steps, headers={"content-type": "application/json"}, before=gate)
        size = 200 if case == "small pieces" else 1 << 20
        return Answer([gate, *stream("Hi" if case == "tools" else SLOW_CALL, size=size)])

    with world(Upstream(make=answer)) as it:
        tools = MANY_TOOLS if case == "tools" else [SLOW_TOOL]
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(it.post, tools=tools, stream=case != "whole", timeout=LONG_PATIENCE)
            try:
                if case != "tools":
                    assert gate.reached.wait(PATIENCE)
            finally:
                gate.open()
            quick = 0
            while not slow.done():
                assert it.post(stream=True).status_code == 200
                quick += 1
            assert slow.result().status_code == 200
        assert quick > 3  # one, or two, if the event loop is held up


def test_what_may_take_long_is_known_before() -> None:
    exchange = Exchange(
        "chat", {"messages": [{"role": "user", "content": "x"}], "model": "m", "tools": [SLOW_TOOL], "stream": True}
    )

    def delta(text: str, **more: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"content": text}, **more}]}

    assert not exchange.may_take_long(delta("text > ", finish_reason="stop")) and not exchange.may_end_long
    assert exchange.may_take_long(delta("x" * 5_000))
    exchange.feed(delta(SLOW_CALL[:20_000]))
    assert not exchange.may_take_long(delta("x >"))  # it can't end the value
    assert exchange.may_take_long(delta("</v>"))
    assert exchange.may_take_long(delta("", finish_reason="stop")) and exchange.may_end_long
    for odd in ({}, {"choices": None}, {"choices": [None]}, {"choices": [{"index": "0", "finish_reason": "stop"}]}):
        assert not exchange.may_take_long(odd)


def worker_pids() -> set[int]:
    """The processes that read for a server in this one."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            words = (each / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(parent) == os.getpid() and b"xmltools.proxy.bridge.worker" in words:
            found.add(int(each.name))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")


# An exchange goes on elsewhere as it would have here.

PIECES = (
    *("<tool>", "<tool_name>slow</tool_name>", "<arguments>", "<v>", "x", '[["y", null]]', "</v>", "</arguments>"),
    *(
        "</tool>",
        "Some words. ",
        "<think>",
        "</think>",
        "`",
        "```\n",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "&",
        "\n",
        "<",
    ),
    *("Tool: slow\nResult: 8", "STOP", "<tool_call>", '{"name": "slow"}', "é", "\ud800"),
)
BODIES: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "x"}], "tools": [SLOW_TOOL], "stop": ["STOP"]},
    "messages": {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "slow", "input_schema": SLOW_TOOL["function"]["parameters"]}],
    },
    "responses": {"input": "x", "tools": [{"type": "function", **SLOW_TOOL["function"]}]},
}


@given(
    api=st.sampled_from(sorted(BODIES)),
    live=st.booleans(),
    words=st.lists(st.sampled_from(PIECES), max_size=25),
    seed=st.integers(0, 2**32),
)
@examples(150)
def test_an_exchange_goes_on_elsewhere_as_it_would_have_here(api: Any, live: bool, words: list[str], seed: int) -> None:
    rng = random.Random(seed)
    body = {"model": "m", "stream": True, **BODIES[api]}

    def made() -> Exchange:
        return Exchange(api, body, Settings(live_arguments=live), id="id1", created=1)

    here, there, journal = made(), made(), Journal()
    text = "".join(words)
    moves_at = rng.randrange(len(text) + 2)
    for turn in range(3):
        at = 0
        while at <= len(text):
            if turn == rng.randrange(2) and at >= moves_at and journal is not None:
                there = made()
                Journal.play(json.loads(json.dumps(journal.dump())), there)
            size = rng.randrange(1, 9)
            piece = text[at : at + size]
            delta: dict[str, Any] = (
                {"content": piece} if rng.random() < 0.8 else {"role": "assistant", "content": piece}
            )
            given = {"choices": [{"index": 0, "delta": delta}]}
            if at + size > len(text):
                given["choices"][0]["finish_reason"] = "stop"
            assert here.feed(given) == there.feed(given)
            assert (here.done, here.awaits_usage, here.begun) == (there.done, there.awaits_usage, there.begun)
            journal.feed(given)
            at += size
        assert here.end(is_whole=True) == there.end(is_whole=True)
        again = here.next_turn()
        assert again == there.next_turn()
        if not again:
            break
        journal.note("end", True)
        assert here.request == there.request
    assert here.stats == there.stats


@needs_proc
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_a_client_sees_no_difference(path: str) -> None:
    value = json.dumps(["x" * 3_000, None])
    text = f"Words. <tool><tool_name>slow</tool_name><arguments><v>{value}</v></arguments></tool>"
    more = {key: value for key, value in BODIES[path.removeprefix("/v1/").split("/")[0]].items() if key != "stop"}
    if path == "/v1/responses":
        more["messages"] = None
    seen = []
    for helpers in (0, 2):
        with world(Upstream(Answer(stream(text, size=100)), Answer(whole(text).steps)), helpers=helpers) as it:
            seen.append([it.post(path, **more, stream=True).text, it.post(path, **more).text])
            assert bool(worker_pids()) == bool(helpers)
    assert all("Words" in each and "x" * 3_000 in each for each in seen[0])
    assert [without_ids(each) for each in seen[0]] == [without_ids(each) for each in seen[1]]


def without_ids(text: str) -> str:
    """A response without what differs each time: ids, and when it was made."""
    return re.sub(r'(?<=_)[0-9a-f]{16,}|(?<=-)[0-9a-f]{32}|(?<="created":)\d+|(?<="created_at":)\d+', "", text)


# The processes

LONG = {"messages": [{"role": "user", "content": "x" * 9_000}]}


@needs_proc
def test_a_process_is_started_when_it_is_needed_and_ends_with_the_server() -> None:
    before = worker_pids()
    with world(Upstream(*[Answer(stream("Hi"))] * 3), helpers=2) as it:
        assert it.post(tools=[TOOL], stream=True).status_code == 200
        assert worker_pids() == before
        assert it.post(**LONG, stream=True).status_code == 200
        assert it.post(**LONG, stream=True).status_code == 200
        assert len(worker_pids() - before) == 1  # one client
    assert worker_pids() == before


@needs_proc
@pytest.mark.parametrize("path", REQUESTS)
def test_where_a_process_is_killed_the_client_gets_an_error_and_the_next_one_an_answer(path: str) -> None:
    long = {"input": "x" * 9_000} if path == "/v1/responses" else LONG
    request = {**REQUESTS[path], **long, "stream": True}
    gate = Gate()
    upstream = Upstream(Answer([chunk("Hello "), gate, chunk("you", finish="stop")]), Answer(stream("Hi")))
    with world(upstream, helpers=1) as it:
        with it.client.stream("POST", path, json=request, timeout=PATIENCE) as response:
            pieces = response.iter_text()
            text = ""
            try:
                while "Hello" not in text:
                    text += next(pieces)
                (pid,) = worker_pids()
                os.kill(pid, signal.SIGKILL)
                eventually(lambda: pid not in worker_pids(), "the process ends")
            finally:
                gate.open()
            text += "".join(pieces)
        assert "has ended: please try again" in text
        assert "Hi" in it.post(path, **long, stream=True).text


def test_a_refusal_reads_the_same_wherever_it_was_found() -> None:
    wrong = {"tools": [{"type": "function", "function": {"parameters": {"type": "strin"}}}]}
    with world(Upstream(), helpers=1) as it:
        short, long = it.post(**wrong), it.post(**wrong, **LONG)
        assert (short.status_code, short.json()) == (long.status_code, long.json())
        assert short.status_code == 400
        assert it.post(**LONG, n="x").json()["error"]["param"] == "n"


@pytest.mark.parametrize(
    "steps", [[Cut()], [b"data: {no JSON\n\n"], [chunk("a"), b'data: {"error": {"message": "m"}}\n\n']]
)
def test_faults_of_the_upstream_read_the_same_too(steps: list[Any]) -> None:
    with world(Upstream(*[Answer(steps)] * 2), helpers=1) as it:
        short, long = it.post(stream=True), it.post(**LONG, stream=True)

    def shown(response: Any) -> str:
        return "\n".join(line for line in response.text.splitlines() if "error" in line)

    assert (short.status_code, shown(short)) == (long.status_code, shown(long))
    assert "error" in short.text


def test_a_client_keeps_to_one_process_and_another_gets_its_own() -> None:
    async def check() -> None:
        workers = Workers(2)
        try:
            first = await workers.take("a")
            assert first is not None and await workers.take("a") is first
            second = await workers.take("b")
            assert second is not None and second is not first
            assert await workers.take("a") is first
            third = await workers.take("c")
            assert third in (first, second)
            assert len(workers.pids) == 2
            for client, worker in (("a", first), ("a", first), ("a", first), ("b", second), ("c", third)):
                worker.give_back(client)
            assert not first.clients and not second.clients
        finally:
            await workers.close()

    asyncio.run(check())


def test_a_process_that_is_lost_says_so_to_all_who_wait() -> None:
    async def check() -> None:
        worker = Worker()
        with pytest.raises(WorkerLostError):
            await worker.ask({"do": "estimate"})
        await worker.start()
        asked = asyncio.create_task(worker.ask({"do": "estimate", "settings": {}}, b"{}"))
        answer, _ = await asked
        assert answer["refusal"]["param"] == "model"
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError):
            await worker.ask({"do": "estimate", "settings": {}}, b"{}")
        await worker.close()

    asyncio.run(check())


def test_what_is_no_message_ends_the_process_quietly() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "xmltools.proxy.bridge.worker"],
        input=b"\0\0",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_process_that_has_more_to_say_than_anybody_reads_can_be_ended() -> None:
    async def run() -> None:
        worker = Worker()
        await worker.start()
        process = worker._process
        assert process is not None and process.stdout is not None
        text = "x" * 3_000_000
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "tools": [TOOL]}).encode()
        worker.tell(
            {"do": "open", "api": "chat", "settings": {}, "id": "i", "created": 1, "steps": [], "number": 1}, body
        )
        assert worker._reading is not None
        async with asyncio.timeout(LONG_PATIENCE):
            while len(process.stdout._buffer) < 1 << 17:  # type: ignore[attr-defined]  # so much is read ahead
                await asyncio.sleep(0)
            await worker.close()
        assert process.returncode is not None

    asyncio.run(run())
