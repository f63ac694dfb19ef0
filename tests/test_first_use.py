"""Packages whose names are loaded when they are first used: all are there, and a parser loads none of them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = {
    "xmltools.dialects": ["hermes", "models", "pythonic"],
    "xmltools.models": ["conversation", "message", "reply", "results"],
    "xmltools.parser": ["detect_dialect"],
    "xmltools.tools.schema": ["constraints", "examples"],
}
"""Each with modules whose names are loaded late."""
LATE = (
    "xmltools.dialects.hermes",
    "xmltools.dialects.models",
    "xmltools.models.conversation",
    "xmltools.models.message",
    "xmltools.models.results",
    "xmltools.tools.docstrings",
    "xmltools.tools.schema.patterns",
    "xmltools.tools.schema.string_formats",
    "xmltools.parser.detect_dialect",
    "xmltools.tools.schema.constraints",
    "xmltools.tools.schema.examples",
    "difflib",
)
"""What a parser of calls in Forge's dialect has no use for."""


def said_by(program: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", PACKAGES)
def test_all_names_of_a_package_are_there(name: str) -> None:
    package = import_module(name)
    assert [each for each in package.__all__ if not hasattr(package, each)] == []
    with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("name", PACKAGES)
def test_names_and_modules_are_found_in_a_new_interpreter(name: str) -> None:
    modules = PACKAGES[name]
    program = f"import {name} as package; print([getattr(package, each).__name__ for each in {modules}])"
    assert said_by(program) == str([f"{name}.{each}" for each in modules])
    assert said_by(f"from {name} import *; from {name} import __all__ as a; print({{*a}} - {{*dir()}})") == "set()"


def test_a_parser_loads_only_what_it_needs() -> None:
    program = f"import sys; from xmltools import Parser; Parser(); print([n for n in {LATE!r} if n in sys.modules])"
    assert said_by(program) == "[]"
