"""JSON on the wire: objects out of bytes, or a refusal with the reason, and bytes out of values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from xmltools.proxy.bridge.client_errors import Refusal

_SECRETS = frozenset(
    ("api_key", "apikey", "api-key", "x-api-key", "authorization", "access_token", "token", "password", "secret")
) | {"authorization_token", "cookie", "headers", "extra_headers", "default_headers"}
"""Fields of a request that may hold credentials, in small letters."""
_SERVERS = ("tools", "mcp_servers")
"""Fields whose entries may be servers that want credentials."""
_HIDDEN = b"[a key]"
NO_OBJECT = "the upstream sent what is no JSON object"
SHORTEST_KEY = 8
"""Characters from which a key is found in no ordinary word."""


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


def parse_answer(body: bytes) -> dict[str, Any]:
    """Return the JSON object that an upstream sent. Raises Refusal, with the status 502, for anything else."""
    try:
        return parse_object(body)
    except Refusal:
        raise Refusal(NO_OBJECT, status=502, code="upstream_error") from None


def encoded(value: Any) -> bytes:
    """Return a JSON value as bytes."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # lone surrogates have no other spelling
        return json.dumps(value, separators=(",", ":")).encode()


def without_credentials(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without its fields, and those of the servers in it, that are there for credentials."""
    kept = _without_secrets(request)
    for name in _SERVERS:
        if isinstance(entries := kept.get(name), list):
            kept[name] = [_without_secrets(each) if isinstance(each, Mapping) else each for each in entries]
    return kept


def without_keys(data: bytes, keys: Iterable[bytes]) -> bytes:
    """Return data without keys, also as JSON spells them. Short ones are taken out as whole words only: they would be
    found in others."""
    for key in keys:
        for spelled in {key, key.replace(b"\\", b"\\\\").replace(b'"', b'\\"')}:
            if len(key) >= SHORTEST_KEY:
                data = data.replace(spelled, _HIDDEN)
            else:
                data = re.sub(rb"(?<!\w)" + re.escape(spelled) + rb"(?!\w)", _HIDDEN, data)
    return data


def _without_secrets(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name.lower() not in _SECRETS}
