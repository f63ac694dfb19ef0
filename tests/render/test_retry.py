"""What a model is told after a call failed: right, short, harmless, and with one example that parses."""

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.corpus import REQUIRED, options_of, tools_of
from support.often import examples
from support.strategies import TOOL_SETS, cases, clean_cases

from xmltools.dialects import named
from xmltools.errors import CallError, Code, XMLToolsError
from xmltools.models import ToolResult
from xmltools.parser import Limits, parse
from xmltools.render.calls import render_call
from xmltools.render.instructions import render_instructions
from xmltools.render.results import part_with_results, read_results, render_results
from xmltools.render.retry_message import render_retry
from xmltools.tools import Tool

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PATCH = Tool(
    name="apply_diff",
    parameters={
        "type": "object",
        "properties": {"path": TEXT, "diff": TEXT, "strip": NUMBER},
        "required": ["path", "diff", "strip"],
    },
)
READ = Tool(name="read_file", parameters={"type": "object", "properties": {"path": TEXT}, "required": ["path"]})
DISK = Tool(name="read_file", parameters=READ.parameters, server="disk")
TOOLS = [PATCH, READ]


def block(arguments, name="apply_diff"):
    return f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}\n</arguments>\n</tool>"


def error_of(text, tools=TOOLS, **options):
    return parse(f"Well.\n\n{text}", tools, **options).errors[0]


def example_of(retry, tools=TOOLS):
    """The one call in a retry, which is clean, and nothing else is found in it."""
    reply = parse(retry, tools)
    assert not reply.errors and not reply.reasoning, retry
    (call,) = reply.calls
    assert call.clean, (retry, call.repairs)
    return call


def lines_of(retry):
    return retry.split("\n")


ARGUMENTS = """<path>src/<b>.py</path>
\t<strip>zero</strip>
<diff>-a
+b</diff>"""


def test_arguments_that_do_not_fit_are_shown_with_their_line_and_kept_where_they_fit():
    retry = render_retry(error_of(block(ARGUMENTS)), TOOLS)
    assert lines_of(retry)[:6] == [
        "Your call of apply_diff was not carried out: its arguments do not fit the tool.",
        "- strip: expected integer, got 'zero'",
        "Line 4: <path>src/<b>.py</path>",
        "Line 5: \t<strip>zero</strip>",
        "        \t^",
        "Correct these arguments and call the tool again.",
    ]
    call = example_of(retry)
    assert call.name == "apply_diff"
    assert call.arguments["path"] == "src/<b>.py" and call.arguments["diff"] == "-a\n+b"
    assert isinstance(call.arguments["strip"], int)


@pytest.mark.parametrize(
    ("text", "tools", "called"),
    [
        (block("<%>"), TOOLS, "call of apply_diff"),
        (block("<%>"), None, "call of apply_diff"),
        (block("<path>a")[:-30], TOOLS, "call of apply_diff"),
        (block("", "xyz"), TOOLS, "tool call"),
        (block("", ""), TOOLS, "tool call"),
        (block("", "a" * 257), None, "tool call"),
        ("<tool><tool_name>apply_d", TOOLS, "tool call"),
        (block("<%>", "a" * 200), None, f"call of {'a' * 97}..."),
        (block("<%>", "a [TOOL_CALLS]"), None, "call of a &#91;TOOL_CALLS]"),
    ],
)
def test_the_tool_is_named_where_it_is_known(text, tools, called):
    """Other calls of the turn may have been right."""
    assert render_retry(error_of(text, tools), tools or ()).startswith(f"Your {called} was not carried out: ")


OTHERS = "Your other calls were right, and are carried out: do not write them again."


@pytest.mark.parametrize("dialect", ["forge", "hermes"])
@pytest.mark.parametrize("most", [200, 350, 1200])
def test_it_can_say_that_the_other_calls_are_carried_out(dialect, most):
    for source in (ARGUMENTS, "<%>"):
        error = error_of(block(source))
        retry = render_retry(error, TOOLS, dialect=dialect, max_characters=most, others_run=True)
        text, last = retry.rsplit("\n", 1)
        assert last == OTHERS
        alone = render_retry(error, TOOLS, dialect=dialect, max_characters=most)
        assert text == alone
    cut = cut_error(CALL[:60])
    assert render_retry(replace(cut, source=""), TOOLS, others_run=True).endswith(f"\n{OTHERS}")
    assert render_retry(cut, TOOLS, go_on=True, others_run=True) == render_retry(cut, TOOLS, go_on=True)


def test_failed_calls_and_results_of_one_turn_are_told_apart():
    right = block("<path>a</path>", "read_file")
    reply = parse(f"{right}\n{block('<path>a</path>')}", TOOLS)
    (error,) = reply.errors
    (call,) = reply.calls
    results = render_results([ToolResult(call_id=call.id, name=call.name, content="text")])
    answer = f"{render_retry(error, TOOLS, others_run=True)}\n\n{results}"
    assert answer.startswith("Your call of apply_diff was not carried out: ")
    assert part_with_results(answer) == results
    assert read_results(results) == [("read_file", "text", False)]


def test_all_problems_are_listed():
    retry = render_retry(error_of(block("<strip>zero; or one</strip>")), TOOLS)
    assert lines_of(retry)[1:4] == [
        "- strip: expected integer, got 'zero; or one'",
        "- path: expected string, got nothing",
        "- diff: expected string, got nothing",
    ]


def test_long_values_are_not_repeated():
    retry = render_retry(error_of(block(f"<path>{'long/' * 20}</path><diff>x</diff><strip>x</strip>")), TOOLS)
    assert "long/" not in example_of(retry).arguments["path"]


SAID = {
    "markup": (
        block("<path>a</path>\n<strip>1</strip><%>"),
        ["a < in it begins no tag", "Write every tag as"],
    ),
    "a doctype": (block("<!DOCTYPE a>"), ["<! and a word", "Do not write <!DOCTYPE"]),
    "a new block": ("<tool>\n<tool_name>read_file</tool_name>\n" + block(""), ["a new &lt;tool> starts", "Line 2: "]),
    "two names": (
        "<tool><tool_name>read_file</tool_name><tool_name>read_file</tool_name></tool>",
        ["<tool_name> is in the block twice", "Line 1: &lt;tool><tool_name>", "exactly one <tool_name>"],
    ),
    "a second argument": (
        block("<path>a</path>\n<strip>1</strip>\n<strip>2</strip>"),
        ["given more than once: strip", "Line 6: <strip>2</strip>", "Give strip only once."],
    ),
    "a name that is none": ("<tool><tool_name>a\nb</tool_name></tool>", ["is no name", "A name is plain text"]),
    "no name": (block("", name=""), ["does not name a tool", "<tool_name>name of the tool", "apply_diff, read_file"]),
    "a near name": (block("", name="aply_dif"), ["no tool named 'aply_dif'", "Line 2: ", "Did you mean apply_diff?"]),
    "a far name": (block("", name="xyz"), ["no tool named 'xyz'", "The tools are: apply_diff, read_file."]),
    "JSON": ('<tool>{"tool_name": "read_file", x}</tool>', ["the JSON could not be read", "as XML"]),
    "JSON arguments": (
        block('{"path": "a",\n "diff": 1 1}'),
        ["the JSON could not be read", 'Line 5:  "diff": 1 1}', "as XML"],
    ),
}


@pytest.mark.parametrize(("text", "said"), SAID.values(), ids=SAID)
def test_it_says_what_was_wrong_where_and_what_was_expected(text, said):
    retry = render_retry(error_of(text), TOOLS)
    assert re.match("Your (tool call|call of (apply_diff|read_file)) was not carried out: ", retry)
    assert [words for words in said if words not in retry] == [], retry
    assert "at character" not in retry
    example_of(retry)


@pytest.mark.parametrize("text", [text for text, _ in SAID.values()], ids=SAID)
def test_nothing_is_said_twice(text):
    retry = render_retry(error_of(text), TOOLS)
    sentences = [line for line in lines_of(retry.split("<tool>\n")[0]) if not line.startswith("Line")]
    assert len(set(sentences)) == len(sentences)
    for twice in ("could not be read", "There is no", "there is no", "do not fit", "Did you mean", "The tools are"):
        assert retry.count(twice) <= 1


def test_the_caret_stands_under_the_place():
    for text, _ in SAID.values():
        error = error_of(text)
        lines = lines_of(render_retry(error, TOOLS))
        for number, line in enumerate(lines):
            if line.strip() == "^":
                shown = lines[number - 1][line.index("^") :].replace("&lt;", "<")
                place = error.source[error.offset - error.span[0] :].split("\n")[0]
                assert place.startswith(shown) if shown else True


def test_a_long_line_is_cut_around_the_place():
    text = block(f"<path>{'a' * 300}</path><strip>{'b' * 300}</strip>")
    lines = lines_of(render_retry(error_of(text), TOOLS))
    (caret,) = [number for number, line in enumerate(lines) if line.strip() == "^"]
    line = lines[caret - 1]
    assert line.startswith("Line 4: ...a") and line.endswith("b...") and len(line) < 120
    assert line[lines[caret].index("^") :].startswith("<strip>")


def test_control_characters_are_shown_as_spaces():
    retry = render_retry(error_of(block("<path>\x1b[1m\x07\ud800</path><strip>x</strip>")), TOOLS)
    assert "Line 4: <path> [1m  </path><strip>x</strip>" in lines_of(retry)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_are_counted_at_any_line_break(line_break):
    retry = render_retry(error_of(block("<path>a</path>\n<strip/>").replace("\n", line_break)), TOOLS)
    shown = [line for line in lines_of(retry) if line.startswith("Line")]
    assert shown == ["Line 4: <path>a</path>", "Line 5: <strip/>"]


def test_no_lines_are_shown_of_a_block_that_was_not_kept():
    retry = render_retry(error_of(block("<path>a</path>"), limits=Limits(block_size=60)), TOOLS)
    assert "Line" not in retry and "larger than 60 characters" in retry and "several smaller calls" in retry
    example_of(retry)


def test_a_slip_in_strict_mode():
    text = block("<path>a & b</path><diff>x</diff><strip>1</strip>")
    retry = render_retry(error_of(text, strict=True), TOOLS)
    assert "there was one: an & that begins no entity was kept." in retry and "Write & as &amp;" in retry
    assert example_of(retry).arguments == {"path": "a & b", "diff": "x", "strip": 1}


# --- the tool of the example


def test_without_tools_the_form_is_shown():
    retry = render_retry(error_of("<tool><arguments/></tool>", None))
    call = example_of(retry, None)
    assert (call.name, call.arguments) == ("name_of_the_tool", {"name_of_the_argument": "value"})
    assert "in this form:" in retry


@pytest.mark.parametrize(
    ("text", "tools", "name", "server"),
    [
        (block("<%>"), TOOLS, "apply_diff", "local"),
        (block("<%>", "read_file"), [PATCH, DISK, READ], "read_file", "local"),
        (block("<%>", "red_fil"), TOOLS, "read_file", "local"),
        (block("", "xyz"), TOOLS, "apply_diff", "local"),
        (block("<%>", ""), [READ], "read_file", "local"),
        (
            "<tool><server_name>disk</server_name><tool_name>read_file</tool_name></tool>",
            [READ, DISK],
            "read_file",
            "disk",
        ),
        ("<tool><server_name>net</server_name><tool_name>read_file</tool_name></tool>", [DISK], "read_file", "disk"),
    ],
)
def test_the_example_is_of_the_tool_that_was_meant(text, tools, name, server):
    call = example_of(render_retry(error_of(text, tools), tools), tools)
    assert (call.name, call.server) == (name, server)


@pytest.mark.parametrize(
    ("tools", "server_names", "named"),
    [
        ([READ, PATCH], False, []),
        ([READ, PATCH], True, ["local"]),
        ([DISK], False, []),
        ([DISK], True, ["disk"]),
        ([READ, DISK], False, ["local"]),
        ([], False, []),
        ([], True, ["local"]),
    ],
)
def test_the_example_names_its_server_where_tools_are_on_several(tools, server_names, named):
    error = error_of(block("<path>a</path>", "read_file").replace("<path>", "<%>"), tools)
    retry = render_retry(error, tools, server_names=server_names)
    lines = [line for line in lines_of(retry) if line.startswith("<server_name>")]
    assert lines == [f"<server_name>{server}</server_name>" for server in named]


def test_values_for_another_tool_are_not_kept():
    retry = render_retry(error_of(block("<path>their/own</path>", "xyz")), TOOLS)
    assert example_of(retry).arguments["path"] != "their/own"


def test_the_server_is_asked_for():
    tools = [DISK, Tool(name="fetch", server="net")]
    text = "<tool><server_name>net</server_name><tool_name>read_file</tool_name></tool>"
    assert "Name the server of read_file in <server_name>: disk." in render_retry(error_of(text, tools), tools)


def test_many_tools_are_not_all_listed():
    tools = [Tool(name=f"tool{number}x{number * 7}") for number in range(50)]
    retry = render_retry(error_of(block("", "?"), tools), tools)
    assert "tool19x133 and 30 more." in retry
    example_of(retry, tools)


@pytest.mark.parametrize("dialect", ["forge", "hermes", "qwen3_coder", "glm"])
@pytest.mark.parametrize(
    "error",
    [
        error_of(block("", "f"), [Tool(name="f", parameters={"type": "object", "required": ["a"]})]),
        error_of("<tool><tool_name>f</tool_name><arguments><a>b", None),
    ],
    ids=lambda error: error.code,
)
def test_of_a_schema_that_nothing_fits_the_form_is_shown(error, dialect):
    tool = Tool(
        name="f",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "string", "minLength": 5, "maxLength": 2}},
            "required": ["a"],
        },
    )
    retry = render_retry(error, [tool], dialect=dialect)
    asked, form = retry.split("\nWrite the whole call again in this form:\n")
    assert asked.startswith("Your call of f was not carried out: ")
    (call,) = parse(form, dialect=dialect).calls
    assert (call.name, call.arguments) == ("name_of_the_tool", {"name_of_the_argument": "value"})


# --- length


LONG = Tool(
    name="long",
    parameters={
        "type": "object",
        "properties": {f"argument_number_{number}": TEXT for number in range(40)},
        "required": [f"argument_number_{number}" for number in range(40)],
    },
)


@pytest.mark.parametrize("most", [200, 300, 400, 600, 1200, 5000])
@pytest.mark.parametrize("tool", [READ, PATCH, LONG], ids=lambda tool: tool.name)
@pytest.mark.parametrize("arguments", ["<%>", "<path>1 & 2</path>", "", f"<path>{'x' * 200}</path>\n<b>"])
def test_it_is_as_short_as_asked(most, tool, arguments):
    retry = render_retry(error_of(block(arguments, tool.name), [tool], strict=True), [tool], max_characters=most)
    example = retry[retry.index("<tool>\n") :]
    assert len(retry) <= (most if len(example) <= most else len(example) + 401)
    assert example_of(retry, [tool]).name == tool.name


def test_context_goes_before_the_message_and_the_message_before_the_hint():
    error = replace(error_of(block("<path>a</path>\n<strip>1</strip><strip>2</strip>")), message="m" * 300)
    whole = render_retry(error, TOOLS, max_characters=5000)
    without_line = render_retry(error, TOOLS, max_characters=len(whole) - 1)
    assert "Line 5" in without_line and "Line 4" not in without_line and "m" * 300 in without_line
    without_context = render_retry(error, TOOLS, max_characters=len(without_line) - 1)
    assert "Line" not in without_context and "m" * 300 in without_context
    short = render_retry(error, TOOLS, max_characters=len(without_context) - 100)
    assert "m..." in short and "Give strip only once." in short
    shortest = render_retry(error, TOOLS, max_characters=len(without_context) - 320)
    assert "Give strip only once." not in shortest
    assert [example_of(each) for each in (whole, without_line, without_context, short, shortest)]


# --- replies that were cut off


CALL = block("<path>src/a.py</path>\n<diff><![CDATA[-if a[b[0]]>1 & c:\n+<p>hi</p>\n]]></diff>\n<strip>1</strip>")


def cut_error(source, tools=TOOLS):
    (error,) = parse(source, tools).errors
    assert error.code == Code.TRUNCATED
    return error


@pytest.mark.parametrize(
    ("source", "closing"),
    [
        ("<tool><tool_name>apply_d", "Then close </tool_name> and </tool>."),
        ("<tool><tool_name>apply_diff</tool_name>", "Then close </tool>."),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><path>a</pa",
            "Then close </path>, </arguments> and </tool>.",
        ),
        ("<tool><tool_name>f</tool_name><arguments><o><a>1</a><b>", "Then close </b>, </o>, </arguments> and </tool>."),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA[a </p>",
            "The CDATA section is still open: end it with ]]>. Then close </diff>, </arguments> and </tool>.",
        ),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA[a[b[0]]>1 </p>",
            "The CDATA section is still open: end it with ]]>. Then close </diff>, </arguments> and </tool>.",
        ),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA[a[b[0]]>1 & c:",
            "The CDATA section is still open: end it with ]]>. Then close </diff>, </arguments> and </tool>.",
        ),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA[a]]> ",
            "Then close </diff>, </arguments> and </tool>.",
        ),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA[a]]></di",
            "Then close </diff>, </arguments> and </tool>.",
        ),
        (
            "<tool><tool_name>apply_diff</tool_name><arguments><diff><p>a<br>",
            "Then close </diff>, </arguments> and </tool>.",
        ),
        (
            '<tool><tool_name>apply_diff</tool_name><arguments><argument name="path">a',
            "Then close </argument>, </arguments> and </tool>.",
        ),
        ("<tool><tool_name>f</tool_name><arguments><o><a>1</b>", None),
        ("<tool><tool_name>f</tool_name><arguments><o>text <a>1</b></o> x <y>", None),
        ('<tool>{"tool_name": "f"', None),
    ],
)
def test_it_says_what_is_still_to_be_closed(source, closing):
    retry = render_retry(cut_error(source, None), TOOLS, go_on=True)
    assert retry.startswith("Your reply was cut off inside a tool call. Go on exactly where it ended;")
    assert lines_of(retry)[-1] == closing if closing else "close" not in retry


def test_the_end_is_quoted_from_the_start_of_a_line():
    source = CALL[: CALL.index("]]></diff>")].replace("+<p>", "+line\n" * 60 + "+<p>")
    lines = lines_of(render_retry(cut_error(source), TOOLS, go_on=True))
    quoted = lines[1:-1]
    assert set(quoted[:-2]) == {"> +line"} and quoted[-2:] == ["> +<p>hi</p>", "> "]
    assert 100 < len("\n".join(quoted)) <= 200


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\u2028", "\x85", "\x0c", "\n\n"])
@pytest.mark.parametrize("words", ["Tool: f", "Result: 8", "Error: no", "## shell", "```", "Then close it.", "> a"])
def test_no_line_of_the_quotation_can_be_taken_for_ours(words, line_break):
    text = f"{line_break}{words}{line_break}{words}"
    retry = render_retry(cut_error(f"<tool><tool_name>read_file</tool_name><arguments><path>{text}"), TOOLS, go_on=True)
    ours = [line for line in retry.splitlines() if not line.startswith("> ")]
    assert ours == [retry.split("\n")[0], "Then close </path>, </arguments> and </tool>."]
    assert '"> "' in ours[0]


def test_a_line_break_in_a_tag_begins_no_line():
    error = replace(cut_error("<tool><tool_name>f</tool_name><arguments><a>"), source="<tool><a\u2028Error:><b>1")
    assert lines_of(render_retry(error, go_on=True))[-1] == "Then close </b>, </a Error:> and </tool>."


@pytest.mark.parametrize("most", [200, 250, 300, 1200])
def test_the_continuation_is_as_short_as_asked(most):
    for place in range(len("<tool>\n<"), CALL.index("</arguments>")):
        error = cut_error(CALL[:place].replace("+<p>", "<tool>" * 30))
        assert len(render_retry(error, TOOLS, max_characters=most, go_on=True)) <= most
        assert len(render_retry(error, TOOLS, max_characters=most)) <= max(most, 700)


def test_a_model_that_goes_on_completes_the_call():
    (whole,) = parse(CALL, TOOLS).calls
    for place in range(len("<tool>\n<"), CALL.index("</arguments>") + len("</arguments")):
        retry = render_retry(cut_error(CALL[:place]), TOOLS, go_on=True)
        silent = parse(retry, TOOLS)
        assert not silent.calls and not silent.errors and not silent.reasoning
        quoted = retry.partition("\n")[2].rpartition("\nThe")[0].replace("&lt;tool", "<tool")
        seen = "\n".join(line.removeprefix("> ") for line in quoted.split("\n"))
        assert seen
        assert CALL[:place].endswith(seen)
        continuation = CALL[CALL.index(seen) + len(seen) :]  # what a model writes that knows only what was quoted
        (call,) = parse(CALL[:place] + continuation, TOOLS).calls
        assert (call.name, call.arguments) == (whole.name, whole.arguments)


@given(case=clean_cases(), data=st.data())
@examples(300)
def test_closing_what_it_says_ends_the_block(case, data):
    number = data.draw(st.integers(1, len(case.tokens) - 1))
    token = case.tokens[number]
    inside = data.draw(st.integers(9, len(token))) if token.startswith("<![CDATA[") else 0
    source = "".join((*case.tokens[:number], token[:inside].rstrip("<]>")))
    for error in parse(source, case.tools).errors:
        words = lines_of(render_retry(error, case.tools or (), max_characters=5000, go_on=True))[-1]
        if error.code is Code.TRUNCATED and words.endswith("</tool>.") and "close" in words:
            tags = "".join(word.rstrip(",.") for word in words.split("close ")[1].split() if word != "and")
            source += ("]]>" if "CDATA section is still open" in words else "") + tags
            reply = parse(source, case.tools)
            assert [error.code for error in reply.errors if error.code is Code.TRUNCATED] == [], (source, words)


@pytest.mark.parametrize("rest", ["<", "<!", "<![CDATA", "<!-"])
def test_a_section_whose_end_is_not_clear_is_open(rest):
    source = f"<tool><tool_name>types</tool_name><arguments><path><![CDATA[]]]]>{rest}"
    (error,) = parse(source, TOOL_SETS["types"]).errors
    assert "The CDATA section is still open: end it with ]]>." in render_retry(error, TOOL_SETS["types"], go_on=True)
    (call,) = parse(f"{source}]]></path></arguments></tool>", TOOL_SETS["types"]).calls
    assert call.arguments == {"path": f"]]]]>{rest}"}


def test_a_call_that_was_cut_off_is_asked_for_again_as_a_whole():
    retry = render_retry(cut_error(CALL[: CALL.index("</diff>")]), TOOLS)
    first, *_, expected = retry.partition("\nWrite the whole call again. ")[0].split("\n")
    why = "your reply was cut off inside it: no </diff> follows a ]]> in it."
    assert first == f"Your call of apply_diff was not carried out: {why}"
    assert expected == "If the call is too long for one reply, write several calls, each with a part of the text."
    assert example_of(retry).name == "apply_diff"


def test_only_forges_calls_are_gone_on_with():
    with pytest.raises(XMLToolsError, match="go_on: expected Forge's dialect, got 'hermes'"):
        render_retry(cut_error(CALL[:60]), TOOLS, dialect="hermes", go_on=True)


def test_a_block_that_was_not_kept_is_asked_for_in_pieces():
    retry = render_retry(replace(cut_error(CALL[:60]), source=""), TOOLS)
    assert "smaller pieces" in retry and not parse(retry, TOOLS).calls


# --- always


def assert_good(error, tools):
    for offered, go_on in product((tools or (), ()), (False, True)):
        retry = render_retry(error, offered, go_on=go_on)
        assert retry == render_retry(error, offered, go_on=go_on)
        retry.encode()
        reply = parse(retry, offered or None)
        assert not reply.errors and not reply.reasoning, retry
        has_no_example = error.code is Code.TRUNCATED and (go_on or not error.source)
        assert len(reply.calls) == (not has_no_example), retry
        assert all(call.clean for call in reply.calls), retry
        for most in (200, 350):
            short = parse(render_retry(error, offered, max_characters=most, go_on=go_on), offered or None)
            assert [call.arguments for call in short.calls] == [call.arguments for call in reply.calls]
            assert not short.errors and not short.reasoning


@given(case=cases(), strict=st.booleans())
@examples(300)
def test_any_error_gives_one_clean_call_and_nothing_else(case, strict):
    for error in parse(case.text, case.tools, strict=strict, **case.options).errors:
        assert_good(error, case.tools)


def test_the_errors_of_the_corpus():
    for case in REQUIRED:
        tools = tools_of(case)
        for error in parse(case["text"], tools, **options_of(case)).errors:
            assert_good(error, tools)


HOSTILE = (
    "<tool>",
    "<tool><tool_name>f</tool_name></tool>",
    "<think>",
    "```",
    "\n```\n",
    "~~~",
    "\n",
    "\x1b",
    "\ud800",
    "`",
    "&",
)


@given(
    code=st.sampled_from([code for code in Code if code.is_error]),
    words=st.lists(
        st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=9).map("".join), min_size=4, max_size=4
    ),
    offset=st.none() | st.integers(-5, 60),
)
def test_what_an_error_quotes_is_data(code, words, offset):
    message, hint, name, source = words
    error = CallError(code, (5, 5 + len(source)), message, hint, name, None, {"path": message}, source, offset)
    assert_good(error, TOOLS)


# --- misuse


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("no error",), {}),
        ((None,), {}),
        ((error_of(block("<%>")), ["apply_diff"]), {}),
        ((error_of(block("<%>")), PATCH), {}),
        ((error_of(block("<%>")), None), {}),
        ((error_of(block("<%>")),), {"max_characters": 199}),
        ((error_of(block("<%>")),), {"max_characters": True}),
        ((error_of(block("<%>")),), {"max_characters": 500.0}),
    ],
)
def test_misuse_is_refused(arguments, options):
    with pytest.raises(XMLToolsError, match="expected"):
        render_retry(*arguments, **options)


def test_functions_in_place_of_tools_are_told_how_to_become_some():
    def f(): ...

    for tools, how in (([f], "got function; load_tools() makes tools of functions"), ({"f": f}, "got str; of a dict")):
        with pytest.raises(XMLToolsError, match=re.escape(how)):
            render_retry(error_of(block("<%>")), tools)
        with pytest.raises(XMLToolsError, match=re.escape(how)):
            render_instructions(tools)


# Other dialects

CALLS = {
    "hermes": '<tool_call>{"name": "read_file", "arguments": {"path": %s}}</tool_call>',
    "glm": "<tool_call>read_file<arg_key>path</arg_key><arg_value>%s</arg_value></tool_call>",
    "qwen3_coder": "<tool_call><function=read_file><parameter=path>%s</parameter></function></tool_call>",
}


@pytest.mark.parametrize("dialect", CALLS)
def test_a_model_that_writes_another_dialect_is_told_nothing_in_forges_words(dialect):
    number = Tool(name="read_file", parameters={"type": "object", "properties": {"path": NUMBER}, "required": ["path"]})
    whole = CALLS[dialect] % ('"x"' if dialect == "hermes" else "x")
    renamed = whole.replace("read_file", "reed_file")
    foreign = "<invoke name='read_file'><parameter name='path'>3</parameter></invoke>"
    for text in (whole, renamed, whole[: len(whole) // 2], "<tool_call>{}</tool_call>", foreign):
        reply = parse(text, [number], dialect=dialect)
        for found in (*reply.errors, *reply.notices):
            retry = render_retry(found, [number], dialect=dialect)
            assert re.match("Your (tool call|call of read_file) was not carried out: ", retry)
            asked, _, example = retry.partition("A correct call of read_file looks like this, with your own values:\n")
            assert asked.endswith("\nWrite the whole call again. ")
            assert example == render_call(parse(example, [number], dialect=dialect).calls[0], number, dialect=dialect)
            assert not re.search(r"<tool>|tool_name|CDATA|XML", retry)
            shown = parse(retry, dialect=dialect)
            assert [call.clean for call in shown.calls] == [True] and not shown.errors
    error = parse(renamed, [number], dialect=dialect).errors[0]
    assert "Did you mean read_file?" in render_retry(error, [number], dialect=dialect)
    error = parse(whole, [number], dialect=dialect).errors[0]
    assert "- path: expected integer, got 'x'" in render_retry(error, [number], dialect=dialect)


def test_the_example_shows_the_arguments_that_were_wrong():
    tool = Tool(name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}})
    wrong = '<tool_call>{"name": "add", "arguments": {"a": "five"}}</tool_call>'
    retry = render_retry(parse(wrong, [tool], dialect="hermes").errors[0], [tool], dialect="hermes")
    assert retry.endswith('{"name": "add", "arguments": {"a": 1}}\n</tool_call>')


@pytest.mark.parametrize("dialect", CALLS)
def test_the_limit_holds_in_every_dialect(dialect):
    error = CallError(Code.INVALID_JSON, (0, 9), "x" * 5000, Code.INVALID_JSON.hint)
    retry = render_retry(error, TOOLS, dialect=dialect, max_characters=400)
    assert len(retry) <= 400 and len(parse(retry, TOOLS, dialect=dialect).calls) == 1


def test_where_it_is_not_known_how_calls_are_written_the_example_is_that_of_the_dialect():
    read_only = replace(named("glm"), writing=None)
    error = parse("<tool_call>reed_file</tool_call>", TOOLS, dialect=read_only).errors[0]
    assert render_retry(error, TOOLS, dialect=read_only).endswith(f"\n{named('glm').example}")
    bare = replace(read_only, example="")
    assert render_retry(error, TOOLS, dialect=bare).endswith("\nWrite the whole call again.")


def test_a_dialect_that_there_is_not_raises():
    with pytest.raises(XMLToolsError, match="did you mean 'glm'"):
        render_retry(error_of(block(ARGUMENTS)), TOOLS, dialect="glmm")
