"""What a caller gives by mistake is one clear error, whichever public function gets it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import xmltools as xt
from xmltools import compaction, streams, transcript, validation
from xmltools.lint import explain, lint
from xmltools.parser import detect

TOOL = xt.Tool(name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
BLOCK = "<tool><tool_name>add</tool_name><arguments><a>{}</a></arguments></tool>"
(CALL,) = xt.parse(BLOCK.format(1), [TOOL]).calls
(ERROR,) = xt.parse(BLOCK.format("x"), [TOOL]).errors
RESULT = xt.ToolResult(call_id=CALL.id, name="add", content="1")
CHAT = xt.Conversation().user("x").assistant("", [CALL]).tool(CALL.id, content="1")

FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (xt.Parser, {}),
    (xt.parse, {"text": BLOCK.format(1)}),
    (xt.Limits, {}),
    (xt.load_tools, {"definitions": []}),
    (xt.Tool.of, {"source": lambda a: a, "name": "f"}),
    (xt.Tool.load, {"definition": {"name": "f"}}),
    (xt.render_instructions, {"tools": [TOOL]}),
    (xt.render_call, {"call": CALL, "tool": TOOL}),
    (xt.render_calls, {"calls": [CALL], "tools": [TOOL]}),
    (xt.render_result, {"result": RESULT}),
    (xt.render_results, {"results": [RESULT]}),
    (xt.render_result_parts, {"results": [RESULT]}),
    (xt.read_results, {"text": "Tool: add\nResult: 1"}),
    (xt.render_retry, {"error": ERROR, "tools": [TOOL]}),
    (xt.find_echo, {"call": CALL, "where": [RESULT]}),
    (xt.build_grammar, {"tools": [TOOL], "format": "gbnf"}),
    (xt.grammar_issues, {"tools": [TOOL], "format": "gbnf"}),
    (xt.for_engine, {"engine": "vllm", "tools": [TOOL]}),
    (xt.for_engine, {"engine": "openai-custom-tool", "tools": [TOOL]}),
    (xt.load, {"obj": [{"role": "user", "content": "x"}], "format": "openai"}),
    (xt.dump, {"conversation": CHAT, "format": "openai"}),
    (xt.convert, {"obj": [{"role": "user", "content": "x"}], "source": "openai", "target": "anthropic"}),
    (xt.Conversation().system, {"content": "x"}),
    (xt.Conversation().user, {"content": "x"}),
    (xt.Conversation().assistant, {}),
    (CHAT.tool, {"call_id": CALL.id}),
    (xt.ToolResult.from_mcp, {"result": {"content": []}, "call": CALL}),
    (xt.ToolResult.from_langchain, {"message": {"content": "x", "tool_call_id": "1"}, "call": CALL}),
    (transcript.inline, {"conversation": CHAT}),
    (transcript.extract, {"conversation": CHAT}),
    (compaction.compact, {"conversation": CHAT, "limit": 100}),
    (compaction.prune_results, {"conversation": CHAT, "keep_last": 1}),
    (compaction.summarise, {"conversation": CHAT, "summary": "x", "keep": 1}),
    (compaction.estimate_tokens, {"conversation": CHAT}),
    (validation.check, {"conversation": CHAT}),
    (validation.check_user_input, {"conversation": CHAT}),
    (streams.OpenAIStream, {"id": "1", "model": "m", "created": 0}),
    (streams.AnthropicStream, {"id": "1", "model": "m"}),
    (streams.ResponsesStream, {"id": "1", "model": "m", "created_at": 0}),
    (streams.OpenAIReader, {}),
    (streams.AnthropicReader, {}),
    (xt.dialects.for_model, {"model": "Qwen3"}),
    (xt.dialects.named, {"name": "glm"}),
    (detect, {"texts": ["x"]}),
    (explain, {"code": "truncated"}),
    (lint, {"text": "x"}),
]
WRONG = (5, 1.5, None, True, "x", b"x", [], [5], (1, 2), {}, {"a": 1}, object(), TOOL, CHAT)
KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@pytest.mark.parametrize(("function", "given"), FUNCTIONS, ids=lambda each: getattr(each, "__qualname__", ""))
def test_a_wrong_type_is_refused_in_words_or_taken(function: Callable[..., Any], given: dict[str, Any]) -> None:
    function(**given)
    for name, parameter in inspect.signature(function).parameters.items():
        for wrong in WRONG if parameter.kind in KINDS else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(**{**given, name: wrong})
                except ValueError as error:  # `XMLToolsError` is one, and so is pydantic's for fields of values
                    assert isinstance(error, xt.XMLToolsError) or "validation error" in str(error)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: xt.parse("x", 5), "tools: expected a list of xmltools.Tool, got int"),
        (lambda: xt.Parser(new_id=5), "new_id: expected a function that returns str, got int"),
        (lambda: xt.parse(BLOCK, new_id=5), "new_id: expected a function that returns str, got int"),
        (lambda: xt.parse("x", argument_deltas=False), "argument_deltas: parse returns whole calls"),
        (lambda: xt.render_instructions([TOOL], turns=5), "turns: expected a list of xmltools.Message, got int"),
        (lambda: xt.render_instructions([TOOL], turns=CHAT), "got Conversation; give its messages"),
        (lambda: xt.read_results(None), "text: expected str, got NoneType"),
        (lambda: xt.build_grammar(None, "gbnf"), "tools: expected a list of xmltools.Tool, got NoneType"),
        (lambda: xt.Conversation().user(5), "content: expected text or a list of parts, got int"),
        (lambda: xt.Conversation().assistant("", 5), "calls: expected a ToolCall or a list of them, got int"),
        (lambda: explain([]), "there is no code []"),
        (lambda: streams.OpenAIReader().feed({"choices": 5}), "feed() expects a list under 'choices', got int"),
        (lambda: xt.dump(CHAT, "openai", issues=5), "issues: expected a list, which gets them, got int"),
    ],
)
def test_what_is_said_of_a_wrong_type(function: Callable[[], object], said: str) -> None:
    with pytest.raises(xt.XMLToolsError) as caught:
        function()
    assert said in str(caught.value)
