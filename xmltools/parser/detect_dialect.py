"""In which dialect are some replies written?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import add

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect, forms_for
from xmltools.errors import Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser.delimited_starts import read_start
from xmltools.parser.stream import Parser
from xmltools.syntax.markup import MORE, SPACES
from xmltools.tools import Tool, list_of_tools


def detect(texts: Iterable[str], tools: Iterable[Tool] | None = None) -> list[tuple[Dialect, int, int]]:
    """Return the dialects in which there are calls in the texts, the likeliest first: each with the number of its
    calls, and of its blocks that give none. Without tools, any name is one.

    Of dialects with as many calls, the one comes first that has fewer errors, then the one in which more calls begin
    with the mark of a block, then that in which more begin with the mark that it writes, and not with one that it reads
    as well, then the one whose frame is around more replies, then the one that repairs less. Raises XMLToolsError for
    what is no list of texts.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        one = "one " if isinstance(texts, (str, bytes)) else ""
        raise XMLToolsError(f"detect: expected a list of texts, as [text], got {one}{type(texts).__name__}")
    known = None if tools is None else list_of_tools(tools)
    names = tuple(tool.name for tool in known or ())
    totals = {dialect: [0] * 6 for dialect in dialects.all()}
    for text in texts:
        if not isinstance(text, str):
            raise XMLToolsError(f"detect: expected a list of texts, got {type(text).__name__} in it")
        for dialect, total in totals.items():
            # To look for delimiters takes much less time than to read.
            if any(_may_begin(form, text, known or []) for form in forms_for(dialect, names)):
                total[:] = map(add, total, _count(dialect, text, known))
    found = sorted((each for each in totals if totals[each][0]), key=totals.__getitem__)
    return [(each, -totals[each][0], totals[each][1]) for each in found]


def _count(dialect: Dialect, text: str, tools: list[Tool] | None) -> tuple[int, ...]:
    """Read a text in a dialect, and return the numbers by which dialects are compared: the least is the best."""
    parser = Parser(tools, dialect=dialect, argument_deltas=False)
    events = [*parser.feed(text), *parser.close()]
    calls = [event.call for event in events if isinstance(event, CallCompleted) and _is_own(event.call)]
    starts = [call.span[0] for call in calls if call.span is not None]
    openers = tuple(form.opener for form in dialect.forms)
    written = (dialect.written or dialect).opener
    return (
        -len(calls),
        sum(isinstance(event, CallFailed) for event in events),
        -sum(text.startswith(openers, start) for start in starts),
        -sum(text.startswith(written, start) for start in starts),
        -(dialect.frame != () and all(tag in text for tag in dialect.frame)),
        sum(len(call.repairs) for call in calls),
    )


def _may_begin(form: Dialect, text: str, tools: list[Tool]) -> bool:
    """May a call in this form begin in the text?"""
    if form.body is Body.TAGS:
        lowered = text.lower()
        return any(tool.name.lower() in lowered for tool in tools)
    if form.body is Body.ELEMENTS:  # its name counts in any case
        return re.search(f"<(?i:{form.block})[>{SPACES}]", text) is not None
    if form.opener in text and (form.is_bare or form.is_sure):
        # A bare call comes first, or after a tag of reasoning, or a token.
        return form.is_sure or text.lstrip(SPACES).startswith(("{", "[", "<", form.opener))
    for mark in () if form.is_bare else form.starts[:2]:
        for found in re.finditer(re.escape(mark), text):
            begins = read_start(form, text, found.start(), mark)
            if begins or begins is MORE:
                # JSON in place of pairs is how others write.
                after = text[found.end() : found.end() + _NEAR].lstrip(SPACES)
                if form.pairs is None or form.pairs.json or after[:1] not in ("{", "["):
                    return True
    return False


_OF_OTHERS = {Code.JSON_ARGUMENTS, Code.STRAY_TEXT}
_NEAR = 64
"""Characters after a delimiter in which JSON would begin."""


def _is_own(call: ToolCall) -> bool:
    """Is the call written as in its dialect? JSON in place of pairs, or after other text, is how others write."""
    return call.dialect == FORGE.name or _OF_OTHERS.isdisjoint(repair.code for repair in call.repairs)
