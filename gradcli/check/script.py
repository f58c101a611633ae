"""Checks of what gradcli's engine differentiates: expressions, functions of Tensors, scripts executed anew."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import EXIT_TARGET, GradcliError, check_known
from ..program.claim import Claim, second_order
from ..program.detect_framework import framework_imported
from ..program.expression import ExpressionProgram
from ..program.python_file import FunctionProgram
from ..program.recorded import ScriptClaim
from ..program.script import ScriptProgram
from ..program.target import Target, load_program, read_source
from ..request import Request
from ..show.check_results import CheckReport
from ..tape.tensor import Tensor
from .check import Check, error_report, refuse_foreign, surroundings_of


def claim_of_script(script: ScriptProgram, request: Request, at: Mapping[str, Any]) -> Claim:
    """Return the script's output at values of its leaves as what is claimed. Raises CallError."""
    if not script.torch:
        refuse_foreign(framework_imported(script.source), script.title)
    first = ScriptClaim(script, at, wrt=request.wrt, out=request.out)
    return second_order(first, request.seed) if request.order == 2 else first


def leaves_of(script: ScriptProgram, given: Mapping[str, Any], out: str | None) -> dict[str, np.ndarray]:
    """Return the values of the leaves of a script that names lead to, each once. Raises GradcliError."""
    leaves: dict[str, Tensor] = {}
    for name, leaf in script.run(given, out=out).leaves.items():
        if "@" not in name and not any(leaf is other for other in leaves.values()):
            leaves[name] = leaf
    return {name: np.array(leaf._data) for name, leaf in leaves.items()}


def of_program(target: Target, request: Request) -> Check | CheckReport:
    """Return the check of the engine's derivative of a program; a report when the program raises."""
    path, home = target.path, surroundings_of(target)
    file = path if not target.inline and os.path.exists(path) else None
    where: dict[str, Any] = {"name": target.text, "file": file, "target": target, "request": request}
    rng = np.random.default_rng(request.seed)
    start = time.perf_counter()
    try:
        with home:
            program = load_program(target)
            drawn = {name: rng.standard_normal(shape) for name, shape in request.shapes.items()}
            given = {**request.values, **drawn}
            if isinstance(program, ScriptProgram):
                function, at = program.run, leaves_of(program, given, request.out)
                opens = functools.partial(claim_of_script, program)
            else:
                if isinstance(program, FunctionProgram):
                    program.apart = True
                function, at = program.as_function(given, request.out)
                opens = None
    except GradcliError as error:
        if error.exit_code != EXIT_TARGET:
            text = read_source(path) if path.endswith(".py") and error.kind == "target" else "gradcli"
            if ("gradcli" not in text and "torch" not in text) or ("requires_grad" not in text and "def " in text):
                command = f"gradcli gradcheck {path}:FUNCTION --grad GRADIENT x=2"
                error.hint = f"to check a gradient written by hand: {command}"
            raise
        return error_report(target.text, file, start, error)
    if not at:
        raise GradcliError("the program has no inputs, so there is nothing to check", kind="name")
    if request.held and request.wrt is None:
        where["request"] = request = request._replace(wrt=[name for name in at if name not in request.held])
    if request.wrt is not None:
        check_known(request.wrt, at, "--wrt")
    points = {name: request.shapes.get(name, x) for name, x in at.items()}
    check = Check(function, points, opens=opens, **where)
    check.is_script = opens is not None
    if isinstance(program, ExpressionProgram):
        check.source = program.parsed.source.replace("^", "**")
    check.origin = getattr(program, "module", None) or getattr(program, "function", function)
    return check
