"""What clients do when a call fails whose arguments have begun to stream: `python tests/agents/endings.py`.

A server that speaks all three APIs streams a few words, the name of a call and a part of its arguments, and then ends
in one of many ways, which the name of the model says: `position+suffix+finish+item@anything`. It prints, for each API,
a Markdown table with a line for each ending and a column for each client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT), str(HERE.parent)]

from proxy.running import body_of, running  # noqa: E402

from agents.cell import NAME  # noqa: E402
from agents.matrix import CLIENTS, Client, MissingError, command_of, play  # noqa: E402

PARTS: dict[str, tuple[str, ...]] = {
    "start": (),
    "mid": ('{"path": "notes.txt"', ', "content": "half of', " the te"),
    "after": ('{"path": "notes.txt"', ', "content": "half of', ' the text"'),
}
"""The arguments stop before they begin, within the last string, or behind it, where one bracket makes them whole."""

SUFFIXES = {
    "plain": {"start": "", "mid": "", "after": ""},
    "bracket": {"start": "{]", "mid": '"]', "after": "]"},
    "comma-bracket": {"start": "{,]", "mid": '",]', "after": ",]"},
    "renamed": {"start": "{,]", "mid": '",]', "after": ",]"},
}
"""What comes last, so that no reader can close them: a bracket that nothing opened, by itself or behind a comma. `}]`
does the same as the bracket by itself. `renamed` also adds to the name, which clients of chat completions put together.
"""

FINISHES = {
    "chat": ("stop", "length", "content_filter", "tool_calls", "error", "broken"),
    "responses": ("completed", "incomplete", "content_filter", "failed", "error", "broken"),
    "messages": ("end_turn", "max_tokens", "refusal", "tool_use", "error", "broken"),
}
ITEMS = {"chat": ("-",), "responses": ("done", "open", "omitted"), "messages": ("stopped", "open")}
"""Responses: the item is done (and incomplete), stays open, or is done and missing in the last event."""

Event = tuple[str | None, dict[str, Any]]
_BROKEN: Event = (None, {"broken": True})


def endings(api: str) -> list[str]:
    suffixes = [each for each in SUFFIXES if api == "chat" or each != "renamed"]
    return ["+".join(each) for each in product(PARTS, suffixes, FINISHES[api], ITEMS[api])]


class Server:
    """An ASGI app that ends its first reply as the model's name says, and answers all further requests with a word.

    `shown` holds, for each model, what further requests show of the call: its arguments as they are sent back.
    """

    def __init__(self) -> None:
        self.shown: defaultdict[str, list[Any]] = defaultdict(list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await body_of(receive)
        asked = json.loads(body)
        api = {"completions": "chat"}.get(name := scope["path"].rpartition("/")[2], name)
        said = [
            each for each in asked.get("messages") or asked["input"] if each.get("role") not in ("system", "developer")
        ]
        ending = asked["model"].partition("@")[0].split("+")
        if further := len(said) > 1:
            self.shown[asked["model"]] += _calls(said)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for event in _EVENTS[api](asked["model"], None if further else ending):
            if event is _BROKEN:
                raise ConnectionAbortedError
            await send({"type": "http.response.body", "body": _bytes(api, event), "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n" if api == "chat" else b""})


def _calls(said: list[dict[str, Any]]) -> Iterator[Any]:
    for each in said:
        if each.get("type") == "function_call":
            yield each["arguments"]
        for call in each.get("tool_calls") or ():
            yield call["function"]["arguments"]
        if isinstance(each.get("content"), list):
            yield from (json.dumps(part["input"]) for part in each["content"] if part.get("type") == "tool_use")


def _bytes(api: str, event: Event) -> bytes:
    name, data = event
    line = "" if name is None else f"event: {name}\n"
    return f"{line}data: {json.dumps(data)}\n\n".encode()


def _fragments(ending: list[str]) -> list[str]:
    position, suffix = ending[:2]
    last = SUFFIXES[suffix][position]
    return [*PARTS[position], *([last] if last else [])]


def _chat(model: str, ending: list[str] | None) -> Iterator[Event]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": "I write."})
    if ending is None:
        yield chunk({}, "stop")
        return
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": NAME, "arguments": ""}}
    yield chunk({"tool_calls": [call]})
    for fragment in _fragments(ending):
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": fragment}}]})
    if ending[1] == "renamed":
        yield chunk({"tool_calls": [{"index": 0, "function": {"name": "_failed", "arguments": ""}}]})
    if ending[2] == "error":
        yield None, {"error": {"message": "The call failed.", "type": "server_error", "code": None, "param": None}}
    elif ending[2] == "broken":
        yield _BROKEN
    else:
        yield chunk({}, ending[2])


def _responses(model: str, ending: list[str] | None) -> Iterator[Event]:
    number = iter(range(1000))
    text = {"type": "output_text", "text": "I write.", "annotations": [], "logprobs": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    output: list[Any] = []

    def say(type: str, **fields: Any) -> Event:
        return type, {"type": type, "sequence_number": next(number), **fields}

    def life(type: str, status: str, **fields: Any) -> Event:
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": model,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "output": list(output),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
            **fields,
        }
        return say(type, response=response)

    yield life("response.created", "in_progress")
    yield life("response.in_progress", "in_progress")
    yield say("response.output_item.added", output_index=0, item={**message, "status": "in_progress", "content": []})
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield say("response.content_part.added", **where, part={**text, "text": ""})
    yield say("response.output_text.delta", **where, delta="I write.", logprobs=[])
    yield say("response.output_text.done", **where, text="I write.", logprobs=[])
    yield say("response.content_part.done", **where, part=text)
    yield say("response.output_item.done", output_index=0, item=message)
    output.append(message)
    if ending is None:
        yield life("response.completed", "completed")
        return
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": NAME}
    yield say("response.output_item.added", output_index=1, item={**call, "arguments": "", "status": "in_progress"})
    for fragment in _fragments(ending):
        yield say("response.function_call_arguments.delta", item_id="fc_1", output_index=1, delta=fragment)
    item = {**call, "arguments": "".join(_fragments(ending)), "status": "incomplete"}
    if ending[3] != "open":
        yield say("response.output_item.done", output_index=1, item=item)
    if ending[3] == "done":
        output.append(item)
    error = {"code": "server_error", "message": "The call failed."}
    if ending[2] == "completed":
        yield life("response.completed", "completed")
    elif ending[2] == "failed":
        yield life("response.failed", "failed", error=error)
    elif ending[2] == "error":
        yield say("error", **error, param=None)
    elif ending[2] == "broken":
        yield _BROKEN
    else:
        reason = {"incomplete": "max_output_tokens"}.get(ending[2], ending[2])
        yield life("response.incomplete", "incomplete", incomplete_details={"reason": reason})


def _messages(model: str, ending: list[str] | None) -> Iterator[Event]:
    def say(type: str, **fields: Any) -> Event:
        return type, {"type": type, **fields}

    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield say("message_start", message={**head, "stop_reason": None, "stop_sequence": None, "usage": usage})
    yield say("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield say("content_block_delta", index=0, delta={"type": "text_delta", "text": "I write."})
    yield say("content_block_stop", index=0)
    reason = "end_turn"
    if ending is not None:
        reason = ending[2]
        block = {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": {}}
        yield say("content_block_start", index=1, content_block=block)
        for fragment in _fragments(ending):
            yield say("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": fragment})
        if ending[3] == "stopped":
            yield say("content_block_stop", index=1)
    if reason == "error":
        yield say("error", error={"type": "api_error", "message": "The call failed."})
    elif reason == "broken":
        yield _BROKEN
    else:
        yield say("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
        yield say("message_stop")


_EVENTS = {"chat": _chat, "responses": _responses, "messages": _messages}


def ways(client: Client, api: str) -> list[str]:
    """The names under which the client speaks this API."""
    return [each for each in client.apis if each.partition("-")[0] == api]


def tried(client: Client, command: Sequence[str], api: str, server: Server, url: str) -> Iterator[tuple[str, str, str]]:
    """What a client does with each ending of an API: its way of reading, the ending, what it does."""
    _, played = play(client, command, url, [(each, way, True) for way in ways(client, api) for each in endings(api)])
    for asked, said in played:
        does = f"`{said['error']['type']}`" if said["error"] else "text"
        if said["entered"]:
            does = f"**runs** {', '.join(said['entered'][0]) or 'empty'}"
        if (shown := server.shown[asked["model"]]) and not said["entered"]:
            does += f", asks again, showing `{shown[0]}`"
        yield asked["api"], asked["case"], does


def tables(clients: Iterable[Client], node_folder: Path) -> Iterator[str]:
    """A table for each API, and behind it the endings that no client runs a call on."""
    server = Server()
    commands: dict[str, list[str]] = {}
    for client in clients:
        try:
            commands[client.name] = command_of(client, lambda: node_folder)
        except MissingError as missing:
            print(f"{client.name} is left out: {missing}", file=sys.stderr)
    with running(server, lifespan="off") as url:
        for api in FINISHES:
            rows: dict[str, dict[str, str]] = {ending: {} for ending in endings(api)}
            for client in clients:
                if client.name not in commands or not ways(client, api):
                    continue
                for way, ending, does in tried(client, commands[client.name], api, server, url):
                    rows[ending][client.name + way.removeprefix(api).replace("-", ", ")] = does
            yield _table(api, rows)


def _table(api: str, rows: dict[str, dict[str, str]]) -> str:
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    heads = ["arguments end", "suffix", "finish", "item", *columns]
    lines = [f"## {api}", "", f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for ending, row in rows.items():
        lines.append(f"| {' | '.join([*ending.split('+'), *(row.get(column, '') for column in columns)])} |")
    safe: dict[str, list[str]] = {}
    for ending, row in rows.items():
        safe.setdefault(ending.partition("+")[2], []).extend(does for does in row.values() if "**runs**" in does)
    lines += ["", "No client runs it, wherever the arguments end (suffix, finish, item):", ""]
    lines += [f"- {ending.replace('+', ', ')}" for ending, ran in safe.items() if not ran]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only clients whose name holds this")
    parser.add_argument("--node-folder", type=Path, default=ROOT / "build" / "agents", help="where npm installs")
    chosen = parser.parse_args(arguments)
    clients = [each for each in CLIENTS if not each.transport and chosen.only.lower() in each.name.lower()]
    for each in tables(clients, chosen.node_folder):
        print(each)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
