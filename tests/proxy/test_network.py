"""The connections to an upstream: over real sockets, with and without TLS, and with what goes wrong on them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from xmltools.proxy.server.network import Connections, Request, UpstreamError

PEM = Path(__file__).with_name("localhost.pem")
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
SHORT = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class House:
    """A server that answers each request of a connection as it is told.

    `connections` counts those it took, `open` those that have not ended.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.connections = self.open = 0
        self.url = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, context: ssl.SSLContext | None) -> asyncio.Server:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=context)
        scheme = "https" if context else "http"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self._writers.append(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def house(answer: Answer, *, tls: bool = False) -> AsyncIterator[House]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
    if context is not None:
        context.load_cert_chain(PEM)
    it = House(answer)
    async with await it.serve(context):
        yield it
        it.close()


class Client:
    """Sends requests to a house."""

    def __init__(self, url: str, *, timeout: float = 20, trusted: ssl.SSLContext | None = None) -> None:
        self.url = url
        self._connections = Connections(url, timeout, trusted=trusted)

    async def get(self, method: str = "GET", content: bytes | None = None) -> bytes:
        """Return the whole body of an answer."""
        return b"".join(await self.pieces(method, content))

    async def pieces(
        self, method: str = "GET", content: bytes | None = None, told: Callable[[bytes], None] = lambda piece: None
    ) -> list[bytes]:
        """Return the pieces of an answer, each of which `told` hears of when it comes."""
        found = []
        async with self._connections.open(Request(method, self.url, [], content), decode=True) as response:
            async for piece in response.pieces:
                told(piece)
                found.append(piece)
        return found

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        async with self._connections.open(Request("GET", self.url, []), decode=True) as response:
            yield response.pieces

    async def close(self) -> None:
        await self._connections.close()


@asynccontextmanager
async def client(url: str, *, timeout: float = 20, trusted: ssl.SSLContext | None = None) -> AsyncIterator[Client]:
    ours = Client(url, timeout=timeout, trusted=trusted)
    try:
        yield ours
    finally:
        await ours.close()


async def answer_shortly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SHORT)


def test_pieces_arrive_one_by_one() -> None:
    async def run() -> None:
        read: asyncio.Queue[bytes] = asyncio.Queue()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD)
            for number in range(3):
                writer.write(b"2\r\n%02d\r\n" % number)
                assert await read.get() == b"%02d" % number  # the next is written when this one has been read
            writer.write(b"0\r\n\r\n")

        async with house(answer) as it, client(it.url) as ours:
            assert await ours.pieces(told=read.put_nowait) == [b"00", b"01", b"02"]

    asyncio.run(run())


@pytest.mark.parametrize("tls", [False, True])
def test_a_connection_is_used_again(tls: bool) -> None:
    async def run() -> None:
        trusted = ssl.create_default_context(cafile=PEM)
        async with house(answer_shortly, tls=tls) as it, client(it.url, trusted=trusted) as ours:
            for _ in range(3):
                assert await ours.get("POST", b"") == b"ok"
            assert it.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_an_idle_connection_that_the_upstream_has_ended_is_not_used_again(last_words: bytes) -> None:
    async def run() -> None:
        ended = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SHORT + last_words)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            ended.set()

        async with house(answer) as it, client(it.url) as ours:
            for number in range(1, 4):
                assert await ours.get() == b"ok"
                await ended.wait()
                ended.clear()
                assert it.connections == number

    asyncio.run(run())


CHUNKED = HEAD + b"2\r\nok\r\n0\r\n\r\n"


def test_a_request_on_a_connection_that_ends_just_then_is_sent_on_another() -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SHORT)
            await writer.drain()
            await reader.readuntil(b"\r\n\r\n")  # the next request is never answered
            writer.close()

        async with house(answer) as it, client(it.url) as ours:
            for number in range(1, 4):
                assert await ours.get("POST", b"") == b"ok"
                assert it.connections == number

    asyncio.run(run())


def test_a_request_that_a_new_connection_does_not_answer_is_not_sent_twice() -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with house(answer) as it, client(it.url) as ours:
            with pytest.raises(UpstreamError):
                await ours.get("POST", b"")
            assert it.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("answered", [SHORT, CHUNKED])
@pytest.mark.parametrize("after", [SHORT.replace(b"ok", b"no"), CHUNKED.replace(b"ok", b"no")])
def test_a_second_answer_is_no_answer_to_the_next_request(answered: bytes, after: bytes) -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answered + after)

        async with house(answer) as it, client(it.url) as ours:
            for number in range(1, 4):
                assert await ours.get() == b"ok"
                assert it.connections == number

    asyncio.run(run())


@pytest.mark.parametrize("answered", [SHORT, CHUNKED])
@pytest.mark.parametrize("after", [b"HTTP/1.1", b"\0"])
def test_what_comes_after_an_answer_and_is_none_is_no_part_of_the_next_one(answered: bytes, after: bytes) -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answered + after)

        async with house(answer) as it, client(it.url) as ours:
            for _ in range(4):
                with suppress(UpstreamError):
                    assert await ours.get() == b"ok"

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("answered", [SHORT, CHUNKED, b"HTTP/1.1 204 No Content\r\n\r\n"])
def test_however_an_answer_is_cut_its_connection_is_used_again(answered: bytes, size: int) -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for start in range(0, len(answered), size):
                writer.write(answered[start : start + size])
                await writer.drain()
                await asyncio.sleep(0)

        async with house(answer) as it, client(it.url) as ours:
            for _ in range(3):
                await ours.get()
            assert it.connections == 1

    asyncio.run(run())


async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"5\r\nhello\r\n")
    await writer.drain()
    writer.close()


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"5\r\nhello\r\n")
    await writer.drain()
    linger = b"\1\0\0\0\0\0\0\0"  # on, for no time: closing resets
    writer.get_extra_info("socket").setsockopt(1, 13, linger)
    writer.transport.abort()


async def say_garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.org\r\n\r\n")


async def say_garbage_in_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"5\r\nhello\r\nno size\r\n")


async def send_what_is_not_compressed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello")


async def send_an_endless_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 1_000_000)


async def break_off_within_the_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nconte")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize(
    "answer",
    [
        break_off,
        break_off_within_the_head,
        reset,
        say_garbage,
        say_garbage_in_the_body,
        send_what_is_not_compressed,
        send_an_endless_head,
    ],
)
def test_an_answer_that_is_none_or_has_no_end_is_an_error(answer: Answer) -> None:
    async def run() -> None:
        async with house(answer) as it, client(it.url) as ours:
            with pytest.raises(UpstreamError, match="the upstream broke off the connection"):
                await ours.get()

    asyncio.run(run())


@pytest.mark.parametrize("header", [b"x: a\x01b", b"x y: 1", b"x: a\x7f"])
def test_an_answer_whose_headers_are_not_http_is_an_error(header: bytes) -> None:
    async def run() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n" + header + b"\r\ncontent-length: 2\r\n\r\nok")

        async with house(answer) as it, client(it.url) as ours:
            with pytest.raises(UpstreamError):
                await ours.get()

    asyncio.run(run())


@pytest.mark.parametrize("steps", range(12))
def test_who_is_cancelled_at_any_step_leaves_no_connection_that_nobody_will_use(steps: int) -> None:
    async def run() -> None:
        async with house(answer_shortly) as it, client(it.url) as ours:

            async def leave() -> None:
                for _ in range(steps):
                    await asyncio.sleep(0)
                group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(leave)
                group.start_soon(ours.get)
            assert await ours.get() == b"ok"  # on the same connection, or on another
            async with asyncio.timeout(20):
                while it.open > 1:
                    await asyncio.sleep(0)

    asyncio.run(run())


def test_an_upstream_that_is_not_there_cannot_be_reached() -> None:
    async def run() -> None:
        async with house(answer_shortly) as it:
            url = it.url
        async with client(url) as ours:
            with pytest.raises(UpstreamError, match="connection refused") as raised:
                await ours.get()
            assert raised.value.in_log == f"the upstream at {url} can't be reached: Connection refused"

    asyncio.run(run())


def test_an_upstream_that_takes_no_connection_is_not_waited_for() -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            address = full.getsockname()
            with socket.create_connection(address), socket.socket() as second:
                second.setblocking(False)
                second.connect_ex(address)  # the queue of those that wait is full now
                async with client(f"http://127.0.0.1:{address[1]}", timeout=0.2) as ours:
                    with pytest.raises(UpstreamError, match=r"took no connection within 0\.2 seconds") as caught:
                        await ours.get()
        assert caught.value.status == 504

    asyncio.run(run())


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async def run() -> None:
        async with house(answer_shortly, tls=True) as it, client(it.url) as ours:
            with pytest.raises(UpstreamError, match="its certificate is not trusted"):
                await ours.get()

    asyncio.run(run())


def test_an_upstream_is_not_read_faster_than_the_answer_is() -> None:
    async def run() -> None:
        written = 0
        full = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal written
            writer.write(HEAD)
            for _ in range(1000):
                writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                if writer.transport.get_write_buffer_size():
                    full.set()  # the kernel takes no more
                await writer.drain()
                written += 0x10000
            writer.write(b"0\r\n\r\n")

        async with house(answer) as it, client(it.url) as ours, ours.opened() as pieces:
            await full.wait()
            assert written < 32 * 2**20
            assert sum([len(piece) async for piece in pieces]) == 1000 * 0x10000

    asyncio.run(run())
