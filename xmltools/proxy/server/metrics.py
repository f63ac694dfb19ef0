"""What the server counts, in the text format of Prometheus.

Each server has a registry of its own: with that of the process, two servers, as in tests, would count together.

Models are named by clients, and each name is a time series, so only the first hundred names are told apart.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from xmltools.proxy.bridge import Stats
from xmltools.proxy.server.logging import Names, Record

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_MODEL = "[^\ud800-\udfff]{1,128}"
"""Half characters, which JSON has and UTF-8 has not, are in no name."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_FRACTIONS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
_OUTCOMES = frozenset(("ok", "repaired", "unknown_tool", "truncated"))


class _Registry(CollectorRegistry):
    """A registry without the time at which each number began: that would be one more series for each."""

    def collect(self) -> Iterator[Metric]:
        for family in super().collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


class Metrics:
    """What the server counts. All but `streams` is counted once, when a request has been answered."""

    def __init__(self) -> None:
        self.registry = own = _Registry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"xmltools_{name}_total", about, labels, registry=own)

        def histogram(name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"xmltools_{name}_seconds", about, buckets=buckets, registry=own)

        self._requests = counter(
            "requests", "Requests that were answered.", "route", "model", "stream", "status", "outcome"
        )
        self._calls = counter("tool_calls", "Tool calls in replies, by what became of them.", "model", "outcome")
        self._diagnostics = counter("diagnostics", "Repairs of calls and errors in them, by code.", "code")
        self._retries = counter("retries", "Replies that were sent back to the model.")
        self._anomalies = counter(
            "anomalies", "Replies that lost something, or hold what nobody reads, by kind.", "kind"
        )
        self._ignored = counter("ignored_fields", "Fields of requests that nothing comes of here, by name.", "field")
        self._left_out = counter(
            "left_out_tools",
            "Tools of requests that only the provider runs, or that can't be read, by type.",
            "type",
        )
        self._ttft = histogram("upstream_ttft", "Until the upstream's first byte.", _SECONDS)
        self._overhead = histogram("overhead", "What translating a request and its answer took.", _FRACTIONS)
        self._first_argument = histogram("first_arg", "From the request to the first piece of an argument.", _SECONDS)
        self.streams = Gauge("xmltools_streams_active", "Streams that are open.", registry=own)
        self._models = Names(_MODEL)
        self._fields = Names()
        self._types = Names()

    def count(self, record: Record) -> None:
        """Take a request into account that has been answered."""
        model = self._models.known(record.model) if record.model else ""
        stream = str(record.stream).lower()
        self._requests.labels(record.route, model, stream, record.status, record.outcome).inc()
        if record.ttft is not None:
            self._ttft.observe(record.ttft)
        if record.first_argument is not None:
            self._first_argument.observe(record.first_argument)
        if record.stats is None:
            return
        self._overhead.observe(record.overhead)
        self._retries.inc(record.stats.retries)
        for outcome, number in Tally(map(_outcome, record.stats.calls)).items():
            self._calls.labels(model, outcome).inc(number)
        anomalies = {
            "all_output_lost": _is_lost(record.stats),
            "invented_result": record.stats.invented,
            "foreign_call": record.stats.foreign,
        }
        for kind in filter(anomalies.get, anomalies):
            self._anomalies.labels(kind).inc()
        for name in record.stats.ignored:
            self._ignored.labels(self._fields.known(name)).inc()
        for name in record.stats.left_out:
            self._left_out.labels(self._types.known(name)).inc()
        for code, number in (record.stats.repairs + record.stats.errors).items():
            self._diagnostics.labels(code).inc(number)

    def render(self) -> bytes:
        """Return the page."""
        return generate_latest(self.registry)


def _is_lost(stats: Stats) -> bool:
    """Return whether the upstream counted tokens of which nothing came here: it may have read the calls itself."""
    tokens = (stats.usage or {}).get("completion_tokens")
    is_silent = not (stats.text or stats.reasoning or stats.calls)
    # A choice that ends at once has one token, for its end.
    return is_silent and isinstance(tokens, int) and tokens > len(stats.finish_reasons) + stats.retries


def _outcome(outcome: str) -> str:
    return outcome if outcome in _OUTCOMES else "invalid"
