"""Tools from the functions and models of a Python module that a user names.

The module is imported, as `python -m` would do it, and nothing in it is called. What it raises becomes one message,
what it prints goes to standard error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from inspect import isfunction
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from xmltools.cli.shared import did_you_mean
from xmltools.errors import XMLToolsError
from xmltools.tools import Tool

_NAME = r"[^\W\d]\w*+"
_TARGET = re.compile(rf"{_NAME}(?:\.{_NAME})*+(?::{_NAME}(?:, *{_NAME})*+)?")
_REASON = 160
"""Characters that are shown of what an import says."""


def is_target(text: str) -> bool:
    """Return whether text has the form `package.module`, `module:function` or `module:function,other`."""
    return bool(_TARGET.fullmatch(text))


def import_tools(target: str) -> list[Tool]:
    """Make tools from what `target` names; a module without names means all that is public in it.

    The current folder is searched too. Raises `XMLToolsError` if the import fails, and if a name is missing, or is
    that of no function and no pydantic model class.
    """
    name, _, attributes = target.partition(":")
    tools = []
    with _current_folder():
        with _foreign_code(f"module {name!r:.80} can't be imported"):
            module = import_module(name)
        for each in [each.strip() for each in attributes.split(",")] if attributes else _public_names(module):
            with _foreign_code(f"{name}:{each}"):
                tools.append(_make_tool(module, each))
    return tools


@contextmanager
def _current_folder() -> Iterator[None]:
    """Search the current folder for modules, before all others."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        with suppress(ValueError):  # the module may have changed the path
            sys.path.remove("")


@contextmanager
def _foreign_code(what: str) -> Iterator[None]:
    """Make one message of what a foreign module raises, and keep what it prints away from standard output."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except XMLToolsError as error:
        raise XMLToolsError(f"{what}: {error}") from None
    except (Exception, SystemExit) as error:
        raise XMLToolsError(f"{what}: {type(error).__name__}: {str(error)[:_REASON]}") from None


def _public_names(module: ModuleType) -> list[str]:
    """Return the names of the public functions and models that a module defines, in the order of its source."""
    names: dict[int, str] = {}
    for name, value in vars(module).items():
        is_tool = isfunction(value) or _is_model(value)
        if is_tool and not name.startswith("_") and value.__module__ == module.__name__:
            names.setdefault(id(value), name)
    if not names:
        raise XMLToolsError(f"module {module.__name__!r} defines no public function and no pydantic model class")
    return list(names.values())


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def _make_tool(module: ModuleType, name: str) -> Tool:
    missing = object()
    source = getattr(module, name, missing)
    if source is missing:
        suggestion = did_you_mean(name, (each for each in vars(module) if not each.startswith("_")), most=3)
        raise XMLToolsError("; ".join(filter(None, ("the module has no such name", suggestion))))
    if not callable(source) or (isinstance(source, type) and not _is_model(source)):
        kind = "a class" if isinstance(source, type) else f"a value of type {type(source).__name__}"
        raise XMLToolsError(f"expected a function or a pydantic model class, found {kind}")
    return Tool.of(source)
