"""Seed-OSS: the calls of Qwen3-Coder in `<seed:tool_call>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import ResultForm, ToolList, Writing
from xmltools.dialects.qwen3_coder import PAIRS, QWEN3_CODER

SEED_OSS = replace(
    QWEN3_CODER,
    name="seed_oss",
    block="seed:tool_call",
    pairs=replace(PAIRS, framing=False),
    example="<seed:tool_call><function=get><parameter=n>1</parameter></function></seed:tool_call>",
    reasoning=("seed:think",),
    turn_ends=("<seed:eos>", "<seed:bos>"),
    writing=Writing(
        call_start="<seed:tool_call>\n",
        call_end="\n</seed:tool_call>",
        after_name="\n",
        after_value="\n",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(start="[", end="]", between=", "),
    ),
)
