"""What a property is about, going by the words of its name: the made-up text or number that shows it best."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from xmltools.tools.schema.item_names import singular_of

__all__ = ["by_word", "is_code_name", "number_for", "text_for", "words_of"]

_CODE = "if a < b:\n    a = b"
_EXAMPLES = (
    ("path file filename filepath", "src/app.py"),
    ("directory folder dir cwd", "src"),
    ("url uri link href website", "https://example.com"),
    ("query search keyword", "example query"),
    ("command cmd", "ls -l"),
    ("regex regexp pattern", r"\d+"),
    ("glob", "*.py"),
    ("expression formula", "2 + 3"),
    ("email mail email_address", "user@example.com"),
    ("name", "example"),
    ("user username login", "alex"),
    ("title subject", "Example title"),
    ("message comment note", "Hello!"),
    ("language lang locale", "en"),
    ("city", "Berlin"),
    ("location place", "Berlin, Germany"),
    ("country", "Germany"),
    ("country_code", "DE"),
    ("currency", "EUR"),
    ("timezone time_zone tz", "Europe/Berlin"),
    ("address street", "1 Main Street"),
    ("zip postcode zip_code postal_code", "10115"),
    ("phone telephone phone_number", "+4930123456"),
    ("date day", "2026-01-15"),
    ("time", "10:30"),
    ("datetime timestamp date_time", "2026-01-15T10:30:00Z"),
    ("id identifier", "42"),
    ("uuid guid", "123e4567-e89b-42d3-a456-426614174000"),
    ("host hostname domain", "example.com"),
    ("ip ip_address", "192.0.2.1"),
    ("color colour", "#336699"),
    ("version", "1.0.0"),
    ("branch", "main"),
)
_CODE_EXAMPLES = (
    ("code script source content snippet file_text replacement replace new_str new_string new_text", _CODE),
    ("replace_block new_block", _CODE),
    ("old_str old_string old_text search_block old_block search_text", "if a <= b:\n    a = b"),
    ("diff patch", "-if a < b:\n+if a <= b:"),
    ("html svg", "<p>Hello</p>"),
    ("xml", '<item id="1">Hello</item>'),
    ("sql sql_query", "SELECT name FROM users WHERE age < 30"),
    ("css", "p > a { color: red; }"),
    ("json", '{"name": "value"}'),
    ("yaml yml", "name: value"),
    ("markdown md", "# Title\n\nSome *text*."),
    ("body", "Hello,\nthis is an example."),
)


def by_word(*tables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return tables of (words, text) as a dict with a key for each word."""
    return {word: text for words, text in chain(*tables) for word in words.split()}


_TEXTS = by_word(_EXAMPLES, _CODE_EXAMPLES)
_CODE_TOPICS = frozenset(by_word(_CODE_EXAMPLES))
# Behind these the words before say nothing about the value: a content_type is no content.
_ENDINGS = re.compile("type|kind|mode|format|size|status|level|encoding|count|prefix|suffix|extension")
# A code of these is no program.
_CODED = re.compile(
    "country|zip|postal|area|status|error|exit|return|currency|language|lang|locale|colou?r|product|promo|coupon|"
    "discount|voucher|access|auth|verification|invite|airport|iata|iso|tax|region|state"
)
_NUMBERS = {"port": 8080, "year": 2026, "limit": 10, "count": 10, "max": 10, "timeout": 30, "line": 1}
_FRACTIONS = dict.fromkeys(
    ("ratio", "probability", "temperature", "threshold", "score", "confidence", "weight", "fraction", "opacity"), 0.5
) | dict.fromkeys(("factor", "scale", "price"), 1.5)
_SEAM = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters, whether they are joined by lines, dots or capitals."""
    return [word.lower() for word in _SEAM.split(name) if word]


def _topic(words: list[str]) -> str | None:
    """Return the key in `_TEXTS` that a name of these words is about."""
    if "_".join(words) in _TEXTS:
        return "_".join(words)
    for at in range(len(words) - 1, -1, -1):
        if _ENDINGS.fullmatch(words[at]):
            return None
        if words[at] == "code" and at and _CODED.fullmatch(words[at - 1]):
            continue
        for word in (words[at], *singular_of(words[at])):
            if word in _TEXTS:
                return word
    return None


@lru_cache(maxsize=1024)
def is_code_name(name: str) -> bool:
    """Return whether a property of this name holds program text, markup or a document, going by its words.

    >>> is_code_name("newContent"), is_code_name("content_type"), is_code_name("zip_code")
    (True, False, False)
    """
    return _topic(words_of(name)) in _CODE_TOPICS


@lru_cache(maxsize=1024)
def text_for(name: str) -> str:
    """Return what a string of this name may be; the words of the name, if they are not known."""
    words = words_of(name)
    topic = _topic(words)
    return _TEXTS[topic] if topic else " ".join(words)[:60].rstrip() or "value"


@lru_cache(maxsize=1024)
def number_for(name: str, integer: bool) -> int | float:
    """Return what a number of this name may be; 1, if its words are not known."""
    table = _NUMBERS if integer else _NUMBERS | _FRACTIONS
    return next((table[word] for word in reversed(words_of(name)) if word in table), 1)
