"""Whole replies: which blocks are read in one step, and that both ways say the same of them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.nearly_clean import law_plain_reply
from support.strategies import Case

import xmltools as xt
from xmltools.parser import whole

TEXT = {"type": "string"}
ITEMS = {"type": "array", "items": TEXT}
TOOLS = [
    xt.Tool(
        name="put",
        parameters={
            "properties": {
                "text": TEXT,
                "count": {"type": "integer"},
                "files": ITEMS,
                "size": {"type": "object", "properties": {"width": {"type": "number"}, "all": ITEMS}},
                "any": {},
            },
            "required": ["text"],
        },
    ),
    xt.Tool(name="get", server="net"),
    xt.Tool(name="get", server="disk"),
]


def block(inside: str, *, head: str = "<tool_name>put</tool_name>") -> str:
    return f"<tool>\n{head}\n<arguments>\n{inside}\n</arguments>\n</tool>"


def text(value: str) -> str:
    return block(f"<text>{value}</text>")


def body(arguments: str, dialect: str = "forge") -> str:
    if dialect == "forge":
        return f'<tool>{{"tool_name": "put", "arguments": {arguments}}}</tool>'
    return f'<tool_call>\n{{"name": "put", "arguments": {arguments}}}\n</tool_call>'


CLEAN = {
    "a value": text("x"),
    "no value": text(""),
    "white space": text(" "),
    "line breaks at both ends": text("\n\na\n\n"),
    "indented text": text("\n    a\n  "),
    "the five entities": text("&lt;&gt;&amp;&quot;&apos; &amp;lt;"),
    "brackets": text("]] ]&gt; >"),
    "CDATA": text("<![CDATA[<b> & </b> ]] ]]>"),
    "empty CDATA": text("<![CDATA[]]>"),
    "white space in CDATA": text("<![CDATA[\n a \n]]>"),
    "white space in one of two sections": block(
        "<files><file>a</file><file><![CDATA[ b]]></file></files><text>b</text>"
    ),
    "CDATA and text that are alike": block("<files><file>\na</file><file><![CDATA[\na]]></file></files><text>b</text>"),
    "U+0085 and U+2028": text("\x85a\u2028\x85"),
    "a byte order mark": text("\ufeffa\ufeff"),
    "astral characters": text("\U0001f600 \U0001fffe"),
    "DEL and C1": text("\x7f\x9f"),
    "types": block("<text>a</text><count> 7 </count><any>b</any>"),
    "a list": block("<text>a</text>\n<files>\n<file>b</file>\n<file><![CDATA[c]]></file>\n</files>"),
    "an object": block("<text>a</text><size><width>1.5</width><all><item>b</item></all></size>"),
    "no argument": block("", head="<server_name>net</server_name>\n<tool_name>get</tool_name>"),
    "JSON": body('{"text": "a\\n\\u00e9\\ud83d\\ude00 </tool_call>", "count": 7, "files": []}'),
}
CLEAN_HERMES = {
    "JSON": body('{"text": "a </tool>", "size": {"width": 1}}', "hermes"),
    "parameters": body('{"text": "a"}', "hermes").replace("arguments", "parameters"),
    "the name last": '<tool_call>{"arguments": {"text": "a"}, "name": "put"} </tool_call>',
}
ARGUMENT = "<parameter=text>a</parameter>"


def pairs(inside: str) -> str:
    return f"<tool_call>\n<function=put>\n{inside}\n</function>\n</tool_call>"


CLEAN_PAIRS = {
    "values": ("qwen3_coder", pairs("<parameter=text>\nx\n</parameter>\n<parameter=count>\n7\n</parameter>")),
    "no white space": ("qwen3_coder", pairs(ARGUMENT).replace("\n", "")),
    "no value": ("qwen3_coder", pairs("<parameter=text></parameter>")),
    "one line break": ("qwen3_coder", pairs("<parameter=text>\r\n</parameter>")),
    "line breaks of three kinds": ("qwen3_coder", pairs("<parameter=text>\r\n\n\ra\n\r\n</parameter>")),
    "an entity": ("qwen3_coder", pairs("<parameter=text>&lt;&\x01]]></parameter>")),
    "a name without a delimiter": (
        "glm",
        "<tool_call>put\n<arg_key>text</arg_key>\n<arg_value>\nx\n</arg_value>\n</tool_call>",
    ),
    "names in attributes": (
        "invoke",
        '<function_calls>\n<invoke name="put">\n<parameter name="text">\nx\n</parameter>\n</invoke>\n</function_calls>',
    ),
}
UNCLEAN_PAIRS = {
    "a < in a value": pairs("<parameter=text>a < b</parameter>"),
    "no start of the block": pairs(ARGUMENT).replace("<tool_call>\n", ""),
    "no end of the arguments": pairs(ARGUMENT).replace("</function>\n", ""),
    "no end of the value": pairs("<parameter=text>a"),
    "white space in a delimiter": pairs(ARGUMENT).replace("=", " ="),
    "white space around a name": pairs(ARGUMENT).replace("put>", " put >"),
    "a slash after the name": pairs("").replace("put>", "put/>"),
    "quotes around a name": pairs("<parameter='text'>a</parameter>"),
    "text between arguments": pairs(f"b {ARGUMENT}"),
    "a line break that is written as two characters": pairs(f"\\n{ARGUMENT}"),
    "JSON": pairs('{"text": "a"}'),
    "two calls": pairs(f"{ARGUMENT}</function><function=put>{ARGUMENT}"),
    "a repeated argument": pairs(ARGUMENT + ARGUMENT),
    "a missing argument": pairs(""),
    "a list": pairs(f'{ARGUMENT}<parameter=files>["b"]</parameter>'),
    "a decorated name": pairs(ARGUMENT).replace("put", "functions.put"),
    "a long block": pairs(f"<parameter=text>{'a' * 5_000}</parameter>"),
    "a cut block": pairs(ARGUMENT)[:-3],
}
UNCLEAN = {
    "CR": text("a\r\nb"),
    "CR between tags": block("<text>a</text>\r\n"),
    "a numeric reference": text("&#65;"),
    "an unknown entity": text("&nbsp;"),
    "a bare ampersand": text("a & b"),
    "a bare <": text("a < b"),
    "an attribute": block('<text a="b">c</text>'),
    "an attribute of the block": text("a").replace("<tool>", '<tool id="1">'),
    "nil": block('<text nil="true"></text>'),
    "white space in a tag": block("<text >a</text >"),
    "an empty tag": block("<text/>"),
    "a comment": block("<text>a</text><!-- b -->"),
    "a comment in a value": text("a<!-- b -->"),
    "a processing instruction": block("<?a b?><text>a</text>"),
    "a doctype": block("<!DOCTYPE tool><text>a</text>"),
    "a prefix": block("<x:text>a</x:text>"),
    "xmlns": block('<text xmlns="a">b</text>'),
    "markup in a string": text("<b>c</b>"),
    "mixed content": block("<text>a</text><any>b<c>d</c></any>"),
    "an untyped node": block("<text>a</text><any><c>d</c></any>"),
    "text between elements": block("so: <text>a</text>"),
    "]]> in text": text("a]]>b"),
    "white space around CDATA": text("\n<![CDATA[a]]>\n"),
    "text beside CDATA": text("a <![CDATA[b]]> c"),
    "two sections": text("<![CDATA[a]]> <![CDATA[b]]>"),
    "]]> in CDATA": text("<![CDATA[a]]>b]]>"),
    "]]> in two sections": text("<![CDATA[a]]]]><![CDATA[>b]]>"),
    "<![CDATA[ in CDATA": text("<![CDATA[a<![CDATA[b]]>"),
    "CDATA in small letters": text("<![cdata[a]]>"),
    "CDATA between elements": block("<text>a</text><![CDATA[ ]]>"),
    "a block in CDATA": text("<![CDATA[<tool><tool_name>get</tool_name><arguments></arguments></tool>\r]]>"),
    "an end tag of the block": text("a</tool>b"),
    "the end of the call": text("a</arguments></tool>b"),
    "arguments in the arguments": block("<arguments><text>a</text></arguments>"),
    "a forbidden character": text("\x01"),
    "NUL": text("a\x00"),
    "U+FFFE": text("\ufffe"),
    "half a character": text("\ud800"),
    "a missing end tag": block("<text>a"),
    "another end tag": block("<text>a</path>"),
    "a name that is not a word": block("<téxt>a</téxt>"),
    "a long name": block(f"<text>a</text><{'x' * 300}>a</{'x' * 300}>"),
    "a repeated argument": block("<text>a</text><text>b</text>"),
    "a repeated list": block("<text>a</text><files>b</files><files>c</files>"),
    "a repeated field": block("<text>a</text>", head="<tool_name>put</tool_name><tool_name>put</tool_name>"),
    "the server last": block("", head="<tool_name>get</tool_name><server_name>net</server_name>"),
    "no server": block("", head="<tool_name>get</tool_name>"),
    "a wrong server": block("", head="<server_name>x</server_name><tool_name>get</tool_name>"),
    "an unknown tool": block("", head="<tool_name>nothing</tool_name>"),
    "a decorated name": block("<text>a</text>", head="<tool_name>functions.put</tool_name>"),
    "white space around the name": block("<text>a</text>", head="<tool_name> put </tool_name>"),
    "no arguments": "<tool><tool_name>put</tool_name></tool>",
    "arguments outside": "<tool><tool_name>put</tool_name><text>a</text></tool>",
    "JSON in the arguments": block('{"text": "a"}'),
    "JSON in a value": block('<text>a</text><files>["b"]</files>'),
    "a spelling of a number": block("<text>a</text><count>7.0</count>"),
    "an invalid value": block("<text>a</text><count>x</count>"),
    "a missing argument": block("<count>1</count>"),
    "a spelling of the block": text("a").replace("tool>", "TOOL>"),
    "a code fence": f"```xml\n{text('a')}\n```",
    "a long block": text("a" * 5_000),
    "a cut block": text("a")[:-3],
    "an example in prose": f"`{text('a')}`",
}
UNCLEAN_JSON = {
    "a repeated key": '{"text": "a", "text": "b"}',
    "NaN": '{"text": "a", "any": NaN}',
    "infinity": '{"text": "a", "any": 1e999}',
    "a line break in a string": '{"text": "a\nb"}',
    "a trailing comma": '{"text": "a",}',
    "quotes of Python": "{'text': 'a'}",
    "a bad escape": '{"text": "\\d"}',
    "half a character": '{"text": "\\ud800"}',
    "half a character as it is": '{"text": "\ud800"}',
    "too many digits": '{"text": "a", "any": ' + "9" * 5_000 + "}",
    "a missing brace": '{"text": "a"',
    "another brace": '{"text": "a"}}',
    "a string of arguments": '"{}"',
    "an end tag in a string": '{"text": "</tool></tool_call>"}',
    "a number as a string": '{"text": "a", "count": "7"}',
    "a number of another type": '{"text": "a", "count": 7.0}',
    "an invalid value": '{"text": 1}',
    "a missing argument": "{}",
    "a key beside the name": '{"text": "a"}, "id": "call_1"',
    "a server": '{"text": "a"}, "server": "local"',
    "deep nesting": '{"text": "a", "any": ' + "[" * 70 + "]" * 70 + "}",
}


def is_read_at_once(reply, monkeypatch, **options):
    """Hold a reply to the law; return whether all of its blocks are read in one step."""
    law_plain_reply(Given([reply], "none", options))
    read = []
    with monkeypatch.context() as patch:
        for reader in (whole._read_children, whole._read_json):
            patch.setattr(whole, reader.__name__, lambda *given, of=reader: read.append(of(*given)) or read[-1])
        found = xt.parse(reply, TOOLS, **options)
    count = len(found.calls) + len(found.errors)
    return 0 < count == sum(call is not None for call in read)


SLIPS = {
    "dsml": (
        '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="put"><｜｜DSML｜｜parameter name="text">a'
        "</｜｜DSML｜｜parameter></｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>"
    ),
    "kimi_k3": (
        '<|open|> tools <|sep|><|open|> call tool="put"<|sep|><|open|> argument key="text"<|sep|>a'
        "<|close|> argument <|sep|><|close|> call <|sep|><|close|> tools <|sep|>"
    ),
}


@pytest.mark.parametrize("dialect", SLIPS)
def test_a_form_that_is_a_slip_has_its_repair(dialect, monkeypatch):
    assert not is_read_at_once(SLIPS[dialect], monkeypatch, dialect=dialect)
    assert xt.parse(SLIPS[dialect], TOOLS, dialect=dialect).calls[0].repairs


class Given(Case):
    """A case with the tools above."""

    @property
    def tools(self):
        return TOOLS


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_block_is_read_at_once(name, monkeypatch):
    assert is_read_at_once(CLEAN[name], monkeypatch)
    assert is_read_at_once(f"<think>a</think>`b` {CLEAN[name]}\nthen {CLEAN[name]}</tool> c", monkeypatch)


@pytest.mark.parametrize("name", CLEAN_HERMES)
def test_a_clean_body_is_read_at_once(name, monkeypatch):
    assert is_read_at_once(CLEAN_HERMES[name] + "\n" + CLEAN_HERMES[name], monkeypatch, dialect="hermes")


@pytest.mark.parametrize("name", CLEAN_PAIRS)
def test_a_clean_call_between_delimiters_is_read_at_once(name, monkeypatch):
    dialect, reply = CLEAN_PAIRS[name]
    assert is_read_at_once(reply, monkeypatch, dialect=dialect)
    assert is_read_at_once(f"a {reply}\n{reply} b", monkeypatch, dialect=dialect, also="known")


@pytest.mark.parametrize("name", UNCLEAN_PAIRS)
def test_the_machine_reads_a_call_between_delimiters_that_is_not_clean(name, monkeypatch):
    assert not is_read_at_once(UNCLEAN_PAIRS[name], monkeypatch, dialect="qwen3_coder")
    is_read_at_once(f"{UNCLEAN_PAIRS[name]}\n{pairs(ARGUMENT)}", monkeypatch, dialect="qwen3_coder", strict=True)


@pytest.mark.parametrize("name", UNCLEAN)
def test_the_machine_reads_a_block_that_is_not_clean(name, monkeypatch):
    assert not is_read_at_once(UNCLEAN[name], monkeypatch)
    is_read_at_once(f"{UNCLEAN[name]}\n{CLEAN['a value']}]]></text></arguments></tool>", monkeypatch)
    is_read_at_once(UNCLEAN[name], monkeypatch, strict=True)


@pytest.mark.parametrize("dialect", ["forge", "hermes"])
@pytest.mark.parametrize("name", UNCLEAN_JSON)
def test_the_machine_reads_a_body_that_is_not_clean(name, dialect, monkeypatch):
    assert not is_read_at_once(body(UNCLEAN_JSON[name], dialect), monkeypatch, dialect=dialect)


@pytest.mark.parametrize("limits", [{"depth": 2}, {"elements": 4}, {"block_size": 80}])
def test_both_ways_keep_to_the_limits(limits, monkeypatch):
    nested = block("<text>a</text><size><all><item>b</item></all></size>")
    assert not is_read_at_once(nested, monkeypatch, limits=xt.Limits(**limits))
    is_read_at_once(nested * 3, monkeypatch, limits=xt.Limits(blocks=2))


def test_only_the_machine_reads_nodes_in_a_list_whose_items_differ_by_position():
    pair = {
        "anyOf": [{"type": "array", "prefixItems": [TEXT, {"$ref": "#/$defs/pair"}], "items": False}, {"type": "null"}]
    }
    tool = xt.Tool(name="put", parameters={"properties": {"v": {"$ref": "#/$defs/pair"}}, "$defs": {"pair": pair}})
    reply = block("<v><value></value><next><value></value><next>null</next></next></v>")
    parser = xt.Parser([tool], new_id=lambda: "")
    events = [*parser.feed(reply), *parser.close()]
    (call,) = xt.parse(reply, [tool], new_id=lambda: "").calls
    assert call == events[-1].call


@pytest.mark.parametrize(
    "between", ["", "\n", " \n\t", "\r\n", " " * 2_000, "\n\n    ", "```\n", "\\", "<!-- ", "\xa0", "`"]
)
def test_blocks_that_follow_each_other_are_read_at_once(between, monkeypatch):
    for dialect, clean in (("forge", CLEAN["types"]), ("forge", CLEAN["JSON"]), ("hermes", CLEAN_HERMES["JSON"])):
        reply = f"a {between.join([clean] * 4)}{between}b"
        assert is_read_at_once(reply, monkeypatch, dialect=dialect) or between.strip()
        is_read_at_once(reply, monkeypatch, dialect=dialect, limits=xt.Limits(blocks=2))


def test_threads_read_at_once():
    replies = [block(f"<text>{number}</text><any{number}>{number}</any{number}>") * 3 for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda reply: xt.parse(reply, TOOLS), replies))
    assert [call.arguments for reply in found for call in reply.calls] == [
        {"text": str(number), f"any{number}": str(number)} for number in range(200) for _ in range(3)
    ]


def test_without_tools_the_machine_reads_all():
    assert xt.parse(CLEAN["a value"]).calls[0].arguments == {"text": "x"}


def test_streams_do_not_read_at_once(monkeypatch):
    monkeypatch.setattr(whole, "_read_children", None)
    parser = xt.Parser(TOOLS)
    assert [*parser.feed(CLEAN["a value"]), *parser.close()]
