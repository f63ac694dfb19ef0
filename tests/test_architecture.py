"""`docs/ARCHITECTURE.md` says the truth: its files exist, and its table names those that a change has to touch."""

import re
from pathlib import Path

import pytest

from xmltools import Code
from xmltools.cli.commands import COMMANDS
from xmltools.formats import FORMATS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
FILE = re.compile(r"`((?:xmltools|tests|docs|grammars|benchmarks)/[\w./]*)`")
ROWS = dict(re.findall(r"^\| (a [^|(]*?) (?:\([^|]*\) )?\| (.*) \|$", PAGE, re.MULTILINE))
MOST = {"a repair code": 4, "a conversation format": 5, "a command": 3, "a dialect": 2}
REPAIRS = [code for code in Code if not code.is_error and not code.is_notice]
KNOWN = {
    "a repair code": [rf"\b(?:{code.name}|{code.value})\b" for code in REPAIRS],
    "a conversation format": [rf'"{name}"' for name in FORMATS],
    "a command": [rf'"{name}"' for name in COMMANDS],
}
"""What a file holds that has to know all of a kind."""


def source(folder: str, suffix: str) -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / folder).rglob(f"*{suffix}")}


PACKAGE = source("xmltools", ".py")


@pytest.mark.parametrize("name", sorted(set(FILE.findall(PAGE))))
def test_what_the_page_names_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("kind", MOST)
def test_few_files_are_touched(kind: str) -> None:
    assert 0 < len(FILE.findall(ROWS[kind])) <= MOST[kind]


@pytest.mark.parametrize("kind", KNOWN)
def test_no_other_file_has_to_know_all_of_a_kind(kind: str) -> None:
    named = {name for name in FILE.findall(ROWS[kind]) if name.endswith(".py")}
    assert {path for path, text in PACKAGE.items() if all(re.search(each, text) for each in KNOWN[kind])} == named


def test_every_repair_is_seen_by_a_reader_and_has_a_case() -> None:
    readers = "".join(
        text
        for path, text in PACKAGE.items()
        if path.startswith(("xmltools/parser", "xmltools/syntax", "xmltools/tools"))
    )
    cases = "".join(source("tests/corpus", ".json").values())
    assert [code for code in REPAIRS if f"Code.{code.name}" not in readers or f'"{code}"' not in cases] == []


def test_every_format_has_a_folder_and_tests() -> None:
    folder = ROOT / "xmltools" / "formats"
    assert {path.parent.name for path in folder.glob("*/__init__.py")} - {"shared"} == set(FORMATS)
    assert all((ROOT / "tests" / "formats" / f"test_{name}.py").exists() for name in FORMATS)
