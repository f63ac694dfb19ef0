"""Whole calls, read in one step: names and values between marks, JSON, or elements with plain values, from the start
mark to the end mark in one piece of text.

Transcripts have nearly all calls like that. As `ordinary_calls`, this module knows when a text is ordinary, never what
a rule means: for anything else `read_whole` returns None, and the machine reads the call. What it returns is what the
machine makes of the same text, without a repair and valid; this is tried by the same tests.

- A call is alone in its block, of a given tool, and has all arguments that are required, each declared, and once.
- Marks are spelled as templates spell them, elements as `ordinary_calls` says. Values are strings, numbers, booleans,
  or words of an enumeration; between marks they have no `<`. JSON has no escapes but those of quotes, backslashes,
  slashes, tabs and line breaks.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from xmltools.dialects import Body, Dialect, Pairs
from xmltools.parser.ordinary_calls import TAG, Step, Words, find_step, is_plain, is_section, learn_step, read_leaf
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.markup import CDATA_OPEN, find_forbidden
from xmltools.tools.schema import UNUSUAL, ObjectShape, PlainMembers, fits_plainly, plain_members

_NAME: Final = r"[A-Za-z_][-.0-9A-Za-z_]{0,100}"
_SPACE: Final = r"[ \t\r\n]{0,16}"
_MOST: Final = 16_384
"""Characters of a call. What the machine takes for a longer one is not the time for its marks."""
_MOST_ARGUMENTS: Final = 64
_UNUSUAL = re.compile(r'\\[^"\\/nt]|-0')
"""Other escapes, and perhaps a number that is written unlike it is printed."""
_LEAVES = re.compile(rf"(?:[ \t\r\n]*+<({_NAME})>[^<&\n]{{1,4096}}+</\1>){{1,{_MOST_ARGUMENTS}}}+")
"""Leaves that hold neither `<` nor `&`, each in one line."""
_LEAF = re.compile(rf"<({_NAME})>([^<&]++)</")
"""The name and the value of one of them."""
_CONSTANTS: Final = {None: "null", True: "true", False: "false"}


class _Form(NamedTuple):
    """How a form of a dialect spells ordinary calls: patterns of all up to the arguments, with the name, which has a
    pattern of its own, if there is one; of an argument, with its name, what its attribute says, and its value; and of
    what follows the arguments. Without a pattern of an argument they are JSON, and without a name the call is."""

    head: re.Pattern[str]
    name: re.Pattern[str] | None
    pair: re.Pattern[str] | None
    tail: re.Pattern[str]


class WholeCall(NamedTuple):
    """A call, up to `end` in the text, and the server that has its tool. `deltas`: paths and texts of its values, in
    order. `named`: the server that it names."""

    name: str
    server: str
    arguments: dict[str, Any]
    deltas: list[tuple[tuple[str | int, ...], str]]
    end: int
    named: str | None = None


NOT_ORDINARY: Final = WholeCall("", "", {}, [], -1)
"""What is returned for a call that is not ordinary, also if it is read in another way."""


def read_whole(dialect: Dialect, toolbox: Toolbox, text: str, at: int, *, has_deltas: bool) -> WholeCall | None:
    """Read the call at `at`, where something opens in this form of a dialect. None if the text does not have all of it,
    or if it is not ordinary."""
    form = _form_of(dialect)
    head = form.head.match(text, at) if form is not None else None
    if form is None or head is None or text.find(dialect.closer, head.end(), at + _MOST) < 0:
        return None
    name: Any = head[1] if head.re.groups else None
    if form.name is not None and name is not None:
        named = form.name.fullmatch(name)
        if named is None:
            return None
        name = named["name"]
    arguments: dict[str, Any] = {}
    if form.pair is None:
        read = _read_json(dialect, text, head.end(), is_call=name is None)
        if read is None:
            return None
        name, arguments, after = read if name is None else (name, *read[1:])
    found = toolbox.find_plain(name, None, dialect.default_server)
    members = plain_members(found[1]) if found is not None else None
    if found is None or members is None:
        return None
    server, shape = found
    deltas: list[tuple[tuple[str | int, ...], str]] = []
    if form.pair is not None:
        after = _read_pairs(form.pair, dialect.pairs, members, shape, text, head.end(), arguments, deltas)
        if not members.hold(arguments):
            return None
    elif not fits_plainly(arguments, members, shape) or (has_deltas and not _add_deltas((), arguments, deltas)):
        return None
    tail = form.tail.match(text, after)
    return WholeCall(name, server, arguments, deltas, tail.end()) if tail is not None else None


def read_whole_elements(
    words: Words, default_server: str, toolbox: Toolbox, text: str, at: int, *, has_deltas: bool
) -> WholeCall | None:
    """As `read_whole`, where a call of elements begins at `at`: the arguments are strings, numbers, booleans, or words
    of an enumeration. Without `has_deltas` it makes none. Returns `NOT_ORDINARY` for what no short way reads."""
    start = words.start.match(text, at)
    if start is None:
        return None
    named, name = start.groups()
    found = toolbox.find_plain(name, named, default_server)
    members = plain_members(found[1]) if found is not None else None
    if found is None or members is None:
        return NOT_ORDINARY
    server, shape = found
    followed = _read_steps(members, text, start.end())
    if followed is None:
        followed = _read_arguments(words, members, shape, text, start.end())
        if followed is None:
            return None
    written, arguments, end = followed
    if end < 0 or not members.hold(arguments):
        return NOT_ORDINARY
    deltas: list[tuple[tuple[str | int, ...], str]] = []
    if has_deltas:
        deltas += [((key,), value) for key, value in written if value]
    return WholeCall(name, server, arguments, deltas, end, named)


_Arguments = tuple[list[tuple[str, str]], dict[str, Any], int]
"""Names and values as they are written, and as they are typed; and the place after the call."""
_ODD: Final[_Arguments] = ([], {}, -1)
"""What is returned where one is not declared, or not what it is declared to be, or is followed by no ordinary tag."""


def _read_steps(members: PlainMembers, text: str, at: int) -> _Arguments | None:
    """Read the arguments, and all up to the end of the call, if there is between the values what came there last."""
    steps, most = members.steps, at + _MOST
    following: tuple[Step, ...] = steps.get("", ())
    written: list[tuple[str, str]] = []
    arguments: dict[str, Any] = {}
    while (step := find_step(following, text, at)) is not None:
        at += len(step.text)
        name = step.name
        if not name:
            return (written, arguments, at) if len(written) == len(arguments) else None  # each came once
        end = text.find("<", at, most)
        if end > at:
            value: Any = text[at:end]
            if not is_plain(value):
                return None
            at = end
        else:
            start = at + len(CDATA_OPEN)
            end = text.find("]]>", start, most) if text.startswith(CDATA_OPEN, at) else -1
            value = text[start:end]
            if end < 0 or not is_section(value):
                return None
            at = end + 3
        written.append((name, value))
        if step.member.read is not None:
            value = step.member.read(value)
            if value is UNUSUAL:
                return _ODD
        arguments[name] = value
        following = steps.get(name, ())
    return None


def _read_arguments(words: Words, members: PlainMembers, shape: ObjectShape, text: str, at: int) -> _Arguments | None:
    """As `_read_steps`, whatever is between the values: that probably comes again."""
    head = words.head.match(text, at)
    if head is None or text.find(words.close, head.end(), at + _MOST) < 0:
        return None
    leaves, after = _read_leaves(text, head.end())
    tail = words.tail.match(text, after)
    if tail is None:
        return _ODD if _is_odd(words, text, after) else None
    known = members.known
    arguments: dict[str, Any] = {}
    place, last = at, ""
    for key, value in leaves:
        member = known.get(key) or members.find(shape, key, words.arguments)
        if member is None or key in arguments:
            return _ODD
        if member.inside is not None:
            return None
        typed = arguments[key] = value if member.read is None else member.read(value)
        if typed is UNUSUAL:
            return _ODD
        begin = text.index(f"<{key}>", place) + len(key) + 2
        learn_step(members.steps, last, text[place:begin], key, member)
        if text.startswith(CDATA_OPEN, begin):
            begin += len(CDATA_OPEN)
            value += "]]>"
        place, last = begin + len(value), key
    learn_step(members.steps, last, text[place : tail.end()])
    return leaves, arguments, tail.end()


def _is_odd(words: Words, text: str, at: int) -> bool:
    """Return whether no ordinary call goes on like that after arguments: with the end tag of something else, or with a
    value that holds `&`, or a `<` that does not end it."""
    found = TAG.match(text, at)
    if found is None:
        return False
    slash, name = found.groups()
    if slash:
        return name != words.arguments
    start = found.end()
    end = text.find("<", start, start + _MOST)
    if end <= start or text[start:end].isspace():
        return False
    return text.find("&", start, end) >= 0 or not text.startswith(f"</{name}>", end)


def _read_leaves(text: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """Read leaves whose values stay as they are written, or are CDATA sections. Returns names and values, and the place
    after them, where something else is."""
    leaves: list[tuple[str, str]] = []
    run = _LEAVES.match(text, at)
    if run is not None and "]]>" not in run[0]:
        leaves = _LEAF.findall(run[0])
        for _, value in leaves:  # what `is_plain` asks, and the patterns have not shown
            if value[0] <= " " or value[-1] <= " " or not value.isprintable():
                return [], at
        at = run.end()
    while len(leaves) < _MOST_ARGUMENTS and (leaf := read_leaf(text, at)) is not None:
        leaves.append(leaf[:2])
        at = leaf[2]
    return leaves, at


def _add_deltas(path: tuple[str | int, ...], value: Any, deltas: list[tuple[tuple[str | int, ...], str]]) -> bool:
    """Add the deltas of a value from JSON. False if it has a number whose text is not known."""
    if isinstance(value, dict):
        return all(_add_deltas((*path, key), each, deltas) for key, each in value.items())
    if isinstance(value, list):
        return all(_add_deltas((*path, index), each, deltas) for index, each in enumerate(value))
    if isinstance(value, float):
        return False
    is_constant = value is None or isinstance(value, bool)
    written = _CONSTANTS[value] if is_constant else value if isinstance(value, str) else str(value)
    if written:
        deltas.append((path, written))
    return True


def _read_pairs(
    pattern: re.Pattern[str],
    pairs: Pairs | None,
    members: PlainMembers,
    shape: ObjectShape,
    text: str,
    at: int,
    arguments: dict[str, Any],
    deltas: list[tuple[tuple[str | int, ...], str]],
) -> int:
    """Read the arguments that are ordinary. Returns the place after them."""
    assert pairs is not None
    while (found := pattern.match(text, at)) is not None:
        key, kind, value = found.group("key", "kind", "value") if pairs.kind else (found["key"], None, found["value"])
        if pairs.framing:
            value = value[value[:1] == "\n" :]
            value = value[:-1] if value[-1:] == "\n" else value
        member = members.find(shape, key, "")
        if member is None or member.inside is not None or key in arguments or len(arguments) == _MOST_ARGUMENTS:
            break
        if kind is not None and (kind == "true") != (member.types == (str,)):
            break
        if member.read is None:
            if not value.isprintable() and find_forbidden(value, 0, len(value)) >= 0:
                break
            arguments[key] = value
        else:
            typed = member.read(value) if is_plain(value) else UNUSUAL
            if typed is UNUSUAL or (kind == "false" and (type(typed) is str or type(typed) not in member.types)):
                break
            arguments[key] = typed
        if value and kind != "false":  # what is not said to be text has no deltas
            deltas.append(((key,), value))
        at = found.end()
    return at


def _read_json(dialect: Dialect, text: str, at: int, *, is_call: bool) -> tuple[str, dict[str, Any], int] | None:
    """Read an object: the arguments, or (`is_call`) one with the name of the tool and its arguments."""
    try:
        value, end = _DECODE(text, at)
    except (ValueError, RecursionError):
        return None
    source = text[at:end]
    if _UNUSUAL.search(source) or (not source.isprintable() and find_forbidden(source, 0, len(source)) >= 0):
        return None
    if not is_call:
        return "", value, end
    if len(value) != 2:
        return None
    for name_key in dialect.json_tool_name:
        for key in dialect.json_arguments:
            name, arguments = value.get(name_key), value.get(key)
            if isinstance(name, str) and isinstance(arguments, dict):
                # Arguments in front of the name have no deltas, so that it does not matter how the text is cut.
                return (name, arguments, end) if next(iter(value)) == name_key else None
    return None


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_DECODE: Final = json.JSONDecoder(object_pairs_hook=_refuse_twice, parse_constant=_refuse).raw_decode


# How dialects spell them


@lru_cache(maxsize=128)
def _form_of(dialect: Dialect) -> _Form | None:
    """Return how calls in this form of a dialect are spelled; None if its calls are of another kind."""
    pairs = dialect.pairs
    if not dialect.closer or dialect.may_lack_end or dialect.is_bare or dialect.fillers or dialect.json_name_is_key:
        return None
    opener, closer = re.escape(dialect.opener), re.escape(dialect.closer)
    if dialect.body in (Body.JSON, Body.ELEMENTS):
        return _Form(re.compile(rf"{opener}{_SPACE}(?=\{{)"), None, None, re.compile(_SPACE + closer))
    if pairs is None or pairs.python or pairs.quote or pairs.tag_mark or pairs.kind_start or pairs.object:
        return None
    tail = re.compile(f"{_SPACE}{re.escape(pairs.end)}{_SPACE}{closer}")
    start = f"{opener}{_SPACE}{re.escape(pairs.name)}"
    if not pairs.json:
        head = rf"{start}({_NAME}){re.escape(pairs.name_end)}(?=[\r\n<])"
        if pairs.name_attribute:
            head = f'{start}{pairs.name_attribute}="({_NAME})"{re.escape(pairs.name_end)}'
        return _Form(re.compile(head), None, _pair_of(pairs), tail)
    if not (pairs.name and pairs.name_end and pairs.end) or pairs.name_attribute:
        return None
    name = re.compile(pairs.name_pattern or f"(?P<name>{_NAME})")
    head = rf"{start}([^<\s]{{1,128}}){re.escape(pairs.name_end)}{_SPACE}(?=\{{)"
    return _Form(re.compile(head), name, None, tail)


def _pair_of(pairs: Pairs) -> re.Pattern[str]:
    key = f"(?P<key>{_NAME})"
    if pairs.key_attribute:
        key = f'{pairs.key_attribute}="{key}"' + (f'(?: {pairs.kind}="(?P<kind>true|false)")?' if pairs.kind else "")
    value = _SPACE + re.escape(pairs.value) if pairs.value else ""
    start = f"{_SPACE}{re.escape(pairs.key)}{key}{re.escape(pairs.key_end)}{value}"
    return re.compile(rf"{start}(?P<value>[^<\r]*+){re.escape(pairs.value_end)}")
