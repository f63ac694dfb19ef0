"""What the model and its server do with tools by themselves: who reads the calls, and in which dialect are they?"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from xmltools import dialects
from xmltools.parser import detect
from xmltools.proxy.bridge.settings import can_be_written
from xmltools.proxy.doctor.asking import Got, NoAnswerError, Reply
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import Check, Outcome
from xmltools.proxy.doctor.tasks import TASKS, TOOLS, definitions
from xmltools.proxy.server.chat_templates import llama_cpp_template, ollama_template
from xmltools.proxy.server.upstream import beside_api

MOST_REQUESTS = 6
_LONGEST_NAME = 200
_LONGEST_TEXT = 50_000
"""Characters of a reply in which calls are looked for: it is read once for each dialect that it may be in."""

_SPECIAL = re.compile(r"<\|[^<>|\s]+\|>|<｜[^<>\s]+｜>|\[[A-Z_]{3,}\]")
"""What tokenizers mark as special in the dialects that there are."""
_PLAIN = """You can call these functions:

{tools}

Call a function in the form that you were trained to use. {words}"""


async def check_tools(case: Case) -> Check:
    """Give the server tools, as clients do, and see what becomes of a call."""
    task = TASKS[0]
    body = case.asking.question(task.words, tools=definitions())
    try:
        reply = await case.asking.chat(body)
    except NoAnswerError as trouble:
        if not trouble.is_refusal:
            return Check("tools", Outcome.WARNING, trouble.message, trouble.advice)
        await _ask_for_text(case, body, "none")
        return Check("tools", Outcome.WARNING, f"refused: {trouble.message}", _advice(case))
    if reply.calls:
        case.gives_calls = True
        await _ask_for_text(case, body, "none")
        names = {tool.name for tool in TOOLS}
        if not names.issuperset(reply.calls):
            return Check("tools", Outcome.WARNING, "calls come back as tool_calls, but of a tool that there is not")
        return Check("tools", Outcome.OK, "calls come back as tool_calls: the server reads them")
    if _notes_dialect(case, reply):
        case.leaves_calls = "auto"
    else:
        await _ask_for_text(case, body, "auto")
    if case.leaves_calls is not None:
        return Check("tools", Outcome.OK, f"calls are left in the text, in {case.report.own_dialect}", _advice(case))
    return Check("tools", Outcome.WARNING, "taken, but no call came back", "serve writes tools into the prompt itself")


def _advice(case: Case) -> str:
    if case.leaves_calls == "none":
        options = "--prompt upstream --upstream-tool-choice none"
        return f"with tool_choice none, calls are left in the text: serve {options} reads them"
    if case.leaves_calls is not None:
        return "serve reads them, with a prompt of its own or with --prompt upstream"
    return "serve writes tools into the prompt itself"


async def _ask_for_text(case: Case, body: dict[str, Any], choice: str) -> None:
    """Ask once more, as `serve --prompt upstream` would: with special tokens, and with a `tool_choice`. With "none",
    some servers leave calls in the text."""
    chosen = {"tool_choice": choice} if choice != "auto" else {}
    try:
        reply = await case.asking.chat({**body, **chosen, "skip_special_tokens": False})
    except NoAnswerError:
        return
    if not reply.calls and _notes_dialect(case, reply):
        case.leaves_calls = choice


def _notes_dialect(case: Case, reply: Reply) -> bool:
    """Note in which dialect there are calls in a reply. Returns whether there are any."""
    found = detect([reply.text[:_LONGEST_TEXT]], TOOLS)
    if found and case.report.own_dialect is None:
        case.report.own_dialect = found[0][0].name
    return bool(found)


async def check_own_dialect(case: Case) -> Check:
    """Say in which dialect the model writes calls if nobody tells it how, and which one its name and its chat template
    stand for."""
    family = dialects.family_of(case.asking.model) if len(case.asking.model) <= _LONGEST_NAME else None
    case.report.named_dialect = named = family.dialect if family is not None and family.dialect else None
    case.report.template_dialect = by_template = await _dialect_of_template(case)
    how = "with tools"
    trouble = ""
    if case.report.own_dialect is None:
        how = "asked in words"
        tools = "\n".join(json.dumps(each["function"]) for each in definitions())
        try:
            words = _PLAIN.format(tools=tools, words=TASKS[0].words)
            _notes_dialect(case, await case.asking.chat(case.asking.question(words, skip_special_tokens=False)))
        except NoAnswerError as error:
            trouble = f" ({error.message})"
    own = case.report.own_dialect
    known = [f"{named} by its name" if named else "its name is not known"]
    known += [f"{by_template} by its chat template"] * (by_template is not None)
    if own is None:
        outcome = Outcome.OK if named or by_template else Outcome.WARNING
        advice = "" if outcome is Outcome.OK else "the tasks show which it can learn; try others with --dialects"
        return Check("own_dialect", outcome, "; ".join((f"no call that is read{trouble}", *known)), advice)
    advice = "" if can_be_written(own) else "serve can't tell a model to write it: only --prompt upstream works for it"
    return Check("own_dialect", Outcome.OK, "; ".join((f"{own} ({how})", *known)), advice)


async def _dialect_of_template(case: Case) -> str | None:
    """Return the dialect of the model's chat template, where the server may be one that gives it to who asks."""
    base = beside_api(case.asking.base)
    template = None
    if base is None:
        return None
    try:
        if case.report.engine in ("llama.cpp", None):
            template = llama_cpp_template(_json(await case.asking.get(f"{base}/props")))
        elif case.report.engine == "ollama":
            asked = {"model": case.asking.model}
            template = ollama_template(_json(await case.asking.get(f"{base}/api/show", asked)))
    except NoAnswerError:
        return None
    found = dialects.told_by(template) if template else None
    return found.name if found is not None else None


def _json(got: Got) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(got.body) if got.status == 200 else None
    return None


async def check_special_tokens(case: Case) -> Check:
    """Ask for special tokens to be left in the text, as `serve` does, and see whether they are."""
    token = _special_token(case)
    words = f"Repeat these three words in one line, and nothing else: red {token} blue" if token else "Say hello."
    try:
        reply = await case.asking.chat(case.asking.question(words, skip_special_tokens=False))
    except NoAnswerError as trouble:
        return Check("special_tokens", Outcome.WARNING, f"skip_special_tokens: {trouble.message}", trouble.advice)
    is_taken = not case.asking.leaves_out_special_tokens
    said = "skip_special_tokens is taken" if is_taken else "skip_special_tokens is refused: serve leaves it out"
    if token is None:
        return Check("special_tokens", Outcome.OK, said)
    if token in reply.text:
        return Check("special_tokens", Outcome.OK, f"{said}, and {token} is kept")
    if re.search(r"red\s*blue", reply.text):
        advice = "calls lose their marks so; llama.cpp: start the server with --special"
        return Check("special_tokens", Outcome.WARNING, f"{said}, and {token} is left out of the text", advice)
    outcome = Outcome.OK if is_taken else Outcome.WARNING
    return Check("special_tokens", outcome, f"{said}; whether {token} is kept can't be told")


def _special_token(case: Case) -> str | None:
    """Return a special token with which calls of the model may begin."""
    for name in (case.report.own_dialect, case.report.template_dialect, case.report.named_dialect):
        found = _SPECIAL.search(dialects.named(name).opener) if name else None
        if found:
            return found[0]
    return None
