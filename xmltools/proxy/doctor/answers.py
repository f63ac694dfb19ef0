"""Does the server answer, whole and in a stream, and does a reply end as it should?"""

from __future__ import annotations

from typing import Any

from xmltools import dialects
from xmltools.models.finish_reasons import our_reason
from xmltools.proxy.doctor.asking import NoAnswerError, Reply
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import Check, Latency, Outcome

MOST_REQUESTS = 6
"""Requests of these checks; two are there to find out what the server takes of how tokens are chosen."""

_COUNT = "Count from 1 to 40, in digits with one space between them, and write nothing else."
_WORDS = "Write these four words in one line, and nothing else: red green blue yellow"
_FEW_TOKENS = 5
_FEW_CHARACTERS = 100
"""More than so many are no five tokens."""
_FEWEST_PIECES = 5
_WAIT = 1.0
_BURST = 0.02
"""A reply that came after more than this wait, in seconds, and then in this part of it, was held back somewhere."""


async def check_answer(case: Case) -> Check:
    """Ask for an answer that is no stream."""
    try:
        reply = await case.asking.chat(case.asking.question("Say hello in one word."))
    except NoAnswerError as trouble:
        return _failed(case, "answer", trouble)
    if not reply.characters:
        return Check(
            "answer", Outcome.FAILED, "the answer is empty", "see the log of the server, and its chat template"
        )
    case.answer = reply
    notes = "".join(f"; {words}" for words in case.asking.adapted)
    return Check("answer", Outcome.OK, f"{reply.characters} characters{notes}")


def _failed(case: Case, name: str, trouble: NoAnswerError) -> Check:
    case.is_locked |= trouble.is_about_key
    return Check(name, Outcome.FAILED, trouble.message, trouble.advice)


async def check_stream(case: Case) -> Check:
    """Ask for an answer in a stream, as `serve` does, and measure how fast it comes."""
    fields: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    try:
        reply = await case.asking.chat(case.asking.question(_COUNT, **fields))
    except NoAnswerError as trouble:
        return _failed(case, "stream", trouble)
    if not reply.characters:
        return Check("stream", Outcome.FAILED, "the stream says nothing", "see the log of the server")
    if not reply.is_ended and reply.finish is None:
        return Check(
            "stream",
            Outcome.FAILED,
            "it ends without a finish reason and without [DONE]",
            "the server, or what is in front of it, breaks streams off: see its log and its time-outs",
        )
    case.stream = reply
    case.report.latency = _latency(reply)
    return _judged(reply)


def _judged(reply: Reply) -> Check:
    pieces = f"{reply.pieces} pieces"
    if reply.pieces < _FEWEST_PIECES:
        count = "1 piece" if reply.pieces == 1 else pieces
        return Check(
            "stream",
            Outcome.WARNING,
            f"only {count} for {reply.characters} characters",
            "clients see nothing until the end: look for what holds the stream back",
        )
    if reply.first > _WAIT and reply.last - reply.first < _BURST * reply.first:
        return Check(
            "stream",
            Outcome.WARNING,
            f"{pieces}, all at once after {reply.first:.1f} s",
            "turn off the buffering of what is in front of the server (nginx: proxy_buffering off)",
        )
    missing = []
    if not reply.is_ended:
        missing.append("no [DONE]")
    if reply.usage is None:
        missing.append("no usage")
    if missing:
        return Check("stream", Outcome.WARNING, f"{pieces}, {', '.join(missing)}", _MISSING[missing[-1]])
    return Check("stream", Outcome.OK, f"{pieces}, usage, [DONE]")


_MISSING = {
    "no [DONE]": "serve does without it, since there is a finish reason",
    "no usage": "clients are not told how many tokens were used",
}


def _latency(reply: Reply) -> Latency:
    seconds = reply.last - reply.first
    if reply.pieces < _FEWEST_PIECES or seconds <= 0:
        return Latency(reply.first)
    tokens = (reply.usage or {}).get("completion_tokens")
    tokens_per_second = (tokens - 1) / seconds if isinstance(tokens, int) and tokens > 1 else None
    return Latency(reply.first, reply.characters / seconds, tokens_per_second)


async def check_latency(case: Case) -> Check:
    """Say how fast the stream was."""
    latency = case.report.latency
    if latency is None:
        return Check("latency", Outcome.SKIPPED, "there was no stream to measure")
    said = [f"first token after {latency.first_token_seconds:.2f} s"]
    if latency.tokens_per_second is not None:
        said.append(f"{latency.tokens_per_second:,.0f} tokens/s")
    elif latency.characters_per_second is not None:
        said.append(f"{latency.characters_per_second:,.0f} characters/s")
    return Check("latency", Outcome.OK, ", ".join(said))


async def check_finish_reasons(case: Case) -> Check:
    """Look at why replies end: those that end by themselves, and one that is cut."""
    ends = dict.fromkeys(our_reason(reply.finish or "") or reply.finish for reply in case.replies)
    try:
        cut = await case.asking.chat(case.asking.question(_COUNT, max_tokens=_FEW_TOKENS))
    except NoAnswerError as trouble:
        return Check("finish_reasons", Outcome.WARNING, f"with few tokens: {trouble.message}", trouble.advice)
    reason = our_reason(cut.finish or "") or cut.finish
    said = f"{' and '.join(each or 'none' for each in ends)} at the end, {reason or 'none'} when cut"
    if cut.characters > _FEW_CHARACTERS:
        return Check(
            "finish_reasons",
            Outcome.WARNING,
            "a limit of 5 tokens is not heeded",
            "replies may be longer than asked for",
        )
    if "length" in ends:
        return Check(
            "finish_reasons",
            Outcome.WARNING,
            "replies to plain questions were cut by their length",
            "if the model thinks for long, raise --max-tokens and run this again",
        )
    if None in ends:
        return Check("finish_reasons", Outcome.WARNING, said, "serve takes a reply without a reason for a whole one")
    if reason != "length":
        return Check(
            "finish_reasons",
            Outcome.WARNING,
            said,
            "a call that was cut off is then sent back to the model as one that it wrote wrongly",
        )
    unknown = [each for each in ends if each != "stop"]
    return Check("finish_reasons", Outcome.WARNING if unknown else Outcome.OK, said)


async def check_stop(case: Case) -> Check:
    """Ask for words, and to stop in front of one."""
    try:
        reply = await case.asking.chat(case.asking.question(_WORDS, stop=["blue"]))
    except NoAnswerError as trouble:
        return Check("stop_sequences", Outcome.WARNING, trouble.message, _NO_STOP)
    text = reply.text or reply.reasoning
    if "yellow" in reply.text:
        return Check("stop_sequences", Outcome.WARNING, "not heeded: the text goes on after one", _NO_STOP)
    if "blue" in text:
        return Check("stop_sequences", Outcome.WARNING, "heeded, but left in the text", _NO_STOP)
    if "green" not in text:
        return Check("stop_sequences", Outcome.SKIPPED, "can't be told: the model did not write what was asked for")
    return Check("stop_sequences", Outcome.OK, "heeded, and left out of the text")


_NO_STOP = "with tools serve looks for them itself; without tools, clients get what the server does"


async def check_reasoning(case: Case) -> Check:
    """Say where the model's thoughts were in the replies so far."""
    tags = dict.fromkeys(tag for dialect in dialects.all() for tag in dialect.reasoning)
    for reply in case.replies:
        for tag in tags:
            end = reply.text.find(f"</{tag}>")
            if end >= 0 and f"<{tag}>" not in reply.text[:end]:
                case.starts_in_reasoning = True
                said = f"it begins without a start tag, and ends with </{tag}>"
                return Check("reasoning", Outcome.OK, said, "the chat template opens it: use --starts-in-reasoning")
            if end >= 0:
                return Check("reasoning", Outcome.OK, f"in <{tag}> in the text, where serve finds it")
    if any(reply.reasoning for reply in case.replies):
        return Check("reasoning", Outcome.OK, "told apart by the server")
    return Check("reasoning", Outcome.OK, "none seen")
