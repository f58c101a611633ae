"""From an address to a function: http://HOST:PORT/MODEL, cmd:COMMAND, LIB.so:DECLARATION, MODEL.fmu."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import GradcliError
from ..claim import Arrays, Claim
from . import LIBRARY, REMOTE, SERVERS, is_fmu

ANSWER_SECONDS = 60.0


class CallOptions(NamedTuple):
    """What a call of the command asks of a function elsewhere.

    grad, vjp, jvp: declarations of derivatives in C. shapes: of outputs. out, wrt: the output that is meant, and the
    inputs to differentiate. config: JSON for a model. timeout: seconds for one answer, ANSWER_SECONDS unless given.
    """

    grad: str | None = None
    vjp: str | None = None
    jvp: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = {}
    out: str | None = None
    wrt: Sequence[str] | None = None
    config: str | None = None
    timeout: float | None = None

    @property
    def seconds(self) -> float:
        """How long one answer may take."""
        return self.timeout or ANSWER_SECONDS


def open_address(text: str, options: CallOptions) -> Callable[[Arrays], Claim]:
    """Return what makes the function at an address from values of its inputs; all use one connection or process.

    Raises GradcliError for an address that cannot be, and for options that have no meaning there.
    """
    library = LIBRARY.match(text)
    if library and not text.startswith(REMOTE):
        return open_library(library["path"], library["declaration"], options)
    for name in ("grad", "vjp", "jvp"):
        if getattr(options, name) is not None:
            raise GradcliError(f"--{name}: {text} says itself what its derivative is", kind="usage")
    if text.startswith("cmd:"):
        return open_process(text, options)
    if is_fmu(text):
        return open_fmu(text, options)
    return open_server(text, options)


def refuse_to_execute(text: str) -> None:
    """Raise GradcliError, under --safe, for an address whose code would run on this machine."""
    if not text.startswith(SERVERS):
        raise GradcliError(f"--safe: {text} would have to be executed", kind="usage")


def open_library(path: str, declaration: str, options: CallOptions) -> Callable[[Arrays], Claim]:
    from .library import Library
    from .library import host_library as host

    if not os.path.isfile(path):
        raise GradcliError(f"no such file: {path}", kind="file")
    refuse_config(options, path)
    process = host(path, options.seconds)
    return lambda inputs: Library(path, declaration, inputs, process, options)


def open_fmu(path: str, options: CallOptions) -> Callable[[Arrays], Claim]:
    from .library import Fmu
    from .library import host_fmu as host

    refuse_config(options, path)
    process = host(path, options.seconds)
    return lambda inputs: Fmu(path, inputs, process, options)


def open_process(text: str, options: CallOptions) -> Callable[[Arrays], Claim]:
    from .http import UmBridge
    from .process import Process

    try:
        words = shlex.split(text.removeprefix("cmd:"))
    except ValueError as error:
        raise GradcliError(f"{text}: {error}", kind="usage") from None
    if not words:
        raise GradcliError(f"{text} names no command", hint="write cmd:COMMAND", kind="usage")
    process, config = Process(words, text, options.seconds), read_config(options)
    return lambda inputs: UmBridge(text, process.ask, process.close, inputs, config, options)


def open_server(text: str, options: CallOptions) -> Callable[[Arrays], Claim]:
    """Return what makes the function of a server: an UM-Bridge model, or a Tesseract where none is named."""
    from .http import Server

    server = Server(text, options.seconds)
    if not server.model:
        from .tesseract import Tesseract

        refuse_config(options, text)
        return lambda inputs: Tesseract(text, server, inputs, options)
    from .http import UmBridge

    def ask(method: str, body: dict[str, Any]) -> Any:
        return server.post(f"/{method}", body)

    config = read_config(options)
    return lambda inputs: UmBridge(text, ask, server.close, inputs, config, options, server.model)


def read_config(options: CallOptions) -> dict[str, Any]:
    """Return the object that --config holds. Raises GradcliError for anything else."""
    if options.config is None:
        return {}
    try:
        config = json.loads(options.config)
    except (ValueError, RecursionError) as error:
        raise GradcliError(f"--config is no JSON: {error}", kind="usage") from None
    if not isinstance(config, dict):
        raise GradcliError("--config is no JSON object", hint="for example --config '{\"level\": 2}'", kind="usage")
    return config


def refuse_config(options: CallOptions, text: str) -> None:
    """Raise GradcliError where a config has no use."""
    if options.config is not None:
        raise GradcliError(f"--config: {text} takes none; UM-Bridge models do", kind="usage")
