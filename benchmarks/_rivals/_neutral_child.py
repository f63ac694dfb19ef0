"""Reads the fixtures of the neutral suite with the parsers of vLLM and SGLang, in `.venv-rivals`.

`conformance.py` starts it with the name of an engine, and for our plugin in it with the end of its names too (`""` or
`_whole`). For each line of JSON on standard input (a fixture), it writes a
line of JSON with what the engine's parsers made of it: whole, and of each stream. Their tokenizers would come from the
network. In their place is one whose tokens are the marks of the family, words, and signs in a row: it cuts only where
theirs may cut, too.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from _rivals import _standins
from _rivals._install import UNPACKED
from xmltools.dialects import for_model
from xmltools.engine_plugins.names import ParserName, reasoning_parsers

PIECE = re.compile(r" ?[^\W\d_]+| ?\d| ?[^\s\w]+| ?_+|\s")
"""A word, a digit, or signs in a row, each with the space before it: most tokenizers cut a text so before all else."""

VLLM = (
    (r"Qwen3-.*Instruct-2507|Qwen2\.5", "hermes", None),
    (r"Qwen3-.*Thinking-2507", "hermes", "deepseek_r1"),
    (r"Qwen3-Coder", "qwen3_coder", None),
    (r"Qwen3\.[5-9]", "qwen3_coder", "qwen3"),
    (r"Qwen3", "hermes", "qwen3"),
    (r"DeepSeek-V4\.1", "deepseek_v41", "deepseek_v41"),
    (r"DeepSeek-V4", "deepseek_v4", "deepseek_v4"),
    (r"DeepSeek-V3\.2", "deepseek_v32", "deepseek_v3"),
    (r"DeepSeek-V3\.1", "deepseek_v31", "deepseek_v3"),
    (r"DeepSeek-R1", "deepseek_v3", "deepseek_r1"),
    (r"DeepSeek-V3", "deepseek_v3", None),
    (r"Kimi-K3", "kimi_k3", "kimi_k3"),
    (r"Kimi-K2-Instruct", "kimi_k2", None),
    (r"Kimi-K2", "kimi_k2", "kimi_k2"),
    (r"GLM-4\.[56]", "glm45", "glm45"),
    (r"GLM-(4\.7|5)", "glm47", "glm47"),
    (r"Llama-4", "llama4_pythonic", None),
    (r"Llama-3", "llama3_json", None),
    (r"Magistral|Mistral-Medium-3\.5|Mistral-Small-4|Ministral-3-.*Reasoning", "mistral", "mistral"),
    (r"(?i)mistral|ministral|devstral", "mistral", None),
    (r"gemma-4", "gemma4", "gemma4"),
    (r"ERNIE-4\.5", "ernie45", None),
    (r"Inkling", "inkling", "inkling"),
    (r"Muse-Spark", "muse", "muse"),
    (r"plamo-3", "plamo3", "plamo3"),
)
SGLANG = (
    (r"Qwen3-.*Instruct-2507|Qwen2\.5", "qwen25", None),
    (r"Qwen3-Coder", "qwen3_coder", None),
    (r"Qwen3\.[5-9]", "qwen3_coder", "qwen3"),
    (r"Qwen3", "qwen25", "qwen3"),
    (r"gpt-oss", "gpt-oss", "gpt-oss"),
    (r"DeepSeek-V4\.1", "deepseekv41", "deepseek-v41"),
    (r"DeepSeek-V4", "deepseekv4", "deepseek-v4"),
    (r"DeepSeek-V3\.2", "deepseekv32", "deepseek-v3"),
    (r"DeepSeek-V3\.1", "deepseekv31", "deepseek-v3"),
    (r"DeepSeek-R1", "deepseekv3", "deepseek-r1"),
    (r"DeepSeek-V3", "deepseekv3", None),
    (r"Kimi-K3", "kimi_k3", "kimi_k3"),
    (r"Kimi-K2-Instruct", "kimi_k2", None),
    (r"Kimi-K2", "kimi_k2", "kimi_k2"),
    (r"GLM-4\.[56]", "glm45", "glm45"),
    (r"GLM-(4\.7|5)", "glm47", "glm45"),
    (r"Llama-4", "pythonic", None),
    (r"Llama-3", "llama3", None),
    (r"Magistral|Mistral-Medium-3\.5|Mistral-Small-4|Ministral-3-.*Reasoning", "mistral", "mistral"),
    (r"(?i)mistral|ministral|devstral", "mistral", None),
    (r"gemma-4", "gemma4", "gemma4"),
    (r"Beam-1", "beam", "beam"),
    (r"GigaChat3\.5", "gigachat35", None),
    (r"Inkling", "inkling", "inkling"),
    (r"IQuest-Q1", "iquest_q1", None),
    (r"Muse-Spark", "muse", "muse"),
)
"""Models, with the tool parser and the reasoning parser that their cards and the engine's pages name."""


def reads(engine: str, model: str) -> bool:
    """Whether an engine has a parser of its own for a model."""
    table = {"vllm": VLLM, "sglang": SGLANG}[engine]
    return any(re.search(pattern, model) for pattern, *_ in table)


def choice(
    table: Iterable[tuple[str, str, str | None]], model: str, plugin: str | None = None
) -> tuple[str, str | None]:
    """The tool parser and the reasoning parser for a model: of the engine, or of the plugin whose names end so."""
    if plugin is None:
        return next((tool, reasoning) for pattern, tool, reasoning in table if re.search(pattern, model))
    name = str(ParserName(for_model(model), whole=False))
    return f"{name}{plugin}", name if name in map(str, reasoning_parsers()) else None


class Tokens:
    """A tokenizer of marks and pieces. It numbers what it meets."""

    def __init__(self, marks: Sequence[str], stops: Sequence[str] = (), grammar: bool = False) -> None:
        self.vocab = {mark: number for number, mark in enumerate(marks)}
        self.numbers = dict(self.vocab)
        self.known = list(marks)
        self.all_special_tokens = [mark for mark in marks if mark in stops]
        self.all_special_ids = [self.vocab[mark] for mark in self.all_special_tokens]
        self.eos_token, self.eos_token_id, self.unk_token_id = None, None, None
        self.supports_grammar = grammar
        self.split = re.compile("(" + "|".join(map(re.escape, sorted(marks, key=len, reverse=True))) + ")")

    def get_vocab(self) -> dict[str, int]:
        return self.vocab

    def pieces(self, text: str) -> list[str]:
        parts = self.split.split(text)
        return [each for part in parts for each in ([part] if part in self.vocab else PIECE.findall(part))]

    def number(self, piece: str) -> int:
        if piece not in self.numbers:
            self.numbers[piece] = len(self.known)
            self.known.append(piece)
        return self.numbers[piece]

    def ids(self, pieces: Iterable[str]) -> list[int]:
        return [self.number(each) for each in pieces]

    def encode(self, text: str, **_: object) -> list[int]:
        return self.ids(self.pieces(text))

    def decode(self, ids: Sequence[int] | int, **_: object) -> str:
        return "".join(self.known[each] for each in ([ids] if isinstance(ids, int) else ids))

    def tokenize(self, text: str, **_: object) -> list[str]:
        return self.pieces(text)

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> Any:
        return self.vocab.get(tokens) if isinstance(tokens, str) else self.ids(tokens)


class Message:
    """What a client of the OpenAI API has in the end."""

    def __init__(self) -> None:
        self.content, self.reasoning = "", ""
        self.calls: dict[int, list[str]] = {}

    def add(self, content: str | None, reasoning: str | None) -> None:
        self.content += content or ""
        self.reasoning += reasoning or ""

    def call(self, index: int, name: str | None, arguments: str | None) -> None:
        slot = self.calls.setdefault(index, ["", ""])
        slot[0] += name or ""
        slot[1] += arguments or ""

    def result(self, exception: str | None = None) -> dict[str, Any]:
        calls = [{"name": name, "arguments_raw": arguments} for _, (name, arguments) in sorted(self.calls.items())]
        return {
            "content": self.content or None,
            "reasoning_content": self.reasoning or None,
            "tool_calls": calls,
            "exception": exception,
        }


class Vllm:
    """The parser that the server composes, fed as the server feeds it."""

    def __init__(self, plugin: str | None = None) -> None:
        importlib.import_module("vllm.plugins").load_general_plugins()
        self.plugin = plugin

    def start(self, job: dict[str, Any]) -> None:
        from vllm.parser import ParserManager

        tool, reasoning = choice(VLLM, job["model"], self.plugin)
        self.kind = ParserManager.get_parser(tool, reasoning, enable_auto_tools=True)
        self.tokens = Tokens(job["marks"], job["stops"], job["grammar"])
        self.kwargs = {"enable_thinking": job["thinking"], "thinking": job["thinking"]}
        if job["thinking"] is None:
            self.kwargs = {}
        self.prompt = self.tokens.encode(job["prompt"])
        self.job = job

    def parser(self, stream: bool) -> tuple[Any, Any]:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        tools = {"tools": self.job["tools"], "tool_choice": "auto"} if self.job["tools"] else {}
        request = ChatCompletionRequest(
            model="m",
            messages=[{"role": "user", "content": "x"}],
            stream=stream,
            chat_template_kwargs=self.kwargs or None,
            **tools,
        )
        return request, self.kind(self.tokens, request.tools, chat_template_kwargs=dict(self.kwargs), model_config=None)

    def whole(self, message: Message) -> None:
        text = self.job["text"]
        request, parser = self.parser(False)
        parser.set_prompt_token_ids(self.prompt)
        reasoning, content, calls = parser.parse(
            text, request, enable_auto_tools=True, model_output_token_ids=self.tokens.encode(text)
        )
        message.add(content, reasoning)
        for index, call in enumerate(calls or []):
            message.call(index, call.name, call.arguments)

    def stream(self, chunks: list[list[str]], message: Message) -> None:
        request, parser = self.parser(True)
        for number, chunk in enumerate(chunks, 1):
            delta = parser.parse_delta(
                "".join(chunk),
                self.tokens.ids(chunk),
                request,
                prompt_token_ids=self.prompt,
                finished=number == len(chunks),
            )
            if delta is not None:
                message.add(delta.content, delta.reasoning)
                for call in delta.tool_calls or []:
                    function = call.function
                    message.call(call.index, function and function.name, function and function.arguments)


class Sglang:
    """The reasoning parser, and after it the tool parser, as the server chains them."""

    def __init__(self, plugin: str | None = None) -> None:
        importlib.import_module("sglang.srt.plugins").load_plugins()
        self.plugin = plugin

    def start(self, job: dict[str, Any]) -> None:
        from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, Tool

        self.job = job
        self.tool, self.reasoning = choice(SGLANG, job["model"], self.plugin)
        self.tokens = Tokens(job["marks"], job["stops"], job["grammar"])
        self.tools = [Tool(**each) for each in job["tools"]]
        self.request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}])

    def reasoning_parser(self, stream: bool) -> Any:
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        if self.reasoning is None:
            return None
        return ReasoningParser(
            self.reasoning,
            stream_reasoning=stream,
            force_reasoning=self.job["inside"],
            request=self.request,
            tokenizer=self.tokens,
            tool_call_parser_active=bool(self.tools),
        )

    def tool_parser(self) -> Any:
        from sglang.srt.function_call.function_call_parser import FunctionCallParser

        return FunctionCallParser(self.tools, self.tool, tokenizer=self.tokens) if self.tools else None

    def whole(self, message: Message) -> None:
        text = self.job["text"]
        reasoning = self.reasoning_parser(False)
        if reasoning:
            thought, text = reasoning.parse_non_stream(text)
            message.add(None, thought)
        parser = self.tool_parser()
        if parser and parser.has_tool_call(text or ""):
            try:
                text, calls = parser.parse_non_stream(text)
            except Exception:  # as the server: the text stays as it is
                calls = []
            for index, call in enumerate(calls):
                message.call(index, call.name, call.parameters)
        message.add(text, None)

    def stream(self, chunks: list[list[str]], message: Message) -> None:
        reasoning, parser = self.reasoning_parser(True), self.tool_parser()
        for number, chunk in enumerate(chunks, 1):
            last, delta = number == len(chunks), "".join(chunk)
            if reasoning:
                thought, delta = reasoning.parse_stream_chunk(delta)
                message.add(None, thought)
                if last:
                    thought, rest = reasoning.parse_stream_end()
                    message.add(None, thought)
                    delta = (delta or "") + (rest or "")
            if parser is None:
                message.add(delta, None)
                continue
            self.take(parser.parse_stream_chunk(delta), message)
            if last:
                self.take(parser.parse_stream_end(), message)
                self.add_rest(parser.detector, message)

    @staticmethod
    def take(found: tuple[str, list[Any]], message: Message) -> None:
        text, calls = found
        message.add(text, None)
        for call in calls:
            message.call(call.tool_index, call.name, call.parameters)

    @staticmethod
    def add_rest(detector: Any, message: Message) -> None:
        """What the detector knows of the last call and has not streamed, as the server sends it at the end."""
        known = getattr(detector, "prev_tool_call_arr", None) or []
        sent = getattr(detector, "streamed_args_for_tool", None) or []
        index = len(known) - 1
        if 0 <= index < len(sent):
            wanted = known[index].get("arguments", {})
            wanted = wanted if isinstance(wanted, str) else json.dumps(wanted, ensure_ascii=False)
            if wanted.startswith(sent[index]) and wanted != sent[index]:
                message.call(index, None, wanted[len(sent[index]) :])


def attempt(run: Any, *args: Any) -> dict[str, Any]:
    message = Message()
    try:
        run(*args, message)
    except Exception as problem:
        return message.result(f"{type(problem).__name__}: {problem}")
    return message.result()


def cut(pieces: list[str], sizes: list[int]) -> list[list[str]]:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(pieces[at : at + size])
        at += size
    return [chunk for chunk in chunks if chunk]


def main() -> None:
    _standins.install(UNPACKED)
    logging.disable(logging.CRITICAL)
    engine = {"vllm": Vllm, "sglang": Sglang}[sys.argv[1]](*sys.argv[2:])
    for line in sys.stdin:
        job = json.loads(line)
        try:
            engine.start(job)
        except Exception as problem:
            answer: dict[str, Any] = {"not_run": f"{type(problem).__name__}: {problem}"}
        else:
            pieces = Tokens(job["marks"]).pieces(job["text"])
            assert "".join(pieces) == job["text"]
            streams = {name: cut(pieces, sizes) for name, sizes in job["cuts"].items()}
            answer = {
                "whole": attempt(engine.whole),
                "streams": {name: attempt(engine.stream, chunks) for name, chunks in streams.items()},
            }
        print("\x1e" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
