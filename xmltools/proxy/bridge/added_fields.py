"""A field that is added to requests, and the upstreams that refuse it, since they take no fields that are not known."""

from __future__ import annotations

import logging
from typing import Any

from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.json_bodies import encoded, parse_object

SPECIAL_TOKENS = "skip_special_tokens"
"""False asks an engine to leave special tokens in the text, since calls may be spelled with them."""
_STATUSES = (400, 422)
_LOG = logging.getLogger("xmltools.serve")
_NAME = SPECIAL_TOKENS.encode()


class AddedFields:
    """Knows which upstreams refuse the added field, once one has. It is left out of what they get after that."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def for_upstream(self, upstream: str, body: bytes) -> bytes:
        """Return the body of a request as this upstream takes it."""
        return _split(body)[1] if upstream in self._refused and _NAME in body else body

    def is_refused(self, upstream: str, body: bytes, status: int, answer: bytes) -> bool:
        """Return whether an upstream refused a request for the added field: then it is to be sent again. `status` and
        `answer` are what it said to the request with this body."""
        if status not in _STATUSES or _NAME not in answer or _NAME not in body or not _split(body)[0]:
            return False
        self._refused.add(upstream)
        _LOG.warning("the upstream refuses a field, which is left out", extra={"fields": {"field": SPECIAL_TOKENS}})
        return True


def _split(body: bytes) -> tuple[bool, bytes]:
    """Return whether a body has the field as it is added, and the body without it."""
    try:
        fields: dict[str, Any] = parse_object(body)
    except Refusal:
        return False, body
    if fields.get(SPECIAL_TOKENS) is not False:
        return False, body
    del fields[SPECIAL_TOKENS]
    return True, encoded(fields)
