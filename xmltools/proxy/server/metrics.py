"""Counters, a gauge and histograms in the text format of Prometheus.

They are written by hand: the format is a page of rules, and the library that prints it keeps its numbers in one
registry for the whole process, where two servers, as in tests, would count together.

Models are named by clients, and each name is a time series, so only the first hundred names are told apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from xmltools.proxy.bridge import Stats
from xmltools.proxy.server.names import Names
from xmltools.proxy.server.record import Record

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_MODEL = r"(?s:.){1,128}"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_FRACTIONS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
_OUTCOMES = frozenset(("ok", "repaired", "unknown_tool", "truncated"))

Labels = tuple[tuple[str, str], ...]


class _Counter:
    """One number for each set of labels."""

    kind = "counter"

    def __init__(self, name: str, help: str) -> None:
        self.name = name
        self.help = help
        self._values: Counter[Labels] = Counter()

    def add(self, amount: int = 1, **labels: str) -> None:
        self._values[tuple(labels.items())] += amount

    def lines(self) -> Iterator[str]:
        for labels, value in self._values.items():
            yield f"{self.name}{_written(labels)} {value}"


class _Gauge(_Counter):
    """A number without labels that also falls."""

    kind = "gauge"

    def lines(self) -> Iterator[str]:
        yield f"{self.name} {self._values[()]}"


class _Histogram:
    """How often a number was at most this, for some bounds."""

    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: tuple[float, ...]) -> None:
        self.name = name
        self.help = help
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float | None) -> None:
        if value is not None:
            self._counts[bisect_left(self._bounds, value)] += 1
            self._sum += value

    def lines(self) -> Iterator[str]:
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{self.name}_bucket{{le="{bound}"}} {total}'
        yield f"{self.name}_sum {self._sum!r}"
        yield f"{self.name}_count {total}"


class Metrics:
    """What the server counts."""

    def __init__(self) -> None:
        self.requests = _Counter("xmltools_requests_total", "Requests that were answered.")
        self.calls = _Counter("xmltools_tool_calls_total", "Tool calls in replies, by what became of them.")
        self.diagnostics = _Counter("xmltools_diagnostics_total", "Repairs of calls and errors in them, by code.")
        self.retries = _Counter("xmltools_retries_total", "Replies that were sent back to the model.")
        self.anomalies = _Counter(
            "xmltools_anomalies_total", "Replies that lost something, or hold what nobody reads, by kind."
        )
        self.ignored = _Counter(
            "xmltools_ignored_fields_total", "Fields of requests that nothing comes of here, by name."
        )
        self.left_out = _Counter(
            "xmltools_left_out_tools_total", "Tools of requests that only the provider runs, by type."
        )
        self.ttft = _Histogram("xmltools_upstream_ttft_seconds", "Until the upstream's first byte.", _SECONDS)
        self.overhead = _Histogram(
            "xmltools_overhead_seconds", "What translating a request and its answer took.", _FRACTIONS
        )
        self.first_argument = _Histogram(
            "xmltools_first_arg_seconds", "From the request to the first piece of an argument.", _SECONDS
        )
        self.streams = _Gauge("xmltools_streams_active", "Streams that are open.")
        self._models = Names(_MODEL)
        self._fields = Names()
        self._types = Names()

    def count(self, record: Record) -> None:
        """Take a request into account that has been answered."""
        model = self._models.known(record.model) if record.model else ""
        stream = str(record.stream).lower()
        self.requests.add(
            route=record.route, model=model, stream=stream, status=str(record.status), outcome=record.outcome
        )
        self.ttft.observe(record.ttft)
        self.first_argument.observe(record.first_argument)
        if record.stats is None:
            return
        self.overhead.observe(record.overhead)
        self.retries.add(record.stats.retries)
        for outcome, number in Counter(map(_outcome, record.stats.calls)).items():
            self.calls.add(number, model=model, outcome=outcome)
        if _is_lost(record.stats):
            self.anomalies.add(kind="all_output_lost")
        if record.stats.invented:
            self.anomalies.add(kind="invented_result")
        if record.stats.foreign:
            self.anomalies.add(kind="foreign_call")
        for name in record.stats.ignored:
            self.ignored.add(field=self._fields.known(name))
        for name in record.stats.left_out:
            self.left_out.add(type=self._types.known(name))
        for code, number in (record.stats.repairs + record.stats.errors).items():
            self.diagnostics.add(number, code=code)

    def render(self) -> bytes:
        """Return the page."""
        return "".join(f"{line}\n" for line in self._lines()).encode("utf-8", "replace")

    def _lines(self) -> Iterator[str]:
        families: Iterable[_Counter | _Histogram] = (
            self.requests,
            self.calls,
            self.diagnostics,
            self.retries,
            self.anomalies,
            self.ignored,
            self.left_out,
            self.ttft,
            self.overhead,
            self.first_argument,
            self.streams,
        )
        for family in families:
            yield f"# HELP {family.name} {family.help}"
            yield f"# TYPE {family.name} {family.kind}"
            yield from family.lines()


def _is_lost(stats: Stats) -> bool:
    """Return whether the upstream counted tokens of which nothing came here: it may have read the calls itself."""
    tokens = (stats.usage or {}).get("completion_tokens")
    is_silent = not (stats.text or stats.reasoning or stats.calls)
    # A choice that ends at once has one token, for its end.
    return is_silent and isinstance(tokens, int) and tokens > len(stats.finish_reasons)


def _outcome(outcome: str) -> str:
    return outcome if outcome in _OUTCOMES else "invalid"


def _written(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
