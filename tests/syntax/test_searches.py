"""The search for rare words finds what `str.find` finds, also where they turn out not to be rare."""

from hypothesis import example, given
from hypothesis import strategies as st

from xmltools.syntax.searches import find_rare

WORDS = ("```", "<!", "-->", "]]>", "]~", "x")


@given(
    st.lists(st.sampled_from((*WORDS, "`", "<", "-", ">", "]", "!", "a", " " * 200))).map("".join),
    st.sampled_from(WORDS),
)
@example(">" * 100 + "]]>", "]]>")
@example("``" * 100 + "a```", "```")
@example("]]>", "]]>")
@example("a--", "-->")
def test_it_finds_what_find_finds(text: str, word: str) -> None:
    assert find_rare(text, word) == text.find(word)
