"""JSON in a block: the body, or the text of `arguments` (protocol, section 6).

Only its end is looked for here (`json_deltas`). Values are made when the block has ended (`finish`, `json_envelope`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from xmltools.dialects import Body
from xmltools.errors import Code
from xmltools.parser.delimiters import SPACE, cut_of
from xmltools.parser.json_deltas import JSONObject
from xmltools.parser.open_call import Block, Leaf, State, skip_broken
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_scanner import decode_escapes
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    MORE,
    NAME_LENGTH,
    NO,
    OPENER_SPACE,
    SPACES,
    Answer,
    is_valid_name,
    read_end_tag,
    read_fence,
    read_mark,
    read_token,
    skip_space,
)
from xmltools.tools.schema import ANY

_JSON: Final = Body.JSON
_MORE_JSON: Final = "{}[]\"',:"
"""What begins a part of JSON."""
_NEXT_CALL = late_pattern(
    rf'([,;]?){SPACE}(?:\{{{SPACE}"(?P<key>\w{{1,64}}+)"{SPACE}:|(?P<cut>(?:\{{{SPACE}(?:"\w{{0,64}}+(?:"{SPACE})?)?)?\Z))'
)
"""An object with a name after another one, and what comes between the two."""


def begin_json_body(block: Block, place: int) -> None:
    """The body is JSON, from `place` on."""
    block.json = JSONObject(place, block.dialect, block.reading.limits.depth, is_body=True)
    block.state = State.JSON


def begin_json_arguments(block: Block, at: int, start: int, *, is_usual: bool = False) -> None:
    """The text of `arguments` is JSON, from `start` on; a fence before it is at `at`. `is_usual`: no repair."""
    is_usual = is_usual or (block.dialect.json_is_usual and at == start)
    if not (block.pairs.json or is_usual):
        block.note(Code.JSON_ARGUMENTS, block.base + at, "the arguments were read from JSON")
    block.json = JSONObject(block.base + start, block.dialect, block.reading.limits.depth)
    if (block.dialect.pairs or block.dialect.json_is_usual) and block.stack[0].path is not None:
        block.json.begin_deltas(block.shape, ())
    block.state = State.JSON


def begin_json_leaf(block: Block, start: int) -> None:
    """The content of `arguments`, from `start` on, is one value."""
    arguments = block.stack.pop()
    element = Element(arguments.tag, arguments.start)
    block.json = JSONObject(arguments.start, block.dialect, 0)
    block.json.element = element
    block.leaf = Leaf(arguments.tag, element, ANY, start)
    block.leaf.exact = not block.is_tag  # whose end tag is that of the call
    block.state = State.TEXT


def read_json(block: Block, text: str, at: int) -> int:
    """State: in a JSON object."""
    json, dialect = block.json, block.dialect
    assert json is not None
    json.events = [] if block.discard else block.reading.events
    if json.quote == "<" and text[at] == "<":
        json.before = block.source_of(block.base + at - 1, block.base + at)
    end = json.scan(text, at)
    if json.is_body:
        _take_name(block, json)
    if json.done or _may_lack_brace(block, json, text, end):
        json.end = block.base + end
        json.lacks_brace = not json.done
        block.state = State.JSON_END
        block.arguments_closed = json.done and len(block.stack) == 1
    elif json.error and block.stack[-1].is_arguments and not json.too_deep:
        begin_json_leaf(block, json.start)  # no JSON, but perhaps JSON with entities: its end tag ends it
    elif json.error:
        code = Code.LIMIT_EXCEEDED if json.too_deep else Code.INVALID_JSON
        _refuse(block, end, f"the {dialect.notation} could not be read: {json.error}", code)
    elif end == at:
        return -1
    return end


def _may_lack_brace(block: Block, json: JSONObject, text: str, at: int) -> bool:
    """Is only the last brace of the object missing, if what begins at `at` turns out to be an end tag, or mark?"""
    is_marked = json.is_body or (block.dialect.pairs is not None and not block.pairs.python)
    return json.in_envelope and is_marked and text[at] in ("<`" if json.is_body else "<")


def _take_name(block: Block, json: JSONObject) -> None:
    """The names in a JSON body so far: those of the tool and of its server."""
    if block.name is not None or block.proposed:  # if the opener has the name this may be an argument
        return
    for key, value in json.names.items():
        value = decode_escapes(value or "", '"').strip(SPACES)
        if key not in block.dialect.json_names or not value or not is_valid_name(value):
            continue
        if key in block.dialect.json_server_name:
            block.server = value
        else:
            block.name_tool(value, -1)
            if block.stack[0].path is not None:
                json.begin_deltas(block.shape, block.dialect.json_arguments_names)
            return


def read_json_end(block: Block, text: str, at: int) -> int:
    """State: after a JSON object."""
    dialect, json, in_list = block.dialect, block.json, block.in_list
    assert json is not None
    is_arguments = not (in_list or (json.is_body and not block.pairs.end))
    here = skip_space(text, at)
    may_be_over = not dialect.has_end if json.is_body else dialect.pairs is not None and not dialect.pairs.end
    more = (
        _find_more(block, text, at, here, json.is_body) if may_be_over and not in_list and not json.lacks_brace else NO
    )
    if more is MORE:
        return -1
    # Where text may hold more JSON, a brace is part of that; where one ends the arguments, only two are one too many.
    is_stray = text.startswith("}", here) and not block.is_late
    if is_stray and block.pairs.end == "}":
        after = skip_space(text, here + 1)
        if after == len(text) and after - here <= OPENER_SPACE and not block.final:
            return -1
        is_stray = text.startswith("}", after)
    if (more or here == at) and is_stray and not (json.lacks_brace or json.extra_brace):
        json.extra_brace = True
        block.note(Code.JSON_EXTRA_BRACE, block.base + here, "dropped a closing brace that closed nothing")
        return here + 1
    if more:
        return _refuse(block, here, "there is more JSON after the object")
    if is_arguments and (here == at or not dialect.has_end):
        return _after_arguments(block, json, text, at)
    if not in_list and not dialect.has_end:
        if json.lacks_brace:  # only the end of the turn shows that
            token = read_mark(text, at, dialect.turn_ends)
            if token is MORE:
                return -1
            return _end_body(block, json, at, at) if token else _refuse(block, at)
        return (_separate if dialect.separator else _end_alone)(block, text, at, here)
    if here > at:
        return here
    character = text[at]
    if character == "<" or read_mark(text, at, (dialect.end, dialect.start)) is not NO:
        return _after_body(block, json, text, at)
    if in_list and character in ",]" and not json.lacks_brace:
        return _read_list(block, text, at)
    is_row = dialect.many and dialect.separator != ""
    if is_row and character == "{" and not (in_list or json.lacks_brace):
        block.again = block.done = True
        return at
    if dialect.body is _JSON and not (in_list or (dialect.many and not is_row) or json.lacks_brace):
        following = read_token(_NEXT_CALL, text, at, len(text) + 1)
        if following is MORE and not block.final:
            return -1
        if following and following["key"] in dialect.json_tool_names:
            block.again = block.done = True
            return following.end(1)
    fence = read_fence(text, at)
    if fence is MORE:
        return -1
    if fence:
        block.note(Code.CODE_FENCE, block.base + at, "the body of the block was in a code fence")
        return fence
    return _refuse(block, at)


@cache
def _more_json(quote: str, python: bool) -> re.Pattern[str]:
    """A pattern of how JSON goes on after a whole object, whose last group is what shows that. Without groups it is cut
    off."""
    begun = f"[,:]{SPACE}"
    opening = rf"(?:{begun}|(?<!\n\n))"  # after an empty line it may be an answer
    name = r"[^\r\n:={}\[\]<\"',]" if quote else r"[-.$\w]"
    string = rf"""(?:"[^"\r\n]{{0,{NAME_LENGTH}}}+(?:"|\Z)|'[^'\r\n]{{0,{NAME_LENGTH}}}+(?:'|\Z)){SPACE}"""
    rows = (
        (opening, r"\{"),
        (rf"{opening}\[{SPACE}", "[\"'{\\[\\]]"),
        (f"(?:{begun})?+", rf"[}}\]{')' * python}]" + f"|{re.escape(quote)}" * bool(quote)),
        (string, ":"),
        (begun + string, r"[,:=}\]]"),
        (f"{begun}{name}{{1,{NAME_LENGTH}}}+{SPACE}", r"[:=}\]]"),
    )
    cut = f"|(?:{cut_of(quote)})" * bool(quote)
    return re.compile("|".join(rf"{before}(?:({shows})|(?:{cut})?\Z)" for before, shows in rows))


def _find_more(block: Block, text: str, at: int, here: int, is_body: bool) -> re.Match[str] | Answer:
    """More JSON after an object that may end the call, up to `at`; white space goes up to `here`. `is_body`: the object
    is the whole call."""
    pairs, found = block.pairs, None
    if here - at <= OPENER_SPACE:
        found = _more_json(pairs.quote, pairs.python).match(text, here)
    may_begin = block.dialect.separator != "" or (is_body and text.startswith("{", here))
    if found is None or (may_begin and found[1] == "{"):
        return NO
    return found if found.lastindex else NO if block.final else MORE


def _end_body(block: Block, json: JSONObject, at: int, after: int) -> int:
    """The block ends with what is from `at` to `after`, whether the object has its last brace or not."""
    if json.lacks_brace:
        block.note(Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the JSON object is missing")
    block.done = True
    return after


def _end_alone(block: Block, text: str, at: int, here: int) -> int:
    """After a body that models leave without an end mark, up to `at`; white space goes up to `here`."""
    closer = read_mark(text, here, (block.dialect.closer,))
    if closer is MORE and here - at <= OPENER_SPACE and not block.final:
        return -1
    block.done = True
    return here + len(closer) if closer else at


def _separate(block: Block, text: str, at: int, here: int) -> int:
    """After an object without marks, up to `at`: it ends, and another one may follow what separates the two."""
    is_separated = here < len(text) and text[here] in block.dialect.separator + ","
    after = skip_space(text, here + is_separated)
    if after == len(text) and after - at <= OPENER_SPACE and not block.final:
        return -1
    block.done = True
    if not text.startswith("{", after) or after - at > OPENER_SPACE:
        return at
    if text[here] == ",":
        block.note(Code.STRAY_TEXT, block.base + here, "skipped a comma between two calls")
    block.again = True
    return after


def _read_list(block: Block, text: str, at: int) -> int:
    """After an object in a list of calls: it ends, or another call follows."""
    here = at
    if text[at] == ",":
        here = skip_space(text, at + 1)
        if here - at > OPENER_SPACE:
            return _refuse(block, at)
        if here == len(text):
            return -1
    if text[here] == "]":
        if here > at:
            block.note(Code.JSON_TRAILING_COMMA, block.base + at, "dropped a comma after the last call")
        block.in_list = False
        return here + 1
    if text[here] != "{" and not block.pairs.python:
        return _refuse(block, at)
    block.again = block.done = True
    return at


def _after_arguments(block: Block, json: JSONObject, text: str, at: int) -> int:
    """Other text than JSON is stray, as everywhere between elements. More JSON is not dropped with it. Where the last
    brace is missing, an end mark shows that the arguments end."""
    pairs = block.dialect.pairs
    if pairs is None:
        if text[at] in _MORE_JSON:
            message = "there is more JSON after the object with the arguments"
            block.fail(Code.INVALID_JSON, message, block.base + at)
        block.state = State.MARKUP
        return at
    if text[at] == ")" and pairs.value:
        return at + 1
    if json.lacks_brace:
        mark = read_mark(text, at, (pairs.end, block.dialect.closer))
        if mark is MORE:
            return -1
        if mark is NO:
            return _refuse(block, at, "the JSON could not be read: '<' is not allowed there")
        block.note(Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the arguments is missing")
        block.arguments_closed = True
    block.state = State.PAIRS if pairs.end else State.PAIRS_END
    return at


def _after_body(block: Block, json: JSONObject, text: str, at: int) -> int:
    dialect, in_list = block.dialect, block.in_list
    is_whole = not (in_list or json.lacks_brace)
    mark = read_mark(text, at, (dialect.end, *dialect.turn_ends * is_whole))
    if mark is MORE:
        return -1
    if mark and mark == dialect.end and not in_list:
        return _end_body(block, json, at, at + len(mark))
    if mark and is_whole:
        block.end_early(block.base + at)
        return at
    tag = read_end_tag(text, at)
    if tag and block.is_block(tag.name) and not in_list:
        return _end_body(block, json, at, tag.end)
    if tag and is_whole:
        block.note(Code.STRAY_END_TAG, block.base + at, f"</{tag.name}> ends nothing that is open")
        return tag.end
    if is_whole and (after := _past_misspelt_end(block, text, at)):
        return after
    opening = read_mark(text, at, (dialect.start or dialect.opener.removesuffix(">"),))
    opens = block.opens_block(at, dialect.block) if opening and dialect.block else bool(opening)
    if tag is MORE or opens is MORE or opening is MORE:
        return -1
    if opens and not (in_list and dialect.is_bare):  # a list without marks counts if it is whole
        # Where a call is nothing but the object, that has ended with its brace.
        block.arguments_closed = dialect.body is _JSON and not json.lacks_brace
        block.meet_opener(block.base + at)
        return at
    return _refuse(block, at)


def _past_misspelt_end(block: Block, text: str, at: int) -> int:
    """The place after a start tag at `at` that stands for the end tag, since nothing comes after it in the turn; -1 if
    that is open, 0 if it is none (DIALECTS.md, 4.1)."""
    dialect = block.dialect
    if dialect.body is not _JSON or dialect.start or not text.startswith(dialect.opener, at):
        return 0
    after = at + len(dialect.opener)
    here = skip_space(text, after)
    token = read_mark(text, here, dialect.turn_ends) if here < len(text) else MORE
    if here - after > OPENER_SPACE or token is NO:
        return 0
    if token is MORE:
        if not block.final:
            return -1
        if here < len(text):
            return 0
    block.note(Code.MISMATCHED_END_TAG, block.base + at, f"{dialect.opener} ended the block, which it begins")
    block.done = True
    return after


def _refuse(
    block: Block,
    at: int,
    message: str = "there is something between the JSON object and the end of the block",
    code: Code = Code.INVALID_JSON,
) -> int:
    block.give_up(code, message, block.base + at)
    block.state = State.SKIP
    return at


def skip_body(block: Block, text: str, at: int) -> int:
    """State: in a body that is not JSON. It goes on to the next `</tool>`; after the object itself, where no string can
    hold it, also to what begins a call."""
    is_after = block.dialect.block != "" and block.json is not None and block.json.end >= 0
    if not is_after and block.dialect.body is not Body.ELEMENTS:
        return skip_broken(block, text, at)
    place = text.find("<", at)
    if place != at:
        return place if place > at else len(text)
    tag = read_end_tag(text, at)
    opens = block.opens_block(at, block.dialect.block) if is_after and not block.in_list else NO
    if (tag is MORE or opens is MORE) and not (is_after and block.final):
        return -1
    block.done = bool(opens)
    if tag and block.is_block(tag.name):
        block.done = True
        return tag.end
    return at if opens else at + 1
