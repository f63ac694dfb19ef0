"""The content of a leaf: text, CDATA, literal markup, and how a leaf is told from a node (protocol, sections 3 and
4)."""

from __future__ import annotations

from array import array
from typing import Final

from xmltools.errors import Code
from xmltools.parser.frame import CALL, OTHER, OWN, Container, Leaf, State
from xmltools.parser.leaf_ends import LeafEnds
from xmltools.parser.leaf_text import TextReader
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    Tag,
    attributes_of,
    decode_entities,
    is_xml_name,
    read_cdata_open,
    read_end_tag,
    read_name,
    read_start_tag,
    skip_space,
)
from xmltools.tools.schema import ANY, Shape

__all__ = ["LeafStates"]

_LONG: Final = 4096


class LeafStates(LeafEnds):
    """States inside a leaf."""

    __slots__ = ()

    def _begin_leaf(self, leaf: Leaf, tag: Tag) -> None:
        self.leaf = leaf
        self._tail.clear()
        if tag.empty:
            self._end_leaf(leaf.start)
        else:
            self._state = State.LEAF_START

    def _leaf_start(self, text: str, at: int) -> int:
        """The first thing in an element that is not white space tells a node from a leaf."""
        leaf = self.leaf
        assert leaf is not None
        here = skip_space(text, at)
        if here > at:
            self._keep(text[at:here])
            return here
        if text[at] != "<" or leaf.decided:
            return self._enter_leaf(at)
        if at + 1 == len(text):
            return -1
        if text[at + 1] == "!":
            return self._leading_comment(text, at, leaf)
        if text[at + 1] == "/":
            if leaf.literal >= 0:  # nothing but comments: an empty element
                leaf.start, leaf.literal = self._base + at, -1
                self._tail.clear()
            return self._enter_leaf(at)
        tag = read_start_tag(text, at)
        if tag is MORE:
            return -1
        if not tag or tag.spaced or not tag.is_xml:
            return self._enter_leaf(at)
        name = self._said_name(tag, leaf.shape)
        shape = leaf.shape.opens(name, leaf.element.name)
        if shape is None or leaf.element.nil:
            return self._enter_leaf(at)
        self._enter_node(leaf, shape, name)
        return at

    def _said_name(self, tag: Tag, shape: Shape) -> str:
        """The name of the element that a tag begins, which an attribute may say (protocol, 3.2)."""
        dialect = self.dialect
        if tag.attributes and not shape.has_property(tag.name):
            for name, value, _ in attributes_of(tag.attributes):
                if name == dialect.argument_name and value is not None:
                    said = decode_entities(value).strip(SPACES)
                    if tag.name == dialect.argument or self._names(tag.name, said, shape):
                        return said
        return tag.name

    def _names(self, tag: str, said: str, shape: Shape) -> bool:
        """Does an attribute name the argument, or property of `shape`, that `<tag>` holds (protocol, 3.2)?

        Words such as `parameter` bear no other name, nor do tags that the schema does not know where it knows `said`,
        or leaves names open.
        """
        if tag in self.dialect.argument_words:
            return True
        if shape.is_any or shape.is_list:
            return False
        if shape.has_property(said):
            return True
        attribute = self.dialect.argument_name
        return not self._top.is_arguments and shape.knows(said, "") and not shape.child(tag).has_property(attribute)

    def _leading_comment(self, text: str, at: int, leaf: Leaf) -> int:
        if text.startswith("<!--", at):
            if leaf.literal < 0:
                leaf.literal = self._base + at  # if the element turns out to be a leaf, the comment is part of it
            self._keep("<!--")
            self._after_comment = State.LEAF_START
            self._state = State.LEAF_COMMENT
            return at + 4
        return -1 if "<!--".startswith(text[at : at + 4]) else self._enter_leaf(at)

    def _leaf_comment(self, text: str, at: int) -> int:
        place = self._comment(text, at)
        if place > at:
            self._keep(text[at:place])
        return place

    def _enter_node(self, leaf: Leaf, shape: Shape, tag: str) -> None:
        for name, _ in leaf.attributes or ():
            message = f"the attribute {name!r} of <{leaf.tag}> was skipped"
            self.note(Code.IGNORED_ATTRIBUTE, leaf.element.offset, message, leaf.start)
        path = leaf.path
        loose = shape.is_any or leaf.shape.doubts(tag, leaf.element.name)
        if loose:
            path = None  # where its leaves will stand is known when it ends
        elif leaf.shape.is_list and not shape.is_list and path is not None:
            path = (*path, 0) if not isinstance(path[-1], int) else path
        container = Container(leaf.tag, leaf.element, shape, leaf.start, path)
        container.loose = loose
        container.first_leaf = len(self.leaves)
        container.first_repair = len(self.repairs)
        self._stack.append(container)
        self._tail.clear()
        self.leaf = None
        self._state = State.MARKUP

    def _enter_leaf(self, at: int) -> int:
        leaf = self.leaf
        assert leaf is not None
        if leaf.path is not None and not leaf.shape.is_any and leaf.shape.opens("", "") is not None:
            leaf.path = None  # text that stands for a list or an object: it is converted as a whole
        if (leaf.path is not None or leaf.capture is not None) and not self.discard:
            leaf.reader = TextReader()
        self._state = State.TEXT
        lead = self._tail.take()
        if leaf.literal >= 0:
            comment = leaf.literal - leaf.start
            self._emit_text(lead[:comment])
            self._set_literal(leaf.literal, pasted=True)
            lead = lead[comment:]
        self._emit_text(lead)
        return at

    def _to_text(self, container: Container, place: int) -> None:
        """A node turns out to hold text beside its elements: it is a leaf after all."""
        self._stack.pop()
        del self.leaves[container.first_leaf :]
        del self.repairs[container.first_repair :]
        container.element.children = None
        leaf = Leaf(container.tag, container.element, ANY, container.start, None)
        leaf.exact = not self._top.loose
        leaf.literal = container.start
        leaf.pasted = leaf.mixed = True
        if not self.keeps_source:
            leaf.counted = place  # what stood before is forgotten
        self.leaf = leaf
        self.note(
            Code.MIXED_CONTENT, place, f"<{container.tag}> held text beside elements and was read as text", leaf.start
        )
        self._state = State.TEXT

    def _text(self, text: str, at: int) -> int:
        """Plain text of a leaf."""
        leaf = self.leaf
        assert leaf is not None
        opening = text.find("</" if leaf.pasted else "<", at)
        if opening < 0:
            end = len(text) - (leaf.pasted and text.endswith("<"))
            self._emit_text(text[at:end])
            return end if end > at else -1
        if opening > at:
            self._emit_text(text[at:opening])
        if text.startswith(f"</{leaf.tag}>", opening):
            place = self._end_at_once(text, opening, opening + len(leaf.tag) + 3, leaf)
            if place >= 0:
                return place
        place = self._leaf_markup(text, opening, leaf)
        return place if place >= 0 or opening == at else opening

    def _leaf_markup(self, text: str, at: int, leaf: Leaf) -> int:
        """At a `<` in plain text."""
        following = text[at + 1 : at + 2]
        if not following:
            return -1
        if following == "/":
            return self._leaf_end_tag(text, at, leaf)
        if following == "!":
            opened = read_cdata_open(text, at)
            if opened is MORE:
                return -1
            if opened:
                return self._open_cdata(opened, at)
        if leaf.capture and following.isalpha():
            name = read_name(text, at + 1)
            if name is MORE:
                return -1
            if name and self._field(str(name)) is not None and leaf.capture.strip(SPACES):
                self.note(Code.MISSING_END_TAG, self._base + at, f"</{leaf.tag}> is missing", leaf.start)
                self._end_leaf(self._base + at, cut=True)
                return at
        self._set_literal(self._base + at, pasted=following in "!?" or is_xml_name(following))
        self._emit_text("<")
        return at + 1

    def _goes_on(self, text: str, at: int) -> bool | None:
        """Does a field, or JSON, stand at `at`, white space aside, so that the block has not ended in front of it?"""
        here = skip_space(text, at)
        if here - at > OPENER_SPACE:
            return NO
        if here == len(text):
            return NO if self.final else MORE
        if text[here] == "<":
            name = read_name(text, here + 1)
            if name is MORE:
                return True if self.final else MORE  # cut off, perhaps in the tag of a field
            return bool(name) and name != self.dialect.block and self._field(str(name)) is not None
        return NO

    def _leaf_end_tag(self, text: str, at: int, leaf: Leaf) -> int:
        """At `</` in plain text."""
        tag = read_end_tag(text, at)
        if tag is MORE:
            return -1
        if tag:
            if tag.name == leaf.tag:
                return self._candidate(text, at, tag, OWN)
            depth = self._depth_of(tag.name)
            if not leaf.exact and depth >= 0:
                if leaf.capture is not None and depth == 0:
                    goes_on = self._goes_on(text, tag.end)
                    if goes_on is MORE:
                        return -1
                    if goes_on:
                        message = f"</{tag.name}> closed <{leaf.tag}>"
                        self.note(Code.MISMATCHED_END_TAG, self._base + at, message, leaf.start)
                        self._end_leaf(self._base + at)
                        return tag.end
                self._end_leaf(self._base + at, cut=True)
                self._close(tag.name, self._base + at, leaf)
                return tag.end
            if tag.name == self._arguments and depth > 0:
                return self._candidate(text, at, tag, CALL)
            if leaf.literal < 0 and not leaf.sections:
                return self._candidate(text, at, tag, OTHER)
        self._set_literal(self._base + at, pasted=True)
        self._emit_text("</")
        return at + 2

    def _open_cdata(self, opened: str, at: int) -> int:
        leaf = self.leaf
        assert leaf is not None
        if opened != CDATA_OPEN:
            self.note(Code.CDATA_CASE, self._base + at, f"{opened} was read as CDATA", leaf.start)
        if leaf.reader is not None:
            self._emit(leaf.reader.open_cdata())
        leaf.counted = self._base + at + len(opened)
        if not self.discard:
            leaf.sections = leaf.sections or array("q")
            leaf.sections.append(leaf.counted)
        self._state = State.CDATA
        return at + len(opened)

    def _cdata(self, text: str, at: int) -> int:
        """Content of a CDATA section."""
        end = self._find_section_end(text, at)
        if end < 0:
            end = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
            self._emit_cdata(text[at:end])
            return end if end > at else -1
        piece = text[at:end]
        self._emit_cdata(piece)
        leaf = self.leaf
        if leaf is not None and leaf.sections[-1:] == array("q", (self._base + at,)):
            leaf.whole = piece  # if nothing else comes this is the value, and is not cut out again
        self._section = self._base + end
        self._state = State.CDATA_TAIL
        return end + 3

    def _find_section_end(self, text: str, at: int) -> int:
        """The first `]]>`, or -1.

        CPython searches backwards four times as fast as forwards. So in a long text the last two `]]>` are looked
        for, once: the first one behind the last but one is the last one.
        """
        if len(text) - at < _LONG:
            return text.find("]]>", at)
        if self._last_ends is None:
            last = text.rfind("]]>", at)
            self._last_ends = (text.rfind("]]>", at, last) if last >= 0 else -1, last)
        before, last = self._last_ends
        if before >= at:
            return text.find("]]>", at)
        return last if last >= at else -1

    def _cdata_tail(self, text: str, at: int) -> int:
        """Behind a `]]>`: what follows tells whether it ended the section (protocol, 4.7)."""
        end = text.find("]]>", at)
        opening = text.find("<", at, end if end >= 0 else len(text))
        if opening < 0 and end >= 0:
            self._keep(text[at:end])
            self._continue_cdata()
            self._section = self._base + end
            self._state = State.CDATA_TAIL
            return end + 3
        if opening < 0:
            stop = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
            self._keep(text[at:stop])
            return stop if stop > at else -1
        if opening > at:
            self._keep(text[at:opening])
            return opening
        return self._behind_cdata(text, at)

    def _behind_cdata(self, text: str, at: int) -> int:
        """At the first `<` behind a `]]>`."""
        leaf = self.leaf
        assert leaf is not None
        if at + 1 == len(text):
            return -1
        if text[at + 1] == "/":
            tag = read_end_tag(text, at)
            if tag is MORE:
                return -1
            if tag and tag.name == leaf.tag:
                return self._candidate(text, at, tag, OWN)
            if tag and tag.name == self._arguments and self._depth_of(tag.name) > 0:
                return self._candidate(text, at, tag, CALL)
        elif text.startswith("<!--", at):
            if not self._count(leaf, self._section):
                self._end_section()
                return at
        else:
            opened = read_cdata_open(text, at)
            if opened is MORE or "<!--".startswith(text[at : at + 4]):
                return -1
            ends = self._meets_section(self._base + at + len(opened)) if opened else NO
            if ends is MORE:
                return -1
            if ends:
                self._end_section()
                return at
        self._continue_cdata()
        return at
