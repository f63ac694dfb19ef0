"""What `detect` is given in place of a list of texts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from xmltools import XMLToolsError
from xmltools.parser import detect


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("<tool_call>", "detect: expected a list of texts, as [text], got one str"),
        (b"<tool_call>", "detect: expected a list of texts, as [text], got one bytes"),
        (None, "detect: expected a list of texts, as [text], got NoneType"),
        ([b"<tool_call>"], "detect: expected a list of texts, got bytes in it"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts: Any, said: str) -> None:
    with pytest.raises(XMLToolsError, match=re.escape(said)):
        detect(texts)
