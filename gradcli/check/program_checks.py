"""Check the engine's derivatives of programs, and formulas claimed as derivatives of expressions.

Formulas are checked at the given point, or at random points of the function's domain and then by sympy.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..claims.claim import Claim, second_order
from ..claims.formula import Formula, FormulaClaim, FormulaProgram
from ..claims.hand_written import HandWritten
from ..claims.open import load_program
from ..claims.recorded import ScriptClaim, Traced, new_tensor
from ..errors import EXIT_TARGET, GradcliError, check_known
from ..program.expression import ExpressionProgram
from ..program.python_file import FunctionProgram
from ..program.script import ScriptProgram
from ..program.target import Target, read_source
from ..request import Request
from ..results.base import label
from ..results.checks import CheckReport, Finding
from ..results.inputs import InputCheck
from ..tape.tensor import Tensor
from ..user.frameworks import framework_imported
from .check import Check, error_report, refuse_foreign, replay_command, surroundings_of
from .claim_check import observe, run_check
from .cross_checks import MOST_SINGLE, HighPrecision, directions_of
from .points import MOST_SHOWN, draw_numbers
from .reasons import TRIVIAL, undecided_notes


def claim_of_script(script: ScriptProgram, request: Request, at: Mapping[str, Any]) -> Claim:
    """Return the claim of the engine's derivative of a script, at values of its leaves. Raises CallError."""
    if not script.torch:
        refuse_foreign(framework_imported(script.source), script.title)
    first = ScriptClaim(script, at, wrt=request.wrt, out=request.out)
    return second_order(first, request.seed) if request.order == 2 else first


def named_leaves(script: ScriptProgram, given: Mapping[str, Any], out: str | None) -> dict[str, np.ndarray]:
    """Return the values of a script's leaves that have names, each leaf once. Raises GradcliError."""
    leaves: dict[str, Tensor] = {}
    for name, leaf in script.run(given, out=out).leaves.items():
        if "@" not in name and not any(leaf is other for other in leaves.values()):
            leaves[name] = leaf
    return {name: np.array(leaf._data) for name, leaf in leaves.items()}


def of_program(target: Target, request: Request) -> Check | CheckReport:
    """Return the check of the engine's derivative of a program; a report if the program raises."""
    path, home = target.path, surroundings_of(target)
    file = path if not target.inline and os.path.exists(path) else None
    rng = np.random.default_rng(request.seed)
    start = time.perf_counter()
    try:
        with home:
            program = load_program(target)
            drawn = {name: draw_numbers(rng, shape, request.input_dtype) for name, shape in request.shapes.items()}
            given = {**request.values, **drawn}
            if isinstance(program, ScriptProgram):
                function, at = program.run, named_leaves(program, given, request.out)
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
    if request.constants and request.wrt is None:
        request = request._replace(wrt=[name for name in at if name not in request.constants])
    if request.wrt is not None:
        check_known(request.wrt, at, "--wrt")
    points = {name: request.shapes.get(name, x) for name, x in at.items()}
    origin = getattr(program, "module", None) or getattr(program, "function", function)
    source = python_text(program) if isinstance(program, ExpressionProgram) else None
    more = {"opens": opens, "is_script": opens is not None, "source": source, "origin": origin}
    return Check.of_target(target, function, points, request, file=file, **more)


def python_text(program: ExpressionProgram) -> str:
    """Return an expression as Python code."""
    return program.parsed.source.replace("^", "**")


SAMPLES, HESS_SAMPLES = 20, 5  # random points for first and second derivatives, unless --samples is given: a choice
ATTEMPTS = 200  # random points tried before giving up on one where the function is finite: a choice
DOMAINS = (
    lambda rng, shape: rng.standard_normal(shape),
    lambda rng, shape: np.abs(rng.standard_normal(shape)),
    lambda rng, shape: rng.uniform(-1, 1, shape),
    lambda rng, shape: 1 + np.abs(rng.standard_normal(shape)),
    lambda rng, shape: positive_definite(rng.standard_normal(shape)),
    lambda rng, shape: rng.uniform(0, 10.0 ** rng.integers(1, 5), shape),
    lambda rng, shape: -rng.uniform(0, 10.0 ** rng.integers(0, 5), shape),
)
"""Distributions of random inputs. Later ones are used once the earlier ones gave no finite value."""
SMALL_NUMBERS = (2.0, 1.0, 3.0, -1.0, -2.0, 0.5, -3.0, 4.0, -0.5)  # numbers that counterexamples consist of
SMALL_POINTS = 60  # points of small numbers at which formulas are compared: a choice
RANDOM_POINTS = 5  # random points used instead if the function is finite at none of those: a choice
MOST_JUDGED = 12  # most points of small numbers that are checked, each in a check of its own: a choice
SLOPE_DIGITS = 20  # correct digits of first derivatives by differences; float64, used for their slopes, has 16


def positive_definite(x: np.ndarray) -> np.ndarray:
    """Return a positive definite matrix made from a square one; any other array unchanged."""
    return x @ x.T + np.eye(len(x)) if x.ndim == 2 and len(x) == len(x.T) else x


def formula_checks(target: Target, request: Request) -> list[Check]:
    """Return the checks of --grad, --vjp, --jvp and --hess, with one check of second derivatives per input."""
    program = load_program(target)
    if request.value_and_grad or not isinstance(program, ExpressionProgram):
        raise GradcliError("--grad, --vjp, --jvp and --value-and-grad need a function: FILE.py:f --grad g")
    if request.order == 2:
        raise GradcliError(
            "--order 2 cannot be used with formulas", hint="to check a second derivative: --hess x=FORMULA"
        )
    if request.elementwise and (list(request.claims) != ["grad"] or request.symbolic):
        raise GradcliError("--elementwise requires --grad, and cannot be combined with --vjp, --jvp or --symbolic")
    formulas = FormulaProgram(program, request)
    first = [f for option in request.claims for f in formulas.formulas(option).values()]
    second: dict[str, list[Formula]] = {}
    for formula in formulas.formulas("hess").values():
        second.setdefault(formula.names[0], []).append(formula)
    groups = [first] * bool(first) + list(second.values())
    return [formula_check(formulas, group, target, request) for group in groups]


def formula_check(formulas: FormulaProgram, claimed: list[Formula], target: Target, request: Request) -> Check:
    """Return the check of some formulas of a program. Raises GradcliError if one cannot be evaluated."""
    program, second = formulas.program, claimed[0].option == "hess"
    free = dict.fromkeys(program.missing({**request.values, **request.shapes}), ())
    domain = Domain(formulas, {**free, **request.shapes})
    at = domain.draw(np.random.default_rng(request.seed))
    try_out(formulas, claimed, at)
    default = HESS_SAMPLES if second else SAMPLES
    samples = request.samples if "samples" in request.named else default
    return FormulaCheck.of_target(
        target,
        program.run,
        domain.draw if domain.shapes else at,
        request._replace(grad=None, vjp=None, jvp=None, symbolic=False, elementwise=False, samples=samples),
        name=f"d/d{claimed[0].names[0]} of {target.text}" if second else target.text,
        file=program.parsed.origin if target.text == program.parsed.origin else None,
        source=python_text(program),
        opens=functools.partial(open_formulas, formulas, claimed),
        domain=domain,
        claimed=claimed,
        by_sympy=(bool(domain.shapes) or request.symbolic) and not request.elementwise,
    )


def open_formulas(formulas: FormulaProgram, claimed: list[Formula], request: Request, at: Mapping[str, Any]) -> Claim:
    if claimed[0].option == "hess":
        return HessianClaim(formulas, at, claimed)
    return FormulaClaim(formulas, at, claimed, formulas.request.elementwise)


def try_out(formulas: FormulaProgram, claimed: list[Formula], at: Mapping[str, np.ndarray]) -> None:
    """Raise GradcliError if a formula cannot be evaluated at a point, or if --hess cannot be used."""
    leaves = {name: new_tensor(x) for name, x in at.items()}
    output, names = formulas.run(leaves)
    if claimed[0].option == "hess":
        if output._data.size != 1:
            message = f"--hess needs a single number; the output has shape {output._data.shape}"
            raise GradcliError(message, hint="sum it, or choose an element with --out", kind="shape")
        if at[claimed[0].names[0]].size > MOST_SINGLE:
            message = f"--hess differentiates with respect to at most {MOST_SINGLE} elements"
            raise GradcliError(message, hint="use a smaller array", kind="limit")
        if any(x.dtype.kind == "c" for x in (output._data, *at.values())):
            raise GradcliError("--hess takes real numbers only", kind="value")
    for formula in claimed:
        tangents = {f"v_{name}": leaves[name] for name in formula.names}
        v = output if formula.option == "vjp" else leaves[formula.names[0]]
        vectors = {name: x for name, x in {**tangents, "v": v}.items() if name in formula.vectors}
        formulas.value_of(formula, names, vectors)


@dataclass(frozen=True)
class Domain:
    """The points at which formulas are compared. shapes: of the inputs without values, which are random."""

    formulas: FormulaProgram
    shapes: Mapping[str, tuple[int, ...]]

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        for attempt in range(ATTEMPTS):
            kinds = {name: DOMAINS[rng.integers(min(attempt + 1, len(DOMAINS)))] for name in self.shapes}
            drawn = {name: kinds[name](rng, shape) for name, shape in self.shapes.items()}
            if self.formulas.request.input_dtype.kind == "c" and 2 * attempt < ATTEMPTS:  # real ones for cholesky
                drawn = {name: x + 1j * rng.standard_normal(x.shape) for name, x in drawn.items()}
            at = self.point_of(drawn)
            if at is not None:
                return at
        hint = "give a point: " + " ".join(f"{name}=1" for name in self.shapes)
        raise GradcliError("no random point was found where the function is finite", hint=hint)

    def point_of(self, drawn: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
        """Return all inputs, with `drawn` for those without values; None if the function is not finite there."""
        try:
            with np.errstate(all="ignore"):
                request = self.formulas.request
                run = self.formulas.program.run({**request.values, **drawn}, out=request.out)
        except GradcliError as error:
            if drawn and error.exit_code == EXIT_TARGET:  # a matrix that is singular, or not positive definite
                return None
            scalars = [name for name, x in drawn.items() if not np.ndim(x)]
            if scalars and error.kind == "shape" and error.hint is None:
                error.hint = f"'{scalars[0]}' has no value, so it is a scalar; for a vector: --shape {scalars[0]}=3"
            raise
        assert run.output is not None
        finite = not drawn or bool(np.isfinite(run.output._data).all())
        return {name: np.array(leaf._data) for name, leaf in run.leaves.items()} if finite else None

    def small_points(self, rng: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
        """Yield points of small numbers, at some of which the function may not be finite."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        total, ends = sum(sizes), np.cumsum(sizes, dtype=int)
        for k in range(SMALL_POINTS if self.shapes else 1):
            few = k < len(SMALL_NUMBERS)
            numbers = np.resize(np.roll(SMALL_NUMBERS, -k), total) if few else rng.choice(SMALL_NUMBERS, total)
            parts = (numbers[end - size : end] for size, end in zip(sizes, ends, strict=True))
            yield {name: x.reshape(shape) for (name, shape), x in zip(self.shapes.items(), parts, strict=True)}

    def points(self, seed: int) -> list[dict[str, np.ndarray]]:
        """Return points of small numbers where the function is finite, or else random ones with few digits."""
        points = [at for at in map(self.point_of, self.small_points(np.random.default_rng(seed))) if at is not None]
        if points:
            return points
        drawn = [self.draw(np.random.default_rng(seed + k)) for k in range(RANDOM_POINTS)]
        return [self.point_of({name: np.round(at[name], 1) for name in self.shapes}) or at for at in drawn]


@dataclass(frozen=True, eq=False, kw_only=True)
class FormulaCheck(Check):
    """The check of formulas for a program's first derivatives, or for derivatives of its gradient by one input.

    by_sympy: whether sympy compares the formulas also if they pass.
    """

    target: Target
    domain: Domain
    claimed: list[Formula]
    by_sympy: bool

    def worst(self) -> CheckReport:
        """Return the report on the points, with sympy's result on the formulas, or the report on a counterexample."""
        report = super().worst()
        formulas, shapes = self.domain.formulas, self.domain.shapes
        asked = self.by_sympy or (report.verdict in ("fail", "inconclusive") and not formulas.request.elementwise)
        if not asked or report.verdict == "error" or not report.inputs:
            return report
        from ..analysis.compare_formulas import compare_formulas

        points = self.domain.points(self.request.seed)
        given = [name for name in points[0] if shapes and name not in shapes]
        proof = compare_formulas(formulas, self.claimed, points, given)
        wrong = report.verdict == "fail"
        if proof.equal and not wrong:
            report = replace(report, notes=tuple(note for note in report.notes if TRIVIAL not in note))
            known = all(item.worst is None or np.isfinite(item.worst.numeric_error) for item in report.inputs)
            jumps = any(finding.kind == "jump" for finding in report.diagnosis)  # sympy leaves jumps out of derivatives
            if report.verdict == "inconclusive" and known and not jumps:  # a proof needs no values
                inputs = tuple(replace(item, verdict="pass") for item in report.inputs)
                undecided = {*undecided_notes(report.inputs)}  # the proof has decided
                notes = [note for note in report.notes if note not in undecided]
                notes.append(f"numeric derivatives could not decide: {report.message}")
                equal = "SymPy proves the claim"
                seen = {"exact": "proves"}
                return observe(report, seen, inputs=inputs, message=equal, notes=tuple(notes), diagnosis=())
            return replace(report, message="; ".join(filter(None, (report.message, "SymPy proves the claim"))))
        if proof.words and (wrong or (self.by_sympy and report.verdict != "pass")):
            report = with_words(report, proof.words)
        if not self.by_sympy:
            return report
        suspects = proof.points or (points if wrong else ())
        for counterexample in map(self.refute_at, suspects[:MOST_JUDGED]):
            if counterexample is not None:
                return with_words(counterexample, proof.words) if proof.words else counterexample
        return report if wrong else replace(report, notes=(*report.notes, proof.note))

    def refute_at(self, at: Mapping[str, np.ndarray]) -> CheckReport | None:
        """Return the report at a point if the claim is wrong there; None if it is not, or at a kink."""
        place = self.place(self.request.seed)
        if not self.request.shapes:
            place = place._replace(replay=replay_command(self.target, self.request._replace(values=at)))
        report = run_check(functools.partial(self.claim, at), place, self.request)
        item = next((item for item in report.inputs if item.verdict == "fail"), None)
        if item is None or item.worst is None or item.worst.sides is not None:
            return None
        of = f" of d/d{self.claimed[0].names[0]}" if self.claimed[0].option == "hess" else ""
        found = Finding("counterexample", describe_counterexample(item, at, of))
        return replace(report, diagnosis=(*report.diagnosis, found))


def with_words(report: CheckReport, words: str) -> CheckReport:
    """Replace findings from numbers with what sympy says about the same mistake."""
    others = (f for f in report.diagnosis if f.kind not in ("factor", "symmetric part", "dropped term", "chain factor"))
    return replace(report, diagnosis=(Finding("symbolic", words), *others))


def describe_counterexample(item: InputCheck, at: Mapping[str, np.ndarray], of: str) -> str:
    """Return the point and both derivatives of the worst element. of: what is differentiated; "" for the function."""
    assert item.worst is not None
    few = {name: x.tolist() if x.ndim else f"{x:g}" for name, x in at.items() if x.size <= MOST_SHOWN}
    place = ", ".join(f"{name} = {x}" for name, x in few.items()) or "small numbers"
    output, element = item.worst.output, label(item.name, item.worst.place)
    derivative = f"d {label('out', output)}/d {element} is " if output else f"d/d{element}{of} is "
    if len(at) == 1 and not output and not item.worst.place and not of:
        derivative = "the derivative is "
    digits = 6 if not np.isclose(item.worst.numeric, item.worst.claimed, rtol=1e-5) else 12
    return f"at {place}: {derivative}{item.worst.numeric:.{digits}g}, not {item.worst.claimed:.{digits}g}"


class HessianClaim(HandWritten):
    """The gradient of a scalar program by one input, from high-precision values, and formulas for its slopes."""

    def __init__(self, program: FormulaProgram, at: Mapping[str, Any], formulas: list[Formula]):
        self.claim, (self.by, _) = FormulaClaim(program, at, formulas), formulas[0].names
        self.slope_formulas = {formula.names[1]: formula for formula in formulas}
        traced = Traced(lambda *xs: program.run(dict(zip(at, xs, strict=True)))[0], at, wrt=[self.by])
        self.high_precision, self.directions = HighPrecision(traced, SLOPE_DIGITS), directions_of(traced, 0)
        super().__init__(self.gradient, at, grad=self.slopes, wrt=[n for n in at if n in self.slope_formulas])
        self.title = f"d/d{self.by} of {program.program.title}"

    def gradient(self, *arrays: np.ndarray) -> np.ndarray:
        """Return the gradient by finite differences, rounded to float64; nan at kinks."""
        at = {name: np.asarray(x) for name, x in zip(self.at, arrays, strict=True)}
        middle = self.high_precision.value(at)
        slopes = [self.high_precision.along(at, unit, middle)[0] for unit in self.directions]
        return np.array(slopes, float).reshape(self.at[self.by].shape)

    def slopes(self, *arrays: np.ndarray) -> dict[str, np.ndarray]:
        values = self.claim.evaluate_formulas(list(self.slope_formulas.values()), arrays, {})
        return dict(zip(self.slope_formulas, values, strict=True))
