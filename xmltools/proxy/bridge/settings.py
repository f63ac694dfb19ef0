"""What whoever runs the bridge chooses for all requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xmltools.dialects import FORGE, beside, named
from xmltools.errors import XMLToolsError

_CHOICES = {
    "style": ("full", "compact"),
    "result_role": ("user", "tool"),
    "upstream_tool_choice": ("auto", "none"),
}


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

    `dialect`: the name of the one in which the model writes its calls. Instructions are in Forge's, and so a model that
    is to write another gets none: tools, calls and results go to the upstream as chat completions have them, and its
    chat template writes them as the model knows them. `style`, `result_role` and `server_names` change nothing then.
    `also`: calls of given tools in these dialects are read too; "known" means all.
    `upstream_tool_choice`: "none" goes to the upstream as `tool_choice`, for engines that show the model its tools all
    the same, and without it refuse them or read the calls themselves (vLLM), with `skip_special_tokens: false`, as
    calls may be spelled with such; "auto" says only that a call is required.
    `starts_in_reasoning`: the chat template opens the model's reasoning, and the upstream does not tell it apart.

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
    dialect: str = FORGE.name
    also: str | tuple[str, ...] | None = None
    upstream_tool_choice: Literal["auto", "none"] = "auto"
    starts_in_reasoning: bool = False

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise XMLToolsError(
                    f"{name}: expected {' or '.join(map(repr, known))}, got {getattr(self, name)!r:.60}"
                )
        if type(self.retries) is not int or not 0 <= self.retries <= 10:
            raise XMLToolsError(f"retries: expected a whole number from 0 through 10, got {self.retries!r:.60}")
        if not isinstance(self.dialect, str):
            raise XMLToolsError(f"dialect: expected the name of a dialect, got {type(self.dialect).__name__}")
        named(self.dialect)
        beside(named(self.dialect), self.also)
        if self.is_native and self.engine is not None:
            raise XMLToolsError(f"engine: grammars are for Forge's dialect only, and not for {self.dialect!r}")
        if self.engine is not None:
            from xmltools.grammar import ENGINES

            known_engines = [name for name in ENGINES if name != "openai-custom-tool"]
            if self.engine not in known_engines:
                raise XMLToolsError(
                    f"engine: expected one of {', '.join(map(repr, known_engines))}, got {self.engine!r:.60}"
                )

    @property
    def is_native(self) -> bool:
        """Whether the model writes a dialect of its own, and the upstream's chat template its prompts."""
        return self.dialect != FORGE.name
