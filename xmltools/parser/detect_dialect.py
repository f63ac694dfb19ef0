"""In which dialect are some replies written?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect
from xmltools.errors import Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser.delimited_starts import read_start
from xmltools.parser.foreign import delimiters_of
from xmltools.parser.stream import Parser
from xmltools.syntax.markup import MORE, SPACES
from xmltools.tools import Tool, list_of_tools


def detect(texts: Iterable[str], tools: Iterable[Tool] | None = None) -> list[tuple[Dialect, int, int]]:
    """Return the dialects in which there are calls in the texts, the likeliest first: each with the number of its
    calls, and of its blocks that give none. Without tools, any name is one.

    Of dialects with as many calls, the one comes first that has fewer errors, then the one in which more calls begin
    with the mark of a block, then that in which more begin with the mark that it writes, and not with one that it reads
    as well, then the one that repairs less. Raises XMLToolsError for what is no list of texts.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        one = "one " if isinstance(texts, (str, bytes)) else ""
        raise XMLToolsError(f"detect: expected a list of texts, as [text], got {one}{type(texts).__name__}")
    known = None if tools is None else list_of_tools(tools)
    calls, errors, marked, exact, repairs = (Counter[str]() for _ in range(5))
    for text in texts:
        if not isinstance(text, str):
            raise XMLToolsError(f"detect: expected a list of texts, got {type(text).__name__} in it")
        for dialect in _candidates(text, known):
            parser = Parser(known, dialect=dialect, argument_deltas=False)
            events = [*parser.feed(text), *parser.close()]
            own = [event.call for event in events if isinstance(event, CallCompleted) and _is_own(event.call)]
            calls[dialect.name] += len(own)
            errors[dialect.name] += sum(isinstance(event, CallFailed) for event in events)
            openers = tuple(form.opener for form in dialect.forms)
            starts = [call.span[0] for call in own if call.span is not None]
            marked[dialect.name] += sum(text.startswith(openers, start) for start in starts)
            written = (dialect.written or dialect).opener
            exact[dialect.name] += sum(text.startswith(written, start) for start in starts)
            repairs[dialect.name] += sum(len(call.repairs) for call in own)
    found = [dialect for dialect in dialects.all() if calls[dialect.name]]

    def rank(name: str) -> tuple[int, ...]:
        return -calls[name], errors[name], -marked[name], -exact[name], repairs[name]

    found.sort(key=lambda each: rank(each.name))
    return [(each, calls[each.name], errors[each.name]) for each in found]


def _candidates(text: str, tools: list[Tool] | None) -> list[Dialect]:
    """The dialects in which a call may begin in the text. Most texts have the marks of none or of one, and looking for
    marks takes much less time than reading."""
    marks = _marks()
    begins_bare = text.lstrip(SPACES)[:1] in ("{", "[", "<")  # after a tag of reasoning, or a token
    seen = dict.fromkeys(f"<{found[1]}" for found in marks.tag.finditer(text)) if "<" in text else {}
    seen |= dict.fromkeys(mark for mark in marks.others if mark in text)
    chosen: dict[str, Dialect] = {}
    for word in seen:
        for mark in marks.within[word.lower() if word.lower() in marks.within else word]:
            for dialect, form in marks.forms[mark]:
                if dialect.name in chosen:
                    continue
                if begins_bare if form.is_bare else form.arguments or _may_begin(form, text, mark):
                    chosen[dialect.name] = dialect
    lowered = text.lower()
    names = [tool.name.lower() for tool in tools or ()]
    if names and any(name in lowered for name in names):
        chosen |= {each.name: each for each in dialects.all() if each.body is Body.TAGS}
    return list(chosen.values())


class _Marks(NamedTuple):
    """What calls may begin with: a pattern of what begins with `<`, as a group, and what does not; what each of them
    begins with that is a mark too; and the forms of each, with their dialects."""

    tag: re.Pattern[str]
    others: list[str]
    within: dict[str, list[str]]
    forms: dict[str, list[tuple[Dialect, Dialect]]]


@lru_cache(maxsize=1)
def _marks() -> _Marks:
    forms: dict[str, list[tuple[Dialect, Dialect]]] = {}
    patterns = {}
    elements = set()
    for dialect, form in ((owner, form) for owner in dialects.all() for form in owner.forms if form.opener):
        is_element = bool(form.arguments)
        marks = [f"<{form.block}"] if is_element else delimiters_of(form)
        for mark in dict.fromkeys(marks):
            forms.setdefault(mark, []).append((dialect, form))
            patterns[mark] = re.escape(mark[1:])
            if is_element:
                elements.add(mark)  # its name counts in any case
                patterns[mark] = f"(?i:{patterns[mark]})(?=[> \\t\\r\\n])"
    tags = sorted((mark for mark in forms if mark.startswith("<")), key=len, reverse=True)
    return _Marks(
        re.compile(f"<(?=({'|'.join(patterns[mark] for mark in tags)}))"),
        [mark for mark in forms if not mark.startswith("<")],
        {word: [word, *(m for m in forms if m not in elements and m != word and word.startswith(m))] for word in forms},
        forms,
    )


def _may_begin(form: Dialect, text: str, mark: str) -> bool:
    """May a call in this form begin at one of these marks, written as in the form?"""
    if form.body is Body.TAGS or (form.is_sure and mark == form.opener):
        return True
    is_text = form.pairs is not None and not form.pairs.json
    at = text.find(mark)
    while at >= 0:
        begins = read_start(form, text, at, mark)
        if begins or begins is MORE:
            # JSON in place of pairs is how others write.
            after = text[at + len(mark) : at + len(mark) + _NEAR].lstrip(SPACES) if is_text else ""
            if not after.startswith(("{", "[")):
                return True
        at = text.find(mark, at + 1)
    return False


_NEAR = 64
"""Characters after a mark in which JSON would begin."""


def _is_own(call: ToolCall) -> bool:
    """Is the call written as in its dialect? JSON in place of pairs is how others write."""
    return call.dialect == FORGE.name or all(repair.code is not Code.JSON_ARGUMENTS for repair in call.repairs)
