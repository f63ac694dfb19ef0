"""The words of a user: which tool they are about, and what in them may be meant by an argument.

Simple on purpose: a name says what its value is about, and a pattern finds that in the text. Where nothing is found,
or what was found does not fit the schema, the example value stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xmltools.tools import Tool
from xmltools.tools.schema import example_arguments, find_problems

__all__ = ["fill_arguments", "stems"]

_STEM = 5
_COMMON = frozenset({"and", "for", "from", "get", "how", "please", "set", "the", "this", "use", "what", "with", "you"})
_WORD = re.compile(r"[^\W_]{3,}")
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_LONGEST = 20_000
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
    return _WORD.findall(_SEAM.sub(" ", text[:_LONGEST]).lower())


def stems(text: str) -> frozenset[str]:
    """Return the first letters of the words that mean something.

    >>> sorted(stems("Please calculate it with the calculator"))
    ['calcu']
    """
    return frozenset(word[:_STEM] for word in _words(text) if word not in _COMMON)


def fill_arguments(tool: Tool, said: str) -> dict[str, Any]:
    """Return arguments for a call: those of an example, with the user's words where they fit the schema."""
    arguments = example_arguments(tool.shape, smallest=True) or {}
    said = said[:_LONGEST]
    numbers = [float(each) if "." in each else int(each) for each in _NUMBER.findall(said)]
    texts = [name for name, value in arguments.items() if isinstance(value, str)]
    for name, example in arguments.items():
        if name in texts:
            meant = _texts(name, tool, said, texts == [name])
            arguments[name] = next((each for each in meant if _fits(tool, {**arguments, name: each})), example)
        elif (number := next((each for each in numbers if _fits(tool, {**arguments, name: each})), None)) is not None:
            arguments[name] = number
            numbers.remove(number)  # each is meant once
    return arguments


def _fits(tool: Tool, arguments: dict[str, Any]) -> bool:
    return not find_problems(arguments, tool.shape)


def _texts(name: str, tool: Tool, said: str, only: bool) -> Iterator[str]:
    """Yield what may be meant by an argument, the most likely first. The `only` text may be all that was said."""
    schema = tool.parameters.get("properties", {}).get(name)
    choices = schema.get("enum") if isinstance(schema, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, str) and re.search(rf"\b{re.escape(choice)}\b", said, re.IGNORECASE):
            yield choice
    pattern = next((_PATTERNS[word] for word in _words(name) if word in _PATTERNS), _WHOLE if only else None)
    for each in (_QUOTED, _WHOLE) if pattern is _WHOLE else (pattern,) if pattern else (_QUOTED,) if only else ():
        found = each.search(said)
        if found:
            yield next(filter(None, found.groups()), found[0]).strip()
