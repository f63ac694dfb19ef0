"""The parsers themselves, as SGLang wants them: detectors, one class for each name.

SGLang makes a detector for each choice of each request. The reasoning detector reads all of a reply, and the tool
detector what that leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, StructureInfo, ToolCallItem
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

from xmltools.dialects import Dialect
from xmltools.engine_plugins.call_ids import call_id
from xmltools.engine_plugins.names import PREFIX, ParserName, find
from xmltools.engine_plugins.replies import CallReader, Kind, Piece, ReasoningReader, marks_of, read_reply
from xmltools.errors import XMLToolsError
from xmltools.tools import Tool, load_tools

STRUCTURAL_TAGS = {"qwen3_coder": "qwen_3_coder", "kimi_k2": "kimi"}
"""The names under which xgrammar has grammars for calls, by dialect. Dialects of several models whose calls differ have
none: a detector does not know the model."""

SERVING = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"


class XMLToolsDetector(BaseFormatDetector):  # type: ignore[misc]  # SGLang is not installed where types are checked
    """Reads the calls of one dialect."""

    dialect: Dialect
    whole: bool

    def __init__(self) -> None:
        super().__init__()
        self._named: str | None = None
        self._reader: CallReader | None = None  # of a stream
        self._started = 0  # calls of the stream
        self.eot_token = self.dialect.closer  # SGLang makes Kimi K3 stop there
        hook_serving()

    def has_tool_call(self, text: str) -> bool:
        """Whether a whole reply has to be looked at. The tools are not known here, so any mark will do."""
        return any(form.opener[:1] in text for form in self.dialect.forms)

    def get_required_tool_parser(self, tool_choice: Any) -> None:
        """Note which tool has to be called. Such calls are written as all others, and need no other parser."""
        self._named = getattr(getattr(tool_choice, "function", None), "name", None)

    def supports_structural_tag(self) -> bool:
        """Whether a call is JSON between two fixed texts, for which SGLang makes a grammar itself."""
        return self.dialect.name == "hermes"

    def parses_required_natively(self) -> bool:
        """Whether calls that must be made are written as all others."""
        return True

    def get_structural_tag_name(self) -> str | None:
        """The name under which xgrammar has a grammar for these calls."""
        return STRUCTURAL_TAGS.get(self.dialect.name)

    def structure_info(self) -> Callable[[str], Any]:
        """Return what makes those texts of a tool's name. Raises `XMLToolsError` if there are none."""
        if not self.supports_structural_tag():
            raise XMLToolsError(f"there is no grammar for calls in {self.dialect.name}: leave it to the prompt")
        start, end = self.dialect.opener, self.dialect.closer
        return lambda name: StructureInfo(f'{start}\n{{"name": "{name}", "arguments": ', f"}}\n{end}", start)

    def detect_and_parse(self, text: str, tools: list[Any]) -> Any:
        """Read a whole reply."""
        reply = read_reply(text, self._allowed(tools), self.dialect)
        calls = [
            ToolCallItem(tool_index=number, name=call.name, parameters=call.arguments)
            for number, call in enumerate(reply.calls)
        ]
        return StreamingParseResult(normal_text=reply.text, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        """Read the next text of a stream. Raises `RejectedCallError` as `CallReader.feed` does."""
        if self._reader is None:
            self._reader = CallReader(self._allowed(tools), self.dialect, whole=self.whole)
        return self._result(self._reader.feed(new_text))

    def finish(self, tools: list[Any]) -> Any:
        """Return what is left when the stream has ended. Raises `RejectedCallError` as `CallReader.close` does."""
        return self._result(self._reader.close() if self._reader is not None else ())

    def _allowed(self, tools: list[Any]) -> list[Tool]:
        known = load_tools([tool.model_dump() for tool in tools])
        return [tool for tool in known if self._named in (None, tool.name)]

    def _result(self, pieces: Iterable[Piece]) -> Any:
        texts: list[str] = []
        calls: list[Any] = []
        for kind, text, _ in pieces:
            if kind is Kind.TEXT:
                texts.append(text)
            elif kind is Kind.START:
                calls.append(ToolCallItem(tool_index=self._started, name=text, parameters=""))
                self._started += 1
            elif kind is Kind.ARGUMENTS:
                calls.append(ToolCallItem(tool_index=self._started - 1, parameters=text))
        return StreamingParseResult(normal_text="".join(texts), calls=calls)


class XMLToolsReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc]  # as above
    """Parts the reasoning that a reply begins with from the rest.

    `force_reasoning`: the prompt has opened it, or is thought to. `tool_call_parser_active`: a tool detector reads the
    rest; otherwise it is text, without tokens that are none.
    """

    dialect: Dialect
    _in_reasoning: bool

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool = False,
        continue_final_message: bool = False,
        previous_content: str = "",
        force_nonempty_content: bool = False,
        tool_call_parser_active: bool = False,
    ) -> None:
        starts, ends = marks_of(self.dialect)
        super().__init__(
            starts[0],
            ends[0],
            stream_reasoning=stream_reasoning,
            force_reasoning=force_reasoning,
            continue_final_message=continue_final_message,
            previous_content=previous_content,
            force_nonempty_content=force_nonempty_content,
            reasoning_default=None,
        )
        self._reader = ReasoningReader(self.dialect, inside=self._in_reasoning)
        self._rest = None if tool_call_parser_active else CallReader([], self.dialect)
        self._thoughts: list[str] = []  # that are not sent
        hook_serving()

    def _detect_and_parse_impl(self, text: str) -> Any:
        thoughts, rest = (a + b for a, b in zip(self._reader.feed(text), self._reader.close(), strict=True))
        return ReasoningResult(self._plain(rest, is_last=True), thoughts)

    def _parse_streaming_increment_impl(self, new_text: str) -> Any:
        thoughts, rest = self._reader.feed(new_text)
        self._thoughts.append(thoughts)
        self._in_reasoning = not self._reader.ended
        is_due = self.stream_reasoning or self._reader.ended
        return ReasoningResult(self._plain(rest), self._take() if is_due else "")

    def finish(self) -> Any:
        """Return what is left when the stream has ended."""
        thoughts, rest = self._reader.close()
        self._thoughts.append(thoughts)
        text, thoughts = self._plain(rest, is_last=True), self._take()
        if self._force_nonempty_content and self._in_reasoning and not text:
            return ReasoningResult(self._accumulated_reasoning + thoughts)
        return ReasoningResult(text, thoughts)

    def _take(self) -> str:
        thoughts = "".join(self._thoughts)
        self._thoughts.clear()
        return thoughts

    def _plain(self, text: str, *, is_last: bool = False) -> str:
        """What follows the reasoning, as it is to be passed on."""
        if self._rest is None:
            return text
        pieces = self._rest.feed(text) + (self._rest.close() if is_last else [])
        return "".join(piece.text for piece in pieces)


def tool_detector(name: ParserName) -> type[Any]:
    """Make the class of a tool parser."""
    return type(str(name), (XMLToolsDetector,), {"dialect": name.dialect, "whole": name.whole})


def reasoning_detector(name: ParserName) -> type[Any]:
    """Make the class of a reasoning parser."""
    return type(f"reasoning_{name}", (XMLToolsReasoningDetector,), {"dialect": name.dialect})


def hook_serving() -> None:
    """Change two places of SGLang that go by the names of its own parsers, once the process has loaded them."""
    if SERVING.rpartition(".")[0] in sys.modules:
        _hook_serving()


@cache
def _hook_serving() -> None:
    HookRegistry.register(f"{SERVING}._process_tool_call_id", _call_id, HookType.AROUND)
    HookRegistry.register(f"{SERVING}._patch_reasoning_skip_special_tokens", _keep_marks, HookType.AFTER)
    HookRegistry.apply_hooks()


def _call_id(original: Callable[..., str], serving: Any, call_item: Any, history_tool_calls_cnt: int) -> str:
    """Give calls the ids that the chat templates of some models read."""
    name = serving.tool_call_parser or ""
    dialect = find(name).dialect if name.startswith(PREFIX) else None
    own = dialect and call_id(dialect, call_item.name, history_tool_calls_cnt + call_item.tool_index)
    return own or original(serving, call_item, history_tool_calls_cnt)


def _keep_marks(result: None, serving: Any, request: Any) -> None:
    """Keep the marks of reasoning in the text, also if the request has no tools."""
    if (serving.reasoning_parser or "").startswith(PREFIX):
        request.skip_special_tokens = False
