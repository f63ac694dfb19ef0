"""What each code means, with a block that has it and the same block repaired: the texts are in `codes.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import NamedTuple

from xmltools.dialects import FORGE, Dialect, hint_of, named
from xmltools.errors import Code, XMLToolsError
from xmltools.lint.check import READERS_DISAGREE, READERS_HINT

_KINDS = {
    "error": "the block gives no call",
    "repair": "the block gives a call all the same",
    "notice": "the text stays as it is",
    "doubt": "the block gives a call, but another XML reader does not read the same call in it",
}


class Explanation(NamedTuple):
    """A code in words: its kind, its hint, what it means, and a block that has it, wrong and repaired."""

    kind: str
    hint: str
    meaning: str
    wrong: str
    right: str


def _entries() -> dict[str, Explanation]:
    told = tomllib.loads(files(__package__).joinpath("codes.toml").read_text(encoding="utf-8"))
    usual = told[Code.TRUNCATED]["right"]
    kinds = {code.value: ("error" if code.is_error else "notice" if code.is_notice else "repair") for code in Code}
    hints = {code.value: code.hint for code in Code} | {READERS_DISAGREE: READERS_HINT}
    return {
        code: Explanation(kinds.get(code, "doubt"), hint, **{"right": usual, **told[code]})
        for code, hint in hints.items()
    }


CODES = _entries()
"""What can be explained: the codes of the parser, errors first, and that of `lint` itself."""


def explain(code: str, dialect: Dialect | str = FORGE) -> str:
    """Return what a code means, with an example of a wrong block and the repaired one, as text of several lines.

    Takes a code of the parser or of `lint`, and the dialect in which the model writes: the hint is in its words, and a
    call is shown in it; the example is in Forge's. Raises `XMLToolsError` for a code or a dialect that there is not.
    """
    written_in = named(dialect)
    if not isinstance(code, str) or code not in CODES:
        raise XMLToolsError(f"there is no code {code!r:.80}; there are {', '.join(CODES)}")
    entry = CODES[code]
    hint = next((hint_of(each, written_in) for each in Code if each.value == code), entry.hint)
    of_forge = "" if written_in == FORGE else " (in Forge's notation)"
    parts = [
        f"{code} ({entry.kind}: {_KINDS[entry.kind]})",
        entry.meaning,
        f"Hint: {hint}",
        f"Wrong{of_forge}:\n{_indented(entry.wrong)}",
        f"Right{of_forge}:\n{_indented(entry.right)}",
    ]
    if written_in != FORGE:
        parts.append(f"A call in {written_in.name}:\n{_indented(written_in.example)}")
    return "\n\n".join(parts)


def list_codes() -> str:
    """Return all codes by their kinds, each with its hint, as text of several lines."""
    width = max(map(len, CODES))
    parts = []
    for kind, means in _KINDS.items():
        lines = [f"  {code:<{width}}  {entry.hint}" for code, entry in CODES.items() if entry.kind == kind]
        parts.append("\n".join([f"{kind}: {means}", *lines]))
    return "\n\n".join(parts)


def headline(code: str) -> str:
    """Return the first sentence of what a code means. Takes a code of `CODES`."""
    return CODES[code].meaning.partition(". ")[0].removesuffix(".")


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.split("\n"))
