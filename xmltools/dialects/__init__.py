"""Dialects: how models spell calls, by name and by model."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from xmltools.dialects.apertus import APERTUS
from xmltools.dialects.cohere import COHERE
from xmltools.dialects.deepseek_v3 import DEEPSEEK_V3
from xmltools.dialects.dialect import Body, Dialect, Pairs, forms_for, plain, spellings
from xmltools.dialects.dsml import DSML
from xmltools.dialects.forge import FORGE
from xmltools.dialects.gemma import GEMMA
from xmltools.dialects.gigachat3 import GIGACHAT3
from xmltools.dialects.glm import GLM
from xmltools.dialects.granite import GRANITE
from xmltools.dialects.harmony import HARMONY
from xmltools.dialects.hermes import HERMES
from xmltools.dialects.hunyuan import HUNYUAN
from xmltools.dialects.internlm2 import INTERNLM2
from xmltools.dialects.invoke import INVOKE_XML
from xmltools.dialects.k2_horizon import K2_HORIZON
from xmltools.dialects.kimi_k2 import KIMI_K2
from xmltools.dialects.kimi_k3 import KIMI_K3
from xmltools.dialects.llama3_json import LLAMA3_JSON
from xmltools.dialects.minicpm5 import MINICPM5
from xmltools.dialects.minimax_m2 import MINIMAX_M2
from xmltools.dialects.minimax_m3 import MINIMAX_M3
from xmltools.dialects.mistral import MISTRAL
from xmltools.dialects.models import FAMILIES, Family, family_of, ids_of, near_models
from xmltools.dialects.nemotron_nano import NEMOTRON_NANO
from xmltools.dialects.phi4mini import PHI4MINI
from xmltools.dialects.pythonic import LFM2, PYTHONIC
from xmltools.dialects.qwen3_coder import QWEN3_CODER
from xmltools.dialects.seed_oss import SEED_OSS
from xmltools.dialects.step3 import STEP3
from xmltools.dialects.tag_per_tool import TAG_PER_TOOL
from xmltools.errors import Code, XMLToolsError

__all__ = [
    "FAMILIES",
    "FORGE",
    "Also",
    "Body",
    "Dialect",
    "Family",
    "Pairs",
    "all",
    "beside",
    "for_model",
    "forms_for",
    "hint_of",
    "ids_of",
    "named",
    "opens_reasoning",
    "plain",
    "spellings",
]

_KNOWN = {
    dialect.name: dialect
    for dialect in (
        FORGE,
        HERMES,
        QWEN3_CODER,
        GLM,
        MINIMAX_M2,
        DSML,
        DEEPSEEK_V3,
        KIMI_K2,
        MISTRAL,
        HARMONY,
        LLAMA3_JSON,
        KIMI_K3,
        GEMMA,
        PYTHONIC,
        LFM2,
        INVOKE_XML,
        SEED_OSS,
        STEP3,
        HUNYUAN,
        NEMOTRON_NANO,
        GRANITE,
        COHERE,
        PHI4MINI,
        INTERNLM2,
        GIGACHAT3,
        MINICPM5,
        APERTUS,
        K2_HORIZON,
        TAG_PER_TOOL,
        MINIMAX_M3,
    )
}


def all() -> tuple[Dialect, ...]:
    """Return all dialects."""
    return tuple(_KNOWN.values())


def named(name: str | Dialect) -> Dialect:
    """Return the dialect of this name. Raises XMLToolsError, with names that are near, if there is none."""
    if isinstance(name, Dialect):
        return name
    found = _KNOWN.get(name)
    if found is None:
        near = get_close_matches(str(name), _KNOWN, n=3, cutoff=0.4)
        rest = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {', '.join(_KNOWN)}"
        raise XMLToolsError(f"dialect: expected the name of a dialect, got {name!r}; {rest}")
    return found


Also = str | Dialect | Iterable[str | Dialect] | None
"""Dialects that are read beside another one: `"known"` means all, None means none."""


def beside(dialect: Dialect, also: Also) -> tuple[Dialect, ...]:
    """Return the dialects that `also` means, without `dialect` itself. Raises XMLToolsError for an unknown one."""
    if also is None:
        return ()
    names = [also] if isinstance(also, str | Dialect) else also
    found = all() if also == "known" else tuple(map(named, names))
    return tuple(each for each in dict.fromkeys(found) if each != dialect)


def opens_reasoning(dialect: Dialect, prompt: str) -> bool:
    """Return whether the text that a chat template put before the reply ends in open reasoning."""
    openers = (*(f"<{tag}>" for tag in dialect.reasoning), *(start.rstrip() for start, _ in dialect.thoughts))
    return prompt.rstrip().endswith(openers)


def for_model(model: str) -> Dialect:
    """Return the dialect that a model was trained to write, by its name on Hugging Face, with or without its owner.

    Names of copies (`unsloth/Qwen3-8B-GGUF`) and names as in Ollama (`qwen3:8b`) are found too. Raises XMLToolsError if
    the model is not known, with names that are near, or if it writes no calls that are read.
    """
    family = family_of(model)
    if family is None:
        near = [f"{each} ({dialect})" for each, dialect in near_models(model)]
        rest = f"did you mean {' or '.join(near)}? Else " if near else ""
        raise XMLToolsError(
            f"no dialect is known for the model {model!r}; {rest}`xmltools dialects detect FILE` finds out in which "
            f"one replies are written; or give one by name: {', '.join(_KNOWN)}"
        )
    if not family.dialect:
        raise XMLToolsError(
            f"the model {model!r} has no dialect: models of its family {family.note}. With the instructions of "
            f"`xmltools docs` it writes calls in the dialect {FORGE.name!r}"
        )
    return named(family.dialect)


_HINTS: Final = {
    Code.TRUNCATED: "The reply ended before the tool call was complete. Write the whole call again: {form}",
    Code.MALFORMED_MARKUP: "Write each call in this form: {form}",
    Code.MISSING_TOOL_NAME: "Name the tool. Write each call in this form: {form}",
    Code.DUPLICATE_FIELD: "A tool call names one tool and has one set of arguments. Write a call of its own for each.",
    Code.INVALID_JSON: "The JSON in the tool call could not be read. Write each call in this form: {form}",
    Code.SEVERAL_CALLS: "Write each call between {start} and {end} of its own.",
    Code.IGNORED_ATTRIBUTE: "Write nothing beside the name of the tool and its arguments.",
    Code.MISSING_END_TAG: "Close everything that you open. Write each call in this form: {form}",
    Code.UNWRAPPED_ARGUMENT: "Put all arguments into the object with the arguments: {form}",
    Code.JSON_ARGUMENTS: "Write each call in this form: {form}",
    Code.JSON_VALUE: "Write lists and objects as they are, not as a string that holds one.",
    Code.JSON_ESCAPE: "Write each backslash in a JSON string as two.",
    Code.JSON_MISSING_BRACE: "Close each brace of a JSON object, also the last one before {end}.",
    Code.JSON_KEY: "Write each call in this form: {form}",
    Code.JOINED_CALLS: "Write each call between {start} and {end} of its own.",
    Code.COMMA_LIST: "Write a list as JSON.",
    Code.SINGLE_ITEM: "Write a list as JSON, also if it has only one item.",
    Code.MISSING_SERVER: "Several servers have a tool of this name; this call does not say which is meant.",
    Code.WRONG_SERVER: "Name no server, or exactly the one that is given for the tool.",
}
"""What to tell a model that writes another dialect than Forge's; `Code.hint` has the sentences for Forge's dialect, and
those that hold for all."""


def hint_of(code: Code, dialect: Dialect) -> str:
    """Return the sentence to send to a model that writes this dialect, for a code."""
    hint = _HINTS.get(code) if dialect.body is not Body.ELEMENTS else None
    if hint is None:
        return code.hint
    return hint.format(form=dialect.form, start=f"<{dialect.block}>", end=f"</{dialect.block}>")
