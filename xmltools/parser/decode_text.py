"""The content of a leaf, decoded as it arrives (protocol, section 4).

`TextReader` takes the raw runs of plain text and the CDATA sections of one leaf, in any pieces, and gives decoded
text out as soon as it is certain. The same class makes the deltas while text streams in and, fed with the whole
runs, the final value: so the two cannot differ.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.syntax.markup import CUT_REFERENCE, SPACES, decode_entities
from xmltools.syntax.rope import Rope

_SHORT: Final = 256
_LAYOUT = re.compile(r"[ \t]*(?:\r\n|\n|\r)")


class TextReader:
    """Decodes one leaf. All methods return text that is certain now; joined, that is the leaf's content.

    `literal` is set by the owner: entities stay as written from here on, because the model is pasting, not
    escaping. `idle`: plain text without `&` and without white space at its end would come out as it goes in. `cut`: the
    last line break and white space after it, or a cut entity, while that is short: it is held back.
    """

    __slots__ = ("_after_cdata", "_blank", "_framed", "_held", "_holds_break", "cut", "idle", "literal")

    def __init__(self, *, is_begun: bool = False) -> None:
        """`is_begun`: the leaf begins with something other than white space."""
        self.literal = False
        self.idle = is_begun
        self.cut = ""
        self._held = Rope()  # more white space whose fate is open
        self._holds_break = False  # … and it begins with a line break
        self._blank = not is_begun  # the run of plain text so far is white space
        self._after_cdata = False
        self._framed = False  # the leaf began with a line break that only laid it out

    def text(self, raw: str) -> str:
        """Take plain text as it was written; not empty."""
        cut = self.cut
        if cut:
            if cut[0] != "&" and len(cut) < _SHORT and not raw.strip(" \t"):
                self.cut = cut + raw
                return ""
            raw = cut + raw
            self.cut = ""
            self.idle = True
        elif not self.idle:
            if not raw.strip(SPACES) and (self._blank or (self._holds_break and "\n" not in raw and "\r" not in raw)):
                self._held.append(raw)  # decided by what follows, and not joined on each chunk
                return ""
            raw = self._held.take() + raw
            if self._blank:
                raw = self._end_blank(raw)
            self.idle = True
        has_entities = "&" in raw and not self.literal
        # Most ampersands need no match: the next character says that nothing is cut off.
        if has_entities and raw[(last := raw.rfind("&")) + 1 : last + 2] in "#aglq" and CUT_REFERENCE.match(raw, last):
            self.cut = raw[last:]
            self.idle = False
            raw = raw[:last]
        elif raw[-1] <= " " and (place := _last_break(raw)) < len(raw):
            if len(raw) - place < _SHORT:
                self.cut = raw[place:]
            else:
                self._held.append(raw[place:])
                self._holds_break = True
            self.idle = False
            raw = raw[:place]
        return decode_entities(raw) if has_entities and ";" in raw else raw

    def open_cdata(self) -> str:
        """A CDATA section starts: what plain text held back is decided."""
        held = self.cut or self._held.take()
        self.cut = ""
        if self._blank:
            if not self._after_cdata:
                self._framed = _LAYOUT.match(held) is not None
            held = ""
        self._blank = self._after_cdata = True
        self.idle = False
        return held

    def end(self, *, cut: bool = False) -> str:
        """The leaf ends. `cut`: by an end tag of something around it, so that a line break before that is layout."""
        held = self.cut or self._held.take()
        if self._blank:
            if self._after_cdata:
                return ""
            held = self._end_blank(held)
        return held[: _last_break(held)] if self._framed or cut else held

    def _end_blank(self, run: str) -> str:
        """The first run of plain text turns out to have more than white space: drop what only lays it out."""
        self._blank = False
        if run[:1] <= " " and not self._after_cdata and (layout := _LAYOUT.match(run)):
            self._framed = True
            return run[layout.end() :]
        return run


def _last_break(run: str) -> int:
    """Where the last line break starts, if only spaces and tabs follow it; the length of `run` if not."""
    kept = run.rstrip(" \t")
    bare = kept.removesuffix("\n").removesuffix("\r")
    return len(run) if bare == kept else len(bare)
