"""`xmltools convert`: what goes in, what comes out, what is said on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Convert = Callable[..., tuple[int, Any, str]]

HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2 + 2?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":2}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "4"},
    {"role": "assistant", "content": "4"},
]


@pytest.fixture
def convert(run: Any) -> Convert:
    """Run `convert`; returns status, the JSON that was printed, and standard error."""

    def convert(*arguments: str, given: Any = HISTORY, raw: str | None = None) -> tuple[int, Any, str]:
        status, out, said = run("convert", *arguments, stdin=json.dumps(given) if raw is None else raw)
        return status, json.loads(out) if out else None, said

    return convert


def test_an_openai_history_becomes_an_anthropic_request(convert: Convert) -> None:
    status, written, said = convert("--to", "anthropic")
    assert (status, said) == (0, "")
    assert written["system"] == "Be brief."
    assert [message["role"] for message in written["messages"]] == ["user", "assistant", "user", "assistant"]
    assert written["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 2}}
    ]


def test_there_and_back_is_where_it_began(convert: Convert) -> None:
    _, request, _ = convert("--to", "anthropic")
    status, written, said = convert("--from", "anthropic", "--to", "openai", given=request)
    assert (status, written, said) == (0, HISTORY, "")


def test_wolo_gets_ids_and_times_and_what_was_stored_stays_as_it_is(convert: Convert) -> None:
    status, written, said = convert("--to", "wolo", "--strict")
    assert (status, said) == (0, "")
    assert len({message["id"] for message in written}) == len(written) == 4
    assert all(message["timestamp"] > 0 for message in written)
    assert convert("--from", "wolo", "--to", "wolo", given=written) == (0, written, "")


def test_what_is_lost_is_said(convert: Convert, tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(HISTORY), "utf-8")
    status, written, said = convert(str(file), "--to", "forge", raw="")
    assert status == 0
    assert written[2]["content"].startswith("<tool>\n<server_name>")
    assert said.splitlines() == [
        f"{file}: call_ids: message 2: forge cannot hold ids of calls",
        f"{file}: types: message 2: numbers and booleans in the arguments of 'add' become text (give the tools)",
    ]
    status, written, said = convert(str(file), "--to", "forge", "--strict", raw="")
    assert (status, written) == (1, None)
    assert "strict: message 2: forge cannot hold ids of calls" in said


def test_many_losses_of_one_kind_are_counted(convert: Convert) -> None:
    many = [HISTORY[1], *HISTORY[2:4] * 30]
    for number, message in enumerate(many := json.loads(json.dumps(many))):
        if message["role"] == "assistant":
            message["tool_calls"][0]["id"] = many[number + 1]["tool_call_id"] = f"c{number}"
    _, _, said = convert("--to", "forge", given=many)
    assert said.count("call_ids: message") == 20
    assert said.endswith("-: call_ids: 10 more of this kind\n-: types: 10 more of this kind\n")


@pytest.mark.parametrize(
    ("arguments", "raw", "status", "said"),
    [
        (["--to", "antropic"], "[]", 2, "invalid choice: 'antropic'"),
        ([], "[]", 2, "--to"),
        (["--to", "openai"], '[{"role": "user", "content": "x"}]', 1, "say which"),
        (["--to", "openai"], "[]\n[]\n", 1, "-: expected one conversation as JSON, got JSON Lines, 2 values: give one"),
        (
            ["--from", "gemini", "--to", "openai"],
            '[{"role": "user", "content": "x"}]',
            1,
            "-: content 0: parts: expected",
        ),
        (["--to", "openai"], "", 1, "-: expected a conversation as JSON, got nothing"),
        (["--to", "openai"], "{", 1, "-:1:2: expected a conversation as JSON"),
        (["--to", "openai", "--from", "anthropic"], "5", 1, "-: "),
        (["--to", "openai", "--tools", "-"], "[]", 2, "only one of FILE and --tools"),
        (["--from", "openai", "--to", "wick", "--bracket-reasoning"], "[]", 2, "--bracket-reasoning is for forge"),
        (["--from", "forge", "--to", "wick", "--json-to-xml"], "[]", 2, "--json-to-xml is for forge"),
    ],
)
def test_what_goes_wrong_is_one_line(convert: Convert, arguments: list[str], raw: str, status: int, said: str) -> None:
    got, written, stderr = convert(*arguments, raw=raw)
    assert (got, written) == (status, None)
    assert said in stderr
    assert stderr.count("\n") == 1


def test_forges_brackets_are_read_and_written_if_asked_for(convert: Convert) -> None:
    stored = [{"role": "assistant", "content": "[Let me see.]\n\nParis."}]
    _, wire, _ = convert("--from", "forge", "--to", "openai", "--bracket-reasoning", given=stored)
    assert wire == [{"role": "assistant", "content": "Paris.", "reasoning_content": "Let me see."}]
    assert convert("--from", "openai", "--to", "forge", "--bracket-reasoning", given=wire) == (0, stored, "")


def test_stored_json_becomes_xml(convert: Convert) -> None:
    block = '<tool>{"tool_name": "add", "arguments": {"a": "x"}}</tool>'
    status, written, said = convert("--to", "forge", "--json-to-xml", given=[{"role": "assistant", "content": block}])
    assert (status, said) == (0, "")
    assert written[0]["content"].startswith("<tool>\n<server_name>local</server_name>\n<tool_name>add</tool_name>")


def test_the_same_ids_and_times_are_made_for_a_given_time(convert: Convert) -> None:
    status, written, said = convert("--to", "wolo", "--now", "1704067200")
    assert (status, said) == (0, "")
    assert [message["id"] for message in written] == ["id_1", "id_2", "id_3", "id_4"]
    assert {message["timestamp"] for message in written} == {1704067200.0}
    assert convert("--to", "wolo", "--now", "1704067200") == (0, written, "")
    status, nothing, said = convert("--to", "anthropic", "--now", "5")
    assert (status, nothing) == (2, None)
    assert "--now is for wolo, which stores ids and times: give --to wolo" in said
    assert convert("--from", "wolo", "--to", "openai", "--strict", given=written)[:2] == (0, HISTORY)


def test_a_result_without_call_is_told_once(convert: Convert) -> None:
    _, _, said = convert("--from", "openai", "--to", "openai", given=HISTORY[3:])
    assert said.count("orphan_result") == said.count("\n") == 1
