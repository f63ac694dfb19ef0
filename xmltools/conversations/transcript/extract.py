"""Plain to structured: text is read into calls, results and reasoning (see the package)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple, TypedDict, Unpack

from xmltools.conversations.transcript.escaping import (
    GLUE,
    change_first_text,
    join_texts,
    show_header,
    show_reasoning,
    show_tags,
    text_part,
    with_text,
)
from xmltools.conversations.transcript.ids import Ids, Note, Waiting, take_note
from xmltools.conversations.transcript.in_dialects import Notation, limits_of
from xmltools.conversations.transcript.inline import checked_tools
from xmltools.dialects import FORGE, Dialect, named
from xmltools.models import Conversation, Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.conversation import checked_conversation
from xmltools.models.events import CallCompleted, CallFailed, ReasoningDelta, TextDelta
from xmltools.parser import Limits, Parser
from xmltools.render import ReadResult, read_results
from xmltools.tools import Tool

_FULL_HEADER = re.compile("Tool: [^\n]*\n(?:Result|Error): ")
_HEADER_OF_TOOL = re.compile(r"Tool: ([^\n]+)(?:\n|\Z)")

_Segment = TextDelta | CallFailed | ReasoningDelta | CallCompleted


class _Options(TypedDict, total=False):
    """The options of `Parser` that make sense for what a model has written."""

    strict: bool
    reasoning_tags: Sequence[str] | None
    starts_in_reasoning: bool
    bracket_reasoning: bool
    code_fences: str
    limits: Limits | None


def extract(
    conversation: Conversation,
    tools: Iterable[Tool] | None = None,
    *,
    new_id: Callable[[], str] | None = None,
    dialect: Dialect | str = FORGE,
    **parser_options: Unpack[_Options],
) -> Conversation:
    """Read a plain conversation: what `inline` wrote, and what models and their hosts write.

    Takes the conversation, the tools as `Parser` does, what makes the ids of calls (else they are `call_1`, `call_2`, …
    without those that the conversation holds), and options of `Parser`. Only with the options that read its text as
    `Parser` does by itself `inline` is undone exactly. `limits` is the exception: the text is here already, so blocks
    may be as large and as many as it holds, and nest as deeply as `Limits` allows, unless you give others. Returns a
    conversation with as many messages.

    - The text of the assistant becomes texts, reasoning and calls. A block that gives no call stays in the text as it
      was written.
    - A message of a tool whose text begins with a line `Tool: name` becomes results. Without `Result: ` or `Error: ` in
      the next line it is one result, and all that follows is its content. A result answers the first call of its name
      that has no answer yet, in the last message with calls if there is one; if there is none at all, it gets the id
      `result_1`, `result_2`, ….
    - A message of a user becomes results, and then of the role "tool", only if it follows directly on a message with
      calls, or on other results for them, begins with both lines, and each of its results answers one of these calls.
      So users can't forge results that answer nothing.
    - Notes of ids that `inline` left in `extra["xmltools"]` are taken off. They are used if their number fits what the
      text holds, and then also say that a message of a user has results.
    - Structured results that name no call, by an id of their own or none, and follow directly on a message whose text
      has calls, answer these: by name, where as many results as calls have it, or in order, where there are as many
      results as calls. Others stay as they are: `validation.check` reports them as `unknown_call`.
    - All else is unchanged: the system's messages, those with structured calls or results, `extra`.

    `dialect`, a name or a record, is the one in which the texts are written. Where its results have no mark, a message
    of a user holds results only if a note says so.

    Raises XMLToolsError for bad arguments, as `Parser` does, and never for what a message holds.
    """
    checked_conversation(conversation, "extract")
    spelled = named(dialect)
    listed = checked_tools(tools, dialect=spelled, **parser_options)
    notation = Notation(spelled, listed) if spelled != FORGE else None
    reader = _Reader(listed, parser_options, Ids(conversation, new_id), notation)
    messages = _with_results_joined(conversation.messages, map(reader.message, conversation.messages))
    return conversation.model_copy(update={"messages": tuple(messages)})


class _Found(NamedTuple):
    """The results in a message, and its other parts."""

    results: list[ReadResult]
    rest: tuple[Part, ...]


class _Reader:
    """Reads message by message, and remembers which calls wait for results."""

    __slots__ = ("_ids", "_notation", "_options", "_tools", "_waiting")

    def __init__(self, tools: list[Tool] | None, options: _Options, ids: Ids, notation: Notation | None) -> None:
        self._notation = notation
        self._tools = tools
        self._options = options
        self._ids = ids
        self._waiting = Waiting()

    def message(self, message: Message) -> Message:
        """Read one message."""
        if any(isinstance(part, (ToolCall, ToolResult)) for part in message.parts):
            return self._structured(message)
        if message.role == "assistant":
            return self._assistant(message)
        if message.role == "system":
            self._waiting.retire()
            return message
        note, extra = take_note(message.extra)
        found = self._find_results(message, note)
        ids = self._ids_of(found.results, note, message.role) if found else None
        if found is None or ids is None:
            return self._plain(message, note, extra)
        names = note.result_names or [""] * len(ids)
        if len(names) != len(ids):
            names = [""] * len(ids)
        results = [
            _result(id, read, read.name or name or self._waiting.name_of(id))
            for id, read, name in zip(ids, found.results, names, strict=True)
        ]
        return message.model_copy(update={"role": "tool", "parts": (*results, *found.rest), "extra": extra})

    def _structured(self, message: Message) -> Message:
        if message.role == "assistant":
            self._waiting.ask(message.calls)
        self._waiting.answer(part.call_id for part in message.parts if isinstance(part, ToolResult))
        return message

    def _plain(self, message: Message, note: Note, extra: dict[str, Any]) -> Message:
        """A message of a user, or of a tool, without results."""
        self._waiting.retire()
        if self._notation is None:
            parts = show_header(message.parts, message.role)
        else:
            parts = self._notation.show_results(message.parts)
        role = "tool" if note.result_ids == [] else message.role
        return message.model_copy(update={"role": role, "parts": parts, "extra": extra})

    def _assistant(self, message: Message) -> Message:
        note, extra = take_note(message.extra)
        parts = list(self._parse(message.parts))
        calls = [part for part in parts if isinstance(part, ToolCall)]
        ids = note.call_ids
        if ids is None or len(ids) != len(calls):
            ids = [self._ids.for_call() for _ in calls]
        named = [call.model_copy(update={"id": id}) for call, id in zip(calls, ids, strict=True)]
        self._waiting.ask(named)
        left = iter(named)
        read = tuple(next(left) if isinstance(part, ToolCall) else part for part in parts)
        return message.model_copy(update={"parts": read, "extra": extra})

    def _parse(self, parts: Iterable[Part]) -> Iterator[Part]:
        options = self._options
        for part in join_texts(parts):
            if isinstance(part, Text):
                given: _Options = {**options, "limits": options.get("limits") or limits_of(part.text)}
                if self._notation is None:
                    yield from _read_part(part, _read_text(part.text, Parser(self._tools, new_id=_no_id, **given)))
                else:
                    parser = Parser(self._tools, new_id=_no_id, dialect=self._notation.dialect, **given)
                    yield from _read_part(part, self._notation.read(part.text, parser))
                continue
            if isinstance(part, Reasoning):
                options = {**options, "starts_in_reasoning": False}
            yield part

    def _find_results(self, message: Message, note: Note) -> _Found | None:
        notation, role = self._notation, message.role
        if notation is None:
            return _find_results(message, lambda text, media: _read_results(text, media, role))
        may_be_bare = role == "tool" if note.result_ids is None else bool(note.result_ids)
        return _find_results(message, lambda text, media: notation.read_results(text, media, may_be_bare=may_be_bare))

    def _ids_of(self, results: Sequence[ReadResult], note: Note, role: str) -> list[str] | None:
        """Return the ids of results; None if they are none, because a user wrote them unasked."""
        if note.result_ids is not None and len(note.result_ids) == len(results):
            self._waiting.answer(note.result_ids)
            return note.result_ids
        if role == "user":
            return self._waiting.take_current(result.name for result in results)
        taken = (self._waiting.take(result.name) for result in results)
        return [self._ids.for_result() if id is None else id for id in taken]


def _with_results_joined(plain: Iterable[Message], read: Iterable[Message]) -> Iterator[Message]:
    """Give results that name no call the ids of calls that were read from the text of the message before them. `read`
    has what each message of `plain` became."""
    known: set[str] = set()
    calls: Sequence[ToolCall] = ()
    pairs = zip(plain, read, strict=True)
    for is_answer, group in groupby(pairs, lambda pair: pair[1].role == "tool"):
        messages = list(group)
        if is_answer:
            yield from _joined(messages, calls, known)
            continue
        known.update(call.id for _, message in messages for call in message.calls)
        yield from (message for _, message in messages)
        before, last = messages[-1]
        calls = () if before.calls else last.calls


def _joined(
    messages: Sequence[tuple[Message, Message]], calls: Iterable[ToolCall], known: Container[str]
) -> Iterator[Message]:
    """As above, for messages of tools. Results that were read from text have their calls already."""
    named = {result.call_id for _, message in messages for result in message.results}
    lost = [each for before, _ in messages for each in before.results if each.call_id not in known]
    left = iter(_pair(lost, [call for call in calls if call.id not in named]))

    def join(part: Part) -> Part:
        if not isinstance(part, ToolResult) or part.call_id in known:
            return part
        call = next(left)
        return part.model_copy(update={"call_id": call.id, "name": call.name}) if call else part

    for before, message in messages:
        parts = tuple(map(join, message.parts)) if before.results else message.parts
        yield message.model_copy(update={"parts": parts}) if parts != message.parts else message


def _pair(results: Sequence[ToolResult], calls: Sequence[ToolCall]) -> list[ToolCall | None]:
    """For each result its call; None where several could be meant, or none."""
    if len(results) == len(calls) and all(
        result.name in ("", call.name) for result, call in zip(results, calls, strict=True)
    ):
        return list(calls)
    called, answered = (Counter(each.name for each in group) for group in (calls, results))
    by_name = {name: iter([call for call in calls if call.name == name]) for name in called}
    is_clear = {name: called[name] == number and "" not in answered for name, number in answered.items()}
    return [next(by_name[result.name]) if is_clear[result.name] else None for result in results]


def _no_id() -> str:
    return "-"  # calls get theirs when all of the message are known


def _read_part(part: Text, parts: Iterable[Part]) -> list[Part]:
    read = list(parts)
    if len(read) == 1 and isinstance(read[0], Text):
        return [with_text(part, read[0].text)]
    return read


def _read_text(text: str, parser: Parser) -> Iterator[Part]:
    """Read text of the assistant. A blank line beside a call or reasoning is no part of the text there."""
    events = chain(parser.feed(text), parser.close())
    segments = [event for event in events if isinstance(event, _Segment)]
    for kind, group in groupby(segments, _kind):
        run = list(group)
        if kind is Text:
            yield from join_texts(_prose(text, run))
        elif kind is Reasoning:
            thought = "".join(event.text for event in run if isinstance(event, ReasoningDelta))
            yield Reasoning.unchecked(show_reasoning(thought))
        else:
            yield from (event.call for event in run if isinstance(event, CallCompleted))


def _kind(event: _Segment) -> type[Text | Reasoning | ToolCall]:
    if isinstance(event, ReasoningDelta):
        return Reasoning
    return ToolCall if isinstance(event, CallCompleted) else Text


def _prose(text: str, run: Sequence[_Segment]) -> Iterator[Part]:
    """Read a run of text and of blocks that are no calls, which goes to the ends of the text or to other parts."""
    start, end = run[0].span[0], run[-1].span[1]
    low = start + len(GLUE) if start > 0 and text.startswith(GLUE, start) else start
    high = end - len(GLUE) if end < len(text) and text.endswith(GLUE, low, end) else end
    for kind, group in groupby(run, type):
        spans = [event.span for event in group]
        piece = text[max(spans[0][0], low) : min(spans[-1][1], high)]
        yield text_part(piece if kind is CallFailed else show_tags(piece))


def _find_results(message: Message, read: Callable[[str, Sequence[Media]], list[ReadResult] | None]) -> _Found | None:
    """Read the results that the first text of a message of a user or a tool begins with."""
    # Copies, since a part may stand in the message twice, and only the one that is read is taken out.
    parts = [part.model_copy() for part in message.parts]
    text = next((part for part in parts if isinstance(part, Text)), None)
    media = [part for part in parts if isinstance(part, Media)]
    results = read(text.text, media) if text else None
    if results is None:
        return None
    taken = {
        id(text),
        *(id(part) for result in results if isinstance(result.content, tuple) for part in result.content),
    }
    rest = [part for part in parts if id(part) not in taken]
    return _Found(results, change_first_text(rest, lambda text: text.removeprefix(GLUE)))


def _read_results(text: str, media: Sequence[Media], role: str) -> list[ReadResult] | None:
    if _FULL_HEADER.match(text):
        return read_results(text, media)
    header = _HEADER_OF_TOOL.match(text) if role == "tool" else None
    return [ReadResult(header[1], text[header.end() :], False)] if header else None


def _result(call_id: str, read: ReadResult, name: str) -> ToolResult:
    return ToolResult.model_construct(call_id=call_id, name=name, content=read.content, is_error=read.is_error)
