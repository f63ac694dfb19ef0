"""Tool calls for models that only write text: the core of the proxy and of the transport, without any I/O.

A request of OpenAI's or Anthropic's API becomes one whose tools are instructions and whose history is text; the text
that comes back is read as it streams and becomes the calls that the client's API has.
"""

from xmltools.bridge._chunks import read_chunk
from xmltools.bridge._errors import Api, Refusal, error_body
from xmltools.bridge._exchange import Exchange
from xmltools.bridge._settings import Settings
from xmltools.bridge._sse import SSEDecoder
from xmltools.bridge._stats import Stats
from xmltools.bridge._upstream_errors import error_message, error_status, is_error

__all__ = [
    "Api",
    "Exchange",
    "Refusal",
    "SSEDecoder",
    "Settings",
    "Stats",
    "error_body",
    "error_message",
    "error_status",
    "is_error",
    "read_chunk",
]
