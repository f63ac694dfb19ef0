"""The Forge protocol: `<tool><tool_name>…</tool_name><arguments>…</arguments></tool>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect

FORGE = Dialect(
    name="forge",
    body=Body.ELEMENTS,
    block="tool",
    example="<tool><tool_name>get</tool_name><arguments><n>1</n></arguments></tool>",
    server_name="server_name",
    tool_name="tool_name",
    arguments="arguments",
    argument="argument",
    argument_name="name",
    name_words=("name",),
    arguments_words=("parameters", "args"),
    argument_words=("parameter", "param", "arg"),
    value="value",
    nil="nil",
    item="item",
    reasoning=("think", "thinking"),
    json_tool_name=("tool_name", "name"),
    json_server_name=("server_name", "server"),
    json_arguments=("arguments", "parameters"),
    default_server="local",
    json_other_tool_name=("tool", "function"),
    json_other_arguments=("args", "params", "input"),
    json_wrappers=("function", "tool", "tool_call", "function_call"),
)
