"""What an upstream said, kept exactly: each exchange in a file of its own, and played again as an upstream.

A file holds JSON Lines: the request, the head of the response, each chunk of its body as it came with its time in
seconds since the request, and the end. It has no headers of the request and only harmless ones of the response, no
query of the URL, and no field of the request that is there for credentials. What was said stays: whoever may read the
file may read the conversation, so only its owner may.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from starlette.requests import Request

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Refusal, error_body
from xmltools.proxy.bridge.json_bodies import without_credentials
from xmltools.proxy.scripted.player import Answer, Player, as_json, models

_logger = logging.getLogger("xmltools.serve.recordings")

_VERSION = 1
"""The number that the first line of a file has."""
_KEPT_HEADERS = ("content-type", "content-encoding", "cache-control", "retry-after", "x-request-id", "request-id")
_WHOLE = "UpstreamStatusError"
"""What files of before 0.2.0 have as what broke an exchange off, though the upstream's error was whole."""

_QUESTIONS = ("/props", "/api/version")
"""What `serve` asks every upstream for its chat templates, of which nothing is recorded."""
_NO_ANSWER = "the upstream gave no answer when this was recorded"

# Keeping


class Recorder:
    """Keeps exchanges in a folder, which is made if it is not there.

    Raises XMLToolsError if nothing can be written there.
    """

    def __init__(self, directory: Path | str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = Path(directory)
        self._clock = clock
        self._numbers = count(1)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError(0, "nothing may be written there")
        except OSError as error:
            raise XMLToolsError(f"recordings can't be kept in {self._folder}: {error.strerror}") from None

    def start(
        self, body: Mapping[str, Any] | bytes, *, method: str = "POST", path: str = "/v1/chat/completions"
    ) -> Recording:
        """Begin a recording. Takes the body of the request as it goes to the upstream, its method and its path.

        A body that is no JSON object is left out. A folder that is full stops the recording and not the exchange:
        that is logged, and the recording keeps nothing.
        """
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{next(self._numbers):06}-{secrets.token_hex(4)}.jsonl"
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        request = {"time": when, "method": method, "path": path.partition("?")[0], "body": _body_of(body)}
        return Recording(self._folder / name, self._clock, {"version": _VERSION, **request})


class Recording:
    """One exchange that is being kept: `head`, then `chunk` for each piece, then `end`. As a context manager it ends
    itself, and notes an exception as what broke the exchange off."""

    def __init__(self, path: Path, clock: Callable[[], float], request: Mapping[str, Any]) -> None:
        self.path = path
        self._clock = clock
        self._start = clock()
        self._file: Any = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", newline="\n", buffering=1)
        except OSError as error:
            self._give_up(error)
        self._write({"type": "request", **request})

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the status and the headers of the response; of the headers only harmless ones are kept."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in _KEPT_HEADERS}
        self._note("response", status=status, headers=kept)

    def chunk(self, data: bytes) -> None:
        """Note a piece of the body, as it came: as text where it is text."""
        try:
            self._note("chunk", text=data.decode())
        except UnicodeDecodeError:
            self._note("chunk", base64=base64.b64encode(data).decode())

    def end(self, error: str | None = None) -> None:
        """Note the end, and what broke the exchange off, if it was broken off. A second end says nothing."""
        self._note("end", error=error)
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(kind.__name__ if kind else None)

    def _note(self, kind: str, **fields: Any) -> None:
        self._write({"type": kind, "at": round(self._clock() - self._start, 6), **fields})

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        except OSError as error:
            file, self._file = self._file, None
            self._give_up(error)
            with suppress(OSError):  # what could not be written can't be written now either
                file.close()

    def _give_up(self, error: OSError) -> None:
        _logger.error("the recording %s is not kept any further: %s", self.path.name, error.strerror)


def _body_of(request: Mapping[str, Any] | bytes) -> dict[str, Any] | None:
    if isinstance(request, bytes):
        try:
            request = json.loads(request)
        except (ValueError, RecursionError):
            return None
    return without_credentials(request) if isinstance(request, Mapping) else None


# Reading back


@dataclass(slots=True, kw_only=True)
class Recorded(Answer):
    """An exchange that was kept, with the name of its file. `status` is 0 where the upstream gave no answer."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None


def read_recording(file: Path | str) -> Recorded:
    """Return the exchange that a file holds. One without an end, as a crash leaves it, counts as broken off.

    Raises XMLToolsError, with the line, for a file that can't be read or is no recording of this version.
    """
    path = Path(file)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise XMLToolsError(
            f"{file}: expected a file that --record wrote, or its folder; there is nothing here"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "it is no UTF-8"
        raise XMLToolsError(f"{file}: the recording can't be read: {cause}") from None
    number = 1
    entries: dict[str, Any] = {}
    chunks = []
    try:
        # A line without its line break was cut off while it was written.
        for number, line in enumerate(lines[:-1], 1):
            entry = json.loads(line or "{}")
            kind = entry["type"]
            if number == 1 and (kind, entry["version"]) != ("request", _VERSION):
                raise ValueError
            if kind == "chunk":
                raw = entry.get("base64")
                data = str(entry["text"]).encode() if raw is None else base64.b64decode(raw, validate=True)
                chunks.append((float(entry["at"]), data))
            entries.setdefault(kind, entry)
        request, response = entries["request"], entries.get("response")
        if response is None:  # the upstream was not reached, or said nothing
            response = {"status": 0, "headers": {}, "at": 0}
        end = entries.get("end", {"at": response["at"], "error": "the recording has no end"})
        return Recorded(
            name=path.name,
            method=str(request["method"]),
            path=str(request["path"]),
            body=request["body"],
            status=int(response["status"]),
            headers={str(name): str(value) for name, value in response["headers"].items()},
            head_at=float(response["at"]),
            chunks=tuple(chunks),
            end_at=float(end["at"]),
            error=None if end["error"] == _WHOLE else end["error"],
        )
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise XMLToolsError(
            f"{file}, line {number}: expected what --record writes: a line for the request (version {_VERSION}), one "
            "for the response, and one for each chunk"
        ) from None


# Playing


class Replay(Player):
    """Recorded exchanges as an upstream that answers as theirs did: exact chunks, at their times.

    Takes the files, or folders of them; `tell` hears one line for each request: which recording is played, and why.
    Where the upstream broke off, so does this; where it gave no answer, this one's is 502.

    A request gets the recording with the same method, path and body (exact). If none has that body, it gets one with
    the same model, streamed or not as asked, that stands behind as many replies of the model and

    - in which the user said the same last (by the user's words), or else
    - whose conversation began with the same words (in order): what tools return is not the same each time, and
      another dialect spells it otherwise.

    Of several, the one that was played least comes first, in the order of the files. Where none fits the answer is 404,
    and says what is missing.

    Raises XMLToolsError if a file is not a recording, or is missing.
    """

    def __init__(
        self, files: Iterable[Path | str], *, tell: Callable[[str], object] = _logger.info, **pace: Any
    ) -> None:
        super().__init__(**pace)
        self._tell = tell
        paths = map(Path, files)
        found = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
        self._kept = [(recorded, _Asked.of(recorded.body)) for recorded in map(read_recording, found)]
        self._played: Counter[str] = Counter()
        if not found:
            raise XMLToolsError("there is no recording to play; name files that --record wrote, or their folder")

    def choose(self, request: Request, body: bytes) -> Answer:
        """Return the recording to play."""
        place = (request.method, _route(request.url.path))
        fitting = [each for each in self._kept if (each[0].method, _route(each[0].path)) == place]
        if not fitting and place == ("GET", "models"):
            return models(*dict.fromkeys(asked.model for _, asked in self._kept if asked.model), owner="recording")
        try:
            if not fitting:
                raise _missing(f"nothing is recorded for {request.method} {request.url.path:.200}")
            found, why = self._chosen(fitting, _body_of(body))
        except Refusal:
            if request.url.path not in _QUESTIONS:
                self._tell(f"404, no recording fits {request.method} {request.url.path!r:.200}")
            raise
        self._played[found.name] += 1
        self._tell(f"{found.name}: {why}")
        if found.status:
            return found
        return as_json(error_body("chat", _NO_ANSWER, status=502, code="upstream_error"), 502, found.end_at)

    def _chosen(self, kept: list[tuple[Recorded, _Asked]], body: dict[str, Any] | None) -> tuple[Recorded, str]:
        """Return the recording to play for a request with this body, and why it is the one. Raises Refusal, with what
        is missing, if none fits."""
        asked = _Asked.of(body)
        alike = [each for each in kept if each[1].model == asked.model]
        streamed = [each for each in alike if each[1].is_streamed == asked.is_streamed]
        placed = [each for each in streamed if each[1].replies == asked.replies]
        rules = {
            "exact": [each for each, _ in kept if each.body == body],
            "by the user's words": [each for each, of in placed if asked.last is not None and of.last == asked.last],
            "in order": [each for each, of in placed if asked.replies and of.opening == asked.opening != []],
        }
        for why, found in rules.items():
            if found:
                return min(found, key=lambda each: self._played[each.name]), why
        if not alike:
            names = ", ".join(dict.fromkeys(repr(each.model) for _, each in kept))
            raise _missing(f"replay: no recording is for the model {asked.model!r:.200}; recorded: {names:.500}")
        if not streamed:
            was, ask = ("in one piece", "without") if asked.is_streamed else ("streamed", "for")
            raise _missing(f"replay: no recording fits, since all for this model were {was}; ask {ask} a stream")
        raise _missing("replay: no recording has these words of the user at this point of a conversation")


class _Asked(NamedTuple):
    """What is looked at in a request: `last`, the user's last words; `opening`, what the user said before the first
    reply; `replies`, how many the conversation has."""

    model: str
    is_streamed: bool
    last: Any
    opening: list[Any]
    replies: int

    @classmethod
    def of(cls, body: Mapping[str, Any] | None) -> _Asked:
        given = body or {}
        messages = given.get("messages")
        turns = [each for each in messages if isinstance(each, Mapping)] if isinstance(messages, list) else []
        first = takewhile(lambda turn: turn.get("role") != "assistant", turns)
        opening, said = (
            [each.get("content") for each in part if each.get("role") == "user"] for part in (first, turns)
        )
        replies = sum(turn.get("role") == "assistant" for turn in turns)
        return cls(
            str(given.get("model") or ""), bool(given.get("stream")), said[-1] if said else None, opening, replies
        )


def _missing(what: str) -> Refusal:
    return Refusal(what, status=404, code="not_recorded")


def _route(path: str) -> str:
    """Return a path without what stands before the API: upstreams have it at different places."""
    return path.rpartition("/v1/")[2].strip("/")
