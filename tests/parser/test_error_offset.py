"""Where an error is: `CallError.offset` is the place of the first offence, however the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples
from support.strategies import cases, chunkings

from xmltools.errors import Code
from xmltools.parser import Limits, Parser, build_reply, parse
from xmltools.tools import Tool

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
EDIT = {"type": "object", "properties": {"line": NUMBER, "text": TEXT}, "required": ["line"]}
PARAMETERS = {
    "type": "object",
    "properties": {
        "path": TEXT,
        "n": NUMBER,
        "files": {"type": "array", "items": TEXT, "maxItems": 2},
        "numbers": {"type": "array", "items": NUMBER},
        "edits": {"type": "array", "items": EDIT},
        "options": {"type": "object", "properties": {"n": NUMBER, "edit": EDIT, "deep": {"type": "object"}}},
        "either": {"anyOf": [EDIT, {"type": "array", "items": EDIT}]},
        "some": {"anyOf": [{"type": "array", "items": EDIT}, NUMBER]},
        "any": {},
    },
    "required": ["path"],
}
TOOLS = [Tool(name="f", parameters=PARAMETERS), Tool(name="far", parameters=PARAMETERS, server="disk")]
HERE = "‸"  # stands in front of the place that is expected


def call(arguments, path="<path>a</path>"):
    return f"Hi.\n<tool>\n<tool_name>f</tool_name>\n<arguments>{path}{arguments}</arguments>\n</tool> Bye."


def body(rest):
    return f'<tool>{{"tool_name": "f"{rest}</tool>'


PLACES = {
    "markup": (call("<n>5</n>‸<%>"), "malformed_markup"),
    "what is no token, behind the arguments": (call("").replace("\n</tool>", "‸<|a b|>\n</tool>"), "malformed_markup"),
    "an end tag": ("<tool><tool_name>f</tool_name>‸</></tool>", "malformed_markup"),
    "a new block": ("<tool><tool_name>f</tool_name>\n‸<tool><tool_name>f</tool_name></tool>", "malformed_markup"),
    "a doctype": ("<tool>\n‸<!DOCTYPE a><tool_name>f</tool_name></tool>", "forbidden_markup"),
    "a second name": ("<tool><tool_name>f</tool_name> ‸<tool_name>f</tool_name></tool>", "duplicate_field"),
    "second arguments": (call("").replace("</tool>", "‸<arguments/></tool>"), "duplicate_field"),
    "two keys for one": (body(', "name": "f"}').replace("{", "‸{"), "duplicate_field"),
    "a name that is none": ("<tool>‸<tool_name>a\nb</tool_name></tool>", "invalid_name"),
    "an argument's name": (call('‸<argument name="a&lt;b">x</argument>'), "invalid_name"),
    "a name in JSON": ('<tool> ‸{"tool_name": 5}</tool>', "invalid_name"),
    "no name": ("<tool><arguments/></tool>", "missing_tool_name"),
    "an empty name": ("<tool><tool_name> </tool_name></tool>", "missing_tool_name"),
    "a tool": ("<tool><tool_name>‸g</tool_name></tool>", "unknown_tool"),
    "a tool in lines": ("<tool><tool_name>\n  ‸g\n</tool_name></tool>", "unknown_tool"),
    "a tool in CDATA": ("<tool><tool_name>‸<![CDATA[g]]></tool_name></tool>", "unknown_tool"),
    "a server": ("<tool><server_name>disk</server_name><tool_name>‸f</tool_name></tool>", "unknown_tool"),
    "a tool in JSON": ('<tool>{"tool_name": "g"}</tool>', "unknown_tool"),
    "an argument": (call("‸<n>x</n>"), "invalid_arguments"),
    "the first of two": (call("‸<n>x</n><numbers><n>y</n></numbers>"), "invalid_arguments"),
    "a missing argument": (call("", path=""), "invalid_arguments"),
    "an item": (call("<numbers><item>1</item>‸<item>x</item></numbers>"), "invalid_arguments"),
    "a repeated element": (call("<numbers>1</numbers>‸<numbers>x</numbers>"), "invalid_arguments"),
    "items in two elements": (
        call("<numbers><n>1</n></numbers><numbers><n>2</n>‸<n>x</n></numbers>"),
        "invalid_arguments",
    ),
    "too many items": (call("‸<files><file>a</file><file>b</file><file>c</file></files>"), "invalid_arguments"),
    "a list as JSON": (call("‸<numbers>[1, 2, null]</numbers>"), "invalid_arguments"),
    "a property": (call("<options><n>1</n><edit>‸<line>x</line></edit></options>"), "invalid_arguments"),
    "a missing property": (call("<options><n>1</n>‸<edit/></options>"), "invalid_arguments"),
    "a property of an item": (
        call("<edits><edit><line>1</line></edit><edit>‸<line>x</line></edit></edits>"),
        "invalid_arguments",
    ),
    "an element that is an item": (
        call("<edits><line>1</line></edits><edits>‸<line>x</line></edits>"),
        "invalid_arguments",
    ),
    "an alternative": (call("<either>‸<line>x</line></either>"), "invalid_arguments"),
    "an item of an alternative": (
        call("<some><item><line>1</line></item><item>‸<line>x</line></item></some>"),
        "invalid_arguments",
    ),
    "arguments before the name": (
        "<tool><arguments><path>a</path><options>‸<n>x</n></options></arguments><tool_name>f</tool_name></tool>",
        "invalid_arguments",
    ),
    "an argument in a JSON body": (
        body(', "arguments": {"path": "a", "n": "x"}}').replace("{", "‸{", 1),
        "invalid_arguments",
    ),
    "a missing argument in a JSON body": (body(', "arguments": {}}'), "invalid_arguments"),
    "JSON arguments that are no object": (body(', "arguments": 5}').replace("{", "‸{", 1), "invalid_arguments"),
    "an argument in JSON arguments": (call('‸{"path": "a", "n": "x"}', path=""), "invalid_arguments"),
    "a second argument": (call("‸<path>b</path><path>c</path>"), "duplicate_argument"),
    "a second property": (call("<options><n>1</n>‸<n>2</n></options>"), "duplicate_argument"),
    "a second property before and after other arguments": (
        call("<options><n>1</n>‸<n>2</n></options><n>3</n>"),
        "duplicate_argument",
    ),
    "a second property of an item": (
        call("<edits><edit><line>1</line></edit><edit><line>1</line>‸<line>2</line></edit></edits>"),
        "duplicate_argument",
    ),
    "a list is no second argument": (
        call("<files>a</files><files>b</files><n>1</n>‸<n>2</n>"),
        "duplicate_argument",
    ),
    "a body that is no JSON": (body(", x‸}"), "invalid_json"),
    "a bracket": (body(', "arguments": {"a": 1‸]}'), "invalid_json"),
    "a number in a body": (body(', "arguments": {"a": 1‸e}}'), "invalid_json"),
    "text behind a body": (body("} ‸x "), "invalid_json"),
    "a brace that is missing": (body(', "arguments": {"path": "a", "arguments": {}}‸'), "invalid_json"),
    "a key without a value": (body(', "x"‸}'), "invalid_json"),
    "a letter in place of a colon": (
        body(', "arguments" ‸X {"path": "').replace("</tool>", "</tool> Bye."),
        "invalid_json",
    ),
    "a key that is repeated": (call('{"path": "a", ‸"path": "b"}', path=""), "invalid_json"),
    "JSON in CDATA": (call('<![CDATA[{"path": ‸x}]]>', path=""), "invalid_json"),
    "JSON in two sections": (call('‸<![CDATA[{"path": ]]><![CDATA[x}]]>', path=""), "invalid_json"),
    "JSON in a string": (body(', "arguments": "{x}"}').replace("{", "‸{", 1), "invalid_json"),
    "elements beside JSON": (call('{"path": "a"}‸<n>1</n>', path=""), "invalid_json"),
    "a reply that was cut": ("<tool><tool_name>f</tool_name><arguments><path>a‸", "truncated"),
    "a reply that was cut in a tag": ("<tool><tool_name>f</tool_name><arguments><path>a</pa‸", "truncated"),
}


@pytest.mark.parametrize(("marked", "code"), PLACES.values(), ids=PLACES)
def test_an_error_tells_its_place(marked, code):
    error = parse(marked.replace(HERE, ""), TOOLS).errors[0]
    assert (error.code, error.offset) == (code, marked.find(HERE) if HERE in marked else None)


DIALECT_PLACES = {
    "a key that has no end": ("qwen3_coder", "<function=f>\n‸<parameter=a<b>\n1\n</parameter>\n</function>"),
    "a key that is no name": ("glm", "f<arg_key>n</arg_key><arg_value>1</arg_value>‸<arg_key> </arg_key>"),
    "text before the arguments": ("qwen3_coder", "<function=f>\n‸of <parameter=n>\n1\n</parameter>\n</function>"),
}


@pytest.mark.parametrize(("dialect", "inside"), DIALECT_PLACES.values(), ids=DIALECT_PLACES)
def test_an_error_between_the_marks_of_a_dialect_tells_its_place(dialect, inside):
    marked = f"Hi.\n<tool_call>{inside}</tool_call> Bye."
    text = marked.replace(HERE, "")
    for chunks in ([text], list(text)):
        parser = Parser(TOOLS, dialect=dialect)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        error = build_reply(events).errors[0]
        assert (error.code, error.offset) == (Code.MALFORMED_MARKUP, marked.find(HERE))


LIMITED = {
    "the size": (f"a <tool><tool_name>f</tool_name>{' ' * 20}‸ </tool>", Limits(block_size=50)),
    "the size, in what begins the next block": (
        "<tool><tool_name>f</tool_name><arguments><path>a</path></arguments>‸<tool>   <tool_name>f</tool_name></tool>",
        Limits(block_size=70),
    ),
    "the elements": (call("‸<n>1</n><n>2</n>"), Limits(elements=3)),
    "the depth": (call("<any><a><b>‸<c>1</c></b></a></any>"), Limits(depth=4)),
    "the depth of JSON": (body(', "arguments": {"any": ‸[[1]]}}'), Limits(depth=2)),
    "the blocks": (f"{call('')}‸{call('')[4:]}", Limits(blocks=1)),
    "the depth of JSON in a value": (call("<options>{'deep': {'a': {'b': 1}}}</options>"), Limits(depth=2)),
}


@pytest.mark.parametrize(("marked", "limits"), LIMITED.values(), ids=LIMITED)
def test_a_limit_tells_where_it_was_passed(marked, limits):
    error = parse(marked.replace(HERE, ""), TOOLS, limits=limits).errors[0]
    assert (error.code, error.offset) == (Code.LIMIT_EXCEEDED, marked.find(HERE) if HERE in marked else None)


def test_of_text_beside_elements_it_is_the_place_of_the_argument():
    mark, empty = "]<]minimax[>[", {"type": "object", "properties": {"n": NUMBER}, "additionalProperties": False}
    inner = f"‸{mark}<options>more{mark}<n>1{mark}</n>{mark}</options>"
    marked = f'Hi.\n{mark}<tool_call>{mark}<invoke name="f">{inner}{mark}</invoke>{mark}</tool_call>'
    tool = Tool(name="f", parameters={"properties": {"options": empty}})
    error = parse(marked.replace(HERE, ""), [tool], dialect="minimax_m3").errors[0]
    assert (error.code, error.offset) == (Code.INVALID_ARGUMENTS, marked.find(HERE))


@pytest.mark.parametrize("before", ["", "Hi.\n"])
def test_the_missing_end_mark_of_arguments_after_a_token_is_told_where_it_belongs(before):
    mark = "]<]minimax[>["
    marked = f'{before}{mark}<tool_call>{mark}<invoke name="f">{mark}<path>a{mark}</path>‸{mark}</tool_call>'
    (made,) = parse(marked.replace(HERE, ""), TOOLS[:1], dialect="minimax_m3").calls
    assert [(each.code, each.offset) for each in made.repairs] == [(Code.MISSING_END_TAG, marked.find(HERE))]


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        (call("‸<n>+5</n>"), "coerced_value"),
        (call("", path="<path>a ‸& b</path>"), "bare_ampersand"),
        (call("<n>1</n> ‸x <files>a</files>"), "stray_text"),
    ],
)
def test_a_repair_that_is_an_error_tells_its_place(marked, code):
    error = parse(marked.replace(HERE, ""), TOOLS, strict=True).errors[0]
    assert (error.code, error.offset) == (code, marked.find(HERE))


def offsets(case, chunks, **changes):
    parser = Parser(case.tools, **{**case.options, **changes})
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    return [(error.code, error.span, error.offset) for error in build_reply(events).errors]


@given(case=cases(), strict=st.booleans(), size=st.integers(1, 300))
@examples(250)
def test_the_place_does_not_depend_on_chunks_and_stands_in_the_block(case, strict, size):
    for limits in (case.options.get("limits"), Limits(block_size=size, depth=3, elements=6, blocks=2)):
        whole = offsets(case, [case.text], strict=strict, limits=limits)
        for chunks in chunkings(case.text):
            assert offsets(case, chunks, strict=strict, limits=limits) == whole
        assert all(start <= (start if offset is None else offset) <= end for _, (start, end), offset in whole)


@pytest.mark.parametrize("marked", [marked for marked, _ in PLACES.values()], ids=PLACES)
def test_the_place_of_each_kind_does_not_depend_on_chunks(marked):
    text = marked.replace(HERE, "")
    for chunks in chunkings(text):
        parser = Parser(TOOLS)
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        place = marked.find(HERE) if HERE in marked else None
        assert build_reply(events).errors[0].offset == place, chunks
