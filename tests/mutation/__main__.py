"""Mutation testing of the parser, the dialects and the schemas: `python tests/mutation --sample N --seed S`.

It takes mutmut, for its operators (`pip install mutmut`). Nothing is written but the results, one JSON object a line.
Mutants that have a result already are not judged again: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parents[1]
_FILES = (
    "parser/test_corpus.py",
    "parser/test_laws.py",
    "parser/test_truncation.py",
    "dialects/test_dialect_corpus.py",
    "dialects/test_dialect_laws.py",
    "dialects/test_hints.py",
    "dialects/test_tag_per_tool.py",
    "dialects/test_false_alarms.py",
    "dialects/test_model_table.py",
    "dialects/test_neutral_suite.py",
    "dialects/test_made_up_dialects.py",
    "dialects/test_detect_misuse.py",
    "parser/test_detect_dialect.py",
    "parser/test_foreign_calls.py",
    "parser/test_careless.py",
    "parser/test_injection.py",
    "fuzz/test_fuzz.py",
    "lint/test_lint.py",
    "render/test_instructions.py",
    "parser/test_parser.py",
    "parser/test_repairs.py",
    "render/test_messages.py",
    "parser/test_bounds.py",
    "parser/test_limits.py",
    "parser/test_places.py",
    "parser/test_error_offset.py",
    "syntax/test_json.py",
    "syntax/test_late_patterns.py",
    "syntax/test_rope.py",
    "models/test_models.py",
    "tools/test_tools.py",
    "tools/test_schema.py",
    "tools/test_schema_words.py",
    "tools/test_schema_evaluated.py",
    "tools/test_schema_laws.py",
    "tools/test_patterns.py",
    "tools/test_examples.py",
    "grammar/test_grammar.py",
    "render/test_render_call.py",
    "render/test_render_result.py",
    "render/test_retry.py",
    "render/test_dialect_calls.py",
    "render/test_dialect_golden.py",
    "render/test_dialect_instructions.py",
    "render/test_dialect_safety.py",
    "conversations/test_transcript.py",
    "conversations/test_transcript_dialects.py",
)
"""The tests that judge: those of the parser, the dialects and the schemas, and of what is built right upon them."""
_SURE = "not time_grows and not time_is_linear and not atheris and not the_command and not the_work_is_shared"
"""Those that measure time, which may fail on a busy machine, and those that start another process, do not judge."""
_ALIVE = ("survived", "unreached", "error")
_KILLED = ("killed", "timeout", "memory", "crash")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests/mutation", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="MODULE",
        help="such as parser.open_call, tools.schema or tools.schema.elements_to_arguments",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="judge so many of them, at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of the order")
    parser.add_argument("--as-in", type=Path, metavar="RESULTS", help="judge the mutants that a file of results has")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--patience", type=float, default=25, help="CPU seconds of tests, quick ones first, to outlive")
    parser.add_argument("--controls", action="store_true", help="judge code without a change: nothing may kill it")
    parser.add_argument("--types", action="store_true", help="show the survivors to mypy too")
    parser.add_argument(
        "--again",
        action="store_true",
        help="judge the survivors again, by all tests, also those that `make test` leaves out",
    )
    parser.add_argument(
        "--first", action="append", default=[], metavar="NAME", help="ask tests with this in their id first"
    )
    parser.add_argument("--out", type=Path, default=_TESTS.parent / "build" / "mutation" / "results.jsonl")
    return parser.parse_args()


def _is_meant(module: str, only: list[str]) -> bool:
    name = module.removeprefix("xmltools.")
    return not only or any(name == each or name.startswith(f"{each}.") for each in only)


class _Results:
    """The verdicts in a file, as far as they are about the modules as they are now."""

    def __init__(self, path: Path, digests: dict[str, str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        records = map(json.loads, lines)
        self.path = path
        self.digests = digests
        self.known = {each["key"]: each for each in records if each["digest"] == digests[each["module"]]}

    def verdict(self, key: str) -> str:
        return self.known[key]["verdict"] if key in self.known else ""

    def add(self, mutant: Any, answer: dict[str, Any]) -> None:
        about = {"key": mutant.key, "module": mutant.module, "line": mutant.line}
        self.known[mutant.key] = about | {"digest": self.digests[mutant.module]} | answer
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(self.known[mutant.key]) + "\n")


def _main() -> int:
    # The tests import each other by their plain names, and the package is the one beside them.
    sys.path[:1] = [str(_TESTS.parent), str(_TESTS)]
    os.environ["CI"] = "1"  # Hypothesis tries the same each time
    options = _arguments()
    try:
        from mutation.mutants import SCOPE, control_of, digest_of, module_of, mutants_of
    except ImportError as error:
        print(f"{error}; pip install mutmut", file=sys.stderr)
        return 2
    results = _Results(options.out, {module_of(path): digest_of([path]) for path in SCOPE})
    meant = [path for path in SCOPE if _is_meant(module_of(path), options.only)]
    mutants = [each for path in meant for each in ([control_of(path)] if options.controls else mutants_of(path))]
    random.Random(options.seed).shuffle(mutants)
    if options.as_in:
        known = {json.loads(line)["key"] for line in options.as_in.read_text("utf-8").splitlines()}
        mutants = [mutant for mutant in mutants if mutant.key in known]
        print(f"{len(mutants)} of {len(known)} are still mutants of the code")
    chosen = list(islice((mutant for mutant in mutants if mutant.compiles), options.sample))
    verdicts = _ALIVE if options.again else ("", "error")
    _judge([each for each in chosen if results.verdict(each.key) in verdicts], options, results)
    if options.types:
        _show_to_mypy([each for each in chosen if results.verdict(each.key) in _ALIVE], results)
    present = {mutant.key for mutant in chosen}
    _print_table([record for key, record in results.known.items() if key in present])
    return 0


def _judge(mutants: list[Any], options: argparse.Namespace, results: _Results) -> None:
    import pytest
    from mutation.judge import Judge

    if mutants:
        judge = Judge(mutants, options, results.add)
        tests = [str(_TESTS / each) for each in _FILES]
        how = ["-q", "-p", "no:cacheprovider", "--no-header", "--capture=no", "-k", _SURE, "--hypothesis-profile=quick"]
        if not options.again:
            how += ["-m", "not full"]
        pytest.main([*how, *tests], plugins=[judge])


def _show_to_mypy(mutants: list[Any], results: _Results) -> None:
    from mutation.typed import what_mypy_says

    cache = results.path.with_name("mypy")
    for mutant in mutants:
        error = what_mypy_says(mutant, cache)
        if error:
            results.add(mutant, results.known[mutant.key] | {"verdict": "typed", "with": error})


def _print_table(records: list[dict[str, Any]]) -> None:
    heads = ("mutants", "killed", "time, memory", "by mypy", "alive", "%", "with mypy")
    print(f"{'module':40}", *(f"{each:>12}" for each in heads))
    for module in [*sorted({record["module"] for record in records}), ""]:
        _print_line(module or "all", Counter(r["verdict"] for r in records if not module or r["module"] == module))
    counts = Counter(record["verdict"] for record in records)
    print(f"Left out: {counts['same']} that compile to the same code, {counts['unapplied']} that could not be applied.")


def _print_line(name: str, counts: Counter[str]) -> None:
    killed = sum(counts[each] for each in _KILLED)
    alive, typed = sum(counts[each] for each in _ALIVE), counts["typed"]
    total = killed + typed + alive
    shares = (f"{100 * part / max(1, total):12.1f}" for part in (killed, killed + typed))
    numbers = (f"{each:12}" for each in (total, killed, killed - counts["killed"], typed, alive))
    print(f"{name:40}", *numbers, *shares)


if __name__ == "__main__":
    raise SystemExit(_main())
