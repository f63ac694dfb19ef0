"""Is there a server at the address, which models does it list, and what is it?"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from xmltools.proxy.doctor.asking import PAGE, PAGE_ADVICE, Got, NoAnswerError, status_trouble
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import Check, Outcome, listed, short
from xmltools.proxy.server.listed_models import ListedModel, listed_models

MOST_REQUESTS = 5
"""Requests of these checks: the list of models, up to three other addresses, and one for the engine."""

_MODELS = "/models"
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


async def check_address(case: Case) -> Check:
    """Ask for the list of models, and say whether anybody answers."""
    url = case.asking.base + _MODELS
    try:
        got = await case.asking.get(url)
    except NoAnswerError as trouble:
        return Check("address", Outcome.FAILED, trouble.message, trouble.advice)
    case.server = got.server
    case.listing, models = _read(case, got)
    if models:
        case.owner = models[0].owner
        case.listed = [model.id for model in models]
    milliseconds = f"answers in {got.seconds * 1000:.0f} ms"
    if case.listing is None or case.listing.is_about_key or got.status in (429, 503):
        return Check("address", Outcome.OK, milliseconds)
    if 300 <= got.status < 400:
        advice = "give the address that it leads to: redirects are not followed"
        return Check("address", Outcome.FAILED, f"status {got.status}, which leads elsewhere", advice)
    better = await _better_address(case)
    if better is not None:
        return Check(
            "address", Outcome.FAILED, case.listing.message, f"write --upstream {better}: models are listed there"
        )
    if got.is_page and got.status < 300:
        return Check("address", Outcome.FAILED, PAGE, PAGE_ADVICE)
    return Check("address", Outcome.OK, milliseconds)


def _read(case: Case, got: Got) -> tuple[NoAnswerError | None, list[ListedModel]]:
    if not 200 <= got.status < 300:
        return status_trouble(got.status, has_key=case.asking.has_key), []
    if got.is_page:
        return NoAnswerError(PAGE, PAGE_ADVICE), []
    models = listed_models(got.body)
    return (None, models) if models else (NoAnswerError("the server lists no models"), [])


async def _better_address(case: Case) -> str | None:
    """Return an address of the same server with another path at which models are listed, if there is one."""
    parts = urlsplit(case.asking.base)
    path = parts.path
    paths = [path.removesuffix("/chat/completions").removesuffix(_MODELS), f"{path.partition('/v1')[0]}/v1", "/v1"]
    for other in dict.fromkeys(each for each in paths if each != path):
        url = f"{parts.scheme}://{parts.netloc}{other}"
        try:
            got = await case.asking.get(url + _MODELS)
        except NoAnswerError:
            continue
        if 200 <= got.status < 300 and listed_models(got.body):
            return url
    return None


async def check_models(case: Case) -> Check:
    """Choose the model to ask for."""
    wanted, names = case.wanted, case.listed
    count = f"{len(names)} models" if len(names) != 1 else "1 model"
    case.report.model = case.asking.model = wanted or (names[0] if names else "")
    if case.listing is not None:
        case.is_locked = case.listing.is_about_key and wanted is None
        outcome = Outcome.WARNING if wanted else Outcome.FAILED
        more = "" if wanted else "name the model with --model"
        return Check("models", outcome, case.listing.message, "; ".join(filter(None, (case.listing.advice, more))))
    if wanted is None and len(names) > 1:
        return Check(
            "models",
            Outcome.WARNING,
            f"{count}; this is about the first, {short(names[0], 80)}",
            f"name another with --model: {listed(names[1:])}",
        )
    if wanted is not None and wanted not in names:
        return Check(
            "models",
            Outcome.WARNING,
            f"{short(wanted, 80)} is not in the list",
            f"there are: {listed(names)}",
        )
    return Check(
        "models",
        Outcome.OK,
        f"{count}: {short(case.report.model, 80)}" if wanted is None else f"{short(wanted, 80)} is in the list",
    )


async def guess_engine(case: Case) -> Check:
    """Say which engine the server is, if it says so itself: as the owner of its models, in the header `server`, or,
    Ollama, at `/api/version`."""
    engine, by = _OWNERS.get(case.owner), "the owner of its models"
    if engine is None and case.server.lower().startswith("llama.cpp"):
        engine, by = "llama.cpp", "its header server"
    if engine is None:
        engine, by = await _ollama(case), "/api/version"
    case.report.engine = engine
    return Check("engine", Outcome.OK, f"{engine}, by {by}" if engine else "not known: the server does not say")


async def _ollama(case: Case) -> str | None:
    parts = urlsplit(case.asking.base)
    try:
        got = await case.asking.get(f"{parts.scheme}://{parts.netloc}/api/version")
        said = json.loads(got.body) if got.status == 200 else None
    except (NoAnswerError, ValueError, RecursionError):
        return None
    return "ollama" if isinstance(said, dict) and isinstance(said.get("version"), str) else None
