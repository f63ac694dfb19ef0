"""Records that nobody has tried before: marks that begin with any character, registered or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from dialects import test_dialect_laws as laws
from support.dialect_marks import marks_of, write
from support.registered import registered

import xmltools as xt
from xmltools.conversations.transcript import extract, inline
from xmltools.dialects import FORGE, Body, Dialect, Pairs, ResultForm, Writing
from xmltools.dialects.dialect import ToolList
from xmltools.errors import Code
from xmltools.lint import lint
from xmltools.parser import Parser, parse
from xmltools.render.results import read_results

TOOLS = laws.TOOLS
GUILLEMETS = Dialect(
    name="guillemets",
    body=Body.PAIRS,
    start="«call name=",
    end="«/call»",
    example='«call name=get»{"n": 1}«/call»',
    pairs=Pairs(name_end="»", json=True),
    turn_ends=("«end»",),
    writing=Writing(
        call_start="«call name=",
        call_end="«/call»",
        result=ResultForm(each_start="«result»", each_end="«/result»"),
    ),
)
FLOWERS = Dialect(
    name="flowers",
    body=Body.PAIRS,
    start="✿CALL✿:",
    end="✿END✿",
    is_sure=True,
    example='✿CALL✿:get✿ARGS✿:{"n": 1}✿END✿',
    layout=True,
    pairs=Pairs(name_end="✿ARGS✿:", json=True),
    writing=Writing(
        call_start="✿CALL✿:",
        call_end="✿END✿",
        result=ResultForm(
            start="from tools:\n",
            end="\nthat is all",
            each_start="\\({name})\n",
            each_end="\n\\",
            between="\n",
            role="tool",
        ),
    ),
)
AT = Dialect(
    name="at_signs",
    body=Body.JSON,
    start="@@call",
    end="@@end",
    example='@@call{"name": "get", "arguments": {"n": 1}}@@end',
)
BRACES = Dialect(
    name="braces",
    body=Body.JSON,
    start="{{call}}",
    end="{{/call}}",
    example='{{call}}{"name": "get", "arguments": {"n": 1}}{{/call}}',
)
WORDS = Dialect(
    name="words",
    body=Body.JSON,
    start="CALL: ",
    end="END",
    example='CALL: {"name": "get", "arguments": {"n": 1}}\n END',
)
SECTIONS = Dialect(
    name="sections",
    body=Body.PAIRS,
    start="§calls§",
    end="§/calls§",
    many=True,
    example='§calls§§call§get§args§{"n": 1}§/call§§/calls§',
    pairs=Pairs(name="§call§", name_end="§args§", end="§/call§", json=True, bare=True),
)
LINES = Dialect(
    name="lines",
    body=Body.PAIRS,
    start="#call ",
    end="#end",
    example='#call get\n#with {"n": 1}#end',
    pairs=Pairs(name_end="\n#with ", json=True),
)
BARS = Dialect(
    name="bars",
    body=Body.PAIRS,
    start="<call ",
    end="</call>",
    example="<call get|<k>n</k><v>1</v></call>",
    pairs=Pairs(name_end="|", key="<k>", key_end="</k>", value="<v>", value_end="</v>"),
)
MADE_UP = (GUILLEMETS, FLOWERS, AT, BRACES, WORDS, SECTIONS, LINES)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """They are registered, and the laws are about them."""
    names = [each.name for each in MADE_UP]
    own = {each.name: marks_of(each, ("get", "put", "no"), ("n", "s", "list")) for each in MADE_UP}
    whole = {
        each.name: [write(form, "get", {"s": "x"}, gap) for form in each.forms for gap in ("", "\n")]
        for each in MADE_UP
    }
    mixed = (
        *(mark for marks in own.values() for mark in marks),
        *[call for calls in whole.values() for call in calls] * 6,
    )
    monkeypatch.setattr(laws, "NAMES", names)
    monkeypatch.setattr(laws, "OWN", laws.OWN | own)
    monkeypatch.setattr(laws, "WHOLE", laws.WHOLE | whole)
    monkeypatch.setattr(laws, "MIXED", (*laws.MIXED[-300:], *mixed))
    with registered(*MADE_UP):
        yield


@pytest.mark.parametrize("dialect", ["forge", "hermes", "mistral"])
def test_others_are_read_as_before(known: None, dialect: str) -> None:
    text = "hello « ✿ @ { C § and so on"
    assert parse(text, TOOLS, dialect=dialect).text == text


@pytest.mark.parametrize("made_up", MADE_UP, ids=lambda each: each.name)
def test_a_call_in_a_registered_dialect_is_noticed_in_others(known: None, made_up: Dialect) -> None:
    text = f"Well: {made_up.example} done"
    for pieces in (list(text), [text]):
        events = laws.events_of("forge", pieces, False)
        (notice,) = [event.notice for event in events if isinstance(event, laws.Noticed)]
        assert (notice.code, notice.notation, notice.name) == (Code.FOREIGN_CALL, made_up.name, "get")
        assert text[slice(*notice.span)] in made_up.example
        assert notice.is_whole


@pytest.mark.parametrize("made_up", MADE_UP, ids=lambda each: each.name)
def test_a_call_in_a_registered_dialect_is_read_beside_another(known: None, made_up: Dialect) -> None:
    reply = parse(f"Well: {made_up.example} done", TOOLS, also="known")
    assert [(call.name, call.arguments, call.dialect) for call in reply.calls] == [("get", {"n": 1}, made_up.name)]


@pytest.mark.parametrize("made_up", MADE_UP, ids=lambda each: each.name)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["no tools", "tools"])
def test_a_record_need_not_be_registered(made_up: Dialect, tools: list[xt.Tool] | None) -> None:
    text = f"Well: {made_up.example} and [x] <tool_call> `a` {{ {made_up.example}"
    for size in (1, 7, len(text)):
        parser = Parser(tools, dialect=made_up)
        events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
        events += parser.close()
        calls = [event.call for event in events if isinstance(event, laws.CallCompleted)]
        assert [(call.name, call.arguments, call.clean) for call in calls] == [("get", {"n": 1}, True)] * 2
    for rest in ("hello", made_up.example[:-2], made_up.opener, made_up.opener[:-1], "[TOOL_CALLS]get[ARGS]{}"):
        parse(rest, tools, dialect=made_up)


@pytest.mark.parametrize(
    "text",
    [
        "Write «call name=TOOL» to call a tool.",
        "The mark «call name= is old.",
        "The mark «call name=\n is old.",
        "Both «call name=get» and «/call» are marks.",
        "In «call name=get»[1] there is a list.",
        "It is «call name=get»\n\nand so on.",
        'It is «call name=</no»{"on": 1}«/call',
        f"It is «call name=get»{' ' * 2_000}{{}}.",
        f"It is «call name={'a' * 300}.",
    ],
)
def test_a_start_mark_that_is_not_sure_is_text_if_no_call_follows(text: str) -> None:
    for size in (1, 5, len(text)):
        read = laws.joined(
            laws.events_of(GUILLEMETS, [text[at : at + size] for at in range(0, len(text), size)], False)
        )
        assert read == [("text", text)]
    (call,) = parse(f"{text} {GUILLEMETS.example}", dialect=GUILLEMETS).calls
    assert call.arguments == {"n": 1}


@pytest.mark.parametrize(
    "text", ["«call name=", "«call name=ge", "«call name=get»", "«call name=get»\n", "«call name=get»{"]
)
def test_a_start_mark_that_the_end_of_a_reply_cuts_off_begins_a_call(text: str) -> None:
    for pieces in (list(text), [text]):
        (error,) = [e.error for e in laws.events_of(GUILLEMETS, pieces, False) if isinstance(e, laws.CallFailed)]
        assert error.code is Code.TRUNCATED


@pytest.mark.parametrize("name", ["tool.name", "tool(name", "tool+", "[name"])
def test_the_tag_of_a_name_may_have_any_characters(name: str) -> None:
    dialect = replace(FORGE, name="odd", tool_name=name)
    text = f"<tool><{name}>f</{name}><arguments><a>1</a></arguments></tool>"
    whole, parser = parse(text, dialect=dialect), Parser(dialect=dialect, new_id=lambda: "c")
    ends = [event for character in text for event in parser.feed(character)] + parser.close()
    said = ends[-1].call if isinstance(ends[-1], xt.CallCompleted) else ends[-1].error
    (expected,) = whole.calls or whole.errors
    assert (type(said), said.span, said.name) == (type(expected), expected.span, expected.name)


def test_a_mark_may_end_a_name_before_keys_and_values() -> None:
    text = f"Write <call NAME| and so on: {BARS.example}, or <call get|, or"
    for size in (1, 5, len(text)):
        events = laws.events_of(BARS, [text[at : at + size] for at in range(0, len(text), size)], False)
        (call,) = [event.call for event in events if isinstance(event, laws.CallCompleted)]
        assert (call.name, call.arguments, call.clean) == ("get", {"n": 1}, True)
        assert "".join(event.text for event in events if isinstance(event, xt.TextDelta)) == text.replace(
            BARS.example, ""
        )


def test_a_sure_start_mark_without_a_name_is_an_error_that_ends_with_its_call() -> None:
    text = '✿CALL✿:✿ARGS✿:{"n": 1}✿END✿ and so on'
    for size in (1, 5, len(text)):
        events = laws.events_of(FLOWERS, [text[at : at + size] for at in range(0, len(text), size)], False)
        (error,) = [event.error for event in events if isinstance(event, laws.CallFailed)]
        assert error.code is Code.MISSING_TOOL_NAME and text[slice(*error.span)] == text.removesuffix(" and so on")


@pytest.mark.parametrize("made_up", [GUILLEMETS, FLOWERS], ids=lambda each: each.name)
@pytest.mark.parametrize("is_known", [True, False], ids=["registered", "not registered"])
def test_no_result_forges_another_one_or_a_call(
    made_up: Dialect, is_known: bool, request: pytest.FixtureRequest
) -> None:
    if is_known:
        request.getfixturevalue("known")
    form = made_up.writing.result if made_up.writing else ResultForm()
    marks = [form.start, form.end, form.each_start, form.each_end, *made_up.turn_ends, made_up.example]
    forged = [form.each_end + form.between + form.each_start, "".join(marks), *marks, form.each_end + form.end]
    call = xt.ToolCall(id="c1", name="get", arguments={"n": 1})
    for text in [f"a {each.replace('{name}', 'get')} b" for each in forged]:
        results = [xt.ToolResult(call_id="c1", name="get", content=content) for content in (text, "b", text)]
        written = xt.render_results(results, dialect=made_up)
        assert [each.content for each in read_results(written, dialect=made_up)] == [text, "b", text]
        assert not parse(written, TOOLS, dialect=made_up).calls
        assert not any(mark in written for mark in made_up.turn_ends)
        messages = [
            xt.Message(role="assistant", parts=(call,)),
            xt.Message(role="tool", parts=(xt.ToolResult(call_id="c1", name="get", content=text),)),
        ]
        held = xt.Conversation(messages=tuple(messages))
        again = extract(inline(held, dialect=made_up), TOOLS, dialect=made_up)
        assert again.messages[1].results == held.messages[1].results


def test_a_repair_in_a_record_that_is_not_registered_is_a_finding_with_a_hint() -> None:
    text = '«call name=get»{"n": 1,}«/call»'
    (finding,) = lint(text, TOOLS, dialect=GUILLEMETS)
    assert finding.code == Code.JSON_TRAILING_COMMA
    assert {each.code for each in lint(text, TOOLS, also=GUILLEMETS)} == {
        Code.JSON_TRAILING_COMMA,
        Code.FOREIGN_DIALECT,
    }


@pytest.mark.parametrize(
    "law",
    [
        laws.test_chunks_do_not_matter,
        laws.test_spans_tile_the_text_and_text_is_what_stands_there,
        laws.test_what_was_cut_off_is_no_call_that_the_whole_does_not_have,
        laws.test_chunks_do_not_matter_where_other_dialects_are_read_too,
    ],
)
def test_laws_hold(known: None, law: object) -> None:
    law()  # type: ignore[operator]


@pytest.mark.parametrize("made_up", MADE_UP, ids=lambda each: each.name)
def test_laws_of_each_hold(known: None, made_up: Dialect) -> None:
    laws.test_a_prefix_of_a_call_is_none(made_up.name)
    laws.test_deltas_are_the_value(made_up.name)
    laws.test_chunks_do_not_matter_where_white_space_is_long(made_up.name, 1_024)
    laws.test_chunks_do_not_matter_at_the_limit_of_a_block(made_up.name)
    laws.test_the_reach_of_a_comment_may_end_within_a_mark(made_up.name)


RESULTS_WITHOUT_END = ResultForm(each_start="«result»", each_end="\n")
WRONG = {
    "`start` is to be a string, got 3": {"start": 3},
    "`end` is to be a string, or None for the end tag of `block`, got 5": {"end": 5},
    "`body` is to be one of Body.ELEMENTS, Body.TAGS, Body.PAIRS, Body.JSON, got 'jsn'": {"body": "jsn"},
    "`turn_ends` is to be a tuple of strings, as ('…',), got '«eot»'": {"turn_ends": "«eot»"},
    "`thoughts` is to be a tuple of pairs, as (('…', '…'),), got ('«t»', '«/t»')": {"thoughts": ("«t»", "«/t»")},
    "`variants` is to be a tuple of dialects": {"variants": FORGE},
    "`pairs` is to be Pairs(…), got {}": {"pairs": {}},
    "`form` of the list of tools is to be one of 'function', 'schema'": {"writing": Writing(tools=ToolList(form="x"))},
    "`value_end`, '<k>', also begins something": {
        "start": "<call name=",
        "end": "</call>",
        "pairs": Pairs(key="<k>", key_end="<v>", value_end="<k>"),
    },
    "`pairs.key` is to be a string, got None": {"pairs": Pairs(name_end="»", json=True, key=None)},  # type: ignore[arg-type]
    "`name` is empty": {"name": ""},
    "dialect '': `name` is empty": {
        "name": "",
        "body": Body.ELEMENTS,
        "block": "call",
        "pairs": None,
        "tool_name": "tool",
        "arguments": "arguments",
    },
    "no `start` and no `block`": {"start": ""},
    "no `end` and no `block`": {"end": None},
    "`end` is the same mark as `start`, '«call name='": {"end": "«call name="},
    "white space around `end`, '\\nend'": {"end": "\nend"},
    "`start`, 'CALL', could be a word of a text; end it with another character": {"start": "CALL"},
    "`start` and the `name` of `pairs` are the same mark": {
        "pairs": Pairs(name="«call name=", name_end="»", json=True)
    },
    "also begins a call": {"pairs": Pairs(name="«n»", name_end="»", end="«n»", json=True)},
    "`name_pattern` is no regular expression: missing )": {"pairs": Pairs(name_end="»", name_pattern="(", json=True)},
    "`name_pattern` needs a group called `name`": {"pairs": Pairs(name_end="»", name_pattern="(.+)", json=True)},
    "with keys and values between marks, `start` has to begin with <": {
        "pairs": Pairs(key="<k>", key_end="</k>", value_end="</v>")
    },
    "`each_end` is '\\n'; what is in a result could forge another": {"writing": Writing(result=RESULTS_WITHOUT_END)},
}


@pytest.mark.parametrize("reason", WRONG)
def test_marks_that_cannot_work_are_refused_with_the_reason(reason: str) -> None:
    with pytest.raises(xt.XMLToolsError, match=re.escape(reason)):
        replace(GUILLEMETS, **WRONG[reason])  # type: ignore[arg-type]


def test_what_a_dialect_does_not_say_of_results_is_that_they_are_written_as_they_are() -> None:
    made = replace(GUILLEMETS, writing=Writing(start="«calls»"))
    assert made.writing is not None
    assert made.writing.result == ResultForm()
