"""What a grammar cannot hold a model to: listed, never left out in silence."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GrammarIssue", "Report"]


@dataclass(frozen=True, slots=True)
class GrammarIssue:
    """A keyword of a tool's schema that its grammar does not express.

    `place` is the path of the argument, such as `files[].path`; empty for the arguments as a whole.
    """

    tool: str
    place: str
    keyword: str
    message: str

    def __str__(self) -> str:
        place = f"{self.tool}.{self.place}" if self.place else self.tool
        return f"{place}: {self.keyword}: {self.message}"


class Report:
    """Collects the issues of one tool, each once."""

    __slots__ = ("_issues", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self._issues: dict[GrammarIssue, None] = {}

    def add(self, place: str, keyword: str, message: str) -> None:
        """Take down that `keyword` at `place` is not expressed."""
        self._issues[GrammarIssue(self.tool, place, keyword, message)] = None

    @property
    def issues(self) -> list[GrammarIssue]:
        """The issues, in the order in which they were found."""
        return list(self._issues)
