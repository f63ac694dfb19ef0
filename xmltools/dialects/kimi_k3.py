"""Kimi-K3: `<|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing
from xmltools.errors import Code

_K3 = Dialect(
    name="kimi_k3",
    body=Body.PAIRS,
    start="<|open|>tools<|sep|>",
    end="<|close|>tools<|sep|>",
    is_sure=True,
    many=True,
    example=(
        '<|open|>tools<|sep|><|open|>call tool="get" index="1"<|sep|><|open|>argument key="n" type="number"<|sep|>1'
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
    ),
    reasoning=("think",),
    thoughts=(
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|open|>think<|sep|>", "<|open|>response<|sep|>"),  # where the prompt has begun thoughts that never come
    ),
    ends_reasoning=True,
    turn_ends=(
        '<|open|>message role="assistant"<|sep|>',
        "<|open|>response<|sep|>",
        "<|close|>response<|sep|>",
        "<|close|>message<|sep|>",
        "<|end_of_msg|>",
    ),
    around_text=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    pairs=Pairs(
        name="<|open|>call ",
        name_end="<|sep|>",
        name_attribute="tool",
        end="<|close|>call<|sep|>",
        key="<|open|>argument ",
        key_end="<|sep|>",
        key_attribute="key",
        kind="type",
        value_end="<|close|>argument<|sep|>",
        object='<|open|>json type="object"<|sep|>',
        object_end="<|close|>json<|sep|>",
        bare=True,
    ),
    writing=Writing(
        before="",
        start="<|open|>tools<|sep|>",
        end="<|close|>tools<|sep|>",
        between="",
        name_attributes=' index="{next}"',
        result=ResultForm(
            each_start='<|open|>message role="tool" tool="{name}" index="{next}"<|sep|>',
            each_end="<|close|>message<|sep|>",
            between="",
            role="tool",
        ),
        tools=ToolList(start="```json\n[", end="]\n```", between=",\n"),
    ),
)


def _with_blanks(before: str, after: str) -> Dialect:
    """The form with blanks around the words in its delimiters."""

    def mark(kind: str, word: str) -> str:
        return f"<|{kind}|>{before}{word}{after}<|sep|>"

    assert _K3.pairs is not None
    pairs = replace(
        _K3.pairs,
        name=f"<|open|>{before}call ",
        end=mark("close", "call"),
        key=f"<|open|>{before}argument ",
        value_end=mark("close", "argument"),
        object=f'<|open|>{before}json type="object"{after}<|sep|>',
        object_end=mark("close", "json"),
    )
    start, end = mark("open", "tools"), mark("close", "tools")
    return replace(_K3, start=start, end=end, pairs=pairs, slip=Code.TAG_WHITE_SPACE, is_sure=False)


KIMI_K3 = replace(_K3, variants=tuple(_with_blanks(*each) for each in ((" ", " "), (" ", ""))))
