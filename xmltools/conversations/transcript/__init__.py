"""Conversations with structured calls and results to plain text and back, for models that know neither.

    plain = inline(conversation, tools)  # only texts and media, in the roles system, user and assistant
    conversation = extract(plain, tools)  # the same calls, results, reasoning and ids again

An assistant message with text and a call, and the result that followed it, become

    assistant: Adding.\\n\\n<tool>\\n<tool_name>add</tool_name>\\n…</tool>
    user:      Tool: add\\nResult: 8

Each message becomes one message. Text is data: what would be read back as a call, as reasoning or as a result though it
is none is changed so that `extract` can undo it exactly, and nothing else is (see `escaping`). What text cannot
say, the ids, is kept in `Message.extra`, which no model sees (see `ids`). Without that ids are made, and results are
matched with calls by name.
"""

from xmltools.conversations.transcript.extract import extract
from xmltools.conversations.transcript.inline import inline

__all__ = ["extract", "inline"]
