"""An agent with the library alone: text streams, calls that are right run, and a wrong one is asked for again."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from scripted_model import ScriptedModel

import xmltools as xt

NOTES: dict[str, str] = {}


def write_note(name: str, text: str, mode: Literal["create", "append"] = "create") -> str:
    """Write a note."""
    NOTES[name] = text if mode == "create" else NOTES.get(name, "") + text
    return f"{name} has {len(NOTES[name])} characters"


FUNCTIONS = {"write_note": write_note}
TOOLS = [xt.Tool.of(function) for function in FUNCTIONS.values()]
CALL = "<tool><tool_name>write_note</tool_name><arguments>{}</arguments></tool>"
MODEL = ScriptedModel(
    "I write it down.\n" + CALL.format("<name>shop</name><text>milk & eggs</text><mode>replace</mode>"),
    CALL.format("<name>shop</name><text>milk & eggs</text>"),
    "The note is written.\n",
)


def handle(events: Iterable[xt.Event]) -> Iterator[str]:
    """Show text, run calls, and yield what the model is to be told."""
    for event in events:
        match event:
            case xt.TextDelta(text):
                print(text, end="", flush=True)
            case xt.CallCompleted(call):
                print(f"[{call.name} {call.arguments}, repairs: {[each.code.value for each in call.repairs]}]")
                result = FUNCTIONS[call.name](**call.arguments)
                yield xt.render_result(xt.ToolResult(call_id=call.id, name=call.name, content=result))
            case xt.CallFailed(error):
                print(f"[refused: {error.message}]")
                yield xt.render_retry(error, TOOLS)


def main() -> None:
    """Play turns until the model calls no more tools."""
    prompt = xt.render_instructions(TOOLS)
    messages: list[Any] = [{"role": "system", "content": prompt}, {"role": "user", "content": "Note: milk & eggs."}]
    while messages[-1]["role"] == "user":
        parser, reply, answers = xt.Parser(TOOLS), "", []
        for piece in MODEL.stream(messages):
            reply += piece
            answers += handle(parser.feed(piece))
        answers += handle(parser.close())
        messages.append({"role": "assistant", "content": reply})
        messages += [{"role": "user", "content": "\n\n".join(answers)}] if answers else []


if __name__ == "__main__":
    main()
