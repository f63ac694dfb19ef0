"""A rope is its pieces, one after the other, however many they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xmltools.syntax.rope import Rope


@given(st.lists(st.text("ab", max_size=3), max_size=5), st.integers(0, 600), st.integers(0, 20), st.integers(0, 20))
def test_it_is_its_pieces_in_order(pieces: list[str], more: int, size: int, last: int) -> None:
    rope = Rope()
    for piece in (*pieces, *"abc" * more):
        rope.append(piece)
    whole = "".join(pieces) + "abc" * more
    assert (str(rope), len(rope)) == (whole, len(whole))
    end = len(whole) - min(size, last)
    assert rope.tail(size, min(size, last), "!") == whole[max(len(whole) - size, 0) : max(end, 0)] + "!"
    assert rope.take() == whole
    assert not rope
    assert (str(rope), len(rope), rope.take()) == ("", 0, "")
