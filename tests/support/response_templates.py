"""Descriptions of notations as checkpoints carry them, `response_template`, in our own words: delimiters are facts."""

from __future__ import annotations

from typing import Any

CONTENT = {"type": "function", "function": "{content}"}
NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}


def template(calls: dict[str, Any], /, anchor: Any = "<|im_start|>assistant\n", **fields: Any) -> dict[str, Any]:
    """A template with these calls, and other fields."""
    return {"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": {"tool_calls": calls, **fields}}


def between(start: Any, end: Any, **more: Any) -> dict[str, Any]:
    """A field between two literals."""
    return {"open": start, "close": end, **more}


THINK = between("<think>", "</think>", content="text")
UNTIL_IM_END = {"close": "<|im_end|>", "content": "text"}

TEMPLATES: dict[str, dict[str, Any]] = {
    # JSON between two delimiters, as SmolLM 3 and Qwen 3 write it.
    "json": template(
        between("<tool_call>", "</tool_call>", repeats=True, content="json", transform=CONTENT),
        thinking=THINK,
        content=UNTIL_IM_END,
    ),
    "json_loose": template(
        {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": CONTENT,
        },
        reasoning_content=THINK,
        content={"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>)"},
    ),
    # A list, with other keys: Command A.
    "cohere": template(
        between(
            "<|START_ACTION|>",
            "<|END_ACTION|>",
            content="json",
            transform_each=True,
            transform={"type": "function", "function": {"name": "{tool_name}", "arguments": "{parameters}"}},
        ),
        anchor="<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        content=between("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        thinking=between("<|START_THINKING|>", "<|END_THINKING|>"),
    ),
    "ernie": template(
        between("<tool_call>", "</tool_call>", repeats=True, content="json", transform=CONTENT),
        anchor="Assistant:",
        thinking={"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"},
        content={"open": "<response>\n", "close_pattern": r"\n?</response>"},
    ),
    "dotted": template(
        between(
            "<tool>",
            "</tool>",
            repeats=True,
            content="json",
            transform={"type": "function", "function": {"name": "{content.name}", "arguments": "{content.args}"}},
        ),
        anchor="<|assistant|>",
        content={},
    ),
    "wrapped": template(
        between(
            "<actions>",
            "</actions>",
            content="json",
            transform_each=True,
            transform={"type": "function", "function": {"name": "{fn.name}", "arguments": "{fn.args}"}},
        ),
        anchor="<|assistant|>",
        content={},
    ),
    # A name, and then JSON.
    "harmony": template(
        {
            "open_pattern": r"<\|channel\|>commentary to=functions\.(?P<name>\w+).*?<\|message\|>",
            "close": "<|call|>",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        anchor="<|start|>assistant",
        thinking=between("<|channel|>analysis<|message|>", "<|end|>"),
        content=between("<|channel|>final<|message|>", "<|end|>"),
    ),
    "gemma": template(
        {
            "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
            "close": "<tool_call|>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
            "transform": NAMED,
        },
        anchor=["<|turn>model\n", "<tool_response|>"],
        thinking=between("<|channel>thought\n", "<channel|>"),
        content={"close": ["<turn|>", "<|tool_response>", "<eos>"]},
    ),
    "kimi": template(
        {
            "open_pattern": (
                r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*functions\.(?P<name>[\w.-]+):\d+\s*"
                r"<\|tool_call_argument_begin\|>"
            ),
            "close_pattern": r"<\|tool_call_end\|>(?:\s*<\|tool_calls_section_end\|>)?",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        thinking=THINK,
        content=UNTIL_IM_END,
    ),
    "mistral": template(
        {
            "open_pattern": r"\[TOOL_CALLS\](?P<name>[\w.-]+)\[ARGS\]",
            "close_pattern": r"(?=\[TOOL_CALLS\])|</s>",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        anchor="[/INST]",
        content={"close": "</s>"},
    ),
    "deepseek": template(
        {
            "open_pattern": r"(?:<｜tool▁calls▁begin｜>)?<｜tool▁call▁begin｜>(?P<name>[^<]+)<｜tool▁sep｜>",
            "close_pattern": r"<｜tool▁call▁end｜>(?:<｜tool▁calls▁end｜>)?",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        anchor="<｜Assistant｜>",
        thinking=THINK,
        content={"close": "<｜end▁of▁sentence｜>"},
    ),
    "functionary": template(
        {
            "open_pattern": r"<function=(?P<name>[^>]+)>",
            "close": "</function>",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        },
        content=UNTIL_IM_END,
    ),
    # A name, and then keys and values.
    "qwen_tags": template(
        {
            "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>",
                "value_parser": {"name": "json", "args": {"allow_non_json": True}},
            },
            "transform": NAMED,
        },
        thinking=THINK,
    ),
    "qwen_text": template(
        {
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"},
            "transform": NAMED,
        },
        reasoning_content=THINK,
        content={"close_pattern": r"\s*(?:<\|im_end\|>|<\|endoftext\|>)"},
    ),
    "glm": template(
        {
            "open_pattern": r"<tool_call>(?P<name>[^<\n]+)\s*",
            "close": "</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"},
            "transform": NAMED,
        },
        anchor="<|assistant|>",
        thinking=THINK,
        content={"close": ["<|user|>", "<|observation|>", "<|endoftext|>"]},
    ),
    "minimax": template(
        {
            "open_pattern": r'(?:<minimax:tool_call>\s*)?<invoke name="(?P<name>[^"]+)">',
            "close_pattern": r"</invoke>(?:\s*</minimax:tool_call>)?",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r'<parameter name="(?P<key>[^"]+)">(?P<value>.*?)</parameter>'},
            "transform": NAMED,
        },
        anchor="]~b]ai\n",
        thinking=THINK,
        content={"close": "[e~["},
    ),
    "dsml": template(
        {
            "open_pattern": r'(?:<｜DSML｜tool_calls>\s*)?<｜DSML｜invoke name="(?P<name>[^"]+)">',
            "close_pattern": r"</｜DSML｜invoke>(?:\s*</｜DSML｜tool_calls>)?",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": (
                    r'<｜DSML｜parameter name="(?P<key>[^"]+)" string="(?:true|false)">'
                    r"(?P<value>.*?)</｜DSML｜parameter>"
                )
            },
            "transform": NAMED,
        },
        anchor="<｜Assistant｜>",
        thinking=THINK,
        content={"close": "<｜end▁of▁sentence｜>"},
    ),
    "minicpm": template(
        {
            "open_pattern": r'<function name="(?P<name>[^"]+)">',
            "close": "</function>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r'<param name="(?P<key>[^"]+)">(?P<value>.*?)</param>'},
            "transform": NAMED,
        },
        content=UNTIL_IM_END,
    ),
    # Calls in Python: LFM2.
    "python": template(
        between(
            "<|tool_call_start|>",
            "<|tool_call_end|>",
            content="python-call-list",
            transform_each=True,
            transform={"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
        ),
        content=UNTIL_IM_END,
    ),
}
