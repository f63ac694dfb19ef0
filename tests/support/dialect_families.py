"""Hostile texts in other dialects than Forge's: what makes a reader look again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xmltools import dialects
from xmltools.parser import parse
from xmltools.tools import Tool

__all__ = ["ALSO_GROWING", "GROWING", "TOOLS"]

TOOLS = [Tool(name="w", parameters={"properties": {"p": {"type": "string"}, "q": {"type": "string"}}})]
QWEN = "<tool_call>\n<function=w>\n<parameter=p>\n"
GLM = "<tool_call>w<arg_key>p</arg_key><arg_value>"
TAGS = "<w><p>"
M3 = "]<]minimax[>["
NESTED = f'{M3}<tool_call>{M3}<invoke name="w">'
JSON = '<tool_call>{"name": "w", "arguments": {"p": "'
KIMI = "<|tool_call_begin|>w:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
DSML = '<｜DSML｜tool_calls><｜DSML｜invoke name="w"><｜DSML｜parameter name="p">'
MINIMAX = '<minimax:tool_call><invoke name="w"><parameter name="p">'
STEP3 = '<｜tool_calls_begin｜><steptml:invoke name="w"><steptml:parameter name="p">'
K2 = "<ifm|tool_calls><ifm|tool_call>w\n<ifm|arg_key>p</ifm|arg_key>"
K3 = '<|open|>tools<|sep|><|open|>call tool="w"<|sep|>'
MINICPM = '<function name="w"><param name="p">'
GROWING = {
    "tags in a value": ("qwen3_coder", QWEN, "<"),
    "ends that nothing follows": ("qwen3_coder", QWEN, "</parameter> x "),
    "ends and white space": ("qwen3_coder", QWEN, "</parameter>" + " " * 900 + "x"),
    "arguments": ("qwen3_coder", QWEN, "\n<parameter=p>"),
    "examples": ("qwen3_coder", QWEN, "\n<function=w>"),
    "ends of examples": ("qwen3_coder", QWEN, "\n</function>\n"),
    "cut marks": ("qwen3_coder", QWEN, "</param"),
    "arguments that claim an end": ("qwen3_coder", QWEN, "<parameter=q> x "),
    "ends in a list that claims one": ("qwen3_coder", f"{QWEN}<parameter=q>[", "</parameter> x "),
    "whole examples": ("qwen3_coder", QWEN, "<function=w>\n<parameter=p>x</parameter></function> "),
    "ends of calls in an example": ("qwen3_coder", f"{QWEN}<function=w>\n<parameter=p>", " </function> x"),
    "ends of values in an example": ("qwen3_coder", f"{QWEN}<function=w>\n<parameter=p>", "</parameter> x "),
    "values without ends": ("qwen3_coder", "", f"{QWEN}x\n</function>\n</tool_call>\n"),
    "calls without ends": ("qwen3_coder", "", f"{QWEN}x\n"),
    "damaged ends": ("qwen3_coder", QWEN, "</paramete x "),
    "ends twice": ("qwen3_coder", QWEN, "</parameter>"),
    "calls that wait": (
        "qwen3_coder",
        "<tool_call>\n<function=w>\nx",
        f"{QWEN}x\n</parameter>\n</function>\n</tool_call> y",
    ),
    "text after a call that waits": (
        "qwen3_coder",
        f"<tool_call> {QWEN}x\n</parameter>\n</function>\n</tool_call>",
        " y",
    ),
    "calls that are shown after errors": (
        "qwen3_coder",
        "",
        f"<tool_call>\n<function=w>\nx{QWEN}x\n</parameter>\n</function>\n</tool_call> y</parameter>\n",
    ),
    "damaged starts": ("qwen3_coder", f"{QWEN}</parameter>", "<pax "),
    "arguments of a broken call": ("qwen3_coder", f"{QWEN}x</parameter> y ", "<parameter=q>x</parameter>"),
    "damaged ends of Kimi K3": ("kimi_k3", f'{K3}<|open|>argument key="p"<|sep|>', "<|close|>argum "),
    "calls of Kimi K3 without ends": ("kimi_k3", "", f'{K3}<|open|>argument key="p"<|sep|>x'),
    "line breaks": ("qwen3_coder", QWEN, "\n"),
    "start tags": ("qwen3_coder", "", "<tool_call>"),
    "bare starts": ("qwen3_coder", "", "<function=w>"),
    "calls": ("qwen3_coder", "", f"{QWEN}x\n</parameter></function></tool_call>"),
    "white space": ("qwen3_coder", "", " \n"),
    "calls in reasoning": ("qwen3_coder", "<think>", "<tool_call> "),
    "regions": ("qwen3_coder", "", "<think></think>"),
    "held calls in reasoning": ("qwen3_coder", "<think>", f"{QWEN}x\n</parameter></function></tool_call>"),
    "thought calls": ("qwen3_coder", "<think>", f"{QWEN}x\n</parameter></function></tool_call> or "),
    "a value in reasoning": ("qwen3_coder", f"<think>{QWEN}", "some words\n"),
    "white space after a held call": ("qwen3_coder", f"<think>{QWEN}x\n</parameter></function></tool_call>", " \n"),
    "tokens after a held call": ("qwen3_coder", f"<think>{QWEN}x\n</parameter></function></tool_call>", "<|im_end|>"),
    "broken calls in reasoning": ("qwen3_coder", "<think>", "<tool_call><function=w>x</think>"),
    "fenced calls": ("hermes", "", '```\n<tool_call>{"name": "w"}</tool_call>\n```\n'),
    "calls in one fence": ("hermes", "```\n", '<tool_call>{"name": "w"}</tool_call>\n'),
    "shown calls": ("hermes", "", '```\n<tool_call>{"name": "w"}</tool_call>\n```\nx\n\n'),
    "a value in a fence": ("hermes", f"```\n{JSON}", "some words "),
    "white space after a fenced call": ("hermes", '```\n<tool_call>{"name": "w"}</tool_call>', " \n"),
    "white space after a fence": ("hermes", '```\n<tool_call>{"name": "w"}</tool_call>\n```\n', " "),
    "backticks after a fenced call": ("hermes", '```\n<tool_call>{"name": "w"}</tool_call>\n', "`"),
    "ends of turns after a fenced call": ("hermes", '```\n<tool_call>{"name": "w"}</tool_call>\n', "<|im_end|>"),
    "white space in reasoning": ("qwen3_coder", "<think>", "\n"),
    "ends of turns": ("qwen3_coder", "", "<|im_end|>"),
    "ends of values": ("glm", GLM, "</arg_value> "),
    "ends of calls": ("glm", GLM, "</tool_call>\n"),
    "calls in a value": ("glm", GLM, "<tool_call>w"),
    "keys in a value": ("glm", GLM, "<arg_key>p</arg_key>"),
    "names": ("glm", "<tool_call>", "w"),
    "start tags of GLM": ("glm", "", "<tool_call>w"),
    "start tags of Hermes": ("hermes", "", "<tool_call>{"),
    "start tags in JSON": ("hermes", '<tool_call>{"name": "w", "arguments": {"p": "', '\\"<tool_call>'),
    "escapes": ("hermes", JSON, "\\n"),
    "escaped quotes": ("hermes", JSON, '\\"'),
    "half characters": ("hermes", JSON, "\\ud83d"),
    "backslashes": ("hermes", JSON, "\\\\"),
    "members": ("hermes", JSON, '","k":"'),
    "lists in lists": ("hermes", JSON, '",["'),
    "comments": ("hermes", "<tool_call>{", "/*"),
    "keys without quotes": ("hermes", "<tool_call>{", "k:1,"),
    "lists of calls": ("hermes", "<tool_call>[", '{"name": "w"},'),
    "line breaks that are spelled": ("glm", GLM, "\\n"),
    "blanks before a sign": ("qwen3_coder", QWEN, "\n<parameter   "),
    "blanks in starts": ("qwen3_coder", "", "<function =w> "),
    "other ends": ("qwen3_coder", QWEN, "</param> "),
    "other ends and white space": ("qwen3_coder", QWEN, "</param>" + " " * 900 + "x"),
    "ends of elements in a value": ("qwen3_coder", f"{QWEN}<param>", "</param></function></tool_call> "),
    "long ends": ("qwen3_coder", QWEN, "</parameter=" + "x" * 300),
    "ends before other keys": ("qwen3_coder", QWEN, "</parameter>\n<param=q>"),
    "ends before half keys": ("qwen3_coder", QWEN, "</parameter>\n<" + "x" * 300),
    "ends before other keys of GLM": ("glm", GLM, "</arg_value><arg_name>q"),
    "other starts of values": ("glm", "<tool_call>w", "<arg_key>p</arg_key><arg_val "),
    "text after JSON": ("hermes", '<tool_call>{"name": "w"} x', "<tool_call> \n</tool_"),
    "ends after JSON": ("hermes", '<tool_call>{"name": "w"}', "</x> "),
    "ends of values with attributes": ("minimax_m2", MINIMAX, "</parameter> x "),
    "arguments with attributes": ("minimax_m2", MINIMAX, '<parameter name="q" x="y">'),
    "attributes": ("minimax_m2", "<minimax:tool_call><invoke ", "a='b' "),
    "calls in a section": ("minimax_m2", "<minimax:tool_call>", '<invoke name="w"/>'),
    "stray text in a section": ("minimax_m2", "<minimax:tool_call>", '<invoke name="w"></invoke> and '),
    "starts of sections": ("minimax_m2", "", "<minimax:tool_call>"),
    "broken calls in a section": ("dsml", "<｜DSML｜tool_calls>", '<｜DSML｜invoke name="w">x</｜DSML｜invoke>'),
    "fillers": ("step3", "<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"),
    "fillers in a value": ("step3", STEP3, "</steptml:parameter><｜tool_call_begin｜>x"),
    "fillers between calls": ("step3", STEP3 + "x</steptml:parameter></steptml:invoke>", "<｜tool_call_end｜>\n"),
    "examples after fillers": ("step3", STEP3, '<｜tool_call_begin｜><steptml:invoke name="w">'),
    "types": ("k2_horizon", K2, "<ifm|arg_type>"),
    "headers of tools": ("muse", "", "to=w<|message|>"),
    "headers without an end": ("muse", "", "to=w"),
    "messages to oneself": ("muse", "", "to=self<|message|>x<|eom|>"),
    "headers of Beam": ("beam", "", "<|start|>assistant to=w"),
    "ends of values of Beam": (
        "beam",
        '<|start|>assistant to=w<|message|><rfl:parameter name="p">',
        "</rfl:parameter><|message|>x",
    ),
    "names before calls": ("inkling", "", "<|message_model|>w<|content_invoke_tool_json|>"),
    "names without calls of Inkling": ("inkling", "", "<|message_model|>w"),
    "messages with reasoning": ("inkling", "", "<|content_thinking|>x<|end_message|>"),
    "calls in an answer": ("muse", "to=user<|message|>", '<atem:invoke name="w"><atem:parameter name="p">'),
    "names without an end": ("k2_horizon", "<ifm|tool_calls>", "<ifm|tool_call>w"),
    "bare names without an end": ("hunyuan", "", "<tool_call>w"),
    "objects in marks": ("kimi_k3", K3, '<|open|>json type="object"<|sep|>'),
    "entities in a name": ("kimi_k3", "", '<|open|>call tool="&amp;'),
    "sections of CDATA": ("minicpm5", MINICPM + "<![CDATA[", "<![CDATA[x]]>"),
    "ends of CDATA": ("minicpm5", MINICPM + "<![CDATA[", "]]> "),
    "ends of CDATA and white space": ("minicpm5", MINICPM + "<![CDATA[", "]]>" + " " * 900),
    "starts with attributes": ("minicpm5", "", '<function name="w">'),
    "objects": ("hermes", "", '<tool_call>{"name": "w"}'),
    "start tags for end tags": ("hermes", "", '<tool_call>{"name": "w", "arguments": {}}<tool_call>\n'),
    "white space after one": ("hermes", '<tool_call>{"name": "w", "arguments": {}}<tool_call>', " \n"),
    "fences in calls": ("hermes", "", "<tool_call>```json\n"),
    "start marks of sections": ("kimi_k2", "", "<|tool_calls_section_begin|>"),
    "names without calls": ("kimi_k2", "", "<|tool_call_begin|>w"),
    "calls in a section of kimi_k2": ("kimi_k2", "<|tool_calls_section_begin|>", KIMI),
    "text in a section": ("kimi_k2", f"<|tool_calls_section_begin|>{KIMI}", "x "),
    "broken calls in a section of kimi_k2": ("kimi_k2", "<|tool_calls_section_begin|>", KIMI.replace("{", "{x")),
    "ends of broken calls": ("kimi_k2", f"<|tool_calls_section_begin|>{KIMI.replace('{', '{x')}", "<|tool_call_end|> "),
    "ends of sections": ("kimi_k2", "", "<|tool_calls_section_end|>"),
    "start marks of two forms": ("deepseek_v3", "", "<｜tool▁calls▁begin｜> "),
    "text after a start mark": ("deepseek_v3", "<｜tool▁calls▁begin｜>", "x "),
    "calls of DeepSeek": ("deepseek_v3", "", "<｜tool▁call▁begin｜>w<｜tool▁sep｜>{}<｜tool▁call▁end｜>"),
    "brackets": ("mistral", "", "[TOOL_CALLS"),
    "start marks in brackets": ("mistral", "", "[TOOL_CALLS]"),
    "names in brackets": ("mistral", "", "[TOOL_CALLS]w[CALL_ID]"),
    "calls in brackets": ("mistral", "", "[TOOL_CALLS]w[ARGS]{}"),
    "more after calls": ("mistral", "", '[TOOL_CALLS]w[ARGS]{} , "' + "a" * 250),
    "white space after calls": ("mistral", "", "[TOOL_CALLS]w[ARGS]{}" + " " * 900 + "x"),
    "ends in a string between marks": ("gemma", '<|tool_call>call:w{p:<|"|>', "}<tool_call|"),
    "examples in a string between marks": ("gemma", '<|tool_call>call:w{p:<|"|>', '<|tool_call>call:w{p:<|"|>'),
    "calls in lists": ("mistral", "[TOOL_CALLS] [", '{"name": "w"},'),
    "thoughts in brackets": ("mistral", "", "[THINK]x[/THINK]"),
    "headers": ("harmony", "", "<|channel|>commentary to="),
    "headers of messages": ("harmony", "", "<|start|>assistant"),
    "names in headers": ("harmony", "", "<|start|>assistant to=w<|channel|>"),
    "messages": ("harmony", "", "<|channel|>analysis<|message|>x<|end|>"),
    "braces": ("llama3_json", "", "{"),
    "objects without marks": ("llama3_json", "", '{"name": "w", "parameters": {}};'),
    "members without marks": ("llama3_json", "{", '"a": 1, '),
    "lists without marks": ("llama3_json", "", "["),
    "calls in Python": ("pythonic", "[", "w(p='x'), "),
    "names in Python": ("pythonic", "", "[w("),
    "arguments in Python": ("pythonic", "[w(", "p='x', "),
    "dots in Python": ("pythonic", "[w", ".a"),
    "strings in Python": ("pythonic", "[w(p='", "\\'"),
    "lines in Python": ("pythonic", "<function_calls>", "w(p='x')\n"),
    "marks of strings": ("gemma", '<|tool_call>call:w{p:<|"|>', '<|"|> x'),
    "cut marks of strings": ("gemma", '<|tool_call>call:w{p:<|"|>', '<|"'),
    "strings of Gemma": ("gemma", "<|tool_call>call:w{", 'p:<|"|>x<|"|>,'),
    "keys of Gemma": ("gemma", "<|tool_call>call:w{", "a b "),
    "channels": ("gemma", "", "<|channel>thought\n<channel|>"),
    "line breaks in a channel": ("gemma", "<|channel>thought\n", "\n"),
    "marks of values": ("dsml", DSML, "</｜DSML｜parameter> x"),
    "calls in values": ("dsml", DSML, '\n<｜DSML｜invoke name="w">'),
    "attributes of dsml": ("dsml", "", '<｜DSML｜invoke a="b" '),
    "calls with attributes": ("minimax_m2", "", '<invoke name="w"><parameter name="p">x</parameter></invoke>'),
    "fillers of step3": ("step3", "<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"),
    "fillers after a call": ("step3", '<steptml:invoke name="w"></steptml:invoke>', "<｜tool_call_end｜>"),
    "names or keys": ("hunyuan", "<tool_calls>", "<tool_call>w<arg_key>"),
    "start marks that are names": ("minicpm5", "", "<function "),
    "elements of Kimi-K3": ("kimi_k3", "<|open|>tools<|sep|>", '<|open|>call tool="w"<|sep|><|close|>call<|sep|>'),
    "opened elements of Kimi-K3": ("kimi_k3", "", "<|open|>"),
    "tags of tools": ("tag_per_tool", "", "<w> "),
    "empty tags of tools": ("tag_per_tool", "", "<w/>"),
    "start tags of tools": ("tag_per_tool", "", "<w><p>"),
    "calls in tags": ("tag_per_tool", "", f"{TAGS}x</p></w>"),
    "tags of tools in a value": ("tag_per_tool", TAGS, "\n<w><p>"),
    "ends of tools in a value": ("tag_per_tool", TAGS, "</p></w>"),
    "end tags of tools": ("tag_per_tool", TAGS, "</w> "),
    "ends of tools in sections of a value": ("tag_per_tool", TAGS, "<o><![CDATA[</w> "),
    "ends of tools after sections of a value": ("tag_per_tool", TAGS, "<o><![CDATA[]]></w> "),
    "text in tools": ("tag_per_tool", "<w>", "x</p>"),
    "tags of tools in capitals": ("tag_per_tool", "", "<W><a>"),
    "numbered items": ("tag_per_tool", "<w><x>", "<0>a</0>"),
    "lines of tools": ("tag_per_tool", "", "w\n"),
    "calls with lines of tools": ("tag_per_tool", "", "w\n<p>x</p>\n"),
    "names of tools in lines": ("tag_per_tool", "", "a w\n"),
    "lines of tools in a value": ("tag_per_tool", "w\n<p>", "</p>\nw\n"),
    "objects in lines": ("minimax_m1", "<tool_calls>\n", '{"name": "w", "arguments": {}}\n'),
    "starts of objects in lines": ("minimax_m1", "", "<tool_calls>\n{"),
    "names and brackets": ("call_json", "", "w("),
    "names and brackets in lines": ("call_json", "", "w({\n"),
    "calls in lines": ("call_json", "", 'w({"p": "x"})\n'),
    "calls in lines after text": ("call_json", "x\n", 'w({"p": "x"})\n'),
    "calls in text": ("call_json", "", 'w({"p": "x"}) x\n'),
    "blanks after a call in a line": ("call_json", 'w({"p": "x"})', " "),
    "brackets after a name": ("call_json", "w(", "{"),
    "tokens before tags": ("minimax_m3", f"{NESTED}{M3}<p>", M3),
    "cut tokens before tags": ("minimax_m3", f"{NESTED}{M3}<p>", M3[:-1]),
    "ends after tokens": ("minimax_m3", f"{NESTED}{M3}<p>", f"{M3}</p> x"),
    "start tags after tokens": ("minimax_m3", f"{NESTED}{M3}<p>", f"{M3}<p>"),
    "ends of calls after tokens": ("minimax_m3", f"{NESTED}{M3}<p>", f"{M3}</invoke> "),
    "elements after tokens": ("minimax_m3", f"{NESTED}{M3}<x>", f"{M3}<a>b{M3}</a>"),
    "elements in elements": ("minimax_m3", f"{NESTED}{M3}<x>", f"{M3}<a>b"),
    "text beside elements": ("minimax_m3", f"{NESTED}{M3}<x>{M3}<a>{M3}</a>", "b"),
    "calls after tokens": ("minimax_m3", "", f'{M3}<invoke name="w">{M3}<p>x{M3}</p>{M3}</invoke>'),
    "start marks after tokens": ("minimax_m3", "", f"{M3}<tool_call>"),
}
"""Name: the dialect, what the text begins with, and what is repeated after that."""
ALSO_GROWING = {
    "starts of JSON": '<tool_call>{"a": "',
    "calls of unknown tools": "<tool_call>\n<function=x>\n",
    "start tags": "<tool_call> ",
    "starts in comments": "<!-- <tool_call>{",
    "copied results": "\nTool: x\nResult: <tool_call>\n<function=w>\n",
    "tags of results": "<tool_response>",
    "keys of GLM": "<tool_call>x<arg_key>",
    "marks of all dialects": "<|tool_call_begin|><invoke name=x><｜DSML｜invoke name=x>[TOOL_CALLS]<|channel|>",
    "start marks of all": "<|tool_calls_section_begin|><minimax:tool_call><function_calls>[TOOL_CALLS]{",
    "tags of tools": "<w> ",
    "tokens before tags": f'{M3}<invoke name="x">{M3}',
    "backticks": '`<tool_call>{"name": ',
}
"""What is repeated where calls in all dialects are read."""


def _of_examples() -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield families of the dialects that have none here, made of the example in each record."""
    of_their_own = {dialect for dialect, _, _ in GROWING.values()}
    for each in dialects.all():
        if each.name in of_their_own or not each.example:
            continue
        head, _, tail = re.sub(r"\bget\b", "w", re.sub(r"\bn\b", "p", each.example)).rpartition("1")
        if not parse(f"{head}x{tail}", TOOLS, dialect=each).calls:
            head, tail = f'{head}"', f'"{tail}'
        call = f"{head}x{tail}"
        yield f"calls of {each.name}", (each.name, "", f"{call}\n")
        yield f"beginnings of {each.name}", (each.name, "", f"{head} ")
        yield f"ends in a value of {each.name}", (each.name, head, f"{tail} x")
        yield f"calls in a value of {each.name}", (each.name, head, f"{call}\n")


GROWING |= dict(_of_examples())
