"""The fuzzers, in small: each target with a fixed count, faults that they must notice, findings that stay mended."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from parser.test_laws import law_prefix, law_spans, merge, notices_of, run
from support.dialect_texts import KINDS
from support.strategies import Case

from fuzz import against, cli, evidence, guided, quick, replies, targets
from fuzz.drawn import Drawn
from fuzz.quick import Finding, cut, law_one_cut, work_on_tokens
from fuzz.seeds import seeds_of, words
from fuzz.shrink import shrink, smallest
from fuzz.targets import TARGETS, broken
from fuzz.tokens import token_case
from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.models.events import Event
from xmltools.parser import Limits, Parser

pytestmark = pytest.mark.no_cover
COUNT = 300


# The token fuzzer


def test_documents_of_the_token_fuzzer_break_no_law() -> None:
    done = work_on_tokens(0, 1_500)
    assert done.findings == []
    assert done.documents == 1_500
    assert set(done.laws) == {law.__name__ for law in quick.QUICK_LAWS}


def test_a_document_is_the_same_each_time_and_holds_few_tokens() -> None:
    assert [token_case(number) for number in range(200)] == [token_case(number) for number in range(200)]
    assert len({token_case(number).text for number in range(200)}) > 180
    assert max(len(token_case(number).tokens) for number in range(500)) <= 120


def test_documents_get_into_calls() -> None:
    done = work_on_tokens(10_000, 1_000)
    assert done.calls > 100
    assert 0 < done.repaired < done.calls


def test_the_work_is_shared_in_blocks_without_a_gap() -> None:
    with ThreadPoolExecutor(2) as pool:
        done = cli.try_tokens(pool, 2, 7, 4_500)  # type: ignore[arg-type]
    assert (done.documents, done.findings) == (4_500, [])
    assert list(cli._blocks(7, 4_500, 0)) == [(7, 2_000), (2_007, 2_000), (4_007, 500)]


@pytest.mark.parametrize("number", range(0, 400, 4))
def test_the_normal_form_tells_apart_what_that_of_the_laws_does(number: int) -> None:
    case = token_case(number)
    whole, pieces = (quick.read(case, chunks)[0] for chunks in ([case.text], list(case.text)))
    events = [run(case, chunks)[0] for chunks in ([case.text], list(case.text))]
    merged = [[*notices_of(each), *merge(each)] for each in events]
    assert (whole == pieces) is (merged[0] == merged[1])
    assert len(whole) == len(merged[0])


@pytest.mark.parametrize("text", ["", "a", "ab<>&" * 20, b"", b"a", b"\xc3\xa9" * 30], ids=repr)
def test_pieces_are_the_whole(text: Any) -> None:
    for seed in range(100):
        pieces = cut(text, Random(seed))
        assert text[:0].join(pieces) == text


class Forgetful(Parser):
    """A parser that loses a chunk of a single `&`."""

    __slots__ = ()

    def feed(self, chunk: str) -> list[Event]:
        return [] if chunk == "&" else super().feed(chunk)


class Raising(Parser):
    """A parser that cannot read a letter."""

    __slots__ = ()

    def feed(self, chunk: str) -> list[Event]:
        if "ö" in chunk:
            raise ValueError("ö")
        return super().feed(chunk)


@pytest.mark.parametrize("parser", [Forgetful, Raising])
def test_a_parser_with_a_fault_is_found_and_the_document_made_small(
    parser: type[Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "Parser", parser)
    found = [finding for finding in work_on_tokens(0, 3_000).findings if finding.law == "law_any_cut"]
    assert found
    assert all(len(finding.case.text) <= 3 and not finding.case.options for finding in found)


def test_of_many_findings_the_first_are_kept() -> None:
    total = quick.Quick()
    for number in range(9):
        total.add(quick.Quick(documents=1, findings=[Finding(number, "law_spans", Case(["x"]))]))
    assert (total.documents, [finding.number for finding in total.findings]) == (9, [0, 1, 2, 3, 4])


def test_what_is_left_when_a_case_is_shrunk_is_what_breaks_the_law() -> None:
    def law(case: Case) -> None:
        assert not ("a" in case.text and "b" in case.text)

    case = shrink(law, Case(["xxa", "yy", "b", "zz"], "types", {"strict": True}))
    assert case == Case(["ab"], "types", {})
    assert smallest([1, 2, 3, 4, 5], lambda items: 2 in items and 5 in items) == [2, 5]


# The targets of atheris


def inputs(target: str) -> Iterable[bytes]:
    """Seeds, mutated as plainly as can be."""
    rng, seeds = Random(target), seeds_of(target)
    for number in range(COUNT):
        data = bytearray(seeds[number * 7 % len(seeds)][:1024])
        for _ in range(number % 5):
            place = rng.randrange(len(data) + 1)
            data[place : place + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        yield bytes(data)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_finds_nothing(target: str) -> None:
    assert [(data, wrong) for data in inputs(target) if (wrong := broken(target, data))] == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 5, bytes(200)], ids=repr)
def test_a_target_takes_any_bytes(target: str, data: bytes) -> None:
    assert broken(target, data) == ""


def test_the_targets_are_those_that_the_command_knows() -> None:
    assert tuple(TARGETS) == guided.NAMES


@pytest.mark.parametrize("target", ["text", "utf8", "json"])
def test_the_targets_of_the_parser_notice_a_fault(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "Parser", Forgetful)
    assert any("chunks" in broken(target, b"\0\xff\xff" + b"&" * size) for size in range(1, 40))


def test_the_json_target_knows_what_a_body_means() -> None:
    meant = targets._meant_by('{"tool_name": "a", "arguments": {"x": [1, {"y": null}]}}')
    assert meant == {"tool_name": "a", "arguments": {"x": [1, {"y": None}]}}
    for body in ("[]", "{", '{"tool_name": "a"}', '{"tool_name": "a", "arguments": {"x": NaN}}', '{"a": 1, "a": 2}'):
        assert targets._meant_by(body) is None


@pytest.mark.parametrize("fault", ["decoder", "standard"])
def test_the_sse_target_notices_a_fault(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(targets.SSEDecoder):
        __slots__ = ()

        def feed(self, data: bytes) -> list[tuple[str, str]]:
            return super().feed(data.strip(b"\r"))

    if fault == "decoder":
        monkeypatch.setattr(targets, "SSEDecoder", Hasty)
    else:
        monkeypatch.setattr(targets, "_events", lambda stream: [])
    assert any(broken("sse", f"data: {'x' * size}\r\rdata: y\r\n\r\n".encode()) for size in range(20))


def test_the_formats_target_notices_what_is_not_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(error: Exception) -> None:
        def load(*values: Any, **options: Any) -> None:
            raise error

        monkeypatch.setattr(targets, "load", load)

    refuse(XMLToolsError("no"))
    assert broken("formats", bytes(200)) == ""
    refuse(KeyError("role"))
    assert broken("formats", bytes(200)) == "KeyError: 'role'"


def test_the_formats_target_gets_things_wrong_and_right() -> None:
    rng = Random(1)
    value = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [1, 2]}]}
    before = json.dumps(value)
    assert len({ascii(targets._wrong(rng, value)) for _ in range(300)}) > 50
    assert json.dumps(value) == before


def test_seeds_come_from_the_corpus() -> None:
    assert all(len(seeds_of(target)) >= 20 for target in TARGETS)
    assert any(b"<tool>" in seed for seed in seeds_of("text"))
    assert '"\\x3c\\x74\\x6f\\x6f\\x6c\\x3e"' in words()  # <tool>


def test_bytes_steer_what_is_drawn_and_go_on_without_end() -> None:
    assert Drawn(b"\x05\x00rest").getrandbits(16) == 5
    assert Drawn(b"\x00\x80").random() == 0.5
    assert Drawn(b"").randbytes(40) == Drawn(b"").randbytes(40)
    assert len({Drawn(bytes([number, 0])).randrange(256) for number in range(256)}) > 100


@pytest.mark.skipif(not guided.available(), reason="atheris is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_atheris_runs_a_target(target: str) -> None:
    done = guided.run(target, 1, 500, None)
    assert (done.found, done.runs >= 500, done.edges > 0) == (None, True, True), done.said


SAID = "#2\tINITED cov: 10 ft: 9\n#64\tNEW cov: 12 ft: 20\n{}stat::number_of_executed_units: 70\n"


def test_what_libfuzzer_says_is_read() -> None:
    done = guided._told("text", 1, SAID.format("Done 70 runs in 1 second(s)\n"), [])
    assert (done.runs, done.edges, done.found) == (70, 12, None)
    assert guided._told("text", 1, SAID.format(""), [b"bad"]).found == b"bad"


def test_a_run_that_comes_to_no_end_is_a_finding() -> None:
    assert guided._told("text", 1, "Traceback: no module", []).found == b""


def test_without_atheris_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guided, "available", lambda: False)
    assert cli.main(["--atheris", "text", "--runs", "10"]) == 2
    assert "pip install atheris" in capsys.readouterr().out


# The record


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "evidence.json"
    monkeypatch.setattr(evidence, "RECORD", path)
    return path


def run_of(target: str, **rest: Any) -> dict[str, Any]:
    run = {"target": target, "count": 10, "seconds": 2.0, "findings": [], "seed": 3}
    return run | rest | evidence.circumstances()


def test_runs_add_up_and_the_next_begins_behind_them(record: Path) -> None:
    assert evidence.next_document() == 0
    evidence.add([run_of("tokens", first=0, end=1_000), run_of("calls", count=5)])
    evidence.add([run_of("tokens", first=500, end=2_000)])
    assert evidence.next_document() == 2_000
    page = evidence.page(evidence.entries())
    assert "| 2,000 | 4 | none |" in page
    assert (
        "\n2,000 documents of the token fuzzer and 0 runs of atheris; no finding is left that is not fixed.\n" in page
    )
    assert "calls written and read back | 5 | 2 | none |" in page
    assert {"date", "version", "commit", "python"} <= evidence.entries()[0].keys()
    assert len(record.read_text("utf-8").splitlines()) == 5  # a line for each run, for the sake of differences


def test_a_finding_is_kept_so_that_it_can_be_tried_again(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"limits": Limits(block_size=40), "reasoning_tags": ("plan",), "strict": True}
    kept = evidence.case_found(Finding(7, "law_any_cut", Case(["\ud800<&", "&"], "diff", options)))
    evidence.add([run_of("tokens", first=0, end=9, findings=[kept])])
    kept = evidence.entries()[0]["findings"][0]
    assert not evidence.stands(kept)
    assert "1, all fixed" in evidence.page(evidence.entries())
    monkeypatch.setattr(quick, "Parser", Raising)
    assert evidence.stands(kept | {"text": "ö"})
    assert evidence._case(kept).options["limits"] == Limits(block_size=40)


def test_bytes_that_break_a_target_are_kept(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = evidence.bytes_found("sse", b"data: x\r\n")
    assert not evidence.stands(kept)
    monkeypatch.setattr(targets, "_events", lambda stream: [])
    assert evidence.stands(kept)
    page = evidence.page([run_of("atheris sse", findings=[kept])])
    assert "1, 1 of them not fixed" in page
    assert kept["hex"] in page


def test_a_page_without_runs_says_so() -> None:
    assert "nothing yet" in evidence.page([])


FINDINGS = [finding for entry in evidence.entries() for finding in entry["findings"]]


@pytest.mark.parametrize("finding", FINDINGS, ids=ascii)
def test_what_was_found_is_mended(finding: dict[str, Any]) -> None:
    assert not evidence.stands(finding)


# The command


def test_the_command_tries_what_has_a_count(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--tokens", "60", "--documents", "4", "--calls", "6", "--schemas", "8", "--seed", "1", "--jobs", "2"]
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    assert "tokens: 60 in" in said
    assert "documents: 4 in" in said
    assert "calls: 6 in" in said
    assert "schemas: 8 in" in said
    assert "grammars:" not in said
    assert said.endswith("seed 1: nothing found\n")
    assert not record.exists()


@pytest.mark.parametrize(("words", "folder"), [(["tests/fuzz"], "."), (["-m", "fuzz"], "tests")], ids=str)
def test_the_command_is_a_folder_and_a_module(words: list[str], folder: str) -> None:
    command = [sys.executable, *words, "--tokens", "20", "--first", "0", "--jobs", "1", "--seed", "5"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root / folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("seed 5: nothing found\n")


ROOT = Path(__file__).parents[2]
FAULTY = """
import sys
sys.path.insert(0, {root!r})
import xmltools.parser
from xmltools.parser import Parser

class Faulty(Parser):
    __slots__ = ()
    late = []
{methods}
xmltools.parser.Parser = Faulty
"""
FORGETS = """
    def feed(self, chunk):
        return [] if chunk == "e" else super().feed(chunk)
"""
IS_LATE = """
    def feed(self, chunk):
        events, Faulty.late = Faulty.late, super().feed(chunk)
        return events

    def close(self):
        events, Faulty.late = Faulty.late, []
        return events + super().close()
"""


def version(folder: Path, methods: str) -> str:
    """A version with a fault: ours, changed where its Python starts."""
    (folder / "sitecustomize.py").write_text(FAULTY.format(root=str(ROOT), methods=methods), "utf-8")
    return str(folder)


def test_a_version_says_what_it_says_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--against", str(ROOT), "--number", "200", "--seed", "3", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "200 replies in" in said
    assert said.endswith("seed 3: nothing found\n")


def test_a_dialect_that_only_versions_are_compared_in_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--dialects", "9", "--dialect", "forge"])
    assert "--dialect forge needs --against" in capsys.readouterr().err


def test_a_version_that_says_something_else_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--against", version(tmp_path, FORGETS), "--number", "60", "--seed", "3", "--jobs", "1"]
    assert cli.main([*arguments, "--dialect", "forge", "--dialect", "glm"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"FOUND: .+, reply \d+ of seed 3, at its smallest:\n  dialect (forge|glm), options {", said)
    assert re.search(r"\n  chunks \[.*'e'.*\n  other: .*\n  ours:  ", said)
    assert re.search(r"\d+ replies differ in .+\nseed 3: differences found\n$", said)


def test_a_reply_that_two_versions_read_differently_is_made_small(tmp_path: Path) -> None:
    found = (["Say", "ing ", "e", "", " so"], json.dumps([{"name": "f"}]), {"strict": True, "also": "known"})
    with closing(against.Pair(version(tmp_path, FORGETS))) as pair:
        chunks, tools, options = against._smaller(pair, "TextDelta.text", found)
    assert (sorted(map(len, filter(None, chunks))), tools, options) == ([1, 1], None, {})
    assert "e" in chunks


def test_ours_may_give_text_earlier_and_not_later(tmp_path: Path) -> None:
    reply = (["a", "b "], None, {})
    late = version(tmp_path, IS_LATE)
    for versions, kind in (((late, str(ROOT)), None), ((str(ROOT), late), "text that comes later")):
        with closing(against.Pair(*versions)) as pair:
            assert getattr(pair.difference(reply), "kind", None) == kind


def test_replies_for_another_version_are_of_all_kinds_and_the_same_each_time() -> None:
    trials = [replies.trial(Random(number)) for number in range(600)]
    assert trials == [replies.trial(Random(number)) for number in range(600)]
    assert {options.get("dialect", "forge") for _, _, options in trials} == {each.name for each in dialects.all()}
    assert replies.trial(Random(1), ["glm"])[2]["dialect"] == "glm"


def test_the_time_is_shared_by_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "available", lambda: True)
    plan = cli._plan(cli._asked(["--seconds", "80"]))
    parts = ("tokens", "plain", "dialects", "documents", "calls", "schemas", "grammars", "atheris")
    assert plan == [(part, 10.0) for part in parts]


@pytest.mark.parametrize(
    ("arguments", "plan"),
    [
        (["--tokens", "9", "--calls", "9"], [("tokens", None), ("calls", None)]),
        (["--runs", "9"], [("atheris", None)]),
        (["--atheris", "sse", "--runs", "9", "--tokens", "1"], [("tokens", None), ("atheris", None)]),
        (["--atheris", "sse", "--seconds", "7"], [("atheris", 7.0)]),
    ],
    ids=str,
)
def test_only_what_is_asked_for_is_tried(arguments: list[str], plan: list[tuple[str, float | None]]) -> None:
    assert cli._plan(cli._asked(arguments)) == plan


def test_a_target_beside_a_count_needs_a_count_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--tokens", "9", "--atheris", "sse"])
    assert "needs --runs" in capsys.readouterr().err


def test_the_dialects_that_are_named_are_tried_each_once(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--dialect", "also", "--dialect", "glm", "--dialect", "also", "--dialects", "20", "--seed", "1"]
    assert cli.main([*arguments, "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    tried = [line.split(" in ")[0] for line in said.splitlines() if line.startswith("dialect ")]
    assert tried == ["dialect glm: 20", "dialect also: 20"]


def test_a_dialect_that_is_not_tried_is_refused_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--dialects", "9", "--dialect", "klingon"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "argument --dialect" in said
    assert "'klingon'" in said
    assert all(kind in said for kind in KINDS)


@pytest.mark.parametrize("others", [["--tokens", "9"], ["--atheris", "sse"], ["--runs", "9"]], ids=str)
def test_a_dialect_beside_another_count_needs_one_too(others: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([*others, "--dialect", "glm"])
    assert "needs --dialects" in capsys.readouterr().err


def test_a_dialect_may_be_named_where_all_parts_share_the_time() -> None:
    assert "dialects" in dict(cli._plan(cli._asked(["--dialect", "glm"])))


def test_a_law_of_the_laws_finds_what_is_shown_to_it() -> None:
    assert law_spans in quick.QUICK_LAWS
    law_one_cut(Case(["<tool><tool_name>a</tool_name></tool>"]))


def test_what_separates_two_calls_is_known_only_where_the_second_begins() -> None:
    call = '<|python_tag|>{"name": "types", "parameters": {}}'
    for length in range(60):  # the law takes one prefix or two of each
        law_prefix(Case([f"{call};{' ' * length}{{"], "types", {"dialect": "llama3_json"}))


def test_engines_walk_through_the_grammars_of_the_dialects_that_are_named(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--walks", "20", "--dialect", "glm", "--seed", "1", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    tried = [line.split(":")[0] for line in said.splitlines() if line.startswith("walks ")]
    assert tried == ["walks glm gbnf", "walks glm lark", "walks glm structural_tag"]
    assert "20 walks" in said


def test_calls_are_written_in_the_dialects_that_are_named(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--written", "30", "--dialect", "glm", "--dialect", "hermes", "--seed", "1", "--jobs", "1"]
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    tried = [line.split(" in ")[0] for line in said.splitlines() if line.startswith("written ")]
    assert tried == ["written hermes: 30", "written glm: 30"]
