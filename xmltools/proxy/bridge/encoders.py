"""Replies in the form of the client's API, with their ids: as a stream, or folded into one body."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xmltools.conversations.streams import SSE_DONE, AnthropicStream, OpenAIStream, ResponsesStream, to_sse
from xmltools.models.events import Event
from xmltools.proxy.bridge.client_errors import Api, error_body
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.tools import Tool

_ID = {"chat": "chatcmpl-", "messages": "msg_", "responses": "resp_"}
_CALL_ID = {"chat": "call_", "messages": "toolu_", "responses": "call_"}


def new_id(api: Api) -> str:
    """Return an id for a response."""
    return _ID[api] + uuid.uuid4().hex


class CallIds:
    """Makes the ids for the calls of a response. They follow from the response's own id, so that who reads the same
    reply anew gives the same."""

    def __init__(self, api: Api, response: str) -> None:
        self._begin = _CALL_ID[api]
        self._response = response
        self._number = 0

    def __call__(self) -> str:
        """Return the next id."""
        self._number += 1
        seed = f"{self._response} {self._number}".encode("utf-8", "surrogatepass")
        return self._begin + hashlib.sha256(seed).hexdigest()[:24]


class Encoder:
    """Turns events into messages of a stream, or, if the client wants no stream, remembers the whole response."""

    keepalive = b": keep-alive\n\n"
    reasoning_key = "reasoning_content"
    """The field for reasoning in chat completions, where servers differ."""

    def feed(self, choice: int, events: Iterable[Event]) -> bytes:
        """Return what to send for events of a choice."""
        raise NotImplementedError

    def count(self, usage: Mapping[str, Any]) -> None:
        """Take the usage as far as it is known."""

    def finish(self, choice: int, reason: str, stop: str | None) -> bytes:
        """Return what to send when a choice has ended. Where the reason is sent with the usage, that is nothing."""
        raise NotImplementedError

    def end(self, usage: Mapping[str, Any] | None) -> bytes:
        """Return what ends the stream, with the usage if the client wants it."""
        raise NotImplementedError

    def body(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the whole response, after `end`. Calls are complete in it: those that failed are text."""
        raise NotImplementedError

    def fail(self, message: str, status: int, code: str) -> bytes:
        """Return the error that ends a stream which has begun; clients raise it. `code` is a stable name."""
        raise NotImplementedError


class _ChatEncoder(Encoder):
    def __init__(self, incoming: Incoming, tools: Sequence[Tool], id: str, created: int) -> None:
        self._incoming = incoming
        self._head = {"id": id, "created": created, "model": incoming.model}
        self._streams = [
            OpenAIStream(
                id=id,
                model=incoming.model,
                created=created,
                tools=tools,
                custom=incoming.custom,
                index=index,
                include_usage=incoming.include_usage,
                on_failure="spoil",
            )
            for index in range(incoming.choices)
        ]
        self._bodies: list[dict[str, Any]] = [{} for _ in self._streams]

    def feed(self, choice: int, events: Iterable[Event]) -> bytes:
        return self._sent(choice, self._streams[choice].feed(events))

    def finish(self, choice: int, reason: str, stop: str | None) -> bytes:
        chunks = self._streams[choice].close(reason)
        if self._incoming.choice.named:
            # That a named tool was called is no news: OpenAI says that the model stopped.
            for each in (choice for chunk in chunks for choice in chunk["choices"]):
                each["finish_reason"] = "stop" if each["finish_reason"] == "tool_calls" else each["finish_reason"]
        return self._sent(choice, chunks)

    def _sent(self, choice: int, chunks: list[dict[str, Any]]) -> bytes:
        if self.reasoning_key != "reasoning_content":
            for delta in (each["delta"] for chunk in chunks for each in chunk["choices"]):
                if "reasoning_content" in delta:
                    delta[self.reasoning_key] = delta.pop("reasoning_content")
        if not self._incoming.stream:
            for each in (each for chunk in chunks for each in chunk["choices"]):
                _fold(self._bodies[choice], each)
        return to_sse(chunks)

    def end(self, usage: Mapping[str, Any] | None) -> bytes:
        if not (self._incoming.include_usage and usage is not None):
            return SSE_DONE
        head = {"object": "chat.completion.chunk", **self._head}
        return to_sse([{**head, "choices": [], "usage": dict(usage)}]) + SSE_DONE

    def body(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        choices = [_choice(index, made) for index, made in enumerate(self._bodies)]
        body = {"object": "chat.completion", **self._head, "choices": choices}
        return body if usage is None else {**body, "usage": dict(usage)}

    def fail(self, message: str, status: int, code: str) -> bytes:
        return to_sse([error_body("chat", message, status=status, code=code)]) + SSE_DONE


def _fold(body: dict[str, Any], choice: Mapping[str, Any]) -> None:
    """Add a chunk's delta to what a choice is made of, as clients do."""
    for key, value in choice["delta"].items():
        if key == "tool_calls":
            for call in value:
                calls = body.setdefault("tool_calls", [])
                kind = "custom" if "custom" in call else "function"
                if call["index"] == len(calls):
                    calls.append({"id": call["id"], "type": kind, kind: {**call[kind]}})
                else:
                    [(part, text)] = call[kind].items()
                    calls[call["index"]][kind][part] += text
        elif key == "role":
            body[key] = value
        else:
            body[key] = body.get(key, "") + value
    if choice["finish_reason"] is not None:
        body["finish_reason"] = choice["finish_reason"]


def _choice(index: int, made: dict[str, Any]) -> dict[str, Any]:
    message = {key: value for key, value in made.items() if key != "finish_reason"}
    if message.get("tool_calls") and not message.get("content"):
        message["content"] = None
    return {"index": index, "message": message, "finish_reason": made.get("finish_reason"), "logprobs": None}


class _MessagesEncoder(Encoder):
    keepalive = b'event: ping\ndata: {"type":"ping"}\n\n'

    def __init__(self, incoming: Incoming, tools: Sequence[Tool], id: str, request_id: str | None) -> None:
        self._request_id = request_id
        self._stream = AnthropicStream(id=id, model=incoming.model, tools=tools, on_failure="spoil")
        self._streams = incoming.stream
        self._body: dict[str, Any] = {}
        self._fragments: dict[int, list[str]] = {}
        self._end: tuple[str, str | None] = ("stop", None)

    def feed(self, choice: int, events: Iterable[Event]) -> bytes:
        return self._sent(self._stream.feed(events))

    def count(self, usage: Mapping[str, Any]) -> None:
        self._stream.usage.update(_anthropic_usage(usage))

    def finish(self, choice: int, reason: str, stop: str | None) -> bytes:
        self._end = ("stop_sequence", stop) if stop is not None else (reason, None)
        return b""

    def end(self, usage: Mapping[str, Any] | None) -> bytes:
        counted = _anthropic_usage(usage)
        return self._sent(self._stream.close(self._end[0], counted, self._end[1]))

    def _sent(self, messages: list[tuple[str, dict[str, Any]]]) -> bytes:
        for _, data in () if self._streams else messages:
            self._fold(data)
        return to_sse(messages)

    def _fold(self, data: Mapping[str, Any]) -> None:
        kind = data["type"]
        if kind == "message_start":
            self._body = {**data["message"], "content": [], "usage": {**data["message"]["usage"]}}
        elif kind == "content_block_start":
            self._body["content"].append({**data["content_block"]})
        elif kind == "content_block_delta":
            self._fold_delta(data["index"], data["delta"])
        elif kind == "message_delta":
            self._body.update(data["delta"])
            self._body["usage"].update(data["usage"])

    def _fold_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._body["content"][index]
        for key in ("text", "thinking"):
            if key in delta:
                block[key] += delta[key]
        if "partial_json" in delta:
            self._fragments.setdefault(index, []).append(delta["partial_json"])

    def body(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        for index, fragments in self._fragments.items():
            self._body["content"][index]["input"] = json.loads("".join(fragments) or "{}")
        return self._body

    def fail(self, message: str, status: int, code: str) -> bytes:
        return to_sse([("error", error_body("messages", message, status=status, request_id=self._request_id))])


class _ResponsesEncoder(Encoder):
    def __init__(self, incoming: Incoming, tools: Sequence[Tool], id: str, created: int) -> None:
        self._stream = ResponsesStream(
            id=id,
            model=incoming.model,
            created_at=created,
            tools=tools,
            custom=incoming.custom,
            namespaces=incoming.namespaces,
            client_tools=incoming.client_tools,
            echo=incoming.echo,
            on_failure="spoil",
        )
        self._reason = "stop"
        self._response: dict[str, Any] = {}

    def feed(self, choice: int, events: Iterable[Event]) -> bytes:
        return to_sse(self._stream.feed(events))

    def finish(self, choice: int, reason: str, stop: str | None) -> bytes:
        self._reason = reason
        return b""

    def end(self, usage: Mapping[str, Any] | None) -> bytes:
        messages = self._stream.close(self._reason, usage)
        if messages:
            self._response = messages[-1][1]["response"]
        return to_sse(messages)

    def body(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        return self._response

    def fail(self, message: str, status: int, code: str) -> bytes:
        if code == "upstream_error":  # which this API has words for
            code = "rate_limit_exceeded" if status == 429 else "server_error"
        return to_sse(self._stream.fail(message, code))


def _anthropic_usage(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return OpenAI's counts of tokens by Anthropic's names: what was cached is not among the input there."""
    if usage is None:
        return {}
    taken, details = usage.get("prompt_tokens"), usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    if isinstance(taken, int) and isinstance(cached, int):
        taken = max(0, taken - cached)
    counted = {
        "input_tokens": taken,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.get("completion_tokens"),
    }
    return {name: count for name, count in counted.items() if isinstance(count, int)}


def make_encoder(
    api: Api, incoming: Incoming, tools: Sequence[Tool], id: str, created: int, request_id: str | None = None
) -> Encoder:
    """Return the encoder for the reply to a request; `created` are seconds since 1970, `request_id` is for errors."""
    if api == "chat":
        return _ChatEncoder(incoming, tools, id, created)
    if api == "messages":
        return _MessagesEncoder(incoming, tools, id, request_id)
    return _ResponsesEncoder(incoming, tools, id, created)
