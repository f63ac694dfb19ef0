"""The servers of vLLM and SGLang without a model: their own code from a request to what a client gets.

A test says what the model writes, in which pieces. What renders prompts and runs models is left out; what parses
replies, and makes messages of what was parsed, is theirs. Needs the environment of `make rivals`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
OPENERS = ("<think>", "[THINK]", "<|open|>think<|sep|>")
NEEDED = ("canitoolcall", "msgspec", "partial_json_parser", "xgrammar")


def load() -> None:
    """Make `vllm` and `sglang` importable, and let them load their plugins; else skip the module that asks."""
    if not all(map(find_spec, NEEDED)):
        pytest.skip("needs the parsers of vLLM and SGLang: make rivals, then make plugins", allow_module_level=True)
    # Only now: its modules have names that folders of tests have, too.
    sys.path.append(str(BENCHMARKS))
    from _rivals import _standins
    from _rivals._install import UNPACKED

    if not (UNPACKED / "vllm" / "plugins").is_dir():
        pytest.skip(f"the parsers of vLLM and SGLang are not in {UNPACKED}: make rivals", allow_module_level=True)
    _standins.install(UNPACKED)
    import_module("vllm.plugins").load_general_plugins()
    import_module("sglang.srt.plugins").load_plugins()


@dataclass
class Choice:
    """What a client has of one choice in the end; `pieces` are the fragments of arguments, in their order."""

    content: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    finish: str | None = None

    @property
    def arguments(self) -> list[Any]:
        return [json.loads(call["arguments"]) for call in self.calls]

    def add(self, message: dict[str, Any]) -> None:
        """Add a delta, or a message, as clients do."""
        self.content += message.get("content") or ""
        self.reasoning += message.get("reasoning") or message.get("reasoning_content") or ""
        for number, call in enumerate(message.get("tool_calls") or ()):
            if call.get("index", number) == len(self.calls):
                self.calls.append({"id": "", "name": "", "arguments": ""})
            known = self.calls[call.get("index", number)]
            known["id"] += call.get("id") or ""
            known["name"] += call["function"].get("name") or ""
            known["arguments"] += call["function"].get("arguments") or ""
            self.pieces.append(call["function"].get("arguments") or "")


@dataclass
class Answer:
    choices: list[Choice]
    error: str = ""

    @property
    def only(self) -> Choice:
        assert len(self.choices) == 1
        return self.choices[0]


def folded(lines: Iterable[str], count: int) -> Answer:
    """The answer that a client makes of a stream."""
    answer = Answer([Choice() for _ in range(count)])
    for line in lines:
        assert line.startswith("data: ") and line.endswith("\n\n")
        if line == "data: [DONE]\n\n":
            continue
        data = json.loads(line[6:])
        if "error" in data:
            answer.error = data["error"]["message"]
        for each in data.get("choices", ()):
            choice = answer.choices[each["index"]]
            choice.add(each["delta"])
            choice.finish = each.get("finish_reason") or choice.finish
    return answer


def steps(replies: Sequence[Sequence[str]]) -> list[tuple[int, str, str, bool]]:
    """The pieces of all choices in turns: a choice, its text so far, the piece, and whether it is the last."""
    longest = max(map(len, replies))
    return [
        (number, "".join(reply[: at + 1]), reply[at], at + 1 == len(reply))
        for at in range(longest)
        for number, reply in enumerate(replies)
        if at < len(reply)
    ]


class Server:
    """One server. `tool_parser` and `reasoning_parser` are its flags."""

    def __init__(
        self, tool_parser: str | None, reasoning_parser: str | None = None, *, marks: Sequence[str] = ()
    ) -> None:
        from _rivals._neutral_child import Tokens

        self.tokens = Tokens(list(marks) or ["<think>", "</think>"])
        self.start(tool_parser, reasoning_parser)

    def start(self, tool_parser: str | None, reasoning_parser: str | None) -> None:
        raise NotImplementedError

    def ask(self, replies: Sequence[Sequence[str]], *, prompt: str = "", finish: str = "stop", **fields: Any) -> Answer:
        """Return what a client gets if the model writes `replies`, one for each choice, in these pieces."""
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "n": len(replies), **fields}
        return asyncio.run(self.answer(body, replies, prompt, finish))

    async def answer(self, body: dict[str, Any], replies: Sequence[Sequence[str]], prompt: str, finish: str) -> Answer:
        raise NotImplementedError


class VllmServer(Server):
    def start(self, tool_parser: str | None, reasoning_parser: str | None) -> None:
        from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
        from vllm.parser import ParserManager

        self.serving = object.__new__(OpenAIServingChat)
        vars(self.serving).update(
            response_role="assistant",
            enable_auto_tools=True,
            parser_cls=ParserManager.get_parser(
                tool_parser, reasoning_parser, enable_auto_tools=True, tokenizer=self.tokens
            ),
            model_config=None,
            request_logger=None,
            system_fingerprint=None,
            enable_log_outputs=False,
            enable_force_include_usage=False,
            enable_prompt_tokens_details=False,
            enable_per_request_metrics=False,
            _include_reasoning_tokens_details=False,
            _effective_chat_template_kwargs=lambda request: {},
        )

    def parser(self, request: Any) -> Any:
        return self.serving._make_parser(request, self.tokens, {})

    def adjusted(self, **fields: Any) -> Any:
        """The request as the renderer of prompts leaves it."""
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], **fields)
        return self.parser(request).adjust_request(request)

    async def answer(self, body: dict[str, Any], replies: Sequence[Sequence[str]], prompt: str, finish: str) -> Answer:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        request = ChatCompletionRequest(**body)
        parser = self.parser(request)
        metadata = SimpleNamespace()
        if not request.stream:
            outputs = [("".join(reply), number, True) for number, reply in enumerate(replies)]
            results = self.results([outputs], prompt, finish)
            made = await self.serving.chat_completion_full_generator(
                request, results, "id", "m", [], self.tokens, metadata, parser=parser
            )
            data = made.model_dump()
            answer = Answer([Choice(finish=each["finish_reason"]) for each in data["choices"]])
            for choice, each in zip(answer.choices, data["choices"], strict=True):
                choice.add(each["message"])
            return answer
        outputs = [[(piece, number, last)] for number, _, piece, last in steps(replies)]
        lines = self.serving.chat_completion_stream_generator(
            request,
            self.results(outputs, prompt, finish),
            "id",
            "m",
            [],
            self.tokens,
            metadata,
            chat_template_kwargs={},
        )
        return folded([line async for line in lines], len(replies))

    async def results(
        self, rounds: Iterable[Iterable[tuple[str, int, bool]]], prompt: str, finish: str
    ) -> AsyncIterator[Any]:
        for outputs in rounds:
            made = [
                SimpleNamespace(
                    index=number,
                    text=text,
                    token_ids=self.tokens.encode(text),
                    logprobs=None,
                    finish_reason=finish if last else None,
                    stop_reason=None,
                    routed_experts=None,
                    spec_decode_metrics=None,
                )
                for text, number, last in outputs
            ]
            yield SimpleNamespace(
                outputs=made,
                prompt=prompt,
                prompt_token_ids=self.tokens.encode(prompt),
                encoder_prompt_token_ids=None,
                num_cached_tokens=None,
                num_cache_creation_tokens=None,
                prompt_logprobs=None,
                kv_transfer_params=None,
                ec_transfer_params=None,
                metrics=None,
            )


class SglangServer(Server):
    def start(self, tool_parser: str | None, reasoning_parser: str | None) -> None:
        from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        self.serving = object.__new__(OpenAIServingChat)
        detector = ReasoningParser(reasoning_parser, tokenizer=self.tokens).detector if reasoning_parser else None
        vars(self.serving).update(
            tokenizer_manager=SimpleNamespace(generate_request=self.generate, tokenizer=self.tokens),
            template_manager=SimpleNamespace(
                force_reasoning=False,
                reasoning_config=None,
                chat_template_name=None,
                jinja_template_content_format=None,
            ),
            tool_call_parser=tool_parser,
            reasoning_parser=reasoning_parser,
            _reasoning_detector=detector,
            _encoding_adapter=None,
            chat_encoding_spec=None,
            default_chat_template_kwargs={},
            is_gpt_oss=False,
            is_gemma4=False,
            is_minimax_m3=False,
        )

    def processed(self, **fields: Any) -> Any:
        """What the server makes of a request before it is sent to the model: the constraint, and what is decoded."""
        from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest

        request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], input_ids=[1], **fields)
        return self.serving._process_messages(request, False)

    async def answer(self, body: dict[str, Any], replies: Sequence[Sequence[str]], prompt: str, finish: str) -> Answer:
        from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest

        request = ChatCompletionRequest(**body)
        # The server tells from the chat template whether it opens the reasoning.
        self.serving.template_manager.force_reasoning = prompt.rstrip().endswith(OPENERS)
        if not request.stream:
            made = [self.content(number, "".join(reply), True, finish) for number, reply in enumerate(replies)]
            data = self.serving._build_chat_response(request, made, 0).model_dump()
            answer = Answer([Choice(finish=each["finish_reason"]) for each in data["choices"]])
            for choice, each in zip(answer.choices, data["choices"], strict=True):
                choice.add(each["message"])
            return answer
        adapted = SimpleNamespace(replies=replies, finish=finish)
        lines = self.serving._generate_chat_stream(adapted, request, None)
        return folded([line async for line in lines], len(replies))

    async def generate(self, adapted: Any, raw_request: None) -> AsyncIterator[dict[str, Any]]:
        for number, text, _, last in steps(adapted.replies):
            yield self.content(number, text, last, adapted.finish)

    @staticmethod
    def content(number: int, text: str, last: bool, finish: str) -> dict[str, Any]:
        reason = {"type": finish, "matched": None} if last else None
        meta = {"id": "id", "prompt_tokens": 1, "completion_tokens": 1, "finish_reason": reason, "weight_version": "1"}
        return {"index": number, "text": text, "output_ids": [], "meta_info": meta}


SERVERS: dict[str, type[Server]] = {"vllm": VllmServer, "sglang": SglangServer}
