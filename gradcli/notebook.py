"""Notebooks: the graph of a tensor, backward step by step, and the cell magics of `%load_ext gradcli`.

`gradcli.graph(y)` shows the graph of y, `gradcli.trace(y)` the steps of backward from y. `%%grad` runs a cell and shows
values, gradients and graph of its last line, or of the tensor that it ran backward on. `%%gradcheck` runs the checks
that its cell declares:

    %%gradcheck
    @gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 2 * x)
    def square(x):
        return (x**2).sum()

The cell runs like any other, and its reports follow, as HTML if possible.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results.base import Gradients
    from .results.checks import CheckSummary
    from .results.graphs import Graph


def graph(output: Any) -> Graph:
    """Return the graph of a tensor; notebooks draw it. Raises RuntimeError if the tensor has none.

    .. versionadded:: 0.2.0
    """
    from .analysis.graph import describe_graph, recorded_run, variables

    if output._node is None:
        raise RuntimeError("this tensor has no graph: it depends on nothing that requires grad")
    return describe_graph("", recorded_run(variables(), output), [output._node])


def trace(output: Any) -> Any:
    """Return the steps of backward from a recorded number; notebooks show a page. No `.grad` changes.

    For a matrix, return the sum of its diagonal, as in PyTorch.

    .. versionadded:: 0.2.0
    """
    from .api.index import trace

    if output.ndim == 2 or output._node is None:
        return trace(output)
    from .analysis.graph import variables
    from .analysis.trace import trace_recorded

    return trace_recorded(output, variables())


def load_ipython_extension(shell: Any) -> None:
    """Register the magics with an IPython shell; IPython calls this for `%load_ext gradcli`.

    .. versionadded:: 0.1.0
    """

    def grad(line: str, cell: str) -> None:
        """Run a cell, and show values, gradients and graph of its result. Raises UsageError if it has none."""
        from IPython.display import display

        from .results.formats import Style, render

        found = differentiate_cell(shell, line, cell)
        if found is not None:
            html, text = (render(found[0], form, Style()) for form in ("notebook", "tsv"))
            display({"text/html": html, "text/plain": text}, raw=True)
            display(found[1])

    def gradcheck(line: str, cell: str) -> None:
        """Run a cell, and show the reports on the checks that it declares. Raises UsageError if it declares none."""
        from IPython.display import display

        from .results.formats import Style, render

        summary = check_cell(shell, line, cell)
        if summary is not None:
            display({"text/html": summary._repr_html_(), "text/plain": render(summary, "tsv", Style())}, raw=True)

    shell.register_magic_function(grad, "cell")
    shell.register_magic_function(gradcheck, "cell")


def differentiate_cell(shell: Any, line: str, cell: str) -> tuple[Gradients, Graph] | None:
    """Run a cell and return gradients and graph of its result; None if it raised. Raises UsageError."""
    from IPython.core.error import UsageError

    from .analysis.gradient import describe_input, run_backward
    from .analysis.graph import describe_graph, recorded_run, watching
    from .errors import GradcliError
    from .request import Request
    from .results.base import Gradients
    from .tape.backward import reachable
    from .tape.tensor import Tensor

    passes: list[Any] = []
    with watching(lambda which, _: passes.append(which)):
        done = shell.run_cell(cell)
    if not done.success:
        return None  # the shell has shown why
    output = None if passes else done.result
    if not passes and (not isinstance(output, Tensor) or output._node is None):
        raise UsageError("%%grad: the cell's last line is not a tensor that depends on one with requires_grad")
    run = recorded_run(shell.user_ns, output)
    roots = passes[-1].roots if passes else [output._node]  # type: ignore[union-attr]
    reached = {id(node.variable) for node in reachable(roots) if node.leaf}
    leaves = {name: x for name, x in run.leaves.items() if id(x) in reached}
    picture = describe_graph("", run, roots, passes[-1].leaves if passes else None)
    if output is not None:
        for leaf in leaves.values():
            leaf._grad = None
        try:
            run_backward(output, Request())
        except GradcliError as error:
            raise UsageError(f"%%grad: {error.message}; take the sum or one element") from None
    inputs = tuple(describe_input(run, name, leaf, True) for name, leaf in leaves.items())
    value = None if output is None else output.detach().numpy()
    return Gradients("notebook", value, inputs, {}), picture


def check_cell(shell: Any, line: str, cell: str) -> CheckSummary | None:
    """Run a cell and return the reports on its checks; None if it raised. Raises UsageError."""
    from IPython.core.error import UsageError

    if line.strip():
        raise UsageError("%%gradcheck takes no options; pass them to @gradcli.check(...)")
    from .check.declare import REGISTRY
    from .results.checks import CheckSummary

    before = len(REGISTRY)
    if not shell.run_cell(cell).success:
        return None  # the shell has shown why
    checks = REGISTRY[before:]
    if not checks:
        raise UsageError("this cell declares no checks: put @gradcli.check(at=..., grad=...) above a function")
    start = time.perf_counter()
    reports = [replace(check.run(), file=None, line=None, replay=None) for check in checks]  # a cell is not a file
    return CheckSummary("notebook", tuple(reports), time.perf_counter() - start)
