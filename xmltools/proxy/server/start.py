"""What the log says of the upstream when the server starts: whether it answers, and which models it has."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import LOGGER
from xmltools.proxy.server.network import unreachable

__all__ = ["report_upstream"]

_PATIENCE = 5.0
_MOST = 1 << 20
"""Bytes of an answer that are looked at."""
_SHOWN = 10
_LONGEST = 100


def report_upstream(config: ServeConfig, *, transport: httpx2.BaseTransport | None = None) -> None:
    """Ask the upstream for its models, and log the answer. It may also start later than we do.

    `transport` sends the request; by default one that knows no proxies.
    """
    headers = {"authorization": f"Bearer {config.upstream_key}"} if config.upstream_key else {}
    try:
        with (
            httpx2.Client(transport=transport, timeout=_PATIENCE, trust_env=False, headers=headers) as client,
            client.stream("GET", f"{config.base_url}/models") as response,
        ):
            _report(response.status_code, _start_of(response))
    except httpx2.TimeoutException:
        LOGGER.warning(f"the upstream does not answer within {_PATIENCE:g} seconds")
    except httpx2.HTTPError as error:
        LOGGER.warning(unreachable(config.base_url, error))


def _start_of(response: httpx2.Response) -> bytes:
    body = b""
    for piece in response.iter_bytes():
        body += piece
        if len(body) > _MOST:
            break
    return body[:_MOST]


def _report(status: int, body: bytes) -> None:
    if status in (401, 403):
        LOGGER.warning(f"the upstream asks for a key (status {status}); give it with --upstream-key-env")
    elif not 200 <= status < 300:
        LOGGER.warning(f"the upstream answers, but says with status {status} no models; is its URL right?")
    else:
        names = _names(body)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        LOGGER.info(f"the upstream answers; its models: {', '.join(names[:_SHOWN]) or 'none that it names'}{more}")


def _names(body: bytes) -> list[str]:
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return []
    models = answer.get("data") if isinstance(answer, dict) else None
    found = (model.get("id") for model in (models if isinstance(models, list) else ()) if isinstance(model, dict))
    return [name[:_LONGEST] for name in found if isinstance(name, str) and name.isprintable()]
