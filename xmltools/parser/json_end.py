"""Where a JSON object ends: a pushdown reader for streams (protocol, section 6).

Only the shape is read here, so that the object's closing brace is found however the text is cut, and a text that is
no JSON is seen where it goes wrong. Values are made later, from the whole text. A Python literal has the same shape,
but for strings in single quotes and for tuples, which are read here too.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.parser.json_deltas import JSONDeltas
from xmltools.syntax.markup import is_cut_off

_SPACE = re.compile("[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.0-9A-Za-z_]+")
_CLOSES: Final = {"}": "{", "]": "[", ")": "("}
_OPENS: Final = {opens: closes for closes, opens in _CLOSES.items()}
_ENDS: Final = {quote: re.compile(rf"(?:[^\\{quote}]++|\\.)*+{quote}", re.DOTALL) for quote in "\"'"}
"""Text up to the end of a string in these quotes."""
_INSIDE: Final = {quote: re.compile(rf"[^\\{quote}]*+(?:\\.[^\\{quote}]*+)*+", re.DOTALL) for quote in "\"'"}
"""The inside of a string in these quotes, up to its end, or to a backslash with which the text ends."""
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_BARE_REST = re.compile(r"[\w$-]*", re.ASCII)
_MARKED_KEY = re.compile(r"[^\r\n:={}\[\]<\"',]+")
_LINE_END = re.compile(r"[\r\n]|<(?:/|\Z)")
_COMMENT_END = re.compile(r"\*/|<(?:/|\Z)")
_NAME_LENGTH: Final = 300

_AFTER_MARK: Final = ",}]):="

# What may come next.
_VALUE: Final = 0
_FIRST: Final = 1  # a value, or the end of the list
_KEY: Final = 2  # a key, or the end of the object
_COLON: Final = 3
_NEXT: Final = 4  # a comma, or an end


_FIRST_KEYS: Final = 4
"""Keys that are kept of an object."""


class ObjectScanner:
    """Reads one JSON object, which starts at the first character given to `scan`.

    `done`: the closing brace was read; `error`: why the text is no JSON, `too_deep` that it nests deeper
    than `depth`. `in_envelope`: the object would be whole if its own brace were in place of what is wrong.
    Raw line breaks in strings and trailing commas are let through. `names` holds the short strings of the top level
    under one of the `keys`, so that a call's name is known before its end; `seen` holds those of the keys that
    came, `first_keys` are the first keys of the top level. `loose`: keys without quotes, and comments, are let
    through too. `is_call`: the text is the arguments of a call in Python, from its bracket on. `mark`: stands around
    strings in which nothing is escaped; keys have no quotes; `end` may follow such a string, if the last brace is
    missing. With `stops`, `scan` returns after each of these strings. `deltas`, if there is one, is told of all that
    is read. `escaped`: what was read ends in a backslash that escapes the next character.
    """

    __slots__ = (
        "_key_start",
        "_key_rest",
        "_capture",
        "_colons",
        "_comment",
        "_depth",
        "_end",
        "_expect",
        "_in_key",
        "_in_scalar",
        "_is_call",
        "_key",
        "_keys",
        "_loose",
        "_mark",
        "_quote",
        "_stack",
        "_stopped",
        "_stops",
        "deltas",
        "done",
        "escaped",
        "error",
        "first_keys",
        "in_envelope",
        "names",
        "seen",
        "too_deep",
    )

    def __init__(
        self,
        depth: int,
        keys: tuple[str, ...] = (),
        *,
        stops: bool = False,
        loose: bool = False,
        is_call: bool = False,
        mark: str = "",
        end: str = "",
    ) -> None:
        self._depth = depth
        self._end = end
        self._is_call = is_call
        self._mark = mark
        # What follows a key at the top level, and below it.
        self._colons = ("=", ":") if is_call else (":=", ":=") if mark else (":", ":")
        self._key_start = _MARKED_KEY if mark else _BARE_KEY
        self._key_rest = _MARKED_KEY if mark else _BARE_REST
        self._stops = stops
        self._loose = loose
        self._in_key = False  # in a key without quotes
        self._comment = ""  # how the comment goes on that has begun: a slash, or what is in front of its end
        self._stopped = False
        self.deltas: JSONDeltas | None = None
        self._keys = keys
        self._stack: list[str] = []
        self._expect = _VALUE
        self._quote = ""  # that ends the string
        self._in_scalar = False
        self.escaped = False
        self._capture: list[str] | None = None
        self._key = ""
        self.done = False
        self.error = ""
        self.in_envelope = False
        self.too_deep = False
        self.names: dict[str, str] = {}
        self.seen: set[str] = set()
        self.first_keys: list[str] = []

    def scan(self, text: str, at: int) -> int:
        """Read on from `at`; returns the place after what was read (at an error: its place)."""
        self._stopped = False
        while at < len(text) and not self.done and not self.error and not self._stopped:
            if self._quote:
                at = self._string(text, at)
            elif self._in_scalar:
                at = self._scalar(text, at)
            elif self._in_key:
                at = self._bare_key(text, at)
            elif self._comment:
                at = self._skip_comment(text, at)
            else:
                found = _SPACE.match(text, at)
                at = found.end() if found else at
                at = self._token(text, at) if at < len(text) else at
        return at

    @property
    def quote(self) -> str:
        """What ends the string of which nothing but that and a backslash matters next; empty if there is none."""
        if self.escaped or self._capture is not None or (self.deltas is not None and self.deltas.pending):
            return ""
        return self._quote

    @property
    def is_in_key(self) -> bool:
        """Whether a string is open that is a key, or where nobody asked for deltas: a word in it changes nothing."""
        return self._quote != "" and not self.escaped and (self._expect == _KEY or self.deltas is None)

    def ends_string(self, text: str) -> bool:
        """Return whether the string that is open ends in this text."""
        quote = self._quote
        if quote not in text:
            return False
        if "\\" not in text and not self.escaped:
            return True
        return _ENDS[quote].match(text, self.escaped) is not None

    @property
    def missing(self) -> str:
        """What closes all that is open."""
        return "".join(_OPENS[bracket] for bracket in reversed(self._stack))

    def _token(self, text: str, at: int) -> int:
        character = text[at]
        expect = self._expect
        if character == "<" and self._mark and expect <= _KEY:
            return self._open_marked(text, at)
        if character in "\"'" and expect <= _KEY:
            self._quote = character
            is_named = expect == _KEY and self.deltas is not None
            is_top = len(self._stack) == 1 and (expect == _KEY or self._keys != ())
            self._capture = [] if is_top or is_named else None
            if self.deltas is not None and expect != _KEY:
                self.deltas.begin(is_string=True)
        elif character in "{[(" and expect <= _FIRST:
            self._open(character)
        elif character in "}])" and expect != _VALUE and expect != _COLON:
            self._close(character)
        elif character == "," and expect == _NEXT:
            self._expect = _KEY if self._stack[-1] == "{" or (self._is_call and len(self._stack) == 1) else _FIRST
        elif expect == _COLON and character in self._colons[len(self._stack) > 1]:
            self._expect = _VALUE
        elif expect <= _FIRST and _SCALAR.match(character):
            self._in_scalar = True
            if self.deltas is not None:
                self.deltas.begin(is_string=False)
            return at
        elif self._loose and expect == _KEY and self._key_start.match(character):
            self._in_key = True
            self._capture = []
            return at
        elif self._loose and character == "/":
            self._comment = "/"
        else:
            self.error = f"{character!r} is not allowed there"
            self.in_envelope = expect == _NEXT and len(self._stack) == 1
            return at
        return at + 1

    def _open(self, bracket: str) -> None:
        if self._is_call and not self._stack:
            self._expect = _KEY
        else:
            self._expect = _KEY if bracket == "{" else _FIRST
        self._stack.append(bracket)
        if self.deltas is not None:
            self.deltas.open("{" if self._expect == _KEY else bracket)
        if len(self._stack) > self._depth:
            self.too_deep = True
            self.error = f"it nests more than {self._depth} deep"

    def _close(self, bracket: str) -> None:
        if self._stack[-1] != _CLOSES[bracket]:
            self.error = f"{bracket!r} closes nothing that is open"
            return
        self._stack.pop()
        if self.deltas is not None:
            self.deltas.close()
        self._expect = _NEXT
        self.done = not self._stack

    def _scalar(self, text: str, at: int) -> int:
        """Numbers and words, which any cut may split; whether it is one is seen when the value is made."""
        found = _SCALAR.match(text, at)
        start, at = at, found.end() if found else at
        if self.deltas is not None:
            self.deltas.text(text[start:at], "", is_end=False)
        if at < len(text):
            self._in_scalar = False
            self._expect = _NEXT
        return at

    def _bare_key(self, text: str, at: int) -> int:
        found = self._key_rest.match(text, at)
        end = found.end() if found else at
        self._keep(text, at, end)
        if end < len(text):
            self._in_key = False
            self._end_string()
        return end

    def _skip_comment(self, text: str, at: int) -> int:
        """In a comment, `// …` or `/* … */`, after its first slash."""
        if self._comment == "/":
            self._comment = {"/": "//", "*": "/*"}.get(text[at], "")
            if not self._comment:
                self.error = "'/' is not allowed there"
                return at
            return at + 1
        if self._comment == "*" and text[at] == "/":
            self._comment = ""
            return at + 1
        found = (_LINE_END if self._comment == "//" else _COMMENT_END).search(text, at)
        if found is None:
            if self._comment != "//":
                self._comment = "*" if text.endswith("*") else "/*"
            return len(text)
        if found[0] == "<":
            self._stopped = True  # whether it begins an end tag is not known
            return found.start()
        if found[0] == "</":
            self.error = "a comment with an end tag in it"
            return found.start()
        self._comment = ""
        return found.end()

    def _string(self, text: str, at: int) -> int:
        if self._quote == "<":
            return self._marked(text, at)
        start = at
        if self.escaped:
            self.escaped = False
            at += 1
        found = _INSIDE[self._quote].match(text, at)
        end = found.end() if found else at
        quote = end if text.startswith(self._quote, end) else -1
        if quote < 0:
            self.escaped = end < len(text)  # by the backslash that is left
            end = len(text)
        self._keep(text, start, end)
        if self.deltas is not None and self._expect != _KEY:
            self.deltas.text(text[start:end], self._quote, is_end=quote >= 0)
        if quote < 0:
            return len(text)
        self._end_string()
        self._quote = ""
        return quote + 1

    def _open_marked(self, text: str, at: int) -> int:
        """At a `<`, which may begin the mark in front of a string."""
        mark = self._mark
        if text.startswith(mark, at):
            self._quote = "<"
            self._capture = [] if self._expect == _KEY else None
            if self.deltas is not None and self._expect != _KEY:
                self.deltas.begin(is_string=True)
            return at + len(mark)
        if is_cut_off(text, at, mark):
            self._stopped = True  # it may go on
        else:
            self.error = "'<' is not allowed there"
        return at

    def _marked(self, text: str, at: int) -> int:
        """In a string between marks: the mark ends it if what follows may follow a string."""
        mark = self._mark
        end = text.find("<", at)
        while end >= 0:
            if text.startswith(mark, end):
                after = end + len(mark)
                found = _SPACE.match(text, after)
                after = found.end() if found else after
                follows = text[after : after + 1]
                is_end = bool(self._end) and self._end.startswith(text[after : after + len(self._end)])
                if not follows or follows in _AFTER_MARK or is_end:
                    break
                end = text.find("<", end + len(mark))
            elif is_cut_off(text, end, mark):
                break
            else:
                end = text.find("<", end + 1)
        stop = end if end >= 0 else len(text)
        self._keep(text, at, stop)
        if self.deltas is not None and self._expect != _KEY:
            self.deltas.text(text[at:stop], "", is_end=False)
        if end < 0:
            return stop
        after = end + len(mark)
        space = _SPACE.match(text, after)
        here = space.end() if space else after
        if here == len(text) or (is_cut_off(text, here, self._end) and len(text) - here < len(self._end)):
            self._stopped = True  # what follows decides
            return stop
        self._end_string()
        self._quote = ""
        return after

    def _keep(self, text: str, start: int, end: int) -> None:
        if self._capture is not None and len(self._capture) < _NAME_LENGTH:
            self._capture.append(text[start : min(end, start + _NAME_LENGTH)])

    def _end_string(self) -> None:
        string = "" if self._capture is None else "".join(self._capture)
        if self._mark:
            string = string.strip()
        if self._expect == _KEY:
            self._expect = _COLON
            self._key = string
            if len(self._stack) == 1:
                if len(self.first_keys) < _FIRST_KEYS:
                    self.first_keys.append(string)
                if string in self._keys:
                    self.seen.add(string)
            if self.deltas is not None:
                self.deltas.key(string if len(string) < _NAME_LENGTH else None, self._quote)
            self._capture = None
            return
        self._expect = _NEXT
        if self._key in self._keys and self._capture is not None and len(string) < _NAME_LENGTH:
            self.names.setdefault(self._key, string)
            self._stopped = self._stops
        self._capture = None
