"""xgrammar as a judge of GBNF grammars and structural tags."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Any

from support.engines import missing
from support.engines.vocabulary import WALKING, Vocabulary, large
from support.engines.walking import LIMIT, Masks
from support.engines.xgrammar_torch import import_xgrammar

__all__ = ["XgrammarJudge", "available"]


def available() -> str:
    """Return why xgrammar can't be used; nothing if it can."""
    return missing("xgrammar", "tvm_ffi")


class XgrammarJudge:
    """One GBNF grammar, or the JSON text of a structural tag, in xgrammar.

    Raises `RuntimeError` or another exception of xgrammar's for one that it refuses.
    """

    def __init__(self, grammar: str, *, structural_tag: bool = False, vocabulary: Vocabulary = WALKING) -> None:
        self._compile = lru_cache(lambda vocabulary: _compiled(grammar, structural_tag, vocabulary))
        self._vocabulary = vocabulary
        self._matcher = _matcher(self._compile(vocabulary))

    def accepts(self, text: str) -> bool:
        """Whether the whole text is a sentence."""
        return self.prefix(text) and self._matcher.accept_token(self._vocabulary.end)

    def prefix(self, text: str) -> bool:
        """Whether the text can be continued to a sentence."""
        self._matcher.reset()
        return all(map(self._matcher.accept_token, text.encode()))

    def walk(self, rng: Random, limit: int = LIMIT) -> str | None:
        """Return the text of a random walk, or None: see `engines.walking.walk`."""
        self._matcher.reset()
        return _masks(self._matcher, self._vocabulary).walk(rng, limit)

    def mask_times(self, text: str) -> list[float]:
        """Return how many seconds each mask along the text takes, with 32,000 tokens."""
        return _masks(_matcher(self._compile(large())), large()).times(text)


@lru_cache
def _compiler(vocabulary: Vocabulary) -> Any:
    xgrammar = import_xgrammar()
    tokens = xgrammar.TokenizerInfo(
        list(vocabulary.tokens), vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[vocabulary.end]
    )
    return xgrammar.GrammarCompiler(tokens, max_threads=1, cache_enabled=False)


def _compiled(grammar: str, structural_tag: bool, vocabulary: Vocabulary) -> Any:
    compiler = _compiler(vocabulary)
    # The text, as servers do: a `Grammar` object is printed and read again, and loses characters on the way.
    return compiler.compile_structural_tag(grammar) if structural_tag else compiler.compile_grammar(grammar)


def _matcher(compiled: Any) -> Any:
    return import_xgrammar().GrammarMatcher(compiled)


def _masks(matcher: Any, vocabulary: Vocabulary) -> Masks:
    return Masks(vocabulary, matcher.fill_next_token_bitmask, matcher.accept_token)
