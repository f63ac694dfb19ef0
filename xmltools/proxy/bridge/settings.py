"""What whoever runs the bridge chooses for all requests."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal, Self

from xmltools import dialects
from xmltools.dialects import FORGE, Dialect, beside, named
from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.field_types import check_types
from xmltools.tools import Tool

AUTO = "auto"
"""In place of a dialect: the one of the model that the client asks for."""
ANY_MODEL = ""
"""In `upstream_dialects`: whichever model the client asks for."""
_LONGEST_NAME = 200
"""Characters of a model's name. No longer one is known."""
_WORDS = {
    "dialect": "the name of a dialect",
    "also": "names of dialects, or 'known', which means all of them",
    "dialects": "names of dialects by model",
    "upstream_dialects": "names of dialects by model",
}
"""What is expected of fields whose type says too little."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How requests are written for the model, and what is done with its replies.

    `style`: that of the instructions. `result_role`: the role of messages with results. `split_reasoning`: reasoning
    that the model writes in `<think>` goes where the API has a place for it; else it stays in the text. `retries`: how
    often a failed call, or one that is missing though it was required, is sent back to the model. `live_arguments`:
    the client hears of a call as the model writes it, not when it is whole and right; if such a call fails, it can't be
    tried again, and the stream ends with an error. `engine`: the inference engine that takes a grammar with each
    request (see `xmltools.grammar.for_engine`), None for none.
    `strict_calls`: a call that needed a repair is one that failed: it is sent back to the model, and no client gets it.
    Clients are not told of repairs.
    `server_names`: instructions and calls name the server of each tool also where all tools are on one, as Forge's do.
    `strict_requests`: fields of the Messages and Responses APIs that are not known, and tools that only the provider
    runs or that can't be read, are refused; else they are passed over. Chat completions go to the upstream with all
    their other fields.

    `dialect`: the name of the one in which the model writes its calls; "auto", the default, is that of the model that
    the client asks for. If that model is not known, has no dialect, or has one in which no prompt can be written, it
    gets instructions for Forge's; with "auto", calls in other dialects are read in any case, unless `also` says
    otherwise.
    `dialects`: those of single models, as clients name them: a mapping, or pairs. `dialect` is for the others.
    `upstream_dialects`: those that the upstream's chat templates tell, by model, in the same form; the one for "" is
    that of every other model. "auto" looks there first, and then at the model's name. `serve` asks the upstream.
    `prompt`: "ours" writes tools, calls and results into the messages, in the dialect. With "upstream" they go to the
    upstream as chat completions have them, and its chat template writes them; it must leave the calls of the reply in
    the text, which is read here. `style`, `result_role` and `server_names` change nothing then. Other dialects than
    Forge's name no servers.
    `also`: calls of given tools in these dialects are read too; "known" means all.
    `upstream_tool_choice`, with `prompt="upstream"`: "none" goes to the upstream as `tool_choice`, for engines that
    show the model its tools all the same, and without it refuse them or read the calls themselves (vLLM, llama.cpp);
    "auto" leaves it out.
    `starts_in_reasoning`: the chat template opens the model's reasoning, and the upstream does not tell it apart.
    `escape_users`: what would begin a call, a result or a turn is escaped in messages of users too, as it always is in
    results, definitions and earlier replies.

    Raises XMLToolsError for values that are none, and TypeError for names of fields that are none.
    """

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Make settings. Raises TypeError for a name that is no field, with the one that may be meant."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=1, cutoff=0.5)
                advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                raise TypeError(f"Settings has no field {name!r}; {advice}")
        return object.__new__(cls)

    style: Literal["full", "compact"] = "full"
    result_role: Literal["user", "tool"] = "user"
    split_reasoning: bool = True
    retries: int = 1
    live_arguments: bool = False
    engine: str | None = None
    strict_calls: bool = False
    server_names: bool = False
    strict_requests: bool = False
    dialect: str = AUTO
    prompt: Literal["ours", "upstream"] = "ours"
    also: str | tuple[str, ...] | None = None
    upstream_tool_choice: Literal["auto", "none"] = "auto"
    starts_in_reasoning: bool = False
    escape_users: bool = False
    dialects: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    upstream_dialects: Mapping[str, str] | tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_types(self, **_WORDS)
        if type(self.retries) is not int or not 0 <= self.retries <= 10:
            raise XMLToolsError(f"retries: expected a whole number from 0 through 10, got {self.retries!r:.60}")
        dialect = FORGE if self.dialect == AUTO else named(self.dialect, more=(AUTO,))
        beside(dialect, self.also)
        if isinstance(self.also, list):  # of JSON, by which settings go to another process
            object.__setattr__(self, "also", tuple(self.also))
        if self.prompt == "ours":
            if self.upstream_tool_choice != "auto":
                raise XMLToolsError(
                    "upstream_tool_choice: with a prompt of ours the upstream gets no tools to choose from; "
                    "leave it out, or choose prompt='upstream'"
                )
            self._check_prompt(dialect)
        elif self.engine is not None:
            raise XMLToolsError(
                "engine: a grammar goes with a prompt of ours only; leave it out, or choose prompt='ours'"
            )
        if self.engine is not None:
            self._check_engine(dialect.name)
        self._check_dialects()
        for _, name in self._pairs("upstream_dialects"):
            named(name, "upstream_dialects")

    def _pairs(self, field: str) -> tuple[tuple[str, str], ...]:
        """Keep dialects by model as pairs, and return these: they can be compared, and hashed, also those of JSON, by
        which settings go to another process."""
        given = getattr(self, field)
        try:
            pairs = tuple(dict(given).items())
        except (TypeError, ValueError):
            raise XMLToolsError(f"{field}: expected names of dialects by model, got {given!r:.60}") from None
        object.__setattr__(self, field, pairs)
        return pairs

    def _check_dialects(self) -> None:
        for model, dialect in self._pairs("dialects"):
            if not isinstance(model, str) or not model.strip():
                raise XMLToolsError(
                    f"dialects: expected the name of a model, as clients write it, before the dialect {dialect!r:.60}, "
                    f"got {model!r:.60}"
                )
            try:
                replace(self, dialect=dialect, dialects=())
            except XMLToolsError as error:
                raise XMLToolsError(f"dialects: {model!r:.80}: {str(error).removeprefix('dialect: ')}") from None

    def _check_prompt(self, dialect: Dialect) -> None:
        if not can_be_written(dialect.name):
            known = ", ".join(each.name for each in dialects.all() if can_be_written(each.name))
            raise XMLToolsError(
                f"dialect: calls in {dialect.name!r} are read, but it is not known how prompts for them are written; "
                f"let the upstream write them (prompt='upstream'), or choose one of {known}"
            )
        if self.server_names and dialect != FORGE:
            raise XMLToolsError(f"server_names: only calls in Forge's dialect name servers, not in {dialect.name!r}")

    def _check_engine(self, dialect: str) -> None:
        from xmltools.grammar import ENGINES, for_engine

        known = [name for name in ENGINES if name != "openai-custom-tool"]
        if self.engine not in known:
            raise XMLToolsError(f"engine: expected one of {', '.join(map(repr, known))}, got {self.engine!r:.60}")
        for_engine(self.engine, Tool(name="get"), dialect=dialect)  # some dialects have no grammars

    def for_model(self, model: str) -> Settings:
        """Return the settings for a request that asks for a model, with its dialect."""
        if self.dialect != AUTO and not self.dialects:
            return self
        return _for_model(self, model if len(model) <= _LONGEST_NAME else "")

    @property
    def is_forge(self) -> bool:
        """Whether the model is to write Forge's dialect."""
        return self.dialect == FORGE.name


def checked(settings: Any) -> Settings:
    """Return settings. Raises XMLToolsError for anything else, such as the name of a dialect alone."""
    if isinstance(settings, Settings):
        return settings
    example = f"Settings(dialect={settings!r:.40})" if isinstance(settings, str) else "Settings(retries=2)"
    raise XMLToolsError(f"settings: expected Settings of xmltools.bridge, got {settings!r:.60}; write {example}")


def can_be_written(dialect: str) -> bool:
    """Return whether prompts can be written in the dialect of this name."""
    return dialect == FORGE.name or named(dialect).written is not None


@lru_cache(maxsize=64)
def _for_model(settings: Settings, model: str) -> Settings:
    chosen = dict(settings.dialects).get(model, settings.dialect)
    told = dict(settings.upstream_dialects)
    settings = replace(settings, dialect=chosen, dialects=(), upstream_dialects=())
    if chosen != AUTO:
        return settings
    family = dialects.family_of(model)
    by_name = family.dialect if family is not None else ""
    also = "known" if settings.also is None else settings.also
    for dialect in (told.get(model) or told.get(ANY_MODEL) or by_name, FORGE.name):
        names_servers = settings.server_names and dialect == FORGE.name
        with suppress(XMLToolsError):  # no prompts or no grammars are written in it
            return replace(settings, dialect=dialect, also=also, server_names=names_servers)
    raise AssertionError
