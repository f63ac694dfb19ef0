"""Validation: which values of a converted call do not fit the schema, where, and what was expected there."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from xmltools.tools.schema.context import Context, Steps
from xmltools.tools.schema.document import NEVER, Document, Node
from xmltools.tools.schema.equality import Path, Problem, is_one_of
from xmltools.tools.schema.keywords import CHECKS


class ExhaustedError(Exception):
    """The schema takes more steps than the checker was given."""


@dataclass(slots=True, eq=False)
class _Frame:
    """A check that has begun: its steps, under which key its outcome is remembered, and whether it fits so far."""

    steps: Steps
    key: tuple[int, int] | None
    asked: bool
    fits: bool = True


class Checker(Context):
    """Checks values against the nodes of one document.

    Each pair of a node and a value is checked once, by whatever ways the schema leads there: references can double
    these at each step. Values must not change while the checker lives. `steps`: how many pairs it may look at before it
    raises ExhaustedError.
    """

    __slots__ = ("_kept", "_known", "_left", "_told")

    def __init__(self, document: Document, steps: float = math.inf) -> None:
        super().__init__(document)
        self._left = steps
        self._known: dict[tuple[int, int], bool] = {}
        self._kept: dict[int, Any] = {}
        self._told: set[tuple[int, int, Path]] = set()

    def problems(self, node: Node, value: Any, path: Path = ()) -> Iterator[Problem]:
        """Yield all that is wrong with `value`, which stands at `path`; what is wrong with a node there only once."""
        self._told.clear()
        return self._run(node, value, path)

    def fits(self, node: Node, value: Any) -> bool:
        """Return whether `value` is valid."""
        try:
            next(self._run(node, value, None))
        except StopIteration as stop:
            return bool(stop.value)
        raise AssertionError("who only asks is told of no problems")

    def explained(self, node: Node, name: str) -> list[Problem]:
        """Return what is wrong with a name, for a check that runs."""
        return list(self._run(node, name, ()))

    def _run(self, node: Node, value: Any, path: Path | None) -> Generator[Problem, None, bool]:
        """Yield problems, or none where there is no path; return whether the value fits."""
        root = self._frame(node, value, path, self._key(node, value))
        stack = [root]
        asking = int(root.asked)  # how many of the frames only want to know whether something fits
        answer: bool | None = None
        while stack:
            try:
                request = stack[-1].steps.send(answer)
            except StopIteration:
                frame = stack.pop()
                self._learn(frame, frame.fits)
                answer = frame.fits
                asking -= frame.asked
                continue
            if isinstance(request, Problem):
                if asking:
                    self._fail(stack)
                    asking -= 1
                    answer = False
                    continue
                _spoil(stack)
                yield request
                continue
            node, value, path = request
            self._left -= 1
            if self._left < 0:
                raise ExhaustedError
            key = self._key(node, value)
            answer = self._known.get(key) if key else None
            if answer or (answer is False and path is None):
                continue
            place = (*key, path) if key and path is not None and not asking else None
            if answer is False and asking:
                self._fail(stack)
                asking -= 1
            elif place in self._told:
                _spoil(stack)
            else:
                if place:
                    self._told.add(place)
                frame = self._frame(node, value, path, key)
                stack.append(frame)
                asking += frame.asked
                answer = None
        return root.fits

    def likely(self, nodes: list[Node], value: Any) -> Node | None:
        """Return the alternative that a container was meant for: the one of its type, or that it names."""
        asked = self.choose(nodes, value)
        try:
            request = next(asked)
            while True:
                request = asked.send(self.fits(request.node, request.value))
        except StopIteration as stop:
            found: Node | None = stop.value
            return found

    def _key(self, node: Node, value: Any) -> tuple[int, int] | None:
        """Return under what something is remembered about a pair; None if it is too simple for that."""
        if isinstance(value, (dict, list)) or id(node) in self.document.linked:
            self._kept[id(value)] = value  # so that no other value gets its identity
            return id(node), id(value)
        return None

    def _frame(self, node: Node, value: Any, path: Path | None, key: tuple[int, int] | None) -> _Frame:
        return _Frame(self._steps(node, value, path or ()), key, path is None)

    def _learn(self, frame: _Frame, fits: bool) -> None:
        frame.fits = fits
        if frame.key:
            self._known[frame.key] = fits

    def _fail(self, stack: list[_Frame]) -> None:
        """End all checks up to the one of which only was asked whether something fits: it does not."""
        while True:
            frame = stack.pop()
            frame.steps.close()
            self._learn(frame, False)
            if frame.asked:
                return

    def _steps(self, node: Node, value: Any, path: Path) -> Steps:
        # A value of another type would only fail at everything else too.
        types = node.get("type")
        if types is not None and not is_one_of(value, types):
            yield from CHECKS["type"](self, types, node, value, path)
            return
        if NEVER in node:
            yield from CHECKS[NEVER](self, True, node, value, path)
            return
        for keyword, argument in node.items():
            check = CHECKS.get(keyword)
            if check and keyword != "type":
                yield from check(self, argument, node, value, path)


def _spoil(stack: list[_Frame]) -> None:
    for frame in stack:
        frame.fits = False
