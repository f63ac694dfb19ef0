"""The cases: where they are, what is in them, and how the text of each is cut."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError

_RANDOM_WAYS = 4
_MOST_CUTS = 8


class Case(NamedTuple):
    """A case of the corpus, and the file that it stands in, as it is named in the score."""

    file: str
    id: str
    rule: str
    about: str
    text: str
    tools: Any
    options: Any
    expect: dict[str, Any]
    source: str = ""

    @property
    def optional(self) -> bool:
        """Whether a parser may decide the case otherwise and still conform."""
        return self.file.startswith("optional/")


def find_corpus() -> Path:
    """Return the folder of the corpus in the source that this module belongs to.

    Raises `XMLToolsError` if there is none, as in an installed package.
    """
    folder = Path(__file__).parents[3] / "tests" / "corpus"
    if not (folder / "schema.json").is_file():
        raise XMLToolsError("--corpus: expected the folder with the cases, tests/corpus of the source of xmltools")
    return folder


def read_corpus(folder: Path) -> list[Case]:
    """Return the cases in a folder and in its `optional`, by the names of the files.

    Raises `XMLToolsError` if there are none, or a file holds something else.
    """
    paths = [path for part in (folder, folder / "optional") for path in sorted(part.glob("[0-9]*.json"))]
    cases = [case for path in paths for case in _read_file(path, path.relative_to(folder).with_suffix("").as_posix())]
    if not cases:
        raise XMLToolsError(f"--corpus: expected a folder with files such as 01-openers.json, got {folder}")
    return cases


def _read_file(path: Path, name: str) -> list[Case]:
    try:
        cases = [Case(name, **case) for case in json.loads(path.read_text("utf-8"))]
        if all(map(_is_case, cases)):
            return cases
    except OSError as error:
        raise XMLToolsError(f"{path}: {error.strerror or error}") from None
    except (ValueError, TypeError, RecursionError):
        pass
    raise XMLToolsError(f"{path}: expected a list of cases, as schema.json of the corpus says")


def _is_case(case: Case) -> bool:
    if not (isinstance(case.id, str) and isinstance(case.text, str) and isinstance(case.expect, dict)):
        return False
    if not {"text", "reasoning", "calls", "errors"} <= case.expect.keys():
        return False
    return all(isinstance(entry, dict) for kind in ("calls", "errors") for entry in case.expect[kind])


def ways(case: Case) -> Iterator[tuple[str, list[str]]]:
    """Yield the ways in which the text of a case is cut, each with its name: the same in every run."""
    text = case.text
    yield "whole", [text]
    yield "by character", list(text)
    pick = random.Random(case.id)
    for _ in range(_RANDOM_WAYS):
        cuts = sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, _MOST_CUTS)))
        yield f"cut at {', '.join(map(str, cuts))}", [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
