"""What a transport does for one request: the steps of the relay, with their requests and responses in HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import AddedFields, Api, Exchange, Refusal, Settings, UpstreamError
from xmltools.proxy.bridge.exchange import estimate, open_exchange
from xmltools.proxy.bridge.field_types import check_types
from xmltools.proxy.bridge.relay import (
    EVENTS,
    JSON,
    Answered,
    Ask,
    Given,
    Head,
    Relay,
    Step,
    Steps,
    Translation,
    read_whole,
    say,
)
from xmltools.proxy.bridge.settings import checked

_APIS: dict[str, Api] = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
_CALLED = re.compile(rf"(?:{'|'.join(_APIS)})\Z")
_COUNT = "/messages/count_tokens"
# The messages of OpenAI's threads have the last word of their path in common with Anthropic's API, and nothing else.
_THREADS = re.compile(r"/threads/[^/]+/messages\Z")

# Written anew for a body that is not the one that came.
_OF_A_BODY = ("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "transfer-encoding")
# Said of one connection, by whoever is at its other end.
_OF_A_CONNECTION = ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "upgrade")
_ANTHROPIC = re.compile(r"x-api-key|anthropic-.*")
_PATH = re.compile(r'/[!"$->@-~]*')  # what is printable, without ? and #


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for all requests of a transport."""

    settings: Settings
    upstream_path: str | None
    max_body: int
    on_exchange: Callable[[Exchange], None] | None
    added: AddedFields = field(default_factory=AddedFields)

    def __post_init__(self) -> None:
        checked(self.settings)
        check_types(self)
        if self.upstream_path is not None and not _PATH.fullmatch(self.upstream_path):
            raise XMLToolsError(
                f"upstream_path: expected a path such as '/v1/chat/completions', got {self.upstream_path!r:.80}; "
                "the host is that of the request"
            )
        if type(self.max_body) is not int or self.max_body < 1:
            raise XMLToolsError(f"max_body: expected a number of bytes from 1, got {self.max_body!r:.40}")


class Work(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """One request: its steps, and what they are in HTTP. As a stream, it is the body of the response for the client.

    `plain` is the request to send instead where it is not translated; there are no steps for the client then."""

    def __init__(self, request: httpx2.Request, options: Options) -> None:
        path = request.url.path
        found = _CALLED.search(path)
        self._api: Api = _APIS[found[0]] if found is not None else "messages"
        self._counts = path.endswith(_COUNT)
        self._request = request
        self._options = options
        is_ours = request.method == "POST" and not _THREADS.search(path) and (found or self._counts)
        self.plain: httpx2.Request | None = None if is_ours else request
        self._relay: Relay | None = None
        self._steps = self._all_steps()
        self._response: httpx2.Response | None = None
        self._lost: httpx2.HTTPError | None = None

    def resume(self, outcome: Any) -> Step | Given | None:
        """Resume the steps with the outcome of the last one; return the next, None at the end. Bytes are never empty.

        Raises what the inner transport raised, if the client has not been given anything before.
        """
        try:
            if isinstance(outcome, httpx2.HTTPError):
                self._lost = outcome
                # Without the address, which the inner transport may name.
                status = 504 if isinstance(outcome, httpx2.TimeoutException) else 502
                outcome = UpstreamError(f"the upstream broke off ({type(outcome).__name__})", status)
                step = self._steps.throw(outcome)
            else:
                step = self._steps.send(outcome)
            while step == b"":
                step = self._steps.send(None)
        except StopIteration:
            return None
        is_told = self._relay is not None and self._relay.failure is outcome
        if self._lost is not None and is_told and isinstance(step, Head):
            raise self._lost
        return step

    def _all_steps(self) -> Steps:
        if self.plain is not None:
            return
        options, came = self._options, self._request
        try:
            body = yield from read_whole("the request", options.max_body, 413)
            if self._counts:
                yield from say(200, {"input_tokens": estimate(body, options.settings)})
                return
            exchange = open_exchange(self._api, body, options.settings)
        except Refusal as refusal:
            yield from say(refusal.status, refusal.body(self._api))
            return
        if options.on_exchange is not None:
            options.on_exchange(exchange)
        if exchange.plain:
            extensions = came.extensions
            self.plain = httpx2.Request(
                came.method, came.url, headers=came.headers, content=body, extensions=extensions
            )
            return
        given: dict[str, Any] = {"upstream": came.url.netloc.decode("ascii"), "most": options.max_body}
        self._relay = relay = Translation(self._api, exchange, added=options.added, follows=True, **given)
        yield from relay.steps()

    def request(self, ask: Ask) -> httpx2.Request:
        """Return the request for the upstream."""
        url = self._request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._options.upstream_path or _CALLED.sub("/chat/completions", raw.decode("ascii"))
        # What Anthropic's clients ask after the question mark is not for a server of chat completions.
        kept = b"?" + query if query and self._api != "messages" else b""
        url = url.copy_with(raw_path=path.encode("ascii") + kept)
        headers = _request_headers(self._request.headers, self._api, streams=ask.streams)
        return httpx2.Request("POST", url, headers=headers, content=ask.body, extensions=self._request.extensions)

    def answered(self, response: httpx2.Response) -> Answered:
        """Note the upstream's answer; return it as the outcome of a step."""
        self._response = response
        return Answered(response.status_code, response.headers.get("content-type", ""))

    def response(self, head: Step | Given | None) -> httpx2.Response:
        """Return the response for the client, made of what came first, with another body than the upstream's."""
        assert isinstance(head, Head)
        came = self._response.headers if self._response is not None else httpx2.Headers()
        headers = _without(came, (*_OF_A_BODY, *_OF_A_CONNECTION))
        headers["content-type"] = head.content_type
        if head.length is not None:
            headers["content-length"] = str(head.length)
        if self._api == "messages" and "x-request-id" in headers:
            headers.setdefault("request-id", headers["x-request-id"])
        return httpx2.Response(head.status, headers=headers, stream=self)

    def close(self) -> None:
        """Close the upstream's answer."""
        if self._response is not None:
            self._response.close()

    async def aclose(self) -> None:
        """Close the upstream's answer."""
        if self._response is not None:
            await self._response.aclose()


# Headers of requests and responses whose bodies are written anew


def _request_headers(came: httpx2.Headers, api: Api, *, streams: bool) -> httpx2.Headers:
    """Return the headers for the upstream of a request that came from a client of an API."""
    headers = _without(came, _OF_A_BODY)
    if api == "messages":  # who asks is said as OpenAI's servers expect it, without what only Anthropic's understand
        if "x-api-key" in headers:
            headers.setdefault("authorization", f"Bearer {headers['x-api-key']}")
        headers = _without(headers, tuple(name for name in headers if _ANTHROPIC.fullmatch(name)))
    headers["accept"] = EVENTS if streams else JSON
    headers["accept-encoding"] = "identity"
    headers["content-type"] = JSON
    return headers


def _without(headers: httpx2.Headers, names: tuple[str, ...]) -> httpx2.Headers:
    return httpx2.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in names])
