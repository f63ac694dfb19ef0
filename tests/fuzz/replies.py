"""Replies of all kinds for all dialects, tools and options: from all generators, with slips, cut off, and in chunks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from support.corpus import CASES, FOLDER, options_of, tools_of
from support.dialect_marks import marks_of
from support.dialect_texts import KINDS, dialect_case
from support.nearly_clean import narrow_case, nearly_clean_case, nearly_clean_dialect_case, nearly_clean_reply
from support.ordinary_replies import reply
from support.strategies import SOUP, Case, clean_case, mutate, pieces, slip
from support.strategies import case as any_case

from fuzz.quick import cut
from fuzz.record import Trial
from fuzz.tokens import OPTIONS, token_case
from xmltools import dialects
from xmltools.parser import Limits
from xmltools.tools import Tool

__all__ = ["trial"]

_CORPUS = [
    *CASES,
    *(case for path in sorted(FOLDER.glob("dialects/*.json")) for case in json.loads(path.read_text("utf-8"))),
]
_LONG = 20_000
"""Characters of a reply beyond which it is not fed in single ones: that would take as long as hundreds of others."""


@dataclass(frozen=True)
class _CorpusCase(Case):
    """A reply for the tools of a case of the corpus: `tool_set` is its number."""

    @property
    def tools(self) -> list[Tool] | None:
        return tools_of(_CORPUS[int(self.tool_set)])


def _corpus_case(rng: Random) -> Case:
    """One to three texts of the corpus that have the same dialect, with slips."""
    number = rng.randrange(len(_CORPUS))
    chosen = _CORPUS[number]
    texts = [chosen["text"]]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        near = _CORPUS[(number + rng.randint(-20, 20)) % len(_CORPUS)]
        texts.append(near["text"])
    text = rng.choice(("", "\n", "Now: ")).join(texts)
    return _CorpusCase([text[:_LONG]], str(number), options_of(chosen))


def _prose_case(rng: Random) -> Case:
    """A call or two between prose, code, tables and what is said about calls."""
    case = nearly_clean_reply(rng) if rng.random() < 0.7 else nearly_clean_dialect_case(rng)
    parts = [reply(rng.randrange(1_000_000_000)), case.text, reply(rng.randrange(1_000_000_000)), case.text]
    return replace(case, tokens=["\n".join(parts[rng.randrange(2) : rng.choice((2, 2, 3, 4))])[:_LONG]])


_MAKERS: tuple[Callable[[Random], Case], ...] = (
    *[lambda rng: token_case(rng.getrandbits(48))] * 4,
    *[lambda rng: dialect_case(rng, rng.choice(KINDS))] * 7,
    *[any_case, clean_case, narrow_case] * 2,
    *[nearly_clean_case, nearly_clean_dialect_case, nearly_clean_reply, _corpus_case] * 3,
    _prose_case,
)


def trial(rng: Random, only: list[str] | None = None) -> Trial:
    """A reply with tools and options, in chunks: in one of the named dialects, if any is (`also`: with that option)."""
    while True:
        case = rng.choice(_MAKERS)(rng)
        options = _options(rng, case.options)
        if only is None or options.get("dialect", "forge") in only or ("also" in only and "also" in options):
            text = _spoilt(rng, case, options)
            return _chunks(rng, text), _definitions(case), options


def _options(rng: Random, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a case, often with one or two of its own."""
    options = dict(given)
    layout = dialects.named(options.get("dialect", "forge")).layout
    for _ in range(rng.choice((0, 0, 1, 2))):
        options.update(rng.choice((*_MORE, *OPTIONS)))
    if layout:
        options.pop("bracket_reasoning", None)
    if "limits" in options and rng.random() < 0.5:  # most limits are so small that hardly anything else is tried
        del options["limits"]
    elif "limits" in options:
        options["limits"] = asdict(options["limits"])
    return options


_MORE: tuple[dict[str, Any], ...] = (
    *({"argument_deltas": False}, {"argument_deltas": False}, {"strict": True}, {"code_fences": "text"}),
    {"code_fences": "call"},
    *({"also": "known"}, {"also": "known"}, {"also": ["hermes", "glm"]}, {"also": ["forge"]}),
    *({"starts_in_reasoning": True}, {"bracket_reasoning": True}, {"reasoning_tags": ["thought", "a.b"]}),
    *({"limits": Limits(block_size=size)} for size in (100, 400, 4_096)),
    *({"limits": Limits(depth=3)}, {"limits": Limits(elements=4)}, {"limits": Limits(blocks=1)}),
)


def _spoilt(rng: Random, case: Case, options: dict[str, Any]) -> str:
    """The text of a case, of which half have slips, marks of the dialect in them, a cut-off end, or a long part."""
    tokens = case.tokens
    draw = rng.random()
    if draw < 0.1:
        tokens = mutate(rng, slip(rng, tokens))
    text = "".join(tokens)
    if 0.1 < draw < 0.3:
        dialect = dialects.named(options.get("dialect", "forge"))
        marks = marks_of(dialect, ("types", "f"), ("path", "a"))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(text) + 1)
            mark = rng.choice(marks) if marks and rng.random() < 0.7 else rng.choice(rng.choice(SOUP)[1])
            text = text[:at] + mark + text[at + rng.choice((0, 0, 1, 5)) :]
    if 0.25 < draw < 0.4:
        text = text[: rng.randrange(len(text) + 1)]
    if 0.4 < draw < 0.42:
        at = rng.randrange(len(text) + 1)
        part = text[at : at + rng.choice((1, 1, 4, 40))]
        text = text[:at] + part * rng.choice((70, 700, 5_000) if len(part) < 5 else (70, 300)) + text[at:]
    return text


def _chunks(rng: Random, text: str) -> list[str]:
    """The text whole, in pieces of one size, in a few pieces, or in many of random sizes, of which some are empty."""
    draw = rng.random()
    if draw < 0.15 or not text:
        return [text]
    if draw < 0.6:
        size = rng.choice((1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 64, 64, 1_000))
        size = max(size, 4) if len(text) > _LONG // 4 else size
        return [text[at : at + size] for at in range(0, len(text), size)]
    if draw < 0.8:
        return pieces(rng, text, rng.choice((3, 9, 40, 400)) if len(text) <= _LONG // 4 else 400)
    return cut(text, rng) if len(text) <= _LONG // 4 else [text[: len(text) // 2], text[len(text) // 2 :]]


def _definitions(case: Case) -> str | None:
    """The tools of a case as JSON."""
    return _written(type(case), case.tool_set)


@lru_cache(maxsize=300)
def _written(kind: type[Case], tool_set: str) -> str | None:
    tools = kind([], tool_set).tools
    return None if tools is None else json.dumps([tool.model_dump() for tool in tools])
