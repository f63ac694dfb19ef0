"""Records from `response_template`, what a checkpoint says of its own notation (DIALECTS.md, section 8).

What transformers reads with the same templates is the judge, where it is installed: `pip install transformers` needs no
torch for that.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dialects import test_dialect_laws as laws
from support.dialect_marks import marks_of, write
from support.registered import registered
from support.response_templates import CONTENT, NAMED, TEMPLATES, between, template
from support.template_replies import LAYOUTS, TOOLS, replies

import xmltools as xt
from xmltools.bridge import Settings
from xmltools.cli import main
from xmltools.dialects import Body, Dialect
from xmltools.dialects.expressions import alternatives
from xmltools.errors import XMLToolsError
from xmltools.parser.replies import build_reply

KNOWN_TOOLS = xt.load_tools(TOOLS)
REPLIES = list(replies())


def record(name: str) -> Dialect:
    return Dialect.from_response_template(TEMPLATES[name], f"template_{name}")


def read(dialect: Dialect, text: str, **options: Any) -> xt.Reply:
    return xt.parse(text, tools=KNOWN_TOOLS, dialect=dialect, **options)


def said(reply: xt.Reply) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in reply.calls]


@pytest.mark.parametrize("name", TEMPLATES)
def test_reads_what_models_of_a_template_write(name: str) -> None:
    dialect = record(name)
    for each in (each for each in REPLIES if each.template == name):
        for size in (len(each.text), 1, 7):
            parser = xt.Parser(KNOWN_TOOLS, dialect=dialect, starts_in_reasoning=LAYOUTS[name].starts_in_reasoning)
            chunks = (each.text[at : at + size] for at in range(0, len(each.text), size))
            reply = build_reply([event for chunk in chunks for event in parser.feed(chunk)] + parser.close())
            assert said(reply) == each.calls, each.about
            assert not reply.errors
            assert (reply.text.strip(), reply.reasoning.strip()) == (each.content, each.reasoning), each.about
            codes = {repair.code for call in reply.calls for repair in call.repairs}
            assert codes == ({"json_key"} if name == "wrapped" else set()), each.about


WRITTEN = [name for name in TEMPLATES if name != "wrapped"]  # which has no example: a wrapper is always a repair


@pytest.mark.parametrize("name", WRITTEN)
def test_writes_what_it_reads(name: str) -> None:
    dialect = record(name)
    example = xt.parse(dialect.example, dialect=dialect).calls[0]
    assert (example.name, example.clean) == ("get", True)
    assert example.arguments in ({"n": 1}, {"n": "1"})
    calls = [xt.ToolCall(id=str(n), name="get", arguments={"text": "a\n  b", "n": n}) for n in (0, 1)]
    reply = read(dialect, xt.render_calls(calls, tools=KNOWN_TOOLS, dialect=dialect))
    assert said(reply) == [(call.name, call.arguments) for call in calls]
    assert all(call.clean for call in reply.calls)
    assert not reply.text.strip()
    assert dialect.example.partition("get")[0].strip() in xt.render_instructions(KNOWN_TOOLS, dialect=dialect)


@pytest.mark.parametrize("name", ["json", "deepseek", "functionary", "qwen_text", "glm", "minimax", "dsml", "minicpm"])
def test_has_a_grammar(name: str) -> None:
    assert "root ::=" in xt.build_grammar(KNOWN_TOOLS, "gbnf", dialect=record(name))


def test_is_equal_to_the_known_record_where_both_say_the_same() -> None:
    for name, known in (("qwen_text", "qwen3_coder"), ("glm", "glm"), ("minimax", "minimax_m2"), ("dsml", "dsml")):
        made, own = record(name), xt.dialects.named(known)
        assert made.pairs is not None
        assert own.pairs is not None
        assert (made.opener, made.closer, made.example) == (own.opener, own.closer, own.example)
        assert (made.pairs.key, made.pairs.value_end) == (own.pairs.key, own.pairs.value_end)
        assert (made.pairs.name, made.pairs.end) == (own.pairs.name, own.pairs.end)
    for name, known in (("json", "hermes"), ("deepseek", "deepseek_v3"), ("python", "lfm2")):
        assert record(name).opener == xt.dialects.named(known).opener


def test_a_tokenizer_config_has_the_token_that_ends_the_turn() -> None:
    config = {"response_template": TEMPLATES["cohere"], "eos_token": {"content": "<|END_OF_TURN_TOKEN|>"}, "x": 1}
    dialect = Dialect.from_response_template(config, name="command")
    reply = read(dialect, "<|START_RESPONSE|>Yes.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>")
    assert (dialect.name, reply.text) == ("command", "Yes.")
    plain = Dialect.from_response_template({**config, "eos_token": None})
    assert read(plain, "Yes.<|END_OF_TURN_TOKEN|>").text == "Yes.<|END_OF_TURN_TOKEN|>"


def test_the_path_of_a_file_is_the_name_of_a_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"eos_token": "<|im_end|>", "response_template": TEMPLATES["json"]}), "utf-8")
    dialect = xt.dialects.named(str(path))
    assert xt.dialects.named(dialect.name) is dialect
    text = '<tool_call>{"name": "stop", "arguments": {}}</tool_call><|im_end|>'
    (call,) = xt.parse(text, dialect=str(path)).calls
    assert (call.name, call.dialect, call.clean) == ("stop", str(path), True)
    assert main(["dialects", str(path)]) == 0
    assert dialect.example in capsys.readouterr().out
    assert Settings(dialect=str(path)).dialect == str(path)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), ("{", "JSON file"), ("{}", "response_template")]
)
def test_a_file_without_a_template_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(XMLToolsError, match=message) as error:
        xt.dialects.named(str(path))
    assert str(error.value).startswith(f"dialect: {path}: ")


def test_several_literals_are_several_forms() -> None:
    calls = between(["<call>", "«call»"], ["<|end|>", "<|eos|>"], repeats=True, content="json", transform=CONTENT)
    dialect = Dialect.from_response_template(template(calls, content={}))
    body = '{"name": "get", "arguments": {"n": 1}}'
    for text in (f"<call>{body}<|end|>", f"«call»{body}<|end|>", f"<call>{body}<|eos|>"):
        reply = read(dialect, text)
        assert said(reply) == [("get", {"n": 1})]
        assert (reply.text, reply.calls[0].clean) == ("", True)


def test_text_is_kept_as_it_is_where_the_template_does() -> None:
    body = '<tool_call>{"name": "stop", "arguments": {}}</tool_call>'
    for strip, text in ((True, "I look."), (False, "I look.\n\n")):
        calls = TEMPLATES["json"]["fields"]["tool_calls"]
        described = template(calls, content={"content_args": {"strip": strip}})
        assert read(Dialect.from_response_template(described), f"I look.\n\n{body}").text == text


def calls_of(name: str, **changed: Any) -> dict[str, Any]:
    """A template with other words in its field of calls; None leaves a word out."""
    described = copy.deepcopy(TEMPLATES[name])
    field = described["fields"]["tool_calls"]
    field.update(changed)
    for key in [key for key, value in changed.items() if value is None]:
        del field[key]
    return described


def tag(pattern: str, **more: Any) -> dict[str, Any]:
    return {"content_args": {"tag_pattern": pattern, **more}}


REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([], "expected an object"),
    "no template": ({"model_max_length": 1}, "no `response_template`"),
    "older": ({"response_schema": {"x-regex": "(.*)"}}, "older response_schema"),
    "version": ({**TEMPLATES["json"], "version": 2}, "version: expected 1"),
    "unknown key": ({**TEMPLATES["json"], "extra": 2}, "extra: no key of a template"),
    "no calls": ({"start_anchor": "x", "fields": {"content": {}}}, "no `tool_calls`"),
    "other field": (template(TEMPLATES["json"]["fields"]["tool_calls"], citations={}), "fields.citations: "),
    "unknown key of a field": (calls_of("json", opens="x"), "fields.tool_calls.opens: no key of a field"),
    "no beginning": (calls_of("json", open=None), "fields.tool_calls: there is no `open`"),
    "empty beginning": (calls_of("json", open=""), "fields.tool_calls.open: expected a string"),
    "both": (calls_of("json", open_pattern="x"), "fields.tool_calls.open_pattern: there is `open` too"),
    "same": (calls_of("json", close="<tool_call>"), "fields.tool_calls: its delimiters can't be told apart"),
    "any characters before": (
        calls_of("harmony", open_pattern=r"[^<]*<x>(?P<name>\w+)<y>"),
        "any characters and '<x>'",
    ),
    "look around": (
        calls_of("json", open=None, open_pattern="(?<!a)<x>"),
        "open_pattern: the expression can't be told",
    ),
    "flags": (calls_of("json", open=None, open_pattern="(?i)<x>"), "open_pattern: the expression can't be told"),
    "only at the beginning": (calls_of("json", open=None, open_pattern="^<x>"), "a call may begin anywhere"),
    "long": (calls_of("json", open="<" + "x" * 1_000_000), "fields.tool_calls.open: there are more than"),
    "repeated": (calls_of("json", open=None, open_pattern="(?:<x>)+"), "open_pattern: the expression can't be told"),
    "not closed": (calls_of("json", open=None, open_pattern="(<x>"), "is not closed"),
    "escape": (calls_of("json", open=None, open_pattern=r"\b<x>"), r"the escape \b at character 0 is not a literal"),
    "two ends of a name": (
        calls_of("harmony", open_pattern=r"<x>(?P<name>\w+).*a.*<y>"),
        "could end in several places",
    ),
    "nothing after the name": (calls_of("harmony", open_pattern=r"<x>(?P<name>\w+).*"), "ends with no literal"),
    "no name": (calls_of("glm", transform=None), "transform: where the content is xml-inline, the name is a group"),
    "name at the end": (
        calls_of("json", close=None, close_pattern=r"<end (?P<name>\w+)>", transform=NAMED),
        "close_pattern: ",
    ),
    "interpolated": (
        calls_of("json", transform={"name": "x{content.name}", "arguments": "{content.args}"}),
        "transform.name: expected a {placeholder}",
    ),
    "constant name": (
        calls_of("json", transform={"name": "search", "arguments": "{content}"}),
        "transform.name: expected a {placeholder}",
    ),
    "deep": (
        calls_of("json", transform={"name": "{content.a.b.c}", "arguments": "{content.a.b.d}"}),
        "transform: name and arguments are keys of one object",
    ),
    "no such group": (
        calls_of("json", transform={"name": "{tool}", "arguments": "{content}"}),
        "transform.name: {tool} is neither",
    ),
    "lines": (calls_of("glm", content="kv-lines"), "content: 'kv-lines': a record has calls that are json, xml-inline"),
    "text": (calls_of("glm", content="text"), "content: 'text': a record has calls"),
    "keys without a tag": (
        calls_of("glm", **tag(r"\[(?P<key>\w+)\](?P<value>.*?)\[/\]")),
        "tag_pattern: '[': delimiters of keys and values begin with <",
    ),
    "no value": (calls_of("glm", **tag("<(?P<key>.*?)>")), "tag_pattern: expected one form, with the groups"),
    "typed values": (
        calls_of("glm", **tag("<k>(?P<key>.*?)</k><v>(?P<value>.*?)</v>", value_parser={"name": "json"})),
        "value_parser: 'json': values are text in a record",
    ),
    "one side": (calls_of("glm", **tag(r"<k>(?P<key>.*?)</k><v>\s*(?P<value>.*?)</v>")), "one side of a value only"),
    "no end": (calls_of("glm", close=None), "close: keys and values need a delimiter"),
    "two delimiters": (
        calls_of("gemma", content_args={"unquoted_keys": True, "string_delims": [["«", "»"]]}),
        "string_delims: a record has one delimiter",
    ),
    "strings in an object": (calls_of("json", content_args={"string_delims": [["'", "'"]]}), "string_delims: "),
    "open reasoning": (
        template(TEMPLATES["json"]["fields"]["tool_calls"], thinking={"open": "<think>"}),
        "fields.thinking: reasoning stands between two delimiters",
    ),
    "parsed text": (
        template(TEMPLATES["json"]["fields"]["tool_calls"], content={"content": "json"}),
        "fields.content.content: text and reasoning are text as it is",
    ),
}


@pytest.mark.parametrize("about", REFUSED)
def test_what_a_record_cannot_say_is_refused_with_its_place(about: str) -> None:
    described, message = REFUSED[about]
    with pytest.raises(XMLToolsError, match=r"^response template: ") as error:
        Dialect.from_response_template(described)
    assert message in str(error.value)


HOSTILE = ["(a+)+$", "(?:a|a)*b", "(" * 5000, "(?:" * 40 + "a" + ")" * 40, "(?:a|b)" * 12, "(?:a|b|c){9}", "a{99999}"]
HOSTILE += ["[", "\\", "(?P<n", "a**", "x*" * 2000, "[" * 4000, "(?P<a>" + "(a|b)" * 700, "\\s*" * 1300]


@pytest.mark.parametrize("expression", HOSTILE)
def test_no_expression_takes_long(expression: str) -> None:
    with pytest.raises(XMLToolsError):
        Dialect.from_response_template(calls_of("json", open=None, open_pattern=expression))


def test_expressions_are_read_as_literals() -> None:
    assert alternatives(r"\s*(?:<\|a\|>|<b>)\n?") == alternatives(r"\s*<\|a\|>\n*|\s*<b>[ \t\n]*")
    assert alternatives("a(?:b)?c") == (("abc",), ("ac",))
    assert alternatives(r"\u00e9\x41[.][\]]") == (("éA.]",),)


def _parts(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(part for key, each in inside for part in _parts(each, (*at, key)))]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_part_of_a_wrong_type_is_refused_or_harmless(name: str) -> None:
    for at in _parts(TEMPLATES[name]):
        for value in (None, 1, True, "", "x", [], ["x"], [1], {}, {"a": 1}):
            described = copy.deepcopy(TEMPLATES[name])
            if at:
                inner = described
                for key in at[:-1]:
                    inner = inner[key]
                inner[at[-1]] = value
            else:
                described = value
            try:
                assert isinstance(Dialect.from_response_template(described), Dialect)
            except XMLToolsError as error:
                assert str(error).startswith("response template: ")


# The laws of all dialects hold for these, too.


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    records = [record(name) for name in WRITTEN]
    names = [each.name for each in records]
    own = {each.name: marks_of(each, ("get", "put", "no"), ("n", "s", "list")) for each in records}
    whole = {
        each.name: [write(form, "get", {"s": "x"}, gap) for form in each.forms for gap in ("", "\n")]
        for each in records
    }
    mixed = [
        *(mark for marks in own.values() for mark in marks),
        *[call for calls in whole.values() for call in calls] * 6,
    ]
    monkeypatch.setattr(laws, "NAMES", names)
    monkeypatch.setattr(laws, "OWN", laws.OWN | own)
    monkeypatch.setattr(laws, "WHOLE", laws.WHOLE | whole)
    monkeypatch.setattr(laws, "MIXED", (*laws.MIXED[-300:], *mixed))
    with registered(*records):
        yield


@pytest.mark.parametrize(
    "law",
    [
        laws.test_chunks_do_not_matter,
        laws.test_spans_tile_the_text_and_text_is_what_stands_there,
        laws.test_what_was_cut_off_is_no_call_that_the_whole_does_not_have,
    ],
)
def test_laws_hold(known: None, law: Callable[[], None]) -> None:
    law()


@pytest.mark.parametrize("name", WRITTEN)
def test_laws_of_each_hold(known: None, name: str) -> None:
    laws.test_a_prefix_of_a_call_is_none(f"template_{name}")
    laws.test_deltas_are_the_value(f"template_{name}")
    laws.test_chunks_do_not_matter_where_white_space_is_long(f"template_{name}", 1_024)
    laws.test_chunks_do_not_matter_at_the_limit_of_a_block(f"template_{name}")


# What transformers says.


def theirs(name: str, text: str, tools: bool = True) -> Any:
    """The calls that transformers reads; None if it raises."""
    parse_response = pytest.importorskip("transformers.utils.chat_parsing").parse_response
    try:
        message = parse_response(text, TEMPLATES[name], prefix="", tools=TOOLS if tools else None)
    except (ValueError, KeyError, TypeError):
        return None
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]


@pytest.mark.parametrize("name", TEMPLATES)
def test_transformers_reads_the_same_calls(name: str) -> None:
    assert len(REPLIES) >= 200
    for each in (each for each in REPLIES if each.template == name):
        found = theirs(name, each.text)
        assert found is not None, each.about
        assert json.dumps(found) == json.dumps(each.calls), each.about  # with the types of values, too


QWEN = "<tool_call><function=get>{}</function></tool_call>"
OBJECT = '{"name": "get", "arguments": {"n": 1}}'
DIFFERENCES: dict[str, tuple[str, str, bool, Any, Any, str]] = {
    # about: template, reply, whether the tools are given, ours, theirs (None if it raises), why
    "an end delimiter in a string": (
        "json",
        '<tool_call>{"name": "get", "arguments": {"text": "a</tool_call>b"}}</tool_call>',
        True,
        [("get", {"text": "a</tool_call>b"})],
        None,
        "Their region ends at the first end delimiter; ours where the object does (4.1).",
    ),
    "an end delimiter in a value": (
        "qwen_text",
        QWEN.format("<parameter=text>a</parameter>b</parameter>"),
        True,
        [("get", {"text": "a</parameter>b"})],
        [("get", {"text": "a"})],
        "A value ends where something of the call follows (3.2).",
    ),
    "indentation": (
        "qwen_text",
        QWEN.format("<parameter=text>\n    return\n</parameter>"),
        True,
        [("get", {"text": "    return"})],
        [("get", {"text": "return"})],
        "The template drops all white space, a record one line break on each side, as chat templates write them (8.4).",
    ),
    "a reply that is cut off": (
        "qwen_text",
        "<tool_call><function=get><parameter=n>1</parameter><parameter=text>ab",
        True,
        [],
        [("get", {"n": 1})],
        "What is cut off is no call: an argument could be missing.",
    ),
    "a call that is only shown": (
        "json",
        f"```\n<tool_call>{OBJECT}</tool_call>\n```\n\nSo it is done.\n\nDo you see?",
        True,
        [],
        [("get", {"n": 1})],
        "What is in a code fence in the middle of a reply is text (1.3).",
    ),
    "a number that is a text": (
        "qwen_tags",
        QWEN.format("<parameter=text>1.50</parameter>"),
        True,
        [("get", {"text": "1.50"})],
        [("get", {"text": 1.5})],
        "The tool says that it is a text; the template's parser of values does not know the tool.",
    ),
    "no tool": (
        "qwen_tags",
        QWEN.format("<parameter=n>1</parameter>"),
        False,
        [("get", {"n": "1"})],
        [("get", {"n": 1})],
        "Without the tool a value between delimiters is text (8.4).",
    ),
    "a hyphen in a name": (
        "harmony",
        '<|channel|>commentary to=functions.get-it <|constrain|>json<|message|>{"n": 1}<|call|>',
        False,
        [("get-it", {"n": 1})],
        [("get", {"n": 1})],
        "The group of the name takes no hyphen, and what follows takes any characters: that is another tool (8.3).",
    ),
    "an argument twice": (
        "glm",
        "<tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value><arg_key>n</arg_key><arg_value>2</arg_value></tool_call>",
        True,
        [],
        [("get", {"n": 2})],
        "Nobody knows which of the two is meant.",
    ),
    "a value of a wrong type": (
        "glm",
        "<tool_call>get<arg_key>n</arg_key><arg_value>many</arg_value></tool_call>",
        True,
        [],
        [("get", {"n": "many"})],
        "Arguments that the tool refuses are an error.",
    ),
    "an unknown tool": (
        "json",
        '<tool_call>{"name": "nothing", "arguments": {}}</tool_call>',
        True,
        [],
        [("nothing", {})],
        "A call of a tool that is not given is an error.",
    ),
    "a missing end delimiter": (
        "json",
        f"<tool_call>{OBJECT}<tool_call>{OBJECT}</tool_call>",
        True,
        [("get", {"n": 1}), ("get", {"n": 1})],
        None,
        "It is repaired where another call follows (4.1).",
    ),
    "text between pairs": (
        "qwen_text",
        QWEN.format(" and <parameter=n>1</parameter>"),
        True,
        [],
        [("get", {"n": 1})],
        "It could be part of an argument (3.4).",
    ),
    "one object where a list is": (
        "cohere",
        '<|START_ACTION|>{"tool_name": "get", "parameters": {"n": 1}}<|END_ACTION|>',
        True,
        [("get", {"n": 1})],
        None,
        "A list of one and its only item say the same.",
    ),
}


@pytest.mark.parametrize("about", DIFFERENCES)
def test_what_is_read_otherwise_than_by_transformers(about: str) -> None:
    name, text, has_tools, ours, _, _ = DIFFERENCES[about]
    reply = xt.parse(text, tools=KNOWN_TOOLS if has_tools else None, dialect=record(name))
    assert said(reply) == ours
    assert ours or reply.errors or "<tool_call>" in reply.text


@pytest.mark.parametrize("about", DIFFERENCES)
def test_what_transformers_reads_there(about: str) -> None:
    name, text, has_tools, _, found, why = DIFFERENCES[about]
    assert why
    assert theirs(name, text, has_tools) == found


def shipped() -> dict[str, dict[str, Any]]:
    """The templates in transformers itself, for models whose checkpoints have none."""
    folder = Path(pytest.importorskip("transformers").__file__).parent
    tree = ast.parse((folder / "cli/serving/utils.py").read_text("utf-8"))
    made = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    values = ast.literal_eval(made["_RESPONSE_TEMPLATE_FALLBACKS"])
    return {families[0]: described for families, described in values.items()}


def test_the_templates_in_transformers_are_read() -> None:
    found = {name: Dialect.from_response_template(described) for name, described in shipped().items()}
    bodies = {name: each.body for name, each in found.items() if name in ("qwen2", "qwen3_5", "gemma4")}
    assert bodies == {"qwen2": Body.JSON, "qwen3_5": Body.PAIRS, "gemma4": Body.PAIRS}
