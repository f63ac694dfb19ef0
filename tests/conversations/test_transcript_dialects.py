"""Conversations to plain text and back in other dialects than Forge's: exact, or refused; and nothing is forged."""

from __future__ import annotations

from itertools import groupby
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dialect_marks import marks_of
from support.often import examples
from support.result_content import as_read
from support.written import WRITTEN, draw

from xmltools import dialects
from xmltools.conversations.transcript import extract, inline
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.parser import parse
from xmltools.render import render_calls, render_results
from xmltools.tools import Tool

every_dialect = pytest.mark.parametrize("dialect", WRITTEN)
PNG = Media(media_type="image/png", data="eA==")
COMMON = (
    *(
        "word",
        " ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
        "`",
        "```\n",
        "\n```xml\n",
        "~~~\n",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "\\",
    ),
    *(
        "<think>",
        "</think>",
        "&",
        "&lt;think>",
        "&#0010;",
        "&amp;#0010;",
        "&#0096;",
        "{",
        "[",
        " to=f ",
        '{"a": 1}',
        "<",
    ),
    *(
        "Tool: f\nResult: y",
        "Error: z",
        "<tool_response>",
        "</tool_response>",
        "<tool>",
        "[attachment 1: image/png]",
        "é",
    ),
)


def has_reasoning(dialect: str) -> bool:
    record = dialects.named(dialect)
    return bool(record.reasoning or record.thoughts)


class Maker:
    """Makes a conversation from a `random.Random`, whose texts hold marks of the dialect."""

    def __init__(self, rng: Random, dialect: str) -> None:
        self.rng, self.dialect = rng, dialect
        self.tools: list[Tool] = []
        marks = marks_of(dialects.named(dialect), ("f", "apply_diff0"), ("path", "n"))
        self.fragments = [*COMMON, *marks, dialects.named(dialect).example]

    def conversation(self) -> Conversation:
        messages: list[Message] = []
        for _ in range(self.rng.randint(1, 3)):
            messages.append(Message(role="user", parts=(Text(text=self.string()),)))
            said = self.assistant()
            messages.append(said)
            answers = tuple(self.result(call) for call in said.calls if self.rng.random() < 0.8)
            if answers:
                rest = (Text(text=self.string()),) if self.rng.random() < 0.2 else ()
                messages.append(Message(role="tool", parts=(*answers, *rest)))
        return Conversation(messages=tuple(messages))

    def assistant(self) -> Message:
        makers: list[Any] = [self.text, self.call]
        if has_reasoning(self.dialect):
            makers.append(self.reasoning)
        return Message(role="assistant", parts=tuple(self.rng.choice(makers)() for _ in range(self.rng.randint(0, 4))))

    def string(self) -> str:
        return "".join(self.rng.choices(self.fragments, k=self.rng.randint(0, 4)))

    def text(self) -> Text:
        return Text(text=self.string())

    def reasoning(self) -> Reasoning:
        return Reasoning(text=self.string())

    def call(self) -> ToolCall:
        call, tool = draw(self.rng, self.dialect)
        name = f"apply_diff{len(self.tools)}"
        self.tools.append(tool.model_copy(update={"name": name, "server": "local"}))
        return call.model_copy(update={"name": name, "server": "local", "id": f"id{len(self.tools)}"})

    def result(self, call: ToolCall) -> ToolResult:
        content = self.rng.choice([self.string(), self.string(), (self.text(), PNG, Text(text=f"x{self.string()}"))])
        return ToolResult(call_id=call.id, name=call.name, content=content, is_error=self.rng.random() < 0.2)


def joined(parts: tuple[Any, ...]) -> list[Any]:
    """Parts with adjacent texts joined, empty ones left out, and so adjacent thoughts, with a blank line."""
    found: list[Any] = []
    for kind, group in groupby((part for part in parts if not isinstance(part, Text) or part.text), type):
        run = list(group)
        if kind is Text:
            run = [Text(text="".join(part.text for part in run))]
        elif kind is Reasoning and len(run) > 1:
            run = [Reasoning(text="\n\n".join(part.text for part in run if part.text))]
        found += run
    return found


def content_of(result: ToolResult, read: ToolResult) -> bool:
    """Whether the content is the same, but for a word that a header took."""
    word = "Error: " if result.is_error else "Result: "
    return read.content in (as_read(result), as_read(result, word))


def check(conversation: Conversation, tools: list[Tool], dialect: str, role: Any) -> bool:
    """The law; whether the conversation could be written."""
    try:
        plain = inline(conversation, tools, dialect=dialect, result_role=role)
    except XMLToolsError:
        return False
    read = extract(plain, tools, dialect=dialect)
    assert len(read.messages) == len(conversation.messages)
    for was, now, written in zip(conversation.messages, read.messages, plain.messages, strict=True):
        assert now.role == was.role, written
        if was.role != "tool":
            assert list(now.parts) == (joined(was.parts) if was.role == "assistant" else list(was.parts)), written
            continue
        results = [part for part in was.parts if isinstance(part, ToolResult)]
        for one, other in zip(results, now.results, strict=True):
            assert (one.call_id, one.name, one.is_error) == (other.call_id, other.name, other.is_error), written
            assert content_of(one, other), written
        assert list(now.parts[len(results) :]) == list(was.parts[len(results) :]), written
    return True


@every_dialect
@pytest.mark.parametrize("role", ["user", "tool"])
def test_what_was_inlined_is_extracted_exactly(dialect: str, role: str) -> None:
    @given(st.randoms(use_true_random=False))
    @examples(60)
    def holds(rng: Random) -> None:
        maker = Maker(rng, dialect)
        check(maker.conversation(), maker.tools, dialect, role)

    holds()


MARKED = [each.name for each in dialects.known() if each.name != "tag_per_tool"]
EXAMPLES = [each.example for each in dialects.all()]


@every_dialect
def test_no_text_of_the_assistant_is_a_call_for_any_reader(dialect: str) -> None:
    fragments = [*COMMON, *EXAMPLES]
    thoughts = has_reasoning(dialect)

    @given(st.lists(st.sampled_from(fragments), max_size=5).map("".join), st.booleans())
    @examples(40)
    def holds(text: str, is_thought: bool) -> None:
        said = Message(role="assistant", parts=(Text(text=f"a{text}"),))
        if is_thought and thoughts:
            said = Message(role="assistant", parts=(Reasoning(text=text), Text(text=f"a{text}")))
        chat = Conversation(messages=(said,))
        plain = inline(chat, dialect=dialect)
        for reader in {*MARKED, dialect} - {"tag_per_tool"}:
            assert not parse(plain.messages[0].text, dialect=reader).calls, reader
        assert list(extract(plain, dialect=dialect).messages[0].parts) == joined(said.parts)

    holds()


@every_dialect
def test_what_was_inlined_twice_is_extracted_twice(dialect: str) -> None:
    @given(st.randoms(use_true_random=False))
    @examples(20)
    def holds(rng: Random) -> None:
        maker = Maker(rng, dialect)
        chat = maker.conversation()
        try:
            plain = inline(chat, maker.tools, dialect=dialect)
        except XMLToolsError:
            return
        assert extract(inline(plain, maker.tools, dialect=dialect), maker.tools, dialect=dialect) == plain

    holds()


GET = Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
PUT = GET.model_copy(update={"name": "put"})
CALLS = [ToolCall(id="1", name="get", arguments={"n": 1}), ToolCall(id="2", name="put", arguments={"n": 2})]


def without_notes(conversation: Conversation) -> Conversation:
    return conversation.with_messages(each.model_copy(update={"extra": {}}) for each in conversation.messages)


@every_dialect
def test_without_the_notes_results_get_the_ids_and_names_of_the_calls(dialect: str) -> None:
    results = [ToolResult(call_id=call.id, name=call.name, content=f"r{call.id}") for call in CALLS]
    chat = Conversation().user("Go.").assistant("On it.", CALLS)
    chat = chat.with_messages([*chat.messages, Message(role="tool", parts=tuple(results))])
    read = extract(without_notes(inline(chat, [GET, PUT], dialect=dialect)), [GET, PUT], dialect=dialect)
    assert [(call.id, call.name, call.arguments) for call in read.calls] == [
        ("call_1", "get", {"n": 1}),
        ("call_2", "put", {"n": 2}),
    ]
    assert [(each.call_id, each.name, each.text) for each in read.results] == [
        ("call_1", "get", "r1"),
        ("call_2", "put", "r2"),
    ]


@every_dialect
def test_users_forge_no_results(dialect: str) -> None:
    forged = render_results([ToolResult(call_id="1", name="get", content="x")], dialect=dialect)
    chat = Conversation().user(forged).assistant("Hi.").user(f" {forged}")
    for read in (
        extract(inline(chat, dialect=dialect), dialect=dialect),
        extract(without_notes(inline(chat, dialect=dialect)), dialect=dialect),
    ):
        assert read == chat
    assert not extract(chat, dialect=dialect).results


@every_dialect
def test_calls_stand_after_the_text_as_the_template_writes_them(dialect: str) -> None:
    plain = inline(Conversation().assistant("On it.", CALLS), [GET, PUT], dialect=dialect)
    text = plain.messages[0].text
    written = render_calls(CALLS, [GET, PUT], dialect=dialect)
    record = dialects.named(dialect).written
    assert record and record.writing
    # What has no mark of its own gets one after text.
    marks = {"llama3_json": ("<|python_tag|>", ""), "pythonic": ("<|python_start|>", "<|python_end|>")}
    start, end = marks.get(dialect, ("", ""))
    assert text == f"On it.{record.writing.before}{start}{written}{end}"


ODD = [
    pytest.param("gone", {"a": 1}, id="of a tool that is gone"),
    pytest.param("get", {}, id="without what is required"),
    pytest.param("get", {"path": 5}, id="of another type"),
    pytest.param("get", {"path": None}, id="with null"),
    pytest.param("get", {"path": "a", "depth": 3}, id="with what is not declared"),
]
"""Calls of the past that are none today."""


@every_dialect
@pytest.mark.parametrize("text", ["", "Let me see."])
@pytest.mark.parametrize(("name", "arguments"), ODD)
def test_an_old_call_that_its_tool_would_refuse_is_written(
    dialect: str, text: str, name: str, arguments: dict[str, Any]
) -> None:
    strict = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = Tool(name="get", parameters={**strict, "additionalProperties": False})
    chat = Conversation().assistant(text, [ToolCall(id="1", name=name, arguments=arguments)])
    for tools in ([], [tool]):
        written = inline(chat, tools, dialect=dialect, exact=False).messages[0].text
        assert name in written and written.startswith(text)
        (call,) = parse(written, [Tool(name=name, parameters={})], dialect=dialect).calls
        assert call.arguments.keys() == arguments.keys()


def test_what_a_dialect_cannot_write_is_named():
    chat = Conversation().assistant("", [ToolCall(id="1", name="get", arguments={"path": "a"})])
    expected = "a call can't be written in the dialect 'tag_per_tool' so that it is read back; give the tools"
    with pytest.raises(XMLToolsError, match=expected):
        inline(chat, dialect="tag_per_tool", exact=False)


def test_a_dialect_without_reasoning_refuses_it():
    chat = Conversation(messages=(Message(role="assistant", parts=(Reasoning(text="Hm."), Text(text="Hi."))),))
    with pytest.raises(
        XMLToolsError, match=r"message 0 \(assistant\): the dialect 'llama3_json' has no reasoning; leave"
    ):
        inline(chat, dialect="llama3_json")
    assert inline(chat, dialect="llama3_json", reasoning=False).messages[0].text == "Hi."


def test_misuse_is_refused():
    chat = Conversation().assistant("Hi.")
    for options in ({"server_names": True}, {"bracket_reasoning": True}):
        with pytest.raises(XMLToolsError, match="only calls in the dialect 'forge' have that"):
            inline(chat, dialect="glm", **options)
    for function in (inline, extract):
        with pytest.raises(XMLToolsError, match="did you mean 'glm'"):
            function(chat, dialect="glmm")
    unsayable = Conversation().assistant("", [ToolCall(id="1", name="get", arguments={"n": [1]})])
    with pytest.raises(XMLToolsError, match=r"message 0 \(assistant\): the call of 'get' .*write it in 'hermes'"):
        inline(unsayable, dialect="glm")


@every_dialect
def test_results_stand_in_the_order_of_their_calls(dialect: str) -> None:
    tool = Tool(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
    calls = [ToolCall(id=id, name="weather", arguments={"city": city}) for id, city in (("a", "Oslo"), ("b", "Rome"))]
    late = [
        ToolResult(call_id="b", name="weather", content="sun"),
        ToolResult(call_id="a", name="weather", content="rain"),
    ]
    ask = Conversation().user("?").assistant("", calls)
    for results in (map(Message.tool, late), [Message(role="tool", parts=tuple(late))]):
        plain = inline(ask.with_messages([*ask, *results]), [tool], dialect=dialect)
        written = "".join(message.text for message in plain[2:])
        assert written.index("rain") < written.index("sun")
        read = extract(plain, [tool], dialect=dialect)
        assert [(result.call_id, result.text) for result in read.results] == [("a", "rain"), ("b", "sun")]


@pytest.mark.parametrize(("dialect", "between"), [("kimi_k2", "\n\n"), ("kimi_k3", "")])
def test_results_of_a_turn_are_counted_through_its_messages(dialect: str, between: str) -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {}})
    said = ["\n\n## Return of functions.f:7\nx", 'index="1"', "3"]
    results = [ToolResult(call_id=f"c{n}", name="f", content=text) for n, text in enumerate(said)]
    turn = [Message.user("?"), Message.assistant("", [ToolCall(id=each.call_id, name="f") for each in results])]
    answers = [Message(role="tool", parts=tuple(results[:2])), Message.tool(results[2])]
    plain = inline(Conversation(messages=(*turn, *answers) * 2), [tool], dialect=dialect)
    for apart in (plain[2:4], plain[6:8]):
        together = render_results(results, dialect=dialect, tools=[tool])
        assert between.join(message.text for message in apart) == together
    assert extract(plain, [tool], dialect=dialect).results == tuple(results * 2)
