"""Dialects: how models spell calls, by name and by model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing, forms_for, plain, spellings
from xmltools.dialects.forge import FORGE
from xmltools.errors import Code, XMLToolsError
from xmltools.first_use import on_first_use

if TYPE_CHECKING:
    from xmltools.dialects.models import FAMILIES, Family, ids_of
    from xmltools.dialects.tokenizer_files import Vocabulary

__all__ = [
    "FAMILIES",
    "FORGE",
    "Also",
    "Body",
    "Dialect",
    "Family",
    "Pairs",
    "ResultForm",
    "ToolList",
    "Vocabulary",
    "Writing",
    "all",
    "beside",
    "for_model",
    "forms_for",
    "hint_of",
    "ids_of",
    "known",
    "named",
    "opens_reasoning",
    "plain",
    "spellings",
    "told_by",
]

_KNOWN = {
    "forge": ("forge", "FORGE"),
    "hermes": ("hermes", "HERMES"),
    "qwen3_coder": ("qwen3_coder", "QWEN3_CODER"),
    "glm": ("glm", "GLM"),
    "iquest_q1": ("iquest_q1", "IQUEST_Q1"),
    "minimax_m2": ("minimax_m2", "MINIMAX_M2"),
    "dsml": ("dsml", "DSML"),
    "deepseek_v3": ("deepseek_v3", "DEEPSEEK_V3"),
    "kimi_k2": ("kimi_k2", "KIMI_K2"),
    "mistral": ("mistral", "MISTRAL"),
    "harmony": ("harmony", "HARMONY"),
    "llama3_json": ("llama3_json", "LLAMA3_JSON"),
    "kimi_k3": ("kimi_k3", "KIMI_K3"),
    "gemma": ("gemma", "GEMMA"),
    "pythonic": ("pythonic", "PYTHONIC"),
    "lfm2": ("pythonic", "LFM2"),
    "invoke": ("invoke", "INVOKE_XML"),
    "seed_oss": ("seed_oss", "SEED_OSS"),
    "mimo": ("mimo", "MIMO"),
    "step3": ("step3", "STEP3"),
    "minimax_m1": ("minimax_m1", "MINIMAX_M1"),
    "hunyuan": ("hunyuan", "HUNYUAN"),
    "nemotron_nano": ("nemotron_nano", "NEMOTRON_NANO"),
    "granite": ("granite", "GRANITE"),
    "cohere": ("cohere", "COHERE"),
    "phi4mini": ("phi4mini", "PHI4MINI"),
    "plamo3": ("plamo3", "PLAMO3"),
    "solar_open": ("solar_open", "SOLAR_OPEN"),
    "solar_open2": ("solar_open2", "SOLAR_OPEN2"),
    "sarashina": ("sarashina", "SARASHINA"),
    "internlm2": ("internlm2", "INTERNLM2"),
    "gigachat3": ("gigachat3", "GIGACHAT3"),
    "gigachat35": ("gigachat35", "GIGACHAT35"),
    "minicpm5": ("minicpm5", "MINICPM5"),
    "apertus": ("apertus", "APERTUS"),
    "k2_horizon": ("k2_horizon", "K2_HORIZON"),
    "functionary": ("functionary", "FUNCTIONARY"),
    "tool_code": ("tool_code", "TOOL_CODE"),
    "react": ("react", "REACT"),
    "call_json": ("call_json", "CALL_JSON"),
    "arrow": ("arrow", "ARROW"),
    "tag_per_tool": ("tag_per_tool", "TAG_PER_TOOL"),
    "minimax_m3": ("minimax_m3", "MINIMAX_M3"),
    "muse": ("muse", "MUSE"),
    "mirothinker": ("mirothinker", "MIROTHINKER"),
    "inkling": ("inkling", "INKLING"),
    "ernie": ("ernie", "ERNIE"),
    "beam": ("beam", "BEAM"),
}
"""By the name of a dialect: its module, and the name of its record there."""

__getattr__ = on_first_use(
    __name__,
    {record: module for module, record in _KNOWN.values()}
    | dict.fromkeys(("FAMILIES", "Family", "family_of", "ids_of", "near_models"), "models")
    | {"Vocabulary": "tokenizer_files"},
)


@cache
def _record(name: str) -> Dialect:
    """The record of a known dialect; its module is loaded when it is first asked for."""
    module, record = _KNOWN[name]
    dialect: Dialect = getattr(import_module(f"xmltools.dialects.{module}"), record)
    return dialect


def all() -> tuple[Dialect, ...]:
    """Return all dialects."""
    return tuple(map(_record, _KNOWN))


def known() -> tuple[Dialect, ...]:
    """Return those that are read without being asked for by name: in all others, calls begin as other text does."""
    return tuple(each for each in all() if not each.by_name)


def named(name: str | Dialect, option: str = "dialect", more: tuple[str, ...] = ()) -> Dialect:
    """Return the dialect of this name, or that of the `response_template` in a file, whose path ends in `.json`.

    Raises XMLToolsError, with names that are near, if there is none: the message begins with the name of the `option`
    that it was given as, and knows what else that takes (`more`).
    """
    if isinstance(name, Dialect):
        return name
    if isinstance(name, str) and name.endswith(".json"):
        try:
            return _described_in(name)
        except XMLToolsError as error:
            raise XMLToolsError(f"{option}: {name:.200}: {error}") from None
    if not isinstance(name, str) or name not in _KNOWN:
        known = (*more, *_KNOWN)
        near = _near(name, known) if isinstance(name, str) else []
        rest = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {', '.join(known)}"
        whole = ", or 'known', which means all of them" if option == "also" else ""
        raise XMLToolsError(f"{option}: expected the name of a dialect{whole}, got {name!r:.80}; {rest}")
    return _record(name)


@cache
def _described_in(path: str) -> Dialect:
    """The record of the template in a file. Its name is the path, by which it is found again."""
    dialect: Dialect = import_module("xmltools.dialects.response_templates").read(path)
    return dialect


def _near(name: str, known: tuple[str, ...]) -> list[str]:
    """Return the names that may be meant: the nearest one, and others that are nearly as near."""
    from difflib import SequenceMatcher  # only here: it takes longer to load than all else in this module

    likeness = {each: SequenceMatcher(None, each, name[:100]).ratio() for each in known}
    best = max(likeness.values())
    near = [each for each in known if likeness[each] >= max(0.4, best - 0.1)]
    return sorted(near, key=likeness.__getitem__, reverse=True)[:3]


Also = str | Dialect | Iterable[str | Dialect] | None
"""Dialects that are read beside another one: `"known"` means all that can be (`known`), None means none."""


def beside(dialect: Dialect, also: Also) -> tuple[Dialect, ...]:
    """Return the dialects that `also` means, without `dialect` itself. Raises XMLToolsError for an unknown one."""
    if also is None:
        return ()
    names = [also] if isinstance(also, str | Dialect) else also
    if not isinstance(names, Iterable):
        raise XMLToolsError(f"also: expected names of dialects, or 'known', which means all of them, got {also!r:.80}")
    found = known() if also == "known" else tuple(named(name, "also") for name in names)
    return tuple(each for each in dict.fromkeys(found) if each != dialect)


def opens_reasoning(dialect: Dialect, prompt: str) -> bool:
    """Return whether the text that a chat template put before the reply ends in open reasoning."""
    openers = (*(f"<{tag}>" for tag in dialect.reasoning), *(start.rstrip() for start, _ in dialect.thoughts))
    return prompt.rstrip().endswith(openers)


def for_model(model: str = "", *, chat_template: str | None = None, vocabulary: Vocabulary | None = None) -> Dialect:
    """Return the dialect that a model was trained to write.

    `chat_template` is its template, of Jinja or of Ollama, and `vocabulary` the special tokens of its tokenizer, or the
    path or the content of its `tokenizer_config.json`, whose chat template and `response_template` count too. Where
    none of these tells one dialect, it is found by the name on Hugging Face, with or without its owner. Names of copies
    (`unsloth/Qwen3-8B-GGUF`) and names as in Ollama (`qwen3:8b`) are found too. Raises XMLToolsError if the model is
    not known, with names that are near, or if it writes no calls that are read.
    """
    from xmltools.dialects.models import family_of, near_models  # only here: parsers are given dialects

    if not isinstance(model, str):
        raise XMLToolsError(f"for_model: expected the name of a model, as 'Qwen/Qwen3-8B', got {model!r:.80}")
    told = told_by(chat_template, vocabulary)
    if told is not None:
        return told
    if not model and not (chat_template is None and vocabulary is None):
        raise XMLToolsError(
            "the delimiters in the chat template and in the vocabulary are those of no dialect, or of several; "
            "give the name of the model too"
        )
    family = family_of(model)
    if family is None:
        near = [f"{each} ({dialect})" for each, dialect in near_models(model)]
        rest = f"did you mean {' or '.join(near)}? Else " if near else ""
        raise XMLToolsError(
            f"no dialect is known for the model {model!r}; {rest}`xmltools dialects detect FILE` finds out in which "
            f"one replies are written; or give one by name: {', '.join(_KNOWN)}; "
            "docs/guides/describe_a_dialect.md shows how to describe another one"
        )
    if not family.dialect:
        raise XMLToolsError(
            f"the model {model!r} has no dialect: models of its family {family.note}. With the instructions of "
            f"`xmltools docs` it writes calls in the dialect {FORGE.name!r}"
        )
    return named(family.dialect)


def told_by(chat_template: str | None = None, vocabulary: Vocabulary | None = None) -> Dialect | None:
    """Return the dialect whose delimiters a chat template has, or else the one that a `response_template` describes, or
    whose delimiters are special tokens of a tokenizer; None if nothing tells one. Raises XMLToolsError for a vocabulary
    that can't be read."""
    from xmltools.dialects.evidence import of_template, of_vocabulary
    from xmltools.dialects.tokenizer_files import Tokenizer, tokenizer_of

    if chat_template is not None and not isinstance(chat_template, str):
        raise XMLToolsError(f"chat_template: expected the text of a template, got {chat_template!r:.60}")
    tokenizer = Tokenizer() if vocabulary is None else tokenizer_of(vocabulary)
    template = chat_template or tokenizer.chat_template
    if template and (found := of_template(template, all())):
        return found
    if isinstance(tokenizer.response_template, Mapping):
        with suppress(XMLToolsError):  # a record can't say all that a template can
            return Dialect.from_response_template(tokenizer.response_template, tokenizer.path)
    return of_vocabulary(tokenizer.tokens, all()) if tokenizer.tokens else None


_HINTS: Final = {
    Code.TRUNCATED: "The reply ended before the tool call was complete. Write the whole call again: {form}",
    Code.MALFORMED_MARKUP: "Write each call in this form: {form}",
    Code.MISSING_TOOL_NAME: "Name the tool. Write each call in this form: {form}",
    Code.DUPLICATE_FIELD: "A tool call names one tool and has one set of arguments. Write a call of its own for each.",
    Code.INVALID_JSON: "The {notation} in the tool call could not be read. Write each call in this form: {form}",
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

_OF_SERVERS: Final = (Code.MISSING_SERVER, Code.WRONG_SERVER)


def hint_of(code: Code, dialect: Dialect) -> str:
    """Return the sentence to send to a model that writes this dialect, for a code."""
    hint = _HINTS.get(code) if dialect.form and not (dialect.server_name and code in _OF_SERVERS) else None
    if hint is None:
        return code.hint
    return hint.format(
        form=dialect.form, start=f"<{dialect.block}>", end=f"</{dialect.block}>", notation=dialect.notation
    )
