"""Calls that are only shown, in fences or in reasoning, are never given; those that count always are."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples

from xmltools.dialects import all as all_dialects
from xmltools.dialects import named
from xmltools.errors import Code
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed, ReasoningDelta, Skipped, TextDelta
from xmltools.parser import Parser, parse
from xmltools.render import render_call
from xmltools.tools import Tool

pytestmark = pytest.mark.no_cover

TOOLS = [Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "string"}}})]
DIALECTS = [each.name for each in all_dialects() if each.writing is not None or each.name == "forge"]
DIALECTS = [name for name in DIALECTS if name not in ("llama3_json", "pythonic")]  # their calls begin a reply
WORDS = ("So for Monday: ", "I will do it now.\n", "Done\n\nShall I? ", "a" * 310 + "\n", "`x`\n")
Part = tuple[str, str]
"""Text and what it is: `text`, `space`, `fence`, `open`, `close` of reasoning, `token`; or the value of a call, after
`+` in plain text, `-` in a fence in a fence, `~` in a fence, and `?` in reasoning."""


def reply_of(rng: random.Random, name: str) -> list[Part]:
    """A reply with calls in plain text, in fences and in reasoning."""
    dialect, parts, count = named(name), [], itertools.count()
    tag = dialect.reasoning[0] if dialect.reasoning else ""

    def call(where: str) -> None:
        value = f"v{next(count)}" + rng.choice(("", "", "\nx", " ```\nz\n```"))
        if where == "?" and dialect.ends_reasoning and rng.random() < 0.3:
            value += f"</{tag}>"
        text = render_call(ToolCall(id="1", name="get", arguments={"n": value}), dialect=dialect)
        parts.append((text, where + value))

    def fence(is_last: bool) -> None:
        marker = rng.choice(("```", "```", "````", "~~~"))
        parts.append((f"{marker}{rng.choice(('', 'xml', ' x'))}\n", "fence"))
        if marker == "````" and rng.random() < 0.4:
            parts.append(("```\n", "fence"))
            call("-")
            parts.append(("\n```\n", "text"))
        else:
            if rng.random() < 0.1:
                parts.append(("For example:\n", "text"))
            for _ in range(rng.choice((1, 1, 2))):
                call("~")
                parts.append(("\n", "space"))
            if rng.random() < 0.1:
                parts.append(("and so on\n", "text"))
        if not is_last or rng.random() < 0.7:
            parts.append((f"{marker}{rng.choice(('', ' '))}\n", "fence"))

    kinds = rng.choices(("text", "fence", "call", "thought", "space", "token"), (2, 3, 1, 1, 1, 1), k=rng.randint(1, 6))
    for at, kind in enumerate(kinds):
        is_last = at == len(kinds) - 1
        if kind in ("fence", "call", "thought") and parts and not parts[-1][0].endswith("\n"):
            parts.append(("\n", "space"))
        if kind == "text":
            parts.append((rng.choice(WORDS), "text"))
        elif kind == "space":
            parts.append((rng.choice(("\n\n", " \n \n", "\n")), "space"))
        elif kind == "fence":
            fence(is_last)
        elif kind == "call":
            call("+")
            parts.append((rng.choice(("", "\n", "\n\n")), "space"))
        elif kind == "token" and is_last and dialect.turn_ends:
            parts.append((dialect.turn_ends[0], "token"))
        elif kind == "thought" and tag:
            parts.append((f"<{tag}>", "open"))
            for each in rng.choices(("maybe ", "\n", "", ""), k=rng.randint(0, 3)):
                if each:
                    parts.append((each, "text" if each.strip() else "space"))
                else:
                    call("?")
            if not is_last or rng.random() < 0.5:
                parts += [(f"</{tag}>", "close"), ("\n", "space")]
    return parts


def is_call(kind: str) -> bool:
    return kind[0] in "+-~?"


def counts(parts: list[Part], at: int, name: str) -> bool:
    """Whether the call at this place counts, as the rules say (protocol, 1.4a; `DIALECTS.md`, 1.4)."""
    where, rest = parts[at][1][0], parts[at + 1 :]
    if where in "+-":
        return where == "+"
    if where == "?":
        return named(name).ends_reasoning and all(is_call(kind) or kind in ("space", "token") for _, kind in rest)
    if name == "tag_per_tool":
        return False
    closing, is_inside = "", True
    for text, kind in rest:
        if (
            (is_call(kind) and (kind[0] != "~" or closing))
            or kind in ("open", "close")
            or (kind == "fence" and closing)
        ):
            return False
        is_inside ^= kind == "fence"
        if kind == "text" and is_inside:
            return False
        if kind == "text" or (kind == "space" and closing):
            closing += text
    closing = closing.strip(" \n")
    return len(closing) <= 300 and not re.search(r"\n[ \t]*\n", closing)


def read(text: str, name: str, chunks: list[str]) -> list[Event]:
    ids = itertools.count()
    parser = Parser(TOOLS, dialect=name, argument_deltas=False, new_id=lambda: str(next(ids)))
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def told(events: list[Event]) -> list[str]:
    """What chunks must not change."""
    seen: list[list[str]] = [[""]]
    for event in events:
        if isinstance(event, (TextDelta, ReasoningDelta)):
            kind = type(event).__name__
            if seen[-1][0] == kind:
                seen[-1].append(event.text)
            else:
                seen.append([kind, event.text])
        elif isinstance(event, Skipped):
            if seen[-1][0] != "skipped":
                seen.append(["skipped"])
        elif not isinstance(event, Noticed):
            seen.append([repr(event)])
    notices = [repr(event) for event in events if isinstance(event, Noticed)]
    return [*("".join(each) for each in seen), *notices]


@examples(400)
@given(st.integers(0, 2**32), st.sampled_from(DIALECTS))
def test_calls_that_count_are_given_and_no_others(seed: int, name: str) -> None:
    rng = random.Random(seed)
    parts = reply_of(rng, name)
    text = "".join(part for part, _ in parts)
    events = read(text, name, [text])
    given_calls = {event.call.arguments["n"] for event in events if isinstance(event, CallCompleted)}
    errors = {event.error.code for event in events if isinstance(event, CallFailed)}
    wanted = [(kind, counts(parts, at, name)) for at, (_, kind) in enumerate(parts) if is_call(kind)]
    is_refused = any(kind[0] in "-~" and not does_count for kind, does_count in wanted)
    for kind, does_count in wanted:
        if kind[0] == "~" and does_count and is_refused and kind[1:] not in given_calls:
            # After a call in a fence that was only shown; with one in a fence in a fence, all of them are.
            assert Code.CODE_FENCE in errors or any(each[0] == "-" for each, _ in wanted)
        else:
            assert (kind[1:] in given_calls) == does_count, kind

    at = 0
    for event in events:
        if isinstance(event, (TextDelta, ReasoningDelta, Skipped, CallCompleted, CallFailed)):
            assert event.span[0] == at
            at = event.span[1]
    assert at == len(text)
    reply = parse(text, TOOLS, dialect=name)
    assert {call.arguments["n"] for call in reply.calls} == given_calls
    assert reply.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    cut = text[: rng.randrange(len(text) + 1)]
    for whole in (text, cut):
        expected = told(read(whole, name, [whole]))
        places = [0, *sorted(rng.choices(range(len(whole) + 1), k=3)), len(whole)]
        for chunks in (list(whole), [whole[a:b] for a, b in itertools.pairwise(places)]):
            assert told(read(whole, name, chunks)) == expected, chunks


@pytest.mark.parametrize("name", [each.name for each in all_dialects() if each.example])
def test_a_call_over_several_lines_in_inline_code_is_text(name: str) -> None:
    dialect = named(name)
    before, one, after = dialect.example.rpartition("1")
    call = f"{before}{one}\n{after}"
    assert one
    assert len(parse(call, TOOLS, dialect=dialect).calls) == 1
    for ticks in ("`", "``"):
        for text in (f"As {ticks}{call}{ticks} says.", f"As {ticks}{call}{ticks}"):
            for size in (len(text), 1, 7):
                events = joined(text, size, Parser(TOOLS, dialect=dialect))
                assert events == [("TextDelta", text)]


def joined(text: str, size: int, parser: Parser) -> list[tuple[str, str]]:
    """The kinds of events of this text, given in chunks of so many characters, with what they cover."""
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    spans = [
        (type(event).__name__, event.span) for event in [*events, *parser.close()] if not isinstance(event, Noticed)
    ]
    groups = itertools.groupby(spans, key=lambda pair: pair[0])
    return [(kind, "".join(text[slice(*span)] for _, span in group)) for kind, group in groups]
