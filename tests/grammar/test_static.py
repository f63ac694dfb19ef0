"""The grammars of the protocol itself, against the corpus, the writer and the reader of calls."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import Meant, meant_calls, untyped_calls
from support.often import examples
from support.tool_rng import rng_accepts

from grammar import CASES, INVALID, TOOLS, VALID, Case
from grammar.judges import GRAMMARS, abnf_accepts, count_blocks, lark_accepts
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call
from xmltools.syntax.markup import find_forbidden
from xmltools.tools import Tool

SLOW = 700  # characters, for the library that runs the ABNF

# What is wrong with a block, though a grammar takes it: each is named in the head of its file.
ABNF_TAKES = {
    # the same name at both ends of an element
    "argument-end-tag-other",
    "argument-tags-crossed",
    # references to what is no character
    "string-reference-escape",
    "string-reference-surrogate",
    "string-reference-too-large",
    "string-reference-zero",
    # backticks and reasoning
    "backtick-before-block",
    "backticks-around-block",
    "backticks-three-before-block",
    "think-behind-call",
    "think-open",
    "think-region",
    "thinking-region",
}
RNG_TAKES = {
    # An XML parser gives the schema characters, not how they were written, and no comments.
    "block-reference-inside",
    "comment-in-number",
    "comment-in-string",
}
JSON_BODY = "body-json"


def each(*cases: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


def with_defect(*defects: str) -> list[Case]:
    return [case for case in INVALID if case.defect in defects]


def blocks(text: str) -> list[str]:
    return [text[slice(*call.span)] for call in parse(text).calls if call.span]


# The corpus, and what our parser makes of it


def outcome(text: str) -> str:
    if parse(text, tools=TOOLS).errors:
        return "failed"
    return "repaired" if parse(text, tools=TOOLS, strict=True).errors else "clean"


def test_the_corpus_is_large_and_each_case_of_it_is_another() -> None:
    assert len(VALID) >= 70
    assert len(INVALID) >= 140
    assert len({case.id for case in CASES}) == len({case.text for case in CASES}) == len(CASES)
    assert {case.defect for case in INVALID} == {"text", "markup", "spelling", "schema"}
    assert not any(case.defect for case in VALID)


@each(*VALID)
def test_a_valid_output_has_a_clean_call_for_each_opener(case: Case) -> None:
    reply = parse(case.text, tools=TOOLS, strict=True)
    openers = re.sub(r"<!\[CDATA\[.*?]]>", "", case.text, flags=re.DOTALL).count("<tool>")
    assert not reply.errors
    assert len(reply.calls) == openers
    assert all(call.clean for call in reply.calls)


@each(*INVALID)
def test_the_parser_takes_mends_or_refuses_what_is_invalid(case: Case) -> None:
    assert outcome(case.text) == case.parser


# protocol.lark


@each(*VALID)
def test_lark_takes_what_is_valid(case: Case) -> None:
    assert lark_accepts(case.text)
    assert lark_accepts(case.text, "reasoned_reply")


@each(*with_defect("text", "markup", "spelling"))
def test_lark_refuses_what_no_writer_writes(case: Case) -> None:
    assert lark_accepts(case.text) == (case.id == JSON_BODY)


@each(*with_defect("schema"))
def test_lark_knows_no_schema(case: Case) -> None:
    assert lark_accepts(case.text)


CALL = "<tool><tool_name>f</tool_name></tool>"

REASONING = {
    "": True,
    "<think>": False,
    "</think>": True,
    "<think></think>": True,
    f"<think>{CALL}</think>{CALL}": True,
    f"<think>a < b</thinking></think>\n{CALL} <thinking><think></thinking>": True,
    f"{CALL}<think>{CALL}": False,
    "`<think>` and `</think>`": False,
}


@pytest.mark.parametrize("text", REASONING)
def test_lark_takes_closed_reasoning_if_it_is_asked_for(text: str) -> None:
    assert lark_accepts(text, "reasoned_reply") == REASONING[text]
    assert lark_accepts(text) == ("<think" not in text)


# Bodies in JSON: what lark and our own parser say, without tools.

JSON_BODIES = {
    '{"tool_name": "f", "arguments": {}}': True,
    '{"server_name": "s", "tool_name": "f", "arguments": {"a": [1, -2.5e3, true, null, "x"], "b": {"c": []}}}': True,
    '{"tool_name": "f", "arguments": {"a": false, "b": -0, "c": [[], {}], "d": ""}}': True,
    '\r\n{ "server" : "s" , "name" : "f" , "parameters" : null }\n': True,
    r'{"tool_name": "f", "arguments": {"a": "\" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00 </tool>"}}': True,
    '{"tool_name": "f"}': True,
    "{}": False,
    '{"server_name": "s", "arguments": {}}': False,
    '{"tool_name": "f", "arguments": []}': False,
    '{"tool_name": "f", "arguments": {"a": 01}}': False,
    '{"tool_name": "f", "arguments": {"a": NaN}}': False,
    '{"tool_name": "f", "arguments": {"a": 1,}}': False,
    '{"tool_name": "f", "arguments": {"a": [1,]}}': False,
    '{"tool_name": "f", "arguments": {"a": "\n"}}': False,
    r'{"tool_name": "f", "arguments": {"a": "\ud83d"}}': False,
    r'{"tool_name": "f", "arguments": {"a": "\x41"}}': False,
    '{"tool_name": "f", "arguments": {}} and': False,
    '{"tool_name": "f", "arguments": {}': False,
    "{'tool_name': 'f'}": False,
}


@pytest.mark.parametrize("body", JSON_BODIES)
def test_lark_and_the_parser_agree_on_bodies_in_json(body: str) -> None:
    text = f"<tool>{body}</tool>"
    reply = parse(text, strict=True)
    assert lark_accepts(text) == JSON_BODIES[body] == (not reply.errors and len(reply.calls) == 1)


# protocol.abnf


@each(*(case for case in VALID if len(case.text) < SLOW))
def test_abnf_takes_what_is_valid(case: Case) -> None:
    assert abnf_accepts(case.text)
    assert all(abnf_accepts(block, "block") for block in blocks(case.text))


@each(*with_defect("text", "markup"))
def test_abnf_refuses_what_no_reader_takes_as_it_is(case: Case) -> None:
    assert abnf_accepts(case.text) == (case.id in ABNF_TAKES)


@each(*with_defect("spelling", "schema"))
def test_abnf_takes_what_is_clean_for_some_tool(case: Case) -> None:
    assert abnf_accepts(case.text) == (case.id != JSON_BODY)


# tool.rng


@each(*VALID)
def test_relax_ng_takes_each_block_of_what_is_valid(case: Case) -> None:
    assert all(map(rng_accepts, blocks(case.text)))


@each(*with_defect("markup"))
def test_relax_ng_refuses_what_no_reader_takes_as_it_is(case: Case) -> None:
    assert rng_accepts(case.text) == (case.id in RNG_TAKES)


@each(*with_defect("spelling", "schema"))
def test_relax_ng_takes_what_is_clean_for_some_tool(case: Case) -> None:
    several = case.text.count("<tool>") > 1
    assert rng_accepts(case.text) == (case.id != JSON_BODY and not several)


# Blocks of any tool: who takes them. All but the last column is what our parser says, too.

ANY_BLOCK = {
    "no arguments": ("<tool_name>f</tool_name>", True, True),
    "white space, no arguments": ("\n<tool_name>f</tool_name>\n", True, True),
    "empty arguments": ("<tool_name>f</tool_name><arguments></arguments>", True, True),
    "white space in arguments": ("<tool_name>f</tool_name><arguments>\n</arguments>", True, True),
    "a property called arguments": (
        "<tool_name>f</tool_name><arguments><x> <arguments><arguments>1</arguments></arguments></x></arguments>",
        True,
        True,
    ),
    "arguments called as the block and its fields": (
        "<tool_name>f</tool_name><arguments><o><tool><tool_name>x</tool_name></tool></o><server_name>y</server_name></arguments>",
        True,
        True,
    ),
    "names by attribute": (
        '<tool_name>f</tool_name><arguments><argument name="a &quot;b&quot; &amp; c">1</argument>'
        '<argument name="9" nil="true"/><x><argument name="x y"><z>1</z></argument></x><argument>2</argument>'
        "</arguments>",
        True,
        True,
    ),
    "names of other scripts": (
        "<tool_name>größe 表</tool_name><arguments><größe·1>x</größe·1></arguments>",
        True,
        True,
    ),
    "a name with an entity": ("<server_name>a &amp; b</server_name><tool_name>f</tool_name>", True, True),
    "a name of 256 characters": (f"<tool_name>{'f' * 256}</tool_name>", True, True),
    "fields in another order": (
        "<arguments><a>1</a></arguments><tool_name>f</tool_name><server_name>s</server_name>",
        True,
        False,
    ),
    "comments": (
        "<!-- a - b --><tool_name>f</tool_name><!----><arguments><!--c--><a><!--d--><b>1</b></a></arguments>",
        True,
        False,
    ),
    "white space in tags": ("<tool_name\n>f</tool_name ><arguments ><a\t>1</a\n></arguments\t>", True, False),
    "empty elements": ("<server_name/><tool_name>f</tool_name><arguments><a/><b /></arguments>", True, False),
    "empty arguments as one tag": ("<tool_name>f</tool_name><arguments/>", True, False),
    "other quotes": (
        "<tool_name>f</tool_name><arguments><argument name = 'a \"b\"'>1</argument><c nil = 'true' /></arguments>",
        True,
        False,
    ),
    "any reference": ("<tool_name>f</tool_name><arguments><a>&#65;&#x1F600;</a></arguments>", True, False),
    "carriage returns": ("\r\n<tool_name>f</tool_name>\r\n", True, False),
    "no name": ("<arguments></arguments>", False, False),
    "a name of two lines": ("<tool_name>f\ng</tool_name>", False, False),
    "an element without a name": ("<tool_name>f</tool_name><arguments><>1</></arguments>", False, False),
    "a name that is none": ("<tool_name>f</tool_name><arguments><9>1</9></arguments>", False, False),
    "text behind an element": ("<tool_name>f</tool_name><arguments><a>1</a>x</arguments>", False, False),
    "an attribute in vain": ("<tool_name>f</tool_name><arguments><a id='1'>1</a></arguments>", False, False),
    "a comment with two dashes": ("<tool_name>f</tool_name><!-- a--b -->", False, False),
    "a comment that ends in three dashes": ("<tool_name>f</tool_name><!-- a --->", False, False),
}


@pytest.mark.parametrize("name", ANY_BLOCK)
def test_blocks_of_any_tool_are_judged_as_the_parser_does(name: str) -> None:
    body, clean, written = ANY_BLOCK[name]
    block = f"<tool>{body}</tool>"
    reply = parse(block, strict=True)
    assert (not reply.errors and len(reply.calls) == 1) == clean
    assert abnf_accepts(block, "block") == clean
    assert rng_accepts(block) == clean
    assert lark_accepts(block) == written


def test_an_argument_may_be_called_arguments() -> None:
    free = {"type": "object"}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"x": free, "arguments": free}})
    call = ToolCall(id="1", name="f", arguments={"x": {"a": "b"}, "arguments": {"arguments": {"y": "1"}}})
    block = render_call(call, tool)
    assert "<arguments>\n" in block.partition("<arguments>")[2]
    assert parse(block, tools=[tool]).calls[0].arguments == call.arguments
    assert abnf_accepts(block, "block")
    assert rng_accepts(block)
    assert lark_accepts(block)


LONG = "a[0] & b\n" * 20_000

# What fails only at its end, behind as much as a model may write.
LONG_FAILURES = {
    "CDATA without its end": f"<tool><tool_name>f</tool_name><arguments><a><![CDATA[{LONG}]]</a></arguments></tool>",
    "JSON without its end": f'<tool>{{"tool_name": "f", "arguments": {{"a": "{LONG.replace(chr(10), " ")}',
    "reasoning without its end": f"<think>{LONG}</think",
    "text with an opener": f"{LONG}<tool>",
}


@pytest.mark.parametrize("name", LONG_FAILURES)
def test_lark_refuses_long_replies_too(name: str) -> None:
    assert not lark_accepts(LONG_FAILURES[name], "reasoned_reply")


# What the writer writes


def is_json(block: str) -> bool:
    return block.startswith("<tool>\n{")


@given(st.one_of(meant_calls, untyped_calls))
def test_every_call_that_is_written_is_taken(meant: Meant) -> None:
    block = render_call(meant.call, meant.tool)
    assume(find_forbidden(block, 0, len(block)) < 0)
    assert lark_accepts(block), block
    assert lark_accepts(f"Now:\n{block}\nand {block}"), block
    assert is_json(block) or rng_accepts(block), block


@examples(40)
@given(st.one_of(meant_calls, untyped_calls))
def test_every_small_call_that_is_written_is_taken_by_the_abnf(meant: Meant) -> None:
    block = render_call(meant.call, meant.tool)
    assume(len(block) < SLOW and not is_json(block) and find_forbidden(block, 0, len(block)) < 0)
    assert abnf_accepts(block, "block"), block


FRAGMENTS = (
    "", "<", ">", "&", "]]>", "]", "<![CDATA[", "</", "/>", "\n", " ", "\r", "\x01", "\uffff", "<!--", "-->", "<?x?>",
    "<tool>", "</tool>", "<arguments>", "</arguments>", "<a>", "</a>", "</diff>", '<argument name="z y">',
    "</argument>",
    "&lt;", "&#10;", "&#x41;", " x='1'", "`", "<think>", "</think>", "{", "}", '"', ",",
)  # fmt: skip
GOOD = (*VALID, *with_defect("spelling", "schema"))
ONE_CALL = [case.text for case in GOOD if case.text.count("<tool>") == 1 and len(case.text) < SLOW]


@st.composite
def altered(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(ONE_CALL))
    start = draw(st.integers(0, len(text)))
    end = start + draw(st.sampled_from([0, 0, 1, 2, 8]))
    return text[:start] + draw(st.sampled_from(FRAGMENTS)) + text[end:]


@examples(500)
@given(altered())
def test_the_parser_and_the_grammars_agree_on_what_is_clean(text: str) -> None:
    assume(text.count("<arguments>") < 2)  # whether an argument may be called so is said by the schema
    reply = parse(text, strict=True)
    found = count_blocks(text, "reasoned_reply")
    if found is not None:
        assert not reply.errors
        assert len(reply.calls) == found
    for call in reply.calls:
        block = text[slice(*call.span or ())]
        assert call.legacy_json or (abnf_accepts(block, "block") and rng_accepts(block))


@given(st.text("<tol>x \n`") | st.text("<thinkg>"))
def test_text_that_a_grammar_takes_holds_no_call(text: str) -> None:
    opens = re.search(r"<tool[ \t\r\n>]", text) is not None
    assert abnf_accepts(text, "text") == (not opens)
    if lark_accepts(text):
        assert parse(text, strict=True).text == text


# The files themselves


@pytest.mark.parametrize("name", ["protocol.abnf", "protocol.lark", "tool.rng"])
def test_each_file_says_its_licence_and_what_it_cannot_say(name: str) -> None:
    text = (GRAMMARS / name).read_text("utf-8")
    assert "SPDX-License-Identifier: Apache-2.0" in text
    assert re.search("cannot (be said|say)|does not say", text)
    assert max(map(len, text.splitlines())) <= 400
