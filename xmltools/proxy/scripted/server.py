"""A model that needs no weights: an OpenAI-compatible upstream that plays a script.

It has no function calling of its own, as many local models have none. If the system prompt holds the instructions of
xmltools, it calls the tool that fits the user's words best, and quotes the result that comes back; without them it
says one of a few prepared replies. It speaks as fast as a real model, or as fast as it can (`speed=0`).

    uvicorn.run(ScriptedModel(), port=8000)

Its models behave differently: `scripted` writes calls as it should; `scripted-sloppy` with slips that are repaired;
`scripted-broken` with a wrong argument, until it is asked for a better call; `scripted-thinking` thinks first;
`scripted-silent` never calls. Any other name is taken for `scripted`, so that clients need not be changed.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from xmltools.conversations.streams import SSE_DONE, to_sse
from xmltools.proxy.bridge import Refusal, error_body
from xmltools.proxy.scripted.choice import MODELS, Timing
from xmltools.proxy.scripted.completions import ChatRequest, Said, body, chunks, read_request, say
from xmltools.proxy.scripted.pace import Clock, Pace, Sleep, check_speed

__all__ = ["ScriptedModel"]

_CREATED = 1_767_225_600  # the models are as old as the year 2026


class ScriptedModel:
    """The scripted model as an ASGI application: `POST /v1/chat/completions` and `GET /v1/models`.

    Takes how fast it is (2 is twice as fast, 0 does not wait), the seconds before its first token and the tokens a
    second after that, and how to wait and what the time is, in seconds. The same request has the same reply; `seed`
    gives another.

    Raises XMLToolsError if `speed` is no number from 0 on.
    """

    def __init__(
        self,
        *,
        speed: float = 1.0,
        first_token: float = 0.3,
        tokens_per_second: float = 60.0,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = time.monotonic,
    ) -> None:
        self._speed = check_speed(speed)
        self._timing = Timing(first_token, tokens_per_second)
        self._sleep = sleep
        self._clock = clock
        self._app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", _list_models, methods=["GET"]),
                Route("/v1/models/{name:path}", _show_model, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _no_such_page, Refusal: _refuse},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    async def _complete(self, request: Request) -> Response:
        asked = read_request(_json(await request.body()))
        pace = Pace(self._speed, sleep=self._sleep, clock=self._clock)
        said = say(asked, self._timing)
        id, created = f"chatcmpl-{secrets.token_hex(12)}", int(time.time())
        if asked.stream:
            return StreamingResponse(
                _stream(asked, said, pace, id, created),
                media_type="text/event-stream",
                headers={"cache-control": "no-cache"},
            )
        await pace.until(max(each.end for each in said))
        return JSONResponse(body(asked, said, id, created))


async def _stream(asked: ChatRequest, said: list[Said], pace: Pace, id: str, created: int) -> AsyncIterator[bytes]:
    for at, chunk in chunks(asked, said, id, created):
        await pace.until(at)
        yield to_sse([chunk])
    yield SSE_DONE


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the body of the request is no JSON: {error}", code="invalid_json") from None


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "xmltools"}


async def _list_models(request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [_model(name) for name in MODELS]})


async def _show_model(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in MODELS:
        return _error(f"there is no model {name!r:.80}; there are {', '.join(MODELS)}", 404, "model_not_found")
    return JSONResponse(_model(name))


def _error(message: str, status: int, code: str, param: str | None = None) -> JSONResponse:
    return JSONResponse(error_body("chat", message, status=status, code=code, param=param), status_code=status)


async def _no_such_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _error(f"there is no {request.method} {request.url.path:.200}", status, "not_found")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse(error.body("chat"), status_code=error.status)
