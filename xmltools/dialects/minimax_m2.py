"""MiniMax-M2: `<minimax:tool_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>…`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

INVOKE = Pairs(
    name="<invoke ",
    name_end=">",
    name_attribute="name",
    end="</invoke>",
    key="<parameter ",
    key_end=">",
    key_attribute="name",
    value_end="</parameter>",
    bare=True,
)

MINIMAX_M2 = Dialect(
    name="minimax_m2",
    body=Body.PAIRS,
    block="minimax:tool_call",
    example='<minimax:tool_call><invoke name="get"><parameter name="n">1</parameter></invoke></minimax:tool_call>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    is_sure=True,
    many=True,
    turn_ends=("[e~[",),
    pairs=INVOKE,
    writing=Writing(
        start="<minimax:tool_call>\n",
        end="\n</minimax:tool_call>",
        after_name="\n",
        after_value="\n",
        result=ResultForm(each_start="<response>", each_end="</response>", role="tool"),
        tools=ToolList(form="schema", start="<tools>\n", end="\n</tools>", each_start="<tool>", each_end="</tool>"),
    ),
)
