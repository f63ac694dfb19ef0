"""What can be written at all: names that a call can say, and values of JSON in text that is Unicode."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.syntax.json_reader import MAX_DIGITS
from xmltools.syntax.markup import NAME_LENGTH, SPACES, is_valid_name
from xmltools.tools import Tool
from xmltools.tools.schema import Shape

ORDINARY_NAME = re.compile(f"[A-Za-z_][A-Za-z0-9_-]{{0,{NAME_LENGTH - 1}}}")
"""Names that a call can say as they are, as tags and otherwise: nearly all."""


def is_sayable(name: str) -> bool:
    """Return whether a name is read back as it is: one line, 1 to 256 characters, no `<` and `>`, not trimmed."""
    return bool(name) and is_valid_name(name) and name.strip(SPACES) == name


def is_hidden(name: str, arguments: Shape, dialect: Dialect) -> bool:
    """Return whether only an attribute can say the name of an argument, though an element could bear it.

    An element `arguments` right in `<arguments>` means nothing, unless the tool declares it.
    """
    return name == dialect.arguments and not arguments.has_property(name)


def refuse_unsayable(name: str, what: str) -> None:
    """Raise XMLToolsError for a name that no call can say. `what` has it: "a tool", for instance."""
    if not (ORDINARY_NAME.fullmatch(name) or is_sayable(name)):
        raise XMLToolsError(
            f"{name!r:.80} is no name for {what} that a call could say: expected 1 to 256 characters on one line, "
            "without < and >, and no white space around them"
        )


def escape_name(name: str) -> str:
    """Return a name as it is written in an attribute or between tags."""
    return name.replace("&", "&amp;").replace('"', "&quot;") if "&" in name or '"' in name else name


def only_server(tools: Iterable[Tool]) -> str | None:
    """Return the server that a block means which names none: the one of all tools, `local` if there are no tools.

    None if the tools are on several servers: then blocks should name theirs.
    """
    servers = {tool.server for tool in tools} or {FORGE.default_server}
    return servers.pop() if len(servers) == 1 else None


# Values


_LARGEST = 10**MAX_DIGITS
_DEEPEST = 256
"""Levels in arguments. No parser reads as many, and what writes them goes into each."""


def refuse_foreign(arguments: dict[str, Any], of: str) -> None:
    """Raise XMLToolsError for the first value in `arguments` that JSON or UTF-8 does not have.

    `of` says in messages whose arguments they are.
    """
    try:
        wrong = next(_foreign(arguments, ()), None)
    except RecursionError:
        raise XMLToolsError(f"the arguments of {of} are nested too deeply, or hold themselves") from None
    if wrong:
        path, found = wrong
        place = "".join(f"[{step!r}]" for step in path)
        raise XMLToolsError(
            f"the arguments of {of}{' at ' + place if place else ''}: expected strings, finite numbers, true, false, "
            f"null, lists and objects with string keys, got {found}"
        )


def _foreign(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if len(path) > _DEEPEST:
        raise RecursionError
    if isinstance(value, str):
        if not is_unicode(value):
            yield path, "text with a lone surrogate, which no encoding can carry"
    elif isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                yield path, f"the key {key!r:.60}"
            elif not is_unicode(key):
                yield path, "a key with a lone surrogate, which no encoding can carry"
            yield from _foreign(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _foreign(each, (*path, number))
    elif isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            yield path, f"an integer of more than {MAX_DIGITS} digits"
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield path, repr(value)
    elif value is not None:
        yield path, f"{type(value).__name__} {value!r:.60}"


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can carry `text`: it holds no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def scalar_text(value: float | str | None) -> str:
    """Return a scalar as it is written between tags: JSON's spelling, strings as they are.

    >>> scalar_text(True), scalar_text(1e20), scalar_text("a"), scalar_text(None)
    ('true', '1e+20', 'a', 'null')
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)


def same(one: Any, other: Any, *, loose: bool = False) -> bool:
    """Return whether two JSON values are equal; unlike ==, true and 1 are not, nor are they at any depth.

    `loose`: the text of a number or boolean will do for it.
    """
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(each, other[name], loose=loose) for name, each in one.items())
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(same(each, its, loose=loose) for each, its in zip(one, other, strict=True))
        )
    if loose and isinstance(other, str) and one is not None:
        return scalar_text(one) == other
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
