"""The checks of programs that gradcli's engine differentiates: expressions, scripts and functions of Tensors."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...program.expression import ExpressionProgram
from ...program.function import FunctionProgram
from ...program.parameters import check_known
from ...program.script import ScriptProgram
from ...program.target import Target, load_program, read_source
from ...results.checks import CheckReport
from ..check import Check
from ..subjects.script import ScriptCheck, leaves_of
from .request import Wanted, surroundings_of, with_options


def of_program(target: Target, wanted: Wanted) -> Check | CheckReport:
    """Return the check of the engine's derivative of a program; a report when the program raises."""
    path, home = target.text.partition(":")[0], surroundings_of(target)
    where: dict[str, Any] = {
        "name": target.text,
        "file": path if not target.inline and os.path.exists(path) else None,
        "replay": wanted.replay(target),
    }
    rng = np.random.default_rng(wanted.options.get("seed", 0))
    start = time.perf_counter()
    try:
        with home:
            program = load_program(target)
            drawn = {name: rng.standard_normal(shape) for name, shape in wanted.shapes.items()}
            given = {**wanted.values, **drawn}
            if isinstance(program, ScriptProgram):
                function, at = None, leaves_of(program, given, wanted.out)
            else:
                if isinstance(program, FunctionProgram):
                    program.apart = True
                function, at = program.as_function(given, wanted.out)
    except GradcliError as error:
        if error.exit_code != EXIT_TARGET:
            text = read_source(path) if path.endswith(".py") and error.kind == "target" else "gradcli"
            if ("gradcli" not in text and "torch" not in text) or ("requires_grad" not in text and "def " in text):
                error.hint = (
                    f"to check a gradient written by hand: gradcli gradcheck {path}:FUNCTION --grad GRADIENT x=2"
                )
            raise
        return CheckReport(
            target.text,
            where["file"],
            None,
            "error",
            time.perf_counter() - start,
            message=error.message,
            hint=error.hint,
        )
    if not at:
        raise GradcliError("the program has no inputs, so there is nothing to check", kind="name")
    if wanted.wrt is not None:
        check_known(wanted.wrt, at, "--wrt")
    points: dict[str, Any] = {**at, **{name: wanted.shapes[name] for name in wanted.shapes if name in at}}
    if isinstance(program, ScriptProgram):
        return with_options(ScriptCheck(program, points, out=wanted.out, wrt=wanted.wrt, **where), wanted)
    assert function is not None
    check = with_options(Check(function, points, wrt=wanted.wrt, **where), wanted)
    check.surroundings = home
    if isinstance(program, ExpressionProgram):
        check.source = program.parsed.source.replace("^", "**")
    check.origin = getattr(program, "module", None) or getattr(program, "function", function)
    return check
