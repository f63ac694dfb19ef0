"""The words of a user, and what in them may be meant by an argument.

Simple on purpose: a name says what its value is about, a pattern finds that in the text. Where nothing is found the
value of the example stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from xmltools.tools.schema import is_code_name

__all__ = ["Words", "stems"]

_STEM = 5
_COMMON_WORDS = (
    "a an and are as at be by can could do does for from get give had has have how i in is it its list me my no not of "
    "on or please run set show so tell that the their there these this those to tool use used using want was we were "
    "what when where which who will with would you your"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_LONGEST = 400

_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”|`([^`\n]{1,400})`|(?<!\w)'([^'\n]{1,400})'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?!\w|\.\d)")
_FORMULA = re.compile(r"[-(]{0,4}\d[\d.]{0,20}(?:[ )]{0,4}(?:\*\*|[-+*/%^])[ (-]{0,4}\d[\d.]{0,20}){1,50}\){0,4}")
_PATH = re.compile(r"(?<![\w/.:])(?:~?/|\.{1,2}/)?(?:[\w.-]{1,80}/){0,20}[\w-]{1,80}\.[A-Za-z]\w{0,9}(?![\w/])")
_URL = re.compile(r"https?://[^\s<>\"'`]{1,400}[^\s<>\"'`.,;:!?)]")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NAME = r"[A-Z][\w'’-]{0,40}(?: [A-Z][\w'’-]{0,40}){0,4}"
_PLACE = re.compile(rf"\b(?:[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Oo]f|[Tt]o|[Ff]rom) ({_NAME}(?:, {_NAME})?)")
_NAMED = re.compile(rf"(?<=[^.!?:\n] )({_NAME})")

Finder = Callable[[str], str | None]


def _finder(pattern: re.Pattern[str]) -> Finder:
    def find(text: str) -> str | None:
        found = pattern.search(text)
        return next(filter(None, found.groups()), found[0]).strip() if found else None

    return find


def _place(text: str) -> str | None:
    return _finder(_PLACE)(text) or _finder(_NAMED)(text)


def _whole(text: str) -> str | None:
    return _finder(_QUOTED)(text) or " ".join(text.split())[:_LONGEST].strip() or None


_TOPICS: tuple[tuple[str, Finder], ...] = (
    ("url uri link href website", _finder(_URL)),
    ("email mail recipient", _finder(_EMAIL)),
    ("path file filename filepath", _finder(_PATH)),
    ("expression formula calculation equation", _finder(_FORMULA)),
    ("city location place country town region destination origin", _place),
    ("date day", _finder(_DATE)),
    (
        "query question search text message prompt input q keyword keywords term terms topic task title subject body "
        "content note comment thought description request instruction phrase sentence",
        _whole,
    ),
)
_FINDERS = {word: finder for words, finder in _TOPICS for word in words.split()}
_FORMATS = {"uri": _finder(_URL), "email": _finder(_EMAIL), "date": _finder(_DATE)}


@lru_cache(maxsize=1024)
def stems(text: str) -> frozenset[str]:
    """Return the first letters of the words that mean something, also of those in names such as `getWeather`.

    >>> sorted(stems("Please calculate it with the calculator"))
    ['calcu']
    """
    words = _WORD.findall(_SEAM.sub(" ", text[:20_000]).lower())
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)


class Words:
    """What the user said, from which values are taken; a number is taken once."""

    __slots__ = ("_lower", "_numbers", "_text")

    def __init__(self, text: str) -> None:
        self._text = text[:20_000]
        self._lower = self._text.lower()
        self._numbers: Iterable[str] = iter(_NUMBER.findall(self._text))

    def value(self, name: str, schema: Mapping[str, Any], *, only: bool) -> Any:
        """Return what may be meant by the argument `name`, None if nothing is.

        `only`: it is the one string of the call, so that it may be all that was said.
        """
        if "enum" in schema:
            return next((each for each in schema["enum"] if isinstance(each, str) and self._says(each)), None)
        if schema.get("type") in ("integer", "number"):
            return self._number(schema["type"] == "integer")
        if schema.get("type") != "string":
            return None
        return self._string(name, schema.get("format"), only)

    def _says(self, word: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", self._lower) is not None

    def _number(self, integer: bool) -> int | float | None:
        text = next((each for each in self._numbers if not (integer and "." in each)), None)
        if text is None:
            return None
        return float(text) if "." in text else int(text)

    def _string(self, name: str, form: Any, only: bool) -> str | None:
        if isinstance(form, str):
            finder = _FORMATS.get(form)
            return finder(self._text) if finder else None
        names = _WORD.findall(_SEAM.sub(" ", name).lower())
        finder = next((_FINDERS[word] for word in reversed(names) if word in _FINDERS), None)
        if finder is not None and not (finder is _whole and is_code_name(name) and not only):
            return finder(self._text)
        return _whole(self._text) if only and not is_code_name(name) else _finder(_QUOTED)(self._text) if only else None
