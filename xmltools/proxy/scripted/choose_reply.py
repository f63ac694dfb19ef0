"""What the scripted model says: a call of the tool that fits, an answer that quotes a result, or a prepared reply.

Which tool the words of the user are about, and what in them may be meant by an argument, is found in a simple way on
purpose: a name says what its value is about, and a pattern finds that in the text. Where nothing is found, or what was
found does not fit the schema, the example value stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import takewhile
from typing import Any

from xmltools.dialects import FORGE, Body, Dialect, named
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall, ToolResult
from xmltools.proxy.bridge import Turn
from xmltools.render import render_calls
from xmltools.render.prompt_sentences import neutral
from xmltools.tools import Tool
from xmltools.tools.schema import example_arguments, find_problems

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
# Without the end tag of an argument named "arguments" it would not be clear which of the two is missing.
_LAST_END = re.compile(rf"</(?!{FORGE.arguments}>)[^<>]+>(?=\n</{FORGE.arguments}>\n</{FORGE.block}>\Z)")


def reply(turn: Turn, model: str) -> str:
    """Return what a model says in a turn; always the same."""
    dialect = named(turn.dialect) if named(turn.dialect).written else FORGE  # in which something can be written
    messages = turn.conversation.messages
    # Reasoning is nothing if the dialect has none.
    pairs = [(f"<{tag}>", f"</{tag}>") for tag in dialect.reasoning] or list(dialect.thoughts)
    start, end = pairs[0] if pairs and model == "scripted-thinking" else ("", "")

    def thought(text: str) -> str:
        return f"{start}\n{text}\n{end}\n\n" if start else ""

    question = next((each.text for each in reversed(messages) if each.role == "user" and each.text), "")
    new = list(takewhile(lambda message: message.role != "assistant", reversed(messages)))
    results = [part for message in reversed(new) for part in message.parts if isinstance(part, ToolResult)]
    if results and not turn.must_call:
        return thought("The result is here, so I answer.") + "\n\n".join(map(_quote, results))
    if not turn.tools:
        return _prepared(question)
    if model == "scripted-silent":
        return "I could call a tool here, but I never do."
    tool = max(turn.tools, key=lambda each: _fit(each, _stems(question)))
    # Where nothing marks a call, it is one only if the reply begins with it.
    announced = "" if dialect.written and dialect.written.is_bare else f"I'll use {tool.name} for that.\n\n"
    said = thought(f"The user wants something done. {tool.name} fits best, and its arguments are clear.") + announced
    return f"{said}{_call(tool, question, model, turn.is_retry, dialect)}"


def _quote(result: ToolResult) -> str:
    text, name = neutral(result.text), neutral(result.name)
    quote = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]} …"
    said = f"{name} did not work. It says:" if result.is_error else f"Here is the answer of {name}:"
    return f"{said}\n\n{quote}"


def _prepared(question: str) -> str:
    """Return the prepared reply that shares most words with the question."""
    spoken = _stems(question)
    texts = json.loads(files(__package__).joinpath("data", "prepared.json").read_text(encoding="utf-8"))
    best = max(texts, key=lambda each: len(spoken & _stems(each["about"])))
    return str(best["text"]) if spoken & _stems(best["about"]) else _HELP


def _fit(tool: Tool, spoken: frozenset[str]) -> int:
    """Return how many words of the user a tool shares."""
    name = _stems(tool.name)
    told = _stems(tool.description).union(*map(_stems, tool.parameters.get("properties", ()))) - name
    return _NAME_COUNTS * len(spoken & name) + len(spoken & told)


def _call(tool: Tool, question: str, model: str, is_retry: bool, dialect: Dialect) -> str:
    arguments, name = _fill_arguments(tool, question), tool.name
    is_named = dialect.body is Body.TAGS or (dialect.written or dialect).is_bare  # only names of tools begin a call
    if model == "scripted-broken" and not is_retry:
        name, arguments = (name, {}) if is_named else (f"{name}_now", arguments)  # there is no such tool
    call = ToolCall(id="", name=name, server=tool.server, arguments=arguments)
    try:
        block = render_calls([call], [tool], dialect=dialect)
    except XMLToolsError:  # the schema has alternatives that look alike in text
        block = render_calls([call], dialect=dialect)
    if model != "scripted-sloppy" or is_named:
        return block
    # What careless models do, and what loses nothing: a code fence, and one end tag too few.
    return f"```xml\n{_LAST_END.sub('', block)}\n```"


# The words of the user

_STEM = 5
_COMMON = frozenset({"and", "for", "from", "get", "how", "please", "set", "the", "this", "use", "what", "with", "you"})
_WORD = re.compile(r"[^\W_]{3,}")
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_MOST_READ = 20_000
"""Characters of a text that are looked at."""

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?!\w|\.\d)")
_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”|`([^`\n]{1,400})`|(?<!\w)'([^'\n]{1,400})'(?!\w)")
_WHOLE = re.compile(r"\S.{0,399}(?<!\s)", re.DOTALL)
_NAME = r"[A-Z][\w'’-]{0,40}"
_TOPICS = {
    "url uri link": re.compile(r"https?://[^\s<>\"'`]{1,400}[^\s<>\"'`.,;:!?)]"),
    "path file filename": re.compile(r"(?<![\w/.:])(?:[\w.~-]{0,80}/){0,20}[\w-]{1,80}\.[A-Za-z]\w{0,9}(?![\w/])"),
    "expression formula": re.compile(r"[-(]{0,4}\d(?:[\d. ()*/%^+-]{0,99}[\d)])?"),
    "city location place": re.compile(rf"\b(?:[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Oo]f|[Tt]o) ({_NAME}(?:,? {_NAME}){{0,4}})"),
    "query question search text message prompt input content": _WHOLE,
}
_PATTERNS = {word: pattern for words, pattern in _TOPICS.items() for word in words.split()}


def _words(text: str) -> list[str]:
    """Return the words of a text in small letters, also those in names such as `getWeather`."""
    return _WORD.findall(_SEAM.sub(" ", text[:_MOST_READ]).lower())


def _stems(text: str) -> frozenset[str]:
    """Return the first letters of the words that mean something.

    >>> sorted(_stems("Please calculate it with the calculator"))
    ['calcu']
    """
    return frozenset(word[:_STEM] for word in _words(text) if word not in _COMMON)


def _fill_arguments(tool: Tool, said: str) -> dict[str, Any]:
    """Return arguments for a call: those of an example, with the user's words where they fit the schema."""
    arguments = example_arguments(tool.shape, smallest=True) or {}
    said = said[:_MOST_READ].encode(errors="replace").decode()
    numbers: list[Any] = [float(each) if "." in each else int(each) for each in _NUMBER.findall(said)]
    texts = [name for name, value in arguments.items() if isinstance(value, str)]
    for name in arguments:
        meant = _meant_texts(name, tool, said, texts == [name]) if name in texts else numbers
        fitting = (each for each in meant if not find_problems({**arguments, name: each}, tool.shape))
        if (value := next(fitting, None)) is not None:
            arguments[name] = value
            if name not in texts:
                numbers.remove(value)  # each is meant once
    return arguments


def _meant_texts(name: str, tool: Tool, said: str, only: bool) -> Iterator[str]:
    """Yield what may be meant by an argument, the most likely first. The `only` text may be all that was said."""
    schema = tool.parameters.get("properties", {}).get(name)
    choices = schema.get("enum") if isinstance(schema, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, str) and re.search(rf"\b{re.escape(choice)}\b", said, re.IGNORECASE):
            yield choice
    pattern = next((_PATTERNS[word] for word in _words(name) if word in _PATTERNS), _WHOLE if only else None)
    for each in (_QUOTED, _WHOLE) if pattern is _WHOLE else (pattern,):
        if each is not None and (found := each.search(said)):
            yield next(filter(None, found.groups()), found[0]).strip()
