"""Time grows with the text, in each dialect, also where marks come again and again that are none."""

from __future__ import annotations

import pytest
from support.effort import effort

from xmltools.parser import Parser
from xmltools.tools import Tool

pytestmark = [pytest.mark.full, pytest.mark.no_cover]

TOOLS = [Tool(name="w", parameters={"properties": {"p": {"type": "string"}}})]
QWEN = "<tool_call>\n<function=w>\n<parameter=p>\n"
GLM = "<tool_call>w<arg_key>p</arg_key><arg_value>"
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
    "objects": ("hermes", "", '<tool_call>{"name": "w"}'),
}


@pytest.mark.parametrize("family", GROWING)
@pytest.mark.parametrize("size", [1, 10**9])
def test_time_grows_with_the_text(family: str, size: int) -> None:
    dialect, head, unit = GROWING[family]

    def read(length: int) -> None:
        text = head + unit * (length // len(unit))
        parser = Parser(TOOLS, dialect=dialect)
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()

    small = 5_000 if size == 1 else 40_000
    assert effort(lambda: read(4 * small)) < 12 * max(effort(lambda: read(small)), 0.1)
