"""What the live view shows of one exchange, as JSON values, and its reply as a case for the corpus.

Both take a `Snapshot`, and may take as long as it takes to parse the reply: the hub goes on meanwhile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import count
from typing import Any

from xmltools import dialects
from xmltools.errors import CallError, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, Event, Noticed
from xmltools.parser import Parser, build_reply
from xmltools.proxy.bridge.reply import join_continued
from xmltools.proxy.playground.analyse import PARTS
from xmltools.proxy.playground.live import AttemptSnapshot, Kept, ReplySnapshot, Snapshot
from xmltools.proxy.playground.parts import Part, gather_parts, write_reading
from xmltools.proxy.playground.value_rows import write_path
from xmltools.tools import Tool

_MESSAGES = 200
"""Messages of a request that are shown one by one: the last ones."""
_SAID_IN = ("messages", "input")
_SAID_BEFORE = ("system", "instructions")
_UNSEEN = re.compile(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


def describe(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that a page shows of an exchange."""
    tools = _tools_of(snapshot)
    attempts = [_attempt(snapshot, attempt, tools) for attempt in snapshot.attempts]
    for before in attempts[:-1]:
        before["sent_back"] = before["status"] < 400  # else the upstream refused it
    return {
        **snapshot.summary,
        "request": _request(snapshot.request),
        "tools": _json([tool.model_dump() for tool in tools]) if tools else None,
        "tools_lost": snapshot.has_tools and not tools and not snapshot.summary["plain"],
        "warnings": snapshot.warnings.head,
        "options": snapshot.options,
        "attempts_made": attempts,
        "sent": {**asdict(snapshot.sent), "head": _pretty(snapshot.sent.head)},
    }


def _tools_of(snapshot: Snapshot) -> list[Tool]:
    return [Tool(**tool) for tool in json.loads(snapshot.tools)] if snapshot.tools else []


# Requests


def _request(body: Kept) -> dict[str, Any]:
    """Return a request by its messages, its tools and its other fields; one that lost something as text."""
    value = _loaded(body)
    if value is None:
        return {"messages": [], "tools": None, "fields": "", "text": asdict(body)}
    messages = list(_messages(value))
    tools = value.get("tools")
    shown = (*_SAID_IN, *_SAID_BEFORE, "tools")
    return {
        "messages": messages[-_MESSAGES:],
        "left_out": max(0, len(messages) - _MESSAGES),
        "tools": {"count": len(tools), "text": _json(tools)} if isinstance(tools, list) and tools else None,
        "fields": _json({name: each for name, each in value.items() if name not in shown}),
        "text": None,
    }


def _loaded(body: Kept) -> dict[str, Any] | None:
    if body.lost or not body.head:
        return None
    value = json.loads(body.head)  # it was written here, of an object
    return value if isinstance(value, dict) else None


def _messages(request: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield what was said, in the fields that the APIs have for it: who said it, and the text."""
    for name in _SAID_BEFORE:
        if request.get(name):
            yield {"role": "system", "text": _said(request[name])}
    for name in _SAID_IN:
        said = request.get(name)
        if isinstance(said, str):
            yield {"role": "user", "text": said}
        for each in said if isinstance(said, list) else ():
            yield _message(each)


def _message(message: Any) -> dict[str, str]:
    if not isinstance(message, dict):
        return {"role": "", "text": _json(message)}
    role = message.get("role") or message.get("type")
    rest = {name: value for name, value in message.items() if name not in ("role", "content") and value is not None}
    if rest == {"type": "message"}:
        rest = {}
    texts = [_said(message["content"])] if message.get("content") else []
    return {
        "role": role if isinstance(role, str) else "",
        "text": "\n\n".join([*texts, *([_json(rest)] if rest else [])]),
    }


def _said(content: Any) -> str:
    """Return content as text; parts of it that are no text as JSON."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return _json(content)
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n\n".join(
        text if isinstance(text, str) else _json(part) for text, part in zip(parts, content, strict=True)
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _pretty(text: str) -> str:
    """Return JSON with lines, and anything else as it is."""
    if not text.startswith("{"):
        return text
    try:
        return _json(json.loads(text))
    except (ValueError, RecursionError):
        return text


# Replies


def _attempt(snapshot: Snapshot, attempt: AttemptSnapshot, tools: list[Tool]) -> dict[str, Any]:
    return {
        **attempt.facts,
        "is_over": attempt.is_over,
        "prompt": _request(attempt.prompt),
        "sent_back": False,
        "told": attempt.told,
        "replies": [_reply(snapshot, attempt, reply, tools) for reply in attempt.replies],
    }


def _reply(snapshot: Snapshot, attempt: AttemptSnapshot, reply: ReplySnapshot, tools: list[Tool]) -> dict[str, Any]:
    text = _text_of(attempt, reply)
    is_whole = attempt.is_over and not reply.text.lost
    return {
        "choice": reply.choice,
        "text": text,
        "lost": reply.text.lost,
        "thoughts": asdict(reply.thoughts),
        "calls": reply.calls,
        "finish": reply.finish,
        "continues": text != reply.text.head,
        "savable": is_whole and bool(text) and bool(tools),
        "reading": _reading(snapshot, attempt, text, tools, is_whole=is_whole),
    }


def _text_of(attempt: AttemptSnapshot, reply: ReplySnapshot) -> str:
    return join_continued(attempt.continued, reply.text.head) if attempt.continued else reply.text.head


def _reading(
    snapshot: Snapshot, attempt: AttemptSnapshot, text: str, tools: list[Tool], *, is_whole: bool
) -> dict[str, Any]:
    """Return the reading of a reply, as the playground shows it: so far, if there is more to come."""
    name = snapshot.options.get("dialect", dialects.FORGE.name)
    events, unclosed = _read(snapshot, attempt, text, tools, is_whole=is_whole)
    parts = gather_parts(events) if tools else [Part("text", 0, len(text), [text])] if text else []
    if len(parts) > PARTS:
        return {"error": f"The reply falls into more than {PARTS:,} parts, which no page can show."}
    notices = [event.notice for event in events if isinstance(event, Noticed)]
    reading = write_reading(text, parts, notices, tools, dialects.named(name))
    return reading | {"unclosed_reasoning": unclosed, "ended": is_whole, "open": _open_call(events)}


def _read(
    snapshot: Snapshot, attempt: AttemptSnapshot, text: str, tools: list[Tool], *, is_whole: bool
) -> tuple[list[Event], bool]:
    """Return the events of a text, and whether it ends in reasoning. Without tools nothing is read, as in the proxy."""
    if not tools:
        return [], False
    numbers = count(1)
    options = _options(snapshot, attempt)
    parser = Parser(tools, new_id=lambda: f"call_{next(numbers)}", **options)
    events = parser.feed(text)
    if is_whole:
        events += parser.close()
        return events, parser.unclosed_reasoning
    parser.abandon()
    return events, False


def _options(snapshot: Snapshot, attempt: AttemptSnapshot) -> dict[str, Any]:
    # What was cut off is continued where it was, in a call.
    starts = snapshot.options.get("starts_in_reasoning", False) and not attempt.continued
    return {**snapshot.options, "starts_in_reasoning": starts}


def _open_call(events: list[Event]) -> dict[str, Any] | None:
    """Return the call that the events leave open, and what is known of its arguments."""
    started: CallStarted | None = None
    texts: dict[str, list[str]] = {}
    for event in events:
        match event:
            case CallStarted():
                started, texts = event, {}
            case ArgumentDelta(path, text):
                texts.setdefault(write_path(path), []).append(text)
            case CallCompleted() | CallFailed():
                started = None
    if started is None:
        return None
    return {"name": started.name, "arguments": [[path, "".join(pieces)] for path, pieces in texts.items()]}


# The corpus


def corpus_case(snapshot: Snapshot, attempt: int, choice: int) -> tuple[str, bytes]:
    """Return the name of a file and what it holds: the reply as a case in the form of `tests/corpus`.

    What is expected is what the parser read, which whoever keeps the case is asked to check. Raises XMLToolsError for
    a reply that is not kept whole, has not ended, or was asked for without tools.
    """
    tools = _tools_of(snapshot)
    if not 0 <= attempt < len(snapshot.attempts):
        raise XMLToolsError(f"attempt: expected 0 to {len(snapshot.attempts) - 1}, got {attempt}")
    made = snapshot.attempts[attempt]
    reply = next((each for each in made.replies if each.choice == choice), None)
    if reply is None or not tools or not made.is_over or reply.text.lost:
        raise XMLToolsError("only a reply that has ended, is kept whole and was given tools makes a case")
    text = _text_of(made, reply)
    events, unclosed = _read(snapshot, made, text, tools, is_whole=True)
    options = {name: value for name, value in _options(snapshot, made).items() if value not in (False, "forge")}
    summary = snapshot.summary
    name = "-".join(re.findall(r"[a-z0-9]+", summary["id"].lower())) or str(summary["number"])
    id = "-".join(["live", name, *([f"attempt-{attempt + 1}"] if attempt else []), *([f"{choice}"] if choice else [])])
    case = {
        "id": id,
        "rule": "0",
        "about": f"A reply of {summary['model'] or 'a model'}: say what it shows, name the rule, check `expect`.",
        "text": text,
        "tools": [tool.model_dump() for tool in tools],
        "options": options,
        "expect": _expectation(events, unclosed_reasoning=unclosed),
    }
    written = _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", _json([case]))
    return f"99-{id}.json", f"{written}\n".encode()


def _expectation(events: list[Event], *, unclosed_reasoning: bool) -> dict[str, Any]:
    reply = build_reply(events, unclosed_reasoning=unclosed_reasoning)
    expected = {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "calls": [_expected_call(call) for call in reply.calls],
        "errors": [_expected_error(error) for error in reply.errors],
    }
    return expected | ({"unclosed_reasoning": True} if unclosed_reasoning else {})


def _expected_call(call: ToolCall) -> Mapping[str, Any]:
    return {
        "server": call.server,
        "name": call.name,
        "arguments": call.arguments,
        "repairs": [repair.code for repair in call.repairs],
        "clean": call.clean,
        **({"legacy_json": True} if call.legacy_json else {}),
        "span": call.span,
    }


def _expected_error(error: CallError) -> Mapping[str, Any]:
    name = {"name": error.name} if error.name is not None else {}
    return {"code": error.code, **name, "span": error.span}
