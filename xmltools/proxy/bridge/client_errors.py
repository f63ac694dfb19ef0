"""Errors: those that clients get, in the words of their API, and what the error of an upstream says.

OpenAI's form is `{"error": {"message": …, "code": …}}`. Other servers leave out the inner object or the outer one, call
the message a detail, or give a list of what was wrong with the fields of a request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from xmltools.errors import XMLToolsError

Api = Literal["chat", "messages", "responses"]

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

ERROR_IN_ANSWER = "an error in the upstream's answer"
"""What a log has of an error whose status says that there is none."""
WEB_PAGE = "the upstream's answer is a web page, no JSON; check its URL, which mostly ends in /v1"
ELSEWHERE = "the upstream's answer is elsewhere, and redirects are not followed: change its URL"
BROKEN_OFF = "the upstream broke off its reply"
NO_EVENTS = "the upstream's answer has no server-sent events"
IN_ONE_PIECE = "the upstream answered in one piece, though a stream was asked for"
NO_COMPLETION = "the upstream's answer is no chat completion"
_PAGES = (b"<!doctype html", b"<html")
_LONGEST = 2_000
"""Characters of a message that are shown."""
_DEEPEST = 4
_WORDS = ("error", "message", "detail", "msg")


class Refusal(XMLToolsError):  # noqa: N818 - what HTTP calls a client error
    """A request that cannot be honoured: the message says why, and what to send instead.

    `status` is that of HTTP, `code` a stable name, `param` the field of the request that is meant. `in_log` is what a
    log may have of the message, which may quote the upstream; by default all.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "invalid_request_error",
        param: str | None = None,
        in_log: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.in_log = message if in_log is None else in_log

    def body(self, api: Api, request_id: str | None = None) -> dict[str, Any]:
        """Return the body of the response in the words of an API."""
        return error_body(api, str(self), status=self.status, code=self.code, param=self.param, request_id=request_id)


class UpstreamError(Refusal):
    """The upstream gave no answer, or only part of one. A client that has received nothing yet gets `status`."""

    def __init__(self, message: str, status: int = 502, in_log: str | None = None) -> None:
        super().__init__(message, status=status, code="upstream_error", in_log=in_log)


class UpstreamStatusError(Refusal):
    """The upstream answered with an error: `said` is its body, of a `content_type`."""

    def __init__(self, status: int, content_type: str, said: bytes) -> None:
        super().__init__(error_message(said, status), status=status, code="upstream_error", in_log="")
        self.content_type = content_type or "application/octet-stream"
        self.said = said


def error_body(
    api: Api,
    message: str,
    *,
    status: int,
    code: str | None = None,
    param: str | None = None,
    request_id: str | None = None,
) -> dict[str, Any]:
    """Return the body of an error response: OpenAI's, or for "messages" Anthropic's."""
    if api == "messages":
        error = {"type": _ANTHROPIC_TYPES.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": request_id}
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def is_page(content_type: str, body: bytes) -> bool:
    """Return whether an answer, whose body begins so, is a page for people: a login, or another server."""
    begins = body.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower()
    return content_type.startswith("text/html") or begins.startswith(_PAGES)


def is_error(said: Any) -> bool:
    """Return whether a JSON value is an error: with one in it, or marked as one, as older vLLM did."""
    return isinstance(said, dict) and (bool(said.get("error")) or said.get("object") == "error")


def error_in_answer(said: Any) -> Refusal:
    """Return an error that an upstream sent in place of an answer as what the client is told, in the same words."""
    return Refusal(error_message(said), status=error_status(said), code="upstream_error", in_log=ERROR_IN_ANSWER)


def error_message(said: Any, status: int | None = None) -> str:
    """Return the message of an error, at most 2,000 characters of it, with U+FFFD for what no encoding can carry.

    Takes a JSON value, or the bytes of a body, which may be no JSON at all; `status` is told if there is no message.
    """
    value = _loaded(said) if isinstance(said, bytes) else said
    silent = "the upstream reported an error" if status is None else f"the upstream answered with status {status}"
    message = next((words for words in _words(value, _DEEPEST) if words.strip()), silent)[:_LONGEST]
    return message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_status(said: Any, default: int = 502) -> int:
    """Return the status of HTTP that an error has in it, `default` if there is none."""
    if not isinstance(said, Mapping):
        return default
    inner = said.get("error")
    places = (inner, said) if isinstance(inner, Mapping) else (said,)
    given = (_status(place.get(key)) for place in places for key in ("code", "status"))
    return next((status for status in given if status is not None), default)


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(value: Any, deepest: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif deepest and isinstance(value, Mapping):
        for name in _WORDS:
            yield from _words(value.get(name), deepest - 1)
    elif deepest and isinstance(value, list):
        yield from _words(value[0] if value else None, deepest - 1)


def _status(code: Any) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None
