"""All arguments in one: models put them into an argument that the tool does not have (protocol, 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from xmltools.errors import Code, Repair
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_reader import JSONError
from xmltools.tools.schema.shapes import Shape
from xmltools.tools.schema.written_numbers import loads_written

_NAMES: Final = ("name", "tool_name")


def unwrapped(
    values: Mapping[str, Any], shape: Shape, tool: str, offset: int, depth: int = 64
) -> tuple[dict[str, Any] | list[Element], list[Repair]] | None:
    """Return what the only argument contains, if it wraps all others, and the repairs at `offset`; otherwise None.

    `values`: arguments by name, as JSON, text, or lists of elements. `shape` is that of the tool. The name of the
    `tool` may be beside the argument. JSON in a text may nest `depth` levels.
    """
    if len(values) > 2 or not any(map(shape.wraps, values)):
        return None
    (name, *more) = (key for key in values if key not in _NAMES or values[key] != tool or shape.declares(key))
    if more or not shape.wraps(name):
        return None
    value, repairs = values[name], []
    if isinstance(value, str):
        try:
            value, slips = loads_written(value, depth, loose=True)
        except JSONError:
            return None
        repairs = [Repair(code, offset, message) for code, _, message in slips]
    if isinstance(value, dict):
        if (inner := unwrapped(value, shape, tool, offset, depth)) is not None:
            return inner[0], [*repairs, *inner[1]]
        members = list(value)
    elif isinstance(value, list) and all(isinstance(each, Element) for each in value):
        members = [each.name for each in value]
    else:
        return None
    if not all(map(shape.has_property, members)):
        return None
    return value, [Repair(Code.JSON_ARGUMENTS, offset, f"the arguments were read from the argument {name!r}"), *repairs]
