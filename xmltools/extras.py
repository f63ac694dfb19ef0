"""How to install what an optional part of xmltools needs, as this copy of xmltools was installed."""

from __future__ import annotations


def install_line(extra: str) -> str:
    """Return the command that installs an extra: from the checkout, the wheel or the index that xmltools came from.

    pip notes where a package came from, unless that was an index: https://packaging.python.org/specifications/direct-url.
    """
    # Only here: hardly anybody asks.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from shlex import quote
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        noted = distribution("xmltools").read_text("direct_url.json")
        source = json.loads(noted) if noted else {}
        url, is_editable = source.get("url", ""), source.get("dir_info", {}).get("editable", False)
        if came := source.get("vcs_info"):
            url = f"{came['vcs']}+{url}@{came['commit_id']}"
    except PackageNotFoundError:  # the code of a checkout, by its path
        root = Path(__file__).parents[1]
        url, is_editable = (root.as_uri(), True) if (root / "pyproject.toml").exists() else ("", False)
    except (ValueError, AttributeError, TypeError, KeyError):  # that is no such note
        url, is_editable = "", False
    if not url:
        return f"pip install 'xmltools[{extra}]'"
    if urlsplit(url).scheme != "file":
        return f"pip install {quote(f'xmltools[{extra}] @ {url}')}"
    path = url2pathname(urlsplit(url).path)
    return f"pip install {'-e ' * is_editable}{quote(f'{path}[{extra}]')}"
