"""What the scripted model says: a call of the tool that fits, an answer that quotes a result, or a prepared reply."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from itertools import takewhile

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall, ToolResult
from xmltools.proxy.bridge import Turn
from xmltools.proxy.scripted.words import fill_arguments, stems
from xmltools.render.calls import write_call
from xmltools.render.wording import neutral
from xmltools.tools import Tool

__all__ = ["MODELS", "reply"]

MODELS = ("scripted", "scripted-sloppy", "scripted-broken", "scripted-thinking", "scripted-silent")
"""The models that there are; any other name is taken for the first."""

_LONGEST_QUOTE = 600
_NAME_COUNTS = 3
"""A word of a tool's name counts as much as this many words of its description."""
_HELP = (
    "I'm a script and no language model. After `xmltools serve --demo` I call the tool that fits your words best, and "
    "quote its result. Without tools I only know a few texts by heart: ask me for a haiku, a riddle, or how a tool "
    "call looks."
)
_THOUGHT = "The user wants something done. {name} fits best, and its arguments are clear."
# Without the end tag of an argument named "arguments" it would not be clear which of the two is missing.
_LAST_END = re.compile(rf"</(?!{FORGE.arguments}>)[^<>]+>(?=\n</{FORGE.arguments}>\n</{FORGE.block}>\Z)")


def reply(turn: Turn, model: str) -> str:
    """Return what a model says in a turn; always the same."""
    messages = turn.conversation.messages
    question = next((each.text for each in reversed(messages) if each.role == "user" and each.text), "")
    new = list(takewhile(lambda message: message.role != "assistant", reversed(messages)))
    results = [part for message in reversed(new) for part in message.parts if isinstance(part, ToolResult)]
    if results and not turn.must_call:
        answer = "\n\n".join(map(_quote, results))
        return f"<think>\nThe result is here, so I answer.\n</think>\n\n{answer}" if _thinks(model) else answer
    if not turn.tools:
        return _prepared(question)
    if model == "scripted-silent":
        return "I could call a tool here, but I never do."
    tool = max(turn.tools, key=lambda each: _fit(each, stems(question)))
    thought = f"<think>\n{_THOUGHT.format(name=tool.name)}\n</think>\n\n" if _thinks(model) else ""
    return f"{thought}I'll use {tool.name} for that.\n\n{_call(tool, question, model, turn.is_retry)}"


def _thinks(model: str) -> bool:
    return model == "scripted-thinking"


def _quote(result: ToolResult) -> str:
    text, name = neutral(result.text), neutral(result.name)
    quote = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]} …"
    said = f"{name} did not work. It says:" if result.is_error else f"Here is the answer of {name}:"
    return f"{said}\n\n{quote}"


def _prepared(question: str) -> str:
    """Return the prepared reply that shares most words with the question."""
    spoken = stems(question)
    shared, text = max(((len(spoken & about), text) for about, text in _texts()), key=lambda each: each[0])
    return text if shared else _HELP


@cache
def _texts() -> list[tuple[frozenset[str], str]]:
    data = files(__package__).joinpath("data", "prepared.json").read_text(encoding="utf-8")
    return [(stems(each["about"]), each["text"]) for each in json.loads(data)]


def _fit(tool: Tool, spoken: frozenset[str]) -> int:
    """Return how many words of the user a tool shares."""
    name = stems(tool.name)
    told = stems(tool.description).union(*map(stems, tool.parameters.get("properties", ()))) - name
    return _NAME_COUNTS * len(spoken & name) + len(spoken & told)


def _call(tool: Tool, question: str, model: str, is_retry: bool) -> str:
    is_wrong = model == "scripted-broken" and not is_retry
    name = f"{tool.name}_now" if is_wrong else tool.name  # there is no such tool
    call = ToolCall(id="", name=name, server=tool.server, arguments=fill_arguments(tool, question))
    try:
        block = write_call(call, tool.shape, exact=False)
    except XMLToolsError:  # the schema has alternatives that look alike in text
        block = write_call(call.model_copy(update={"arguments": {}}), None, exact=False)
    if model != "scripted-sloppy":
        return block
    # What careless models do, and what loses nothing: a code fence, and one end tag too few.
    return f"```xml\n{_LAST_END.sub('', block)}\n```"
