"""MiroThinker: `<use_mcp_tool>` with a server, a tool and arguments in JSON, as in the prompts of Cline and Roo."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.forge import FORGE

MIROTHINKER = replace(
    FORGE,
    name="mirothinker",
    block="use_mcp_tool",
    example=(
        "<use_mcp_tool><server_name>local</server_name><tool_name>get</tool_name>"
        '<arguments>{"n": 1}</arguments></use_mcp_tool>'
    ),
    reasoning=("think",),
    layout=True,
    turn_ends=("<|im_end|>", "<|im_start|>", "<|endoftext|>"),  # those of Qwen, on which it was trained
    json_is_usual=True,
)
