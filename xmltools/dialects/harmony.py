"""Harmony, of gpt-oss: `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_COMMENTARY = Dialect(
    name="harmony",
    body=Body.PAIRS,
    start="<|channel|>commentary to=",
    end="<|call|>",
    is_sure=True,
    may_lack_end=True,  # it is the token that ends the turn, so servers strip it
    example='<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"n": 1}<|call|>',
    reasoning=(),
    thoughts=(("<|channel|>analysis<|message|>", "<|end|>"),),
    turn_ends=(
        "<|start|>assistant",
        "<|channel|>final<|message|>",
        "<|channel|>final <|constrain|>json<|message|>",
        "<|channel|>commentary<|message|>",
        "<|end|>",
        "<|return|>",
    ),
    around_text=("<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>", "<|end|>"),
    pairs=Pairs(
        name_end="<|message|>",
        name_pattern=(
            r"(?:functions\.)?(?P<name>[^\s<]+)(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?\s*\w*(?:<\|channel\|>\w+)?"
        ),
        json=True,
    ),
    writing=Writing(
        before="",
        call_start="<|channel|>commentary to=",
        call_end="<|call|>",
        between="",
        name="functions.{name} <|constrain|>json",
        result=ResultForm(
            each_start="<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>",
            each_end="<|end|>",
            between="",
            role="tool",
        ),
        tools=ToolList(
            form="types",
            start="namespace functions {\n\n",
            end="\n\n} // namespace functions",
            between="\n\n",
        ),
    ),
)

# The tool may be named in front of the channel, and models call tools in the channel of their thoughts too.
HARMONY = replace(
    _COMMENTARY,
    variants=(
        replace(_COMMENTARY, start="<|channel|>analysis to="),
        replace(_COMMENTARY, start="<|start|>assistant to="),
        replace(_COMMENTARY, start=" to=", is_first=True),  # after a prompt that ends with <|start|>assistant
    ),
)
