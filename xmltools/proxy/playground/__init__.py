"""The playground: a page that shows what the parser makes of a text, and one that shows what passes through a proxy.

`analyse` and `LiveHub` need no library; `routes` puts them, and the pages in `static`, into a Starlette application.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.proxy.playground.live import LiveExchange, LiveHub

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

__all__ = ["LiveExchange", "LiveHub", "routes"]


def routes(live: LiveHub | None = None, *, hosts: Iterable[str] = ()) -> list[BaseRoute]:
    """Return the routes of `/playground` and `/live` for a Starlette application.

    Takes the hub that the live view shows (None: `/live` answers 404 and says how to turn it on), and the host names,
    beside `localhost` and IP addresses, under which the live view may be read. Raises XMLToolsError if Starlette is
    not installed.
    """
    try:
        from xmltools.proxy.playground.web import make_routes
    except ModuleNotFoundError as error:
        raise XMLToolsError(f"the playground needs the package {error.name}: {install_line('serve')}") from None
    return make_routes(live, hosts)
