"""K2 Horizon: `<ifm|tool_call>NAME<ifm|arg_key>KEY</ifm|arg_key><ifm|arg_value>VALUE</ifm|arg_value>…` in a section."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

K2_HORIZON = Dialect(
    name="k2_horizon",
    body=Body.PAIRS,
    block="ifm|tool_calls",
    many=True,
    example=(
        "<ifm|tool_calls><ifm|tool_call>get\n<ifm|arg_key>n</ifm|arg_key><ifm|arg_value>1</ifm|arg_value>"
        "</ifm|tool_call></ifm|tool_calls>"
    ),
    reasoning=(),
    thoughts=tuple((f"<ifm|{word}>", f"</ifm|{word}>") for word in ("think", "think_fast", "think_faster")),
    ends_reasoning=True,
    layout=True,
    pairs=Pairs(
        name="<ifm|tool_call>",
        name_end="\n",
        may_lack_name_end=True,
        end="</ifm|tool_call>",
        key="<ifm|arg_key>",
        key_end="</ifm|arg_key>",
        kind_start="<ifm|arg_type>",
        kind_end="</ifm|arg_type>",
        value="<ifm|arg_value>",
        value_end="</ifm|arg_value>",
        bare=True,
    ),
)
