"""From an address to a function: http://HOST:PORT/MODEL, cmd:COMMAND, LIB.so:DECLARATION, MODEL.fmu."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from typing import Any

from ...errors import GradcliError
from ...request import Request
from ..claim import Arrays, Claim
from . import LIBRARY, REMOTE, SERVERS, is_fmu

ANSWER_SECONDS = 60.0
"""How long one answer may take, unless --timeout says it."""


def answer_seconds(request: Request) -> float:
    return request.timeout or ANSWER_SECONDS


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    """Return what makes the function at an address from values of its inputs; all use one connection or process.

    Raises GradcliError for an address that cannot be, and for options that have no meaning there.
    """
    library = LIBRARY.match(text)
    if library and not text.startswith(REMOTE):
        return open_library(library["path"], library["declaration"], request)
    for name in ("grad", "vjp", "jvp"):
        if getattr(request, name) is not None:
            raise GradcliError(f"--{name}: {text} says itself what its derivative is", kind="usage")
    if text.startswith("cmd:"):
        return open_process(text, request)
    if is_fmu(text):
        return open_fmu(text, request)
    return open_server(text, request)


def refuse_to_execute(text: str) -> None:
    """Raise GradcliError, under --safe, for an address whose code would run on this machine."""
    if not text.startswith(SERVERS):
        raise GradcliError(f"--safe: {text} would have to be executed", kind="usage")


def open_library(path: str, declaration: str, request: Request) -> Callable[[Arrays], Claim]:
    from .library import Library
    from .library import host_library as host

    if not os.path.isfile(path):
        raise GradcliError(f"no such file: {path}", kind="file")
    refuse_config(request, path)
    process = host(path, answer_seconds(request))
    return lambda inputs: Library(path, declaration, inputs, process, request)


def open_fmu(path: str, request: Request) -> Callable[[Arrays], Claim]:
    from .library import Fmu
    from .library import host_fmu as host

    refuse_config(request, path)
    process = host(path, answer_seconds(request))
    return lambda inputs: Fmu(path, inputs, process, request)


def open_process(text: str, request: Request) -> Callable[[Arrays], Claim]:
    from .http import UmBridge
    from .process import Process

    try:
        words = shlex.split(text.removeprefix("cmd:"))
    except ValueError as error:
        raise GradcliError(f"{text}: {error}", kind="usage") from None
    if not words:
        raise GradcliError(f"{text} names no command", hint="write cmd:COMMAND", kind="usage")
    process, config = Process(words, text, answer_seconds(request)), read_config(request)
    return lambda inputs: UmBridge(text, process.ask, process.close, inputs, config, request)


def open_server(text: str, request: Request) -> Callable[[Arrays], Claim]:
    """Return what makes the function of a server: an UM-Bridge model, or a Tesseract where none is named."""
    from .http import Server

    server = Server(text, answer_seconds(request))
    if not server.model:
        from .tesseract import Tesseract

        refuse_config(request, text)
        return lambda inputs: Tesseract(text, server, inputs, request)
    from .http import UmBridge

    def ask(method: str, body: dict[str, Any]) -> Any:
        return server.post(f"/{method}", body)

    config = read_config(request)
    return lambda inputs: UmBridge(text, ask, server.close, inputs, config, request, server.model)


def read_config(request: Request) -> dict[str, Any]:
    """Return the object that --config holds. Raises GradcliError for anything else."""
    if request.config is None:
        return {}
    try:
        config = json.loads(request.config)
    except (ValueError, RecursionError) as error:
        raise GradcliError(f"--config is no JSON: {error}", kind="usage") from None
    if not isinstance(config, dict):
        raise GradcliError("--config is no JSON object", hint="for example --config '{\"level\": 2}'", kind="usage")
    return config


def refuse_config(request: Request, text: str) -> None:
    """Raise GradcliError where a config has no use."""
    if request.config is not None:
        raise GradcliError(f"--config: {text} takes none; UM-Bridge models do", kind="usage")
