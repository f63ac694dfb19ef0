"""What a page may ask of an analysis, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from xmltools.errors import XMLToolsError
from xmltools.grammar import FORMATS
from xmltools.parser import Parser
from xmltools.tools import Tool, load_tools

__all__ = ["SECTIONS", "Asked", "InputError", "read_options", "read_text", "read_tools"]

SECTIONS = ("reading", "steps", "prompt", "grammar", "rechunk")
_DEFAULT_SECTIONS = ("reading", "steps", "prompt", "grammar")
_FLAGS = ("strict", "starts_in_reasoning", "bracket_reasoning")
_CHOICES = {"code_fences": ("call", "text"), "style": ("full", "compact"), "grammar": FORMATS}
_LISTS = ("reasoning_tags", "sections")
_KNOWN = (*_FLAGS, *_CHOICES, *_LISTS, "seed")
_PARSER = (*_FLAGS, "code_fences", "reasoning_tags")


class InputError(XMLToolsError):
    """What was asked makes no sense; `field` is "text", "tools" or "options", so that a page can point at it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be found out: options of the parser, parts of the answer, and how they are made."""

    parser: Mapping[str, Any]
    sections: tuple[str, ...] = _DEFAULT_SECTIONS
    style: Literal["full", "compact"] = "full"
    grammar: str = "gbnf"
    seed: int = 0


def read_text(text: Any) -> str:
    """Return the text. Raises InputError if it is none."""
    if not isinstance(text, str):
        raise InputError("text", f"text: expected a string, got {type(text).__name__}")
    return text


def read_tools(tools: Any) -> list[Tool] | None:
    """Return the tools, or None if there are none to check calls against. Raises InputError if they are invalid."""
    if tools is None:
        return None
    try:
        loaded = load_tools(tools)
        Parser(loaded)  # compiles the schemas, and refuses two tools of one name
    except RecursionError:
        raise InputError("tools", "tools: expected schemas of a moderate depth, got one nested too deeply") from None
    except ValueError as error:
        raise InputError("tools", f"tools: {error}") from None
    return loaded


def read_options(given: Any) -> Asked:
    """Return what was asked for. Raises InputError for an option that there is not, or a value that it can't have."""
    options = {} if given is None else given
    if not isinstance(options, Mapping):
        _refuse("options", "an object", options)
    for name, value in options.items():
        if name not in _KNOWN:
            raise InputError("options", f"options: expected only {', '.join(_KNOWN)}, got {name!r:.60}")
        _check(name, value)
    parser = {name: options[name] for name in _PARSER if name in options}
    try:
        Parser(**parser)
    except XMLToolsError as error:
        raise InputError("options", f"options: {error}") from None
    rest = {name: value for name, value in options.items() if name not in _PARSER}
    return Asked(parser, **rest | {"sections": tuple(options.get("sections", _DEFAULT_SECTIONS))})


def _check(name: str, value: Any) -> None:
    if name in _FLAGS and not isinstance(value, bool):
        _refuse(name, "true or false", value)
    if name in _CHOICES and value not in _CHOICES[name]:
        _refuse(name, f"one of {', '.join(_CHOICES[name])}", value)
    if name in _LISTS and not (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)):
        _refuse(name, "a list of names", value)
    if name == "sections" and not set(value) <= set(SECTIONS):
        _refuse(name, f"some of {', '.join(SECTIONS)}", value)
    if name == "seed" and type(value) is not int:
        _refuse(name, "a whole number", value)


def _refuse(name: str, expected: str, value: Any) -> NoReturn:
    where = name if name == "options" else f"options.{name}"
    raise InputError("options", f"{where}: expected {expected}, got {value!r:.60}")
