"""What both engines' parsers are made of: `xmltools.engine_plugins.replies`, which needs neither engine."""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import xmltools as xt
from xmltools import dialects
from xmltools.dialects import Dialect
from xmltools.engine_plugins.replies import (
    CallReader,
    Kind,
    Piece,
    ReasoningReader,
    RejectedCallError,
    marks_of,
    read_reply,
)

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}
TOOLS = [xt.Tool(name="get", description="", parameters=NUMBER)]
HERMES = dialects.named("hermes")
GOOD = '<tool_call>\n{"name": "get", "arguments": {"s": "abc", "n": 1}}\n</tool_call>'
WRONG = GOOD.replace("1}", '"many"}')


class Seen(NamedTuple):
    """What an engine has in the end."""

    text: str
    calls: list[tuple[str, str]]
    error: str


def seen(reader: CallReader, chunks: list[str]) -> Seen:
    pieces: list[Piece] = []
    error = ""
    try:
        for chunk in chunks:
            pieces += reader.feed(chunk)
        pieces += reader.close()
    except RejectedCallError as rejected:
        error = str(rejected)
    texts, calls = "", list[tuple[str, str]]()
    for kind, text, _ in pieces:
        if kind is Kind.TEXT:
            texts += text
        elif kind is Kind.START:
            calls.append((text, ""))
        elif kind is Kind.ARGUMENTS:
            calls[-1] = (calls[-1][0], calls[-1][1] + text)
    return Seen(texts, calls, error)


def parted(dialect: Dialect, chunks: list[str], *, inside: bool = False) -> tuple[str, list[str]]:
    """The reasoning, and the pieces of what follows it."""
    reader = ReasoningReader(dialect, inside=inside)
    found = [*(reader.feed(chunk) for chunk in chunks), reader.close()]
    return "".join(thought for thought, _ in found), [rest for _, rest in found if rest]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_arguments_stream() -> None:
    reader = CallReader(TOOLS, HERMES)
    pieces = [piece for character in GOOD for piece in reader.feed(character)] + reader.close()
    assert [piece.text for piece in pieces if piece.text] == ["get", '{"s":"a', "b", "c", '","n":1}']


def test_a_whole_call_comes_in_one_piece() -> None:
    reader = CallReader(TOOLS, HERMES, whole=True)
    pieces = [piece for character in GOOD for piece in reader.feed(character)] + reader.close()
    assert [piece.text for piece in pieces if piece.text] == ["get", '{"s":"abc","n":1}']


def test_a_call_that_fails_while_it_streams_ends_the_reply_with_an_error() -> None:
    reader = CallReader(TOOLS, HERMES)
    pieces = reader.feed(WRONG)
    assert pieces[-2].text.endswith(",]")
    for more in (lambda: reader.feed("and"), reader.close):
        with pytest.raises(RejectedCallError, match="The call of get was not made: n: expected integer, got 'many'"):
            more()


def test_a_call_that_fails_unheard_is_a_sentence() -> None:
    assert seen(CallReader(TOOLS, HERMES, whole=True), [f"So: {WRONG}"]) == Seen(
        "So:\n\nThe call of get was not made: n: expected integer, got 'many'.", [], ""
    )
    assert seen(CallReader(TOOLS, HERMES), [GOOD.replace("get", "got")]) == Seen(
        "The call of got was not made: there is no tool named 'got'.", [], ""
    )


def test_a_call_that_is_cut_off_is_left_out() -> None:
    assert seen(CallReader(TOOLS, HERMES, whole=True), [f"So: {GOOD[:40]}"]) == Seen("So:", [], "")


def test_rejected_calls_are_logged_without_their_words(caplog: pytest.LogCaptureFixture) -> None:
    seen(CallReader(TOOLS, HERMES, whole=True), [WRONG])
    assert [record.message for record in caplog.records] == [
        f"a call was rejected: invalid_arguments, in characters 0 to {len(WRONG)} of the reply"
    ]


def test_without_tools_all_is_text() -> None:
    text = f"<think>hm</think>\n\nWrite\n{GOOD}\nso."
    assert seen(CallReader([], HERMES), list(f"{text}<|im_end|>")) == Seen(text, [], "")


def test_later_reasoning_is_text() -> None:
    forge = dialects.FORGE
    text = f"So <think>{forge.example}</think> it is."
    assert seen(CallReader(TOOLS, forge), list(text)) == Seen(text, [], "")


def test_calls_of_a_list_that_ends_as_one_do_not_overlap() -> None:
    """In streams, clients take pieces for those of the last call that started."""
    found = seen(CallReader(TOOLS, dialects.named("pythonic")), list('[get(n=1, s="a"), get(n=2, s="b")]'))
    assert [json.loads(arguments) for _, arguments in found.calls] == [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]


def test_reasoning_is_parted_from_what_follows() -> None:
    text = f"<think>\nA <b>?\n</think>\n\nYes. {GOOD}"
    assert parted(HERMES, [text]) == ("A <b>?", [f"Yes. {GOOD}"])
    assert parted(HERMES, list(text)) == ("A <b>?", list(f"Yes. {GOOD}"))


def test_reasoning_that_the_prompt_has_opened() -> None:
    assert parted(HERMES, list("A?</think>\n\nYes"), inside=True) == ("A?", ["Y", "e", "s"])
    # The model may begin it once more.
    assert parted(HERMES, list("<think>A?</think>\n\nYes"), inside=True) == ("A?", ["Y", "e", "s"])
    assert parted(HERMES, ["A?"], inside=True) == ("A?", [])


def test_text_is_not_held_back_for_reasoning() -> None:
    reader = ReasoningReader(HERMES, inside=False)
    assert reader.feed("<th") == ("", "")
    assert reader.feed("e> ") == ("", "<the> ")
    assert reader.ended
    assert reader.feed("<think>a</think>") == ("", "<think>a</think>")


def test_white_space_without_end_is_text() -> None:
    reader = ReasoningReader(HERMES, inside=False)
    assert "".join(rest for _ in range(3_000) for rest in reader.feed("\n")) == "\n" * 3_000


@pytest.mark.parametrize("dialect", dialects.all(), ids=lambda dialect: dialect.name)
def test_every_dialect(dialect: Dialect) -> None:
    for chunks in ([dialect.example], list(dialect.example)):
        for whole in (False, True):
            found = seen(CallReader(TOOLS, dialect, whole=whole), chunks)
            assert (found.text, found.error) == ("", "")
            assert [(name, json.loads(arguments)) for name, arguments in found.calls] == [("get", {"n": 1})]
    for start, end in zip(*marks_of(dialect), strict=False):
        thoughts, rest = parted(dialect, list(f"{start}hm{end}{dialect.example}"))
        assert (thoughts, "".join(rest)) == ("hm", dialect.example)


def fragments(dialect: Dialect) -> st.SearchStrategy[str]:
    starts, ends = marks_of(dialect)
    marks = (dialect.opener, dialect.closer, *starts, *ends, *dialect.turn_ends, dialect.example, "hm", " ", "\n", "<")
    return st.sampled_from([mark for mark in marks if mark])


@st.composite
def replies(draw: st.DrawFn) -> tuple[Dialect, str, list[str]]:
    """A dialect, a text of its marks, and the same text cut somehow."""
    dialect = draw(st.sampled_from(dialects.all()))
    text = "".join(draw(st.lists(fragments(dialect), max_size=8)))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return dialect, text, [text[a:b] for a, b in itertools.pairwise([0, *places, len(text)])]


@given(replies(), st.booleans())
def test_cuts_make_no_difference(reply: tuple[Dialect, str, list[str]], inside: bool) -> None:
    dialect, text, chunks = reply
    whole = seen(CallReader(TOOLS, dialect, whole=True), [text])
    assert seen(CallReader(TOOLS, dialect, whole=True), chunks) == whole
    assert whole.error == ""
    thoughts, rest = parted(dialect, [text], inside=inside)
    assert parted(dialect, chunks, inside=inside)[0] == thoughts
    assert "".join(parted(dialect, chunks, inside=inside)[1]) == "".join(rest)


@given(replies())
def test_a_stream_has_the_calls_of_the_whole_reply_and_no_other_that_can_be_run(
    reply: tuple[Dialect, str, list[str]],
) -> None:
    dialect, text, chunks = reply
    whole = read_reply(text, TOOLS, dialect)
    streamed = seen(CallReader(TOOLS, dialect), chunks)
    usable = [(name, arguments) for name, arguments in streamed.calls if is_json(arguments)]
    wanted: list[Any] = [(call.name, json.loads(call.arguments)) for call in whole.calls]
    assert [(name, json.loads(arguments)) for name, arguments in usable] == wanted[: len(usable)]
    if not streamed.error and len(usable) == len(streamed.calls):
        assert len(usable) == len(wanted)


@given(replies())
def test_both_parts_together_read_what_the_parser_reads(reply: tuple[Dialect, str, list[str]]) -> None:
    dialect, text, chunks = reply
    plain = xt.parse(text, TOOLS, dialect=dialect)
    thoughts, rest = parted(dialect, chunks)
    found = seen(CallReader(TOOLS, dialect, whole=True), rest)
    has_late_reasoning = any(mark in "".join(rest) for mark in marks_of(dialect)[0])
    if not has_late_reasoning and not plain.errors:
        assert [name for name, _ in found.calls] == [call.name for call in plain.calls]
        assert thoughts == plain.reasoning
        assert found.text.strip() == plain.text.strip()
