"""What an upstream said, kept exactly: each exchange in a file of its own, and played again as an upstream.

A file holds JSON Lines: the request, the head of the response, each chunk of its body as it came with its time in
seconds since the request, and the end. It has no headers of the request and only harmless ones of the response, no
query of the URL, and no field of the request that is there for credentials. What was said stays: whoever may read the
file may read the conversation, so only its owner may.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import error_body
from xmltools.proxy.bridge.json_bodies import without_credentials
from xmltools.proxy.scripted.pace import Clock, Pace, Sleep, check_speed

_logger = logging.getLogger("xmltools.serve.recordings")

_VERSION = 1
"""The number that the first line of a file has."""
_KEPT_HEADERS = ("content-type", "content-encoding", "cache-control", "retry-after", "x-request-id", "request-id")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
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

    def __init__(self, directory: Path | str, *, clock: Clock = time.monotonic) -> None:
        self._folder = Path(directory)
        self._clock = clock
        self._numbers = count(1)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise XMLToolsError(f"recordings can't be kept in {self._folder}: {error.strerror}") from None
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise XMLToolsError(f"recordings can't be kept in {self._folder}: nothing may be written there")

    def start(
        self, request: Mapping[str, Any] | bytes, *, method: str = "POST", path: str = "/v1/chat/completions"
    ) -> Recording:
        """Begin a recording. Takes the body of the request as it goes to the upstream, its method and its path.

        A body that is no JSON object is left out. A folder that is full stops the recording and not the exchange:
        that is logged, and the recording keeps nothing.
        """
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{next(self._numbers):06}-{secrets.token_hex(4)}.jsonl"
        recording = Recording(self._folder / name, self._clock)
        recording._begin(method, path.partition("?")[0], _body_of(request))
        return recording


class Recording:
    """One exchange that is being kept: `head`, then `chunk` for each piece, then `end`. As a context manager it ends
    itself, and notes an exception as what broke the exchange off."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._start = clock()
        self._file: Any = None

    def _begin(self, method: str, path: str, body: Mapping[str, Any] | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.fdopen(os.open(self.path, flags, 0o600), "w", encoding="utf-8", newline="\n", buffering=1)
        except OSError as error:
            self._give_up(error)
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._write("request", version=_VERSION, time=when, method=method, path=path, body=body)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the status and the headers of the response; of the headers only harmless ones are kept."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in _KEPT_HEADERS}
        self._write("response", at=self._now(), status=status, headers=kept)

    def chunk(self, data: bytes) -> None:
        """Note a piece of the body, as it came."""
        self._write("chunk", at=self._now(), **_written(data))

    def end(self, error: str | None = None) -> None:
        """Note the end, and what broke the exchange off, if it was broken off. A second end says nothing."""
        self._write("end", at=self._now(), error=error)
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(kind.__name__ if kind else None)

    def _now(self) -> float:
        return round(self._clock() - self._start, 6)

    def _write(self, kind: str, **fields: Any) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps({"type": kind, **fields}, separators=(",", ":")) + "\n")
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


def _written(data: bytes) -> dict[str, str]:
    """Return bytes as JSON has them: as text where they are text."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


# Reading back


@dataclass(frozen=True, slots=True)
class Recorded:
    """An exchange that was kept. `status` is 0 where the upstream gave no answer. `chunks` are pairs of a time and
    bytes; `error` says what broke it off, if it was."""

    method: str
    path: str
    body: dict[str, Any] | None
    status: int
    headers: dict[str, str]
    head_at: float
    chunks: tuple[tuple[float, bytes], ...]
    end_at: float
    error: str | None


def read_recording(file: Path | str) -> Recorded:
    """Return the exchange that a file holds. One without an end, as a crash leaves it, counts as broken off.

    Raises XMLToolsError, with the line, for a file that can't be read or is no recording of this version.
    """
    try:
        lines = Path(file).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise XMLToolsError(
            f"{file}: expected a file that --record wrote, or its folder; there is nothing here"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "it is no UTF-8"
        raise XMLToolsError(f"{file}: the recording can't be read: {cause}") from None
    # A line without its line break was cut off while it was written.
    entries = [_entry(line, f"{file}, line {number}") for number, line in enumerate(lines[:-1], 1) if line]
    try:
        return _recorded(*entries)
    except (KeyError, TypeError, ValueError):
        raise XMLToolsError(
            f"{file}: expected what --record writes: a line for the request (version {_VERSION}), one for the "
            "response, and one for each chunk"
        ) from None


def _entry(line: str, at: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or "type" not in entry:
        raise XMLToolsError(f"{at}: expected a JSON object with a type, as --record writes it")
    return entry


def _recorded(request: dict[str, Any], *rest: dict[str, Any]) -> Recorded:
    if (request["type"], request["version"]) != ("request", _VERSION):
        raise ValueError
    if not rest or rest[0]["type"] == "end":  # the upstream was not reached, or said nothing
        rest = ({"type": "response", "at": rest[0]["at"] if rest else 0, "status": 0, "headers": {}}, *rest)
    response = rest[0]
    if response["type"] != "response":
        raise ValueError
    head_at = float(response["at"])
    chunks = tuple((float(each["at"]), _bytes_of(each)) for each in rest if each["type"] == "chunk")
    last: dict[str, Any] = {"at": chunks[-1][0] if chunks else head_at, "error": "the recording has no end"}
    end = next((each for each in rest if each["type"] == "end"), last)
    return Recorded(
        method=str(request["method"]),
        path=str(request["path"]),
        body=request["body"],
        status=int(response["status"]),
        headers={str(name): str(value) for name, value in response["headers"].items()},
        head_at=head_at,
        chunks=chunks,
        end_at=float(end["at"]),
        error=None if end["error"] == _WHOLE else end["error"],
    )


def _bytes_of(entry: dict[str, Any]) -> bytes:
    if "text" in entry:
        return str(entry["text"]).encode("utf-8")
    return base64.b64decode(entry["base64"], validate=True)


# Playing


class Replay:
    """Recorded exchanges as an ASGI application that answers as their upstream did: exact chunks, at their times.

    Takes the files, or folders of them; how fast they are played (2 is twice as fast, 0 does not wait), how to wait
    and what the time is; `tell` hears one line for each request: which recording is played, and why. Where the upstream
    broke off, so does this; where it gave no answer, this one's is 502.

    A request gets the recording with the same method, path and body (exact). If none has that body, it gets one with
    the same model, streamed or not as asked, that stands behind as many replies of the model and

    - in which the user said the same last (by the user's words), or else
    - whose conversation began with the same words (in order): what tools return is not the same each time, and
      another dialect spells it otherwise.

    Of several, the one that was played least comes first, in the order of the files. Where none fits the answer is 404,
    and says what is missing.

    Raises XMLToolsError if a file is no recording, there is none, or `speed` is no number from 0 on.
    """

    def __init__(
        self,
        files: Iterable[Path | str],
        *,
        speed: float = 1.0,
        tell: Callable[[str], object] = _logger.info,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = time.monotonic,
    ) -> None:
        self._speed = check_speed(speed)
        self._tell = tell
        self._sleep = sleep
        self._clock = clock
        self._kept = [_Kept.of(file) for each in files for file in _files(Path(each))]
        if not self._kept:
            raise XMLToolsError("there is no recording to play; name files that --record wrote, or their folder")
        self._app = Starlette(
            routes=[Route("/{path:path}", self._answer, methods=list(_METHODS))],
            exception_handlers={HTTPException: self._refuse},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        pace = Pace(self._speed, sleep=self._sleep, clock=self._clock)
        path = _route(request.url.path)
        asked = (request.method, path)
        fitting = [each for each in self._kept if (each.recorded.method, _route(each.recorded.path)) == asked]
        if fitting:
            kept, why = _chosen(fitting, _body_of(await request.body()))
            kept.played += 1
            self._tell(f"{kept.file.name}: {why}")
            if kept.recorded.status:
                return _Playing(kept.recorded, pace)
            await pace.until(kept.recorded.end_at)
            said = error_body("chat", _NO_ANSWER, status=502, code="upstream_error")
            return JSONResponse(said, status_code=502)
        if request.url.path in _QUESTIONS:
            return JSONResponse({}, status_code=404)
        if asked == ("GET", "models"):
            return JSONResponse({"object": "list", "data": self._models()})
        raise HTTPException(404, f"nothing is recorded for {request.method} {request.url.path:.200}")

    def _models(self) -> list[dict[str, Any]]:
        names = dict.fromkeys(each.asked.model for each in self._kept if each.asked.model)
        return [{"id": name, "object": "model", "created": 0, "owned_by": "recording"} for name in names]

    async def _refuse(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        self._tell(f"404, no recording fits {request.method} {request.url.path!r:.200}")
        body = error_body("chat", error.detail, status=error.status_code, code="not_recorded")
        return JSONResponse(body, status_code=error.status_code)


@dataclass(frozen=True, slots=True)
class _Asked:
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
        roles = [each.get("role") for each in turns]
        said = [(at, each.get("content")) for at, each in enumerate(turns) if roles[at] == "user"]
        first = roles.index("assistant") if "assistant" in roles else len(roles)
        return cls(
            model=str(given.get("model") or ""),
            is_streamed=bool(given.get("stream")),
            last=said[-1][1] if said else None,
            opening=[words for at, words in said if at < first],
            replies=roles.count("assistant"),
        )


@dataclass(slots=True)
class _Kept:
    """A recording that can be played, and how often it was."""

    file: Path
    recorded: Recorded
    asked: _Asked
    played: int = 0

    @classmethod
    def of(cls, file: Path) -> _Kept:
        recorded = read_recording(file)
        return cls(file, recorded, _Asked.of(recorded.body))


def _chosen(kept: list[_Kept], body: dict[str, Any] | None) -> tuple[_Kept, str]:
    """Return the recording to play for a request with this body, and why it is the one.

    Raises HTTPException, with what is missing, if none fits.
    """
    asked = _Asked.of(body)
    alike = [each for each in kept if each.asked.model == asked.model]
    streamed = [each for each in alike if each.asked.is_streamed == asked.is_streamed]
    placed = [each for each in streamed if each.asked.replies == asked.replies]
    rules = {
        "exact": [each for each in kept if each.recorded.body == body],
        "by the user's words": [each for each in placed if asked.last is not None and each.asked.last == asked.last],
        "in order": [each for each in placed if asked.replies and each.asked.opening == asked.opening != []],
    }
    for why, found in rules.items():
        if found:
            return min(found, key=lambda each: each.played), why
    if not alike:
        names = ", ".join(dict.fromkeys(repr(each.asked.model) for each in kept))
        missing = f"is for the model {asked.model!r:.200}; recorded: {names:.500}"
    elif not streamed:
        was, ask = ("in one piece", "without") if asked.is_streamed else ("streamed", "for")
        missing = f"fits, since all for this model were {was}; ask {ask} a stream"
    else:
        missing = "has these words of the user at this point of a conversation"
    raise HTTPException(404, f"replay: no recording {missing}")


class _Playing(Response):
    """A recorded response. It says nothing to a client that has left."""

    def __init__(self, recorded: Recorded, pace: Pace) -> None:
        super().__init__(status_code=recorded.status)
        self._recorded = recorded
        self._pace = pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        recorded = self._recorded
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers.items()]
        await self._pace.until(recorded.head_at)
        await send({"type": "http.response.start", "status": recorded.status, "headers": headers})
        for at, chunk in recorded.chunks:
            await self._pace.until(at)
            if await request.is_disconnected():
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await self._pace.until(recorded.end_at)
        if recorded.error is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Else the response stays open, and the server breaks off the connection.


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def _route(path: str) -> str:
    """Return a path without what stands before the API: upstreams have it at different places."""
    return path.rpartition("/v1/")[2].strip("/")
