"""Mistral: `[TOOL_CALLS]NAME[ARGS]{…}`, and the older `[TOOL_CALLS] [{"name": NAME, "arguments": {…}}]`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_LIST = Dialect(
    name="mistral",
    body=Body.JSON,
    start="[TOOL_CALLS]",
    end="",
    is_sure=True,
    many=True,
    example='[TOOL_CALLS]get[ARGS]{"n": 1}',
    reasoning=("think",),
    thoughts=(("[THINK]", "[/THINK]"),),
    turn_ends=("</s>",),
    leftovers=("[/TOOL_CALLS]",),
    json_other_keys=("id",),
)

# A name, perhaps with an id, and its arguments. Models before v11 wrote a list instead.
MISTRAL = replace(
    _LIST,
    variants=(
        replace(
            _LIST,
            body=Body.PAIRS,
            pairs=Pairs(name_end="[ARGS]", name_pattern=r"(?P<name>[^\[\]]+)(?:\[CALL_ID\].*)?", json=True),
            writing=Writing(
                before="",
                call_start="[TOOL_CALLS]",
                between="",
                id=9,
                result=ResultForm(each_start="[TOOL_RESULTS]", each_end="[/TOOL_RESULTS]", between="", role="tool"),
                tools=ToolList(start="[AVAILABLE_TOOLS][", end="][/AVAILABLE_TOOLS]", between=", "),
            ),
        ),
    ),
)
