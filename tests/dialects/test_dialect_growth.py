"""Time grows with the text, in each dialect, also where marks come again and again that are none."""

from __future__ import annotations

import pytest
from support.dialect_families import ALSO_GROWING, GROWING, TOOLS
from support.effort import effort

from xmltools.parser import Parser

pytestmark = [pytest.mark.full, pytest.mark.no_cover]


@pytest.mark.parametrize("family", GROWING)
@pytest.mark.parametrize("size", [1, 10**9])
def test_time_grows_with_the_text(family: str, size: int) -> None:
    dialect, head, unit = GROWING[family]

    def read(length: int) -> None:
        text = head + unit * (length // len(unit))
        parser = Parser(TOOLS, dialect=dialect)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()

    small = 5_000 if size == 1 else 40_000
    assert effort(lambda: read(4 * small)) < 12 * max(effort(lambda: read(small)), 0.1)


@pytest.mark.parametrize("family", ALSO_GROWING)
@pytest.mark.parametrize("size", [1, 10**9])
def test_time_grows_with_the_text_where_all_dialects_are_read(family: str, size: int) -> None:
    unit = ALSO_GROWING[family]

    def read(length: int) -> None:
        text = unit * (length // len(unit))
        parser = Parser(TOOLS, also="known")
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()

    small = 5_000 if size == 1 else 40_000
    assert effort(lambda: read(4 * small)) < 12 * max(effort(lambda: read(small)), 0.1)
