"""What the corpus cannot say: events, ids, long texts, options and misuse."""

import copy
import gc
import itertools
import os
import pickle
import re
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import xmltools as xt
from xmltools.parser import build_reply


def block(arguments, name="write"):
    return f"<tool><tool_name>{name}</tool_name><arguments>{arguments}</arguments></tool>"


def events_of(chunks, tools=None, **options):
    numbers = itertools.count(1)
    parser = xt.Parser(tools, new_id=lambda: f"id{next(numbers)}", **options)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def tool(**properties):
    return xt.Tool(name="write", parameters={"type": "object", "properties": properties})


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
LONG = "a line of text\n" * 600

LONG_VALUES = {
    "one section": f"<![CDATA[{LONG}]]>",
    "two sections": f"<![CDATA[{LONG}]]><![CDATA[{LONG}]]>",
    "three sections": f"<![CDATA[{LONG}]]>{LONG}<![CDATA[x]]> <![CDATA[{LONG}]]>",
    "an end that is content": f"<![CDATA[{LONG}a[b[0]]>c{LONG}]]>",
    "two ends that are content": f"<![CDATA[{LONG}]]>{LONG}]]>{LONG}]]>",
    "an end in front": f"<![CDATA[]]>{LONG}]]>",
    "text": LONG,
    "markup": f"{LONG}<b>{LONG}</b>{LONG}",
    "a cut entity": f"{LONG}&am{LONG}&amp;",
}


@pytest.mark.parametrize("value", LONG_VALUES.values(), ids=LONG_VALUES)
@pytest.mark.parametrize("size", [100, 4095, 5000, 9001])
def test_long_values_do_not_depend_on_chunks(value, size):
    text = f"{LONG}{block(f'<a>{value}</a>')}{LONG}{block('<b>x</b>')}{LONG}"
    whole = build_reply(events_of([text]))
    assert build_reply(events_of(pieces(text, size))) == whole
    assert len(whole.calls) == 2
    assert [call.repairs for call in whole.calls] == [
        call.repairs for call in build_reply(events_of(pieces(text, size))).calls
    ]


def test_events_of_a_call_come_in_order():
    text = f"hi {block('<path>a</path><n>5</n>')} bye"
    kinds = [type(event) for event in events_of([text], [tool(path=TEXT, n=NUMBER)])]
    assert kinds == [
        xt.TextDelta,
        xt.CallStarted,
        xt.ArgumentDelta,
        xt.ArgumentDelta,
        xt.CallCompleted,
        xt.TextDelta,
    ]


def test_a_delta_leaves_with_the_chunk_that_brought_it():
    parser = xt.Parser([tool(a=TEXT)])
    parser.feed("<tool><tool_name>write</tool_name><arguments><a><![CDATA[")
    assert parser.feed("abc") == [xt.ArgumentDelta.make(("a",), "abc")]
    assert parser.feed("d]") == [xt.ArgumentDelta.make(("a",), "d")]
    assert parser.feed("]e") == [xt.ArgumentDelta.make(("a",), "]]e")]


@pytest.mark.parametrize("size", [7, 4_000, 10_000])
def test_what_was_read_of_a_value_before_the_block_is_too_large_is_in_deltas(size):
    text = block(f"<a>{'x' * 8_000}</a>")
    events = events_of(pieces(text, size), [tool(a=TEXT)], limits=xt.Limits(block_size=5_000))
    said = "".join(event.text for event in events if isinstance(event, xt.ArgumentDelta))
    assert said == "x" * len(said) and len(said) > 4_000


def test_paths_lead_to_the_value():
    items = {"type": "array", "items": {"type": "object", "properties": {"path": TEXT, "lines": NUMBER}}}
    text = block("<files><file><path>a</path></file><file><lines>1</lines><path>b</path></file></files><x>y</x>")
    deltas = [event for event in events_of([text], [tool(files=items)]) if isinstance(event, xt.ArgumentDelta)]
    assert [(delta.path, delta.text) for delta in deltas] == [
        (("files", 0, "path"), "a"),
        (("files", 1, "lines"), "1"),
        (("files", 1, "path"), "b"),
        (("x",), "y"),
    ]


def test_ids_are_given_to_calls_in_their_order():
    escaped_name = r'<tool>{"tool_name": "\u0061"}</tool>'
    repaired = block("<a>1 & 2</a>")
    events = events_of([block("<a>1</a>") + block("<!DOCTYPE x>", "broken") + block("") + escaped_name + repaired])
    assert [(event.id, event.name) for event in events if isinstance(event, xt.CallStarted)] == [
        ("id1", "write"),
        ("id2", "broken"),
        ("id3", "write"),
        ("id4", "a"),
        ("id5", "write"),
    ]
    assert [event.id for event in events if isinstance(event, xt.CallFailed)] == ["id2"]
    assert [event.call.id for event in events if isinstance(event, xt.CallCompleted)] == ["id1", "id3", "id4", "id5"]


def ids_of(count):
    return [xt.parse("<tool><tool_name>f</tool_name><arguments></arguments></tool>").calls[0].id for _ in range(count)]


@pytest.mark.filterwarnings("ignore:.*is multi-threaded:DeprecationWarning")  # where the tests run side by side
def test_no_id_is_given_twice_by_threads_or_by_a_process_and_its_child():
    with ThreadPoolExecutor(8) as threads:
        found = [id for ids in threads.map(ids_of, [201] * 8) for id in ids]
    if hasattr(os, "fork"):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.write(writing, "\n".join(ids_of(50)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        found += [*os.read(reading, 10_000).decode().split(), *ids_of(50)]
        assert len(found) == 1_708
    assert len(set(found)) == len(found)
    assert all(re.fullmatch("call_[0-9a-f]{24}", id) for id in found)


def test_a_call_of_no_known_tool_never_starts():
    events = events_of([block("<a>1</a>", "reed")], [tool(a=TEXT)])
    assert [type(event) for event in events] == [xt.CallFailed]


def test_what_was_read_stands_in_the_error():
    reply = xt.parse(block("<a>1</a><b>2</b><c>3")[:-20], [tool(a=NUMBER, b=NUMBER)])
    error = reply.errors[0]
    assert (error.code, error.name, error.arguments) == (xt.Code.TRUNCATED, "write", {"a": 1, "b": 2})
    assert error.source.startswith("<tool><tool_name>write")


def test_replies_keep_their_parts_in_order():
    reply = xt.parse(f"<think>hm</think>a{block('<x>1</x>')}b{block('', 'no such <name>')}")
    assert [type(part) for part in reply.parts] == [xt.Reasoning, xt.Text, xt.ToolCall, xt.Text, xt.CallError]
    assert (reply.text, reply.reasoning) == ("ab", "hm")


def test_lone_surrogates_come_through():
    assert xt.parse("a\ud800b").text == "a\ud800b"
    assert xt.parse(block("<a>\udfff</a>")).calls[0].arguments == {"a": "\udfff"}


def test_tools_may_share_a_name_on_different_servers():
    tools = [xt.Tool(name="read", server="a"), xt.Tool(name="read", server="b")]
    call = "<tool>{}<tool_name>read</tool_name></tool>"
    assert xt.parse(call.format("<server_name>b</server_name>"), tools).calls[0].server == "b"
    assert xt.parse(call.format(""), tools).errors[0].code is xt.Code.UNKNOWN_TOOL
    assert "a, b" in xt.parse(call.format(""), tools).errors[0].hint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": [tool(), tool()]}, "two tools are named 'write'"),
        ({"tools": [{"name": "write"}]}, r"expected xmltools.Tool, got dict; load_tools\(\)"),
        (
            {"tools": [xt.Tool(name="t", parameters={"type": "object", "properties": {"a": {"type": "txt"}}})]},
            "tool 't'",
        ),
        ({"code_fences": "no"}, "expected 'last', 'call' or 'text', got 'no'"),
        ({"reasoning_tags": "think"}, "expected a list of names"),
        ({"reasoning_tags": ["<think>"]}, "without brackets"),
        ({"reasoning_tags": 5}, "reasoning_tags: expected a list of names, as ..think.., got int"),
        ({"reasoning_tags": ["Tool"]}, "reasoning_tags: 'Tool' is the tag of calls in 'forge'; take another, such as"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(xt.XMLToolsError, match=message):
        xt.Parser(**options)


@pytest.mark.parametrize("limits", [{"depth": 0}, {"block_size": -1}, {"elements": 1.5}, {"blocks": True}])
def test_limits_below_one(limits):
    with pytest.raises(xt.XMLToolsError, match="whole number from 1 on"):
        xt.Limits(**limits)


@pytest.mark.parametrize("chunk", [b"bytes", None, ["list"], 5])
@pytest.mark.parametrize("before", ["", "<tool><tool_name>f</tool_name><arguments><a><![CDATA[", "<think>", "<tool"])
def test_only_strings_are_fed(before, chunk):
    parser = xt.Parser()
    parser.feed(before)
    with pytest.raises((xt.XMLToolsError, TypeError), match=r"str.*got"):  # the latter from a compiled parser
        parser.feed(chunk)


def test_ids_are_strings():
    parser = xt.Parser(new_id=lambda: 1)
    with pytest.raises(xt.XMLToolsError, match="returns str, it returned int"):
        parser.feed(block("<a>1</a>"))


def test_a_closed_parser():
    parser = xt.Parser()
    assert parser.close() == [] == parser.close()
    with pytest.raises(xt.XMLToolsError, match="make a new Parser"):
        parser.feed("more")


def test_values_compare_and_print_themselves():
    call = xt.parse(block("<a>1</a>")).calls[0]
    other = xt.ToolCall(id=call.id, name="write", arguments={"a": "1"})
    assert call == other and hash(call) == hash(other) and call != "call"
    assert repr(xt.TextDelta.make("a", 0)) == "TextDelta(text='a', start=0)"
    assert xt.TextDelta.make("a", 0) != xt.TextDelta.make("a", 1) and xt.TextDelta.make("a", 0) != "a"
    assert str(xt.Repair(xt.Code.STRAY_TEXT, 3, "why")) == "Repair('stray_text', 3, 'why')"
    message = xt.Message(role="assistant", parts=(xt.Text(text="a"), call))
    assert (message.text, message.calls) == ("a", (call,))
    assert "nosuch" not in dir(xt) and "parse" in dir(xt)
    with pytest.raises(AttributeError, match="nosuch"):
        xt.nosuch  # noqa: B018


@pytest.mark.parametrize("copied", [lambda event: pickle.loads(pickle.dumps(event)), copy.copy, copy.deepcopy])
def test_events_can_be_pickled_and_copied(copied):
    events = events_of(["<think>a</think>b", block("<a>1</a>"), "<tool>x", "<invoke name='f'>", "<tool><tool_name>"])
    events.append(xt.Skipped((0, 1)))  # of other dialects
    assert {type(event) for event in events} == set(xt.Event.__subclasses__())
    assert [copied(event) for event in events] == events


@pytest.mark.parametrize("odd", ["", " word", ' open="', ' b="<"', ' b=">"', " b=c/d"])
@pytest.mark.parametrize("end", [">", "/>", ">  x", "> <tool_name>f</tool_name></tool> x", '>{"name":"g"}</tool>', ""])
@pytest.mark.parametrize("size", [280, 500, 600])
def test_long_openers_do_not_depend_on_chunks(odd, end, size):
    text = f'<tool a="{"v" * size}"{odd}{end} and <tool>{{"name": "h"}}</tool>'
    whole = build_reply(events_of([text]))
    assert repr(build_reply(events_of(text))) == repr(whole) == repr(build_reply(events_of(pieces(text, 7))))


@pytest.mark.full
@pytest.mark.no_cover
def test_an_end_of_a_section_counts_wherever_the_text_is_cut():
    failed = "<tool>\n<tool_name>f</tool_name>\n<arguments>\n<a>1</a><b>2</b><c>3</c><d>4</d></arguments></tool>"
    text = f"{failed}]]><![CDATA[<tool><tool_name>g</tool_name><arguments></arguments></tool>]]>"
    limits = xt.Limits(block_size=len(failed), elements=3)
    whole = xt.parse(text, limits=limits)
    assert [call.name for call in whole.calls] == ["g"]
    for cut in range(1, len(text)):
        for end in range(cut, min(cut + 40, len(text))):
            parser = xt.Parser(limits=limits)
            pieces = (text[:cut], text[cut:end], text[end:])
            events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
            assert [event.call.name for event in events if isinstance(event, xt.CallCompleted)] == ["g"], pieces


@pytest.mark.parametrize("name", ["le", "path"])
def test_sections_in_a_block_over_its_limit(name):
    tool = xt.Tool(name="f", parameters={"type": "object", "properties": {"path": {"type": "string"}}})
    head = f"<tool><tool_name>f</tool_name><arguments><{name}><![CDATA[<![CDATA["
    text = f"{head}{'x' * 100}<!]]>]]><![CDATA[ y <!]]></{name}></arguments></tool> end"
    for size in range(len(head), len(head) + 110, 3):
        limits = xt.Limits(block_size=size)
        whole = xt.parse(text, [tool], limits=limits)
        assert [error.code for error in whole.errors] == ["limit_exceeded"] and not whole.calls
        for cut in range(0, len(text), 5):
            parser = xt.Parser([tool], limits=limits)
            events = parser.feed(text[:cut]) + parser.feed(text[cut:]) + parser.close()
            ends = [event for event in events if isinstance(event, xt.CallFailed)]
            assert [event.error for event in ends] == list(whole.errors), (size, cut)


@pytest.mark.parametrize(
    "text",
    ["a `b` <tool> <!-- c -->", block("<a>1</a>"), "<tool><tool_name>f", "<think>a", f"<!-- {block('<a>1</a>')}"],
)
@pytest.mark.parametrize("end", [xt.Parser.close, xt.Parser.abandon])
def test_a_parser_that_has_ended_is_freed_without_the_collector(text, end):
    class Ids:
        """What only the parser knows."""

        def __call__(self):
            return "call"

    gc.disable()
    try:
        ids = Ids()
        parser, watched = xt.Parser(new_id=ids), weakref.ref(ids)
        del ids
        parser.feed(text)
        end(parser)
        del parser
        assert watched() is None
    finally:
        gc.enable()


def test_an_abandoned_parser_is_closed_and_says_nothing():
    parser = xt.Parser()
    parser.feed("Hi <tool><tool_name>f")
    parser.abandon()
    assert parser.close() == []
    with pytest.raises(xt.XMLToolsError, match="after close"):
        parser.feed("x")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_an_end_tag_that_can_end_nothing_is_told_at_once(size: int) -> None:
    text = "<tool><tool_name>f</tool_name><arguments><a>x <y> </l"
    parser = xt.Parser(None)
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    assert "".join(event.text for event in events if isinstance(event, xt.ArgumentDelta)) == "x <y> </l"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_an_example_holds_back_in_a_number_is_told_when_that_ends(size):
    text = block("<n><![CDATA[<![CDATA[5]]></arguments></tool>]]></n><a>x<![CDATA[ y]]></a>")
    events = events_of(pieces(text, size), [tool(n=NUMBER, a=TEXT)])
    said = {"n": "", "a": ""}
    for event in events:
        if isinstance(event, xt.ArgumentDelta):
            said[event.path[0]] += event.text
    assert said == events[-1].error.arguments == {"n": "<![CDATA[5]]></arguments></tool>", "a": "x y"}
