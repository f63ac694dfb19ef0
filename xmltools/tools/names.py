"""Which tool the name in a call means (protocol, 2.8), and which it may have been meant for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase

from xmltools.tools.tool import Tool

_QUOTES = " \t\"'`"
_SEPARATOR = re.compile("::?|[./]")
_PREFIX = re.compile(r"(?:[A-Za-z_][\w-]*+(?:::?|[./]))++", re.ASCII)
_FOLDED = str.maketrans(ascii_uppercase + "-", ascii_lowercase + "_")
_LONG = 100
_MOST = 20
_LONGEST = 512
"""Characters of a name with its decoration. The name of a call has 256 (protocol, 2.1)."""


class ToolNames:
    """The names of some tools. `servers` has the servers of each: they are never folded, since a name that is like one
    may be another's."""

    def __init__(self, servers: Mapping[str, Collection[str]]) -> None:
        self._servers = servers
        self._alike: dict[str, list[str]] | None = None  # by what they are folded to, once that is needed

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> ToolNames:
        """Return the names of these tools."""
        servers: dict[str, list[str]] = {}
        for tool in tools:
            servers.setdefault(tool.name, []).append(tool.server)
        return cls(servers)

    def resolve(self, name: str, loose: str = "") -> str | None:
        """Return the name of the one tool that `name` means: itself; or one that is equal to it, or to what is left of
        it without quotes, `()` and a prefix, perhaps in another case or with `-` for `_`; or else what the group `name`
        has in it, if the pattern `loose` matches it. None if there is none, or more than one."""
        if name in self._servers:
            return name
        meant = self._meant(name)
        if not meant and loose and len(name) <= _LONGEST and (match := re.fullmatch(loose, name)):
            return self.resolve(match["name"])
        return meant[0] if len(meant) == 1 else None

    def near(self, name: str) -> list[str]:
        """Return the names of at most three tools for which an unknown name may have been meant, the nearest first."""
        if meant := self._meant(name[:_LONG]):
            return meant[:3]
        from difflib import get_close_matches  # only here: few calls name no tool

        folded, alike = self._parts(name[:_LONG])[-1][0].translate(_FOLDED), self._folded()
        return [each for near in get_close_matches(folded, alike, n=3, cutoff=0.5) for each in alike[near]][:3]

    def advice(self, name: str) -> str:
        """Return what to call instead of an unknown name: the near tools, or else all, in a sentence."""
        if near := self.near(name):
            return f"Did you mean {' or '.join(near)}?"
        names = list(self._servers)
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        return f"The tools are: {', '.join(names[:_MOST]) or 'none'}{more}."

    def _meant(self, name: str) -> list[str]:
        """Return the names that `name` may mean. What needs the least left out decides, and the exact name before one
        that is only like it."""
        alike = self._folded()
        for part, words in self._parts(name) if len(name) <= _LONGEST else ():
            if found := [part] if part in self._servers else alike.get(part.translate(_FOLDED)):
                return [each for each in found if self._may_be_on(each, words)]
        return []

    def _parts(self, name: str) -> list[tuple[str, list[str]]]:
        """Return the name, and what is left of it without its decoration, the longest first. Each comes with the words
        of the prefix in front of it."""
        bare = name.strip(_QUOTES).removesuffix("()").strip(_QUOTES)
        prefix = _PREFIX.match(bare)
        words = _SEPARATOR.finditer(bare, 0, prefix.end()) if prefix else ()
        return [
            (name, []),
            (bare, []),
            *((bare[word.end() :], _SEPARATOR.split(bare[: word.start()])) for word in words),
        ]

    def _may_be_on(self, name: str, words: list[str]) -> bool:
        """Return whether a tool may be meant with these words in front: a server among them must be its only one."""
        servers = {server for each in self._servers.values() for server in each}
        return all({word} == set(self._servers[name]) for word in servers.intersection(words))

    def _folded(self) -> dict[str, list[str]]:
        if self._alike is None:
            self._alike = {}
            for name in self._servers:
                self._alike.setdefault(name.translate(_FOLDED), []).append(name)
        return self._alike
