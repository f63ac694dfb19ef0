"""The values of a call between delimiters, and where they end (`grammars/DIALECTS.md`, section 3).

A value is text: nothing is decoded, and a delimiter in it counts only if what follows it may follow. An example of a
whole call in a value is content.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Dialect
from xmltools.errors import Code
from xmltools.parser.delimited_keys import after_break, ask, follows, give_up_pairs, read_key, tag_at, tags
from xmltools.parser.delimited_starts import begins_any
from xmltools.parser.delimiters import ENDS, SPACE, Delimiter, UndecidedError
from xmltools.parser.end_tags import end_leaf
from xmltools.parser.open_call import NO_ENDING, Block, Leaf, State
from xmltools.syntax.element_tree import Element
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, OPENER_SPACE, SPACES, skip_space

_AFTER_SECTION: Final = rf"[{SPACES}]{{0,{OPENER_SPACE - 3}}}+"
SECTION_END: Final = re.compile(r"\]\]>|\]\]?\Z")
"""The end of a section, or a part of that."""
_DAMAGE: Final = 16
"""Characters of an end delimiter that are not as they should be."""
_DAMAGED: Final = f"(?:<[^<>{SPACES}]{{0,{_DAMAGE}}}>?{SPACE})?"
_BARE: Final = rf"(?:.?<[^<\r\n]{{0,{NAME_LENGTH}}}?|[^\s<]{{0,{NAME_LENGTH}}}?)"
_CLOSED: Final = {"[": "]", "{": "}"}
_OTHER: Final = ("",)
_MOST_BEGUN: Final = 8
"""Elements in a value whose end tags may stand for its own: after so many, none does."""
_KEY_WORD = late_pattern(r"[^\s<>=\"'/]+")


def read_pair_value(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: in a value."""
    pairs = block.pairs
    found = (SECTION_END if leaf.decided else block.delimiters.in_value(leaf.tag[0])).search(text, at)
    place = kept = found.start() if found else len(text)
    if block.delimiters.has_breaks and not leaf.decided:  # a line break before the end may be no part of the value
        kept -= 2 if text.endswith("\r\n", at, kept) else text.endswith(("\n", "\r"), at, kept)
    block.emit_cdata(text[at:kept])
    read = _read_section_end if leaf.decided else _read_tag if pairs.tag_mark else _read_end
    try:
        if found is None:
            raise UndecidedError
        after = read(block, leaf, text, place)
    except UndecidedError:
        return ~kept
    if leaf is block.leaf:  # what is there is content
        block.emit_cdata(text[max(kept, leaf.start - block.base) : after])
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
    pairs, place = block.pairs, block.base + at
    tag = tag_at(pairs.tag_mark, text, at)
    if text.startswith(pairs.end, at) and follows(block, at + len(pairs.end), "closer name"):
        own = f"{pairs.tag_mark}</{leaf.tag}>"
        if leaf.mixed:  # nobody can tell what belongs to it
            block.fail(Code.MALFORMED_MARKUP, f"{own} is missing", place)
        _end_value(block, leaf, place, own)
        return at
    found = ask(block, at, "name opener", "")
    if found and _begins_call(block, (block.dialect,), found):
        return _refuse(block, leaf, at, f"another call begins in the value of {leaf.tag!r}")
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
    pairs, place, ending = block.pairs, block.base + at, block.ending
    found = ask(block, at, ENDS, "")
    if found is None:
        return _read_wrong_end(block, leaf, at)
    field, is_claimed = str(found.lastgroup), ending.claims or ending.calls > 0
    is_free = field == "value_end" and not (is_claimed or set(ending.arguments) - {_OTHER})
    if is_free and _may_follow(block, found.end(), again=not ending.arguments):
        _end_value(block, leaf, place)
        return found.end()
    ending = block.own_ending()
    if field in ("any_name", "any_opener"):
        # Right before an argument it does not begin an example: the argument claims an end by itself.
        begins = not ask(block, found.end(), "key", SPACE) and _begins_call(block, block.delimiters.forms, found)
        if begins and (leaf.lacks_mark or not leaf.shape.exact):
            return _refuse(block, leaf, at, f"another call begins in the value of {leaf.tag!r}")
        if begins:
            ending.claims = field == "any_opener" and (
                pairs.name != "" or not pairs.end
            )  # or it begins the call itself
            ending.begun = block.base + found.end()
            if ending.claims:
                ending.blocks.append(ending.calls)
            else:
                ending.calls += 1
    elif field in ("any_end", "any_closer"):
        _meet_end(block, leaf, found, is_last=field == "any_closer")
    elif is_claimed:
        if field == "key":
            ending.begun = -1  # its arguments are no JSON
    elif field == "value" and leaf.lacks_mark:
        return _refuse(block, leaf, at, f"there is text between {pairs.key_end} and {pairs.value}")
    elif field != "value_end":
        return _meet_argument(block, leaf, found)
    elif is_free and _begins_unread(block, text, found.end()):
        return _refuse(block, leaf, at, f"there is text between {pairs.value_end} and the next argument")
    else:
        if ending.arguments and _tail(block, leaf, place).endswith(ending.arguments[-1]):  # otherwise it is in a string
            ending.arguments.pop()
        _doubt(block, leaf, place)
    return found.end()


def _begins_call(block: Block, forms: tuple[Dialect, ...], found: Delimiter) -> bool | None:
    """Does a call in one of these forms begin with this delimiter?"""
    begins = begins_any(forms, block.text, found.end(1), found[found.lastgroup or 0])
    if begins is MORE and not block.final:
        raise UndecidedError
    return begins


def _may_follow(block: Block, at: int, *, again: bool = False) -> bool:
    """May what is at `at` follow the end of a value? `again`: another such end may."""
    found = follows(block, at, f"key end closer fillers name opener{' value_end' * again}")
    if isinstance(found, re.Match) and found.lastgroup in ("name", "opener"):
        return _begins_call(block, (block.dialect,), found) is not NO
    return bool(found)


def _refuse(block: Block, leaf: Leaf, at: int, message: str) -> int:
    """The call fails in this value, which ends `at` this place: skip the rest of it."""
    block.discard = True
    end_leaf(block, leaf, block.base + at)
    return give_up_pairs(block, at, message)


def _end_value(block: Block, leaf: Leaf, end: int, missing: str = "") -> None:
    """The value ends at `end` in the stream: before a line break there, if the dialect writes one, or if its delimiter
    is `missing` and it writes one after that."""
    told = end
    if leaf.literal >= 0:
        told, leaf.reader = leaf.literal, block.ending.held_reader
    told = _before_break(block, leaf, told)
    if missing or block.pairs.framing:
        end = _before_break(block, leaf, end)
    if told < end:
        block.emit_cdata(block.source_of(told, end))
    leaf.sections.append(end)
    block.ending = NO_ENDING
    end_leaf(block, leaf, end)
    block.state = State.PAIRS
    if missing:
        block.note_missing(missing, end, leaf.start)


def _before_break(block: Block, leaf: Leaf, end: int) -> int:
    """The place of a line break that may lay out what follows at `end`, or that place."""
    may_be_layout = block.delimiters.has_breaks and not leaf.decided
    tail = block.source_of(max(leaf.start, end - 2), end) if may_be_layout else ""
    return end - (2 if tail.endswith("\r\n") else tail.endswith(("\n", "\r")))


def _shows_end(block: Block, found: Delimiter) -> bool:
    """Does this delimiter show that the value before it has ended, though its own end is missing, or wrong?"""
    if found.lastgroup == "value_end":
        return _may_follow(block, found.end())
    if found.lastgroup in ("name", "opener"):
        return _may_follow(block, found.end(1))
    if found.lastgroup == "key":
        key = read_key(block, found)
        return key is not None and not key.missing and _is_new(block, key.name)
    is_end = found.lastgroup == ("end" if block.pairs.end else "closer")
    return is_end and _ends_call(block, found.end())


def _ends_call(block: Block, at: int) -> bool:
    """Does what is at `at` show that a call has ended before it?"""
    is_inside = block.pairs.end and (block.dialect.closer or block.pairs.name)
    after = "closer name fillers" if is_inside else "opener"
    return bool(follows(block, at, f"{after} turn_ends", is_cut=False))


def _is_new(block: Block, name: str) -> bool:
    """Is this the name of an argument that may still come?"""
    shape = block.shape
    return name not in block.fields and (shape is None or shape.has_property(name))


# -- a value whose end is in doubt -------------------------------------------------------------------------------------


def _meet_argument(block: Block, leaf: Leaf, found: Delimiter) -> int:
    """The place after what may begin an argument in a value. If it names one that may still come, or begins the value
    once more, it claims the next end of a value."""
    place, ending, after = block.base + found.end(1), block.ending, found.end()
    if found.lastgroup == "key":
        key = read_key(block, found)
        if key is None or key.missing:
            return after
        name, after = key.name, key.after
    else:
        before = block.source_of(max(leaf.start, place - 2 * NAME_LENGTH), place)
        named = re.search(rf"([^\s<>]+){re.escape(block.pairs.key_end)}[{SPACES}]*\Z", before)
        name = named[1] if named else leaf.tag
    if place == leaf.start and name == leaf.tag:
        after = after_break(block, after)
        leaf.start = leaf.sections[0] = block.base + after
        block.note(Code.STRAY_TEXT, place, f"the value of {name!r} began twice")
        return after
    if _is_new(block, name):
        here = skip_space(block.text, after)
        if here == len(block.text) and not block.final and here - after <= OPENER_SPACE:
            raise UndecidedError
        ending.arguments.append(_CLOSED.get(block.text[here : here + 1], ""))
        _doubt(block, leaf, place)
    elif found.lastgroup == "key":
        ending.arguments.append(_OTHER)
    return after


def _meet_end(block: Block, leaf: Leaf, found: Delimiter, *, is_last: bool) -> None:
    """The end of a call in a value, or of a block if it `is_last`, ends an example, or else perhaps the open call."""
    ending, own, place = block.ending, block.delimiters, block.base + found.end(1)
    blocks, pairs = ending.blocks, own.pairs
    is_near = place - ending.begun <= OPENER_SPACE
    is_first = is_near and "<" not in block.source_of(max(ending.begun, leaf.start), place)
    tail, mark = _tail(block, leaf, place), found[found.lastgroup or 0]
    is_next = tail.endswith(own.before_end) and not tail.endswith((mark, block.dialect.closer or mark))
    is_mention = not (is_first or is_next or (tail.endswith("}") and ending.begun >= 0))
    first = blocks[-1] if blocks else 0
    if is_mention and (ending.calls or blocks):
        pass  # it is only mentioned in the example
    elif is_last and blocks:
        if ending.calls == first:
            blocks.pop()
            ending.claims = len(blocks) > 0 and not pairs.name
    elif not is_last and ending.calls > first:
        ending.calls -= 1
    elif ending.over < 0 and mark in (pairs.ends or (block.dialect.closer,)) and _ends_call(block, found.end()):
        if is_last or not block.dialect.closer or block.source_of(place - 1, place) in ("\n", "\r"):
            _doubt(block, leaf, place)
        ending.over = place


def _tail(block: Block, leaf: Leaf, place: int) -> str:
    """The end of the value before `place`, without white space, also as it is written in a string of JSON."""
    tail = block.source_of(max(leaf.start, place - OPENER_SPACE), place).rstrip(SPACES)
    while tail.endswith("\\n"):
        tail = tail[:-2].rstrip(SPACES)
    return tail


def _doubt(block: Block, leaf: Leaf, place: int) -> None:
    """The value may end at `place`, if nothing ends it later: no deltas are made of what follows until then."""
    if leaf.literal < 0 and block.ending.over < 0:
        leaf.literal = place
        block.ending.held_reader, leaf.reader = leaf.reader, None


def choose_value_end(block: Block, leaf: Leaf) -> int | None:
    """At the end of the reply, choose the end of a value that is in doubt. Returns the place in the block from which on
    it is to be read again; None if the call has no end."""
    over, value_end = block.ending.over - block.base, block.pairs.value_end
    if over < 0:
        return None
    if leaf.literal < 0:
        return _refuse(block, leaf, over, f"{value_end} is missing")
    at = leaf.literal - block.base
    is_whole = block.text.startswith(value_end, at)
    _end_value(block, leaf, leaf.literal, "" if is_whole else value_end)
    return at + len(value_end) * is_whole


# -- wrong delimiters --------------------------------------------------------------------------------------------------


def _read_wrong_end(block: Block, leaf: Leaf, at: int) -> int:
    """The place after a damaged end delimiter at `at`, or another end tag, that ends the value because what may follow
    the right one does (3.3a). Or the place after its `<`, which is content."""
    own, value_end = block.delimiters, block.pairs.value_end
    if block.ending.claims or block.ending.calls or leaf.literal >= 0 or leaf.begun > _MOST_BEGUN:
        return at + 1
    begins = rf"</[^\s<>/]{{1,{NAME_LENGTH}}}>?" if value_end.startswith("</") else rf"{own.half_end}\S{{0,{_DAMAGE}}}?"
    try:
        following = ask(block, at, "key end closer value_end name opener", f"(?:{begins}){SPACE}", final=True)
        written = following[1].rstrip(SPACES) if following else ""
        word = written[2:].partition("=")[0].rstrip(">")
        is_named = word.lower() == leaf.tag.lower() or own.stands_for(word) or value_end.startswith(written)
        is_last = following is not None and following.lastgroup == "value_end"  # a wrong one alone may be content
        is_meant = re.match(own.half_end, written) or (is_named and not is_last)
        if following is None or not is_meant or not _shows_end(block, following):
            return at + 1
    except UndecidedError:
        if not block.final:
            raise
        return at + 1
    if f"<{word}" in block.source_of(leaf.start, block.base + at):
        leaf.begun += 1
        return at + 1
    _end_value(block, leaf, block.base + at)
    message = f"{written!r:.80} ended the value, not {value_end}"
    block.note(Code.MISMATCHED_END_TAG, block.base + at, message, leaf.start)
    return at + len(written)


def _begins_unread(block: Block, text: str, at: int) -> bool:
    """Is the text after the value's own end, from `at` on, meant for a delimiter, but not one that may come (3.17)?"""
    pairs, here = block.pairs, block.delimiters.skip_layout(text, at)
    if here - at > OPENER_SPACE:
        return False
    # What is left of a delimiter, or one that may not come here.
    if len(text) - here < block.delimiters.longest and not block.final:
        raise UndecidedError
    fields = f"{ENDS} any_key any_value_end{' any_name_end' * (len(pairs.name_end) > 1)}"
    if ask(block, here, "value_end", ""):
        return False  # the first end was that of an argument which the value shows
    if block.delimiters.remains.match(text, here) or ask(block, here, fields, _DAMAGED, final=True):
        return True
    # A tag, or what ends as the name of an argument does.
    gap = rf"(?:.?<)?[^<\r\n]{{0,{NAME_LENGTH}}}?" if pairs.key_attribute else _BARE
    found = ask(block, here, "key_end", gap, final=True) or ask(block, here, "bracket", gap, final=True)
    names = _KEY_WORD.findall(found[1]) if found and block.shape is not None else ()
    parts = (each[at:] for each in names for at in range(max(1, len(each) - 2)))
    return any(_is_new(block, part) or _is_new(block, part.lower()) for part in parts)


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
