"""Automata against Python's own regular expressions, and against sets of words."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmltools.grammar.regular.automata import TooLarge, automaton, encoded
from xmltools.grammar.regular.expressions import expression, filled, to_tree
from xmltools.grammar.regular.regular import (
    EMPTY,
    LAST,
    NOTHING,
    And,
    Automaton,
    Chars,
    Not,
    Regular,
    Repeat,
    characters,
    chars,
    choice,
    first_characters,
    literal,
    nullable,
    sequence,
    star,
)

WORDS = ["".join(word) for size in range(5) for word in product("ab]", repeat=size)]
ANY = Chars(((0, LAST),))


def takes(machine: Automaton, text: str) -> bool:
    if not machine.edges:
        return False
    state = 0
    for character in text:
        found = [to for ranges, to in machine.edges[state] if any(a <= ord(character) <= b for a, b in ranges)]
        if not found:
            return False
        (state,) = found  # an automaton that is not deterministic fails here
    return state in machine.accepting


simple = st.recursive(
    st.sampled_from([EMPTY, chars("a"), chars("b"), chars("ab"), chars("]"), ANY, literal("ab"), NOTHING]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: sequence(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: choice(*parts)),
        st.tuples(inner, st.integers(0, 2), st.sampled_from([None, 0, 1, 2])).map(
            lambda made: Repeat(made[0], made[1], None if made[2] is None else made[1] + made[2])
        ),
    ),
    max_leaves=6,
)


@given(simple)
def test_an_automaton_takes_what_the_regular_expression_takes(tree: Regular) -> None:
    pattern, machine = re.compile(expression(tree)), automaton(tree)
    assert [takes(machine, word) for word in WORDS] == [pattern.fullmatch(word) is not None for word in WORDS]


@given(simple, simple)
def test_intersection_and_complement_are_those_of_sets(one: Regular, other: Regular) -> None:
    left, right = ({word for word in WORDS if takes(automaton(tree), word)} for tree in (one, other))
    both, none = automaton(And((one, other))), automaton(Not(choice(one, other)))
    assert {word for word in WORDS if takes(both, word)} == left & right
    assert {word for word in WORDS if takes(none, word)} == set(WORDS) - left - right


@given(simple, simple)
def test_a_tree_made_of_an_automaton_is_the_same_language(one: Regular, other: Regular) -> None:
    machine = automaton(And((one, Not(other))))
    back = to_tree(machine)
    assert automaton(back) == machine
    pattern = re.compile(expression(back))
    assert [pattern.fullmatch(word) is not None for word in WORDS] == [takes(machine, word) for word in WORDS]


@given(simple)
def test_the_smallest_automaton_does_not_depend_on_the_spelling(tree: Regular) -> None:
    assert automaton(choice(tree, tree, sequence(tree, EMPTY))) == automaton(tree)
    assert automaton(Not(Not(tree))) == automaton(tree)


@given(simple)
def test_what_is_said_of_a_tree_is_true(tree: Regular) -> None:
    machine = automaton(tree)
    assert nullable(tree) == takes(machine, "")
    assert automaton(filled(tree)) == automaton(And((tree, Not(EMPTY))))
    # The sets are bounds: parts of a tree may lead nowhere.
    first = {chr(code) for ranges, _ in (machine.edges or ((),))[0] for low, high in ranges for code in (low, high)}
    assert all(any(a <= ord(c) <= b for a, b in first_characters(tree)) for c in first)
    used = [pair for row in machine.edges for ranges, _ in row for pair in ranges]
    assert all(any(a <= low and high <= b for a, b in characters(tree)) for low, high in used)


def test_an_encoding_replaces_characters_by_words() -> None:
    machine = encoded(automaton(star(chars("a<&"))), chars("ab").ranges, {ord("<"): ("&lt;",), ord("&"): ("&amp;",)})
    for text, taken in [("", True), ("a&lt;a&amp;", True), ("<", False), ("&", False), ("b", False), ("&lt", False)]:
        assert takes(machine, text) is taken, text


def test_text_without_a_needle() -> None:
    machine = automaton(Not(sequence(star(ANY), literal("]]>"), star(ANY))))
    assert len(machine.edges) == 3
    for text, taken in [("]]", True), ("]]]>", False), ("] ]>", True), ("a]]>b", False), ("]>]]", True)]:
        assert takes(machine, text) is taken, text


def test_languages_that_need_too_many_states_are_refused() -> None:
    with pytest.raises(TooLarge):
        automaton(sequence(star(chars("ab")), chars("a"), Repeat(chars("ab"), 12, 12)))
    with pytest.raises(TooLarge):
        automaton(Repeat(chars("a"), 5_000, 5_000))
