"""A calculator: numbers, + - * / % and parentheses. It has its own parser; nothing is ever evaluated."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

__all__ = ["CalculatorError", "calculate"]

_TOKEN = re.compile(r"\s*(?:(\d{1,30}(?:\.\d{1,30})?)|([-+*/%()]))")
_SUM: dict[str, Callable[[Fraction, Fraction], Fraction]] = {"+": operator.add, "-": operator.sub}
_PRODUCT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_LONGEST = 100  # Bounds the depth of parentheses, and so the recursion.


class CalculatorError(ValueError):
    """The expression can't be read, or has no value."""


def calculate(expression: str) -> str:
    """Take an expression such as `2 * (3 + 4)`; return its value, exact if it is a whole number.

    Raises `CalculatorError` if it can't be read, is longer than 100 characters, or divides by zero.
    """
    if len(expression) > _LONGEST:
        raise CalculatorError(f"expected at most {_LONGEST} characters")
    reader = _Reader(_tokens(expression.strip()))
    value = reader.sum()
    if reader.tokens:
        raise CalculatorError(f"expected an operator or the end, got {reader.tokens[0]!r}")
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _tokens(expression: str) -> list[str]:
    tokens, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if not match:
            found = expression[at:].strip()[:10]
            raise CalculatorError(f"expected a number or one of + - * / % ( ), got {found!r}")
        tokens.append(match[1] or match[2])
        at = match.end()
    return tokens


class _Reader:
    """Recursive descent: a sum of products of values."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def sum(self) -> Fraction:
        return self._chain(_SUM, lambda: self._chain(_PRODUCT, self._value))

    def _chain(
        self, operators: dict[str, Callable[[Fraction, Fraction], Fraction]], operand: Callable[[], Fraction]
    ) -> Fraction:
        value = operand()
        while self.tokens and self.tokens[0] in operators:
            apply = operators[self.tokens.pop(0)]
            try:
                value = apply(value, operand())
            except ZeroDivisionError:
                raise CalculatorError("division by zero") from None
        return value

    def _value(self) -> Fraction:
        token = self.tokens.pop(0) if self.tokens else "the end"
        if token == "-":
            return -self._value()
        if token == "(":
            value = self.sum()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise CalculatorError("expected )")
            return value
        if not token[0].isdigit():
            raise CalculatorError(f"expected a number, got {token!r}")
        return Fraction(token)
