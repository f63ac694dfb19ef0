"""Numbers as regular languages: how integers and numbers within bounds are written.

A bound is compared digit by digit, so the trees grow with the digits of the bounds and not with their values. A text
with a point or an exponent is read as a double, and what is within closed bounds stays there when it is rounded. At an
open bound that does not hold, so there texts without exponent have at most 15 significant digits, since these stay
apart as doubles, and texts with one end at the next double.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from xmltools.grammar.regular.regular import EMPTY, NOTHING, Regular, Repeat, chars, choice, literal, optional, sequence

_DIGIT = chars((0x30, 0x39))
_ZERO, _LEADING, _SIGN, _PLUS, _POINT = chars("0"), chars((0x31, 0x39)), chars("-"), chars("+"), chars(".")
_POWER = chars("eE")

_LARGEST = 10**4300 - 1
"""Python, and so our parser, reads no integer with more digits."""
_DIGITS = 40
"""Digits of a number that has no bound."""
_PLACES = 20
"""Digits after the point."""
_MANTISSA_PLACES = 16
"""Digits after the point where an exponent follows: a double has 17 at most."""
_APART = 15
"""Significant digits with which two different decimals are always two different doubles."""
_LARGE = 10**_APART
"""From here on integers and texts with a point can't be compared alike, since doubles do not hold all integers."""
_LOWEST, _HIGHEST = -323, 308
"""Exponents of doubles with one digit before the point. The least double of all, 5e-324, is written by itself."""
_GREATEST = Fraction(repr(sys.float_info.max))
_LEAST_DOUBLE = Fraction("5e-324")
_LEAST = sequence(literal("5"), _POWER, literal("-324"))


@lru_cache(maxsize=1024)
def integers(low: int | None, high: int | None, digits: int = _DIGITS) -> Regular:
    """Return the integers from `low` through `high`, without leading zeros, `+` and `-0`.

    Where a bound is None there are at most `digits` digits, or as many as the other bound has. An empty range gives
    the language without any text.
    """
    open_end = 10 ** max(digits, *(_length(bound) for bound in (low, high) if bound is not None), 1) - 1
    low = -open_end if low is None else max(low, -_LARGEST)
    high = open_end if high is None else min(high, _LARGEST)
    if low == -high and high > 0:
        return choice(_ZERO, sequence(optional(_SIGN), _magnitudes(1, high)))
    negative = sequence(_SIGN, _magnitudes(max(1, -high), -low)) if low < 0 and low <= high else NOTHING
    return choice(_magnitudes(max(0, low), high), negative)


def _length(number: int) -> int:
    return len(str(min(abs(number), _LARGEST)))


def _magnitudes(low: int, high: int) -> Regular:
    """Return the numbers from `low`, which is not negative, through `high`."""
    if low > high:
        return NOTHING
    if low == 0:
        return choice(_ZERO, _magnitudes(1, high))
    first, last = str(low), str(high)
    if len(first) == len(last):
        return _between(first, last)
    # The lengths of which all numbers belong to it.
    shortest = len(first) + (first.strip("0") != "1")
    longest = len(last) - (last.strip("9") != "")
    parts = [_between(first, "9" * len(first))] if shortest > len(first) else []
    if shortest <= longest:
        parts.append(sequence(_LEADING, _any(shortest - 1, longest - 1)))
    if longest < len(last):
        parts.append(_between("1" + "0" * longest, last))
    return choice(*parts)


def _any(low: int, high: int) -> Regular:
    """Return `low` to `high` digits."""
    if high == 0:
        return EMPTY
    return _DIGIT if low == high == 1 else Repeat(_DIGIT, low, high)


def _between(low: str, high: str, *, after_point: bool = False, least: int = 0) -> Regular:
    """Return the texts of as many digits as `low` and `high` have, from the one through the other.

    `after_point`: zeros at the end may be left out, as long as `least` digits stay.
    """
    size = len(low)
    if after_point and size and not high.strip("0"):
        return Repeat(_ZERO, least, size)
    if not low.strip("0") and not high.strip("9"):
        return _any(least if after_point else size, size)
    if size == 1 and not after_point:
        return chars((ord(low), ord(high)))
    # Digit after digit gives the shortest tree; halves keep that of a very long bound flat.
    digits = _by_head(low, high, 1 if after_point or size <= _DIGITS else size // 2, after_point)
    return optional(digits) if after_point and not least and not low.strip("0") else digits


def _by_head(low: str, high: str, head: int, after_point: bool) -> Regular:
    """Return what `_between` does, as a choice of what the first `head` digits may be."""
    rest = len(low) - head
    if low[:head] == high[:head]:
        return sequence(literal(low[:head]), _between(low[head:], high[head:], after_point=after_point))
    starts_inside, ends_inside = low[head:].strip("0") != "", high[head:].strip("9") != ""
    first, last = int(low[:head]) + starts_inside, int(high[:head]) - ends_inside
    parts = []
    if starts_inside:
        parts.append(sequence(literal(low[:head]), _between(low[head:], "9" * rest, after_point=after_point)))
    if first <= last:
        heads = _between(f"{first:0{head}}", f"{last:0{head}}")
        parts.append(sequence(heads, _any(0 if after_point else rest, rest)))
    if ends_inside:
        parts.append(sequence(literal(high[:head]), _between("0" * rest, high[head:], after_point=after_point)))
    return choice(*parts)


class _End(NamedTuple):
    """An end of a range of magnitudes."""

    value: int | float
    is_open: bool = False

    def exact(self) -> Fraction:
        """Return the number that integers are compared with."""
        large = isinstance(self.value, int) or abs(self.value) >= _LARGE
        return Fraction(int(self.value)) if large else Fraction(repr(self.value))

    def places(self) -> int:
        """Return how many digits after the point keep doubles apart from this end."""
        if not self.is_open or self.value == 0 or self.value >= _LARGE:
            return _PLACES
        return _APART - _length(int(self.value))


@lru_cache(maxsize=1024)
def numbers(low: float | None, high: float | None, low_open: bool = False, high_open: bool = False) -> Regular:
    """Return the numbers, as JSON writes them, from `low` through `high`, or without an end that is open.

    What `float.__repr__` writes is among them, but for numbers that lie nearer to an open bound than 15 digits tell,
    and for those above 1.7e308 but the greatest one.
    Numbers have at most 40 digits before the point if no bound says otherwise, and 20 after it; nothing overflows a
    double. There may be an exponent after one digit that is not zero; any other number only takes one if it has no
    bound on its side of zero. `-0` is written wherever zero is.
    """
    above = NOTHING if _is_below_zero(high, high_open) else _side(low, high, low_open, high_open)
    upper, lower = None if low is None else -low, None if high is None else -high
    below = NOTHING if _is_below_zero(upper, low_open) else _side(lower, upper, high_open, low_open)
    if above == below:
        return sequence(optional(_SIGN), above) if above != NOTHING else NOTHING
    return choice(above, sequence(_SIGN, below)) if below != NOTHING else above


def _is_below_zero(high: float | None, is_open: bool) -> bool:
    return high is not None and (high < 0 or (is_open and high == 0))


def _side(low: float | None, high: float | None, low_open: bool, high_open: bool) -> Regular:
    """Return the magnitudes on one side of zero."""
    start = _End(low, low_open) if low is not None and low >= 0 else _End(0)
    end = None if high is None else _End(high, high_open)
    if start == _End(0) and end is None:
        return _unbounded()
    return choice(_plain(start, end), _small_and_large(start, end))


@lru_cache(maxsize=1)
def _unbounded() -> Regular:
    """Return all magnitudes; one before whose point many digits stand has an exponent that it can bear."""
    number = sequence(_magnitudes(0, 10**_DIGITS - 1), _fraction(0, 10**_PLACES - 1, _PLACES))
    most = _HIGHEST - _DIGITS
    small = sequence(_SIGN, _magnitudes(100, 324))
    power = choice(
        sequence(optional(chars("+-")), _any(1, 2)), small, sequence(optional(_PLUS), _magnitudes(100, most))
    )
    loose = sequence(number, optional(sequence(_POWER, power)))
    # To say the greatest double digit by digit would take as much again.
    greatest = sequence(literal("1.7976931348623157e"), optional(_PLUS), literal("308"))
    return choice(loose, _scientific(Fraction(0), Fraction(17 * 10 ** (_HIGHEST - 1)), most + 1, _HIGHEST), greatest)


def _plain(start: _End, end: _End | None) -> Regular:
    """Return the numbers without exponent."""
    places = min(start.places(), end.places() if end else _PLACES)
    if start.value < _LARGE and (end is None or end.value < _LARGE):
        last = 10 ** (_DIGITS + places) - 1 if end is None else _last(end.exact(), end.is_open, places)
        return _decimals(_first(start.exact(), start.is_open, places), last, places)
    small = _decimals(_first(start.exact(), start.is_open, places), 10 ** (_APART + places) - 1, places)
    first_large = max(_LARGE, _first(start.exact(), start.is_open, 0))
    large = integers(first_large, None if end is None else _last(end.exact(), end.is_open, 0))
    low, high = _reach(start, end)
    tenths = max(_LARGE * 10, math.ceil(low * 10)), min(_LARGE * 100 - 1, math.floor(high * 10))
    return choice(small, large, _decimals(*tenths, 1))


def _first(value: Fraction, is_open: bool, places: int) -> int:
    """Return the least number of `places` digits after the point that is in, without its point."""
    scaled = value * 10**places
    first: int = math.ceil(scaled)
    return first + 1 if is_open and first == scaled else first


def _last(value: Fraction, is_open: bool, places: int) -> int:
    return -_first(-value, is_open, places)


def _decimals(first: int, last: int, places: int) -> Regular:
    """Return the decimals between two that are given without their point."""
    if first > last:
        return NOTHING
    nines = 10**places - 1
    (low, low_part), (high, high_part) = divmod(first, nines + 1), divmod(last, nines + 1)
    if low == high:
        return sequence(_magnitudes(low, low), _fraction(low_part, high_part, places))
    parts = []
    if low_part:
        parts.append(sequence(_magnitudes(low, low), _fraction(low_part, nines, places)))
        low += 1
    ends_inside = high_part < nines
    if low <= high - ends_inside:
        parts.append(sequence(_magnitudes(low, high - ends_inside), _fraction(0, nines, places)))
    if ends_inside:
        parts.append(sequence(_magnitudes(high, high), _fraction(0, high_part, places)))
    return choice(*parts)


def _fraction(low: int, high: int, places: int) -> Regular:
    """Return the point and what is after it, from `low` through `high` units of the last place."""
    if places == 0:
        return EMPTY
    if low == 1 and high == 10**places - 1:
        return sequence(_POINT, Repeat(_ZERO, 0, places - 1), _LEADING, _any(0, places - 1))
    digits = sequence(_POINT, _between(f"{low:0{places}}", f"{high:0{places}}", after_point=True, least=1))
    return optional(digits) if low == 0 else digits


def _small_and_large(start: _End, end: _End | None) -> Regular:
    """Return the numbers with such an exponent as `float.__repr__` writes."""
    low, high = _reach(start, end)
    if high <= 0:
        return NOTHING
    parts = [_scientific(low, high, *powers) for powers in ((_LOWEST, -5), (16, _HIGHEST))]
    return choice(*parts, _LEAST if low <= _LEAST_DOUBLE else NOTHING)


def _reach(start: _End, end: _End | None) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest double that are in, as they are written."""
    low = _nearest(start, math.inf)
    high = _GREATEST if end is None else _nearest(end, -math.inf)
    return (low, high) if low <= _GREATEST else (_GREATEST, Fraction(0))


def _nearest(end: _End, inside: float) -> Fraction:
    """Return the double at an end or, if that is out, the next one in the direction `inside`."""
    try:
        double = float(end.value)
    except OverflowError:
        return _GREATEST + (inside > 0)
    is_out = double < end.value if inside > 0 else double > end.value
    if is_out or (end.is_open and double == end.value):
        double = math.nextafter(double, inside)
    return Fraction(repr(double)) if math.isfinite(double) else _GREATEST + 1


def _scientific(low: Fraction, high: Fraction, least: int, greatest: int) -> Regular:
    """Return the numbers from `low` through `high` with one digit before the point and an exponent in a range."""
    if low > high:
        return NOTHING
    first, last = _exponent(low) if low else least, _exponent(high)
    parts = []
    # Only at the ends some of the numbers with an exponent may be out.
    if low > _power(first) or (first == last and low):
        parts.append((first, first))
        first += 1
    if last >= first and high < _power(last + 1) - _power(last - _MANTISSA_PLACES):
        parts.append((last, last))
        last -= 1
    parts.append((max(first, least), min(last, greatest)))
    return choice(*(_with_power(_mantissas(low, high, a), a, b) for a, b in parts if least <= a <= b <= greatest))


def _mantissas(low: Fraction, high: Fraction, power: int) -> Regular:
    """Return what stands before the exponent `power` in the numbers from `low` through `high`."""
    first = _first(low / _power(power), False, _MANTISSA_PLACES)
    last = _last(high / _power(power), False, _MANTISSA_PLACES)
    return _decimals(max(first, 10**_MANTISSA_PLACES), min(last, 10 ** (_MANTISSA_PLACES + 1) - 1), _MANTISSA_PLACES)


def _with_power(mantissas: Regular, first: int, last: int) -> Regular:
    """Return numbers with an exponent from `first` through `last`, which have the same sign."""
    if mantissas == NOTHING:
        return NOTHING
    low, high = sorted((abs(first), abs(last)))
    digits = choice(
        sequence(optional(_ZERO), _magnitudes(low, min(high, 9))) if low < 10 else NOTHING,
        _magnitudes(max(low, 10), high),
    )
    return sequence(mantissas, _POWER, _SIGN if first < 0 else optional(_PLUS), digits)


def _exponent(value: Fraction) -> int:
    """Return the power of ten of the first digit."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= _power(guess) else guess - 1


def _power(exponent: int) -> Fraction:
    return Fraction(10) ** exponent
