"""What was found out about an upstream: a line for each check, a count for each way to write calls, and what to run.

The fields are the keys of `xmltools doctor --json`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"
"""What comes of a check. Only what fails keeps `serve` from working."""
RESULTS = ("right", "repaired", "wrong", "rejected", "no_call", "cut", "error")
"""What comes of a task, the better results first: all calls that are right, and no other (or no call, where none was);
so, after repairs; calls that can be read, but others; a call that can't be read, or does not fit the schema; none; a
reply that was cut by its length before it was right; no reply."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, which stays, what came of it, a few words about that, and what to do about it."""

    name: str
    outcome: str
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to get calls out of the model, as `serve` has it. Without a dialect it is native: the upstream gets tools
    as they are, and reads the calls itself."""

    dialect: str | None
    prompt: str = "ours"
    upstream_tool_choice: str = "auto"
    grammar: str | None = None

    @property
    def words(self) -> str:
        """What to call it."""
        more = ", prompt of the upstream" * (self.prompt == "upstream")
        more += f", grammar for {self.grammar}" if self.grammar else ""
        return self.dialect + more if self.dialect else "native calls"


@dataclass(slots=True)
class Tried:
    """What came of the tasks in one way, and what the model said to each; why the rest was not tried."""

    way: Way
    results: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How often there was which result."""
        return {result: list(self.results.values()).count(result) for result in RESULTS}

    @property
    def good(self) -> int:
        """How many tasks came to what they should."""
        return self.counts["right"] + self.counts["repaired"]

    @property
    def rank(self) -> tuple[int, int, int]:
        """The better one is the greater one."""
        counts = self.counts
        return self.good, counts["right"], -counts["rejected"] - counts["error"]


@dataclass(slots=True)
class Report:
    """All that was found out so far: it is interrupted until the examination has ended. `latency` has seconds, and what
    is not known is None. `serve` are the words of the command to run, None if there is none that works."""

    upstream: str
    model: str | None = None
    engine: str | None = None
    ok: bool = False
    interrupted: bool = True
    requests: int = 0
    checks: list[Check] = field(default_factory=list)
    grammars: dict[str, str] = field(default_factory=dict)
    own_dialect: str | None = None
    named_dialect: str | None = None
    template_dialect: str | None = None
    tasks: list[Tried] = field(default_factory=list)
    latency: dict[str, float | None] | None = None
    serve: list[str] | None = None

    @property
    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [check.name for check in self.checks if check.outcome == FAILED]

    def to_json(self, *, show: bool = False) -> dict[str, Any]:
        """Return the report as JSON; what the model said is in it only with `show`."""
        tasks = [
            {
                **asdict(each.way),
                "results": each.results,
                **each.counts,
                "trouble": each.trouble or None,
                **({"said": {name: text[:_LONGEST] for name, text in each.said.items()}} if show else {}),
            }
            for each in self.tasks
        ]
        return {**asdict(self), "tasks": tasks}


def short(text: str, longest: int = _LONGEST) -> str:
    """Return a text of others as it may stand in a line: short, without line breaks and what can't be printed."""
    line = " ".join(text[: 4 * longest].split())
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
