"""What to tell a model whose call failed: what was wrong, where, what was expected, and one call that is right.

All that is quoted (the model's own lines, names, messages) is data and may hold markup. The `<` of what could open
a block or a reasoning region is written `&lt;` there, so that a parser finds one call in the text, the example, and in
a text that asks to go on none. No line of it begins with quoted text: what could be a heading or the
header of a result comes after words of ours, or after a mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from xmltools.dialects import FORGE, Dialect, named
from xmltools.errors import CallError, Code, Notice, XMLToolsError
from xmltools.models import ToolCall
from xmltools.render.calls import render_call
from xmltools.render.dialect_instructions import STAND_IN, shows_others, write_example
from xmltools.render.marks import COMMON, marks_beside
from xmltools.render.prompt_sentences import neutral
from xmltools.render.writable import only_server
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    SPACES,
    Tag,
    find_forbidden,
    read_cdata_open,
    read_end_tag,
    read_opener,
    read_start_tag,
    skip_space,
)
from xmltools.tools import Tool, ToolNames, list_of_tools
from xmltools.tools.schema import ANY, Shape, example_arguments, find_problems

_LEAST = 200
_BESIDE_LONG = 400
"""Characters that may stand beside an example which alone is longer than the limit."""
_SHORT_VALUE = 60
_WIDTH = 100
_TAIL = 200
_NAMES = 20

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_LINE_BREAK = re.compile(r"\r\n|\r")

_SAYS_AGAIN = frozenset(
    (Code.MALFORMED_MARKUP, Code.LIMIT_EXCEEDED, Code.INVALID_JSON, Code.INVALID_ARGUMENTS, Code.UNKNOWN_TOOL)
)
"""Codes whose hint begins with a sentence that says what the message says."""
_SAYS_THE_NAME = frozenset((Code.INVALID_NAME, Code.UNKNOWN_TOOL))
"""Codes whose message says the name, which is none of a tool."""
_FOR_ALL_DIALECTS = frozenset((Code.LIMIT_EXCEEDED, Code.DUPLICATE_ARGUMENT, Code.INVALID_ARGUMENTS, Code.UNKNOWN_TOOL))
_FOR_ALL_DIALECTS |= {Code.SHOWN_CALL}
"""Codes whose own hint says nothing of how calls are spelled; those of the others are in Forge's words."""
_PLAINER = (
    (re.compile(r"\Athe < at character \d+ begins"), "a < in it begins"),
    (re.compile(r"\Athe declaration at character \d+ is not allowed there"), "<! and a word must not stand in it"),
    (re.compile(r"\Athe block names no tool"), "it does not name a tool"),
    (re.compile(r"\Athe reply ended inside the block"), "your reply was cut off inside it"),
    (re.compile(r" follows the \]\]> at character \d+\Z"), " follows a ]]> in it"),
    (re.compile(r"\Agiven more than once: "), "these arguments were given more than once: "),
    (re.compile(r"\Astrict: "), "it must be written without any slip, and there was one: "),
    (re.compile(r" \(at character \d+\)\Z"), ""),
)
_NEXT_PROBLEM = re.compile(r"; (?=(?:[^;]{1,300}?: )?expected )")

_OTHERS_RUN = "Your other calls were right, and are carried out: do not write them again."
_CUT_OFF = (
    "Your reply was cut off inside a tool call. Go on exactly where it ended; don't repeat what is there, "
    'and write nothing before it. It ended with (quoted by "> "):'
)
_AGAIN = "Write the whole call again."
_FORM = re.compile(r" ?Write (?:each call in this form|the whole call again): (?=\Z)")
_NOT_READ = "it is not in the form that was described"
_ONLY_SHOWN = "it is in a code fence, and was taken for an example"
_ONLY_THOUGHT = "it is in your reasoning, where calls are not read"
_MARK = "> "
_TOO_LONG = (
    "Your reply was cut off inside a tool call. Write the call again in smaller pieces: "
    "several calls, each with a part of the text."
)
_IF_TOO_LONG = "If the call is too long for one reply, write several calls, each with a part of the text."


def render_retry(
    error: CallError | Notice,
    tools: Iterable[Tool] = (),
    *,
    max_characters: int = 1200,
    server_names: bool = False,
    dialect: Dialect | str = FORGE,
    go_on: bool = False,
    others_run: bool = False,
) -> str:
    """Write the user turn to send to the model after a call failed, or was written in another notation.

    Takes the error, or the notice of such a call, and the tools that the parser was given. Returns what was wrong, the
    place in the model's own lines, what was expected, and the smallest right call of that tool, which keeps short
    values that fit; if none can be made up for its schema, a call of a tool `name_of_the_tool` shows the form. The text
    has at most `max_characters`. The example is never cut: if it is longer than that by itself, at most 400 characters
    stand before it. It names the server of the tool if the tools are on several; with `server_names` always, as Forge
    does.

    A call that was cut off is asked for again as a whole, so that the next reply is parsed like any other. With `go_on`
    the text asks the model to go on with it instead, and quotes its end, each line after `> `: then parse
    `error.source` and the next reply, joined with nothing between them, with a new parser. `go_on` is for Forge's
    dialect only.

    `others_run` adds as the last line that the other calls of the turn were right and are carried out; this line is
    not counted in `max_characters`. Of several failed calls, give it to the last one. A text that asks the model to go
    on has no such line.

    `dialect` is the one in which the model writes its calls, by its name or as a record: hint and example are in it.
    Where it is not known how calls are written, the example is that of the dialect, a call of a tool `get`.

    Raises XMLToolsError if `error` is no CallError and no Notice, one of the tools is no Tool or has an invalid schema,
    `max_characters` is no whole number from 200 on, there is no such dialect, or `go_on` is asked of another than
    Forge's.
    """
    written_in = named(dialect)
    if isinstance(error, Notice):
        message = _ONLY_SHOWN if error.code is Code.SHOWN_CALL else _NOT_READ
        message = _ONLY_THOUGHT if error.notation == "reasoning" else message
        error = CallError(error.code, error.span, message, error.hint, error.name)
    offered = _checked(error, tools, max_characters)
    tool, is_meant = _choose(error, offered)
    if go_on and written_in != FORGE:
        raise XMLToolsError(
            f"go_on: expected Forge's dialect, got {written_in.name!r}; without it the whole call is asked for again"
        )
    given = error.arguments if is_meant else {}
    last = _OTHERS_RUN if others_run else ""
    if written_in != FORGE:
        return _joined(_in_dialect(error, offered, tool, given, written_in, max_characters), last)
    if error.code is Code.TRUNCATED and not error.source:
        return _joined(_TOO_LONG, last)
    if error.code is Code.TRUNCATED and go_on:
        return _continuation(error.source, tool if tool and tool.name == error.name else None, max_characters)
    lead, example = _shown(tool, given, server_names or only_server(offered) is None)
    room = max_characters - len(example) - 1 if len(example) <= max_characters else _BESIDE_LONG
    rest = _fit(_what(error, offered), _where(error), _expected(error, offered), _lead_of(error, lead), room)
    return _joined(rest, example, last)


def _in_dialect(
    error: CallError,
    offered: list[Tool],
    tool: Tool | None,
    given: dict[str, Any],
    dialect: Dialect,
    most: int,
) -> str:
    """Return the text for another dialect than Forge's."""
    if error.hint == error.code.hint and error.code not in _FOR_ALL_DIALECTS:
        error = replace(error, hint="")
    example, lead = (
        dialect.example,
        "Write the whole call again, in this form (here for a tool get with an argument n):",
    )
    if dialect.written:
        lead, example = _shown(tool, given, False, dialect, offered, _named_in(error, tool))
        # The example says it better, and a form with words in place of its parts may be read as a call.
        error = replace(error, hint=_FORM.sub("", error.hint.replace(dialect.form, "")) if example else error.hint)
    room = most - len(example) - 1 if len(example) <= most else _BESIDE_LONG
    neutral = marks_beside(offered, dialect).neutral
    where = [neutral(line) for line in _where(error)]
    what, expected = neutral(_what(error, offered)), neutral(_expected(error, offered))
    rest = _fit(what, where, expected, _lead_of(error, lead if example else _AGAIN), room)
    return _joined(rest, example)


def _lead_of(error: CallError, lead: str) -> str:
    """The words before the example. A call that was only shown need not be written again."""
    return lead.removeprefix(_AGAIN).lstrip() if error.code is Code.SHOWN_CALL else lead


def _checked(error: CallError, tools: Iterable[Tool], max_characters: int) -> list[Tool]:
    if not isinstance(error, CallError):
        got = type(error).__name__
        raise XMLToolsError(f"render_retry: expected a CallError, as in reply.errors, or a Notice, got {got}")
    if not isinstance(max_characters, int) or isinstance(max_characters, bool) or max_characters < _LEAST:
        raise XMLToolsError(f"max_characters: expected a whole number from {_LEAST} on, got {max_characters!r:.40}")
    return list_of_tools(tools)


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _fit(what: str, where: list[str], expected: str, lead: str, room: int) -> str:
    """The parts in at most `room` characters. Context goes first, then the end of the message, then the hint."""
    for lines in (where, where[-2:], []):
        text = _joined(what, *lines, expected, lead)
        if len(text) <= room:
            return text
    what = _cut(what, max(room - len(_joined(expected, lead)) - 1, _SHORT_VALUE))
    expected = _cut(expected, room - len(_joined(what, lead)) - 1)
    for parts in ((what, expected, lead), (what, lead), (what,)):
        text = _joined(*parts)
        if len(text) <= room:
            return text
    return ""


def _cut(text: str, most: int) -> str:
    """The text in at most `most` characters; nothing, if that is too few to say anything."""
    if len(text) <= most:
        return text
    return text[: most - 3] + "..." if most >= 20 else ""


# Quoting


def _quoted(text: str) -> str:
    """Text that others wrote, harmless: lines stay lines."""
    return neutral(_CONTROL.sub(" ", text))


def _one_line(text: str) -> str:
    return _quoted(text.replace("\n", " ").replace("\t", " "))


def _where(error: CallError) -> list[str]:
    """The line of the offence with its number, the one before it, and a caret under the place."""
    source, start = error.source, error.span[0]
    if not source or error.offset is None or not 0 <= error.offset - start <= len(source):
        return []
    at = error.offset - start
    if at == len(source):
        at = len(source.rstrip(SPACES))
    # One kind of line break; what stands before the place says where it is then.
    before = _LINE_BREAK.sub("\n", source[:at])
    line_start = before.rfind("\n") + 1
    number = before.count("\n") + 1
    rest = source[at : at + 2 * _WIDTH]
    line = before[line_start:] + re.split(r"[\r\n]", rest, maxsplit=1)[0]
    shown, caret = _window(line, len(before) - line_start)
    label = f"Line {number}: "
    lines = [label + shown, " " * len(label) + re.sub(r"[^\t]", " ", shown[:caret]) + "^"]
    if number > 1:
        previous = before[before.rfind("\n", 0, line_start - 1) + 1 : line_start - 1]
        lines.insert(0, f"Line {number - 1}: ".ljust(len(label)) + _window(previous, 0)[0])
    return lines


def _window(line: str, place: int) -> tuple[str, int]:
    """About 100 characters of a line around a place, quoted, and where the place is in them."""
    start = max(0, min(place - _WIDTH // 2, len(line) - _WIDTH)) if len(line) > _WIDTH else 0
    piece = line[start : start + _WIDTH]
    head = "..." if start else ""
    tail = "..." if start + _WIDTH < len(line) else ""
    place -= start
    return head + _quoted(piece) + tail, len(head) + place + COMMON.growth_before(piece, place)


# What was wrong, and what was expected


def _what(error: CallError, tools: list[Tool]) -> str:
    failed = f"Your {_called(error, tools)} was not carried out: "
    if error.code is Code.INVALID_ARGUMENTS:
        problems = [f"- {_one_line(problem)}" for problem in _NEXT_PROBLEM.split(error.message)]
        return _joined(f"{failed}its arguments do not fit the tool.", *problems)
    message = error.message
    for pattern, plainer in _PLAINER:
        message = pattern.sub(plainer, message, count=1)
    return f"{failed}{_one_line(message)}."


def _called(error: CallError, tools: list[Tool]) -> str:
    """What to call the call: other calls of the turn may have been right."""
    is_known = error.name in _names(tools) if tools else error.code not in _SAYS_THE_NAME
    if not error.name or not is_known or not error.code.is_error:
        return "tool call"
    return f"call of {_one_line(_cut(error.name, _WIDTH))}"


def _expected(error: CallError, tools: list[Tool]) -> str:
    """The hint without what the message says, and the names of the tools if the model did not use one of them."""
    hint = error.hint.replace(f": {error.message}", "")
    if error.code is Code.TRUNCATED:
        hint = _IF_TOO_LONG
    hint = hint.removeprefix(f"There is no tool {(error.name or '')[:100]!r}. ")
    if hint == error.code.hint and error.code in _SAYS_AGAIN:
        hint = hint.partition(". ")[2]
    names = _names(tools)
    if names and error.name not in names:
        near = _near(error, tools)
        told = f"Did you mean {' or '.join(near)}?" if near else _listed(names)
        hint = told if error.code is Code.UNKNOWN_TOOL else f"{hint} {_listed(names)}".lstrip()
    return _one_line(hint).lstrip("`~ ")  # it begins a line, and must not begin a code fence


def _names(tools: list[Tool]) -> list[str]:
    return list(dict.fromkeys(tool.name for tool in tools))


def _near(error: CallError, tools: list[Tool]) -> list[str]:
    return ToolNames.of(tools).near(error.name or "")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"The tools are: {', '.join(names[:_NAMES])}{more}."


# The example


def _choose(error: CallError, tools: list[Tool]) -> tuple[Tool | None, bool]:
    """The tool that was meant, or whose name is nearest, as far as can be told; otherwise the first, and False."""
    name = error.name
    if name not in _names(tools):
        name = next(iter(_near(error, tools)), name)
    called = [tool for tool in tools if tool.name == name]
    wanted = error.server or FORGE.default_server
    found = next((tool for tool in called if tool.server == wanted), None)
    return found or next(iter(called or tools), None), bool(called) or len(tools) == 1


def _shown(
    tool: Tool | None,
    given: dict[str, Any],
    with_server: bool,
    dialect: Dialect = FORGE,
    offered: Sequence[Tool] = (),
    wanted: Iterable[str] = (),
) -> tuple[str, str]:
    """The sentence that asks for the call again, and the call that it shows: one of the tool, or else the form."""
    if tool and (example := _example(tool, given, with_server, dialect, offered, wanted)):
        name = _one_line(tool.name)
        return f"{_AGAIN} A correct call of {name} looks like this, with your own values:", example
    form = _written(STAND_IN, None, with_server, dialect, offered)
    return "Write the whole call again in this form:" if form else _AGAIN, form


def _example(
    tool: Tool,
    given: dict[str, Any],
    with_server: bool,
    dialect: Dialect,
    offered: Sequence[Tool],
    wanted: Iterable[str],
) -> str:
    """The smallest right call: with the values that the model gave, where they fit and can be written. Nothing if none
    can be made up."""
    wrong = {problem.path[0] for problem in find_problems(given, tool.shape) if problem.path}
    shown = {*wanted, *(name for name in wrong if isinstance(name, str))}
    sample = example_arguments(tool.shape, smallest=True, wanted=shown)
    if sample is None:
        return ""
    for arguments in (_with_given(sample, given, tool), sample):
        try:
            call = ToolCall(id="", name=tool.name, arguments=arguments, server=tool.server)
            block = _written(call, tool, with_server, dialect, offered)
        except ValueError:  # a value that cannot be written, or (pydantic's own) text that is no Unicode
            continue
        if block:
            return block
    return ""


def _written(call: ToolCall, tool: Tool | None, with_server: bool, dialect: Dialect, offered: Sequence[Tool]) -> str:
    """A call to show; nothing if it holds what would be read as something else, or what XML forbids."""
    if dialect != FORGE:
        return write_example(call, tool, dialect, offered)
    block = render_call(call, tool, server_names=with_server)
    return "" if find_forbidden(block, 0, len(block)) >= 0 or shows_others(call.name, call.arguments) else block


def _named_in(error: CallError, tool: Tool | None) -> set[str]:
    """The arguments of which the problems are told, where the error does not say what the model gave: it was JSON."""
    if error.code is not Code.INVALID_ARGUMENTS or tool is None:
        return set()
    problems = _NEXT_PROBLEM.split(error.message)
    ends = (":", ".", "[")
    return {
        name
        for name in tool.shape.properties
        if any(problem.startswith(tuple(f"{name}{end}" for end in ends)) for problem in problems)
    }


def _with_given(sample: dict[str, Any], given: dict[str, Any], tool: Tool) -> dict[str, Any]:
    arguments = sample
    for name in sample:
        if name in given and _is_short(given[name]):
            closer = {**arguments, name: given[name]}
            if not find_problems(closer, tool.shape):
                arguments = closer
    return arguments


def _is_short(value: Any) -> bool:
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    return len(text) <= _SHORT_VALUE


# A reply that was cut off


def _continuation(source: str, tool: Tool | None, most: int) -> str:
    closing = _closing(source, tool)
    room = most - len(_joined(_CUT_OFF, closing)) - 1
    if room < _TAIL // 4:
        closing, room = "", most - len(_CUT_OFF) - 1
    return _joined(_CUT_OFF, _tail(source, min(_TAIL, room)), closing)


def _tail(source: str, most: int) -> str:
    """The end of the text in at most `most` characters, marks included, from the start of a line on if one is near."""
    tail = _LINE_BREAK.sub("\n", source[-most:])
    is_cut = len(source) > most
    while (excess := len(_marked(tail)) - most) > 0:
        tail = tail[excess:]
        is_cut = True
    if is_cut:
        tail = tail[tail.find("\n", 0, len(tail) // 2) + 1 :]
    return _marked(tail)


def _marked(text: str) -> str:
    return _MARK + _quoted(text).replace("\n", f"\n{_MARK}")


def _closing(source: str, tool: Tool | None) -> str:
    """What the model still has to close; nothing if that cannot be told."""
    found = OpenElements(source, tool.shape if tool else ANY).read()
    if found is None:
        return ""
    tags, in_cdata = found
    words = [_one_line(f"</{tag}>") for tag in reversed(tags)]
    close = f"Then close {', '.join(words[:-1])}{' and ' if words[1:] else ''}{words[-1]}."
    return f"The CDATA section is still open: end it with ]]>. {close}" if in_cdata else close


# What a model that was cut off inside a block still has to close


class OpenElements:
    """Finds what is open at the end of a block that was cut off, and gives up where it is not sure.

    `source` is the block as far as it came, `arguments` the shape of the tool's arguments (ANY if that is not known).
    """

    def __init__(self, source: str, arguments: Shape) -> None:
        self._source = source
        self._arguments = arguments
        self._tags = [FORGE.block]
        self._shapes: list[Shape] = [arguments]
        self._at = 0
        self._is_leaf = False
        self._is_new = False  # nothing stands yet in the innermost element
        self._has_markup = False  # the leaf holds tags

    def read(self) -> tuple[list[str], bool] | None:
        """Return the tags that are open, outermost first, and whether CDATA is; None if that cannot be told."""
        source = self._source
        opener = read_opener(source, 0, FORGE.block)
        if not opener or not source.startswith("<", skip_space(source, opener)):
            return None
        self._at = opener
        while (start := source.find("<", self._at)) >= 0:
            if not self._is_leaf and source[self._at : start].strip(SPACES):
                if not self._is_new:
                    return None
                self._is_leaf = True
            known = self._markup(start)
            if known is MORE:
                break
            if not known:
                return None
        return self._tags, self._at < 0

    def _markup(self, start: int) -> bool | None:
        """Read what begins at a `<`. True if it is clear what it is, MORE if the text ends in it or in its section."""
        source = self._source
        opened = read_cdata_open(source, start)
        if opened:
            return self._section(start + len(opened))
        if opened is MORE:
            return MORE
        if source.startswith("<!--", start) and not self._is_leaf:
            self._at = source.find("-->", start) + 3
            return self._at > 2
        end_tag = source.startswith("</", start)
        tag = read_end_tag(source, start) if end_tag else read_start_tag(source, start)
        if tag is MORE:
            return MORE
        if self._is_leaf and not (tag and end_tag and tag.name == self._tags[-1]):
            return self._content(start, tag.name if tag and end_tag else "")
        if not tag:
            return False
        self._at = tag.end
        return self._leave(tag) if end_tag else self._enter(tag)

    def _content(self, start: int, end_tag: str) -> bool:
        """Read markup in a leaf. It is content, but an end tag may have been meant to close the leaf."""
        if end_tag and (not self._has_markup or end_tag in self._tags):
            return False
        self._at = start + 1
        self._has_markup = True
        return True

    def _enter(self, tag: Tag) -> bool:
        if tag.empty:
            self._is_new = False
            return True
        depth = len(self._tags)
        is_arguments = depth == 1 and tag.name == FORGE.arguments
        self._shapes.append(self._arguments if is_arguments else self._shapes[-1].child(tag.name))
        self._is_leaf = (depth == 1 and tag.name in (FORGE.tool_name, FORGE.server_name)) or self._shapes[-1].is_text
        self._is_new = not is_arguments
        self._has_markup = False
        self._tags.append(tag.name)
        return True

    def _leave(self, tag: Tag) -> bool:
        self._is_leaf = self._is_new = False
        self._shapes.pop()
        return self._tags.pop() == tag.name and bool(self._tags)

    def _section(self, start: int) -> bool | None:
        """Read a CDATA section to the `]]>` that ends it, by what follows (protocol, 4.7)."""
        if self._has_markup or not (self._is_leaf or self._is_new):
            return False
        self._is_leaf = True
        source = self._source
        while (start := source.find("]]>", start) + 3) > 2:
            following = source.find("]]>", start)
            markup = source.find("<", start, following if following >= 0 else len(source))
            if markup < 0 and following < 0:
                self._at = -1 if source[start:].strip(SPACES) else start  # text after it: it was content
                return MORE
            ends = (CDATA_OPEN, "<!--", f"</{self._tags[-1]}")
            found = [end for end in ends if markup >= 0 and end.startswith(source[markup : markup + len(end)])]
            if found and len(source) - markup < len(found[0]) and not source.startswith("</", markup):
                break  # the text ends in what may be markup: a model that goes on may make it content
            if found:
                self._at = markup
                return True
            start = max(start, markup)
        self._at = -1
        return MORE
