"""Which dialect a model writes, by the delimiters in its chat template or in its vocabulary."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from xmltools.dialects.dialect import Body, Dialect
from xmltools.dialects.template_text import HOLE, text_of

_LONGEST: Final = 1 << 18
"""Characters of a template that are looked at. Long ones have 40,000."""
_TOKEN: Final = re.compile(r"</?[|｜][^<>]*?[|｜]>|[|｜]\w+[|｜]|<[|｜]\S+?>|<\S+?[|｜]>|\[/?[A-Z_]+\]")
"""A token of a tokenizer in a delimiter, which may have words beside it."""
_IS_ONE: Final = re.compile(r"[<[|｜\]]\S*[^\w\s=]")
"""What can be a token as a whole."""


def of_template(template: str, known: Iterable[Dialect]) -> Dialect | None:
    """Return the one of the known dialects that a chat template writes: of Jinja, or of Go, as Ollama has them. None if
    it writes none of them, or nothing tells which of several."""
    text = text_of(template[:_LONGEST])
    dialects = list(known)
    found = [(each, parts) for each in dialects if (parts := _evidence(each, text))]
    # A template that leaves calls to the model has at least the tokens around results.
    return _most_specific(found or [(each, parts) for each in dialects if (parts := _around_results(each, text))])


def of_vocabulary(tokens: Collection[str], known: Iterable[Dialect]) -> Dialect | None:
    """Return the one of the known dialects whose delimiters are among the tokens of a tokenizer. None if there is none,
    or nothing tells which of several: many models have the tokens of another one, and write something else."""
    has = frozenset(tokens)
    found = []
    for dialect in known:
        for form in _forms(dialect):
            pieces = {piece for mark in _marks(form) for piece in _pieces(mark) if _IS_ONE.fullmatch(piece)}
            held = has & pieces
            if any(each in form.opener for each in held) and has.issuperset(
                each for each in pieces if _TOKEN.fullmatch(each)
            ):
                is_whole = form.is_sure and held == pieces  # all its delimiters are tokens
                found.append((dialect, held | frozenset([""] if is_whole else [])))
    return _most_specific(found)


def _most_specific(found: list[tuple[Dialect, frozenset[str]]]) -> Dialect | None:
    """Return the dialect whose delimiters include those of all others, except those that differ only in the
    frame around text, which the template lacks; None if there is no such one."""
    for dialect, parts in found:
        if all(
            other is dialect or others < parts or (others == parts and not parts.issuperset(other.frame))
            for other, others in found
        ):
            return dialect
    return None


def _forms(dialect: Dialect) -> list[Dialect]:
    """The forms of a dialect that a model was trained to write, and that have delimiters or keys of their own."""
    told = (form for form in dialect.forms if form.slip is None and not form.is_first and form.opener)
    return [form for form in told if not form.is_bare or form.body is Body.JSON]


def _marks(form: Dialect) -> list[str]:
    """The delimiters of a call. A bare call has none."""
    if form.is_bare:
        return []
    marks = [form.opener, form.closer]
    if form.body is Body.ELEMENTS:
        marks += [f"<{form.tool_name}>", f"<{form.arguments}>"]
    if pairs := form.pairs:
        name_end = "" if pairs.may_lack_name_end else pairs.name_end
        marks += [pairs.name, name_end, pairs.end, pairs.key, pairs.key_end, pairs.value, pairs.value_end, pairs.quote]
        marks += [pairs.tag_mark]
    return [mark.strip() for mark in marks if mark.strip() not in ("", ">")]


def _pieces(mark: str) -> list[str]:
    """The tokens of a delimiter and the words beside them, which a template may write one by one."""
    words = _TOKEN.split(mark)
    return [piece for each in (*_TOKEN.findall(mark), *words) if (piece := each.strip())]


def _evidence(dialect: Dialect, text: str) -> frozenset[str]:
    """The delimiters of those forms of a dialect of which a template has all."""
    found: set[str] = set()
    for form in _forms(dialect):
        marks = _bare_marks(form, text) if form.is_bare else _marks(form)
        if marks and all(_is_in(text, mark) for mark in marks) and (form.is_sure or _is_own(form, text)):
            found.update(marks)
            found.update(_layout(form, text))
    return frozenset(found.union(each for each in dialect.frame if found and each in text))


def _is_in(text: str, mark: str) -> bool:
    return mark in text or all(piece in text for piece in _pieces(mark))


def _bare_marks(form: Dialect, text: str) -> list[str]:
    """The keys of an object in place of delimiters, and one of the tokens that end a turn."""
    ends = [end for end in form.turn_ends if end in text]
    return [f'"{form.json_tool_name[0]}":', f'"{form.json_arguments[0]}":', *ends] if ends else []


def _is_own(form: Dialect, text: str) -> bool:
    """Is there, between delimiters that other notations have too, what this form has between them?"""
    if pairs := form.pairs:
        if pairs.json and not pairs.name:
            return f"{form.opener}{HOLE}{pairs.name_end}" in text and not pairs.python
        return not pairs.python  # that has nothing of its own
    if form.body is not Body.JSON:
        return True
    begin = form.opener if not form.is_bare else ""
    inside = r"\[" if form.many and not form.separator and begin[-1:] not in ("", "[") else f"[{{{HOLE}]"
    return re.search(re.escape(begin) + r"\s*" + inside, text) is not None and all(
        any(f'"{key}":' in text for key in keys) for keys in (form.json_tool_name, form.json_arguments)
    )


def _layout(form: Dialect, text: str) -> list[str]:
    """How values are laid out, where that is how dialects with the same delimiters differ."""
    pairs = form.pairs
    if pairs is None or form.writing is None or pairs.value or not pairs.key_end:
        return []
    begin = f"{pairs.key_start}{HOLE}{pairs.key_end}{form.writing.around_value}{HOLE}"
    return [begin] if begin in text else []


def _around_results(dialect: Dialect, text: str) -> frozenset[str]:
    form = dialect.written
    mark = form.writing.result.each_start if form is not None and form.writing is not None else ""
    return frozenset([mark] if _TOKEN.fullmatch(mark) and mark in text else [])
