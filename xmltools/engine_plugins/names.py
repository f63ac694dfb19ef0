"""The names of the plugins' parsers, as engines list them and as users give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xmltools import dialects
from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError

PREFIX = "xmltools_"
WHOLE = "_whole"


class ParserName(NamedTuple):
    """What a name stands for: a dialect, and whether calls are sent only when they are whole and right."""

    dialect: Dialect
    whole: bool

    def __str__(self) -> str:
        return f"{PREFIX}{self.dialect.name}{WHOLE if self.whole else ''}"


def tool_parsers() -> Iterator[ParserName]:
    """The tool parsers: two for each dialect."""
    for dialect in dialects.all():
        yield ParserName(dialect, False)
        yield ParserName(dialect, True)


def reasoning_parsers() -> Iterator[ParserName]:
    """The reasoning parsers: one for each dialect in which there is reasoning."""
    return (ParserName(each, False) for each in dialects.all() if each.reasoning or each.thoughts)


def find(name: str) -> ParserName:
    """Return what a name stands for. Raises `XMLToolsError` for a name of no parser."""
    plain = name.removeprefix(PREFIX)
    if plain == name:
        raise XMLToolsError(f"expected the name of a parser, {PREFIX}DIALECT, got {name!r:.80}")
    return ParserName(dialects.named(plain.removesuffix(WHOLE)), plain.endswith(WHOLE))
