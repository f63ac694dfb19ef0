"""Regular trees as regular expressions, in the words that Python, Rust (llguidance, outlines) and xgrammar share."""

from __future__ import annotations

from xmltools.grammar.regular.automata import automaton
from xmltools.grammar.regular.elimination import to_tree
from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    LAST,
    NOTHING,
    And,
    Chars,
    Choice,
    Not,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    choice,
    is_simple,
    nullable,
    sequence,
    subtract,
)

__all__ = ["expression", "filled", "suffix", "terminal"]


def expression(tree: Regular) -> str:
    """Return a regular expression for a language; what stands around it needs no brackets. Raises TooLarge."""
    return _print(_plain(tree))


def terminal(tree: Regular) -> str:
    """Return a terminal of llguidance's Lark, which has operators for intersection and complement."""
    if not _has_operators(tree):
        text = expression(tree)
        return f"/{text}/" if text else '""'
    if isinstance(tree, And):
        parts = tree.parts if not all(isinstance(part, Not) for part in tree.parts) else (ANYTHING, *tree.parts)
        return f"({' & '.join(_complement(part) if isinstance(part, Not) else terminal(part) for part in parts)})"
    if isinstance(tree, Not):
        # A complement alone holds bytes that are no text.
        return f"(/(?s:.)*/ & {_complement(tree)})"
    if isinstance(tree, Choice):
        return f"({' | '.join(map(terminal, tree.parts))})"
    if isinstance(tree, Repeat):
        return f"({terminal(tree.part)}){suffix(tree.low, tree.high)}"
    assert isinstance(tree, Sequence)
    return f"({' '.join(map(terminal, _runs(tree)))})"


def _complement(tree: Not) -> str:
    return f"~{terminal(tree.part)}"


def _has_operators(tree: Regular) -> bool:
    if isinstance(tree, (Sequence, Choice)):
        return any(map(_has_operators, tree.parts))
    return _has_operators(tree.part) if isinstance(tree, Repeat) else isinstance(tree, (And, Not))


def _runs(tree: Sequence) -> list[Regular]:
    """Return the parts of a sequence, those without operators that follow each other as one."""
    runs: list[Regular] = []
    for part in tree.parts:
        if runs and not _has_operators(part) and not _has_operators(runs[-1]):
            runs[-1] = sequence(runs[-1], part)
        else:
            runs.append(part)
    return runs


def filled(tree: Regular) -> Regular:
    """Return the language without the empty text."""
    if not nullable(tree):
        return tree
    if isinstance(tree, Choice):
        return choice(*map(filled, tree.parts))
    if isinstance(tree, Repeat) and not nullable(tree.part):
        return NOTHING if tree.high == 0 else Repeat(tree.part, 1, tree.high)
    if isinstance(tree, Sequence):
        first, rest = tree.parts[:1], tree.parts[1:]
        return choice(sequence(filled(first[0]), *rest), filled(sequence(*rest))) if first else NOTHING
    parts = tree.parts if isinstance(tree, And) else (tree,)
    return And((*parts, Repeat(Chars(ALL), 1)))


def _plain(tree: Regular) -> Regular:
    """Return the tree with every intersection, complement and automaton spelled out."""
    if is_simple(tree):
        return tree
    if isinstance(tree, (Sequence, Choice)):
        return type(tree)(tuple(map(_plain, tree.parts)))
    if isinstance(tree, Repeat):
        return Repeat(_plain(tree.part), tree.low, tree.high)
    return to_tree(automaton(tree))


def _print(tree: Regular) -> str:
    if isinstance(tree, Chars):
        return _set(tree.ranges)
    if isinstance(tree, Sequence):
        return "".join(map(_print, tree.parts))
    if isinstance(tree, Choice):
        return f"(?:{'|'.join(map(_print, tree.parts))})"
    if isinstance(tree, Repeat):
        if tree.high == 0:
            return ""
        inner = _print(tree.part)
        if isinstance(tree.part, (Sequence, Repeat)):
            inner = f"(?:{inner})"
        return inner + suffix(tree.low, tree.high)
    raise AssertionError(tree)


def suffix(low: int, high: int | None) -> str:
    """Return what repeats the expression in front of it."""
    short = {(0, 1): "?", (0, None): "*", (1, None): "+", (1, 1): ""}.get((low, high))
    if short is not None:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _set(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped(ranges[0][0], r"\.^$*+?()[]{}|/")
    if ranges == ALL:
        return "(?s:.)"
    if not ranges:
        return r"[^\s\S]"
    others = subtract(ALL, ranges)
    if ranges[0][0] == 0 and ranges[-1][1] == LAST:
        return f"[^{_class(others)}]"
    return f"[{_class(ranges)}]"


def _class(ranges: Ranges) -> str:
    special = r"\]^-[&~/"
    return "".join(
        _escaped(first, special) + (f"-{_escaped(last, special)}" if last > first else "") for first, last in ranges
    )


_SHORT = {0x09: r"\t", 0x0A: r"\n", 0x0D: r"\r"}


def _escaped(code: int, special: str) -> str:
    if code in _SHORT:
        return _SHORT[code]
    character = chr(code)
    if character in special:
        return "\\" + character
    if code > 0x7E or code < 0x20:
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return character
