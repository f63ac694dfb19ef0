"""Hostile texts in other dialects than Forge's: what makes a reader look again and again."""

from __future__ import annotations

from xmltools.tools import Tool

__all__ = ["ALSO_GROWING", "GROWING", "TOOLS"]

TOOLS = [Tool(name="w", parameters={"properties": {"p": {"type": "string"}}})]
QWEN = "<tool_call>\n<function=w>\n<parameter=p>\n"
GLM = "<tool_call>w<arg_key>p</arg_key><arg_value>"
TAGS = "<w><p>"
M3 = "]<]minimax[>["
NESTED = f'{M3}<tool_call>{M3}<invoke name="w">'
JSON = '<tool_call>{"name": "w", "arguments": {"p": "'
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
    "line breaks": ("qwen3_coder", QWEN, "\n"),
    "start tags": ("qwen3_coder", "", "<tool_call>"),
    "bare starts": ("qwen3_coder", "", "<function=w>"),
    "calls": ("qwen3_coder", "", f"{QWEN}x\n</parameter></function></tool_call>"),
    "white space": ("qwen3_coder", "", " \n"),
    "calls in reasoning": ("qwen3_coder", "<think>", "<tool_call> "),
    "regions": ("qwen3_coder", "", "<think></think>"),
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
    "names without an end": ("k2_horizon", "<ifm|tool_calls>", "<ifm|tool_call>w"),
    "bare names without an end": ("hunyuan", "", "<tool_call>w"),
    "objects in marks": ("kimi_k3", K3, '<|open|>json type="object"<|sep|>'),
    "entities in a name": ("kimi_k3", "", '<|open|>call tool="&amp;'),
    "sections of CDATA": ("minicpm5", MINICPM + "<![CDATA[", "<![CDATA[x]]>"),
    "ends of CDATA": ("minicpm5", MINICPM + "<![CDATA[", "]]> "),
    "ends of CDATA and white space": ("minicpm5", MINICPM + "<![CDATA[", "]]>" + " " * 900),
    "starts with attributes": ("minicpm5", "", '<function name="w">'),
    "objects": ("hermes", "", '<tool_call>{"name": "w"}'),
    "tags of tools": ("tag_per_tool", "", "<w> "),
    "empty tags of tools": ("tag_per_tool", "", "<w/>"),
    "start tags of tools": ("tag_per_tool", "", "<w><p>"),
    "calls in tags": ("tag_per_tool", "", f"{TAGS}x</p></w>"),
    "tags of tools in a value": ("tag_per_tool", TAGS, "\n<w><p>"),
    "ends of tools in a value": ("tag_per_tool", TAGS, "</p></w>"),
    "end tags of tools": ("tag_per_tool", TAGS, "</w> "),
    "text in tools": ("tag_per_tool", "<w>", "x</p>"),
    "tags of tools in capitals": ("tag_per_tool", "", "<W><a>"),
    "numbered items": ("tag_per_tool", "<w><x>", "<0>a</0>"),
    "lines of tools": ("tag_per_tool", "", "w\n"),
    "calls with lines of tools": ("tag_per_tool", "", "w\n<p>x</p>\n"),
    "names of tools in lines": ("tag_per_tool", "", "a w\n"),
    "lines of tools in a value": ("tag_per_tool", "w\n<p>", "</p>\nw\n"),
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
    "tags of tools": "<w> ",
    "tokens before tags": f'{M3}<invoke name="x">{M3}',
    "backticks": '`<tool_call>{"name": ',
}
"""What is repeated where calls in all dialects are read."""
