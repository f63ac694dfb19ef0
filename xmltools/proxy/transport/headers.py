"""Headers of requests and responses whose bodies are written anew."""

from __future__ import annotations

import re

import httpx2

from xmltools.proxy.bridge import Api

__all__ = ["EVENTS", "JSON", "request_headers", "response_headers"]

EVENTS = "text/event-stream"
JSON = "application/json"

# Written anew for a body that is not the one that came.
_OF_A_BODY = ("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "transfer-encoding")
# Said of one connection, by whoever is at its other end.
_OF_A_CONNECTION = ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "upgrade")
_ANTHROPIC = re.compile(r"x-api-key|anthropic-.*")


def request_headers(came: httpx2.Headers, api: Api, *, streams: bool) -> httpx2.Headers:
    """Return the headers for the upstream of a request that came from a client of an API."""
    headers = _without(came, _OF_A_BODY)
    if api == "messages":
        _translate_credentials(headers)
    headers["accept"] = EVENTS if streams else JSON
    headers["accept-encoding"] = "identity"
    headers["content-type"] = JSON
    return headers


def response_headers(headers: httpx2.Headers, api: Api, content_type: str | None) -> httpx2.Headers:
    """Return the headers of a response that has another body than the upstream's."""
    written = _without(headers, (*_OF_A_BODY, *_OF_A_CONNECTION))
    if content_type is not None:
        written["content-type"] = content_type
    if api == "messages" and "x-request-id" in written:
        written.setdefault("request-id", written["x-request-id"])
    return written


def _translate_credentials(headers: httpx2.Headers) -> None:
    """Say who asks as OpenAI's servers expect it, and drop what only Anthropic's understand."""
    key = headers.get("x-api-key")
    if key is not None:
        headers.setdefault("authorization", f"Bearer {key}")
    for name in [name for name in headers if _ANTHROPIC.fullmatch(name)]:
        del headers[name]


def _without(headers: httpx2.Headers, names: tuple[str, ...]) -> httpx2.Headers:
    return httpx2.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in names])
