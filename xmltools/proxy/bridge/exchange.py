"""One request on its way through: to a model that only writes text, and its reply back as calls.

No sockets here: whoever has them (the server, the transport) sends `request` to the upstream and feeds what comes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NoReturn

from xmltools.conversations.compaction import estimate_tokens
from xmltools.errors import CallError, Code, XMLToolsError
from xmltools.formats import load
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.models.finish_reasons import CUT_OFF, our_reason
from xmltools.proxy.bridge.added_fields import REASONING, SPECIAL_TOKENS, AddedFields, refused_in
from xmltools.proxy.bridge.after_failed_call import failure_in_words
from xmltools.proxy.bridge.client_errors import NO_COMPLETION, Api, Refusal, error_in_answer, is_error
from xmltools.proxy.bridge.dialect_ids import DialectIds
from xmltools.proxy.bridge.encoders import CallIds, make_encoder, new_id
from xmltools.proxy.bridge.json_bodies import parse_object
from xmltools.proxy.bridge.reply import ReplyReader
from xmltools.proxy.bridge.requests import Incoming, read_request
from xmltools.proxy.bridge.retry import Retry
from xmltools.proxy.bridge.settings import Settings, checked
from xmltools.proxy.bridge.stats import Stats
from xmltools.proxy.bridge.upstream_request import Turn, merged, upstream_body, upstream_messages
from xmltools.proxy.bridge.upstream_stream import calls_of, details_of, is_silent, reasoning_of, text_of

_LOG = logging.getLogger("xmltools.serve")
_HEARD_OUT = 100
"""Pieces that a model may say after a call that is sent back, before it is left without its usage."""


class Exchange:
    """A request of a client, and the reply to it.

    Takes the API ("chat": OpenAI's chat completions, "messages": Anthropic's, "responses": OpenAI's Responses), the
    body as JSON, or what `read_request` has made of it, and the settings; `id` and `created` (seconds since 1970) for
    the response are made if not given; `request_id` goes into Anthropic's errors; `added` is what is known of the
    upstream, and is shared by all exchanges with it. Raises Refusal for a request that can't be honoured.

    `request` is the body for the upstream's chat completions; while `plain`, it is the client's own, and the answer is
    to be passed on untouched. Without `streams`, give the upstream's completion to `answer`. Else give each of its
    chunks to `feed`, until it ends or `done` says that no more is needed; then call `end`. If `next_turn` is true after
    that, `request` has another turn for the upstream, whose chunks are fed likewise. `failures` are the calls that were
    not made in the end: the client was told of them in words, or by an error.

    Where the reply is cut short here, after the one call that is wanted or in front of a stop sequence, a client that
    is to get the usage gets it if the model ends there too: while `awaits_usage`, the upstream is heard out. If it goes
    on talking, it is left. A reply that is sent back is heard out likewise, since the usage is that of all turns.
    """

    def __init__(
        self,
        api: Api,
        body: Mapping[str, Any] | Incoming,
        settings: Settings | None = None,
        *,
        id: str | None = None,
        created: int | None = None,
        request_id: str | None = None,
        added: AddedFields | None = None,
    ) -> None:
        if not isinstance(body, (Mapping, Incoming)):
            raise Refusal(f"the body of a request is a JSON object, not {type(body).__name__}")
        self._api = api
        settings = Settings() if settings is None else checked(settings)
        self._incoming = (
            body if isinstance(body, Incoming) else read_request(api, body, strict=settings.strict_requests)
        )
        self._settings = _settings_for(self._incoming.model, settings)
        self._tools = self._incoming.choice.of(self._incoming.tools)
        notes = self._incoming.notes
        self.stats = Stats(self._incoming.model, self._settings.dialect, ignored=notes.fields, left_out=notes.tools)
        self.stats.bad_arguments = notes.bad_arguments
        self._listener = _Listener(self.stats)
        self.failures: list[CallError] = []
        self._again = False
        self.plain = api == "chat" and self._incoming.is_plain
        self._is_broken = False
        self.begun = False  # whether the upstream has said anything of this turn
        self._calls = 0
        self._spent: dict[str, Any] = {}
        self._counted = False  # whether this turn's tokens are known
        self._behind = 0  # pieces that the model has said after the end of its reply
        self._worded = False  # whether thoughts came as plain text
        self.continued = ""
        """The beginning of a block that this turn's reply may continue."""
        self.failure = ""
        """The error that ended the client's stream, if one did."""
        self._finished: set[int] = set()
        self._heard: set[int] = set()  # choices of which the upstream has said anything
        most_retries = self._settings.retries if self._incoming.choices == 1 else 0
        self._retry = Retry(self._tools, self.stats, most_retries, self._settings)
        identity = id or new_id(api)
        self._new_id = CallIds(api, identity)
        self._ids = DialectIds.of(self._settings, self._incoming.conversation)
        self._encoder = make_encoder(
            api, self._incoming, self._tools, identity, created or int(time.time()), request_id
        )
        self._taken = (added or AddedFields()).of(self._incoming.model)
        self._left_out = set(self._taken.refused)
        self._place = self._taken.thinks_in  # where reasoning is sent back
        self._messages: list[dict[str, Any]] = []
        if self.plain and isinstance(body, Mapping):
            self.request = dict(body)
        else:
            self._write()
        self._readers = [self._reader(index) for index in range(self._incoming.choices)]

    def _write(self) -> None:
        place = None if self._place in self._left_out else self._place
        self._messages = upstream_messages(self._incoming, self._tools, self._settings, place)
        self.request = self._body()

    def _body(self) -> dict[str, Any]:
        messages = merged([*self._messages, *self._retry.messages])
        body = upstream_body(self._incoming, self._tools, self._settings, messages)
        if SPECIAL_TOKENS in self._left_out and body.get(SPECIAL_TOKENS) is False:
            del body[SPECIAL_TOKENS]
        return body

    def mend(self, status: int, said: bytes) -> bool:
        """Take the upstream's refusal of `request`. Returns whether that is to be sent once more: it is without a field
        that the refusal names, or with the reasoning that it misses."""
        before = self.request
        for name in refused_in(status, said):
            if name in REASONING and self._settings.prompt == "ours":
                continue  # reasoning is in the text
            if name in (SPECIAL_TOKENS, self._place):
                self._left_out.add(name)
            elif self._place not in REASONING and name not in self._left_out:
                self._place = name
        self._write()
        return self.request != before

    def accepted(self) -> None:
        """Say that the upstream answers `request`: what `mend` changed in it is remembered."""
        self._taken.refuse(self._left_out)
        self._taken.thinks_in = self._place or self._taken.thinks_in

    def _reader(self, choice: int, source: str = "") -> ReplyReader:
        return ReplyReader(
            self._tools,
            self._incoming,
            self._settings,
            live=self._is_live,
            keep_failure=self._retry.is_left,
            keep_text=self._retry.is_left or self._retry.untold is not None,
            keep_calls=self._keeps_calls,
            new_id=self._new_id,
            listen=partial(self._listener.hear, choice),
            ids=self._ids,
            source=source,
            sent_before=self._retry.text_sent,
            held_before=self._retry.held,
        )

    @property
    def _is_live(self) -> bool:
        """Whether the client hears of calls as they are written. After a retry it hears of them at the end of the
        reply, when it is known that none was written twice."""
        return self._settings.live_arguments and self._incoming.stream and not self.stats.retries

    @property
    def _keeps_calls(self) -> bool:
        """Whether calls are sent at the end of the reply: what fails after them may be tried again until then."""
        return not self._is_live and self._settings.retries > 0 and self._incoming.choices == 1

    @property
    def on_event(self) -> Callable[[int, Event], None] | None:
        """What hears of all events of the parsers, each with the number of its choice."""
        return self._listener.on_event

    @on_event.setter
    def on_event(self, heard: Callable[[int, Event], None] | None) -> None:
        self._listener.on_event = heard

    @property
    def streams(self) -> bool:
        """Whether the client wants a stream."""
        return self._incoming.stream

    @property
    def settings(self) -> Settings:
        """The settings, with the dialect of the model that is asked."""
        return self._settings

    @property
    def warnings(self) -> list[str]:
        """What is wrong with tools of the request, in words, which may quote it."""
        return self._incoming.notes.warnings

    @property
    def turn(self) -> Turn:
        """What `request` asks the model, as data."""
        must_call = self._incoming.choice.mode == "required"
        dialect = self._settings.dialect
        return Turn(self._tools, self._incoming.conversation, must_call, self.stats.retries > 0, dialect)

    @property
    def done(self) -> bool:
        """Whether nothing that the upstream may still say is wanted: its stream can be closed."""
        is_over = self._again or all(reader.done for reader in self._readers)
        return self._is_broken or (is_over and not self.awaits_usage)

    @property
    def awaits_usage(self) -> bool:
        """Whether only the usage of the turn is wanted: if anything goes wrong from now on, call `end`."""
        if self._again:
            return not self._counted and self._behind <= _HEARD_OUT
        if not self._finished or self._counted or not self._incoming.include_usage:
            return False
        return all(reader.done and not reader.goes_on for reader in self._readers) and not self._misses_call

    @property
    def keepalive(self) -> bytes:
        """What may be sent while the upstream says nothing."""
        return self._encoder.keepalive

    @property
    def pending(self) -> int:
        """Characters that the next chunk may make us read again."""
        return sum(reader.pending for reader in self._readers)

    def _index(self, choice: Any) -> int:
        """Return the number of a choice that was asked for; -1 for anything else."""
        index = choice.get("index", 0) if isinstance(choice, dict) else -1
        return index if isinstance(index, int) and index < len(self._readers) else -1

    def feed(self, chunk: Mapping[str, Any]) -> bytes:
        """Take a chunk of the upstream's stream; return what to send to the client.

        A chunk that is none says nothing. Raises Refusal for an error that the upstream sent.
        """
        if is_error(chunk):
            raise error_in_answer(chunk)
        usage = chunk.get("usage")
        if usage is not None and isinstance(usage, Mapping) and self._behind <= _HEARD_OUT:
            self._count(usage)
        choices = chunk.get("choices")
        return b"".join(map(self._choice, choices if isinstance(choices, list) else ()))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Take the tokens of a turn; those of several turns are added."""
        self._counted = True
        self.stats.usage = _added(self._spent, usage)
        self._encoder.count(self.stats.usage)

    def _choice(self, choice: Any) -> bytes:
        index = self._index(choice)
        if index < 0 or self._is_broken:
            return b""
        self.begun = True
        self._heard.add(index)
        delta = choice.get("delta") or choice.get("message")
        if self._again or index in self._finished:
            goes_on = isinstance(delta, dict) and not is_silent(delta)
            self._readers[index].goes_on |= goes_on
            self._behind += goes_on
            return b""
        sent = self._delta(index, delta) if isinstance(delta, dict) else b""
        reason = choice.get("finish_reason")
        if not isinstance(reason, str) or not reason:  # some servers say "" until the end
            reason = None
        is_done = self._readers[index].done
        if is_done and self._readers[index].outgoing.broken is not None:
            return sent + self._break(index)
        if reason is not None or is_done:
            sent += self._finish(index, (our_reason(reason) or reason) if reason is not None else "stop")
        return sent

    def _delta(self, index: int, delta: dict[str, Any]) -> bytes:
        reader = self._readers[index]
        text = delta.get("content")
        if len(delta) == 1 and type(text) is str and text:  # nearly every one
            return self._encoder.feed(index, reader.text(text))
        events = self._thoughts(reader, delta)
        if text := text_of(delta):
            events += reader.text(text)
        if calls := calls_of(delta):
            events += reader.calls(calls)
        return self._encoder.feed(index, events)

    def _thoughts(self, reader: ReplyReader, delta: dict[str, Any]) -> list[Event]:
        key, text = reasoning_of(delta)
        if not text:
            # Who gives thoughts in both forms says the same twice.
            text = "" if self._worded else details_of(delta)
            if text:
                self._taken.thinks_in = REASONING[1]  # whoever has details takes plain text there
            return reader.reasoning(text) if text else []
        self._worded = True
        self._encoder.reasoning_key = self._taken.thinks_in = key
        return reader.reasoning(text)

    def _finish(self, index: int, reason: str) -> bytes:
        """A choice has ended: send the rest, or prepare another turn."""
        reader = self._readers[index]
        sent = self._encoder.feed(index, reader.close(reason))
        if reader.outgoing.broken is not None:
            return sent + self._break(index)
        new = self._retry.new_calls(reader)
        self._calls += len(new)
        if reason not in CUT_OFF and self._try_again(reader, new):
            return sent
        sent += self._encoder.feed(index, reader.release())
        # A model that had nothing more to say about its failed call did not take it back: the client hears of it.
        failed = reader.failed or (self._retry.untold if reader.says_nothing and not new else None)
        if failed is not None:
            sent += self._encoder.feed(index, reader.outgoing.read([CallFailed(failed.error)]))
        if self._keeps_calls:
            sent += self._encoder.feed(index, [*self._retry.unsent, *new])
        self.failures += reader.outgoing.failed
        self.stats.failed = len(self.failures)
        self.stats.invented += reader.invents
        unread = reader.unread or (self._retry.unread if not new else None)
        if unread is not None:
            self.stats.leave(unread)
        if self.stats.reasoning and self._taken.thinks_in is None:
            self._taken.thinks_in = ""
        self._finished.add(index)
        self.stats.finish_reasons.append(reason)
        if reason not in CUT_OFF and self._misses_call:
            self.stats.missed = True
            return sent + self._end_with_error(self._miss_in_words, 422, _NOT_HONOURED)
        if not our_reason(reason):
            _warn_of(reason)
        return sent + self._encoder.finish(index, reason, reader.stop_found)

    def _break(self, index: int) -> bytes:
        """A call failed that the client had heard of. Whatever ends a reply in order, some client runs such a call:
        only an error keeps all of them from it."""
        error = self._readers[index].outgoing.broken
        assert error is not None
        self.failures.append(error)
        self.stats.failed = len(self.failures)
        self.stats.finish_reasons.append("error")
        self._is_broken = True
        return self._end_with_error(failure_in_words(error), 422, "call_failed")

    def _end_with_error(self, message: str, status: int, code: str) -> bytes:
        self.failure = message
        return self._encoder.fail(message, status, code)

    @property
    def _misses_call(self) -> bool:
        is_required = self._incoming.choice.mode == "required" and bool(self._tools)
        return is_required and not self._calls and all(map(self._incoming.is_barred, self.failures))

    @property
    def _miss_in_words(self) -> str:
        """Say that a call is missing which is required."""
        if self.failures:
            called = ", ".join(dict.fromkeys(error.name or "" for error in self.failures))
            return f"the model called {called:.200}, but {self.failures[0].message:.400}; {_WHAT_TO_DO}"
        if self.stats.unread in ("", "code_fence", "reasoning"):
            return f"the model did not call a tool, though tool_choice requires it; {_WHAT_TO_DO}"
        return (
            "the model did not call a tool as it was asked to, though tool_choice requires it, but in another notation"
            f" ({self.stats.unread}): whoever runs the proxy should give --dialect, or --also known"
        )

    def _is_empty(self, reader: ReplyReader) -> bool:
        """Return whether a reply is nothing, though something is to be said. After a result there may be nothing."""
        is_result = any(each.role == "tool" or each.results for each in self._incoming.conversation.messages[-1:])
        is_over = is_result or reader.done or bool(self._retry.messages)
        return bool(self._tools) and not is_over and reader.says_nothing and not reader.completed

    def _try_again(self, reader: ReplyReader, new: list[CallCompleted]) -> bool:
        """Prepare a retry, if the reply is to be sent back. Returns whether it is."""
        source = self._retry.send_back(
            reader, new, lacks_call=self._misses_call, is_empty=self._is_empty(reader), live=self._is_live
        )
        if source is None:
            return False
        self._again = True
        self.request = self._body()
        reader.abandon()
        self.continued = source
        return True

    def end(self, *, is_whole: bool = False) -> bytes:
        """Say that the upstream's stream has ended; return the rest. Ask `next_turn` whether this was the end.

        A stream that ends without saying why broke off: the client gets an error. But if the upstream said that this
        was all (`is_whole`), and it is not nothing, it ended as replies do: some servers give no reason.

        Raises Refusal if a choice that was asked for is missing, as it is where an upstream knows no `n`.
        """
        if self._again or self._is_broken:
            return b""  # there is another turn, or the error was the end
        if self._finished and not self._heard.issuperset(range(len(self._readers))):
            raise self._too_few()
        if is_whole and self.begun:
            sent = b"".join(self._finish(index, "stop") for index in range(len(self._readers)) if self._lacks(index))
            return sent if self._again else sent + self.end()
        if len(self._finished) < len(self._readers):
            return self.fail("the upstream ended its reply without a reason")
        if self._misses_call and not any(reason in CUT_OFF for reason in self.stats.finish_reasons):
            return b""  # the error was the end
        return self._encoder.end(self.stats.usage)

    def _too_few(self) -> Refusal:
        there, wanted = len(self._heard), len(self._readers)
        message = f"the upstream's answer has fewer choices than were asked for (n): {there} of {wanted}"
        return Refusal(f"{message}; send a request for each", status=502, code="upstream_error")

    def next_turn(self) -> bool:
        """Return whether the upstream is to be asked once more, with `request`, and begin with that turn."""
        again, self._again = self._again, False
        if again:
            self._spent = self.stats.usage or {}
            self._counted = self._worded = self.begun = False
            self._behind = 0
            self._readers = [self._reader(0, self.continued)]  # with a source, what was cut off is continued
        return again

    @property
    def again(self) -> NoReturn:
        """What 0.1.0 had in place of `next_turn`; a loop that asks it would never end."""
        raise AttributeError("Exchange.again is gone since 0.2.0: call next_turn() after end()")

    def _lacks(self, index: int) -> bool:
        return index not in self._finished and not self._again

    def fail(self, message: str, *, status: int = 502) -> bytes:
        """Return the error that ends a stream which has begun, after text that was held. A call that is open in it is
        made unreadable first: not all clients take notice of errors."""
        ended = b""
        for index, reader in enumerate(self._readers):
            if events := [*reader.release(), *([CallFailed(_LOST, "")] if reader.is_call_open else [])]:
                ended += self._encoder.feed(index, events)
        return ended + self._end_with_error(message, status, "upstream_error")

    def abandon(self) -> None:
        """Say that nobody wants any more of the reply, nor hears of its events. Else what is open in it, and what
        listens if it knows the exchange, waits for the garbage collector."""
        self._listener.on_event = None
        for reader in self._readers:
            reader.abandon()

    def answer(self, completion: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take the upstream's completion; return the client's response, or None if `request` is to be sent first.

        Raises Refusal if it is an error or no completion, or a call was required and is not in it.
        """
        if is_error(completion):
            raise error_in_answer(completion)
        choices = completion.get("choices") if isinstance(completion, Mapping) else None
        if not isinstance(choices, list) or not choices:
            raise Refusal(NO_COMPLETION, status=502, code="upstream_error")
        self.feed(completion)
        for index in range(min(len(choices), len(self._readers))):
            if self._lacks(index):
                self._finish(index, "stop")
        if self.next_turn():
            return None
        if len(self._finished) < len(self._readers):
            raise self._too_few()
        if self._misses_call and not any(reason in CUT_OFF for reason in self.stats.finish_reasons):
            self.stats.missed = True
            raise Refusal(self._miss_in_words, status=422, code=_NOT_HONOURED, param="tool_choice")
        self._encoder.end(self.stats.usage)
        return self._encoder.body(self.stats.usage)


@lru_cache(maxsize=64)
def _warn_of(reason: str) -> None:
    """Log, once for each, that the upstream ends replies for a reason that nobody knows."""
    _LOG.warning(
        "the upstream ended a reply for a reason that is not known; no unfinished call of it is run: %.40r", reason
    )


def _settings_for(model: str, settings: Settings) -> Settings:
    """Return the settings for a model. Raises Refusal for one whose dialect they do not fit."""
    try:
        return settings.for_model(model)
    except XMLToolsError as error:
        raise Refusal(f"model: {error}", param="model") from None


def _added(before: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums of what two turns spent, at any depth."""
    added = {**before, **usage}
    for name in before.keys() & usage.keys():
        old, new = before[name], usage[name]
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            added[name] = _added(old, new)
        elif type(old) in (int, float):
            added[name] = old + new if type(new) in (int, float) else old
    return added


class _Listener:
    """Hears of all events. It does not know the exchange, so that no ring of objects is left of that."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self.on_event: Callable[[int, Event], None] | None = None

    def hear(self, choice: int, event: Event) -> None:
        self._stats.count(event)
        if self.on_event is not None:
            self.on_event(choice, event)


def open_exchange(api: Api, body: bytes, settings: Settings, **more: Any) -> Exchange:
    """Make the exchange of a request. Raises Refusal for one that can't be honoured."""
    try:
        return Exchange(api, parse_object(body), settings, **more)
    except RecursionError:
        raise Refusal("the body is JSON that is nested too deeply", code="invalid_json") from None


def estimate(body: bytes, settings: Settings) -> int:
    """Return how many tokens the upstream would get for a request of Anthropic's API. Counting them exactly would take
    the model's tokenizer. Raises Refusal for none."""
    exchange = Exchange("messages", {"max_tokens": 1, **parse_object(body)}, settings)
    conversation = load(exchange.request["messages"], "openai")
    tools = exchange.request.get("tools")
    return estimate_tokens(conversation.user(json.dumps(tools)) if tools else conversation)


_LOST = CallError(code=Code.TRUNCATED, span=(0, 0), message="the upstream broke off", hint=Code.TRUNCATED.hint)
_NOT_HONOURED = "tool_choice_not_honoured"
_WHAT_TO_DO = "try again, or leave the choice to the model (tool_choice auto)"
