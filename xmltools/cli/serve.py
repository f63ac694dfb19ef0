"""The commands `serve` and `replay`: the proxy, and recordings played as an upstream.

What they need is imported when they run: it is not installed for everybody, and takes a while to load.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from xmltools.cli.shared import (
    UsageError,
    above_zero,
    add_also,
    add_dialect_options,
    chosen_dialect,
    chosen_others,
    number,
    size,
    tell,
    whole_number,
)
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line

_ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm")


def declare_serve(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools serve`."""
    add = parser.add_argument
    upstream = parser.add_mutually_exclusive_group(required=True)
    upstream.add_argument(
        "--upstream", metavar="URL", help="a server with OpenAI's chat completions, such as http://localhost:8000/v1"
    )
    upstream.add_argument("--demo", action="store_true", help="a scripted model in its place, to try things out")
    _declare_speed(parser, "how fast the demo speaks")
    _declare_address(parser, 8080, "; from elsewhere anybody may ask, unless there is a key: see --require-key-env")
    add(
        "--retry",
        dest="retries",
        metavar="N",
        type=whole_number(0, 10),
        default=1,
        help="tell the model what was wrong with a failed or missing call, up to N times (default: 1; 0: never)",
    )
    add(
        "--live-arguments",
        action="store_true",
        help="send calls as the model writes them, not when they are whole and right. One that fails then can't be "
        "tried again: the stream ends with an error, and a client must not run what it has of the call",
    )
    add(
        "--strict-calls",
        action="store_true",
        help="a call that needed a repair failed: it goes back to the model, and no client gets it. "
        "Clients are not told of repairs",
    )
    engines = f"{', '.join(_ENGINES[:-1])} or {_ENGINES[-1]}"
    add(
        "--grammar",
        dest="engine",
        metavar="ENGINE",
        choices=_ENGINES,
        help=f"send a grammar with each request, to {engines}",
    )
    add_dialect_options(
        parser,
        dialect="how the model writes its calls (see xmltools dialects; default: auto): auto asks llama.cpp and Ollama "
        "for the chat template, and goes by the name of the model in the request elsewhere; one that is not known is "
        "asked for Forge's, and calls in all dialects are read; MODEL=NAME: for this model, as clients name it; may be "
        "repeated",
        model="the model of the upstream, by its name on Hugging Face or its tokenizer_config.json: picks the dialect",
        several=True,
    )
    add(
        "--prompt",
        choices=("ours", "upstream"),
        default="ours",
        help="who tells the model of tools, calls and results: ours writes them into the messages, in the dialect; "
        "upstream has them as they are, writes them by its chat template, and must leave the model's calls in its text",
    )
    add_also(parser)
    add(
        "--upstream-tool-choice",
        choices=("auto", "none"),
        default="auto",
        help="with --prompt upstream, none sends tool_choice none, so that vLLM and llama.cpp give calls as text",
    )
    add(
        "--starts-in-reasoning",
        action="store_true",
        help="the chat template opens the model's reasoning, and the upstream does not tell it apart",
    )
    add(
        "--escape-users",
        action="store_true",
        help="escape what would begin a call, a result or a turn in messages of users too: for clients that put files "
        "or web pages into them",
    )
    add("--style", choices=("full", "compact"), default="full", help="how the instructions describe tools")
    add("--server-names", action="store_true", help="name the server of each tool, also where all are on one")
    add("--result-role", choices=("user", "tool"), default="user", help="the role of messages with results")
    add(
        "--keep-think",
        dest="split_reasoning",
        action="store_false",
        help="leave what the model writes in <think> in its text",
    )
    add(
        "--strict-requests",
        action="store_true",
        help="refuse what would be passed over: unknown fields of the Messages and Responses APIs, and tools that only "
        "the provider runs or that can't be read. Chat completions go to the upstream with all their fields",
    )
    add("--require-key-env", metavar="NAME", help="clients must send the key in this environment variable")
    add("--upstream-key-env", metavar="NAME", help="the upstream gets the key in this environment variable")
    for name, values, metavar, what in (
        (
            "origin",
            "origins",
            "ORIGIN",
            "let web pages of ORIGIN, such as https://app.example, use the server; * lets all; may be repeated",
        ),
        ("host", "hosts", "NAME", "a name under which the server is reached, as in the Host header; may be repeated"),
    ):
        add(f"--allow-{name}", dest=values, metavar=metavar, action="append", default=[], help=what)
    add("--max-body", metavar="BYTES", type=size, default=16 << 20, help="size of a request (default: 16 MiB)")
    streams = "requests to a model that may be open at once, streams or not (default: 1000; 0: any number)"
    add("--max-streams", metavar="N", type=whole_number(0, 99_999), default=1000, help=streams)
    workers = "processes that serve at the one port, each with limits and metrics of its own (default: 1)"
    add("--workers", metavar="N", type=whole_number(1, 64), default=1, help=workers)
    first = "from a request to the upstream until it begins to answer, connecting included"
    for name, seconds, what in (
        ("connect-timeout", 10.0, "until the upstream takes the connection"),
        ("timeout", 600.0, f"{first}; if it does not stream, that is the whole generation"),
        ("idle-timeout", 120.0, "between two pieces of an answer"),
        ("keepalive", 15.0, "until a streaming client that was sent nothing is told that we are here"),
        ("grace", 30.0, "that open streams may go on when the server is stopped"),
    ):
        field = "first_byte_timeout" if name == "timeout" else name.replace("-", "_")
        what = f"{what} (default: {seconds:g})"
        add(
            f"--{name}",
            dest=field,
            metavar="SECONDS",
            type=number if name == "grace" else above_zero,
            default=seconds,
            help=what,
        )
    add("--record", metavar="DIR", type=Path, help="keep all that the upstream says in this folder; replay plays it")
    add("--live", action="store_true", help="show what passes through at /live, to debug calls")
    add("--log-format", choices=("text", "json"), default="text", help="how each request is logged (default: text)")


def _declare_speed(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--speed", metavar="X", type=number, default=1.0, help=f"{what}: 2 is twice as fast, 0 does not wait"
    )


def _declare_address(parser: argparse.ArgumentParser, port: int, note: str = "") -> None:
    add = parser.add_argument
    add("--host", metavar="HOST", default="127.0.0.1", help=f"where to listen (default: only for this machine){note}")
    add(
        "--port",
        metavar="N",
        type=whole_number(0, 65535),
        default=port,
        help=f"default: {port}; 0 takes any that is free",
    )


def serve(options: argparse.Namespace) -> int:
    """Run `xmltools serve`. Returns the exit status."""
    run: Callable[..., int] = load("xmltools.proxy.server").run
    config = _config(options)
    if config.api_key is None and not config.is_loopback:
        warning = f"whoever reaches {config.host} can use the upstream, since no key is asked for"
        advice = "set --require-key-env, or listen at 127.0.0.1"
        tell(f"xmltools: warning: {warning}; {advice}", flush=True)
    try:
        return run(config, log_format=options.log_format)
    except XMLToolsError as error:
        raise XMLToolsError(as_typed(str(error))) from None


def _config(options: argparse.Namespace) -> Any:
    from xmltools.proxy.bridge import Settings
    from xmltools.proxy.server import ServeConfig

    given = vars(options) | {
        "api_key": read_key(options.require_key_env, "--require-key-env"),
        "upstream_key": read_key(options.upstream_key_env, "--upstream-key-env"),
        **_chosen_dialects(options),
        "also": chosen_others(options),
        "origins": tuple(options.origins),
        "hosts": tuple(options.hosts),
    }

    def made(kind: Any) -> Any:
        return kind(**{field.name: given[field.name] for field in fields(kind) if field.name in given})

    try:
        given["settings"] = made(Settings)
        return made(ServeConfig)
    except XMLToolsError as error:
        raise UsageError(as_typed(str(error))) from None


def _chosen_dialects(options: argparse.Namespace) -> dict[str, Any]:
    """Return the dialect, and those of single models. Raises `UsageError` for what is given twice."""
    plain = [each for each in options.dialect if "=" not in each]
    pairs = [each.rpartition("=")[::2] for each in options.dialect if "=" in each]
    if len(plain) > 1:
        raise UsageError(
            f"--dialect: expected one NAME for all models, got {_listed(plain)}; give others as MODEL=NAME"
        )
    for model in dict(pairs):
        if len(names := [name for each, name in pairs if each == model]) > 1:
            raise UsageError(f"--dialect: expected one NAME for {model!r:.80}, got {_listed(names)}; leave one out")
    chosen = argparse.Namespace(dialect=plain[0] if plain else None, model=options.model)
    return {"dialect": chosen_dialect(chosen, default="auto"), "dialects": tuple(pairs)}


def _listed(names: list[str]) -> str:
    return " and ".join(f"{name:.80}" for name in names)


_OPTIONS = {
    "engine": "--grammar",
    "upstream_key": "--upstream-key-env",
    "api_key": "--require-key-env",
    "hosts": "--allow-host",
    "origins": "--allow-origin",
    "dialects": "--dialect",
    "upstream_tool_choice": "--upstream-tool-choice",
    "server_names": "--server-names",
    "strict_calls": "--strict-calls",
    **{name: f"--{name}" for name in ("prompt", "upstream", "dialect", "style", "also", "speed", "live", "workers")},
}
"""Options, by the fields that errors about them name."""


def as_typed(message: str) -> str:
    """Return what is wrong with a field of `Settings` or `ServeConfig` in the words of the command line."""
    names = "|".join(_OPTIONS)
    message = re.sub(rf"\b({names})='([^']*)'", lambda found: f"{_OPTIONS[found[1]]} {found[2]}", message)
    message = re.sub(rf"^({names})(?=:)", lambda found: _OPTIONS[found[1]], message)
    return re.sub(r"\b(upstream_key|api_key)\b", lambda found: _OPTIONS[found[1]], message)


def read_key(name: str | None, option: str) -> str | None:
    """Return the key in an environment variable. Raises `UsageError`, which names the option, if there is none."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        raise UsageError(f"{option}: the environment variable {name!r:.60} is empty or not set")
    return key


def load(name: str) -> Any:
    """Return a module that needs the extra `serve`. Raises `UsageError`, with the line to install it, without that."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("xmltools"):
            raise
        raise UsageError(f"this command needs the library {error.name}: {install_line('serve')}") from None


def declare_replay(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools replay`."""
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="what serve --record kept, or its folder")
    _declare_address(parser, 8081)
    _declare_speed(parser, "how fast they are played")


def replay(options: argparse.Namespace) -> int:
    """Run `xmltools replay`. Returns the exit status."""
    run_app: Callable[..., int] = load("xmltools.proxy.server").run_app

    def report(line: str) -> None:
        tell(f"xmltools: {line}", flush=True)

    app = load("xmltools.proxy.recordings").Replay(options.files, speed=options.speed, tell=report)
    return run_app(app, options.host, options.port, "plays what was recorded")
