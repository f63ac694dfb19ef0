"""How Go spells values: `%v` of its `fmt`, and the walk through values that its other spellings share.

Values are those that Go reads from JSON, so every number is a float64. A writer goes through a value with a stack of
its own: data may nest as deep as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Context, Decimal
from typing import Any, NamedTuple

from xmltools.models.message import Message


def value_text(value: Any) -> str:
    """Return what `%v` makes of a value: `map[a:1 b:[x <nil> true]]`, keys sorted, strings without quotes."""
    return "".join(pieces(value, _FMT))


# Values that hold others


class Spelling(NamedTuple):
    """How a writer spells a value that holds others, and how one that holds none."""

    map_start: str
    map_end: str
    separator: str
    key: Callable[[Any], str]
    scalar: Callable[[Any], str]


class _Piece(str):
    """Text that is written as it is."""

    __slots__ = ()


def pieces(value: Any, spelling: Spelling) -> Iterator[str]:
    """Yield the pieces of the text of a value, in order."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, _Piece):
            yield each
        elif isinstance(each, Mapping):
            todo += reversed(_map_pieces(each, spelling))
        elif isinstance(each, (list, tuple)):
            todo += reversed(_list_pieces(each, spelling))
        else:
            yield spelling.scalar(each)


def _map_pieces(value: Mapping[Any, Any], spelling: Spelling) -> list[Any]:
    # The order of characters is that of their bytes in UTF-8, by which Go sorts.
    pieces: list[Any] = [_Piece(spelling.map_start)]
    for number, (name, each) in enumerate(sorted(value.items(), key=lambda item: str(item[0]))):
        pieces += (_Piece((spelling.separator if number else "") + spelling.key(name)), each)
    return [*pieces, _Piece(spelling.map_end)]


def _list_pieces(value: list[Any] | tuple[Any, ...], spelling: Spelling) -> list[Any]:
    pieces: list[Any] = [_Piece("[")]
    for number, each in enumerate(value):
        pieces += (_Piece(spelling.separator), each) if number else (each,)
    return [*pieces, _Piece("]")]


# `%v`

_WORDS = {"None": "<nil>", "True": "true", "False": "false"}
_EXACT = Context(prec=40)  # a float has 17 digits; the host's context may have fewer


def _fmt_scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _WORDS[str(value)]
    return _fmt_number(_as_float(value)) if isinstance(value, (int, float)) else str(value)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _fmt_number(value: float) -> str:
    """Return what `%g` makes of a float: the fewest digits that say it, with an exponent from 1e+06 and below 1e-04."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    mantissa, _, exponent = f"{digits(value):e}".partition("e")
    return f"{mantissa}e{int(exponent):+03d}"


def digits(value: float) -> Decimal:
    """Return the fewest digits that say a float."""
    return Decimal(repr(value)).normalize(_EXACT)


_FMT = Spelling("map[", "]", " ", lambda name: f"{_fmt_scalar(name)}:", _fmt_scalar)


# Messages for people: a line that says who speaks, then what was said, as Wick's PrettyPrint has it


_LABELS = {"system": "System", "user": "Human", "assistant": "AI"}


def shown(message: Message) -> Iterator[str]:
    """Yield a message as text, and each of its results. Reasoning and files are not shown."""
    if not message.is_tool and (not message.results or message.text or message.calls):
        yield shown_message(
            message.role, message.text, ((call.name, call.id, call.arguments) for call in message.calls)
        )
    for result in message.results:
        yield shown_result(result.call_id, result.name, result.text)


def shown_message(role: str, content: str, calls: Iterable[tuple[str, str, Any]] = ()) -> str:
    """Return a message as text that ends with an empty line. `calls` are the name, id and arguments of each."""
    return _block(_LABELS.get(role, role), content, calls)


def shown_result(call_id: str, name: str, content: str, calls: Iterable[tuple[str, str, Any]] = ()) -> str:
    """Return a result as text that ends with an empty line."""
    return _block(f"Tool: {name} (call_id={call_id})", content, calls)


def _block(label: str, content: str, calls: Iterable[tuple[str, str, Any]]) -> str:
    said = f"{content}\n" if content else ""
    called = (
        f"  → tool_call: {name}(id={call_id}, args={value_text({} if arguments is None else arguments)})\n"
        for name, call_id, arguments in calls
    )
    return f"[{label}]\n{said}{''.join(called)}\n"
