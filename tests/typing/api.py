"""What a type checker must make of the public names. Checked by mypy (`make lint`), never run."""

from dataclasses import dataclass
from typing import Any, assert_type

import xmltools as xt
from xmltools.conversations.transcript import extract, inline
from xmltools.formats import clawtools, wolo


def add(a: int, b: int) -> int:
    return a + b


@dataclass
class StoredElsewhere:
    role: str
    parts: list[Any]


tool = xt.Tool.of(add, server="math")
assert_type(tool, xt.Tool)
assert_type(xt.load_tools([{"name": "add"}]), list[xt.Tool])

parser = xt.Parser(tools=[tool], strict=True, limits=xt.Limits(depth=8), reasoning_tags=["think"])
for event in [*parser.feed("text"), *parser.close()]:
    assert_type(event, xt.Event)
    match event:
        case xt.TextDelta(text):
            assert_type(text, str)
        case xt.ArgumentDelta(path, text):
            assert_type(path, tuple[str | int, ...])
        case xt.CallCompleted(call):
            assert_type(call, xt.ToolCall)
            assert_type(call.arguments, dict[str, Any])
            assert_type(call.repairs, tuple[xt.Repair, ...])
            assert_type(call.clean, bool)
        case xt.CallFailed(error):
            assert_type(error, xt.CallError)
            assert_type(error.code, xt.Code)

reply = xt.parse("text", [tool], strict=True)
assert_type(reply, xt.Reply)
assert_type(reply.text, str)
for part in reply.parts:
    assert_type(part, xt.Text | xt.Reasoning | xt.ToolCall | xt.CallError)
for error in reply.errors:
    assert_type(xt.render_retry(error, [tool]), str)
for made in reply.calls:
    assert_type(xt.render_call(made, tool), str)
assert_type(xt.render_instructions([tool], style="compact", wording=xt.ENGLISH), str)
assert_type(xt.render_result_parts([]), tuple[xt.Text | xt.Media, ...])

chat = xt.Conversation().system("Be brief.").user("2 + 2?").assistant("4", finish_reason="stop")
assert_type(chat[0], xt.Message)
assert_type(chat[1:], xt.Conversation)
assert_type(chat.last, xt.Message | None)
assert_type(inline(chat, [tool]), xt.Conversation)
assert_type(extract(chat), xt.Conversation)

assert_type(xt.render_result(xt.ToolResult(call_id="1", name="add", content="8")), str)

hello: wolo.TextPart = {"type": "text", "text": "Hi"}
ran: wolo.ToolPart = {"type": "tool", "id": "1", "tool": "add", "input": {"a": 1}, "status": "completed"}
stored: list[wolo.Message] = [{"role": "assistant", "parts": [hello, ran], "finished": True}]
assert_type(wolo.to_llm_messages(stored), list[dict[str, Any]])
assert_type(wolo.to_llm_messages(chat), list[dict[str, Any]])
wolo.to_llm_messages([StoredElsewhere("user", [])])
wolo.to_llm_messages(["Hi"])  # type: ignore[list-item]
late: wolo.ToolPart = {"type": "tool", "tool": "add", "status": "late"}  # type: ignore[typeddict-item]
asked: clawtools.AssistantMessage = {
    "role": "assistant",
    "content": [{"type": "toolCall", "id": "c", "name": "add", "arguments": {"a": 5}}],
}
answered: list[clawtools.ConversationMessage] = [asked, {
    "role": "toolResult", "toolCallId": "c", "toolName": "add", "content": [], "isError": False,
}]  # fmt: skip
assert_type(xt.load(answered, "clawtools"), xt.Conversation)

xt.Parser(tols=[tool])  # type: ignore[call-arg]
parser.feed(b"bytes")  # type: ignore[arg-type]
xt.parse("text", [tool], strikt=True)  # type: ignore[call-arg]
xt.render_instructions([tool], style="short")  # type: ignore[arg-type]
