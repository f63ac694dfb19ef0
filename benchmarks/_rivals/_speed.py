"""The clock: every rival over every text, in turns with us; and how its time grows with the size of an argument."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from math import ceil, log
from typing import NamedTuple

from _rivals._correct import problem
from _rivals._dialects import Reply, wanted, write
from _rivals._rival import Rival
from _rivals._texts import diff_reply

__all__ = ["Budget", "Cell", "Curve", "growth", "times"]

LOOP = 0.003  # seconds: what takes less is measured as the mean of several runs


class Budget(NamedTuple):
    """How long all this may take: seconds for one run, rounds, chunk sizes (0: whole), and the largest growth text."""

    cap: float
    rounds: int
    chunks: tuple[int, ...]
    growth_top: int


class Cell(NamedTuple):
    """A rival on a text. `seconds` and `ratio` are medians; of a run that was stopped, what it took until then."""

    seconds: float = 0.0
    ratio: float = 0.0
    wrong: str = ""  # what was wrong with the calls
    error: str = ""
    stopped: str = ""  # how far it came


def loops_for(seconds: float) -> int:
    return max(1, ceil(LOOP / max(seconds, 1e-6)))


class Contest:
    """One text in chunks of one size: a first run of each rival, which also shows whether it is right, then rounds."""

    def __init__(self, rivals: Sequence[Rival], reply: Reply, chunk: int, budget: Budget) -> None:
        self.reply, self.chunk, self.budget = reply, chunk, budget
        self.texts = {rival.dialect: write(reply, rival.dialect) for rival in rivals}
        self.cells: dict[str, Cell] = {}
        self.loops: dict[str, int] = {}
        for rival in rivals:
            self.cells[rival.name] = self.first(rival)

    def first(self, rival: Rival) -> Cell:
        text = self.texts[rival.dialect]
        run = rival.measure(text, self.chunk, self.budget.cap)
        self.loops[rival.name] = loops_for(run.seconds)
        if run.error:
            return Cell(error=run.error)
        if run.stopped:
            place = f"stopped at {kilobytes(run.share * len(text))}" if self.chunk else "stopped before its end"
            return Cell(run.seconds, stopped=place)
        return Cell(run.seconds, wrong=problem(run, wanted(self.reply, rival.dialect)))

    def again(self, rival: Rival) -> float:
        """Seconds of one more run."""
        return rival.measure(self.texts[rival.dialect], self.chunk, 4 * self.budget.cap, self.loops[rival.name]).seconds

    def rounds(self, rivals: Sequence[Rival]) -> None:
        """Take turns. Who is slow takes fewer turns; who was stopped takes none, and is compared by its lower bound."""
        ours, *others = rivals
        times: dict[str, list[float]] = {rival.name: [] for rival in rivals}
        ratios: dict[str, list[float]] = {rival.name: [] for rival in rivals}
        for number in range(self.budget.rounds):
            base = self.again(ours)
            times[ours.name].append(base)
            for rival in others:
                cell = self.cells[rival.name]
                if cell.error or cell.stopped or number * cell.seconds > 2 * self.budget.cap:
                    continue
                times[rival.name].append(self.again(rival))
                ratios[rival.name].append(times[rival.name][-1] / base)
        self.settle(ours.name, times, ratios)

    def settle(self, ours: str, times: dict[str, list[float]], ratios: dict[str, list[float]]) -> None:
        base = statistics.median(times[ours])
        for name, cell in self.cells.items():
            if cell.stopped:
                self.cells[name] = cell._replace(ratio=cell.seconds / base)
            elif times[name]:
                ratio = statistics.median(ratios[name] or [1.0])
                self.cells[name] = cell._replace(seconds=statistics.median(times[name]), ratio=ratio)


def kilobytes(count: float) -> str:
    return f"{count / 1000:,.0f} KB" if count >= 1000 else f"{count:.0f} characters"


def times(
    rivals: Sequence[Rival], replies: Sequence[Reply], budget: Budget
) -> Iterator[tuple[str, int, dict[str, Cell]]]:
    """Name of the text, size of the chunks, and a cell for each rival, us first."""
    given_up: set[tuple[str, int]] = set()
    for reply in replies:
        for chunk in budget.chunks:
            late = {name for name, size in given_up if size == chunk} if reply.name.endswith("diff") else set()
            able = [rival for rival in rivals if rival.name not in late and (reply.form != "json" or reads_json(rival))]
            contest = Contest(able, reply, chunk, budget)
            contest.rounds(able)
            cells = contest.cells
            for name in late:
                cells[name] = Cell(stopped="not tried")
            if reply.name.endswith("diff"):
                given_up |= {(name, chunk) for name, cell in cells.items() if cell.stopped}
            yield reply.name, chunk, cells


def reads_json(rival: Rival) -> bool:
    """Whether the rival has calls with a JSON body: those of our protocol, or all in a dialect of its own."""
    return rival.json_body or rival.dialect != "xml"


class Curve(NamedTuple):
    """Median seconds by size of the argument, and what ended the curve early."""

    points: dict[int, float]
    ended: str = ""

    @property
    def exponent(self) -> float | None:
        """The slope of log time over log size, of the upper sizes: 1 is linear, 2 quadratic."""
        rows = [(log(size), log(time)) for size, time in self.points.items() if time > 0.0005][-4:]
        return statistics.linear_regression(*zip(*rows, strict=True)).slope if len(rows) > 2 else None


def growth(rivals: Sequence[Rival], chunk: int, budget: Budget) -> dict[str, Curve]:
    """Double a diff until it is large enough or takes longer than the cap. All rivals take turns at each size."""
    curves = {rival.name: Curve({}) for rival in rivals}
    size = 4_000
    while size <= budget.growth_top:
        running = [rival for rival in rivals if not curves[rival.name].ended]
        reply = diff_reply(size)
        runs: dict[str, list[float]] = {rival.name: [] for rival in running}
        for _ in range(3):
            for rival in running:
                turn(rival, reply, chunk, budget, runs[rival.name], curves)
        for name, found in runs.items():
            if found and not curves[name].ended:
                curves[name].points[size] = statistics.median(found)
                # The next size would take two to four times as long.
                if min(found) > budget.cap / 2:
                    curves[name] = curves[name]._replace(ended="cap")
        size *= 2
    return curves


def turn(rival: Rival, reply: Reply, chunk: int, budget: Budget, found: list[float], curves: dict[str, Curve]) -> None:
    """One run of one rival; none if it has had its time at this size, or is out."""
    if curves[rival.name].ended or sum(found) > budget.cap / 2:
        return
    run = rival.measure(write(reply, rival.dialect), chunk, 2 * budget.cap)
    if run.calls is None:
        curves[rival.name] = curves[rival.name]._replace(ended=run.error or "cap")
    else:
        found.append(run.seconds)
