"""Tool calls for models that only write text: the core of the proxy and of the transport, without any I/O.

A request of OpenAI's or Anthropic's API becomes one whose tools are instructions and whose history is text; the text
that comes back is read as it streams and becomes the calls that the client's API has.
"""

from xmltools.proxy.bridge.added_fields import AddedFields
from xmltools.proxy.bridge.after_failed_call import failure_in_words
from xmltools.proxy.bridge.client_errors import (
    Api,
    Refusal,
    UpstreamError,
    error_body,
    error_message,
    error_status,
    is_error,
)
from xmltools.proxy.bridge.exchange import Exchange
from xmltools.proxy.bridge.requests import Incoming, read_request
from xmltools.proxy.bridge.settings import Settings
from xmltools.proxy.bridge.stats import Stats
from xmltools.proxy.bridge.upstream_request import Turn
from xmltools.proxy.bridge.upstream_stream import SSEDecoder, read_chunk

__all__ = [
    "AddedFields",
    "Api",
    "Exchange",
    "Incoming",
    "Refusal",
    "SSEDecoder",
    "Settings",
    "Stats",
    "Turn",
    "UpstreamError",
    "error_body",
    "error_message",
    "error_status",
    "failure_in_words",
    "is_error",
    "read_chunk",
    "read_request",
]
