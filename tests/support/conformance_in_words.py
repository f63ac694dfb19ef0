"""The tables of `docs/conformance.md`: what parsers make of the neutral suite.

Our own counts and those of vLLM and SGLang, with their own parsers and with our plugins, come from
`benchmarks/conformance.json`, which `benchmarks/conformance.py` writes; the published ones from
`benchmarks/conformance_published.json`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FIXTURES = "https://github.com/redd34/canitoolcall/tree/main/fixtures"
NAMES = {"vllm": "vLLM", "sglang": "SGLang"}
LIVE, WHOLE = "", "_whole"
"""What the names of the plugins' parsers end with: arguments stream, or calls are sent when they are whole."""

KINDS = {
    "calls in streams": "a call is lost, or its arguments are, in a stream that is right when read whole",
    "text in streams": "text is lost or misplaced in a stream, while the reply read whole is right",
    "calls": "a call is not found, or has another name, however the reply is read",
    "arguments": "the arguments have other values or types than the model wrote",
    "text": "the calls are right; text or reasoning beside them is lost, or in the wrong place",
    "marks in values": "a value or reasoning quotes a mark of the notation, and the call breaks there",
    "cut off": "the reply was cut off, and a call that was not finished is handed on, or text is lost",
    "malformed": "the call is not valid, and a wrong one is handed on, or streams differ from the whole",
    "raises": "the parser raises an exception",
    "hangs": "the parser takes longer than a minute, or its process dies",
}
"""The kinds of errors that `conformance.py` tells apart, in the order of the page."""

DISPUTED = {
    "deepseek/sglang-v4-self-closing-invoke": "DeepSeek's own reader rejects this form",
    "gemma4/text-after-call": "text after a call is known from histories only",
    "gemma4/text-after-call-thinking": "the same",
    "glm/glm45-ollama-content-after-call": "the same, from a test of Ollama",
    "mistral/llamacpp-v11-call-id": "whether the model writes `[CALL_ID]` is not known",
    "mistral/llamacpp-v11-call-id-parallel": "the same",
    "kimi/k2i-vllm-content-after-tool-section": "vLLM's own test wants this text dropped",
    "gemma4/vllm-malformed-no-brace": "vLLM's own test wants a call here",
    "qwen3-hermes/vllm-no-newlines-no-spaces": "the template of Qwen3 always writes line breaks around the JSON",
    "qwen3-hermes/vllm-text-then-call-no-separator": "the same",
    "qwen3-hermes/vllm-two-calls-no-separator": "the same",
    "qwen3-hermes/vllm-content-and-call-single-chunk": "the same",
    "qwen3-hermes/sglang-text-before-call-with-space": "the same",
}
"""Fixtures whose failure the suite's own notes do not count as an error of the engine, with why."""


def run() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BENCHMARKS / "conformance.json").read_text("utf-8"))
    return found


def published() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BENCHMARKS / "conformance_published.json").read_text("utf-8"))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def counts(row: dict[str, Any]) -> list[int]:
    return [row["pass"], len(row["soft"]), len(row["fail"])]


def cell(numbers: list[int] | None) -> str:
    """`strictly / white space / fail`, or nothing where the engine reads none of the family."""
    return " / ".join(map(str, numbers)) if numbers and sum(numbers) else "–"


def added(rows: Iterable[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def summary() -> str:
    """Families by engines."""
    ran, known = run(), published()
    head = ["family", "fixtures", "xmltools"]
    for engine, version in ran["versions"].items():
        head += [f"{NAMES[engine]} {version}", f"xmltools in {NAMES[engine]}"]
    head += [f"{engine} {version}, published" for engine, version in known["versions"].items()]
    columns = [ran["engines"]["xmltools"]]
    for engine in ran["versions"]:
        columns += [ran["engines"][engine], ran["plugins"][f"{engine}{LIVE}"]]
    rows = []
    for family, numbers in known["families"].items():
        here = [counts(families[family]) for families in columns]
        row = ran["engines"]["xmltools"][family]
        whole = sum(counts(row)) + len(row["not_run"])
        theirs = [numbers.get(engine) for engine in known["versions"]]
        rows.append([family, str(whole), *map(cell, here), *map(cell, theirs)])
    here = [added(counts(row) for row in families.values()) for families in columns]
    theirs = [known["totals"][engine] for engine in known["versions"]]
    rows.append(["all", str(sum(int(row[1]) for row in rows)), *map(cell, here), *map(cell, theirs)])
    return table(head, rows)


def in_short() -> str:
    """The sums, for the README: how many fixtures each reads strictly right, of those that it was given."""
    ran = run()
    families = ran["engines"]["xmltools"]
    said = [f"xmltools reads {_strictly(families)} strictly right"]
    for engine, version in ran["versions"].items():
        own, plugin = ran["engines"][engine], ran["plugins"][f"{engine}{LIVE}"]
        where = f"{NAMES[engine]} {version}"
        said.append(f"as a plugin in {where} {_strictly(plugin)}, where its own parsers read {_strictly(own)}")
    return f"On the [neutral suite](docs/conformance.md) of replies in {len(families)} families, {'; '.join(said)}.\n"


def _strictly(families: dict[str, Any]) -> str:
    numbers = added(counts(row) for row in families.values())
    return f"{numbers[0]} of {sum(numbers)}"


def how() -> str:
    """Versions, how near the published counts are, and what was not run."""
    ran, known = run(), published()
    lines = [f"Suite: `canitoolcall` {ran['suite']}. Run on {ran['date']}.\n"]
    for engine, version in ran["versions"].items():
        name, families = NAMES[engine], ran["engines"][engine]
        same = [family for family, row in families.items() if counts(row) == known["families"][family][name]]
        lines.append(f"{name} {version} has the published counts of {known['versions'][name]} on {', '.join(same)}.\n")
    for engine, families in ran["engines"].items():
        for family, row in families.items():
            reasons = sorted(set(row["not_run"].values()))
            lines.extend(f"Not run: {NAMES.get(engine, engine)} on {family}, because {why}.\n" for why in reasons)
    return "\n".join(lines)


def by_kind(families: dict[str, Any]) -> dict[str, list[str]]:
    kinds = defaultdict(list)
    for row in families.values():
        for name, found in row["fail"].items():
            kinds[found["kind"]].append(name)
    return kinds


def linked(names: Iterable[str]) -> str:
    families = defaultdict(list)
    for name in names:
        family, _, rest = name.partition("/")
        families[family].append(f"`{rest}`" + ("*" if name in DISPUTED else ""))
    return "; ".join(f"[{family}]({FIXTURES}/{family}): {', '.join(rest)}" for family, rest in families.items())


def wrong() -> str:
    """What goes wrong, counted; then the fixtures."""
    engines = {name: by_kind(families) for name, families in run()["engines"].items()}
    present = [kind for kind in KINDS if any(kinds[kind] for kinds in engines.values())]
    parts = [
        table(
            ("what goes wrong", *(NAMES.get(name, name) for name in engines)),
            ([KINDS[kind], *(str(len(kinds[kind])) for kinds in engines.values())] for kind in present),
        )
    ]
    for name, kinds in engines.items():
        if not any(kinds.values()):
            continue
        rows = [[KINDS[kind], linked(kinds[kind])] for kind in present if kinds[kind]]
        shown = table(("what goes wrong", "fixtures"), rows)
        parts.append(f"<details><summary>The fixtures that {NAMES[name]} fails</summary>\n\n{shown}\n</details>\n")
    return "\n".join(parts)


def inside() -> str:
    """The plugins in both engines, beside the engine's own parsers: counts, then what goes wrong."""
    ran = run()
    names, columns = [], []
    for engine, version in ran["versions"].items():
        names += [f"{NAMES[engine]} {version}", f"xmltools in {NAMES[engine]}", "the same, whole calls"]
        columns += [ran["engines"][engine], *(ran["plugins"][f"{engine}{end}"] for end in (LIVE, WHOLE))]
    families = next(iter(columns))
    rows = [[family, *(cell(counts(each[family])) for each in columns)] for family in families]
    rows.append(["all", *(cell(added(counts(row) for row in each.values())) for each in columns)])
    kinds = [by_kind(each) for each in columns]
    found = [kind for kind in KINDS if any(each[kind] for each in kinds)]
    wrong = ([KINDS[kind], *(str(len(each[kind])) for each in kinds)] for kind in found)
    left = defaultdict(list)
    for engine in ran["versions"]:
        for row in ran["plugins"][f"{engine}{WHOLE}"].values():
            for name in (*row["soft"], *row["fail"]):
                left[name].append(
                    f"{'only white space differs' if name in row['soft'] else 'fails'} in {NAMES[engine]}"
                )
    rest = table(("fixture", "with whole calls"), ([f"`{name}`", ", ".join(said)] for name, said in left.items()))
    return "\n".join((table(("family", *names), rows), table(("what goes wrong", *names), wrong), rest))


def better(engine: str) -> str:
    """How many fixtures an engine reads with its own parsers, and with ours."""
    ran = run()
    own, live, whole = (
        added(counts(row) for row in families.values())
        for families in (ran["engines"][engine], *(ran["plugins"][f"{engine}{end}"] for end in (LIVE, WHOLE)))
    )
    name = NAMES[engine]
    return (
        f"Of the {sum(own)} replies of the neutral suite that run in {name} here, its own parsers read {own[0]} as "
        f"expected, and {own[1]} more but for white space. `xmltools_DIALECT` reads {live[0]} and {live[1]}, "
        f"`xmltools_DIALECT_whole` {whole[0]} and {whole[1]}.\n"
    )


def own() -> str:
    """Our own cases in dialects that the suite does not have, and which of them an engine's own parsers fail."""
    ran = run()
    found = ran["own"]
    head = ["dialect", "cases"]
    for engine, version in ran["versions"].items():
        head += [f"{NAMES[engine]} {version}", f"xmltools in {NAMES[engine]}"]
    rows = []
    for dialect in sorted({dialect for dialects in found.values() for dialect in dialects}):
        columns = [found[f"{engine}{end}"].get(dialect) for engine in ran["versions"] for end in ("", "_plugin")]
        numbers = [[row["pass"], len(row["stream"]), len(row["fail"])] if row else None for row in columns]
        rows.append([f"`{dialect}`", str(sum(next(filter(None, numbers)))), *map(cell, numbers)])
    wrong = []
    for engine in ran["versions"]:
        for dialect, row in found[engine].items():
            for what, names in (("in streams only", row["stream"]), ("also when read whole", row["fail"])):
                if names:
                    said = ", ".join(f"`{name.removeprefix(f'{dialect}-')}`" for name in names)
                    wrong.append([NAMES[engine], f"`{dialect}`", what, said])
    return f"{table(head, rows)}\n{table(('engine', 'dialect', 'wrong', 'cases'), wrong)}"


def clock() -> str:
    """Microseconds for a token, with the engine's own parsers and with ours."""
    ran = run()
    parts = {"fixtures": "the fixtures", "large": "a call with 16 KB in one argument"}
    rows = []
    for engine in ran["versions"]:
        for part, what in parts.items():
            for family, found in ran["times"][engine][part].items():
                own, live, whole = (found[name] * 1e6 / found["tokens"] for name in ("own", "plugin", "whole"))
                numbers = (f"{own:.1f}", f"{live:.1f}", f"{whole:.1f}", f"{live / own:.2f}")
                rows.append([NAMES[engine], family, what, f"{found['tokens']:,}", *numbers])
    head = ("engine", "family", "replies", "tokens", "own", "xmltools", "xmltools, whole calls", "xmltools : own")
    return table(head, rows)


def others() -> str:
    """What the suite says of the engines that are not run here."""
    known = published()
    rows = [[engine, str(count), words] for engine, found in known["findings"].items() for count, words in found]
    return table(("engine", "fixtures", "what goes wrong"), rows)


def hurry() -> str:
    """How many failures are in streams only, and whether they are in those of single tokens."""
    lines = []
    for engine, families in run()["engines"].items():
        fails = (each for row in families.values() for each in row["fail"].values())
        found = [each["streams"] for each in fails if each["kind"] == "calls in streams"]
        if found:
            single = sum("by 1" in streams for streams in found)
            lines.append(f"{NAMES[engine]} loses {len(found)} so, {single} of them also token by token")
    counted = "; ".join(lines)
    return f"- **Try streams whose pieces hold several tokens**, as speculative decoding sends them: {counted}.\n"


def disputed() -> str:
    """Fixtures that the suite's own notes dispute, and who fails them here."""
    engines = run()["engines"]
    rows = []
    for name, why in DISPUTED.items():
        family = name.partition("/")[0]
        failing = [NAMES.get(engine, engine) for engine in engines if name in engines[engine][family]["fail"]]
        rows.append([f"`{name}`", why, ", ".join(failing) or "none"])
    return table(("fixture", "why", "fail it here"), rows)


def not_ours() -> str:
    """The fixtures that we do not pass strictly, and who does."""
    engines = run()["engines"]
    rows = []
    for family, row in engines["xmltools"].items():
        for name in (*row["soft"], *row["fail"]):
            others = (engine for engine in engines if engine != "xmltools" and passes(engines[engine][family], name))
            result = "only white space differs" if name in row["soft"] else "fails"
            rows.append([f"`{name}`", result, ", ".join(NAMES[engine] for engine in others) or "none"])
    return table(("fixture", "xmltools", "pass it strictly here"), rows)


def passes(row: dict[str, Any], name: str) -> bool:
    return not any(name in row[part] for part in ("soft", "fail", "not_run"))
