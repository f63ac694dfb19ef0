"""The retry: the model hears what was wrong with its rejected call, and answers once more.

A reply is sent back to the model where one of its calls failed, where its call is in a notation that nobody here reads,
or where it has no call though one was required. It is put at the end of the conversation, and after it a message that
says what was wrong. What was right in the reply is kept: calls are not made twice, and text is not sent twice.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from xmltools.errors import CallError, Code, Notice
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.proxy.bridge.reply import ReplyReader
from xmltools.proxy.bridge.settings import Settings
from xmltools.proxy.bridge.stats import Stats, word_of
from xmltools.render import render_retry
from xmltools.render.marks import turn_marks
from xmltools.tools import Tool

_EMPTY = "Your reply was empty. Answer, or call a tool in the form that was described."


class Retry:
    """The replies of one exchange that were sent back to the model, and what is kept of them.

    Takes the tools that may be called, the `stats` in which retries are counted, how many there may be at `most`, and
    the `settings`.
    """

    def __init__(self, tools: list[Tool], stats: Stats, most: int, settings: Settings) -> None:
        self._tools = tools
        self._stats = stats
        self._most = most
        self._settings = settings
        self._calls: list[CallCompleted] = []  # of all replies that were sent back
        self.messages: list[dict[str, Any]] = []
        """What the model gets after the conversation: each rejected reply, and what was wrong with it."""
        self.unsent: list[CallCompleted] = []
        """The calls of rejected replies that the client does not have yet."""
        self.text_sent = ""
        """The text of rejected replies that the client has."""
        self.held = ("", "")
        """The text of rejected replies that the client does not have, with calls in other notations and without."""
        self.untold: CallFailed | None = None
        """The last failure, of which the model was told and the client was not."""
        self.unread: Notice | None = None
        """The call in another notation of which the model was told; the client has it as text."""

    @property
    def is_left(self) -> bool:
        """Whether a reply that is rejected now would be sent back."""
        return self._stats.retries < self._most

    def new_calls(self, reader: ReplyReader) -> list[CallCompleted]:
        """Return the calls of a reply without those that the replies before it held too: the model wrote them again."""
        if not self._calls:
            return reader.completed
        before = Counter(map(_identity, self._calls))
        new: list[CallCompleted] = []
        for event in reader.completed:
            if before[_identity(event)] > 0:
                before[_identity(event)] -= 1
            else:
                new.append(event)
        return new

    def send_back(
        self, reader: ReplyReader, new: list[CallCompleted], *, lacks_call: bool, is_empty: bool, live: bool
    ) -> str | None:
        """Send a reply back that ended in order, if something is wrong with it and a retry is left.

        Takes its `new` calls, whether it has no call though one is required, whether it is nothing at all though it
        must not be, and whether the client has its calls already. Returns None if the reply stands; else the beginning
        of the next one, which is not empty where the model is to go on with a call that was cut off.
        """
        # A call in another notation, or only shown, is not a failure, but the model should hear that nobody reads it.
        unread = None if self._calls else reader.foreign
        if not self.is_left or (reader.failed is None and unread is None and not lacks_call and not is_empty):
            return None
        error = reader.failed.error if reader.failed is not None else None
        written = reader.written(error)
        if self._settings.is_forge:  # elsewhere the model's own calls are spelled with such tokens
            written = turn_marks().neutral(written)
        if written.strip():  # many templates take no message without words
            self.messages.append({"role": "assistant", "content": written})
        reminder = self._reminder(error or unread, lacks_call, bool(self._calls or new))
        self.messages.append({"role": "user", "content": reminder})
        self._stats.retries += 1
        self._stats.again.append(_reason(error or unread, lacks_call))
        self.text_sent += reader.outgoing.text
        self.held = reader.held(unread)
        self._calls += new
        self.unsent += () if live else new
        self.untold = reader.failed or self.untold
        self.unread = unread or self.unread
        if unread is None and reader.unread is not None:  # the model is not told of it, so it stays as it is
            self._stats.leave(reader.unread)
        # In another dialect than Forge's a model is asked for the whole call: it may think again first.
        is_continued = error is not None and error.code is Code.TRUNCATED and self._settings.is_forge
        return error.source if error is not None and is_continued else ""

    def _reminder(self, error: CallError | Notice | None, lacks_call: bool, has_good: bool) -> str:
        if error is not None:
            how = self._settings
            is_continued = error.code is Code.TRUNCATED and how.is_forge
            return render_retry(
                error,
                self._tools,
                server_names=how.server_names,
                dialect=how.dialect,
                go_on=is_continued,
                others_run=has_good and not is_continued,
            )
        if not lacks_call:
            return _EMPTY
        names = " or ".join(f"`{tool.name}`" for tool in self._tools[:5])
        return (
            f"Your reply held no tool call, but one is required. Call {names if len(self._tools) < 6 else 'a tool'} "
            "now, in the form that was described, and write nothing else."
        )


def _reason(wrong: CallError | Notice | None, lacks_call: bool) -> str:
    """Return why a reply is sent back, in a word for the log."""
    if isinstance(wrong, Notice):
        return word_of(wrong)
    return wrong.code.value if wrong is not None else "no_call" if lacks_call else "empty"


def _identity(event: CallCompleted) -> tuple[str, str, str]:
    """Return what is equal for two calls that are the same."""
    call = event.call
    return call.name, call.server, json.dumps(call.arguments, sort_keys=True)
