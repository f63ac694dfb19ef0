"""The whole examination: which checks there are, in which order, and what to run in the end.

A check returns what came of it, a few words about that, and maybe what to do about it. One that gets no answer
says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.grammar import ENGINES, for_engine
from xmltools.models.finish_reasons import our_reason
from xmltools.parser import detect, parse
from xmltools.proxy.bridge.added_fields import SPECIAL_TOKENS
from xmltools.proxy.bridge.settings import can_be_written
from xmltools.proxy.doctor.case import KEY_STATUSES, Case, NoAnswerError, Reply
from xmltools.proxy.doctor.report import FAILED, OK, SKIPPED, WARNING, Check, Tried, Way, short
from xmltools.proxy.doctor.tasks import DEFINITIONS, TASKS, TOOLS, try_tasks
from xmltools.proxy.server.chat_templates import is_ollama, llama_cpp_template, ollama_template
from xmltools.proxy.server.listed_models import ListedModel, listed_models
from xmltools.tools import Tool

Found = tuple[str, ...]

USUAL_DIALECTS = ("forge", "hermes")
"""Those that are tried with every model, beside its own: XML, and JSON between tags."""
# What servers write for the owner of a model where that is nobody.
_OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama.cpp",
    "tensorrt_llm": "tensorrt-llm",
    "library": "ollama",
    "organization_owner": "lm studio",
    "xmltools": "xmltools",
}
_COUNT = "Count from 1 to 40, in digits with one space between them, and write nothing else."
_FEW_CHARACTERS = 100
"""Five tokens are at most so many."""
_FEWEST_PIECES = 5
_WAIT = 1.0
_BURST = 0.02
"""A reply that came after more than this wait, in seconds, and then in this part of it, was held back somewhere."""
_PLAIN = """You can call these functions:

{}

Call a function in the form that you were trained to use. {}"""
_LONGEST_NAME = 200
_LONGEST_TEXT = 50_000
"""Characters of a reply in which calls are looked for: it is read once for each dialect that it may be in."""
_SPECIAL = re.compile(r"<\|[^<>|\s]+\|>|<｜[^<>\s]+｜>|\[[A-Z_]{3,}\]")
"""What tokenizers mark as special in the dialects that there are."""
GRAMMAR_ENGINES = tuple(name for name, ways in ENGINES.items() if ways[0].api == "openai")
"""Those that take a grammar with a chat completion."""
_ONE = {"type": "object", "properties": {"colour": {"enum": ["violet"]}}, "required": ["colour"]}
FORCED = Tool(name="blue_heron", parameters={**_ONE, "additionalProperties": False})
"""A tool of which the model knows nothing: it calls it only if the grammar makes it."""


async def examine(case: Case) -> None:
    """Examine an upstream, and write what is found out into the report, which also has it if this is cancelled."""
    report = case.report
    report.checks = [Check(check.__name__, SKIPPED, "interrupted") for check in STEPS]
    try:
        for number, (check, needs) in enumerate(STEPS.items()):
            case.tell(check.__name__.replace("_", " "))
            try:
                reason = _missing(case, needs)
                found = (SKIPPED, reason) if reason else await check(case)
            except NoAnswerError as trouble:
                case.is_locked |= trouble.status in KEY_STATUSES
                found = (WARNING if needs == _REPLY else FAILED, trouble.message, trouble.advice)
            report.checks[number] = Check(check.__name__, *found)
        report.interrupted = False
    finally:
        report.ok = not (report.interrupted or report.failed)
        report.serve = suggested(case)
        await case.sender.close()


def _missing(case: Case, needs: int) -> str:
    """Return what is not there of what a check needs, "" if all is."""
    locked = "the server refuses the key" if case.keys else "the server asks for a key"
    reasons = (
        "there is no server at the address" * ("address" in case.report.failed),
        locked * case.is_locked or "no model is known" * (not case.report.model),
        "there was no answer" * (not case.replies),
    )
    return next(filter(None, reasons[:needs]), "")


# The server


async def address(case: Case) -> Found:
    """Ask for the list of models, and say whether anybody answers."""
    start = case.clock()
    try:
        case.listed = await _models(case, case.base)
    except NoAnswerError as error:
        if not error.status:
            raise
        case.listing = error
    answers = f"answers in {(case.clock() - start) * 1000:.0f} ms"
    trouble = case.listing
    if trouble is None or trouble.status in (*KEY_STATUSES, 429, 503):
        return OK, answers
    # The same server may list models at another path.
    path = urlsplit(case.base).path
    bare = path.removesuffix("/chat/completions").removesuffix("/models")
    for other in dict.fromkeys((bare, f"{path.partition('/v1')[0]}/v1", "/v1")):
        better = case.base.removesuffix(path) + other
        with suppress(NoAnswerError):
            if other != path and await _models(case, better):
                return FAILED, trouble.message, f"write --upstream {better}: models are listed there"
    return (FAILED, trouble.message, trouble.advice) if trouble.status < 400 and trouble.advice else (OK, answers)


async def _models(case: Case, base: str) -> list[ListedModel]:
    found = listed_models((await case.send(f"{base}/models")).body)
    if not found:
        raise NoAnswerError("the server lists no models", status=200)
    return found


async def models(case: Case) -> Found:
    """Choose the model to ask for."""
    wanted, names, trouble = case.wanted, [model.id for model in case.listed], case.listing
    model = case.report.model = wanted or next(iter(names), "")
    name = short(model, 80)
    if trouble is not None and wanted:
        return WARNING, trouble.message, trouble.advice
    if trouble is not None:
        more = f"{trouble.advice}; name the model with --model".removeprefix("; ")
        raise NoAnswerError(trouble.message, more, trouble.status)
    if model not in names:
        return WARNING, f"{name} is not in the list", f"there are: {short(', '.join(names))}"
    if not wanted and len(names) > 1:
        more = f"name another with --model: {short(', '.join(names[1:]))}"
        return WARNING, f"{len(names)} models; this is about the first, {name}", more
    return OK, f"{name} is in the list"


async def engine(case: Case) -> Found:
    """Say which engine the server is, if it says so itself: as the owner of its models, in the header `server`, or,
    Ollama, at `/api/version`."""
    found, by = _OWNERS.get(case.listed[0].owner if case.listed else ""), "the owner of its models"
    if found is None and case.server.lower().startswith("llama.cpp"):
        found, by = "llama.cpp", "its header server"
    if found is None and is_ollama(await case.said("/api/version")):
        found, by = "ollama", "/api/version"
    case.report.engine = found
    return OK, f"{found}, by {by}" if found else "not known: the server does not say"


# Replies


async def answer(case: Case) -> Found:
    """Ask for an answer that does not stream."""
    reply = await case.chat(case.question("Say hello in one word."))
    if not reply.characters:
        return FAILED, "the answer is empty", "see the log of the server, and its chat template"
    case.replies["answer"] = reply
    refused = (f"; refuses {name}" + f", takes {other}" * bool(other) for name, other in case.refused.items())
    return OK, f"{reply.characters} characters" + "".join(refused)


async def stream(case: Case) -> Found:
    """Ask for an answer in a stream, as `serve` does, and measure how fast it comes."""
    reply = await case.chat(case.question(_COUNT, stream=True, stream_options={"include_usage": True}))
    if not (reply.characters and reply.times):
        return FAILED, "the stream says nothing", "see the log of the server"
    if not reply.is_ended and reply.finish is None:
        more = "the server, or what is in front of it, breaks streams off: see its log and its time-outs"
        return FAILED, "it ends without a finish reason and without [DONE]", more
    case.replies["stream"] = reply
    first, seconds, pieces = reply.times[0], reply.times[-1] - reply.times[0], len(reply.times)
    speed = 1 / seconds if pieces >= _FEWEST_PIECES and seconds else None
    case.report.latency = {
        "first_token_seconds": first,
        "characters_per_second": speed and reply.characters * speed,
        "tokens_per_second": speed and (reply.tokens - 1) * speed if reply.tokens > 1 else None,
    }
    said = f"pieces: {pieces}"
    if pieces < _FEWEST_PIECES:
        more = "clients see nothing until the end: look for what holds the stream back"
        return WARNING, f"{said}, for {reply.characters} characters", more
    if first > _WAIT and seconds < _BURST * first:
        more = "turn off the buffering of what is in front of the server (nginx: proxy_buffering off)"
        return WARNING, f"{said}, all at once after {first:.1f} s", more
    done = "[DONE]" if reply.is_ended else "no [DONE]"
    if not reply.tokens:
        return WARNING, f"{said}, {done}, no usage", "clients are not told how many tokens were used"
    if not reply.is_ended:
        return WARNING, f"{said}, {done}", "serve does without it, since there is a finish reason"
    return OK, f"{said}, {done}, usage"


async def latency(case: Case) -> Found:
    """Say how fast the stream was."""
    if case.report.latency is None:
        return SKIPPED, "there was no stream to measure"
    first, characters, tokens = case.report.latency.values()
    speed = f", {tokens:,.0f} tokens/s" if tokens else f", {characters:,.0f} characters/s" if characters else ""
    return OK, f"first token after {first:.2f} s{speed}"


def _reason(reply: Reply) -> str:
    reason = str(reply.finish or "none")
    return our_reason(reason) or short(reason, 40)


async def finish_reasons(case: Case) -> Found:
    """Look at why replies end: those that end by themselves, and one that is cut."""
    ends = dict.fromkeys(map(_reason, case.replies.values()))
    cut = await case.chat(case.question(_COUNT, max_tokens=5))
    said = f"{' and '.join(ends)} at the end, {_reason(cut)} when cut"
    if cut.characters > _FEW_CHARACTERS:
        return WARNING, "a limit of 5 tokens is not heeded", "replies may be longer than asked for"
    if "length" in ends:
        more = "if the model thinks for long, raise --max-tokens and run this again"
        return WARNING, "replies to plain questions were cut by their length", more
    if "none" in ends:
        return WARNING, said, "serve takes a reply without a reason for a whole one"
    if _reason(cut) != "length":
        return WARNING, said, "a call that was cut off is then sent back to the model as one that it wrote wrongly"
    return OK if ends.keys() == {"stop"} else WARNING, said


async def stop_sequences(case: Case) -> Found:
    """Ask for words, and to stop in front of one."""
    more = "with tools serve looks for them itself; without tools, clients get what the server does"
    words = "Write these four words in one line, and nothing else: red green blue yellow"
    try:
        reply = await case.chat(case.question(words, stop=["blue"]))
    except NoAnswerError as trouble:
        return WARNING, trouble.message, more
    text = reply.text or reply.reasoning
    if "yellow" in reply.text:
        return WARNING, "not heeded: the text goes on after one", more
    if "blue" in text:
        return WARNING, "heeded, but left in the text", more
    if "green" not in text:
        return SKIPPED, "can't be told: the model did not write what was asked for"
    return OK, "heeded, and left out of the text"


async def reasoning(case: Case) -> Found:
    """Say where the model's thoughts were in the replies so far."""
    replies = case.replies.values()
    for tag in dict.fromkeys(tag for dialect in dialects.all() for tag in dialect.reasoning):
        for before, end, _ in (reply.text.partition(f"</{tag}>") for reply in replies):
            if end and f"<{tag}>" in before:
                return OK, f"in <{tag}> in the text, where serve finds it"
            if end:
                case.starts_in_reasoning = True
                said = f"it begins without a start tag, and ends with {end}"
                return OK, said, "the chat template opens it: use --starts-in-reasoning"
    return OK, "told apart by the server" if any(reply.reasoning for reply in replies) else "none seen"


# Grammars, tools and dialects


def forcing_fields(engine: str) -> dict[str, Any]:
    """Return the fields that make an engine write the call of `FORCED`, and nothing else."""
    return for_engine(engine, FORCED, tool_choice="named", name=FORCED.name, white_space=2)


async def grammars(case: Case) -> Found:
    """Send a grammar in the fields of each engine that takes one: the grammar allows one call, of which the model is
    not told."""
    found = case.report.grammars
    broken = ""
    for name in GRAMMAR_ENGINES:
        try:
            reply = await case.chat(case.question("Say hello.", **forcing_fields(name)))
            # A server that tells reasoning apart may take all for reasoning that holds no end of it.
            found[name] = "obeyed" if parse(reply.reasoning + reply.text, [FORCED]).calls else "ignored"
        except NoAnswerError as trouble:
            found[name] = "refused"
            broken += "" if trouble.is_refusal else f"; {name}: {trouble.message}"
    kinds = ((kind, [name for name in found if found[name] == kind]) for kind in ("obeyed", "ignored", "refused"))
    said = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds if names) + broken
    if "obeyed" in found.values():
        return OK, said
    return WARNING, said, "serve works without; with a grammar, a model can't write a call that is malformed"


async def tools(case: Case) -> Found:
    """Give the server tools, as clients do, and see what becomes of a call."""
    body = case.question(TASKS[0].words, tools=DEFINITIONS)
    outcome, said, choice = WARNING, "taken, but no call came back", "auto"
    more, is_left = "serve writes tools into the prompt itself", False
    try:
        reply = await case.chat(body)
        is_left = _notes_dialect(case, reply)
        if reply.calls:
            case.ways.append(Way(None, "upstream"))
            is_ours = {tool.name for tool in TOOLS}.issuperset(reply.calls)
            outcome, choice, more = OK if is_ours else WARNING, "none", ""
            said = "calls come back as tool_calls" + ", but of a tool that there is not" * (not is_ours)
    except NoAnswerError as trouble:
        if not trouble.is_refusal:
            raise
        said, choice = f"refused: {trouble.message}", "none"
    if not is_left:
        # As `serve --prompt upstream` asks. With the choice "none", some servers leave calls in the text.
        with suppress(NoAnswerError):
            asked = {**body, "tool_choice": choice, SPECIAL_TOKENS: False}
            is_left = _notes_dialect(case, await case.chat(asked))
    if is_left:
        case.ways.insert(0, Way(case.report.own_dialect, "upstream", choice))
        if choice == "auto":
            said = f"calls are left in the text, in {case.report.own_dialect}"
            return OK, said, "serve reads them, with a prompt of its own or with --prompt upstream"
        options = "--prompt upstream --upstream-tool-choice none"
        more = more and f"with tool_choice none, calls are left in the text: serve {options} reads them"
    return outcome, said, more


def _notes_dialect(case: Case, reply: Reply) -> bool:
    """Note in which dialect there are calls in the text of a reply. Returns whether there are any."""
    found = detect([reply.text[:_LONGEST_TEXT]], TOOLS)
    if found and not reply.calls:
        case.report.own_dialect = found[0][0].name
    return bool(found and not reply.calls)


async def own_dialect(case: Case) -> Found:
    """Say in which dialect the model writes calls without instructions, and which one its name and its chat template
    suggest."""
    report, model = case.report, case.report.model or ""
    family = dialects.family_of(model[:_LONGEST_NAME])
    report.named_dialect = family.dialect or None if family else None
    template = None
    if report.engine == "ollama":
        template = ollama_template(await case.said("/api/show", {"model": model}))
    elif report.engine in ("llama.cpp", None):
        template = llama_cpp_template(await case.said("/props"))
    told = dialects.told_by(template or "")
    report.template_dialect = told.name if told else None
    how = "with tools"
    if report.own_dialect is None:
        how = "asked in words"
        given = "\n".join(json.dumps(each["function"]) for each in DEFINITIONS)
        with suppress(NoAnswerError):
            asked = case.question(_PLAIN.format(given, TASKS[0].words), **{SPECIAL_TOKENS: False})
            _notes_dialect(case, await case.chat(asked))
    own, named = report.own_dialect, report.named_dialect
    said = f"{own} ({how}); " if own else "no call that is read; "
    said += f"{named} by its name" if named else "its name is not known"
    said += f"; {told.name} by its chat template" if told else ""
    if own and not can_be_written(own):
        return OK, said, "serve can't tell a model to write it: only --prompt upstream works for it"
    if own or named or told:
        return OK, said
    return WARNING, said, "the tasks show which it can learn; try others with --dialects"


def _dialects(case: Case) -> list[str]:
    """The dialects of the model, the likeliest first."""
    report = case.report
    return [name for name in (report.own_dialect, report.template_dialect, report.named_dialect) if name]


async def special_tokens(case: Case) -> Found:
    """Ask for special tokens to be left in the text, as `serve` does, and see whether they are. The one that is asked
    for may begin calls of the model."""
    found = (_SPECIAL.search(dialects.named(name).opener) for name in _dialects(case))
    token = next((each[0] for each in found if each), "")
    words = f"Repeat these three words in one line, and nothing else: red {token or 'green'} blue"
    reply = await case.chat(case.question(words, **{SPECIAL_TOKENS: False}))
    is_refused = SPECIAL_TOKENS in case.refused
    said = f"{SPECIAL_TOKENS} is " + ("refused: serve leaves it out" if is_refused else "taken")
    if not token:
        return OK, said
    if token in reply.text:
        return OK, f"{said}, and {token} is kept"
    if re.search(r"red\s*blue", reply.text):
        more = "calls lose their marks so; llama.cpp: start the server with --special"
        return WARNING, f"{said}, and {token} is left out of the text", more
    return WARNING if is_refused else OK, f"{said}; whether {token} is kept can't be told"


# Tasks


async def tasks(case: Case) -> Found:
    """Give the model tasks in each way, and in the best one with a grammar."""
    report = case.report
    for way in _ways(case):
        await try_tasks(case, way)
    best = _best(case)
    obeyed = [name for name, what in report.grammars.items() if what == "obeyed"]
    if obeyed and best.good and best.way.dialect:
        grammar = report.engine if report.engine in obeyed else obeyed[0]
        with suppress(XMLToolsError):  # there is none for the dialect, or the prompt is not ours
            await try_tasks(case, replace(best.way, grammar=grammar))
    best = _best(case)
    if best.good <= (best.results.get("none") == "right"):
        more = "try another model, or other dialects with --dialects; --show prints what the model says"
        return FAILED, f"{best.way.words}: {best.trouble or 'no call was right'}", more
    outcome = OK if best.good == len(TASKS) else WARNING
    more = "serve sends a failed call back to the model once (--retry)" * (outcome == WARNING)
    if any(each.way.dialect is None and each.rank >= best.rank for each in report.tasks):
        more = "the server's own calls are as good: clients of its API can do without serve"
    return outcome, f"best: {best.way.words}, {best.good} of {len(TASKS)} right", more


def _ways(case: Case) -> list[Way]:
    """The ways to try, those that a model is likely to be best in first."""
    chosen = case.dialects or dict.fromkeys((*_dialects(case), *USUAL_DIALECTS))
    return [Way(name) for name in chosen if can_be_written(name)] + case.ways


def _best(case: Case) -> Tried:
    """The best way; of ways that are as good, one with a grammar, then the first, and native calls last."""
    tried = case.report.tasks or [Tried(way) for way in _ways(case)]
    return max(tried, key=lambda each: (each.rank, each.way.grammar is not None, each.way.dialect is not None))


def suggested(case: Case) -> list[str] | None:
    """Return the words of the command that serves this upstream; None if nothing is known to work."""
    if not case.replies or "tasks" in case.report.failed:
        return None
    usual = asdict(Way(None))
    given = {"upstream": case.config.upstream, "upstream_key_env": case.key_name, **asdict(_best(case).way)}
    options = ((f"--{name.replace('_', '-')}", value) for name, value in given.items() if value != usual.get(name))
    return ["xmltools", "serve", *chain(*options), *["--starts-in-reasoning"] * case.starts_in_reasoning]


_SERVER, _MODEL, _REPLY = 1, 2, 3
STEPS: dict[Callable[[Case], Awaitable[Found]], int] = {
    address: 0,
    models: _SERVER,
    engine: _SERVER,
    answer: _MODEL,
    stream: _MODEL,
    latency: _REPLY,
    finish_reasons: _REPLY,
    stop_sequences: _REPLY,
    reasoning: _REPLY,
    grammars: _REPLY,
    tools: _REPLY,
    own_dialect: _REPLY,
    special_tokens: _REPLY,
    tasks: _REPLY,
}
"""All checks, in their order, and what each needs."""
