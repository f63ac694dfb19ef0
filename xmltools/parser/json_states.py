"""JSON in a block: the body, or the text of `arguments` (protocol, section 6).

Only its end is looked for here (`json_end`). Values are made when the block has ended (`block_to_call`,
`json_envelope`).
"""

from __future__ import annotations

from typing import Final

from xmltools.dialects import Body, Pairs
from xmltools.errors import Code
from xmltools.parser.block import (
    Block,
    JSONObject,
    Leaf,
    State,
    close_element,
    end_early,
    fail,
    give_up,
    is_block,
    meet_opener,
    note,
    opens_block,
    skip_broken,
)
from xmltools.parser.json_deltas import JSONDeltas
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    is_cut_off,
    is_valid_name,
    read_end_tag,
    read_fence,
    skip_space,
)
from xmltools.tools.schema import ANY

_JSON: Final = Body.JSON
_ELEMENTS: Final = Body.ELEMENTS
_MORE_JSON: Final = "{}[]\"',:"
"""What begins a part of JSON."""


def begin_json_body(block: Block, place: int, keys: tuple[str, ...] = ()) -> None:
    """The body is JSON, from `place` on; the values of these keys name the tool."""
    loose = block.dialect.body is not _ELEMENTS
    scanner = JSONScanner(block.limits.depth, keys, stops=True, loose=loose)
    block.json = JSONObject(scanner, place, is_body=True)
    block.state = State.JSON


def begin_json_arguments(block: Block, at: int, start: int, *, is_usual: bool = False) -> None:
    """The text of `arguments` is JSON, from `start` on; a fence before it is at `at`. `is_usual`: no repair."""
    pairs = block.dialect.pairs
    if pairs is None or not (pairs.json or is_usual):
        note(block, Code.JSON_ARGUMENTS, block.base + at, "the arguments were read from JSON")
    deltas = JSONDeltas(block.shape, ()) if pairs is not None and block.deltas else None
    scanner = JSONScanner(
        block.limits.depth,
        sink=deltas,
        loose=block.dialect.body is not _ELEMENTS,
        is_call=pairs is not None and pairs.python,
        mark="" if pairs is None else pairs.quote,
        end=block.dialect.closer,
    )
    block.json = JSONObject(scanner, block.base + start)
    block.json.deltas = deltas
    block.state = State.JSON


def begin_json_leaf(block: Block, start: int) -> None:
    """The content of `arguments`, from `start` on, is one value."""
    arguments = block.stack.pop()
    element = Element(arguments.tag, arguments.start)
    block.json = JSONObject(JSONScanner(0), arguments.start)
    block.json.element = element
    block.leaf = Leaf(arguments.tag, element, ANY, start, None)
    block.leaf.exact = block.dialect.body is not Body.TAGS  # whose end tag is that of the call
    block.state = State.TEXT


def read_json(block: Block, text: str, at: int) -> int:
    """State: in a JSON object."""
    json = _json(block)
    scanner = json.scanner
    end = scanner.scan(text, at)
    if json.is_body:
        _take_name(block, json)
    if json.deltas is not None and json.deltas.events:
        if not block.discard:
            block.events += json.deltas.events
        json.deltas.events.clear()
    if scanner.error and not json.is_body and block.stack[-1].is_arguments and not scanner.too_deep:
        begin_json_leaf(block, json.start)  # no JSON, but perhaps JSON with entities: its end tag ends it
    elif scanner.error and scanner.in_envelope and _may_lack_brace(block, json, text, end):
        json.end = block.base + end
        json.lacks_brace = True
        block.state = State.JSON_END
    elif scanner.error:
        code = Code.LIMIT_EXCEEDED if scanner.too_deep else Code.INVALID_JSON
        # The scanner stops at a character that is not allowed there, but after a bracket that is wrong.
        is_after = scanner.too_deep or " closes " in scanner.error
        message = f"the {block.dialect.notation} could not be read: {scanner.error}"
        give_up(block, code, message, block.base + end - is_after)
        block.state = State.SKIP
    elif scanner.done:
        json.end = block.base + end
        block.state = State.JSON_END
        dialect, pairs = block.dialect, block.dialect.pairs
        if json.is_body:
            is_over = not dialect.separator
        else:
            block.arguments_closed = len(block.stack) == 1
            is_over = pairs is not None and not pairs.end
        block.done = is_over and not dialect.closer and not block.in_list
    return -1 if end == at and block.state == State.JSON else end


def _json(block: Block) -> JSONObject:
    json = block.json
    assert json is not None
    return json


def _may_lack_brace(block: Block, json: JSONObject, text: str, at: int) -> bool:
    """Is only the last brace of the object missing, if what begins at `at` turns out to be an end tag, or mark?"""
    pairs = block.dialect.pairs
    if json.is_body:
        return text[at] in "<`"
    return pairs is not None and not pairs.python and text[at] == "<"


def _confirm_end(block: Block, text: str, at: int, pairs: Pairs) -> int:
    """Where the last brace of the arguments is missing: an end mark at `at` shows that they end."""
    ends = [end for end in (pairs.end, block.dialect.closer) if end]
    if any(text.startswith(end, at) for end in ends):
        note(block, Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the arguments is missing")
        block.arguments_closed = True
        block.state = State.PAIRS if pairs.end else State.PAIRS_END
    elif any(is_cut_off(text, at, end) for end in ends):
        return -1
    else:
        give_up(block, Code.INVALID_JSON, "the JSON could not be read: '<' is not allowed there", block.base + at)
        block.state = State.SKIP
    return at


def _take_name(block: Block, json: JSONObject) -> None:
    """The names in a JSON body so far: those of the tool and of its server."""
    if block.name is not None or block.proposed is not None:  # if the opener has the name this may be an argument
        return
    for key, value in json.scanner.names.items():
        value = (value or "").strip(SPACES)
        if not value or "\\" in value or not is_valid_name(value):
            continue
        if key in block.dialect.json_server_name:
            block.server = value
        else:
            block.name = value
            block.on_name(block)
            if block.deltas:
                dialect = block.dialect
                keys = (*dialect.json_arguments, *dialect.json_other_arguments)
                json.scanner.sink = json.deltas = JSONDeltas(block.shape, keys)
            return


def read_json_end(block: Block, text: str, at: int) -> int:
    """State: after a JSON object."""
    dialect, json = block.dialect, _json(block)
    if (
        not json.is_body
        and dialect.pairs is not None
        and not block.in_list
        and (dialect.may_lack_end or not dialect.closer)
    ):
        return _after_arguments(block, text, at)
    here = skip_space(text, at)
    if here > at and (not (dialect.may_lack_end or dialect.separator) or block.in_list):
        return here
    if json.lacks_brace and (dialect.may_lack_end or dialect.separator) and not block.in_list:
        return _end_without_brace(block, text, at)
    if dialect.separator and not block.in_list:
        return _separate(block, text, at, here)
    if dialect.may_lack_end and not block.in_list:
        return _end_alone(block, text, at, here)
    character = text[at]
    if (character == "<" or _may_be_mark(block, text, at)) and (json.is_body or block.in_list):
        return _after_body(block, json, text, at)
    if character == "}" and not (json.lacks_brace or json.extra_brace):
        json.extra_brace = True
        note(block, Code.JSON_EXTRA_BRACE, block.base + at, "dropped a closing brace that closed nothing")
        return at + 1
    if not json.is_body and not block.in_list:
        return _after_arguments(block, text, at)
    if block.in_list and character in ",]" and not json.lacks_brace:
        return _read_list(block, text, at)
    if character in "`~":
        fence = read_fence(text, at)
        if fence is MORE:
            return -1
        if fence:
            note(block, Code.CODE_FENCE, block.base + at, "the body of the block was in a code fence")
            return fence
    return _refuse(block, at)


def _may_be_mark(block: Block, text: str, at: int) -> bool:
    """Does the mark that ends the block, or begins another one, stand at `at`, or the beginning of one?"""
    marks = filter(None, (block.dialect.end, block.dialect.start))
    return any(text.startswith(mark, at) or is_cut_off(text, at, mark) for mark in marks)


def _end_alone(block: Block, text: str, at: int, here: int) -> int:
    """After a body that models leave without an end mark, up to `at`; white space goes up to `here`."""
    closer = block.dialect.closer
    is_cut = is_cut_off(text, here, closer)
    if is_cut and here - at <= OPENER_SPACE and not block.final and not text.startswith(closer, here):
        return -1
    block.done = True
    return here + len(closer) if text.startswith(closer, here) else at


def _end_without_brace(block: Block, text: str, at: int) -> int:
    """Only the end of the turn, at `at`, shows that the last brace of an object without an end mark is missing."""
    for token in block.dialect.turn_ends:
        if text.startswith(token, at):
            note(block, Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the JSON object is missing")
            block.done = True
            return at
        if is_cut_off(text, at, token):
            return -1
    return _refuse(block, at)


def _separate(block: Block, text: str, at: int, here: int) -> int:
    """After an object without marks, up to `at`: it ends, and another one may follow what separates the two."""
    separator = block.dialect.separator
    after = here + len(separator) if text.startswith(separator, here) else here
    after = skip_space(text, after)
    if after == len(text) and after - at <= OPENER_SPACE and not block.final:
        return -1
    block.done = True
    if after == len(text) or text[after] != "{" or after - at > OPENER_SPACE:
        return at
    block.again = True
    return after


def _read_list(block: Block, text: str, at: int) -> int:
    """After an object in a list of calls: it ends, or another call follows."""
    if text[at] == "]":
        block.in_list = False
        block.done = not block.dialect.closer
        return at + 1
    here = skip_space(text, at + 1)
    if here == len(text) and here - at <= OPENER_SPACE:
        return -1
    if here == len(text) or here - at > OPENER_SPACE:
        return _refuse(block, at)
    if text[here] == "]":
        note(block, Code.JSON_TRAILING_COMMA, block.base + at, "dropped a comma after the last call")
        block.in_list = False
        block.done = not block.dialect.closer
        return here + 1
    pairs = block.dialect.pairs
    if text[here] != "{" and (pairs is None or not pairs.python):
        return _refuse(block, at)
    block.again = block.done = True
    return at


def _after_arguments(block: Block, text: str, at: int) -> int:
    """Other text than JSON is stray, as everywhere between elements. More JSON is not dropped with it."""
    if (pairs := block.dialect.pairs) is not None:
        if _json(block).lacks_brace and not block.arguments_closed:
            return _confirm_end(block, text, at, pairs)
        state = State.PAIRS if pairs.end else State.PAIRS_END
        block.state = State.NESTED if pairs.tag_mark else state
        return at
    if text[at] in _MORE_JSON:
        message = "there is more JSON after the object with the arguments"
        fail(block, Code.INVALID_JSON, message, block.base + at)
    block.state = State.MARKUP
    return at


def _after_body(block: Block, json: JSONObject, text: str, at: int) -> int:
    if block.dialect.end:
        is_end = text.startswith(block.dialect.end, at)
        if is_end and not block.in_list:
            if json.lacks_brace:
                note(block, Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the JSON object is missing")
            block.done = True
            return at + len(block.dialect.end)
        if not is_end and is_cut_off(text, at, block.dialect.end):
            return -1
    for token in block.dialect.turn_ends if not (block.in_list or json.lacks_brace) else ():
        if text.startswith(token, at):
            end_early(block, block.base + at)
            return at
        if is_cut_off(text, at, token):
            return -1
    # A `<` with which the text ends may begin an end tag, also where calls begin with another character.
    tag = MORE if at + 1 == len(text) else read_end_tag(text, at)
    if tag and is_block(block, tag.name) and not block.in_list:
        if json.lacks_brace:
            note(block, Code.JSON_MISSING_BRACE, block.base + at, "the last brace of the JSON object is missing")
        close_element(block, tag.name, block.base + at)
        return tag.end
    if tag and not (block.in_list or json.lacks_brace):
        note(block, Code.STRAY_END_TAG, block.base + at, f"</{tag.name}> ends nothing that is open")
        return tag.end
    if after := _past_misspelt_end(block, json, text, at):
        return after
    opening = block.dialect.start or block.dialect.opener.removesuffix(">")
    opens: bool | None = NO
    if text.startswith(opening, at):
        opens = opens_block(block, text, at) if block.dialect.block else True
    if tag is MORE or opens is MORE or (len(text) - at < len(opening) and opening.startswith(text[at:])):
        return -1
    if opens and not (block.in_list and block.dialect.is_bare):  # a list without marks counts if it is whole
        # Where a call is nothing but the object, that has ended with its brace.
        block.arguments_closed = block.dialect.body is _JSON and not json.lacks_brace
        meet_opener(block, block.base + at)
        return at
    return _refuse(block, at)


def _past_misspelt_end(block: Block, json: JSONObject, text: str, at: int) -> int:
    """The place after a start tag at `at` that stands for the end tag, since nothing comes after it in the turn; -1 if
    that is open, 0 if it is none (DIALECTS.md, 4.1)."""
    dialect = block.dialect
    if dialect.body is not _JSON or dialect.start or block.in_list or json.lacks_brace:
        return 0
    if not text.startswith(dialect.opener, at):
        return 0
    after = at + len(dialect.opener)
    here = skip_space(text, after)
    if here - after > OPENER_SPACE:
        return 0
    is_last = here == len(text)
    if not block.final and (is_last or any(is_cut_off(text, here, token) for token in dialect.turn_ends)):
        return -1
    if not is_last and not any(text.startswith(token, here) for token in dialect.turn_ends):
        return 0
    note(block, Code.MISMATCHED_END_TAG, block.base + at, f"{dialect.opener} ended the block, which it begins")
    block.done = True
    return after


def _refuse(block: Block, at: int) -> int:
    message = "there is something between the JSON object and the end of the block"
    give_up(block, Code.INVALID_JSON, message, block.base + at)
    block.state = State.SKIP
    return at


def skip_body(block: Block, text: str, at: int) -> int:
    """State: in a body that is no JSON. It goes on to the next `</tool>`; after the object itself, also to a call."""
    if block.dialect.block and block.json is not None and block.json.end >= 0:
        return _skip_after_object(block, text, at)
    if block.dialect.body is not _ELEMENTS:
        return skip_broken(block, text, at)
    opening = text.find("</", at)
    if opening < 0:
        end = len(text) - text.endswith("<")
        return end if end > at else -1
    if opening > at:
        return opening
    tag = read_end_tag(text, at)
    if tag is MORE:
        return -1
    if tag and is_block(block, tag.name):
        block.done = True
        return tag.end
    return at + 2


def _skip_after_object(block: Block, text: str, at: int) -> int:
    """No string can hold what stands here, so that what begins a call does begin one."""
    place = text.find("<", at)
    if place != at:
        return place if place >= 0 else len(text) if len(text) > at else -1
    tag = MORE if at + 1 == len(text) else read_end_tag(text, at)
    opens = NO if block.in_list else opens_block(block, text, at)
    if (tag is MORE or opens is MORE) and not block.final:
        return -1
    if tag and is_block(block, tag.name):
        block.done = True
        return tag.end
    if opens:
        block.done = True
        return at
    return at + 1
