"""The whole examination: which checks there are, in which order, and what to run in the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Settings
from xmltools.proxy.bridge.settings import can_be_written
from xmltools.proxy.doctor import address, answers, grammars, own_calls
from xmltools.proxy.doctor.asking import Asking, Clock
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import GOOD, Check, Outcome, Report, Tried, Way
from xmltools.proxy.doctor.tasks import TASKS, try_tasks
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.network import Connections, Sender

FEW_REQUESTS = address.MOST_REQUESTS + answers.MOST_REQUESTS + grammars.MOST_REQUESTS + own_calls.MOST_REQUESTS
"""Requests of all checks but the tasks, at most."""
USUAL_DIALECTS = (FORGE.name, "hermes")
"""Those that are tried with every model, beside its own: XML, and JSON between tags."""
_OTHER_WAYS = 3
"""Ways that are tried beside the dialects: native calls, the upstream's prompt, and the one to use with a grammar."""


def most_requests(dialects: int) -> int:
    """Return how many requests an examination with so many dialects makes at most."""
    return FEW_REQUESTS + len(TASKS) * (dialects + _OTHER_WAYS)


def usual_most() -> int:
    """Return how many there are if no dialects are given."""
    return most_requests(len(USUAL_DIALECTS) + 3)


async def examine(
    report: Report,
    config: ServeConfig,
    *,
    model: str | None = None,
    dialects: tuple[str, ...] | None = None,
    key_name: str | None = None,
    timeout: float = 120.0,
    max_tokens: int = 1024,
    on_progress: Callable[[str, int], None] | None = None,
    sender: Sender | None = None,
    clock: Clock = time.monotonic,
) -> None:
    """Examine the upstream of a configuration, and write what is found out into the report, which also has it if the
    examination is cancelled.

    `model` is the one to ask for, by default the first that is listed. `dialects` are those in which tasks are tried,
    by default the model's own and a few others. `key_name` is the environment variable with the key, for the command
    that is suggested. `timeout` is for each request, in seconds; `max_tokens` the limit of each reply. `on_progress`
    hears what is being checked, and how many requests there were. `sender` sends the requests and stays the caller's.
    """
    used = sender or Connections(config.base_url, config.connect_timeout)
    most = usual_most() if dialects is None else most_requests(len(dialects))
    asking = Asking(config, used, timeout=timeout, most=most, max_tokens=max_tokens, clock=clock)
    case = Case(config, asking, report, model, dialects, key_name, on_progress)
    try:
        for step in STEPS:
            case.tell(step.name.replace("_", " "))
            reason = step.needs(case)
            report.checks.append(Check(step.name, Outcome.SKIPPED, reason) if reason else await step.check(case))
    except (asyncio.CancelledError, KeyboardInterrupt):
        report.is_interrupted = True
        done = {check.name for check in report.checks}
        report.checks += [Check(step.name, Outcome.SKIPPED, "interrupted") for step in STEPS if step.name not in done]
        raise
    finally:
        report.requests = asking.requests
        report.serve = suggested(case)
        if sender is None:
            await used.close()


# What each check needs: a function returns why it can't be made, "" if it can.


def _nothing(case: Case) -> str:
    return ""


def _address(case: Case) -> str:
    return "there is no server at the address" if case.report.outcome("address") is Outcome.FAILED else ""


def _model(case: Case) -> str:
    if reason := _address(case):
        return reason
    if case.is_locked:
        return "the server asks for a key" if not case.asking.has_key else "the server refuses the key"
    return "" if case.asking.model else "no model is known"


def _replies(case: Case) -> str:
    return _model(case) or ("" if case.replies else "there was no answer")


class Step(NamedTuple):
    """A check, and what it needs."""

    name: str
    check: Callable[[Case], Awaitable[Check]]
    needs: Callable[[Case], str]


async def _check_tasks(case: Case) -> Check:
    for way in _ways(case):
        await try_tasks(case, way)
    best = _best(case)
    assert best is not None  # there is always a way
    engine = grammars.obeyed_engine(case)
    held = _with_grammar(best.way, engine) if engine is not None and best.good else None
    if held is not None:
        await try_tasks(case, held)
        best = _best(case) or best
    if not any(best.results.get(task.name) in GOOD for task in TASKS if task.calls):
        why = best.trouble or "no call was right"
        advice = "try another model, or other dialects with --dialects; --show prints what the model says"
        return Check("tasks", Outcome.FAILED, f"{best.way.words}: {why}", advice)
    said = f"best: {best.way.words}, {best.good} of {len(TASKS)} right"
    native = next((each for each in case.report.tried if each.way.is_native), None)
    if native is not None and native.rank >= best.rank:
        return Check("tasks", Outcome.OK if best.good == len(TASKS) else Outcome.WARNING, said, _NATIVE)
    if best.good < len(TASKS):
        return Check("tasks", Outcome.WARNING, said, "serve sends a failed call back to the model once (--retry)")
    return Check("tasks", Outcome.OK, said)


_NATIVE = "the server's own calls are as good: clients of its API can do without serve"


STEPS = (
    Step("address", address.check_address, _nothing),
    Step("models", address.check_models, _address),
    Step("engine", address.guess_engine, _address),
    Step("answer", answers.check_answer, _model),
    Step("stream", answers.check_stream, _model),
    Step("latency", answers.check_latency, _replies),
    Step("finish_reasons", answers.check_finish_reasons, _replies),
    Step("stop_sequences", answers.check_stop, _replies),
    Step("reasoning", answers.check_reasoning, _replies),
    Step("grammars", grammars.check_grammars, _replies),
    Step("tools", own_calls.check_tools, _replies),
    Step("own_dialect", own_calls.check_own_dialect, _replies),
    Step("special_tokens", own_calls.check_special_tokens, _replies),
    Step("tasks", _check_tasks, _replies),
)
"""All checks, in their order."""


def _ways(case: Case) -> list[Way]:
    """The ways to try, those that a model is likely to be best in first."""
    report = case.report
    known = (report.own_dialect, report.template_dialect, report.named_dialect)
    own = [name for name in known if name is not None]
    chosen = case.dialects if case.dialects is not None else tuple(dict.fromkeys((*own, *USUAL_DIALECTS)))
    ways = [Way(name) for name in chosen if can_be_written(name)]
    if case.leaves_calls is not None and report.own_dialect is not None:
        ways.append(Way(report.own_dialect, "upstream", case.leaves_calls))
    if case.gives_calls:
        ways.append(Way(prompt="upstream", is_native=True))
    return ways


def _best(case: Case) -> Tried | None:
    """The best way; of ways that are as good, one with a grammar, then the first, and native calls last."""
    return max(
        case.report.tried,
        key=lambda each: (each.rank, each.way.grammar is not None, not each.way.is_native),
        default=None,
    )


def _with_grammar(way: Way, engine: str) -> Way | None:
    """Return a way with a grammar; None if there is none for its dialect, or the prompt is not ours."""
    try:
        Settings(dialect=way.dialect, prompt=way.prompt, engine=engine)  # type: ignore[arg-type]
    except XMLToolsError:
        return None
    return replace(way, grammar=engine)


def _untried(case: Case) -> Way:
    """The way that is the likeliest, where none was tried."""
    return next(iter(_ways(case)), Way())


def suggested(case: Case) -> list[str] | None:
    """Return the words of the command that serves this upstream; None if nothing is known to work."""
    report = case.report
    if not case.replies or report.outcome("tasks") is Outcome.FAILED:
        return None
    best = _best(case)
    way = best.way if best is not None else _untried(case)
    words = ["xmltools", "serve", "--upstream", case.config.upstream or ""]
    if case.key_name is not None:
        words += ["--upstream-key-env", case.key_name]
    if not way.is_native:
        words += ["--dialect", way.dialect]
    if way.prompt != "ours":
        words += ["--prompt", way.prompt]
    if way.tool_choice != "auto":
        words += ["--upstream-tool-choice", way.tool_choice]
    if way.grammar is not None:
        words += ["--grammar", way.grammar]
    if case.starts_in_reasoning:
        words.append("--starts-in-reasoning")
    return words
