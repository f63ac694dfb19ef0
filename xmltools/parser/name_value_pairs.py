"""Calls that are a name and pairs of argument names and values between literal marks (protocol, section 8).

What is in a value is text: nothing is decoded, and a mark in it counts only if what follows it may follow. An example
of a whole call in a value is content.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from xmltools.dialects import Dialect, Pairs
from xmltools.errors import Code
from xmltools.parser.block import Block, Leaf, Path, State, emit_cdata, end_early, fail, note, skip_fillers, source_of
from xmltools.parser.elements import path_of
from xmltools.parser.end_tags import end_leaf
from xmltools.parser.json_states import begin_json_arguments, begin_json_body
from xmltools.parser.values import begin_marked_leaf
from xmltools.syntax.element_tree import JSON, TEXT, Element
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NAME_LENGTH,
    NO,
    OPENER_SPACE,
    SPACES,
    attributes_of,
    decode_entities,
    is_cut_off,
    is_valid_name,
    read_fence,
    skip_space,
)
from xmltools.tools.schema import ANY

_NAME: Final = re.compile(r"\w[^\s<>{}()*?|$\[\]\"'`\\]*(?:[ \t]+(?=[<{\\]|\r?\n|\Z))?")
_PLAIN_NAME: Final = re.compile(r"[\w.:/-]+[ \t]*")
_BREAKS: Final = re.compile(r"(?:[ \t\r\n]+|\\n)*")
"""White space, and what some models write for it where a template has a line break."""
_PYTHON_NAME: Final = re.compile(r"[A-Za-z_][\w.]*+", re.ASCII)
_W = r"[ \t\r\n]*+"
_TOOL: Final = rf"[A-Za-z_][\w.]*+{_W}"
_KEY: Final = rf"[A-Za-z_]\w*+{_W}"
_LITERAL: Final = r"[\"'\d\[{+-]"  # an argument that has no name, which is an error (3.14)
_PYTHON: Final = late_pattern(rf"{_TOOL}(?:\Z|\({_W}(?:\Z|(?P<call>\)|{_KEY}=|{_LITERAL})|{_KEY}\Z))", re.ASCII)
"""A call in Python, up to what shows that it is one, or to the end of the text."""
_PYTHON_LIST: Final = late_pattern(
    rf"\[{_W}(?:\Z|{_TOOL}(?:\Z|\({_W}(?:\Z|(?P<call>\){_W}(?:,|\][^(])|{_KEY}=|{_LITERAL})|{_KEY}\Z|\){_W}\]?+\Z)))",
    re.ASCII,
)
"""A list of such calls. `[get()](page)` is a link."""
_TRIPLES: Final = "|".join(rf"{quote}(?:[^\\]|\\.)*?{quote}" for quote in ("'{3}", '"{3}'))
_STRINGS: Final = r"'(?:[^'\\]|\\.)*+'" r'|"(?:[^"\\]|\\.)*+"'
_PYTHON_TOKEN: Final = late_pattern(
    rf"(?s)(?P<text>{_TRIPLES})|'{{3}}|\"{{3}}|(?P<string>{_STRINGS})|['\"]|(?P<open>[\[({{])|(?P<close>[\])}}])"
)
"""A string in Python, a bracket, or the quotes of a string that has no end, which is in no group."""
_LINK_LENGTH: Final = 256
"""Characters of a list of calls that waits for its end, since a `(` after it makes it the label of a link."""
_OBJECT: Final = re.compile(r"\{[ \t\r\n]*(?:([\"}])|\Z)")
_TEXT_KINDS: Final = ("true", "string")
"""What the attribute of an argument says if its value is text."""
_BREAK: Final = re.compile(r"\r?\n")
_BROKEN: Final = re.compile(r"[<\r\n]")
"""What no name has."""
_END_LIKE: Final = late_pattern(rf"</([^\s<>/]{{1,{NAME_LENGTH}}})>?")
_OPEN_LIKE: Final = late_pattern(rf"<([^\s<>/]{{0,{NAME_LENGTH}}})")
_PART: Final = 4
"""Letters of the name in an end mark that may stand for all of it."""
_MARK_REST: Final = late_pattern(r"[</>]|[= ].*")
"""What is no part of the name in a mark."""
_PART_OF_NAME: Final = late_pattern("[a-z0-9]+")
_MOST_BEGUN: Final = 8
"""Elements in a value whose end tags may stand for its own: after so many, none does."""
_KEY_LIKE: Final = tuple(
    late_pattern(rf"(?:[^>\r\n]{{0,{NAME_LENGTH}}}>){{0,{marks}}}[^>\r\n]{{0,{NAME_LENGTH}}}") for marks in range(3)
)
"""What may be meant for the start mark of an argument, up to the last `>` of one that has so many more."""
_TEXT_LIKE: Final = late_pattern(rf"[^<>\r\n]{{0,{NAME_LENGTH}}}")
_LONGEST_KEY: Final = 2 * NAME_LENGTH
_KEY_WORD: Final = late_pattern(r"[^\s<>=\"'/]+")
_BLANKS: Final = 4
"""Blanks before the `=` of a mark."""
MAX_STRAY: Final = 1_024
"""Characters of stray text between the calls of a block."""
_EXAMPLE_SPACE: Final = 16
"""White space between the start mark of an example and its call."""
_ATTRIBUTES_LENGTH: Final = 512
"""Characters of the attributes of a mark, besides a name."""


def begins_call(dialect: Dialect, text: str, at: int, *, fences: bool = True) -> bool | None:
    """Does a call begin with what follows the block's start mark, which ends at `at`? With `fences`, a fence line may
    come before the JSON of an element."""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    pairs = dialect.pairs
    if pairs is None:
        if fences and text[here] in "`~" and dialect.closer and not dialect.may_lack_end:
            fence = read_fence(text, here)
            if not fence:
                return MORE if fence is MORE else NO
            here = skip_space(text, fence)
            if here == len(text) or here - fence > OPENER_SPACE:
                return MORE if here - fence <= OPENER_SPACE else NO
        return text[here] == "{" or (_begins_list(text, here) if text[here] == "[" else NO)
    if pairs.python:
        return _begins_python(text, here)
    if pairs.name:
        after = skip_fillers(dialect, text, here)
        if after is MORE:
            return MORE
        # Arguments without a name are an error.
        return _begins_with(text, after, tuple(filter(None, (pairs.name, pairs.key))))
    if text[here] == "{":
        return _begins_object(text, here, '"')
    if pairs.name_end:
        return _begins_name(dialect, pairs, text, here)
    found = _NAME.match(text, here, here + NAME_LENGTH)
    if found is None:
        return NO
    after = _skip_layout(pairs, text, found.end())
    if after - found.end() > OPENER_SPACE:
        return NO
    if after == len(text) or _is_cut_break(pairs, text, after):
        return MORE
    if text[after] == "{":
        return _begins_object(text, after, '"}')
    return _begins_with(text, after, (pairs.key, dialect.closer))


def read_start(dialect: Dialect, text: str, at: int, mark: str, *, fences: bool = True) -> int | bool | None:
    """The place after the start mark of a call, `mark` at `at`, if a call begins there; -1, where a call begins
    without one. `fences`: its body may be fenced."""
    if dialect.is_bare:
        begins = begins_call(dialect, text, at)
        if begins and dialect.pairs is not None and dialect.pairs.python:
            begins = _is_no_link(text, skip_space(text, at))
        return -1 if begins else begins
    if mark == dialect.opener and (dialect.pairs is None or dialect.pairs.name != mark):
        after = at + len(mark) - (mark[-1] == "[")  # a list that the mark has begun
        begins = begins_call(dialect, text, after, fences=fences)
        return after if begins else begins
    pairs = dialect.pairs
    if pairs is None or not pairs.bare:
        return NO
    head = _read_head(pairs.name, pairs.name_end, pairs.name_attribute, text, at)
    if head is NO and pairs.may_lack_name_end:
        head = _read_open_head(pairs, text, at)
    if not isinstance(head, _Head):
        return head
    if head.is_empty and pairs.name_attribute:
        return -1
    here = skip_space(text, head.after)
    if here == len(text) and here - head.after <= OPENER_SPACE:
        return MORE
    if here - head.after > OPENER_SPACE:
        return NO
    if text[here] == "{":
        begins = pairs.json or _begins_object(text, here, '"}')
        return -1 if begins else begins
    if pairs.json:
        return NO
    follows = _mark_at(text, here, tuple(filter(None, (pairs.tag_mark or pairs.key, pairs.end, pairs.object))))
    return -1 if isinstance(follows, str) else follows


def cut_start(dialect: Dialect, text: str, at: int) -> int | bool | None:
    """As `read_start`, for the dialect's opener at `at` where the reply ends before it is decided: it was cut off, if
    it is no tag with another attribute than the name."""
    pairs, after = dialect.pairs, at + len(dialect.opener)
    if pairs is None or pairs.name != dialect.opener:
        return after
    name = f"{pairs.name_attribute}="
    if not pairs.name_attribute:
        return -1
    return -1 if text.startswith(name, after) or name.startswith(text[after:]) else NO


class _Head(NamedTuple):
    """A mark with a name, of a tool or of an argument: the name, the place after the mark, whether it says that
    nothing follows (`/>`), and the attributes, if it has any."""

    name: str
    after: int
    is_empty: bool
    attributes: dict[str, str | None]


def _read_head(mark: str, end: str, attribute: str, text: str, at: int) -> _Head | bool | None:
    """The mark at `at`, with a name between `mark` and `end`, or with attributes one of which is the name."""
    begins = _starts(text, at, mark)
    if not begins:
        return begins
    start = _after_mark(text, at, mark)
    most = NAME_LENGTH + len(end) + (_ATTRIBUTES_LENGTH if attribute else 0)
    stop = text.find(end, start, start + most)
    inside = text[start : stop if stop >= 0 else start + most]
    broken = _BROKEN.search(inside)
    if broken and not (stop < 0 and end.startswith(inside[broken.start() :])):
        return NO
    if stop < 0:
        return MORE if len(text) - start < most else NO
    is_empty = inside.endswith("/")
    if is_empty:
        inside = inside[:-1]
    said: dict[str, str | None] = {}
    if attribute:
        said = {name: value for name, value, _ in attributes_of(" " + inside)}
        inside = decode_entities(said.get(attribute) or "")
    name = inside.strip(SPACES)
    return _Head(name, stop + len(end), is_empty, said) if name else NO


def _read_open_head(pairs: Pairs, text: str, at: int) -> _Head | bool | None:
    """As `_read_head`, where the first argument, or the end of the arguments, ends the name."""
    begins = _starts(text, at, pairs.name)
    if not begins:
        return begins
    start = at + len(pairs.name)
    found = _NAME.match(text, start, start + NAME_LENGTH)
    if found is None:
        return MORE if start == len(text) else NO
    here = skip_space(text, found.end())
    mark = MORE if here == len(text) else _mark_at(text, here, (pairs.key, pairs.end))
    return _Head(found[0].strip(SPACES), here, False, {}) if isinstance(mark, str) else mark


def _begins_name(dialect: Dialect, pairs: Pairs, text: str, at: int) -> bool | None:
    """Is there a name at `at`, up to the mark that ends it, and then what a call goes on with?"""
    stop = text.find(pairs.name_end, at, at + NAME_LENGTH + len(pairs.name_end))
    brace = text.find("{", at, at + NAME_LENGTH) if pairs.json else -1
    if brace > at and not at <= stop < brace:
        return _PLAIN_NAME.fullmatch(text, at, brace) is not None
    if stop < 0:
        is_cut = len(text) - at < NAME_LENGTH and _is_cut_name(pairs, text[at:])
        return MORE if is_cut else NO
    if stop == at or "\n" in text[at:stop] or not (pairs.name_pattern or _PLAIN_NAME.fullmatch(text, at, stop)):
        return NO
    after = stop + len(pairs.name_end)
    here = skip_space(text, after)
    if here - after > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    marks = () if pairs.json else tuple(filter(None, (pairs.key, pairs.end, dialect.closer)))
    return text[here] == "{" or _begins_with(text, here, marks)


def _is_cut_name(pairs: Pairs, text: str) -> bool:
    """May the text be the beginning of a name and of the mark that ends it?"""
    if pairs.name_pattern:
        _, broken, rest = text.partition("\n")
        return not broken or pairs.name_end.startswith(broken + rest)
    name = _PLAIN_NAME.match(text)
    if name is None:
        return False
    rest = text[len(name[0].rstrip()) :]
    return pairs.name_end.startswith(rest) or pairs.name_end.startswith(rest.lstrip(" \t"))


def _begins_python(text: str, at: int) -> bool | None:
    """Does a call in Python begin at `at`, or a list of calls?"""
    pattern = _PYTHON_LIST if text[at] == "[" else _PYTHON
    found = pattern.match(text, at)
    if found is None or found.end() - at > NAME_LENGTH + OPENER_SPACE:
        return NO
    return True if found["call"] else MORE


def _is_no_link(text: str, at: int) -> bool | None:
    """Does no `(` follow the list of calls at `at`, or is it too long for the label of a link?"""
    depth, stop = 0, at + _LINK_LENGTH
    for token in _PYTHON_TOKEN.finditer(text, at, stop):
        if token.lastgroup is None:
            break
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth <= 0:
            here = token.end()
            return MORE if here == len(text) else text[here] != "("
    return MORE if len(text) < stop else True


@lru_cache(maxsize=32)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _begins_list(text: str, at: int) -> bool | None:
    """Does a list of objects begin at `at`?"""
    here = skip_space(text, at + 1)
    if here - at > OPENER_SPACE:
        return NO
    return MORE if here == len(text) else text[here] == "{"


def _begins_object(text: str, at: int, firsts: str) -> bool | None:
    """Does an object of JSON begin with the brace at `at`? `firsts` is what may come first in it."""
    found = _OBJECT.match(text, at, at + OPENER_SPACE)
    if found is None:
        return NO
    return found[1] in firsts if found[1] else MORE if found.end() == len(text) else NO


def _skip_layout(pairs: Pairs, text: str, at: int) -> int:
    """The place after white space between marks."""
    if pairs.name:
        return skip_space(text, at)
    found = _BREAKS.match(text, at)
    return found.end() if found else at


def _is_cut_break(pairs: Pairs, text: str, at: int) -> bool:
    """Is half of a line break that is written as `\\n` all that there is at `at`?"""
    return not pairs.name and at == len(text) - 1 and text[at] == "\\"


def _starts(text: str, at: int, mark: str) -> bool | None:
    """Is the mark at `at`? Before its `=` there may be blanks."""
    if text.startswith(mark, at):
        return True
    if len(text) - at < len(mark) and mark.startswith(text[at:]):
        return MORE
    if mark and mark[-1] == "=" and text.startswith(mark[:-1], at):
        return _starts_spaced(text, at + len(mark) - 1)
    return NO


def _starts_spaced(text: str, at: int) -> bool | None:
    """Is there a `=` after some blanks from `at` on?"""
    here = _after_blanks(text, at)
    return MORE if here == len(text) and here - at < _BLANKS else here > at and text.startswith("=", here)


def _after_blanks(text: str, at: int) -> int:
    most = min(len(text), at + _BLANKS)
    while at < most and text[at] in " \t":
        at += 1
    return at


def _after_mark(text: str, at: int, mark: str) -> int:
    """The place after the mark at `at`."""
    if mark[-1:] == "=" and not text.startswith(mark, at):
        return _after_blanks(text, at + len(mark) - 1) + 1
    return at + len(mark)


def _note_blanks(block: Block, text: str, at: int, mark: str) -> None:
    if mark and not text.startswith(mark, at):
        note(block, Code.TAG_WHITE_SPACE, block.base + at, f"blanks in {mark}", block.base + at)


def _mark_at(text: str, at: int, marks: tuple[str, ...]) -> str | bool | None:
    """The mark at `at`, one of those given."""
    answer: bool | None = NO
    for mark in marks:
        if text.startswith(mark, at):
            return mark
        if len(text) - at < len(mark) and mark.startswith(text[at:]):
            answer = MORE
        elif mark and mark[-1] == "=" and text.startswith(mark[:-1], at):
            begins = _starts_spaced(text, at + len(mark) - 1)
            if begins:
                return mark
            answer = MORE if begins is MORE else answer
    return answer


@lru_cache(maxsize=256)
def marks_of(dialect: Dialect, letter: str) -> re.Pattern[str]:
    """A pattern of what may begin a mark in a value, or what stands for its end mark: `<` and two characters, or what
    the end of the text cuts off of that. `letter`: the first of the argument's name."""
    pairs = dialect.pairs
    assert pairs is not None
    marks = (pairs.name, pairs.end, pairs.key, pairs.value, pairs.value_end, dialect.opener, dialect.closer)
    begins = {mark[1:3] for mark in marks if mark.startswith("<")}
    if pairs.value_end.startswith("</"):
        own, others = _words_of(pairs.value_end, pairs.key, pairs.key_end, pairs.value)
        letters = {letter.lower(), own[0], *(word[0] for word in (*others, *_PART_OF_NAME.findall(own)))}
        begins |= {f"/{each}" for first in letters for each in (first, first.upper())}
    firsts = re.escape("".join(sorted({each[0] for each in begins})))
    return re.compile(f"<(?:{'|'.join(map(re.escape, sorted(begins)))}|[{firsts}]?\\Z)")


def _begins_with(text: str, at: int, marks: tuple[str, ...]) -> bool | None:
    """Is one of these marks at `at`?"""
    mark = _mark_at(text, at, marks)
    return mark != "" if isinstance(mark, str) else mark


def _pairs(block: Block) -> Pairs:
    pairs = block.dialect.pairs
    assert pairs is not None  # its states are entered for no other body
    return pairs


def _give_up(block: Block, message: str, place: int) -> None:
    fail(block, Code.MALFORMED_MARKUP, message, place)
    block.state = State.PAIRS_SKIP


# -- the name ----------------------------------------------------------------------------------------------------------


def read_pairs_name(block: Block, text: str, at: int) -> int:
    """State: at the opener, or after it, before the tool's name."""
    if block.base + at < block.body_start:
        return block.body_start - block.base
    here = skip_space(text, at)
    if here == len(text) or here > at:
        return here
    pairs = _pairs(block)
    start = _after_mark(text, here, pairs.name)
    if pairs.python and text[here] in "[,":
        block.in_list = True
        return here + 1
    if not pairs.name and text[here] == "{":
        note(block, Code.JSON_ARGUMENTS, block.base + here, "the call was read from JSON")
        begin_json_body(block, block.base + here, block.dialect.json_names)
        return here
    if pairs.name:
        begins = _starts(text, here, pairs.name)
        if begins is MORE:
            return -1
        if not begins:
            return _skip_to_name(block, text, here)
        _note_blanks(block, text, here, pairs.name)
    if pairs.name_end:
        found = _find_name(block, pairs, text, here, start)
        if isinstance(found, int):
            return found
        name, after = found
    else:
        word = (_PYTHON_NAME if pairs.python else _NAME).match(text, start, start + NAME_LENGTH)
        after = word.end() if word else start
        if after == len(text):
            return -1
        name = text[start:after].strip(SPACES)
    block.name_start = block.base + start
    if not name or not is_valid_name(name):
        if name:
            fail(block, Code.INVALID_NAME, f"{name[:60]!r} is no name", block.name_start)
        else:
            fail(block, Code.MISSING_TOOL_NAME, "the block names no tool", block.name_start)
        block.state = State.PAIRS_SKIP
        return start
    block.name = name
    block.on_name(block)
    block.stack[-1].shape = block.shape or ANY
    block.state = State.NESTED if pairs.tag_mark else State.PAIRS
    if block.is_bare and block.arguments_closed and pairs.name_attribute:
        note(block, Code.MISSING_END_TAG, block.base + after, f"{pairs.end} is missing", block.start)
        block.state = State.PAIRS_END
    return after


def _find_name(block: Block, pairs: Pairs, text: str, at: int, start: int) -> int | tuple[str, int]:
    """The name that begins at `start`, after the mark at `at`, and the place after what ends it; or -1, or the place
    where reading goes on because it has no end."""
    if pairs.name_attribute:
        head = _read_head(pairs.name, pairs.name_end, pairs.name_attribute, text, at)
        if head is MORE:
            return -1
        if not isinstance(head, _Head):
            _give_up(block, f"the mark {pairs.name} at character {block.base + at} names no tool", block.base + at)
            return start
        block.arguments_closed = head.is_empty  # there are none, unless one follows all the same
        return head.name, head.after
    most = NAME_LENGTH + len(pairs.name_end)
    end = text.find(pairs.name_end, start, start + most)
    after = end + len(pairs.name_end) if end >= 0 else start + most
    if pairs.json:
        brace = text.find("{", start, end if end >= 0 else start + most)
        if brace >= 0:
            note(block, Code.MISSING_END_TAG, block.base + brace, f"{pairs.name_end} is missing", block.start)
            end = after = brace
    stop = end if end >= 0 else min(len(text), start + most)
    for found in _BROKEN.finditer(text, start, stop):
        place = found.start()
        if (end < 0 and is_cut_off(text, place, pairs.name_end)) or (pairs.name_pattern and text[place] == "<"):
            continue
        if pairs.may_lack_name_end:
            mark = _mark_at(text, place, (pairs.key, pairs.end))
            if mark is MORE:
                return -1
            if mark:
                return text[start:place].strip(SPACES), place
        _give_up(block, f"{text[at:place]!r:.80} has no {pairs.name_end}", block.base + at)
        return place
    if end < 0 and len(text) - start < most:
        return -1
    name = text[start:end].strip(SPACES) if end >= 0 else text[start:after]  # which is too long
    if pairs.name_pattern:
        match = _pattern(pairs.name_pattern).fullmatch(name)
        name = match["name"] if match else name
    if pairs.end and not pairs.json and name.endswith("/"):
        name = name[:-1].rstrip(SPACES)
        block.arguments_closed = True
    return name, after


def _skip_to_name(block: Block, text: str, at: int) -> int:
    """What stands in the block, at `at`, before its call: the block's end, or stray text."""
    pairs, closer = _pairs(block), block.dialect.closer
    filler = _mark_at(text, at, block.dialect.fillers)
    if filler is MORE and not block.final:
        return -1
    if isinstance(filler, str):
        return at + len(filler)
    if pairs.key and _starts(text, at, pairs.key):
        fail(block, Code.MISSING_TOOL_NAME, f"the arguments come without {pairs.name}", block.base + at)
        block.state = State.PAIRS_SKIP
        return at
    place = _find_mark(text, at, (pairs.name, closer, *block.dialect.fillers))
    if place < 0 and len(text) - at <= 2 * MAX_STRAY and not block.final:
        return -1
    if place < 0:
        _give_up(block, f"there is text where {pairs.name} belongs", block.base + at)
        return at + 1
    if place > at:
        note(block, Code.STRAY_TEXT, block.base + at, f"skipped {text[at:place].strip(SPACES)!r:.60}")
        return place
    fail(block, Code.MISSING_TOOL_NAME, "there is no call in it", block.base + at)
    block.done = True
    return at + len(closer)


def _find_mark(text: str, at: int, marks: tuple[str, ...]) -> int:
    """The place of the first of these marks that is near, or -1."""
    places = [text.find(mark, at, at + MAX_STRAY + len(mark)) for mark in marks if mark]
    return min((place for place in places if place >= 0), default=-1)


# -- between pairs -----------------------------------------------------------------------------------------------------


def read_pairs(block: Block, text: str, at: int) -> int:
    """State: where a pair may begin, or the arguments end."""
    pairs, closer = _pairs(block), block.dialect.closer
    here = _skip_layout(pairs, text, at)
    if here > at:
        if "\\" in text[at:here]:
            _note_break(block, at)
        return here
    if _is_cut_break(pairs, text, here):
        return -1
    is_begun = bool(block.fields) or block.json is not None
    opens = "(" if pairs.python else "{"
    if text[here] == opens and not is_begun:
        begin_json_arguments(block, here, here)
        return here
    opener = block.dialect.opener
    marks = (pairs.key, pairs.end, pairs.name, closer, opener, pairs.object, pairs.object_end, *block.dialect.fillers)
    turn_ends = block.dialect.turn_ends if pairs.json and is_begun else ()
    mark = _mark_at(text, here, (*filter(None, marks), *turn_ends))
    if mark is MORE:
        return -1
    place = block.base + here
    if pairs.json and not is_begun:
        fail(block, Code.INVALID_JSON, "there is no JSON object where the arguments belong", place)
        block.state = State.PAIRS_SKIP
        return here
    if mark == pairs.key and pairs.key:
        return _begin_pair(block, text, here)
    if mark == pairs.object and mark and not is_begun:
        brace = skip_space(text, here + len(mark))
        if brace == len(text):
            return -1
        if text[brace] == "{":
            begin_json_arguments(block, brace, brace, is_usual=True)
            return brace
    if mark == pairs.object_end and mark and block.json is not None:
        return here + len(mark)
    if mark == pairs.end and pairs.end:
        block.arguments_closed = True
        block.state = State.PAIRS_END
        return here + len(pairs.end)
    if mark == pairs.name and pairs.name and (block.arguments_closed or pairs.json):
        note(block, Code.MISSING_END_TAG, place, f"{pairs.end} is missing", block.start)
        block.state = State.PAIRS_END
        return here
    if mark == closer and closer:
        if pairs.end:
            note(block, Code.MISSING_END_TAG, place, f"{pairs.end} is missing", block.start)
        block.done = True
        return here + len(closer)
    if isinstance(mark, str) and mark in block.dialect.fillers:
        note(block, Code.MISSING_END_TAG, place, f"{pairs.end} is missing", block.start)
        block.state = State.PAIRS_END
        return here
    if mark in turn_ends:
        end_early(block, place)
        return here
    if mark:
        fail(block, Code.MALFORMED_MARKUP, "another call begins before this one has ended", place)
        block.done = True
        return here
    _give_up(block, "there is text between the arguments", place)
    return here


def _note_break(block: Block, at: int) -> None:
    note(block, Code.STRAY_TEXT, block.base + at, "a backslash and an n between marks were read as a line break")


def _begin_pair(block: Block, text: str, at: int) -> int:
    head = _pair_at(block, text, at)
    if head is MORE:
        return -1
    place, pairs = block.base + at, _pairs(block)
    if head is NO or isinstance(head, bool):
        _give_up(block, f"the {pairs.key} at character {place} begins no argument", place)
        return at + 1
    key, after, missing, is_broken, kind = head
    _note_blanks(block, text, at, pairs.key)
    key = _known_key(block, key, place)
    if missing:
        note(block, Code.MISSING_END_TAG, place, f"{missing} is missing", block.base + after)
    if is_broken:
        _note_break(block, at)
    if pairs.framing:
        framing = _BREAK.match(text, after)
        if framing is None and text[after:] in ("", "\r"):
            return -1
        after = framing.end() if framing else after
    in_cdata = False
    if pairs.cdata:
        opens = skip_space(text, after)
        begins = _starts(text, opens, CDATA_OPEN) if opens - after <= OPENER_SPACE else NO
        if begins is MORE:
            return -1
        if begins:
            in_cdata, after = True, opens + len(CDATA_OPEN)
    top = block.stack[-1]
    element = Element(key, place)
    if kind:
        element.kind = TEXT if kind in _TEXT_KINDS else JSON
    shape = top.shape.child(key)
    path: Path | None = None
    if top.path is not None and not block.discard:
        path = path_of(block, key, top.path)
        if element.kind == JSON or (not shape.is_any and shape.opens("", "") is not None):
            path = None  # text that stands for a list or an object is converted as a whole
        if key in pairs.wrappers and block.shape is not None and not block.shape.declares(key):
            path = None  # it may hold all the others
    leaf = begin_marked_leaf(block, element, shape, block.base + after, path)
    leaf.lacks_mark = missing != "" and missing == pairs.value
    leaf.decided = in_cdata
    block.state = State.PAIR_VALUE
    return after


def _known_key(block: Block, key: str, place: int) -> str:
    """The name of an argument, without quotes if the tool declares it so."""
    shape = block.shape
    if key[0] not in "\"'" or key[0] != key[-1] or shape is None or shape.has_property(key):
        return key
    name = key[1:-1].strip(SPACES)
    if not shape.has_property(name):
        return key
    note(block, Code.DECORATED_NAME, place, f"the argument {key} was read as {name!r}", place)
    return name


def _pair_at(block: Block, text: str, at: int) -> tuple[str, int, str, bool, str] | bool | None:
    """The name of the argument whose pair begins at `at`, the place where its value may begin, a mark that is missing,
    whether a line break between its marks is written as `\\n`, and what its attribute says about the value."""
    pairs = _pairs(block)
    missing = ""
    if pairs.key_attribute:
        head = _read_head(pairs.key, pairs.key_end, pairs.key_attribute, text, at)
        if not isinstance(head, _Head):
            return head
        kind = (head.attributes.get(pairs.kind) or "") if pairs.kind else ""
        return (head.name, head.after, "", False, kind) if is_valid_name(head.name) and not head.is_empty else NO
    start = _after_mark(text, at, pairs.key)
    end = text.find(pairs.key_end, start, start + NAME_LENGTH + len(pairs.key_end))
    broken = text.find("<", start, end if end >= 0 else start + NAME_LENGTH)
    if broken >= 0 and not pairs.key_end.startswith(text[broken : broken + len(pairs.key_end)]):
        begins = _starts(text, broken, pairs.value) if pairs.value else NO
        if not begins:
            return begins
        end = after = broken
        missing = pairs.key_end
    elif end < 0:
        return MORE if len(text) - start < NAME_LENGTH + len(pairs.key_end) else NO
    else:
        after = end + len(pairs.key_end)
    key = text[start:end].strip(SPACES)
    if not key or not is_valid_name(key):
        return NO
    if not pairs.value:
        return key, after, missing, False, ""
    here = _skip_layout(pairs, text, after)
    if here - after > OPENER_SPACE:
        return NO
    if here == len(text) or _is_cut_break(pairs, text, here):
        return MORE
    is_broken = "\\" in text[after:here]
    kind = ""
    if pairs.kind_start and (begins := _starts(text, here, pairs.kind_start)) is not NO:
        said = here + len(pairs.kind_start)
        stop = text.find(pairs.kind_end, said, said + NAME_LENGTH) if begins else -1
        if stop < 0:
            return MORE if len(text) - said < NAME_LENGTH else NO
        kind = text[said:stop].strip(SPACES)
        here = skip_space(text, after := stop + len(pairs.kind_end))
        if here - after > OPENER_SPACE:
            return NO
        if here == len(text):
            return MORE
    begins = _starts(text, here, pairs.value)
    if begins is MORE:
        return MORE
    if begins:
        return key, here + len(pairs.value), missing, is_broken, kind
    marks = (pairs.key, pairs.key_end, pairs.value_end, pairs.end, block.dialect.closer, block.dialect.opener)
    mark = _mark_at(text, here, tuple(filter(None, marks)))
    if mark is MORE:
        return MORE
    opens = _OPEN_LIKE.match(text, here)
    if opens is not None and opens.end() == len(text) and not block.final and opens.end() - here < NAME_LENGTH:
        return MORE
    if mark or (opens is not None and _stands_for(pairs, opens[1].lower())):
        return NO
    return key, here, pairs.value, is_broken, ""


# -- values ------------------------------------------------------------------------------------------------------------


def read_pair_value(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: in a value."""
    pairs = _pairs(block)
    if leaf.decided:
        return _read_cdata(block, leaf, text, at)
    found = marks_of(block.dialect, leaf.tag[0]).search(text, at)
    place = found.start() if found else -1
    kept = place if found else len(text)
    if pairs.framing and kept > at:  # a line break before the end is no part of the value
        kept -= text.endswith("\n", at, kept)
        kept -= kept > at and text.endswith("\r", at, kept)
    if found is None:
        emit_cdata(block, leaf, text[at:kept])
        return kept if kept > at else -1
    closer, opens = block.dialect.closer, pairs.name or block.dialect.opener
    marks = tuple(filter(None, (pairs.value_end, pairs.key, pairs.end, closer, opens)))
    if leaf.lacks_mark:
        marks += (pairs.value,)
    mark = _mark_at(text, place, marks)
    ends = _ends_value(block, leaf, text, place, mark) if isinstance(mark, str) else mark
    wrong: int | bool | None = NO
    broken: bool | None = NO
    if ends is NO and leaf.claims <= 0:
        if mark is NO:
            wrong = _wrong_end(block, leaf, text, place)
        elif mark == pairs.value_end:
            broken = _begins_unread_pair(block, leaf, text, place + len(mark))
    if ends is MORE or wrong is MORE or broken is MORE:
        emit_cdata(block, leaf, text[at:kept])
        return kept if kept > at else -1
    if broken or (mark == pairs.value and pairs.value):
        emit_cdata(block, leaf, text[at:kept])
        what = f"{pairs.value_end} and the next argument" if broken else f"{pairs.key_end} and {pairs.value}"
        fail(block, Code.MALFORMED_MARKUP, f"there is text between {what}", block.base + place)
        block.discard = True
        end_leaf(block, leaf, block.base + place)
        block.state = State.PAIRS_SKIP
        return place
    if wrong:
        emit_cdata(block, leaf, text[at:kept])
        _end_leaf_before(block, leaf, place, text[place:wrong])
        message = f"{text[place:wrong]!r:.80} ended the value, not {pairs.value_end}"
        note(block, Code.MISMATCHED_END_TAG, block.base + place, message, leaf.start)
        return wrong
    if ends:
        emit_cdata(block, leaf, text[at:kept])
        return _end_value(block, leaf, text, place, str(mark))
    after = place + 1
    if isinstance(mark, str):
        after = place + len(mark)
        _count_example(block, leaf, text, place, mark)
        if mark == pairs.value_end and leaf.literal < 0:
            leaf.literal = block.base + place  # if the value lacks an end mark after all, this may have been it
    emit_cdata(block, leaf, text[at:after])
    return after


def _read_cdata(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """In a value that began with `<![CDATA[`: it ends with the first `]]>` that the end mark of the value follows."""
    pairs = _pairs(block)
    place = text.find("]]>", at)
    while place >= 0:
        here = skip_space(text, place + 3)
        ends = _starts(text, here, pairs.value_end) if here - place <= OPENER_SPACE else NO
        if ends:
            emit_cdata(block, leaf, text[at:place])
            leaf.sections.append(block.base + place)
            end_leaf(block, leaf, block.base + place)
            block.state = State.PAIRS
            return here + len(pairs.value_end)
        if ends is MORE:
            break
        place = text.find("]]>", place + 1)
    else:
        place = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
    place = max(place, at)
    emit_cdata(block, leaf, text[at:place])
    return place if place > at else -1


def _ends_value(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> bool | None:
    """Does the value end before the mark at `at`?"""
    pairs, closer = _pairs(block), block.dialect.closer
    after = at + len(mark)
    if leaf.claims > 0:
        return NO
    if mark == pairs.value_end:
        return _follows(block, text, after, tuple(filter(None, (pairs.key, pairs.end, closer, *block.dialect.fillers))))
    # From here on the value's own end mark is missing.
    if mark == pairs.key:
        if pairs.framing and not _is_at_line_start(block, at):
            return NO
        head = _pair_at(block, text, at)
        if head is MORE or not isinstance(head, tuple):
            return head
        return _is_next(block, head)
    if mark == pairs.end:
        return _is_at_line_start(block, at) and _follows(block, text, after, (closer,), is_cut=False)
    if mark == closer and not pairs.end:
        return _follows(block, text, after, (block.dialect.opener,), is_cut=False)
    return NO


def _is_next(block: Block, head: tuple[str, int, str, bool, str]) -> bool:
    """Does a pair show that the value before it has ended, though its end mark does not?"""
    if head[2]:  # two repairs at one place would be a guess
        return False
    return head[0] not in block.fields and (block.shape is None or block.shape.has_property(head[0]))


def _follows(block: Block, text: str, at: int, marks: tuple[str, ...], *, is_cut: bool = True) -> bool | None:
    """Does one of the marks, or the end of the reply, follow at `at`? `is_cut`: the part of a mark with which the reply
    ends counts too."""
    here = _skip_layout(_pairs(block), text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text) or _is_cut_break(_pairs(block), text, here):
        return True if block.final else MORE
    mark = _mark_at(text, here, marks)
    if mark is MORE and block.final:
        return is_cut
    return mark != "" if isinstance(mark, str) else mark


def _is_at_line_start(block: Block, at: int) -> bool:
    place = block.base + at
    return place == block.start or source_of(block, place - 1, place) in ("\n", "\r")


def _is_after_filler(block: Block, at: int) -> bool:
    """Is the place right after a mark that stands before each call of a section?"""
    place = block.base + at
    return any(source_of(block, place - len(mark), place) == mark for mark in block.dialect.fillers)


def _count_example(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> None:
    """A mark that is content may begin an example of a call, or end one."""
    pairs = _pairs(block)
    if mark == (pairs.name or block.dialect.opener):
        leaf.claims += not pairs.name or _begins_example(block, at) or _is_after_filler(block, at)
    elif leaf.claims > 0 and mark == (pairs.end or block.dialect.closer):
        leaf.claims -= 1
    elif mark == block.dialect.closer:
        leaf.claims = 0  # of calls without an end mark


def _begins_example(block: Block, at: int) -> bool:
    """Is the mark of a name at `at` where a call would have it: at the start of a line, or after the start mark?"""
    if _is_at_line_start(block, at):
        return True
    place, opener = block.base + at, block.dialect.opener
    before = source_of(block, max(block.start, place - len(opener) - _EXAMPLE_SPACE), place)
    return before.rstrip(SPACES).endswith(opener)


def _wrong_end(block: Block, leaf: Leaf, text: str, at: int) -> int | bool | None:
    """The place after what stands at `at`, if that is the value's own end mark, but misspelt, or another one, and what
    may follow the right one does."""
    pairs, closer = _pairs(block), block.dialect.closer
    if not pairs.value_end.startswith("</") or leaf.begun > _MOST_BEGUN:
        return NO
    found = _END_LIKE.match(text, at)
    if found is None:
        return MORE if text.startswith("</", at) and at + 2 == len(text) and not block.final else NO
    if found.end() == len(text) and not block.final and found.end() - at < NAME_LENGTH:
        return MORE
    word = found[1].partition("=")[0]
    if word.lower() != leaf.tag.lower() and not _stands_for(pairs, word.lower()):
        return NO
    here = _skip_layout(pairs, text, found.end())
    if here - found.end() > OPENER_SPACE:
        return NO
    if here == len(text) or _is_cut_break(pairs, text, here):
        return NO if block.final else MORE
    mark = _mark_at(text, here, tuple(filter(None, (pairs.key, pairs.end, closer))))
    after = here + len(mark) if isinstance(mark, str) else here
    follows: bool | None = NO
    if not isinstance(mark, str):
        follows = mark
    elif mark == pairs.key:
        head = _pair_at(block, text, here)
        follows = _is_next(block, head) if isinstance(head, tuple) else head
    elif mark == pairs.end:
        follows = _follows(block, text, after, tuple(filter(None, (closer,))), is_cut=False)
    elif not pairs.end:
        follows = _follows(block, text, after, (block.dialect.opener,), is_cut=False)
    if not follows:
        return MORE if follows is MORE and not block.final else NO
    if f"<{word}" in source_of(block, leaf.start, block.base + at):
        leaf.begun += 1
        return NO
    return found.end()


def _stands_for(pairs: Pairs, word: str) -> bool:
    """Is this, in small letters, the name in a mark that may stand for the mark around a value?"""
    own, others = _words_of(pairs.value_end, pairs.key, pairs.key_end, pairs.value)
    is_part = len(word) >= _PART and (own.startswith(word) or own.endswith(word) or word.startswith(own))
    return word in others or is_part or _is_misspelt(word, own)


@lru_cache(maxsize=64)
def _words_of(value_end: str, *marks: str) -> tuple[str, frozenset[str]]:
    """The names in the end mark of a value, and in the other marks around it, in small letters."""
    own, *others = [_MARK_REST.sub("", mark).lower() for mark in (value_end, *marks)]
    return own, frozenset(filter(None, others))


def _is_misspelt(word: str, right: str) -> bool:
    """Is a letter too many or missing, or wrong, or are two next to each other exchanged?"""
    size = min(len(word), len(right))
    same = next((at for at in range(size) if word[at] != right[at]), size)
    word, right = word[same:], right[same:]
    return word in (right[1:], right[1::-1] + right[2:]) or right == word[1:] or word[1:] == right[1:]


def _begins_unread_pair(block: Block, leaf: Leaf, text: str, at: int) -> bool | None:
    """Is what follows the value's own end mark, from `at` on, meant for the start mark of another argument that the
    tool declares, but none?"""
    pairs, shape = _pairs(block), block.shape
    if shape is None:
        return NO
    here = _skip_layout(pairs, text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return NO if block.final else MORE
    if text[here] != "<":  # the first character of a mark may be missing, or another one stand before it
        begins = [
            _starts(text, here + more, mark) for more, mark in ((0, pairs.key[1:]), (1, pairs.key[1:]), (1, pairs.key))
        ]
        if not any(begins):
            return MORE if MORE in begins and not block.final else NO
    found = _KEY_LIKE[pairs.key[:-1].count(">")].match(text, here)
    assert found is not None  # which may be nothing
    end, names = found.end(), _KEY_WORD.findall(found[0])
    if pairs.value and text.startswith(">", end):  # the name stands between two marks
        inner = _TEXT_LIKE.match(text, end + 1)
        assert inner is not None
        end = inner.end()
        names.append(inner[0].strip(SPACES))
    if end == len(text) and end - here < _LONGEST_KEY and not block.final:
        return MORE
    given = (leaf.tag, *block.fields)
    named = {each for name in names for each in (name, name.lower()) if shape.has_property(each)}
    return not named.issubset(given)


def _end_leaf_before(block: Block, leaf: Leaf, at: int, mark: str) -> None:
    """The value ends before the mark at `at`, and before a line break there if the dialect writes one."""
    pairs, end = _pairs(block), block.base + at
    if pairs.framing:
        tail = source_of(block, max(leaf.start, end - 2), end)
        end -= 2 if tail.endswith("\r\n") else tail.endswith(("\n", "\r"))
    leaf.sections.append(end)
    end_leaf(block, leaf, end)
    block.state = State.PAIRS
    if leaf.literal >= 0 and mark != pairs.value_end:
        message = f"there is text between {pairs.value_end} and {mark[:80]}"
        fail(block, Code.MALFORMED_MARKUP, message, leaf.literal)


def _end_value(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> int:
    """The value ends before the mark at `at`."""
    pairs = _pairs(block)
    _end_leaf_before(block, leaf, at, mark)
    if mark == pairs.value_end:
        return at + len(mark)
    note(block, Code.MISSING_END_TAG, block.base + at, f"{pairs.value_end} is missing", leaf.start)
    return at


# -- the end -----------------------------------------------------------------------------------------------------------


def read_pairs_end(block: Block, text: str, at: int) -> int:
    """State: after the arguments."""
    if block.is_bare:
        return _end_bare(block, text, at)
    pairs, closer = _pairs(block), block.dialect.closer
    if not closer:
        block.done = True
        return at
    here = skip_space(text, at)
    if block.dialect.may_lack_end:  # white space belongs to the call only if its end mark follows
        if here == len(text) and here - at <= OPENER_SPACE:
            return -1
        if here - at > OPENER_SPACE:
            block.done = True
            return at
    elif here == len(text) or here > at:
        return here
    mark = _mark_at(text, here, (closer, *((pairs.name,) if pairs.name else ())))
    if mark is NO and pairs.python:
        mark = _begins_python(text, here)
    if mark is MORE and not block.final:
        return -1
    if mark == closer:
        block.done = True
        return here + len(closer)
    if mark is MORE and is_cut_off(text, here, closer):  # with a part of the end tag the reply ends
        end_early(block, block.base + here)
        return len(text)
    if mark is not NO:
        if not block.dialect.many:
            note(block, Code.JOINED_CALLS, block.base + here, "another call is in the same block", block.start)
        elif mark is MORE:  # with a part of what may begin another call the reply ends
            end_early(block, block.base + here)
            return len(text)
        block.again = block.done = True
        return here
    if block.dialect.many:
        filler = _mark_at(text, here, block.dialect.fillers)
        if filler is MORE and not block.final:
            return -1
        if isinstance(filler, str):
            return here + len(filler)
        place = _find_mark(text, here, (pairs.name, closer, *block.dialect.fillers))
        if place < 0 and len(text) - here <= 2 * MAX_STRAY and not block.final:
            return -1
        if place >= 0:
            note(block, Code.STRAY_TEXT, block.base + here, f"skipped {text[here:place].strip(SPACES)!r:.60}")
            return place
    end_early(block, block.base + here)
    return at if block.dialect.may_lack_end else here


def _end_bare(block: Block, text: str, at: int) -> int:
    """A call without the block's start mark has ended; an end mark after it, white space aside, belongs to it."""
    closer = block.dialect.closer
    here = skip_space(text, at)
    mark: str | bool | None = NO
    if closer and here - at <= OPENER_SPACE:
        mark = MORE if here == len(text) else _mark_at(text, here, (closer,))
    if mark is MORE and not block.final:
        return -1
    block.done = True
    if mark is MORE:
        return len(text) if here < len(text) else at
    return here + len(closer) if mark else at
