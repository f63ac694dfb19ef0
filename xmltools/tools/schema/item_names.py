"""Names of list items: the singular of a name, for the regular English plurals."""

from __future__ import annotations

import re
from functools import lru_cache

ITEM = "item"
"""The name of a list item that no singular names."""

# What -es hides cannot be seen from the letters alone (boxes/box, sizes/size), so both readings are
# accepted; these endings and words say which of them we write.
_DROPS_ES = ("sses", "xes", "shes", "ches")
_KEEPS_E = ("caches", "cookies", "movies")
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@lru_cache(maxsize=1024)
def singular_of(name: str) -> tuple[str, ...]:
    """Return what one of `name` may be called, the likeliest first; nothing if `name` is no regular plural.

    >>> singular_of("files"), singular_of("entries"), singular_of("boxes"), singular_of("news_item")
    (('file',), ('entry', 'entrie'), ('box', 'boxe'), ())
    """
    if len(name) < 3 or not name.endswith("s") or name.endswith("ss"):
        return ()
    plain = name[:-1]
    if name.endswith(_KEEPS_E):
        return (plain,)
    if name.endswith("ies"):
        return (plain, name[:-3] + "y") if len(name) < 5 else (name[:-3] + "y", plain)
    if name.endswith(_DROPS_ES):
        return (name[:-2], plain)
    if name.endswith(("ses", "zes", "oes")):
        return (plain, name[:-2])
    return (plain,)


def item_name(name: str) -> str:
    """Return the tag that we write for the items of the list `name`: its singular, or "item"."""
    singular = singular_of(name)
    return singular[0] if singular and _XML_NAME.fullmatch(singular[0]) else ITEM
