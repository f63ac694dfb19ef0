"""What was found out about an upstream: a line for each check, a count for each way to write calls, and what to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from xmltools.dialects import FORGE

_LONGEST = 200


class Outcome(StrEnum):
    """What came of a check. Only what fails keeps `serve` from working."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, which stays, what came of it, a few words about that, and what to do about it."""

    name: str
    outcome: Outcome
    detail: str
    advice: str = ""


class Grammar(StrEnum):
    """What an upstream does with the fields by which an engine takes a grammar."""

    OBEYED = "obeyed"
    IGNORED = "ignored"
    REFUSED = "refused"


class Result(StrEnum):
    """What came of a task."""

    RIGHT = "right"
    """All calls that are right, and no other; or no call, where none was."""
    REPAIRED = "repaired"
    """So, after repairs."""
    WRONG = "wrong"
    """Calls that can be read, but others."""
    REJECTED = "rejected"
    """A call that gives none: it can't be read, or does not fit the schema."""
    NO_CALL = "no_call"
    CUT = "cut"
    """The reply was cut by its length before it was right."""
    ERROR = "error"
    """There was no reply."""


GOOD = (Result.RIGHT, Result.REPAIRED)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to get calls out of the model: the dialect, who writes the prompt (as for `serve`), the engine that gets a
    grammar. A way is native if the upstream gets tools as they are and reads the calls itself."""

    dialect: str = FORGE.name
    prompt: str = "ours"
    tool_choice: str = "auto"
    grammar: str | None = None
    is_native: bool = False

    @property
    def words(self) -> str:
        """What to call it."""
        if self.is_native:
            return "native calls"
        said = [self.dialect]
        if self.prompt == "upstream":
            said.append("prompt of the upstream")
        if self.grammar is not None:
            said.append(f"grammar for {self.grammar}")
        return ", ".join(said)


@dataclass(slots=True)
class Tried:
    """What came of the tasks in one way, and what the model said to each; why the rest was not tried."""

    way: Way
    results: dict[str, Result] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    @property
    def counts(self) -> Counter[Result]:
        """How often there was which result."""
        return Counter(self.results.values())

    @property
    def by_result(self) -> dict[Result, list[str]]:
        """The results that there were, the better ones first, each with its tasks."""
        found = {result: [name for name, each in self.results.items() if each is result] for result in Result}
        return {result: names for result, names in found.items() if names}

    @property
    def good(self) -> int:
        """How many tasks came to what they should."""
        return sum(result in GOOD for result in self.results.values())

    @property
    def rank(self) -> tuple[int, int, int]:
        """The better one is the greater one."""
        counts = self.counts
        return self.good, counts[Result.RIGHT], -counts[Result.REJECTED] - counts[Result.ERROR]


@dataclass(slots=True)
class Latency:
    """How fast the model speaks, in seconds. What is not known is None."""

    first_token_seconds: float
    characters_per_second: float | None = None
    tokens_per_second: float | None = None


@dataclass(slots=True)
class Report:
    """All that was found out so far. `serve` are the words of the command to run, None if there is none that works."""

    upstream: str
    model: str | None = None
    engine: str | None = None
    checks: list[Check] = field(default_factory=list)
    grammars: dict[str, Grammar] = field(default_factory=dict)
    own_dialect: str | None = None
    named_dialect: str | None = None
    template_dialect: str | None = None
    tried: list[Tried] = field(default_factory=list)
    latency: Latency | None = None
    serve: list[str] | None = None
    requests: int = 0
    is_interrupted: bool = False

    def outcome(self, name: str) -> Outcome | None:
        """What came of a check; None if it was not made."""
        return next((check.outcome for check in self.checks if check.name == name), None)

    @property
    def is_ok(self) -> bool:
        """Whether all that `serve` needs was checked and works."""
        return not self.is_interrupted and all(check.outcome is not Outcome.FAILED for check in self.checks)

    def to_json(self, *, show: bool = False) -> dict[str, Any]:
        """Return the report as JSON; what the model said is in it only with `show`."""
        return {
            "upstream": self.upstream,
            "model": self.model,
            "engine": self.engine,
            "ok": self.is_ok,
            "interrupted": self.is_interrupted,
            "requests": self.requests,
            "checks": [asdict(check) for check in self.checks],
            "grammars": dict(self.grammars),
            "own_dialect": self.own_dialect,
            "named_dialect": self.named_dialect,
            "template_dialect": self.template_dialect,
            "tasks": [_tried(each, show) for each in self.tried],
            "latency": asdict(self.latency) if self.latency is not None else None,
            "serve": self.serve,
        }


def _tried(tried: Tried, show: bool) -> dict[str, Any]:
    way = tried.way
    counts = tried.counts
    said = {"said": {name: text[:_LONGEST] for name, text in tried.said.items()}} if show else {}
    return {
        "dialect": None if way.is_native else way.dialect,
        "prompt": way.prompt,
        "upstream_tool_choice": way.tool_choice,
        "grammar": way.grammar,
        "results": dict(tried.results),
        **{result.value: counts[result] for result in Result},
        "trouble": tried.trouble or None,
        **said,
    }


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a text of others as it may stand in a line: short, without line breaks and what can't be printed."""
    line = " ".join(text[: 4 * longest].split())
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names in a line, the first of many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(short(name, 60) for name in names[:most])}{more}"
