"""The values of a call between delimiters, and where they end (`grammars/DIALECTS.md`, section 3).

A value is text: nothing is decoded, and a delimiter in it counts only if what follows it may follow. An example of a
whole call in a value is content.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code
from xmltools.parser.delimited_keys import ask, follows, note_missing, read_key, tag_at, tags
from xmltools.parser.delimiters import Delimiter, UndecidedError, cut_of, whole_of
from xmltools.parser.end_tags import end_leaf
from xmltools.parser.open_call import Block, Leaf, State
from xmltools.syntax.element_tree import Element
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import NAME_LENGTH, OPENER_SPACE, SPACES

_END_LIKE = late_pattern(rf"</([^\s<>/]{{1,{NAME_LENGTH}}})>?")
_AFTER_SECTION: Final = rf"[{SPACES}]{{0,{OPENER_SPACE - 3}}}+"
SECTION_END: Final = re.compile(r"\]\]>|\]\]?\Z")
"""The end of a section, or a part of that."""
_MOST_BEGUN: Final = 8
"""Elements in a value whose end tags may stand for its own: after so many, none does."""
_KEY_WORD = late_pattern(r"[^\s<>=\"'/]+")
_EXAMPLE_SPACE: Final = 16
"""White space between the start delimiter of an example and its call."""


def read_pair_value(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: in a value."""
    pairs = block.delimiters.pairs
    found = (SECTION_END if leaf.decided else block.delimiters.in_value(leaf.tag[0])).search(text, at)
    place = kept = found.start() if found else len(text)
    if pairs.framing and not leaf.decided:  # a line break before the end is not part of the value
        kept -= 2 if text.endswith("\r\n", at, kept) else text.endswith(("\n", "\r"), at, kept)
    block.emit_cdata(text[at:kept])
    read = _read_section_end if leaf.decided else _read_tag if pairs.tag_mark else _read_end
    try:
        if found is None:
            raise UndecidedError
        after = read(block, leaf, text, place)
    except UndecidedError:
        return kept if kept > at else -1
    if leaf is block.leaf:  # what is there is content
        block.emit_cdata(text[kept:after])
    return after


def _read_section_end(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """The place after the `]]>` at `at` and the delimiter after values, which end a value that began with
    `<![CDATA[`, or after a bracket that is content."""
    if not text.startswith("]]>", at):
        raise UndecidedError
    ends = ask(block, at + 3, "value_end", _AFTER_SECTION)
    if ends is None:
        return at + 1
    _end_value(block, leaf, block.base + at)
    return ends.end()


def _read_tag(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """The place after the tag with its token at `at`, which ends an argument that may hold elements, or is content."""
    pairs, place = block.delimiters.pairs, block.base + at
    tag = tag_at(pairs.tag_mark, text, at)
    if text.startswith(pairs.end, at) and follows(block, at + len(pairs.end), "closer name"):
        own = f"{pairs.tag_mark}</{leaf.tag}>"
        if leaf.mixed:  # nobody can tell what belongs to it
            block.fail(Code.MALFORMED_MARKUP, f"{own} is missing", place)
        _end_value(block, leaf, place)
        note_missing(block, own, place, leaf.start)
        return at
    if tag is None:
        return at + 1
    is_same = tag[2] == leaf.tag
    if is_same and tag[1] and not leaf.claims:
        if follows(block, tag.end(), "tag_mark"):
            _end_value(block, leaf, place)
    elif is_same:
        leaf.claims += -1 if tag[1] else 1
    leaf.mixed = True
    return tag.end()


def _read_end(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """The place after what begins as a delimiter, at `at`, which ends the value or is content."""
    pairs, place = block.delimiters.pairs, block.base + at
    fields = block.delimiters.ends + " value" * leaf.lacks_mark
    found = ask(block, at, fields, "")
    if found is None:
        return _read_wrong_end(block, leaf, text, at)
    field = str(found.lastgroup)
    may_end = leaf.claims <= 0
    if may_end and _is_end(block, found):
        _end_value(block, leaf, place, getattr(block.dialect if field == "closer" else pairs, field))
        if field == "value_end":
            return found.end()
        note_missing(block, pairs.value_end, place, leaf.start)
        return at
    unread = may_end and field == "value_end" and _begins_unread(block, text, found.end())
    if unread or field == "value":
        between = f"{pairs.value_end} and the next argument" if unread else f"{pairs.key_end} and {pairs.value}"
        block.fail(Code.MALFORMED_MARKUP, f"there is text between {between}", place)
        block.discard = True
        end_leaf(block, leaf, place)
        block.state = State.PAIRS_SKIP
        return at
    _count_example(block, leaf, at, field)
    if field == "value_end" and leaf.literal < 0:
        leaf.literal = place  # if the value lacks its end after all, this may have been it
    return found.end()


def _end_value(block: Block, leaf: Leaf, end: int, delimiter: str = "") -> None:
    """The value ends before the delimiter at `end` in the stream, and before a line break there if the dialect writes
    one."""
    pairs = block.delimiters.pairs
    if pairs.framing and not leaf.decided:
        tail = block.source_of(max(leaf.start, end - 2), end)
        end -= 2 if tail.endswith("\r\n") else tail.endswith(("\n", "\r"))
    leaf.sections.append(end)
    end_leaf(block, leaf, end)
    block.state = State.PAIRS
    if leaf.literal >= 0 and delimiter != pairs.value_end:
        message = f"there is text between {pairs.value_end} and {delimiter[:80]}"
        block.fail(Code.MALFORMED_MARKUP, message, leaf.literal)


def _is_end(block: Block, found: Delimiter) -> bool:
    """Does the value end before this delimiter?"""
    field = found.lastgroup
    if field == "value_end":
        return follows(block, found.end(), "key end closer fillers")
    needs_line = field == "end" or (field == "key" and block.delimiters.pairs.framing)
    return (not needs_line or _is_at_line_start(block, found.end(1))) and _shows_end(block, found)


def _shows_end(block: Block, found: Delimiter) -> bool:
    """Does this delimiter show that the value before it has ended, though its own end is missing, or wrong?"""
    if found.lastgroup == "key":
        key, shape = read_key(block, found), block.shape
        if key is None or key.missing:  # two repairs at one place would be a guess
            return False
        return key.name not in block.fields and (shape is None or shape.has_property(key.name))
    if found.lastgroup == "end":
        return follows(block, found.end(), "closer", is_cut=False)
    is_last = found.lastgroup == "closer" and not block.delimiters.pairs.end
    return is_last and follows(block, found.end(), "opener", is_cut=False)


# -- examples in a value -----------------------------------------------------------------------------------------------


def _count_example(block: Block, leaf: Leaf, at: int, field: str) -> None:
    """A delimiter that is content may begin an example of a call, or end one. That of a name begins one where a call
    would have it: at the start of a line, or after the delimiter of a block, or one that comes before each call of a
    section."""
    place, dialect = block.base + at, block.dialect
    if field == "opener":
        leaf.claims += 1
    elif field == "name":
        before = block.source_of(max(block.start, place - len(dialect.opener) - _EXAMPLE_SPACE), place)
        is_first = _is_at_line_start(block, at) or before.rstrip(SPACES).endswith(dialect.opener)
        leaf.claims += is_first or any(block.source_of(place - len(each), place) == each for each in dialect.fillers)
    elif leaf.claims > 0 and field == ("end" if block.delimiters.pairs.end else "closer"):
        leaf.claims -= 1
    elif field == "closer":
        leaf.claims = 0  # of calls without an end


def _is_at_line_start(block: Block, at: int) -> bool:
    place = block.base + at
    return place == block.start or block.source_of(place - 1, place) in ("\n", "\r")


# -- wrong delimiters --------------------------------------------------------------------------------------------------


def _read_wrong_end(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """The place after an end tag at `at` that ends the value, though it is not its end: a misspelt one, or another, and
    what may follow the right one does. Or the place after its `<`, which is content."""
    pairs = block.delimiters.pairs
    if leaf.claims > 0 or leaf.begun > _MOST_BEGUN or not pairs.value_end.startswith("</"):
        return at + 1
    found = _END_LIKE.match(text, at)
    after = found.end() if found else at + 2
    is_cut = after == len(text) and after - at < NAME_LENGTH and text.startswith("</", at)
    if is_cut and not block.reading.final:
        raise UndecidedError
    word = found[1].partition("=")[0] if found else ""
    if found is None or (word.lower() != leaf.tag.lower() and not block.delimiters.stands_for(word)):
        return at + 1
    try:
        following = ask(block, after, "key end closer")
        if following is None or not _shows_end(block, following):
            return at + 1
    except UndecidedError:
        if not block.reading.final:
            raise
        return at + 1
    if f"<{word}" in block.source_of(leaf.start, block.base + at):
        leaf.begun += 1
        return at + 1
    written = text[at:after]
    _end_value(block, leaf, block.base + at, written)
    message = f"{written!r:.80} ended the value, not {pairs.value_end}"
    block.note(Code.MISMATCHED_END_TAG, block.base + at, message, leaf.start)
    return after


def _begins_unread(block: Block, text: str, at: int) -> bool:
    """Is the text after the value's own end, from `at` on, meant for the start of another argument that the tool
    declares, but not one?"""
    pairs, shape = block.delimiters.pairs, block.shape
    here = block.delimiters.skip_layout(text, at)
    if shape is None or here - at > OPENER_SPACE:
        return False
    # The start of an argument, up to the last `>` of one that has as many as the delimiter. Its first character may be
    # missing, or another one before it. Where there is a delimiter before values, the name may come after it. Without
    # groups it is cut off.
    rest, count = pairs.key[1:], pairs.key.count(">", 0, -1)
    inside = rf"[^>\r\n]{{0,{NAME_LENGTH}}}"
    name = rf">([^<>\r\n]{{0,{NAME_LENGTH}}})" if pairs.value else "()"
    begins = (
        rf"(?=<|(?s:.)?{whole_of(rest)}|(?s:.){whole_of(pairs.key)})((?:{inside}>){{0,{count}}}{inside})(?:{name})?"
    )
    found = re.compile(rf"{begins}|(?s:.)?<?(?:{cut_of(rest)}|)\Z").match(text, here)
    if found is None:
        return False
    if found.end() == len(text) and found.end() - here < 2 * NAME_LENGTH and not block.reading.final:
        raise UndecidedError
    names = (*_KEY_WORD.findall(found[1] or ""), (found[2] or "").strip(SPACES))
    named = {each for name in names for each in (name, name.lower()) if shape.has_property(each)}
    return not named <= block.fields


# -- elements in a value -----------------------------------------------------------------------------------------------


def grow(block: Block, leaf: Leaf, token: str) -> None:
    """Give the argument the elements that its text contains. Text beside them is one more, with a repair. If their tags
    don't fit, or if they nest too deep, the block fails."""
    text, limits, at = leaf.element.text, block.reading.limits, 0
    open_ones: list[tuple[Element, int, list[str]]] = [(leaf.element, 0, [])]
    for tag in tags(token).finditer(text):
        if tag[2] is None:  # with a part of a tag the text ends
            break
        parent, begun, beside = open_ones[-1]
        beside.append(text[at : tag.start()])
        at, place = tag.end(), leaf.start + tag.start()
        if tag[1]:
            if len(open_ones) == 1 or parent.name != tag[2]:
                return block.fail(Code.MALFORMED_MARKUP, f"</{tag[2]}> ends nothing that is open", place)
            _close(block, parent, token, text[begun : tag.start()], beside)
            open_ones.pop()
            continue
        child = Element(tag[2], place)
        parent.children = parent.children or []
        parent.children.append(child)
        open_ones.append((child, at, []))
        block.element_count += 1
        if len(open_ones) > limits.depth or block.element_count > limits.elements:
            return block.fail(Code.LIMIT_EXCEEDED, f"there are too many elements in <{leaf.tag}>", place)
    element, _, beside = open_ones[-1]
    if len(open_ones) > 1:
        return block.fail(Code.MALFORMED_MARKUP, f"<{element.name}> is not closed", element.offset)
    return _close(block, element, token, text, [*beside, text[at:]])


def _close(block: Block, element: Element, token: str, inner: str, beside: list[str]) -> None:
    """The element ends: `inner` is all that is in it, `beside` the texts beside its children."""
    if element.children is None:
        element.text = inner
        return
    element.inner = inner.replace(token, "")
    text = "".join(beside)
    if text.strip(SPACES):
        name = "$text"
        while any(child.name == name for child in element.children):
            name = "$" + name
        element.children.append(Element(name, element.offset, text=text))
        message = f"<{element.name}> contained text beside elements, which was read as {name}"
        block.note(Code.MIXED_CONTENT, element.offset, message, element.offset)
