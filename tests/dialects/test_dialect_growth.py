"""Time grows with the text, in each dialect, also where marks come again and again that are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.dialect_families import ALSO_GROWING, GROWING, TOOLS
from support.effort import effort

from xmltools.parser import Parser

pytestmark = [pytest.mark.full, pytest.mark.no_cover]


def is_linear(read: Callable[[int], None], small: int) -> bool:
    """Whether four times the text takes no more than twelve times the work. Something else on this machine may take
    the time of a run, so there are three tries."""
    tries = (effort(lambda: read(4 * small)) < 12 * max(effort(lambda: read(small)), 0.1) for _ in range(3))
    return any(tries)


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
    assert is_linear(read, small)


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
    assert is_linear(read, small)


def test_what_was_skipped_of_a_broken_call_is_not_read_again_with_each_chunk_that_follows() -> None:
    def read(length: int) -> None:
        parser = Parser(TOOLS, dialect="minimax_m2")
        parser.feed('<minimax:tool_call><invoke name="read">oops ' + "x " * length + "</invoke>")
        for _ in range(1_000):
            parser.feed("\n")
        parser.close()

    assert any(effort(lambda: read(200_000)) < 12 * max(effort(lambda: read(1_000)), 0.1) for _ in range(3))
