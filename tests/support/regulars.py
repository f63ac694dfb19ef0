"""Regular languages by the book, as an oracle: membership by Brzozowski's derivatives, and sentences to try.

It shares nothing with the code that makes grammars but the trees themselves.
"""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

from xmltools.grammar.regular.regular import And, Chars, Choice, Not, Regular, Repeat, Sequence, choice

NOTHING = Chars(())
EMPTY = Sequence(())


def accepts(tree: Regular, text: str) -> bool:
    """Whether a text belongs to the language."""
    for character in text:
        tree = derivative(tree, ord(character))
    return nullable(tree)


@lru_cache(maxsize=100_000)
def nullable(tree: Regular) -> bool:
    """Whether the empty text belongs to the language."""
    match tree:
        case Chars():
            return False
        case Sequence(parts) | And(parts):
            return all(map(nullable, parts))
        case Choice(parts):
            return any(map(nullable, parts))
        case Repeat(part, low, _):
            return low == 0 or nullable(part)
        case Not(part):
            return not nullable(part)


@lru_cache(maxsize=100_000)
def derivative(tree: Regular, code: int) -> Regular:
    """What may follow a character."""
    match tree:
        case Chars(ranges):
            return EMPTY if any(first <= code <= last for first, last in ranges) else NOTHING
        case Sequence(parts):
            ways = []
            for number, part in enumerate(parts):
                ways.append(_joined(derivative(part, code), *parts[number + 1 :]))
                if not nullable(part):
                    break
            return choice(*ways)
        case Choice(parts):
            return choice(*(derivative(part, code) for part in parts))
        case Repeat(part, low, high):
            if high == 0:
                return NOTHING
            rest = Repeat(part, max(low - 1, 0), None if high is None else high - 1)
            return _joined(derivative(part, code), rest)
        case And(parts):
            found = tuple(dict.fromkeys(derivative(part, code) for part in parts))
            return NOTHING if NOTHING in found else found[0] if len(found) == 1 else And(found)
        case Not(part):
            return Not(derivative(part, code))


def _joined(*parts: Regular) -> Regular:
    flat = [each for part in parts for each in (part.parts if isinstance(part, Sequence) else (part,))]
    if NOTHING in flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def sentences(tree: Regular) -> st.SearchStrategy[str]:
    """Texts of a language. Complements only stand in intersections, and not first."""
    match tree:
        case Chars(ranges):
            return st.one_of([st.integers(first, last) for first, last in ranges]).map(chr) if ranges else st.nothing()
        case Sequence(parts):
            return st.tuples(*map(sentences, parts)).map("".join)
        case Choice(parts):
            return st.one_of([sentences(part) for part in parts])
        case Repeat(part, low, high):
            most = low + 4 if high is None else min(high, low + 20)
            return st.lists(sentences(part), min_size=low, max_size=most).map("".join)
        case And((first, *others)):
            return sentences(first).filter(lambda text: all(accepts(each, text) for each in others))
        case Not():
            raise ValueError("a complement by itself")


def size(tree: Regular) -> int:
    """How many nodes a tree has."""
    match tree:
        case Chars():
            return 1
        case Sequence(parts) | Choice(parts) | And(parts):
            return 1 + sum(map(size, parts))
        case Repeat(part, _, _) | Not(part):
            return 1 + size(part)
