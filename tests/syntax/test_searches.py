"""The search for rare words finds what `str.find` finds, also where they turn out not to be rare."""

from hypothesis import example, given
from hypothesis import strategies as st

from xmltools.syntax.searches import find_rare

WORDS = ("```", "<!", "-->", "]]>", "]~", "x")


@given(
    st.lists(st.sampled_from((*WORDS, "`", "<", "-", ">", "]", "!", "a", " " * 200))).map("".join),
    st.sampled_from(WORDS),
    st.integers(0, 40),
    st.integers(0, 60),
)
@example(">" * 100 + "]]>", "]]>", 0, 0)
@example("``" * 100 + "a```", "```", 3, 0)
@example("a]]>", "]]>", 2, 0)
@example("a-->", "-->", 0, 1)
def test_it_finds_what_find_finds(text: str, word: str, start: int, short: int) -> None:
    end = len(text) - short
    if 0 <= start <= end:
        assert find_rare(text, word, start, end) == text.find(word, start, end)
