"""Errors in the words of three APIs."""

from __future__ import annotations

from typing import Any, Literal

from xmltools.errors import XMLToolsError

__all__ = ["Api", "Refusal", "error_body"]

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


class Refusal(XMLToolsError):  # noqa: N818 - what HTTP calls a client error
    """A request that cannot be honoured: the message says why, and what to send instead.

    `status` is that of HTTP, `code` a stable name, `param` the field of the request that is meant.
    """

    def __init__(
        self, message: str, *, status: int = 400, code: str = "invalid_request_error", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    def body(self, api: Api) -> dict[str, Any]:
        """Return the body of the response in the words of an API."""
        return error_body(api, str(self), status=self.status, code=self.code, param=self.param)


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
