"""SECURITY.md names a proof for each of its claims: what it names is there."""

from __future__ import annotations

import argparse
import re

import pytest
from support.pages import ROOT

import xmltools as xt
from xmltools import dialects
from xmltools.cli.commands import COMMANDS
from xmltools.errors import Code

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([^`\n]+)`", TEXT)
MOST = 220
"""How many lines the page may have."""


def rows(heading: str) -> list[list[str]]:
    """The cells of each row of the table below a heading."""
    section = re.split(r"^#+ ", TEXT.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize(
    "heading", ["Calls", "What is written for models", "Time, memory, and what is outside", "Other ways in"]
)
def test_each_promise_names_a_test_or_a_command(heading: str) -> None:
    found = rows(heading)
    assert len(found) >= 4
    for *_, proof in found:
        assert re.search(r"`(tests/[^`]+|make [a-z-]+)`", proof), proof


def test_the_files_that_are_named_are_there() -> None:
    paths = [name for name in NAMED if name.startswith("tests/")]
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_commands_that_are_named_are_there() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    made = {name.removeprefix("make ") for name in NAMED if name.startswith("make ")}
    assert made and made <= set(targets)
    used = {name.split()[1] for name in NAMED if name.startswith("xmltools ")}
    assert used and used <= set(COMMANDS)


def test_the_options_that_are_named_are_there() -> None:
    known: set[str] = set()
    for command in COMMANDS.values():
        parser = argparse.ArgumentParser()
        command.declare(parser)
        known |= set(parser._option_string_actions)
    options = {name.split()[0] for name in NAMED if name.startswith("--")}
    assert len(options) > 10 and options - known == set()


def test_the_names_of_the_package_that_are_used_are_there() -> None:
    for name in ("Parser", "Limits", "find_echo"):
        assert hasattr(xt, name) and name in TEXT
    for module, name in (("validation", "check_user_input"), ("render", "render_result"), ("transcript", "inline")):
        assert hasattr(__import__(f"xmltools.{module}", fromlist=[name]), name) and name in TEXT
    codes = {code.value for code in Code}
    assert {"missing_end_tag", "code_fence", "decorated_name", "limit_exceeded", "invalid_name"} <= codes & set(NAMED)


def test_the_dialects_are_counted() -> None:
    known = dialects.all()
    assert f"all {len(known)} dialects" in TEXT
    assert f"in {sum(each.ends_reasoning for each in known)} dialects, whose models forget the end tag" in TEXT
    without = [each.name for each in known if each.written and not each.has_escapes]
    listed = TEXT.split("but for values in ", 1)[1].split(", which have no escapes", 1)[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(without)


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) <= MOST
