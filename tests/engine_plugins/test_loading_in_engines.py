"""The plugins' parsers in the lists of vLLM and SGLang, and what is asked of them beside reading replies.

`make plugins` runs these tests.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import engine_servers
from support.engine_servers import SERVERS, SglangServer, VllmServer

engine_servers.load()

from support.engines.xgrammar_judge import XgrammarJudge  # noqa: E402

import xmltools as xt  # noqa: E402
from xmltools import dialects  # noqa: E402
from xmltools.engine_plugins import sglang_detectors, vllm_parsers  # noqa: E402
from xmltools.engine_plugins.names import reasoning_parsers, tool_parsers  # noqa: E402

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}
GET = {
    "type": "function",
    "function": {"name": "get", "strict": True, "parameters": {**NUMBER, "additionalProperties": False}},
}
NAMED = {"type": "function", "function": {"name": "get"}}
TOOL_NAMES, REASONING_NAMES = set(map(str, tool_parsers())), set(map(str, reasoning_parsers()))


def test_vllm_lists_the_parsers() -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    assert set(ToolParserManager.list_registered()) > TOOL_NAMES
    assert set(ReasoningParserManager.list_registered()) > REASONING_NAMES
    assert "hermes" in ToolParserManager.list_registered()


def test_sglang_lists_the_parsers() -> None:
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    assert set(FunctionCallParser.ToolCallParserEnum) > TOOL_NAMES
    assert set(ReasoningParser.DetectorMap) > REASONING_NAMES
    assert "hermes" in FunctionCallParser.ToolCallParserEnum


@pytest.mark.parametrize("by_path", [False, True])
def test_the_plugin_file_of_vllm(by_path: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--tool-parser-plugin` takes a module's name or a path."""
    from vllm.tool_parsers import ToolParserManager

    name = "xmltools.engine_plugins.vllm_plugin"
    plugin = str(Path(vllm_parsers.__file__).with_name("vllm_plugin.py")) if by_path else name
    monkeypatch.setattr(ToolParserManager, "lazy_parsers", {})
    monkeypatch.setattr(ToolParserManager, "tool_parsers", {})
    monkeypatch.delitem(sys.modules, name, raising=False)
    ToolParserManager.import_tool_parser(plugin)
    assert set(ToolParserManager.list_registered()) == TOOL_NAMES


def test_an_engine_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(import_module("vllm.tool_parsers.abstract_tool_parser").ToolParser, "engine_based_streaming")
    with pytest.raises(xt.XMLToolsError, match=r"needs vLLM 0\.33 or later: this one does not tell a parser"):
        import_module("xmltools.engine_plugins.vllm").register()
    monkeypatch.delattr(import_module("sglang.srt.function_call.base_format_detector").BaseFormatDetector, "finish")
    with pytest.raises(xt.XMLToolsError, match=r"needs SGLang 0\.5\.23 or later: this one does not tell a parser"):
        import_module("xmltools.engine_plugins.sglang").register()


@pytest.mark.parametrize("engine", SERVERS)
@pytest.mark.parametrize("name", sorted(TOOL_NAMES))
def test_every_parser_in_every_engine(engine: str, name: str) -> None:
    plain = name.removesuffix("_whole")
    server = SERVERS[engine](name, plain if plain in REASONING_NAMES else None)
    example = dialects.named(plain.removeprefix("xmltools_")).example
    for stream, pieces in ((False, [example]), (True, [example]), (True, list(example))):
        answer = server.ask([pieces], stream=stream, tools=[GET])
        assert (answer.only.arguments, answer.only.content, answer.error) == ([{"n": 1}], "", "")
        assert answer.only.finish == "tool_calls"


@pytest.mark.parametrize("engine", SERVERS)
def test_requests_do_not_share_state(engine: str) -> None:
    server = SERVERS[engine]("xmltools_hermes", "xmltools_hermes")
    texts = [
        f'<think>{n}</think>\n\n<tool_call>\n{{"name": "get", "arguments": {{"n": {n}}}}}\n</tool_call>'
        for n in range(20)
    ]
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True, "tools": [GET]}

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(server.answer(body, [list(text)], "", "stop") for text in texts))

    answers = asyncio.run(at_once())
    assert [answer.only.arguments for answer in answers] == [[{"n": n}] for n in range(20)]
    assert [answer.only.reasoning for answer in answers] == [str(n) for n in range(20)]


@pytest.mark.parametrize("engine", SERVERS)
def test_ids_that_chat_templates_read(engine: str) -> None:
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "functions.get:0", **NAMED_CALL}]},
        {"role": "tool", "tool_call_id": "functions.get:0", "content": "1"},
    ]
    kimi = dialects.named("kimi_k2").example
    server = SERVERS[engine]("xmltools_kimi_k2", "xmltools_kimi_k2")
    for stream in (False, True):
        answer = server.ask([[kimi + kimi]], stream=stream, tools=[GET], messages=history).only
        assert [call["id"] for call in answer.calls] == ["functions.get:1", "functions.get:2"]
    mistral = SERVERS[engine]("xmltools_mistral", "xmltools_mistral")
    for stream in (False, True):
        [call] = mistral.ask([[dialects.named("mistral").example]], stream=stream, tools=[GET]).only.calls
        assert len(call["id"]) == 9 and call["id"].isalnum()


NAMED_CALL = {"type": "function", "function": {"name": "get", "arguments": '{"n": 1}'}}


MORE_JSON = (xt.Code.INVALID_JSON, "there is more JSON after the object")


def walks(tag: str) -> tuple[XgrammarJudge, list[str]]:
    judge = XgrammarJudge(tag, structural_tag=True)
    found = [judge.walk(Random(seed)) for seed in range(40)]
    return judge, [text for text in found if text is not None]


def assert_calls(dialect: str, texts: list[str]) -> None:
    """What a grammar lets a model write is a valid call for the parser, whatever text follows it.

    Only more JSON must not follow where the call's object ends it (DIALECTS.md, 4.5). The engines' grammars allow that;
    without it the call is valid.
    """
    tools = xt.load_tools([GET])
    assert texts
    for text in texts:
        reply = xt.parse(text, tools, dialect=dialect)
        if [(error.code, error.message) for error in reply.errors[:1]] == [MORE_JSON]:
            reply = xt.parse(text[: reply.errors[0].offset], tools, dialect=dialect)
        assert reply.calls, text


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
@pytest.mark.parametrize("dialect", vllm_parsers.STRUCTURAL_TAGS)
def test_vllm_decodes_required_calls_by_a_grammar(dialect: str, choice: Any) -> None:
    request = VllmServer(f"xmltools_{dialect}").adjusted(tools=[GET], tool_choice=choice)
    assert_calls(dialect, walks(request.structured_outputs.structural_tag)[1])


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
@pytest.mark.parametrize("dialect", [*sglang_detectors.STRUCTURAL_TAGS, "hermes"])
def test_sglang_decodes_required_calls_by_a_grammar(dialect: str, choice: Any) -> None:
    kind, tag = SglangServer(f"xmltools_{dialect}").processed(tools=[GET], tool_choice=choice).tool_call_constraint
    assert kind == "structural_tag"
    made = json.loads(tag.model_dump_json(by_alias=True, exclude_none=True))
    if "format" not in made:  # SGLang's own form, as it rewrites it for xgrammar
        tags = [
            {
                "begin": each["begin"],
                "content": {"type": "json_schema", "json_schema": each["schema"]},
                "end": each["end"],
            }
            for each in made["structures"]
        ]
        triggered = {"type": "triggered_tags", "triggers": made["triggers"], "tags": tags, "at_least_one": True}
        made = {"type": "structural_tag", "format": triggered}
    assert_calls(dialect, walks(json.dumps(made))[1])


def test_no_grammar_is_made_up() -> None:
    """Where there is none for the notation, none is used: one for JSON would make other calls of it."""
    for dialect in ("forge", "dsml", "minimax_m2"):
        request = VllmServer(f"xmltools_{dialect}").adjusted(tools=[GET], tool_choice="required")
        assert request.structured_outputs is None
        assert (
            SglangServer(f"xmltools_{dialect}").processed(tools=[GET], tool_choice="required").tool_call_constraint
            is None
        )
    with pytest.raises(xt.XMLToolsError, match="there is no grammar for calls in forge"):
        SglangServer("xmltools_forge")
        next(
            sglang_detectors.tool_detector(name)() for name in tool_parsers() if name.dialect.name == "forge"
        ).structure_info()


def test_tools_that_make_no_sense_are_refused() -> None:
    twice = VllmServer("xmltools_hermes").ask([["x"]], stream=True, tools=[GET, GET])
    assert "get" in twice.error


def test_sglang_leaves_tokens_that_are_no_text_out_of_the_answer() -> None:
    """Without tools there is no tool parser, which does it otherwise."""
    server = SglangServer("xmltools_kimi_k3", "xmltools_kimi_k3")
    text = "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Yes.<|close|>response<|sep|>"
    for stream, pieces in ((False, [text]), (True, list(text))):
        answer = server.ask([pieces], stream=stream).only
        assert (answer.reasoning, answer.content) == ("hm", "Yes.")
