"""Calls in the notations of other protocols: they stay text, and are noticed (protocol, 1.9)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

import xmltools as xt
from xmltools import dialects
from xmltools.parser import foreign

PATHS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [xt.Tool(name="read", parameters=PATHS), xt.Tool(name="ping"), xt.Tool(name="disk.list", parameters=PATHS)]
JSON = '{"name": "read", "arguments": {"path": "a"}}'
CALL = "<tool><tool_name>ping</tool_name></tool>"

WHOLE = [
    ("hermes", "read", f"<tool_call>\n{JSON}\n</tool_call>"),
    ("hermes", "read", f"<tool_call>[{JSON}, {JSON}]</tool_call>"),
    ("hermes", "read", '<tool_call>{"arguments": {"path": "</tool_call>"}, "name": "read"}</tool_call>'),
    ("hermes", None, "<tool_call>{name: broken}</tool_call>"),
    ("hermes", "read", "<tool_call><name>read</name><arguments></arguments></tool_call>"),
    ("qwen3_coder", "read", "<function=read><parameter=path>\na\n</parameter></function>"),
    (
        "qwen3_coder",
        "read",
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    ),
    ("qwen3_coder", "read", '<function name="read"><parameter name="path">a</parameter></function>'),
    ("minicpm5", "unknown", '<function name="unknown">{}</function>'),
    ("glm", "read", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"),
    ("glm", "ping", "<tool_call>ping</tool_call>"),
    ("glm", "read", '<tool_call>\nread\n{"path": "a"}\n</tool_call>'),
    ("hunyuan", "read", "<tool_call>read<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"),
    ("hermes", "read", f"<tool_call>\n```json\n{JSON}\n```\n</tool_call>"),
    ("pythonic", "read", '<tool_call>read(path="a")</tool_call>'),
    ("pythonic", "read", '<tool_call>\nread( {"path": "a"} )\n</tool_call>'),
    ("invoke", "read", '<invoke name="read">\n<parameter name="path">a</parameter>\n</invoke>'),
    ("invoke", "unknown", "<x:invoke name='unknown'></x:invoke>"),
    ("tag_per_tool", "read", "<read>\n<path>a</path>\n</read>"),
    ("tag_per_tool", "read", '<read>{"path": "a"}</read>'),
    ("tag_per_tool", "read", '<read path="a"/>'),
    ("tag_per_tool", "disk.list", "<disk.list><path>a</path></disk.list>"),
    ("tag_per_tool", "ping", "<ping/>"),
    ("tag_per_tool", "ping", "<ping></ping>"),
    ("apertus", "read", '<|tools_prefix|>[{"read": {"path": "a"}}]<|tools_suffix|>'),
    ("apertus", "name", '<|tools_prefix|>[{"name": {"path": "a"}}]<|tools_suffix|>'),
    ("json", "read", JSON),
    ("json", "ping", '{ "type": "function",\n"tool" :"ping", "input": {}}'),
    ("json", "ping", '{"tool_call_id": "0", "tool_name": "ping", "parameters": {}}'),
    ("json", "ping", '{"type": "function", "id": "call_1", "name": "ping", "arguments": {}}'),
    ("json", "read", '{"name": "read", "arguments": "{\\"path\\": \\"}\\"}"}'),
]
FENCED = [
    ("json", "read", "```json\n", JSON, "\n```\n"),
    ("json", "read", "```\n[", JSON, "]\n```\n"),
    ("json", "ping", "  ````tool_call\n\n", '{"function": "ping", "input": {}}', "\n  ````\n"),
    ("hermes", "read", "```xml\n", f"<tool_call>{JSON}</tool_call>", "\n```"),
    ("tag_per_tool", "ping", "~~~\n", "<ping/>", "\n~~~"),
]
NONE = [
    "the <tool_call> tag, <function> and <invoke>",
    "<function=>x</function> <invoke name=read> <read>a file</read> <read class='x'/> <reader><path>a</path></reader>",
    "<read><other>a</other></read> <list><path>a</path></list>",
    f"`<tool_call>{JSON}</tool_call>`",
    f"`e.g. <tool_call>{JSON}</tool_call>",
    "\\<ping/>",
    "<!-- <ping/> -->",
    "<![CDATA[<ping/>]]>",
    f"<think><tool_call>{JSON}</tool_call></think>",
    '```json\n{"name": "read", "size": 5}\n```',
    '```json\n{"name": "unknown", "arguments": {}}\n```',
    '```json\n{"name": "read", "arguments": {]\n```',
    f"x ```json {JSON} ```",
    '{"name": "read", "size": 5} {"name": "unknown", "arguments": {}} {"a": 1, "name": "read", "arguments": {}}',
    f"```python\ncall({JSON})\n```",
    f"`{JSON}`, \\{JSON}, <!-- {JSON} -->",
    "<tool><tool_name>read</tool_name><arguments><path><ping/></path></arguments></tool>",
]


def notices_in(text: str, size: int, tools: list[xt.Tool] | None = TOOLS) -> list[xt.Notice]:
    parser = xt.Parser(tools)
    chunks = (text[at : at + size] for at in range(0, len(text), size))
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    return [event.notice for event in events if isinstance(event, xt.Noticed)]


@pytest.mark.parametrize(("notation", "name", "call"), WHOLE)
def test_a_call_in_another_notation_stays_text_and_is_noticed(notation: str, name: str | None, call: str) -> None:
    text = f"I read it.\n{call} And then?\n{CALL}"
    reply = xt.parse(text, TOOLS)
    assert reply.text == text.removesuffix(CALL) and [each.name for each in reply.calls] == ["ping"]
    (notice,) = reply.notices
    assert (notice.code, notice.notation, notice.name) == (xt.Code.FOREIGN_CALL, notation, name)
    assert text[slice(*notice.span)] == call and notice.is_whole and not notice.is_fenced
    assert notice.hint == xt.Code.FOREIGN_CALL.hint and notation in notice.message


AS = {
    **dict.fromkeys(("minimax_m2", "step3", "muse"), "invoke"),
    **dict.fromkeys(("seed_oss", "mimo"), "qwen3_coder"),
    "mirothinker": "forge",
    "ernie": "hermes",
}
"""What calls of these dialects are told as, which have the marks of another one."""


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize(
    "dialect",
    # Those of Hunyuan have the start mark of other dialects inside their own, and are not noticed.
    [each for each in dialects.known() if each.opener and not each.is_bare and each.name != "hunyuan"],
    ids=lambda each: each.name,
)
def test_a_call_in_any_other_dialect_is_noticed(dialect: dialects.Dialect, size: int) -> None:
    if dialect is dialects.FORGE:
        return
    text = f"I read it.\n{dialect.example}\nAnd then?\n{CALL}"
    (notice,) = notices_in(text, size)
    assert (notice.notation, notice.name) == (AS.get(dialect.name, dialect.name), "get") and notice.is_whole
    assert text[slice(*notice.span)] in dialect.example
    (cut,) = notices_in(f"a {dialect.example[: dialect.example.rindex('1')]}", size)
    assert cut.notation == notice.notation and not cut.is_whole
    assert not notices_in(f"a `{dialect.example}` b", size)


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize("dialect", ["qwen3_coder", "seed_oss", "minicpm5"])
def test_a_name_as_an_attribute_is_noticed_where_the_dialect_has_another(dialect: str, size: int) -> None:
    call = '<function name="read">\n<parameter name="path">a</parameter>\n</function>'
    text = f"I read it.\n{call} And then?"
    parser = xt.Parser(TOOLS, dialect=dialect)
    events = [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])] + parser.close()
    (notice,) = [each.notice for each in events if isinstance(each, xt.Noticed)]
    assert notice.name == "read" and text[slice(*notice.span)] == call


def test_each_call_of_a_list_is_noticed() -> None:
    text = (
        '[TOOL_CALLS][{"name": "read", "arguments": {}}, {"name": "no", "arguments": {}}] <TOOLCALL>[{"name": "ping"}]'
    )
    assert [(each.notation, each.name, each.is_whole) for each in notices_in(text, 3)] == [
        ("mistral", "read", True),
        ("mistral", "no", True),
        ("nemotron_nano", "ping", True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "the [TOOL_CALLS] token",
        "[TOOL_CALLS][ARGS]{} has no name",
        "[TOOL_CALLS] begins it,\nand [ARGS]{} follows",
        "functools[1], functools [",
        "<tool_calls>",
        "<｜DSML｜invoke >",
    ],
)
def test_a_mark_alone_is_not_noticed(text: str) -> None:
    assert not notices_in(text, 1) and not notices_in(f"{text} b", 2)


@pytest.mark.parametrize(("notation", "name", "before", "call", "after"), FENCED)
def test_a_fenced_one_says_so(notation: str, name: str, before: str, call: str, after: str) -> None:
    text = f"a\n{before}{call}{after}"
    reply = xt.parse(text, TOOLS)
    (notice,) = reply.notices
    assert reply.text == text and text[slice(*notice.span)] == call
    assert (notice.notation, notice.name, notice.is_whole, notice.is_fenced) == (notation, name, True, True)


@pytest.mark.parametrize("text", NONE)
def test_what_is_only_shown_or_looks_like_one_is_not_noticed(text: str) -> None:
    assert xt.parse(f"a\n{text}\nb", TOOLS).notices == ()


@pytest.mark.parametrize("end", ["", CALL, "<think>x</think>"])
@pytest.mark.parametrize(
    ("notation", "name", "call"), [each for each in WHOLE if each[1] != "ping" and "</" in each[2]]
)
def test_what_is_cut_off_is_not_whole(notation: str, name: str | None, call: str, end: str) -> None:
    cut = call[: call.rindex("</")]
    (notice,) = xt.parse(f"a\n{cut}{end}", TOOLS).notices
    assert (notice.notation, notice.is_whole) == (notation, "</function>" in cut)
    assert cut.startswith(f"a\n{cut}{end}"[slice(*notice.span)])


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize("after", ["", CALL, "<think>hm</think>"])
def test_the_name_in_json_that_is_cut_off_is_told(after: str, size: int) -> None:
    text = f'a <tool_call>{{"name": "read", "arguments": {{"path": "{after}'
    (notice,) = notices_in(text, size)
    assert (notice.notation, notice.name, notice.is_whole) == ("hermes", "read", False)


def test_without_tools_what_only_a_name_tells_is_not_noticed() -> None:
    text = f"<ping/> <read><path>a</path></read>\n```json\n{JSON}\n```\n<function=f></function>"
    assert [notice.notation for notice in xt.parse(text).notices] == ["json", "qwen3_coder"]


@pytest.mark.parametrize("text", [f"Write ```json\n{JSON}\n```", f"~~~\n```json\n{JSON}\n```\n~~~"])
def test_backticks_in_a_line_or_in_a_fence_begin_no_fence_with_a_call(text: str) -> None:
    assert xt.parse(text).notices == ()


@pytest.mark.parametrize(("notation", "call"), [("tag_per_tool", "a <ping/>"), ("phi4mini", f"functools[{JSON}]")])
def test_a_call_may_begin_in_a_chunk_before_one_of_thousands_of_characters(notation: str, call: str) -> None:
    for cut in range(1, len(call)):
        parser = xt.Parser(TOOLS)
        events = parser.feed(call[:cut]) + parser.feed(call[cut:] + " word" * 1_000) + parser.close()
        assert [event.notice.notation for event in events if isinstance(event, xt.Noticed)] == [notation], cut


def test_a_fence_with_a_call_may_begin_in_a_chunk_before_one_of_thousands_of_characters() -> None:
    text = f"```json\n{JSON}\n```\n"
    for cut in range(1, len(text)):
        parser = xt.Parser(TOOLS)
        events = parser.feed(text[:cut]) + parser.feed(text[cut:] + " word" * 1_000) + parser.close()
        assert [event.notice.is_fenced for event in events if isinstance(event, xt.Noticed)] == [True], cut


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_of_forges_without_its_start_tag_is_noticed(size: int) -> None:
    call = "<tool_name>read</tool_name>\n<arguments>\n<path>a</path>\n</arguments>"
    [notice] = notices_in(f"I read it.\n{call}\n</tool>", size)
    assert (notice.notation, notice.name, notice.is_whole) == ("forge", "read", True)
    assert notice.span == (11, 11 + len(call))
    assert notice.message == "a call of 'read' that does not begin as it should stayed text"
    assert notices_in("A block holds <tool_name>read</tool_name>, and arguments.", size) == []
    for opener in ("<tool>\n", '<tool id="1">', "<tool><server_name>disk</server_name>\n"):
        assert notices_in(f"`{opener}`\n\\{opener}{call}\n</tool>", size) == []  # only shown


def test_a_call_in_forges_notation_is_noticed_where_another_dialect_is_read() -> None:
    (notice,) = xt.parse(f"I call it: {CALL}", TOOLS, dialect="hermes").notices
    assert (notice.notation, notice.name, notice.is_whole) == ("forge", "ping", True)


@pytest.mark.full
@pytest.mark.no_cover
def test_chunks_do_not_matter_also_where_text_is_kept_in_pieces() -> None:
    rng = Random(7)
    calls = [f"\n{call}\n" for *_, call in WHOLE] + [f"\n{''.join(each[2:])}" for each in FENCED]
    calls += [f"\n{text}\n" for text in NONE] * 2
    for _ in range(20):
        rng.shuffle(calls)
        text = "".join(call + "prose and more. " * rng.randrange(60) for call in calls)
        whole = notices_in(text, len(text))
        assert whole
        for size in (1, 4, 333, 4_096):
            assert notices_in(text, size) == whole, size
        assert all(one.span[1] <= other.span[0] for one, other in pairwise(whole))


@pytest.mark.parametrize("chunk", [7, 100_000])
def test_there_are_no_more_notices_than_a_reply_may_have_blocks(chunk: int) -> None:
    text = "<ping/> `<ping/>` <tool_call>" * 600
    assert [each.span[0] for each in notices_in(text, chunk)] == [29 * number for number in range(600)]
    assert len(notices_in("<ping/>" * 3_000, chunk)) == 1_000
    assert len(xt.parse("<ping/>" * 9, TOOLS, limits=xt.Limits(blocks=2)).notices) == 2


def test_a_retry_shows_the_right_call() -> None:
    (notice,) = xt.parse(f"<tool_call>{JSON}</tool_call>", TOOLS).notices
    said = xt.render_retry(notice, TOOLS)
    assert said.startswith("Your tool call was not carried out: it is not in the form that was described.\n")
    (call,) = xt.parse(said, TOOLS).calls
    assert call.name == "read" and call.clean


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
@pytest.mark.parametrize("dialect", ["forge", "hermes", "qwen3_coder", "llama3_json"])
@pytest.mark.parametrize("around", ["", "<tools> </tools>", "<my_function> </my_function>", " </tool_call>", "[ ]"])
def test_json_that_calls_a_tool_without_a_mark_is_noticed_in_every_dialect(
    dialect: str, size: int, around: str
) -> None:
    text = f"I read it. {JSON.join(around.partition(' ')[::2])}\nAnd then?"
    parser = xt.Parser(TOOLS, dialect=dialect)
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    (notice,) = [event.notice for event in events + parser.close() if isinstance(event, xt.Noticed)]
    if dialect == "llama3_json":  # there it would be a call, if nothing came after it
        assert (notice.code, notice.notation, notice.name) == (xt.Code.SHOWN_CALL, "llama3_json", "read")
        assert JSON in text[slice(*notice.span)]
    else:
        assert (notice.notation, notice.name, text[slice(*notice.span)]) == ("json", "read", JSON)


@pytest.mark.parametrize("cut", [len(JSON) - 1, len(JSON) - 4])
def test_json_without_a_mark_that_is_cut_off_is_not_whole(cut: int) -> None:
    (notice,) = xt.parse(f"a\n{JSON[:cut]}", TOOLS).notices
    assert (notice.notation, notice.name, notice.is_whole) == ("json", "read", False)
    assert not xt.parse('a\n{"name": "read", "ar', TOOLS).notices


PARAMETER = "<parameter=path>\na\n</parameter>"
OBJECT = '{"path": "a"}'
ATTEMPTS = [
    f"<tool_call>\n<Function=read>\n{PARAMETER}\n</Function>\n</tool_call>",
    f"<tool_call>\n<functions=read>\n{PARAMETER}\n</functions>\n</tool_call>",
    f"<tool_call>\n<function:read>\n{PARAMETER}\n</function>\n</tool_call>",
    f"<tool_call>\nread\n{PARAMETER}\n</tool_call>",
    f"<tool_call>\n<read>\n{PARAMETER}\n</read>\n</tool_call>",
    f"<tool_call>\n<function>read</function>\n{PARAMETER}\n</tool_call>",
    f'<tool_call name="read">\n{OBJECT}\n</tool_call>',
    f'<tool_call id="call_1" name="read"> {OBJECT}</tool_call>',
    f'<tool_call>\n"name": "read", "arguments": {OBJECT}}}\n</tool_call>',
    f"<tool_call>\nname: read\narguments: {OBJECT}\n</tool_call>",
    '<tool_call>"read"<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>',
    "<tool_call>`read`<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>",
    "<tool_call>read<parameter=path>a</parameter></tool_call>",
    "<tool_call>read<path>a</path></tool_call>",
    "<tool_call>read</arg_value></tool_call>",
    "<tool_call>readpath</arg_key><arg_value>a</arg_value></tool_call>",
    "<tool_call>read<tool_call>path</arg_key><arg_value>a</arg_value></tool_call>",
    f"<function=read{OBJECT}</function>",
    "<function=read>\n<param=path>a</param></function>",
    f"<functions:read>{OBJECT}</functions>",
    f"<invoke=read>\n{PARAMETER}\n</invoke>",
    '<Invoke name="read">\n<parameter name="path">a</parameter>\n</Invoke>',
    "<Invoke=read/>",
    f"read[ARGS]{OBJECT}",
    f"functions.read[ARGS] {OBJECT}",
    f"to=functions.read <|constrain|>json<|message|>{OBJECT}",
    f"to=functions.read json{OBJECT}",
    f"<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>read\n```json\n{OBJECT}\n```<|tool▁calls▁end|>",
    f"<|tool_calls_begin|>read<|tool_sep|>{OBJECT}<|tool_calls_end|>",
    f"<｜tool_calls_section_begin｜><｜tool_call_begin｜>functions.read:0<｜x｜>{OBJECT}<｜tool_calls_section_end｜>",
    '<|DSML‖invoke name="read">\n<|DSML‖parameter name="path">a</|DSML‖parameter>\n</|DSML‖invoke>',
    '<‖DSML‖tool_calls>\n<‖DSML‖invoke name="read">\n</‖DSML‖invoke>\n</‖DSML‖tool_calls>',
    '<‖‖DSML‖‖invoke name="read">\n<‖‖DSML‖‖parameter name="path">a\n</‖‖DSML‖‖invoke>',
    '<tool_call_start>[read(path="a")]<tool_call_end>',
    '<|tool_call|>call:read{path:<|"|>a<|"|>}<tool_call|>',
]
"""Plainly meant as calls of a given tool, and calls in no notation."""
MENTIONS = [
    "the <tool_call> tag holds read and its path",
    "the <tool_call> tag: read is a tool",
    "tags: <tool_call>, <read>, <path>, and <tool_call> / <read> / <path>",
    "Write <tool_call> and then read(path=1), or call read with <path>, not <invoke name=read>",
    "<function>read</function> is a tag of DocBook, <input name='read'/> one of HTML",
    "read[ARGS] is the form, with unread[ARGS]{} and my.unread[ARGS]{}",
    "see to=functions.read, which is read, a to=functions.unread {} and a goto=functions.read {}",
    "<function=unread{}</function> <tool_call>\nunread\n<path>",
    "the <function=> tag of read, <function=read> and <|endoftext|> read {",
    "x <| read { a = 1 } <|> read { b = 2 }",
    "<tools>read: {}</tools> <tool_response>read: {}</tool_response> <TOOL> read <path>",
    "<tool name=read> is it",
    '<functions id="read">{x}</functions> <tool_call type="read">{x}</tool_call>',
]
"""Only mention a mark, or a tool."""
OWN = ["forge", "hermes", "qwen3_coder", "glm", "hunyuan", "minicpm5", "mistral", "harmony", "deepseek_v3", "dsml"]


READ_OR_REFUSED = {
    ("<tool_call>read</arg_value></tool_call>", "glm"),
    ("<tool_call>readpath</arg_key><arg_value>a</arg_value></tool_call>", "glm"),
    ("<tool_call>read<tool_call>path</arg_key><arg_value>a</arg_value></tool_call>", "glm"),
}
"""Attempts that are a call, or an error, in the dialect that they are meant for (DIALECTS.md, 3.3b)."""


def told(text: str, size: int, dialect: str) -> list[xt.Notice]:
    parser = xt.Parser(TOOLS, dialect=dialect)
    events = [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])] + parser.close()
    assert not any(isinstance(each, xt.CallStarted | xt.CallFailed) for each in events)
    return [each.notice for each in events if isinstance(each, xt.Noticed)]


@pytest.mark.parametrize(
    ("call", "dialect"),
    [(call, dialect) for dialect in OWN for call in ATTEMPTS if (call, dialect) not in READ_OR_REFUSED],
)
def test_what_is_plainly_meant_as_a_call_is_noticed(call: str, dialect: str) -> None:
    text = f"I read it: {call}\nAnd then?"
    for size in (1, 5, 1_000):
        (notice,) = told(text, size, dialect)
        assert (notice.name, text[slice(*notice.span)]) == ("read", call)
        assert notice.is_whole and not notice.is_fenced
    assert told(text, 1_000, dialect) == list(xt.parse(text, TOOLS, dialect=dialect).notices)
    assert xt.parse(text, dialect=dialect).notices == () or "<function=read>" in call


@pytest.mark.parametrize("dialect", OWN)
@pytest.mark.parametrize("text", MENTIONS)
def test_what_only_mentions_a_mark_is_not_noticed(text: str, dialect: str) -> None:
    own = ("qwen3_coder", "minicpm5")
    text = text if dialect in own else text.replace("<function=read>", "<function>")  # which is noticed elsewhere
    for size in (1, 5, 1_000):
        assert told(f"a\n{text}\nb", size, dialect) == []


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize(
    "shown",
    ["a `{}` b", "a \\{} b", "<!-- {} -->", "```\n{}\n```\n", "~~~\na {}\n~~~\n", "<![CDATA[{}]]>"],
)
@pytest.mark.parametrize("call", [*ATTEMPTS[:11], ATTEMPTS[17], *ATTEMPTS[19:]])
def test_an_attempt_that_is_only_shown_is_not_noticed(call: str, shown: str, size: int) -> None:
    if "to=" in call:
        shown = shown.replace("\\", "\\\\`")  # the backslash would be another character than the one in front of it
    assert notices_in(shown.replace("{}", call), size) == []


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_an_attempt_ends_where_the_next_call_begins(size: int) -> None:
    for call in ("<tool_call>\nread\n<parameter=path>a", "<function=read{", 'read[ARGS]{"path"', "read[ARGS]{]"):
        (notice,) = notices_in(f"a {call}{CALL}", size)
        assert (notice.name, notice.span, notice.is_whole) == ("read", (2, 2 + len(call)), False)


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_a_call_in_another_notation_counts_before_an_attempt_around_it(size: int) -> None:
    inside = "<read>\n<path>a</path>\n</read>"
    text = f"a <tool_call>\n{inside}\n</tool_call>"
    (notice,) = notices_in(text, size)
    assert (notice.notation, text[slice(*notice.span)]) == ("tag_per_tool", inside)


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_a_second_call_of_mistrals_without_its_token_is_noticed(size: int) -> None:
    text = f"[TOOL_CALLS]read[ARGS]{OBJECT}\ndisk.list[ARGS]{OBJECT}"
    parser = xt.Parser(TOOLS, dialect="mistral")
    events = [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])] + parser.close()
    assert [each.call.name for each in events if isinstance(each, xt.CallCompleted)] == ["read"]
    (notice,) = [each.notice for each in events if isinstance(each, xt.Noticed)]
    assert (notice.notation, notice.name) == ("mistral", "disk.list")
    assert text[slice(*notice.span)] == f"disk.list[ARGS]{OBJECT}"


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_a_tag_of_a_tool_with_attributes_is_noticed_in_its_own_dialect(size: int) -> None:
    text = 'a <read path="a"/> b <ping /> <read class="x"/>\n```\n<read path="a"/>\n```\n'
    parser = xt.Parser([TOOLS[0]], dialect="tag_per_tool")
    events = [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])] + parser.close()
    (notice,) = [each.notice for each in events if isinstance(each, xt.Noticed)]
    assert (notice.notation, notice.name, text[slice(*notice.span)]) == ("tag_per_tool", "read", '<read path="a"/>')
    assert notice.message == "a call of 'read' that does not begin as it should stayed text"


def test_an_attempt_keeps_no_call_of_another_dialect_from_being_read() -> None:
    text = "a <tool_call>\nread\n<parameter=path>a\n<function=ping>\n</function>"
    reply = xt.parse(text, TOOLS, also="known")
    assert [each.name for each in reply.calls] == ["ping"] and [each.name for each in reply.notices] == ["read"]


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize("name", ["call_function", "index", "file.read:all", "_read"])
def test_a_tool_may_have_any_name(name: str, size: int) -> None:
    for call in (
        f"<tool_call>\nname: {name}\nindex: 1\n</tool_call>",
        f"<tool_call><function={name}></function></tool_call>",
    ):
        (notice,) = notices_in(f"a {call} b", size, [xt.Tool(name=name)])
        assert (notice.name, notice.span, notice.is_whole) == (name, (2, 2 + len(call)), True)


@pytest.mark.parametrize("between", ["\n" * 201, "name" * 51, " name" * 41])
def test_a_name_that_is_far_from_its_mark_is_no_attempt(between: str) -> None:
    text = f"a <tool_call>{between} read\n{PARAMETER}\n</tool_call>"
    assert notices_in(text, 1) == notices_in(text, 1_000) == []


@pytest.mark.full
@pytest.mark.no_cover
def test_chunks_do_not_matter_to_attempts() -> None:
    rng = Random(8)
    parts = [*ATTEMPTS, *MENTIONS, *(call for *_, call in WHOLE), "`", "```\n", "\\", "<!--", "-->", "<", "<|", "read"]
    for _ in range(150):
        pieces = [rng.choice(parts) for _ in range(rng.randrange(1, 9))]
        cut = [each[rng.randrange(9) : len(each) - rng.choice((0, 0, rng.randrange(20)))] for each in pieces]
        text = "".join(each + rng.choice(("", " ", "\n", " word" * rng.randrange(300))) for each in cut)
        for dialect in rng.sample(dialects.all(), 3):
            whole = [each.notice for each in events_of(text, len(text) + 1, dialect) if isinstance(each, xt.Noticed)]
            for size in (1, 3, 50, 1_500):
                events = events_of(text, size, dialect)
                assert [each.notice for each in events if isinstance(each, xt.Noticed)] == whole, (size, dialect.name)
            assert list(xt.parse(text, TOOLS, dialect=dialect).notices) == whole, dialect.name
            assert all(one.span[1] <= other.span[0] for one, other in pairwise(whole)), dialect.name


def events_of(text: str, size: int, dialect: dialects.Dialect) -> list[xt.Event]:
    parser = xt.Parser(TOOLS, dialect=dialect)
    return [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])] + parser.close()


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_a_tool_named_as_an_element_of_a_call_hides_no_call_with_that_element(size: int) -> None:
    call = f"<function=ping>{PARAMETER}</function>"
    parser = xt.Parser([xt.Tool(name="function"), *TOOLS], dialect="tag_per_tool")
    events = [each for at in range(0, len(call), size) for each in parser.feed(call[at : at + size])] + parser.close()
    (notice,) = [each.notice for each in events if isinstance(each, xt.Noticed)]
    assert (notice.notation, notice.name, notice.span) == ("qwen3_coder", "ping", (0, len(call)))


def test_delimiters_that_calls_lack_are_those_of_the_records() -> None:
    assert foreign.pairs_of("mistral").name_end == foreign._ARGS
    assert any(foreign._TO.startswith(form.opener) for form in dialects.named("harmony").forms if form.is_first)


@pytest.mark.parametrize("before", [0, 1_000, 3_000])
@pytest.mark.parametrize("call", [f"read[ARGS]{OBJECT}", "<ping/>", JSON, f"```json\n{JSON}\n```"])
def test_a_call_may_be_cut_wherever_text_is_handed_on(call: str, before: int) -> None:
    """Prose is looked at when some thousand characters have come."""
    text = "word\n" * (before // 5) + call + "\nword" * 2_000
    found = notices_in(text, len(text))
    assert len(found) == 1
    for size in (3, 7, 64, 1_021):
        assert notices_in(text, size) == found


@pytest.mark.parametrize("text", ["[TOOL_CALLS]{", '<|tools_prefix|>{"unknown": {}}', 'a <|tools_prefix|>{"unknown"'])
def test_calls_in_other_notations_are_noticed_where_some_are_read(text: str) -> None:
    """A bare object is a call of some dialects where the reply begins: it is looked for after each delimiter."""
    found = notices_in(text, 1_000)
    assert len(found) == 1
    for size in (1, 3, 1_000):
        parser = xt.Parser(TOOLS, dialect="qwen3_coder", also="known")
        events = [each for at in range(0, len(text), size) for each in parser.feed(text[at : at + size])]
        notices = [each.notice for each in events + parser.close() if isinstance(each, xt.Noticed)]
        assert notices == found


PARTS = [
    ("llama3_json", 'Sure.\nread(path="a")'),
    ("pythonic", 'Sure.\n[read(path="a")]'),
    ("hermes", 'call:read{path:<|"|>a<|"|>}'),
    ("gemma", "call:read{path:a}"),
    ("mistral", 'Sure.\nread{"path": "a"}'),
    ("kimi_k2", 'functions.read:0{"path": "a"}'),
    ("kimi_k3", 'tools call tool="read" index="1" argument key="path" type="string" a'),
    ("deepseek_v3", 'functionread\n```json\n{"path": "a"}\n```'),
    ("apertus", '[{"read": {"path": "a"}}]'),
    ("glm", "read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>"),
    ("hunyuan", "read<arg_key>path</arg_key><arg_value>a</arg_value>"),
    ("k2_horizon", "read\n<ifm|arg_key>path</ifm|arg_key><ifm|arg_value>a</ifm|arg_value>"),
    ("forge", "&lt;tool&gt;&lt;tool_name&gt;read&lt;/tool_name&gt;&lt;/tool&gt;"),
    ("qwen3_coder", "&lt;function=read&gt;"),
    ("invoke", "&lt;invoke name=&quot;read&quot;&gt;"),
    ("invoke", "I read.\n<function_calls>\n<inv name>\n</function_calls>"),
    ("qwen3_coder", "<tool_call>\n<functio>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"),
    ("seed_oss", "<seed:tool\n<parameter=path>a</parameter>\n</function>\n</seed:tool_call>"),
    ("minimax_m2", '<minimax:tool"read">\n<parameter name="path">a</parameter>\n</invoke>'),
    ("harmony", '<|chnel|>json<|message|>{"path": "a"}<|call|>'),
    ("llama3_json", 'Sure.\n{"nme": "read", "parameters": {"path": "a"}}'),
    ("llama3_json", '{"name": "raed", "parameters": {"path": "a"}}'),
]
"""What is left of calls whose beginning is damaged, or whose tokens were dropped."""


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize(("dialect", "text"), PARTS)
def test_a_part_of_a_call_is_noticed(dialect: str, text: str, size: int) -> None:
    (notice, *_) = told(text, size, dialect)
    assert notice.code is xt.Code.FOREIGN_CALL and notice.notation == dialect
    assert not told(f"`{text}`".replace("\n", " ").replace("```", ""), size, dialect)


@pytest.mark.parametrize("dialect", ["forge", "hermes", "llama3_json", "qwen3_coder", "apertus", "pythonic"])
@pytest.mark.parametrize(
    "text",
    [
        "call:reader{x} and recall:read me, read {x}",
        'The keys of {"read": 1, "path": "a"} and {"path": {"read": 1}}.',
        "Use [read](path=1), read(path) or read(x=1).",
        "&lt;path&gt; and &lt;tool&gt; tags are for those who read it.",
        '{"name": "Ada", "age": 36}',
    ],
)
def test_what_only_looks_like_a_part_of_a_call_is_not_noticed(dialect: str, text: str) -> None:
    assert not told(text, 1_000, dialect) and not told(text, 1, dialect)
