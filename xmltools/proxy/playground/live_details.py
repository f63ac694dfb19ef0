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
from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.reply import join_continued
from xmltools.proxy.playground.analyse import Analysis, Options
from xmltools.proxy.playground.live import Attempt, Content, Reply, Text
from xmltools.proxy.playground.parts import fields_of, gather_parts, write_block
from xmltools.tools import Tool

_MESSAGES = 200
"""Messages of a request that are shown one by one: the last ones."""
_SAID_IN = {"system": "system", "instructions": "system", "messages": "user", "input": "user"}
"""The fields of requests that say something, in all APIs, and who says what is a text."""
_UNSEEN = re.compile(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


def describe(summary: dict[str, Any], content: Content) -> dict[str, Any]:
    """Return all that a page shows of an exchange."""
    tools = _tools_of(content)
    return {
        **summary,
        "request": _request(content.request),
        "tools": _json([tool.model_dump() for tool in tools]) if tools else None,
        "warnings": str(content.warnings),
        "options": content.options,
        "attempts_made": [
            {
                **attempt.times,
                **attempt.counts,
                "status": attempt.status,
                "prompt": _request(attempt.prompt),
                "replies": [
                    {"choice": choice, **_reply(content, attempt, reply, tools)}
                    for choice, reply in sorted(attempt.replies.items())
                ],
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
        return {"text": _text(body)}
    request = json.loads(body.head)  # it was written here, of an object
    messages = list(_messages(request))
    tools = request.pop("tools", None)
    return {
        "messages": messages[-_MESSAGES:],
        "left_out": max(0, len(messages) - _MESSAGES),
        "tools": {"count": len(tools), "text": _json(tools)} if isinstance(tools, list) and tools else None,
        "fields": _json(request) if request else "",
    }


def _messages(request: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Take out of a request what was said: who said it, and the text. All but text is JSON."""
    for name, role in _SAID_IN.items():
        said = request.pop(name, None) or []
        for each in said if isinstance(said, list) and role == "user" else [said] * bool(said):
            rest = dict(each) if isinstance(each, dict) else {"role": role, "content": each}
            content, kind = rest.pop("content", None) or [], rest.pop("type", "")
            parts = content if isinstance(content, list) else [content]
            text = [part.get("text", part) if isinstance(part, dict) else part for part in parts]
            said_by = str(rest.pop("role", kind))
            text += [rest] * bool(rest)
            yield {
                "role": said_by,
                "text": "\n\n".join(part if isinstance(part, str) else _json(part) for part in text),
            }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _pretty(text: str) -> str:
    """Return JSON with lines, and anything else as it is."""
    try:
        return _json(json.loads(text)) if text.startswith("{") else text
    except (ValueError, RecursionError):
        return text


# Replies


def _reply(content: Content, attempt: Attempt, reply: Reply, tools: list[Tool]) -> dict[str, Any]:
    """Return a reply with its reading and its steps, as the playground shows them: so far, if there is more to come.
    The only step is the whole text."""
    text, options = _source(content, attempt, reply)
    lost = reply.text.lost
    dialect = content.options.get("dialect", "")
    shown: dict[str, Any] = {
        "text": text,
        "lost": lost,
        "thoughts": _text(reply.thoughts),
        "calls": [write_block(part, tools, dialect) for part in gather_parts(reply.calls)],
        "finish": reply.finish,
        "continues": text != str(reply.text),
        "error": "",
    }
    if not tools:
        why = "The tools are too long to be kept: calls are counted, but not shown."
        return shown | {"error": why if content.tools.lost else "Without tools nothing is read in a reply."}
    is_whole = "ended" in attempt.times and not lost
    analysis = Analysis(text, tools, Options(**options), max(1, len(text)), is_whole)
    try:
        return shown | {"reading": analysis.reading(), "steps": analysis.steps()}
    except XMLToolsError as error:
        return shown | {"error": str(error)}


def _source(content: Content, attempt: Attempt, reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the text of a reply, with the beginning of a call that it continues, and the options to read it with."""
    text = str(reply.text)
    if not attempt.continued.head:
        return text, content.options
    return join_continued(str(attempt.continued), text), content.options | {"starts_in_reasoning": False}


# The corpus


def corpus_case(summary: dict[str, Any], content: Content, number: int, choice: int) -> tuple[str, bytes]:
    """Return the name of a file and what it holds: the reply as a case in the form of `tests/corpus`.

    What is expected is what the parser read, which whoever keeps the case is asked to check. Raises Refusal for
    a reply that is not kept whole, has not ended, or was asked for without tools.
    """
    tools = _tools_of(content)
    attempt = content.attempts[number] if 0 <= number < len(content.attempts) else Attempt()
    reply = attempt.replies.get(choice)
    if reply is None or not tools or "ended" not in attempt.times or reply.text.lost:
        raise Refusal("only a reply that has ended, is kept whole and was given tools makes a case", status=404)
    text, options = _source(content, attempt, reply)
    read = parse(text, tools, **options)
    id = "-".join(re.findall("[a-z0-9]+", f"live {summary['id']} {number + 1} {choice + 1}".lower()))
    case = {
        "id": id,
        "rule": "0",
        "about": f"A reply of {summary['model'] or 'a model'}: say what it shows, name the rule, check `expect`.",
        "text": text,
        "tools": [tool.model_dump() for tool in tools],
        "options": {name: value for name, value in options.items() if value not in (False, None, "forge")},
        "expect": {
            **fields_of(read, "text", "reasoning"),
            "calls": [
                fields_of(call, "server", "name", "arguments", "clean", "span")
                | {"repairs": [repair.code for repair in call.repairs]}
                | ({"legacy_json": True} if call.legacy_json else {})
                for call in read.calls
            ],
            "errors": [fields_of(error, "code", "span") for error in read.errors],
            **({"unclosed_reasoning": True} if read.unclosed_reasoning else {}),
        },
    }
    written = _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", _json([case]))
    return f"99-{id}.json", f"{written}\n".encode()
