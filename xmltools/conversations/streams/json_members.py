"""The strings of a JSON object while its text still streams in.

Whether the text is JSON is judged when it is whole; nothing is told of what follows the first character that is wrong.
"""

from __future__ import annotations

from xmltools.syntax.json_scanner import JSONScanner, JSONSink

_DEPTH = 64


class _Members(JSONSink):
    """Gathers the strings of the top level: pairs of name and text."""

    __slots__ = ("depth", "found", "name")

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.name: str | None = None  # a list has none
        self.found: list[tuple[str, str]] = []

    def open(self, bracket: str, at: int, *, has_keys: bool) -> None:
        self.depth += 1

    def close(self, bracket: str, at: int) -> None:
        self.depth -= 1

    def key(self, key: str, quote: str, start: int, end: int) -> None:
        if self.depth == 1:
            self.name = key

    def begin(self, quote: str, at: int) -> None:
        self.tells = self.depth == 1 and self.name is not None and quote == '"'

    def text(self, text: str) -> None:
        self.found.append((self.name or "", text))


class MemberReader:
    """Reads the text of one object."""

    __slots__ = ("_members", "_scanner")

    def __init__(self) -> None:
        self._members = _Members()
        self._scanner = JSONScanner(_DEPTH, sink=self._members)

    @property
    def done(self) -> bool:
        """Whether the closing brace was read, or something that is not JSON."""
        return self._scanner.done or self._scanner.error != ""

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take more text; return what it adds to the strings of the top level, as pairs of name and text."""
        self._members.found = []
        self._scanner.scan(text, 0)
        return self._members.found

    def text(self, text: str) -> str:
        """Take more text; return what it adds to the only string of the top level, whatever its name is."""
        return "".join(value for _, value in self.feed(text))
