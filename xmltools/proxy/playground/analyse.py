"""All that the playground shows of one text, as JSON values. No web library is needed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import count
from typing import Any

from xmltools.conversations.compaction import estimate_tokens
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar, grammar_issues
from xmltools.models import Conversation
from xmltools.parser import Parser
from xmltools.proxy.playground.asked import Asked, InputError, read_options, read_text, read_tools
from xmltools.proxy.playground.reading import write_reading
from xmltools.proxy.playground.rechunk import rechunk
from xmltools.proxy.playground.steps import Record, record, write_steps
from xmltools.render import render_instructions
from xmltools.tools import Tool

__all__ = ["PARTS", "InputError", "analyse"]

PARTS = 4_000
"""Parts that a text may fall into: texts, regions of reasoning, calls and errors."""


def analyse(text: str, tools: list[Any] | None = None, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read a text as the parser does while it streams, and return what there is to see, by section.

    Takes the text; the tools, as `load_tools` takes them, or None; and options:

    - those of `Parser` that are plain values: `strict`, `reasoning_tags`, `starts_in_reasoning`, `bracket_reasoning`,
      `code_fences`;
    - `sections`: some of `"reading"` (parts, spans that tile the text, marks), `"steps"` (what each character brings),
      `"prompt"` (the instructions that the tools make, in `style`), `"grammar"` (in the format that `grammar` names)
      and `"rechunk"` (the text cut at random by `seed`, and whether anything changed); all but the last by default.

    Returns JSON values, whose numbers a browser can hold: ids of calls are `call_1`, `call_2` and so on. What tools
    can't give, such as a grammar of none, is `{"error": sentence}` in its section. Raises InputError, which names the
    field, for a text that is none or has more than `PARTS` parts, invalid tools, and options that there are not.
    """
    read_text(text)
    work = _Work(text, read_tools(tools), read_options(options))
    return {"characters": len(text)} | {name: _SECTIONS[name](work) for name in work.asked.sections}


class _Work:
    """One analysis. The text is parsed once for all sections."""

    def __init__(self, text: str, tools: list[Tool] | None, asked: Asked) -> None:
        self.text = text
        self.tools = tools
        self.asked = asked

    def parser(self) -> Parser:
        return Parser(self.tools, new_id=_ids().__next__, **self.asked.parser)

    @cached_property
    def record(self) -> Record:
        found = record(self.text, self.parser())
        if len(found.parts) > PARTS:
            raise InputError(
                "text", f"text: it falls into more than {PARTS:,} parts, which no page can show; shorten it"
            )
        return found


def _ids() -> Iterator[str]:
    return (f"call_{number}" for number in count(1))


def _reading(work: _Work) -> dict[str, Any]:
    found = work.record
    return write_reading(work.text, found.parts, found.notices, work.tools) | {
        "unclosed_reasoning": found.unclosed_reasoning
    }


def _steps(work: _Work) -> dict[str, Any]:
    return write_steps(work.text, work.record.timed)


def _rechunk(work: _Work) -> dict[str, Any]:
    return rechunk(work.text, work.record.events, work.parser(), work.asked.seed)


def _prompt(work: _Work) -> dict[str, Any]:
    try:
        text = render_instructions(work.tools or [], style=work.asked.style)
    except XMLToolsError as error:
        return {"error": str(error)}
    tokens = estimate_tokens(Conversation().user(text))
    return {"style": work.asked.style, "text": text, "characters": len(text), "tokens": tokens}


def _grammar(work: _Work) -> dict[str, Any]:
    tools, format = work.tools or [], work.asked.grammar
    try:
        built = build_grammar(tools, format)
        issues = grammar_issues(tools, format)
    except XMLToolsError as error:
        return {"error": str(error)}
    texts = {"": built} if isinstance(built, str) else built
    return {
        "format": format,
        "texts": [{"name": name, "text": text} for name, text in texts.items()],
        "issues": [str(issue) for issue in issues],
    }


_SECTIONS: dict[str, Callable[[_Work], dict[str, Any]]] = {
    "reading": _reading,
    "steps": _steps,
    "prompt": _prompt,
    "grammar": _grammar,
    "rechunk": _rechunk,
}
