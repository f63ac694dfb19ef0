"""The strings of a JSON object while its text still streams in.

Whether the text is JSON is judged when it is whole; nothing is told of what follows the first character that is wrong.
"""

from __future__ import annotations

from xmltools.syntax.json_scanner import NEXT, JSONScanner

_DEPTH = 64


class MemberReader(JSONScanner):
    """Reads the text of one object."""

    def __init__(self) -> None:
        super().__init__(_DEPTH)
        self._found: list[tuple[str, str]] = []  # pairs of name and text
        self._rest = ""  # what more text decides

    @property
    def is_over(self) -> bool:
        """Whether the closing brace was read, or something that is not JSON."""
        return self.done or self.error != ""

    def on_value(self) -> bool:
        """The strings of the top level are wanted; a list has none."""
        return self._inside == '"' and self.stack == ["}"] and self.key is not None

    def on_text(self, text: str) -> None:
        """Keep the text of such a string."""
        if self.expect != NEXT:  # two strings in a row are no JSON
            self._found.append((self.key or "", text))

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take more text; return what it adds to the strings of the top level, as pairs of name and text."""
        self._found = []
        text = self._rest + text
        at = self.scan(text, 0)
        self._rest = "" if self.is_over else text[at:]
        return self._found

    def text(self, text: str) -> str:
        """Take more text; return what it adds to the only string of the top level, whatever its name is."""
        return "".join(value for _, value in self.feed(text))
