"""What a grammar cannot hold a model to: listed, never left out in silence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xmltools.tools.schema import Shape, other_keywords


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

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self._issues: dict[GrammarIssue, None] = {}

    def add(self, place: str, keyword: str, message: str) -> None:
        """Take down that `keyword` at `place` is not expressed."""
        self._issues[GrammarIssue(self.tool, place, keyword, message)] = None

    def add_others(
        self, place: str, shape: Shape, known: Iterable[str] = (), *, where: str = "", of_any_type: bool = False
    ) -> None:
        """Take down the keywords that restrict values of a shape, but for those that are known to the caller.

        `of_any_type`: the values are of any type, where the schema leaves that open.
        """
        for word in other_keywords(shape, frozenset(known), of_any_type=of_any_type):
            self.add(place, word, f"is not enforced{where}")

    @property
    def issues(self) -> list[GrammarIssue]:
        """The issues, in the order in which they were found."""
        return list(self._issues)
