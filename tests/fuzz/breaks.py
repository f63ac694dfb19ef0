"""Replies with one broken thing: a delimiter, a call that is not finished, or a call that is only shown.

A reply is a list of pieces: prose, and sections with the calls of a turn. `break_one` puts one thing wrong in it and
says which; all else stays as the writer of the dialect laid it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from fuzz.worded import Layout, Written, calls, delimiters, is_json, layouts, sayable, strings, tokens, words
from xmltools import dialects

__all__ = ["BREAKS", "Piece", "Reply", "Role", "Section", "ends_in_text", "make", "said"]

Role = str
"""`prose`, and `around`, which says that a call is only shown; `frame`, around or between calls; `good`, a call;
`shown`, one in text; `broken`, one with a fault, and `broken frame`."""


@dataclass
class Piece:
    """Some text of a reply, and the call that it is, or was."""

    text: str
    role: Role = "prose"
    call: Written | None = None


@dataclass
class Section:
    """The calls of a turn, and the text around them."""

    start: Piece
    calls: list[Piece]
    between: Piece
    end: Piece
    layout: Layout

    def pieces(self) -> Iterator[Piece]:
        """Yield the text in order."""
        yield self.start
        for number, call in enumerate(self.calls):
            if number:
                yield self.between
            yield call
        yield self.end


@dataclass
class Reply:
    """A reply, what is broken in it, and the calls that were put aside to be shown or cut off."""

    dialect: str
    parts: list[Piece | Section]
    broken: str = ""
    spare: list[Written] = field(default_factory=list)

    def pieces(self) -> list[Piece]:
        """Return the text in order."""
        parts = [[part] if isinstance(part, Piece) else list(part.pieces()) for part in self.parts]
        return [piece for part in parts for piece in part]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces())

    def sections(self) -> list[Section]:
        """Return the sections in order."""
        return [part for part in self.parts if isinstance(part, Section)]


_PER_POOL = 250
"""Replies that share a pool of calls: to write a call, and to read it back, takes as long as to try a reply."""
_POOL = 60
_TRIES = 50
_SENTENCES = ("Let me look at this.", "Now the next step.", "I will do it right away:", "That went well.")
_LONG = "First I thought about it for a while, and then I looked at the other side of it as well. " * 5


def make(dialect: str, seed: int, number: int, kinds: tuple[str, ...]) -> Reply:
    """Return the reply of this number, which is the same each time, with one broken thing of one of these kinds.

    Nothing is broken in it (`nothing`) if no reply of the dialect can have that.
    """
    pool, examples = calls(f"{seed}/broken/{number // _PER_POOL}", dialect, _POOL)
    rng = Random(f"{seed}/broken/{dialect}/{number}")
    for _ in range(_TRIES):
        chosen = rng.sample(pool, rng.choice((1, 2, 2, 3)))
        layout = rng.choice(layouts(dialect))
        reply = _laid_out(rng, dialect, chosen, layout)
        reply.spare = rng.sample(examples, 2)
        reply.broken = rng.choice(kinds)
        if BREAKS[reply.broken](rng, reply):
            return reply
    reply.broken = "nothing"
    return reply


def said(dialect: str, seed: int, number: int) -> Reply:
    """Return the reply of this number in which nothing is broken; what a writer refuses is an empty piece of it."""
    rng = Random(f"{seed}/said/{dialect}/{number}")
    chosen = sayable(rng, dialect)
    return _laid_out(rng, dialect, chosen, rng.choice(layouts(dialect)))


def _laid_out(rng: Random, dialect: str, chosen: list[Written], layout: Layout) -> Reply:
    """The calls in one section, or each in one of its own, and prose around them."""
    at_once = layout.is_first or rng.random() < 0.6
    groups = [chosen] if at_once else [[call] for call in chosen]
    parts: list[Piece | Section] = []
    for number, group in enumerate(groups):
        if not layout.is_first and (not number or rng.random() < 0.5):
            parts.append(Piece(_prose(rng)))
        parts.append(_section(group, layout))
    if rng.random() < 0.4:
        parts.append(Piece("\n\n" + rng.choice(_SENTENCES)))
    return Reply(dialect, parts)


def _prose(rng: Random) -> str:
    return rng.choice(("", "", rng.choice(_SENTENCES), f"{rng.choice(_SENTENCES)}\n\n", "\n"))


def _section(group: list[Written], layout: Layout, role: Role = "good") -> Section:
    pieces = [Piece(call.text, role, call) for call in group]
    frame = [Piece(text, "frame") for text in (layout.start, layout.between, layout.end)]
    return Section(frame[0], pieces, frame[1], frame[2], layout)


# What is broken. Each function changes the reply, or returns False if there is nothing in it to break like that.


def _delimiter(rng: Random, reply: Reply) -> tuple[Piece, re.Match[str]] | None:
    """A piece with one of its delimiters, outside of values."""
    pieces = [piece for piece in reply.pieces() if piece.role in ("good", "frame")]
    pieces = [piece for piece in pieces if sum(each is piece for each in pieces) == 1]  # not one that is in two places
    rng.shuffle(pieces)
    for piece in pieces:
        found = [match for match in tokens(reply.dialect).finditer(piece.text) if not _in_value(piece, match)]
        long = [match for match in found if len(match[0]) > 3]
        if found:
            return piece, rng.choice(long if long and rng.random() < 0.7 else found)
    return None


def _in_value(piece: Piece, match: re.Match[str]) -> bool:
    spans = () if piece.call is None else _spans(piece.text, piece.call)
    return any(start <= match.start() < end for start, end in spans)


def _spans(text: str, call: Written) -> Iterator[tuple[int, int]]:
    """Where the values are, which begin and end with words of their own, however they are written."""
    for value in strings(call.arguments):
        first, *rest = words(value)
        last = rest[-1] if rest else first
        yield text.find(first), text.rfind(last) + len(last)


def _change(change: Callable[[Random, str, Reply], str]) -> Callable[[Random, Reply], bool]:
    """Return the break that puts something in place of a delimiter."""

    def break_one(rng: Random, reply: Reply) -> bool:
        chosen = _delimiter(rng, reply)
        if chosen is None:
            return False
        piece, found = chosen
        new = change(rng, found[0], reply)
        if new == found[0]:
            return False
        piece.text = piece.text[: found.start()] + new + piece.text[found.end() :]
        piece.role = "broken" if piece.call else "broken frame"
        return True

    return break_one


def _damaged(rng: Random, mark: str, reply: Reply) -> str:
    """A character lost, added or changed, or the last ones cut off."""
    at, how = rng.randrange(len(mark)), rng.randrange(5)
    if how == 0:
        return mark[:at] + mark[at + 1 :]
    if how == 1 and at:  # the text before the delimiter may be a value
        return mark[:at] + rng.choice("xs_/= +") + mark[at:]
    if how == 2:
        return mark[:at] + rng.choice("xs_/=+>") + mark[at + 1 :]
    if how == 3 and len(mark) > 1:
        return mark[:-1] + rng.choice(("=", "+", ""))
    return mark[:at]


def _exchanged(rng: Random, mark: str, reply: Reply) -> str:
    found = delimiters(reply.dialect)
    return rng.choice(found) if len(mark) > 3 else rng.choice('[]{}",:')


def _unfinished(rng: Random, reply: Reply) -> bool:
    """A call is cut off anywhere, and the rest goes on as if nothing had happened."""
    section = rng.choice(reply.sections())
    layout, call = section.layout, reply.spare[0]
    whole = layout.start + call.text
    place = rng.randrange(1, len(whole))
    cut = whole[:place]
    if any(start < place < end for start, end in _spans(whole, call)):
        reply.broken = "unfinished in a value"
    gap = rng.choice(("", "\n", "\n\n", f"\n{rng.choice(_SENTENCES)}\n"))
    at = reply.parts.index(section)
    if rng.random() < 0.5 and layout.start and not layout.is_list and len(cut) > len(layout.start):
        section.calls.insert(0, Piece(cut[len(layout.start) :] + gap.rstrip(" "), "broken", call))
        section.between = section.between if len(section.calls) > 2 else Piece("", "frame")
    else:
        reply.parts.insert(at, Piece(cut + gap, "broken", call))
    return True


def ends_in_text(reply: Reply, piece: Piece) -> bool:
    """Is an unfinished call cut off in a text, so that what follows may be a part of it? In JSON a text goes on to a
    quotation mark, and one in an example may be one that was not escaped."""
    assert piece.call is not None
    whole, start = piece.call.text, reply.sections()[0].layout.start
    cut = _alike(start + whole, piece.text) - len(start)
    cut = max(cut, _alike(whole, piece.text))
    if is_json(reply.dialect):
        quote = '<|"|>' if reply.dialect == "gemma" else '"'
        return re.sub(r"\\.", "", whole[: max(cut, 0)]).count(quote) % 2 == 1
    marks = list(tokens(reply.dialect).finditer(whole))
    for begin, end in _spans(whole, piece.call):
        first = max((each.end() for each in marks if each.end() <= begin), default=0)
        after = min((each.end() for each in marks if each.start() >= end), default=len(whole))
        if first <= cut < after:
            return True
    return False


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _fenced(rng: Random, reply: Reply) -> bool:
    """A call is shown in a fence before prose, or before a call that is not in one."""
    layout = layouts(reply.dialect)[-1]
    word = rng.choice(("", "xml", "json", "text"))
    shown = _section(reply.spare[: rng.choice((1, 1, 2))], layout, "shown")
    after = rng.choice(("\n```\n", f"\n```\n\n{rng.choice(_SENTENCES)}\n\n"))
    before = f"{rng.choice(_SENTENCES)} A call has this form:\n\n```{word}\n"
    example: list[Piece | Section] = [Piece(before, "around"), shown, Piece(after, "around")]
    if rng.random() < 0.6 and not _sections_first(reply):
        reply.parts = [*example, *reply.parts]
        return True
    last = rng.choice((_LONG, "Yes.\n\nNo.", f"```\n{word}\n```"))
    reply.parts += [Piece("\n\n", "around"), *example, Piece(last, "around")]
    return True


def _sections_first(reply: Reply) -> bool:
    return any(section.layout.is_first for section in reply.sections())


def _reasoned(rng: Random, reply: Reply) -> bool:
    """A call is thought about in reasoning, which goes on in words and ends before the calls."""
    dialect = dialects.named(reply.dialect)
    names = dialect.reasoning or ("think",) * (dialect.name in _THINK_TOO)
    tags = [*((f"<{tag}>", f"</{tag}>") for tag in names), *dialect.thoughts]
    if not tags:
        return False
    start, end = rng.choice(tags)
    shown = _section(reply.spare[:1], layouts(reply.dialect)[-1], "shown")
    before, after = rng.choice(("maybe ", "Maybe:\n")), rng.choice((" hmm, no.", "\nNo, that is wrong.\n"))
    reply.parts = [Piece(start + before, "around"), shown, Piece(after + end, "around"), *reply.parts]
    return True


_THINK_TOO = ("gemma", "kimi_k3")
"""Dialects in which `<think>` is reasoning beside what their records have."""


def _unclosed(rng: Random, reply: Reply) -> bool:
    """Reasoning has no end, and there are nothing but calls after it."""
    dialect = dialects.named(reply.dialect)
    starts = [*(f"<{tag}>" for tag in dialect.reasoning), *(start for start, _ in dialect.thoughts)]
    if not dialect.ends_reasoning or not starts:
        return False
    reply.parts = [Piece(f"{rng.choice(starts)}{rng.choice(_SENTENCES)}\n", "around"), *reply.sections()]
    return True


def _last_in_a_fence(rng: Random, reply: Reply) -> bool:
    """The calls are in a fence, at the end of the reply or before one short paragraph."""
    if reply.dialect == "tag_per_tool" or _sections_first(reply):
        return False  # its calls in a fence are only shown, or a call without delimiters would follow text
    end = rng.choice(("", "\n```", "\n```\n", f"\n```\n\n{rng.choice(_SENTENCES)}"))
    before = f"{rng.choice(_SENTENCES)}\n\n```{rng.choice(('', 'xml', 'json'))}\n"
    reply.parts = [Piece(before, "around"), reply.sections()[0], Piece(end, "around")]
    return True


def _in_a_value(rng: Random, reply: Reply) -> bool:
    """A value holds a whole call."""
    hosts = [piece for piece in reply.pieces() if piece.call and piece.call.shown]
    return bool(hosts)


BREAKS: dict[str, Callable[[Random, Reply], bool]] = {
    "dropped": _change(lambda rng, mark, reply: ""),
    "doubled": _change(lambda rng, mark, reply: mark if mark == ">" else mark * 2),  # a value may begin with one
    "damaged": _change(_damaged),
    "exchanged": _change(_exchanged),
    "unfinished": _unfinished,
    "fence": _fenced,
    "last fence": _last_in_a_fence,
    "reasoning": _reasoned,
    "unclosed": _unclosed,
    "value": _in_a_value,
}
"""The kinds of broken things."""
