"""MiniCPM5: `<function name="NAME"><param name="KEY">VALUE</param></function>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

MINICPM5 = Dialect(
    name="minicpm5",
    body=Body.PAIRS,
    start="<function ",
    end="",
    example='<function name="get"><param name="n">1</param></function>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|im_end|>",),
    pairs=Pairs(
        name="<function ",
        name_end=">",
        name_attribute="name",
        end="</function>",
        key="<param ",
        key_end=">",
        key_attribute="name",
        value_end="</param>",
        cdata=True,
        bare=True,
    ),
)
