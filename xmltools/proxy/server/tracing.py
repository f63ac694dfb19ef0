"""Spans with the names of OpenTelemetry's GenAI conventions, if `opentelemetry-api` is installed.

Whether they go anywhere is the host's choice: without an SDK they cost next to nothing. They hold no content. Without
the library, the client's trace context is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from xmltools import __version__
from xmltools.proxy.server.logging import Record

try:
    from opentelemetry import context, propagate, trace
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
_USAGE = {"prompt_tokens": "gen_ai.usage.input_tokens", "completion_tokens": "gen_ai.usage.output_tokens"}


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
    span = trace.get_tracer("xmltools", __version__).start_span(
        f"chat {record.model}" if record.model else "chat",
        context=propagate.extract(given),
        kind=trace.SpanKind.CLIENT,
        attributes=dict(_request_attributes(record, request, server)),
    )
    token = context.attach(trace.set_span_in_context(span))
    try:
        yield
    finally:
        context.detach(token)
        span.set_attributes(dict(_response_attributes(record)))
        if record.outcome not in ("ok", "client_left"):
            span.set_status(trace.StatusCode.ERROR)
        span.end()


def _request_attributes(record: Record, request: Mapping[str, Any], server: str) -> Iterator[tuple[str, Any]]:
    yield "gen_ai.operation.name", "chat"
    yield "gen_ai.provider.name", "openai"  # by the conventions: whoever speaks OpenAI's API, if no more is known
    yield "server.address", server
    yield "gen_ai.request.model", record.model
    yield "gen_ai.request.stream", record.stream
    for key, name in _SAMPLING.items():
        if isinstance(request.get(key), (int, float)):
            yield name, request[key]
    stops = request.get("stop")
    if isinstance(stops, list) and all(isinstance(each, str) for each in stops):
        yield "gen_ai.request.stop_sequences", stops


def _response_attributes(record: Record) -> Iterator[tuple[str, Any]]:
    if record.ttft is not None:
        yield "gen_ai.response.time_to_first_chunk", record.ttft
    if record.outcome != "ok":
        yield "error.type", record.outcome
    if record.stats is None:
        return
    stats = record.stats
    yield "gen_ai.response.finish_reasons", [*stats.finish_reasons]
    for key, name in _USAGE.items():
        if isinstance((stats.usage or {}).get(key), int):
            yield name, (stats.usage or {})[key]
    yield "xmltools.calls", len(stats.calls)
    yield "xmltools.diagnostics", sorted({*stats.repairs, *stats.errors})
    yield "xmltools.retries", stats.retries
