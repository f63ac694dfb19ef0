"""Which end tag ends a value: each is confirmed or refused by what follows it, and by the examples that the value
contains (protocol, 4.5 to 4.9)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code
from xmltools.parser.attributes import end_attributes
from xmltools.parser.open_call import AROUND, CALL, OTHER, OWN, Block, Candidate, Leaf, State
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NO,
    SPACES,
    TAG_LENGTH,
    Tag,
    is_valid_name,
    is_xml_name,
    read_end_tag,
    read_fence,
    read_name,
    skip_space,
)

_SECTION_LENGTH: Final = 10_000
"""Characters in which the beginning of a section is looked for."""
_TAGS: Final = re.compile(rf"<(/?)[{SPACES}]*([^{SPACES}<>/=\"'&]+)(?=[{SPACES}<>/]|\Z)")


def end_section(block: Block, leaf: Leaf) -> None:
    """The last `]]>` ended its section; plain text follows."""
    ending = block.ending
    if not block.discard:
        leaf.sections.append(ending.section)
    leaf.counted = ending.section + 3
    ending.section = -1
    block.state = State.TEXT
    block.emit_text(ending.aside.take())


def continue_cdata(block: Block, leaf: Leaf) -> None:
    """The last `]]>` was content."""
    block.note(Code.UNSPLIT_CDATA_END, block.ending.section, "]]> inside CDATA was read as content", leaf.start)
    block.emit_cdata("]]>" + block.ending.aside.take())
    block.ending.section = -1
    block.state = State.CDATA


def meet_candidate(block: Block, leaf: Leaf, at: int, tag: Tag, kind: int) -> int:
    """An end tag that may end the leaf, depending on what follows."""
    candidate = Candidate(kind, tag, block.base + at, block.ending.section, block.ending.aside.take())
    if kind == OWN and not leaf.exact:
        confirm_end(block, leaf, candidate)
    else:
        block.own_ending().candidate = candidate
        block.put_aside(block.text[at : tag.end])
        block.state = State.END_TAIL
    return tag.end


def read_end_tail(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: after an end tag that may end the leaf."""
    candidate = block.ending.candidate
    here = skip_space(text, at)
    if here > at:
        block.put_aside(text[at:here])
    follows = MORE if here == len(text) else _may_follow(block, leaf, candidate.kind, text, here)
    if follows is not MORE and not follows and candidate.kind in (OTHER, AROUND):
        # It may end what is around the leaf, and the leaf with it.
        follows = _may_follow_around(block, candidate.name, text, here)
        candidate.kind = AROUND
    if follows is MORE and len(text) - here < TAG_LENGTH:
        return ~here
    if follows and not _is_claimed(block, leaf, candidate, here):
        confirm_end(block, leaf, candidate)
        return here
    tag = block.ending.aside.take()
    if block.ending.section >= 0:
        block.put_aside(candidate.between + tag)
        continue_cdata(block, leaf)
    else:
        block.state = State.TEXT
        leaf.set_literal(candidate.place, pasted=True)
        block.emit_text(tag)
    return here


def _is_claimed(block: Block, leaf: Leaf, candidate: Candidate, at: int) -> bool:
    """Does an example in the leaf claim the candidate, which what is at `at` confirms? Then it is content, or is
    taken for it until the reply shows that it was the end after all: what follows makes no deltas until then."""
    ending = block.ending
    in_section = ending.section >= 0
    may_hold_examples = in_section or leaf.literal >= 0
    if not (may_hold_examples and block.count_examples(ending.section if in_section else candidate.place)):
        return False
    if not ending.claimed:
        ending.held_reader, leaf.reader = leaf.reader, None
    candidate.after = block.base + at
    candidate.sections = len(leaf.sections)
    candidate.repairs = len(block.repairs)
    ending.claimed.append(candidate)
    return True


def is_next_section(block: Block, leaf: Leaf, after: int) -> bool | None:
    """A section, whose content begins at `after`, follows the last `]]>` at once: was that the end of its section?

    Not if an example claims it. But `]]>` written in two sections, in one of the usual ways, is `]]>` as content.
    """
    section = block.ending.section
    if block.count_examples(section):
        if after + 2 > block.base + len(block.text):
            return MORE
        if "]]>" not in block.source_of(section - 2, section) + block.source_of(after, after + 2):
            return NO
        leaf.claims -= 1
    return True


def _release(block: Block, leaf: Leaf, end: int) -> None:
    """The leaf ends at `end` after all: make the deltas of what was held."""
    ending = block.ending
    first, reader = ending.claimed[0], ending.held_reader
    ending.claimed.clear()
    ending.held_reader = None
    leaf.reader = reader
    if reader is None:
        return
    in_section = first.section >= 0
    at = first.section if in_section else first.place
    for mark in leaf.sections[first.sections :]:
        if in_section:
            block.emit(block.source_of(at, mark))
        else:
            block.emit_text(block.source_of(at, mark - len(CDATA_OPEN)))
            block.emit(reader.open_cdata())
        at = mark + 3 if in_section else mark
        in_section = not in_section
    if in_section:
        block.emit(block.source_of(at, end))
    else:
        reader.literal = leaf.literal >= 0
        block.emit_text(block.source_of(at, end))


def confirm_end(block: Block, leaf: Leaf, candidate: Candidate) -> None:
    """What follows shows that the candidate ended the leaf."""
    place, kind, ending = candidate.place, candidate.kind, block.ending
    ending.aside.clear()
    if ending.claimed:
        _release(block, leaf, ending.section if ending.section >= 0 else place)
    if ending.section >= 0:
        block.put_aside(candidate.between)
        end_section(block, leaf)
    if not candidate.name:
        block.note_missing(f"</{leaf.tag}>", place, leaf.start)
    elif kind == AROUND:
        ending.ended_around[leaf.tag] = candidate.name
    elif kind == CALL:
        _refuse_garbage(block, leaf, place)
    elif kind == OTHER:
        block.note(Code.MISMATCHED_END_TAG, place, f"another end tag closed <{leaf.tag}>", leaf.start)
    elif candidate.spaced:
        block.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in </{leaf.tag}>", leaf.start)
    is_around = kind in (AROUND, CALL)
    end_leaf(block, leaf, place, cut=is_around)
    if is_around:
        block.close_element(candidate.name, place, leaf)


def _refuse_garbage(block: Block, leaf: Leaf, end: int) -> None:
    """Fail if a string that only the end of the call closes seems to have ended before (protocol, 4.5)."""
    if leaf.literal < 0:
        return
    start = leaf.sections[-1] + 3 if leaf.sections else leaf.start
    text = block.source_of(start, end)
    for found in _TAGS.finditer(text):
        slash, name = found.groups()
        if name in block.ending.ended_around and slash:
            refuse_second_end(block, name, start + found.start())
            return
        if name == leaf.tag and slash:
            message = f"</{name}> is in the value of <{name}>, and only </{block.arguments_tag}> closes it"
            hint = f"End the value with </{name}>, and write nothing between </{name}> and the next tag."
        elif block.depth_of(name) > 1 if slash else name != leaf.tag and block.stack[-1].shape.has_property(name):
            tag = f"<{slash}{name}>"
            message = f"{tag} is in the value of <{leaf.tag}>, which was not closed"
            hint = f"Close <{leaf.tag}> with </{leaf.tag}> before {tag}."
        else:
            continue
        block.fail(Code.MALFORMED_MARKUP, message, start + found.start(), hint)
        return


def refuse_second_end(block: Block, tag: str, place: int) -> None:
    """Fail: the end tag of a leaf that another one had ended already comes after all (protocol, 4.6)."""
    around = block.ending.ended_around[tag]
    message = f"it is not clear where the value of <{tag}> ends: </{tag}> comes after </{around}>"
    hint = f"Write </{tag}> before </{around}>; put a value that contains tags in <![CDATA[...]]>."
    block.fail(Code.MALFORMED_MARKUP, message, place, hint)


def _may_follow(block: Block, leaf: Leaf, kind: int, text: str, at: int) -> int | bool | None:
    """May what is at `at` follow the leaf, if an end tag of this kind ended it (protocol, 4.5 and 4.6)?"""
    if text[at] != "<":
        if block.dialect.in_line and kind == OWN:
            return block.source_of(block.base + at - 1, block.base + at) == "\n"
        # The end of a fence that was opened before the arguments comes after the last of them.
        return read_fence(text, at) if block.fenced and text[at] == "`" and kind == OWN else NO
    if at + 1 == len(text):
        return MORE
    following = text[at + 1]
    if kind == CALL:
        if following != "/":
            return block.begins_block(at) if block.is_tag else NO
        tag = read_end_tag(text, at)
        return tag and block.is_block(tag.name)
    if kind == AROUND:
        return NO
    if following == "/":
        name = read_name(text, skip_space(text, at + 2))
        if not isinstance(name, str):
            return name
        if kind == OTHER:
            return name == block.stack[-1].tag
        return block.depth_of(name) >= 0 or leaf.literal < 0
    return _starts_sibling(block, leaf, kind, text, at)


def _may_follow_around(block: Block, tag: str, text: str, at: int) -> bool | None:
    """May what is at `at` follow the open element `tag` of the arguments, if its end tag ended it (protocol, 4.6)?"""
    depth = block.depth_of(tag)
    if depth < 2 or text[at] != "<":
        return NO
    outer, is_end = block.stack[depth - 1], text[at + 1] == "/"
    name = read_name(text, skip_space(text, at + 2) if is_end else at + 1)
    if not isinstance(name, str):
        return name
    return name == outer.tag if is_end else outer.shape.knows(name, tag)


def _starts_sibling(block: Block, leaf: Leaf, kind: int, text: str, at: int) -> bool | None:
    """At a `<` that begins no end tag: may it follow the leaf?"""
    own, following = kind == OWN, text[at + 1]
    # Without literal markup the leaf, read as XML, ends at its first end tag, so any tag may follow.
    untouched = own and leaf.literal < 0
    if following == "!":
        if text.startswith("<!--", at):
            return own
        return MORE if own and "<!--".startswith(text[at : at + 4]) else NO
    if following == "?":
        return untouched
    name = read_name(text, at + 1)
    if name is MORE:
        return MORE
    if name is NO:
        return leaf.tag in block.dialect.argument_words and text.startswith(f"{leaf.tag}=", at + 1)
    is_element = untouched and (is_xml_name(name) or block.is_number(name))
    if is_element or block.stack[-1].shape.knows(name, leaf.tag):
        return True
    if len(block.stack) == 1:
        return block.field_of(name) is not None
    return name == block.dialect.argument or name in block.dialect.argument_words


def is_in_section(block: Block, leaf: Leaf, place: int) -> bool:
    """Is `place`, in the text of a leaf, in a section that begins right after a tag? Then an end tag of the call is one
    in the value of another call, before which this one was not finished (dialects, 6.5)."""
    start = max(leaf.sections[-1] + 3 if leaf.sections else leaf.start, place - _SECTION_LENGTH)
    text = block.source_of(start, place)
    return 0 <= text.rfind(f">{CDATA_OPEN}") > text.rfind("]]>")


def end_leaf(block: Block, leaf: Leaf, place: int, *, cut: bool = False) -> None:
    """The leaf ends at `place`. `cut`: by an end tag of something around it."""
    leaf.end = place
    leaf.cut = cut
    if leaf.reader is not None and not leaf.reader.idle:  # an idle one holds nothing back
        block.emit(leaf.reader.end(cut=cut))
    if leaf.attributes is not None and not block.discard:
        end_attributes(block, leaf, place)
    block.flush_delta()
    if not block.discard:
        block.leaves.append(leaf)
    if leaf.capture is not None:
        end_field(block, leaf.tag, leaf.capture.strip(SPACES), leaf.element, leaf.start)
    elif len(block.stack) == 1:
        block.arguments_closed |= block.json is not None and leaf.element is block.json.element
        block.done = block.is_tag
    leaf.reader = None
    block.leaf = None
    block.state = State.MARKUP


def end_field(block: Block, tag: str, value: str, element: Element, start: int) -> None:
    """A field ends, whose tag has this name and whose value begins at `start`."""
    if tag in block.dialect.name_words:
        block.proposed = value, start, element
    elif not is_valid_name(value):
        block.fail(Code.INVALID_NAME, f"{value[:60]!r} is no name", element.offset)
    elif tag != block.dialect.tool_name and block.field_of(tag) == block.dialect.server_name:
        block.server = value or None
    elif value and block.name is None:
        if block.proposed is not None and block.proposed[2] is None:
            block.note_opener(Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")
        block.name_tool(value, start)
