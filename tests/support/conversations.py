"""Conversations to load and dump, made from a `random.Random`: whatever the canonical model can say, or only what a
format holds.

The turns are those of an agent: perhaps a system prompt, then the user, a reply that may call tools, their results in
order, the next reply, and so on. The last calls may still be open.
"""

from __future__ import annotations

from dataclasses import fields
from random import Random
from typing import Any

from hypothesis import strategies as st
from support.calls import anything, text

from xmltools.formats import Holds
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

NAMES = ("read_file", "apply_diff", "get_weather", "größe")
EVERYTHING = Holds(*[True] * len(fields(Holds)))


def conversation(rng: Random, holds: Holds = EVERYTHING, *, grouped: bool = False, system: bool = True) -> Conversation:
    """A conversation that says only what a format holds. `grouped`: all results of a turn stand in one message."""
    maker = _Maker(rng, holds, grouped)
    messages = [maker.message("system", [Text(text=some_text(rng))])] if system and rng.random() < 0.5 else []
    for _ in range(rng.randint(1, 3)):
        messages += maker.turn()
    made = Conversation(messages=tuple(messages))
    return made.model_copy(update={"metadata": {"a": 1}}) if holds.metadata and rng.random() < 0.2 else made


def some_text(rng: Random) -> str:
    """Text that is not empty and not only white space."""
    return f"x{text(rng)}" if rng.random() < 0.7 else rng.choice(["Hello", "a\nb", "  indented", "Tool: x\nResult: y"])


class _Maker:
    def __init__(self, rng: Random, holds: Holds, grouped: bool) -> None:
        self.rng = rng
        self.holds = holds
        self.grouped = grouped
        self.count = 0

    def maybe(self, chance: float, allowed: bool = True) -> bool:
        return allowed and self.rng.random() < chance

    def message(self, role: Any, parts: list[Any]) -> Message:
        fields: dict[str, Any] = {}
        if self.maybe(0.3, self.holds.message_ids):
            self.count += 1
            fields["id"] = f"msg_{self.count}"
        if self.maybe(0.2, self.holds.created_at):
            fields["created_at"] = float(self.rng.randint(0, 2_000_000_000))
        if self.maybe(0.2, self.holds.metadata):
            fields["metadata"] = {"key": "value"}
        if role == "user" and self.maybe(0.2, self.holds.names):
            fields["name"] = "ada"
        if role == "assistant" and self.maybe(0.3, self.holds.finish_reason):
            called = any(isinstance(part, ToolCall) for part in parts)
            fields["finish_reason"] = "tool_calls" if called else self.rng.choice(["stop", "length"])
        if role == "assistant" and self.maybe(0.1, self.holds.finished):
            fields["finished"] = False
        return Message(role=role, parts=tuple(parts), **fields)

    def turn(self) -> list[Message]:
        """The user, and replies and results until the model is done."""
        messages = [self.message("user", self.user_parts())]
        while self.maybe(0.8):
            calls = [self.call() for _ in range(self.rng.choice([0, 1, 1, 2]))]
            results = [self.result(call) for call in calls]
            if self.holds.status and calls and self.maybe(0.2):
                calls[-1] = calls[-1].model_copy(update={"status": "running"})
                messages.append(self.message("assistant", self.reply_parts(calls)))
                break
            calls = [self.done(call, result) for call, result in zip(calls, results, strict=True)]
            messages.append(self.message("assistant", self.reply_parts(calls)))
            if not calls:
                break
            if self.grouped:
                messages.append(self.message("tool", results))
            else:
                messages += [self.message("tool", [result]) for result in results]
        return messages

    def user_parts(self) -> list[Any]:
        parts: list[Any] = [Text(text=some_text(self.rng))]
        if self.maybe(0.2, self.holds.media):
            parts.append(self.medium())
        return parts

    def medium(self) -> Media:
        if self.rng.random() < 0.5:
            return Media(media_type="image/png", data="iVBORw0KGgo=")
        return Media(media_type="image/png", url="https://example.com/a.png")

    def reply_parts(self, calls: list[ToolCall]) -> list[Any]:
        parts: list[Any] = [Reasoning(text=some_text(self.rng))] if self.maybe(0.3, self.holds.reasoning) else []
        if not calls or self.rng.random() < 0.7:
            parts.append(Text(text=some_text(self.rng)))
        for call in calls:
            parts.append(call)
            if self.maybe(0.2, self.holds.order):
                parts.append(Text(text=some_text(self.rng)))
        return parts

    def call(self) -> ToolCall:
        self.count += 1
        arguments = {name: self.value() for name in self.rng.sample(["path", "n", "a b"], self.rng.randint(0, 2))}
        server = "disk" if self.maybe(0.2, self.holds.servers) else "local"
        # Where a format has no ids they are made by counting.
        return ToolCall(id=f"call_{self.count}", name=self.rng.choice(NAMES), arguments=arguments, server=server)

    def value(self) -> Any:
        if self.holds.types:
            return anything(self.rng, 1)
        return self.rng.choice([text(self.rng), text(self.rng), None, [text(self.rng)], {"a": text(self.rng)}])

    def result(self, call: ToolCall) -> ToolResult:
        content: Any = some_text(self.rng)
        if self.maybe(0.2, self.holds.result_media):
            content = (Text(text=content), Media(media_type="image/png", data="iVBORw0KGgo="))
        failed = self.maybe(0.2, self.holds.error_flag)
        return ToolResult(call_id=call.id, name=call.name, content=content, is_error=failed)

    def done(self, call: ToolCall, result: ToolResult) -> ToolCall:
        times = {"started_at": 1.5, "ended_at": 2.25} if self.maybe(0.3, self.holds.times) else {}
        return call.model_copy(update={"status": "failed" if result.is_error else "completed", **times})


def conversations(holds: Holds = EVERYTHING, **options: Any) -> st.SearchStrategy[Conversation]:
    """`conversation` for Hypothesis."""
    return st.randoms(use_true_random=False).map(lambda rng: conversation(rng, holds, **options))
