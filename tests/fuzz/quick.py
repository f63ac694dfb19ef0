"""The fast mode: each document is read whole and cut in one way; a share of them is held to each of the other laws.

What is compared are events in a normal form: tuples that hold all that an event says, adjacent deltas joined. It
says what `test_laws.merge` says, and is made without the `repr` of a pydantic model, which would take half of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar
from zlib import crc32

from parser.test_laws import LAWS, law_chunks, law_spans
from support.dialect_texts import KINDS, dialect_case
from support.nearly_clean import (
    law_plain_reply,
    narrow_case,
    nearly_clean_case,
    nearly_clean_dialect_case,
    nearly_clean_reply,
    whole_block_case,
)
from support.strategies import Case
from support.strategies import case as any_case

from fuzz.record import FIELDS, normal
from fuzz.shrink import Law, first_broken, shrink
from fuzz.tokens import token_case
from xmltools.errors import Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import Event
from xmltools.parser import Parser, parse
from xmltools.render import render_call
from xmltools.render.writable import only_server, same
from xmltools.tools import Tool

__all__ = [
    "Finding",
    "Quick",
    "cut",
    "law_any_cut",
    "law_one_cut",
    "law_read_again",
    "laws_of",
    "read",
    "work_on_dialects",
    "work_on_plain",
    "work_on_tokens",
]

Normal = tuple[list[tuple[Any, ...]], bool]
Piece = TypeVar("Piece", str, bytes)

OTHERS_EVERY = 8
"""Each of so many documents is held to one of the other laws as well."""
ALL_EVERY = 500
"""Each of so many documents is held to all laws, in all the cuts that those take."""
BROKEN_AT_MOST = 5
"""Findings of one run that are kept: more would only repeat the first."""


@dataclass
class Finding:
    """A document that breaks a law, as small as it goes."""

    number: int
    law: str
    case: Case


@dataclass
class Quick:
    """What came of a run of documents."""

    documents: int = 0
    characters: int = 0
    calls: int = 0
    repaired: int = 0
    laws: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Quick) -> None:
        """Take in what came of other documents."""
        self.documents += other.documents
        self.characters += other.characters
        self.calls += other.calls
        self.repaired += other.repaired
        self.laws.update(other.laws)
        self.findings = (self.findings + other.findings)[:BROKEN_AT_MOST]


def read(case: Case, chunks: Iterable[str]) -> Normal:
    """Return what the parser says of the chunks, in normal form, and whether the reply ended in reasoning."""
    ids = iter("0123456789" * 200)  # ids by their order
    parser = Parser(case.tools, new_id=lambda: next(ids), **case.options)
    events: list[Event] = []
    for chunk in chunks:
        events += parser.feed(chunk)
    events += parser.close()
    return normal(events), parser.unclosed_reasoning


def cut(text: Piece, rng: Random) -> list[Piece]:
    """Return the text, or bytes, in pieces: cut at one to four places, or in pieces of one size, often of one."""
    draw = rng.random()
    if 0.12 < draw < 0.8:
        places: list[int] = sorted(int(rng.random() * (len(text) + 1)) for _ in range(1 + int(draw * 4)))
        return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    size = 1 if draw < 0.5 else 2 + int(rng.random() * 7)
    return [text[at : at + size] for at in range(0, len(text), size)]


def law_one_cut(case: Case) -> None:
    """1. The text, cut in one way that the text itself decides, says what it says whole."""
    text = case.text
    _assert_cut(case, text, read(case, [text]))


def _assert_cut(case: Case, text: str, whole: Normal) -> None:
    chunks = cut(text, Random(crc32(text.encode("utf-8", "surrogatepass"))))
    assert read(case, chunks) == whole, f"chunks {chunks!r}"


def law_any_cut(case: Case) -> None:
    """1. The text, in single characters and cut in two anywhere, says what it says whole: what shrinking needs."""
    text = case.text
    whole = read(case, [text])
    for chunks in [list(text), *([text[:at], text[at:]] for at in range(1, len(text)))]:
        assert read(case, chunks) == whole, f"chunks {chunks!r}"


def law_read_again(case: Case) -> None:
    """7. A call that was read, written again and read again, is the same call."""
    tools = {(tool.name, tool.server): tool for tool in case.tools or ()}
    for call in parse(case.text, case.tools, new_id=lambda: "", **case.options).calls:
        if call.dialect != "forge":
            continue  # calls are not written in others yet
        tool = tools.get((call.name, call.server))
        try:
            text = render_call(call, tool)
        except XMLToolsError:  # lone surrogates cannot be written
            continue
        _assert_same(call, text, [tool] if tool else None)
        if tool and case.tools:  # for a reader who has all tools
            _assert_same(call, render_call(call, tool, server_names=tool.server != only_server(case.tools)), case.tools)


def _assert_same(call: ToolCall, text: str, tools: list[Tool] | None) -> None:
    """The text reads as the call, and nothing but it."""
    reply = parse(text, tools=tools)
    assert len(reply.calls) == 1 and not reply.errors, f"{text!r}: {reply.errors}"
    (again,) = reply.calls
    assert (call.name, call.server) == (again.name, again.server), text
    assert {repair.code for repair in again.repairs} <= {Code.FORBIDDEN_CHARACTER}, f"{text!r}: {again.repairs}"
    loose = tools is None
    assert same(call.arguments, again.arguments, loose=loose), f"{text!r}: {call.arguments} and {again.arguments}"


QUICK_LAWS: tuple[Law, ...] = (*LAWS, law_read_again)
"""The laws besides that of the one cut."""
STRICT_LAWS: tuple[Law, ...] = (law_chunks, law_spans)


def work_on_tokens(first: int, count: int) -> Quick:
    """Try the documents from `first` on; returns what came of them, with at most BROKEN_AT_MOST findings."""
    return _work(token_case, range(first, first + count))


def work_on_dialects(kind: str, seed: int, first: int, count: int) -> Quick:
    """As `work_on_tokens`, with replies of this kind: number i of a seed is the same each time."""
    return _work(lambda number: dialect_case(Random(f"{seed}/{kind}/{number}"), kind), range(first, first + count))


def work_on_plain(seed: int, first: int, count: int) -> Quick:
    """As `work_on_tokens`, with whole replies, most of which are clean: they say what a parser makes of them that
    does not know that they are whole."""
    kinds = (
        *[whole_block_case] * 4,
        *[nearly_clean_reply] * 3,
        nearly_clean_case,
        *[nearly_clean_dialect_case] * 2,
        narrow_case,
        any_case,
        lambda rng: dialect_case(rng, rng.choice(KINDS)),
    )
    done = Quick()
    for number in range(first, first + count):
        case = kinds[number % len(kinds)](Random(f"{seed}/plain/{number}"))
        done.documents += 1
        done.characters += len(case.text)
        if first_broken((law_plain_reply,), case) and len(done.findings) < BROKEN_AT_MOST:
            done.findings.append(_found(number, law_plain_reply, case))
    return done


def _work(case_of: Callable[[int], Case], numbers: Iterable[int]) -> Quick:
    done = Quick()
    for number in numbers:
        case = case_of(number)
        done.documents += 1
        law = _broken(number, case, done)
        if law and len(done.findings) < BROKEN_AT_MOST:
            done.findings.append(_found(number, law, case))
    return done


def _found(number: int, law: Law, case: Case) -> Finding:
    """The finding at its smallest. A smaller text is cut elsewhere, so all cuts are tried, if one of them is enough."""
    if law is law_one_cut and first_broken((law_any_cut,), case):
        law = law_any_cut
    return Finding(number, law.__name__, shrink(law, case))


def laws_for(number: int, case: Case) -> tuple[Law, ...]:
    """Return the laws that document `number` is held to besides that of the one cut."""
    laws = laws_of(case)
    if number % ALL_EVERY == 0:
        return laws
    return (laws[number // OTHERS_EVERY % len(laws)],) if number % OTHERS_EVERY == 0 else ()


def laws_of(case: Case) -> tuple[Law, ...]:
    """Return the laws that hold for a case: with `strict` errors have codes of repairs, which the others don't know."""
    return STRICT_LAWS if case.options.get("strict") else QUICK_LAWS


def _broken(number: int, case: Case, done: Quick) -> Law | None:
    """The first law that the document breaks; what was read of it goes into `done`."""
    text = case.text
    done.characters += len(text)
    try:
        whole = read(case, [text])
        _assert_cut(case, text, whole)
    except Exception:  # law 2: nothing raises
        return law_one_cut
    place = 1 + FIELDS["CallCompleted"].index("repairs")
    repairs = [told[place] for told in whole[0] if told[0] == "CallCompleted"]
    done.calls += len(repairs)
    done.repaired += sum(map(bool, repairs))
    laws = laws_for(number, case)
    done.laws.update(law.__name__ for law in laws)
    return first_broken(laws, case)
