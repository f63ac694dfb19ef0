"""Where a leaf ends: end tags that are confirmed or refused by what follows them, and by the examples that the leaf
holds (protocol, 4.5 to 4.9)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import plain, spellings
from xmltools.errors import Code
from xmltools.parser.frame import CALL, OTHER, OWN, WINDOW, End, Frame, Leaf, State
from xmltools.syntax.embedded_markup import Closers, count_blocks, count_sections, count_within, find_line_opener
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NO,
    SPACES,
    TAG_LENGTH,
    Tag,
    decode_entities,
    is_metadata,
    is_valid_name,
    is_xml_name,
    read_end_tag,
    read_fence,
    read_name,
    skip_space,
)
from xmltools.tools.schema import ANY

__all__ = ["LeafEnds"]

_TAGS: Final = re.compile(r"<(/?)[ \t\r\n]*([^ \t\r\n<>/=\"'&]+)(?=[ \t\r\n<>/]|\Z)")

_LOOK_AHEAD: Final = 2048
"""Characters from which it can be told whether an opener in a value is one."""


class LeafEnds(Frame):
    """States and decisions at the end of a leaf."""

    __slots__ = ()

    def _end_section(self) -> None:
        """The last `]]>` ended its section; plain text follows."""
        leaf = self.leaf
        assert leaf is not None
        if not self.discard:
            leaf.sections.append(self._section)
        leaf.counted = self._section + 3
        self._section = -1
        self._state = State.TEXT
        self._emit_text(self._tail.take())

    def _continue_cdata(self) -> None:
        """The last `]]>` was content."""
        leaf = self.leaf
        assert leaf is not None
        self.note(Code.UNSPLIT_CDATA_END, self._section, "]]> inside CDATA was read as content", leaf.start)
        self._emit_cdata("]]>" + self._tail.take())
        self._section = -1
        self._state = State.CDATA

    def _candidate(self, text: str, at: int, tag: Tag, kind: int) -> int:
        """An end tag that may end the leaf, depending on what follows."""
        leaf = self.leaf
        assert leaf is not None
        place = self._base + at
        if kind == OWN and not leaf.exact:
            if self._section >= 0:
                self._end_section()
            self._end_own(tag.spaced, place)
            return tag.end
        self._between = self._tail.take()
        self._keep(text[at : tag.end])
        self._tail_kind = kind
        self._tail_spaced = tag.spaced
        self._tail_start = place
        self._state = State.END_TAIL
        return tag.end

    def _end_own(self, spaced: bool, place: int) -> None:
        leaf = self.leaf
        assert leaf is not None
        if spaced:
            self.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in </{leaf.tag}>", leaf.start)
        self._end_leaf(place)

    def _end_at_once(self, text: str, at: int, end: int, leaf: Leaf) -> int:
        """The short way for nearly all leaves: their own end tag, from `at` to `end`, with all that confirms it in
        `text`. The place behind what was read, or -1 if this needs a closer look."""
        if leaf.exact:
            if leaf.literal >= 0:
                return -1  # it may hold examples
            end = skip_space(text, end)
            self._tail_kind = OWN
            if end == len(text) or not self._follows(text, end):
                return -1
        self._end_leaf(self._base + at)
        return end

    def _end_tail(self, text: str, at: int) -> int:
        """Behind an end tag that may end the leaf."""
        here = skip_space(text, at)
        if here > at:
            self._keep(text[at:here])
        follows = self._follows(text, here) if here < len(text) else MORE
        if follows is MORE and len(text) - here < TAG_LENGTH:
            return here if here > at else -1
        if follows and not self._is_claimed(here):
            self._confirm()
            return here
        candidate = self._tail.take()
        if self._section >= 0:
            self._tail.append(self._between)
            self._tail.append(candidate)
            self._continue_cdata()
        else:
            self._state = State.TEXT
            self._set_literal(self._tail_start, pasted=True)
            self._emit_text(candidate)
        self._tail.clear()
        return here

    # -- examples in a leaf ----------------------------------------------------------------------------------------

    def _is_claimed(self, at: int) -> bool:
        """Does an example that the leaf holds claim the confirmed end before `at`? Then it is content, or is held to
        be until the reply shows that it was the end after all: what follows makes no deltas until that is known."""
        leaf = self.leaf
        assert leaf is not None
        in_section = self._section >= 0
        if not in_section and leaf.literal < 0:
            return False
        if not self._count(leaf, self._section if in_section else self._tail_start):
            return False
        if not self._claimed:
            self._held_reader = leaf.reader
            leaf.reader = None
        end = End(
            self._tail_kind,
            self._tail_spaced,
            self._tail_start,
            self._base + at,
            self._section,
            self._between,
            len(leaf.sections),
            len(self.repairs),
        )
        self._claimed.append(end)
        return True

    def _count(self, leaf: Leaf, place: int) -> int:
        """How many examples are open in the leaf at `place`: sections inside of CDATA, blocks outside."""
        if not leaf.exact and not self.keeps_source:
            return 0  # nothing of it is kept
        in_section = self._section >= 0
        start = leaf.counted if in_section else max(leaf.counted, leaf.literal)
        if start >= self._base:
            text, base = self._text_read, self._base
        else:
            text, base = self._content(start, place), start
        if in_section:
            leaf.claims = count_sections(text, start - base, place - base, leaf.claims)
        else:
            words = self.dialect.block, self._arguments
            leaf.claims = count_blocks(text, start - base, place - base, leaf.claims, *words)
        leaf.counted = place
        return leaf.claims

    def _forget(self, *, at_limit: bool = False) -> int:
        leaf = self.leaf
        if leaf is None or not leaf.exact or (at_limit and len(self.raw) > 2 * _LOOK_AHEAD + WINDOW):
            self.raw.clear()  # of a large block there is no second copy, in which examples could be counted
            if leaf is not None:
                leaf.counted = max(leaf.counted, self.raw_end)
            return 0
        text = self.raw.take()
        base = self.raw_end - len(text)
        in_section = self._state in (State.CDATA, State.CDATA_TAIL) or self._section >= 0
        open_end = self._section if self._section >= 0 else self._tail_start
        end = self.raw_end - _LOOK_AHEAD
        if self._state in (State.CDATA_TAIL, State.END_TAIL):
            end = min(end, open_end)
        start = max(leaf.counted if in_section else max(leaf.counted, leaf.literal), base)
        if end > start:
            words = None if in_section else (self.dialect.block, self._arguments)
            leaf.claims, counted = count_within(text, start - base, end - base, leaf.claims, words)
            leaf.counted = base + counted
            text = text[counted:]
        if len(text) > 2 * _LOOK_AHEAD + WINDOW:  # white space after an end: there is no opener in it
            leaf.counted = self.raw_end
            return 0
        self.raw.append(text)
        return len(text)

    def _meets_section(self, after: int) -> bool | None:
        """A section, whose content begins at `after`, follows the last `]]>` at once: was that the end of its section?

        Not if an example claims it. But `]]>` written in two sections, in one of the usual ways, is `]]>` as content.
        """
        leaf = self.leaf
        assert leaf is not None
        if self._count(leaf, self._section):
            if after + 2 > self._base + len(self._text_read):
                return MORE
            before, content = self._content(self._section - 2, self._section), self._content(after, after + 2)
            if not (before == "]]" and content.startswith(">")) and not (before.endswith("]") and content == "]>"):
                return NO
            leaf.claims -= 1
        return True

    def _release(self, leaf: Leaf, end: int) -> None:
        """The leaf ends at `end` after all: make the deltas of what was held."""
        first = self._claimed[0]
        self._claimed.clear()
        reader, self._held_reader = self._held_reader, None
        leaf.reader = reader
        if reader is None:
            return
        in_section = first.section >= 0
        at = first.section if in_section else first.place
        for mark in leaf.sections[first.sections :]:
            if in_section:
                self._emit(self._content(at, mark))
            else:
                self._emit_text(self._content(at, mark - len(CDATA_OPEN)))
                self._emit(reader.open_cdata())
            at = mark + 3 if in_section else mark
            in_section = not in_section
        if in_section:
            self._emit(self._content(at, end))
        else:
            reader.literal = leaf.literal >= 0
            self._emit_text(self._content(at, end))

    def settle(self, text: str) -> int | None:
        """At the end of a reply that leaves the ends of the leaf in doubt: choose one of them (protocol, 4.9).

        `text` is all that was read of the block. Returns the place from which on the reply is to be read again: after
        the end that was chosen, or from where on nothing belongs to the block, which has failed then. None if there is
        no doubt: the leaf was cut off.
        """
        leaf = self.leaf
        if leaf is None or self.error is not None:
            return None
        self._base, self._text_read = self.start, text
        section = leaf.sections[-1] if len(leaf.sections) % 2 else -1
        if not self._claimed and section < 0:
            return None
        closers = Closers(text, leaf.start - self.start, self.dialect.block, self._arguments)
        ends = [end for end in self._claimed if closers.unclaimed(end.place - self.start) == 1]
        chosen = next((end for end in ends if not closers.is_inside(end.place - self.start)), None)
        if section >= 0 and self._is_forgotten(text, leaf, closers, section, chosen):
            return self._until_opener(text, closers.last_unclaimed(section - self.start))
        if chosen is not None:
            self._go_back(leaf, chosen)
            return chosen.after
        last = closers.last_unclaimed(self._claimed[-1].place - self.start) if self._claimed else -1
        if last < 0 or ends:
            return None  # those are the ends of whole examples: the reply was cut off after one
        message = f"it is not clear where the value of <{leaf.tag}> ends: it holds tags of other calls"
        hint = f"Put the whole value of <{leaf.tag}> in <![CDATA[...]]>, and write ]]> in it as ]]]]><![CDATA[>."
        self.fail(Code.MALFORMED_MARKUP, message, self.start + last, hint)
        return self._until_opener(text, last)

    def _is_forgotten(self, text: str, leaf: Leaf, closers: Closers, section: int, chosen: End | None) -> bool:
        """Was the `]]>` of the section forgotten, and another block begun after the end of this one?"""
        last = closers.last_unclaimed(section - self.start)
        own = self._own_end(text, leaf.tag, last, section - self.start) if last >= 0 else -1
        if own < 0 or (chosen is not None and chosen.place <= self.start + own) or closers.unclaimed(last + 1):
            return False
        message = f"the CDATA section in <{leaf.tag}> was not closed: ]]> is missing"
        hint = f"Close the CDATA section before the end tag: <{leaf.tag}><![CDATA[...]]></{leaf.tag}>."
        begun = find_line_opener(text, last, self.dialect.block) >= 0
        self.fail(Code.MALFORMED_MARKUP if begun else Code.TRUNCATED, message, self.start + own, hint)
        return True

    def _own_end(self, text: str, tag: str, at: int, start: int) -> int:
        """The place of the leaf's own end tag, if from there to `at` there are only end tags; or -1."""
        while True:
            while at > start and text[at - 1] in SPACES:
                at -= 1
            if at == start or text[at - 1] != ">":
                return -1
            opening = text.rfind("</", start, at)
            found = read_end_tag(text, opening) if opening >= 0 else NO
            if not found or found.end != at:
                return -1
            if found.name == tag:
                return opening
            at = opening

    def _until_opener(self, text: str, at: int) -> int:
        """The place of the next opener at the start of a line: nothing before it is parsed as a call."""
        opener = find_line_opener(text, at, self.dialect.block)
        return self.start + (opener if opener >= 0 else len(text))

    def _go_back(self, leaf: Leaf, end: End) -> None:
        """Read on from a claimed end as from the end of the leaf."""
        del leaf.sections[end.sections :]
        leaf.whole = None
        for repair in self.repairs[end.repairs :]:
            self._noted.discard((repair.code, leaf.start))
        del self.repairs[end.repairs :]
        if leaf.literal > end.place:
            leaf.literal, leaf.pasted = -1, False
        self._tail_kind, self._tail_spaced, self._tail_start = end.kind, end.spaced, end.place
        self._section, self._between = end.section, end.between
        self._confirm()

    def _confirm(self) -> None:
        """What follows shows that the candidate ended the leaf."""
        leaf, place, kind = self.leaf, self._tail_start, self._tail_kind
        assert leaf is not None
        self._tail.clear()
        if self._claimed:
            self._release(leaf, self._section if self._section >= 0 else place)
        if self._section >= 0:
            self._tail.append(self._between)
            self._end_section()
        if kind == OWN:
            self._end_own(self._tail_spaced, place)
        elif kind == OTHER:
            self.note(Code.MISMATCHED_END_TAG, place, f"another end tag closed <{leaf.tag}>", leaf.start)
            self._end_leaf(place)
        else:
            self._refuse_garbage(leaf, place)
            self._end_leaf(place, cut=True)
            self._close(self._arguments, place, leaf)

    def _refuse_garbage(self, leaf: Leaf, end: int) -> None:
        """Fail if a string that only the end of the call closes seems to have ended before (protocol, 4.5)."""
        if leaf.literal < 0 or self.discard:
            return
        start = leaf.sections[-1] + 3 if leaf.sections else leaf.start
        text = self._content(start, end)
        for found in _TAGS.finditer(text):
            name = found[2]
            if name == leaf.tag and found[1]:
                message = f"</{name}> stands in the value of <{name}>, and only </{self._arguments}> closes it"
                hint = f"End the value with </{name}>, and write nothing between </{name}> and the next tag."
            elif name != leaf.tag and not found[1] and self._top.shape.has_property(name):
                message = f"<{name}> stands in the value of <{leaf.tag}>, which was not closed"
                hint = f"Close <{leaf.tag}> with </{leaf.tag}> before <{name}>."
            else:
                continue
            self.fail(Code.MALFORMED_MARKUP, message, start + found.start(), hint)
            return

    def _follows(self, text: str, at: int) -> int | bool | None:
        """Is what stands at `at` what could follow the leaf, were the candidate its end (protocol, 4.5 and 4.6)?"""
        if text[at] != "<":
            # The end of a fence that was opened in front of the arguments stands behind the last of them.
            return read_fence(text, at) if self._fenced and text[at] == "`" and self._tail_kind == OWN else NO
        if at + 1 == len(text):
            return MORE
        kind, following = self._tail_kind, text[at + 1]
        if kind == CALL:
            if following != "/":
                return NO
            tag = read_end_tag(text, at)
            if tag is MORE:
                return MORE
            return bool(tag and self._is_block(tag.name))
        if following == "/":
            name = read_name(text, skip_space(text, at + 2))
            if not isinstance(name, str):
                return name
            if kind == OTHER:
                return name == self._top.tag
            return self._depth_of(name) >= 0 or self._untouched
        return self._starts_sibling(text, at, following)

    @property
    def _untouched(self) -> bool:
        """The leaf holds no literal markup: read as XML, it ends at its first end tag, so any tag may follow."""
        return self.leaf is not None and self.leaf.literal < 0

    def _starts_sibling(self, text: str, at: int, following: str) -> bool | None:
        leaf = self.leaf
        assert leaf is not None
        own = self._tail_kind == OWN
        untouched = own and self._untouched
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
            return leaf.tag in self.dialect.argument_words and text.startswith(f"{leaf.tag}=", at + 1)
        return (untouched and is_xml_name(name)) or self._is_sibling(name, leaf)

    def _is_sibling(self, name: str, leaf: Leaf) -> bool:
        """Can an element called `name` stand behind the leaf by what is declared?"""
        dialect, top = self.dialect, self._top
        if len(self._stack) == 1:
            if self._field(name) is not None:
                return True
            return (self.shape or ANY).knows(name, leaf.tag)
        return name == dialect.argument or top.shape.knows(name, leaf.tag) or name in dialect.argument_words

    def _end_attributes(self, leaf: Leaf, end: int) -> None:
        """A leaf with attributes ends: one of them is its value, or is skipped, or nobody can tell (protocol, 3.7)."""
        element = leaf.element
        is_empty = not self._content(leaf.start, end).strip(SPACES)
        if element.children and not is_empty:
            message = f"<{leaf.tag}> has both attributes and text"
            hint = f"Write each property of {element.name} as an element inside <{leaf.tag}>."
            self.fail(Code.MALFORMED_MARKUP, message, element.offset, hint)
        for name, value in leaf.attributes or ():
            if is_empty and name == self.dialect.value and leaf.given is None and not element.nil:
                leaf.given = decode_entities(value)
                self._emit(leaf.given)
                message = f"the attribute {name!r} of <{leaf.tag}> was read as its value"
                self.note(Code.ATTRIBUTE_VALUE, element.offset, message, leaf.start)
            elif (
                is_empty
                and leaf.given is None
                and not element.children
                and name != self.dialect.nil
                and not is_metadata(name)
            ):
                message = f"<{leaf.tag}> is empty, and the attribute {name!r} means nothing"
                hint = f"Write the value between the tags: <{leaf.tag}>value</{leaf.tag}>."
                self.fail(Code.MALFORMED_MARKUP, message, element.offset, hint)
            else:
                message = f"the attribute {name!r} of <{leaf.tag}> was skipped"
                self.note(Code.IGNORED_ATTRIBUTE, element.offset, message, leaf.start)

    def _field(self, name: str) -> str | None:
        """The field that an element called `name` means, directly in the block; None for an argument."""
        dialect = self.dialect
        if name in (dialect.tool_name, dialect.arguments, dialect.server_name):
            return name
        if self.shape is not None and self.shape.has_property(name):
            return None
        if name in dialect.arguments_words:
            return None if dialect.arguments in self._fields else dialect.arguments
        return spellings(dialect).get(plain(name))

    def _end_leaf(self, place: int, *, cut: bool = False) -> None:
        leaf = self.leaf
        assert leaf is not None
        leaf.end = place
        leaf.cut = cut
        if leaf.reader is not None and not leaf.reader.idle:  # an idle one holds nothing back
            self._emit(leaf.reader.end(cut=cut))
        if leaf.attributes is not None and not self.discard:
            self._end_attributes(leaf, place)
        self._flush_delta()
        if not self.discard:
            self.leaves.append(leaf)
        if leaf.capture is not None:
            self._end_field(leaf, leaf.capture.strip(SPACES))
        elif leaf.element is self.json_arguments:
            self.arguments_closed = True
        leaf.reader = None
        self.leaf = None
        self._state = State.MARKUP

    def _end_field(self, leaf: Leaf, value: str) -> None:
        if leaf.tag in self.dialect.name_words:
            self.proposed = value, leaf.start, leaf.element
        elif not is_valid_name(value):
            self.fail(Code.INVALID_NAME, f"{value[:60]!r} is no name", leaf.element.offset)
        elif leaf.tag != self.dialect.tool_name and self._field(leaf.tag) == self.dialect.server_name:
            self.server = value or None
        elif value and self.name is None:
            self.name = value
            self.name_start = leaf.start
            if self.proposed is not None and self.proposed[2] is None:
                self.note_opener(Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")
            self._on_name(self)
