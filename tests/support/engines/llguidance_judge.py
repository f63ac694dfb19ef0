"""llguidance as a judge of Lark grammars."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from support.engines import missing
from support.engines.vocabulary import WALKING, Vocabulary, large
from support.engines.walking import LIMIT, Masks

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

__all__ = ["LlguidanceJudge", "available"]


def available() -> str:
    """Return why llguidance can't be used; nothing if it can."""
    return missing("llguidance")


class LlguidanceJudge:
    """One Lark grammar in llguidance. Raises `ValueError` for a grammar that it refuses."""

    def __init__(self, grammar: str, *, vocabulary: Vocabulary = WALKING) -> None:
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._matcher = _matcher(grammar, vocabulary)

    def accepts(self, text: str) -> bool:
        """Whether the whole text is a sentence."""
        return self.prefix(text) and self._matcher.is_accepting()

    def prefix(self, text: str) -> bool:
        """Whether the text can be continued to a sentence."""
        tokens = list(text.encode())
        self._matcher.reset()
        return self._matcher.try_consume_tokens(tokens) == len(tokens)

    def walk(self, rng: Random, limit: int = LIMIT) -> str | None:
        """Return the text of a random walk, or None: see `engines.walking.walk`."""
        self._matcher.reset()
        start = rng.getstate()
        text = _masks(self._matcher, self._vocabulary).walk(rng, limit)
        if not self._matcher.is_error():
            return text
        # A matcher keeps what it made for earlier texts, up to a limit, and each request has its own.
        self._matcher = _matcher(self._grammar, self._vocabulary)
        rng.setstate(start)
        return _masks(self._matcher, self._vocabulary).walk(rng, limit)

    def mask_times(self, text: str) -> list[float]:
        """Return how many seconds each mask along the text takes, with 32,000 tokens."""
        return _masks(_matcher(self._grammar, large()), large()).times(text)


class _Wrapped:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = list(vocabulary.tokens)
        self.eos_token_id = vocabulary.end
        self.special_token_ids = [vocabulary.end]
        self._split = vocabulary.split

    def __call__(self, text: str | bytes) -> list[int]:
        return self._split(text if isinstance(text, bytes) else text.encode())


@lru_cache
def _tokenizer(vocabulary: Vocabulary) -> LLTokenizer:
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Wrapped(vocabulary)))


def _matcher(grammar: str, vocabulary: Vocabulary) -> LLMatcher:
    from llguidance import LLMatcher

    # Warnings of the grammar go to standard error if they are not silenced.
    matcher = LLMatcher(_tokenizer(vocabulary), LLMatcher.grammar_from_lark(grammar), log_level=0)
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    return matcher


def _masks(matcher: LLMatcher, vocabulary: Vocabulary) -> Masks:
    return Masks(
        vocabulary, lambda mask: matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes), matcher.consume_token
    )
