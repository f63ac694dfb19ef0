"""Every case of the wire (`wire.py`): without sockets, through a server, through the transport, and as the official
clients read what comes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proxy.running import body_of, running, serving
from proxy.wire import FILES, PATHS, answers_of, events_of, normal, read, run, settings_of
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app
from xmltools.proxy.server.network import Connections
from xmltools.transport import AsyncXMLToolsTransport, XMLToolsTransport

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

Key = tuple[Settings, str]
CASE = "x-title"
"""A header that goes on to the upstream: here the number of the case."""
in_each_file = pytest.mark.parametrize("file", FILES, ids=[f"{each.parent.name}/{each.stem}" for each in FILES])
in_each_way = pytest.mark.parametrize("way", ["server", "transport"])
in_each_seed = pytest.mark.parametrize("seed", range(3))


class Upstream:
    """Gives the answers of the cases that are being run, and keeps what it gets."""

    def __init__(self) -> None:
        self.cases: list[dict[str, Any]] = []
        self.got: dict[int, list[Any]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await body_of(receive)
        headers = dict(scope["headers"])
        if scope["method"] != "POST" or CASE.encode() not in headers:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
            return
        number = int(headers[CASE.encode()])
        got = self.got.setdefault(number, [])
        kind, pieces = answers_of(self.cases[number])[len(got)]
        got.append(json.loads(body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        for each in pieces:
            await send({"type": "http.response.body", "body": each, "more_body": True})
        await send({"type": "http.response.body"})


class House:
    """Servers with the settings that cases have, each below a path of its own. A case that sends reasoning back has one
    of its own, which does not know from another case that the model reasons."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._paths: dict[Key, int] = {}
        self._apps: list[Any] = []
        self._sender = Connections(upstream, 10)

    def path(self, key: Key) -> str:
        if key not in self._paths:
            self._paths[key] = len(self._apps)
            config = ServeConfig(upstream=f"{self._upstream}/v1", settings=key[0])
            self._apps.append(create_app(config, sender=self._sender))
        return f"/{self._paths[key]}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for word in ("startup", "shutdown"):
                await receive()
                if word == "shutdown":
                    await self._sender.close()
                await send({"type": f"lifespan.{word}.complete"})
            return
        _, number, rest = scope["path"].split("/", 2)
        raw = scope["raw_path"].removeprefix(f"/{number}".encode())
        await self._apps[int(number)]({**scope, "path": f"/{rest}", "raw_path": raw}, receive, send)


@dataclass
class Async:
    """Posts through the asynchronous transport."""

    settings: Settings

    def post(self, url: str, **options: Any) -> Any:
        async def post() -> Any:
            transport = AsyncXMLToolsTransport(settings=self.settings)
            async with httpx2.AsyncClient(transport=transport, timeout=60) as client:
                return await client.post(url, **options)

        return asyncio.run(post())


class World:
    """The servers and clients between a case and the upstream."""

    def __init__(self, upstream: Upstream, behind: str, house: House, url: str) -> None:
        self.upstream, self._behind, self._house, self._url = upstream, behind, house, url
        self._clients: dict[Key | None, Any] = {None: httpx2.Client(timeout=60)}

    def way(self, name: str, case: dict[str, Any]) -> tuple[str, Any]:
        settings = settings_of(case)
        key = settings, case["name"] if re.search('"(reasoning|thinking)', json.dumps(case["request"])) else ""
        if name == "server":
            return self._url + self._house.path(key), self._clients[None]
        if key not in self._clients:
            self._clients[key] = httpx2.Client(transport=XMLToolsTransport(settings=settings), timeout=60)
        return self._behind, self._clients[key] if name == "transport" else Async(settings)

    def close(self) -> None:
        for each in self._clients.values():
            each.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    upstream = Upstream()
    with running(upstream, lifespan="off") as behind:
        house = House(behind)
        with serving(house, http="h11") as server:
            made = World(upstream, behind, house, server.url)
            yield made
            made.close()


def differences(cases: list[dict[str, Any]], found: Any) -> str:
    """What is not as a case says: the first difference of each, to look at."""
    lines = []
    for number, case in enumerate(cases):
        for part, value in found(number, case).items():
            if value != case.get(part):
                lines.append(f"{case['name']}: {part}\n  expected {case.get(part)}\n  found    {value}")
    return "\n".join(lines)


@in_each_file
def test_a_request_and_its_answer_become_what_the_case_says(file: Path) -> None:
    assert not differences(read(file), lambda _, case: run(case))


@pytest.mark.full
@pytest.mark.parametrize("way", ["server", "transport", "async transport"])
@in_each_file
def test_it_is_so_over_sockets_too(file: Path, way: str, world: World) -> None:
    cases = world.upstream.cases = [case for case in read(file) if not case.get("plain")]
    world.upstream.got.clear()

    def found(number: int, case: dict[str, Any]) -> dict[str, Any]:
        url, client = world.way(way, case)
        response = client.post(url + PATHS[case["api"]], json=case["request"], headers={CASE: str(number)})
        gets = normal(world.upstream.got.get(number, []))
        assert gets == [turn["gets"] for turn in case["turns"]], case["name"]
        if "events" in case:
            assert "event-stream" in response.headers["content-type"]
            events = [each for after in case["events"] for each in after]
            assert normal(_together(events_of(response.content))) == normal(_together(events)), case["name"]
            return {"status": response.status_code}
        return {"status": response.status_code, "body": normal(response.json())}

    assert not differences(cases, found)


def _together(events: list[Any]) -> list[Any]:
    """Events, with texts in a row as one."""
    made: list[Any] = []
    for each in events:
        if isinstance(each, str) and made and isinstance(made[-1], str) and each != "[DONE]":
            made[-1] += each
        else:
            made.append(each)
    return made


@pytest.mark.full
@in_each_way
@in_each_file
def test_the_official_clients_read_it(file: Path, way: str, world: World) -> None:
    """They raise nothing where the case has no error, and tell what was sent."""
    cases = [case for case in read(file) if case["status"] == 200 and not case.get("plain")]
    world.upstream.cases = cases
    world.upstream.got.clear()
    for number, case in enumerate(cases):
        url, http = world.way(way, case)
        said = _asked(case, url, http, {CASE: str(number)})
        if "events" in case:
            sent = [each for after in case["events"] for each in after if each != "[DONE]"]
            assert len(said) == len(sent) or "error" in json.dumps(sent), case["name"]
        else:
            assert normal(said).keys() >= {name for name, value in case["body"].items() if value is not None}


def _asked(case: dict[str, Any], url: str, http: Any, headers: dict[str, str]) -> Any:
    options = {"api_key": "k", "max_retries": 0, "http_client": http}
    anthropic = pytest.importorskip("anthropic")
    anthropics = anthropic.Anthropic(base_url=url, **options) if case["api"] == "messages" else None
    client = anthropics or openai.OpenAI(base_url=f"{url}/v1", **options)
    path = "/v1/messages" if anthropics else PATHS[case["api"]].removeprefix("/v1")
    kind = {"chat": openai.types.chat, "messages": anthropic.types, "responses": openai.types.responses}[case["api"]]
    one, part = {
        "chat": ("ChatCompletion", "ChatCompletionChunk"),
        "messages": ("Message", "RawMessageStreamEvent"),
        "responses": ("Response", "ResponseStreamEvent"),
    }[case["api"]]
    library = anthropic if anthropics else openai
    if "events" not in case:
        return client.post(
            path, body=case["request"], cast_to=getattr(kind, one), options={"headers": headers}
        ).to_dict(warnings=False)
    stream = client.post(
        path,
        body=case["request"],
        cast_to=getattr(kind, one),
        options={"headers": headers},
        stream=True,
        stream_cls=library.Stream[getattr(kind, part)],
    )
    said = []
    with suppress(library.APIError):
        said.extend(stream)
    return said


@in_each_seed
@in_each_file
def test_chunks_of_the_upstream_do_not_matter(file: Path, seed: int) -> None:
    """However its text is cut, the client gets the same in the end, and the upstream is asked the same."""
    rng = Random(seed)
    cases = [case for case in read(file) if _can_be_cut(case)]

    def found(_: int, case: dict[str, Any]) -> dict[str, Any]:
        turns = [{**turn, "answer": _cut(turn["answer"], rng)} for turn in case["turns"]]
        made = run({**case, "turns": turns})
        assert [turn["gets"] for turn in made["turns"]] == [turn["gets"] for turn in case["turns"]], case["name"]
        return {"said": _said(made["events"])}

    assert not differences([{**case, "said": _said(case["events"])} for case in cases], found)


@pytest.mark.full
@in_each_seed
@in_each_file
def test_bytes_of_the_upstream_may_be_cut_anywhere(file: Path, seed: int) -> None:
    """Within a line or a character too, and lines may have other ends."""
    rng = Random(seed)
    cases = [case for case in read(file) if _can_be_cut(case)]

    def recut(pieces: list[bytes]) -> list[bytes]:
        data = re.sub(b"\r?\n", (b"\n", b"\r\n", b"\r")[seed], b"".join(pieces))
        places = sorted(rng.sample(range(1, len(data)), min(len(data) - 1, 9 * seed)) if len(pieces) > 1 else ())
        return [data[start:end] for start, end in pairwise([0, *places, len(data)])]

    assert not differences(
        [{"name": case["name"], "said": _said(case["events"])} for case in cases],
        lambda number, _: {"said": _said(run(cases[number], recut)["events"])},
    )


def _can_be_cut(case: dict[str, Any]) -> bool:
    """Whether it streams, from an upstream that streams, and no number of pieces matters."""
    told = [turn["answer"] for turn in case["turns"]]
    return "events" in case and all(
        isinstance(answer, list) and not any(isinstance(each, dict) and "times" in each for each in answer)
        for answer in told
    )


def _cut(answer: list[Any], rng: Random) -> list[Any]:
    made: list[Any] = []
    for each in answer:
        while isinstance(each, str) and each != "[DONE]" and len(each) > 1:
            at = rng.choice((1, 2, 5, 20))
            made.append(each[:at])
            each = each[at:]
        made += [each] if each else []
    return made


def _said(events: list[Any]) -> list[Any]:
    """All that a stream says: the values under each path, where texts in a row are one."""
    made: dict[str, Any] = {}
    for each in (each for after in events for each in after):
        _fold(made, {"content": each} if isinstance(each, str) else each, "")
    return sorted(made.items())


def _fold(made: dict[str, Any], value: Any, at: str) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _fold(made, each, f"{at}.{name}" if name not in ("choices", "delta") else at)
    elif isinstance(value, list):
        for each in value:
            _fold(made, each, at)
    elif isinstance(value, str) and not at.endswith((".type", "id", ".role")):
        made[at] = made.get(at, "") + value
