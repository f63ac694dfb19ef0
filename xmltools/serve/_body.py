"""The body of a request: read up to a limit, and taken for a JSON object or refused with the reason."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from xmltools.bridge import Refusal

__all__ = ["ClientGoneError", "check_size", "parse_object", "read_body", "too_large"]


class ClientGoneError(Exception):
    """The client closed the connection before it had sent its request."""


def too_large(most: int) -> Refusal:
    """Return the refusal of a body with more than `most` bytes."""
    return Refusal(
        f"the body of a request may have {most:,} bytes, this one has more", status=413, code="body_too_large"
    )


def check_size(headers: Headers, most: int) -> None:
    """Raise Refusal if a request says that its body has more than `most` bytes."""
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > most:
        raise too_large(most)


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the body. Raises Refusal for one that is too large or compressed, ClientGoneError if it does not come."""
    headers = Headers(scope=scope)
    check_size(headers, most)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("the body of a request must not be compressed; leave out content-encoding", status=415)
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large(most)
        more = message.get("more_body", False)
    return b"".join(parts)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is. Raises Refusal for anything else."""
    try:
        value = json.loads(body.decode(), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise Refusal(f"the body is no UTF-8 at byte {error.start}", code="invalid_json") from None
    except json.JSONDecodeError as error:
        raise Refusal(
            f"the body is no JSON: {error.msg} at line {error.lineno}, column {error.colno}", code="invalid_json"
        ) from None
    except RecursionError:
        raise Refusal("the body is JSON that is nested too deeply", code="invalid_json") from None
    except ValueError:
        raise Refusal("the body holds a number that is no JSON, or too long", code="invalid_json") from None
    if not isinstance(value, dict):
        raise Refusal(f"the body of a request is a JSON object, not {type(value).__name__}", code="invalid_json")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
