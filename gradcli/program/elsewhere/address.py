"""From an address to a function: http://HOST:PORT/MODEL, cmd:COMMAND, LIB.so:DECLARATION, MODEL.fmu."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import GradcliError
from . import LIBRARY, REMOTE, SERVERS, is_fmu
from .base import Arrays, Elsewhere


class Wishes:
    """What a call of the command asks of a function elsewhere.

    grad, vjp, jvp: declarations of derivatives in C. shapes: of outputs. out, wrt: the output that is meant, and the
    inputs to differentiate. config: JSON for a model. timeout: seconds for one answer.
    """

    def __init__(
        self,
        *,
        grad: str | None = None,
        vjp: str | None = None,
        jvp: str | None = None,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        out: str | None = None,
        wrt: Sequence[str] | None = None,
        config: str | None = None,
        timeout: float | None = None,
    ):
        self.derivatives = {"grad": grad, "vjp": vjp, "jvp": jvp}
        self.shapes, self.out, self.wrt, self.config = shapes or {}, out, wrt, config
        self.timeout = timeout or 60.0


def open_address(text: str, wishes: Wishes) -> Callable[[Arrays], Elsewhere]:
    """Return what makes the function at an address from values of its inputs; all use one connection or process.

    Raises GradcliError for an address that cannot be, and for wishes that have no meaning there.
    """
    library = LIBRARY.match(text)
    if library and not text.startswith(REMOTE):
        return open_library(library["path"], library["declaration"], wishes)
    for name, declaration in wishes.derivatives.items():
        if declaration is not None:
            raise GradcliError(f"--{name}: {text} says itself what its derivative is", kind="usage")
    if text.startswith("cmd:"):
        return open_process(text, wishes)
    if is_fmu(text):
        return open_fmu(text, wishes)
    return open_server(text, wishes)


def refuse_to_execute(text: str) -> None:
    """Raise GradcliError, under --safe, for an address whose code would run on this machine."""
    if not text.startswith(SERVERS):
        raise GradcliError(f"--safe: {text} would have to be executed", kind="usage")


def open_library(path: str, declaration: str, wishes: Wishes) -> Callable[[Arrays], Elsewhere]:
    """Return what makes a function of a shared library."""
    from .library import Library, host

    if not os.path.isfile(path):
        raise GradcliError(f"no such file: {path}", kind="file")
    refuse_config(wishes, path)
    process = host(path, wishes.timeout)

    def make(inputs: Arrays) -> Elsewhere:
        return Library(
            path,
            declaration,
            inputs,
            process,
            **wishes.derivatives,
            shapes=wishes.shapes,
            out=wishes.out,
            wrt=wishes.wrt,
        )

    return make


def open_fmu(path: str, wishes: Wishes) -> Callable[[Arrays], Elsewhere]:
    """Return what makes the function of a Functional Mock-up Unit."""
    from .fmu import Fmu, host

    refuse_config(wishes, path)
    process = host(path, wishes.timeout)
    return lambda inputs: Fmu(path, inputs, process, out=wishes.out, wrt=wishes.wrt)


def open_process(text: str, wishes: Wishes) -> Callable[[Arrays], Elsewhere]:
    """Return what makes the function of a process."""
    from .process import Process
    from .umbridge import UmBridge

    try:
        words = shlex.split(text.removeprefix("cmd:"))
    except ValueError as error:
        raise GradcliError(f"{text}: {error}", kind="usage") from None
    if not words:
        raise GradcliError(f"{text} names no command", hint="write cmd:COMMAND", kind="usage")
    process, config = Process(words, text, wishes.timeout), read_config(wishes)

    def make(inputs: Arrays) -> Elsewhere:
        return UmBridge(text, process.ask, inputs, config=config, out=wishes.out, wrt=wishes.wrt, close=process.close)

    return make


def open_server(text: str, wishes: Wishes) -> Callable[[Arrays], Elsewhere]:
    """Return what makes the function of a server: an UM-Bridge model, or a Tesseract where none is named."""
    from .http import Server

    server = Server(text, wishes.timeout)
    model = server.model
    if model:
        from .umbridge import UmBridge

        config = read_config(wishes)

        def make(inputs: Arrays) -> Elsewhere:
            return UmBridge(
                text,
                lambda method, body: server.post(f"/{method}", body),
                inputs,
                model=model,
                config=config,
                out=wishes.out,
                wrt=wishes.wrt,
                close=server.close,
            )

        return make
    from .tesseract import Tesseract

    refuse_config(wishes, text)
    return lambda inputs: Tesseract(text, server, inputs, out=wishes.out, wrt=wishes.wrt)


def read_config(wishes: Wishes) -> dict[str, Any]:
    """Return the object that --config holds. Raises GradcliError for anything else."""
    if wishes.config is None:
        return {}
    try:
        found = json.loads(wishes.config)
    except (ValueError, RecursionError) as error:
        raise GradcliError(f"--config is no JSON: {error}", kind="usage") from None
    if not isinstance(found, dict):
        raise GradcliError("--config is no JSON object", hint="for example --config '{\"level\": 2}'", kind="usage")
    return found


def refuse_config(wishes: Wishes, text: str) -> None:
    """Raise GradcliError where a config has no use."""
    if wishes.config is not None:
        raise GradcliError(f"--config: {text} takes none; UM-Bridge models do", kind="usage")
