"""What a model is asked in one turn, as data: for a model in the same process, which reads no prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xmltools.models import Conversation
from xmltools.tools import Tool

__all__ = ["Turn"]


class Turn(NamedTuple):
    """The tools that may be called, and the conversation as the client sent it.

    `must_call`: an answer without a call is not enough. `is_retry`: the reply before this one was sent back.
    """

    tools: Sequence[Tool]
    conversation: Conversation
    must_call: bool = False
    is_retry: bool = False
