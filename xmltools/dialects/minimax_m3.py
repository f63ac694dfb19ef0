"""MiniMax-M3: a token before each tag, and elements named as arguments: `…<invoke name="NAME">…<KEY>VALUE…</KEY>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

_MARK = "]<]minimax[>["

MINIMAX_M3 = Dialect(
    name="minimax_m3",
    body=Body.PAIRS,
    start=f"{_MARK}<tool_call>",
    end=f"{_MARK}</tool_call>",
    is_sure=True,
    many=True,
    example=(f'{_MARK}<tool_call>{_MARK}<invoke name="get">{_MARK}<n>1{_MARK}</n>{_MARK}</invoke>{_MARK}</tool_call>'),
    reasoning=("mm:think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("[e~[", "</mm:think>"),  # the template ends reasoning in a prompt that asks for none
    pairs=Pairs(
        name=f"{_MARK}<invoke ",
        name_end=">",
        name_attribute="name",
        end=f"{_MARK}</invoke>",
        tag_mark=_MARK,
        bare=True,
    ),
)
