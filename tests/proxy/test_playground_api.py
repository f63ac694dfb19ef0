"""What the playground shows: `analyse` by itself, and behind a real server."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from support.corpus import FOLDER, REQUIRED
from support.often import some
from support.written import detected_as

import xmltools.proxy.playground
from proxy.running import running
from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Noticed,
    ReasoningDelta,
    TextDelta,
)
from xmltools.parser import Parser, parse
from xmltools.proxy.playground import routes
from xmltools.proxy.playground.analyse import InputError, analyse, list_dialects
from xmltools.proxy.playground.parts import MARKS
from xmltools.proxy.playground.rechunk import cut, outcome
from xmltools.proxy.playground.steps import POSITIONS
from xmltools.proxy.playground.value_rows import ROWS, write_path, write_rows
from xmltools.proxy.playground.web import MAX_BODY
from xmltools.render import render_instructions, render_retry
from xmltools.tools import load_tools

STATIC = Path(xmltools.proxy.playground.__file__).parent / "static"
OTHERS = [case for path in (FOLDER / "dialects").glob("*.json") for case in json.loads(path.read_text("utf-8"))]
EXAMPLES = json.loads((STATIC / "examples.json").read_text("utf-8"))
ADD = {
    "name": "add",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "note": {"type": "string"}}},
}
CALL = "Hi.\n<tool><tool_name>add</tool_name><arguments><a>+5</a><note>x & y</note></arguments></tool>"
FOREIGN = '<tool_call>{"name": "add", "arguments": {"a": 5}}</tool_call>'
MARKUP = """
<tool_call> {"name":"add","arguments":{}} </tool_call> <add> </add> <function=add> </function>
<tool> </tool> <tool_name>add</tool_name> <arguments> </arguments> <a> 5 </a> <note> </note> <![CDATA[ ]]> <think>
</think> & < x [ <tool_call> </tool_call> <arg_key>a</arg_key> <arg_value>5</arg_value> <parameter=a> </parameter>
<|im_end|> <|user|>
"""
PIECES = st.sampled_from([*MARKUP.split(), "```\n", "\n", " ", "\U0001f600", "\ud800"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def given_of(case):
    """Text, tools and options of a case of the corpus; limits are none of the playground's options."""
    options = {name: value for name, value in case["options"].items() if name != "limits"}
    return case["text"], case["tools"], options


def said(events):
    """All that events have said so far, as a page shows it."""
    state = {"covered": 0, "text": "", "reasoning": "", "open": None, "arguments": [], "blocks": []}
    for event in events:
        match event:
            case TextDelta(text):
                state["text"] += text
            case ReasoningDelta(text):
                state["reasoning"] += text
            case CallStarted(id, name):
                state["open"] = (id, name)
                state["arguments"].append({})
            case ArgumentDelta(path, text):
                known = state["arguments"][-1]
                known[write_path(path)] = known.get(write_path(path), "") + text
            case CallCompleted() | CallFailed():
                state["open"] = None
                state["blocks"].append("call" if isinstance(event, CallCompleted) else "error")
        if hasattr(event, "span") and not isinstance(event, Noticed):
            state["covered"] = event.span[1]
    return state


def shown(steps, position):
    """The same, from the entries of the steps: what `steps.js` does."""
    state = {"covered": 0, "text": "", "reasoning": "", "open": None, "arguments": [], "blocks": []}
    for entry in steps["entries"]:
        if entry["at"] > position:
            break
        missing = 0
        if "first" in entry:
            here = entry["first"] + (position - entry["at"]) * steps["size"]
            missing = max(0, len(entry["text"]) - here)
        text = entry.get("text", "")[: len(entry.get("text", "")) - missing]
        if entry["kind"] in ("text", "reasoning"):
            state[entry["kind"]] += text
        elif entry["kind"] == "started":
            state["open"] = (entry["id"], entry["name"])
            state["arguments"].append({})
        elif entry["kind"] == "argument":
            known = state["arguments"][-1]
            known[entry["path"]] = known.get(entry["path"], "") + text
        elif entry["kind"] in ("call", "error"):
            state["open"] = None
            state["blocks"].append(entry["kind"])
        if "span" in entry:
            state["covered"] = entry["span"][1] - missing
    return state


def assert_tiles(text, reading):
    spans = [(span["start"], span["end"]) for span in reading["spans"]]
    assert "".join(text[start:end] for start, end in spans) == text
    # The error for a thought without an end tag is at the end of the reply, and its span is empty.
    assert all(start < end or start == len(text) for start, end in spans)
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    for span in reading["spans"]:
        part = reading["parts"][span["part"]]
        assert part["kind"] == span["kind"]
        assert part["span"][0] <= span["start"] <= span["end"] <= part["span"][1]


def numbered():
    return iter(f"call_{number}" for number in range(1, 10_000)).__next__


def assert_steps(text, steps, parser):
    events, count = [], -(-len(text) // steps["size"])
    looked_at = set(some(range(1, count + 1, 1 if len(text) < 1500 else 97), text[:100]))
    for position, start in enumerate(range(0, len(text), steps["size"]), 1):
        events += parser.feed(text[start : start + steps["size"]])
        if position in looked_at:
            assert shown(steps, position) == said(events), position
    events += parser.close()
    assert shown(steps, steps["count"] + 1) == said(events)
    assert shown(steps, steps["count"] + 1)["covered"] == len(text)


@pytest.mark.parametrize("case", [*REQUIRED, *OTHERS], ids=lambda case: case["id"])
def test_spans_tile_every_text_of_the_corpus(case):
    text, tools, options = given_of(case)
    answer = analyse(text, tools, {**options, "sections": ["reading", "rechunk"]})
    reading, reply = answer["reading"], parse(text, tools and load_tools(tools), **options)
    assert_tiles(text, reading)
    assert [part["kind"] for part in reading["parts"] if part["kind"] in ("call", "error")] == [
        "call" if hasattr(part, "repairs") else "error" for part in reply.parts if not hasattr(part, "text")
    ]
    assert "".join(part["text"] for part in reading["parts"] if part["kind"] == "text") == reply.text
    assert "".join(part["text"] for part in reading["parts"] if part["kind"] == "reasoning") == reply.reasoning
    repairs = [mark["code"] for mark in reading["marks"] if mark["kind"] == "repair"]
    assert repairs == [repair.code for call in reply.calls for repair in call.repairs]
    noticed = [mark["offset"] for mark in reading["marks"] if mark["kind"] == "notice"]
    assert noticed == [notice["span"][0] for notice in reading["notices"]] == [each.span[0] for each in reply.notices]
    assert sorted(number for span in reading["spans"] for number in span["marks"]) == list(range(len(reading["marks"])))
    assert reading["unclosed_reasoning"] == reply.unclosed_reasoning
    assert answer["rechunk"]["same"]


@pytest.mark.parametrize("case", [*REQUIRED, *OTHERS], ids=lambda case: case["id"])
def test_each_step_shows_what_a_parser_says_that_is_fed_so_far(case):
    text, tools, options = given_of(case)
    steps = analyse(text, tools, {**options, "sections": ["steps"]})["steps"]
    assert_steps(text, steps, Parser(tools and load_tools(tools), new_id=numbered(), **options))


@given(TEXTS, st.booleans(), st.booleans())
def test_any_text_is_tiled_stepped_and_cut_without_a_difference(text, strict, brackets):
    options = {"strict": strict, "bracket_reasoning": brackets}
    answer = analyse(text, [ADD], {**options, "sections": ["reading", "steps", "rechunk"], "seed": len(text)})
    assert_tiles(text, answer["reading"])
    assert_steps(text, answer["steps"], Parser(load_tools([ADD]), new_id=numbered(), **options))
    assert answer["rechunk"]["same"]
    json.dumps(answer)


@given(TEXTS)
def test_a_step_shows_nothing_that_a_parser_fed_the_whole_prefix_would_not_say(text):
    steps = analyse(text, [ADD], {"sections": ["steps"]})["steps"]
    for position in range(len(text) + 1):
        whole = said(Parser(load_tools([ADD]), new_id=numbered()).feed(text[:position]))
        here = shown(steps, position)
        for kind in ("text", "reasoning"):
            assert whole[kind].startswith(here[kind]) or here[kind].startswith(whole[kind])
        assert here["blocks"] == whole["blocks"]


def test_a_long_text_has_a_bounded_number_of_steps_that_are_right():
    text = (CALL + " and so on.\n") * 400
    steps = analyse(text, [ADD], {"sections": ["steps"]})["steps"]
    assert steps["size"] > 1
    assert steps["count"] <= POSITIONS
    assert_steps(text, steps, Parser(load_tools([ADD]), new_id=numbered()))


@pytest.mark.parametrize("text", ["<think></think>a" * 60_000])
@pytest.mark.parametrize("section", ["reading", "steps", "rechunk"])
@pytest.mark.no_cover
def test_a_text_of_more_parts_than_a_page_can_show_is_refused(text, section):
    with pytest.raises(InputError, match="4,000 parts") as caught:
        analyse(text, None, {"sections": [section]})
    assert caught.value.field == "text"


def test_marks_and_values_have_a_bound_but_the_repairs_are_counted():
    items = "".join(f"<a{number} x='1'>v</a{number}>" for number in range(5_000))
    text = f"<tool><tool_name>add</tool_name><arguments><o>{items}</o></arguments></tool>"
    reading = analyse(text, None, {"sections": ["reading"]})["reading"]
    [part] = reading["parts"]
    assert part["repairs"] == 5_000
    assert len(reading["marks"]) == MARKS
    assert len(part["arguments"]) == ROWS
    assert_tiles(text, reading)


def test_a_long_path_loses_its_middle():
    path = write_path([f"{'x' * 100}{number}" for number in range(20)])
    assert len(path) < 310
    assert path.startswith("xxx")
    assert path.endswith("x19")


def test_a_stretch_of_prose_is_one_entry():
    steps = analyse("word " * 2000, None, {"sections": ["steps"]})["steps"]
    assert len(steps["entries"]) == 1


def test_an_error_comes_with_the_message_that_render_retry_writes():
    text = "<tool><tool_name>add</tool_name><arguments><a>five</a></arguments></tool>"
    [part] = analyse(text, [ADD])["reading"]["parts"]
    tools = load_tools([ADD])
    assert part["retry"] == render_retry(parse(text, tools).errors[0], tools)
    assert part["arguments"] == [{"path": "a", "type": "string", "value": "five"}]


def test_prompt_and_grammar_are_those_of_the_library():
    answer = analyse("", [ADD], {"style": "compact", "grammar": "lark"})
    assert answer["prompt"]["text"] == render_instructions(load_tools([ADD]), style="compact")
    assert answer["prompt"]["characters"] == len(answer["prompt"]["text"])
    assert answer["grammar"]["format"] == "lark"
    assert "add" in answer["grammar"]["texts"][0]["text"]


def test_prompt_and_grammar_are_in_the_dialect_of_the_reading():
    answer = analyse("", [ADD], {"dialect": "hermes"})
    assert answer["prompt"]["text"] == render_instructions(load_tools([ADD]), dialect="hermes")
    assert answer["grammar"]["texts"][0]["text"] == build_grammar(load_tools([ADD]), "gbnf", dialect="hermes")
    answer = analyse("", [ADD], {"dialect": "react"})
    assert "not known how they are written" in answer["prompt"]["error"]
    assert "no grammar can be made for calls in 'react'" in answer["grammar"]["error"]


def test_relax_ng_of_two_tools_is_two_named_texts():
    answer = analyse("", [ADD, {**ADD, "name": "sub"}], {"grammar": "relaxng"})
    assert [text["name"] for text in answer["grammar"]["texts"]] == ["add", "sub"]


def test_without_tools_the_grammar_says_why_there_is_none():
    answer = analyse(CALL)
    assert "at least one tool" in answer["grammar"]["error"]
    assert answer["prompt"]["text"] == ""
    assert [part["kind"] for part in answer["reading"]["parts"]] == ["text", "call"]


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ("5", {"path": "x", "type": "string", "value": "5"}),
        (5, {"path": "x", "type": "integer", "value": "5"}),
        (5.0, {"path": "x", "type": "number", "value": "5.0"}),
        (2**70, {"path": "x", "type": "integer", "value": str(2**70)}),
        (True, {"path": "x", "type": "boolean", "value": "true"}),
        (None, {"path": "x", "type": "null", "value": "null"}),
        ([], {"path": "x", "type": "array", "value": "[]"}),
        ({}, {"path": "x", "type": "object", "value": "{}"}),
        ([{"y": "z"}], {"path": "x[0].y", "type": "string", "value": "z"}),
    ],
)
def test_a_row_tells_the_type_that_json_in_a_browser_would_lose(value, row):
    assert write_rows({"x": value}) == [row]


@pytest.mark.parametrize("length", [0, 1, 2, 9, 1000, 60_000])
def test_cuts_are_in_order_inside_the_text_and_the_same_for_one_seed(length):
    for seed in range(20):
        cuts = cut(length, seed)
        assert cuts == cut(length, seed)
        assert all(left < right for left, right in pairwise([0, *cuts, length])) or length == 0
    assert length < 9 or any(cut(length, seed) != cut(length, 0) for seed in range(20))


@pytest.mark.parametrize(
    "other",
    [
        CALL.replace("+5", "6"),
        CALL.replace("+5", "5"),
        CALL.replace("Hi.", "Ho."),
        CALL.replace("x & y", "x &amp; y"),
        CALL.removesuffix("</tool>"),
        CALL + "\n",
        FOREIGN + CALL,
    ],
)
def test_the_comparison_of_cuttings_sees_every_difference(other):
    def events(text):
        parser = Parser(load_tools([ADD]), new_id=numbered())
        return parser.feed(text) + parser.close()

    assert outcome(events(CALL)) == outcome(events(CALL))
    assert outcome(events(CALL)) != outcome(events(other))


@pytest.mark.parametrize(
    ("text", "tools", "options", "field", "says"),
    [
        (5, None, {}, "text", "expected a string, got int"),
        ("", 5, {}, "tools", "expected a list of tools"),
        ("", [{}], {}, "tools", "expected a tool definition"),
        ("", [ADD, ADD], {}, "tools", "add"),
        ("", [{"name": "x", "parameters": {"type": "nonsense"}}], {}, "tools", "x"),
        ("", None, [], "options", "expected an object"),
        ("", None, {"stict": True}, "options", "'stict'"),
        ("", None, {"strict": 1}, "options", "true or false"),
        ("", None, {"code_fences": "no"}, "options", "last, call, text"),
        ("", None, {"grammar": []}, "options", "gbnf"),
        ("", None, {"dialect": "herms"}, "options", "detect, forge, hermes"),
        ("", None, {"dialect": None}, "options", "detect, forge, hermes"),
        ("", None, {"style": "short"}, "options", "full, compact"),
        ("", None, {"reasoning_tags": "think"}, "options", "a list of names"),
        ("", None, {"reasoning_tags": ["<a>"]}, "options", "without brackets"),
        ("", None, {"sections": ["all"]}, "options", "reading, steps"),
        ("", None, {"seed": "1"}, "options", "a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence_that_names_its_field(text, tools, options, field, says):
    with pytest.raises(InputError) as caught:
        analyse(text, tools, options)
    assert caught.value.field == field
    assert says in str(caught.value)
    assert isinstance(caught.value, XMLToolsError)


def test_deep_schemas_are_refused_or_read_but_nothing_else_is_raised():
    schema = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"x": schema}}
    with pytest.raises(InputError):
        analyse("", [{"name": "deep", "parameters": schema}])


@pytest.mark.parametrize("example", EXAMPLES["examples"], ids=lambda example: example["name"])
def test_an_example_shows_what_it_promises(example):
    reading = analyse(example["text"], EXAMPLES["tools"].get(example["tools"]), example["options"])["reading"]
    kinds = [part["kind"] for part in reading["parts"]]
    assert kinds.count("call") == example["expect"]["calls"]
    if "errors" in example["expect"]:
        errors = [part["code"] for part in reading["parts"] if part["kind"] == "error"]
        assert errors == example["expect"]["errors"]
    if "repairs" in example["expect"]:
        assert [mark["code"] for mark in reading["marks"] if mark["kind"] == "repair"] == example["expect"]["repairs"]


@pytest.mark.parametrize("example", EXAMPLES["examples"], ids=lambda example: example["name"])
def test_the_dialect_of_an_example_is_detected(example):
    options = {name: value for name, value in example["options"].items() if name != "dialect"}
    tools = EXAMPLES["tools"].get(example["tools"])
    reading = analyse(example["text"], tools, {**options, "dialect": "detect"})["reading"]
    assert reading["dialect"] == example["options"].get("dialect", "forge")


def test_every_dialect_is_listed_with_an_example_that_is_detected():
    assert {each["name"] for each in list_dialects()} == {dialect.name for dialect in dialects.all()}
    for each in list_dialects():
        reading = analyse(each["example"], EXAMPLES["tools"]["number"], {"dialect": "detect"})["reading"]
        kinds = [part["kind"] for part in reading["parts"]]
        assert (reading["dialect"], kinds) == (detected_as(each["name"]), ["call"])


OTHER = "<tool_call><function=add><parameter=a>5</parameter></function></tool_call>"


def read_as(text, dialect, tools=(ADD,)):
    return analyse(text, list(tools), {"dialect": dialect, "sections": ["reading"]})["reading"]


def test_a_text_is_read_in_the_dialect_that_is_chosen():
    assert [part["kind"] for part in read_as(OTHER, "qwen3_coder")["parts"]] == ["call"]
    assert [part["kind"] for part in read_as(OTHER, "glm")["parts"]] == ["text"]
    assert [part["kind"] for part in read_as(OTHER, "detect")["parts"]] == ["call"]
    assert analyse(OTHER, [ADD])["reading"]["dialect"] == "forge"


def test_what_is_detected_is_told_with_its_calls():
    both = f"{FOREIGN}\n{OTHER}\n{FOREIGN}"
    reading = read_as(both, "detect")
    assert (reading["dialect"], reading["detected"][0]) == ("hermes", {"name": "hermes", "calls": 2, "errors": 0})
    assert {"name": "qwen3_coder", "calls": 1, "errors": 0} in reading["detected"]
    assert read_as(both, "glm")["detected"] == []


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (FOREIGN.replace("add", "sub"), "hermes"),  # no tool has this name
        (FOREIGN[:40], "hermes"),  # cut off
        (OTHER.replace("</function></tool_call>", ""), "qwen3_coder"),
        (CALL.replace("+5", "five"), "forge"),
        ("No call.", "forge"),
        ("", "forge"),
    ],
)
def test_a_call_that_is_none_is_detected_too(text, dialect):
    assert read_as(text, "detect")["dialect"] == dialect


@given(TEXTS, st.sampled_from(["detect", *(dialect.name for dialect in dialects.all())]), st.booleans())
def test_any_text_is_read_in_any_dialect(text, dialect, starts_in_reasoning):
    options = {"dialect": dialect, "starts_in_reasoning": starts_in_reasoning}
    answer = analyse(text, [ADD], {**options, "sections": ["reading", "steps", "rechunk"], "seed": len(text)})
    assert_tiles(text, answer["reading"])
    options["dialect"] = answer["reading"]["dialect"]
    assert_steps(text, answer["steps"], Parser(load_tools([ADD]), new_id=numbered(), **options))
    assert answer["rechunk"]["same"]
    json.dumps(answer)


def test_what_a_model_is_told_is_in_its_dialect():
    [part] = read_as(FOREIGN.replace("5", '"five"'), "hermes")["parts"]
    example = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    assert part["retry"].endswith(example) and "<tool>" not in part["retry"]
    [notice] = read_as(OTHER, "hermes")["notices"]
    assert [call.name for call in parse(notice["retry"], load_tools([ADD]), dialect="hermes").calls] == ["add"]


def test_the_analysis_needs_no_web_library():
    program = (
        "import sys; from xmltools.proxy.playground import LiveHub, analyse;"
        "print([name for name in ('starlette', 'uvicorn', 'anyio', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Over HTTP


@pytest.fixture(scope="module")
def url():
    with running(Starlette(routes=routes())) as url:
        yield url


def post(url, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"} | headers
    return httpx2.post(f"{url}/playground/api/analyse", content=data, headers=headers, trust_env=False, timeout=30)


def get(url, path, **headers):
    return httpx2.get(f"{url}{path}", headers=headers, trust_env=False, timeout=30)


def test_the_server_answers_what_analyse_returns(url):
    answer = post(url, {"text": CALL, "tools": [ADD], "options": {"strict": False}})
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(analyse(CALL, [ADD], {"strict": False})))


@pytest.mark.parametrize("tools", ["", "  \n", None])
def test_no_tools_may_be_said_in_several_ways(url, tools):
    assert post(url, {"text": CALL, "tools": tools}).json()["prompt"]["text"] == ""


def test_tools_may_come_as_they_were_typed(url):
    typed = json.dumps({"tools": [{"type": "function", "function": ADD}]}, indent=2)
    assert post(url, {"text": CALL, "tools": typed}).json() == post(url, {"text": CALL, "tools": [ADD]}).json()


def test_a_lone_surrogate_goes_both_ways(url):
    answer = post(url, b'{"text": "a\\ud800b", "options": {"sections": ["reading"]}}')
    assert answer.json()["reading"]["parts"][0]["text"] == "a\ud800b"


@pytest.mark.parametrize(
    ("body", "status", "field", "says"),
    [
        (b"{", 400, None, "expected JSON"),
        (b"\xff", 400, None, "expected JSON"),
        (b"[]", 400, None, "expected an object"),
        (b'{"txt": ""}', 400, None, "text, tools and options"),
        (b"[" * 100_000, 400, None, "nested too deeply"),
        (b"{}", 400, "text", "expected a string"),
        (b'{"text": "", "tools": "[{]"}', 400, "tools", "line 1, column 3"),
        (b'{"text": "", "tools": [1]}', 400, "tools", "tool 0"),
        (b'{"text": "", "options": {"strict": "yes"}}', 400, "options", "true or false"),
        (b'{"text": "' + b"x" * MAX_BODY + b'"}', 413, "text", "larger than"),
    ],
)
def test_what_is_wrong_with_a_request_is_one_sentence(url, body, status, field, says):
    answer = post(url, body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["field"] == field
    assert says in error["message"]
    assert "\n" not in error["message"]


def test_a_request_of_another_type_is_refused_since_any_page_may_send_it(url):
    assert post(url, {"text": ""}, **{"content-type": "text/plain"}).status_code == 415


def test_the_largest_body_is_read(url):
    around = len(json.dumps({"text": "", "options": {"sections": ["reading"]}}))
    answer = post(url, {"text": "x" * (MAX_BODY - around), "options": {"sections": ["reading"]}})
    assert answer.status_code == 200
    assert answer.json()["characters"] == MAX_BODY - around


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_requests_of_pages_elsewhere_are_refused(url, headers, status):
    assert post(url, {"text": ""}, **headers).status_code == status


def test_a_page_of_the_same_origin_is_known_by_its_origin_alone(url):
    assert post(url, {"text": ""}, origin=url).status_code == 200


def test_a_link_from_elsewhere_opens_the_page_but_not_the_data(url):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert get(url, "/playground", **link).status_code == 200
    assert post(url, {"text": ""}, **link).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        *("/playground", "/playground/static/app.js", "/playground/static/none.js"),
        *("/live", "/live/events", "/live/exchange", "/live/case"),
    ],
)
def test_every_answer_has_the_headers_that_guard_a_page(url, path):
    answer = get(url, path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_the_pages_have_no_inline_script_or_style_and_name_no_other_host():
    for path in STATIC.iterdir():
        text = path.read_text("utf-8")
        assert "https://" not in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        if path.suffix == ".html":
            assert not re.search(r"<[^>]*\s(style|on\w+)=", text)
            assert all(part.startswith((" src=", " type=")) for part in text.split("<script")[1:])
        if path.suffix == ".js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


@pytest.mark.parametrize("path", ["/playground/static/../analyse.py", "/playground/static/%2e%2e/analyse.py"])
def test_no_other_file_is_served(url, path):
    assert get(url, path).status_code in (404, 405)


@pytest.mark.parametrize("path", ["/live/events", "/live/exchange?number=1", "/live/case?number=1"])
def test_the_live_view_is_off_unless_there_is_a_hub(url, path):
    assert get(url, "/live").status_code == 404
    assert "xmltools serve --live" in get(url, "/live").text
    assert get(url, path).status_code == 404
    assert get(url, path).json()["error"]["message"].startswith("the live view is off")
