"""The tokens of JSON as models write it, read from a stream (protocol, section 6).

The scanner finds the end of an object however the text is cut, and sees where a text that is not JSON goes wrong. A
subclass makes of the parts what it needs: values, deltas. The scanner also knows what models write where they do not
know JSON well: Python literals, keys without quotes, comments, and strings between delimiters. Which of these is a
repair, the subclass that makes values decides.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NO, Answer, is_cut_off, read_mark, skip_space

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
_LINE_END = re.compile(r"[\r\n]|<(?:/|\Z)")
_COMMENT_END = re.compile(r"\*(?:/|\Z)|<(?:/|\Z)")
_KEPT: Final = 300
"""Characters that are kept of a name."""
_MOST_NAMES: Final = 100

# Strings. All patterns are possessive: no backtracking, so linear time.

_STRINGS: Final = {
    f"{prefix}{quote * size}": re.compile(rf"(?:[^\\{quote}]++|\\.{inner})*+", re.DOTALL)
    for quote in "\"'"
    for size, inner in ((1, ""), (3, f"|{quote}(?!{quote}?\\Z|{quote}{{2}})"))
    for prefix in ("", "u", "r")
}
_STRINGS["<"] = re.compile("[^<]*+")
"""The inside of a string that begins so, up to its end or a part of that, or to a backslash with which the text
ends. With an `r` nothing in it is escaped."""
_OPENING: Final = late_pattern(r"""([rRuU]?(?:"{1,2}|'{1,2})?+\Z)|[rRuU]?(?:"{3}|'{3}|["'])""")
"""What a string begins with; in a group, if the text ends in it."""
SET: Final = "}}"
"""Closes a set, in `stack`."""
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
            clean: str = json.loads(f'"{inside}"', strict=False)
            return clean
        except ValueError:
            pass
    value = _ESCAPE[quote].sub(_decoded, inside)
    return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _decoded(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _MEANT.get(escape, escape)


class JSONScanner:
    """Reads one JSON object, which starts at the first character given to `scan`.

    `done`: the closing brace was read; `error`: why the text is not JSON, at a token that begins at `place`;
    `too_deep`: it nests deeper than `depth`. `in_envelope`: the object would be whole if its own brace were in place of
    what is wrong. `stack` holds what closes all that is open, `expect` what may come next.
    Raw line breaks in strings and trailing commas are let through.

    `key` is the last key that was read, decoded; None if it is too long for a name. If it `has_names`, `names` holds
    the keys of the top level, with their strings if these are short, so that the name of a call is known before its
    end. `loose`: keys without quotes, flags (`--key value`), and comments, are let through. `is_call`: the text is the
    arguments of a call in Python, from its bracket on. With `marks`, strings in which nothing is escaped are between
    the first of them, and keys have no quotes. The other two are around examples of calls in a string. `before`: the
    character before a text that begins in such a string. The `opener` of another call is an error outside of strings.

    A subclass hears of each part when it is read, at `place` in the text that is scanned (see the methods `on_...`).
    """

    def __init__(
        self,
        depth: int,
        *,
        has_names: bool = False,
        loose: bool = False,
        is_call: bool = False,
        marks: tuple[str, ...] = (),
    ) -> None:
        self._depth = depth
        self.opener = ""
        self._has_names = has_names
        self._loose = loose
        self._is_call = is_call
        self.marks = marks
        self._mark = mark = marks[0] if marks else ""
        self._examples = 0  # that are open in the string between marks
        self.before = ""
        # What follows a key at the top level, and below it.
        self._colons = ("=", ":") if is_call else (":=", ":=") if mark else (":", ":")
        self._inside = ""  # the string's quote, `0` in a number or word, `$` in a key without quotes, or `//`, `/*`
        self._pending = ""  # the beginning of an escape
        self._last = ""  # the quote of the string that was read last, if nothing has come since
        self._is_apart = False  # white space came since
        self._is_flag = False  # the key is `--key`, with its value behind a blank
        self._captured: str | None = None  # a key, or the string of a name, while it is short
        self.tells = False  # the text of the string, number or word is wanted
        self.stopped = False
        self.place = 0
        self.key: str | None = ""
        self.stack: list[str] = []
        self.expect: int = VALUE
        self.done = False
        self.error = ""
        self.in_envelope = False
        self.too_deep = False
        self.names: dict[str, str | None] = {}

    def on_open(self) -> None:
        """An object, list or tuple has begun; keys are expected in an object."""

    def on_close(self) -> None:
        """What was opened last ends."""

    def on_sign(self, character: str) -> None:
        """A comma, a colon (or `=`), the slash of a comment, or the bracket of an object that is a set: if a key was
        read, that is an item."""

    def on_name(self) -> None:
        """One of the `names` has a short string."""

    def on_value(self) -> bool:
        """A string, number or word begins. Returns whether its text is wanted."""
        return False

    def on_text(self, text: str) -> None:
        """More of the value, decoded."""

    def on_end(self, end: int) -> None:
        """The key or value ends, before its quote."""

    def scan(self, text: str, at: int) -> int:
        """Read on from `at`; returns the place up to which was read, at an error the place of that. What was not read
        must come again."""
        self.stopped = False
        while at < len(text) and not self.done and not self.error and not self.stopped:
            inside = self._inside
            if inside == "":
                start, at = at, skip_space(text, at)
                self._is_apart |= at > start
                at = self._token(text, at) if at < len(text) else at
            elif inside == "<":
                at = self._marked(text, at)
            elif inside in _STRINGS:
                at = self._string(text, at)
            elif inside in "0$":
                at = self._word(text, at)
            else:
                at = self._comment(text, at)
        return at

    def string_piece(self, chunk: str) -> str | None:
        """Read a chunk of the string that is open, if it does not end in it.

        Returns its text, decoded, of which `on_text` is not told; nothing, if it is not wanted. None if it may end in
        the chunk: nothing was read.
        """
        if end_of(_STRINGS[self._inside], chunk) < len(chunk):
            return None
        return self._take(chunk)

    @property
    def quote(self) -> str:
        """The quote of the string that is open, `<` between delimiters; empty if there is none."""
        return self._inside[-1:] if self._inside in _STRINGS else ""

    @property
    def is_escaped(self) -> bool:
        """Whether a backslash begins an escape in the string that is open."""
        return self.quote in _ESCAPE and self._inside[0] != "r"

    @property
    def is_clear(self) -> bool:
        """Whether the text of a chunk of the string that is open, without its quote and backslashes, is the chunk."""
        return self.tells and not self._pending

    def _token(self, text: str, at: int) -> int:
        character, mark = text[at], self._mark
        if self._is_flag and self.expect == COLON:
            self.expect = COLON if character == ":" else VALUE
            self._is_flag = False
        self.place, expect = at, self.expect
        if self.opener and (met := read_mark(text, at, (self.opener,))) is not NO:
            self.stopped = met is MORE
            self.error = "another call begins there" if met else ""
            return at
        # Two strings in JSON's quotes may lack a comma, or be one with quotes in it.
        goes_on = expect == NEXT and self._is_apart and self._last and (self._is_call or "'" in self._last + character)
        if (expect <= VALUE or goes_on) and (opening := _OPENING.match(text, at)):
            self.stopped = opening.lastindex is not None  # what follows decides
            return at if self.stopped else self._begin(opening[0].lower(), opening.end())
        if expect <= VALUE and mark and text.startswith(mark, at):
            return self._begin("<", at + len(mark))
        if character in _CLOSERS and FIRST <= expect <= VALUE:
            return self._open(character, at)
        if character in "}])" and expect in (KEY, FIRST, NEXT):
            return self._close(character, at)
        if character in ("," if expect == NEXT else self._colons[len(self.stack) > 1] if expect == COLON else ""):
            self.expect = VALUE if expect == COLON else KEY if self.has_keys else FIRST
            self.on_sign(character)
            return at + 1
        if FIRST <= expect <= VALUE and end_of(_WORD, text, at) > at:
            return self._begin("0", at)
        if self._loose and text.startswith(("//", "/*"), at):
            self._inside = text[at : at + 2]
            self.on_sign("/")
            return at + 2
        may_be_flag = self._loose and expect in (KEY, NEXT) and self.stack[-1] == "}" and not mark
        begun = "//" * self._loose, "--a" * may_be_flag, mark * (expect <= VALUE)
        if any(is_cut_off(text, at, each) for each in begun):
            self.stopped = True  # what follows decides
            return at
        if may_be_flag and text.startswith("--", at) and end_of(_BARE_KEY, text, at + 2) > at + 2:
            self.expect, self.place, self._is_flag = KEY, at + 2, True
            return self._begin("$", at + 2)
        if self._loose and expect == KEY and end_of(_MARKED_KEY if mark else _BARE_KEY, text, at) > at:
            return self._begin("$", at)
        is_item = (
            character in "+-.(0123456789" if expect == KEY else expect == COLON and self._last and character in ",}"
        )
        if is_item and self.stack[-1] == "}":
            self.stack[-1] = SET
            self.expect = FIRST if expect == KEY else NEXT
            self.on_sign("{")
            return at
        self.error = f"{character!r} is not allowed there"
        self.in_envelope = expect == NEXT and len(self.stack) == 1
        return at + (self._loose and character == "/")  # what is wrong is that no comment begins

    @property
    def has_keys(self) -> bool:
        """Whether what was opened last is an object, or the arguments of a call."""
        return self.stack[-1] == "}" or (self._is_call and len(self.stack) == 1)

    def _open(self, bracket: str, at: int) -> int:
        self.stack.append(_CLOSERS[bracket])
        self.expect = KEY if self.has_keys else FIRST
        self.on_open()
        if len(self.stack) > self._depth:
            self.too_deep = True
            self.error = f"it nests more than {self._depth} deep"
            return at
        return at + 1

    def _close(self, bracket: str, at: int) -> int:
        if self.stack[-1][0] != bracket:
            self.error = f"{bracket!r} closes nothing that is open"
            return at
        self.on_close()
        self.stack.pop()
        self.done = not self.stack
        self.expect = NEXT
        self._last = ""
        return at + 1

    def _begin(self, inside: str, at: int) -> int:
        """A key or a value begins, whose text is at `at`."""
        self._inside = inside
        if self.expect == NEXT:  # it goes on with a string
            return at
        is_key = self.expect == KEY
        is_named = len(self.stack) == 1 and inside != "0" and self.key in self.names
        self._captured = "" if is_key or is_named else None
        self.tells = not is_key and self.on_value()
        return at

    def _end(self, end: int) -> None:
        """The key or value ends."""
        captured, key = self._captured, self.key
        self.on_end(end)
        if self.expect == KEY:
            self.expect = COLON
            key = captured.strip() if captured and self._mark else captured
            if key is not None and self._has_names and len(self.stack) == 1 and len(self.names) < _MOST_NAMES:
                self.names.setdefault(key, None)
            self.key = decode_escapes(key, self.quote) if key and self.is_escaped else key
        else:
            self.done = not self.stack
            self.expect = NEXT
            if captured is not None and key is not None and self.names[key] is None:
                self.names[key] = captured
                self.on_name()
        self._last = self.quote
        self._is_apart = False
        self._inside = self.before = ""

    def _word(self, text: str, at: int) -> int:
        """Numbers and words, and keys without quotes, which any cut may split."""
        end = end_of(_WORD if self._inside == "0" else _MARKED_KEY if self._mark else _BARE_REST, text, at)
        self._tell(text[at:end])
        if end < len(text):
            self._end(end)
        return end

    def _string(self, text: str, at: int) -> int:
        end = end_of(_STRINGS[self._inside], text, at)
        quotes = self._inside.lstrip("ur")
        is_end = text.startswith(quotes, end)
        self._tell(text[at:end], is_end=is_end)
        if not is_end:
            self.stopped = end < len(text)  # what follows decides
            return end
        self._end(end)
        return end + len(quotes)

    def _tell(self, raw: str, *, is_end: bool = False) -> None:
        if piece := self._take(raw, is_end=is_end):
            self.on_text(piece)

    def _take(self, raw: str, *, is_end: bool = False) -> str:
        """What more of a key or value means, if that is wanted. The beginning of an escape at its end waits."""
        if self._captured is not None:
            captured = self._captured + raw
            self._captured = captured if len(captured) < _KEPT else None
        if self._pending or ("\\" in raw and self.is_escaped):
            raw = self._pending + raw
            if raw.count("\\") == raw.count("\\n"):  # nearly all escapes are line breaks
                self._pending = ""
                raw = raw.replace("\\n", "\n")
            else:
                whole = len(raw) if is_end else end_of(_UP_TO_CUT, raw)
                self._pending = raw[whole:]
                raw = decode_escapes(raw[:whole], self.quote) if self.tells else ""
        return raw if self.tells else ""

    def _marked(self, text: str, at: int) -> int:
        """In a string between marks: the first mark ends it, but not in an example of a call."""
        place = text.find("<", at)
        found: str | Answer = NO
        while place >= 0:
            found = read_mark(text, place, self.marks)
            if found == self.marks[2] and (text[place - 1] if place > at else self.before) != "}":
                found = NO  # it is only mentioned
            if found is MORE or (found and not self._examples and found != self.marks[1]):
                break
            if found and found != self._mark:
                self._examples += 1 if found == self.marks[1] else -1
            place = text.find("<", place + 1)
        stop = place if place >= 0 else len(text)
        self._tell(text[at:stop])
        if place < 0 or found is MORE:
            self.stopped = place >= 0
        elif found == self._mark:
            self._end(stop)
            return stop + len(self._mark)
        else:
            self.error = "a string that does not end"
        return stop

    def _comment(self, text: str, at: int) -> int:
        found = (_LINE_END if self._inside == "//" else _COMMENT_END).search(text, at)
        if found is None:
            return len(text)
        if found[0] in ("<", "*"):
            self.stopped = True  # what follows decides
        elif found[0] == "</":
            self.error = "a comment with an end tag in it"
        else:
            self._inside = ""
            return found.end()
        return found.start()
