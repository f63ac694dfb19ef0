"""What the model of each dialect is shown, byte for byte: the tools, calls in text, and their results.

    PYTHONPATH=tests python tests/render/test_dialect_golden.py

writes the golden files anew, as `make generated` does; look at what changed before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written import WRITTEN

from xmltools.conversations.transcript import inline
from xmltools.models import Conversation, Message, Text, ToolCall, ToolResult
from xmltools.render import render_instructions
from xmltools.tools import Tool

GOLDEN = Path(__file__).parents[1] / "golden" / "dialects"
READ = Tool(
    name="read",
    description="Reads a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where it is."},
            "lines": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["path"],
    },
)
NOW = Tool(name="now", description="Tells the time.", parameters={"type": "object", "properties": {}})
CALLS = (
    ToolCall(id="1", name="read", arguments={"path": "a\nb", "lines": [1, 2]}),
    ToolCall(id="2", name="now", arguments={}),
)
RESULTS = (
    ToolResult(call_id="1", name="read", content=(Text(text="one\ntwo"),)),
    ToolResult(call_id="2", name="now", content=(Text(text="noon"),)),
)


def shown(dialect: str) -> str:
    """The instructions, and a conversation with two calls in one turn and one in another."""
    turn = Message(role="assistant", parts=(Text(text="I look."), *CALLS))
    again = Message(role="assistant", parts=(CALLS[1].model_copy(update={"id": "3"}),))
    messages = (
        Message(role="user", parts=(Text(text="What is in it?"),)),
        turn,
        Message(role="tool", parts=RESULTS),
        again,
        Message(role="tool", parts=(RESULTS[1].model_copy(update={"call_id": "3"}),)),
    )
    told = inline(Conversation(messages=messages), [READ, NOW], dialect=dialect).messages
    parts = [("instructions", render_instructions([READ, NOW], dialect=dialect))]
    parts += [(message.role, message.text) for message in told]
    return "".join(f"=== {role} ===\n{text}\n" for role, text in parts)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_golden(dialect: str) -> None:
    assert shown(dialect) == (GOLDEN / f"{dialect}.txt").read_text("utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in WRITTEN:
        (GOLDEN / f"{name}.txt").write_text(shown(name), "utf-8")
