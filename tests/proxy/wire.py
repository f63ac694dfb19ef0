"""Cases of the wire: a request of a client, what the upstream must get, its answer, and what the client must get.

They are data, in `wire/`, a folder for each API of clients. `run` takes one through the relay without sockets, and is
how `python tests/proxy/wire.py` writes what it finds into the files: look at the difference before you keep it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from xmltools.proxy.bridge import Exchange, Refusal, Settings
from xmltools.proxy.bridge.relay import Answered, Ask, Head, Take, Translation
from xmltools.proxy.bridge.stats import Stats

FOLDER = Path(__file__).with_name("wire")
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
FILES = sorted(FOLDER.glob("*/*.json"))
_FIRST = {"chat": "chatcmpl-", "messages": "msg_", "responses": "resp_"}
_IDS = re.compile(r"\b(?:chatcmpl-|[a-z]{2,6}_)[0-9a-f]{16,}")
_TIMES = re.compile(r'("created(?:_at)?": )[0-9.]+|("request_id": )"[^"]*"')
_EVENT = re.compile(r"(?:event: ([a-z_.]+)\n)?data: (.+)")
_HEAD = ("id", "object", "created", "model")


def read(file: Path) -> list[dict[str, Any]]:
    """The cases of a file. What several share is written once in it, under `shared`."""
    given = json.loads(file.read_text(encoding="utf-8"))
    shared = given["shared"]

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return whole(shared[value["$"]]) if value.keys() == {"$"} else {key: whole(value[key]) for key in value}
        return [whole(each) for each in value] if isinstance(value, list) else value

    return [{"api": file.parent.name, **whole(case)} for case in given["cases"]]


def write(file: Path, cases: list[dict[str, Any]]) -> None:
    """Write cases: lists of tools and long texts that come again are in `shared`."""
    seen: Counter[str] = Counter()

    def look(value: Any, at: str) -> None:
        if _is_shared(value, at):
            seen[json.dumps(value)] += 1
        for name, each in value.items() if isinstance(value, dict) else ():
            look(each, name)
        for each in value if isinstance(value, list) else ():
            look(each, at)

    for case in cases:
        look(case, "")
    shared: dict[str, Any] = {}
    names: dict[str, str] = {}

    def short(value: Any, at: str = "") -> Any:
        if _is_shared(value, at) and seen[dumped := json.dumps(value)] > 1:
            if dumped not in names:
                kind = "tools" if at == "tools" else "text"
                names[dumped] = f"{kind} {1 + sum(name.startswith(kind) for name in shared)}"
                shared[names[dumped]] = value
            return {"$": names[dumped]}
        if isinstance(value, dict):
            return {name: short(each, name) for name, each in value.items()}
        return [short(each, at) for each in value] if isinstance(value, list) else value

    listed = [{name: short(case[name], name) for name in case if name != "api"} for case in cases]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{_laid_out({'shared': shared, 'cases': listed})}\n", encoding="utf-8")


def _is_shared(value: Any, at: str) -> bool:
    return (isinstance(value, list) and at == "tools" and len(value) > 0) or (
        isinstance(value, str) and len(value) > 200
    )


def _laid_out(value: Any, before: str = "") -> str:
    """JSON in lines that are not longer than they must be."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + len(before) <= 160 or not isinstance(value, dict | list):
        return line
    inner = f"{before} "
    if isinstance(value, list):
        return "[" + ",".join(f"\n{inner}{_laid_out(each, inner)}" for each in value) + "]"
    return (
        "{" + ",".join(f"\n{inner}{json.dumps(name)}: {_laid_out(each, inner)}" for name, each in value.items()) + "}"
    )


def settings_of(case: dict[str, Any]) -> Settings:
    return Settings(**case.get("settings", {}))


def answers_of(case: dict[str, Any]) -> list[tuple[bytes, list[bytes]]]:
    """The answers of the upstream, one for each time that it is asked: their type, and their bytes in pieces."""
    return [_answer(turn["answer"]) for turn in case["turns"]]


def _answer(answer: Any) -> tuple[bytes, list[bytes]]:
    if isinstance(answer, dict):
        return b"application/json", [json.dumps(answer).encode()]
    chunks: list[Any] = []
    for each in answer:
        is_repeated = isinstance(each, dict) and each.keys() == {"said", "times"}
        chunks += [each["said"]] * each["times"] if is_repeated else [each]
    return b"text/event-stream", [_bytes(each) for each in chunks]


def _bytes(said: Any) -> bytes:
    """An event of the upstream; `raw` is sent unchanged."""
    if isinstance(said, dict) and said.keys() == {"raw"}:
        return str(said["raw"]).encode()
    return f"data: {said if said == '[DONE]' else json.dumps(_chunk(said))}\n\n".encode()


def _chunk(said: Any) -> Any:
    """A chunk of chat completions, of which text alone is the short form."""
    return {"choices": [{"index": 0, "delta": {"content": said}}]} if isinstance(said, str) else said


def normal(value: Any) -> Any:
    """A value of JSON without what differs each time: ids are numbered, and times and ids of requests are none."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id_{len(numbers) + 1}")

    without_times = _TIMES.sub(lambda found: f"{found[1]}0" if found[1] else f"{found[2]}null", json.dumps(value))
    return json.loads(_IDS.sub(number, without_times))


def events_of(sent: bytes) -> list[Any]:
    """The events of a stream by the narrowest reading, a name, if it has one, and one line of data: the data alone,
    and of chat completions only what is new."""
    assert b"\r" not in sent and len(sent.decode().splitlines()) == sent.count(b"\n")
    named = [_EVENT.fullmatch(each) for each in sent.decode().split("\n\n")[:-1]]
    events = [(each[1] or "", each[2] if each[2] == "[DONE]" else json.loads(each[2])) for each in named if each]
    assert len(events) == len(named) and sent.endswith(b"\n\n")
    assert all(name == ("" if said == "[DONE]" else said.get("type", "")) for name, said in events)
    chunks = [said for _, said in events if "choices" in said]
    assert len({(*(each[key] for key in _HEAD), "usage" in each) for each in chunks}) <= 1
    return [_event(said) for _, said in events]


def _event(said: Any) -> Any:
    if "choices" not in said:
        return said
    assert said["object"] == "chat.completion.chunk"
    said = {key: said[key] for key in said if key not in _HEAD}
    match said:
        case {"choices": [{"index": 0, "delta": {"content": str(text), **rest}, "finish_reason": None}]} if not rest:
            return text
    return said


def run(case: dict[str, Any], recut: Callable[[list[bytes]], list[bytes]] = list) -> dict[str, Any]:
    """Take a case through the relay; return what is found: `status`, `turns` with what the upstream `gets`, what the
    client gets (`body`, or `events` after each piece of the upstream), and what is `counted`."""
    return normal(as_it_is(case, recut))


def as_it_is(case: dict[str, Any], recut: Callable[[list[bytes]], list[bytes]] = list) -> dict[str, Any]:
    """What `run` finds, with ids and times."""
    api, turns = case["api"], [{"gets": None, "answer": turn["answer"]} for turn in case["turns"]]
    try:
        exchange = Exchange(api, case["request"], settings_of(case), id=_FIRST[api] + 32 * "0", created=0)
    except Refusal as refusal:
        return {"status": refusal.status, "turns": [], "param": refusal.param, "body": refusal.body(api)}
    if exchange.plain:
        return {"status": 200, "turns": [{"gets": exchange.request, "answer": turns[0]["answer"]}], "plain": True}
    relay = Translation(api, exchange, most=1 << 26)
    steps, outcome, asked, status = relay.steps(), None, -1, 0
    pieces: Iterator[bytes] = iter(())
    given: list[bytes] = [b""]
    while (step := _next(steps, outcome)) is not None:
        outcome = None
        match step:
            case Ask(body=body):
                asked += 1
                turns[asked]["gets"] = json.loads(body)
                kind, answer = _answer(turns[asked]["answer"])
                pieces, outcome = iter(recut(answer)), Answered(200, kind.decode())
            case Head(status=status):
                pass
            case Take():
                given.append(b"")
                outcome = next(pieces, None)
            case bytes():
                given[-1] += step
    counted = {
        each.name: value
        for each in dataclasses.fields(Stats)
        if (value := getattr(exchange.stats, each.name)) and each.name not in ("model", "dialect", "text", "reasoning")
    }
    found = {"status": status, "turns": turns[: asked + 1], "counted": counted}
    if exchange.streams and relay.begun:
        return {**found, "events": [events_of(each) for each in given if each]}
    return {**found, "body": json.loads(b"".join(given))}


def _next(steps: Any, outcome: Any) -> Any:
    try:
        return steps.send(outcome)
    except StopIteration:
        return None


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else FILES:
        write(each, [{**case, **run(case)} for case in read(each)])
