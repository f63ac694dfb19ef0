"""Characters that XML 1.0 forbids (its production 2) are found, and no others."""

from __future__ import annotations

import pytest

from xmltools.syntax.markup import find_forbidden


def is_allowed(code: int) -> bool:
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF


@pytest.mark.parametrize("size", [100, 10_000])
def test_only_those_are_found_in_short_texts_and_in_long_ones(size: int) -> None:
    allowed = "".join(chr(code) for code in range(0x110000) if is_allowed(code))
    assert all(find_forbidden(allowed, at, at + size) < 0 for at in range(0, len(allowed), size))
    line = "a line\n" * (size // 7)
    for code in range(0x10000):
        if not is_allowed(code):
            assert find_forbidden(line + chr(code) + line, 0, 2 * len(line) + 1) == len(line)
