"""What the log says of the upstream when the server starts."""

from __future__ import annotations

import asyncio

from xmltools.dialects import family_of
from xmltools.proxy.bridge import Settings, UpstreamError
from xmltools.proxy.bridge.settings import can_be_written
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.listed_models import listed_models
from xmltools.proxy.server.logging import LOGGER
from xmltools.proxy.server.network import Connections, Request
from xmltools.proxy.server.upstream import as_sent

_PATIENCE = 5.0
"""Seconds in which the upstream should name its models."""
_MOST = 1 << 20
"""Bytes of that answer that are looked at."""
_MOST_NAMES = 10
_LONGEST = 100


def report_upstream(config: ServeConfig) -> None:
    """Ask the upstream for its models, and log the answer. It may also start later than we do."""
    asyncio.run(_report(config))


async def _report(config: ServeConfig) -> None:
    key = [(b"authorization", f"Bearer {config.upstream_key}".encode())] if config.upstream_key else []
    connections = Connections(config.base_url, _PATIENCE)
    body = b""
    try:
        async with (
            asyncio.timeout(_PATIENCE),
            connections.open(Request("GET", f"{as_sent(config.base_url)}/models", key), decode=True) as response,
        ):
            async for piece in response.pieces:
                body += piece
                if len(body) > _MOST:
                    break
        _report_answer(response.status, body[:_MOST], config.settings)
    except TimeoutError:
        LOGGER.warning(f"the upstream does not answer within {_PATIENCE:g} seconds")
    except UpstreamError as error:
        LOGGER.warning(error.in_log)
    finally:
        await connections.close()


def _report_answer(status: int, body: bytes, settings: Settings) -> None:
    if status in (401, 403):
        LOGGER.warning(f"the upstream asks for a key (status {status}); give it with --upstream-key-env")
    elif not 200 <= status < 300:
        LOGGER.warning(f"the upstream answers, but says with status {status} no models; is its URL right?")
    else:
        names = [model.id[:_LONGEST] for model in listed_models(body)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        LOGGER.info(f"the upstream answers; its models: {', '.join(names[:_MOST_NAMES]) or 'none that it names'}{more}")
        for name in names[:_MOST_NAMES]:
            _report_dialect(name, settings)


def _report_dialect(model: str, settings: Settings) -> None:
    """Say so if a model is known to write calls in another dialect than it will be asked for."""
    asked, family = settings.for_model(model).dialect, family_of(model)
    own = family.dialect if family is not None else None
    if own and own != asked and can_be_written(own):
        LOGGER.info(f"{model} is known to write {own}, and will be asked for {asked}: --dialect auto asks for {own}")
