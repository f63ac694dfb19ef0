"""Spans with the names of OpenTelemetry's GenAI conventions, if `opentelemetry-api` is installed.

Whether they go anywhere is the host's choice: without an SDK they cost next to nothing. They hold no content. Without
the library, the client's trace context is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from xmltools import __version__
from xmltools.proxy.server.logging import Record, tokens_of

try:
    from opentelemetry import propagate, trace
except ImportError:
    HAS_OPENTELEMETRY = False
else:
    HAS_OPENTELEMETRY = True

_PASSED = (b"traceparent", b"tracestate")
_SAMPLING = {
    "max_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "seed": "gen_ai.request.seed",
    "n": "gen_ai.request.choice.count",
}


def trace_headers(scope: MutableMapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return the headers by which the upstream's spans join the trace: those of our span, or of the client's."""
    carrier: dict[str, str] = {}
    if HAS_OPENTELEMETRY and trace.get_current_span().get_span_context().is_valid:
        propagate.inject(carrier)
        return [(name.lower().encode(), value.encode()) for name, value in carrier.items()]
    return [(name, value) for name, value in scope["headers"] if name in _PASSED]


@contextmanager
def spanning(
    scope: MutableMapping[str, Any], record: Record, request: Mapping[str, Any], server: str
) -> Iterator[None]:
    """Keep a span open for an exchange with the model at `server`; `request` is the body of the upstream's request."""
    if not HAS_OPENTELEMETRY:
        yield
        return
    given = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"] if name in _PASSED}
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",  # by the conventions: whoever speaks OpenAI's API, if no more is known
        "server.address": server,
        "gen_ai.request.model": record.model,
        "gen_ai.request.stream": record.stream,
    }
    attributes |= {name: request[key] for key, name in _SAMPLING.items() if isinstance(request.get(key), (int, float))}
    stops = request.get("stop")
    if isinstance(stops, list) and all(isinstance(each, str) for each in stops):
        attributes["gen_ai.request.stop_sequences"] = stops
    with trace.get_tracer("xmltools", __version__).start_as_current_span(
        f"chat {record.model}" if record.model else "chat",
        context=propagate.extract(given),
        kind=trace.SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,  # its message may have content
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        finally:
            span.set_attributes(_response_attributes(record))
            if record.outcome not in ("ok", "client_left"):
                span.set_status(trace.StatusCode.ERROR)


def _response_attributes(record: Record) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if record.ttft is not None:
        attributes["gen_ai.response.time_to_first_chunk"] = record.ttft
    if record.outcome != "ok":
        attributes["error.type"] = record.outcome
    if (stats := record.stats) is not None:
        attributes |= {f"gen_ai.usage.{name}": number for name, number in tokens_of(stats).items()}
        attributes |= {
            "gen_ai.response.finish_reasons": [*stats.finish_reasons],
            "xmltools.calls": len(stats.calls),
            "xmltools.diagnostics": sorted({*stats.repairs, *stats.errors}),
            "xmltools.retries": stats.retries,
        }
    return attributes
