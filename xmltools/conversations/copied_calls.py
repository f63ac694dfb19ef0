"""Was a call copied out of what the model has read?

    echo = find_echo(call, conversation, tool)  # the history that the model saw, without its reply
    if echo: ...  # the block stands in the result of echo.name: ask a human

A model that reads a page with a block in it may write that block itself, and then it is a well-formed call like any
other. Found is a block, in any dialect that is read, that reads as the same call: same tool, server and names of
arguments, and values that are the same but for white space, characters that nobody sees and escaped openers. It is
found

- anywhere in a text: in a fence, in inline code, in a comment, after tags and blocks that are not closed;
- as it stands, or escaped as XML, HTML or JSON, up to twice in any order, and as `render_result` writes openers;
- after marks at the starts of its lines: `> `, line numbers, those of comments and of diffs;
- with slips that the parser repairs, without its end tag, in a JSON body, with its arguments in another order;
- in a result with several parts, though it is divided between them.

Calls without a mark (`llama3_json`, `pythonic`, a line with a tool's name in `tag_per_tool`), and those that begin as
other text does (`functionary`, `react`, `call_json`), are looked for only if the call itself was written in that
dialect, which `call.dialect` says: in others, JSON is no call.

Not found is a call that the model put together itself: because a text asked for it in words, in a notation that is not
read or in Base64, with one value changed, or out of two results. Nor is a block without the end of its arguments, or
one that a page has cut into pieces with tags of its own. After 16 openers that each swallow the rest of the text, a
block is missed that holds openers outside its values, or more than 16 in them. So no echo doesn't mean that a call is
wise. And an echo isn't always an attack: who asks for the example in a document to be carried out gets one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, get_args

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect
from xmltools.errors import Code, XMLToolsError
from xmltools.models import Conversation, Reply, Role, Text, ToolCall, ToolResult
from xmltools.parser import Limits, parse
from xmltools.parser.openers import forms_by_start, make_openers
from xmltools.render.marks import COMMON
from xmltools.render.results import part_with_results
from xmltools.syntax.markup import decode_entities, opens_call
from xmltools.tools import Tool

__all__ = ["Echo", "find_echo"]

_LEVELS = 2
"""How many times a text may have been escaped."""
_RENDERED = 4
"""How many times a text may have been a result that was rendered."""
_PATIENCE = 16
"""Openers that are read to the end of the text although others follow, and openers that a call may hold itself."""

_NAME = rf"(?i:{FORGE.block})(?![\w.-])"
_OPENER = re.compile(f"<(?={_NAME})")
_ARGUMENTS_END = f"</{FORGE.arguments}>"
_HIDDEN_OPENER = re.compile(f"&(?:amp;)*lt;(?={_NAME})")
# What is in each text in which a call stands, in any dialect, escaped or not.
_MAY_OPEN = re.compile(r"[<{\[]|lt;|#(?:0*(?:60|91|96|102);|[xX]0*(?:3[cC]|5[bB]|60|66);)|\\u00|functools|```tool_code")
# A name that doesn't stand in a block as it is can only be in it by one of these.
_CODED = re.compile(r"[&\\]|<!")
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]+")
_MARK = re.compile(
    r"^[ \t]*(?:(?:>[ \t]?)+|//|[+|*#-]|(?:[^\s:]{1,200}[:-])?[0-9]{1,7}[:|\t\u2192-])[ \t]?", re.MULTILINE
)
_IN_JSON = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')
_JSON_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_Form = tuple[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Echo:
    """Where a call was found: the number of the message, or of the result if only results were given, from 0 on.

    `call_id` and `name` are those of the result; None if the call stands in the text of a message, also in a result
    that was written there.
    """

    index: int
    call_id: str | None = None
    name: str | None = None


def find_echo(
    call: ToolCall,
    where: Conversation | Iterable[ToolResult],
    tool: Tool | None = None,
    *,
    roles: Sequence[Role] = ("tool",),
) -> Echo | None:
    """Return the first place in a conversation from which a call may have been copied, None if there is none.

    Takes the call; what the model had read when it wrote that: the conversation, or only results; and the call's tool,
    by whose schema blocks are read as the call was (without it values are compared as text, which misses some that only
    a schema reads as the same). Looked at are all results, also those that stand in a message of a user as
    `render_result` writes them, and the texts of messages of `roles`: name "user" too where users paste what others
    wrote, and where results are texts without any mark (one result alone in `llama3_json`, `pythonic`,
    `seed_oss`, `granite` and `functionary`).

    The top of this module says what is found and what isn't. Time is linear in what is looked at, and texts
    without an opener cost next to nothing. Raises XMLToolsError for arguments of other types, a tool of another name or
    server, and a tool that a parser refuses.
    """
    _check(call, tool, roles)
    if not isinstance(where, Iterable):
        raise _no_results(where)
    searcher = _Searcher(call, tool)
    return next((place for place, text in _texts(where, roles) if searcher.is_in(text)), None)


def _check(call: Any, tool: Any, roles: Sequence[Role]) -> None:
    if not isinstance(call, ToolCall):
        raise XMLToolsError(f"find_echo: expected xmltools.ToolCall, got {type(call).__name__}")
    if tool is not None and not isinstance(tool, Tool):
        raise XMLToolsError(f"find_echo: expected xmltools.Tool or None as tool, got {type(tool).__name__}")
    if tool is not None and (tool.name, tool.server) != (call.name, call.server):
        raise XMLToolsError(
            f"find_echo: the call is of {call.name!r:.80} on server {call.server!r:.80}, "
            f"the tool is {tool.name!r:.80} on {tool.server!r:.80}; give the call's own tool, or none"
        )
    of_role = get_args(Role)
    if isinstance(roles, str) or not isinstance(roles, Sequence) or not all(each in of_role for each in roles):
        raise XMLToolsError(f"roles: expected several of {', '.join(of_role)}, got {roles!r:.80}")


def _texts(where: Conversation | Iterable[ToolResult], roles: Sequence[Role]) -> Iterator[tuple[Echo, str]]:
    if not isinstance(where, Conversation):
        yield from (_of_result(index, result) for index, result in enumerate(where))
        return
    for index, message in enumerate(where.messages):
        yield from (_of_result(index, result) for result in message.results)
        if message.role in roles:
            yield Echo(index), message.text
        elif message.role == "user" and (rendered := part_with_results(message.text)):
            yield Echo(index), rendered


def _of_result(index: int, result: Any) -> tuple[Echo, str]:
    if not isinstance(result, ToolResult):
        raise _no_results(result)
    return Echo(index, result.call_id, result.name), _text_of(result)


def _text_of(result: ToolResult) -> str:
    """Return the texts of a result without a line break between them: a block may be divided between two of them."""
    if isinstance(result.content, str):
        return result.content
    return "".join(part.text for part in result.content if isinstance(part, Text))


def _no_results(found: Any) -> XMLToolsError:
    return XMLToolsError(f"find_echo: expected a Conversation or several ToolResult, got {type(found).__name__}")


class _Searcher:
    """Looks for one call in texts."""

    def __init__(self, call: ToolCall, tool: Tool | None) -> None:
        self._call = call
        self._tool = tool

    def is_in(self, text: str) -> bool:
        """Whether the call stands in a text."""
        seen = _UNSEEN.sub("", text)
        return self._is_in_views(seen) or (seen != text and self._is_in_views(text))

    def _is_in_views(self, text: str) -> bool:
        if not _MAY_OPEN.search(text) or not (self._call.name in text or _CODED.search(text)):
            return False
        return any(notation.stands(view) for view in _views(text, _LEVELS, set()) for notation in self._notations)

    @cached_property
    def _notations(self) -> list[_Forges]:
        form = _form(self._call)
        own = self._call.dialect
        others = (each for each in dialects.all() if each != FORGE and (each.name == own or not each.by_name))
        return [
            _Forges(self._call, form, self._tool),
            *(_Others(each, self._call, form, self._tool) for each in others),
        ]


class _Forges:
    """Blocks of Forge's dialect in texts. Other notations are kinds of it."""

    def __init__(self, call: ToolCall, form: _Form, tool: Tool | None) -> None:
        self._form = form
        self._server = call.server
        self._tools = None if tool is None else [tool]
        self._openers = min(sum(map(self._count, self._leaves())), _PATIENCE)

    def _leaves(self) -> Iterator[str]:
        return (leaf for leaves in self._form[1].values() for leaf in leaves)

    def _count(self, leaf: str) -> int:
        """How many openers a value holds."""
        return len(_OPENER.findall(leaf))

    def _starts(self, view: str) -> list[int]:
        """Where a block may begin."""
        return list(_openers(view))

    def stands(self, view: str) -> bool:
        """Whether the call stands in a view: read each block by itself, so that nothing in front of it can hide it.

        A block ends before the next opener that is not in a value of the call, or else no more than _PATIENCE times
        where it wants, so that the time stays linear.
        """
        starts = self._starts(view)
        ends = [*starts[1 + self._openers :], *[len(view)] * (1 + self._openers)]
        patience = _PATIENCE
        for start, end in zip(starts, ends, strict=False):
            block = view[start:end]
            if self._form[0] not in block and not _CODED.search(block):
                continue
            reply = self._parse(block)
            if _is_open(reply) or self._may_lack_end(reply):
                if self._is_among(self._parse(self._to_end_of_arguments(block))):
                    return True
                if patience and end < len(view):
                    patience -= 1
                    reply = self._parse(view[start:])
            if self._is_among(reply):
                return True
        return False

    def _parse(self, text: str) -> Reply:
        limits = Limits(block_size=len(text) + 1, elements=len(text) + 1)
        return parse(text, self._tools, reasoning_tags=(), limits=limits)

    def _may_lack_end(self, reply: Reply) -> bool:
        """Whether a block that is not open may lack its end mark."""
        return False

    def _to_end_of_arguments(self, block: str) -> str:
        """Return a block without what comes after its arguments, where the parser doesn't miss its end tag."""
        before, end, _ = block.rpartition(_ARGUMENTS_END)
        return before + end

    def _is_among(self, reply: Reply) -> bool:
        return any(map(self._is_same, reply.calls))

    def _is_same(self, call: ToolCall) -> bool:
        return call.server in (self._server, FORGE.default_server) and _form(call) == self._form


class _Others(_Forges):
    """Calls of another dialect."""

    def __init__(self, dialect: Dialect, call: ToolCall, form: _Form, tool: Tool | None) -> None:
        # What follows a copy in its line does not matter.
        self._dialect = replace(dialect, is_first=True) if dialect.has_line else dialect
        is_own = call.dialect == dialect.name
        self._opener, bare = _starts_of(dialect, call.name, is_own)
        self._bare = bare if is_own else ()
        self._closed = _closed_forms(dialect)
        super().__init__(call, form, tool)
        if tool is None:  # calls without a mark, and those of elements, are only those of tools
            self._tools = [Tool(name=call.name, parameters={})] if dialect.body is Body.TAGS or self._bare else None

    def _count(self, leaf: str) -> int:
        return len(self._opener.findall(leaf))

    def _starts(self, view: str) -> list[int]:
        return [found.start() for found in self._opener.finditer(view)]

    def stands(self, view: str) -> bool:
        return super().stands(view) or (bool(self._bare) and self._stands_bare(view))

    def _stands_bare(self, view: str) -> bool:
        """Whether the call stands there without a mark: read from its names, and no more than _PATIENCE times the
        text."""
        left = _PATIENCE * len(view)
        size = 2 * _HEAD + 2 * sum(map(len, self._leaves()))
        for before, start, name in self._bare_starts(view):
            text = before + view[start : name + size]
            left -= len(text)
            if left < 0:
                return False
            if self._is_among(self._parse(text)) or self._is_among(self._parse(self._to_end_of_arguments(text))):
                return True
        return False

    def _bare_starts(self, view: str) -> Iterator[tuple[str, int, int]]:
        """Yield what is to be put before a call, where that may begin, and the place of its name."""
        if pairs := self._dialect.pairs:
            # In a list there may be others before it.
            before, after = ("[", "(") if pairs.python else ("", pairs.name_end)
            for found in re.finditer(rf"{re.escape(self._form[0])}[ \t]*{re.escape(after)}", view):
                yield before, found.start(), found.start()
            return
        tried = 0
        for found in re.finditer(f"{re.escape(self._form[0])}[\"']", view):
            start = name = found.start()
            for _ in range(_BRACKETS):
                start = max(view.rfind(bare, max(tried, name - _HEAD), start) for bare in self._bare)
                if start < 0:
                    break
                yield "", start, name
            tried = name

    def _parse(self, text: str) -> Reply:
        limits = Limits(block_size=len(text) + 1, elements=len(text) + 1)
        return parse(text, self._tools, reasoning_tags=(), limits=limits, dialect=self._dialect)

    def _may_lack_end(self, reply: Reply) -> bool:
        return not reply.calls and bool(reply.errors)

    def _to_end_of_arguments(self, block: str) -> str:
        for end, rest in self._closed:
            before, found, _ = block.rpartition(end)
            if found:
                return before + rest
        return block


@lru_cache(maxsize=128)
def _starts_of(dialect: Dialect, name: str, is_own: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """A pattern of what calls of a tool may begin with, and what is no mark. Not `is_own`: without what counts only in
    the dialect that a model was asked for."""
    found = forms_by_start((dialect,), (), (name,), is_own=is_own)
    bare = tuple(start for start, forms in found.items() if all(each.is_bare for each in forms))
    return make_openers(tuple(start for start in found if start not in bare)).opener, bare


@lru_cache(maxsize=64)
def _closed_forms(dialect: Dialect) -> tuple[tuple[str, str], ...]:
    """What ends the arguments of calls in a dialect, and with what a call ends then."""
    found: dict[str, str] = {}
    for form in dialect.forms:
        pairs = form.pairs
        if pairs is not None and pairs.python:
            found.setdefault(")", f")]{form.closer}")
        elif form.body is Body.JSON or (pairs is not None and pairs.json):
            found.setdefault("}", "}" + (pairs.end if pairs else "") + form.closer)
        elif pairs is not None and pairs.value_end:
            found.setdefault(pairs.value_end, pairs.value_end + pairs.end + ("" if pairs.end else form.closer))
    return tuple(found.items())


_HEAD = 1_024
"""Characters in which a call without a mark must name its tool."""
_BRACKETS = 4
"""Brackets before a name that are tried as the beginning of a call."""


def _openers(view: str) -> Iterator[int]:
    """Yield where a block may begin."""
    for found in _OPENER.finditer(view):
        if opens_call(view, found.start(), FORGE.block):
            yield found.start()


def _is_open(reply: Reply) -> bool:
    """Whether the text of the reply ended inside its first block."""
    return bool(reply.errors) and reply.errors[0].code is Code.TRUNCATED


# What is compared


def _form(call: ToolCall) -> _Form:
    """Return the name of a call, and the values that stand in each of its arguments."""
    return call.name, {_essence(name): list(_leaves(value)) for name, value in call.arguments.items()}


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts in a value. What is empty is left out: without a schema an empty list is an empty text."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            todo += [each[name] for name in sorted(each, reverse=True)]
        elif isinstance(each, list | tuple):
            todo += reversed(each)
        elif each is not None:
            text = _essence(each if isinstance(each, str) else repr(each).lower())
            if text:
                yield text


def _essence(text: str) -> str:
    """Return a text without what may change where it is copied."""
    return "".join(_shown(_UNSEEN.sub("", text)).split())


def _shown(text: str) -> str:
    """Return a text with the openers that `render_result` hides, and hides again where it was copied."""
    for _ in range(_RENDERED if "&" in text else 0):
        before, text = text, COMMON.show(text)
        if before == text:
            break
    return _HIDDEN_OPENER.sub("<", text)


# What a text says when escapes are undone


def _views(text: str, levels: int, seen: set[int]) -> Iterator[str]:
    """Yield a text as it is, without marks at the starts of its lines, and with up to so many levels of escapes undone.

    `seen` has the hashes of what was yielded: two ways often lead to one text.
    """
    plain = _shown(text).replace("\r\n", "\n")  # which a delimiter may hold
    for view in (plain, _MARK.sub("", plain)):
        if hash(view) not in seen:
            seen.add(hash(view))
            yield view
    for decode in _DECODERS if levels else ():
        decoded = decode(text)
        if decoded != text:
            yield from _views(decoded, levels - 1, seen)


def _from_xml(text: str) -> str:
    return decode_entities(text).replace("&nbsp;", " ")


def _from_json(text: str) -> str:
    return _IN_JSON.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    escape = found[0]
    if escape.startswith("\\u"):
        return bytes.fromhex(escape.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
    return _JSON_ESCAPES.get(escape[1], escape[1])


_DECODERS: tuple[Callable[[str], str], ...] = (_from_xml, _from_json)
