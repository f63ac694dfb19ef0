"""Replies of models whose checkpoints have the templates of `response_templates`, laid out as chat templates do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from support.response_templates import TEMPLATES

Call = tuple[str, dict[str, Any]]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get",
            "parameters": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "text": {"type": "string"},
                    "on": {"type": "boolean"},
                    "ratio": {"type": "number"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                    "where": {"type": "object"},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "object", "properties": {}}}},
]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_gemma(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_as_gemma(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_as_gemma, value)) + "]"
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else json.dumps(value)


def _each(form: str, between: str = "\n", **keys: str) -> Callable[[list[Call]], str]:
    """Calls that are an object each, or that name the tool and have one."""

    def lay_out(calls: list[Call]) -> str:
        named = [form.replace("NAME", name).replace("NUMBER", str(n)) for n, (name, _) in enumerate(calls)]
        said = ((json.dumps(_object(call, keys)), json.dumps(call[1], ensure_ascii=False)) for call in calls)
        both = zip(named, said, strict=True)
        return between.join(one.replace("OBJECT", whole).replace("JSON", inside) for one, (whole, inside) in both)

    return lay_out


def _object(call: Call, keys: dict[str, str]) -> dict[str, Any]:
    return {keys.get("name", "name"): call[0], keys.get("arguments", "arguments"): call[1]}


def _tags(start: str, pair: str, end: str, around: tuple[str, str] = ("", "")) -> Callable[[list[Call]], str]:
    """Calls that are keys and values."""

    def lay_out(calls: list[Call]) -> str:
        each = (
            start.replace("NAME", name)
            + "".join(pair.replace("KEY", key).replace("VALUE", _as_text(value)) for key, value in arguments.items())
            + end
            for name, arguments in calls
        )
        return around[0] + "\n".join(each) + around[1]

    return lay_out


def _cohere(calls: list[Call]) -> str:
    keys = ("tool_call_id", "tool_name", "parameters")
    objects = [dict(zip(keys, (str(n), *call), strict=True)) for n, call in enumerate(calls)]
    return f"<|START_ACTION|>{json.dumps(objects, indent=4)}<|END_ACTION|>"


def _wrapped(calls: list[Call]) -> str:
    return f"<actions>{json.dumps([{'fn': {'name': name, 'args': arguments}} for name, arguments in calls])}</actions>"


def _gemma(calls: list[Call]) -> str:
    return "".join(f"<|tool_call>call:{name}{_as_gemma(arguments)}<tool_call|>" for name, arguments in calls)


def _python(calls: list[Call]) -> str:
    said = (f"{name}({', '.join(f'{key}={each!r}' for key, each in arguments.items())})" for name, arguments in calls)
    return f"<|tool_call_start|>[{', '.join(said)}]<|tool_call_end|>"


_JSON = _each("<tool_call>\nOBJECT\n</tool_call>")
_QWEN = _tags("<tool_call>\n<function=NAME>\n", "<parameter=KEY>\nVALUE\n</parameter>\n", "</function>\n</tool_call>")


@dataclass(frozen=True)
class Layout:
    """How a model of a template writes."""

    calls: Callable[[list[Call]], str]
    end: str = "<|im_end|>"
    think: str = "<think>\nTHOUGHT\n</think>\n\n"
    text: str = "TEXT"
    before_calls: str = "\n"
    starts_in_reasoning: bool = False


LAYOUTS = {
    "json": Layout(_JSON),
    "json_loose": Layout(_JSON),
    "cohere": Layout(
        _cohere, "", "<|START_THINKING|>THOUGHT<|END_THINKING|>", "<|START_RESPONSE|>TEXT<|END_RESPONSE|>", ""
    ),
    "ernie": Layout(_JSON, "", "THOUGHT\n</think>\n\n", "<response>\nTEXT\n</response>\n", "\n", True),
    "dotted": Layout(_each("<tool>OBJECT</tool>", arguments="args"), "", ""),
    "wrapped": Layout(_wrapped, "", ""),
    "harmony": Layout(
        _each("<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>JSON<|call|>", "<|start|>assistant"),
        "",
        "<|channel|>analysis<|message|>THOUGHT<|end|><|start|>assistant",
        "<|channel|>final<|message|>TEXT<|end|>",
        "<|start|>assistant",
    ),
    "gemma": Layout(_gemma, "<turn|>", "<|channel>thought\nTHOUGHT\n<channel|>", before_calls=""),
    "kimi": Layout(
        lambda calls: (
            "<|tool_calls_section_begin|>"
            + _each("<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>JSON<|tool_call_end|>", "")(
                calls
            )
            + "<|tool_calls_section_end|>"
        )
    ),
    "mistral": Layout(_each("[TOOL_CALLS]NAME[ARGS]JSON", ""), "</s>", "", before_calls=""),
    "deepseek": Layout(
        lambda calls: (
            "<｜tool▁calls▁begin｜>"
            + _each("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>JSON<｜tool▁call▁end｜>", "")(calls)
            + "<｜tool▁calls▁end｜>"
        ),
        "<｜end▁of▁sentence｜>",
    ),
    "functionary": Layout(_each("<function=NAME>JSON</function>"), think=""),
    "qwen_tags": Layout(_QWEN, ""),
    "qwen_text": Layout(_QWEN),
    "glm": Layout(
        _tags("<tool_call>NAME\n", "<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n", "</tool_call>"),
        "<|observation|>",
    ),
    "minimax": Layout(
        _tags(
            '<invoke name="NAME">\n',
            '<parameter name="KEY">VALUE</parameter>\n',
            "</invoke>",
            ("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
        ),
        "[e~[",
    ),
    "dsml": Layout(
        lambda calls: (
            "<｜DSML｜tool_calls>\n"
            + "\n".join(
                f'<｜DSML｜invoke name="{name}">\n'
                + "".join(
                    f'<｜DSML｜parameter name="{key}" string="{json.dumps(isinstance(value, str))}">{_as_text(value)}'
                    "</｜DSML｜parameter>\n"
                    for key, value in arguments.items()
                )
                + "</｜DSML｜invoke>"
                for name, arguments in calls
            )
            + "\n</｜DSML｜tool_calls>"
        ),
        "<｜end▁of▁sentence｜>",
    ),
    "minicpm": Layout(_tags('<function name="NAME">', '<param name="KEY">VALUE</param>', "</function>"), think=""),
    "python": Layout(_python, think=""),
}
assert LAYOUTS.keys() == TEMPLATES.keys()

CALLS: dict[str, list[Call]] = {
    "one": [("get", {"n": 1})],
    "two": [("get", {"n": 1}), ("get", {"n": 2, "text": "b"})],
    "none": [("stop", {})],
    "three": [("stop", {}), ("get", {"text": "a b"}), ("stop", {})],
    "text": [("get", {"text": "Zürich, 東京 & \"quotes\" 'single' \\ <b>"})],
    "lines": [("get", {"text": "def f():\n    return 1\n\nprint(f())"})],
    "number-text": [("get", {"text": "Number 5, true"})],
    "types": [("get", {"n": -3, "on": True, "ratio": 1.5})],
    "list": [("get", {"lines": [1, 2, 3], "n": 0})],
    "object": [("get", {"where": {"a": {"b": ["c", None, False]}}, "text": "x"})],
}


@dataclass(frozen=True)
class Written:
    """A reply, and what it says."""

    template: str
    about: str
    text: str
    calls: list[Call]
    reasoning: str
    content: str


def replies() -> Iterator[Written]:
    """Replies for each template: calls, with and without text and reasoning before them."""
    for name, layout in LAYOUTS.items():
        for about, calls in CALLS.items():
            for thought, text in (("", ""), ("I look.", ""), ("I look.", "Let me see.")):
                if (thought and not text and about not in ("one", "two")) or (text and about in ("text", "types")):
                    continue
                has_thought = thought if layout.think else ""
                if layout.starts_in_reasoning and not has_thought:
                    has_thought = "I look."
                said = layout.think.replace("THOUGHT", has_thought) if has_thought else ""
                said += layout.text.replace("TEXT", text) + layout.before_calls if text else ""
                said += layout.calls(calls) + layout.end
                kind = f"{about}{'-thought' * bool(thought)}{'-text' * bool(text)}"
                yield Written(name, kind, said, calls, has_thought, text)
