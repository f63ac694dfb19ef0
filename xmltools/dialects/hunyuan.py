"""Hunyuan 3 and 4: `<tool_calls><tool_call>NAME<tool_sep><arg_key>KEY</arg_key><arg_value>VALUE</arg_value>…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_SUFFIXES = ("", ":opensource", ":6124c78e")
"""The suffix in each token of a checkpoint, as in `<tool_call:opensource>`: nothing in Hy3-preview, then that of Hy3
and Hy4-preview, and that of Hy4-preview as Tencent serves it."""


def _pairs(suffix: str) -> Pairs:
    return Pairs(
        name=f"<tool_call{suffix}>",
        name_end=f"<tool_sep{suffix}>",
        may_lack_name_end=True,  # Hunyuan 4 has none
        end=f"</tool_call{suffix}>",
        key=f"<arg_key{suffix}>",
        key_end=f"</arg_key{suffix}>",
        value=f"<arg_value{suffix}>",
        value_end=f"</arg_value{suffix}>",
        bare=True,
    )


_V3 = Dialect(
    name="hunyuan",
    body=Body.PAIRS,
    block="tool_calls",
    many=True,
    example=(
        "<tool_calls><tool_call>get<tool_sep><arg_key>n</arg_key><arg_value>1</arg_value></tool_call></tool_calls>"
    ),
    reasoning=tuple(f"think{suffix}" for suffix in _SUFFIXES),
    ends_reasoning=True,
    layout=True,
    turn_ends=(
        "<|eos|>",
        "<｜hy_EOT｜>",
        *(f"<｜hy_{word}{suffix}｜>" for suffix in _SUFFIXES for word in ("eos", "end", "User", "Assistant", "start")),
    ),
    frame=("<answer>", "</answer>"),  # of Hunyuan-A13B
    pairs=_pairs(""),
    writing=Writing(  # as Hy3, without the suffix, which differs from model to model
        before="",
        start="<tool_calls>\n",
        end="\n</tool_calls>",
        after_name="\n",
        after_key="\n",
        after_value="\n",
        result=ResultForm(
            start="<tool_responses>\n",
            end="\n</tool_responses>",
            each_start="<tool_response>\n",
            each_end="\n</tool_response>",
            role="tool",
        ),
        tools=ToolList(start="<tools>\n", end="\n</tools>"),
    ),
)

HUNYUAN = replace(
    _V3,
    variants=(
        *(replace(_V3, block=f"tool_calls{suffix}", pairs=_pairs(suffix), writing=None) for suffix in _SUFFIXES[1:]),
        replace(_V3, body=Body.JSON, pairs=None, writing=None),  # of Hunyuan-A13B: a list
    ),
)
