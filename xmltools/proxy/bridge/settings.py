"""What whoever runs the bridge chooses for all requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xmltools.errors import XMLToolsError

_CHOICES = {"style": ("full", "compact"), "result_role": ("user", "tool")}


@dataclass(frozen=True, slots=True)
class Settings:
    """How requests are written for the model, and what is done with its replies.

    `style`: that of the instructions. `result_role`: the role of messages with results. `split_reasoning`: reasoning
    that the model writes in `<think>` goes where the API has a place for it; else it stays in the text. `retries`: how
    often a failed call, or one that is missing though it was required, is sent back to the model. `live_arguments`:
    the client hears of a call as the model writes it, not when it is whole and right; if such a call fails, it can't be
    tried again, and the stream ends with an error. `engine`: the inference engine that takes a grammar with each
    request (see `xmltools.grammar.for_engine`), None for none.
    `server_names`: instructions and calls name the server of each tool also where all tools are on one, as Forge's do.
    `strict_requests`: fields of a request that are not known, and tools that only the provider runs, are refused; else
    they are passed over.

    Raises XMLToolsError for values that are none.
    """

    style: Literal["full", "compact"] = "full"
    result_role: Literal["user", "tool"] = "user"
    split_reasoning: bool = True
    retries: int = 1
    live_arguments: bool = False
    engine: str | None = None
    server_names: bool = False
    strict_requests: bool = False

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise XMLToolsError(
                    f"{name}: expected {' or '.join(map(repr, known))}, got {getattr(self, name)!r:.60}"
                )
        if type(self.retries) is not int or not 0 <= self.retries <= 10:
            raise XMLToolsError(f"retries: expected a whole number from 0 through 10, got {self.retries!r:.60}")
        if self.engine is not None:
            from xmltools.grammar import ENGINES

            known_engines = [name for name in ENGINES if name != "openai-custom-tool"]
            if self.engine not in known_engines:
                raise XMLToolsError(
                    f"engine: expected one of {', '.join(map(repr, known_engines))}, got {self.engine!r:.60}"
                )
