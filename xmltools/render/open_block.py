"""What a model that was cut off inside a block still has to close."""

from __future__ import annotations

from xmltools.dialects import FORGE
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    SPACES,
    Tag,
    read_cdata_open,
    read_end_tag,
    read_opener,
    read_start_tag,
    skip_space,
)
from xmltools.tools.schema import Shape

__all__ = ["OpenElements"]


class OpenElements:
    """Finds what is open at the end of a block that was cut off, and gives up where it is not sure.

    `source` is the block as far as it came, `arguments` the shape of the tool's arguments (ANY if that is not known).
    """

    def __init__(self, source: str, arguments: Shape) -> None:
        self._source = source
        self._arguments = arguments
        self._tags = [FORGE.block]
        self._shapes: list[Shape] = [arguments]
        self._at = 0
        self._is_leaf = False
        self._is_new = False  # nothing stands yet in the innermost element
        self._has_markup = False  # the leaf holds tags

    def read(self) -> tuple[list[str], bool] | None:
        """Return the tags that are open, outermost first, and whether CDATA is; None if that cannot be told."""
        source = self._source
        opener = read_opener(source, 0, FORGE.block)
        if not opener or not source.startswith("<", skip_space(source, opener.end)):
            return None
        self._at = opener.end
        while (start := source.find("<", self._at)) >= 0:
            if not self._is_leaf and source[self._at : start].strip(SPACES):
                if not self._is_new:
                    return None
                self._is_leaf = True
            known = self._markup(start)
            if known is MORE:
                break
            if not known:
                return None
        return self._tags, self._at < 0

    def _markup(self, start: int) -> bool | None:
        """Read what begins at a `<`. True if it is clear what it is, MORE if the text ends in it or in its section."""
        source = self._source
        opened = read_cdata_open(source, start)
        if opened:
            return self._section(start + len(opened))
        if opened is MORE:
            return MORE
        if source.startswith("<!--", start) and not self._is_leaf:
            self._at = source.find("-->", start) + 3
            return self._at > 2
        end_tag = source.startswith("</", start)
        tag = read_end_tag(source, start) if end_tag else read_start_tag(source, start)
        if tag is MORE:
            return MORE
        if self._is_leaf and not (tag and end_tag and tag.name == self._tags[-1]):
            return self._content(start, tag.name if tag and end_tag else "")
        if not tag:
            return False
        self._at = tag.end
        return self._leave(tag) if end_tag else self._enter(tag)

    def _content(self, start: int, end_tag: str) -> bool:
        """Read markup in a leaf. It is content, but an end tag may have been meant to close the leaf."""
        if end_tag and (not self._has_markup or end_tag in self._tags):
            return False
        self._at = start + 1
        self._has_markup = True
        return True

    def _enter(self, tag: Tag) -> bool:
        if tag.empty:
            self._is_new = False
            return True
        depth = len(self._tags)
        is_arguments = depth == 1 and tag.name == FORGE.arguments
        self._shapes.append(self._arguments if is_arguments else self._shapes[-1].child(tag.name))
        self._is_leaf = (depth == 1 and tag.name in (FORGE.tool_name, FORGE.server_name)) or self._shapes[-1].is_text
        self._is_new = not is_arguments
        self._has_markup = False
        self._tags.append(tag.name)
        return True

    def _leave(self, tag: Tag) -> bool:
        self._is_leaf = self._is_new = False
        self._shapes.pop()
        return self._tags.pop() == tag.name and bool(self._tags)

    def _section(self, start: int) -> bool | None:
        """Read a CDATA section to the `]]>` that ends it, by what follows (protocol, 4.7)."""
        if self._has_markup or not (self._is_leaf or self._is_new):
            return False
        self._is_leaf = True
        source = self._source
        while (start := source.find("]]>", start) + 3) > 2:
            following = source.find("]]>", start)
            markup = source.find("<", start, following if following >= 0 else len(source))
            if markup < 0 and following < 0:
                self._at = -1 if source[start:].strip(SPACES) else start  # text after it: it was content
                return MORE
            ends = (CDATA_OPEN, "<!--", f"</{self._tags[-1]}")
            if markup >= 0 and any(end.startswith(source[markup : markup + len(end)]) for end in ends):
                self._at = markup  # it stands there, or the text ends in it
                return True
            start = max(start, markup)
        self._at = -1
        return MORE
