"""Runs the neutral suite through the parsers of vLLM and SGLang, and through ours: `make conformance`.

`make rivals` makes the environment in which theirs run. Writes `conformance.json` beside this file, of which
`tests/support/pages.py` makes the table in `docs/conformance.md`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from _rivals._dialects import write  # noqa: E402
from _rivals._install import SGLANG, UNPACKED, VLLM, python  # noqa: E402
from _rivals._neutral_child import reads  # noqa: E402
from _rivals._texts import TOOL_SCHEMAS, diff_reply  # noqa: E402
from canitoolcall import __version__ as suite_version  # noqa: E402
from canitoolcall import results  # noqa: E402
from support.neutral import FAMILIES, all_fixtures, cuts, judge, ours, prompt_of  # noqa: E402

from xmltools.dialects import named  # noqa: E402

OWN = {
    "beam": "reflection/Beam-1.0-501B-A23B",
    "ernie": "baidu/ERNIE-4.5-300B-A47B-PT",
    "gigachat35": "ai-sage/GigaChat3.5-432B-A28B",
    "inkling": "thinkingmachines/Inkling",
    "iquest_q1": "IQuestLab/IQuest-Q1",
    "muse": "meta-models/Muse-Spark-Open-816B-A42B",
    "plamo3": "pfnet/plamo-3-nict-31b-base",
}
"""Dialects that some engine reads and the suite does not have, each with a model."""
NAMES = ("vllm", "sglang")
OWN_PARSERS = (("", ()), ("_plugin", ("",)))
"""The engine's own parsers, and the plugin's."""
CORPUS = HERE.parent / "tests" / "corpus" / "dialects"
TOKEN = re.compile(r"<\|[\w:]+\|>|</?(?:think|tool_call|response)>")
"""What is one token for the models of `OWN`, where it stands in their texts."""

SECONDS = 60
"""For one fixture, whole and in all streams: what takes longer hangs."""

NO_TOKENS = ("<function=", "</function>", "<parameter=", "</parameter>")
"""Marks of a family that no tokenizer has as one token."""

MISTRAL = {"7B-Instruct-v0.3": 3, "Small-3.2": 11, "Small-2506": 11, "Small-2507": 11, "": 13}
"""Models of Mistral by a part of their name, with the version of their tokenizer."""

NOT_YET = {3: ("[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"), 11: ("[THINK]", "[/THINK]"), 13: ()}
"""The tokens that a version does not have yet."""

NOT_RUN = {
    ("vllm", "gpt-oss"): "its parser takes Harmony's own token numbers, whose vocabulary comes from the network",
}

LARGE = {
    "hermes": ("Qwen/Qwen3-8B", "qwen3-hermes"),
    "qwen": ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3-xml"),
    "glm": ("zai-org/GLM-4.6", "glm"),
    "dsml": ("deepseek-ai/DeepSeek-V4", "deepseek"),
}
"""For the clock, a call with a large argument in the notations of `_dialects`, with a model and its family."""
LARGE_SIZE = 16_000


class HungError(Exception):
    """The engine took too long, or died."""


class Child:
    """A process with the parsers of an engine."""

    def __init__(self, *engine: str, module: str = "_neutral_child") -> None:
        command = [str(python()), "-m", f"_rivals.{module}", *engine]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(HERE)},
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("\x1e"):
                self.lines.put(line[1:])
        self.lines.put("")

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=SECONDS)
        except (queue.Empty, OSError):
            line = ""
        if not line:
            self.stop()
            raise HungError
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def marks(fixture: Any) -> list[str]:
    """The marks that the model's tokenizer has as tokens."""
    without = NO_TOKENS
    if fixture.family == "mistral":
        version = next(version for model, version in MISTRAL.items() if model in fixture.models[0])
        without = ("<think>", "</think>", *NOT_YET[version])
    return [each for each in FAMILIES[fixture.family].markers if each not in without]


def job(fixture: Any, *, is_plugin: bool = False) -> dict[str, Any]:
    text, prompt = fixture.raw_output, prompt_of(fixture)
    models = FAMILIES[fixture.family].reference_models
    stops: tuple[str, ...] = next((each.stop_tokens for each in models if each.repo == fixture.models[0]), ())
    if fixture.family == "gpt-oss" and "to=" in text.rpartition("<|start|>")[2] and "truncated" not in fixture.tags:
        # The server keeps this one stop token in the text for its own parser, which needs it.
        text = text.removesuffix("<|call|>") + "<|call|>" * (not is_plugin)
    return {
        "model": fixture.models[0],
        "text": text,
        "tools": json.loads(json.dumps(fixture.tools)),
        "thinking": fixture.thinking,
        "prompt": prompt,
        "inside": prompt.rstrip().endswith(("<think>", "[THINK]", "<|open|>think<|sep|>")),
        "marks": marks(fixture),
        "stops": list(stops),
        "grammar": fixture.family == "mistral"
        and fixture.tokenizer is not None
        and fixture.tokenizer.mode == "mistral",
        "cuts": {"whole": [len(text)], **cuts(len(text))},
    }


def failed_checks(rows: list[Any]) -> list[str]:
    """Which checks fail, and whether only in streams."""
    failed = [row for row in rows if row.status is results.Status.FAIL]
    strict = {row.check for row in failed if row.strategy == "nonstream"}
    return sorted({row.check if row.check in strict else f"{row.check} (stream)" for row in failed})


def run(engine: str, *plugin: str) -> dict[str, Any]:
    """By family: how many fixtures pass strictly and softly, and which fail, with the checks that they fail."""
    families: dict[str, Any] = {}
    child = Child(engine, *plugin)
    raised: Counter[str] = Counter()
    for fixture in all_fixtures():
        row = families.setdefault(fixture.family, {"pass": 0, "soft": [], "fail": {}, "not_run": {}})
        if (engine, fixture.family) in NOT_RUN:
            row["not_run"][fixture.id] = NOT_RUN[engine, fixture.family]
            continue
        try:
            answer = child.ask(job(fixture, is_plugin=bool(plugin)))
        except HungError:
            row["fail"][fixture.id] = {"kind": "hangs", "checks": [], "streams": []}
            child = Child(engine, *plugin)
            continue
        if "not_run" in answer:
            row["not_run"][fixture.id] = answer["not_run"]
            continue
        whole = results.ParseResult.from_dict(answer["whole"])
        streams = {name: results.ParseResult.from_dict(each) for name, each in answer["streams"].items()}
        raised.update(each.exception for each in (whole, *streams.values()) if each.exception)
        status, rows = judge(fixture, whole, streams)
        note(row, fixture, status, rows, whole)
    child.stop()
    for problem, times in raised.most_common():
        print(f"{engine} raised, {times} times: {problem[:160]}")
    return families


def note(row: dict[str, Any], fixture: Any, status: Any, rows: list[Any], whole: Any) -> None:
    if status is results.Status.PASS:
        row["pass"] += 1
    elif status is results.Status.SOFT_PASS:
        row["soft"].append(fixture.id)
    else:
        failed = {each.strategy for each in rows if each.status is results.Status.FAIL}
        row["fail"][fixture.id] = {
            "kind": kind(fixture, rows, whole),
            "checks": failed_checks(rows),
            "streams": sorted(failed - {"nonstream", "*"}),
        }


def kind(fixture: Any, rows: list[Any], whole: Any) -> str:
    """What went wrong, as one of the kinds that the page has words for."""
    failed = [row for row in rows if row.status is not results.Status.SOFT_PASS]
    if "truncated" in fixture.tags:
        return "cut off"
    if fixture.expected is None:
        return "malformed"
    if "marker-in-arguments" in fixture.tags or "marker" in fixture.id:
        return "marks in values"
    if all(row.strategy != "nonstream" for row in failed):
        calls = any(
            row.check.startswith(("arguments", "parallel")) or "tool_call" in (row.detail or "") for row in failed
        )
        return "calls in streams" if calls else "text in streams"
    if whole is None or whole.exception:
        return "raises"
    wanted = [(call.name, json.loads(json.dumps(call.arguments))) for call in fixture.expected.tool_calls]
    found = [(call.name, arguments_of(call)) for call in whole.tool_calls]
    if found == wanted:
        return "text"
    return "calls" if [name for name, _ in found] != [name for name, _ in wanted] else "arguments"


def arguments_of(call: Any) -> Any:
    try:
        return call.arguments()
    except ValueError:
        return None


def run_ours() -> dict[str, Any]:
    families: dict[str, Any] = {}
    for fixture in all_fixtures():
        row = families.setdefault(fixture.family, {"pass": 0, "soft": [], "fail": {}, "not_run": {}})
        note(row, fixture, *ours(fixture), None)
    return families


def own_cases(dialect: str) -> list[dict[str, Any]]:
    """Our own cases with tools and with calls that need no repair, and without reasoning.

    Where messages of the dialect have headers, the text begins with one.
    """
    headers = tuple(start for start, _ in named(dialect).headers) or ("",)
    cases: list[dict[str, Any]] = json.loads((CORPUS / f"{dialect}.json").read_text("utf-8"))
    return [
        case
        for case in cases
        if case["tools"] and case["options"].keys() == {"dialect"} and not case["expect"]["errors"]
        if case["text"].lstrip().startswith(headers) and not case["expect"]["reasoning"]
        if case["expect"]["calls"] and all(call["clean"] for call in case["expect"]["calls"])
    ]


def own_job(model: str, case: dict[str, Any], marks: list[str]) -> dict[str, Any]:
    tools = [{"type": "function", "function": tool} for tool in case["tools"]]
    return {
        "model": model,
        "text": case["text"],
        "tools": tools,
        "thinking": None,
        "prompt": "",
        "inside": False,
        "marks": marks,
        "stops": [],
        "grammar": False,
        "cuts": {"whole": [len(case["text"])], **cuts(len(case["text"]))},
    }


def run_own(engine: str, *plugin: str) -> dict[str, Any]:
    """By dialect: our own cases whose calls are right, only when the reply is read whole, or not even then."""
    dialects: dict[str, Any] = {}
    child = Child(engine, *plugin)
    for dialect, model in OWN.items():
        if not reads(engine, model):
            continue
        row = dialects.setdefault(dialect, {"pass": 0, "stream": [], "fail": []})
        cases = own_cases(dialect)
        marks = sorted({mark for case in cases for mark in TOKEN.findall(case["text"])})
        for case in cases:
            wanted = [(call["name"], call["arguments"]) for call in case["expect"]["calls"]]
            try:
                answer = child.ask(own_job(model, case, marks))
            except HungError:
                row["fail"].append(case["id"])
                child = Child(engine, *plugin)
                continue
            if "not_run" in answer:
                raise SystemExit(f"{engine}, {case['id']}: {answer['not_run']}")
            if own_calls(answer["whole"]) != wanted:
                row["fail"].append(case["id"])
            elif any(own_calls(each) != wanted for each in answer["streams"].values()):
                row["stream"].append(case["id"])
            else:
                row["pass"] += 1
    child.stop()
    return dialects


def own_calls(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    found = results.ParseResult.from_dict(answer)
    return [(call.name, arguments_of(call)) for call in found.tool_calls]


def large_jobs() -> list[tuple[str, dict[str, Any]]]:
    """Replies with one large argument, by the family of the model that writes them."""
    tools = [
        {"type": "function", "function": {"name": name, "parameters": made}} for name, made in TOOL_SCHEMAS.items()
    ]
    common = {"tools": tools, "thinking": False, "prompt": "", "inside": False, "stops": [], "grammar": False}
    return [
        (
            family,
            {**common, "model": model, "text": write(diff_reply(LARGE_SIZE), dialect), "marks": no_text_marks(family)},
        )
        for dialect, (model, family) in LARGE.items()
    ]


def no_text_marks(family: str) -> list[str]:
    return [each for each in FAMILIES[family].markers if each not in NO_TOKENS]


def times(engine: str) -> dict[str, Any]:
    """Tokens and CPU seconds of the engine's own parsers and of ours: of all fixtures that none of them raises on, by
    family; and of large calls."""
    found: dict[str, Any] = {"fixtures": {}, "large": {}}
    child = Child(engine, module="_plugin_speed")
    jobs = [(fixture.family, job(fixture)) for fixture in all_fixtures() if (engine, fixture.family) not in NOT_RUN]
    for part, each in (("fixtures", jobs), ("large", large_jobs())):
        for family, made in each:
            try:
                answer = child.ask(made)
            except HungError:
                child = Child(engine, module="_plugin_speed")
                continue
            if None in answer["seconds"].values():
                continue
            row = found[part].setdefault(family, {"tokens": 0, "own": 0.0, "plugin": 0.0, "whole": 0.0})
            row["tokens"] += answer["tokens"]
            for name, seconds in answer["seconds"].items():
                row[name] = round(row[name] + seconds, 6)
    child.stop()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the neutral suite through all parsers.", allow_abbrev=False)
    parser.add_argument("--output", type=Path, default=HERE / "conformance.json")
    output = parser.parse_args().output
    if not (UNPACKED / "vllm" / "reasoning").is_dir() or not (UNPACKED / "sglang" / "srt" / "parser").is_dir():
        sys.exit("the parsers of vLLM and SGLang are not here: python benchmarks/rivals.py --install")
    found = {
        "suite": suite_version,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {"vllm": VLLM, "sglang": SGLANG},
        "engines": {"xmltools": run_ours(), **{engine: run(engine) for engine in NAMES}},
        "plugins": {f"{engine}{end}": run(engine, end) for engine in NAMES for end in ("", "_whole")},
        "own": {f"{engine}{end}": run_own(engine, *plugin) for engine in NAMES for end, plugin in OWN_PARSERS},
        "times": {engine: times(engine) for engine in NAMES},
    }
    output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for engine, families in (*found["engines"].items(), *found["plugins"].items()):
        for family, row in families.items():
            print(engine, family, row["pass"], len(row["soft"]), len(row["fail"]), len(row["not_run"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
