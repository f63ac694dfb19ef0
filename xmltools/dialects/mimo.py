"""MiMo-V2: the calls of Qwen3-Coder, with values as they are."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import ResultForm, ToolList, Writing
from xmltools.dialects.qwen3_coder import PAIRS, QWEN3_CODER

MIMO = replace(
    QWEN3_CODER,
    name="mimo",
    pairs=replace(PAIRS, framing=False),
    writing=Writing(  # as MiMo-V2.5; MiMo-V2.6 has no line breaks between the delimiters
        before="",
        call_start="<tool_call>\n",
        call_end="\n</tool_call>",
        between="",
        after_name="\n",
        after_value="\n",
        result=ResultForm(each_start="<tool_response>\n", each_end="\n</tool_response>", role="tool"),
        tools=ToolList(form="elements", start="<tools>\n", end="\n</tools>"),
    ),
)
