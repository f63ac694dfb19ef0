"""The protocol document and the code name the same codes. `make generated` writes the table."""

from pathlib import Path

from xmltools import Code

PROTOCOL = Path(__file__).parents[2] / "grammars" / "PROTOCOL.md"
HEADING = "## 12. Codes\n"


def table() -> str:
    lines = ["\nThe hint is the sentence to send to the model; for errors a call's own error often says more.\n"]
    kinds = {"error": [], "repair": [], "notice": []}
    for code in Code:
        kinds["error" if code.is_error else "notice" if code.is_notice else "repair"].append(code)
    for title, codes in kinds.items():
        lines += [f"\n| {title} | hint |\n|---|---|\n"]
        lines += [f"| `{code.value}` | {code.hint} |\n" for code in codes]
    return "".join(lines)


def test_the_protocol_lists_every_code_with_its_hint() -> None:
    _, found, tail = PROTOCOL.read_text(encoding="utf-8").partition(HEADING)
    assert found and tail == table(), "run `make generated` and look at the change"


def test_every_code_is_explained_in_the_rules() -> None:
    rules = PROTOCOL.read_text(encoding="utf-8").partition(HEADING)[0]
    assert [code.value for code in Code if f"`{code.value}`" not in rules] == []


def test_hints_are_sentences_for_a_model() -> None:
    for code in Code:
        assert code.hint[0].isupper() and code.hint.endswith((".", ">.")), code
        assert len(code.hint) < 200, code


if __name__ == "__main__":
    head = PROTOCOL.read_text(encoding="utf-8").partition(HEADING)[0]
    PROTOCOL.write_text(head + HEADING + table(), encoding="utf-8")
