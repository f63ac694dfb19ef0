"""What the scripted model replies to a conversation: a call, an answer that quotes a result, or a prepared reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from xmltools.proxy.scripted import demo_recording as recording
from xmltools.proxy.scripted.call import Slip, choose_tool, make_call, write
from xmltools.proxy.scripted.pace import Piece
from xmltools.proxy.scripted.prepared import Transcript, find_transcript
from xmltools.proxy.scripted.prompt import Instructions, read_instructions
from xmltools.render import read_results
from xmltools.render.quoting import neutral

__all__ = ["MODELS", "Manner", "Timing", "Turn", "reply"]

_LONGEST_QUOTE = 600
_SYSTEM = ("system", "developer")
_RESULTS = re.compile(r"Tool: [^\n]*\n(?:Result|Error): ")
_RETRY = re.compile(r"Your (?:tool call was not carried out|reply was cut off inside|reply held no tool call)")
_GO_ON = re.compile(r"Your reply was cut off inside a tool call\. Go on exactly")

_BEFORE = ("I'll use {name} for that.", "Let me ask {name}.", "One moment, {name} can tell.")
_ANSWER = ("This is what {name} gave back:", "Here is the answer of {name}:", "Done. {name} says:")
_FAILURE = ("{name} did not work. It says:", "That failed. The error of {name}:")
_THOUGHT = "The user wants something done. {name} fits best, and its arguments are clear."
_THOUGHT_WITHOUT = "There is nothing to call here, so I answer right away."
_SILENT = ("I could call a tool here, but I never do.", "No tools for me, thank you. I answer without them.")
_HELP = (
    "I'm a script and no language model. Send tools with your request, and I call the one that fits your words best; "
    "send its result, and I quote it. Without tools I only know a few texts by heart: ask me for a haiku, a riddle, or "
    "how a tool call looks."
)


class Turn(NamedTuple):
    """One message as the model sees it."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model behaves: how it writes calls, whether it thinks first, and whether it calls at all."""

    slip: Slip = "none"
    thinks: bool = False
    silent: bool = False


MODELS = {
    "scripted": Manner(),
    "scripted-sloppy": Manner(slip="sloppy"),
    "scripted-broken": Manner(slip="wrong"),
    "scripted-thinking": Manner(thinks=True),
    "scripted-silent": Manner(silent=True),
}
"""The models that there are; any other name is "scripted"."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast a model speaks: seconds before its first token, and tokens a second after that."""

    first_token: float = 0.3
    tokens_per_second: float = 60.0


def reply(turns: Sequence[Turn], model: str, seed: str, timing: Timing) -> list[Piece]:
    """Return what a model says to a conversation, token by token; for one seed always the same."""
    rng = Random(seed)
    said = _Speaker(turns, MODELS.get(model, MODELS["scripted"]), rng).speak()
    return list(said.pieces) if isinstance(said, Transcript) else list(_timed(said, rng, timing))


def _timed(text: str, rng: Random, timing: Timing) -> Iterable[Piece]:
    at = timing.first_token
    for token in recording.tokens(text, rng.randrange(1 << 30)):
        yield Piece(at, token)
        at += rng.uniform(0.5, 1.5) / timing.tokens_per_second


class _Speaker:
    """Makes one reply to one conversation."""

    __slots__ = ("_instructions", "_manner", "_rng", "_system", "_turns")

    def __init__(self, turns: Sequence[Turn], manner: Manner, rng: Random) -> None:
        self._system = [turn for turn in turns if turn.role in _SYSTEM]
        self._turns = [turn for turn in turns if turn.role not in _SYSTEM]
        self._instructions: Instructions = read_instructions("\n\n".join(turn.text for turn in self._system))
        self._manner = manner
        self._rng = rng

    def speak(self) -> str | Transcript:
        """Return the reply: a text, or a prepared one with its times."""
        if self._is_last(_GO_ON) and len(self._turns) > 2:
            return self._continuation()
        results = self._results()
        if results and not self._instructions.must_call:
            return self._thinking("") + "\n\n".join(results)
        if not self._instructions.tools:
            return self._prepared()
        if self._manner.silent:
            return self._rng.choice(_SILENT)
        return self._call()

    def _is_last(self, pattern: re.Pattern[str]) -> bool:
        return bool(self._turns) and pattern.match(self._turns[-1].text) is not None

    def _question(self) -> str:
        """Return what the user said last; results and requests for a better call are not the user's own words."""
        own = (
            turn.text
            for turn in reversed(self._turns)
            if turn.role == "user" and not _RESULTS.match(turn.text) and not _RETRY.match(turn.text)
        )
        return next(own, "")

    def _thinking(self, name: str) -> str:
        if not self._manner.thinks:
            return ""
        thought = _THOUGHT.format(name=name) if name else _THOUGHT_WITHOUT
        return f"<think>\n{thought}\n</think>\n\n"

    def _prepared(self) -> str | Transcript:
        found = find_transcript(self._question())
        if isinstance(found, Transcript) and not self._manner.thinks:
            return found
        text = "".join(piece.text for piece in found.pieces) if isinstance(found, Transcript) else found or _HELP
        return text if text.startswith("<think>") else self._thinking("") + text

    def _call(self) -> str:
        question = self._question()
        known = choose_tool(self._instructions.tools, question)
        call = make_call(known, question)
        if self._is_last(_RETRY):
            # The second try is right, and is nothing but the call.
            return write(call, known, "none" if self._manner.slip == "wrong" else self._manner.slip)
        before = self._rng.choice(_BEFORE).format(name=call.name)
        return f"{self._thinking(call.name)}{before}\n\n{write(call, known, self._manner.slip)}"

    def _results(self) -> list[str]:
        """Return an answer to each of the results that came last, none if the last turn holds none."""
        answers: list[str] = []
        for turn in reversed(self._turns):
            if turn.role not in ("user", "tool") or not _RESULTS.match(turn.text):
                break
            answers[:0] = [self._quote(*result) for result in read_results(turn.text)]
        return answers

    def _quote(self, name: str, content: object, is_error: bool) -> str:
        text = neutral(str(content))
        if len(text) > _LONGEST_QUOTE:
            text = f"{text[:_LONGEST_QUOTE]} …"
        return f"{self._rng.choice(_FAILURE if is_error else _ANSWER).format(name=neutral(name))}\n\n{text}"

    def _continuation(self) -> str:
        """Return the rest of the reply that was cut off; all of it, if it was another."""
        begun = self._turns[-2].text
        whole = _Speaker([*self._system, *self._turns[:-2]], self._manner, self._rng).speak()
        text = whole if isinstance(whole, str) else "".join(piece.text for piece in whole.pieces)
        at = text.find(begun) if begun else -1
        return text if at < 0 else text[at + len(begun) :]
