"""Random regular expressions and texts for them: what `re` reads, with nests of repeats and assertions."""

from __future__ import annotations

from random import Random

__all__ = ["hostile_pattern", "hostile_text", "pattern", "text"]

_UNITS = ("a", "a", "b", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", r"\n", "(?i:A)", "(?i:[B-C])", "[^\\W_]")
_SPOTS = ("^", "$", r"\b", r"\B", r"\Z", r"\A")
_REPEATS = ("*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}")
_ODD = ("(?<=a)", "(?<!ab)", r"(a)\1", "(?>a|ab)", "(?:a|b)++", "(b)?(?(1)a|b)", "(?#a)", "(?x: a)")

HOSTILE = (
    r"(a+)+$", r"(a|a)*$", r"(.*)*x", r"a*a*a*a*$", r"(a|aa)+$", r"(a+)+\1b", r"(?=(a+)+b)(a+)+c", r"(a{1,50}){1,50}b",
    r"((a{1,50}){1,50}){1,50}b", r"(?>a+)+b", r"(a++)+b", r"(?:a?){1000}b", r"(?:a?b?c?d?){1000}x", r"(?<!a)(a+)+b",
    r"(?:a|b)*a(?:a|b){500}$", r"[a-z]{1,5000}x", r"(x+x+)+y", r"((((((a*)*)*)*)*)*)*b", r"(a*){50}b",
    r"(a{1000000}){1000000}", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(\w+)\s+\1", r"(a)(?(1)a+|b)+c", r"(?:(?:a+)+)+$",
    r"^(\w*,?){0,100}$", r"(.*a){12}", r"([ab]*a[ab]*)*c",
    "|".join(f"word{number}" for number in range(100)), r"(?i)(ſ|k|i)+$",
)  # fmt: skip
"""Patterns that cost a matcher much which tries one way after the other, or makes all that repeats mean at once."""


def pattern(rng: Random, depth: int = 2) -> str:
    """A pattern with flags."""
    flags = "".join(flag for flag, often in (("m", 0.15), ("s", 0.1), ("i", 0.1), ("a", 0.05)) if rng.random() < often)
    return (f"(?{flags})" if flags else "") + _sequence(rng, depth)


def _sequence(rng: Random, depth: int) -> str:
    parts = [_part(rng, depth) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    if rng.random() < 0.15:
        parts += ["|", _part(rng, depth) if rng.random() < 0.8 else ""]
    return "".join(parts)


def _part(rng: Random, depth: int) -> str:
    kind = rng.randrange(22 if depth else 8)
    if kind == 6:
        return rng.choice(_SPOTS)
    if kind < 8:
        return _repeated(rng, rng.choice(_UNITS))
    if kind in (12, 13):
        return f"{rng.choice(['', '^', '^'])}(?{rng.choice('=!')}{_sequence(rng, depth - 1)})"
    if kind == 14:
        return rng.choice(_ODD)
    return _repeated(rng, f"{rng.choice(['(', '(?:'])}{_sequence(rng, depth - 1)})")


def _repeated(rng: Random, part: str) -> str:
    if rng.random() < 0.5:
        return part
    return part + rng.choice(_REPEATS) + rng.choice(["", "", "", "?"])


def text(rng: Random, longest: int = 8) -> str:
    """A short text in which such patterns are found about every other time."""
    return "".join(rng.choice("aabbcC1 \n_") for _ in range(rng.randrange(longest + 1)))


def hostile_pattern(rng: Random) -> str:
    """One of the patterns that take exponential time if they are gone through way by way."""
    return rng.choice(HOSTILE)


def hostile_text(rng: Random) -> str:
    """What those patterns nearly match."""
    size = rng.choice([0, 3, 20, 60, 200])
    return rng.choice(["a", "ab", "x", "a,", "aB", "word"]) * size + rng.choice(["", "!", "b", "c", "\n", "x"])
