"""What holds in each dialect for every text: laws, with texts that are made of its own marks."""

from __future__ import annotations

import itertools
import json
import random
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.dialect_marks import marks_of, write
from support.often import examples
from support.written import WRITTEN

from xmltools.dialects import Body, Dialect, named
from xmltools.dialects import all as all_dialects
from xmltools.errors import Code, Notice
from xmltools.models import ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.parser import Limits, Parser
from xmltools.render import render_calls
from xmltools.tools import Tool

pytestmark = pytest.mark.no_cover

TOOLS = [
    Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}),
    Tool(
        name="put", parameters={"type": "object", "properties": {"list": {"type": "array"}, "on": {"type": "boolean"}}}
    ),
]
COMMON = (
    *(
        " " * 700,
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "word",
        "a < b & c",
        "<",
        "</",
        ">",
        "{",
        "}",
        "[",
        '"',
        "```\n",
        "`",
        "\\",
    ),
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<!--", "-->", "<![CDATA[", "]]>", "<|im_end|>"),
)
OWN = {
    "qwen3_coder": (
        *("<function=get>", "<function=put>", "<function=no>", "</function>", "<parameter=n>", "<parameter=s>"),
        *(
            "</parameter>",
            "<parameter=list>",
            "\n1\n",
            "\n[1]\n",
            "\nsome lines\nof code\n\n",
            "\n a\r\nb \r\n",
            "<function=",
            "<parameter=",
        ),
    ),
    "hermes": (
        *('{"name": "get", "arguments": {"n": 1}}', '{"name": "put", "arguments": {', '"on": true', "}}", ", ", ": "),
        *('"s": "</tool_call>"', "{'name': 'get'}", '"arguments"', '"name"'),
        *(
            '{"name": "get"',
            '<tool_call>{"name": "get", "arguments": {"n": 1}',
            '"arguments": {"s": "a',
            '\\"',
            '"}',
            "null",
        ),
        *(
            '<tool_call>{"arguments": {}, "name": "put"',
            '"parameters": {}',
            '"server": "x"',
            '"id": 1',
            "True",
            ",",
            "}",
        ),
    ),
    "glm": (
        *("get", "put", "get\n", "<arg_key>n</arg_key>", "<arg_key>s</arg_key>", "<arg_value>", "</arg_value>", "1"),
        *("<arg_key>", "</arg_key>", "<arg_value>1</arg_value>", "<|user|>"),
    ),
}
NAMES = sorted(dialect.name for dialect in all_dialects() if dialect.name != "forge")
for _name in NAMES:
    OWN[_name] = (*OWN.get(_name, ()), *marks_of(named(_name), ("get", "put", "no"), ("n", "s", "list")))
WHOLE = {
    name: [write(form, "get", {"s": "x"}, gap) for form in named(name).forms for gap in ("", "\n")] for name in NAMES
}


def case_of(seed: int) -> tuple[str, str, bool]:
    """A dialect, a text of its marks in any order and of whole calls, and whether it begins in reasoning."""
    pick = random.Random(seed)
    name = pick.choice(NAMES)
    pieces = pick.choices((*COMMON, *OWN[name] * 2, *WHOLE[name] * 2), k=pick.randint(1, 14))
    return name, "".join(pieces), pick.random() < 0.3


CASES = st.integers(0, 2**32).map(case_of)


def events_of(name: str | Dialect, chunks: list[str], inside: bool, **options: object) -> list[Event]:
    ids = itertools.count()
    parser = Parser(TOOLS, dialect=name, starts_in_reasoning=inside, new_id=lambda: str(next(ids)), **options)  # type: ignore[arg-type]
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def joined(events: list[Event]) -> list[tuple[object, ...]]:
    """Events with adjacent deltas joined."""
    seen: list[tuple[object, ...]] = []
    for event in events:
        match event:
            case TextDelta(text):
                key: tuple[object, ...] = ("text",)
            case ReasoningDelta(text):
                key = ("reasoning",)
            case ArgumentDelta(path, text):
                key = ("argument", path)
            case Skipped(span):
                if seen and seen[-1][0] == "skipped":
                    seen[-1] = ("skipped", seen[-1][1], span[1])
                else:
                    seen.append(("skipped", *span))
                continue
            case Noticed():  # how long after its text one comes depends on the chunks
                continue
            case _:
                seen.append((type(event).__name__, repr(event)))
                continue
        if seen and seen[-1][:-1] == key:
            seen[-1] = (*key, f"{seen[-1][-1]}{text}")
        elif text or key == ("reasoning",):
            seen.append((*key, text))
    return seen


def notices_of(events: list[Event]) -> list[Notice]:
    return [event.notice for event in events if isinstance(event, Noticed)]


@examples(400)
@given(CASES, st.integers(0, 10**6))
def test_chunks_do_not_matter(case: tuple[str, str, bool], seed: int) -> None:
    name, text, inside = case
    events = events_of(name, [text], inside)
    pick = random.Random(seed)
    cuts = sorted(pick.choices(range(len(text) + 1), k=4))
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    for chunks in (list(text), [text[i : i + 3] for i in range(0, len(text), 3)], pieces):
        cut = events_of(name, chunks, inside)
        assert joined(cut) == joined(events)
        assert notices_of(cut) == notices_of(events)


@examples(300)
@given(CASES)
def test_spans_tile_the_text_and_text_is_what_stands_there(case: tuple[str, str, bool]) -> None:
    name, text, inside = case
    at = 0
    for event in events_of(name, list(text), inside):
        if isinstance(event, TextDelta | ReasoningDelta | CallCompleted | CallFailed | Skipped):
            start, end = event.span
            assert start == at and end >= start
            at = end
            if isinstance(event, TextDelta):
                assert text[start:end] == event.text
            if isinstance(event, Skipped):
                skipped, dialect = text[start:end].strip(), named(name)
                for form in dialect.forms:  # an empty section
                    if form.closer and skipped.startswith(form.opener):
                        skipped = skipped.removeprefix(form.opener).removesuffix(form.closer).strip()
                ends = (f"</{tag}>" for tag in dialect.reasoning)
                if any(skipped.startswith(head) and (head or start == 0) for head, _ in dialect.headers):
                    continue
                marks = (*dialect.turn_ends, *dialect.strays, *dialect.frame, *ends)
                assert skipped in ("", *map(str.strip, marks))
    assert at == len(text)


@examples(200)
@given(CASES)
def test_what_was_cut_off_is_no_call_that_the_whole_does_not_have(case: tuple[str, str, bool]) -> None:
    name, text, inside = case
    assume(not any(mark in text for mark in ("<!--", "`", "CDATA")))  # what they hide depends on what follows
    forms = named(name).forms
    # A call that its object ends is an error, or has a repair, if text or more JSON follows that (DIALECTS.md, 3.4 and
    # 4.5).
    has_json = any(form.pairs is not None and form.pairs.json for form in forms)
    has_end = (
        all(form.closer and not form.may_lack_end for form in forms if form.body is not Body.TAGS) and not has_json
    )
    events = events_of(name, [text], inside)
    refused = {each.span[0] for each in events if isinstance(each, CallFailed)}
    refused |= {each.call.span[0] for each in events if isinstance(each, CallCompleted) and not each.call.clean}
    # Whether a call between quotation marks is only shown depends on what follows it, too.
    notices = [each.notice for each in events if isinstance(each, Noticed)]
    shown = {each.span[0] for each in notices if each.code is Code.SHOWN_CALL}
    excepted = shown if has_end else shown | refused
    # The rest of its line decides whether a call that a name begins is one (DIALECTS.md, 1.2c).
    open_line = re.compile(r"[ \t;]*(?:<[^>\n]*)?\Z" if named(name).by_name else r"(?!)")

    def calls(part: str) -> list[tuple[str, str, int]]:
        return [
            (event.call.name, repr(event.call.arguments), event.span[0])
            for event in events_of(name, [part], inside)
            if isinstance(event, CallCompleted) and event.call.clean and event.span[0] not in excepted
            if not open_line.match(part, event.span[1])
        ]

    whole = calls(text)
    for cut in range(len(text)):
        found = calls(text[:cut])
        assert found == whole[: len(found)], text[:cut]


@pytest.mark.parametrize("name", NAMES)
def test_a_prefix_of_a_call_is_none(name: str) -> None:
    for whole in WHOLE[name]:
        for cut in range(len(whole)):
            part = events_of(name, [whole[:cut]], False)
            for event in part:
                if isinstance(event, CallCompleted):
                    is_whole = named(name).may_lack_end or not named(name).closer
                    assert (event.call.repairs or is_whole) and event.call.arguments == {"s": "x"}, whole[:cut]


@pytest.mark.parametrize("name", NAMES)
def test_deltas_are_the_value(name: str) -> None:
    value = "line\n\n  </parameter> and </arg_value> <b> & \r\n ]]> end\n"
    for form in named(name).forms:
        marks = [form.closer, *((form.pairs.end, form.pairs.value_end) if form.pairs else ())]
        text = value + "".join(f"{mark} and " for mark in marks) + "all"
        written = write(form, "get", {"s": text})
        for size in (1, 3, 7, len(written)):
            events = events_of(name, [written[at : at + size] for at in range(0, len(written), size)], False)
            call = next(event.call for event in events if isinstance(event, CallCompleted))
            assert call.arguments == {"s": text}
            assert [each.code for each in call.repairs] == [form.slip] * (form.slip is not None)
            assert "".join(event.text for event in events if isinstance(event, ArgumentDelta)) == text


@pytest.mark.parametrize("length", [1_023, 1_024, 1_025, 3_000])
@pytest.mark.parametrize("name", NAMES)
def test_chunks_do_not_matter_where_white_space_is_long(name: str, length: int) -> None:
    space = " " * length
    outside = [
        f"x{space}{WHOLE[name][-1]}{space}y{space}",
        f"{space}{WHOLE[name][-1]}",
        f"a{space}<think>{space}b",
        f"a{space}<",
        f"{space}-\n{WHOLE[name][-1]}",
        f"<tool_call><function={' ' * 254}get>",
    ]
    inside = [f"a{space}</think>{space}b", f"{space}a{space}{WHOLE[name][-1]}"]
    for text in outside + inside:
        whole = joined(events_of(name, [text], text in inside))
        for size in (1, 700, 1_024):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            assert joined(events_of(name, chunks, text in inside)) == whole


@pytest.mark.parametrize("stray", ["", "-", "\n- \n"])
@pytest.mark.parametrize("name", WRITTEN)
def test_chunks_do_not_matter_between_two_calls_of_which_one_is_long(name: str, stray: str) -> None:
    calls = [ToolCall(id=value, name="get", arguments={"s": value}) for value in ("x" * 3_000, "y")]
    one, both = (render_calls(each, TOOLS, dialect=name) for each in (calls[:1], calls))
    between = next(at for at, character in enumerate(both) if one[at : at + 1] != character)
    text = both[:between] + stray + both[between:]
    whole = joined(events_of(name, [text], False))
    for cut in range(between - 20, min(between + 60, len(text))):
        assert joined(events_of(name, [text[:cut], text[cut:]], False)) == whole, text[cut:]


def outcomes(name: str, text: str, size: int) -> list[tuple[str, tuple[int, int] | None]]:
    """The calls and the errors in a text that is cut in pieces, each with its place."""
    events = events_of(name, [text[at : at + size] for at in range(0, len(text), size)], False)
    return [
        (str(event.call.arguments), event.call.span)
        if isinstance(event, CallCompleted)
        else (event.error.code, event.error.span)
        for event in events
        if isinstance(event, (CallCompleted, CallFailed))
    ]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("name", ["mistral", "gigachat3"])
def test_a_call_without_an_end_mark_that_cannot_be_read_ends_where_the_next_one_begins(name: str, size: int) -> None:
    call = named(name).example
    broken = f"{call.replace('1', '?')} and so on. "
    text = f"Words. {broken}{call}"
    middle = len("Words. ") + len(broken)
    (failed, place), *rest = outcomes(name, text, size)
    assert failed == Code.INVALID_JSON and place is not None and place[1] <= middle
    assert rest == [("{'n': 1}", (middle, len(text)))]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("name", "mark", "is_sure"),
    [
        ("lfm2", "<|tool_call_start|>", True),
        ("pythonic", "<|python_start|>", True),
        ("pythonic", "<|python_tag|>", True),
        ("pythonic", "<function_calls>", False),
    ],
)
def test_what_follows_a_token_is_a_call_or_an_error(name: str, mark: str, is_sure: bool, size: int) -> None:
    assert [what for what, _ in outcomes(name, f"Words. {mark}and no call", size)] == [Code.INVALID_JSON] * is_sure


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("name", ["pythonic", "llama3_json"])
def test_of_a_list_without_marks_all_calls_count_or_none(name: str, size: int) -> None:
    call = named(name).example.strip("[]")
    text = f"[{', '.join(call.replace('1', str(number)) for number in range(4))}]"
    assert [what for what, _ in outcomes(name, text, size)] == [f"{{'n': {number}}}" for number in range(4)]
    assert {what for what, _ in outcomes(name, text[:-1], size)} == {Code.TRUNCATED}


@pytest.mark.parametrize("size", [1, 7, 5_000])
@pytest.mark.parametrize(("length", "calls"), [(1_023, 2), (1_024, 2), (1_025, 1)])
def test_1024_characters_stand_between_two_objects_without_marks(length: int, calls: int, size: int) -> None:
    call = named("llama3_json").example
    for between in (" " * length, ";".ljust(length)):  # what comes later counts where the reply ends, with a repair
        assert len(outcomes("llama3_json", call + between + call + "\n.", size)) == calls


@pytest.mark.parametrize("name", NAMES)
def test_chunks_do_not_matter_at_the_limit_of_a_block(name: str) -> None:
    for form in named(name).forms:
        whole = write(form, "put", {"on": True, "list": ["some words"] * 6}, "\n")
        texts = [f"{whole}\nafter"]
        if form.pairs and form.pairs.value_end:  # the last value lacks its end mark
            start, _, end = whole.rpartition(form.pairs.value_end)
            texts.append(f"{start}\n</x>\n{end}\nafter")
        for text in texts:
            for size in range(len(text) - 60, len(text)):
                limits = Limits(block_size=size)
                read = joined(events_of(name, [text], False, limits=limits))
                for pieces in (list(text), [text[at : at + 7] for at in range(0, len(text), 7)]):
                    assert joined(events_of(name, pieces, False, limits=limits)) == read, size


FORGE = "<tool><tool_name>get</tool_name><arguments><s>x</s></arguments></tool>"
MIXED = (
    *("<tool>", "</tool>", "<tool_name>get</tool_name>", "<arguments>", "</arguments>", "<s>", "</s>", FORGE),
    *("Tool: get\nResult: ", "<tool_response>", "</tool_response>", "<tool_call>\n<function=no>"),
    *(piece for pieces in OWN.values() for piece in pieces),
    *[call for calls in WHOLE.values() for call in calls] * 6,
)


def mixed_case_of(seed: int) -> tuple[str, str, bool]:
    """As `case_of`, with calls and marks of all dialects."""
    pick = random.Random(seed)
    name = pick.choice(("forge", "forge", *NAMES))
    return name, "".join(pick.choices((*COMMON, *MIXED), k=pick.randint(1, 14))), pick.random() < 0.2


@examples(300)
@given(st.integers(0, 2**32).map(mixed_case_of), st.integers(0, 10**6))
def test_chunks_do_not_matter_where_other_dialects_are_read_too(case: tuple[str, str, bool], seed: int) -> None:
    name, text, inside = case

    def read(chunks: list[str]) -> tuple[list[tuple[object, ...]], list[str]]:
        events = events_of(name, chunks, inside, also="known")
        notices = sorted(repr(event) for event in events if isinstance(event, Noticed))
        return joined([event for event in events if not isinstance(event, Noticed)]), notices

    pick = random.Random(seed)
    cuts = sorted(pick.choices(range(len(text) + 1), k=4))
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    for chunks in (list(text), [text[i : i + 3] for i in range(0, len(text), 3)], pieces):
        assert read(chunks) == read([text])


@examples(100)
@given(st.integers(0, 2**32).map(mixed_case_of))
def test_without_also_calls_in_other_dialects_are_noticed(case: tuple[str, str, bool]) -> None:
    name, text, inside = case
    assume(not any(mark in text for mark in ("<!--", "`", "CDATA", "\\")))  # after these, less is looked for
    read = {event.call.span for event in events_of(name, [text], inside, also="known") if is_foreign(event, name)}
    events = events_of(name, [text], inside)
    spans = [event.span for event in events if isinstance(event, Noticed | CallCompleted | CallFailed | ReasoningDelta)]
    for start, end in filter(None, read):
        if text.startswith(("{", "[", " to="), start) and not text.startswith("[TOOL_CALLS]", start):
            continue  # counts only where the reply begins
        own = [mark for form in named(name).forms for mark in (form.opener, form.pairs and form.pairs.name) if mark]
        if name == "tag_per_tool" or any(mark in text[start + 1 : end] for mark in own):
            continue  # an own start mark stands in it
        if text.startswith("<tool_calls>", start):
            continue  # others' marks are in those of Hunyuan
        assert any(start < right and left < end for left, right in spans), text[start:end]


def is_foreign(event: Event, name: str) -> bool:
    return isinstance(event, CallCompleted) and event.call.dialect != name


def test_without_tools_and_reasoning_tags_all_is_text() -> None:
    parser = Parser(dialect="tag_per_tool", reasoning_tags=[])
    events = parser.feed("<get>a [b] < c") + parser.close()
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "<get>a [b] < c"


TEXTS = st.text(
    st.sampled_from(["a", " ", "\n", "\r", '"', "'", "\\", "/", "u", "0", "\u00e9", "\U0001f600", "\u2028", "{", "]"])
)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
BODY = Tool(
    name="get",
    parameters={
        "properties": {
            "s": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}},
            "o": {"type": "object", "properties": {"x": {"type": "string"}}},
        }
    },
)


def strings_in(value: object, path: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], str]:
    """The strings in a value, by their paths; of empty ones there are no deltas."""
    if isinstance(value, str):
        return {path: value} if value else {}
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {key: text for name, each in members for key, text in strings_in(each, (*path, name)).items()}


@examples(300)
@given(
    st.fixed_dictionaries(
        {}, optional={"s": TEXTS, "l": st.lists(TEXTS), "o": st.dictionaries(TEXTS, TEXTS), "any": VALUES}
    ),
    st.sampled_from(["ascii", "unicode", "line breaks"]),
    st.sampled_from(["hermes", "forge"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_deltas_of_a_json_body_are_its_strings(
    arguments: dict[str, object], style: str, dialect: str, has_tools: bool, size: int
) -> None:
    key, tag = ("name", "tool_call") if dialect == "hermes" else ("tool_name", "tool")
    body = json.dumps({key: "get", "arguments": arguments}, ensure_ascii=style == "ascii")
    if style == "line breaks" and r"\\" not in body:
        body = body.replace(r"\n", "\n")
    text = f"<{tag}>{body}</{tag}>"
    parser = Parser([BODY] if has_tools else None, dialect=dialect)
    deltas: dict[tuple[str | int, ...], str] = {}
    calls = []
    for event in [e for at in range(0, len(text), size) for e in parser.feed(text[at : at + size])] + parser.close():
        if isinstance(event, ArgumentDelta):
            deltas[event.path] = deltas.get(event.path, "") + event.text
        elif isinstance(event, CallCompleted):
            calls.append(event.call.arguments)
    assert calls == [arguments]
    strings = strings_in(arguments)
    assert {path: deltas.get(path) for path in strings} == strings


@pytest.mark.parametrize("name", NAMES)
def test_the_reach_of_a_comment_may_end_within_a_mark(name: str) -> None:
    example = named(name).example
    for length in range(9_900, 10_010, 7):
        text = f"<!--{example}\n{'x' * (length - len(example))}{example * 3}"
        pieces = [text[at : at + 97] for at in range(0, len(text), 97)]
        assert joined(events_of(name, [text], False)) == joined(events_of(name, pieces, False))


@pytest.mark.parametrize("name", NAMES)
def test_an_end_of_a_comment_in_a_call_after_another_one_is_none_however_that_is_cut(name: str) -> None:
    example = named(name).example
    value = '"-->"' if "{" in example or "=1" in example else "-->"
    call = example.replace("1", value).replace('string="false"', 'string="true"').replace("number", "string")
    text = f"{'x' * 40} <!-- {call} {call}"
    assert joined(events_of(name, [text], False)) == joined(events_of(name, list(text), False))


def test_a_name_is_decided_before_the_block_is_too_large() -> None:
    text = f"<|channel|>commentary to=\n>{' ' * 390}"
    for pieces in (list(text), [text], [text[:399], text[399:]]):
        events = events_of("harmony", pieces, False, limits=Limits(block_size=400))
        assert [event.error.code for event in events if isinstance(event, CallFailed)] == [Code.INVALID_NAME]
