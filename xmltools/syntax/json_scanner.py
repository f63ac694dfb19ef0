"""The tokens of JSON as models write it, read from a stream (protocol, section 6).

The scanner finds the end of an object however the text is cut, sees where a text goes wrong that is not JSON, and tells
a sink of each part. It also knows what models write where they do not know JSON well: Python literals, keys without
quotes, comments, and strings between delimiters. Whoever makes values of the parts decides what of this is a repair.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import is_cut_off, skip_space

codecs.lookup("utf-16-le")  # now: nothing is imported while a reply is read

# What may come next.
KEY: Final = 0  # a key, or the end of the object
FIRST: Final = 1  # a value, or the end of the list
VALUE: Final = 2
COLON: Final = 3
NEXT: Final = 4  # a comma, or an end
OVER: Final = 5  # nothing

_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_WORD = re.compile(r"[-+.0-9A-Za-z_]*+")
"""A number, or a word. Whether it is a value is seen when that is made."""
_BARE_KEY = re.compile(r"(?:[A-Za-z_$][\w$-]*+)?", re.ASCII)
_BARE_REST = re.compile(r"[\w$-]*+", re.ASCII)
_MARKED_KEY = re.compile(r"[^\r\n:={}\[\]<\"',]*+")
_AFTER_MARK: Final = ",}]):="
_LINE_END = re.compile(r"[\r\n]|<(?:/|\Z)")
_COMMENT_END = re.compile(r"\*(?:/|\Z)|<(?:/|\Z)")
KEPT: Final = 300
"""Characters that are kept of a name."""
_FIRST_KEYS: Final = 4
"""Keys that are kept of an object."""

# Strings. All patterns are possessive: no backtracking, so linear time.

_INSIDE: Final = {quote: re.compile(rf"[^\\{quote}]*+(?:\\.[^\\{quote}]*+)*+", re.DOTALL) for quote in "\"'"}
"""The inside of a string in these quotes, up to its end, or to a backslash with which the text ends."""
ESCAPES: Final = {quote: rf"(?:[\"{quote}\\/bfnrt]|u[0-9a-fA-F]{{4}})" for quote in "\"'"}
"""What follows a backslash in a string in these quotes."""
_ESCAPE: Final = {quote: late_pattern(rf"\\({escape})") for quote, escape in ESCAPES.items()}
_MEANT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LONG: Final = 256


def up_to(escape: str) -> re.Pattern[str]:
    """Return what matches the inside of a string up to the first backslash that begins an `escape`."""
    return late_pattern(rf"(?:[^\\]++|\\(?!{escape}).)*+", re.DOTALL)


_UP_TO_CUT = up_to(r"(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?\Z")
"""… that the end of the text cuts off, or that is the first half of a character."""


def end_of(pattern: re.Pattern[str], text: str, at: int = 0) -> int:
    """Return where the match of a pattern at this place ends; `at`, if there is none."""
    match = pattern.match(text, at)
    return match.end() if match else at


def decode_escapes(inside: str, quote: str) -> str:
    """Return what a part of the inside of a string in these quotes means. A backslash that begins no escape stays."""
    if len(inside) > _LONG:  # the same, if it is JSON without slips
        try:
            plain: str = json.loads(f'"{inside}"', strict=False)
            return plain
        except ValueError:
            pass
    value = _ESCAPE[quote].sub(_decoded, inside)
    return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _decoded(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _MEANT.get(escape, escape)


class JSONSink:
    """Is told of the parts of an object in their order, with their places in the text that is scanned. Does nothing.

    `tells`, which `begin` sets: the text of the value that has begun is wanted.
    """

    __slots__ = ("tells",)

    def __init__(self) -> None:
        self.tells = False

    def open(self, bracket: str, at: int, *, has_keys: bool) -> None:
        """An object, list or tuple begins."""

    def close(self, bracket: str, at: int) -> None:
        """What was opened last ends."""

    def sign(self, character: str, at: int) -> None:
        """A comma, a colon (or `=`), or the slash of a comment."""

    def key(self, key: str, quote: str, start: int, end: int) -> None:
        """A key has ended; a long one may be cut."""

    def begin(self, quote: str, at: int) -> None:
        """A value begins: a string with its quote (`<`: a delimiter), or, without one, a number or word."""

    def text(self, text: str) -> None:
        """More of the value, decoded."""

    def end(self, quote: str, start: int, end: int) -> None:
        """The value ends, before its quote. `start` is that of the text, unless it came in pieces."""


class JSONScanner:
    """Reads one JSON object, which starts at the first character given to `scan`.

    `done`: the closing brace was read; `error`: why the text is no JSON, at a token that begins at `place`; `too_deep`:
    it nests deeper than `depth`. `in_envelope`: the object would be whole if its own brace were in place of what is
    wrong. `stack` holds what closes all that is open, `expect` what may come next. Raw line breaks in strings and
    trailing commas are let through.

    `names` holds those of the `keys` that came at the top level, with their short strings, so that a call's name is
    known before its end; with `stops`, `scan` returns after each of these strings. `first_keys` are the first keys of
    the top level. `loose`: keys without quotes, and comments, are let through too. `is_call`: the text is the arguments
    of a call in Python, from its bracket on. `mark` is around strings in which nothing is escaped; keys have no quotes;
    `end`, which is not empty then, may follow such a string, if the last brace is missing.
    """

    __slots__ = (
        "_capture",
        "_colons",
        "_depth",
        "_end_mark",
        "_inside",
        "_is_call",
        "_key",
        "_keys",
        "_loose",
        "_mark",
        "_pending",
        "_quotes",
        "_stopped",
        "_stops",
        "done",
        "error",
        "expect",
        "first_keys",
        "in_envelope",
        "names",
        "place",
        "sink",
        "stack",
        "too_deep",
    )

    def __init__(
        self,
        depth: int,
        keys: tuple[str, ...] = (),
        *,
        sink: JSONSink | None = None,
        stops: bool = False,
        loose: bool = False,
        is_call: bool = False,
        mark: str = "",
        end: str = "",
    ) -> None:
        self._depth = depth
        self._keys = keys
        self.sink = sink or JSONSink()
        self._stops = stops
        self._loose = loose or mark != ""
        self._is_call = is_call
        self._mark = mark
        self._end_mark = end
        self._quotes = "\"'<" if mark else "\"'"
        # What follows a key at the top level, and below it.
        self._colons = ("=", ":") if is_call else (":=", ":=") if mark else (":", ":")
        self._inside = ""  # the string's quote, `0` in a number or word, `$` in a key without quotes, or `//`, `/*`
        self._pending = ""  # the beginning of an escape
        self._capture: list[str] | None = None
        self._key = ""
        self._stopped = False
        self.place = 0
        self.stack: list[str] = []
        self.expect: int = VALUE
        self.done = False
        self.error = ""
        self.in_envelope = False
        self.too_deep = False
        self.names: dict[str, str | None] = {}
        self.first_keys: list[str] = []

    def scan(self, text: str, at: int) -> int:
        """Read on from `at`; returns the place up to which was read (at an error: its place, or that after a bracket).
        What was not read must come again."""
        self._stopped = False
        while at < len(text) and not self.done and not self.error and not self._stopped:
            inside = self._inside
            if inside == "":
                at = skip_space(text, at)
                at = self._token(text, at) if at < len(text) else at
            elif inside == "<":
                at = self._marked(text, at)
            elif inside in self._quotes:
                at = self._string(text, at)
            elif inside in "0$":
                at = self._word(text, at)
            else:
                at = self._comment(text, at)
        return at

    def skip(self, text: str, at: int) -> int:
        """Return the place of what follows the object, after white space and comments; something does."""
        self.done, self.error = False, ""
        self.scan(text, at)
        return self.place

    def string_piece(self, chunk: str) -> str | None:
        """Read a chunk of the string that is open, if it does not end in it.

        Returns its text, decoded, which the sink is not told of; nothing, if it does not want it. None if there is no
        string, or if it may end in the chunk: nothing was read.
        """
        quote = self._inside
        if quote == "" or quote not in self._quotes:
            return None
        if quote in chunk and (quote == "<" or chunk.startswith(quote, self._end_inside(chunk, 0))):
            return None
        return self._take(chunk)

    @property
    def quote(self) -> str:
        """The quote of the string that is open, `<` between delimiters; empty if there is none."""
        return self._inside if self._inside in self._quotes else ""

    @property
    def is_clear(self) -> bool:
        """Whether the text of a chunk of the string that is open, without its quote and backslashes, is the chunk."""
        return self.sink.tells and not self._pending and self._capture is None

    def _token(self, text: str, at: int) -> int:
        character, expect = text[at], self.expect
        self.place = at
        if character in self._quotes and expect <= VALUE:
            if character != "<" or text.startswith(self._mark, at):
                self._begin(character, at)
                return at + (len(self._mark) if character == "<" else 1)
            if is_cut_off(text, at, self._mark):
                self._stopped = True  # it may go on
                return at
        elif character in _CLOSERS and FIRST <= expect <= VALUE:
            return self._open(character, at)
        elif character in "}])" and expect in (KEY, FIRST, NEXT):
            return self._close(character, at)
        elif expect in (COLON, NEXT) and character in ("," if expect == NEXT else self._colons[len(self.stack) > 1]):
            self.expect = self._first() if expect == NEXT else VALUE
            self.sink.sign(character, at)
            return at + 1
        elif FIRST <= expect <= VALUE and end_of(_WORD, text, at) > at:
            self._begin("0", at)
            return at
        elif self._loose and text.startswith(("//", "/*"), at):
            self._inside = text[at : at + 2]
            self.sink.sign("/", at)
            return at + 2
        elif self._loose and character == "/" and at + 1 == len(text):
            self._stopped = True  # what follows decides
            return at
        elif self._loose and expect == KEY and end_of(_MARKED_KEY if self._mark else _BARE_KEY, text, at) > at:
            self._begin("$", at)
            return at
        self.error = f"{character!r} is not allowed there"
        self.in_envelope = expect == NEXT and len(self.stack) == 1
        return at + (self._loose and character == "/")

    def _first(self) -> int:
        """What may come first in the innermost object or list, or after a comma in it."""
        return KEY if self.stack[-1] == "}" or (self._is_call and len(self.stack) == 1) else FIRST

    def _open(self, bracket: str, at: int) -> int:
        self.stack.append(_CLOSERS[bracket])
        self.expect = self._first()
        if len(self.stack) > self._depth:
            self.too_deep = True
            self.error = f"it nests more than {self._depth} deep"
        self.sink.open(bracket, at, has_keys=self.expect == KEY)
        return at + 1

    def _close(self, bracket: str, at: int) -> int:
        if self.stack[-1] != bracket:
            self.error = f"{bracket!r} closes nothing that is open"
            return at + 1
        self.sink.close(bracket, at)
        self.stack.pop()
        self._pass()
        return at + 1

    def _pass(self) -> None:
        """A value has ended."""
        self.done = not self.stack
        self.expect = OVER if self.done else NEXT

    def _begin(self, inside: str, at: int) -> None:
        """A key or a value begins."""
        self._inside = inside
        is_top, is_key = len(self.stack) == 1, self.expect == KEY
        is_named = is_top and inside != "0" and self._key in self._keys
        self._capture = [] if is_key or is_named else None
        if is_key:
            self.sink.tells = False
        else:
            self.sink.begin("" if inside == "0" else inside, at)

    def _end(self, at: int) -> None:
        """The key or value ends before `at`."""
        quote = self.quote
        self._inside = ""
        string = "".join(self._capture or ())
        if self.expect != KEY:
            self._pass()
            if self._capture is not None and len(string) < KEPT and self.names.get(self._key) is None:
                self.names[self._key] = string
                self._stopped = self._stops
            self.sink.end(quote, self.place, at)
            return
        self.expect = COLON
        string = self._key = string.strip() if self._mark else string
        if len(self.stack) == 1:
            if len(self.first_keys) < _FIRST_KEYS:
                self.first_keys.append(string)
            if string in self._keys:
                self.names.setdefault(string, None)
        self.sink.key(
            decode_escapes(string, quote) if quote in _ESCAPE and "\\" in string else string, quote, self.place, at
        )

    def _word(self, text: str, at: int) -> int:
        """Numbers and words, and keys without quotes, which any cut may split."""
        pattern = _WORD if self._inside == "0" else _MARKED_KEY if self._mark else _BARE_REST
        end = end_of(pattern, text, at)
        self._tell(text[at:end])
        if end < len(text):
            self._end(end)
        return end

    def _string(self, text: str, at: int) -> int:
        end = self._end_inside(text, at)
        if not text.startswith(self._inside, end):
            self._tell(text[at:])
            return len(text)
        self._tell(text[at:end], is_end=True)
        self._end(end)
        return end + 1

    def _end_inside(self, text: str, at: int) -> int:
        """Where the string ends in the text, or a backslash with which that ends."""
        return end_of(_INSIDE[self._inside], text, at + self._pending.endswith("\\"))

    def _tell(self, raw: str, *, is_end: bool = False) -> None:
        if piece := self._take(raw, is_end=is_end):
            self.sink.text(piece)

    def _take(self, raw: str, *, is_end: bool = False) -> str:
        """What more of a key or value means, if that is wanted. The beginning of an escape at its end waits."""
        if self._capture is not None and len(self._capture) < KEPT:
            self._capture.append(raw[:KEPT])
        pending = self._pending
        if not pending and ("\\" not in raw or self._inside not in _INSIDE):
            return raw if self.sink.tells else ""
        if not self.sink.tells:
            self._pending = "" if is_end else raw[self._end_inside(raw, 0) :]
            return ""
        raw = pending + raw
        is_cut = raw[-1:] == "\\" and not is_end
        if raw.count("\\") == raw.count("\\n") + is_cut:  # nearly all escapes are line breaks
            self._pending = "\\" if is_cut else ""
            return raw[: len(raw) - is_cut].replace("\\n", "\n")
        whole = len(raw) if is_end else end_of(_UP_TO_CUT, raw)
        self._pending = raw[whole:]
        return decode_escapes(raw[:whole], self._inside)

    def _marked(self, text: str, at: int) -> int:
        """In a string between marks: the mark ends it if what follows may follow a string."""
        mark, end = self._mark, self._end_mark
        place, after = text.find("<", at), -1
        while place >= 0 and not is_cut_off(text, place, mark):
            after = skip_space(text, place + len(mark)) if text.startswith(mark, place) else -1
            if after >= 0 and (end.startswith(text[after : after + len(end)]) or text[after] in _AFTER_MARK):
                break
            place = text.find("<", place + 1)
        stop = place if place >= 0 else len(text)
        self._tell(text[at:stop])
        if place < 0:
            return stop
        if is_cut_off(text, place, mark) or (is_cut_off(text, after, end) and not text.startswith(end, after)):
            self._stopped = True  # what follows decides
            return stop
        self._end(stop)
        return stop + len(mark)

    def _comment(self, text: str, at: int) -> int:
        found = (_LINE_END if self._inside == "//" else _COMMENT_END).search(text, at)
        if found is None:
            return len(text)
        if found[0] in ("<", "*"):
            self._stopped = True  # what follows decides
        elif found[0] == "</":
            self.error = "a comment with an end tag in it"
        else:
            self._inside = ""
            return found.end()
        return found.start()
