"""What clients send back of earlier turns, in forms that they should not: the model sees what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.test_system_messages import PATHS, asked, result, user
from xmltools import dialects
from xmltools.bridge import Settings
from xmltools.proxy.bridge import Exchange
from xmltools.proxy.bridge.settings import can_be_written

OURS, THEIRS = Settings(), Settings(dialect="hermes", prompt="upstream")


# Results without their calls


@pytest.mark.parametrize("dialect", [each.name for each in dialects.all() if can_be_written(each.name)])
@pytest.mark.parametrize("api", PATHS)
def test_no_dialect_refuses_it(api: Any, dialect: str) -> None:
    sent = Exchange(api, asked(api, [user("Go."), result(api)]), Settings(dialect=dialect)).request["messages"]
    assert "written" in sent[-1]["content"]


# Images that are written as text
