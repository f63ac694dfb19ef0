"""Which fields of a request make the server keep to a grammar?"""

from __future__ import annotations

from typing import Any

from xmltools.grammar import ENGINES, for_engine
from xmltools.parser import parse
from xmltools.proxy.doctor.asking import NoAnswerError
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import Check, Grammar, Outcome
from xmltools.tools import Tool

GRAMMAR_ENGINES = tuple(name for name, ways in ENGINES.items() if ways[0].api == "openai")
"""Those that take a grammar with a chat completion."""
MOST_REQUESTS = len(GRAMMAR_ENGINES)

FORCED = Tool(
    name="blue_heron",
    parameters={
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["violet"]}},
        "required": ["colour"],
        "additionalProperties": False,
    },
)
"""A tool of which the model knows nothing: it calls it only if the grammar makes it."""


def forcing_fields(engine: str) -> dict[str, Any]:
    """Return the fields that make an engine write that call, and nothing else."""
    return for_engine(engine, FORCED, tool_choice="named", name=FORCED.name, white_space=2)


async def check_grammars(case: Case) -> Check:
    """Send a grammar in the fields of each engine that takes one: the grammar allows one call, of which the model is
    not told."""
    found = case.report.grammars
    broken = ""
    for engine in GRAMMAR_ENGINES:
        try:
            reply = await case.asking.chat(case.asking.question("Say hello.", **forcing_fields(engine)))
        except NoAnswerError as trouble:
            found[engine] = Grammar.REFUSED
            if not trouble.is_refusal:
                broken = f"; {engine}: {trouble.message}"
            continue
        # A server that tells reasoning apart may take all for reasoning that holds no end of it.
        calls = [call for text in (reply.text, reply.reasoning) for call in parse(text, [FORCED]).calls]
        found[engine] = Grammar.OBEYED if calls else Grammar.IGNORED
    said = "; ".join(
        f"{what.value}: {', '.join(names)}"
        for what in Grammar
        if (names := [engine for engine in GRAMMAR_ENGINES if found[engine] is what])
    )
    if obeyed_engine(case) is not None:
        return Check("grammars", Outcome.OK, said + broken)
    advice = "serve works without; with a grammar, a model can't write a call that is malformed"
    return Check("grammars", Outcome.WARNING, said + broken, advice)


def obeyed_engine(case: Case) -> str | None:
    """Return the engine whose fields make the server keep to a grammar; of several, the one that the server is."""
    obeyed = [engine for engine, what in case.report.grammars.items() if what is Grammar.OBEYED]
    return case.report.engine if case.report.engine in obeyed else next(iter(obeyed), None)
