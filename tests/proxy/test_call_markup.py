"""Markup of calls that clients do not see: a first try that the model makes again as it should, and tags beside a call.
All other text comes when it was written."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from parser.test_foreign_calls import ATTEMPTS, MENTIONS, OWN, TOOLS, WHOLE

from xmltools import dialects
from xmltools.proxy.bridge import Exchange, Settings, call_markup

WITH = [
    *(
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters or {"type": "object"}}}
        for tool in TOOLS
    ),
    {
        "type": "function",
        "function": {"name": "get", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
]
TOKEN = re.compile(r"<[|｜][^<>\s]*[|｜]>|\[[A-Z_]+\]| ?\w+| ?[^\w\s]|\s+")
"""Text as tokenizers cut it, more or less."""
HERMES = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
CALL = dialects.FORGE.example
LEAKS = ("read[ARGS]", "functions.read[ARGS]", "<|open|>", "functools[", "```tool_code", "]<]")
"""Begin with what may be prose, and so are seen in a stream."""
FIRST = [call for *_, call in WHOLE] + ATTEMPTS + [each.example for each in dialects.known()]
FIRST.append(re.sub("(</?)", r"\1antml:", dialects.named("invoke").example))


class Client:
    """What a client of chat completions has got."""

    def __init__(self, dialect: str = "forge", *, stream: bool = True, choice: str = "auto", **settings: Any) -> None:
        asked = [{"role": "user", "content": "hi"}]
        body = {"model": "m", "messages": asked, "tools": WITH, "tool_choice": choice, "stream": stream}
        self.exchange = Exchange("chat", body, Settings(dialect=dialect, **settings))
        self.text = ""
        self.calls: list[str] = []
        self.tries = 0

    def take(self, sent: bytes) -> None:
        for said in re.findall(r"data: (\{.*\})\n", sent.decode()):
            for choice in json.loads(said).get("choices", ()):
                self.text += choice["delta"].get("content") or ""
                begun = (each for each in choice["delta"].get("tool_calls", ()) if "id" in each)
                self.calls += [each["function"]["name"] for each in begun]

    def say(self, chunk: str) -> str:
        self.take(self.exchange.feed({"choices": [{"index": 0, "delta": {"content": chunk}}]}))
        return self.text

    def end(self, reason: str = "stop") -> bool:
        self.tries += 1
        self.take(self.exchange.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
        self.take(self.exchange.end())
        return self.exchange.next_turn()

    def hear(self, *replies: list[str]) -> Client:
        for chunks in replies:
            for chunk in chunks:
                self.say(chunk)
            if not self.end():
                break
        return self


def without_space(text: str) -> str:
    return "".join(text.split())


def answered(dialect: str, *replies: str) -> tuple[str, int, int]:
    """The text and the number of calls of an answer in one piece, and how often the model was asked."""
    exchange = Client(dialect, stream=False).exchange
    for tries, reply in enumerate(replies, 1):
        message = {"role": "assistant", "content": reply}
        body = exchange.answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        if body is not None:
            given = body["choices"][0]["message"]
            return given["content"] or "", len(given.get("tool_calls", ())), tries
    raise AssertionError("the last reply was sent back")


@pytest.mark.parametrize("dialect", [each for each in OWN if each != "minicpm5"])
def test_a_first_try_in_another_notation_is_not_seen_once_the_call_is_made(dialect: str) -> None:
    good, seen = dialects.named(dialect).example, 0
    for call in FIRST:
        first = f"I read it.\n{call}\n\nAnd then?"
        client = Client(dialect).hear(TOKEN.findall(first), TOKEN.findall(good))
        if client.tries == 1 or "get" not in client.calls or client.exchange.stats.again[0] == "invalid_json":
            continue  # it is a call in this dialect
        seen += 1
        if client.exchange.stats.errors:
            continue  # the call is one of the dialect that failed: what follows it is said again
        if not call.startswith(LEAKS):
            assert without_space(client.text) == "Ireadit.Andthen?", call
        text, calls, tries = answered(dialect, first, good)
        assert (calls, tries) == (1, 2)
        assert without_space(text).replace("]A", "A" if "minimax[" in call else "]A") == "Ireadit.Andthen?", call
    assert seen > 80


@pytest.mark.parametrize(
    "first", [f"I read it.\n{HERMES}\nAnd then?", HERMES, f"```json\n{HERMES.split(chr(10))[1]}\n```"]
)
@pytest.mark.parametrize("second", ["I can't.", "", f"Again: {HERMES}", CALL.replace("1", "x")])
def test_nothing_is_lost_if_the_call_is_not_made(first: str, second: str) -> None:
    client = Client().hear(TOKEN.findall(first), TOKEN.findall(second))
    assert client.tries == 2 and client.calls == []
    assert client.text.startswith(first) and client.text.count("read") >= first.count("read")
    assert client.text == first or client.text[len(first) :].startswith("\n\n")
    assert client.text == answered("forge", first, second)[0]


def test_json_in_a_fence_that_was_the_reply_is_not_seen_once_the_call_is_made() -> None:
    fenced = f"```json\n{HERMES.split(chr(10))[1]}\n```"
    for first in (fenced, f"\n{fenced}\n", fenced.replace("json", "")):
        for cut in (TOKEN.findall(first), list(first), [first]):
            client = Client().hear(cut, [CALL])
            assert (client.calls, client.text, client.tries) == (["get"], "", 2)
    client = Client().hear([f"So:\n{fenced}"])  # it may be anything
    assert (client.tries, client.text) == (1, f"So:\n{fenced}")


def test_words_beside_a_call_that_was_only_shown_stay() -> None:
    first = f"```\n{CALL}\n```\n{'So. ' * 100}\n<tool_call>{{}}</tool_call> And then?"
    client = Client().hear([first], [CALL])
    assert client.tries == 2 and client.calls == ["get"] and client.text.endswith("And then?")


def test_a_reply_that_is_held_is_not_empty() -> None:
    other = '<tool_call>{"name": "other", "arguments": {}}</tool_call>'
    client = Client().hear([other])
    assert (client.tries, client.text) == (1, other)


def test_text_that_may_begin_a_call_comes_before_reasoning() -> None:
    client = Client()
    assert client.say("a <inv") == "a "
    client.take(client.exchange.feed({"choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]}))
    assert client.text == "a <inv"


def test_what_is_said_again_is_not_seen_twice() -> None:
    first = f"I read it.\n{HERMES}\nAnd then?"
    assert Client().hear([first], [first]).text == first
    assert Client().hear([first], ["I read it.\n", CALL]).text == "I read it.\n\nAnd then?"
    assert Client().hear([f"{HERMES}\n\n"], [CALL]).text == ""


def test_a_call_that_is_tried_three_times_is_seen_once() -> None:
    client = Client(retries=2).hear(["A.\n", HERMES], ["B.\n", HERMES, " C."], [CALL])
    assert (client.calls, client.tries) == (["get"], 3)
    assert without_space(client.text) == "A.B.C." and "<" not in client.text
    client = Client(retries=2).hear(["A.\n", HERMES], [CALL.replace("1", "x")], [CALL])
    assert (client.calls, client.text) == (["get"], "A.\n")


def test_text_that_was_held_comes_before_an_error() -> None:
    client = Client()
    assert client.say("I read it: <tool_call>") == client.say('{"name": "read"') == "I read it: "
    client.take(client.exchange.end())  # the upstream breaks off
    assert client.text == 'I read it: <tool_call>{"name": "read"'
    client = Client().hear([HERMES])
    assert client.text == ""
    client.take(client.exchange.fail("gone"))
    assert client.text == HERMES


def test_a_reply_that_is_cut_off_is_seen() -> None:
    client = Client()
    client.say(HERMES)
    assert not client.end("length") and client.text == HERMES


def test_no_more_is_held_than_a_call_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_markup, "_MOST", 1_000)
    client = Client()
    held = '<tool_call>{"name": "read", "arguments": {"path": "'
    assert client.say(held) == ""
    for size in range(100, 3_000, 100):
        said = client.say(100 * "x")
        assert said == ("" if size <= 1_000 else held + size * "x") or 1_000 < size < 1_500
    assert client.say("<tool_call>{") == client.text  # later ones pass


def test_without_another_try_nothing_is_held() -> None:
    client = Client(retries=0)
    assert client.say(HERMES) == HERMES
    client = Client()
    assert client.say(f"{CALL}{HERMES}").endswith(HERMES)  # nor after a call
    assert not client.end() and client.calls == ["get"]


@pytest.mark.parametrize("dialect", ["forge", "hermes", "qwen3_coder", "glm", "kimi_k2", "mistral", "dsml"])
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("I do it.\n{}\n</tool_call>", "I do it."),
        ("{}</tool_call>\n\nDone.", "Done."),
        ("{}\n</function>\n</tool_calls>\n", ""),
        ("<tool_calls>\n{}\n</tool_calls>", ""),
        ("I do it. <function_calls>{}", "I do it."),
        ("{} </b> is a tag.", "</b> is a tag."),
        ("{} The end: </tool_call>", "The end: </tool_call>"),
        ("<b> {}", "<b>"),
        ("<tool_calls> are tags. {}", "<tool_calls> are tags."),
    ],
)
def test_tags_of_calls_beside_a_call_are_left_out(dialect: str, reply: str, text: str) -> None:
    reply = reply.replace("{}", dialects.named(dialect).example)
    for cut in (TOKEN.findall(reply), list(reply), [reply]):
        client = Client(dialect).hear(cut)
        assert client.calls == ["get"] and client.text.strip() == text
    assert answered(dialect, reply)[0].strip() == text


def test_tags_beside_a_call_that_is_not_made_are_left_out_too() -> None:
    said = "The call of get was not made: "
    client = Client(choice="none").hear([f"I look.\n<tool_calls>{CALL}", "\n</tool_calls>", f" So: {HERMES}"])
    assert client.text.startswith(f"I look.\n\n{said}") and client.text.endswith(f". So: {HERMES}")
    assert "calls>" not in client.text and client.calls == []
    assert Client(choice="none").say(HERMES) == HERMES
    client = Client(retries=0).hear([CALL.replace("1", "x"), "</tool_call>"])
    assert client.text.startswith(said) and "</tool_call>" not in client.text
    assert Client().hear(["So `<ping/>` is."]).text == Client().say("So `<ping/>` is.")


def test_a_call_keeps_the_words_between_two_first_tries() -> None:
    first = f"A <b>b</b>\n<tool_calls>{HERMES} <i>c</i>, d\n<tool_calls>\n{HERMES}</tool_calls>\n(e)"
    assert without_space(Client().hear([first], [CALL]).text) == "A<b>b</b><i>c</i>,d(e)"
    shown = f"\n\nFor example:\n```\n{HERMES}\n```\n"
    assert Client().hear([HERMES + shown], [CALL]).text == shown


# -- text that is delivered when it is written -------------------------------------------------------------------------

PROSE = [
    "I looked at the file. The answer is 42, of course.\n\n## Result\n\n- first: **x**\n- second\n",
    "See [the docs](https://example.org), [1] and [x]. Das heißt «gut»; 数据. I read, get and ping files.\n",
    "```python\ndef f(x: list[int]) -> dict[str, int]:\n    return x or {1: 2}\n```\n",
    "1. **One** - `x`\n2. **Two** (a > b)\n\n| a | b |\n|---|---|\n",
]
"""Has nothing with which a tag or an object begins."""
MARKUP = [
    "Use `<tool_call>` to call, and `</tool_call>` to end; <tool_call> is a tag, <read> and <path> too.\n",
    "if a < b and c <d, x << 2, a <- b, y <= 3: 1 < 2, Vec<Option<T>>, Map<string, T>\n",
    "```html\n<div class='a'>\n <table><tr><td>x</td></tr></table>\n <input/>\n</div>\n```\n",
    '```json\n{"name": "my-package", "scripts": {"test": "jest"}}\n```\n',
    "```c\n#include <stdio.h>\nint main(void)\n{\n  return x[1];\n}\n```\n",
    "<details><summary>More</summary>Text</details> <b>bold</b>, <br/>, &lt;div&gt;\n",
    "```sh\ncat <<EOF > a\n${x}\nEOF\n```\n",
    *(f"{each}, and so on.\n" for each in MENTIONS if "<function=read>" not in each),
]


@pytest.mark.parametrize("dialect", ["forge", "hermes", "qwen3_coder", "glm", "mistral", "kimi_k2"])
@pytest.mark.parametrize("text", PROSE)
def test_prose_and_code_without_tags_come_with_their_chunk(dialect: str, text: str) -> None:
    client, without = Client(dialect), Client(dialect, retries=0)
    for chunk in ["So. ", *TOKEN.findall(text)]:
        assert client.say(chunk) == without.say(chunk)


def test_text_with_a_tag_comes_a_few_chunks_later() -> None:
    client = Client()
    seen = [
        client.say(chunk) for chunk in ("Use ", "<", "tool", "_call", ">", " to", " call", ". a ", "<", "d", "iv", ">")
    ]
    assert seen == [
        *["Use "] * 6,
        *["Use <tool_call> to call", "Use <tool_call> to call. a "] * 1,
        *["Use <tool_call> to call. a "] * 2,
        *["Use <tool_call> to call. a <div", "Use <tool_call> to call. a <div>"],
    ]
    assert Client().say("return <>") == "return <>"
    client = Client()
    client.say("For example: `")
    assert client.say("<tool_call>") == "For example: `<tool_call>"
    assert client.say("` is it") == "For example: `<tool_call>` is it"


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_text_is_held_for_a_few_words_at_most_and_stays_as_it_is(seed: int) -> None:
    rng = Random(seed)
    dialect = [each for each in OWN if each != "minicpm5"][seed - 1]
    for _ in range(6):
        text = "So. " + "".join(rng.choice(PROSE + MARKUP) for _ in range(8))
        client, without = Client(dialect), Client(dialect, retries=0)
        for chunk in TOKEN.findall(text) if rng.random() < 0.5 else re.findall(r"(?s).{1,4}", text):
            written = without.say(chunk)
            assert len(written) - len(client.say(chunk)) < 80, client.text[-50:]
            assert written.startswith(client.text)
        without.end()
        client.end()
        assert client.text == without.text and client.tries == 1
