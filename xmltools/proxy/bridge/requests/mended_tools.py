"""Definitions of tools that can't be read as they are, mended where only one thing can be meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords that hold schemas by name."""
_OBJECTS = (*_NAMED, "parameters", "input_schema", "items", "additionalProperties")
"""Where PHP writes an empty object as an empty list."""
_NULLABLE = ("default", "const")
_VALUES = (*_NULLABLE, "enum", "examples", "input_examples")
_TYPES = {
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("list", "tuple"), "array"),
    "int": "integer",
    "bool": "boolean",
    "dict": "object",
    "any": None,
}
"""What other languages call the types, in small letters."""
_MOST_LEVELS = 250


def mended(definition: Any, words: list[str], levels: int = _MOST_LEVELS) -> Any:
    """Return a definition, or a schema in it, with what is null left out, empty lists for objects as objects, types by
    their names in JSON Schema, and properties that say themselves whether they are required as the list says it. Adds
    the keywords that were mended to `words`."""
    if isinstance(definition, list) and levels:
        return [mended(each, words, levels - 1) for each in definition]
    if not isinstance(definition, Mapping) or not levels:
        return definition
    done: dict[str, Any] = {}
    for word, value in definition.items():
        better = value if word in _VALUES else _mended(word, value, words, levels - 1)
        if better is not None or word in _NULLABLE:
            done[word] = better
        if better is None and word not in _NULLABLE:
            words.append(word)
    for name, each in list(_properties(done).items()):
        if isinstance(each, dict) and isinstance(each.get("required"), bool):
            words.append("required")
            if each.pop("required") and name not in (listed := done.setdefault("required", [])):
                done["required"] = [*listed, name]
    return done


def _mended(word: str, value: Any, words: list[str], levels: int) -> Any:
    if word in _OBJECTS and value == []:
        words.append(word)
        return {}
    if word in _NAMED and isinstance(value, Mapping):
        words += [word] * (None in value.values())
        return {name: mended({} if each is None else each, words, levels) for name, each in value.items()}
    if word == "type" and isinstance(value, str):
        named = _TYPES.get(value.lower(), value.lower())
        if named != value and named is not None:
            words.append(word)
        return named
    return mended(value, words, levels)


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) and isinstance(schema.get("required", []), list) else {}
