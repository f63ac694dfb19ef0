"""Chat completions of the scripted model: a request checked, and the bodies and chunks that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Any

from xmltools.proxy.bridge import Refusal
from xmltools.proxy.scripted.choice import Timing, Turn, reply
from xmltools.proxy.scripted.pace import Piece

__all__ = ["ChatRequest", "Said", "body", "chunks", "read_request", "say"]

MAX_CHOICES = 128
_ROLES = ("system", "developer", "user", "assistant", "tool")
_NATIVE = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_FINGERPRINT = "fp_scripted"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What of a request counts here."""

    model: str
    turns: tuple[Turn, ...]
    choices: int
    stop: tuple[str, ...]
    limit: int | None
    stream: bool
    include_usage: bool
    seed: int

    @property
    def prompt_tokens(self) -> int:
        """About how many tokens the messages have."""
        return sum(4 + len(turn.text.encode()) // 4 for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Said:
    """One choice: what is said and when, and why it ends."""

    pieces: tuple[Piece, ...]
    finish_reason: str

    @property
    def text(self) -> str:
        """All that is said."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def end(self) -> float:
        """When it ends, in seconds after the request."""
        return self.pieces[-1].at if self.pieces else 0.0


# The request


def read_request(data: Any) -> ChatRequest:
    """Return the request. Raises Refusal for one that a model without function calling can't answer."""
    if not isinstance(data, Mapping):
        raise Refusal("the body of the request must be a JSON object")
    for name in _NATIVE:
        if data.get(name) not in (None, []):
            raise _refused(name, "this model has no function calling of its own; send the request to `xmltools serve`")
    options = data.get("stream_options")
    return ChatRequest(
        model=_text(data, "model", "scripted"),
        turns=_turns(data.get("messages")),
        choices=_number(data, "n", 1, MAX_CHOICES) or 1,
        stop=_stops(data.get("stop")),
        limit=_number(data, "max_completion_tokens", 1) or _number(data, "max_tokens", 1),
        stream=data.get("stream") is True,
        include_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        seed=_number(data, "seed", None) or 0,
    )


def _refused(param: str, why: str) -> Refusal:
    return Refusal(f"{param}: {why}", param=param)


def _text(data: Mapping[str, Any], name: str, default: str) -> str:
    value = data.get(name, default)
    if not isinstance(value, str) or not value:
        raise _refused(name, f"expected a string, got {value!r:.60}")
    return _clean(value)


def _clean(text: str) -> str:
    """Return text without lone surrogates, which JSON can hold and UTF-8 can't."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(data: Mapping[str, Any], name: str, least: int | None, most: int | None = None) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    fits = type(value) is int and (least is None or value >= least) and (most is None or value <= most)
    if not fits:
        bounds = "" if least is None else f" from {least}" + ("" if most is None else f" through {most}")
        raise _refused(name, f"expected a whole number{bounds}, got {value!r:.60}")
    return int(value)


def _stops(value: Any) -> tuple[str, ...]:
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) and each for each in values):
        raise _refused("stop", f"expected a string or a list of strings that are not empty, got {value!r:.60}")
    return tuple(values)


def _turns(messages: Any) -> tuple[Turn, ...]:
    if not isinstance(messages, list) or not messages:
        raise _refused("messages", "expected a list with at least one message")
    return tuple(_turn(message, f"messages[{number}]") for number, message in enumerate(messages))


def _turn(message: Any, at: str) -> Turn:
    if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
        raise _refused(at, f"expected an object with a role of {', '.join(_ROLES)}")
    if message.get("tool_calls"):
        raise _refused(f"{at}.tool_calls", "this model has no function calling of its own; write calls as text")
    return Turn(message["role"], _clean(_content(message.get("content"), f"{at}.content")))


def _content(content: Any, at: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise _refused(at, "expected a string or a list of parts")
    texts = (part.get("text") for part in content if part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


# The reply


def say(request: ChatRequest, timing: Timing) -> list[Said]:
    """Return the choices that answer a request."""
    return [_choice(request, index, timing) for index in range(request.choices)]


def _choice(request: ChatRequest, index: int, timing: Timing) -> Said:
    pieces = reply(request.turns, request.model, f"{request.seed}/{index}", timing)
    if request.limit is not None and len(pieces) > request.limit:
        pieces, reason = pieces[: request.limit], "length"
    else:
        reason = "stop"
    text = "".join(piece.text for piece in pieces)
    stops = [at for at in map(text.find, request.stop) if at >= 0]
    return Said(tuple(_until(pieces, min(stops))), "stop") if stops else Said(tuple(pieces), reason)


def _until(pieces: list[Piece], length: int) -> Iterator[Piece]:
    """Yield the pieces of the first `length` characters."""
    for piece in pieces:
        if length <= 0:
            return
        yield piece._replace(text=piece.text[:length])
        length -= len(piece.text)


# The answer


def _head(request: ChatRequest, id: str, created: int, kind: str) -> dict[str, Any]:
    return {
        "id": id,
        "object": kind,
        "created": created,
        "model": request.model,
        "system_fingerprint": _FINGERPRINT,
    }


def _usage(request: ChatRequest, said: list[Said]) -> dict[str, int]:
    prompt, completion = request.prompt_tokens, sum(len(each.pieces) for each in said)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def body(request: ChatRequest, said: list[Said], id: str, created: int) -> dict[str, Any]:
    """Return the completion, for a request that does not stream."""
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": each.text, "refusal": None},
            "logprobs": None,
            "finish_reason": each.finish_reason,
        }
        for index, each in enumerate(said)
    ]
    return {**_head(request, id, created, "chat.completion"), "choices": choices, "usage": _usage(request, said)}


def chunks(request: ChatRequest, said: list[Said], id: str, created: int) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the chunks of a completion in the order of their times, with these; choices speak at the same time."""
    head = _head(request, id, created, "chat.completion.chunk")
    if request.include_usage:
        head["usage"] = None
    steps = merge(*(_steps(index, each) for index, each in enumerate(said)), key=lambda step: step[0])
    end = 0.0
    for end, choice in steps:
        yield end, {**head, "choices": [choice]}
    if request.include_usage:
        yield end, {**head, "choices": [], "usage": _usage(request, said)}


def _steps(index: int, said: Said) -> Iterator[tuple[float, dict[str, Any]]]:
    yield said.pieces[0].at if said.pieces else 0.0, _delta(index, {"role": "assistant", "content": ""})
    for piece in said.pieces:
        yield piece.at, _delta(index, {"content": piece.text})
    yield said.end, _delta(index, {}, said.finish_reason)


def _delta(index: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
