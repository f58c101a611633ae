"""Checks of functions behind HTTP, in processes and in libraries: the command line's addresses."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.arguments import check_known
from ..program.claim import Arrays, CallError, Claim, GoneError
from ..program.elsewhere.address import open_address, refuse_to_execute
from ..program.target import Target
from ..request import Request
from ..show.check_results import CheckReport
from .check import Check, replay_command


class RemoteCheck(Check):
    """The check of the derivative that an address gives. make: the function, from values of its inputs."""

    bounds_answers = True

    def __init__(self, make: Callable[[Arrays], Claim], at: Mapping[str, Any], **options: Any):
        super().__init__(make, at, **options)
        self.make = make
        self.program: Claim | None = None

    def claim(self, at: Mapping[str, Any]) -> Claim:
        if self.request.order != 1:
            raise CallError("order=2 needs a function of Tensors; this one runs elsewhere")
        self.program = self.make({name: np.asarray(x) for name, x in at.items()})
        self.program.wrt = self.program.wrt if self.request.wrt is None else list(self.request.wrt)
        return self.program

    def run(self) -> CheckReport:
        try:
            return super().run()
        finally:
            if self.program is not None:
                self.program.close()


class DeclaredAddress(RemoteCheck):
    """The check of an address that a file declares: opened when it is first run."""

    bounds_answers = False

    def __init__(self, text: str, at: Any, *, name: str | None = None, config: Any = None, **options: Any):
        """Note what is asked: grad, vjp, jvp are declarations in C, config is what a model is called with."""
        declarations = {key: options.pop(key) for key in ("grad", "vjp", "jvp") if key in options}
        document = None if config is None else json.dumps(config)

        @functools.cache
        def opened() -> Callable[[Arrays], Claim]:
            return open_address(text, self.request._replace(**declarations))

        def make(inputs: Arrays) -> Claim:
            return opened()(inputs)

        super().__init__(make, at, name=name or text, config=document, **options)


def of_address(target: Target, request: Request) -> Check | CheckReport:
    """Return the check of what is at an address; a report when it cannot be reached.

    Raises GradcliError for inputs that it does not have, or that are missing.
    """
    text = target.text
    if request.safe:
        refuse_to_execute(text)
    if request.argv:
        raise GradcliError(f"{text} takes no arguments after --", hint="put them into cmd:", kind="usage")
    start = time.perf_counter()
    rng = np.random.default_rng(request.seed)
    own, outputs = sort_shapes(text, request.shapes)
    make = open_address(text, request._replace(shapes=outputs))
    try:
        program = make({**request.values, **{name: rng.standard_normal(shape) for name, shape in own.items()}})
    except (CallError, GoneError) as error:
        return CheckReport(text, None, None, "error", time.perf_counter() - start, message=str(error))
    if not (program.has_pull or program.has_push):
        raise GradcliError(
            f"{program.title}: a function of a library is checked against a derivative from it",
            hint=f"add {getattr(program, 'advice', '--grad')}",
            kind="usage",
        )
    if request.wrt is not None:
        check_known(request.wrt, program.at, "--wrt")
    own_derivative = request._replace(grad=None, vjp=None, jvp=None)
    check = RemoteCheck(make, {**request.values, **own}, request=own_derivative, name=text)
    check.replay, check.program = replay_command(target, request), program
    return check


def sort_shapes(text: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shapes of inputs, and those of outputs, which only functions of a library are told."""
    from ..program.elsewhere import LIBRARY

    library, names = LIBRARY.match(text), set()
    if library is not None:
        from ..program.elsewhere.library import read_declaration

        names = {p.name for p in read_declaration(library["declaration"]).parameters if p.kind == "output"}
    outputs = {name: shape for name, shape in shapes.items() if name in names}
    return {name: shape for name, shape in shapes.items() if name not in names}, outputs
