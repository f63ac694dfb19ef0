"""The model behind the server that readers of the guides have: what it says to what the guides ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proxy.model_servers import ModelServer

__all__ = ["GuideModel"]

CALL = '<tool_call>\n{{"name": "{}", "arguments": {}}}\n</tool_call>'
SAYS = {
    "Note for the shop: milk & eggs.": "I write it down.\n"
    + CALL.format("write_note", '{"name": "shop", "text": "milk & eggs", "mode": "replace"}'),
    "expected one of 'create', 'append'": CALL.format("write_note", '{"name": "shop", "text": "milk & eggs",}'),
    "shop has 11 characters": "The note is written.",
    "What is the weather in Oslo?": CALL.format("weather", '{"city": "Oslo"}'),
    "Will it rain in Oslo this week?": CALL.format("weather", '{"city": "Oslo", "days": "a few"}'),
    "days: expected integer, got 'a few'": CALL.format("weather", '{"city": "Oslo", "days": 5}'),
}
"""What it answers, by words in the last message."""


@dataclass
class GuideModel(ModelServer):
    """A vLLM with Qwen3-8B and no tool parser. It does the doctor's tasks, and what the guides ask."""

    models: tuple[str, ...] = ("Qwen/Qwen3-8B",)
    owner: str = "vllm"
    tools: str = "left with none"
    grammar: str | None = "structured_outputs"

    def _words(self, body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        return next((said for words, said in SAYS.items() if words in asked), None) or super()._words(body)
