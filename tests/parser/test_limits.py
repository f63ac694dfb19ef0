"""Which limits can be set, and that no text makes the package recurse beyond the stack at the greatest depth."""

import copy
import json
import math
import pickle

import pytest
from support.stack import frames

import xmltools as xt
from xmltools.formats import FORMATS
from xmltools.lint import lint
from xmltools.parser import build_reply
from xmltools.parser.limits import MAX_DEPTH

NAMES = ("block_size", "depth", "elements", "blocks")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, -(2**70), True, False, 1.0, math.inf, math.nan, "5", None, [1], b"1"])
def test_a_limit_is_a_whole_number_from_one_on(name, value):
    with pytest.raises(xt.XMLToolsError, match=f"^limits: {name} is expected to be a whole number from 1 on, got "):
        xt.Limits(**{name: value})


def test_a_value_of_any_length_makes_a_short_message():
    with pytest.raises(xt.XMLToolsError) as caught:
        xt.Limits(blocks="1" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 2**30, 2**70])
def test_the_depth_has_an_end(depth):
    with pytest.raises(xt.XMLToolsError, match=r"^limits: depth is expected to be at most 128"):
        xt.Limits(depth=depth)


@pytest.mark.parametrize("huge", [2**31, 2**63, 2**64, 10**30])
def test_other_limits_may_be_of_any_size(huge):
    limits = xt.Limits(block_size=huge, elements=huge, blocks=huge)
    text = "a <tool><tool_name>f</tool_name><arguments><a>1</a></arguments></tool> b" * 3
    assert [call.arguments for call in xt.parse(text, limits=limits).calls] == [{"a": "1"}] * 3
    parser = xt.Parser(limits=limits)
    events = [event for character in text for event in parser.feed(character)] + parser.close()
    assert [call.arguments for call in build_reply(events).calls] == [{"a": "1"}] * 3


def test_all_limits_may_be_one():
    limits = xt.Limits(1, 1, 1, 1)
    reply = xt.parse("a <tool><tool_name>f</tool_name></tool> b", limits=limits)
    assert reply.text == "a  b"
    assert [error.code for error in reply.errors] == ["limit_exceeded"]


# --- depth


def tool(node):
    again = {"$ref": "#/$defs/node"}
    return xt.Tool(name="f", parameters={"type": "object", "properties": {"a": again}, "$defs": {"node": node(again)}})


TOOLS = {
    "no tools": None,
    "no schema": [xt.Tool(name="f")],
    "objects": [tool(lambda again: {"type": "object", "properties": {"a": again}})],
    "lists": [tool(lambda again: {"type": "array", "items": again})],
    "all": [
        tool(
            lambda again: {
                "anyOf": [
                    {"type": "object", "properties": {"a": again}},
                    {"type": "array", "items": again},
                    {"type": "string"},
                ]
            }
        )
    ],
}


def nested(opening, inner, closing, levels):
    return opening * levels + inner + closing * levels


def bodies(levels):
    """What nests, `levels` deep, in the arguments of a call."""
    return {
        "elements": nested("<a>", "1", "</a>", levels),
        "items": f"<a>{nested('<item>', '1', '</item>', levels - 1)}</a>",
        "JSON objects": nested('{"a":', "1", "}", levels),
        "JSON lists": f'{{"a":{nested("[", "", "]", levels - 1)}}}',
        "Python": nested("{'a':", "'1'", "}", levels),
        "JSON in a leaf": f"<a>{nested('[', '', ']', levels - 1)}</a>",
        "Python in a leaf": f"<a>{nested('(', '', ',)', levels - 1)}</a>",
    }


def written(body, place):
    name, arguments = "<tool_name>f</tool_name>", f"<arguments>{body}</arguments>"
    return f"<tool>{name}{arguments}</tool>" if place == "behind" else f"<tool>{arguments}{name}</tool>"


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 50_000])
@pytest.mark.parametrize("place", ["behind", "before"])
@pytest.mark.parametrize("kind", bodies(2))
@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.no_cover  # the tracer needs frames too
@pytest.mark.full
def test_nothing_recurses_out_of_the_stack_at_the_greatest_depth(tools, kind, place, levels):
    offered = TOOLS[tools]
    text = written(bodies(levels)[kind], place)
    with frames(600):
        parser = xt.Parser(offered, limits=xt.Limits(depth=MAX_DEPTH))
        events = parser.feed(text) + parser.close()
        assert pickle.loads(pickle.dumps(events)) == copy.deepcopy(events) == events
        assert repr(events)
        reply = build_reply(events)
        assert type(reply).model_validate(reply.model_dump())
        for error in reply.errors:
            assert xt.render_retry(error, offered or ())
        for call in reply.calls:
            assert type(call).model_validate_json(call.model_dump_json()) == call
            assert json.loads(json.dumps(call.arguments)) == call.arguments
            assert render(call, offered)
            for name in FORMATS:
                chat = xt.Conversation().user("x").assistant("", [call])
                assert xt.load(xt.dump(chat, name, issues=[]), name, issues=[]).messages
        assert lint(text, offered) is not None


def render(call, offered):
    """What `render_call` writes; what it refuses with a reason is as good."""
    try:
        return xt.render_call(call, offered and offered[0])
    except xt.XMLToolsError as error:
        return str(error)


@pytest.mark.no_cover  # the tracer needs frames too
def test_a_caller_deep_in_the_stack_gets_an_answer_or_the_error_of_python():
    text, told = written(bodies(30)["items"], "behind"), set()
    for count in range(10, 150):
        try:
            with frames(count):
                reply = xt.parse(text, tools=TOOLS["objects"])
        except RecursionError:
            continue
        told.add(reply.errors[0].message if reply.errors else "")
    assert told == {"", "expected arguments that are nested less deeply"}
