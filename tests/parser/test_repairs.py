"""How often a repair is said, and what of an element, an error or an event says whose it is."""

import itertools

import pytest

import xmltools as xt
from xmltools.errors import Code

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOOL = xt.Tool(
    name="f",
    server="disk",
    parameters={"type": "object", "properties": {"a": TEXT, "b": TEXT, "n": NUMBER, "o": {"type": "object"}}},
)


def block(arguments, more=""):
    return f"<tool><tool_name>f</tool_name>{more}<arguments>{arguments}</arguments></tool>"


ODD = {
    "bare_ampersand": "<{}>x & y</{}>",
    "unknown_entity": "<{}>x&nbsp;y</{}>",
    "bare_less_than": "<{}>x < y</{}>",
    "bare_cdata_end": "<{}>x ]]> y</{}>",
    "cdata_case": "<{}><![cdata[x]]></{}>",
    "unsplit_cdata_end": "<{}><![CDATA[x]]>y]]></{}>",
    "ignored_attribute": '<{} k="v">x</{}>',
    "tag_white_space": "<{}>x</ {}>",
    "attribute_syntax": "<{} nil=false>x</{}>",
}


@pytest.mark.parametrize(("code", "element"), [*ODD.items(), ("ignored_attribute", '<{} nil="true">x</{}>')])
@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["untyped", "typed"])
def test_each_element_has_a_repair_of_its_own(code, element, tools):
    one, two = element.format("a", "a"), element.format("b", "b")
    text = block(one + two)
    [call] = xt.parse(text, tools=tools).calls
    found = [repair for repair in call.repairs if repair.code is not Code.MISSING_SERVER]
    assert [repair.code.value for repair in found] == [code, code]
    start = text.index(one)
    middle = start + len(one)
    assert start <= found[0].offset < middle <= found[1].offset < middle + len(two)


TWICE = {
    "bare_ampersand": "<a>x & y & z</a>",
    "unknown_entity": "<a>x&nbsp;y&nbsp;z</a>",
    "bare_less_than": "<a>x < y < z</a>",
    "bare_cdata_end": "<a>x ]]> y ]]> z</a>",
    "cdata_case": "<a><![cdata[x]]><![cdata[y]]></a>",
    "unsplit_cdata_end": "<a><![CDATA[x]]>y]]>z]]></a>",
    "ignored_attribute": '<a k="v" l="w">x</a>',
    "tag_white_space": "< a>x</ a>",
    "stray_text": "x<!-- -->y<a>1</a>",
    "processing_instruction": "<?x?><a>1</a><?y?>",
    "comment_syntax": "<!-- a--b --><a>1</a><!-- a--b -->",
    "stray_end_tag": "</x><a>1</a></y>",
}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [*TWICE.items(), ("tag_white_space", "<o><a>1</a></ o>")],  # of a value, and of an object
)
def test_an_element_has_a_repair_once_and_where_it_began(code, arguments):
    [call] = xt.parse(block(arguments)).calls
    assert [repair.code.value for repair in call.repairs] == [code]
    first = xt.parse(block(arguments), strict=True).errors[0]
    assert first.code.value == code and first.offset == call.repairs[0].offset


def test_a_call_that_starts_has_its_id_its_name_and_the_server_that_was_said():
    ids = itertools.count(1)
    text = block("", "<server_name>disk</server_name>").replace("<tool_name>f</tool_name>", "")
    named = text.replace("<arguments>", "<tool_name>f</tool_name><arguments>")
    for body in (named, '<tool>{"server": "disk", "name": "\\u0066"}</tool>'):
        parser = xt.Parser([TOOL], new_id=lambda: f"id{next(ids)}")
        [started] = [event for event in parser.feed(body) if isinstance(event, xt.CallStarted)]
        assert (started.name, started.server) == ("f", "disk")
    assert next(ids) == 3


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (block("<n>5</n><a>x</a></arguments><arguments>"), {"n": 5, "a": "x"}),
        (block("<n>5</n><a>x</a>") + "</x>", None),
        (block("<n>5</n><a>x</a>")[: -len("</a></arguments></tool>")], {"n": 5}),
        (block("<n>5</n><o><a>x</a>")[: -len("</arguments></tool>")], {"n": 5}),
        (block('{"n": 5, "a": }'), {}),
        ('<tool>{"name": "f", "arguments": {"n": "x", "a": 1}}</tool>', {"n": "x", "a": "1"}),
        (block("<n>5</n><n>6</n>"), {"n": 5}),
    ],
)
def test_an_error_holds_what_was_read_by_the_schema(text, arguments):
    errors = xt.parse(text, tools=[TOOL]).errors
    assert [error.arguments for error in errors] == ([] if arguments is None else [arguments])


def test_an_unknown_tool_is_told_the_nearest_three_and_a_name_is_cut():
    tools = [xt.Tool(name=f"read_file{number}") for number in range(5)]
    [error] = xt.parse("<tool><tool_name>read_file</tool_name></tool>", tools=tools).errors
    assert error.hint.startswith("There is no tool 'read_file'. Did you mean ") and error.hint.count(" or ") == 2
    [error] = xt.parse(f"<tool><tool_name>{'zq' * 60}</tool_name></tool>", tools=tools).errors
    assert error.hint.startswith(f"There is no tool '{'zq' * 50}'. The tools are: read_file0, read_file1, ")
    many = [xt.Tool(name=f"tool{number:02}") for number in range(25)]
    [error] = xt.parse(f"<tool><tool_name>{'zq'}</tool_name></tool>", tools=many).errors
    assert error.hint.endswith(", tool18, tool19 and 5 more.")
    [error] = xt.parse("<tool><tool_name>f</tool_name></tool>", tools=[]).errors
    assert error.hint == "There is no tool 'f'. The tools are: none."


@pytest.mark.parametrize("length", range(4093, 4099))
@pytest.mark.parametrize("ticks", ["`", "``", "```", "\n```", "\n```xml"])
def test_backticks_are_counted_however_long_the_prose_before_them_is(length, ticks):
    prose = "x" * length + ticks
    text = f"{prose}<tool><tool_name>f</tool_name></tool>{'' if ticks.startswith(chr(10)) else ticks}"
    whole = xt.parse(text)
    parser = xt.Parser(new_id=lambda: whole.calls[0].id if whole.calls else "")
    events = [event for character in text for event in parser.feed(character)] + parser.close()
    assert xt.parser.build_reply(events) == whole
    assert len(whole.calls) == ticks.startswith("\n")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("<a/>", {"a": ""}),
        ("<a />", {"a": ""}),
        ('<a nil="true"/>', {"a": None}),
        ('<a nil="false"/>', {"a": ""}),
        ('<a nil="true">x</a>', {"a": "x"}),
        ("<o/>", {"o": ""}),
        ("<o><p/><q/></o>", {"o": {"p": "", "q": ""}}),
        ("<o><item/></o>", {"o": [""]}),
        ("<Ab1.c-d_>x</Ab1.c-d_>", {"Ab1.c-d_": "x"}),
        ("<é>x</é>", {"é": "x"}),
        ("<a><!-- c -->x</a>", {"a": "<!-- c -->x"}),
        ("<a><!-- c --></a>", {"a": ""}),
        ("<a> <!-- c --> <b>1</b></a>", {"a": {"b": "1"}}),
        ("<a><b>1</b> text </a>", {"a": "<b>1</b> text "}),
    ],
)
def test_elements_without_a_schema(arguments, value):
    text = block(arguments)
    [call] = xt.parse(text).calls
    assert call.arguments == value
    parser = xt.Parser()
    [done] = [e for c in text for e in parser.feed(c) if isinstance(e, xt.CallCompleted)]
    assert done.call.arguments == value and done.call.repairs == call.repairs


def deltas(chunks, tools):
    """The joined deltas of each path."""
    parser, joined = xt.Parser(tools), {}
    for chunk in chunks:
        for event in parser.feed(chunk):
            if isinstance(event, xt.ArgumentDelta):
                joined[event.path] = joined.get(event.path, "") + event.text
    return joined


@pytest.mark.parametrize(
    "value",
    [
        "<![CDATA[x]]>y]]></a>",
        "<![CDATA[x]]> y]]>]]></a>",
        "<![CDATA[x]]></b>y]]></a>",
        "<![CDATA[x]]></a>y]]></a>",
        "<![CDATA[x]]><p>y]]></a>",
        "<![CDATA[x]]><![CDATA[y]]> z</a>",
        "x</a>y<b></a>",
        "x</p>y</a>",
        "x &amp; y &am z</a>",
        "\n  x\n  </a>",
        "x < y <![CDATA[<z>]]></a>",
        "<p>x</p> <![CDATA[<z>]]></a>",
        "x y </a>",
        "x\n  y\n</a>",
        "x]]> y]</a>",
        "x <p/> y</a>",
        "x</a >",
        "x" * 300 + "</a>",
        "x" * 180 + " &amp; y</a>",
    ],
)
def test_the_deltas_of_a_string_are_its_value(value):
    text = block(f"<a>{value}")
    tools = [TOOL]
    [call] = xt.parse(text, tools=tools).calls
    for size in (len(text), 1, 2, 3, 7):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert deltas(chunks, tools) == {("a",): call.arguments["a"]}


@pytest.mark.parametrize(
    "value",
    [
        "<!-- &amp; -->x &amp; y",
        " <!-- &amp; --> &amp;",
        "\n <!-- a -->\n<!-- b -->x",
        "&amp;<!-- &amp; -->",
        " x &lt;b&gt;",
    ],
)
def test_the_deltas_of_a_leaf_without_a_schema_are_its_value(value):
    text = block(f"<a>{value}</a>")
    [call] = xt.parse(text).calls
    for size in (len(text), 1, 2, 3, 7):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert deltas(chunks, None) == {("a",): call.arguments["a"]}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("<tool><tool_name>f</tool_name>\n```\n</tool>", ["code_fence"]),
        ("<tool>```\n<tool_name>f</tool_name></tool>", ["code_fence"]),
        ("<tool>```xml\n<tool_name>f</tool_name>\n```\n</tool>", ["code_fence"]),
        ("<tool><tool_name>f</tool_name>\n``\n</tool>", ["stray_text"]),
        ("<tool><tool_name>f</tool_name>\n``` x\n</tool>", ["code_fence"]),
        ("<tool><tool_name>f</tool_name><arguments/>\nx ```\n</tool>", ["stray_text"]),
        (block("").replace("<arguments>", '<arguments type="object">'), ["ignored_attribute"]),
        (block('<arguments k="v"><a>1</a></arguments>'), ["json_arguments", "ignored_attribute"]),
        (block("<a>1</a>").replace("<tool_name>", '<tool_name nil="true">'), ["ignored_attribute"]),
        # The fence lines around the body and around the arguments are both of the block, which begins with the reply.
        (
            "<tool>\n```xml\n<tool_name>f</tool_name>\n<arguments>\n```xml\n<a>1</a>\n```\n</arguments>\n```\n</tool>",
            ["code_fence"],
        ),
        # Only a field shows that the block goes on (2.7); an element of text does not.
        ("<tool><tool_name>f</tool> <server_name>local</server_name></tool>", ["mismatched_end_tag"]),
        ("<tool><tool_name>f</tool> <b>Done.</b>", ["missing_end_tag"]),
    ],
)
def test_repairs_of_a_block(text, codes):
    [call] = xt.parse(text).calls
    assert [repair.code.value for repair in call.repairs] == codes


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (block("<a>&#x4A;&#xaB;</a>"), {"a": "J\xab"}),
        ('<tool>{"tool_name": "f", "arguments": {"a": 1E5, "b": 2.5E-1}}</tool>', {"a": 1e5, "b": 0.25}),
        (block("{'a':1,'b':[2,3],'c':None}"), {"a": 1, "b": [2, 3], "c": None}),
        (block("<a>x</a><!-- a - comment --><b>y</b><!----><c>z</c>"), {"a": "x", "b": "y", "c": "z"}),
        (block("<a>1</a>").replace("</tool>", "\n```\n</tool>"), {"a": "1"}),
    ],
    ids=["references", "exponents", "literals", "comments", "fence"],
)
def test_what_is_read_whole_is_read_by_characters(text, arguments):
    parser = xt.Parser()
    events = [event for character in text for event in parser.feed(character)] + parser.close()
    (call,) = (event.call for event in events if isinstance(event, xt.CallCompleted))
    assert call.arguments == arguments == xt.parse(text).calls[0].arguments
    deltas = "".join(event.text for event in events if isinstance(event, xt.ArgumentDelta))
    assert deltas in ("", "".join(map(str, arguments.values())), "1E52.5E-1")  # numbers as they are written


def test_an_unknown_tool_is_told_apart_from_one_that_several_servers_have():
    tools = [xt.Tool(name="f", server="a"), xt.Tool(name="f", server="b")]
    (error,) = xt.parse(block(""), tools).errors
    assert error.message == "several servers have 'f'"
    (error,) = xt.parse("<tool><server_name>c</server_name><tool_name>f</tool_name></tool>", tools).errors
    assert error.message == "server 'c' has no tool named 'f'"


VALUES = {"type": "object", "properties": {"n": NUMBER, "m": NUMBER, "yes": {"type": "boolean"}}}
MANY = xt.Tool(
    name="many",
    parameters={**VALUES, "properties": {**VALUES["properties"], "list": {"type": "array", "items": VALUES}}},
)
SAID = ["n: read '1' as 1", "yes: read 'yes' as True", "list[0].n: read '1' as 1", "list[1].m: read '2' as 2"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("hermes", '<tool_call>{"name": "many", "arguments": ARGUMENTS}</tool_call>'),
        ("forge", '<tool>{"tool_name": "many", "arguments": ARGUMENTS}</tool>'),
        ("mistral", "[TOOL_CALLS]many[ARGS]ARGUMENTS"),
    ],
)
def test_each_value_in_json_that_was_converted_is_named(dialect, text):
    arguments = '{"n": "1", "m": 2, "yes": "yes", "list": [{"n": "1", "m": 1}, {"m": "2"}]}'
    [call] = xt.parse(text.replace("ARGUMENTS", arguments), [MANY], dialect=dialect).calls
    assert call.arguments == {"n": 1, "m": 2, "yes": True, "list": [{"n": 1, "m": 1}, {"m": 2}]}
    [message] = [repair.message for repair in call.repairs if repair.code is Code.COERCED_VALUE]
    assert message.split("; ") == SAID


def test_of_very_many_values_in_json_some_are_named():
    items = ", ".join(f'{{"n": "{number}"}}' for number in range(25))
    [call] = xt.parse(
        f'<tool_call>{{"name": "many", "arguments": {{"list": [{items}]}}}}</tool_call>', [MANY], dialect="hermes"
    ).calls
    [repair] = call.repairs
    assert repair.message.startswith("list[0].n: read '0' as 0; list[1].n:") and repair.message.endswith(
        "; and 15 more"
    )
