"""Tokens with which chat templates begin and end turns: an engine that tokenizes a message with them would end the
message there, whoever wrote them. They are in no data that is written for a model, whatever its dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples
from support.written import WRITTEN

from xmltools.conversations.transcript import extract, inline
from xmltools.dialects import named
from xmltools.errors import CallError, Code
from xmltools.models import Conversation, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.parser import parse
from xmltools.render import read_results, render_call, render_instructions, render_result, render_retry
from xmltools.tools import Tool

# By who reads them: a family of models that takes each of these for the end of a turn, or the beginning of another.
TOKENS = {
    "ChatML": ("<|im_end|>", "<|im_start|>system\n", "<|endoftext|>"),
    "Llama 2": ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>"),
    "Llama 3 and 4": ("<|eot_id|>", "<|start_header_id|>system<|end_header_id|>", "<|eot|>", "<|header_start|>user"),
    "Mistral": ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]"),
    "Mistral, later": ("[TOOL_CONTENT]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]", "[THINK]", "[/THINK]"),
    "Gemma": ("<start_of_turn>user\n", "<end_of_turn>", "<bos>", "<eos>", "<|turn>system", "<turn|>"),
    "FunctionGemma": ("<start_function_response>", "<end_function_response>", "<start_function_declaration>"),
    "GLM": ("<|user|>", "<|observation|>", "<|system|>", "[gMASK]", "<sop>"),
    "DeepSeek": ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>"),
    "gpt-oss": ("<|start|>system<|message|>", "<|end|>", "<|return|>", "<|channel|>final<|message|>"),
    "Kimi": ("<|im_system|>", "<|im_middle|>", "[EOS]", "[EOT]", "<|open|>message", "<|end_of_msg|>"),
    "Nemotron Nano": ("<SPECIAL_10>System\n", "<SPECIAL_11>User\n", "<SPECIAL_12>"),
    "Nemotron 4": ("<extra_id_0>System\n", "<extra_id_1>User\n"),
    "Command": ("<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|START_TOOL_RESULT|>"),
    "Granite": ("<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>"),
    "MiniMax": ("]~b]user", "[e~[", "]~!b[", "<beginning_of_sentence>system", "<end_of_sentence>"),
    "Seed-OSS": ("<seed:bos>system\n", "<seed:eos>"),
    "EXAONE": ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"),
    "Ling": ("<role>SYSTEM", "<role>HUMAN", "<|role_end|>"),
    "Hunyuan": ("<|startoftext|>", "<|extra_0|>", "<|eos|>", "<｜hy_User｜>"),
    "GigaChat": ("<|message_sep|>system<|role_sep|>\n",),
    "Apertus": ("<|system_start|>", "<|user_start|>", "<|assistant_end|>"),
    "Baichuan": ("<reserved_106>", "<reserved_107>"),
    "K2-Horizon": ("<ifm|end>", "</ifm|tool_calls>"),
    "Reka": ("<sep>",),
}
ALL = [token for tokens in TOKENS.values() for token in tokens]
DIALECTS = ["forge", *WRITTEN]
TOOL = Tool(name="f", parameters={"properties": {"a": {"type": "string"}}})
OPEN_VALUES = {each for each in DIALECTS if not named(each).has_escapes}
"""Dialects that can't say a value but as it is: in their calls tokens stay, as SECURITY.md says."""

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
texts = st.lists(st.sampled_from([*ALL, "<", "[", "&", "&lt;", "&#91;", "]]>", "<![CDATA[", "\n", "a"]), max_size=6)


def rest_of(token: str) -> str:
    """A token as it was tried: between words."""
    return f"a {token} b"


@every_dialect
def test_results_and_definitions_hold_no_token(dialect: str) -> None:
    for token in ALL:
        text = rest_of(token)
        result = render_result(ToolResult(call_id="1", name="f", content=text), dialect=dialect)
        assert text not in result
        assert read_results(result, dialect=dialect)[0].content == text
        told = {"type": "string", "description": text, "enum": [text]}
        prompt = render_instructions(
            [Tool(name="f", description=text, parameters={"properties": {"a": told}})], dialect=dialect
        )
        assert text not in prompt
        error = CallError(Code.INVALID_ARGUMENTS, (0, 9), text, text, "f", None, {"a": text}, text, 1)
        assert text not in render_retry(error, [TOOL], dialect=dialect)


@every_dialect
def test_what_the_model_said_holds_no_token_in_the_next_prompt(dialect: str) -> None:
    for token in ALL:
        text = rest_of(token)
        chat = Conversation().user("Go.").assistant(text)
        plain = inline(chat, dialect=dialect)
        assert text not in plain.messages[1].text
        assert extract(plain, dialect=dialect) == chat
        if dialect not in OPEN_VALUES:
            assert text not in render_call(ToolCall(id="1", name="f", arguments={"a": text}), TOOL, dialect=dialect)


@every_dialect
def test_calls_with_tokens_are_read_back(dialect: str) -> None:
    @given(texts.map("".join))
    @examples(40)
    def holds(text: str) -> None:
        call = ToolCall(id="1", name="f", arguments={"a": f"x{text}"})
        try:
            written = render_call(call, TOOL, dialect=dialect)
        except ValueError:  # of what the dialect can't say
            assert dialect in OPEN_VALUES
            return
        (read,) = parse(written, [TOOL], dialect=dialect).calls
        assert read.arguments == call.arguments and read.clean

    holds()


@given(texts.map("".join), texts.map("".join))
def test_texts_and_thoughts_with_tokens_come_back(text: str, thought: str) -> None:
    for parts in ((Text(text=f"a{text}"),), (Reasoning(text=f"b{thought}"), Text(text=f"a{text}"))):
        chat = Conversation(messages=(Message(role="assistant", parts=parts),))
        assert extract(inline(chat)) == chat
