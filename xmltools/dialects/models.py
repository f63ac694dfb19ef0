"""Which dialect a model writes: families of models by their names on Hugging Face, each with who says so."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple


class Family(NamedTuple):
    """Models that write calls in the same way."""

    dialect: str
    """The name of the dialect; empty if none is read, and `note` says why."""
    names: tuple[str, ...]
    """How names of these models begin, without the owner. `*` at the end also means later versions: `Kimi-K2*` is
    Kimi-K2.5 too, and `Qwen3` is not Qwen3.5."""
    source: str
    """The address of a page that says so."""
    ids: tuple[str, ...] = ()
    """Models of the family, with their owners."""
    note: str = ""
    """Completes the sentence "models of this family …"."""


class Match(NamedTuple):
    """The family of a model, and which of its `names` the model's name begins with."""

    name: str
    family: Family


def _read() -> tuple[Family, ...]:
    """Read the table beside this module."""
    found = tomllib.loads(files(__package__).joinpath("models.toml").read_text(encoding="utf-8"))["family"]
    return tuple(
        Family(
            each.get("dialect", ""),
            tuple(each["names"]),
            each["source"],
            tuple(each.get("ids", ())),
            each.get("note", ""),
        )
        for each in found
    )


FAMILIES: Final = _read()
"""All families of the table."""

_COPIERS: Final = ("huihui", "josiefied")
"""Words that people who copy models put before their names, beside the name of the owner."""
_OWNER_WORDS: Final = 5
"""How many such words there may be: `ai21labs_AI21-Jamba` has five."""


def family_of(model: str) -> Family | None:
    """Return the family of a model, by its name on Hugging Face or in Ollama, or of a copy; None if it is not known."""
    found = match_of(model)
    return found.family if found else None


def match_of(model: str) -> Match | None:
    """Return what a name matches in the table, as `family_of` finds it; None if it is not known."""
    words = _words(model.strip("/ ").rpartition("/")[2])
    for start in range(_OWNER_WORDS + 1):
        name = "-".join(words[start:])
        found = [prefix for prefix in _prefixes() if prefix.begins(name)]
        if found:
            best = max(found, key=lambda each: len(each.text))  # what says most of the name
            return Match(best.name, best.family)
        if words[start : start + 1] and words[start] not in _owners():
            return None
    return None


def near_models(model: str) -> list[tuple[str, str]]:
    """Return up to three models of the table whose names are like this one, each with its dialect."""
    names = {
        "-".join(_words(each.rpartition("/")[2])): (each, family.dialect)
        for family in FAMILIES
        if family.dialect
        for each in family.ids
    }
    found = get_close_matches("-".join(_words(model.rpartition("/")[2])), names, n=3, cutoff=0.75)
    return [names[each] for each in found]


def ids_of(dialect: str) -> tuple[str, ...]:
    """Return the models of the table that write a dialect."""
    return tuple(each for family in FAMILIES if family.dialect == dialect for each in family.ids)


def _words(name: str) -> list[str]:
    """The letters and the numbers of a name, in lower case: `Llama-3_3-Nemotron` is llama, 3.3, nemotron."""
    return re.findall(r"[^\W\d_]+|\d+(?:\.\d+)*", re.sub(r"(?<=\d)_(?=\d)", ".", name.lower()))


class _Prefix(NamedTuple):
    name: str
    text: str
    takes_later: bool
    family: Family

    def begins(self, name: str) -> bool:
        """Whether a name begins with these words."""
        rest = name[len(self.text) :]
        return name.startswith(self.text) and (rest[:1] in ("", "-") or (self.takes_later and rest[0] == "."))


@cache
def _prefixes() -> tuple[_Prefix, ...]:
    return tuple(
        _Prefix(name, "-".join(_words(name)), name.endswith("*"), family)
        for family in FAMILIES
        for name in family.names
    )


@cache
def _owners() -> frozenset[str]:
    """Words that may stand before a name: those of owners, as in `NVIDIA-Nemotron-3` and `zai-org_GLM-4.5`."""
    return frozenset([*_COPIERS, *_owner_words()])


def _owner_words() -> Iterator[str]:
    for family in FAMILIES:
        for each in family.ids:
            yield from _words(each.partition("/")[0])
