"""Notebooks: `%load_ext gradcli`, and the cell magic `%%gradcheck`, which checks what its cell declares.

    %%gradcheck
    @gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 2 * x)
    def square(x):
        return (x**2).sum()

The cell runs as any other, and its reports follow, as HTML where that can be seen.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from .check.declare import REGISTRY
from .show.check_results import CheckSummary


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the magic; IPython calls this for `%load_ext gradcli`."""

    def gradcheck(line: str, cell: str) -> None:
        """Run a cell, and show the reports on the checks that it declares. Raises UsageError where there are none."""
        from IPython.display import display

        from .show import Style, render

        summary = check_cell(shell, line, cell)
        if summary is not None:  # as HTML where that can be seen, else as lines of text
            display({"text/html": summary._repr_html_(), "text/plain": render(summary, "tsv", Style())}, raw=True)

    shell.register_magic_function(gradcheck, "cell")


def check_cell(shell: Any, line: str, cell: str) -> CheckSummary | None:
    """Run a cell and return the reports on its checks; None where it raised. Raises UsageError."""
    from IPython.core.error import UsageError

    if line.strip():
        raise UsageError("%%gradcheck takes no options; those of a check stand in @gradcli.check(...)")
    before = len(REGISTRY)
    if not shell.run_cell(cell).success:
        return None  # the shell has shown why
    checks = REGISTRY[before:]
    if not checks:
        raise UsageError("this cell declares no checks: put @gradcli.check(at=..., grad=...) above a function")
    start = time.perf_counter()
    reports = [replace(check.run(), file=None, line=None, replay=None) for check in checks]  # a cell is no file
    return CheckSummary("notebook", tuple(reports), time.perf_counter() - start)
