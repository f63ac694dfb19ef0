"""DeepSeek-V3.2 and later: `<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing
from xmltools.errors import Code

_EOS = "<｜end▁of▁sentence｜>"


def _pairs(tag: str) -> Pairs:
    """The marks, with what stands before the name of each tag."""
    return Pairs(
        name=f"<{tag}invoke ",
        name_end=">",
        name_attribute="name",
        end=f"</{tag}invoke>",
        key=f"<{tag}parameter ",
        key_end=">",
        key_attribute="name",
        kind="string",
        value_end=f"</{tag}parameter>",
        bare=True,
    )


def spelled(word: str, name: str, turn_ends: tuple[str, ...], result: ResultForm, others: tuple[str, ...]) -> Dialect:
    """A dialect with this word between the bars of each tag; `others` are sections that older models write."""
    tag = f"｜{word}｜"
    form = Dialect(
        name=name,
        body=Body.PAIRS,
        block=f"{tag}tool_calls",
        example=(
            f'<{tag}tool_calls><{tag}invoke name="get"><{tag}parameter name="n" string="false">1</{tag}parameter>'
            f"</{tag}invoke></{tag}tool_calls>"
        ),
        reasoning=("think",),
        ends_reasoning=True,
        layout=True,
        is_sure=True,
        many=True,
        turn_ends=turn_ends,
        pairs=_pairs(tag),
        writing=Writing(
            before="\n\n",
            start=f"<{tag}tool_calls>\n",
            end=f"\n</{tag}tool_calls>",
            after_name="\n",
            after_value="\n",
            result=result,
            tools=ToolList(form="schema"),
        ),
    )
    # The last two, and all of these, are what models write by mistake.
    slips = [(f"{bars}{word}{bars}", Code.TAG_CASE) for bars in ("|", "｜｜", "||")]
    slips += [(each, Code.TAG_WHITE_SPACE) for each in (f"{tag} ", f"｜ {word} ｜", f"｜ {word} ｜ ", f"| {word} |")]
    variants = [replace(form, block=f"{tag}{section}") for section in (*others, "toolcalls", "tool")]
    variants += [
        replace(form, block=f"{slip}{section}", pairs=_pairs(slip), slip=code, is_sure=False)
        for slip, code in slips
        for section in ("tool_calls", *others)
    ]
    return replace(form, variants=tuple(variants))


_DSML = spelled(
    "DSML",
    "dsml",
    turn_ends=(_EOS, "<｜User｜>", "<｜Assistant｜>"),
    result=ResultForm(each_start="<tool_result>", each_end="</tool_result>", older="<result></result>"),  # V3.2
    others=("function_calls",),
)
_V41 = replace(_DSML, block="｜DSML｜ calls", pairs=_pairs("｜DSML｜ "), variants=())
DSML = replace(_DSML, variants=(_DSML.variants[0], _V41, *_DSML.variants[1:]))
