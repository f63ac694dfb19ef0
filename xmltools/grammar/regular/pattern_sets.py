"""Sets of characters in patterns: classes such as `\\d`, and characters whose case does not matter.

What Python's `re` takes beyond ASCII is a matter of Unicode's tables, and changes with them. So each set can be had
twice: with nothing in it that `re` might not take, or (`over`) with everything that it might.
"""

from __future__ import annotations

import re
from typing import Any

from xmltools.grammar.regular.regular import ALL, Ranges, merge, subtract

__all__ = ["Unsupported", "folded", "members"]

_DIGITS: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
_MORE_SPACE = (0x1C, 0x1F), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)
_RARE_SPACE = (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)
_NO_SPACE = subtract(ALL, merge(_SPACE + _MORE_SPACE + _RARE_SPACE))
# The scripts between Arabic and Tai Tham have digits of their own, and so have some in the higher planes. Where a new
# version of Unicode may put others, nothing is called a digit or anything else.
_NO_DIGIT = subtract(
    ((0, 0xFFFF), (0x1F300, 0x1FAFF), (0x20000, 0x3FFFF)),
    (*_DIGITS, (0x0660, 0x1C59), (0xA620, 0xABF9), (0xFF10, 0xFF19)),
)
# Punctuation, symbols and emoji; there are more, between letters and digits.
_LATIN_SIGNS = (0x00, 0xA9), (0xAB, 0xB1), (0xB6, 0xB8), (0xBB, 0xBB), (0xBF, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7)
_SIGNS = (0x2000, 0x206F), (0x20A0, 0x20C0), (0x2190, 0x2426), (0x2500, 0x2775), (0x2794, 0x2BFF), (0x1F300, 0x1FAFF)
_NO_WORD = subtract(merge((*_LATIN_SIGNS, *_SIGNS, (0x3000, 0x3003), (0x3008, 0x3020))), _WORD)
_SETS = {"DIGIT": _DIGITS, "SPACE": _SPACE, "WORD": _WORD}
_CATEGORIES = _SETS | {"NOT_DIGIT": _NO_DIGIT, "NOT_SPACE": _NO_SPACE, "NOT_WORD": _NO_WORD}
_ASCII_CATEGORIES = _SETS | {f"NOT_{name}": subtract(ALL, ranges) for name, ranges in _SETS.items()}
_ODD_CASES = (0x130, 0x131), (0x17F, 0x17F), (0x212A, 0x212A)
"""Characters outside of ASCII that are the same as i, s or k if case does not matter."""


class Unsupported(Exception):  # noqa: N818 - no error, an answer
    """A pattern cannot be said as a regular language, or not in reasonable space."""


def members(operation: Any, argument: Any, flags: int, over: bool) -> Ranges:
    """Return the characters of one item of a set, by Python's parse of it. Raises Unsupported."""
    if operation.name == "LITERAL":
        return folded(((argument, argument),), flags, over)
    if operation.name == "RANGE":
        return folded((argument,), flags, over)
    categories = _ASCII_CATEGORIES if flags & re.ASCII else _CATEGORIES
    name = argument.name.removeprefix("CATEGORY_")
    if not over:
        return categories[name]
    return subtract(ALL, categories[name[4:] if name.startswith("NOT_") else f"NOT_{name}"])


def folded(ranges: Ranges, flags: int, over: bool) -> Ranges:
    """Return characters with those that are the same if case does not matter. Raises Unsupported."""
    if not flags & re.IGNORECASE:
        return ranges
    if over and ranges[-1][1] > 0x7F:
        raise Unsupported
    lower = [(max(first, 0x41) + 32, min(last, 0x5A) + 32) for first, last in ranges if last >= 0x41 and first <= 0x5A]
    upper = [(max(first, 0x61) - 32, min(last, 0x7A) - 32) for first, last in ranges if last >= 0x61 and first <= 0x7A]
    return merge([*ranges, *lower, *upper, *(_ODD_CASES if over else ())])
