"""Patterns as regular languages: Python's `re` finds the pattern in every text of the language, and in ASCII text only
there."""

from __future__ import annotations

import re
import sys
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import effort
from support.often import examples
from support.regulars import NOTHING, accepts, sentences

from xmltools.grammar.regular.automata import automaton
from xmltools.grammar.regular.patterns import pattern

PATTERNS = [
    "",
    "foo",
    "^foo",
    "foo$",
    "^foo$",
    r"\Afoo\Z",
    "^$",
    "^a|b$",
    "^(a|b$|^c)$",
    "(^|,)x(,|$)",
    "(?:^a|b)*c",
    "(?:a|b$)*",
    "(?:a|b$|^c)+",
    "(?:^x|y$){1,2}",
    "(?:^a$)?",
    "a^b",
    "a$b",
    "x*^y",
    "y$x*",
    "^^a$$",
    "a{2}",
    "a{2,}",
    "^a{,3}$",
    "^(ab){2,4}?c*?$",
    "^[a-z][a-z0-9_]*$",
    "^[^a-y]+$",
    "[^a]b",
    "^.$",
    "(?s)^.$",
    "(?i)^aBc$",
    "(?i)^[a-c]+[^x]$",
    "(?i:a)b",
    "(?x) a b  # comment",
    r"^\w+@\w+\.\w{2,3}$",
    r"^\d{4}-\d{2}$",
    r"^\s*\S+\s*$",
    r"^\D\W$",
    r"(?a)^\w\W\D\S$",
    r"^[\w-]+$",
    r"^[^\w\s]+$",
    r"^[\W\d]$",
    r"^[^\W\d]$",
    "^(?=.*[a-z])(?=.*[0-9])[a-z0-9]{3,5}$",
    "^(?!admin$)[a-z]+$",
    "^(?!.*--)[a-z-]+$",
    "^(?!-)[a-z-]{1,6}(?<!-)$",
    "^(?!$)",
    "(?!a)b",
    "a(?=b)",
    "a(?!b)",
    "a(?=b|$)",
    "^(?:(?!-)[a-z-]{1,3}[.])+[a-z]+$",
    "^(?:(?!ab)a|b)c",
    "^(?:a|(?=bc)b)c$",
    "^(?:(?!x)a|(?!.*y)b)[a-z]*$",
    "^(?!(?=a)ab)a",
    "^(?!a(?!b))",
    "(?<=a)b",
    "^a(?<=a)b(?<!a)$",
    "(?!)",
    "^(?!a$|b)",
]

ALPHABETS = st.sampled_from(["ab", "abc,x", "foxyz", "-.ab", "aA1 _\n", "ab0\u00e9\u0663\u212a \n!", "admin-"])


def found(text: str, string: str) -> bool:
    """Whether Python finds a pattern, both with `$` for the very end and with its own, which also stands in front of a
    last line break: readers differ there."""
    return all(re.search(each, string) is not None for each in (text, text.replace("$", r"\Z")))


@pytest.mark.parametrize("text", PATTERNS)
@examples(40)
@given(data=st.data())
def test_ascii_text_is_in_if_and_only_if_the_pattern_is_found(text, data):
    tree = pattern(text)
    if tree is None:
        assert text == "(?<=a)b"
        return
    string = data.draw(
        st.text(st.characters(codec="ascii"), max_size=6) | ALPHABETS.flatmap(lambda a: st.text(a, max_size=6))
    )
    if string.isascii() and not re.search("[\x1c-\x1f]", string):
        assert accepts(tree, string) is found(text, string)
    elif accepts(tree, string):
        assert re.search(text, string)


@pytest.mark.parametrize("text", [text for text in PATTERNS if not re.search(r"[(][?][!<]|a[\^$]b", text)])
@examples(20)
@given(data=st.data())
def test_the_pattern_is_found_in_every_text_of_the_language(text, data):
    tree = pattern(text)
    assert re.search(text, data.draw(sentences(tree)))


@pytest.mark.parametrize(
    "text", ["^[a-z]+(-[a-z]+)*$", r"^v?\d+\.\d+(\.\d+)?(-\w+)?$", "(a|b)+c?", r"^/(\w+/)*\w*$", "x{3,5}y"]
)
@given(data=st.data())
def test_what_the_pattern_matches_is_in(text, data):
    ascii_only = re.compile(text, re.ASCII)
    string = data.draw(st.from_regex(ascii_only, alphabet=st.characters(codec="ascii")))
    assert accepts(pattern(text), string.removesuffix("\n") if found(text, string.removesuffix("\n")) else string)


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "^", "$", "(?:)", r"\Z"])
LOOKS = st.sampled_from(["(?=a)", "(?!a)", "(?!b$)", "(?=.*b)", "(?<=a)", "(?<!b)", "(?!ab)", "(?=^a)"])


def regexes(atoms):
    return st.recursive(
        atoms,
        lambda inner: (
            st.lists(inner, min_size=2, max_size=4).map("".join)
            | st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})")
            | st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "{0,2}", "*?"])).map(
                lambda pair: f"(?:{pair[0]}){pair[1]}"
            )
        ),
        max_leaves=8,
    )


STRINGS = ["".join(letters) for length in range(5) for letters in product("ab", repeat=length)]


@examples(400)
@given(regexes(ATOMS))
def test_any_pattern_without_looking_around_is_exact(text):
    tree = pattern(text)
    if tree is None:
        return
    wrong = [string for string in STRINGS if accepts(tree, string) is not found(text, string)]
    assert wrong == []


@examples(400)
@given(regexes(ATOMS | LOOKS))
def test_any_pattern_that_looks_around_is_exact_or_not_said_at_all(text):
    tree = pattern(text)
    if tree is None:
        return
    wrong = [string for string in STRINGS if accepts(tree, string) is not found(text, string)]
    assert wrong == []


@examples(300)
@given(
    regexes(ATOMS | LOOKS | st.sampled_from(["\n", r"\s", r"\S", r"\W", r"[^\W]", "(?i:k)", "(?i:[^sk])", "(?!\\w)"]))
)
def test_no_text_comes_out_that_python_refuses(text):
    tree = pattern(text)
    if tree is None:
        return
    for letters in product("ab\n\u00e9\u212a", repeat=2):
        string = "".join(letters)
        assert not accepts(tree, string) or re.search(text, string)


@pytest.mark.parametrize("letter", "abisk0_ß")
@pytest.mark.parametrize("form", ["(?i:{})", "(?i:[{}])", "(?i:[^{}])", "(?i:[^!-{}])", "(?ai:[^{}])"])
def test_case_that_does_not_matter_is_never_taken_too_far(letter, form):
    text = form.format(letter)
    compiled = re.compile(text)
    tree = pattern(f"^{text}$")
    if tree is None:
        assert letter == "ß" and "^" in text
        return
    machine = automaton(tree)
    taken = [code for ranges, _ in machine.edges[0] for first, last in ranges for code in range(first, last + 1)]
    assert [code for code in taken if not compiled.fullmatch(chr(code))] == []
    assert {code for code in range(128) if compiled.fullmatch(chr(code))} <= set(taken)


@pytest.mark.parametrize(
    "name", [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"[^\d]", r"[^\w]", r"[^\s]", r"[^\D]", r"[^\W]"]
)
def test_sets_of_characters_are_parts_of_those_of_python(name):
    compiled = re.compile(name)
    ((ranges, _),) = automaton(pattern(f"^{name}$")).edges[0]
    taken = {code for first, last in ranges for code in range(first, last + 1)}
    assert taken <= {code for code in range(sys.maxunicode + 1) if compiled.match(chr(code))}
    assert {code for code in range(128) if compiled.match(chr(code))} - {0x1C, 0x1D, 0x1E, 0x1F} <= taken


def test_what_is_no_word_or_digit_has_the_ordinary_signs():
    assert all(accepts(pattern(r"^\W+$"), each) for each in "€–—…“”«»§°×→✓😀·")
    assert all(accepts(pattern(r"^\D+$"), each) for each in "äßЖ中あ한ع€😀")
    assert all(accepts(pattern(r"^\S+$"), each) for each in "äЖ中あ한ع€😀٣")


@pytest.mark.parametrize(
    "text",
    [
        r"(a)\1",
        r"(?P<x>a)(?P=x)",
        "(a)?(?(1)b|c)",
        "a++",
        "(?>a|ab)c",
        r"\bfoo",
        r"foo\B",
        "(?m)^a",
        "a{1001}",
        "(?:a{1000}){1000}",
        "(?:(?!foo).)*",
        "(?<!a)b",
        "x" * 30_000,
        "(",
        "(?i)[^é]",
        "(?:(?=^)a|b)(?:(?!^)a|b)",
    ],
)
def test_what_cannot_be_said_gives_none(text):
    assert pattern(text) is None


def test_a_pattern_that_nothing_matches_gives_no_text():
    assert pattern("a^b") == pattern("$b") == NOTHING


def test_many_parts_with_anchors_of_their_own_stay_small():
    for text in ("(^|a)(b|$)" * 60, "(?:(?!.*x)a|b)" * 60, "x" * 30_000, "(?:^(?:" * 40 + "a" + "|b$))*" * 40):
        assert effort(partial(pattern, text)) < 400


def test_ordinary_patterns_are_read_at_once():
    texts = [rf"^(?!-)[a-z0-9-]{{1,{number + 1}}}(?<!-)(\.\w+)*$" for number in range(200)]
    assert effort(lambda: [pattern(text) for text in texts]) < 400
