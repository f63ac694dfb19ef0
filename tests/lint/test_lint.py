"""Checks of replies and stored calls: what is found, where, what other readers say, and how it prints."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from support.calls import Meant, meant_calls, untyped_calls
from support.often import examples
from support.strategies import Case, clean_cases

from xmltools import Code, Tool, ToolCall, XMLToolsError, dialects, parse, render_call
from xmltools.lint import CODES, FORMATS, Finding, Place, explain, lint, list_codes, readers, write_report
from xmltools.lint import write_statistics as statistics
from xmltools.lint.explanations import headline
from xmltools.lint.readers import Unreadable, disagreements, read_with_defusedxml, read_with_lxml

TOOL = Tool(
    name="edit",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"enum": ["read", "write"]},
            "lines": {"type": "array", "items": {"type": "integer"}},
            "at": {"type": ["integer", "null"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"cells": {"type": "array"}}}},
            "x:y": {"type": "string"},
            "note": {"description": "Anything."},
            "part": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": kind}, key: {"type": "array"}},
                        "required": ["kind"],
                    }
                    for kind, key in (("a", "names"), ("b", "sizes"))
                ]
            },
        },
    },
)


def block(arguments: str, name: str = "edit") -> str:
    return f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}\n</arguments>\n</tool>"


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


# --- findings ---


ADD = Tool(name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
SPELLED = {
    "qwen3_coder": "<tool_call>\n<function=add>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>",
    "hermes": '<tool_call>\n{{"name": "add", "arguments": {{"a": {}}}}}\n</tool_call>',
}


@pytest.mark.parametrize("dialect", SPELLED)
def test_a_reply_in_another_dialect_is_checked_by_the_parser_alone(dialect: str) -> None:
    text = "So:\n" + SPELLED[dialect].format("5")
    assert lint(text, [ADD], dialect=dialect) == lint(text, [ADD], dialect=dialect, strict=True) == []
    assert codes(lint(text, [ADD])) == ["foreign_call"]
    wrong = SPELLED[dialect].format('"five"' if dialect == "hermes" else "five")
    (finding,) = lint(wrong, [ADD], dialect=dialect)
    assert (finding.code, finding.severity, finding.tool) == ("invalid_arguments", "error", "add")
    assert "expected integer, got 'five'" in finding.message


@pytest.mark.parametrize("dialect", SPELLED)
def test_a_repair_in_another_dialect_is_a_warning(dialect: str) -> None:
    fenced = f"```\n{SPELLED[dialect].format('5')}\n```"
    assert [(each.code, each.severity) for each in lint(fenced, [ADD], dialect=dialect)] == [("code_fence", "warning")]
    assert [each.severity for each in lint(fenced, [ADD], dialect=dialect, strict=True)] == ["error"]


def test_a_reply_may_begin_in_reasoning() -> None:
    text = f"Not {SPELLED['qwen3_coder'].format('5')} here.</think>\n{SPELLED['glm'].format('5')}"
    assert codes(lint(text, [ADD], dialect="glm")) == ["foreign_call"]
    assert lint(text, [ADD], dialect="glm", starts_in_reasoning=True) == []


def test_a_dialect_that_there_is_not_raises() -> None:
    with pytest.raises(XMLToolsError, match="'hermes'"):
        lint("", dialect="herms")


def test_a_clean_reply_has_no_findings() -> None:
    text = f"I'll do it.\n\n{block('<path>a</path>')}\n\nand\n{block('<mode>read</mode>')}\n"
    found = lint(text, [TOOL], strict=True)
    assert (found, found.blocks) == ([], 2)
    assert lint("no call at all <b>", [TOOL]) == [] == lint("", None)


def test_an_error_and_a_repair_have_their_places() -> None:
    text = f"é\n{block('<path>a & b</path>')}\n{block('<lines>x</lines>')}"
    mended, refused = lint(text, [TOOL], source="a.txt")
    assert (mended.code, mended.severity, mended.source) == ("bare_ampersand", "warning", "a.txt")
    assert (mended.line, mended.column, mended.offset, mended.end) == (5, 9, text.index("&"), None)
    assert (mended.tool, mended.hint) == ("edit", Code.BARE_AMPERSAND.hint)
    assert (refused.code, refused.severity, refused.tool) == ("invalid_arguments", "error", "edit")
    assert refused.start == Place(text.index("<lines>"), 11, 1)
    assert "lines" in refused.message and refused.hint == Code.INVALID_ARGUMENTS.hint  # the message says the rest


def test_an_error_without_a_place_of_its_own_spans_its_block() -> None:
    text = "a\n" + block("").replace("<tool_name>edit</tool_name>\n", "")
    (finding,) = lint(text, None)
    assert finding.code == "missing_tool_name"
    assert (finding.start, finding.end) == (Place(2, 2, 1), Place(len(text), 6, 8))


def test_strict_makes_warnings_errors_and_keeps_each() -> None:
    text = block("<path lang=en>a & b</path>")
    assert codes(lint(text)) == codes(lint(text, strict=True)) == ["ignored_attribute", "bare_ampersand"]
    assert {finding.severity for finding in lint(text)} == {"warning"}
    assert {finding.severity for finding in lint(text, strict=True)} == {"error"}


def test_a_file_may_have_more_blocks_than_a_reply() -> None:
    text = block("<path>a</path>") * 1001
    assert parse(text).errors
    assert lint(text) == [] and lint(text).blocks == 1001


@pytest.mark.parametrize(
    ("line", "at", "excerpt", "caret"),
    [
        ("short & line", 6, "short & line", 6),
        ("a" * 300 + "&" + "b" * 300, 300, "…" + "a" * 49 + "&" + "b" * 48 + "…", 50),
        ("&" + "b" * 300, 0, "&" + "b" * 98 + "…", 0),
        ("a" * 300 + "&", 300, "…" + "a" * 98 + "&", 99),
    ],
)
def test_the_excerpt_is_a_hundred_characters_around_the_place(line: str, at: int, excerpt: str, caret: int) -> None:
    (finding,) = lint(block(f"<path>\r\n{line}\r\n</path>"), [TOOL])
    assert (finding.excerpt, finding.caret, finding.column) == (excerpt, caret, at + 1)


def test_a_place_behind_the_end_is_the_end() -> None:
    text = block("<path>a").removesuffix("\n</arguments>\n</tool>") + "\n"
    (finding,) = lint(text, [TOOL])
    assert finding.code == "truncated" and finding.offset == len(text)
    assert (finding.line, finding.column, finding.excerpt, finding.caret) == (5, 1, "", 0)


def test_names_from_the_text_are_one_line() -> None:
    text = block("<lines>a&#10;b&#13;c&#x2028;d</lines>")
    assert all(len(f"{each.message}{each.hint}".splitlines()) == 1 for each in lint(text, [TOOL]))


@pytest.mark.parametrize(("text", "tools"), [(b"<tool>", None), (None, None), ("", [TOOL, TOOL]), ("", ["edit"])])
def test_what_makes_no_sense_is_the_callers_mistake(text: str, tools: list[Tool] | None) -> None:
    with pytest.raises(XMLToolsError):
        lint(text, tools)


@given(clean_cases())
def test_the_readers_agree_on_what_models_write_without_repairs(case: Case) -> None:
    assert "readers_disagree" not in codes(lint(case.text, case.tools)), case.text


def test_a_list_of_an_enumeration_is_written_as_elements_inside_another_one() -> None:
    parameters = {"type": "object", "properties": {"path": {"type": "array", "prefixItems": [{"const": ["a"]}]}}}
    tool = Tool(name="f", parameters=parameters)
    call = ToolCall(id="1", name="f", arguments={"path": [["a"]]})
    text = render_call(call, tool)
    assert "<item>a</item>" in text and lint(text, [tool], strict=True) == []


@given(meant_calls)
def test_calls_that_are_written_have_no_findings(meant: Meant) -> None:
    assert meant.tool
    findings = lint(render_call(meant.call, meant.tool), [meant.tool], strict=True)
    assert set(codes(findings)) <= {"forbidden_character"}, findings


@given(untyped_calls)
def test_calls_of_no_known_tool_that_are_written_have_no_findings(meant: Meant) -> None:
    assert set(codes(lint(render_call(meant.call), strict=True))) <= {"forbidden_character"}


@examples(20)
@given(clean_cases())
def test_no_text_raises_and_every_report_can_be_written(case: Case) -> None:
    text = case.text.replace("</", "<")
    for format in FORMATS:
        assert all(isinstance(line, str) for line in write_report(lint(text, case.tools), format))


@pytest.mark.no_cover
@pytest.mark.full
def test_time_grows_with_the_text_and_not_with_its_square() -> None:
    def seconds(count: int) -> float:
        text = block("<path>a & b < c</path>") * count
        start = time.thread_time()
        assert len(lint(text, [TOOL])) == 2 * count
        return time.thread_time() - start

    assert min(seconds(2000) for _ in range(3)) < 10 * min(seconds(500) for _ in range(3))


def test_many_findings_on_one_long_line_stay_small() -> None:
    findings = lint(block("<path>a & b</path>").replace("\n", "") * 1000, [TOOL])
    assert len(findings) == 1000 and max(len(finding.excerpt) for finding in findings) == 100
    assert {finding.line for finding in findings} == {1}


# --- other readers ---


@pytest.mark.parametrize(
    "arguments",
    [
        "<path>a</path>",
        "<mode>\n  read\n</mode>",
        "<path>a</path><lines>1</lines><lines>2</lines>",
        "<lines><n>1</n><n>2</n></lines>",
        '<lines><line nil="false">1</line></lines>',
        "<lines/>",
        '<at nil="true"/>',
        '<at nil="false">1</at>',
        "<at> 1 </at>",
        '<argument name="path">a</argument>',
        '<argument name="x:y">a</argument>',
        "<rows><row><cells>a</cells><cells>b</cells></row></rows>",
        "<rows><cells>a</cells><cells>b</cells></rows><rows><cells>c</cells><cells>d</cells></rows>",
        "<part><kind>b</kind><sizes>1</sizes><sizes>2</sizes></part>",
        "<part><names><x>1</x></names><kind>\na\n</kind></part>",
        "<!-- a comment --><path>a</path><!-- another -->",
        "<path>a\r\nb</path>",
        "<unheard><of>1</of><of>2</of></unheard>",
        "<note>a</note><note><b>1</b></note>",
        '<note>a</note><argument name="note" nil="true"/>',
    ],
)
def test_every_clean_spelling_of_a_call_passes(arguments: str) -> None:
    text = block(arguments)
    assert parse(text, [TOOL]).calls[0].clean
    assert lint(text, [TOOL], strict=True) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"any": {"argument": "x", "a b": "y"}},
        {"argument": {"argument": ["x", "y"]}},
        {"arguments": "x"},
    ],
)
def test_names_that_only_an_attribute_can_give_pass(arguments: dict[str, object]) -> None:
    free = Tool(name="edit", parameters={"type": "object", "properties": {"any": {"type": "object"}, "arguments": {}}})
    text = render_call(ToolCall(id="1", name="edit", arguments=arguments), free)
    assert parse(text, [free]).calls[0].arguments == arguments
    assert lint(text, [free], strict=True) == []


def test_a_block_that_is_too_large_for_libxml2_is_not_shown_to_it() -> None:
    assert lint(block(f"<path>{'€' * 5_000_000}</path>"), [TOOL], strict=True) == []


def refusal_of(text: str, call: ToolCall | None = None) -> dict[str, int]:
    """What the readers say of a block, and in which lines."""
    call = call or parse(block("<path>a</path>"), [TOOL]).calls[0]
    return dict(disagreements(text, call, TOOL, "local"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("<path>a & b</path>", 4),
        ("<path>a\n</pat>", 5),
        ("<path>&amp;&nbsp;</path>", 4),
        ('<path x="1" x="1">a</path>', 4),
    ],
)
def test_what_is_not_xml_is_told_with_its_line(arguments: str, line: int) -> None:
    said = refusal_of(block(arguments))
    assert [message.split(":")[0] for message in said] == [
        "lxml does not read the block",
        "defusedxml does not read the block",
    ]
    assert list(said.values()) == [line, line]


@pytest.mark.parametrize("wrong", ["<path id='1'>a</path>", "<path><b>1</b>a</path>", "<path>a</path>text"])
def test_what_the_schema_of_the_protocol_refuses_is_told_with_its_line(wrong: str) -> None:
    message, line = next(iter(refusal_of(block(wrong)).items()))
    assert message.startswith("grammars/tool.rng does not take the block: ") and line == 3


def test_what_a_reader_says_is_a_warning_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    # All readers agree, so one of them is given another block here.
    monkeypatch.setitem(readers._READERS, "lxml", lambda text: read_with_lxml(text.replace("a</path>", "a & b</path>")))
    text = f"text\n{block('<path>a</path>')}"
    (finding,) = lint(text, [TOOL])
    assert (finding.code, finding.severity, finding.tool) == ("readers_disagree", "warning", "edit")
    assert finding.start == Place(text.index("<path>"), 5, 1) and finding.end is None
    assert [finding.severity for finding in lint(text, [TOOL], strict=True)] == ["error"]
    monkeypatch.setitem(readers._READERS, "lxml", lambda text: read_with_lxml(text.replace("<path>a", "<path>b")))
    (finding,) = lint(text, [TOOL])
    assert finding.message == "lxml finds another call in the block: the argument 'path' is 'b' there and 'a' here"
    assert (finding.start.offset, finding.end and finding.end.offset) == (5, len(text))


def test_the_readers_name_what_differs() -> None:
    source = block("<path>a</path>")
    call = parse(source, [TOOL]).calls[0]
    assert refusal_of(source, call) == {}
    cases = {
        "the argument 'path' is 'a' there and 'b' here": {"arguments": {"path": "b"}},
        "the names of arguments is ['path'] there and [] here": {"arguments": {}},
        "tool_name is 'edit' there and 'cut' here": {"name": "cut"},
        "server_name is 'local' there and 'disk' here": {"server": "disk"},
    }
    for said, changed in cases.items():
        messages = refusal_of(source, call.model_copy(update=changed))
        assert messages == {f"{reader} finds another call in the block: {said}": 1 for reader in ("lxml", "defusedxml")}


@pytest.mark.parametrize("text", ["", "<server_name>disk</server_name>"])
def test_a_block_without_server_means_that_of_all_tools(text: str) -> None:
    tools = [TOOL.model_copy(update={"server": "disk"}), Tool(name="other", server="disk")]
    assert lint(block("<path>a</path>").replace("<tool_name>", f"{text}<tool_name>"), tools, strict=True) == []


@pytest.mark.parametrize("name", ["\U00020000", "\ufb01", "a\u0370", "\uff21b"])
def test_a_name_that_expat_does_not_know_is_told(name: str) -> None:
    source = block(f"<path>a</path>\n<{name}>1</{name}>", "other")
    (finding,) = lint(source)
    assert (finding.code, finding.severity, finding.line) == ("readers_disagree", "warning", 5)
    assert finding.message == "defusedxml does not read the block: not well-formed (invalid token)"
    assert '<argument name="' in finding.hint
    assert lint(source.replace(f"<{name}>", f'<argument name="{name}">').replace(f"</{name}>", "</argument>")) == []


@pytest.mark.parametrize(
    "source",
    [
        "<!DOCTYPE tool><tool/>",
        '<!DOCTYPE tool SYSTEM "file:///etc/hostname"><tool/>',
        '<!DOCTYPE tool [<!ENTITY a "b">]><tool>&a;</tool>',
        '<!DOCTYPE tool [<!ENTITY a SYSTEM "file:///etc/hostname">]><tool>&a;</tool>',
        "<tool>&a;</tool>",
        "<tool><a></tool>",
        "<tool>\x1b</tool>",
        "<tool>\ud800</tool>",
        "<tool/>text",
        "",
    ],
)
def test_neither_reader_takes_declarations_entities_or_what_is_no_xml(source: str) -> None:
    for read in (read_with_lxml, read_with_defusedxml):
        with pytest.raises(Unreadable):
            read(source)


def test_a_text_cannot_choose_its_encoding() -> None:
    source = '<?xml version="1.0" encoding="utf-7"?><tool>+ADw-b/+AD4-</tool>'
    assert read_with_lxml(source).text == "+ADw-b/+AD4-"
    with pytest.raises(Unreadable):
        read_with_defusedxml(source)


# --- explanations ---


def example_tool(name: str, required: tuple[str, ...] = (), server: str = "local", **properties: object) -> Tool:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, server=server, parameters=parameters)


EXAMPLE_TOOLS = (
    example_tool("add", ("a", "b"), a={"type": "integer"}, b={"type": "integer"}),
    example_tool("write_file", ("path", "text"), path={"type": "string"}, text={"type": "string"}),
    example_tool("label", tags={"type": "array", "items": {}}),
    example_tool("plot", values={"type": "array", "items": {"type": "number"}}),
    example_tool("save", **{"data": {}, "x:trace": {"type": "string"}}),
    example_tool("search", ("query",), server="notes", query={"type": "string"}),
)
"""The tools that the examples call."""


@pytest.mark.parametrize("code", CODES)
def test_an_example_has_just_its_code_and_is_clean_when_repaired(code: str) -> None:
    entry = CODES[code]
    also = "known" if code == "foreign_dialect" else None
    assert set(codes(lint(entry.wrong, EXAMPLE_TOOLS, strict=True, also=also))) == {code}
    assert not lint(entry.right, EXAMPLE_TOOLS, strict=True)


def test_every_code_is_explained() -> None:
    assert list(CODES) == [*(code.value for code in Code), "readers_disagree"]
    for code, entry in CODES.items():
        told = explain(code)
        assert told.startswith(f"{code} (") and entry.hint in told
        assert headline(code) and len(headline(code)) < 120
        assert all(f"    {line}" in told for line in entry.wrong.splitlines())
    with pytest.raises(XMLToolsError, match="there is no code 'bare'; there are truncated, "):
        explain("bare")


def test_a_code_is_explained_in_the_words_of_a_dialect() -> None:
    told = explain("truncated", "hermes")
    assert 'Write the whole call again: <tool_call>{"name": ' in told and "end it with </tool>" not in told
    assert "Right (in Forge's notation):\n    <tool>" in told
    assert told.endswith(f"A call in hermes:\n    {dialects.named('hermes').example}")
    with pytest.raises(XMLToolsError, match="expected the name of a dialect, got 'hermez'; did you mean 'hermes'"):
        explain("truncated", "hermez")


def test_a_call_in_another_notation_is_a_warning() -> None:
    text = f'One.\n<tool_call>{{"name": "edit", "arguments": {{}}}}</tool_call>\n{BAD}'
    first, *_ = lint(text, [TOOL], source="a.txt")
    assert (first.code, first.severity, first.line, first.column, first.tool) == (
        "foreign_call",
        "warning",
        2,
        1,
        "edit",
    )
    assert lint(text, [TOOL], strict=True)[0].severity == "error"


def test_all_codes_are_listed_by_kind() -> None:
    kinds = [part.split("\n") for part in list_codes().split("\n\n")]
    assert [lines[0].split(":")[0] for lines in kinds] == ["error", "repair", "notice", "doubt"]
    for kind, *lines in kinds:
        for line in lines:
            assert explain(line.split()[0]).split("\n")[0] == f"{line.split()[0]} ({kind})"


# --- reports ---

BAD = f"{block('<path>a & b</path>')}\n{block('<lines>x</lines>')}"


def report(text: str, format: str, source: str = "a.txt") -> str:
    return "\n".join(write_report(lint(text, [TOOL], source=source), format))


def test_text_shows_the_line_a_mark_and_a_hint() -> None:
    assert report(BAD, "text").split("\n")[:4] == [
        "a.txt:4:9: warning: bare_ampersand: an & that begins no entity was kept",
        "    <path>a & b</path>",
        "            ^",
        "    hint: Write & as &amp; or put the value in <![CDATA[...]]>.",
    ]


def test_the_mark_stands_below_its_place_behind_tabs_and_wide_characters() -> None:
    _, line, mark, _ = report(block("\t<path>表é & b</path>"), "text").split("\n")
    assert line == "     <path>表é & b</path>"
    assert mark.index("^") == line.index("&") + 1  # the character before it takes two columns


def test_json_is_a_list_of_objects() -> None:
    mended, refused = json.loads(report(BAD, "json"))
    assert mended == {
        "code": "bare_ampersand",
        "severity": "warning",
        "source": "a.txt",
        "line": 4,
        "column": 9,
        "offset": BAD.index("&"),
        "end_line": None,
        "end_column": None,
        "end_offset": None,
        "message": "an & that begins no entity was kept",
        "hint": Code.BARE_AMPERSAND.hint,
        "tool": "edit",
    }
    assert refused["severity"] == "error" and json.loads(report("", "json")) == []


def test_sarif_has_rules_with_help_and_results_with_regions() -> None:
    text = f"{BAD}\n{block('', name='')}"
    log = json.loads(report(text, "sarif", "/a b/ü.txt"))
    (run,) = log["runs"]
    assert (log["version"], run["columnKind"]) == ("2.1.0", "unicodeCodePoints")
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["missing_tool_name", "invalid_arguments", "bare_ampersand"]
    assert rules[0]["name"] == "MissingToolName"
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "error", "warning"]
    assert rules[2]["help"]["text"] == explain("bare_ampersand")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    first = run["results"][0]["locations"][0]["physicalLocation"]
    last = run["results"][2]["locations"][0]["physicalLocation"]
    assert first == {
        "artifactLocation": {"uri": "file:///a%20b/%C3%BC.txt"},
        "region": {"startLine": 4, "startColumn": 9},
    }
    assert last["region"] == {"startLine": 13, "startColumn": 1, "endLine": 18, "endColumn": 8}
    assert json.loads(report("", "sarif", "a:b"))["runs"][0]["results"] == []


def test_github_gets_a_command_a_finding_that_no_text_can_forge() -> None:
    text = block("<lines>100%&#10;::error::forged</lines>")
    (line,) = report(text, "github", "a,b:c%.txt").split("\n")
    assert line.startswith("::error file=a%2Cb%3Ac%25.txt,line=4,col=1,title=invalid_arguments::lines[0]: ")
    assert "100%25\\n" in line and line.count("%0A") == 1


STEERING = "\x00\x07\x08\x1b\x7f\x85\x9b\u061c\u200e\u202e\u2028\u2066"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        block(f"<path>{STEERING} & b</path>"),
        block(f"<lines>{STEERING}\r\n::error::x</lines>"),
        block(f"<argument name='{STEERING}'>1</argument>"),
        block("", name=STEERING),
    ],
    ids=["value", "wrong value", "name", "tool"],
)
def test_no_text_steers_the_terminal_that_shows_a_report(text: str, format: str) -> None:
    lines = "\n".join(write_report(lint(text, [TOOL], source=f"a{STEERING}.txt"), format)).split("\n")
    assert len(lines) > 1 or format == "github"
    assert not any(set(STEERING) & set(line) or line.startswith("::error::") for line in lines)


def test_statistics_begin_with_the_most_frequent() -> None:
    findings = lint(BAD + BAD + block("<path>a & b < c</path>"), [TOOL])
    assert list(statistics(findings)) == [
        f"3  bare_ampersand  {headline('bare_ampersand')}",
        f"2  invalid_arguments  {headline('invalid_arguments')}",
        f"1  bare_less_than  {headline('bare_less_than')}",
    ]
    assert json.loads("\n".join(statistics(findings, "json")))[0] == {"code": "bare_ampersand", "count": 3}
    assert list(statistics([])) == []


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(XMLToolsError, match="format: expected text, json, github, sarif, got 'xml'"):
        write_report([], "xml")
    with pytest.raises(XMLToolsError, match="format: expected text or json for statistics, got 'sarif'"):
        statistics([], "sarif")
