"""An agent with the library alone: text streams, calls that are right run, and a wrong one is asked for again."""

from collections.abc import Iterable
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


def handle(events: Iterable[xt.Event], results: list[xt.ToolResult], errors: list[xt.CallError]) -> None:
    """Show text, run calls, and keep what they gave, or what was wrong with them."""
    for event in events:
        match event:
            case xt.TextDelta(text):
                print(text, end="", flush=True)
            case xt.CallCompleted(call):
                print(f"[{call.name} {call.arguments}, repairs: {[each.code.value for each in call.repairs]}]")
                said = FUNCTIONS[call.name](**call.arguments)
                results.append(xt.ToolResult(call_id=call.id, name=call.name, content=said))
            case xt.CallFailed(error):
                print(f"[refused: {error.message}]")
                errors.append(error)


def main() -> None:
    """Play turns until the model calls no more tools."""
    prompt = xt.render_instructions(TOOLS)
    messages: list[Any] = [{"role": "system", "content": prompt}, {"role": "user", "content": "Note: milk & eggs."}]
    while messages[-1]["role"] == "user":
        parser, reply, results, errors = xt.Parser(TOOLS), "", [], []
        for piece in MODEL.stream(messages):
            reply += piece
            handle(parser.feed(piece), results, errors)
        handle(parser.close(), results, errors)
        messages.append({"role": "assistant", "content": reply})
        told = [xt.render_retry(each, TOOLS, others_run=bool(results) and each is errors[-1]) for each in errors]
        answer = "\n\n".join([*told, *([xt.render_results(results)] if results else [])])
        messages += [{"role": "user", "content": answer}] if answer else []


if __name__ == "__main__":
    main()
