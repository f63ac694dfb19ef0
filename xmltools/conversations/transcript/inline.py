"""Structured to plain: calls, results and reasoning become text (see the package)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any, Literal

from xmltools.conversations.transcript.escaping import (
    GLUE,
    change_first_text,
    hide_header,
    hide_tags,
    join_texts,
    text_part,
    write_bracketed,
    write_reasoning,
)
from xmltools.conversations.transcript.ids import add_note
from xmltools.conversations.transcript.in_dialects import Notation
from xmltools.conversations.transcript.turns import in_order_of_calls, results_before
from xmltools.dialects import FORGE, Dialect, named
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.conversation import checked_conversation
from xmltools.parser import Parser
from xmltools.render import render_call, render_result_parts
from xmltools.render.calls import refuse_forges_options
from xmltools.render.forge_calls import write_call
from xmltools.render.writable import only_server, refuse_foreign
from xmltools.tools import Tool

ResultRole = Literal["user", "tool"]


def inline(
    conversation: Conversation,
    tools: Iterable[Tool] | None = None,
    *,
    result_role: ResultRole = "user",
    reasoning: bool = True,
    exact: bool = True,
    server_names: bool = False,
    bracket_reasoning: bool = False,
    dialect: Dialect | str = FORGE,
) -> Conversation:
    """Write a conversation so that a model can read it which knows neither tool calls nor the role of tools.

    Takes the conversation, the tools whose schemas decide how calls are written, the role that results get, whether
    reasoning is written or left out, whether calls of other tools and tags in reasoning are `exact`, whether calls name
    their server also where that is the one of all tools (`local`, if there are none), as Forge's do, and whether
    reasoning is in square brackets. Returns a conversation with as many messages, each of them plain; `extra` is
    kept, and notes the ids in `extra["xmltools"]`.

    - Messages of the system stay as they are. So do those of users, but for a text that `extract` would take for
      results.
    - A message of the assistant becomes one text and, after it, its media. Adjacent texts are joined, empty ones
      vanish. Reasoning stands in `<think>` (or in brackets, if it can), a call is a block; a blank line separates each
      of them from what is next to it. A call of a tool that is not among `tools` is written so that its arguments keep
      their types without one, which takes a JSON body where numbers or booleans are among them; not `exact`, these are
      written as text.
    - A message that holds results, in whatever role, and each message of a tool gets the role `result_role`. Its
      results become one text, as `render_results` writes them, after which stand their media. Texts and media that
      come after the results in the message follow, the first text with a blank line in front.
    - Text holds no ids, so the results of a turn stand in the order of its calls, each in the place of another one.
      In Forge's dialect, whose results say the names of their tools, they stay where each name has its own in order.
      A dialect that numbers results counts them through the messages of a turn.

    `extract` with the same tools gives all that again, in the role "tool" what became results. It can't give what
    `render_results` does not keep (texts of one result that are apart, the word `Result: ` or `Error: ` that content
    begins with), the order of results that were moved, what calls, results and reasoning hold beside (`extra`, the
    status and times of a call), nor a call that its tool refuses: that stays text. With `bracket_reasoning` it needs
    that option too, and a paragraph of a text that stands in brackets is read as reasoning then.

    `dialect`, a name or a record, is the one that the model was trained to write: calls, results and reasoning are
    written as in it, and `extract` needs the same dialect. There a call is written with its type, or not at all (see
    `render_call`), and a text that would be read as something else and can't be hidden is refused. Results whose form
    says no name have theirs in the notes.

    Raises XMLToolsError, which says in which message, for a call that can't be written (see `render_call`), for a
    call or reasoning in a message that is not the assistant's, for a result beside these or after text or media in
    its message, and for bad arguments.
    """
    checked_conversation(conversation, "inline")
    if result_role not in ("user", "tool"):
        raise XMLToolsError(f"result_role: expected 'user' or 'tool', got {result_role!r:.40}")
    spelled = named(dialect)
    listed = checked_tools(tools, dialect=spelled)
    notation = None
    if spelled != FORGE:
        refuse_forges_options(spelled, server_names=server_names, bracket_reasoning=bracket_reasoning)
        notation = Notation(spelled, listed)
    writer = _Writer(listed, result_role, reasoning, exact, server_names, bracket_reasoning, notation)
    ordered = in_order_of_calls(conversation.messages, are_named=notation is None)
    messages: list[Message] = []
    for number, (message, count) in enumerate(zip(ordered, results_before(ordered), strict=True)):
        try:
            messages.append(writer.message(message, count))
        except XMLToolsError as error:
            raise XMLToolsError(f"message {number} ({message.role}): {error}") from None
    return conversation.model_copy(update={"messages": tuple(messages)})


class _Writer:
    """Writes message by message; it remembers nothing of them."""

    __slots__ = ("_brackets", "_exact", "_notation", "_only_server", "_reasoning", "_result_role", "_tools")

    def __init__(
        self,
        tools: list[Tool] | None,
        result_role: ResultRole,
        reasoning: bool,
        exact: bool,
        server_names: bool,
        brackets: bool,
        notation: Notation | None,
    ) -> None:
        self._notation = notation
        self._brackets = brackets
        self._exact = exact
        self._only_server = None if server_names else only_server(tools or ())
        self._tools = {(tool.name, tool.server): tool for tool in tools or ()}
        self._result_role = result_role
        self._reasoning = reasoning

    def message(self, message: Message, count: int) -> Message:
        """Write one message. `count` says how many results of its turn stand before it."""
        kinds = {part.type for part in message.parts}
        if "result" in kinds and message.role != "system":
            _refuse(kinds & {"call", "reasoning"}, "beside results; put results in a message of their own")
            return self._results(message, count)
        if message.role == "assistant":
            return self._assistant(message)
        _refuse(kinds & {"call", "reasoning", "result"}, "here; put it in a message whose role has such parts")
        if message.role == "system":
            return message
        if message.role == "tool":
            return self._results(message, count)
        parts = self._hide_header(message.parts, message.role)
        return message.model_copy(update={"parts": parts, "extra": add_note(message.extra)})

    def _hide_header(self, parts: Sequence[Part], role: str) -> tuple[Part, ...]:
        return hide_header(parts, role) if self._notation is None else self._notation.hide_results(parts, role)

    def _assistant(self, message: Message) -> Message:
        media = [part for part in message.parts if isinstance(part, Media)]
        shown = [part for part in message.parts if not isinstance(part, Media) and self._is_shown(part)]
        parts = (*self._said(join_texts(shown)), *media)
        ids = [call.id for call in message.calls]
        extra = add_note(message.extra, call_ids=ids) if ids else add_note(message.extra)
        return message.model_copy(update={"parts": parts, "extra": extra})

    def _said(self, parts: list[Part]) -> tuple[Part, ...]:
        if self._notation is not None:
            text = self._notation.write(parts, exact=self._exact) if parts else ""
            return change_first_text(parts, lambda _: text) if _is_one_text(parts) else (text_part(text),)
        if _is_one_text(parts):
            return change_first_text(parts, hide_tags)
        # Adjacent texts are one, so at each border there is a call or reasoning.
        written = [self._write(part, is_followed=number < len(parts)) for number, part in enumerate(parts, 1)]
        return (text_part(GLUE.join(written)),)

    def _is_shown(self, part: Part) -> bool:
        return self._reasoning or not isinstance(part, Reasoning)

    def _write(self, part: Part, *, is_followed: bool) -> str:
        if isinstance(part, Text):
            return hide_tags(part.text, is_followed=is_followed)
        if isinstance(part, Reasoning):
            return (write_bracketed(part.text) if self._brackets else None) or write_reasoning(
                part.text, exact=self._exact
            )
        assert isinstance(part, ToolCall)
        return self._call(part)

    def _call(self, call: ToolCall) -> str:
        tool = self._tools.get((call.name, call.server))
        named = call.server != self._only_server
        if tool is not None:
            return render_call(call, tool, server_names=named)
        refuse_foreign(call.arguments, f"the call of {call.name!r:.80}")
        return write_call(call, None, exact=self._exact, server_names=named)

    def _results(self, message: Message, count: int) -> Message:
        notation = self._notation
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        rest = message.parts[len(results) :]
        _check_order(results, rest)
        ids = [result.call_id for result in results]
        if not results:
            parts = self._hide_header(rest, self._result_role)
            extra = add_note(message.extra, result_ids=ids)
        elif notation is None:
            parts = (*render_result_parts(results), *change_first_text(rest, GLUE.__add__))
            extra = add_note(message.extra, result_ids=ids)
        else:
            written = render_result_parts(results, dialect=notation.dialect, tools=notation.tools, before=count)
            parts = (*written, *change_first_text(rest, GLUE.__add__))
            extra = add_note(message.extra, result_ids=ids, result_names=[result.name for result in results])
        return message.model_copy(update={"role": self._result_role, "parts": parts, "extra": extra})


def _is_one_text(parts: Sequence[Part]) -> bool:
    return len(parts) < 2 and all(isinstance(part, Text) for part in parts)


def _refuse(kinds: Set[str], where: str) -> None:
    if kinds:
        raise XMLToolsError(f"expected no {' and no '.join(sorted(kinds))} {where}")


def _check_order(results: Sequence[ToolResult], rest: Sequence[Part]) -> None:
    """Only results that come first can be told from text after them."""
    if any(isinstance(part, ToolResult) for part in rest):
        raise XMLToolsError(
            f"expected its {len(results)} results in front of its other parts; move texts and media after them"
        )


def checked_tools(tools: Iterable[Tool] | None, **options: Any) -> list[Tool] | None:
    """Return the tools as a list. Raises XMLToolsError if a parser refuses them, or its options."""
    if tools is not None and not isinstance(tools, Iterable):
        raise XMLToolsError(f"tools: expected a list of xmltools.Tool, or None, got {type(tools).__name__}")
    listed = None if tools is None else list(tools)
    Parser(listed, **options)
    return listed
