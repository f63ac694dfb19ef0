"""Messages in other dialects than Forge's: how they are written as text, and what is hidden in it.

Text is data, as in `escaping`. What would be read as a call, as reasoning or as a token that ends a turn is hidden as
`xmltools.render.marks` does it. White space is hidden too where it stands next to a call or reasoning, if it only lays
these out in the dialect, and so is what a call may begin with where nothing marks it. That is written as a reference of
four digits (`&#0010;`), which is shown again wherever it stands; what stood there already gets one `amp;` more.

Each message is read back before it is returned. If text before a call or reasoning changes how that is read (a code
fence without an end), all that could do so is hidden. What is still read as something else is an error.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby

from xmltools.conversations.transcript.escaping import change_first_text, text_part
from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Part, Reasoning, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, ReasoningDelta, TextDelta
from xmltools.parser import Limits, Parser
from xmltools.parser.limits import MAX_DEPTH
from xmltools.render import ReadResult, read_results
from xmltools.render.dialect_calls import form_of, tool_to_read, write_calls
from xmltools.render.marks import Marks, marks_beside
from xmltools.render.results import begins_results
from xmltools.render.writable import refuse_foreign, same
from xmltools.syntax.markup import SPACES
from xmltools.tools import Tool

_HIDDEN = re.compile(r"&#(0\d{3});")
_AMPERSAND = re.compile(r"&(?=(?:amp;)*#0\d{3};)")
_HIDDEN_AMPERSAND = re.compile(r"&amp;(?=(?:amp;)*#0\d{3};)")
_EDGES = re.compile(rf"\A[{SPACES}]|[{SPACES}]\Z")
_FIRST = re.compile(rf"(?<=\A)([{SPACES}]*)([\[{{]|to=)")
_BEGINS_CODE = re.compile(r"[`~\\]|<(?=!)|\{(?=\s*[\"'])")

_Segment = TextDelta | CallFailed | ReasoningDelta | CallCompleted


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0][0]):04};{found[0][1:]}"


class Notation:
    """How the texts of a conversation are written in a dialect, for tools that may be known."""

    def __init__(self, dialect: Dialect, tools: Sequence[Tool] | None) -> None:
        form, writing = form_of(dialect)
        self.dialect = dialect
        self.tools = tools
        self.result = writing.result
        self._by_name = {(tool.name, tool.server): tool for tool in tools or ()}
        self._marks: Marks = marks_beside(tools, dialect, closers=True)
        self._glue = writing.before
        self._has_first = form.is_bare or any(each.is_first for each in dialect.forms)
        pairs = [(f"<{tag}>", f"</{tag}>") for tag in dialect.reasoning] or list(dialect.thoughts)
        self._thought = pairs[0] if pairs else None

    # -- the assistant -------------------------------------------------------------------------------------------------

    def write(self, parts: list[Part], *, exact: bool) -> str:
        """Return texts, calls and reasoning of the assistant as one text, in which thoughts that follow each other are
        one. Raises XMLToolsError for what the dialect can't say."""
        parts = list(_with_joined_thoughts(parts))
        for thorough in (False, True):
            text = self._glue.join(self._pieces(parts, exact, thorough))
            if self._is_read(text, parts, exact):
                return text
        words = {Text: "a text", Reasoning: "reasoning", ToolCall: "a call"}
        kinds = [kind for kind in words if any(isinstance(part, kind) for part in parts)]
        what = " beside ".join(words[kind] for kind in kinds)
        hint = "; give the tools" if self.tools is None and ToolCall in kinds else ""
        raise XMLToolsError(
            f"{what} can't be written in the dialect {self.dialect.name!r} so that it is read back{hint}"
        )

    def _pieces(self, parts: list[Part], exact: bool, thorough: bool) -> Iterator[str]:
        is_first = True
        for kind, group in groupby(parts, type):
            run = list(group)
            if kind is ToolCall:
                yield self._calls([part for part in run if isinstance(part, ToolCall)], exact, is_first)
                is_first = False
                continue
            for part in run:
                if isinstance(part, Reasoning):
                    yield self._reasoning(part.text, thorough)
                elif isinstance(part, Text):
                    yield self._text(part.text, len(parts) > 1, thorough)
                    is_first = False

    def _calls(self, calls: list[ToolCall], exact: bool, is_first: bool) -> str:
        for call in calls:
            refuse_foreign(call.arguments, f"the call of {call.name!r:.80}")
        pairs = [(call, self._by_name.get((call.name, call.server))) for call in calls]
        return write_calls(pairs, self.dialect, exact=exact, is_first=is_first)

    def _reasoning(self, text: str, thorough: bool) -> str:
        if self._thought is None:
            raise XMLToolsError(
                f"the dialect {self.dialect.name!r} has no reasoning; leave it out with `reasoning=False`"
            )
        start, end = self._thought
        return f"{start}{self._hidden(text, has_edges=self.dialect.layout, thorough=thorough)}{end}"

    def _text(self, text: str, is_beside: bool, thorough: bool) -> str:
        text = self._hidden(text, has_edges=is_beside and self.dialect.layout, thorough=thorough)
        if self._has_first:
            text = _FIRST.sub(lambda found: f"{found[1]}&#{ord(found[2][0]):04};{found[2][1:]}", text)
        return text

    def _hidden(self, text: str, *, has_edges: bool, thorough: bool) -> str:
        text = self._marks.hide(_AMPERSAND.sub("&amp;", text))
        if thorough:
            text = _BEGINS_CODE.sub(_reference, text)
        return _EDGES.sub(_reference, text) if has_edges else text

    def _shown(self, text: str) -> str:
        if "&" not in text:
            return text
        text = _HIDDEN.sub(lambda found: chr(int(found[1])), text)
        return _HIDDEN_AMPERSAND.sub("&", self._marks.show(text))

    def _is_read(self, text: str, parts: list[Part], exact: bool) -> bool:
        """Return whether a message is read back as its parts."""
        if len(parts) == 1 and isinstance(parts[0], Text) and not _MAY_MEAN.search(text):
            return True
        odd = self._readers(parts)
        tools = None if self.tools is None else list((self._by_name | odd).values())
        read = list(self.read(text, Parser(tools, dialect=self.dialect, limits=limits_of(text))))
        if len(read) != len(parts):
            return False
        return all(self._is_same(one, other, exact, odd) for one, other in zip(parts, read, strict=True))

    def _readers(self, parts: list[Part]) -> dict[tuple[str, str], Tool]:
        """Return tools that take anything for the calls that their own ones would not."""
        calls = [part for part in parts if isinstance(part, ToolCall)]
        pairs = [(call, self._by_name.get((call.name, call.server))) for call in calls]
        readers = [(tool, tool_to_read(call, tool)) for call, tool in pairs]
        return {(reader.name, reader.server): reader for tool, reader in readers if reader is not tool}

    def _is_same(self, one: Part, other: Part, exact: bool, odd: Container[tuple[str, str]]) -> bool:
        if isinstance(one, ToolCall) and isinstance(other, ToolCall):
            key = one.name, one.server
            # What its tool refuses has no right spelling, and neither has, unless it must be exact, what has no tool.
            has_types = key not in odd or (exact and key not in self._by_name)
            return one.name == other.name and (not has_types or same(one.arguments, other.arguments))
        return type(one) is type(other) and getattr(one, "text", None) == getattr(other, "text", None)

    def read(self, text: str, parser: Parser) -> Iterator[Part]:
        """Read text of the assistant into its parts."""
        events = [*parser.feed(text), *parser.close()]
        segments = [event for event in events if isinstance(event, _Segment)]
        for kind, group in groupby(segments, _kind):
            run = list(group)
            if kind is Text:
                yield from self._prose(text, run)
            elif kind is Reasoning:
                thought = "".join(event.text for event in run if isinstance(event, ReasoningDelta))
                yield Reasoning.unchecked(self._shown(thought))
            else:
                yield from (event.call for event in run if isinstance(event, CallCompleted))

    def _prose(self, text: str, run: Sequence[_Segment]) -> Iterator[Part]:
        """Read a run of text and of calls that failed, which stay as they were written."""
        glue = self._glue
        low, high = run[0].span[0], run[-1].span[1]
        if not self.dialect.layout:  # else it is none of the text
            is_glued = low > 0 and text.startswith(glue, low)
            low += len(glue) if is_glued else 0
            high -= len(glue) if high < len(text) and text.endswith(glue, low, high) else 0
        pieces = []
        for is_failed, group in groupby(run, lambda event: isinstance(event, CallFailed)):
            spans = [event.span for event in group]
            piece = text[max(spans[0][0], low) : min(spans[-1][1], high)]
            pieces.append(piece if is_failed else self._shown(piece))
        if written := "".join(pieces):
            yield text_part(written)

    # -- results -------------------------------------------------------------------------------------------------------

    def hide_results(self, parts: Iterable[Part], role: str) -> tuple[Part, ...]:
        """Return the parts of a message without results, changed if its first text would be read as some."""
        return change_first_text(parts, lambda text: f" {text}" if self._looks_like(text.lstrip(" ")) else text)

    def show_results(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """Undo `hide_results`."""
        return change_first_text(
            parts, lambda text: text[1:] if text[:1] == " " and self._looks_like(text.lstrip(" ")) else text
        )

    def _looks_like(self, text: str) -> bool:
        return begins_results(text, self.dialect)

    def read_results(self, text: str, media: Sequence[Media], *, may_be_bare: bool) -> list[ReadResult] | None:
        """Return the results that a text is; None if it is something else. `may_be_bare`: it may be one without any
        mark."""
        has_marks = bool(self.result.each_start) or self.result.is_headed
        if not begins_results(text, self.dialect) and (has_marks or not may_be_bare):
            return None
        try:
            return read_results(text, media, dialect=self.dialect, tools=self.tools)
        except XMLToolsError:
            return None


def _with_joined_thoughts(parts: Iterable[Part]) -> Iterator[Part]:
    for kind, group in groupby(parts, type):
        run = list(group)
        if kind is Reasoning and len(run) > 1:
            thoughts = [part.text for part in run if isinstance(part, Reasoning) and part.text]
            yield Reasoning.unchecked("\n\n".join(thoughts))
        else:
            yield from run


_MAY_MEAN = re.compile(r"[<\[{\]]|functools|to=")
"""What is in each text that is read as something else than text."""


def _kind(event: _Segment) -> type[Text | Reasoning | ToolCall]:
    if isinstance(event, ReasoningDelta):
        return Reasoning
    return ToolCall if isinstance(event, CallCompleted) else Text


def limits_of(text: str) -> Limits:
    """Limits that a text can exceed in depth only."""
    most = len(text) + 1
    return Limits(block_size=most, depth=MAX_DEPTH, elements=most, blocks=most)
