"""Conversations in the formats of others: `load`, `dump`, `convert`, and which format an object is in.

    conversation = load(messages, "openai")
    request = dump(conversation, "anthropic")
    request = convert(messages, "openai", "anthropic")

What a format cannot hold is never dropped in silence: it comes as a `ConversionWarning`, or, if a list is given as
`issues`, is put into that; `strict=True` raises `XMLToolsError` instead. Ids and times that a store notes
(`BOOKKEEPING`) are said by nobody: they are only listed in `issues`, without a warning, and `strict` does not raise
for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats.shared.losses import BOOKKEEPING, ConversionWarning, Holds, Report, losses, untold
from xmltools.models import Conversation
from xmltools.models.conversation import checked_conversation
from xmltools.tools import Tool, list_of_tools

__all__ = ["BOOKKEEPING", "FORMATS", "ConversionWarning", "Holds", "convert", "dump", "holds", "load", "recognise"]

FORMATS = ("openai", "anthropic", "gemini", "wolo", "forge", "clawtools", "robotlab", "wick")
"""The names of all formats."""


def load(
    obj: Any, format: str, *, issues: list[Issue] | None = None, strict: bool = False, **options: Any
) -> Conversation:
    """Read a conversation that is in one of the FORMATS: parsed JSON, as its API or its documents have it.

    `options` are those of the format. What was repaired or left out on the way is put into `issues`, or comes as a
    ConversionWarning; with `strict` it raises. Raises XMLToolsError for what is not of the format, with the place, and
    for a format that there is not.
    """
    report = Report(strict=strict)
    conversation = _load(obj, format, report, options)
    report.tell(issues)
    return conversation


def _load(obj: Any, format: str, report: Report, options: dict[str, Any]) -> Conversation:
    conversation: Conversation = _module(format).load(_copied(obj), report, **options)
    return conversation


def dump(
    conversation: Conversation, format: str, *, issues: list[Issue] | None = None, strict: bool = False, **options: Any
) -> Any:
    """Write a conversation in one of the FORMATS, as values for `json.dumps`.

    `options` are those of the format. Returns the list of messages, or an object where the format says more than
    messages. What it cannot hold is put into `issues`, or comes as a ConversionWarning; with `strict` it raises
    XMLToolsError, but for BOOKKEEPING. So does what is no conversation, and a format that there is not.
    """
    report = Report(strict=strict)
    written = _dump(conversation, format, report, options)
    report.tell(issues)
    return written


def _dump(conversation: Conversation, format: str, report: Report, options: dict[str, Any]) -> Any:
    checked_conversation(conversation)
    module = _module(format)
    for issue in losses(conversation, format, module.HOLDS, _spelling):
        if issue.code not in getattr(module, "REPORTS", ()):
            report.add(issue.code, issue.message, issue.index, issue.hint)
    return _copied(module.dump(conversation, report, **options))


def new_issues(issues: Iterable[Issue], before: Iterable[Issue], target: str) -> list[Issue]:
    """Return what writing in the format `target` adds to what was told `before`, on reading."""
    return list(issues) if getattr(_module(target), "LOSES_ORPHANS", False) else untold(issues, before)


def convert(
    obj: Any,
    source: str | None,
    target: str,
    *,
    tools: Iterable[Tool] | None = None,
    bracket_reasoning: bool = False,
    issues: list[Issue] | None = None,
    strict: bool = False,
    **options: Any,
) -> Any:
    """Read an object in the format `source` (None: whichever it is) and write it in the format `target`.

    `tools` give the calls their types where they are text (`forge`), and `bracket_reasoning` reads and writes the
    reasoning there as paragraphs in square brackets; `options` are those of writing. Several texts of a message are a
    list of parts in openai, as with `content="auto"`. Returns what `dump` returns; `issues` gets what was repaired or
    left out on both ways, and `strict` refuses it, but for BOOKKEEPING. Raises XMLToolsError as `load` and `dump` do,
    if the format of the object can't be told, and for `bracket_reasoning` where neither format is forge.
    """
    source = source or recognise(obj)
    if bracket_reasoning and "forge" not in (source, target):
        raise XMLToolsError(
            f"bracket_reasoning: reasoning stands in brackets in forge only, not in {source} or {target}"
        )
    text_options: dict[str, Any] = {"bracket_reasoning": True} if bracket_reasoning else {}
    if tools is not None:
        text_options["tools"] = list_of_tools(tools)
    report, written_report = Report(strict=strict), Report(strict=strict)
    conversation = _load(obj, source, report, _of_text(source, text_options))
    report.tell(issues)
    own = {**own_options(target), **_of_text(target, text_options), **options}
    written = _dump(conversation, target, written_report, own)
    written_report.issues = new_issues(written_report.issues, report.issues, target)
    written_report.tell(issues)
    return written


def own_options(target: str) -> dict[str, Any]:
    """Return the options with which `convert` writes a format, if it is given no others: those that lose least."""
    return {"content": "auto"} if target == "openai" else {}


def _of_text(format: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that only a format has whose calls and reasoning are text."""
    return options if format == "forge" else {}


def recognise(obj: Any) -> str:
    """Return the format that an object is in.

    Raises XMLToolsError if it bears the marks of none, or of several.
    """
    found = [name for name in FORMATS if _module(name).recognise(obj)]
    if len(found) == 1:
        return found[0]
    if found:
        raise XMLToolsError(f"this can be {' or '.join(found)}: say which")
    fitting = [name for name in FORMATS if _fits(obj, name)]
    if len(fitting) > 1:
        raise XMLToolsError(f"this bears the marks of no format, and fits {' and '.join(fitting)}: say which it is")
    raise XMLToolsError(f"this is in no format that could be detected: say which it is, of {', '.join(FORMATS)}")


def _fits(obj: Any, name: str) -> bool:
    """Return whether an object can be read in a format without any remark, and says something there."""
    report = Report()
    try:
        return bool(_load(obj, name, report, {}).messages) and not report.issues
    except XMLToolsError:
        return False


def holds(format: str) -> Holds:
    """Return what a conversation in a format can say."""
    found: Holds = _module(format).HOLDS
    return found


def _copied(value: Any) -> Any:
    """Return JSON that shares nothing with `value`: who changes what was read, or written, changes no conversation."""
    try:
        return _copy(value)
    except RecursionError:
        raise XMLToolsError("expected JSON that is nested less deeply") from None


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if type(value) is list else value


def _spelling(name: str) -> frozenset[str]:
    found: frozenset[str] = _module(name).SPELLING if name in FORMATS else frozenset()
    return found


def _module(name: str) -> ModuleType:
    if name not in FORMATS:
        near = get_close_matches(str(name), FORMATS, n=1)
        did_you_mean = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(FORMATS)}"
        raise XMLToolsError(f"there is no format {name!r:.40}{did_you_mean}")
    return import_module(f"xmltools.formats.{name}")
