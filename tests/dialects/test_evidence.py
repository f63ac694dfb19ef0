"""Which dialect it is, by the delimiters in a chat template or in a vocabulary: the right one, or none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from support.response_templates import CONTENT, template

import xmltools as xt
from xmltools import dialects
from xmltools.dialects import FORGE, Dialect, for_model, told_by
from xmltools.dialects.template_text import HOLE, text_of
from xmltools.errors import XMLToolsError

WORDS = ("Tool", "Key", "Value")
TOOL = xt.Tool(name="Tool", parameters={"type": "object", "properties": {"Key": {"type": "string"}}})
CALL = xt.ToolCall(id="1", name="Tool", arguments={"Key": "Value"})
BARE = ("llama3_json", "pythonic", "tag_per_tool")
"""Dialects without delimiters: their templates have to say more."""
WRITTEN = [each for each in dialects.all() if (each.written is not None or each is FORGE) and each.name not in BARE]
FRAMED = {"ernie": "hermes"}
"""Dialects that differ from another one only in the frame around text."""


def meant(dialect: Dialect) -> Dialect:
    """The dialect that a template tells which only writes calls."""
    return dialects.named(FRAMED.get(dialect.name, dialect.name))


def written(dialect: Dialect) -> list[str]:
    """The text around the name of a tool, and the name and value of an argument, as we write calls."""
    return re.split("|".join(WORDS), xt.render_calls([CALL], [TOOL], dialect=dialect))


def template_of(dialect: Dialect) -> str:
    """A template that writes calls as we do."""
    return "{{ call.x }}".join(re.sub(r"\{\Z", "{{ '{' }}", piece) for piece in written(dialect))


@pytest.mark.parametrize("dialect", WRITTEN, ids=lambda each: each.name)
def test_a_template_that_writes_calls_as_a_record_says_is_of_that_dialect(dialect: Dialect) -> None:
    assert told_by(template_of(dialect)) is meant(dialect)
    assert told_by(template_of(dialect) + "".join(dialect.frame)) is dialect


@pytest.mark.parametrize("dialect", dialects.all(), ids=lambda each: each.name)
def test_an_example_is_of_no_other_dialect(dialect: Dialect) -> None:
    assert told_by(dialect.example) in (meant(dialect), None)


@pytest.mark.parametrize("dialect", WRITTEN, ids=lambda each: each.name)
def test_strings_and_constants_are_put_together(dialect: Dialect) -> None:
    pieces = [json.dumps(piece, ensure_ascii=False) for piece in written(dialect)]
    joined = " ~ call.x | string + ".join(pieces)
    assert told_by(f"{{%- if calls -%}}{{{{- {joined} -}}}}{{%- endif -%}}") is meant(dialect)
    names = "".join(f"{{%- set part{number} = {piece} %}}\n" for number, piece in enumerate(pieces))
    parts = "{{- call['x'] }}".join(f"{{{{- part{number} }}}}" for number in range(len(pieces)))
    assert told_by(names + parts) is meant(dialect)


JSON = """{%- for call in message.tool_calls %}
{{- START ~ '{"name": "' ~ call.name ~ '", "arguments": ' ~ (call.arguments | tojson) ~ '}' ~ END }}
{%- endfor %}"""


def json_template(start: str, end: str) -> str:
    return JSON.replace("START", repr(start)).replace("END", repr(end))


TEMPLATES = {
    "hermes": [
        json_template("<tool_call>\n", "\n</tool_call>"),
        'Write {"name": NAME, "arguments": …} in <tool_call> tags.{{ \'<tool_call>\' }}{{ call | tojson }}</tool_call>',
        # of Ollama
        '{{- range .ToolCalls }}\n<tool_call>\n{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}'
        "\n</tool_call>\n{{- end }}",
    ],
    "granite": [json_template("<|tool_call|>[", "]")],
    "nemotron_nano": [json_template("<TOOLCALL>[", "]</TOOLCALL>"), json_template("<tool_calls>[", "]</tool_calls>")],
    "minimax_m1": [
        "{{ '<tool_calls>\\n' }}{% for c in calls %}{{ '{\"name\": \"' + c.name + '\", ' }}"
        "{{ '\"arguments\": ' + c.arguments | tojson + '}\\n' }}{% endfor %}{{ '</tool_calls><end_of_sentence>' }}"
    ],
    "ernie": [json_template("<tool_call>\n", "\n</tool_call>") + "<response>\n{{ message.content }}\n</response>"],
    "phi4mini": [json_template(" functools[", "]")],
    "mistral": ["{{ '[TOOL_CALLS][' + calls + ']' }}", "[TOOL_CALLS]{{ c.name }}[ARGS]{{ c.arguments }}"],
    "gigachat3": [
        "{%- set tokens = namespace(call='<|function_call|>') %}{{ tokens.call + say(call) }}",
        "{%- set role = 'function call' %}{{ '<|message_sep|>\\n\\n' + role + '<|role_sep|>\\n' }}",
    ],
    "qwen3_coder": [
        "<tool_call>\n<function={{ f }}>\n{%- for k, v in a|items %}\n{{- '<parameter=' + k + '>\\n' }}\n"
        "{%- set v = v if v is string else v | tojson %}\n{{- v }}\n{{- '\\n</parameter>\\n' }}{% endfor %}"
        "</function>\n</tool_call>"
    ],
    "mimo": [
        "<tool_call>\n<function={{ f }}>\n{%- for k, v in a|items %}\n{{- '<parameter=' + k + '>' }}\n"
        "{%- if v is string %}{{ v }}{% else %}{{ v | tojson }}{% endif %}\n{{- '</parameter>\\n' }}{% endfor %}"
        "</function>\n</tool_call>"
    ],
    "glm": [
        "{{ '<tool_call>' + c.name }}{% for k, v in a.items() %}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}"
        "</arg_value>{% endfor %}</tool_call>",
        # what a prompt says of it, in the words of the template
        "Say <tool_call>{function-name}\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
        '</tool_call>{"name":1}',
    ],
    "hunyuan": [
        "<tool_calls><tool_call>{{ c }}<tool_sep><arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value></tool_call>"
        "</tool_calls>"
    ],
    "dsml": [
        "{%- set t = '｜DSML｜' %}{{ '<' + t + 'tool_calls>\\n<' + t + 'invoke name=\"' + c.name + '\">\\n' }}"
        "{{ '<' + t + 'parameter name=\"' + k + '\">' + v + '</' + t + 'parameter>\\n</' + t + 'invoke>' }}"
        "{{ '</' + t + 'tool_calls>' }}"
    ],
    "kimi_k3": [
        "{%- macro tag(word) %}{{ '<|open|>' + word + '<|sep|>' }}{% endmacro %}{{ '<|close|>' + word + '<|sep|>' }}"
        "{{ tag('tools') }}{{ tag('call', tool) }}{{ tag('argument', key) }}"
    ],
    "deepseek_v3": [
        "{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + c.type + '<｜tool▁sep｜>' + c.name + '\\n```json\\n' + "
        "c.arguments + '\\n```<｜tool▁call▁end｜>' }}function<｜tool▁calls▁end｜>",
    ],
    "harmony": [
        "{{ '<|start|>assistant to=' }}{{ 'functions.' + c.name + '<|channel|>commentary json<|message|>' }}<|call|>"
    ],
    "llama3_json": [
        'Answer {"name": name of the function, "parameters": the arguments}.{{ call }}<|eot_id|>',
        "{{ '<|python_tag|>' + code }}" + json_template("", "<|eom_id|>").replace('"arguments"', '"parameters"'),
    ],
    "lfm2": ["{{ '<|tool_response_start|>' + content + '<|tool_response_end|>' }}"],
}


@pytest.mark.parametrize(("name", "template"), [(name, each) for name, all in TEMPLATES.items() for each in all])
def test_the_ways_in_which_templates_write_calls(name: str, template: str) -> None:
    found = told_by(template)
    assert found is not None and found.name == name


UNTOLD = [
    "",
    "{{ content }}",
    "{{",
    "{% set x = '",
    "{#",
    "{% if '<arg_key>' in content and '<tool_call>' in content %}{{ content }}{% endif %}",
    "<|im_start|>{{ role }}\n{{ content }}<|im_end|>",
    # delimiters without what is between them, and a notation that is not known
    "Write a call in <tool_call></tool_call>.",
    "<tool_call>{{ name }}<with>{{ key }}</with></tool_call>",
    # delimiters that several dialects have
    "{{ '<|python_tag|>' + call }}<|eot_id|>",
    "<tool_call><function={{ f }}><parameter={{ k }}>\nvalue</parameter></function></tool_call>",
    # those of two
    json_template("<tool_call>\n", "\n</tool_call>") + json_template("<TOOLCALL>[", "]</TOOLCALL>"),
    # Python has none
    "<function_calls>{{ calls }}</function_calls>",
]


@pytest.mark.parametrize("template", UNTOLD)
def test_what_tells_no_dialect_is_none(template: str) -> None:
    assert told_by(template) is None


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a {{- 'b' -}} c", "abc"),
        ("{{ 'a\\n' ~ x.y['z'] ~ \"'\" }}", f"a\n{HOLE}'{HOLE}z"),
        ("{{ 'a' if b == 'c' else 'd' }}", "ad"),
        ("  {% if x %}\n  {% endif %}\nb", "b"),
        ("{% set x = 'a' ~ 'b' %}{{ x ~ x }}", f"abab{HOLE}a{HOLE}b"),
        ("{% set t = ':o' %}{% set x = '<a{}>'.format(t) %}{{ x }}", f"<a:o>{HOLE}:o{HOLE}<a:o>"),
        ("{{ {'a': {'b': 1}} }}c", f"ab{HOLE}c"),
        ("{# {{ 'a' }} #}b", "b"),
        ("{{ f('a', g('b')) }}", f"{HOLE}a{HOLE}b"),
        ("{{ 'a", f"{HOLE}"),
    ],
)
def test_the_text_of_a_template(template: str, text: str) -> None:
    assert text_of(template) == text


ODD = ("{{", "{%", "{#", "'", '{{"', "{{(", "{% set a = a ~ a %}", " ", "{{ 'a' ~", "\n ", "\\", "{{ 'a' + ")


@pytest.mark.parametrize("piece", ODD)
def test_a_template_is_read_in_time_that_grows_with_it(piece: str) -> None:
    began = process_time()
    told_by("{% set a = 'aaaaaaaa' %}" + piece * (50_000 // len(piece)))
    assert process_time() - began < 5


VOCABULARIES = {
    "glm": "<|user|> <tool_call> </tool_call> <arg_key> </arg_key> <arg_value> </arg_value> <think>",
    "deepseek_v3": "<｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> <｜tool▁sep｜> "
    "<｜tool▁call▁end｜> <｜tool▁calls▁end｜>",
    "dsml": "｜DSML｜ <｜User｜> <think>",
    "kimi_k2": "<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|> "
    "<|tool_call_argument_begin|>",
    "kimi_k3": "<|open|> <|close|> <|sep|> <|end_of_msg|>",
    "mistral": "[INST] [TOOL_CALLS] [TOOL_RESULTS]",
    "harmony": "<|start|> <|end|> <|message|> <|channel|> <|constrain|> <|call|> <|return|>",
    "pythonic": "<|python_start|> <|python_end|> <|eot|>",
    "gemma": '<|tool_call> <tool_call|> <|"|>',
    "lfm2": "<|tool_call_start|> <|tool_call_end|>",
    "minimax_m2": "<minimax:tool_call> </minimax:tool_call> [e~[",
    "minimax_m3": "]<]minimax[>[ [e~[",
    "cohere": "<|START_ACTION|> <|END_ACTION|>",
    "seed_oss": "<seed:tool_call> </seed:tool_call> <seed:think>",
    "internlm2": "<|action_start|> <|action_end|> <|plugin|>",
    "hunyuan": "<tool_calls> </tool_calls> <tool_call> </tool_call> <tool_sep> <arg_key> </arg_key> <arg_value> "
    "</arg_value>",
}


@pytest.mark.parametrize(("name", "tokens"), VOCABULARIES.items())
def test_tokens_tell_a_dialect(name: str, tokens: str) -> None:
    found = told_by(vocabulary=tokens.split())
    assert found is not None and found.name == name


@pytest.mark.parametrize(
    "tokens",
    [
        "",
        "<s> </s> <unk>",
        "<|im_start|> <tool_call> </tool_call> <think>",  # of Qwen, whose models write two notations
        "<|python_tag|> <|eot_id|> <|eom_id|>",  # of Llama, and of what was made of it
        "<|tool_call|> <tool_call> </tool_call>",
        "｜DSML｜ <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> <｜tool▁sep｜> <｜tool▁call▁end｜> <｜tool▁calls▁end｜>",
        "{ [ < tools call function <tool name commentary argument",
    ],
)
def test_tokens_that_several_have_tell_none(tokens: str) -> None:
    assert told_by(vocabulary=tokens.split()) is None


CONFIG: dict[str, Any] = {
    "added_tokens_decoder": {"1": {"content": "<arg_key>"}, "2": {"content": "</arg_key>"}},
    "additional_special_tokens": ["<tool_call>", "</tool_call>", {"content": "<arg_value>"}],
    "extra_special_tokens": {"value_end": "</arg_value>"},
    "eos_token": {"content": "<|user|>"},
    "model_max_length": 1,
}


def test_the_tokens_and_the_template_of_a_tokenizer_config(tmp_path: Path) -> None:
    coder = template_of(dialects.named("qwen3_coder"))
    path = tmp_path / "tokenizer_config.json"
    for config, name in (
        (CONFIG, "glm"),
        (CONFIG | {"chat_template": coder}, "qwen3_coder"),
        (CONFIG | {"chat_template": "{{ content }}"}, "glm"),
        (
            CONFIG | {"chat_template": [{"name": "default", "template": "x"}, {"name": "tool_use", "template": coder}]},
            "qwen3_coder",
        ),
    ):
        path.write_text(json.dumps(config), encoding="utf-8")
        assert for_model("", vocabulary=config).name == name
        assert for_model("", vocabulary=path).name == for_model("", vocabulary=str(path)).name == name
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    path.with_name("chat_template.jinja").write_text(coder, encoding="utf-8")
    assert for_model(vocabulary=path).name == "qwen3_coder"


def test_a_response_template_counts_where_the_chat_template_tells_nothing(tmp_path: Path) -> None:
    call = {"open": "<act>", "close": "</act>", "repeats": True, "content": "json", "transform": CONTENT}
    described = CONFIG | {"chat_template": "x", "response_template": template(call)}
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(described), encoding="utf-8")
    for vocabulary in (described, path, str(path)):
        found = for_model(vocabulary=vocabulary)
        assert xt.parse('<act>{"name": "f", "arguments": {}}</act>', dialect=found).calls[0].name == "f"
    assert dialects.named(found.name).name == found.name == str(path)
    assert for_model(vocabulary=described, chat_template=template_of(dialects.named("lfm2"))).name == "lfm2"
    assert for_model(vocabulary=described | {"response_template": {"fields": 5}}).name == "glm"


def test_a_template_comes_before_tokens_and_these_before_a_name() -> None:
    coder = template_of(dialects.named("qwen3_coder"))
    assert for_model("Qwen/Qwen3-8B", chat_template=coder, vocabulary=CONFIG).name == "qwen3_coder"
    assert for_model("Qwen/Qwen3-8B", chat_template="x", vocabulary=CONFIG).name == "glm"
    assert for_model("Qwen/Qwen3-8B", chat_template="x", vocabulary=["<tool_call>"]).name == "hermes"
    assert for_model("meta-llama/Llama-2-7b-chat-hf", chat_template=coder).name == "qwen3_coder"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chat_template": 5}, "chat_template: expected the text of a template, got 5"),
        ({"vocabulary": 5}, "vocabulary: expected special tokens"),
        ({"vocabulary": [5]}, "vocabulary: expected special tokens"),
        ({"vocabulary": b"x"}, "vocabulary: expected special tokens"),
        ({"vocabulary": "no/such/file"}, "can't be read: No such file or directory"),
        ({"chat_template": "x"}, "give the name of the model too"),
        ({"vocabulary": []}, "give the name of the model too"),
        ({"model": "no/such", "vocabulary": []}, "no dialect is known for the model 'no/such'"),
    ],
)
def test_what_tells_nothing_is_an_error(given: dict[str, Any], said: str) -> None:
    with pytest.raises(XMLToolsError, match=said):
        for_model(**given)


@pytest.mark.parametrize(("content", "said"), [("{", "expected JSON"), ("[]", "expected an object")])
def test_a_file_that_is_no_tokenizer_config_is_an_error(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(XMLToolsError, match=said):
        for_model(vocabulary=path)
