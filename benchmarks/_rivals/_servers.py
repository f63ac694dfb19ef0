"""The tool parsers of vLLM and SGLang, each in its own dialect, fed as their servers feed them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from _rivals import _standins
from _rivals._dialects import Call
from _rivals._install import SGLANG, UNPACKED, VLLM, VLLM_RUST
from _rivals._rival import MissingError, Rival
from _rivals._texts import TOOL_SCHEMAS

__all__ = ["SERVER_RIVALS"]


class Slots:
    """What a client of the OpenAI API keeps: fragments of names and arguments by the number of the call."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.fragments: dict[int, list[str]] = {}

    def add(self, index: int, name: str | None, arguments: str | None) -> None:
        if name:
            self.names[index] = name
            self.fragments.setdefault(index, [])
        if arguments:
            self.fragments.setdefault(index, []).append(arguments)

    def calls(self) -> list[Call]:
        return [as_call(name, "".join(self.fragments[index])) for index, name in sorted(self.names.items())]


def as_call(name: str, arguments: str) -> Call:
    return Call(name, json.loads(arguments or "{}"))


class Server(Rival):
    """Loads what the wheels hold."""

    folder: str

    def __init__(self) -> None:
        if not (UNPACKED / self.folder).is_dir():
            raise MissingError(f"{self.install} (it downloads the wheel {self.package}=={self.version})")
        _standins.install(UNPACKED)
        for package in ("vllm", "sglang", "transformers"):
            logging.getLogger(package).setLevel(logging.CRITICAL)
        try:
            self.load()
        except ImportError as problem:
            raise MissingError(f"{self.install} ({problem})") from None

    def load(self) -> None:
        """Import the parser."""


class NoTokens:
    """A tokenizer without special tokens: the parsers get text, as they do from any model whose tags are plain text."""

    def get_vocab(self) -> dict[str, int]:
        return {}


class Vllm(Server):
    """`extract_tool_calls_streaming` gets the text before and after each chunk, as the server keeps it."""

    package = "vllm"
    folder = "vllm"
    version = VLLM

    def load(self) -> None:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest, ChatCompletionToolsParam

        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}}
            for name, schema in TOOL_SCHEMAS.items()
        ]
        self.tools = [ChatCompletionToolsParam(**tool) for tool in tools]
        self.request = ChatCompletionRequest(
            model="m", messages=[{"role": "user", "content": "x"}], tools=tools, tool_choice="auto"
        )
        self.parser = self.parser_class()

    def parser_class(self) -> Any:
        raise NotImplementedError

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = self.parser(NoTokens(), self.tools)
        slots = Slots()
        before = ""
        for chunk in chunks:
            now = before + chunk
            self.take(parser.extract_tool_calls_streaming(before, now, chunk, [], [], [], self.request), slots)
            before = now
        # What the server sends behind the last chunk.
        slots.add(len(parser.prev_tool_call_arr) - 1, None, parser.get_remaining_unstreamed_args())
        return slots.calls()

    def take(self, delta: Any, slots: Slots) -> None:
        if delta is not None:
            for call in delta.tool_calls:
                slots.add(call.index, call.function.name, call.function.arguments)

    def whole(self, text: str) -> list[Call]:
        found = self.parser(NoTokens(), self.tools).extract_tool_calls(text, self.request)
        return [as_call(call.function.name, call.function.arguments) for call in found.tool_calls]


class VllmHermes(Vllm):
    name = "vLLM hermes"
    dialect = "hermes"

    def parser_class(self) -> Any:
        from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser

        return Hermes2ProToolParser


class VllmQwen(Vllm):
    """`qwen3_coder` on vLLM's new engine, which keeps its own text: the server gives it the chunk only."""

    name = "vLLM qwen3_coder (engine)"
    dialect = "qwen"

    def parser_class(self) -> Any:
        from vllm.parser.engine.adapters import make_adapters
        from vllm.parser.qwen3 import Qwen3Parser

        _, adapter = make_adapters(Qwen3Parser)
        return adapter

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = self.parser(NoTokens(), self.tools)
        parser.skip_reasoning_parsing = True  # as the server sets it where no reasoning parser is asked for
        slots = Slots()
        for chunk in chunks:
            self.take(parser.extract_tool_calls_streaming("", chunk, chunk, [], [], [], self.request), slots)
        self.take(parser.finish_streaming(), slots)
        return slots.calls()


class VllmRust(Server):
    """The Rust parser of DeepSeek V4 that vLLM 0.31 has and 0.33 has no more: the extension itself, without the
    pydantic models that vLLM makes of its output.
    """

    name = "vLLM DeepSeek V4 (Rust)"
    package = "vllm"
    dialect = "dsml"
    deltas = "each call"
    folder = "rust"
    version = VLLM_RUST

    def load(self) -> None:
        path = str(UNPACKED / "rust" / "_rust_tool_parser.abi3.so")
        spec = spec_from_file_location("_rust_tool_parser", path, loader=ExtensionFileLoader("_rust_tool_parser", path))
        if spec is None or spec.loader is None:
            raise ImportError(path)
        self.rust = module_from_spec(spec)
        spec.loader.exec_module(self.rust)
        self.tools = [self.rust.Tool(name, None, schema, None) for name, schema in TOOL_SCHEMAS.items()]

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = self.rust.ToolParser("DeepSeekV4ToolParser", self.tools)
        slots = Slots()
        for chunk in chunks:
            output = self.rust.ToolParserOutput()
            parser.parse_into(chunk, output)
            for call in output.calls:
                slots.add(call.tool_index, call.name, call.arguments)
        for call in parser.finish().calls:
            slots.add(call.tool_index, call.name, call.arguments)
        return slots.calls()


class Sglang(Server):
    package = "sglang"
    folder = "sglang"
    version = SGLANG

    def load(self) -> None:
        from sglang.srt.entrypoints.openai.protocol import Function, Tool

        self.tools = [
            Tool(type="function", function=Function(name=name, parameters=schema))
            for name, schema in TOOL_SCHEMAS.items()
        ]
        self.detector = self.detector_class()

    def detector_class(self) -> Any:
        raise NotImplementedError

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        detector = self.detector()
        slots = Slots()
        for chunk in chunks:
            self.take(detector.parse_streaming_increment(chunk, self.tools).calls, slots)
        self.take(detector.finish(self.tools).calls, slots)
        self.add_rest(detector, slots)
        return slots.calls()

    def take(self, items: Iterable[Any], slots: Slots) -> None:
        for item in items:
            slots.add(item.tool_index, item.name, item.parameters)

    def add_rest(self, detector: Any, slots: Slots) -> None:
        """When a reply ends, the server sends what the detector knows of the last call and has not streamed."""
        index = len(detector.prev_tool_call_arr) - 1
        if 0 <= index < len(detector.streamed_args_for_tool):
            known = json.dumps(detector.prev_tool_call_arr[index].get("arguments", {}), ensure_ascii=False)
            sent = detector.streamed_args_for_tool[index]
            slots.add(index, None, known.removeprefix(sent) if known.startswith(sent) else None)

    def whole(self, text: str) -> list[Call]:
        found = self.detector().detect_and_parse(text, self.tools).calls
        return [as_call(item.name, item.parameters) for item in found]


class SglangQwen25(Sglang):
    name = "SGLang qwen25"
    dialect = "hermes"

    def detector_class(self) -> Any:
        from sglang.srt.function_call.qwen25_detector import Qwen25Detector

        return Qwen25Detector


class SglangQwenCoder(Sglang):
    name = "SGLang qwen3_coder"
    dialect = "qwen"
    deltas = "each value"

    def detector_class(self) -> Any:
        from sglang.srt.function_call.qwen3_coder_detector import Qwen3CoderDetector

        return Qwen3CoderDetector


class SglangGlm(Sglang):
    name = "SGLang glm"
    dialect = "glm"
    deltas = "each value"

    def detector_class(self) -> Any:
        from sglang.srt.function_call.glm4_moe_detector import Glm4MoeDetector

        return Glm4MoeDetector


class VllmGlm(VllmQwen):
    name = "vLLM glm (engine)"
    dialect = "glm"

    def parser_class(self) -> Any:
        from vllm.parser.engine.adapters import make_adapters
        from vllm.parser.glm47_moe import Glm47MoeParser

        _, adapter = make_adapters(Glm47MoeParser)
        return adapter


SERVER_RIVALS: list[type[Rival]] = [VllmRust, VllmQwen, VllmHermes, VllmGlm, SglangQwenCoder, SglangQwen25, SglangGlm]
