"""What all formats share: what they can hold, and what is lost on the way to them.

A format is a module with these names:

- `NAME`, by which it is asked for, and `HOLDS`, what a conversation in it can say;
- `load(obj, report) -> Conversation` and `dump(conversation, report, **options) -> obj`;
- `recognise(obj) -> bool`: does the object bear marks that only this format has?
- `SPELLING`: keys of its `extra` that only say how something was spelled, so that nothing is lost without them; for
  those of an object in it `outer.inner`;
- `REPORTS`, where it is needed: codes of what it does not hold, and reports by itself, as it knows what becomes of it;
- `LOSES_ORPHANS`, where it is true: it has no place for a result without a call.

What a format leaves out by its nature is told by `HOLDS`, and reported by `losses` for all of them alike. Only what is
special to a format is reported by its own code. Keys that only one format knows are kept in `extra`, under its name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from xmltools.errors import Issue, XMLToolsError
from xmltools.models import DEFAULT_SERVER, Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.syntax.json_reader import JSONError, loads


@dataclass(frozen=True, slots=True)
class Holds:
    """What a conversation in a format can say. False means that it is lost on the way there, and reported."""

    order: bool = True
    """Text after a call in one reply stays after it."""
    texts: bool = False
    """Several texts that follow each other in one message stay apart; where not, they are joined as they are."""
    reasoning: bool = False
    media: bool = False
    """Images and other files in messages of the user."""
    result_media: bool = False
    result_texts: bool = False
    """Several texts in one result; where not, a line break comes between them."""
    types: bool = True
    """Numbers and booleans in arguments; where not, the format reports by itself which become text."""
    call_ids: bool = True
    servers: bool = False
    error_flag: bool = False
    """Whether a result is an error."""
    status: bool = False
    """How far a call is, where its result does not say it."""
    times: bool = False
    finished: bool = False
    """That a reply is being written, or was interrupted."""
    finish_reason: bool = False
    """Why a reply ended, where it neither stopped by itself nor to call tools: that much is no loss anywhere."""
    message_ids: bool = False
    names: bool = False
    """Names of those who speak."""
    created_at: bool = False
    metadata: bool = False


BOOKKEEPING = frozenset(("message_ids", "created_at", "times"))
"""Codes of what a store notes about a conversation, and nobody says in it: ids of messages, times of messages and of
calls. Where a format cannot hold them they are in `issues` like all else, but nobody is warned of them, and `strict`
refuses nothing for their sake.
The status of a call is not among them, since it says whether there is a result to come; nor is the host's metadata."""
NOTE = "xmltools"
"""Where `inline` keeps ids beside a text: they are of use to `extract` only, and no loss."""


class ConversionWarning(UserWarning):
    """Something of a conversation was left out, because the format it was written in cannot hold it."""


class Report:
    """Collects issues; `strict` makes the first that is more than BOOKKEEPING an XMLToolsError."""

    __slots__ = ("issues", "strict")

    def __init__(self, *, strict: bool = False) -> None:
        self.issues: list[Issue] = []
        self.strict = strict

    def add(self, code: str, message: str, index: int | None = None, hint: str = "") -> None:
        """Take an issue."""
        issue = Issue(code, message, index, hint)
        if self.strict and code not in BOOKKEEPING:
            raise XMLToolsError(f"strict: {issue}")
        self.issues.append(issue)

    def tell(self, issues: list[Issue] | None) -> None:
        """Put the issues into the caller's list, or warn of them, as of what the caller of the caller did.

        Bookkeeping is only listed: with each message of a store, and each response, there would be warnings.
        """
        if issues is not None:
            if not isinstance(issues, list):
                raise XMLToolsError(f"issues: expected a list, which gets them, got {type(issues).__name__}")
            issues += self.issues
            return
        for issue in self.issues:
            if issue.code in BOOKKEEPING:
                continue
            warnings.warn(str(issue), ConversionWarning, stacklevel=3)


# Losses


def losses(
    conversation: Conversation, name: str, holds: Holds, spelling: Callable[[str], Collection[str]] = lambda other: ()
) -> Iterator[Issue]:
    """Yield what the format `name`, which holds so much, cannot say of a conversation.

    `spelling` tells the keys of another format's extra that are mere spelling.
    """
    answers = {result.call_id: result for result in conversation.results}
    if conversation.metadata and not holds.metadata:
        yield Issue("metadata", f"{name} has no place for metadata")
    for other, kept in conversation.extra.items():
        if other not in (name, NOTE) and _says_more(kept, spelling(other)):
            keys = f": {', '.join(map(str, kept))}" if isinstance(kept, Mapping) else ""
            yield Issue("extra", f"what {other} has beside the messages is left out{keys}")
    for index, message in enumerate(conversation.messages):
        for code, what in _lost(message, holds, answers):
            yield Issue(code, f"{name} cannot hold {what}", index)
        for call in message.calls:
            yield from _unread_arguments(call, name, index)
        for other, fields in sorted(foreign(message, name, spelling).items()):
            keys = f" of {', '.join(fields)}" if fields else ""
            yield Issue("extra", f"{name} has no place for what {other} says here{keys}", index)


def _lost(message: Message, holds: Holds, answers: Mapping[str, ToolResult]) -> Iterator[tuple[str, str]]:
    given = {
        "reasoning": any(isinstance(part, Reasoning) and part.text for part in message.parts),
        "media": bool(message.media),
        "order": _is_interleaved(message),
        "texts": _has_neighbours(message, holds),
        "finished": not message.finished,
        "finish_reason": not (message.finish_reason is None or message.is_stopped or message.is_tool_stop),
        "message_ids": message.id is not None,
        "names": message.name is not None,
        "created_at": message.created_at is not None,
        "metadata": bool(message.metadata),
        "call_ids": any(call.id for call in message.calls),
        "servers": any(call.server != DEFAULT_SERVER for call in message.calls),
        "status": any(call.status not in ("pending", _implied(answers.get(call.id))) for call in message.calls),
        "times": any(call.started_at is not None or call.ended_at is not None for call in message.calls),
        "error_flag": any(result.is_error for result in message.results),
        "result_texts": any(len(_texts(result)) > 1 for result in message.results),
        "result_media": any(_has_media(result) for result in message.results),
    }
    for code, is_there in given.items():
        if is_there and not getattr(holds, code):
            yield code, WORDS[code]


def _unread_arguments(call: ToolCall, name: str, index: int) -> Iterator[Issue]:
    """Yield an issue for arguments that another format keeps as they came, because they hold no object."""
    if call.arguments:
        return
    for other, kept in call.extra.items():
        given = kept.get("arguments", kept.get("args")) if isinstance(kept, Mapping) else None
        if other in (name, NOTE) or _is_blank(given) or _is_object(given):
            continue
        what = f"the arguments of {call.name!r:.80} are left out, since they are no JSON object: {given!r:.80}"
        yield Issue("lost_arguments", what, index, "correct them before they are converted")


def _is_object(given: Any) -> bool:
    """Return whether arguments are an object, or text that says one, or nothing."""
    if not isinstance(given, str):
        return isinstance(given, Mapping)
    try:
        return not given.strip() or isinstance(loads(given)[0], dict)
    except JSONError:
        return False


def untold(issues: Iterable[Issue], before: Iterable[Issue]) -> list[Issue]:
    """Return the issues of writing without the orphans that were told on reading: a result without a call that is
    written all the same is one mistake, though both ways notice it."""
    told = sum(issue.code == "orphan_result" for issue in before)
    left = []
    for issue in issues:
        if issue.code == "orphan_result" and told:
            told -= 1
        else:
            left.append(issue)
    return left


WORDS = {
    "reasoning": "reasoning",
    "media": "images and other files",
    "order": "text after a call in one message: the texts come first",
    "texts": "several texts in a message: they are joined, with nothing between them",
    "finished": "that a message is not finished",
    "finish_reason": "why a reply was cut short",
    "message_ids": "ids of messages",
    "names": "names of those who speak",
    "created_at": "times of messages",
    "metadata": "metadata",
    "types": "numbers and booleans in arguments",
    "call_ids": "ids of calls",
    "servers": "servers of tools",
    "status": "how far a call is",
    "times": "times of calls",
    "error_flag": "whether a result is an error",
    "result_texts": "several texts in a result: a line break comes between them",
    "result_media": "images and other files in results",
}
"""What each field of `Holds` is about, for messages and tables."""


def _is_interleaved(message: Message) -> bool:
    kinds = [isinstance(part, ToolCall) for part in message.parts if isinstance(part, (ToolCall, Text))]
    return kinds != sorted(kinds)


def _has_neighbours(message: Message, holds: Holds) -> bool:
    """Return whether two texts follow each other in a message, without what the format leaves out."""
    left_out = (*(() if holds.reasoning else (Reasoning,)), *(() if holds.media else (Media,)))
    said = [part for part in message.parts if not isinstance(part, left_out) and not _is_without_text(part)]
    return any(isinstance(one, Text) and isinstance(other, Text) for one, other in pairwise(said))


def _is_without_text(part: Any) -> bool:
    return isinstance(part, (Text, Reasoning)) and not part.text


def _implied(result: ToolResult | None) -> str:
    """Return the status that a call with this result has if nothing else is said."""
    return "pending" if result is None else "failed" if result.is_error else "completed"


def _texts(result: ToolResult) -> list[Text]:
    content = () if isinstance(result.content, str) else result.content
    return [part for part in content if isinstance(part, Text) and part.text]


def _has_media(result: ToolResult) -> bool:
    return not isinstance(result.content, str) and any(isinstance(part, Media) for part in result.content)


def foreign(message: Message, name: str, spelling: Callable[[str], Collection[str]]) -> dict[str, list[str]]:
    """Return the names of the other formats for which a message, or a part of it, keeps more than a spelling, each with
    the fields that do, where they are known."""
    found: dict[str, dict[str, None]] = {}
    for each in (message, *message.parts):
        for other, kept in each.extra.items():
            if other not in (name, NOTE) and _says_more(kept, spelling(other)):
                items = kept.items() if isinstance(kept, Mapping) else ()
                more = (str(key) for key, value in items if _says_more({key: value}, spelling(other)))
                found.setdefault(other, {}).update(dict.fromkeys(more))
    return {other: list(fields) for other, fields in found.items()}


def _says_more(kept: Any, spelling: Collection[str]) -> bool:
    if not isinstance(kept, Mapping):
        return True
    return any(
        key not in spelling
        and not _is_blank(value)
        and not (key == "content" and _is_form(value))
        and not (isinstance(value, Mapping) and _is_spelling(key, value, spelling))
        for key, value in kept.items()
    )


def _is_blank(value: Any) -> bool:
    return value in (None, "", [], {})


def _is_spelling(outer: Any, value: Mapping[Any, Any], spelling: Collection[str]) -> bool:
    return all(f"{outer}.{key}" in spelling or _is_blank(each) for key, each in value.items())


def _is_form(content: Any) -> bool:
    """Return whether what is kept of a content is only whether it was text or parts, and in which message."""
    return isinstance(content, Mapping) and content.keys() <= {"as", "joined"}
