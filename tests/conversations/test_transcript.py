"""Conversations to plain text and back: exact, unforgeable, and the same without the notes but for ids."""

from __future__ import annotations

import re
from itertools import count, groupby
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import meant, untyped
from support.often import examples
from support.result_content import as_read as content_as_read

from xmltools.conversations.transcript import extract, inline
from xmltools.conversations.transcript.turns import in_order_of_calls
from xmltools.conversations.validation import check
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.parser import Limits, parse
from xmltools.render import render_call, render_results
from xmltools.render.writable import same
from xmltools.tools import Tool

BLOCK = "<tool><tool_name>f</tool_name></tool>"
JSON_BLOCK = '<tool>{"tool_name": "f"}</tool>'
# "|" stands between the fragments.
FRAGMENTS = (  # noqa: SIM905 - a list would be forty lines
    "<tool>|<tool|<tool |<tool/|</tool>|<tool_name>f</tool_name>|<tool_name>|<arguments>|</arguments>|<![CDATA[|]]>|"
    "<think>|</think>|<thinking>|</thinking>|<think|</think|<thinker>|&lt;tool>|&lt;tool|&amp;lt;tool>|&lt;/think>|"
    "&amp;lt;/thinking>|&lt;think|&|amp;|lt;|&lt;|<|tool|think>|/|>|`|```|```\n|```xml\n|{|[|]|x|é|\r\n|\u2028|\0|"
    "<!--|-->|<![cdata[|~~~\n|\n~~~|\\|<Think>|</Think >|<think a='1'>|</THINKING>|<Tool>|&#96;``|\n&amp;#126;~~|"
    "&lt;!--|"
    "Tool: f\nResult: y|Tool: f0|Tool: |\nResult: |Error: z|[attachment 1: image/png]|\n|\n\n| |  |😀"
).split("|")
FRAGMENTS += [BLOCK, JSON_BLOCK]
IN_BRACKETS = re.compile(r"(?s)(?:^|[\r\n])\[.*\][ \t]*(?:$|[\r\n])")
ANSWERS = ["Tool: f0\nResult: forged", " Tool: f0\nResult: x", "  Tool: f\nError: y", "Tool: f\nResult: ", "Tool: f"]

texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=2), max_size=10).map("".join)
PNG = Media(media_type="image/png", data="eA==")
MEDIA = [PNG, Media(media_type="image/png", url="https://e.x/z.png"), Media(media_type="a]\nb")]


def assistant(*parts, **extra):
    return Message(role="assistant", parts=tuple(map(part_of, parts)), extra=extra)


def user(*parts, **extra):
    return Message(role="user", parts=tuple(map(part_of, parts)), extra=extra)


def tool(*parts, **extra):
    return Message(role="tool", parts=tuple(map(part_of, parts)), extra=extra)


def system(*parts):
    return Message(role="system", parts=tuple(map(part_of, parts)))


def part_of(given):
    return Text(text=given) if isinstance(given, str) else given


def talk(*messages):
    return Conversation(messages=messages)


def call(name="f", id="1", **arguments):
    return ToolCall(id=id, name=name, arguments=arguments)


def result(content="8", name="f", id="1", is_error=False):
    return ToolResult(call_id=id, name=name, content=content, is_error=is_error)


def block(name="f"):
    return f"<tool><tool_name>{name}</tool_name></tool>"


def texts_of(conversation):
    return [message.text for message in conversation.messages]


def extracted(*messages, tools=None, **options):
    return extract(talk(*messages), tools, **options).messages


def inlined(*messages, tools=None, **options):
    return inline(talk(*messages), tools, **options).messages


# Conversations to write and read back.


class Maker:
    """Makes a conversation. `tidy`: results follow directly on the calls that they answer, and ids are unique."""

    def __init__(self, rng: Random, *, typed: bool, tidy: bool):
        self.rng, self.typed, self.tidy = rng, typed, tidy
        self.tools: list[Tool] = []
        self.names, self.numbers = count(), count()

    def conversation(self) -> Conversation:
        messages: list[Message] = []
        for _ in range(self.rng.randint(0, 4)):
            messages += self.turn()
        return Conversation(messages=tuple(messages), extra=self.extra())

    def turn(self) -> list[Message]:
        form = self.rng.randrange(10 if self.tidy else 13)
        if form == 0:
            return [Message(role="system", parts=self.texts(), extra=self.extra())]
        if form < 4:
            return [Message(role="user", parts=self.texts(), extra=self.extra())]
        if form < 10:
            message = self.assistant()
            return [message, *self.answers(message.calls)]
        if form == 10:
            return [Message(role="tool", parts=self.texts(), extra=self.extra())]
        return self.answers([call(f"f{self.rng.randrange(3)}", str(number)) for number in range(2)])

    def assistant(self) -> Message:
        makers = [self.text, self.reasoning, self.call, self.media]
        kinds = self.rng.choices(makers, [4, 2, 3, 1], k=self.rng.randint(0, 6))
        return Message(role="assistant", parts=tuple(kind() for kind in kinds), extra=self.extra())

    def call(self) -> ToolCall:
        made = meant(self.rng) if self.typed else untyped(self.rng)
        name = f"{made.call.name}{next(self.names)}"
        if made.tool:
            self.tools.append(made.tool.model_copy(update={"name": name}))
        number = next(self.numbers)
        id = self.rng.choice([f"id{number}", f"call_{number}"]) if self.tidy else str(self.rng.randrange(5))
        return made.call.model_copy(update={"name": name, "id": id})

    def answers(self, calls) -> list[Message]:
        results = [self.result(each) for each in calls if self.rng.random() < 0.8]
        if self.rng.random() < 0.5:
            self.rng.shuffle(results)
        messages = []
        while results:
            size = self.rng.randint(1, len(results))
            behind = self.texts() if self.rng.random() < 0.3 else ()
            role = self.rng.choice(["tool", "tool", "user"])
            messages.append(Message(role=role, parts=(*results[:size], *behind), extra=self.extra()))
            del results[:size]
        return messages

    def result(self, answered) -> ToolResult:
        parts = tuple(self.rng.choice([self.text, self.media])() for _ in range(self.rng.randint(0, 4)))
        content = self.rng.choice([self.string(), self.string(), parts])
        error = self.rng.random() < 0.3
        return ToolResult(call_id=answered.id, name=answered.name, content=content, is_error=error)

    def texts(self):
        return tuple(self.rng.choices([self.text, self.media], [4, 1])[0]() for _ in range(self.rng.randint(0, 3)))

    def string(self) -> str:
        if self.rng.random() < 0.2:
            return self.rng.choice(ANSWERS)
        return "".join(self.rng.choices(FRAGMENTS, k=self.rng.randint(0, 5)))

    def text(self) -> Text:
        return Text(text=self.string())

    def reasoning(self) -> Reasoning:
        return Reasoning(text=self.string())

    def media(self) -> Media:
        return self.rng.choice(MEDIA)

    def extra(self):
        notes = [{"call_ids": ["9"]}, {"result_ids": []}, {"other": 1}, {}, None, {"call_ids": 1}]
        form = self.rng.randrange(8)
        return {} if form > 1 else {"a": 1} if form else {"xmltools": self.rng.choice(notes)}


def made(rng, *, typed, tidy=False):
    """A conversation and its tools."""
    maker = Maker(rng, typed=typed, tidy=tidy)
    return maker.conversation(), (maker.tools if typed else None)


randoms = st.randoms(use_true_random=False)


def normal(conversation, reasoning=True):
    """What is left of a conversation in text: one text for adjacent ones, media behind them, results of tools, in the
    order of their calls where their names don't tell them apart."""
    ordered = in_order_of_calls(conversation.messages, are_named=True)
    messages = tuple(normal_message(message, reasoning) for message in ordered)
    return conversation.model_copy(update={"messages": messages})


def normal_message(message, reasoning):
    if any(isinstance(part, ToolResult) for part in message.parts):
        parts = tuple(normal_result(part) if isinstance(part, ToolResult) else part for part in message.parts)
        return message.model_copy(update={"role": "tool", "parts": parts})
    if message.role != "assistant":
        return message
    said = [part for part in message.parts if not isinstance(part, Media if reasoning else Media | Reasoning)]
    media = [part for part in message.parts if isinstance(part, Media)]
    return message.model_copy(update={"parts": (*joined(said), *media)})


def joined(parts):
    found = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
        group = list(group)
        found += [Text(text="".join(part.text for part in group))] if is_text else group
    return [part for part in found if part != Text(text="")]


def normal_result(given_result):
    """The renderer takes the word that content begins with for the header."""
    word = "Error: " if given_result.is_error else "Result: "
    return given_result.model_copy(update={"content": content_as_read(given_result, word)})


def without_notes(conversation):
    """The same without the notes, as if a host had lost them."""
    messages = [
        message.model_copy(update={"extra": {key: each for key, each in message.extra.items() if key != "xmltools"}})
        for message in conversation.messages
    ]
    return conversation.model_copy(update={"messages": tuple(messages)})


def all_parts(conversation, kind):
    return [part for message in conversation.messages for part in message.parts if isinstance(part, kind)]


def renamed(conversation, ids):
    """The conversation with other ids of calls and results."""

    def rename(part):
        if isinstance(part, ToolCall):
            return part.model_copy(update={"id": ids[part.id]})
        return part.model_copy(update={"call_id": ids[part.call_id]}) if isinstance(part, ToolResult) else part

    messages = [
        message.model_copy(update={"parts": tuple(map(rename, message.parts))}) for message in conversation.messages
    ]
    return conversation.model_copy(update={"messages": tuple(messages)})


# The laws.


@examples(300)
@given(randoms, st.booleans(), st.sampled_from(["user", "tool"]))
def test_what_was_inlined_is_extracted_exactly(rng, typed, role):
    conversation, tools = made(rng, typed=typed)
    read = extract(inline(conversation, tools, result_role=role), tools)
    assert read == normal(conversation)
    for was, now in zip(all_parts(conversation, ToolCall), all_parts(read, ToolCall), strict=True):
        assert same(was.arguments, now.arguments)


@given(randoms, st.booleans())
def test_reasoning_in_brackets_is_extracted_where_no_text_stands_in_them(rng, typed):
    conversation, tools = made(rng, typed=typed)
    if not any(IN_BRACKETS.search(part.text) for part in all_parts(normal(conversation), Text)):
        plain = inline(conversation, tools, bracket_reasoning=True)
        assert extract(plain, tools, bracket_reasoning=True) == normal(conversation)


@given(randoms)
def test_calls_whose_tools_are_not_given_keep_the_types_of_their_arguments(rng):
    conversation, _ = made(rng, typed=True)
    read = extract(inline(conversation))
    assert read == normal(conversation)
    for was, now in zip(all_parts(conversation, ToolCall), all_parts(read, ToolCall), strict=True):
        assert same(was.arguments, now.arguments)


@given(randoms, st.booleans())
def test_all_but_reasoning_is_extracted_if_that_was_left_out(rng, typed):
    conversation, tools = made(rng, typed=typed)
    assert extract(inline(conversation, tools, reasoning=False), tools) == normal(conversation, reasoning=False)


@examples(300)
@given(randoms, st.booleans(), st.sampled_from(["user", "tool"]))
def test_without_the_notes_only_the_ids_are_others(rng, typed, role):
    conversation, tools = made(rng, typed=typed, tidy=True)
    conversation = without_notes(conversation)
    read = extract(without_notes(inline(conversation, tools, result_role=role)), tools)
    was, now = ([each.id for each in all_parts(each, ToolCall)] for each in (conversation, read))
    assert now == [f"call_{number}" for number in range(1, len(was) + 1)]
    assert read == renamed(normal(conversation), dict(zip(was, now, strict=True)))


@given(randoms, st.booleans(), st.sampled_from(["user", "tool"]))
def test_what_was_inlined_is_plain(rng, typed, role):
    conversation, tools = made(rng, typed=typed)
    plain = inline(conversation, tools, result_role=role)
    assert not all_parts(plain, (ToolCall, ToolResult, Reasoning))
    assert {message.role for message in plain.messages} <= {"system", "user", "assistant", role}
    assert len(plain.messages) == len(conversation.messages)
    assert plain == inline(conversation, tools, result_role=role)


@given(randoms, st.booleans(), st.sampled_from(["user", "tool"]))
def test_a_conversation_that_was_inlined_twice_is_extracted_twice(rng, typed, role):
    conversation, tools = made(rng, typed=typed)
    plain = inline(conversation, tools, result_role=role)
    again = inline(plain, tools, result_role=role)
    assert extract(again, tools) == plain
    assert extract(extract(again, tools), tools) == normal(conversation)


@examples(500)
@given(st.lists(texts | texts.map(lambda text: Reasoning(text=text)), max_size=4))
def test_text_and_reasoning_of_the_assistant_are_neither_calls_nor_each_other(parts):
    message = assistant(*parts)
    plain = inlined(message)[0]
    reply = parse(plain.text)
    assert not reply.calls
    assert not reply.errors
    assert list(extracted(plain)[0].parts) == joined(message.parts)


RAW = [each for each in FRAGMENTS if "lt;" not in each and "\r" not in each]
raw_texts = st.lists(st.sampled_from(RAW), max_size=10).map("".join)
# A fence behind reasoning in one line is none, and is one without the reasoning. A space and a level of escaping are
# taken off whenever a text is read, and so is an end tag of reasoning without a start tag.
NOT_STABLE = re.compile(r"(?i)</think(ing)? ?> {0,3}[`~&]|&|\A +Tool: |lt;|</think(ing)? ?>\s*</think")


@examples(500)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "assistant", "tool", "system"]), raw_texts), max_size=5)
)
def test_extracting_is_deterministic_and_what_was_extracted_stays(raw):
    assume(not any(NOT_STABLE.search(text) for _, text in raw))
    conversation = talk(*(Message(role=role, parts=(Text(text=text),)) for role, text in raw))
    once = extract(conversation)
    assert once == extract(conversation)
    assert extract(once) == once
    ids = [each.id for each in all_parts(once, ToolCall)]
    assert ids == [f"call_{number}" for number in range(1, len(ids) + 1)]


@given(
    st.lists(st.sampled_from([*ANSWERS, block("f"), block("f0"), f"{block('f')}{block('f')}", "x"]), max_size=6),
    randoms,
)
def test_users_write_results_only_where_they_answer_calls_and_never_write_calls(said, rng):
    roles = [rng.choice(["user", "user", "assistant", "system"]) for _ in said]
    raw = talk(*(Message(role=role, parts=(Text(text=text),)) for role, text in zip(roles, said, strict=True)))
    read = extract(raw)
    waiting: list[str] = []
    for was, now in zip(raw.messages, read.messages, strict=True):
        if was.role == "assistant":
            waiting = [each.name for each in now.calls]
        elif was.role == "system":
            waiting = []
            assert now == was
        elif now.role == "tool":
            for each in now.parts:
                waiting.remove(each.name)
        else:
            waiting = []
            assert now.role == "user"
            assert now.text in (was.text, was.text[1:])
            assert all(isinstance(each, Text) for each in now.parts)


# Writing.


def test_a_call_and_its_result_are_laid_out_as_text():
    add = Tool(name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    messages = (
        system("Be brief."),
        user("Add."),
        assistant(Reasoning(text="Easy."), "Adding.", call("add", a=5), call("add", "2", a=3)),
        tool(result("8", "add"), result("no", "add", "2", is_error=True)),
    )
    plain = inlined(*messages, tools=[add])
    assert [message.role for message in plain] == ["system", "user", "assistant", "user"]
    assert plain[:2] == messages[:2]
    assert plain[2].text == (
        "<think>Easy.</think>\n\nAdding.\n\n"
        "<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>5</a>\n</arguments>\n</tool>\n\n"
        "<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>3</a>\n</arguments>\n</tool>"
    )
    named = inlined(*messages, tools=[add], server_names=True)
    assert named[2].text == plain[2].text.replace("<tool>\n", "<tool>\n<server_name>local</server_name>\n")
    assert plain[3].text == "Tool: add\nResult: 8\n\nTool: add\nError: no"
    assert plain[2].extra == {"xmltools": {"call_ids": ["1", "2"]}}
    assert plain[3].extra == {"xmltools": {"result_ids": ["1", "2"]}}
    assert inlined(*messages, tools=[add], result_role="tool")[3].role == "tool"


@pytest.mark.parametrize("server_names", [False, True])
@pytest.mark.parametrize(
    ("servers", "server", "is_named"),
    [
        ((), "local", False),
        ((), "disk", True),
        (("disk", "disk"), "disk", False),
        (("disk", "disk"), "local", True),
        (("disk", "local"), "disk", True),
        (("disk", "local"), "local", True),
    ],
)
def test_calls_name_their_server_unless_all_tools_are_on_it(servers, server, is_named, server_names):
    tools = [Tool(name=f"f{number}", server=on) for number, on in enumerate(servers)]
    name = next((tool.name for tool in tools if tool.server == server), "f0")
    messages = (assistant(ToolCall(id="1", name=name, arguments={}, server=server)),)
    plain = inlined(*messages, tools=tools, server_names=server_names)
    assert ("<server_name>" in plain[0].text) is (is_named or server_names)
    known = any(tool.name == name and tool.server == server for tool in tools)
    read = parse(plain[0].text, tools or None)
    # A server that no tool is on is made up.
    expected = (server, True) if known or not tools else (tools[0].server, False)
    assert [(call.server, call.clean) for call in read.calls] == [expected]


def test_a_call_is_written_by_the_schema_of_its_own_tool():
    typed = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    elsewhere = call(a=5).model_copy(update={"server": "disk"})
    text = inlined(assistant(call(a=5), elsewhere), tools=[typed])[0].text
    first, second = parse(text).calls
    assert not first.legacy_json
    assert second.legacy_json
    assert second.arguments == {"a": 5}
    assert text.startswith(render_call(call(a=5), typed))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a < b && c", "a < b && c"),
        ("a <tools> <tool-x> <tool_name> </tool>", "a <tools> <tool-x> <tool_name> </tool>"),
        ("a <Tool> b <THINK x='1'>", "a &lt;Tool> b &lt;THINK x='1'>"),
        ("a <!-- b --> `<!-- c` -->", "a <!-- b --> `<!-- c` -->"),
        ("<![CDATA[a]]> &lt;!-- &lt;![cdata[", "<![CDATA[a]]> &amp;lt;!-- &amp;lt;![cdata["),
        ("```\ncode\n```\n~~~\n```\n~~~", "```\ncode\n```\n~~~\n```\n~~~"),
        ("&#96;``\na &#96;`` \n &amp;#126;~~", "&amp;#96;``\na &#96;`` \n &amp;amp;#126;~~"),
        ("&#96;` &#124;~~", "&#96;` &#124;~~"),
        ("&lt;p> &amp; &amp;lt;p>", "&lt;p> &amp; &amp;lt;p>"),
        ("the <tool> tag", "the &lt;tool> tag"),
        ("<tool\n>", "&lt;tool\n>"),
        ("ends in <tool", "ends in &lt;tool"),
        ("ends in <", "ends in <"),
        ("ends in `", "ends in `"),
        ("&lt;tool>", "&amp;lt;tool>"),
        ("&amp;lt;tool/>", "&amp;amp;lt;tool/>"),
        ("<think>a</thinking>", "&lt;think>a&lt;/thinking>"),
        (BLOCK, BLOCK.replace("<tool>", "&lt;tool>")),
    ],
)
def test_text_is_changed_no_more_than_needed(text, written):
    parts = (Text(text=text), call(), Text(text=text))
    plain = inlined(assistant(*parts))[0]
    assert plain.text == f"{written}\n\n{render_call(call())}\n\n{written}"
    assert extracted(plain)[0].parts == parts


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("```\ncode", "&#96;``\ncode"),
        ("  ~~~py", "  &#126;~~py"),
        ("```\na\n```\n````\n~~~\n```", "```\na\n```\n&#96;```\n&#126;~~\n&#96;``"),
        ("a <!-- b", "a &lt;!-- b"),
        ("<!-- a --> <!-- <!--", "<!-- a --> &lt;!-- &lt;!--"),
        ("<!-->", "&lt;!-->"),
        ("<!-- a --> <!--->", "<!-- a --> &lt;!--->"),
        ("<![CDATA[ ]]> <![cdata[", "<![CDATA[ ]]> &lt;![cdata["),
    ],
)
def test_what_would_go_on_after_a_text_is_hidden_where_something_follows(text, written):
    message = assistant(text, Reasoning(text="a"), call(), text)
    (plain,) = inlined(message)
    assert plain.text.startswith(f"{written}\n\n<think>a</think>\n\n<tool>")
    assert plain.text.endswith(f"</tool>\n\n{text}")
    assert extracted(plain)[0].parts == message.parts


@pytest.mark.parametrize(
    ("thought", "written"),
    [
        ("a <tool>{", "<think>a <tool>{</think>"),
        ("", "<think></think>"),
        ("</thinking>", "<think></thinking></think>"),
        ("a</think>b", "<thinking>a</think>b</thinking>"),
        ("</think></thinking>", "<think>&lt;/think></thinking></think>"),
        ("&lt;/think>", "<think>&amp;lt;/think></think>"),
        ("</think>&lt;/think>", "<thinking></think>&amp;lt;/think></thinking>"),
        ("&lt;think>", "<think>&amp;lt;think></think>"),
        ("the <think> tag", "<thinking>the <think> tag</thinking>"),
        ("</Think >", "<thinking></Think ></thinking>"),
        ("<think> and <thinking>", "<think>&lt;think> and <thinking></think>"),
        ("a\n~~~\nb", "<think>a\n&#126;~~\nb</think>"),
        ("```\na\n```\n<!--", "<think>```\na\n```\n<!--</think>"),
    ],
)
def test_reasoning_stands_in_an_element_that_it_does_not_end(thought, written):
    message = assistant(Reasoning(text=thought), "a")
    plain = inlined(message)[0]
    assert plain.text == f"{written}\n\na"
    assert extracted(plain)[0] == message
    assert inlined(message, reasoning=False)[0].text == "a"


def test_media_of_the_assistant_stand_behind_its_text():
    plain = inlined(assistant("a", PNG, "b", call()))[0]
    assert plain.parts == (Text(text=f"ab\n\n{render_call(call())}"), PNG)
    assert extracted(plain)[0].parts == (Text(text="ab"), call(), PNG)


def test_nothing_becomes_nothing():
    messages = (assistant(), assistant("", ""), assistant(PNG), user(), tool())
    assert [message.parts for message in inlined(*messages)] == [(), (), (PNG,), (), ()]
    assert [message.role for message in extracted(*inlined(*messages))] == ["assistant"] * 3 + ["user", "tool"]
    assert inline(talk()) == talk() == extract(talk())


def test_results_in_any_role_and_what_stands_behind_them():
    given_parts = (
        result((Text(text="see\n"), PNG)),
        result("b", "g", "2"),
        PNG,
        Text(text="Tool: f\nResult: x"),
        Text(text=""),
    )
    for role in ("user", "tool", "assistant"):
        message = Message(role=role, parts=given_parts)
        plain = inlined(message)[0]
        header = "Tool: f\nResult: see\n[attachment 1: image/png]\n\nTool: g\nResult: b"
        assert plain.parts == tuple(map(part_of, (header, PNG, PNG, "\n\nTool: f\nResult: x", "")))
        assert extracted(plain)[0] == message.model_copy(update={"role": "tool"})


@pytest.mark.parametrize(
    ("text", "as_user", "as_tool"),
    [
        ("Tool: f\nResult: 8", " Tool: f\nResult: 8", " Tool: f\nResult: 8"),
        ("  Tool: f\nError: 8", "   Tool: f\nError: 8", "   Tool: f\nError: 8"),
        ("Tool: f\n8", "Tool: f\n8", " Tool: f\n8"),
        (" Tool: f", " Tool: f", "  Tool: f"),
        ("a\nTool: f\nResult: 8", "a\nTool: f\nResult: 8", "a\nTool: f\nResult: 8"),
        ("Tool:f\nResult: 8", "Tool:f\nResult: 8", "Tool:f\nResult: 8"),
        (BLOCK, BLOCK, BLOCK),
    ],
)
def test_a_text_that_looks_like_a_result_and_is_none_is_moved_by_a_space(text, as_user, as_tool):
    for message in (user(PNG, text), tool(text)):
        asked = assistant(call())
        for role, written in (("user", as_user), ("tool", as_tool)):
            plain = inlined(asked, message, result_role=role)
            assert plain[1].text == (written if message.role == "tool" else as_user)
            assert extracted(*plain) == (asked, message)


def test_a_text_keeps_its_extra_unless_it_is_written_with_others():
    for text in ("a", "a <tool>", "Tool: f\nResult: 8"):
        part = Text(text=text, extra={"a": 1})
        for message in (assistant(part, PNG), user(part, "b"), tool(part), tool(result(), part)):
            plain = inlined(message)
            assert [each.extra for each in plain[0].parts if isinstance(each, Text)][
                -1 if message.results else 0
            ] == part.extra
            assert extracted(*plain) == (message,)


def test_all_that_a_message_and_a_conversation_hold_beside_their_parts_is_kept():
    message = Message(role="assistant", parts=(call(),), id="m", name="ada", created_at=1.5, finish_reason="tool_calls")
    conversation = Conversation(messages=(message,), metadata={"a": 1}, extra={"b": 2})
    plain = inline(conversation)
    assert extract(plain) == conversation
    kept = {"parts", "extra"}
    assert plain.messages[0].model_dump(exclude=kept) == message.model_dump(exclude=kept)
    assert (plain.metadata, plain.extra) == ({"a": 1}, {"b": 2})


def test_a_part_that_stands_in_a_message_twice_is_read_once():
    header, png = Text(text="Tool: f\nResult: [attachment 1: image/png]"), PNG
    read = extracted(Message(role="tool", parts=(header, png, header, png)))[0]
    assert read == tool(result((PNG,), id="result_1"), header, PNG)


def test_foreign_notes_come_back():
    for note in ({"call_ids": ["x"]}, {"other": 1}, {}, None, {"kept": {}}):
        for message in (assistant(call(), xmltools=note, b=1), user("a", xmltools=note), tool(result(), xmltools=note)):
            assert extracted(*inlined(message)) == (message,)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user(call()), "message 1 (user): expected no call here"),
        (tool(Reasoning(text="a")), "message 1 (tool): expected no reasoning here"),
        (system(result()), "message 1 (system): expected no result here"),
        (assistant(call(), result()), "message 1 (assistant): expected no call beside results"),
        (tool("a", result()), "message 1 (tool): expected its 1 results in front"),
        (user(result(), PNG, result()), "message 1 (user): expected its 2 results in front"),
        (assistant(call("a\nb")), "message 1 (assistant): 'a\\nb' is no name for a tool"),
        (assistant(call(a=float("nan"))), "message 1 (assistant): the arguments of the call of 'f' at ['a']"),
        (assistant(call(a={1})), "message 1 (assistant): the arguments of the call of 'f' at ['a']"),
    ],
)
def test_what_plain_text_cannot_say_is_refused(message, expected):
    with pytest.raises(XMLToolsError, match=re.escape(expected)):
        inlined(user("a"), message)


def test_bad_arguments_are_the_mistake_of_the_caller():
    duplicates = [Tool(name="f"), Tool(name="f")]
    for function in (inline, extract):
        for conversation, tools in (({}, None), ([], None), (talk(), 5), (talk(), [{}]), (talk(), duplicates)):
            with pytest.raises(XMLToolsError):
                function(conversation, tools)
    for role in ("assistant", None, []):
        with pytest.raises(XMLToolsError, match="result_role: expected 'user' or 'tool'"):
            inline(talk(), result_role=role)
    with pytest.raises(XMLToolsError, match="code_fences"):
        extract(talk(), code_fences="maybe")
    for new_id in (5, lambda: 5):
        with pytest.raises(XMLToolsError, match="new_id: expected a function that returns str"):
            extracted(assistant(BLOCK), new_id=new_id)


# Reading what models and hosts write.


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("plain", ["plain"]),
        (f"a\n{BLOCK}\nb", ["a\n", call(id="call_1"), "\nb"]),
        (f"a\n\n\n{BLOCK}\n\n\nb", ["a\n", call(id="call_1"), "\nb"]),
        (f"{BLOCK}\n\n{BLOCK}", [call(id="call_1"), call(id="call_2")]),
        (f"{BLOCK}\n{BLOCK}", [call(id="call_1"), "\n", call(id="call_2")]),
        (f"{BLOCK}\n\n\n{BLOCK}", [call(id="call_1"), "\n", call(id="call_2")]),
        (f"\n\n{BLOCK}\n\n", ["", call(id="call_1"), ""]),
        (f"<think>a {BLOCK}</think>\n\nb", [Reasoning(text=f"a {BLOCK}"), "b"]),
        ("<think></think>\n\nb", [Reasoning(text=""), "b"]),
        ("a <think>b", ["a ", Reasoning(text="b")]),
        ("the <tool> tag", ["the <tool> tag"]),
        ("the &lt;tool> tag", ["the <tool> tag"]),
        ("a <tool><b></tool> c", ["a <tool><b></tool> c"]),
        (f"a\n\n<tool><x>&lt;tool></tool>\n\n{BLOCK}", ["a\n\n<tool><x>&lt;tool></tool>", call(id="call_1")]),
        ("a <tool><tool_name>f</tool_na", ["a <tool><tool_name>f</tool_na"]),
    ],
)
def test_text_of_the_assistant_is_read_into_parts(text, parts):
    expected = tuple(part for part in map(part_of, parts) if part != Text(text=""))
    assert extracted(assistant(text))[0].parts == expected


def test_a_block_that_gives_no_call_stays_as_it_was_written():
    typed = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    wrong = "<tool><tool_name>f</tool_name><arguments><a>x &lt;tool></a></arguments></tool>"
    other = "<tool><tool_name>g</tool_name></tool>"
    message = extracted(assistant(f"a\n{wrong} b {BLOCK} {other}"), tools=[typed])[0]
    assert message.parts == (Text(text=f"a\n{wrong} b "), call(id="call_1"), Text(text=f" {other}"))


def test_repairs_and_places_of_calls_are_kept():
    (found,) = extracted(assistant("a\n\n<tool><tool_name>f</tool_name><arguments><a>x & y</a></arguments></tool>"))[
        0
    ].calls
    assert found.arguments == {"a": "x & y"}
    assert [repair.code for repair in found.repairs] == ["bare_ampersand"]
    assert found.span[0] == 3


def test_options_of_the_parser_are_passed_on():
    fenced = assistant(f"```\n{BLOCK}\n```")
    assert extracted(fenced)[0].calls
    assert extracted(fenced, code_fences="text")[0] == fenced
    assert extracted(fenced, strict=True)[0] == fenced
    plan = assistant("<plan>a</plan>b")
    assert extracted(plan, reasoning_tags=["plan"])[0].parts == (Reasoning(text="a"), Text(text="b"))


def nested(levels):
    return {"a": nested(levels - 1) if levels > 1 else "x"}


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([{"a": "x" * (11 << 20)}], marks=pytest.mark.full),
        [nested(100)],
        [{"a": [f"{n}" for n in range(11_000)]}],
        [{}] * 1_100,
    ],
    ids=["long", "deep", "wide", "many"],
)
def test_calls_that_a_parser_refuses_by_its_usual_limits_come_back(calls):
    any_tool = Tool(name="f", parameters={"type": "object"})
    message = assistant(*(call(id=f"c{n}", **arguments) for n, arguments in enumerate(calls)))
    plain = inline(Conversation(messages=(message,)), [any_tool])
    assert extract(plain, [any_tool]).messages == (message,)
    assert not extract(plain, [any_tool], limits=Limits(block_size=30, depth=5, blocks=1)).messages[0].calls[1:]


def test_a_reply_starts_in_reasoning_unless_its_reasoning_is_structured():
    raw, apart = assistant("a</think>\n\nb"), assistant(Reasoning(text="a"), "b")
    assert extracted(raw, apart, starts_in_reasoning=True) == (apart, apart)


def test_calls_are_found_in_text_beside_structured_reasoning_and_across_adjacent_texts():
    message = assistant(Reasoning(text="a"), BLOCK[:8], BLOCK[8:], PNG, "b")
    assert extracted(message)[0].parts == (Reasoning(text="a"), call(id="call_1"), PNG, Text(text="b"))


def test_messages_with_structured_calls_or_results_stay_as_they_are():
    messages = (assistant(call(), BLOCK), tool(result(), "Tool: f\nx"), user(result(), f" Tool: f {BLOCK}"))
    assert extracted(*messages) == messages


def test_ids_are_counted_through_the_conversation_without_those_that_are_there():
    messages = (assistant(BLOCK), assistant(call(id="call_2")), tool(result(id="call_3")), assistant(BLOCK * 2))
    found = extracted(*messages)
    assert [each.id for message in found for each in message.calls] == ["call_1", "call_2", "call_4", "call_5"]


def test_ids_are_made_by_the_function_that_is_given():
    made_ids = iter("abc")
    found = extracted(assistant(BLOCK), tool("Tool: f\nResult: 8"), assistant(BLOCK * 2), new_id=lambda: next(made_ids))
    assert [each.id for message in found for each in message.calls] == ["a", "b", "c"]
    assert found[1].parts[0].call_id == "a"


def test_notes_that_no_longer_fit_the_text_are_not_used():
    edited = assistant(BLOCK, xmltools={"call_ids": ["x", "y"]}, a=1)
    answer = user("Tool: f\nResult: 8", xmltools={"result_ids": ["x", "y"]})
    assert extracted(edited, answer) == (assistant(call(id="call_1"), a=1), tool(result(id="call_1")))
    assert extracted(answer)[0] == user("Tool: f\nResult: 8")


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("Tool: f\nResult: 8", [result(id="call_1")]),
        ("Tool: f\n8\n9", [result("8\n9", id="call_1")]),
        ("Tool: f", [result("", id="call_1")]),
        ("Tool: f\nResult: a\n\nTool: g\nError: b", [result("a", id="call_1"), result("b", "g", "call_2", True)]),
        ("Tool: g\nResult: a\n\nTool: f\nResult: b", [result("a", "g", "call_2"), result("b", id="call_1")]),
        ("Tool: f\nResult: a\n\nTool: f\nResult: b", [result("a", id="call_1"), result("b", id="call_3")]),
        ("Tool: h\nResult: a", [result("a", "h", "result_1")]),
        ("a\nTool: f\nResult: 8", ["a\nTool: f\nResult: 8"]),
        (" Tool: f\nResult: 8", ["Tool: f\nResult: 8"]),
    ],
)
def test_the_text_of_a_tool_is_read_into_results(text, results):
    found = extracted(assistant(block("f") + block("g") + block("f")), tool(text))
    assert found[1] == tool(*results)


def test_results_are_matched_with_the_last_calls_first():
    messages = (assistant(BLOCK), user("go on"), assistant(BLOCK), *[tool("Tool: f\nResult: 8")] * 3)
    found = extracted(*messages)[3:]
    assert [message.parts[0].call_id for message in found] == ["call_2", "call_1", "result_1"]


def test_calls_that_structured_results_answered_do_not_wait():
    messages = (assistant(call(id="a"), call(id="b")), tool(result(id="a")), user("Tool: f\nResult: 8"))
    assert extracted(*messages)[2] == tool(result(id="b"))
    assert extracted(*messages, messages[2])[3] == messages[2]


def test_calls_that_noted_results_answered_do_not_wait():
    asked = assistant(BLOCK * 2, xmltools={"call_ids": ["a", "b"]})
    found = extracted(asked, user("Tool: f\nResult: 1", xmltools={"result_ids": ["a"]}), user("Tool: f\nResult: 2"))
    assert found[1:] == (tool(result("1", id="a")), tool(result("2", id="b")))


def test_ids_that_come_again_wait_again():
    messages = (assistant(call(id="a")), tool(result(id="a")), assistant(call(id="a")))
    assert extracted(*messages, user("Tool: f\nResult: 8"))[3] == tool(result(id="a"))


def test_calls_wait_in_order_after_a_user_failed_to_answer_them():
    too_many = user("\n\n".join(["Tool: f\nResult: a"] * 3))
    found = extracted(assistant(BLOCK * 2), too_many, *[tool("Tool: f\nResult: 8")] * 3)
    assert found[1] == too_many
    assert [message.parts[0].call_id for message in found[2:]] == ["call_1", "call_2", "result_1"]


def test_notes_of_others_stay():
    for note in ({"other": 1}, {"call_ids": ["x"], "other": 1}, {}, None, ["call_ids"]):
        messages = (assistant("a", xmltools=note), user("a", xmltools=note), tool("Tool: f", xmltools=note))
        assert [message.extra for message in extracted(*messages)] == [{"xmltools": note}] * 3


@pytest.mark.parametrize(
    "before",
    [
        (),
        (assistant("a"),),
        (assistant(block("g")),),
        (assistant(BLOCK), user("a")),
        (assistant(BLOCK), system("a")),
        (assistant(BLOCK), tool("a")),
        (assistant(BLOCK), assistant("a")),
        (assistant(BLOCK), user("Tool: f\nResult: 8")),
        (user(BLOCK),),
    ],
)
def test_what_a_user_writes_unasked_is_no_result(before):
    message = user("Tool: f\nResult: 8")
    assert extracted(*before, message)[-1] == message


@pytest.mark.parametrize(
    "text", ["Tool: f\n8", "Tool: f\nResult: a\n\nTool: f\nResult: b", "Tool: f\nResult:", "Tool: F\nResult: a"]
)
def test_what_a_user_writes_is_a_result_only_with_both_lines_and_a_call_for_each(text):
    messages = (assistant(BLOCK), user(text))
    assert extracted(*messages)[1] == messages[1]


def test_users_answer_in_several_messages_and_in_any_order():
    found = extracted(assistant(block("f") + block("g")), user("Tool: g\nResult: 1", PNG), user("Tool: f\nError: 2"))
    assert found[1:] == (tool(result("1", "g", "call_2"), PNG), tool(result("2", id="call_1", is_error=True)))


def test_media_stand_where_their_placeholders_were_and_the_others_stay():
    other = MEDIA[1]
    text = render_results([result((Text(text="a"), PNG)), result((PNG,), "g")])
    read = extracted(assistant(block("f") + block("g")), tool(text, PNG, PNG, other, "\n\nb"))[1]
    assert read.parts == (
        result((Text(text="a\n"), PNG), id="call_1"),
        result((PNG,), "g", "call_2"),
        other,
        Text(text="b"),
    )
    assert extracted(tool("Tool: f\nResult: [attachment 2: image/png]", PNG, other))[0].parts == (
        result((other,), id="result_1"),
        PNG,
    )


def test_text_with_lone_surrogates_is_read():
    broken = Text.model_construct(text=f"\ud800{BLOCK}\udfff<think>\ud800</think>")
    read = extracted(Message.model_construct(role="assistant", parts=(broken,), extra={}))[0]
    assert [part.type for part in read.parts] == ["text", "call", "text", "reasoning"]
    answer = Text.model_construct(text="Tool: f\nResult: \ud800")
    (found,) = extracted(Message.model_construct(role="tool", parts=(answer,), extra={}))[0].parts
    assert found.content == "\ud800"


def paired(*results, calls=("f", "g")):
    asked = assistant("\n".join(map(block, calls)))
    read = extract(talk(asked, *(tool(each) for each in results)))
    assert [each.id for each in read.calls] == [f"call_{number}" for number in range(1, len(calls) + 1)]
    return [(each.call_id, each.name, each.content) for each in read.results]


def test_structured_results_without_a_call_answer_the_calls_of_the_text_before_them_in_order() -> None:
    found = paired(result("1", "", ""), result("2", "", "own"))
    assert found == [("call_1", "f", "1"), ("call_2", "g", "2")]
    assert paired(result("1", "f", ""), calls=["f"]) == [("call_1", "f", "1")]


def test_structured_results_without_a_call_answer_calls_by_their_names() -> None:
    found = paired(result("1", "g", "x"), result("2", "f", "y"))
    assert found == [("call_2", "g", "1"), ("call_1", "f", "2")]
    assert paired(result("1", "g", "x")) == [("call_2", "g", "1")]


@pytest.mark.parametrize(
    ("results", "calls"),
    [
        ([result("1", "", "")], ["f", "f"]),
        ([result("1", "f", "")], ["f", "f"]),
        ([result("1", "h", "")], ["f"]),
        ([result("1", "f", ""), result("2", "f", "")], ["f"]),
    ],
)
def test_results_of_which_the_call_is_in_doubt_stay_and_are_reported(results, calls) -> None:
    assert paired(*results, calls=calls) == [(each.call_id, each.name, each.content) for each in results]
    read = extract(talk(assistant("\n".join(map(block, calls))), *map(tool, results)))
    assert {issue.code for issue in check(read, target="openai")} >= {"unknown_call"}


def test_results_are_not_joined_to_structured_calls_nor_across_what_somebody_says() -> None:
    lost = tool(result("1", "", ""))
    assert extract(talk(assistant("", call("f", "c1")), lost)).results[0].call_id == ""
    assert extract(talk(assistant(block()), user("Well?"), lost)).results[0].call_id == ""
