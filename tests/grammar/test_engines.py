from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engines import llama_judge, llguidance_judge, missing, xgrammar_judge
from support.engines.llama_judge import TRIGGER, LlamaJudge
from support.engines.llguidance_judge import LlguidanceJudge
from support.engines.vocabulary import KINDS, WALKING, large
from support.engines.walking import WEIGHTS, walk
from support.engines.xgrammar_judge import XgrammarJudge
from support.engines.xgrammar_torch import import_xgrammar

# One language in the words of each engine: prose, and in it blocks with two elements in any order.
CALL = """call ::= "<" ("a>" text "a>" rest-b | "b>" text "b>" rest-a) "</tool>"
rest-a ::= "" | "<a>" text "a>"
rest-b ::= "" | "<b>" text "b>"
text ::= "</" | [^<&] text | "&" ("lt;" | "amp;") text
"""
GBNF = (
    """root ::= "" | "<" t1 | [^<] root
t1 ::= "" | "t" t2 | "<" t1 | [^<t] root
t2 ::= "" | "o" t3 | "<" t1 | [^<o] root
t3 ::= "" | "o" t4 | "<" t1 | [^<o] root
t4 ::= "" | "l" t5 | "<" t1 | [^<l] root
t5 ::= "" | ">" call root | "<" t1 | [^<>] root
"""
    + CALL
)
LAZY = 'root ::= "<tool>" call\n' + CALL
LARK = r"""start: tool* tail
tool: head call
head[lazy]: /(.|\n)*<tool>/
tail: TAIL
TAIL: /(.|\n)*/ & ~/(.|\n)*<tool>(.|\n)*/
call: (a b? | b a?) "</tool>"
a: "<a>" TEXT "</a>"
b: "<b>" TEXT "</b>"
TEXT: /([^<&]|&lt;|&amp;)*/
"""
TAG = json.dumps(
    {
        "type": "structural_tag",
        "format": {"type": "dispatch", "rules": [["<tool>", {"type": "grammar", "grammar": "root ::= call\n" + CALL}]]},
    }
)

A, B = "<a>1 &lt; é</a>", "<b>\n</b>"
SENTENCES = [
    "",
    "hi",
    "a < b",
    "<too",
    "<tools>",
    "<<tool",
    f"<tool>{A}</tool>",
    f"x<tool>{B}{A}</tool>é<tool>{A}</tool>.",
]
PREFIXES = ["<tool>", "<tool><", "x<tool><a>", "<tool><a>&l", "<tool><a>1</a", f"<tool>{A}", f"<tool>{A}<b>"]
REFUSED = ["<tool>x", "<tool></tool>", f"<tool>{A}{A}", "<tool><a>&x", "<tool><a><b>", f"<tool>{A}</tools>"]

needs_llama = pytest.mark.skipif(bool(llama_judge.available()), reason=llama_judge.available() or "-")
ENGINES = [
    pytest.param(lambda: LlguidanceJudge(LARK), id="llguidance"),
    pytest.param(lambda: XgrammarJudge(GBNF), id="xgrammar"),
    pytest.param(lambda: XgrammarJudge(TAG, structural_tag=True), id="xgrammar-tag"),
    pytest.param(lambda: LlamaJudge(GBNF), id="llama", marks=needs_llama),
]
Judge = LlguidanceJudge | XgrammarJudge | LlamaJudge


@pytest.fixture(params=ENGINES)
def judge(request: pytest.FixtureRequest) -> Judge:
    return kept(request.param)


@lru_cache
def kept(make: Callable[[], Judge]) -> Judge:
    return make()


def test_the_engines_of_every_test_run_are_installed():
    assert llguidance_judge.available() == ""
    assert xgrammar_judge.available() == ""


def test_what_is_missing_is_named():
    assert missing("json", "no_such_engine", "no_such_other") == "not installed: no_such_engine, no_such_other"


# Judging


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_is_accepted(judge: Judge, text: str):
    assert judge.accepts(text)


@pytest.mark.parametrize("text", PREFIXES)
def test_a_text_that_can_be_continued_is_a_prefix_and_no_sentence(judge: Judge, text: str):
    assert judge.prefix(text)
    assert not judge.accepts(text)


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_cannot_be_continued_is_neither(judge: Judge, text: str):
    assert not judge.prefix(text)
    assert not judge.accepts(text)


def test_judgements_do_not_depend_on_those_before(judge: Judge):
    for text in (REFUSED[0], SENTENCES[-1], PREFIXES[0], SENTENCES[-1]):
        assert judge.accepts(text) == (text in SENTENCES)


@pytest.mark.parametrize(
    ("judge_of", "grammar", "error"),
    [
        (LlguidanceJudge, "start: nothing", "unknown name"),
        (XgrammarJudge, "root ::= nothing", "not defined"),
        pytest.param(LlamaJudge, "root ::= nothing", "grammar", marks=needs_llama),
    ],
)
def test_a_grammar_that_is_none_is_refused(judge_of: Any, grammar: str, error: str):
    with pytest.raises((ValueError, RuntimeError), match=error):
        judge_of(grammar)


def test_a_structural_tag_that_is_none_is_refused():
    with pytest.raises(RuntimeError, match="structural tag"):
        XgrammarJudge('{"type": "structural_tag"}', structural_tag=True)


@pytest.mark.parametrize("text", ["décor", "é0", "\x85a", "^", "`", "b"])
def test_xgrammar_reads_the_text_of_a_grammar_and_no_print_of_it(text: str):
    assert XgrammarJudge('root ::= "décor" | "é0" | "\\u0085a" | [\\u005E-\\u0060] | [a\\u00FCb]').accepts(text)


# Walking


@lru_cache
def many_walks(judge: Judge) -> list[str]:
    return walks(judge, 300)


def walks(judge: Judge, count: int, seed: int = 1) -> list[str]:
    rng = Random(seed)
    return [text for text in (judge.walk(rng) for _ in range(count)) if text is not None]


def test_walks_are_sentences(judge: Judge):
    found = many_walks(judge)
    assert len(found) > 200
    assert all(judge.accepts(text) for text in found)


def test_most_walks_hold_a_block(judge: Judge):
    found = many_walks(judge)
    assert sum("</tool>" in text for text in found) > 0.6 * len(found)


@pytest.mark.parametrize("piece", ["</a><b>", "</b><a>", "</a></tool>", "</b></tool>", "<a></a>", "&lt;", "é"])
def test_walks_come_by_every_choice(judge: Judge, piece: str):
    assert any(piece in text for text in many_walks(judge))


def test_walks_of_one_seed_are_the_same(judge: Judge):
    assert walks(judge, 20) == walks(judge, 20)
    assert walks(judge, 20) != walks(judge, 20, seed=2)


def test_engines_that_agree_walk_the_same_way():
    assert walks(XgrammarJudge('root ::= "a" [b-f]*'), 20) == walks(LlguidanceJudge('start: "a" /[b-f]*/'), 20)


def test_a_walk_ends_at_its_limit_without_a_text():
    judge = XgrammarJudge('root ::= "a" root')
    assert judge.walk(Random(0), limit=10) is None


def test_a_walk_through_bytes_that_are_no_text_gives_none():
    steps = iter((0xFF, WALKING.end))
    assert walk(lambda: one_token(next(steps)), lambda _: True, Random(0), 10) is None


def test_a_walk_that_cannot_go_on_says_where():
    steps = iter((one_token(ord("x")), np.zeros(len(WALKING.tokens))))
    with pytest.raises(RuntimeError, match="behind b'x'"):
        walk(lambda: next(steps), lambda _: True, Random(0), 10)


def one_token(token: int) -> np.ndarray:
    mask = np.zeros(len(WALKING.tokens))
    mask[token] = 1
    return mask


def test_every_kind_of_piece_has_a_weight():
    assert set(WEIGHTS) == {*KINDS, "letter", "byte", "end"}
    assert all(weight > 0 for pair in WEIGHTS.values() for weight in pair)


# Times


@pytest.mark.parametrize("make", ENGINES[:3])
def test_each_token_along_a_text_has_a_time(make: Callable[[], Any]):
    times = kept(make).mask_times(SENTENCES[-1])
    assert len(times) == len(large().split(SENTENCES[-1].encode()))
    assert all(time > 0 for time in times)


@pytest.mark.parametrize("make", ENGINES[:3])
def test_a_text_that_is_refused_has_no_times(make: Callable[[], Any]):
    with pytest.raises(ValueError, match="refuses the text at token"):
        kept(make).mask_times("<tool>x")


# Lazy grammars


@needs_llama
@pytest.mark.parametrize(
    ("text", "whole"),
    [("", True), ("hi <tools>", True), ("<tool", True), (f"hi<tool>{A}</tool>", True), ("a<tool><", False)],
)
def test_a_lazy_grammar_takes_over_at_the_trigger(text: str, whole: bool):
    judge = LlamaJudge(LAZY, trigger=TRIGGER)
    assert judge.prefix(text)
    assert judge.accepts(text) == whole


@needs_llama
@pytest.mark.parametrize("text", ["a<tool>x", f"<tool>{A}</tool>x", *REFUSED])
def test_a_lazy_grammar_refuses_what_does_not_fit_behind_the_trigger(text: str):
    assert not LlamaJudge(LAZY, trigger=TRIGGER).prefix(text)


@needs_llama
def test_walks_of_a_lazy_grammar_are_sentences():
    judge = LlamaJudge(LAZY, trigger=TRIGGER)
    found = walks(judge, 100)
    assert all(judge.accepts(text) for text in found)
    assert any("</tool>" in text for text in found)


# Vocabularies


@pytest.mark.parametrize(("vocabulary", "size"), [(WALKING, 350), (large(), 32_000)])
def test_a_vocabulary_is_all_bytes_longer_tokens_and_the_end(vocabulary: Any, size: int):
    assert vocabulary.tokens[:256] == tuple(bytes([byte]) for byte in range(256))
    assert len(set(vocabulary.tokens)) == len(vocabulary.tokens) >= size
    assert vocabulary.end not in vocabulary.numbers.values()


def test_the_large_vocabulary_is_always_the_same():
    assert large.__wrapped__().tokens == large().tokens


@given(st.text(st.sampled_from("<tol>/]é a\n&;\U0001f600")))
def test_what_is_split_into_tokens_can_be_joined(text: str):
    assert WALKING.join(WALKING.split(text.encode())) == text.encode()


def test_the_longest_token_is_taken():
    assert [WALKING.tokens[token] for token in WALKING.split(b"<tool>\n<x>")] == [b"<tool>\n<", b"x", b">"]


@pytest.mark.skipif(not missing("torch"), reason="torch is installed")
def test_what_stands_in_for_torch_leaves_no_trace():
    import_xgrammar()
    assert not {"torch", "transformers", "triton"} & set(sys.modules)
