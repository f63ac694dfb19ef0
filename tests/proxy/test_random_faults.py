"""Some hundred streams with random faults on both sides; `python tests/proxy/faults.py` runs as many as are wanted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz import cli, evidence

from proxy.faults import CLIENT_FAULTS, UPSTREAM_FAULTS, Answer, Plan, ProblemError, Step, Tally, judge, mark, run

SEED = 0  # one of those with which so few streams have every fault
STREAMS = 220


@pytest.fixture(scope="module")
def tally() -> Tally:
    return run(SEED, range(STREAMS))


def ended(tally: Tally) -> Counter[str]:
    ends: Counter[str] = Counter()
    for (_, _, end), count in tally.faults.items():
        ends[end] += count
    return ends


def test_no_fault_makes_a_stream_hang_lie_or_hold_the_words_of_another(tally: Tally) -> None:
    assert not tally.findings, "\n".join(map(str, tally.findings))
    assert tally.streams == STREAMS


def test_streams_end_in_every_way_that_there_is(tally: Tally) -> None:
    assert ended(tally).keys() >= {"complete", "error event", "error status", "closed", "left"}


def test_every_fault_occurs(tally: Tally) -> None:
    assert {upstream for upstream, _, _ in tally.faults} == UPSTREAM_FAULTS.keys()
    assert {client for _, client, _ in tally.faults} == CLIENT_FAULTS.keys()


def test_a_run_is_put_on_record_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evidence, "RECORD", tmp_path / "evidence.json")
    monkeypatch.setattr(evidence, "write_page", lambda: tmp_path)
    assert cli.main(["--faults", "30", "--seed", "1", "--jobs", "1", "--record"]) == 0
    assert "faults: 30 in" in capsys.readouterr().out
    (run,) = evidence.entries()
    assert (run["target"], run["count"], run["seed"]) == ("faults", 30, 1)
    assert sum(count for ends in run["client"].values() for count in ends.values()) == 30
    page = evidence.page([run])
    assert "| `faults` | streams through the proxy" in page
    assert "| upstream: none |" in page and "| client: none |" in page
    assert page.count("\n| 1 | ") == 1  # what the process held


def steps(plan: Plan) -> list[Step]:
    rng = plan.random("upstream 1")
    return UPSTREAM_FAULTS[plan.upstream][1](rng, Answer.of(plan, rng))


def test_a_stream_of_a_seed_is_always_the_same() -> None:
    plans = [Plan.make(1, number) for number in range(50)]
    assert plans == [Plan.make(1, number) for number in range(50)]
    assert plans != [Plan.make(2, number) for number in range(50)]
    assert [steps(plan) for plan in plans] == [steps(plan) for plan in plans]


# What is found if the server does wrong

PLAN = Plan(1, 7, "/v1/chat/completions", True, True, False, 1, "none", "none")
WHOLE = replace(PLAN, streams=False)


def http(body: bytes, kind: str = "text/event-stream", status: int = 200, more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + more + b"\r\n" + body


def said(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> bytes:
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def called(arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}


TEXT = {"content": PLAN.text}
CALL = called(json.dumps(PLAN.arguments, ensure_ascii=False, separators=(",", ":")))
DONE = b"data: [DONE]\n\n"
ERROR = b'data: {"error":{"message":"no"}}\n\n'
STRANGER = mark(8)


def test_what_a_right_answer_is() -> None:
    assert judge(PLAN, http(said(TEXT, CALL) + DONE), 1).end == "complete"
    cut = replace(PLAN, upstream="cut")
    assert judge(cut, http(said({"content": "On it"}, finish=None) + ERROR + DONE), 1).end == "error event"
    assert judge(cut, http(b'{"error":{"message":"no"}}', "application/json", 502), 1).end == "error status"
    assert judge(replace(PLAN, client="leaves"), http(said(TEXT))[:-9], 1).end == "left"


@pytest.mark.parametrize(
    ("plan", "data", "problem"),
    [
        (PLAN, b"", "the connection was closed"),
        (PLAN, http(said(TEXT, CALL) + DONE)[:-3], "the connection was closed"),
        (PLAN, http(said(TEXT, CALL)), "has no end"),
        (PLAN, http(said(TEXT, CALL, finish=None) + DONE), "has no end"),
        (PLAN, http(said(TEXT, CALL) + DONE[:-1]), "ends inside an event"),
        (PLAN, http(said(TEXT, CALL) + ERROR + DONE), "nothing went wrong"),
        (PLAN, http(said(TEXT, called("{}")) + DONE), "seems complete"),
        (PLAN, http(said({"content": "On it"}, CALL) + DONE), "seems complete"),
        (PLAN, http(said(TEXT, CALL, {"content": STRANGER}) + DONE), r"the words of \[8\]"),
        (PLAN, http(said({"content": STRANGER[:4]}, {"content": STRANGER[4:]}) + DONE), r"the words of \[8\]"),
        (PLAN, http(said(TEXT, CALL) + DONE) + b"x", "behind the answer"),
        (PLAN, http(b"", more=b"x-request-id: n-8\r\n"), "the answer is for n-8"),
        (PLAN, b"nonsense\r\n\r\n", "does not speak HTTP"),
        (PLAN, http(b"no", "text/html", 502), "no JSON"),
        (PLAN, http(b"{}", "application/json", 502), "no error"),
        (WHOLE, http(b"{", "application/json"), "no JSON"),
        (replace(PLAN, upstream="cut"), http(said({"content": "Off"}, finish=None) + ERROR + DONE), "not its words"),
        (replace(PLAN, client="pipelines"), http(said(TEXT, CALL) + DONE), "no answer"),
        (replace(PLAN, client="bad request"), http(said(TEXT, CALL) + DONE), "was answered"),
        (replace(PLAN, path="/v1/messages"), http(b'{"error":{}}', "application/json", 400), "no error"),
        (replace(PLAN, path="/v1/messages"), http(b'{"error":{"x":1}}', "application/json", 400), "words of the API"),
    ],
)
def test_what_a_wrong_answer_is(plan: Plan, data: bytes, problem: str) -> None:
    with pytest.raises(ProblemError, match=problem):
        judge(plan, data, 2 if plan.client == "pipelines" else 1)
