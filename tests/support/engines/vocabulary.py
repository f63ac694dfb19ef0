"""Made-up vocabularies: a small one to walk with, and one of the size of a real one to take the time with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random

__all__ = ["KINDS", "WALKING", "Vocabulary", "large", "of_pieces"]

# The pieces that walks are made of, by kind. Those that cross the borders of tags are what real vocabularies have too.
KINDS: dict[str, tuple[str, ...]] = {
    "opener": ("<tool>", "<tool>\n", "<tool>\n<", "<tool><"),
    "close": (
        *("</", "]]>", "]]></", "></", "/>", '"', "}", "]", ">", '"}', "</tool>", "</arguments>", "</tool_name>"),
        *("</server_name>", "</item>", "</arguments>\n</tool>", "</tool>\n", ">\n", "</think>", ' nil="true"/>'),
    ),
    "open": (
        *("<", "<![CDATA[", "<tool_name>", "<server_name>", "<arguments>", "<arguments>\n  <", "<item>", "\n  <"),
        *('<argument name="', "{", "[", '{"', '":', '": "', ",", ', "', "<think>", "<thinking>"),
    ),
    "trap": (
        *("<tool", "<tool ", "<tool\n", "`", "``", "```\n", "`<", "`<tool", "]]", "]]]]><![CDATA[>", "<![", "CDATA["),
        *("<!--", "-->", "<?", "?>", "<!", "&", "&#", "&amp;lt;", "<a b='c'>", "<tools>", "</tools>", "Tool:", "\\"),
    ),
    "reference": ("&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#9;", "&#10;", "&#13;", "&#32;", "\\u003c", "\\n"),
    # But for the last three none of them begins a name, so that walks choose among names by their letters.
    "word": (
        *(" the", " of", " a", " list", " value", " path", "self.", "return ", "def ", " in", "name=", "hello "),
        *("src/", ".py", "x = ", "if ", " < ", " > ", " && ", "(", ")", "- ", "+ ", "true", "false", "null"),
    ),
    "number": (*"0123456789", "-", ".", "e", "10", "42", "007", "-1", "1.5", "1e5", "2026-11-21", "99999"),
    "space": (" ", "\n", "\t", "  ", "    ", "\n  ", "\n    ", "\n\n", " \n", "\t\t"),
    "wide": (*"éüßñ€→你好😀", "\u00a0", "\u0085", "\u2028", "\ufeff", "\ue000", "\ufffd"),
    "control": ("\0", "\x1b[", "\x07", "\r", "\r\n", "\x0c", "\x7f", "\ufffe"),
}

END = b"<|end|>"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by number: first the 256 bytes, then longer ones, and last the one that ends a reply. `kinds` are those
    of the pieces that it was made of."""

    tokens: tuple[bytes, ...]
    kinds: Mapping[bytes, str] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number of the token that ends a reply."""
        return len(self.tokens) - 1

    @cached_property
    def numbers(self) -> dict[bytes, int]:
        """The numbers of all tokens but the end."""
        return {token: number for number, token in enumerate(self.tokens[:-1])}

    def split(self, text: bytes) -> list[int]:
        """Split text into tokens: always the longest that fits."""
        longest = max(map(len, self.numbers))
        found, at = [], 0
        while at < len(text):
            sizes = range(min(longest, len(text) - at), 0, -1)
            size = next(size for size in sizes if text[at : at + size] in self.numbers)
            found.append(self.numbers[text[at : at + size]])
            at += size
        return found

    def join(self, numbers: Iterable[int]) -> bytes:
        """Return the bytes of these tokens."""
        return b"".join(self.tokens[number] for number in numbers)


def of_pieces(kinds: Mapping[str, Iterable[str]]) -> Vocabulary:
    """Return a vocabulary of all bytes and these pieces, which are named by their kinds."""
    pieces = {piece.encode(): kind for kind, pieces in kinds.items() for piece in pieces}
    every_byte = (bytes([byte]) for byte in range(256))
    return Vocabulary((*dict.fromkeys((*every_byte, *pieces)), END), pieces)


WALKING = of_pieces(KINDS)
"""Some 400 tokens: all bytes, and the pieces of `KINDS`."""


@lru_cache
def large(size: int = 32_000) -> Vocabulary:
    """Return a vocabulary of so many tokens, always the same: bytes, the pieces of `KINDS`, and words as in code."""
    rng = Random(0)
    pieces = dict.fromkeys((*WALKING.tokens[:-1], *(b" " * width for width in range(1, 32))))
    while len(pieces) < size - 1:
        pieces[_word(rng).encode()] = None
    return Vocabulary((*pieces, END))


_SYLLABLES = (
    "ab ac ad al an ar at be ca ch co de di do ed el en er et ex fi for ge get he id in ing io is it key le li list lo "
    "ma me mo na ne no nt of on op or ou par pe pl po pr ra re ro se set si st str ta te th ti to tr un ur us val ve"
)
_SHAPES = ("{}", "{}", " {}", " {}", "_{}", ".{}", "{}(", "{}=", "{}\n", "\t{}", "<{}", '"{}', "{}>", "{}]", "-{}")


def _word(rng: Random) -> str:
    word = "".join(rng.choices(_SYLLABLES.split(), k=rng.choice((1, 2, 2, 3, 3, 4))))
    return rng.choice(_SHAPES).format(rng.choice((word, word, word.capitalize(), word.upper())))
