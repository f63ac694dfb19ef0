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
from support.written import detected_as

import xmltools.proxy.playground
from proxy.running import running
from xmltools import dialects
from xmltools.grammar import build_grammar
from xmltools.models.events import Noticed
from xmltools.parser import Parser, parse
from xmltools.proxy.bridge import Refusal
from xmltools.proxy.playground import routes
from xmltools.proxy.playground.analyse import POSITIONS, Analysis, Options, analyse, list_dialects
from xmltools.proxy.playground.parts import KINDS, MARKS, ROWS, write_path, write_rows
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
TOOLS = load_tools([ADD])
CALL = "Hi.\n<tool><tool_name>add</tool_name><arguments><a>+5</a><note>x & y</note></arguments></tool>"
WRONG = CALL.replace("+5", "five")
FOREIGN = '<tool_call>{"name": "add", "arguments": {"a": 5}}</tool_call>'
OTHER = "<tool_call><function=add><parameter=a>5</parameter></function></tool_call>"
MARKUP = """
<tool_call> {"name":"add","arguments":{}} </tool_call> <add> </add> <function=add> </function>
<tool> </tool> <tool_name>add</tool_name> <arguments> </arguments> <a> 5 </a> <note> </note> <![CDATA[ ]]> <think>
</think> & < x [ <tool_call> </tool_call> <arg_key>a</arg_key> <arg_value>5</arg_value> <parameter=a> </parameter>
<|im_end|> <|user|>
"""
PIECES = st.sampled_from([*MARKUP.split(), "```\n", "\n", " ", "\U0001f600", "\ud800"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
NAMES = [dialect.name for dialect in dialects.all()]


def analysis(text, tools=TOOLS, **options):
    return Analysis(text, tools, Options(**options), 1)


def read(text, tools=TOOLS, **options):
    return analysis(text, tools, **options).reading()


def kinds_of(reading):
    """The kinds of adjacent spans, each once."""
    kinds = [span["kind"] for span in reading["spans"]]
    return [kind for before, kind in pairwise([None, *kinds]) if kind != before]


def codes_of(reading, kind):
    return [each["code"] for each in reading["marks"] if each["kind"] == kind]


def parser_of(tools=TOOLS, **options):
    numbers = iter(range(1, 10_000))
    return Parser(tools, new_id=lambda: f"call_{next(numbers)}", **options)


def assert_shown(text, reading, steps, parser):
    """Each step has what the parser says when it is fed so far, and spans of the kinds of that tile the text."""
    starts = range(0, len(text), steps["size"])
    told = [(at, each) for at, start in enumerate(starts, 1) for each in parser.feed(text[start:][: steps["size"]])]
    told += [(steps["count"] + 1, each) for each in parser.close()]
    assert [(each["at"], each["kind"]) for each in steps["events"]] == [(at, type(each).__name__) for at, each in told]
    for written, (_, event) in zip(steps["events"], told, strict=True):
        said = event.notice.message if isinstance(event, Noticed) else getattr(event, "text", None)
        assert written.get("text") == said
        assert written.get("path", "") == write_path(getattr(event, "path", ()))
        assert written.get("name") == getattr(event, "name", None)
    covered = [KINDS[type(each)] for _, each in told if type(each) in KINDS for _ in range(*each.span)]
    spans = reading["spans"]
    assert covered == [span["kind"] for span in spans for _ in range(span["start"], span["end"])]
    assert "".join(text[span["start"] : span["end"]] for span in spans) == text


@pytest.mark.parametrize("case", [*REQUIRED, *OTHERS], ids=lambda case: case["id"])
def test_every_text_of_the_corpus_is_tiled_marked_and_stepped(case):
    text, tools = case["text"], case["tools"] and load_tools(case["tools"])
    options = {name: value for name, value in case["options"].items() if name != "limits"}  # none of the playground's
    shown = analysis(text, tools, **options)
    reading, steps, reply = shown.reading(), shown.steps(), parse(text, tools, **options)
    assert_shown(text, reading, steps, parser_of(tools, **options))
    blocks = ["call" if hasattr(part, "repairs") else "error" for part in reply.parts if not hasattr(part, "text")]
    assert [block["kind"] for block in reading["blocks"]] == blocks
    assert codes_of(reading, "repair") == [repair.code for call in reply.calls for repair in call.repairs]
    notices = [mark["span"] for mark in reading["marks"] if mark["kind"] == "notice"]
    assert notices == [each.span for each in reply.notices]
    assert sorted(number for span in reading["spans"] for number in span["marks"]) == list(range(len(reading["marks"])))
    assert reading["unclosed_reasoning"] == reply.unclosed_reasoning


@given(TEXTS, st.sampled_from(["detect", *NAMES]), st.booleans(), st.booleans())
def test_any_text_in_any_dialect_is_tiled_and_stepped(text, dialect, strict, starts):
    options = {"strict": strict, "starts_in_reasoning": starts}
    options |= {"bracket_reasoning": True} if dialect == "forge" else {}
    shown = analysis(text, **options, dialect=dialect)
    reading = shown.reading()
    assert_shown(text, reading, shown.steps(), parser_of(**options, dialect=reading["dialect"]))
    json.dumps(reading)


@given(TEXTS)
def test_a_step_shows_nothing_that_a_parser_fed_the_whole_prefix_would_not_say(text):
    def said(events, kind):
        return "".join(text for name, text in events if name == kind)

    steps = analysis(text).steps()["events"]
    for position in range(len(text) + 1):
        whole = [(type(each).__name__, getattr(each, "text", "")) for each in parser_of().feed(text[:position])]
        here = [(each["kind"], each.get("text", "")) for each in steps if each["at"] <= position]
        for kind in ("TextDelta", "ReasoningDelta"):
            now, later = sorted((said(whole, kind), said(here, kind)), key=len)
            assert later.startswith(now)
        blocks = [[kind for kind, _ in each if kind in ("CallCompleted", "CallFailed")] for each in (whole, here)]
        assert blocks[0] == blocks[1]


def test_what_a_page_holds_has_bounds():
    text = (CALL + " and so on.\n") * 400
    answer = analyse(text, [ADD])
    steps = answer["steps"]
    assert steps["size"] > 1 and steps["count"] <= POSITIONS
    assert_shown(text, answer["reading"], steps, parser_of())
    items = "".join(f"<a{number} x='1'>v</a{number}>" for number in range(5_000))
    reading = read(f"<tool><tool_name>add</tool_name><arguments><o>{items}</o></arguments></tool>", None)
    [block] = reading["blocks"]
    assert (block["repairs"], len(reading["marks"]), len(block["arguments"])) == (5_000, MARKS, ROWS)
    path = write_path([f"{'x' * 100}{number}" for number in range(20)])
    assert len(path) < 310 and path.startswith("xxx") and path.endswith("x19")


@pytest.mark.no_cover
def test_a_text_of_more_parts_than_a_page_can_show_is_refused():
    with pytest.raises(Refusal, match="4,000 parts") as caught:
        read("<think></think>a" * 60_000, None)
    assert caught.value.param == "text"


def test_what_a_model_is_told_is_what_render_retry_writes_in_its_dialect():
    [block] = read(WRONG)["blocks"]
    assert block["retry"] == render_retry(parse(WRONG, TOOLS).errors[0], TOOLS)
    assert block["arguments"][0] == {"path": "a", "type": "string", "value": "five"}
    [block] = read(FOREIGN.replace("5", '"five"'), dialect="hermes")["blocks"]
    example = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    assert block["retry"].endswith(example) and "<tool>" not in block["retry"]
    [notice] = read(OTHER, dialect="hermes")["marks"]
    assert [call.name for call in parse(notice["retry"], TOOLS, dialect="hermes").calls] == ["add"]


def test_prompt_and_grammar_are_those_of_the_library_in_the_dialect_of_the_reading():
    answer = analyse("", [ADD], {"style": "compact", "grammar": "lark"})
    assert answer["prompt"]["text"] == render_instructions(TOOLS, style="compact")
    assert "add" in answer["grammar"]["text"]
    answer = analyse("", [ADD], {"dialect": "hermes"})
    assert answer["prompt"]["text"] == render_instructions(TOOLS, dialect="hermes")
    assert answer["grammar"]["text"] == build_grammar(TOOLS, "gbnf", dialect="hermes")
    answer = analyse("", [ADD], {"dialect": "react"})
    assert "not known how they are written" in answer["prompt"]["error"]
    assert "no grammar can be made for calls in 'react'" in answer["grammar"]["error"]
    answer = analyse(CALL)
    assert "at least one tool" in answer["grammar"]["error"]
    assert answer["prompt"]["text"] == ""
    assert "'gbnf'" in analysis("", grammar="x").grammar()["error"]


def test_a_row_tells_the_type_that_json_in_a_browser_would_lose():
    values = {"string": "5", "integer": 2**70, "number": 5.0, "boolean": True, "null": None, "array": [], "object": {}}
    written = ["5", str(2**70), "5.0", "true", "null", "[]", "{}"]
    for (type, value), shown in zip(values.items(), written, strict=True):
        assert write_rows({"x": value}) == [{"path": "x", "type": type, "value": shown}]
        assert write_rows({"x": [{"y": value}]}) == [{"path": "x[0].y", "type": type, "value": shown}]


@pytest.mark.parametrize("text", ["", "x", CALL, f"{CALL}\n{WRONG}{FOREIGN}", "a line of prose\n" * 2_000])
def test_a_seed_cuts_the_text_inside_and_nothing_changes(text):
    found = [analysis(text, seed=seed).cuts() for seed in range(20)]
    for seed, each in enumerate(found):
        assert each == analysis(text, seed=seed).cuts() and each["same"]
        assert all(left < right for left, right in pairwise([0, *each["places"], len(text)])) or not text
    assert len(text) < 2 or len({str(each["places"]) for each in found}) > 1
    assert "cuts" not in analyse(text) and analyse(text, [ADD], {"seed": 7})["cuts"] == found[7]


CHANGES = [("+5", "6"), ("+5", "5"), ("Hi.", "Ho."), ("x & y", "x &amp; y"), ("</tool>", ""), ("Hi.", f"{FOREIGN}Hi.")]


@pytest.mark.parametrize("change", [*CHANGES, ("</tool>", "</tool>\n")])
def test_what_the_cuts_change_is_seen(change, monkeypatch):
    class Changing(Parser):
        """Reads another text if it does not come in single characters."""

        pieces = 0

        def feed(self, chunk):
            self.pieces += 1
            return []

        def close(self):
            return super().feed(CALL if self.pieces == len(CALL) else CALL.replace(*change)) + super().close()

    monkeypatch.setattr("xmltools.proxy.playground.analyse.Parser", Changing)
    seed = next(seed for seed in range(99) if len(analysis(CALL, seed=seed).cuts()["places"]) < len(CALL) - 1)
    assert not analysis(CALL, seed=seed).cuts()["same"]


DEEP = {"type": "string"}
for _ in range(3000):
    DEEP = {"type": "object", "properties": {"x": DEEP}}
# Text, tools, options; the field that is wrong, and what the sentence says.
REFUSED = """
[5, null, {}, "text", "expected a string, got int"]
["", 5, {}, "tools", "expected a list of tools"]
["", [{}], {}, "tools", "expected a tool definition"]
["", [{"name": "x"}, {"name": "x"}], {}, "tools", "x"]
["", [{"name": "x", "parameters": {"type": "nonsense"}}], {}, "tools", "x"]
["", "[{]", {}, "tools", "line 1, column 3"]
["", null, [], "options", "valid dictionary"]
["", null, {"stict": true}, "options", "options.stict"]
["", null, {"strict": 1}, "options", "options.strict: Input should be a valid boolean, got 1"]
["", null, {"code_fences": "no"}, "options", "'last', 'call' or 'text'"]
["", null, {"grammar": []}, "options", "valid string"]
["", null, {"dialect": "herms"}, "options", "did you mean 'hermes'"]
["", null, {"dialect": null}, "options", "valid string"]
["", null, {"style": "short"}, "options", "'full' or 'compact'"]
["", null, {"reasoning_tags": "think"}, "options", "valid list"]
["", null, {"reasoning_tags": ["<a>"]}, "options", "without brackets"]
["", null, {"also": ["herms"]}, "options", "did you mean 'hermes'"]
["", null, {"dialect": "hermes", "bracket_reasoning": true}, "options", "no reasoning in brackets"]
"""
REFUSED = [
    *map(json.loads, REFUSED.split("\n")[1:-1]),
    ["", [{"name": "deep", "parameters": DEEP}], {}, "tools", "levels deep"],
]


@pytest.mark.parametrize(("text", "tools", "options", "field", "says"), REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused_in_one_sentence_that_names_its_field(text, tools, options, field, says):
    with pytest.raises(Refusal, match=re.escape(says)) as caught:
        analyse(text, tools, options)
    assert caught.value.param == field


@pytest.mark.parametrize("example", EXAMPLES["examples"], ids=lambda example: example["name"])
def test_an_example_shows_what_it_promises_and_its_dialect_is_detected(example):
    tools, expect, options = EXAMPLES["tools"].get(example["tools"]), example["expect"], example["options"]
    reading = read(example["text"], tools and load_tools(tools), **options)
    assert [block["kind"] for block in reading["blocks"]].count("call") == expect["calls"]
    errors = [block["code"] for block in reading["blocks"] if block["kind"] == "error"]
    repairs = codes_of(reading, "repair")
    assert (errors, repairs) == (expect.get("errors", errors), expect.get("repairs", repairs))
    found = read(example["text"], tools and load_tools(tools), **{**options, "dialect": "detect"})
    assert found["dialect"] == options.get("dialect", "forge")


def test_every_dialect_is_listed_with_an_example_that_is_detected():
    assert {each["name"] for each in list_dialects()} == set(NAMES)
    for each in list_dialects():
        reading = read(each["example"], load_tools(EXAMPLES["tools"]["number"]), dialect="detect")
        assert (reading["dialect"], kinds_of(reading)) == (detected_as(each["name"]), ["call"])


def test_a_text_is_read_in_the_dialect_that_is_chosen_or_detected():
    for dialect, kind in (("qwen3_coder", "call"), ("glm", "text"), ("detect", "call")):
        assert kinds_of(read(OTHER, dialect=dialect)) == [kind]
    assert read(OTHER)["dialect"] == "forge"
    both = f"{FOREIGN}\n{OTHER}\n{FOREIGN}"
    reading = read(both, dialect="detect")
    assert (reading["dialect"], reading["detected"][0]) == ("hermes", {"name": "hermes", "calls": 2})
    assert {"name": "qwen3_coder", "calls": 1} in reading["detected"]
    assert read(both, dialect="glm")["detected"] == []


NO_CALLS = [
    (FOREIGN.replace("add", "sub"), "hermes"),  # no tool has this name
    (FOREIGN[:40], "hermes"),  # cut off
    (OTHER.replace("</function></tool_call>", ""), "qwen3_coder"),
    *[(WRONG, "forge"), ("No call.", "forge"), ("", "forge")],
]


@pytest.mark.parametrize(("text", "dialect"), NO_CALLS)
def test_a_call_that_is_none_is_detected_too(text, dialect):
    assert read(text, dialect="detect")["dialect"] == dialect


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
    typed = json.dumps({"tools": [{"type": "function", "function": ADD}]}, indent=2)
    assert post(url, {"text": CALL, "tools": typed}).json() == answer.json()
    for none in ("", "  \n", None):
        assert post(url, {"text": CALL, "tools": none}).json()["prompt"]["text"] == ""
    answer = post(url, b'{"text": "a\\ud800b"}')
    assert answer.json()["steps"]["events"][1]["text"] == "\ud800"  # a lone surrogate goes both ways
    largest = "x" * (MAX_BODY - len(json.dumps({"text": ""})))
    assert post(url, {"text": largest}).json()["reading"]["spans"][0]["end"] == len(largest)


BODIES = [
    *[(b"{", None, "no JSON"), (b"\xff", None, "no UTF-8"), (b"[]", None, "a JSON object")],
    *[(b'{"txt": ""}', "text", "expected a string"), (b"[" * 100_000, None, "nested too deeply")],
    (b'{"text": "", "tools": [1]}', "tools", "tool 0"),
    (b'{"text": "' + b"x" * MAX_BODY + b'"}', "text", "larger than"),
]


@pytest.mark.parametrize(("body", "field", "says"), BODIES, ids=range(len(BODIES)))
def test_what_is_wrong_with_a_request_is_one_sentence(url, body, field, says):
    answer = post(url, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (413 if says == "larger than" else 400, field)
    assert says in error["message"] and "\n" not in error["message"]


LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
ORIGINS = [
    *[({}, 200), ({"sec-fetch-site": "same-origin"}, 200), ({"sec-fetch-site": "none"}, 200)],
    *[({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-site"}, 403), (LINK, 403)],
    *[({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403), ({"origin": "OWN"}, 200)],
]


@pytest.mark.parametrize(("headers", "status"), ORIGINS)
def test_requests_of_pages_elsewhere_are_refused(url, headers, status):
    headers = {name: value.replace("OWN", url) for name, value in headers.items()}
    assert post(url, {"text": ""}, **headers).status_code == status
    if headers == LINK:  # it opens the page, but not the data
        assert get(url, "/playground", **LINK).status_code == 200


PATHS = ["/playground", "/playground/static/playground.js", "/playground/static/none.js"]
DATA = ["/live/events", "/live/exchange?number=1", "/live/case?number=1"]


@pytest.mark.parametrize("path", [*PATHS, "/live", *DATA])
def test_every_answer_has_the_headers_that_guard_a_page(url, path):
    headers = get(url, path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    guards = [headers[name] for name in ("x-content-type-options", "x-frame-options", "referrer-policy")]
    assert guards == ["nosniff", "DENY", "no-referrer"]
    assert headers["cache-control"] in ("no-cache", "no-store")
    assert not {"set-cookie", "access-control-allow-origin"} & set(headers)


def test_the_pages_have_no_inline_script_or_style_and_name_no_other_host(url):
    pages = [get(url, path).text for path in ("/playground", "/live")]
    for suffix, text in [
        *((path.suffix, path.read_text("utf-8")) for path in STATIC.iterdir()),
        *((".html", page) for page in pages),
    ]:
        assert not re.search("https?://", text.replace("http://www.w3.org/2000/svg", ""))
        if suffix == ".html":
            assert not re.search(r"<style|<[^>]*\s(style|on\w+)=", text)
            assert all(part.startswith((" src=", " type=")) for part in text.split("<script")[1:])
        if suffix == ".js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


@pytest.mark.parametrize("path", ["/playground/static/../analyse.py", "/playground/static/%2e%2e/analyse.py"])
def test_no_other_file_is_served(url, path):
    assert get(url, path).status_code in (404, 405)


@pytest.mark.parametrize("path", DATA)
def test_the_live_view_is_off_unless_there_is_a_hub(url, path):
    assert get(url, "/live").status_code == 404
    assert "xmltools serve --live" in get(url, "/live").text
    assert get(url, path).status_code == 404
    assert get(url, path).json()["error"]["message"].startswith("the live view is off")
