"""llama.cpp as a judge of GBNF grammars, with a vocabulary and no model."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from support.engines import missing
from support.engines.vocabulary import WALKING
from support.engines.walking import LIMIT, walk

__all__ = ["TRIGGER", "LlamaJudge", "available"]

TRIGGER = r"[\s\S]*?(<tool>[\s\S]*)"
"""The pattern of a lazy grammar that takes over at `<tool>`: its group is what the grammar reads."""

# llama.cpp wants these; a reply ends with the last of them. The tokens of `WALKING` stand behind them.
_SPECIAL = ("<unk>", "<s>", "</s>")
_END = 2
_UNKNOWN, _CONTROL, _NORMAL, _BYTE = 2, 3, 1, 6


def available() -> str:
    """Return why llama.cpp can't be used; nothing if it can."""
    return missing("llama_cpp", "gguf")


class LlamaJudge:
    """One GBNF grammar in llama.cpp; lazy, if there is a trigger. Raises `ValueError` for one that it refuses.

    A token is taken only if the mask allows it: llama.cpp ends the process for any other. That is why lazy grammars
    walk with tokens that can't hold more than the end of the trigger.
    """

    def __init__(self, grammar: str, *, trigger: str | None = None) -> None:
        self._sampler = _sampler(grammar, trigger)
        finalize(self, _llama().llama_sampler_free, self._sampler)
        size = len(WALKING.tokens)
        self._data = (_llama().llama_token_data * size)()
        self._array = _llama().llama_token_data_array(self._data, size, -1, False)
        self._view: NDArray[Any] = np.frombuffer(self._data, dtype=[("id", "i4"), ("logit", "f4"), ("p", "f4")])
        self._usable = _usable(lazy=trigger is not None)

    def accepts(self, text: str) -> bool:
        """Whether the whole text is a sentence."""
        return self.prefix(text) and self._allows(WALKING.end)

    def prefix(self, text: str) -> bool:
        """Whether the text can be continued to a sentence."""
        _llama().llama_sampler_reset(self._sampler)
        return all(self._allows(byte) and self._take(byte) for byte in text.encode())

    def walk(self, rng: Random, limit: int = LIMIT) -> str | None:
        """Return the text of a random walk, or None: see `engines.walking.walk`."""
        _llama().llama_sampler_reset(self._sampler)
        return walk(self._allowed, self._take, rng, limit)

    def _allows(self, token: int) -> bool:
        self._data[0] = _llama().llama_token_data(_number(token), 0.0, 0.0)
        return bool(self._applied(1)["logit"][0] == 0)

    def _allowed(self) -> NDArray[np.bool_]:
        self._view["id"] = _numbers()
        self._view["logit"] = 0
        return (self._applied(len(WALKING.tokens))["logit"] == 0) & self._usable

    def _applied(self, size: int) -> NDArray[Any]:
        """Let the grammar judge the first tokens of the array: what it refuses has no logit."""
        self._array.size = size
        _llama().llama_sampler_apply(self._sampler, ctypes.byref(self._array))
        return self._view

    def _take(self, token: int) -> bool:
        if token != WALKING.end:
            _llama().llama_sampler_accept(self._sampler, _number(token))
        return True


def _number(token: int) -> int:
    return _END if token == WALKING.end else token + len(_SPECIAL)


@lru_cache
def _numbers() -> NDArray[np.int32]:
    return np.array([_number(token) for token in range(len(WALKING.tokens))], dtype=np.int32)


def _usable(*, lazy: bool) -> NDArray[np.bool_]:
    return np.array([not lazy or b">" not in token[:-1] or token == WALKING.tokens[-1] for token in WALKING.tokens])


@lru_cache
def _llama() -> Any:
    import llama_cpp

    return llama_cpp


@lru_cache
def _messages() -> tuple[list[str], Any]:
    """Return what llama.cpp says from now on, and the function that collects it, which must live as long."""
    said: list[str] = []

    @_llama().llama_log_callback
    def collect(_: int, text: bytes, __: object) -> None:
        said.append(text.decode(errors="replace"))

    _llama().llama_log_set(collect, ctypes.c_void_p(0))
    return said, collect


@lru_cache
def _model() -> Any:
    _messages()
    settings = _llama().llama_model_default_params()
    settings.vocab_only = True
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        _write(path)
        return _llama().llama_model_load_from_file(str(path).encode(), settings)


def _write(path: Path) -> None:
    """Write a model that is nothing but a vocabulary."""
    from gguf import GGUFWriter

    pieces = [token.decode().replace(" ", "\u2581") for token in WALKING.tokens[256:-1]]
    tokens = [*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * len(pieces)])
    writer.add_eos_token_id(_END)
    for add in (writer.add_context_length, writer.add_embedding_length, writer.add_feed_forward_length):
        add(8)
    writer.add_block_count(1)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def _sampler(grammar: str, trigger: str | None) -> Any:
    vocabulary = _llama().llama_model_get_vocab(_model())
    said, _ = _messages()
    said.clear()
    if trigger is None:
        sampler = _llama().llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    else:
        triggers = (ctypes.c_char_p * 1)(trigger.encode())
        sampler = _llama().llama_sampler_init_grammar_lazy_patterns(
            vocabulary, grammar.encode(), b"root", triggers, 1, None, 0
        )
    if not sampler:
        raise ValueError("".join(said).strip() or "llama.cpp refuses the grammar")
    return sampler
