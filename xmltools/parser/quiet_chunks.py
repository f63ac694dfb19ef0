"""Runs: stretches of a stream in which nothing begins or ends, so that a chunk needs no closer look.

A run is prose, a value, a string in JSON, or a tag that is not whole. What a chunk of it may hold back is one thing
that may begin, or the end that probably comes: it is looked at again with the next chunk. A short value that is clean
so far is told as it comes, and waits with its tag: both are read at once, when its end is there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from xmltools.models.events import ArgumentDelta, Event, TextDelta
from xmltools.parser.decode_text import TextReader
from xmltools.parser.delimited_values import SECTION_END
from xmltools.parser.delimiters import cut_of
from xmltools.parser.open_call import Block, Path, Reading, State
from xmltools.parser.outside import Outside
from xmltools.parser.values import around_clean, is_undecided, stops_of_text
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import BREAK, SPACES, TAG_LENGTH

NEW: Final = -3  # nothing has come: to choose the mode takes long, and whole replies do without
CLOSED: Final = -2
OTHER: Final = -1  # each chunk takes a closer look
HELD: Final = 0  # one of the following, with text that is held back
VALUE: Final = 1  # a value, which a `reader` may decode
FRAMED: Final = 2  # a value of which a last line break is no part, and in which `&` takes a closer look
JSON: Final = 3  # a string in JSON
PROSE: Final = 4
LAID_OUT: Final = 5  # prose in a dialect in which white space beside calls is not text
TAG: Final = 6  # a tag: nothing is decided before its end

GATHER: Final = 4096
"""Characters that single chunks, of 64 bytes each, may pile up to before they are joined."""
LONG: Final = 256
"""Held text of more characters is looked at again only if the new chunk may decide what it is."""
_NEVER: Final = re.compile("(?!)")
_ANYTHING: Final = re.compile("").search
_UNCONFIRMED: Final = f"[{SPACES}]{{0,16}}+<?"
"""What follows an opener that nothing has confirmed yet."""
_CLEAN_STOPS: Final = re.compile(r"[\r\n][ \t]*+(?:</?|\Z)|</?|&").search
"""What may end a clean value, or make it another one, and a line break before that."""
_TAILS: Final = (State.CDATA_TAIL, State.END_TAIL)
"""States in which a `<` that begins no end tag may decide at once."""
_TAG_NAME: Final = late_pattern(r"</?(?:[^\W\d]\w*)?")
"""A tag whose name is not over."""


@lru_cache(maxsize=64)
def _tag_part(arguments: str) -> re.Pattern[str]:
    """A pattern of a tag that is not over, perhaps after that of the arguments."""
    before = rf"(?:</?{re.escape(arguments)}>[{SPACES}]*+|)" if arguments else ""
    return re.compile(rf"[{SPACES}]*+{before}(?:<[^>]*+|)")


@lru_cache(maxsize=64)
def _name_part(*tags: str) -> re.Pattern[str]:
    """A pattern of a name in one of these tags, whose end tag is not over."""
    return re.compile(rf"[{SPACES}]*+(?:<(?:{'|'.join(map(re.escape, filter(None, tags)))})>[^<>]*+|)(?:</?[-.\w]*+|)")


@lru_cache(maxsize=64)
def _part_of(delimiter: str, after: str = "") -> re.Pattern[str]:
    """A pattern of the parts with which a delimiter begins, perhaps after a line break; or of all of it, with what may
    come `after` it."""
    whole = f"|{re.escape(delimiter)}{after}" if after else ""
    return re.compile(rf"{BREAK}?(?:{cut_of(delimiter)}{whole})") if delimiter[1:] else _NEVER


@lru_cache(maxsize=256)
def _framed(stops: str) -> re.Pattern[str]:
    """A pattern of these stops of a value whose last line break is not part of it, and of that break."""
    return re.compile(rf"{BREAK}?(?:{stops}|\Z)")


class Run:
    """What the stream is in at `pos`, where `held` waits for more. `mode`: what a chunk is more of in which nothing
    begins or ends. Such a chunk has no `char`; or it does not end with that, and has no `pair`, or nothing that `finds`
    finds. `kind`: the same while nothing is held back."""

    _reading: Reading  # of the clean value
    _scanner: JSONScanner  # of the string

    def __init__(self, pieces: list[str]) -> None:
        """`pieces`: where the text of prose goes."""
        self.pos = 0  # characters received
        self.held = ""  # text that is not decided
        self._waiting: list[str] = []  # before that: a tag, and a clean value as far as it was told
        self._value_start = 0  # the length of that tag
        self.mode = NEW
        self.kind = self._direct = OTHER
        self.char = self.pair = ""
        self.edge = SPACES  # what may come before the end of a value, and be no part of it
        self.path: Path = ()  # of the deltas
        self.pieces = pieces  # where the text goes, for those who read it later
        self.mark = GATHER  # where in the stream they get it
        self.finds = _NEVER.search  # what may begin or end in a text, or be cut off of that by its end
        self._wait = _NEVER  # a pattern of what may be held back
        self._tag = self._around = ""  # that is the end tag of the leaf with this name, in the element with that name
        self._is_silent = False  # it has no deltas
        self.reader: TextReader | None = None  # decodes the value

    def read(self, chunk: str, end: int) -> list[Event] | None:
        """A chunk up to `end`, in which something may begin or end: the text before that makes an event, and what the
        end of the chunk cuts off is held back. None if it takes a closer look."""
        kind, held = self.kind, self.held
        text = held + chunk
        if kind == TAG or held:
            if self._is_undecided(text):
                self.held = text
                self.pos = end
                if self._direct == TAG:
                    self.mode = TAG if text.rfind("<") > text.rfind(">") else HELD
                return []
            if kind == TAG:
                return None
        if kind == JSON:
            return self._read_json(chunk, end)
        place = size = len(text)
        found = self.finds(text)
        if found:
            place = found.start()
            if not place and len(held) > LONG:
                return None
            if found.end() < size:
                # White space before the end is held back as well, and told when that is decided.
                is_told = not place or text[place - 1] > " " or ">" not in text[place:]
                if not is_told or (held and not place) or not self._is_undecided(text, place):
                    return None
        self.held = held = text[place:]
        self.mode = HELD if held else self._direct
        self.pos = end
        if not place:
            return []
        text = text[:place]
        self.pieces.append(text)
        if kind == PROSE:
            return [TextDelta.make(text, end - size)]
        if self.reader:
            text = self.reader.text(text)
        if self._is_silent or not text:
            return []
        delta = ArgumentDelta()
        delta.path = self.path
        delta.text = text
        return [delta]

    def _is_undecided(self, text: str, place: int = 0) -> bool:
        """May the text from `place` on be held back, because nothing in it is decided?"""
        if self._tag:
            reader = self.reader
            return (reader is None or reader.idle) and is_undecided(text, place, self._tag, self._around)
        found = self._wait.fullmatch(text, place)
        if found is None:
            return False
        # An opener after text may be only shown.
        is_opener = self.kind == PROSE and ">" in found[0]
        return not is_opener or "".join((*self.pieces, text[:place])).strip() == ""

    def _read_json(self, chunk: str, end: int) -> list[Event] | None:
        """A chunk of a string in JSON, with escapes. None if the string may end in it."""
        piece = self._scanner.string_piece(chunk)
        if piece is None:
            return None
        self.pos = end
        self.pieces.append(chunk)
        self.mode = JSON if self._scanner.is_clear else HELD
        return [ArgumentDelta.make(self.path, piece)] if piece else []

    def join(self) -> str:
        """All that is held back, with the clean value and its tag: a closer look is taken at them."""
        if self._waiting:
            waiting = "".join(self._waiting)
            self._waiting.clear()
            self._reading.told = len(waiting) - self._value_start
            self.held = waiting + self.held
        return self.held

    def choose(self, block: Block, size: int) -> None:
        """Find out what the stream is in now, inside of `block`, which may have so many characters."""
        self.mode = self.kind = OTHER
        self._tag = ""
        self.reader = None
        leaf, state, held = block.leaf, block.state, self.held
        self.pieces = block.raw.loose
        most = GATHER
        if leaf is None:
            json = block.json
            if state != State.MARKUP:
                if state != State.JSON or json is None or held or not (quote := json.quote):
                    return
                self._scanner = json
                self.kind = JSON
                self.mode = JSON if json.is_clear else HELD
                self.char = self.pair = quote
                self.finds = _ANYTHING
                self.path = json.path
            elif block.reading.told:
                most = self._choose_waiting(block)
            elif block.name is None and not block.arguments_closed and block.dialect.tool_name:
                most = self._choose_tag(_name_part(block.dialect.tool_name, block.dialect.server_name), HELD)
            elif not block.stack[-1].loose and ">" not in held:
                most = self._choose_tag(_tag_part("" if block.is_tag or block.name is None else block.arguments_tag))
            else:
                return
        elif leaf.capture is None and state in (State.TEXT, State.CDATA, State.PAIR_VALUE):
            self.kind = VALUE
            if state == State.TEXT:
                self.pair, stops = "</" if leaf.pasted else "<", stops_of_text(block, leaf)
                self.reader = leaf.reader
                self._tag, self._around = leaf.tag, around_clean(block, leaf)
            elif state == State.CDATA or leaf.decided:
                self.pair, stops, self._wait = "]]", SECTION_END, _NEVER
            else:
                self.pair, stops = block.pairs.tag_mark[:2] or "<", block.delimiters.in_value(leaf.tag[0])
                self._wait = _part_of(block.pairs.value_end)
                if block.delimiters.has_breaks:
                    self.kind, self.edge, stops = FRAMED, "\r\n", _framed(stops.pattern)
            self.finds = stops.search
            self.char = self.pair[0]
            self.path = leaf.path or ()
            self._is_silent = leaf.reader is None or leaf.path is None
            self._direct = HELD if self._is_silent else self.kind
            self.mode = HELD if held else self._direct
        elif held and held[0] == "<" and ">" not in held and (state not in _TAILS or held[1:2] == "/"):
            most = self._choose_tag(_TAG_NAME, HELD)
        else:
            return
        self.mark = min(self.pos + most, block.start + size - 1)

    def _choose_waiting(self, block: Block) -> int:
        """The stream is in a clean value, which waits with its tag. Returns the most characters that are told of it."""
        start = self._value_start = self.held.index(">") + 1
        told = start + block.reading.told
        self._tag = self.held[1 : start - 1]
        self._reading = block.reading
        self._waiting.append(self.held[:told])
        self.held = self.held[told:]
        self.kind = self._direct = FRAMED
        self.mode = HELD if self.held else FRAMED
        self.char = self.pair = "<"
        self.finds, self._around = _CLEAN_STOPS, block.stack[-1].tag
        self.path = block.reading.told_path
        self._is_silent = False
        self.edge = SPACES
        self.pieces = self._waiting
        return LONG - told

    def _choose_tag(self, wait: re.Pattern[str], direct: int = TAG) -> int:
        """The stream is in a tag, or before one. Returns the most characters that it may still have. `direct`: the
        mode between `<` and `>`."""
        self.kind = TAG
        self._wait = wait
        self._direct = direct
        self.mode = direct if self.held else HELD
        self.char = self.pair = ">"
        self.finds = _ANYTHING
        return min(LONG, TAG_LENGTH - len(self.held) - 1)

    def choose_prose(self, outside: Outside, is_spent: bool) -> None:
        """Find out what the stream is in now, outside of calls. `is_spent`: all that follows is text."""
        self.mode = self.kind = OTHER
        self._tag = ""
        if not outside.is_plain_prose:
            return
        self.kind = PROSE
        openers, dialect = outside.calls.openers, outside.calls.starts.dialect
        self.char = self.pair = "" if openers.has_others else "<"
        self.finds = (_NEVER if is_spent else openers.begins).search
        self._wait = _part_of(dialect.opener, _UNCONFIRMED if outside.openers_wait else "")
        self._direct = LAID_OUT if dialect.layout else PROSE
        self.mode = HELD if self.held else self._direct
        self.pieces = outside.pieces
        if self.pos >= self.mark or not self.pieces:
            self.mark = self.pos + GATHER
