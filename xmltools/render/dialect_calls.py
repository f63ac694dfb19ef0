"""Calls in other dialects than Forge's, laid out as the models' chat templates write them.

What is written is read back as the same calls, and clean. For ordinary calls that is known from how they are written,
once an example has shown that a dialect's `writing` goes with its marks. All others are read by the parser before they
are returned: what a dialect can't say is an error that names one that can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from xmltools import dialects
from xmltools.dialects import Body, Dialect, Pairs, Writing
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, ReasoningDelta, TextDelta
from xmltools.render.example_calls import example_call, misread
from xmltools.render.forge_calls import is_its_text, write_call, write_elements
from xmltools.render.marks import turn_marks
from xmltools.render.writable import ORDINARY_NAME, escape_name, same, scalar_text
from xmltools.tools import Tool
from xmltools.tools.schema import ObjectShape, TextShape, find_problems, read_object

_SHALLOW = 16
"""Levels of JSON that every parser reads: it takes 64 if nobody asks for other limits."""
_ALTERNATIVES = ("hermes", "forge", "deepseek_v3")
"""Dialects that can say nearly all, the best first."""


class Piece(NamedTuple):
    """A call as text, and whether it is known that this is read back as the call."""

    text: str
    is_sure: bool


Write = Callable[[Dialect, Writing, ToolCall, ObjectShape | None], Piece | None]


def form_of(dialect: Dialect) -> tuple[Dialect, Writing]:
    """Return the form in which calls of a dialect are written, and how. Raises XMLToolsError if none is known, or if
    what is written is not read back."""
    form = dialect.written
    if form is None or form.writing is None:
        known = ", ".join(each.name for each in dialects.all() if each.written or each == dialects.FORGE)
        why = "can be read, but it is not known how they are written"
        if dialect.body is Body.ELEMENTS:
            why = f"are elements, which are written in {dialects.FORGE.name!r} only"
        raise XMLToolsError(
            f"calls in the dialect {dialect.name!r} {why}; "
            f"write Forge's, which any model can be asked for, or another that is written: {known}"
        )
    _check_writing(dialect, 1)
    return form, form.writing


@lru_cache(maxsize=128)
def _check_writing(dialect: Dialect, times: int) -> None:
    """Refuse a record whose `writing` does not go with the marks by which it is read: so many calls are tried."""
    form = dialect.written
    assert form is not None and form.writing is not None
    call, tool = example_call(dialect)
    writings = [numbered(form.writing, number) for number in range(times)]
    pieces = [_writer_of(form)(form, writing, call, tool.shape) for writing in writings]
    text = _joined([piece.text for piece in pieces if piece is not None], form.writing)
    if found := misread(text, dialect, times):
        what = "a call of the tool `get` with `n` = 1 is" if times == 1 else "two calls of the tool `get` are"
        raise XMLToolsError(
            f"dialect {dialect.name!r}: its `writing` does not go with its marks: {what} written {text!r}, and read as "
            f"{found}. {_advice(form, form.writing, text)}"
        )


def _advice(form: Dialect, writing: Writing, text: str) -> str:
    """Say what is probably wrong with what was written."""
    if form.pairs is not None:
        twice = [
            f"leave {mark!r} out of `{field}`"
            for mark, field in ((form.pairs.name, "call_start"), (form.pairs.end, "call_end"))
            if mark and mark.strip() in getattr(writing, field)
        ]
        if twice:
            return f"The marks in `pairs` are written by themselves: {' and '.join(twice)}"
    for mark, fields in ((form.opener, "`start` or `call_start`"), (form.closer, "`end` or `call_end`")):
        if mark and mark not in text:
            return f"The mark {mark!r} is missing: write it in {fields} of `writing`"
    return "`writing` has the marks around a block and between its calls; those in `pairs` are written by themselves"


def write_calls(
    calls: Sequence[tuple[ToolCall, Tool | None]], dialect: Dialect, *, exact: bool = False, is_first: bool = True
) -> str:
    """Write the calls of one turn, whose arguments are JSON values, each with its tool.

    `exact` says whether the arguments of calls without a tool must be read back with their types; else the text of what
    is no string will do. Not `is_first`: text stands before the calls. Raises XMLToolsError for what the dialect can't
    say.
    """
    form, writing = form_of(dialect)
    if len(calls) > 1:
        _check_writing(dialect, 2)
    if form.is_bare and not is_first:
        form, writing = _marked(dialect, form, writing)
    text = _try(calls, dialect, form, writing, exact)
    if text is None or len({call.server for call, _ in calls}) > 1:  # nothing in the text says the server
        _refuse(calls, dialect, exact)
    return text


def _marked(dialect: Dialect, form: Dialect, writing: Writing) -> tuple[Dialect, Writing]:
    """Return the form with marks, which may stand anywhere, of a dialect whose calls may have none."""
    marked = next((each for each in dialect.forms if each.is_sure and not each.is_first), form)
    start, end = f"{marked.opener}{writing.start}", f"{writing.end}{marked.closer}"
    return marked, replace(writing, start=start, end=end)


def _try(
    calls: Sequence[tuple[ToolCall, Tool | None]], dialect: Dialect, form: Dialect, writing: Writing, exact: bool
) -> str | None:
    """Return the calls as text, None if they can't be written."""
    pieces: list[str] = []
    are_sure = True
    for number, (call, tool) in enumerate(calls):
        found = _written(call, tool, dialect, form, numbered(writing, number), exact)
        if found is None:
            return None
        pieces.append(found.text)
        are_sure = are_sure and found.is_sure
    text = _joined(pieces, writing)
    if are_sure or len(calls) == 1 or _reads_back(text, calls, dialect, exact):
        return text
    return None


def _joined(pieces: Sequence[str], writing: Writing) -> str:
    return f"{writing.start}{writing.between.join(pieces)}{writing.end}"


def numbered(writing: Writing, number: int) -> Writing:
    """Return how the call is written before which there are so many in its turn."""
    if "{n" not in writing.name[6:] and not writing.name_attributes:
        return writing
    return replace(
        writing,
        name=writing.name.replace("{number}", str(number)),
        name_attributes=writing.name_attributes.replace("{next}", str(number + 1)),
    )


def _written(
    call: ToolCall, tool: Tool | None, dialect: Dialect, form: Dialect, writing: Writing, exact: bool
) -> Piece | None:
    """Return a call as text, None if it is not read back as it is."""
    if tool is None and call.server != dialect.default_server:
        return None  # nothing in the text says it
    piece = _writer_of(form)(form, writing, call, tool.shape if tool else None)
    if piece is None or (piece.is_sure and ORDINARY_NAME.fullmatch(call.name) and call.name not in _words_of(dialect)):
        return piece
    is_read = _reads_back(f"{writing.start}{piece.text}{writing.end}", [(call, tool)], dialect, exact)
    return Piece(piece.text, False) if is_read else None


@lru_cache(maxsize=64)
def _words_of(dialect: Dialect) -> frozenset[str]:
    """Return the words in the marks of a dialect: a tool that is called so may be taken for a part of one."""
    marks = [
        mark for form in dialect.forms for mark in (form.opener, form.pairs.name if form.pairs else "", *form.fillers)
    ]
    return frozenset(word for mark in marks for word in re.findall(r"\w+", mark))


# Reading back


def _reads_back(text: str, calls: Sequence[tuple[ToolCall, Tool | None]], dialect: Dialect, exact: bool) -> bool:
    """Return whether a parser of the dialect finds these calls in the text, clean, and nothing else.

    A call that its tool refuses has no right spelling, and is read as one of a tool that takes all.
    """
    from xmltools.parser import Parser  # only here: importing a renderer loads no parser

    offered: dict[tuple[str, str], Tool] = {}
    are_exact = []
    for call, tool in calls:
        reader = tool_to_read(call, tool)
        key = call.name, call.server
        if reader is not tool or key not in offered:
            offered[key] = reader
        are_exact.append(reader is tool or (tool is None and exact))
    parser = Parser(offered.values(), dialect=dialect)
    found: list[ToolCall] = []
    for event in (*parser.feed(text), *parser.close()):
        if isinstance(event, CallCompleted):
            found.append(event.call)
        elif isinstance(event, (CallFailed, ReasoningDelta)) or (isinstance(event, TextDelta) and event.text.strip()):
            return False
    return len(found) == len(calls) and all(
        (one.name, one.server) == (other.name, other.server)
        and not other.repairs
        and _is_same(one.arguments, other.arguments, is_exact)
        for (one, _), other, is_exact in zip(calls, found, are_exact, strict=True)
    )


def tool_to_read(call: ToolCall, tool: Tool | None) -> Tool:
    """Return the tool with which a call is read back: its own, or one that takes anything where that is not known, or
    refuses the call. Old calls are like that: of tools that are gone, or wrong when they were made."""
    if tool is not None and not find_problems(call.arguments, tool.shape):
        return tool
    return Tool(name=call.name, server=call.server, parameters={})


def _is_same(one: dict[str, Any], other: dict[str, Any], is_exact: bool) -> bool:
    """Return whether arguments are equal, or, not exact, said in the same text."""
    if is_exact or one.keys() != other.keys():
        return same(one, other)
    return all(same(each, other[name]) or other[name] == value_text(each) for name, each in one.items())


def _refuse(calls: Sequence[tuple[ToolCall, Tool | None]], dialect: Dialect, exact: bool) -> NoReturn:
    """Raise the error that says which dialect can say what this one can't."""
    able = [name for name in _ALTERNATIVES if name != dialect.name and _can_say(calls, name, exact)]
    names = " or ".join(map(repr, able[:2]))
    which = ", ".join(dict.fromkeys(f"{call.name!r:.80}" for call, _ in calls[:3]))
    raise XMLToolsError(
        f"the call of {which} can't be written in the dialect {dialect.name!r} so that it is read back the same"
        + (f"; write it in {names}" if able else ", nor in another one")
    )


def _can_say(calls: Sequence[tuple[ToolCall, Tool | None]], name: str, exact: bool) -> bool:
    try:
        if name == dialects.FORGE.name:
            for call, tool in calls:
                write_call(call, tool.shape if tool else None, exact=exact or tool is not None)
            return True
        dialect = dialects.named(name)
        if len({call.server for call, _ in calls}) > 1:
            return False
        return _try(calls, dialect, *form_of(dialect), exact) is not None
    except XMLToolsError:
        return False


# Writers, one for each kind of body


to_json = json.JSONEncoder(ensure_ascii=False).encode
"""A value as JSON, as chat templates write it."""


def _said(value: Any) -> str:
    """Return a value as JSON in which no text is a token of a chat template: escapes stand for them."""
    return turn_marks().neutral_json(to_json(value))


def value_text(value: Any) -> str:
    """Return a value between marks: a string as it is, all else as JSON."""
    return to_json(value) if isinstance(value, (dict, list)) else scalar_text(value)


def _write_json(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece:
    """An object with the name and the arguments."""
    arguments, is_sure = _spelled(call, shape)
    if form.json_name_is_key:
        said: dict[str, Any] = {call.name: arguments}
    else:
        said = {form.json_tool_name[0]: call.name, form.json_arguments[0]: arguments}
    return Piece(f"{writing.call_start}{_said(said)}{writing.call_end}", is_sure)


def _write_named_json(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece:
    """A name, and the arguments as an object."""
    assert form.pairs is not None
    arguments, is_sure = _spelled(call, shape)
    text = f"{_head(form.pairs, writing, call.name)}{_said(arguments)}{form.pairs.end}"
    return Piece(f"{writing.call_start}{text}{writing.call_end}", is_sure)


def _write_python(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece | None:
    """A call in Python. Its strings are those of JSON, which are Python's too."""
    if not all(map(_PYTHON_NAME.fullmatch, call.arguments)):
        return None
    arguments, is_sure = _spelled(call, shape)
    inside = ", ".join(f"{key}={to_python(value)}" for key, value in arguments.items())
    return Piece(f"{call.name}({inside})", is_sure and _PYTHON_NAME.fullmatch(call.name) is not None)


_PYTHON_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def to_python(value: Any) -> str:
    """Return a value as a literal of Python."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_said(key)}: {to_python(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(to_python, value))}]"
    return repr(value) if value is None or isinstance(value, bool) else _said(value)


def _write_marked(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece:
    """A name and an object of Gemma's, with marks around strings."""
    assert form.pairs is not None
    arguments, is_sure = _spelled(call, shape)
    is_plain = "<" not in to_json(arguments) and _has_plain_keys(arguments)
    text = f"{_head(form.pairs, writing, call.name)}{marked(arguments, form.pairs.quote)}"
    return Piece(f"{writing.call_start}{text}{writing.call_end}", is_sure and is_plain)


def _has_plain_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(ORDINARY_NAME.fullmatch, value)) and all(map(_has_plain_keys, value.values()))
    return not isinstance(value, list) or all(map(_has_plain_keys, value))


def marked(value: Any, quote: str) -> str:
    """Return a value in Gemma's notation."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{marked(each, quote)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(marked(each, quote) for each in value)}]"
    return f"{quote}{value}{quote}" if isinstance(value, str) else scalar_text(value)


def _spelled(call: ToolCall, shape: ObjectShape | None) -> tuple[dict[str, Any], bool]:
    """Return arguments as the schema asks for them, 5 and not 5.0 for an integer; and whether they are surely read as
    they are where they are JSON."""
    arguments = call.arguments
    reading = read_object(arguments, shape, 0, check=False, tool=call.name)
    if not same(arguments, reading.arguments) or reading.duplicates or reading.too_deep:
        return arguments, False
    return reading.arguments, not reading.repairs and _is_shallow(arguments, _SHALLOW)


def _is_shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return True
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in value)


def _write_pairs(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece:
    """A name, and each argument between marks."""
    pairs, arguments = form.pairs, call.arguments
    assert pairs is not None
    is_sure = all(_is_sure_value(pairs, key, value, shape) for key, value in arguments.items())
    if not is_sure:
        arguments, _ = _spelled(call, shape)
    parts = [writing.call_start, _head(pairs, writing, call.name), writing.after_name]
    for key, value in arguments.items():
        text = value_text(value)
        kind = f' {pairs.kind}="{_kind(pairs, value)}"' if pairs.kind else ""
        around = writing.around_value
        if pairs.framing and not around and (text[:1] in _BREAKS or text[-1:] in _BREAKS):
            around = "\n"  # or a line break of the value would be taken for its frame
        parts += (
            _mark(pairs.key_start, pairs.key_end, pairs.key_attribute, key, kind),
            f"{writing.after_key}{pairs.value}{around}{text}{around}{pairs.value_end}{writing.after_value}",
        )
    parts += (pairs.end, writing.call_end)
    return Piece("".join(parts), is_sure)


_BREAKS = ("\n", "\r")


def _head(pairs: Pairs, writing: Writing, name: str) -> str:
    """Return the mark with the name of the tool."""
    said = writing.name.replace("{name}", name) if writing.name != "{name}" else name
    return _mark(pairs.name_start, pairs.name_end, pairs.name_attribute, said, writing.name_attributes)


def _mark(start: str, end: str, attribute: str, name: str, rest: str) -> str:
    return f'{start}{attribute}="{escape_name(name)}"{rest}{end}' if attribute else f"{start}{name}{end}"


def _kind(pairs: Pairs, value: Any) -> str:
    """Return what the attribute of an argument says of its value."""
    if pairs.kind != "type":
        return "true" if isinstance(value, str) else "false"
    return type_word(value)


def type_word(value: Any) -> str:
    """Return the type of a value in the words of JSON Schema; integers are numbers."""
    return next(word for type, word in _TYPES if isinstance(value, type))


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "string"),
    (bool, "boolean"),
    ((int, float), "number"),
    (dict, "object"),
    (list, "array"),
    (object, "null"),
)


def _is_sure_value(pairs: Pairs, key: str, value: Any, shape: ObjectShape | None) -> bool:
    """Return whether the value of an argument is surely read as it is: of what is not ordinary that is not said."""
    if shape is None or not ORDINARY_NAME.fullmatch(key) or shape.wraps(key):
        return False
    child = shape.child(key)
    if isinstance(value, str):
        is_text = isinstance(child, TextShape) and child.read_text(value) == value
        return is_text and "<" not in value and "\r" not in value
    return is_its_text(value, child)


def _write_tags(form: Dialect, writing: Writing, call: ToolCall, shape: ObjectShape | None) -> Piece | None:
    """An element that is named as the tool, with the arguments as elements."""
    elements = write_elements(call.arguments, shape, form, indent="")
    if elements is None:
        return None
    text = "\n".join((f"<{call.name}>", *elements.lines, f"</{call.name}>"))
    names = {key.lower() for key in call.arguments}
    is_flat = not any(isinstance(value, (dict, list)) for value in call.arguments.values())
    is_plain = bool(names) and call.name.lower() not in (*names, *form.reasoning)
    return Piece(text, elements.sure and is_flat and is_plain)


def _writer_of(form: Dialect) -> Write:
    return _WRITERS[form.body if form.pairs is None else _kind_of(form.pairs)]


def _kind_of(pairs: Pairs) -> str:
    if pairs.python:
        return "python"
    if pairs.quote:
        return "marked"
    return "named json" if pairs.json else "pairs"


_WRITERS: dict[str, Write] = {
    Body.JSON: _write_json,
    Body.TAGS: _write_tags,
    "named json": _write_named_json,
    "python": _write_python,
    "marked": _write_marked,
    "pairs": _write_pairs,
}
