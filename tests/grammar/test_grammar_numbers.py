"""Numbers as regular languages: a text belongs to one if and only if it spells a number within the bounds."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.effort import effort
from support.regulars import NOTHING, accepts, sentences, size

from xmltools.grammar.regular.numbers import integers, numbers
from xmltools.tools.schema.text_to_scalar import CLEAN

BOUNDS = st.none() | st.integers(-2000, 2000) | st.integers(-(10**22), 10**22)
DECIMALS = st.builds(
    lambda digits, places: float(f"{digits}e{-places}"), st.integers(-(10**6), 10**6), st.integers(0, 8)
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBER_BOUNDS = st.none() | st.integers(-30, 30) | DECIMALS | FLOATS | st.integers(-(10**30), 10**30)


def near(bound, data):
    """An integer that is likely to be close to a bound, or to a power of ten."""
    return (bound or 0) + data.draw(st.sampled_from([-10, -1, 0, 1, 9, 10, 100]) | st.integers(-(10**4), 10**4))


def read(text):
    return CLEAN["number"](text)


@given(BOUNDS, BOUNDS, st.data())
def test_an_integer_is_in_if_it_is_within_the_bounds(low, high, data):
    value = near(data.draw(st.sampled_from([low, high, 0])), data)
    inside = (low is None or value >= low) and (high is None or value <= high)
    assert accepts(integers(low, high), str(value)) is inside


@given(BOUNDS, BOUNDS, st.data())
def test_every_integer_of_the_language_is_within_the_bounds_and_canonical(low, high, data):
    tree = integers(low, high)
    assert (tree == NOTHING) is (low is not None and high is not None and low > high)
    assume(tree != NOTHING)
    text = data.draw(sentences(tree))
    value = int(text)
    assert str(value) == text
    assert (low is None or value >= low) and (high is None or value <= high)
    assert CLEAN["integer"](text) == value


@pytest.mark.parametrize("text", ["", "-", "-0", "00", "01", "-01", "+1", "1.0", "1e3", " 1", "1_000", "１"])
def test_an_integer_is_spelled_in_one_way(text):
    assert not accepts(integers(None, None), text)
    assert not accepts(integers(-1000, 1000), text)


@pytest.mark.parametrize(("low", "high"), [(None, None), (0, None), (None, 0), (-5, None)])
def test_without_a_bound_integers_have_a_number_of_digits_at_most(low, high):
    sign = "-" if low is None else ""
    assert accepts(integers(low, high), sign + "9" * 40)
    assert not accepts(integers(low, high), sign + "1" + "0" * 40)
    assert accepts(integers(low, high, digits=3), sign + "999")
    assert not accepts(integers(low, high, digits=3), sign + "1000")


def test_a_bound_beyond_the_number_of_digits_stands():
    tree = integers(10**50 + 1, None)
    assert not accepts(tree, str(10**50))
    assert accepts(tree, str(10**50 + 1))
    assert accepts(tree, "9" * 51)
    assert not accepts(tree, "1" + "0" * 51)


def test_bounds_of_thousands_of_digits_stay_flat():
    high = int("17" * 200)
    tree = integers(-(10**500), high)
    assert accepts(tree, str(high))
    assert not accepts(tree, str(high + 1))
    assert hash(integers(-(10**5000), int("17" * 2000)))  # trees that are too deep have none


@given(NUMBER_BOUNDS, NUMBER_BOUNDS, st.booleans(), st.booleans(), st.data())
def test_every_number_of_the_language_is_read_within_the_bounds(low, high, low_open, high_open, data):
    tree = numbers(low, high, low_open, high_open)
    assume(tree != NOTHING)
    text = data.draw(sentences(tree))
    value = read(text)
    assert json.loads(text) == value and math.isfinite(value)
    assert low is None or (value > low if low_open else value >= low)
    assert high is None or (value < high if high_open else value <= high)


def exact(number):
    """The number that a bound's own digits say."""
    large = isinstance(number, int) or abs(number) >= 10**15
    return Fraction(int(number)) if large else Fraction(repr(number))


@given(st.none() | DECIMALS, st.none() | DECIMALS, st.booleans(), st.booleans(), st.data())
def test_a_decimal_is_in_if_it_is_within_the_bounds(low, high, low_open, high_open, data):
    middle = exact(data.draw(st.sampled_from([low, high, 0])) or 0)
    step = Fraction(data.draw(st.sampled_from([-1, 0, 1])), 10 ** data.draw(st.integers(0, 8)))
    scaled = (middle + step) * 10**8
    whole, part = divmod(abs(int(scaled)), 10**8)
    sign = "-" if scaled < 0 else ""
    above = low is None or (middle + step > exact(low) if low_open else middle + step >= exact(low))
    below = high is None or (middle + step < exact(high) if high_open else middle + step <= exact(high))
    tree = numbers(low, high, low_open, high_open)
    assert accepts(tree, f"{sign}{whole}.{part:08}") is (above and below)
    if not part:
        assert accepts(tree, f"{sign}{whole}") is (above and below)


@given(FLOATS)
def test_whatever_repr_writes_is_in(value):
    text = repr(value)
    assert accepts(numbers(None, None), text) or 1.7e308 < abs(value) < 1.7976931348623157e308
    assert accepts(numbers(value, value), text)
    assert accepts(numbers(min(value, 0), max(value, 0)), text)
    assert accepts(numbers(value, None), text)
    assert accepts(numbers(None, value), text)
    assert not accepts(numbers(value, None, True), text)
    assert not accepts(numbers(None, value, high_open=True), text)


@given(FLOATS, FLOATS, FLOATS)
def test_whatever_repr_writes_is_in_if_and_only_if_it_is_within_the_bounds(low, high, value):
    assert accepts(numbers(low, high), repr(value)) is (low <= value <= high)


@pytest.mark.parametrize("value", [2.0**53, 1e15, 1e16, 1e23, 1e40, 1e41, 1e300, 1.7976931348623157e308])
@pytest.mark.parametrize("step", [-1, 0, 1])
def test_integers_are_held_to_the_exact_value_of_a_large_bound(value, step):
    exactly = int(value)
    tree = numbers(0, value)
    assert accepts(tree, str(exactly + step)) is (exactly + step <= value)
    assert accepts(numbers(value, None), str(exactly + step)) is (exactly + step >= value)
    assert accepts(numbers(0, exactly + step, high_open=True), str(exactly)) is (exactly < exactly + step)


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "-0.0", "0.5", "12.50", "1e5", "1E+05", "2.5e-3", "12.5e3", "0.1e-7", "5e-324", "1e308", "1e-07"],
)
def test_ordinary_spellings_are_in_where_there_is_no_bound(text):
    assert accepts(numbers(None, None), text)


@pytest.mark.parametrize(
    "text", ["", "-", ".5", "5.", "01", "00.5", "+1", "1e", "1e+", "1e309", "1.8e308", "NaN", "Infinity", "1 ", "1e400"]
)
def test_what_json_does_not_have_or_a_double_cannot_hold_is_out(text):
    assert not accepts(numbers(None, None), text)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        (
            (0, 1),
            ["0", "-0", "-0.0", "1", "1.0", "0.25", "1e-07", "9.9E-5", "5e-324"],
            ["1.01", "-0.1", "-1e-07", "1e-4"],
        ),
        ((0, 1, True, True), ["0.5", "0.99999999999999", "1e-07"], ["0", "-0", "0.0", "1", "0.99999999999999999999"]),
        ((5, None, True), ["6", "5.00000000000001", "1e+16"], ["5", "5.0", "5.0000000000000000001", "1e1"]),
        ((0.00001, 1), ["0.00001", "1e-05", "2e-5"], ["1e-06", "9.9e-06", "0.000009", "0"]),
        ((-2.5, -0.5), ["-2.5", "-0.5", "-1"], ["2", "-2.51", "-0.49", "0", "-0"]),
        ((None, 0, False, True), ["-1", "-0.1", "-1e+300"], ["0", "-0", "-0.0", "-0e5"]),
        ((0, 9223372036854775807), ["9223372036854775807", "1.5", "1e+18"], ["9223372036854775808", "1e+19"]),
        ((0.1, 0.30000000000000004, True, True), ["0.2", "0.3"], ["0.1", "0.30000000000000004", "0.30000000000000003"]),
    ],
)
def test_numbers_within_bounds(bounds, inside, outside):
    tree = numbers(*bounds)
    assert [text for text in inside if not accepts(tree, text)] == []
    assert [text for text in outside if accepts(tree, text)] == []


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0, True), (0, 0, False, True), (5, 5, True), (1.5, 1.25)])
def test_an_empty_range_gives_no_text(bounds):
    assert numbers(*bounds) == NOTHING


@pytest.mark.parametrize(
    "bounds", [(None, None), (0, 1), (-90, 90), (0, None, True), (0, 2**63), (0.1, 0.9, True, True)]
)
def test_trees_are_small(bounds):
    assert size(numbers(*bounds)) < 400
    assert size(integers(-(2**63), 2**63 - 1)) < 250


def test_trees_are_made_at_once():
    def make() -> None:
        for high in range(1, 101):
            numbers(-high, high + 0.5)
            integers(-high, high * 1000)

    assert effort(make) < 300
