"""The parsers themselves, as vLLM wants them: classes, one for each name, made when they are asked for.

vLLM makes a parser for each choice of each request. It gives the tool parser what follows the reasoning, and tells both
of the end of the reply (`finish_streaming`), as these say that they read as streams (`engine_based_streaming`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.exceptions import GenerationError
from vllm.parser.utils import count_history_tool_calls
from vllm.reasoning.abs_reasoning_parsers import ReasoningParser
from vllm.tool_parsers.abstract_tool_parser import ToolParser

from xmltools.dialects import Dialect, opens_reasoning
from xmltools.engine_plugins.call_ids import call_id
from xmltools.engine_plugins.names import find
from xmltools.engine_plugins.replies import (
    CallReader,
    Kind,
    Piece,
    ReasoningReader,
    RejectedCallError,
    marks_of,
    read_reply,
)
from xmltools.tools import Tool, load_tools

STRUCTURAL_TAGS = {
    "hermes": "hermes",
    "qwen3_coder": "qwen_3_coder",
    "glm": "glm_4_7",
    "kimi_k2": "kimi",
    "llama3_json": "llama",
}
"""The names under which vLLM has grammars for calls, by dialect. Dialects of several models whose calls differ have
none: a parser does not know the model."""

REASONING = "reasoning_"
"""What the names of reasoning parsers begin with in this module."""

PROMPT_END = 32
"""Tokens at the end of a prompt that are looked at."""


class XMLToolsParser(ToolParser):  # type: ignore[misc]  # vLLM is not installed where types are checked
    """Reads the calls of one dialect."""

    dialect: Dialect
    whole: bool
    supports_required_and_named = False  # calls that must be made are written as all others
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        super().__init__(tokenizer, tools)
        self._tools = load_tools([tool.model_dump() for tool in self.tools])
        self._reader: CallReader | None = None  # of a stream
        self._started = 0  # calls of the stream
        self._told_before = 0  # calls in the conversation before it

    def adjust_request(self, request: Any) -> Any:
        """Keep the marks of calls in the text, many of which are special tokens."""
        request = super().adjust_request(request)
        if request.tools and request.tool_choice != "none":
            request.skip_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Read a whole reply."""
        reply = read_reply(model_output, self._allowed(request), self.dialect)
        before = count_history_tool_calls(request)
        calls = [
            ToolCall(
                id=call_id(self.dialect, call.name, before + number) or call.id,
                function=FunctionCall(name=call.name, arguments=call.arguments),
            )
            for number, call in enumerate(reply.calls)
        ]
        # If some call was made or rejected, vLLM takes the text from here.
        return ExtractedToolCallInformation(
            tools_called=bool(calls or reply.failed), tool_calls=calls, content=reply.text or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Read the next text of a stream."""
        if self._reader is None:
            self._reader = CallReader(self._allowed(request), self.dialect, whole=self.whole)
            self._told_before = count_history_tool_calls(request)
        try:
            return self._delta(self._reader.feed(delta_text))
        except RejectedCallError as rejected:
            raise GenerationError(str(rejected)) from None

    def finish_streaming(self) -> Any:
        """Return what is left when the stream has ended."""
        if self._reader is None:
            return None
        try:
            return self._delta(self._reader.close())
        except RejectedCallError as rejected:
            raise GenerationError(str(rejected)) from None

    def delta_of_rest(self, text: str, request: Any) -> Any:
        """Read the end of a stream of which nothing came before; None if there is nothing in it."""
        reader = CallReader(self._allowed(request), self.dialect, whole=True)
        self._told_before = count_history_tool_calls(request)
        return self._delta([*reader.feed(text), *reader.close()])

    def _allowed(self, request: Any) -> list[Tool]:
        choice = request.tool_choice
        if choice == "none":
            return []
        named = getattr(getattr(choice, "function", choice), "name", None)
        return [tool for tool in self._tools if named in (None, tool.name)]

    def _delta(self, pieces: Iterable[Piece]) -> Any:
        """Write pieces as vLLM does; None if there are none."""
        texts: list[str] = []
        calls: list[Any] = []
        for kind, text, id in pieces:
            if kind is Kind.TEXT:
                texts.append(text)
            elif kind is Kind.START:
                id = call_id(self.dialect, text, self._told_before + self._started) or id
                function = DeltaFunctionCall(name=text, arguments="")
                calls.append(DeltaToolCall(index=self._started, type="function", id=id, function=function))
                self._started += 1
            elif kind is Kind.ARGUMENTS:
                calls.append(DeltaToolCall(index=self._started - 1, function=DeltaFunctionCall(arguments=text)))
        if not texts and not calls:
            return None
        return DeltaMessage(content="".join(texts) or None, tool_calls=calls)


class XMLToolsReasoning(ReasoningParser):  # type: ignore[misc]  # as above
    """Parts the reasoning that a reply begins with from the rest. The prompt tells whether it has begun already."""

    dialect: Dialect
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._inside = False
        self._reader: ReasoningReader | None = None  # of a stream
        self._request: Any = None  # of a stream that ends in reasoning

    @property
    def reasoning_start_str(self) -> str | None:
        """The mark with which reasoning begins."""
        return marks_of(self.dialect)[0][0]

    @property
    def reasoning_end_str(self) -> str | None:
        """The mark with which it ends."""
        return marks_of(self.dialect)[1][0]

    def adjust_request(self, request: Any) -> Any:
        """Keep the marks of reasoning in the text."""
        request.skip_special_tokens = False
        return request

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Look whether the prompt has opened the reasoning."""
        self._inside = opens_reasoning(self.dialect, self._end_of(prompt_token_ids))

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether a prompt ends with the end of reasoning. One that says nothing of it may be followed by some."""
        return self._end_of(input_ids).rstrip().endswith(marks_of(self.dialect)[1])

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether reasoning ends in the last tokens."""
        text = self._end_of(input_ids, PROMPT_END + len(list(delta_ids)))
        return any(mark in text for mark in marks_of(self.dialect)[1])

    def _end_of(self, ids: Sequence[int], count: int = PROMPT_END) -> str:
        return str(self.model_tokenizer.decode(list(ids[-count:])))

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Return the tokens as they are: the tool parser reads text."""
        return input_ids

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Part a whole reply."""
        reader = ReasoningReader(self.dialect, inside=self._inside)
        thoughts, rest = (a + b for a, b in zip(reader.feed(model_output), reader.close(), strict=True))
        return thoughts or None, rest or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Part the next text of a stream."""
        if self._reader is None:
            self._reader = ReasoningReader(self.dialect, inside=self._inside)
        return _message(*self._reader.feed(delta_text))

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the tool parser is to read all further text."""
        return self._reader is not None and self._reader.ended

    def get_streaming_fallback_content(self, text: str, request: Any) -> None:
        """Keep the request. vLLM asks this of a stream that ends in reasoning, right before `finish_streaming`."""
        self._request = request

    def finish_streaming(self) -> Any:
        """Return what is left when the stream has ended in reasoning, with the calls that end it.

        Only the end of the reply shows that they count. The tool parser, to which vLLM gives nothing after the last
        text, can't read them.
        """
        if self._reader is None or self._reader.ended:
            return None
        thoughts, rest = self._reader.close()
        if not rest:
            return _message(thoughts, "")
        parser = XMLToolsParser(self.model_tokenizer, self._request.tools)
        parser.dialect = self.dialect
        delta = parser.delta_of_rest(rest, self._request) or DeltaMessage()
        delta.reasoning = thoughts or None
        return delta


def _message(thoughts: str, text: str) -> Any:
    return DeltaMessage(reasoning=thoughts or None, content=text or None) if thoughts or text else None


def __getattr__(name: str) -> Any:
    """Make the class that vLLM asks for by a name that `vllm.register` has told it."""
    if name.startswith("_"):
        raise AttributeError(name)
    found = find(name.removeprefix(REASONING))
    if name.startswith(REASONING):
        return type(name, (XMLToolsReasoning,), {"dialect": found.dialect})
    fields = {"dialect": found.dialect, "whole": found.whole}
    return type(name, (XMLToolsParser,), {**fields, "structural_tag_model": STRUCTURAL_TAGS.get(found.dialect.name)})
