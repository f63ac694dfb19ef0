"""Bounds of the protocol, each reached exactly and then passed by one."""

import pytest

import xmltools as xt
from xmltools.errors import Code
from xmltools.parser import Limits, build_reply

CALL = "<tool_name>f</tool_name>"


def reads(text, **options):
    reply = xt.parse(text, **options)
    return len(reply.calls)


def test_limits_are_those_of_the_protocol():
    assert Limits() == Limits(block_size=10_485_760, depth=64, elements=10_000, blocks=1_000)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", [None, 7])
def test_an_opening_tag_has_512_characters(more, size):
    attribute = "x" * (512 + more - len('<tool a="">'))
    text = f'<tool a="{attribute}">{CALL}</tool>'
    assert text.index(">") + 1 == 512 + more
    parser = xt.Parser()
    chunks = [text] if size is None else [text[at : at + size] for at in range(0, len(text), size)]
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    assert sum(isinstance(event, xt.CallCompleted) for event in events) == 1 - more


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("start", ["<tool>{}", "<tool>\n```xml\n{}"])
def test_1024_characters_of_white_space_stand_behind_an_opener(more, start):
    text = start.format(" " * (1024 + more)) + f"{CALL}</tool>"
    assert reads(text) == 1 - more
    assert reads(text.replace(CALL, '{"name": "f"}')) == 1 - more


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", [1, 1023 + len("<tool>["), 2_000])
def test_so_they_do_behind_it_with_the_bracket_of_a_list(more, size):
    text = f"<tool>[{' ' * (1023 + more)}" + '{"name": "f"}]</tool>'
    parser = xt.Parser()
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])] + parser.close()
    assert [event.error.code for event in events if isinstance(event, xt.CallFailed)] == ["several_calls"] * (1 - more)


@pytest.mark.parametrize("start", ["<tool>", "<tool>\n```xml\n"])
def test_text_is_not_held_back_once_no_call_can_begin(start):
    parser, text = xt.Parser(), start + " " * 1025
    assert "".join(event.text for event in parser.feed(text)) == text


@pytest.mark.parametrize("tag", ["<", "</", "<parameter=", "<parameter name='", "<!-", "&", "<x a='"])
def test_a_value_is_not_held_back_for_long(tag):
    parser = xt.Parser([xt.Tool(name="f", parameters={"properties": {"a": {"type": "string"}}})])
    said = parser.feed(f"<tool>{CALL}<arguments><a>x")
    for piece in (f"y {tag}", *("n" * 500 for _ in range(20))):
        said += parser.feed(piece)
    told = sum(len(event.text) for event in said if isinstance(event, xt.ArgumentDelta))
    assert told > 10_000 - 4_096


@pytest.mark.parametrize("more", [0, 1])
def test_a_tag_has_4096_characters(more):
    text = f"<tool>{CALL}<arguments><a{' ' * (4096 + more - len('<a>'))}>x</a></arguments></tool>"
    assert reads(text) == 1 - more
    end = f"<tool>{CALL}<arguments><a><![CDATA[x]]></a{' ' * (4096 + more - len('</a>'))}></arguments></tool>"
    assert [(call.arguments, call.clean) for call in xt.parse(end).calls] == [({"a": "x"}, True)] * (1 - more)


@pytest.mark.parametrize("more", [0, 1])
def test_names_have_256_characters(more):
    name = "n" * (256 + more)
    for text in (
        f"<tool><tool_name>{name}</tool_name></tool>",
        f"<tool><server_name>{name}</server_name>{CALL}</tool>",
        f"<tool>{CALL}<arguments><{name}>x</{name}></arguments></tool>",
        f'<tool>{CALL}<arguments><argument name="{name}">x</argument></arguments></tool>',
        f'<tool>{{"name": "{name}"}}</tool>',
    ):
        reply = xt.parse(text)
        assert [error.code for error in reply.errors] == [Code.INVALID_NAME] * more, text
        assert len(reply.calls) == 1 - more


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", [None, 997])
def test_a_region_in_brackets_has_10000_characters(more, size):
    text = f"[{'x' * (9_998 + more)}]\nHello"
    parser = xt.Parser(bracket_reasoning=True)
    chunks = [text] if size is None else [text[at : at + size] for at in range(0, len(text), size)]
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    assert any(isinstance(event, xt.ReasoningDelta) for event in events) == (not more)


@pytest.mark.parametrize("more", [0, 1])
def test_after_100_comments_that_hold_an_opener_and_have_no_end_the_others_hide_nothing(more):
    limits = Limits(block_size=200)  # no comment is longer
    comment = f"<!-- <think>x</think> {'x' * 200}"
    assert reads(comment * (99 + more) + f"<!-- <tool>{CALL}</tool> -->", limits=limits) == more


@pytest.mark.parametrize("cut", [5_010, 10_005, 15_010])
def test_a_region_in_brackets_may_begin_far_on(cut):
    text = "Hello.\n" * 2_142 + "[hm\nWell]\nYes"
    parser = xt.Parser(bracket_reasoning=True)
    events = parser.feed(text[:cut]) + parser.feed(text[cut:]) + parser.close()
    reply = xt.parser.build_reply(events)
    assert (reply.reasoning, reply.text) == ("hm\nWell", "Hello.\n" * 2_142 + "\nYes")


@pytest.mark.parametrize("more", [0, 1])
def test_a_fence_line_has_100_characters(more):
    info = "x" * (96 + more)
    assert reads(f"<tool>\n```{info}\n{CALL}</tool>") == 1 - more


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"depth": 3}, "<a><b>1</b></a>"),
        ({"elements": 4}, "<a><b>1</b></a>"),
    ],
)
def test_elements_and_depth_are_counted_exactly(more, limits, text):
    block = f"<tool>{CALL}<arguments>{text}</arguments></tool> <tool>{CALL}</tool>"
    less = {name: limit - more for name, limit in limits.items()}
    reply = xt.parse(block, limits=Limits(**less))
    assert [error.code for error in reply.errors] == [Code.LIMIT_EXCEEDED] * more
    assert len(reply.calls) == 2 - more


@pytest.mark.parametrize(
    "inside",
    [
        "<a><b><c/><d>1</d></b></a>",
        "<a><b><c>1</c><d><e/></d></b></a>",
        "<a><b></tool_name></b></a>",
    ],
)
def test_what_is_too_deep_is_read_to_the_end_of_its_block(inside):
    reply = xt.parse(
        f"<tool>{CALL}<arguments>{inside}</arguments></tool> and <tool>{CALL}</tool>", limits=Limits(depth=2)
    )
    assert [error.code for error in reply.errors] == [Code.LIMIT_EXCEEDED]
    assert len(reply.calls) == 1 and reply.text == " and "


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("&#x10FFFF;", "\U0010ffff"),
        ("&#x110000;", "&#x110000;"),
        ("&#1114111;", "\U0010ffff"),
        ("&#1114112;", "&#1114112;"),
        ("&#9;&#10;&#13;|", "\t\n\r|"),
        ("&#xFFFD;&#xFFFE;", "\ufffd&#xFFFE;"),
        ("&#xD7FF;&#xD800;", "\ud7ff&#xD800;"),
        ("&#00000000065;", "&#00000000065;"),
        ("&#0000000065;", "A"),
    ],
)
def test_references_to_the_last_character_and_the_one_behind(text, value):
    call = xt.parse(f"<tool>{CALL}<arguments><a>|{text}</a></arguments></tool>").calls[0]
    assert call.arguments == {"a": f"|{value}"}
    assert call.clean == ("&" not in value)


@pytest.mark.parametrize("before", [0, 100, 4_000])
@pytest.mark.parametrize("more", [0, 1, 5_000])
def test_a_block_over_its_size_is_an_error_however_it_is_cut(more, before):
    tool = xt.Tool(name="f", parameters={"properties": {"a": {"type": "string"}}})
    start, end = "<tool><tool_name>f</tool_name><arguments><a>", "</a></arguments></tool>"
    block = f"{start}{'x' * (5_000 + more - len(start) - len(end))}{end}"
    text = f"{'y' * before}{block} end"
    for size in (len(text), len(text) - 5, 5_000, 512, 7):
        parser = xt.Parser([tool], limits=Limits(block_size=5_000))
        events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
        reply = build_reply(events + parser.close())
        assert [call.span for call in reply.calls] == ([] if more else [(before, before + 5_000)]), size
        found = [(error.code.value, error.offset) for error in reply.errors]
        assert found == ([("limit_exceeded", before + 5_000)] if more else []), size


def test_so_it_is_in_a_whole_reply():
    tool = xt.Tool(name="f", parameters={"properties": {"a": {"type": "array", "items": {"type": "string"}}}})
    items = f"<item>{'x' * 4_000}</item>" * 2_700
    text = f"<tool><tool_name>f</tool_name><arguments><a>{items}</a></arguments></tool>"
    assert [error.code.value for error in xt.parse(text, [tool]).errors] == ["limit_exceeded"]
