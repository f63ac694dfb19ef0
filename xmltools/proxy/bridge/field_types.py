"""Whether the fields of a configuration have the types that they are declared with.

What comes of a field of another type shows late or never: `"false"` is true, and a word in place of a list of names is
a list of letters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from xmltools.errors import XMLToolsError

_NUMBERS = (int, float)
"""These have limits too, and are checked with them."""
_WORDS: dict[Any, str] = {
    bool: "True or False",
    str: "a string",
    NoneType: "None",
    Path: "a path",
    tuple: "a list of strings",
    Callable: "a function",
}


def check_types(given: Any, **words: str) -> None:
    """Raise XMLToolsError for the first field of a dataclass that is not of its type; numbers are not looked at.

    `words` say of single fields what is expected, where the type says too little.
    """
    of: Any = type(given)  # which mypy does not take for hashable
    declared = _kinds(of)
    for field in fields(given):
        value, kinds = getattr(given, field.name), declared[field.name]
        if not any(_fits(value, kind) for kind in kinds):
            expected = words.get(field.name) or " or ".join(map(_word, kinds))
            got = f"{value!r:.60}" if field.repr else type(value).__name__  # what is not shown may be a key
            raise XMLToolsError(f"{field.name}: expected {expected}, got {got}")


@cache
def _kinds(of: Any) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(of)
    return {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints.items()}


def _fits(value: Any, kind: Any) -> bool:
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return value in parts
    if origin is tuple:  # a list will do, as JSON has it
        return isinstance(value, (list, tuple)) and all(_fits(each, parts[0]) for each in value)
    if origin is Path:
        return isinstance(value, (str, os.PathLike))
    return origin in _NUMBERS or isinstance(value, origin)


def _word(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    origin = get_origin(kind) or kind
    return _WORDS.get(origin) or str(origin.__name__)
