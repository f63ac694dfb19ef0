"""A model that needs no weights: an OpenAI-compatible upstream that plays a script.

`xmltools serve --demo` runs it in the server's own process, and hands it each turn as data (`request.state.turn`): the
tools of the client, the conversation, and the dialect in which to write calls. It calls the tool that fits the user's
words best, and quotes the result that comes back. It does not read prompts: as a process of its own it knows no tools,
and says one of a few prepared replies.

    uvicorn.run(ScriptedModel(), port=8000)

It speaks as fast as a real model, or as fast as it can (`speed=0`). Its models behave differently: `scripted` writes
calls as it should; `scripted-sloppy` with slips that the parser repairs; `scripted-broken` with a wrong call, until it
is asked for a better one; `scripted-thinking` thinks first; `scripted-silent` never calls. Any other name is taken for
`scripted`, so that clients need not be changed.
"""

from __future__ import annotations

from starlette.requests import Request

from xmltools.proxy.bridge import Refusal, Turn
from xmltools.proxy.bridge.json_bodies import parse_object
from xmltools.proxy.bridge.requests import read_request
from xmltools.proxy.scripted.choose_reply import MODELS, reply
from xmltools.proxy.scripted.player import Answer, Player, completion, models


class ScriptedModel(Player):
    """The scripted model: `POST /v1/chat/completions` and `GET /v1/models`. The same request has the same reply."""

    def choose(self, request: Request, body: bytes) -> Answer:
        """Return what the model says."""
        asked_for = (request.method, request.url.path)
        if asked_for == ("GET", "/v1/models"):
            return models(*MODELS)
        if asked_for != ("POST", "/v1/chat/completions"):
            return super().choose(request, body)
        asked = read_request("chat", parse_object(body))
        turn = getattr(request.state, "turn", None)
        if asked.tools and turn is None:
            raise Refusal("tools: this model has no function calling; run `xmltools serve --demo`", param="tools")
        return completion(asked, reply(turn or Turn((), asked.conversation), asked.model))
