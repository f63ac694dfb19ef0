"""Kimi-K3: `<|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE…`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

KIMI_K3 = Dialect(
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
