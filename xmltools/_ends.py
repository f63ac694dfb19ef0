"""Where a leaf ends: end tags that are confirmed or refused by what follows them (protocol, 4.5 to 4.7)."""

from __future__ import annotations

from xmltools._frame import CALL, OTHER, OWN, Frame, Leaf, State
from xmltools._markup import (
    MORE,
    NO,
    SPACES,
    TAG_LENGTH,
    Tag,
    is_valid_name,
    is_xml_name,
    read_end_tag,
    read_name,
    skip_space,
)
from xmltools.errors import Code
from xmltools.schema import ANY

__all__ = ["LeafEnds"]


class LeafEnds(Frame):
    """States and decisions at the end of a leaf."""

    def _end_section(self) -> None:
        """The last `]]>` ended its section; plain text follows."""
        leaf = self.leaf
        assert leaf is not None
        if not self.discard:
            leaf.sections.append(self._section)
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
        candidate = self._tail.take()
        if follows:
            self._confirm()
        elif self._section >= 0:
            self._tail.append(self._between)
            self._tail.append(candidate)
            self._continue_cdata()
        else:
            self._state = State.TEXT
            self._set_literal(self._tail_start, pasted=True)
            self._emit_text(candidate)
        self._tail.clear()
        return here

    def _confirm(self) -> None:
        """What follows shows that the candidate ended the leaf."""
        leaf, place, kind = self.leaf, self._tail_start, self._tail_kind
        assert leaf is not None
        self._tail.clear()
        if self._section >= 0:
            self._tail.append(self._between)
            self._end_section()
        if kind == OWN:
            self._end_own(self._tail_spaced, place)
        elif kind == OTHER:
            self.note(Code.MISMATCHED_END_TAG, place, f"another end tag closed <{leaf.tag}>", leaf.start)
            self._end_leaf(place)
        else:
            self._end_leaf(place, cut=True)
            self._close(self.dialect.arguments, place, leaf)

    def _follows(self, text: str, at: int) -> bool | None:
        """Is what stands at `at` what could follow the leaf, were the candidate its end (protocol, 4.5 and 4.6)?"""
        if text[at] != "<":
            return NO
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
        if not isinstance(name, str):
            return name
        return (untouched and is_xml_name(name)) or self._is_sibling(name, leaf)

    def _is_sibling(self, name: str, leaf: Leaf) -> bool:
        """Can an element called `name` stand behind the leaf by what is declared?"""
        dialect, top = self.dialect, self._top
        if len(self._stack) == 1:
            if name in (dialect.server_name, dialect.tool_name, dialect.arguments):
                return True
            return (self.shape or ANY).knows(name, leaf.tag)
        return name == dialect.argument or top.shape.knows(name, leaf.tag)

    def _end_leaf(self, place: int, *, cut: bool = False) -> None:
        leaf = self.leaf
        assert leaf is not None
        leaf.end = place
        leaf.cut = cut
        if leaf.reader is not None and not leaf.reader.idle:  # an idle one holds nothing back
            self._emit(leaf.reader.end(cut=cut))
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
        if not is_valid_name(value):
            self.fail(Code.INVALID_NAME, f"{value[:60]!r} is no name", leaf.element.offset)
        elif leaf.tag == self.dialect.server_name:
            self.server = value or self.dialect.default_server
        elif value and self.name is None:
            self.name = value
            self.name_start = leaf.start
            self._on_name(self)
