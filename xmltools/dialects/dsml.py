"""DeepSeek-V3.2 and later: `<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing
from xmltools.errors import Code

_EOS = "<｜end▁of▁sentence｜>"


def _pairs(tag: str) -> Pairs:
    """The marks, with what stands before the name of each tag."""
    return Pairs(
        name=f"<{tag}invoke ",
        name_end=">",
        name_attribute="name",
        end=f"</{tag}invoke>",
        key=f"<{tag}parameter ",
        key_end=">",
        key_attribute="name",
        kind="string",
        value_end=f"</{tag}parameter>",
        bare=True,
    )


_V4 = Dialect(
    name="dsml",
    body=Body.PAIRS,
    block="｜DSML｜tool_calls",
    example=(
        '<｜DSML｜tool_calls><｜DSML｜invoke name="get">'
        '<｜DSML｜parameter name="n" string="false">1</｜DSML｜parameter>'
        "</｜DSML｜invoke></｜DSML｜tool_calls>"
    ),
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    is_sure=True,
    many=True,
    turn_ends=(_EOS, "<｜User｜>", "<｜Assistant｜>"),
    pairs=_pairs("｜DSML｜"),
    writing=Writing(
        before="\n\n",
        start="<｜DSML｜tool_calls>\n",
        end="\n</｜DSML｜tool_calls>",
        after_name="\n",
        after_value="\n",
        result=ResultForm(each_start="<tool_result>", each_end="</tool_result>"),
        tools=ToolList(form="schema"),
    ),
)

_SLIPS = (
    *((f"{bars}DSML{bars}", Code.TAG_CASE) for bars in ("|", "｜｜", "||")),
    *((tag, Code.TAG_WHITE_SPACE) for tag in ("｜DSML｜ ", "｜ DSML ｜", "｜ DSML ｜ ", "| DSML |")),
)
"""Prefixes of tags that models write by mistake, and the repair of each."""

DSML = replace(
    _V4,
    variants=(
        replace(_V4, block="｜DSML｜function_calls"),
        replace(_V4, block="｜DSML｜ calls", pairs=_pairs("｜DSML｜ ")),
        # What models write by mistake.
        *(replace(_V4, block=f"｜DSML｜{word}") for word in ("toolcalls", "tool")),
        *(
            replace(_V4, block=f"{tag}{word}", pairs=_pairs(tag), slip=slip, is_sure=False)
            for tag, slip in _SLIPS
            for word in ("tool_calls", "function_calls")
        ),
    ),
)
