"""Calls as prompts for Anthropic's models had them: `<invoke name="NAME"><parameter name="KEY">VALUE…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing
from xmltools.dialects.minimax_m2 import INVOKE

_PLAIN = Dialect(
    name="invoke",
    body=Body.PAIRS,
    block="function_calls",
    many=True,
    example='<function_calls><invoke name="get"><parameter name="n">1</parameter></invoke></function_calls>',
    ends_reasoning=True,
    layout=True,
    pairs=replace(INVOKE, framing=True),
    writing=Writing(
        before="\n\n",
        start="<function_calls>\n",
        end="\n</function_calls>",
        after_name="\n",
        after_value="\n",
        result=ResultForm(
            start="<function_results>\n",
            end="\n</function_results>",
            each_start="<result>\n<tool_name>{name}</tool_name>\n<stdout>\n",
            each_end="\n</stdout>\n</result>",
        ),
        tools=ToolList(
            form="schema",
            start="<functions>\n",
            end="\n</functions>",
            each_start="<function>",
            each_end="</function>",
        ),
    ),
)


def _prefixed(prefix: str) -> Dialect:
    """The same, with a prefix before the name of each tag."""
    pairs = replace(
        INVOKE,
        name=f"<{prefix}invoke ",
        end=f"</{prefix}invoke>",
        key=f"<{prefix}parameter ",
        value_end=f"</{prefix}parameter>",
        framing=True,
    )
    return replace(_PLAIN, block=f"{prefix}function_calls", pairs=pairs)


_DOTS = replace(_PLAIN, block="dots_function_call")
_DOTS_JSON = replace(
    _DOTS,
    body=Body.JSON,
    block="",
    start=_DOTS.opener,
    end=_DOTS.closer,
    many=False,
    pairs=None,
    writing=None,
)

INVOKE_XML = replace(
    _PLAIN,
    variants=(_prefixed("antml:"), _DOTS, _DOTS_JSON, replace(_PLAIN, block="tool_calls")),
)
