"""Whether a rival gets the calls right, whatever the chunks; and if not, what went wrong."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from _rivals._dialects import Call, Reply, wanted, write
from _rivals._rival import Rival, Run

__all__ = ["CHUNKS", "Verdict", "judge", "placeless", "problem"]

CHUNKS = (1, 2, 3, 4, 5, 7, 11, 16, 23, 64, 0)
PLACE = re.compile(r"[,:]? \(?(?:line \d+|<string>).*|: near .*| \(char.*")


class Verdict(NamedTuple):
    """`wrong` says what went wrong, chunk size by chunk size where it did."""

    wrong: dict[int, str]

    @property
    def mark(self) -> str:
        if not self.wrong:
            return "yes"
        return "no" if len(self.wrong) == len(CHUNKS) else "some"

    @property
    def reason(self) -> str:
        """The reasons, with the sizes of the chunks if it is right in others."""
        by_reason: dict[str, list[str]] = {}
        for size, reason in self.wrong.items():
            by_reason.setdefault(reason, []).append(str(size or "whole"))
        if self.mark == "no" and len(by_reason) == 1:
            return next(iter(by_reason))
        return "; ".join(f"{reason} (chunks of {', '.join(sizes)})" for reason, sizes in by_reason.items())


def difference(got: Any, want: Any) -> str:
    """How a value differs, for those ways that have a name."""
    if isinstance(got, dict) and isinstance(want, dict) and got.keys() == want.keys():
        return "; ".join({difference(got[key], want[key]) for key in want if got[key] != want[key]})
    if isinstance(got, dict) and isinstance(want, dict):
        return "arguments missing" if got.keys() < want.keys() else "other arguments"
    if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        return "; ".join({difference(a, b) for a, b in zip(got, want, strict=True) if a != b})
    if isinstance(want, bool | int) and isinstance(got, str):
        return "numbers and booleans as text"
    if not isinstance(got, str) or not isinstance(want, str):
        return "another type"
    if got.strip() == want.strip():
        return "white space lost"
    return "value cut short" if want.startswith(got.rstrip()) else "another value"


def placeless(error: str) -> str:
    """An error without the place where it was."""
    return PLACE.sub("", error)


def problem(run: Run, want: list[Call]) -> str:
    """What went wrong, or nothing."""
    if run.calls == want:
        return ""
    if run.stopped:
        return "no end"
    if run.calls is None:
        return placeless(run.error)
    if len(run.calls) != len(want):
        return f"{len(run.calls) or 'no'} call{'s' * (len(run.calls) > 1)}" + (f" of {len(want)}" * (len(want) > 1))
    return "; ".join(
        "another name" if got.name != call.name else difference(got.arguments, call.arguments)
        for got, call in zip(run.calls, want, strict=True)
        if got != call
    )


def judge(rival: Rival, reply: Reply) -> Verdict:
    """Read the reply in chunks of each size."""
    text, want = write(reply, rival.dialect), wanted(reply, rival.dialect)
    found = {size: problem(rival.measure(text, size, 5), want) for size in CHUNKS}
    return Verdict({size: reason for size, reason in found.items() if reason})
