"""Upstreams that do with tools what engines do: which settings make each of them leave calls in the text.

How they behave was read in the source of vLLM 0.33.0 and SGLang 0.5.23, in sources of llama.cpp and Ollama of 2026, and
in LM Studio's documentation. `docs/serving.md` has the flags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import xmltools as xt
from proxy.test_server_clients import ASK, clients_are_closed, openai_client
from proxy.test_server_upstream import TOOL, Answer, Seen, Upstream, as_json, stream, whole, world
from xmltools.proxy.bridge import Settings

openai = pytest.importorskip("openai")

__all__ = ["clients_are_closed"]  # a fixture

WRITE = xt.Tool.load(TOOL)
ARGUMENTS = {"path": "a.py", "text": "x < 1"}
_SPECIAL = re.compile(r"<\|[^<>|]+\|>|<｜[^<>]+｜>|\[/?(?:TOOL_CALLS|ARGS|TOOL_RESULTS)\]")
"""What tokenizers mark as special in the dialects below."""
DIALECTS = ("hermes", "qwen3_coder", "deepseek_v3", "kimi_k2", "mistral")

Engine = Callable[[str, dict[str, Any]], Answer]


def block(dialect: str) -> str:
    return xt.render_call(xt.ToolCall(id="", name="write", arguments=ARGUMENTS), WRITE, dialect=dialect)


def says(text: str, body: dict[str, Any]) -> Answer:
    return Answer(stream(text)) if body.get("stream") else whole(text)


def detokenized(text: str, body: dict[str, Any]) -> str:
    """The text without special tokens, which vLLM and SGLang leave out unless they are asked for them."""
    return _SPECIAL.sub("", text) if body.get("skip_special_tokens", True) else text


def refused(why: str) -> Answer:
    return as_json({"error": {"message": why, "type": "BadRequestError", "param": None, "code": 400}}, 400)


def parsed(body: dict[str, Any]) -> Answer:
    """The engine has read the call itself."""
    function = {"name": "write", "arguments": json.dumps(ARGUMENTS)}
    call = {"id": "e1", "type": "function", "function": function}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call]}}
    if not body.get("stream"):
        return as_json({"choices": [choice]})
    delta = {"tool_calls": [{"index": 0, **call}]}
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    return Answer([f"data: {json.dumps(chunk)}\n\n".encode(), b"data: [DONE]\n\n"])


def knows_tools(body: dict[str, Any]) -> bool:
    """Whether the model was told of its tools, by us."""
    return any("write" in str(message["content"]) for message in body["messages"] if message["role"] == "system")


NO_TOOLS = "I have no tools."


def vllm(text: str, body: dict[str, Any]) -> Answer:
    """Without a tool parser, which refuses any choice but "none", and shows the model its tools with that."""
    choice = body.get("tool_choice", "auto" if body.get("tools") else "none")
    if choice == "auto":
        return refused('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    if choice != "none":
        return refused(f'tool_choice="{choice}" requires --tool-call-parser to be set')
    is_told = body.get("tools") or knows_tools(body)
    return says(detokenized(text, body) if is_told else NO_TOOLS, body)


def vllm_with_a_parser(text: str, body: dict[str, Any]) -> Answer:
    """Newer parsers cut calls out of the text where the choice is "none"."""
    if not body.get("tools"):
        return says(detokenized(text, body), body)
    return says("", body) if body.get("tool_choice") == "none" else parsed(body)


def sglang(text: str, body: dict[str, Any]) -> Answer:
    """Without a tool parser: "none" hides the tools, and "required" makes the model write JSON."""
    choice = body.get("tool_choice", "auto")
    if body.get("tools"):
        if choice == "none":
            return says(NO_TOOLS, body)
        if choice == "required":
            return says(json.dumps([{"name": "write", "parameters": ARGUMENTS}]), body)
        return says(text, body)
    return says(detokenized(text, body) if knows_tools(body) else NO_TOOLS, body)


def llama_cpp(text: str, body: dict[str, Any]) -> Answer:
    """With --jinja and --special: calls are parsed unless the choice is "none", and the template shows tools anyway."""
    if body.get("tools") and body.get("tool_choice", "auto") != "none":
        return parsed(body)
    return says(text if body.get("tools") or knows_tools(body) else NO_TOOLS, body)


def ollama(text: str, body: dict[str, Any]) -> Answer:
    """Calls are parsed where tools are given, whatever the choice."""
    return parsed(body) if body.get("tools") else says(text if knows_tools(body) else NO_TOOLS, body)


def ollama_with_a_parser(text: str, body: dict[str, Any]) -> Answer:
    """A model whose Modelfile names a parser is parsed in any case."""
    return parsed(body)


def lm_studio(text: str, body: dict[str, Any]) -> Answer:
    """What can't be parsed stays in the text."""
    if body.get("tools") and text.startswith("<tool_call>\n{"):
        return parsed(body)
    return says(text if body.get("tools") or knows_tools(body) else NO_TOOLS, body)


def asked(engine: Engine, dialect: str, *, choice: Any = "auto", streams: bool = False, **settings: Any) -> Any:
    """Ask for a call, and return the message and what the engine got."""

    def answer(seen: Seen) -> Answer:
        return engine(block(dialect), seen.json)

    with world(Upstream(make=answer), settings=Settings(dialect=dialect, **settings)) as it:
        completions = openai_client(it.url).chat.completions
        if not streams:
            return completions.create(**ASK, tool_choice=choice).choices[0].message
        with completions.stream(**ASK, tool_choice=choice) as events:
            for _ in events:
                pass
            return events.get_final_completion().choices[0].message


RIGHT: list[tuple[Engine, dict[str, Any]]] = [
    *((each, {"prompt": "ours"}) for each in (vllm, vllm_with_a_parser, sglang, llama_cpp, ollama, lm_studio)),
    (ollama_with_a_parser, {"prompt": "ours"}),
    (vllm, {"prompt": "upstream", "upstream_tool_choice": "none"}),
    (sglang, {"prompt": "upstream"}),
    (llama_cpp, {"prompt": "upstream", "upstream_tool_choice": "none"}),
    # They parse calls whatever is said, and these pass through.
    (llama_cpp, {"prompt": "upstream"}),
    (ollama, {"prompt": "upstream"}),
    (lm_studio, {"prompt": "upstream"}),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize(("engine", "settings"), RIGHT, ids=lambda each: getattr(each, "__name__", None))
def test_calls_come_through(engine: Engine, settings: dict[str, Any], choice: str, streams: bool, dialect: str) -> None:
    message = asked(engine, dialect, choice=choice, streams=streams, **settings)
    assert [json.loads(call.function.arguments) for call in message.tool_calls] == [ARGUMENTS]
    assert not message.content


def test_what_the_page_warns_of_is_so() -> None:
    with pytest.raises(openai.BadRequestError, match="--enable-auto-tool-choice"):
        asked(vllm, "hermes", prompt="upstream")
    lost = asked(vllm_with_a_parser, "hermes", prompt="upstream", upstream_tool_choice="none")
    assert lost.tool_calls is None
    hidden = asked(sglang, "hermes", prompt="upstream", upstream_tool_choice="none")
    assert hidden.tool_calls is None and hidden.content == NO_TOOLS
