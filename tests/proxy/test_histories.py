"""What clients send back of earlier turns, in forms that they should not: the model sees what was meant."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from proxy.test_system_messages import PATHS, asked, call, result, user
from xmltools import dialects
from xmltools.bridge import Settings
from xmltools.proxy.bridge import Exchange
from xmltools.proxy.bridge.settings import can_be_written

OURS, THEIRS = Settings(), Settings(dialect="hermes", prompt="upstream")
BOTH = pytest.mark.parametrize(("api", "settings"), list(product(PATHS, (OURS, THEIRS))))


def with_arguments(api: str, text: str) -> dict[str, Any]:
    made = call(api)
    if api == "responses":
        return {**made, "arguments": text}
    if api == "messages":
        return {**made, "content": [{**made["content"][0], "input": text}]}
    made["tool_calls"][0]["function"]["arguments"] = text
    return made


GIVEN = {"path": "it's a.py", "more": [None, True]}


@pytest.mark.parametrize(
    "text",
    [
        str(GIVEN),
        json.dumps(json.dumps(GIVEN)),
        json.dumps(str(GIVEN)),
        '{path: "it\'s a.py", more: [null, true],}',
    ],
)
@BOTH
def test_arguments_are_read_as_in_replies(api: Any, settings: Settings, text: str) -> None:
    history = [user("Go."), with_arguments(api, text), result(api)]
    exchange = Exchange(api, asked(api, history), settings)
    *_, said, _ = exchange.request["messages"]
    if settings is THEIRS:
        assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == GIVEN
    else:
        assert "it's a.py" in said["content"]
    assert exchange.stats.bad_arguments == 0


@pytest.mark.parametrize("text", ["{not JSON", "[1]", '"path"', '"{not JSON"', '""', json.dumps(json.dumps("{}"))])
@pytest.mark.parametrize("api", PATHS)
def test_what_is_no_object_is_counted(api: Any, text: str) -> None:
    exchange = Exchange(api, asked(api, [user("Go."), with_arguments(api, text), result(api)]))
    assert exchange.stats.bad_arguments == 1


def test_the_upstream_gets_them(open_client: Any) -> None:
    client, upstream = open_client("Hi")
    client.chat.completions.create(**asked("chat", [user("Go."), with_arguments("chat", str(GIVEN)), result("chat")]))
    assert "it's a.py" in upstream.seen[0].json["messages"][2]["content"]


# Results without their calls


@pytest.mark.parametrize("is_last", [True, False])
@BOTH
def test_a_result_without_its_call_is_told(api: Any, settings: Settings, is_last: bool) -> None:
    history = [user("Go."), result(api), *([] if is_last else [user("And?")])]
    sent = Exchange(api, asked(api, history), settings).request["messages"]
    assert sent[-1]["role"] == "user" and not any(each["role"] == "tool" for each in sent)
    told = "Result of the tool unknown, whose call is not shown:\n\nwritten"
    said = told if settings is THEIRS else "Tool: unknown\nResult: written"
    assert sent[-1]["content"] == "\n\n".join(["Go.", said, *([] if is_last else ["And?"])])


@BOTH
def test_it_stands_behind_the_results_of_calls(api: Any, settings: Settings) -> None:
    other = json.loads(json.dumps(result(api)).replace("c1", "c9").replace("written", "lost"))
    history = [user("Go."), call(api), other, result(api)]
    sent = Exchange(api, asked(api, history), settings).request["messages"]
    said = "\n".join(str(each["content"]) for each in sent[-2:])
    assert said.index("written") < said.index("lost")
    if settings is THEIRS:
        assert [each["role"] for each in sent[-3:]] == ["assistant", "tool", "user"]


def test_the_name_that_a_client_tells_is_told() -> None:
    body = asked("chat", [user("Go."), {**result("chat"), "name": "write"}])
    assert "Tool: write\nResult: written" in Exchange("chat", body).request["messages"][-1]["content"]
    assert "the tool write, whose" in Exchange("chat", body, THEIRS).request["messages"][-1]["content"]


@pytest.mark.parametrize("dialect", [each.name for each in dialects.all() if can_be_written(each.name)])
@pytest.mark.parametrize("api", PATHS)
def test_no_dialect_refuses_it(api: Any, dialect: str) -> None:
    sent = Exchange(api, asked(api, [user("Go."), result(api)]), Settings(dialect=dialect)).request["messages"]
    assert "written" in sent[-1]["content"]


# Images that are written as text


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
PARTS = [{"type": "input_text", "text": "it's"}, IMAGE]


def output_of(text: Any) -> list[Any]:
    return [user("Go."), call("responses"), {**result("responses"), "output": text}]


@pytest.mark.parametrize(
    ("text", "parts"), [(json.dumps(PARTS), PARTS), (str(PARTS), PARTS), (json.dumps([IMAGE]), [IMAGE])]
)
@pytest.mark.parametrize("settings", [OURS, THEIRS])
def test_a_list_of_images_that_is_text_is_images(settings: Settings, text: str, parts: Any) -> None:
    as_list = Exchange("responses", asked("responses", output_of(parts)), settings)
    as_text = Exchange("responses", asked("responses", output_of(text)), settings)
    assert as_text.request == as_list.request
    assert "image_url" in json.dumps(as_text.request["messages"])


@pytest.mark.parametrize(
    "text",
    [
        '[{"type": "input_text", "text": "a"}]',
        '[{"type": "input_image", "file_id": "f"}]',
        '[{"type": "input_image"',
        '["input_image"]',
        '{"type": "input_image", "image_url": "x"}',
        '[7, "input_image"]',
        "[" * 500 + '"input_image"',
    ],
)
def test_other_text_stays_text(text: str) -> None:
    sent = Exchange("responses", asked("responses", output_of(text)), THEIRS).request["messages"][-1]
    assert (sent["role"], sent["content"]) == ("tool", text)
