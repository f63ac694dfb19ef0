"""Between leaves: tags, fields, comments and text that belongs nowhere (protocol, sections 2, 3 and 5)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code
from xmltools.parser.frame import Container, Leaf, Path, State
from xmltools.parser.json_end import ObjectScanner
from xmltools.parser.leaves import LeafStates
from xmltools.syntax.elements import Element
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    Tag,
    attributes_of,
    decode_entities,
    is_valid_name,
    read_bare_name,
    read_cdata_open,
    read_chat_token,
    read_confirmation,
    read_end_tag,
    read_fence,
    read_opener,
    read_start_tag,
    read_valued_tag,
    skip_space,
)
from xmltools.tools.schema import ANY, ArrayShape

__all__ = ["ElementStates"]

STRAY_LENGTH: Final = 128
_WORDS: Final = re.compile("([ \t\r\n]+)|[^ \t\r\n]+")
_NOTHING: Final = frozenset(("", "none", "null", "nil", "n/a", "empty", "no arguments"))
"""Words for no arguments at all."""


class ElementStates(LeafStates):
    """States between elements."""

    __slots__ = ()

    def _body(self, text: str, at: int) -> int:
        """At the opener, or right behind it. That `<`, `{` or a fence line follows was seen when it was confirmed."""
        if self._base + at < self._body_start:
            return self._body_start - self._base
        here = skip_space(text, at)
        if here == len(text) or here > at:
            return here
        if text[at] == "{":
            self._scanner = ObjectScanner(self.limits.depth, self.dialect.json_names)
            self._state = State.JSON
            self.json = (self._base + at, -1)
            return at
        if text[at] in "`~":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            self.note(Code.CODE_FENCE, self._base + at, "the body of the block stood in a code fence")
            return fence or at + 1
        if text[at] == "[":
            message = f"the block holds a list of calls; each needs a <{self.dialect.block}> of its own"
            self.give_up(Code.SEVERAL_CALLS, message, self._base + at)
            self._scanner = ObjectScanner(self.limits.depth)
            self._state = State.JSON
            self.json = (self._base + at, -1)
            return at
        self._state = State.MARKUP
        return at if text[at] == "<" else self._bare_name(text, at)

    def _bare_name(self, text: str, at: int) -> int:
        """The name of a given tool without its element; what follows was seen when the opener was confirmed."""
        word, end, _ = read_bare_name(text, at)
        if not word:
            return at
        place = self._base + at
        self.note(Code.BARE_NAME, place, f"{word!r} stood outside <{self.dialect.tool_name}>")
        self._fields.add(self.dialect.tool_name)
        self.name = word
        self.name_start = place
        self._on_name(self)
        if text[end] == "{":
            self._begin_json_arguments(end, end)
        return end

    def _markup(self, text: str, at: int) -> int:
        """Where an element, a comment or an end tag may come."""
        here = skip_space(text, at)
        if here == len(text):
            return here
        place = self._token(text, here)
        return place if place >= 0 or here == at else here

    def _token(self, text: str, at: int) -> int:
        if text[at] != "<":
            return self._loose_text(text, at)
        if at + 1 == len(text):
            return -1
        following = text[at + 1]
        if following == "/":
            return self._end_tag(text, at)
        if following == "!":
            return self._declaration(text, at)
        if following == "?":
            self.note(Code.PROCESSING_INSTRUCTION, self._base + at, "a processing instruction was skipped")
            self._state = State.INSTRUCTION
            return at + 2
        return self._start_tag(text, at)

    def _loose_text(self, text: str, at: int) -> int:
        top = self._top
        if self._too_deep == 0:
            if top.loose:
                self._to_text(top, self._base + at)
                return at
            if self._may_be_json(top):
                start = self._json_in_arguments(text, at)
                if start != -2:
                    return start
        self._stray_start = self._base + at
        self._stray_text = ""
        self._state = State.STRAY
        return at

    def _may_be_json(self, top: Container) -> bool:
        """May JSON stand here for the arguments: as their content, or instead of them behind the tool's name?"""
        if top.element.children or self.json_arguments is not None:
            return False
        return top.is_arguments or (
            len(self._stack) == 1 and self.name is not None and self.dialect.arguments not in self._fields
        )

    def _json_in_arguments(self, text: str, at: int) -> int:
        """JSON as the text of `arguments`: its place, -1 for more input, -2 if it is none."""
        if text[at] == "`":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            if not fence:
                return -2
            start = skip_space(text, fence)
            if start - fence > OPENER_SPACE:
                return -2
            if start == len(text):
                return -1
        else:
            start = at
        if text[start] != "{":
            return -2
        self._begin_json_arguments(at, start)
        return start

    def _begin_json_arguments(self, at: int, start: int) -> None:
        self.note(Code.JSON_ARGUMENTS, self._base + at, "the arguments were read from JSON")
        self._scanner = ObjectScanner(self.limits.depth)
        self.json_arguments = (self._base + start, -1)
        self._state = State.JSON

    def _json_leaf(self, start: int) -> None:
        """The content of `arguments`, from `start` on, is one value."""
        arguments = self._stack.pop()
        self.json_arguments = Element(arguments.tag, arguments.start)
        self.leaf = Leaf(arguments.tag, self.json_arguments, ANY, start, None)
        self._state = State.TEXT

    def _stray(self, text: str, at: int) -> int:
        """Text where only elements belong."""
        end = text.find("<", at)
        stop = end if end >= 0 else len(text)
        self._keep_stray(text, at, stop)
        if end < 0:
            return stop
        words = self._stray_text.strip(SPACES)
        self._state = State.MARKUP
        top = self._top
        is_fence = read_fence(words + "\n", 0) == len(words) + 1
        if is_fence and (len(self._stack) == 1 or top.is_arguments):
            self._fenced = True
            if not self.json_arguments or len(self._stack) == 1:
                self.note(Code.CODE_FENCE, self._stray_start, "the block held a code fence", self.start)
        else:
            self.note(Code.STRAY_TEXT, self._stray_start, "text between elements was skipped")
            may_be_arguments = top.is_arguments or (len(self._stack) == 1 and self.name is not None)
            says_something = words.lower().strip(" .()") not in _NOTHING and any(map(str.isalnum, words))
            if may_be_arguments and says_something and not self.arguments_closed:
                self.lost = self._stray_start
        return end

    def _keep_stray(self, text: str, at: int, end: int) -> None:
        """Keep the beginning of the text between elements, each run of white space as one character of it."""
        kept = self._stray_text
        for found in _WORDS.finditer(text, at, end):
            if len(kept) >= STRAY_LENGTH:
                break
            if found[1]:
                space = "\n" if kept[-1:] == "\n" or "\n" in found[1] or "\r" in found[1] else " "
                kept = kept.rstrip(SPACES) + space
            else:
                kept += found[0][:STRAY_LENGTH]
        self._stray_text = kept[:STRAY_LENGTH]

    def _declaration(self, text: str, at: int) -> int:
        if text.startswith("<!--", at):
            self._after_comment = State.MARKUP
            self._state = State.COMMENT
            return at + 4
        opened = read_cdata_open(text, at)
        if opened is MORE or "<!--".startswith(text[at : at + 4]):
            return -1
        if opened:
            return self._stray_cdata(at, opened)
        if text[at + 2].isalpha():
            place = self._base + at
            self.give_up(Code.FORBIDDEN_MARKUP, f"the declaration at character {place} is not allowed there", place)
            return at + 2
        return self._malformed(at)

    def _stray_cdata(self, at: int, opened: str) -> int:
        top = self._top
        place = self._base + at
        if top.is_arguments and not top.element.children and self.json_arguments is None and not self._too_deep:
            # A JSON object in CDATA: read as a leaf, so that the end of the section is found by the rules for values.
            self.note(Code.JSON_ARGUMENTS, place, "the arguments were read from JSON")
            self._json_leaf(place)
            return at
        self.note(Code.STRAY_TEXT, place, "CDATA between elements was skipped")
        self._state = State.STRAY_CDATA
        return at + len(opened)

    def _stray_section(self, text: str, at: int) -> int:
        return self._skip_past(text, at, "]]>", State.MARKUP)

    def _instruction(self, text: str, at: int) -> int:
        return self._skip_past(text, at, "?>", State.MARKUP)

    def _malformed(self, at: int) -> int:
        place = self._base + at
        self.give_up(Code.MALFORMED_MARKUP, f"the < at character {place} begins no tag", place)
        return at + 1

    def _end_tag(self, text: str, at: int) -> int:
        tag = read_end_tag(text, at)
        if tag is MORE:
            return -1
        if tag is NO:
            return self._malformed(at)
        place = self._base + at
        if self._too_deep:
            if tag.name != self._arguments and not self._is_block(tag.name):
                self._too_deep -= 1
                return tag.end
            self._too_deep = 0
        self._spaced(tag, place)
        if self._close(tag.name, place):
            return tag.end
        if len(self._stack) == 2 and self._top.is_arguments and self._field(tag.name) == self.dialect.arguments:
            self.note(Code.MISMATCHED_END_TAG, place, f"</{tag.name}> closed <{self._arguments}>")
            self._close(self._arguments, place)
        else:
            self.note(Code.STRAY_END_TAG, place, f"</{tag.name}> closed nothing")
        return tag.end

    def _start_tag(self, text: str, at: int) -> int:
        tag = read_start_tag(text, at)
        if tag is NO:
            tag = read_valued_tag(text, at, self.dialect.argument_words)
        if tag is MORE:
            return -1
        if tag is NO:
            return self._chat_token(text, at)
        if self._too_deep:
            self._too_deep += not tag.empty
            return tag.end
        top = self._top
        if len(self._stack) == 1:
            if tag.name == self.dialect.block:
                opens = self._opens_block(text, at)
                if opens is MORE:
                    return -1
                if opens:
                    self._next_opener(self._base + at)
                    return at
            elif self.arguments_closed and self._begins_call(tag):
                self.note(Code.JOINED_CALLS, self._base + at, "another call stands in the same block", self.start)
                self.again = self.done = True
                return at
        if not tag.is_xml:
            if not (top.shape.has_property(tag.name) or (self.shape is not None and self.shape.has_property(tag.name))):
                return self._chat_token(text, at)
            self.note(Code.NOT_XML_NAME, self._base + at, f"{tag.name!r} is no XML name", self._base + tag.end)
        self._elements += 1
        place = self._base + at
        if self._elements > self.limits.elements:
            self.give_up(Code.LIMIT_EXCEEDED, f"the block has more than {self.limits.elements} elements", place)
        if len(self._stack) > self.limits.depth:
            self.give_up(Code.LIMIT_EXCEEDED, f"the block nests more than {self.limits.depth} elements", place)
            self._too_deep = 0 if tag.empty else 1
            return tag.end
        self._open(tag, place)
        return tag.end

    def _begins_call(self, tag: Tag) -> bool:
        """Does a field that the call has already say that another call begins, behind its arguments?"""
        field = self._field(tag.name)
        return field in (self.dialect.tool_name, self.dialect.server_name) and field in self._fields

    def _chat_token(self, text: str, at: int) -> int:
        """At a `<` that begins no tag: a token of a chat template, behind the arguments, or nothing at all."""
        if len(self._stack) == 1 and self.arguments_closed and not self._too_deep:
            found = read_chat_token(text, at)
            if found is MORE:
                return -1
            if found:
                self.note(Code.CHAT_TOKEN, self._base + at, f"{text[at:found]} was skipped", self.start)
                return found
        return self._malformed(at)

    def _opens_block(self, text: str, at: int) -> bool | None:
        """Does a new block start at `at`?"""
        opener = read_opener(text, at, self.dialect.block)
        return opener if opener is MORE or opener is NO else read_confirmation(text, opener.end)

    def _next_opener(self, place: int) -> None:
        """A new block starts inside this one: its end tag was forgotten."""
        if not self.arguments_closed:
            self.fail(Code.MALFORMED_MARKUP, f"a new <{self.dialect.block}> starts before this one has ended", place)
        self.end_early(place)

    def _open(self, tag: Tag, place: int) -> None:
        """Enter the element that `tag` starts."""
        dialect, top = self.dialect, self._top
        self._spaced(tag, place)
        if len(self._stack) == 1:
            field = self._field(tag.name)
            if field is not None:
                return self._open_field(field, tag, place)
            if tag.name in dialect.name_words and self.name is None and self.proposed is None:
                return self._open_name(tag, place)
            self._adopt_name()
            self.note(
                Code.UNWRAPPED_ARGUMENT,
                place,
                f"<{tag.name}> stood outside <{dialect.arguments}>",
                self._base + tag.end,
            )
            if top.shape is ANY and self.shape is not None:
                top.shape = self.shape
        elif top.is_arguments and tag.name == self._arguments and not top.shape.has_property(tag.name):
            self.note(Code.JSON_ARGUMENTS, place, f"<{tag.name}> inside <{tag.name}>")
            return self._push_arguments(tag, place)
        return self._open_value(tag, place)

    def _open_field(self, field: str, tag: Tag, place: int) -> None:
        if field in self._fields:
            self.fail(Code.DUPLICATE_FIELD, f"<{field}> stands twice in the block", place)
        self._fields.add(field)
        is_arguments = field == self.dialect.arguments
        if tag.name != field:
            code = Code.ARGUMENTS_TAG if is_arguments else Code.NAME_TAG
            self.note(code, place, f"<{tag.name}> was read as <{field}>", self._base + tag.end)
        if is_arguments:
            self._arguments = tag.name
            self.lost = -1
            self._adopt_name()
            return self._push_arguments(tag, place)
        if tag.attributes:
            self._read_attributes(tag, place, None)
        leaf = Leaf(tag.name, Element(tag.name, place), ANY, self._base + tag.end, None)
        leaf.exact = False
        leaf.decided = True
        leaf.capture = ""
        return self._begin_leaf(leaf, tag)

    def _open_name(self, tag: Tag, place: int) -> None:
        """An argument called `name`, or the name of the tool if no other element says that."""
        self.note(
            Code.UNWRAPPED_ARGUMENT, place, f"<{tag.name}> stood outside <{self._arguments}>", self._base + tag.end
        )
        self._open_value(tag, place)
        if self.leaf is not None and not tag.attributes:
            self.leaf.capture = ""

    def _adopt_name(self) -> None:
        """Take the name that stands in another place, if there is none in its own place yet."""
        if self.proposed is not None and self.name is None and self.knows_tool(self.proposed[0]):
            self.take_name()

    def take_name(self) -> None:
        """Make the name that was proposed the tool's."""
        if self.proposed is None:
            return
        self.name, self.name_start, element = self.proposed
        self.proposed = None
        owner = self.start
        if element is not None and self.arguments.children:
            self.arguments.children = [each for each in self.arguments.children if each is not element]
            place = element.offset
            self.repairs = [
                each for each in self.repairs if (each.code, each.offset) != (Code.UNWRAPPED_ARGUMENT, place)
            ]
        self.note(Code.NAME_TAG, self.name_start, "the name of the tool stood in another place", owner)
        self._on_name(self)

    def _push_arguments(self, tag: Tag, place: int) -> None:
        if tag.attributes:
            self._read_attributes(tag, place, None)
        start = self._base + tag.end
        path: Path | None = () if self.deltas else None
        container = Container(tag.name, self.arguments, self.shape or ANY, start, path)
        container.is_arguments = True
        self.early = self.early or self.shape is None
        self._stack.append(container)
        self._state = State.MARKUP
        if tag.empty:
            self._pop(start)

    def _open_value(self, tag: Tag, place: int) -> None:
        """An argument, a property or an item."""
        top = self._top
        element = Element(tag.name, place)
        others = self._read_attributes(tag, place, element) if tag.attributes else None
        if not element.name or not is_valid_name(element.name):
            self.fail(Code.INVALID_NAME, f"{element.name[:60]!r} is no name for an argument", place)
        if len(self._stack) == 1:
            self.early = self.early or self.shape is None
            path: Path | None = () if self.deltas else None
        else:
            path = top.path
        path = None if path is None or self.discard else self._path_of(element.name, path)
        leaf = Leaf(tag.name, element, top.shape.child(element.name), self._base + tag.end, path)
        leaf.decided = leaf.shape.is_text or not leaf.shape.exact
        leaf.exact = leaf.shape.exact and not top.loose
        if others:
            self._read_properties(others, tag, leaf)
        if top.element.children is not None and not self.discard:
            top.element.children.append(element)
        self._begin_leaf(leaf, tag)

    def _read_properties(self, attributes: list[tuple[str, str]], tag: Tag, leaf: Leaf) -> None:
        """Take the attributes that are properties of the value; the others are skipped, if it turns out to have
        content (protocol, 3.7)."""
        shape = leaf.shape
        leaf.attributes = []
        for name, value in attributes:
            holder = shape.items if isinstance(shape, ArrayShape) else shape
            is_open = tag.empty and not (holder.is_any or holder.is_text) and holder.knows(name, "")
            if holder.has_property(name) or is_open:
                child = Element(name, leaf.element.offset)
                child.text = decode_entities(value)
                leaf.element.children = [*(leaf.element.children or ()), child]
                message = f"the attribute {name!r} of <{tag.name}> was read as a property"
                self.note(Code.ATTRIBUTE_VALUE, leaf.element.offset, message, leaf.start)
            else:
                leaf.attributes.append((name, value))

    def _path_of(self, name: str, path: Path) -> Path:
        top = self._top
        key = "" if top.shape.is_list else name
        number = top.counts.get(key, 0)
        top.counts[key] = number + 1
        if top.shape.is_list:
            return (*path, number)
        return (*path, name, number) if number else (*path, name)

    def _read_attributes(self, tag: Tag, place: int, element: Element | None) -> list[tuple[str, str]]:
        """Take the attributes that mean something, and return others that have a value. Of what is no value, none means
        anything."""
        dialect, shape = self.dialect, self._top.shape
        unnamed = element is not None and not shape.has_property(tag.name)
        owner = self._base + tag.end
        seen = set()
        others: list[tuple[str, str]] = []
        for name, value, quoted in attributes_of(tag.attributes):
            says_name = False
            if unnamed and name == dialect.argument_name and value is not None:
                says_name = tag.name == dialect.argument or self._names(tag.name, decode_entities(value), shape)
            known = says_name or (name == dialect.nil and value in ("true", "false"))
            if element is None or value is None or name in seen or not known:
                if element is None or value is None or name in seen:
                    self._ignore(name, tag, place)
                else:
                    seen.add(name)
                    others.append((name, value))
                continue
            seen.add(name)
            if not quoted:
                self.note(Code.ATTRIBUTE_SYNTAX, place, f"the attribute {name!r} stood without quotes", owner)
            if name == dialect.nil:
                element.nil = value == "true"
                continue
            element.name = decode_entities(value).strip(SPACES)
            self.note_ampersands(value, 0, len(value), place, owner)
            if tag.name != dialect.argument:
                message = f"<{tag.name} {name}={value[:60]!r}> was read as the argument of that name"
                self.note(Code.ARGUMENT_TAG, place, message, owner)
        return others
