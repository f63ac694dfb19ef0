"""Tool calls for models that only write text: the core of the proxy and of the transport, without any I/O.

A request of OpenAI's or Anthropic's API becomes one whose tools are instructions and whose history is text; the text
that comes back is read as it streams and becomes the calls that the client's API has.
"""

from xmltools.bridge._apis import new_id
from xmltools.bridge._body import encoded, parse_object
from xmltools.bridge._chunks import read_chunk
from xmltools.bridge._errors import Api, Refusal, error_body
from xmltools.bridge._exchange import Exchange
from xmltools.bridge._helper import LENGTHS, HelperAnswer, estimate, open_exchange, pack_message
from xmltools.bridge._replay import Replay
from xmltools.bridge._settings import Settings
from xmltools.bridge._sse import SSEDecoder
from xmltools.bridge._stats import Stats
from xmltools.bridge._upstream_errors import error_message, error_status, is_error

__all__ = [
    "LENGTHS",
    "Api",
    "Exchange",
    "HelperAnswer",
    "Refusal",
    "Replay",
    "SSEDecoder",
    "Settings",
    "Stats",
    "encoded",
    "error_body",
    "error_message",
    "error_status",
    "estimate",
    "is_error",
    "new_id",
    "open_exchange",
    "pack_message",
    "parse_object",
    "read_chunk",
]
