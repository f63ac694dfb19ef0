"""The page about the five systems: what it names is there, and each case of their documents belongs to a row."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from support.pages import CONVERSATIONS, ROOT
from support.seed_cases import CASES

import xmltools as xt
from xmltools.cli.commands import _parse_arguments
from xmltools.formats import FORMATS

PAGE = ROOT / "docs" / "five_systems.md"
TEXT = PAGE.read_text("utf-8")
SYSTEMS = ("Wolo", "Forge", "Clawtools", "RobotLab", "Wick")


def rows(system: str) -> list[list[str]]:
    """The rows of a system's table: what the document says, the names here, and the kinds of cases."""
    section = re.search(rf"^## {system}\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert section, system
    lines = [line for line in section[1].splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


NAMES = sorted({name for system in SYSTEMS for _, names, _ in rows(system) for name in quoted(names)})


def found(name: str) -> Any:
    """What a dotted name stands for: one of `xmltools`, of a module in it, or of a format's module."""
    first, *others = name.split(".")
    value = importlib.import_module(f"xmltools.formats.{first}") if first in FORMATS else getattr(xt, first)
    for other in others:
        fields = getattr(value, "model_fields", {})
        value = fields[other] if other in fields else getattr(value, other)
    return value


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("xmltools ")])
def test_what_the_page_names_is_there(name: str) -> None:
    name, option = re.fullmatch(r"([\w.]+)(?:\((\w+)=\))?", name).groups()  # type: ignore[union-attr]
    assert found(name) is not None
    if option:  # `parse` takes those of `Parser`
        assert option in inspect.signature(found("Parser" if name == "parse" else name)).parameters


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("xmltools ")])
def test_the_options_of_commands_are_in_their_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, command, *options = name.split()
    with pytest.raises(SystemExit):
        _parse_arguments([command, "--help"])
    help = capsys.readouterr().out
    assert options and all(re.search(rf"{option}\b", help) for option in options)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_case_of_the_documents_belongs_to_a_row(system: str) -> None:
    """If this fails, add the new kinds of cases to the rows in `docs/five_systems.md` whose features they try."""
    kinds = {case["kind"] for case in CASES if case["system"] == system.lower()}
    assert {kind for _, _, cell in rows(system) for kind in quoted(cell)} == kinds


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_public_name_of_a_format_is_on_the_page(system: str) -> None:
    module = importlib.import_module(f"xmltools.formats.{system.lower()}")
    common = {"GROUPED", "HOLDS", "NAME", "SPELLING", "dump", "load", "recognise"}
    mentioned = set(re.findall(rf"\b{system.lower()}\.(\w+)", TEXT))
    helpers = {"ThinkingBlock", "ImageUrl"}  # of blocks that are on the page
    assert set(module.__all__) - common - helpers <= mentioned


def test_the_page_is_linked() -> None:
    assert "(five_systems.md" in CONVERSATIONS.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (PAGE.parent / target).resolve().exists()
