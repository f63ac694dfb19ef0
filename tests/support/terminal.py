"""What a person sees of a program on a terminal: it runs in one of its own, and a small screen reads what it writes."""

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator

_CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")
_BEGUN = re.compile(r"\x1b(?:\[[?\d;]*)?\Z")
_FULL_LINE = "\x00"
"""After a line that the terminal has broken: it had no room for more."""


def play(arguments: list[str], columns: int, lines: int, **environment: str) -> Iterator[str]:
    """Run a program on a terminal of a size; yield what it writes, as it comes."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in _ASKED}
    decode = codecs.getincrementaldecoder("utf-8")().decode
    ends = {"stdin": inner, "stdout": inner, "stderr": inner}
    with subprocess.Popen(arguments, **ends, env=known | {"TERM": "xterm-256color"} | environment) as process:
        os.close(inner)
        try:
            while data := _read(terminal):
                yield decode(data)
        finally:
            os.close(terminal)
            process.kill()


_ASKED = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM")


def shown(arguments: list[str], columns: int, lines: int = 24, **environment: str) -> "Screen":
    """Run a program on a terminal of a size; return the screen when it has ended."""
    screen = Screen(columns, lines)
    for text in play(arguments, columns, lines, **environment):
        screen.write(text)
    return screen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the other side is closed
        return b""


class Screen:
    """The screen of a terminal, and what has left it at the top."""

    def __init__(self, columns: int, lines: int) -> None:
        self._columns = columns
        self._rows = [""] * lines
        self._left: list[str] = []
        self._x = self._y = 0
        self._begun = ""  # a control whose end has not come yet

    @property
    def text(self) -> list[str]:
        """All lines, without the empty ones at the end; those that the terminal has broken are one."""
        lines = [row.rstrip(" ") for row in (*self._left, *self._rows)]
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines).replace(_FULL_LINE + "\n", "").replace(_FULL_LINE, "").split("\n")

    @property
    def broken(self) -> list[str]:
        """The lines that the terminal has broken, each whole."""
        whole = "\n".join([*self._left, *self._rows]).replace(_FULL_LINE + "\n", _FULL_LINE).split("\n")
        return [line.replace(_FULL_LINE, "").rstrip() for line in whole if _FULL_LINE in line]

    def write(self, text: str) -> None:
        """Show what a program writes. Of the controls it knows those that ours write, and fails on others."""
        text = self._begun + text
        cut = _BEGUN.search(text)
        self._begun = cut[0] if cut else ""
        text = text.removesuffix(self._begun)
        at = 0
        while at < len(text):
            if control := _CONTROL.match(text, at):
                self._obey(control[1], control[2])
                at = control.end()
                continue
            self._put(text[at])
            at += 1

    def _obey(self, number: str, kind: str) -> None:
        row = self._rows[self._y]
        match kind:
            case "A":
                self._y = max(0, self._y - int(number or 1))
            case "K" if number == "2":
                self._rows[self._y] = ""
            case "K":
                self._rows[self._y] = row[: self._x]
            case "J":
                self._rows[self._y :] = [row[: self._x], *[""] * (len(self._rows) - self._y - 1)]
            case _:
                assert kind in "mhl", f"an unknown control: {number}{kind}"

    def _put(self, character: str) -> None:
        if character == "\r":
            self._x = 0
        elif character == "\n":
            self._feed()
        else:
            if self._x == self._columns:
                self._rows[self._y] = self._rows[self._y][: self._columns] + _FULL_LINE
                self._x = 0
                self._feed()
            row = self._rows[self._y].ljust(self._x)
            self._rows[self._y] = row[: self._x] + character + row[self._x + 1 :]
            self._x += 1

    def _feed(self) -> None:
        if self._y + 1 < len(self._rows):
            self._y += 1
        else:
            self._left.append(self._rows.pop(0))
            self._rows.append("")
