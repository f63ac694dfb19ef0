"""What must be said of a reply with one broken thing, and how many replies break that: by dialect, law and break.

The laws, each a word that the findings are counted by:

- `markup`: no value of a clean call holds a delimiter of the dialect that the writer did not put there; `markup,
  repaired` is the same for calls with repairs, which are counted apart.
- `wrong`: a clean call is one that was written. `shown`: a call that is only shown is not given; `shown, unsure`, which
  is counted apart, is the same in a value of the broken call: where that ends, nobody can know.
- `lost`: a call that is whole is given, with exactly its values, unless one of `EXCUSES` holds.
- `silent`: where something was broken there is a call, an error or a notice; `unnoticed`, which is counted apart, is
  the same where it was broken before the first value, so that no call may have begun: then it is text by the rules.
- `cut`: in chunks it is the same. `raised`: nothing is raised.

And for replies in which nothing is broken: `refused`: what a dialect can say by its rules is written; `inexact`: it is
read as it was meant, clean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random

from fuzz.breaks import Piece, Reply, Section, ends_in_text, make, said
from fuzz.quick import cut
from fuzz.record import normal
from fuzz.shrink import smallest
from fuzz.worded import TOOLS, Written, delimiters, is_json, strings, words
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed
from xmltools.parser import Parser

__all__ = ["APART", "EXCUSES", "Tally", "broken_laws", "report", "said_laws", "work", "work_on_said"]

_REPORTS = 8
"""Findings of a dialect that are printed, each of another kind."""
APART = ("markup, repaired", "shown, unsure", "unnoticed")
"""What is counted and shown, but is not a finding."""


@dataclass
class Tally:
    """How many replies were tried, how many break a law by which break, and a small one of each kind."""

    replies: int = 0
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: dict[tuple[str, str], tuple[int, Reply]] = field(default_factory=dict)

    def add(self, more: Tally) -> None:
        """Take in what another worker found."""
        self.replies += more.replies
        self.kinds += more.kinds
        for kind, (number, reply) in more.first.items():
            self.note(kind, number, reply)

    def note(self, kind: tuple[str, str], number: int, reply: Reply) -> None:
        """Keep the shortest reply of each kind."""
        if kind not in self.first or len(reply.text) < len(self.first[kind][1].text):
            self.first[kind] = number, reply

    @property
    def found(self) -> int:
        """How often a law was broken."""
        return sum(count for (law, _), count in self.kinds.items() if law not in APART)

    def reports(self, seed: int) -> list[str]:
        """Return findings in words, each of another law as far as that goes."""
        before, ranks = Counter[str](), {}
        for kind, _ in self.kinds.most_common():
            ranks[kind] = before[kind[0]]
            before[kind[0]] += 1
        chosen = sorted((kind for kind in ranks if kind[0] not in APART), key=lambda kind: ranks[kind])[:_REPORTS]
        return [report(kind, *self.first[kind], seed) for kind in chosen]


def work(dialect: str, seed: int, first: int, count: int, *, kinds: tuple[str, ...]) -> Tally:
    """Judge replies from number `first` on, with one thing broken that is of these kinds."""
    tally = Tally(count)
    for number in range(first, first + count):
        reply = make(dialect, seed, number, kinds)
        for law in broken_laws(reply):
            kind = law, reply.broken
            tally.kinds[kind] += 1
            tally.note(kind, number, reply)
    return tally


def work_on_said(dialect: str, seed: int, first: int, count: int) -> Tally:
    """Judge replies that are as they should be, from number `first` on."""
    tally = Tally(count)
    for number in range(first, first + count):
        reply = said(dialect, seed, number)
        for law in said_laws(reply):
            kind = law, reply.broken
            tally.kinds[kind] += 1
            tally.note(kind, number, reply)
    return tally


def report(kind: tuple[str, str], number: int, reply: Reply, seed: int) -> str:
    """Return a finding in words, as small as it goes, with what is needed to see it again."""
    law, how = kind
    small = _smaller(law, reply) if reply.broken else reply
    if law == "refused":
        head = f"refused, reply {number} of seed {seed} in {reply.dialect}:"
        return f"{head}\n  {_refused(reply)}\n{_again(number, reply, seed)}"
    _, calls, events = _read(small)
    heard = [f"{'clean ' if not call.repairs else ''}{_in_words(call)}" for call in calls]
    heard += [f"error {each.error.code.value}" for each in events if isinstance(each, CallFailed)]
    heard += [f"notice {each.notice.code.value}" for each in events if isinstance(each, Noticed)]
    return (
        f"{law} ({how or 'said'}), reply {number} of seed {seed} in {reply.dialect}:\n  {small.text!r}\n"
        + "".join(f"  {each}\n" for each in heard)
        + _again(number, reply, seed)
    )


def _again(number: int, reply: Reply, seed: int) -> str:
    part = "broken" if reply.broken else "said"
    return f"  python tests/fuzz --{part} 1 --first {number} --dialect {reply.dialect} --seed {seed}"


def _refused(reply: Reply) -> str:
    """The first call that was not written."""
    pieces = (piece for section in reply.sections() for piece in section.calls)
    return next(f"{piece.call.name}({piece.call.arguments})" for piece in pieces if piece.call and not piece.text)


def _in_words(call: ToolCall) -> str:
    return f"{call.name}({call.arguments}) {', '.join(sorted({each.code.value for each in call.repairs}))}".rstrip()


def _smaller(law: str, reply: Reply) -> Reply:
    """The reply without the prose and the calls that are not needed to break the law."""
    needed = sum(map(_is_needed, reply.parts))

    def breaks(parts: list[Piece | Section]) -> bool:
        is_same = needed == sum(map(_is_needed, parts)) and (reply.broken != "fence" or _ends_shown(parts))
        return is_same and law in broken_laws(replace(reply, parts=parts))

    parts = smallest(reply.parts, breaks)
    for section in [part for part in parts if isinstance(part, Section)]:
        kept = [each for each in section.calls if _is_needed(each)] or section.calls[:1]
        fewer = [replace(part, calls=kept) if part is section else part for part in parts]
        parts = fewer if breaks(fewer) else parts
    return replace(reply, parts=parts)


def _is_needed(part: Piece | Section) -> bool:
    """Does the part make what is broken so? Without it another thing would be."""
    pieces = [part] if isinstance(part, Piece) else part.pieces()
    return any(piece.role not in ("prose", "frame", "good") for piece in pieces)


def _ends_shown(parts: list[Piece | Section]) -> bool:
    """Does something follow a call in a fence that makes it one which is only shown?"""
    last = parts[-1]
    return isinstance(last, Section) or (last.role == "around" and not last.text.startswith("\n"))


# The laws


def broken_laws(reply: Reply) -> list[str]:
    """Return the laws that the reply breaks."""
    laws, found, events = _read(reply)
    if laws == ["raised"]:
        return laws
    pieces = reply.pieces()
    laws += _wrong_calls(reply, found, pieces)
    laws += ["lost"] * any(not _is_given(each, found) for each in _due(reply, pieces))
    if _is_silent(reply, events):
        laws.append("unnoticed" if any(map(_is_without_start, pieces)) else "silent")
    return list(dict.fromkeys(laws))


def said_laws(reply: Reply) -> list[str]:
    """Return the laws that a reply breaks in which nothing is broken."""
    written = [piece.call for section in reply.sections() for piece in section.calls if piece.call]
    if not all(each.text for each in written):
        return ["refused"]
    laws, found, events = _read(reply)
    if laws == ["raised"]:
        return laws
    is_exact = len(found) == len(written) and all(
        call.clean and each.is_it(call.name, call.arguments) for each, call in zip(written, found, strict=True)
    )
    is_exact = is_exact and not any(isinstance(each, CallFailed) for each in events)
    return laws + ["inexact"] * (not is_exact)


def _read(reply: Reply) -> tuple[list[str], list[ToolCall], list[Event]]:
    """Read a reply whole and in chunks. Returns which of `cut` and `raised` it breaks, its calls and its events."""
    try:
        events = _events_of(reply, [reply.text])
        in_chunks = _events_of(reply, cut(reply.text, Random(len(reply.text))))
    except Exception:  # that is what is looked for
        return ["raised"], [], []
    calls = [each.call for each in events if isinstance(each, CallCompleted)]
    return ["cut"] * (normal(events) != normal(in_chunks)), calls, events


def _events_of(reply: Reply, chunks: Iterable[str]) -> list[Event]:
    ids = iter(range(10_000))
    parser = Parser(TOOLS, dialect=reply.dialect, new_id=lambda: f"{next(ids)}")
    events: list[Event] = []
    for chunk in chunks:
        events += parser.feed(chunk)
    return events + parser.close()


def _wrong_calls(reply: Reply, found: list[ToolCall], pieces: list[Piece]) -> list[str]:
    """The laws that calls break which are not those that were written."""
    written = [piece.call for piece in pieces if piece.call and piece.role != "shown"]
    shown = [piece.call for piece in pieces if piece.call and piece.role == "shown"]
    broken = [piece.call for piece in pieces if piece.call and piece.role == "broken"]
    values = [value for call in (*written, *shown) for value in strings(call.arguments)]
    examples = _words_of([*shown, *(each for call in written for each in call.shown)]) - _words_of(broken)
    excused = _words_of([each for call in broken for each in call.shown])
    laws = []
    for call in found:
        if any(each.is_it(call.name, call.arguments) for each in written):
            continue
        own = {word for value in strings(call.arguments) for word in words(value)}
        if own and own <= excused:
            laws.append("shown, unsure")
        elif own and own <= examples:
            laws.append("shown")
        elif _has_markup(reply.dialect, call, values):
            laws.append("markup, repaired" if call.repairs else "markup")
        elif not call.repairs and not any(_ended_early(reply, call, each) for each in broken):
            laws.append("wrong")
    return laws


def _words_of(calls: list[Written]) -> set[str]:
    return {word for call in calls for value in strings(call.arguments) for word in words(value)}


def _ended_early(reply: Reply, call: ToolCall, written: Written) -> bool:
    """Are the arguments the first ones of a call, between delimiters of which one ends a call anywhere? In place of
    another it makes a whole call, and what was the rest is text."""
    few = dict(list(written.arguments.items())[: len(call.arguments)])
    is_end = reply.broken == "exchanged" and not is_json(reply.dialect)
    return is_end and replace(written, arguments=few).is_it(call.name, call.arguments)


def _has_markup(dialect: str, call: ToolCall, values: list[str]) -> bool:
    """Does a value hold more of some delimiter than the written values that parts of it come from?"""
    for value in strings(call.arguments):
        if value in values:
            continue
        held = set(words(value))
        own = [each for each in values if words(each)[0] in held or words(each)[-1] in held]
        for mark in delimiters(dialect):
            if value.count(mark) > sum(each.count(mark) for each in own):
                return True
    return False


def _is_given(call: Written, found: list[ToolCall]) -> bool:
    return any(call.is_it(each.name, each.arguments) for each in found)


def _due(reply: Reply, pieces: list[Piece]) -> list[Written]:
    """The calls that must be given."""
    at = next((number for number, piece in enumerate(pieces) if piece.role.startswith("broken")), len(pieces))
    return [
        piece.call
        for number, piece in enumerate(pieces)
        if piece.role == "good" and piece.call and not any(excuse(reply, number > at, piece) for excuse in EXCUSES)
    ]


def _in_one_list(reply: Reply, is_after: bool, piece: Piece) -> bool:
    """The calls of one list, without delimiters of their own: those after a broken one, and all of them if the list
    itself is broken, or begins with no delimiter."""
    for section in reply.sections():
        if any(each is piece for each in section.calls) and section.layout.is_list:
            is_here = any(each.role.startswith("broken") for each in section.pieces())
            is_around = any(each.role == "broken frame" for each in section.pieces())
            return is_here and (is_after or is_around or section.layout.is_first)
    return False


def _in_front(reply: Reply, is_after: bool, piece: Piece) -> bool:
    """A call that counts only where the reply begins, after something broken."""
    return is_after and any(section.layout.is_first for section in reply.sections())


def _in_a_text(reply: Reply, is_after: bool, piece: Piece) -> bool:
    """What follows a text that was cut off. It may be an example that goes on in the text."""
    return is_after and any(
        each.role == "broken" and each.call and reply.broken.startswith("unfinished") and ends_in_text(reply, each)
        for each in reply.pieces()
    )


EXCUSES: tuple[Callable[[Reply, bool, Piece], bool], ...] = (_in_one_list, _in_front, _in_a_text)
"""Why a call that is whole may be lost: nobody can know that it is one."""


def _is_silent(reply: Reply, events: list[Event]) -> bool:
    """Did the parser say nothing of what was broken? A call that was cut off before its first value may go unheard. For
    a delimiter around calls, what it says of any of them is enough."""
    spans, at = [], 0
    for part in reply.parts:
        start = at
        for piece in [part] if isinstance(part, Piece) else part.pieces():
            if _must_be_heard(reply, piece):
                spans.append((at, at + len(piece.text)))
            at += len(piece.text)
        if isinstance(part, Section) and any(piece.role == "broken frame" for piece in part.pieces()):
            spans.append((start, at))
    heard = [each.span for each in events if isinstance(each, CallCompleted | CallFailed | Noticed)]
    return any(not any(one < end and two > start for one, two in heard) for start, end in spans)


def _is_without_start(piece: Piece) -> bool:
    """Was something broken before the first value of a call, or before all calls?"""
    if piece.call is None:
        return piece.role == "broken frame"
    first = piece.call.text.find(words(piece.call.text)[0])
    return piece.role == "broken" and piece.text[:first] != piece.call.text[:first]


def _must_be_heard(reply: Reply, piece: Piece) -> bool:
    if piece.role == "shown":  # in reasoning it is thought, and in the dialects without fences text
        return reply.broken == "fence" and reply.dialect != "tag_per_tool"
    if piece.role != "broken" or piece.call is None:
        return False
    return words(next(strings(piece.call.arguments)))[0] in words(piece.text)
