"""Patterns as regular languages: the check finds the pattern in every text of the language, and only there."""

from __future__ import annotations

import re
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
from xmltools.tools.schema.patterns import Pattern, UncheckedError

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
    "^a{0,3}$",
    "^(ab){2,4}?c*?$",
    "^[a-z][a-z0-9_]*$",
    "^[^a-y]+$",
    "[^a]b",
    "^.$",
    "(?s)^.$",
    "(?i)^aBc$",
    "(?i)^[a-c]+[^x]$",
    "(?i:a)b",
    r"^\w+@\w+\.\w{2,3}$",
    r"^\d{4}-\d{2}$",
    r"^\s*\S+\s*$",
    r"^\D\W$",
    r"^\w\W\D\S$",
    r"(?i)^[k-s]\w\W$",
    r"^[\w-.]\x41[\]\u0042-D]\é$",
    r"^[\w-]+$",
    r"^\0[^\0]\z",
    r"^\uD83D\uDE00[\uD83D\uDE00-\uD83D\uDE02]$",
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
    """Whether the check finds a pattern; if it is not checked, whether Python does, to which `$` may be less."""
    try:
        return Pattern(text).found(string)
    except UncheckedError:
        python = text.replace("$", r"\Z").replace(r"\w", "[0-9A-Za-z_]").replace(r"\W", "[^0-9A-Za-z_]")
        return re.search(python, string) is not None


@pytest.mark.parametrize("text", PATTERNS)
@examples(40)
@given(data=st.data())
def test_a_text_is_in_if_and_only_if_the_pattern_is_found(text, data):
    tree = pattern(text)
    if tree is None:
        assert text == "(?<=a)b"
        return
    string = data.draw(st.text(st.characters(), max_size=6) | ALPHABETS.flatmap(lambda a: st.text(a, max_size=6)))
    assert accepts(tree, string) is found(text, string)


@pytest.mark.parametrize("text", [text for text in PATTERNS if not re.search(r"[(][?][!<]|a[\^$]b", text)])
@examples(20)
@given(data=st.data())
def test_the_pattern_is_found_in_every_text_of_the_language(text, data):
    tree = pattern(text)
    assert found(text, data.draw(sentences(tree)))


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
@given(regexes(ATOMS) | regexes(ATOMS | LOOKS))
def test_any_pattern_is_exact_or_not_said_at_all(text):
    tree = pattern(text)
    if tree is None:
        return
    wrong = [string for string in STRINGS if accepts(tree, string) is not found(text, string)]
    assert wrong == []


@examples(300)
@given(regexes(ATOMS | LOOKS | st.sampled_from(["\n", r"\s", r"\S", r"\W", "(?i:k)", "(?i:[^sk])", "(?!\\w)"])))
def test_sets_are_exact_where_something_looks_around(text):
    tree = pattern(text)
    if tree is None:
        return
    for letters in product("ab\n\u00e9\u212a", repeat=2):
        string = "".join(letters)
        assert accepts(tree, string) is found(text, string)


@pytest.mark.parametrize("letter", "abisk0_ß")
@pytest.mark.parametrize("form", ["(?i:{})", "(?i:[{}])", "(?i:[^{}])", "(?i:[^!-{}])"])
def test_case_that_does_not_matter_is_that_of_the_check(letter, form):
    text = f"^{form.format(letter)}$"
    tree = pattern(text)
    if tree is None:
        assert letter == "ß"
        return
    assert taken_by(text) == {code for code in CODES if found(text, chr(code))}


CODES = [*range(0x250), *range(0x600, 0x700), *range(0x1C00, 0x2200), 0x3000, 0x1F600]


def taken_by(text: str) -> set[int]:
    """Those of the codes that a pattern of one character takes."""
    ((ranges, _),) = automaton(pattern(text)).edges[0]
    return {code for code in CODES if any(first <= code <= last for first, last in ranges)}


@pytest.mark.parametrize(
    "name", [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"[^\d]", r"[^\w]", r"[^\s]", r"[^\D]", r"[^\W]"]
)
def test_sets_of_characters_are_those_of_the_check(name):
    assert taken_by(f"^{name}$") == {code for code in CODES if found(f"^{name}$", chr(code))}


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
        "(?x) a b",
        r"\p{L}",
        r"^\ud83d$",
        r"^\u{110000}$",
        "[b-a]",
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
