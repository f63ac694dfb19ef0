"""`xmltools conformance --runner`: a fair score for any program, whatever the program does."""

import json
import os
import shlex
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmltools.cli.conformance.corpus import Case, find_corpus, read_corpus, ways
from xmltools.cli.conformance.run import differences, run_program
from xmltools.cli.conformance.score import score

CORPUS = Path(__file__).parents[1] / "corpus"
OWN = f"{shlex.quote(sys.executable)} -m xmltools conformance"
NOTHING = {"text": "", "reasoning": "", "calls": [], "errors": []}

ECHO = """
import json, sys, threading

def answer(case):
    return {"id": case["id"], "text": "".join(case["chunks"]), "reasoning": "", "calls": [], "errors": []}

def say(value):
    print(json.dumps(value), flush=True)

for line in sys.stdin:
    case = json.loads(line)
    name, _, way = case["id"].partition("/")
    odd = name == "odd"
"""
"""Reads every text as text. What stands behind it is done for each line."""

ELEMENT_TREE = '''
"""Another implementation: what a regular expression and the parser of the standard library make of a reply."""
import json, re, sys
from xml.etree import ElementTree

BLOCK = re.compile("<tool>.*?</tool>", re.DOTALL)

def value(element):
    return {child.tag: value(child) for child in element} if len(element) else element.text or ""

def read(found):
    span = list(found.span())
    try:
        block = ElementTree.fromstring(found[0])
    except ElementTree.ParseError:
        return None, {"code": "malformed_markup", "span": span}
    name = (block.findtext("tool_name") or "").strip()
    if not name:
        return None, {"code": "missing_tool_name", "span": span}
    server = (block.findtext("server_name") or "").strip() or "local"
    arguments = block.find("arguments")
    values = {} if arguments is None else {child.tag: value(child) for child in arguments}
    call = {"server": server, "name": name, "arguments": values, "repairs": [], "clean": True, "span": span}
    return call, None

for line in sys.stdin:
    case = json.loads(line)
    text = "".join(case["chunks"])
    try:
        blocks = [read(found) for found in BLOCK.finditer(text)]
    except UnicodeEncodeError:
        print(json.dumps({"id": case["id"], "usage_error": "lone surrogates can't be parsed here"}), flush=True)
        continue
    calls = [call for call, _ in blocks if call]
    errors = [error for _, error in blocks if error]
    answer = {"id": case["id"], "text": BLOCK.sub("", text), "reasoning": "", "calls": calls, "errors": errors}
    print(json.dumps(answer), flush=True)
'''


@pytest.fixture
def program(tmp_path):
    """The command line of a program in Python."""

    def program(code):
        path = tmp_path / "a program.py"
        path.write_text(code, encoding="utf-8")
        return shlex.join([sys.executable, str(path)])

    return program


@pytest.fixture
def corpus(tmp_path):
    """A folder with cases: those of ours that are named, or others."""

    def corpus(**files):
        for name, cases in files.items():
            path = tmp_path / "corpus" / f"{name.replace('__', '/').lstrip('_')}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(cases if isinstance(cases, str) else json.dumps(cases), encoding="utf-8")
        return tmp_path / "corpus"

    return corpus


@pytest.fixture
def run(run):
    return partial(run, "conformance")


def case(id, text="some text", **changes):
    return {
        "id": id,
        "rule": "1.1",
        "about": "Text is text.",
        "text": text,
        "tools": None,
        "options": {},
        "expect": {**NOTHING, "text": text},
        **changes,
    }


def plain(*names):
    return [Case("01-texts", **case(name)) for name in names]


def verdicts(results):
    return {result.case.id: result.verdict for result in results}


# Scores


def test_our_own_parser_passes_every_case(run):
    status, out, err = run("--runner", OWN)
    required, optional = (next(line for line in out.splitlines() if line.startswith(f"{name} ")) for name in HALVES)
    assert (status, err) == (0, "")
    assert required.split()[2:] == optional.split()[2:] == ["0", "0", "0", "100.0", "%"]
    assert int(required.split()[1]) >= 500
    assert "expected" not in out


HALVES = ("required", "optional")


def test_another_parser_passes_what_it_can(run, program):
    status, out, err = run("--runner", program(ELEMENT_TREE), "--json")
    found = json.loads(out)
    assert (status, err) == (1, "")
    assert 100 < found["required"]["passed"] < 500
    assert found["required"]["no_answer"] == 0
    assert found["required"]["cut_matters"] == 0  # It joins the chunks.
    assert found["files"]["13-json-arguments"]["failed"] > 0
    assert found["files"]["optional/05-values"]["no_answer"] == 1
    assert len(found["failures"]) == found["required"]["failed"] + found["optional"]["failed"] + 1
    failures = {failure["id"]: failure for failure in found["failures"]}
    assert "opener-plain" not in failures
    assert failures["opener-attribute"]["way"] == "whole"
    assert failures["opener-attribute"]["differences"][0]["place"] == "text"


def test_the_table_and_the_first_failures(run, program, corpus):
    wrong = case("wrong", "x" * 300 + "\x1b[0m", about="An odd\ncharacter.")
    wrong["expect"]["text"] = "x" * 300 + "y"
    folder = corpus(**{"_01-good": [case("a")], "_02-bad": [wrong, case("b")]})
    status, out, err = run("--runner", program(ECHO + "    say(answer(case))"), "--corpus", folder)
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "          passed  failed  no answer  cut matters",
        "01-good        1       0          0            0",
        "02-bad         1       1          0            0",
        "required       2       1          0            0  66.6 %",
        "failed: wrong (02-bad, rule 1.1, whole): An odd character.",
        "  text",
        "    expected …" + "x" * 30 + 'y"',
        "    found    …" + "x" * 30 + '\\u001b[0m"',
    ]


def test_only_the_first_failures_are_shown(run, program, corpus):
    folder = corpus(**{"_01-bad": [case(f"bad-{n}", expect={**NOTHING, "text": "other"}) for n in range(13)]})
    out = run("--runner", program(ECHO + "    say(answer(case))"), "--corpus", folder)[1]
    assert out.count("failed: bad-") == 10
    assert out.endswith("and 3 more, which --json names\n")


def test_an_optional_case_has_a_score_of_its_own_and_does_not_count(run, program, corpus):
    files = {"_01-good": [case("a")], "optional__01-choice": [case("b", expect={**NOTHING, "text": "other"})]}
    status, out, _ = run("--runner", program(ECHO + "    say(answer(case))"), "--corpus", corpus(**files))
    lines = out.splitlines()
    assert status == 0
    assert lines[2].split() == ["required", "1", "0", "0", "0", "100.0", "%"]
    assert lines[4].split() == ["optional", "0", "1", "0", "0", "0.0", "%"]
    assert "failed: b (optional/01-choice" in out


def test_a_parser_for_which_the_cut_matters_is_found_out(program):
    code = ECHO + "    say({**answer(case), 'text': case['chunks'][0] if odd else ''.join(case['chunks'])})"
    first, second = run_program(program(code), plain("odd", "even"))
    assert (first.verdict, first.way, first.cut_matters) == ("failed", "by character", True)
    assert (second.verdict, second.cut_matters) == ("passed", False)
    assert score([first, second])._asdict() == {"passed": 1, "failed": 1, "no_answer": 0, "cut_matters": 1}


# Programs that are no good


NO_JSON = "expected an answer, a JSON object in one line, got b"
MISBEHAVIOUR = {
    "hangs": ("    if odd: threading.Event().wait()", "no answer", "no line in 2 seconds"),
    "hangs with a program that it started": (
        """
    if odd:
        import subprocess
        subprocess.run([sys.executable, "-c", "import threading; threading.Event().wait()"])
""",
        "no answer",
        "no line in 2 seconds",
    ),
    "ends before a program that it started": (
        """
    if odd:
        import subprocess
        subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        sys.exit()
""",
        "no answer",
        "no line in 2 seconds",
    ),
    "reads two lines before it answers": (
        """
    if odd:
        other = json.loads(sys.stdin.readline())
        say(answer(other))
""",
        "no answer",
        "no line in 2 seconds",
    ),
    "does not flush": (
        """
    if odd:
        out = open(1, "w", closefd=False)
        print(json.dumps(answer(case)), file=out)
        continue
""",
        "no answer",
        "is each answer flushed, with a line break?",
    ),
    "writes no line break": (
        "    if odd: print(json.dumps(answer(case)), end='', flush=True); continue",
        "no answer",
        "is each answer flushed, with a line break?",
    ),
    "ends": ("    if odd: sys.exit(3)", "no answer", "the program ended with status 3"),
    "is killed": ("    if odd: import os; os.kill(os.getpid(), 9)", "no answer", "the program ended with status -9"),
    "refuses": ("    if odd: say({'id': None, 'usage_error': 'no'}); continue", "no answer", "usage_error: no"),
    "writes no JSON": ("    if odd: print('Hello', flush=True); continue", "failed", f"{NO_JSON}'Hello"),
    "writes a list": ("    if odd: say([answer(case)]); continue", "failed", f"{NO_JSON}'[{{"),
    "writes an empty line": ("    if odd: print(flush=True); continue", "failed", NO_JSON),
    "writes no UTF-8": (
        "    if odd: sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); continue",
        "failed",
        f"{NO_JSON}'\\xff",
    ),
    "writes JSON without an end": ("    if odd: print('[' * 100_000, flush=True); continue", "failed", "JSON"),
    "writes a line more": ("    if odd: print('a line of a log')", "failed", f"{NO_JSON}'a line of a log"),
    "answers another case": (
        "    if odd: say({**answer(case), 'id': 'x'}); continue",
        "failed",
        "expected the answer with the id 'odd/0', got the id 'x'",
    ),
    "answers without an id": ("    if odd: say({'text': ''}); continue", "failed", "'odd/0', got the id None"),
}
"""Behaviour in the case that is odd; then what is made of it, and why."""
ENDLESS_LINE = """
    while odd:
        sys.stdout.write("x" * 1_000_000)
    say(answer(case))"""
REFUSES = "    say({'id': None, 'usage_error': 'no\\x1b'})"


@pytest.mark.skipif(os.name != "posix", reason="statuses and sessions of POSIX")
@pytest.mark.parametrize("name", MISBEHAVIOUR)
@pytest.mark.full
def test_what_goes_wrong_in_a_case_costs_that_case_only(program, name):
    behaviour, verdict, said = MISBEHAVIOUR[name]
    threads = threading.active_count()
    code = f"{ECHO}{behaviour}\n    say(answer(case))"
    results = list(run_program(program(code), plain("before", "odd", "behind"), timeout=2))
    assert verdicts(results) == {"before": "passed", "odd": verdict, "behind": "passed"}
    assert said in results[1].reason
    assert threading.active_count() == threads  # The pipes are closed, so nobody holds them any more.


def test_a_line_without_an_end_is_given_up(program):
    results = run_program(program(ECHO + ENDLESS_LINE), plain("odd", "behind"), timeout=2)
    assert verdicts(results) in ({"odd": "failed", "behind": "passed"}, {"odd": "no answer", "behind": "passed"})


def test_a_long_line_is_a_line(program):
    code = ECHO + "    say({**answer(case), 'more': 'x' * 5_000_000})"
    assert verdicts(run_program(program(code), plain("a"))) == {"a": "passed"}


def test_a_long_case_passes_through(program):
    cases = [Case("01-texts", **case("a", "word " * 300_000))]
    assert verdicts(run_program(program(ECHO + "    say(answer(case))"), cases)) == {"a": "passed"}


def test_a_program_that_does_not_read_gives_no_answer(program):
    cases = [Case("01-texts", **case("a", "word " * 300_000))]
    code = "import threading; threading.Event().wait()"
    assert verdicts(run_program(program(code), cases, timeout=0.5)) == {"a": "no answer"}


@pytest.mark.parametrize("end", ["", "\\n", "\\r\\n"])
def test_a_program_may_answer_one_line_in_its_life(program, end):
    code = ECHO + f"    print(json.dumps(answer(case)), end='{end}'); break"
    assert verdicts(run_program(program(code), plain("a", "b"))) == {"a": "passed", "b": "passed"}


def test_an_answer_does_not_excuse_the_crash_behind_it(program):
    (result,) = run_program(program(f"{ECHO}    say(answer(case)); sys.exit(3)"), plain("a"))
    assert (result.verdict, result.way, result.reason) == (
        "no answer",
        "by character",
        "the program ended with status 3",
    )


def test_a_program_that_never_answers_is_soon_given_up(program, tmp_path):
    code = f"open({str(tmp_path / 'starts')!r}, 'a').write('.')"
    results = list(run_program(program(code), plain(*map(str, range(25)))))
    assert set(verdicts(results).values()) == {"no answer"}
    assert results[-1].reason == "not asked: the 10 cases before it had no answer"
    assert (tmp_path / "starts").read_text() == "." * 10


def test_refusing_many_cases_does_not_end_the_run(program):
    code = ECHO + "    say(answer(case) if odd else {'id': case['id'], 'usage_error': 'not here'})"
    results = list(run_program(program(code), plain(*map(str, range(25)), "odd")))
    assert [result.verdict for result in results] == ["no answer"] * 25 + ["passed"]


def test_what_a_program_says_cannot_steer_the_terminal(run, program, corpus):
    folder = corpus(**{"_01-odd": [case("odd")]})
    out = run("--runner", program(ECHO + REFUSES), "--corpus", folder)[1]
    assert "usage_error: no␛" in out and "\x1b" not in out


# Usage


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json"], "--json: expected --runner with it"),
        (["--corpus", "x"], "--corpus: expected --runner with it"),
        (["--timeout", "3"], "--timeout: expected --runner with it"),
        (["--runner", "x", "--timeout", "0"], "expected a whole number from 1, got '0'"),
        (["--runner", ""], "--runner: expected a command, got nothing"),
        (["--runner", "a 'b"], '--runner: expected a command, got "a \'b": No closing quotation'),
        (["--runner", "./missing"], "--runner: cannot start './missing': No such file or directory"),
        (["--runner", "a\0b"], "--runner: cannot start"),
        (
            ["--runner", "x", "--corpus", "./missing"],
            "expected a folder with files such as 01-openers.json, got missing",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run, arguments, said):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "3",
        "[3]",
        "[" * 100_000,
        [{}],
        [{**case("a"), "more": 1}],
        [case("a", text=3)],
        [case(3)],
        [case("a", expect=[])],
        [case("a", expect={"text": ""})],
        [case("a", expect={**NOTHING, "calls": 3})],
        [case("a", expect={**NOTHING, "errors": ["x"]})],
    ],
)
def test_a_file_without_cases_is_wrong_usage(run, corpus, content):
    status, out, err = run("--runner", OWN, "--corpus", corpus(**{"_01-x": content}))
    assert (status, out) == (2, "")
    assert err.endswith("01-x.json: expected a list of cases, as schema.json of the corpus says\n")


def test_the_corpus_is_found_in_the_source(monkeypatch):
    assert find_corpus() == CORPUS
    assert {case.file for case in read_corpus(CORPUS)} >= {"01-openers", "optional/04-limits"}


def test_where_there_is_no_source_the_folder_is_asked_for(run, monkeypatch, tmp_path):
    installed = tmp_path / "site-packages" / "xmltools" / "cli" / "conformance" / "corpus.py"
    monkeypatch.setattr("xmltools.cli.conformance.corpus.__file__", str(installed))
    status, out, err = run("--runner", OWN)
    assert (status, out) == (2, "")
    assert err == ("xmltools: --corpus: expected the folder with the cases, tests/corpus of the source of xmltools\n")


# Judging


CALL = {"server": "local", "name": "f", "arguments": {"x": 1}, "repairs": [], "clean": True, "span": [0, 9]}
ERROR = {"code": "truncated", "span": [0, 9]}


@pytest.mark.parametrize(
    ("expected", "found", "places"),
    [
        ({}, {}, []),
        ({}, {"more": 1, "id": 2}, []),
        ({"text": "a"}, {"text": "b"}, ["text"]),
        ({}, {"text": None, "reasoning": 3}, ["text", "reasoning"]),
        ({}, {"unclosed_reasoning": False}, []),
        ({}, {"unclosed_reasoning": True}, ["unclosed_reasoning"]),
        ({}, {"unclosed_reasoning": 0}, ["unclosed_reasoning"]),
        ({"unclosed_reasoning": True}, {}, ["unclosed_reasoning"]),
        ({"calls": [CALL]}, {"calls": [CALL]}, []),
        ({"calls": [CALL]}, {"calls": [{**CALL, "more": 1, "legacy_json": False}]}, []),
        ({"calls": [CALL]}, {"calls": [{**CALL, "legacy_json": True}]}, ["calls[0].legacy_json"]),
        ({"calls": [{**CALL, "legacy_json": True}]}, {"calls": [CALL]}, ["calls[0].legacy_json"]),
        ({"calls": [CALL]}, {"calls": []}, ["calls"]),
        ({"calls": [CALL]}, {"calls": [CALL, CALL]}, ["calls"]),
        ({"calls": [CALL]}, {"calls": {"0": CALL}}, ["calls"]),
        ({"calls": [CALL]}, {"calls": ["f"]}, ["calls[0]"]),
        ({"calls": [CALL, CALL]}, {"calls": [CALL, {**CALL, "name": "g"}]}, ["calls[1].name"]),
        ({"calls": [CALL]}, {"calls": [{**CALL, "arguments": {"x": 1.0}}]}, []),
        ({"calls": [CALL]}, {"calls": [{**CALL, "arguments": {"x": True}}]}, ["calls[0].arguments"]),
        ({"calls": [CALL]}, {"calls": [{**CALL, "arguments": {"x": 1, "y": 2}}]}, ["calls[0].arguments"]),
        ({"calls": [CALL]}, {"calls": [{**CALL, "clean": 1}]}, ["calls[0].clean"]),
        ({"calls": [CALL]}, {"calls": [{**CALL, "span": [0, 9, 9]}]}, ["calls[0].span"]),
        ({"errors": [ERROR]}, {"errors": [{**ERROR, "name": "any"}]}, []),
        ({"errors": [{**ERROR, "name": "f"}]}, {"errors": [ERROR]}, []),
        ({"errors": [{**ERROR, "name": "f"}]}, {"errors": [{**ERROR, "name": "g"}]}, ["errors[0].name"]),
        ({"errors": [{**ERROR, "name": "f"}]}, {"errors": [{**ERROR, "name": None}]}, ["errors[0].name"]),
        ({"errors": [ERROR]}, {"errors": [{"span": [0, 9]}]}, ["errors[0].code"]),
    ],
)
def test_an_answer_differs_where_it_is_not_as_expected(expected, found, places):
    assert [each.place for each in differences(NOTHING | expected, NOTHING | found)] == places


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
KEYS = st.sampled_from(["text", "reasoning", "unclosed_reasoning", "calls", "errors"])


@given(st.dictionaries(KEYS, JSON), st.lists(JSON, max_size=2))
def test_whatever_is_answered_is_judged(answer, calls):
    expect = NOTHING | {"calls": [CALL, CALL]}
    for found in (answer, answer | {"calls": calls}):
        assert list(differences(expect, found))


@given(st.text(max_size=40), st.text(max_size=5))
def test_every_way_of_cutting_keeps_the_text_and_is_the_same_in_each_run(text, id):
    first, second = (list(ways(Case("01-x", **case(id, text)))) for _ in range(2))
    assert first == second
    assert all("".join(chunks) == text for _, chunks in first)
    assert [name for name, _ in first[:2]] == ["whole", "by character"] and len(first) == 6
