"""Tools that the client runs and that models know by their type: OpenAI's shells and patches, through its own client.

"Only tools that the provider itself runs are left out": the others are tools for the model, and calls of them are items
of the API.
"""

from __future__ import annotations

from typing import Any

import pytest

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from proxy.test_server_upstream import reply  # noqa: E402 - it needs uvicorn
from xmltools.conversations.streams import ResponsesStream  # noqa: E402
from xmltools.errors import XMLToolsError  # noqa: E402
from xmltools.models.events import CallFailed  # noqa: E402
from xmltools.parser import Parser  # noqa: E402
from xmltools.proxy.bridge import Exchange, Refusal, Settings  # noqa: E402
from xmltools.tools import Tool  # noqa: E402

SHELLS: Any = [{"type": "local_shell"}, {"type": "shell"}, {"type": "apply_patch"}]
CONTAINER = {"type": "shell", "environment": {"type": "container_auto"}}
SKILL = {"name": "tables", "path": "/skills/tables", "description": "Draw tables."}
DIFF = "@@ def run():\n-    a < b\n+    a <= b\n"
KINDS = ("local_shell_call", "shell_call", "apply_patch_call")


def block(name: str, arguments: str) -> str:
    return f"<tool><tool_name>{name}</tool_name><arguments>{arguments}</arguments></tool>"


LOCAL = block(
    "local_shell",
    "<command><item>bash</item><item>-lc</item><item>ls | head</item></command>"
    "<working_directory>/tmp</working_directory><timeout_ms>500</timeout_ms><env><A>1</A></env>",
)
LOCAL_ACTION = {
    "type": "exec",
    "command": ["bash", "-lc", "ls | head"],
    "working_directory": "/tmp",
    "timeout_ms": 500,
    "env": {"A": "1"},
    "user": None,
}
SHELL = block("shell", "<commands><command>ls</command><command>pwd</command></commands><timeout_ms>9</timeout_ms>")
SHELL_ACTION = {"commands": ["ls", "pwd"], "timeout_ms": 9, "max_output_length": None}
UPDATE = block("apply_patch", f"<type>update_file</type><path>a.py</path><diff><![CDATA[{DIFF}]]></diff>")
UPDATE_OPERATION = {"type": "update_file", "path": "a.py", "diff": DIFF}
DELETE = block("apply_patch", "<type>delete_file</type><path>a.py</path><diff>all of it</diff>")
CALLS = [
    (LOCAL, "local_shell_call", "action", LOCAL_ACTION),
    (SHELL, "shell_call", "action", SHELL_ACTION),
    (UPDATE, "apply_patch_call", "operation", UPDATE_OPERATION),
    (DELETE, "apply_patch_call", "operation", {"type": "delete_file", "path": "a.py"}),
]
REJECTED = {
    "a value outside the schema": block("apply_patch", "<type>rename_file</type><path>a.py</path><diff>x</diff>"),
    "no patch for an update": block("apply_patch", "<type>update_file</type><path>a.py</path>"),
    "no command": block("local_shell", "<working_directory>/</working_directory>"),
    "no commands": block("shell", "<commands></commands>"),
    "a time that is none": block("shell", "<commands><command>ls</command></commands><timeout_ms>soon</timeout_ms>"),
    "an argument too many": block("shell", "<commands><command>ls</command></commands><sudo>true</sudo>"),
    "never ended": "<tool><tool_name>shell</tool_name><arguments><commands><command>rm -rf /tmp/a",
}


@pytest.mark.parametrize(("text", "kind", "key", "held"), CALLS, ids=["local_shell", "shell", "update", "delete"])
def test_a_call_is_an_item_of_the_api(open_client: Any, text: str, kind: str, key: str, held: Any) -> None:
    client, upstream = open_client(text)
    [item] = client.responses.create(model="m", input="Go.", tools=SHELLS).output
    assert (item.type, item.status) == (kind, "completed")
    assert item.call_id and item.id != item.call_id
    found = item.to_dict()[key]
    assert found == held
    assert list(getattr(item, key).to_dict()) == list(found)  # the SDK has a type for it
    assert "tools" not in upstream.seen[-1].json


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(("text", "kind", "key", "held"), CALLS, ids=["local_shell", "shell", "update", "delete"])
def test_a_call_streams(open_client: Any, text: str, kind: str, key: str, held: Any, live: bool) -> None:
    client, _ = open_client(f"So:\n{text}", settings=Settings(live_arguments=live))
    with client.responses.stream(model="m", input="Go.", tools=SHELLS) as stream:
        events = list(stream)
        response = stream.get_final_response()
    message, item = response.output
    assert (message.type, item.type, item.to_dict()[key]) == ("message", kind, held)
    added, done = (
        next(each.item for each in events if each.type == f"response.output_item.{what}" and each.item.type == kind)
        for what in ("added", "done")
    )
    assert (added.status, done.status) == ("in_progress", "completed")
    assert added.call_id == done.call_id == item.call_id
    assert [each.sequence_number for each in events] == sorted({each.sequence_number for each in events})


def test_the_commands_of_a_shell_are_told_of_one_by_one(open_client: Any) -> None:
    client, _ = open_client(SHELL)
    events = list(client.responses.create(model="m", input="Go.", tools=SHELLS, stream=True))
    told = [each for each in events if each.type.startswith("response.shell_call_command.")]
    assert [(each.type.rpartition(".")[2], each.command_index, each.output_index) for each in told] == [
        (what, index, 0) for index in (0, 1) for what in ("added", "delta", "done")
    ]
    assert "".join(each.delta for each in told if each.type.endswith("delta")) == "lspwd"
    assert [each.command for each in told if each.type.endswith("done")] == ["ls", "pwd"]
    [added] = [each for each in events if each.type == "response.output_item.added"]
    assert added.item.action.commands == []


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("why", REJECTED)
def test_a_rejected_call_is_never_an_item(open_client: Any, why: str, stream: bool, live: bool) -> None:
    """No client runs a rejected or cut-off call."""
    client, _ = open_client(REJECTED[why], settings=Settings(live_arguments=live))
    ask: Any = {"model": "m", "input": "Go.", "tools": SHELLS, "stream": stream}
    said = client.responses.create(**ask)
    if not stream:
        assert [item.type for item in said.output] == ["message"]
        return
    for event in said:
        assert event.type.startswith("response.") and "shell" not in event.type
        if event.type in ("response.output_item.added", "response.output_item.done"):
            assert event.item.type not in KINDS
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            assert not [item for item in event.response.output if item.type in KINDS]


def test_a_call_that_is_right_the_second_time_is_one_item(open_client: Any) -> None:
    texts = iter([REJECTED["no patch for an update"], UPDATE])
    client, upstream = open_client(lambda seen: reply(next(texts))(seen))
    [item] = client.responses.create(model="m", input="Go.", tools=SHELLS).output
    assert item.operation.diff == DIFF
    assert "diff" in upstream.seen[-1].json["messages"][-1]["content"]


# What the client ran


def test_the_results_are_read(open_client: Any) -> None:
    """A loop of two turns for each tool: what the client sends back is its own item and a result."""
    results: dict[str, Any] = {
        "local_shell_call": {"output": '{"stdout":"a"}'},
        "shell_call": {
            "output": [
                {"stdout": "a\nb\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "slow\n", "outcome": {"type": "timeout"}},
            ],
            "max_output_length": 100,
        },
        "apply_patch_call": {"status": "failed", "output": "No such file."},
    }
    heard = {
        "local_shell_call": 'Tool: local_shell\nResult: {"stdout":"a"}',
        "shell_call": "Tool: shell\nResult: a\nb\nExit code: 0\n\nstderr:\nslow\nIt took too long and was stopped.",
        "apply_patch_call": "Tool: apply_patch\nError: No such file.",
    }
    for text, kind, _, _ in CALLS[:3]:
        texts = iter([text, "Well."])
        client, upstream = open_client(lambda seen, texts=texts: reply(next(texts))(seen))
        first = client.responses.create(model="m", input="Go.", tools=SHELLS)
        [item] = first.output
        result = {"type": f"{kind}_output", "call_id": item.call_id, **results[kind]}
        items = [{"role": "user", "content": "Go."}, item.to_dict(), result]
        second = client.responses.create(model="m", input=items, tools=SHELLS)
        assert second.output_text == "Well."
        *_, asked, told = upstream.seen[-1].json["messages"]
        assert asked["role"] == "assistant"
        [again] = Exchange("responses", {"model": "m", "input": "Go.", "tools": SHELLS}).answer(said(asked["content"]))[
            "output"
        ]  # type: ignore[index]
        assert {**again, "id": "", "call_id": ""} == {**item.to_dict(), "id": "", "call_id": ""}
        assert told == {"role": "user", "content": heard[kind]}


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def last(*items: Any, **fields: Any) -> str:
    request = {"model": "m", "input": [{"role": "user", "content": "Go."}, *items], "tools": SHELLS, **fields}
    content: str = Exchange("responses", request).request["messages"][-1]["content"]
    return content


PATCHED = {"type": "apply_patch_call", "call_id": "p1", "status": "completed", "operation": UPDATE_OPERATION}
RAN = {"type": "shell_call", "call_id": "s1", "status": "completed", "action": {"commands": ["ls"], "timeout_ms": None}}
EXEC = {"type": "exec", "command": ["ls"], "env": {}, "timeout_ms": None}


@pytest.mark.parametrize(
    ("items", "heard"),
    [
        (
            [PATCHED, {"type": "apply_patch_call_output", "call_id": "p1", "status": "completed"}],
            "Tool: apply_patch\nResult: Done.",
        ),
        (
            [PATCHED, {"type": "apply_patch_call_output", "call_id": "p1", "status": "failed", "output": None}],
            "Tool: apply_patch\nError: The patch was not applied.",
        ),
        (
            [RAN, {"type": "shell_call_output", "call_id": "s1", "output": []}],
            "Tool: shell\nResult: There was no output.",
        ),
        (
            [  # as the SDK's types have it: the result has the id of the item
                {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": EXEC, "status": "completed"},
                {"type": "local_shell_call_output", "id": "lsh_1", "output": "a"},
            ],
            "Tool: local_shell\nResult: a",
        ),
        (
            [  # as older clients have it: only one id
                {"type": "local_shell_call", "id": "lsh_1", "call_id": None, "action": EXEC, "status": "completed"},
                {"type": "function_call_output", "call_id": "lsh_1", "output": "a"},
            ],
            "Tool: local_shell\nResult: a",
        ),
    ],
)
def test_results_are_told_whatever_is_left_out(items: list[Any], heard: str) -> None:
    assert last(*items) == heard


def test_what_a_call_leaves_open_is_not_in_it_when_it_is_told_again() -> None:
    messages = Exchange("responses", {"model": "m", "input": [{"role": "user", "content": "Go."}, RAN]}).request[
        "messages"
    ]
    assert "timeout" not in messages[-1]["content"] and "<command>ls</command>" in messages[-1]["content"]


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "shell_call", "call_id": "s1"}, "input[0].action"),
        ({"type": "shell_call", "call_id": "s1", "action": "ls"}, "input[0].action"),
        ({"type": "apply_patch_call", "call_id": "s1"}, "input[0].operation"),
        ({"type": "local_shell_call", "action": EXEC}, "input[0].call_id"),
        ({"type": "shell_call_output", "call_id": "s1", "output": "text"}, "input[0].output"),
        ({"type": "shell_call_output", "call_id": "s1", "output": ["text"]}, "input[0].output[0]"),
        ({"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": 3}]}, "input[0].output[0].stdout"),
        ({"type": "shell_call_output", "call_id": "s1", "output": [{"outcome": 3}]}, "input[0].output[0].outcome"),
        ({"type": "apply_patch_call_output", "call_id": ["s1"], "status": "failed"}, "input[0].call_id"),
    ],
)
def test_an_item_that_is_none_is_refused_with_its_place(item: dict[str, Any], param: str) -> None:
    with pytest.raises(Refusal) as refused:
        Exchange("responses", {"model": "m", "input": [item], "tools": SHELLS})
    assert refused.value.param == param
    assert str(refused.value).startswith(f"{param}: ")


# The tools of a request


def test_a_shell_in_a_container_is_openais() -> None:
    exchange = Exchange("responses", {"model": "m", "input": "Go.", "tools": [CONTAINER, {"type": "web_search"}]})
    assert exchange.stats.left_out == ["shell", "web_search"]
    assert len(exchange.request["messages"]) == 1


def test_skills_of_the_clients_environment_are_told() -> None:
    shell = {"type": "shell", "environment": {"type": "local", "skills": [SKILL]}}
    system = Exchange("responses", {"model": "m", "input": "Go.", "tools": [shell]}).request["messages"][0]["content"]
    assert "tables in /skills/tables: Draw tables." in system


@pytest.mark.parametrize("kind", ["local_shell", "shell", "apply_patch"])
def test_a_choice_may_be_a_type(kind: str) -> None:
    for choice in ({"type": kind}, {"type": "allowed_tools", "mode": "auto", "tools": [{"type": kind}]}):
        body = {"model": "m", "input": "Go.", "tools": SHELLS, "tool_choice": choice}
        system = Exchange("responses", body).request["messages"][0]["content"]
        assert [name for name in ("local_shell", "shell", "apply_patch") if f"## {name}\n" in system] == [kind]
    with pytest.raises(Refusal, match="tool_choice"):
        Exchange("responses", {"model": "m", "input": "Go.", "tools": [SHELLS[0]], "tool_choice": {"type": "shell"}})


def test_a_function_of_the_same_name_is_refused() -> None:
    function = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
    with pytest.raises(Refusal, match="two of the name 'shell'"):
        Exchange("responses", {"model": "m", "input": "Go.", "tools": [{"type": "shell"}, function]})


def test_strict_requests_have_functions_only() -> None:
    with pytest.raises(Refusal, match="give a function that does it") as refused:
        Exchange("responses", {"model": "m", "input": "Go.", "tools": SHELLS}, Settings(strict_requests=True))
    assert refused.value.param == "tools[0]"


# The stream by itself


@pytest.mark.parametrize("on_failure", ["leave", "text", "drop", "spoil"])
def test_what_failed_is_no_item_of_a_stream_whatever_becomes_of_its_text(on_failure: str) -> None:
    tool = Tool(name="sh", parameters={"type": "object", "properties": {"commands": {"type": "array"}}})
    parser = Parser([tool])
    stream = ResponsesStream(
        id="resp_1", model="m", created_at=1, tools=[tool], client_tools={"sh": "shell"}, on_failure=on_failure
    )
    events = [*parser.feed(block("sh", "<commands><item>ls</item></commands>")[:-20]), *parser.close()]
    assert isinstance(events[-1], CallFailed)
    sent = [*stream.feed(events), *stream.close()]
    assert not [data for _, data in sent if data.get("item", {}).get("type") == "shell_call"]


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(XMLToolsError, match="client_tools: expected one of the types tool_search"):
        ResponsesStream(id="resp_1", model="m", created_at=1, client_tools={"a": "browser"})
