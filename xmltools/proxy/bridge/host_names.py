"""Under which name a request came: a web page can point its own name at this machine, but not these."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit


def name_of(url: str) -> str:
    """Return the name of the host in a URL, in small letters, without a port; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_known_host(host: str, allowed: Collection[str]) -> bool:
    """Return whether the header Host has a name that leads to no other machine: localhost, an address, or one of those
    that were allowed."""
    name = name_of(f"//{host}") if "/" not in host else ""
    if not name:
        return False
    return name in allowed or name == "localhost" or name.endswith(".localhost") or _is_address(name)


def _is_address(name: str) -> bool:
    # No foreign name server can make an address mean another machine.
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
