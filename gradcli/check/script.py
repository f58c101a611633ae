"""Checks of what gradcli's engine differentiates: expressions, functions of Tensors, scripts executed anew."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import EXIT_TARGET, GradcliError
from ..func.trace import Trace
from ..program.arguments import check_known
from ..program.base import Run
from ..program.detect_framework import framework_imported
from ..program.expression import ExpressionProgram
from ..program.python_file import FunctionProgram
from ..program.script import ScriptProgram
from ..program.target import Target, load_program, read_source
from ..show.check_results import CheckReport
from ..tape.backward import grad
from ..tape.tensor import Tensor
from .check import Check, Wanted, refuse_foreign, surroundings_of, with_options
from .subject import CheckError, Subject
from .tensor_function import Traced, as_one_output, direction, tensor


class ScriptSubject(Traced):
    """The output of a script as a function of its leaves.

    Of a script that runs backward itself, once and on one number, the leaves' `.grad` is checked.
    """

    by_pulls = False  # one that runs backward itself claims what that left

    def __init__(
        self, script: ScriptProgram, at: Mapping[str, Any], *, wrt: Sequence[str] | None = None, out: str | None = None
    ):
        super().__init__(script, at, wrt=wrt, title=script.title)  # type: ignore[arg-type]
        self.script = script
        self.out = out
        self.batchable = False

    def execute(self, arrays: Mapping[str, np.ndarray]) -> Run:
        """Run the script on values of its leaves. Raises CheckError."""
        try:
            run = self.script.run(arrays, out=self.out)
        except GradcliError as error:
            raise CheckError(error.message) from error
        for name, x in arrays.items():
            if not np.array_equal(run.leaves[name]._data, x.astype(run.leaves[name]._data.dtype), equal_nan=True):
                raise CheckError(
                    f"{self.title} changes '{name}' after making it, so its derivative cannot be checked: name the "
                    "output with --out, or check the function that computes it"
                )
        if run.output is None and (len(run.backwards) != 1 or np.size(run.backwards[0]) != 1):
            raise CheckError(
                f"{self.title} runs backward {len(run.backwards)} times itself; that can be checked when it does so "
                "once, on a single number: leave out its calls of backward, or name the output with --out"
            )
        return run

    def outcome(self, arrays: Mapping[str, np.ndarray]) -> tuple[list[Tensor], Tensor]:
        """Return the leaves in the order of `arrays`, and the output that depends on them."""
        run = self.execute(arrays)
        output = run.output if run.output is not None else tensor(run.backwards[0])
        return [run.leaves[name] for name in arrays], output

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.array(self.outcome(arrays)[1]._data)

    def record_call(self, arrays: Mapping[str, np.ndarray], names: Sequence[str] | None = None) -> Trace:
        leaves, output = self.outcome(arrays)
        wanted = [leaves[i] for i, name in enumerate(arrays) if name in (self.wrt if names is None else names)]
        record = Trace(wanted, lambda outputs: outputs, False)
        record.outputs = [output]
        return record

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        run = self.execute(arrays)
        if run.output is not None:
            return super().jacobian(arrays)
        shape = np.shape(run.backwards[0])
        blocks = {}
        for name in self.wrt:
            x = run.leaves[name]
            g = np.zeros(x._data.shape, x._data.dtype) if x._grad is None else np.asarray(x._grad._data)
            blocks[name] = g.reshape(shape + x._data.shape)
        return blocks


class SecondScript(ScriptSubject):
    """The product of a vector with the first derivative of a script's output, for the leaves and the vector."""

    def __init__(self, first: ScriptSubject, seed: int):
        name, vector = direction(first, seed)
        super().__init__(first.script, {**first.at, name: vector}, wrt=[*first.wrt, name], out=first.out)
        self.title = f"the derivative of {first.title}"
        self.first = first

    def outcome(self, arrays: Mapping[str, np.ndarray]) -> tuple[list[Tensor], Tensor]:
        *names, last = arrays
        run = self.first.execute({name: arrays[name] for name in names})
        if run.output is None:
            raise CheckError(
                f"{self.first.title} runs backward itself, so its graph is gone: leave out its call of backward"
            )
        if run.output._node is None:
            raise CheckError(f"{self.first.title} does not depend on its leaves through recorded operations")
        vector = tensor(arrays[last]).requires_grad_()
        wanted = [run.leaves[name] for name in self.first.wrt]
        products = grad(run.output, wanted, vector, create_graph=True, materialize_grads=True)
        return [*(run.leaves[name] for name in names), vector], as_one_output(list(products), products, self.title)

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return Traced.jacobian(self, arrays)


class ScriptCheck(Check):
    """The check of a script's output at values of its leaves."""

    is_script = True

    def __init__(self, script: ScriptProgram, at: Mapping[str, Any], *, out: str | None, **options: Any):
        super().__init__(script.run, at, **options)
        self.script, self.out = script, out

    def subject(self, at: Mapping[str, Any]) -> Subject:
        if not self.script.torch:
            refuse_foreign(framework_imported(self.script.source), self.name)
        first = ScriptSubject(self.script, at, wrt=self.wrt, out=self.out)
        return SecondScript(first, self.options.seed) if self.options.order == 2 else first


def leaves_of(script: ScriptProgram, given: Mapping[str, Any], out: str | None) -> dict[str, np.ndarray]:
    """Return the values of the leaves of a script that names lead to, each once. Raises GradcliError."""
    leaves: dict[str, Tensor] = {}
    for name, leaf in script.run(given, out=out).leaves.items():
        if "@" not in name and not any(leaf is other for other in leaves.values()):
            leaves[name] = leaf
    return {name: np.array(leaf._data) for name, leaf in leaves.items()}


def of_program(target: Target, wanted: Wanted) -> Check | CheckReport:
    """Return the check of the engine's derivative of a program; a report when the program raises."""
    head, colon, _ = target.text.partition(".py:")
    path, home = head + ".py" if colon else target.text, surroundings_of(target)
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
