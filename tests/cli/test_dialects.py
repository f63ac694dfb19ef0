"""`xmltools dialects`, and the options `--dialect` and `--model` of commands that read replies."""

from __future__ import annotations

import json

import pytest

from xmltools import dialects

GLM = "Hi\n<tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>"


def test_all_are_listed_with_an_example(run):
    status, out, _ = run("dialects")
    assert status == 0
    assert all(f"{each.name} " in out and each.example in out for each in dialects.all())


def test_an_example_is_detected_as_what_it_is(run, file):
    for each in dialects.all():
        status, out, _ = run("dialects", "detect", file("reply.txt", each.example))
        assert status == 0 and out.split()[:2] == [each.name, "1"]


def test_what_is_skipped_is_an_event(run, file):
    _, out, _ = run("parse", file("reply.txt", GLM), "--dialect", "glm", "--events")
    assert {"type": "skipped", "span": [2, 3]} in map(json.loads, out.splitlines())


def test_what_has_no_call_is_in_none(run, file):
    assert run("dialects", "detect", file("reply.txt", "Just words."))[0] == 1


def test_detect_needs_files(run):
    status, _, error = run("dialects", "detect")
    assert status == 2 and "reply.txt" in error


@pytest.mark.parametrize("words", [("--dialect", "glm"), ("--model", "zai-org/GLM-4.7")])
def test_a_reply_is_read_in_its_dialect(run, file, words):
    status, out, _ = run("parse", file("reply.txt", GLM), *words)
    text, call = map(json.loads, out.splitlines())
    assert status == 0 and text["text"] == "Hi"
    assert call["name"] == "get" and call["arguments"] == {"n": "1"}


@pytest.mark.parametrize("words", [("--dialect", "glmm"), ("--model", "acme/unknown-1")])
def test_an_unknown_name_is_an_error_that_lists_some(run, file, words):
    status, _, error = run("parse", file("reply.txt", GLM), *words)
    assert status == 1 and "glm" in error and words[1] in error


def test_a_case_may_name_a_model_and_its_prompt(run):
    case = {
        "id": "a",
        "chunks": ["Look.</think>", GLM[3:]],
        "tools": None,
        "options": {"model": "zai-org/GLM-4.7", "generation_prompt": "<|assistant|><think>"},
    }
    status, out, _ = run("conformance", stdin=json.dumps(case) + "\n")
    answer = json.loads(out)
    assert status == 0 and answer["reasoning"] == "Look." and answer["calls"][0]["arguments"] == {"n": "1"}
