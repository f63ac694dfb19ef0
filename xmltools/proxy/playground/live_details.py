"""What the live view shows of one exchange, as JSON values, and its reply as a case for the corpus.

Both take the summary and a copy of the content, and may take as long as it takes to parse the reply: the hub goes on
meanwhile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.parser import parse
from xmltools.proxy.bridge.reply import join_continued
from xmltools.proxy.playground.analyse import Analysis, Options
from xmltools.proxy.playground.live import COUNTS, Attempt, Content, Reply, Text
from xmltools.tools import Tool

_MESSAGES = 200
"""Messages of a request that are shown one by one: the last ones."""
_SAID_BEFORE = ("system", "instructions")
_SAID_IN = ("messages", "input")
_UNSEEN = re.compile(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


def describe(summary: dict[str, Any], content: Content) -> dict[str, Any]:
    """Return all that a page shows of an exchange."""
    tools = _tools_of(content)
    return {
        **summary,
        "request": _request(content.request),
        "tools": _json([tool.model_dump() for tool in tools]) if tools else None,
        "tools_lost": content.tools.lost > 0,
        "warnings": str(content.warnings),
        "options": content.options,
        "attempts_made": [
            {
                **attempt.times,
                **{name: attempt.counts[name] for name in COUNTS},
                "status": attempt.status,
                "is_over": "ended" in attempt.times,
                "prompt": _request(attempt.prompt),
                "sent_back": attempt is not content.attempts[-1] and attempt.status < 400,  # else it was refused
                "told": str(attempt.told),
                "replies": [_reply(content, attempt, choice, tools) for choice in sorted(attempt.replies)],
            }
            for attempt in content.attempts
        ],
        "sent": _text(content.sent) | {"head": _pretty(str(content.sent))},
    }


def _tools_of(content: Content) -> list[Tool]:
    is_kept = content.tools.head and not content.tools.lost
    return [Tool(**tool) for tool in json.loads(content.tools.head)] if is_kept else []


def _text(text: Text) -> dict[str, Any]:
    return {"head": str(text), "tail": text.read(text.tail), "lost": text.lost}


# Requests


def _request(body: Text) -> dict[str, Any]:
    """Return a request by its messages, its tools and its other fields; one that lost something as text."""
    if body.lost or not body.head:
        return {"messages": [], "left_out": 0, "tools": None, "fields": "", "text": _text(body)}
    request = json.loads(body.head)  # it was written here, of an object
    messages = list(_messages(request))
    tools = request.pop("tools", None)
    return {
        "messages": messages[-_MESSAGES:],
        "left_out": max(0, len(messages) - _MESSAGES),
        "tools": {"count": len(tools), "text": _json(tools)} if isinstance(tools, list) and tools else None,
        "fields": _json(request) if request else "",
        "text": None,
    }


def _messages(request: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Take what was said out of a request, from the fields that the APIs have for it: who said it, and the text."""
    for name in _SAID_BEFORE:
        if said := request.pop(name, None):
            yield {"role": "system", "text": _said(said)}
    for name in _SAID_IN:
        said = request.pop(name, None) or []
        for each in said if isinstance(said, list) else [{"role": "user", "content": said}]:
            message = each if isinstance(each, dict) else {"content": [each]}
            role = message.get("role") or message.get("type")
            text = [_said(message["content"])] if message.get("content") else []
            rest = {
                key: value for key, value in message.items() if key not in ("role", "content") and value is not None
            }
            text += [_json(rest)] if rest not in ({}, {"type": "message"}) else []
            yield {"role": role if isinstance(role, str) else "", "text": "\n\n".join(text)}


def _said(content: Any) -> str:
    """Return content as text; parts of it that are no text as JSON."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        texts.append(text if isinstance(text, str) else _json(part))
    return "\n\n".join(texts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _pretty(text: str) -> str:
    """Return JSON with lines, and anything else as it is."""
    try:
        return _json(json.loads(text)) if text.startswith("{") else text
    except (ValueError, RecursionError):
        return text


# Replies


def _reply(content: Content, attempt: Attempt, choice: int, tools: list[Tool]) -> dict[str, Any]:
    reply = attempt.replies[choice]
    text = _text_of(attempt, reply)
    is_whole = "ended" in attempt.times and not reply.text.lost
    return {
        "choice": choice,
        "text": text,
        "lost": reply.text.lost,
        "thoughts": _text(reply.thoughts),
        "calls": [json.loads(call) for call in str(reply.calls).split("\n")[:-1]],  # the last line may be cut off
        "finish": reply.finish,
        "continues": text != str(reply.text),
        "savable": is_whole and bool(text and tools),
        **_read(text, tools, _options(content, attempt), is_whole=is_whole),
    }


def _text_of(attempt: Attempt, reply: Reply) -> str:
    text = str(reply.text)
    return join_continued(str(attempt.continued), text) if attempt.continued.head else text


def _options(content: Content, attempt: Attempt) -> dict[str, Any]:
    # What was cut off is continued where it was, in a call.
    return content.options | ({"starts_in_reasoning": False} if attempt.continued.head else {})


def _read(text: str, tools: list[Tool], options: dict[str, Any], *, is_whole: bool) -> dict[str, Any]:
    """Return the reading of a reply and its steps, as the playground shows them: so far, if there is more to come.
    The only step is the whole text."""
    if not tools:
        return {"error": "Without tools nothing is read in a reply."}
    analysis = Analysis(text, tools, Options(**options), size=max(1, len(text)), is_whole=is_whole)
    try:
        return {"error": "", "reading": analysis.reading(), "steps": analysis.steps()}
    except XMLToolsError as error:
        return {"error": str(error)}


# The corpus


def corpus_case(summary: dict[str, Any], content: Content, number: int, choice: int) -> tuple[str, bytes]:
    """Return the name of a file and what it holds: the reply as a case in the form of `tests/corpus`.

    What is expected is what the parser read, which whoever keeps the case is asked to check. Raises XMLToolsError for
    a reply that is not kept whole, has not ended, or was asked for without tools.
    """
    tools = _tools_of(content)
    attempt = content.attempts[number] if 0 <= number < len(content.attempts) else Attempt()
    reply = attempt.replies.get(choice)
    if reply is None or not tools or "ended" not in attempt.times or reply.text.lost:
        raise XMLToolsError("only a reply that has ended, is kept whole and was given tools makes a case")
    text, options = _text_of(attempt, reply), _options(content, attempt)
    id = "-".join(re.findall("[a-z0-9]+", f"live {summary['id']} {number + 1} {choice + 1}".lower()))
    case = {
        "id": id,
        "rule": "0",
        "about": f"A reply of {summary['model'] or 'a model'}: say what it shows, name the rule, check `expect`.",
        "text": text,
        "tools": [tool.model_dump() for tool in tools],
        "options": {name: value for name, value in options.items() if value not in (False, None, "forge")},
        "expect": _expectation(text, tools, options),
    }
    written = _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", _json([case]))
    return f"99-{id}.json", f"{written}\n".encode()


def _expectation(text: str, tools: list[Tool], options: dict[str, Any]) -> dict[str, Any]:
    reply = parse(text, tools, **options)
    calls = [
        {
            "server": call.server,
            "name": call.name,
            "arguments": call.arguments,
            "repairs": [repair.code for repair in call.repairs],
            "clean": call.clean,
            "span": call.span,
            **({"legacy_json": True} if call.legacy_json else {}),
        }
        for call in reply.calls
    ]
    errors = [
        {"code": error.code, "span": error.span, **({} if error.name is None else {"name": error.name})}
        for error in reply.errors
    ]
    unclosed = {"unclosed_reasoning": True} if reply.unclosed_reasoning else {}
    return {"text": reply.text, "reasoning": reply.reasoning, "calls": calls, "errors": errors, **unclosed}
