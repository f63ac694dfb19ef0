"""The search with one broken thing, in small: what it makes, and that its laws find what breaks them."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from fuzz import cli, judged, worded
from fuzz.breaks import BREAKS, Piece, Reply, Section, ends_in_text, make, said
from fuzz.judged import Tally, broken_laws, said_laws, work, work_on_said
from fuzz.worded import NAMES, Layout, Written, calls, sayable, strings, words
from xmltools.errors import CallError, Code, Repair
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.parser import Parser

pytestmark = pytest.mark.no_cover
HOLD = ("fence", "reasoning", "last fence", "unclosed", "value")
"""Breaks of which nothing is found today."""
UNSAID = {"gemma", "k2_horizon"}
"""Dialects that refuse some of the calls that are made (DIALECTS.md, 7.3)."""


# What is made


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_is_the_same_each_time_and_its_words_come_once(name: str) -> None:
    texts = [make(name, 1, number, tuple(BREAKS)).text for number in range(40)]
    assert texts == [make(name, 1, number, tuple(BREAKS)).text for number in range(40)]
    assert len(set(texts)) > 35
    pool, examples = calls("1", name, 20)
    own = [set(words(value)) for call in examples for value in strings(call.arguments)]
    assert sum(map(len, own)) == len(set().union(*own))
    first = [words(value)[0] for call in pool for value in strings(call.arguments)]
    assert len(first) == len(set(first))


@pytest.mark.parametrize("kind", BREAKS)
def test_every_break_is_made_and_leaves_all_values_but_what_is_cut_off(kind: str) -> None:
    made = [make(name, 2, number, (kind, "value")) for name in NAMES for number in range(4)]
    replies = [reply for reply in made if reply.broken.startswith(kind)]
    assert replies
    for reply in replies:
        held = set(words(reply.text))
        for piece in reply.pieces():
            if piece.call and not (kind == "unfinished" and piece.role == "broken"):
                assert all(set(words(value)) <= held for value in strings(piece.call.arguments)), reply.text
    roles = {piece.role for reply in replies for piece in reply.pieces()}
    assert roles & {"broken", "broken frame", "shown", "around"} or kind == "value"


def test_a_broken_thing_is_one_delimiter() -> None:
    """All else of the text is as it was written."""
    for number in range(90):
        reply = make(NAMES[number // 3], 3, number % 3, ("dropped",))
        broken = [piece for piece in reply.pieces() if piece.role.startswith("broken")]
        assert len(broken) <= 1  # none, if what was dropped is all of it
        if broken and broken[0].call:
            whole, left = broken[0].call.text, broken[0].text
            assert 0 < len(whole) - len(left) < 60
            assert any(left == whole[:at] + whole[at + len(whole) - len(left) :] for at in range(len(left) + 1))


@pytest.mark.parametrize(
    ("name", "cut", "is_text"),
    [
        ("hermes", '{"name": "search", "arguments": {"query": "amb', True),
        ("hermes", '{"name": "search", "arguments": {"query": "amber1", ', False),
        ("glm", "search<arg_key>query</arg_key><arg_value>amber1</arg_", True),
        ("glm", "search<arg_key>query</arg_key><arg_value>amber1</arg_value>", False),
    ],
)
def test_what_follows_a_text_that_was_cut_off_may_be_a_part_of_it(name: str, cut: str, is_text: bool) -> None:
    rest = {
        "hermes": '{"name": "search", "arguments": {"query": "amber1", "limit": 2}}',
        "glm": "search<arg_key>query</arg_key><arg_value>amber1</arg_value>"
        "<arg_key>limit</arg_key><arg_value>2</arg_value>",
    }[name]
    broken = Piece(f"{cut}\n", "broken", Written("search", {"query": "amber1", "limit": 2}, rest))
    reply = Reply(name, [broken, Section(Piece(""), [], Piece(""), Piece(""), Layout())], "unfinished")
    assert ends_in_text(reply, broken) == is_text


def test_calls_that_can_be_said_hold_markup_in_all_dialects() -> None:
    for name in NAMES:
        values = [
            value for number in range(15) for call in sayable(Random(number), name) for value in strings(call.arguments)
        ]
        assert any(mark in value for mark in worded.delimiters(name) for value in values) or name == "minimax_m3"


# The laws

ONE, TWO, SEEN = (
    Written("search", {"query": f"{word}1", "limit": number}, f"<tool_call>{word}1</tool_call>")
    for number, word in enumerate(("amber", "birch", "cedar"))
)
BAD = '</arg_value><arg_key>limit</arg_key>"'


def reply_of(*pieces: Piece, dialect: str = "glm", is_list: bool = False, broken: str = "dropped") -> Reply:
    frame = [Piece("", "frame") for _ in range(3)]
    section = Section(frame[0], list(pieces), frame[1], frame[2], Layout(is_list=is_list))
    return Reply(dialect, [Piece("So: "), section], broken)


def as_call(written: Written, *, repairs: tuple[Repair, ...] = (), **arguments: Any) -> ToolCall:
    given = written.arguments | arguments
    return ToolCall(id="", name=written.name, arguments=given, repairs=repairs, span=(4, 9))


def laws_of(monkeypatch: pytest.MonkeyPatch, reply: Reply, *found: ToolCall | CallError) -> list[str]:
    """The laws that are broken if the parser gives these."""
    events: list[Event] = [CallCompleted(each) if isinstance(each, ToolCall) else CallFailed(each) for each in found]
    given = [each for each in found if isinstance(each, ToolCall)]
    monkeypatch.setattr(judged, "_read", lambda reply: ([], given, events))
    return broken_laws(reply)


REPAIR = (Repair(Code.MISSING_END_TAG, 0),)
GOOD, BROKEN = Piece(TWO.text, "good", TWO), Piece(ONE.text, "broken", ONE)


@pytest.mark.parametrize(
    ("found", "laws"),
    [
        ([as_call(ONE), as_call(TWO)], []),
        ([as_call(ONE, repairs=REPAIR), as_call(TWO, repairs=REPAIR)], []),
        ([as_call(ONE, query=f"amber1{BAD}"), as_call(TWO)], ["markup"]),
        ([as_call(ONE, query=f"amber1{BAD}", repairs=REPAIR), as_call(TWO)], ["markup, repaired"]),
        ([as_call(ONE, query="amber1 So: birch"), as_call(TWO)], ["wrong"]),
        ([as_call(ONE, limit=False), as_call(TWO)], ["wrong"]),
        ([as_call(ONE, query="amber1 So: birch", repairs=REPAIR), as_call(TWO)], []),
        ([as_call(ONE)], ["lost"]),
        ([as_call(ONE), as_call(TWO, limit=2, repairs=REPAIR)], ["lost"]),
        ([CallError(Code.TRUNCATED, (4, 20), "", "")], ["lost"]),
        ([CallError(Code.TRUNCATED, (40, 50), "", "")], ["lost", "silent"]),
    ],
    ids=str,
)
def test_the_laws_find_what_breaks_them(
    found: list[ToolCall | CallError], laws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert laws_of(monkeypatch, reply_of(BROKEN, GOOD), *found) == laws


def test_a_call_that_is_shown_must_not_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = reply_of(Piece(SEEN.text, "shown", SEEN), GOOD, broken="reasoning")
    assert laws_of(monkeypatch, shown, as_call(TWO)) == []
    assert laws_of(monkeypatch, shown, as_call(SEEN, repairs=REPAIR), as_call(TWO)) == ["shown"]
    host = Written("search", {"query": f"delta4{SEEN.text}ember5"}, "", [SEEN])
    in_a_value = reply_of(Piece("x", "good", host), broken="value")
    assert laws_of(monkeypatch, in_a_value, as_call(SEEN), as_call(host)) == ["shown"]
    assert laws_of(monkeypatch, reply_of(Piece("delta4", "broken", host)), as_call(SEEN)) == ["shown, unsure"]


def test_of_a_list_only_the_calls_before_what_is_broken_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    error = CallError(Code.INVALID_JSON, (4, 20), "", "")
    assert laws_of(monkeypatch, reply_of(BROKEN, GOOD, is_list=True), error) == []
    assert laws_of(monkeypatch, reply_of(GOOD, BROKEN, is_list=True), error) == ["lost", "silent"]
    assert laws_of(monkeypatch, reply_of(GOOD, Piece("x" * 9, "broken frame"), is_list=True), error) == []


class Forgetful(Parser):
    """A parser that loses a chunk that begins with a bracket and is small."""

    __slots__ = ()

    def feed(self, chunk: str) -> list[Event]:
        return [] if chunk[:1] == "<" and len(chunk) < 3 else super().feed(chunk)


class Raising(Parser):
    """A parser that cannot read a call."""

    __slots__ = ()

    def feed(self, chunk: str) -> list[Event]:
        raise ValueError(chunk)


@pytest.mark.parametrize(("parser", "law"), [(Forgetful, "cut"), (Raising, "raised")])
def test_a_parser_with_a_fault_is_found(parser: type[Parser], law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not {"cut", "raised"} & {law for law, _ in work("glm", 4, 0, 60, kinds=HOLD).kinds}
    monkeypatch.setattr(judged, "Parser", parser)
    assert law in {law for law, _ in work("glm", 4, 0, 60, kinds=HOLD).kinds}
    assert law in {law for law, _ in work_on_said("hermes", 4, 0, 60).kinds}


def test_what_is_refused_or_read_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = next(reply for number in range(9) if len((reply := said("hermes", 1, number)).sections()[0].calls) == 2)
    assert said_laws(reply) == []
    call = reply.sections()[0].calls[0].call
    assert call is not None
    call.arguments = {**call.arguments, "more": 1}
    assert said_laws(reply) == ["inexact"]
    call.text = ""
    assert said_laws(reply) == ["refused"]
    assert judged.report(("refused", ""), 3, Reply(reply.dialect, [*reply.parts[:-1], _empty(call)]), 1).startswith(
        "refused"
    )


def _empty(call: Written) -> Section:
    frame = Piece("", "frame")
    return Section(frame, [Piece("", "good", call)], frame, frame, Layout())


# What is found


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_today_goes_on_to_hold(name: str) -> None:
    assert work(name, 5, 0, 40, kinds=HOLD).kinds == {}
    kinds = work_on_said(name, 5, 0, 40).kinds
    assert {law for law, _ in kinds} <= ({"refused"} if name in UNSAID else set())


def test_the_smallest_reply_of_each_kind_is_kept_and_reported() -> None:
    done = Tally()
    for first in (0, 60):
        done.add(work("glm", 6, first, 60, kinds=("doubled",)))
    assert done.replies == 120
    for (law, how), (number, reply) in done.first.items():
        assert law in broken_laws(reply)
        told = judged.report((law, how), number, reply, 6)
        assert f"python tests/fuzz --broken 1 --first {number} --dialect glm --seed 6" in told
        again = work("glm", 6, number, 1, kinds=("doubled",))
        assert (law, how) in again.kinds
    apart = Tally(
        1, Counter({(judged.APART[0], "doubled"): 1}), {(judged.APART[0], "doubled"): (0, make("glm", 6, 0, HOLD))}
    )
    assert (apart.found, apart.reports(6)) == (0, [])


def test_the_command_tries_the_dialects_and_breaks_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    without = [word for kind in BREAKS if kind not in HOLD for word in ("--without", kind)]
    arguments = ["--broken", "30", "--said", "20", "--dialect", "forge", "--dialect", "hermes", *without]
    assert cli.main([*arguments, "--seed", "7", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "broken forge: 30 replies, nothing found\nbroken hermes: 30 replies, nothing found\nbroken: 60 in" in told
    assert "said hermes: 20 replies, nothing found\nsaid: 40 in" in told
    assert told.endswith("seed 7: nothing found\n")
