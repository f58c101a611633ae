"""Running a program under observation: its graph, its modules, and every time it runs backward."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError, Span
from ..program.base import Program, Run
from ..tape import backward as engine
from ..tape.provenance import Observed, calling_frame, observation_of
from ..tape.record import recording
from ..tape.tensor import Tensor
from ..tape.walk import reachable
from .gradient import Request, run_backward, run_for


class ObservedPass:
    """One run of backward: how it was called, the nodes it started at, and from where.

    line: of the call. names: the tensors that had names there and then. leaves: their values at that time.
    """

    def __init__(self, kind: str, roots: list[Any], frame: Any):
        self.kind = kind
        self.roots = roots
        self.leaves = {node: value_of(node) for node in reachable(roots) if node.leaf}
        self.line: int | None = None if frame is None else frame.f_lineno
        variables = {} if frame is None else {**frame.f_globals, **frame.f_locals}
        self.names = {name: x for name, x in variables.items() if isinstance(x, Tensor)}


OnStart = Callable[[ObservedPass, list[Any]], None]
"""Called before each run of backward, with the nodes of its graph."""


@contextlib.contextmanager
def watching(on_start: OnStart) -> Iterator[None]:
    """Observe what is recorded and run backward inside the block, and in which modules."""
    from ..nn.modules import module as modules

    inside: list[Any] = []

    def enter(module: Any, _: Any) -> None:
        inside.append(module)

    def leave(*_: Any) -> None:
        inside.pop()

    def see(kind: str, outputs: tuple) -> None:
        roots = [x._node for x in outputs if isinstance(x, Tensor) and x._node is not None]
        on_start(ObservedPass(kind, roots, calling_frame()), reachable(roots))

    handles = [
        modules.register_module_forward_pre_hook(enter),
        modules.register_module_forward_hook(leave, always_call=True),
    ]
    engine.before_backward.append(see)
    try:
        with recording(Observed(lambda: tuple(inside))):
            yield
    finally:
        engine.before_backward.remove(see)
        for handle in handles:
            handle.remove()


def watch_program(
    program: Program,
    given: Mapping[str, np.ndarray],
    request: Request,
    on_start: OnStart,
    differentiate: bool = True,
) -> Run:
    """Run a program under observation, and backward from its output if it did not run that itself.

    Raises GradcliError for an output that no gradient flows from.
    """
    with watching(on_start):
        run = run_for(program, given, request)
        if run.output is not None:
            if run.output._node is None:
                raise GradcliError(
                    "the output depends on no input, so there is no graph",
                    hint="check --wrt and --out, and that nothing was detached",
                    kind="name",
                )
            if differentiate:
                run_backward(run.output, request)
    return run


def public_nodes(roots: list[Any]) -> list[Any]:
    """Return the nodes that users see behind the roots, in the order they were made."""
    return list(dict.fromkeys(node.public for node in reachable(roots)))


def module_paths(run: Run) -> dict[int, str]:
    """Return the path, such as net.0, of every module that a run's names lead to, by the module's id."""
    if "gradcli.nn.modules.module" not in sys.modules:
        return {}
    paths: dict[int, str] = {}
    for name, value in run.modules.items():
        for path, module in value.named_modules(prefix=name):
            if path:
                paths.setdefault(id(module), path)
    return paths


def is_only_line(span: Span) -> bool:
    """Return whether a place is in a text of one line, so that its number says nothing."""
    return span.origin is None and "\n" not in span.source.strip()


def value_of(node: Any) -> Any:
    """Return the value of a node's (first) output (of a leaf: at present), None where it was not observed."""
    if node.leaf:
        return np.array(node.variable._data)
    result = getattr(observation_of(node), "result", None)
    return result[0] if isinstance(result, tuple) else result
