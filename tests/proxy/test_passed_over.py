"""What requests of agents hold that nobody here knows: it is passed over, counted and told once; or refused.

The requests have the fields that Claude Code, Codex and opencode were seen to send, with little in them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from proxy.test_server_upstream import BODIES, Upstream, eventually, reply, world
from xmltools.models import ToolCall
from xmltools.proxy.bridge import Exchange, Refusal, Settings
from xmltools.proxy.server.logging import _JSONFormatter, _TextFormatter
from xmltools.render import render_call

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
STRICT = Settings(strict_requests=True)
CACHED = {"cache_control": {"type": "ephemeral"}}
TEXT = {"type": "string"}
CANARY = "canary-51c0"


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": list(names)}


def function(name: str, *arguments: str) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": f"{name}.",
        "strict": False,
        "parameters": schema(*arguments),
    }


def call(name: str, **arguments: str) -> str:
    return render_call(ToolCall(id="c", name=name, arguments=dict(arguments)))


CLAUDE_CODE: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "Do it.", **CACHED}]},
        {"role": "system", "content": "The agents are: none."},
    ],
    "system": [{"type": "text", "text": "You are an agent.", **CACHED}, {"type": "text", "text": "Be brief."}],
    "tools": [{"name": "Bash", "description": "Run it.", "input_schema": schema("command")}],
    "metadata": {"user_id": "u"},
    "max_tokens": 32000,
    "thinking": {"type": "adaptive"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "high"},
    "stream": True,
}
AGENTS = {
    "type": "namespace",
    "name": "multi_agent_v1",
    "description": "Start agents.",
    "tools": [function("spawn_agent", "task"), function("wait_agent")],
}
GRAMMAR = 'start: begin_patch\nbegin_patch: "*** Begin Patch"'
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edit files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
}
SEARCH = {
    "type": "tool_search",
    "execution": "client",
    "description": "Find tools.",
    "parameters": {"type": "object", "properties": {"query": TEXT, "limit": {"type": "integer"}}},
}
CODEX: dict[str, Any] = {
    "model": "m",
    "input": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "developer",
            "content": [{"type": "input_text", "text": "Be brief."}],
        },
        {"type": "message", "id": "msg_2", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]},
    ],
    "tools": [
        function("exec_command", "cmd"),
        PATCH,
        AGENTS,
        SEARCH,
        {"type": "web_search", "external_web_access": True},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto", "context": "all"},
    "text": {"verbosity": "low"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
    "client_metadata": {"session_id": "s"},
}
OPENCODE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 32000,
    "messages": [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Do it."}],
    "tools": [
        {"type": "function", "function": {"name": "bash", "description": "Run it.", "parameters": schema("command")}}
    ],
    "tool_choice": "auto",
    "stream": True,
    "stream_options": {"include_usage": True},
}


def without_stream(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}


def answered(api: Any, body: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The response to a request if the model says this."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    response = Exchange(api, without_stream(body)).answer({"choices": [choice]})
    assert response is not None
    return response


def streamed(body: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """The events of the Responses API if the model says this, cut into small pieces."""
    exchange = Exchange("responses", {**body, "stream": True})
    sent = b""
    for at in range(0, len(text), 5):
        sent += exchange.feed({"choices": [{"index": 0, "delta": {"content": text[at : at + 5]}}]})
    sent += exchange.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + exchange.end()
    lines = sent.decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


# What agents send


@pytest.mark.parametrize(
    ("api", "body", "ignored", "left_out"),
    [
        ("messages", CLAUDE_CODE, ["context_management", "output_config.effort"], []),
        ("responses", CODEX, ["client_metadata", "reasoning.context"], ["web_search"]),
        ("chat", OPENCODE, [], []),
    ],
)
def test_the_requests_of_agents_are_taken(
    api: Any, body: dict[str, Any], ignored: list[str], left_out: list[str]
) -> None:
    exchange = Exchange(api, body)
    assert (exchange.stats.ignored, exchange.stats.left_out) == (ignored, left_out)
    sent = exchange.request
    assert not {name.partition(".")[0] for name in ignored} & sent.keys() - {"reasoning"}
    assert [each["role"] for each in sent["messages"]][:2] == ["system", "user"]
    assert "Do it." in sent["messages"][-1]["content"]
    if ignored:
        with pytest.raises(Refusal, match=ignored[0].partition(".")[0]):
            Exchange(api, body, STRICT)
    else:
        assert Exchange(api, body, STRICT).request == sent


def test_what_the_system_says_later_is_told_by_the_user_as_many_templates_want() -> None:
    [system, user] = Exchange("messages", CLAUDE_CODE).request["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "You are an agent." in system["content"] and "none" not in system["content"]
    assert user["content"].endswith("<system-message>\nThe agents are: none.\n</system-message>")


@pytest.mark.parametrize(
    ("fields", "sent", "ignored"),
    [
        ({"temperature": 0.5, "top_k": 3, "seed": 4}, {"temperature": 0.5, "top_k": 3, "seed": 4}, []),
        ({"guided_regex": "a+"}, {"guided_regex": "a+"}, []),
        ({"mcp_servers": [{"name": "a"}], "container": "c"}, {}, ["mcp_servers", "container"]),
        ({"inference_geo": "eu", "speed": "fast", "betas": []}, {}, ["inference_geo", "speed"]),
        ({"stream_options": {"a": 1}, "parallel_tool_calls": True}, {}, ["stream_options", "parallel_tool_calls"]),
        ({"thinking": {"type": "deep"}}, {}, ["thinking"]),
        ({"output_config": {"effort": None}}, {}, []),
        ({"output_config": 7}, {}, ["output_config"]),
    ],
)
def test_fields_of_anthropic_go_on_if_they_choose_tokens(
    fields: dict[str, Any], sent: dict[str, Any], ignored: list[str]
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    exchange = Exchange("messages", body)
    assert exchange.stats.ignored == ignored
    assert {
        name: exchange.request[name] for name in exchange.request if name not in ("model", "messages", "stream")
    } == sent


FORM = {"type": "json_schema", "schema": {"type": "object"}}


@pytest.mark.parametrize("fields", [{"output_config": {"format": FORM}}, {"output_format": FORM}])
def test_a_reply_of_a_form_is_asked_for_as_chat_completions_do_but_not_beside_tools(fields: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields}
    form = Exchange("messages", body).request["response_format"]
    assert (form["type"], form["json_schema"]["schema"]) == ("json_schema", {"type": "object"})
    at = "output_format" if "output_format" in fields else "output_config.format"
    with pytest.raises(Refusal, match="or the tools") as refused:
        Exchange("messages", {**body, "tools": CLAUDE_CODE["tools"]})
    assert refused.value.param == at
    wrong = {name: {"format": "x"} if name == "output_config" else "x" for name in fields}
    with pytest.raises(Refusal, match="json_schema"):
        Exchange("messages", {**body, **wrong})
    with pytest.raises(Refusal, match="not supported"):
        Exchange("messages", body, STRICT)


@pytest.mark.parametrize(
    ("item", "ignored"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, ["input.web_search_call"]),
        ({"type": "ghost_of_tomorrow", "content": "boo"}, ["input.ghost_of_tomorrow"]),
        (
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            ["input.reasoning.encrypted_content"],
        ),
        ({"type": "tool_search_call", "execution": "server", "arguments": {}}, []),
        ({"type": "tool_search_output", "execution": "server", "tools": []}, []),
    ],
)
def test_items_that_say_little_are_passed_over(item: dict[str, Any], ignored: list[str]) -> None:
    exchange = Exchange("responses", {"model": "m", "input": [{"role": "user", "content": "Hi"}, item]})
    assert exchange.stats.ignored == ignored
    assert [each["content"] for each in exchange.request["messages"]] == ["Hi"]


DOCUMENT = {"type": "text", "media_type": "text/plain", "data": "It is blue."}
SAYS = {"type": "text", "text": "It is blue."}


@pytest.mark.parametrize(
    ("block", "heard"),
    [
        ({"type": "document", "source": DOCUMENT}, "It is blue."),
        ({"type": "document", "title": "Sky", "context": "By day.", "source": DOCUMENT}, "Sky\nBy day.\nIt is blue."),
        ({"type": "document", "source": {"type": "content", "content": "It is blue."}}, "It is blue."),
        ({"type": "document", "source": {"type": "content", "content": [SAYS]}}, "It is blue."),
        ({"type": "search_result", "title": "Sky", "source": "a.test", "content": [SAYS]}, "Sky\na.test\nIt is blue."),
    ],
)
def test_what_is_text_in_a_block_of_anthropics_reaches_the_model(block: dict[str, Any], heard: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": [block]}]}
    [message] = Exchange("messages", body).request["messages"]
    assert said_in(message["content"]) == heard
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [block]}
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    turns = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    *_, message = Exchange("messages", {"model": "m", "messages": turns}).request["messages"]
    assert message["content"] == f"Tool: look\nResult: {heard}"


def said_in(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_what_anthropics_servers_did_is_counted_and_told_once() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "sky"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "It is blue."},
    ]
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": blocks}]}
    exchange = Exchange("messages", body)
    assert exchange.stats.ignored == ["messages.server_tool_use", "messages.web_search_tool_result"]
    assert exchange.request["messages"][-1]["content"] == "It is blue."
    with pytest.raises(Refusal) as refused:
        Exchange("messages", body, STRICT)
    assert refused.value.param == "messages[1].content[0]"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "container_upload", "file_id": "f"},
    ],
)
def test_a_block_that_is_a_file_elsewhere_is_refused(block: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match=r"messages\[0\]\.content\[0\]: no files are kept here") as refused:
        Exchange("messages", {"model": "m", "messages": [{"role": "user", "content": [block]}]})
    assert refused.value.param == "messages"


def agent_message(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What Codex 0.169 sends where one of its agents tells another something."""
    item = {"type": "agent_message", "id": "amsg_1", "author": "/root", "recipient": "/root/sub"}
    return {**item, "content": list(content), **fields}


ENVELOPE = {"type": "input_text", "text": "Message Type: NEW_TASK\nTask name: /root/sub\nSender: /root\nPayload:\n"}
TOKEN = "gAAAAABp" + "x-_9" * 40 + "=="


@pytest.mark.parametrize(
    ("item", "heard", "ignored"),
    [
        (
            agent_message({"type": "input_text", "text": "Payload:\nCount them."}),
            "Message of the agent /root to /root/sub:\n\nPayload:\nCount them.",
            [],
        ),
        (  # Codex takes it for encrypted, since OpenAI's servers would encrypt what the model writes for an agent
            agent_message(ENVELOPE, {"type": "encrypted_content", "encrypted_content": "Count them."}),
            f"Message of the agent /root to /root/sub:\n\n{ENVELOPE['text']}\n\nCount them.",
            [],
        ),
        (
            agent_message(ENVELOPE, {"type": "encrypted_content", "encrypted_content": TOKEN}),
            f"Message of the agent /root to /root/sub:\n\n{ENVELOPE['text']}\n\n"
            "(Something encrypted that can't be read here.)",
            ["input.content.encrypted_content"],
        ),
        (agent_message(author=None, recipient=None, content="Hi."), "Message of an agent:\n\nHi.", []),
        (
            {"type": "function_call_output", "name": "clock", "namespace": "os", "output": "It is noon."},
            "Output of the tool os__clock:\n\nIt is noon.",
            [],
        ),
    ],
)
def test_what_codex_tells_the_model_unasked_reaches_it(item: dict[str, Any], heard: str, ignored: list[str]) -> None:
    exchange = Exchange("responses", {"model": "m", "input": [item]})
    assert exchange.request["messages"] == [{"role": "user", "content": heard}]
    assert exchange.stats.ignored == ignored


def test_an_image_in_what_an_agent_says_stays_one() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    [message] = Exchange("responses", {"model": "m", "input": [agent_message(image)]}).request["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]


def test_sound_may_be_a_data_url() -> None:
    content = [{"type": "input_audio", "audio_url": "data:audio/mpeg;base64,aGk="}]
    [message] = Exchange("responses", {"model": "m", "input": [{"role": "user", "content": content}]}).request[
        "messages"
    ]
    assert message["content"] == [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}]
    content[0]["audio_url"] = "https://a.test/b.wav"
    with pytest.raises(Refusal, match="as a data: URL") as refused:
        Exchange("responses", {"model": "m", "input": [{"role": "user", "content": content}]})
    assert refused.value.param == "input[0].content[0].audio_url"


def test_a_request_for_a_summary_of_openais_own_is_refused() -> None:
    items = [{"role": "user", "content": "Hi"}, {"type": "compaction_trigger"}]
    with pytest.raises(Refusal, match="ask for a summary in words") as refused:
        Exchange("responses", {"model": "m", "input": items})
    assert refused.value.param == "input[1]"


@pytest.mark.parametrize("kind", ["compaction", "context_compaction"])
def test_an_item_that_stands_for_others_and_can_not_be_read_is_refused(kind: str) -> None:
    items = [{"type": kind, "encrypted_content": "x"}, {"role": "user", "content": "Hi"}]
    with pytest.raises(Refusal, match="send the items themselves") as refused:
        Exchange("responses", {"model": "m", "input": items})
    assert refused.value.param == "input[0]"


# Tools that only the provider runs, and those that the client does


@pytest.mark.parametrize(
    ("api", "tools", "left_out"),
    [
        (
            "messages",
            [
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
                {"type": "code_execution_20260120", "name": "code_execution"},
                {"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 1},
            ],
            ["web_search_20250305", "code_execution_20260120", "computer_20250124"],
        ),
        (
            "responses",
            [{"type": "file_search"}, {"type": "tool_search"}, {"type": "computer"}, {"type": "mcp"}],
            ["file_search", "tool_search", "computer", "mcp"],
        ),
        ("chat", [{"type": "web_search"}], ["web_search"]),
    ],
)
def test_what_only_the_provider_runs_is_left_out(api: Any, tools: list[dict[str, Any]], left_out: list[str]) -> None:
    body = BODIES[PATHS[api]]
    alone = Exchange(api, body)
    beside = Exchange(api, {**body, "tools": [*tools, *body["tools"]]})
    assert beside.request == alone.request
    assert beside.stats.left_out == left_out
    only = Exchange(api, {**body, "tools": tools})
    assert not only.plain and "tools" not in only.request  # an upstream of text could do nothing with them
    with pytest.raises(Refusal) as refused:
        Exchange(api, {**body, "tools": tools}, STRICT)
    assert refused.value.param == "tools[0]"


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("bash_20250124", {"command": "ls", "restart": False}),
        ("text_editor_20250124", {"command": "insert", "path": "a", "insert_line": 0, "new_str": "x"}),
        ("text_editor_20250124", {"command": "undo_edit", "path": "a"}),
        ("text_editor_20250728", {"command": "insert", "path": "a", "insert_line": 3, "insert_text": "x"}),
        ("text_editor_20250728", {"command": "view", "path": "a", "view_range": [1, 9]}),
        ("memory_20250818", {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
    ],
)
def test_what_the_client_runs_by_its_type_is_called(kind: str, arguments: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "tools": [{"type": kind, "name": "tool_x"}]}
    exchange = Exchange("messages", body)
    assert "tool_x" in exchange.request["messages"][0]["content"]
    text = "".join(f"<{name}>{_plain(value)}</{name}>" for name, value in arguments.items())
    written = f"<tool><tool_name>tool_x</tool_name><arguments>{text}</arguments></tool>"
    [block] = answered("messages", body, written)["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "tool_x", arguments)
    with pytest.raises(Refusal, match="a tool of Anthropic's servers"):
        Exchange("messages", body, STRICT)


def _plain(value: Any) -> str:
    return (
        "".join(f"<item>{each}</item>" for each in value)
        if isinstance(value, list)
        else str(value).replace("False", "false")
    )


@pytest.mark.parametrize(
    ("api", "choice", "tools"),
    [
        ("messages", {"type": "tool", "name": "web_search"}, [{"type": "web_search_20250305", "name": "web_search"}]),
        ("messages", {"type": "any"}, [{"type": "web_search_20250305", "name": "web_search"}]),
        ("responses", {"type": "web_search"}, [{"type": "web_search"}, function("read", "path")]),
        ("chat", "required", [{"type": "web_search"}]),
    ],
)
def test_a_choice_of_what_was_left_out_is_refused(api: Any, choice: Any, tools: list[dict[str, Any]]) -> None:
    with pytest.raises(Refusal) as refused:
        Exchange(api, {**BODIES[PATHS[api]], "tools": tools, "tool_choice": choice})
    assert refused.value.param == "tool_choice"


def test_of_allowed_tools_those_that_were_left_out_are_not_missed() -> None:
    allowed = [{"type": "web_search"}, {"type": "function", "name": "read"}]
    tools = [{"type": "web_search"}, function("read", "path"), function("write", "path")]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    exchange = Exchange("responses", {"model": "m", "input": "Go.", "tools": tools, "tool_choice": choice})
    assert "read" in exchange.request["messages"][0]["content"]
    assert "write." not in exchange.request["messages"][0]["content"]


# Custom tools


INPUT = '*** Begin Patch\n+a < b && "c"\n*** End Patch\n'


def test_the_model_is_told_of_the_grammar_of_a_custom_tool() -> None:
    system = Exchange("responses", CODEX).request["messages"][0]["content"]
    assert "begin_patch: " in system and "(lark)" in system
    with pytest.raises(Refusal, match="held to a grammar"):
        Exchange("responses", {"model": "m", "input": "Go.", "tools": [PATCH]}, STRICT)


def test_a_call_of_a_custom_tool_is_text() -> None:
    [item] = answered("responses", CODEX, call("apply_patch", input=INPUT))["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", INPUT)
    assert "namespace" not in item


def test_a_call_of_a_custom_tool_streams() -> None:
    events = streamed(CODEX, call("apply_patch", input=INPUT))
    fragments = [each["delta"] for each in events if each["type"] == "response.custom_tool_call_input.delta"]
    assert "".join(fragments) == INPUT
    [done] = [each for each in events if each["type"] == "response.custom_tool_call_input.done"]
    assert done["input"] == INPUT
    [added] = [each for each in events if each["type"] == "response.output_item.added"]
    assert (added["item"]["type"], added["item"]["input"]) == ("custom_tool_call", "")
    assert [each["input"] for each in events[-1]["response"]["output"]] == [INPUT]


def test_the_result_of_a_custom_tool_is_read() -> None:
    items = [
        *CODEX["input"],
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": INPUT},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done!"},
    ]
    messages = Exchange("responses", {**CODEX, "input": items}).request["messages"]
    assert (
        "<tool_name>apply_patch</tool_name>" in messages[-2]["content"] and "*** Begin Patch" in messages[-2]["content"]
    )
    assert messages[-1] == {"role": "user", "content": "Tool: apply_patch\nResult: Done!"}


# Namespaces


def space(name: str, *tools: dict[str, Any], about: str = "") -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": about, "tools": list(tools)}


TWO = [space("mcp__a", function("look", "title"), about="Of the first."), space("mcp__b", function("look", "title"))]


def asked(*tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "input": "Go.", "tools": list(tools), **fields}


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_call_has_the_namespace_of_its_tool(name: str) -> None:
    text = call(f"mcp__{name}__look", title="x")
    [item] = answered("responses", asked(*TWO), text)["output"]
    assert (item["type"], item["namespace"], item["name"]) == ("function_call", f"mcp__{name}", "look")
    assert json.loads(item["arguments"]) == {"title": "x"}
    events = streamed(asked(*TWO), text)
    for each in events:
        if each["type"] in ("response.output_item.added", "response.output_item.done"):
            assert (each["item"]["namespace"], each["item"]["name"]) == (f"mcp__{name}", "look")
    assert events[-1]["response"]["output"][0]["namespace"] == f"mcp__{name}"


def test_the_model_is_told_of_a_namespace_once() -> None:
    group = space("mcp__a", function("look", "title"), function("list"), about="Of the first.")
    system = Exchange("responses", asked(group)).request["messages"][0]["content"]
    assert system.count("Of the first.") == 1
    assert "mcp__a__look" in system and "mcp__a__list" in system
    assert Exchange("responses", asked(group), STRICT).request["messages"][0]["content"] == system


def test_calls_and_results_of_namespaces_are_read_by_the_names_that_the_model_knows() -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "c1", "namespace": "mcp__a", "name": "look", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "namespace": "gone", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
    ]
    messages = Exchange("responses", asked(*TWO, input=items)).request["messages"]
    assert "<tool_name>mcp__a__look</tool_name>" in messages[-2]["content"]
    assert "<tool_name>gone__look</tool_name>" in messages[-2]["content"]
    assert messages[-1]["content"] == "Tool: mcp__a__look\nResult: one\n\nTool: gone__look\nResult: two"


def test_names_that_come_to_be_the_same_are_told_apart() -> None:
    tools = (space("a", function("b__c", "x")), space("a__b", function("c", "x")), function("a__b__c", "x"))
    body = asked(*tools)
    found = {}
    for written in ("a__b__c", "a__b__c_2", "a__b__c_3"):
        [item] = answered("responses", body, call(written, x="1"))["output"]
        found[written] = (item.get("namespace"), item["name"])
    assert found == {"a__b__c": (None, "a__b__c"), "a__b__c_2": ("a", "b__c"), "a__b__c_3": ("a__b", "c")}


def test_a_namespace_that_ends_like_a_prefix_is_one() -> None:
    [item] = answered("responses", asked(space("mcp__a__", function("look"))), call("mcp__a__look"))["output"]
    assert (item["namespace"], item["name"]) == ("mcp__a__", "look")


def test_a_namespace_may_hold_custom_tools() -> None:
    body = asked(space("files", PATCH))
    [item] = answered("responses", body, call("files__apply_patch", input=INPUT))["output"]
    assert (item["type"], item["namespace"], item["input"]) == ("custom_tool_call", "files", INPUT)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({"type": "function", "name": "look", "namespace": "mcp__a"}, ["mcp__a__look"]),
        ({"type": "allowed_tools", "tools": [{"type": "namespace", "name": "mcp__b"}]}, ["mcp__b__look"]),
    ],
)
def test_a_choice_may_name_a_namespace(choice: dict[str, Any], names: list[str]) -> None:
    system = Exchange("responses", asked(*TWO, tool_choice=choice)).request["messages"][0]["content"]
    assert [name for name in ("mcp__a__look", "mcp__b__look") if name in system] == names


@pytest.mark.parametrize(
    ("tool", "param", "words"),
    [
        (space("a", function("x"), function("x")), "tools[0].tools[1]", "two of the name"),
        (space("a", {"type": "web_search"}), "tools[0].tools[0]", "function and custom"),
        ({"type": "namespace", "tools": []}, "tools[0].name", "text"),
        ({"type": "namespace", "name": "a", "tools": "all"}, "tools[0].tools", "a list"),
    ],
)
def test_a_namespace_that_is_none_is_refused_with_its_place(tool: dict[str, Any], param: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as refused:
        Exchange("responses", asked(tool))
    assert refused.value.param == param


def test_a_tool_whose_name_is_too_long_with_its_namespace_is_left_out() -> None:
    body = asked(space("a" * 250, function("look_here")))
    assert Exchange("responses", body).warnings[0].startswith("tools[0].tools[0]: ")
    with pytest.raises(Refusal, match="256"):
        Exchange("responses", body, STRICT)


# Tools that the client finds


def test_a_search_for_tools_is_an_item_of_its_own() -> None:
    body = asked(SEARCH)
    text = "<tool><tool_name>tool_search</tool_name><arguments><query>notes</query><limit>3</limit></arguments></tool>"
    expected = ("tool_search_call", "client", "completed", {"query": "notes", "limit": 3})
    [item] = answered("responses", body, text)["output"]
    assert tuple(item[key] for key in ("type", "execution", "status", "arguments")) == expected
    events = streamed(body, text)
    assert [each["type"] for each in events[2:-1]] == ["response.output_item.added", "response.output_item.done"]
    assert events[2]["item"]["arguments"] == {}
    assert tuple(events[3]["item"][key] for key in ("type", "execution", "status", "arguments")) == expected
    assert item["call_id"] and "name" not in item


def test_what_was_found_is_among_the_tools() -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "notes"}},
        {"type": "tool_search_output", "call_id": "c1", "execution": "client", "status": "completed", "tools": TWO},
        {"type": "additional_tools", "role": "developer", "tools": [function("more", "x"), TWO[0]]},
    ]
    body = asked(SEARCH, input=items)
    messages = Exchange("responses", body).request["messages"]
    for name in ("mcp__a__look", "mcp__b__look", "more"):
        assert name in messages[0]["content"]
    assert (
        messages[-1]["content"].startswith("Tool: tool_search\nResult: Found")
        and "mcp__b__look" in messages[-1]["content"]
    )
    [item] = answered("responses", body, call("mcp__b__look", title="x"))["output"]
    assert (item["namespace"], item["name"]) == ("mcp__b", "look")


def test_a_search_that_finds_nothing_says_so() -> None:
    items = [
        {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "notes"}},
        {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": []},
    ]
    assert (
        Exchange("responses", asked(SEARCH, input=items))
        .request["messages"][-1]["content"]
        .endswith("No tools were found.")
    )


# Counted, and told once


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO, "xmltools.serve")

    def found(message: str) -> list[dict[str, Any]]:
        return [record.fields for record in caplog.records if record.getMessage() == message]  # type: ignore[attr-defined]

    return found


ODD: dict[str, Any] = {"frobnicate": CANARY, "client_metadata": {CANARY: 1}}


@pytest.mark.parametrize("stream", [False, True])
def test_fields_are_counted_each_time_and_told_once(lines: Any, stream: bool) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        for path in ("/v1/responses", "/v1/messages", "/v1/responses"):
            assert it.post(path, stream=stream, **ODD).status_code == 200
        for name in ODD:  # a stream is counted behind its last byte, which the client may have first
            eventually(
                lambda name=name: it.metric("xmltools_ignored_fields_total", field=name) == 3, f"{name} was counted"
            )
    assert lines("ignored") == [
        {"field": "frobnicate", "route": "/v1/responses"},
        {"field": "client_metadata", "route": "/v1/responses"},
    ]


def test_tools_that_are_left_out_are_counted_and_told_once_a_kind(lines: Any) -> None:
    tools = [{"type": "web_search"}, {"type": "image_generation"}]
    with world(Upstream(make=reply("Hi"))) as it:
        for _ in range(2):
            it.post("/v1/responses", tools=tools)
        found = it.client.get("/metrics").text
    assert 'xmltools_left_out_tools_total{type="web_search"} 2' in found
    assert [line["tool"] for line in lines("left_out")] == ["web_search", "image_generation"]


def test_values_are_never_told_and_names_are_bounded(lines: Any, caplog: pytest.LogCaptureFixture) -> None:
    strange = {f"my {CANARY}\n": 1, CANARY * 20: 2, "é": 3}
    with world(Upstream(make=reply("Hi"))) as it:
        it.post("/v1/responses", **strange, **{f"f{number}": CANARY for number in range(150)})
        it.post("/v1/responses", tools=[{"type": f"t{number}"} for number in range(150)])
        page = it.client.get("/metrics").text
    assert len(lines("ignored")) == len(lines("left_out")) == 101  # and "other" for the rest
    assert page.count("xmltools_ignored_fields_total{") == page.count("xmltools_left_out_tools_total{") == 101
    assert 'xmltools_ignored_fields_total{field="other"} 53' in page
    for formatter in (_TextFormatter(), _JSONFormatter()):
        assert not any(CANARY in formatter.format(record) for record in caplog.records)
    assert CANARY not in page


def test_strict_requests_are_those_of_the_server(lines: Any) -> None:
    with world(Upstream(make=reply("Hi")), settings=STRICT) as it:
        answer = it.post("/v1/responses", frobnicate=1)
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "frobnicate"
        assert it.post("/v1/messages", context_management={"edits": [1]}).status_code == 400
        assert lines("ignored") == []


def test_strict_requests_have_no_unknown_field_where_it_would_be_passed_over() -> None:
    with world(Upstream(make=reply("Hi")), settings=STRICT) as it:
        for path, param in (("/v1/responses", "frobnicate"), ("/v1/messages", None)):
            answer = it.post(path, frobnicate=1)
            assert (answer.status_code, answer.json()["error"].get("param")) == (400, param)
            assert answer.json()["error"]["message"].startswith("frobnicate: this field is not known here")
        assert it.post("/v1/messages", top_k=3).status_code == 200
        assert it.post("/v1/chat/completions", frobnicate=1, top_k=3).status_code == 200
        assert [each.json.get("top_k") for each in it.upstream.seen] == [3, 3]
        assert it.upstream.seen[1].json["frobnicate"] == 1  # nothing of chat completions is passed over
