"""The line that says how to install an extra works as xmltools was installed."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import xmltools
from xmltools.extras import install_line

ROOT = Path(xmltools.__file__).parents[1]
WHEEL = {"url": "file:///tmp/my%20wheels/xmltools-0.1.0-py3-none-any.whl", "archive_info": {}}


class Noted:
    """An installed package, and where pip says that it came from."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.source is None else json.dumps(self.source)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (None, "pip install 'xmltools[serve]'"),
        (WHEEL, "pip install '/tmp/my wheels/xmltools-0.1.0-py3-none-any.whl[serve]'"),
        ({"url": "file:///src/xmltools", "dir_info": {"editable": True}}, "pip install -e '/src/xmltools[serve]'"),
        ({"url": "file:///src/xmltools", "dir_info": {}}, "pip install '/src/xmltools[serve]'"),
        ({"url": "https://x.org/a.whl", "archive_info": {}}, "pip install 'xmltools[serve] @ https://x.org/a.whl'"),
        (
            {"url": "https://x.org/a", "vcs_info": {"vcs": "git", "commit_id": "0a1"}},
            "pip install 'xmltools[serve] @ git+https://x.org/a@0a1'",
        ),
        ("not what pip writes", "pip install 'xmltools[serve]'"),
    ],
)
def test_the_line_fits_where_xmltools_came_from(source: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Noted(source))
    assert install_line("serve") == line


def test_code_that_was_never_installed_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Noted:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert install_line("batch") == f"pip install -e '{ROOT}[batch]'"


def test_no_module_has_an_install_line_of_its_own() -> None:
    own = [path for path in ROOT.glob("xmltools/**/*.py") if path.name != "extras.py"]
    assert [path for path in own if re.search(r"pip install .?xmltools\[", path.read_text(encoding="utf-8"))] == []
