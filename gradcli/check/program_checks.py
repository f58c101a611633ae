"""Check the engine's derivatives of programs, and formulas claimed as derivatives of expressions.

Formulas are checked at the given point, or at random points of the function's domain and then by sympy.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
from .formula_points import Domain
from .points import MOST_SHOWN, draw_numbers
from .reasons import TRIVIAL, undecided_notes

if TYPE_CHECKING:
    from ..analysis.compare_formulas import Proof, Wording


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
MOST_JUDGED = 12  # most points of small numbers that are checked, each in a check of its own: a choice
SLOPE_DIGITS = 20  # correct digits of first derivatives by differences; float64, used for their slopes, has 16


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
    domain = Domain(formulas, claimed, {**free, **request.shapes})
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
        with np.errstate(all="ignore"):  # a claim may be undefined at this point
            formulas.value_of(formula, names, vectors)


@dataclass(frozen=True, eq=False, kw_only=True)
class FormulaCheck(Check):
    """The check of formulas for a program's first derivatives, or for derivatives of its gradient by one input.

    by_sympy: whether sympy compares the formulas also if they pass.
    """

    target: Target
    domain: Domain
    by_sympy: bool

    def worst(self) -> CheckReport:
        """Return the report on the points, with sympy's result on the formulas, or the report on a counterexample."""
        report = super().worst()
        if report.verdict == "error" or not report.inputs:
            return report
        wrong, points = report.verdict == "fail", self.domain.points(self.request.seed)
        explains = report.verdict in ("fail", "inconclusive") and not self.domain.formulas.request.elementwise
        proof = self.compare(points) if self.by_sympy or explains else None
        if proof is not None and proof.equal and not wrong:
            return as_proven(report)
        if proof is not None and (wrong or (self.by_sympy and report.verdict != "pass")):
            report = with_words(report, proof.words)
        if proof is not None and self.by_sympy:
            suspects = proof.points or (points if wrong else ())
            found = self.counterexample(suspects, names_wrong(report))
            if found is not None:
                return with_words(found, proof.words)
        found = None if wrong else self.refute_around()
        if found is not None:
            return found
        return replace(report, notes=(*report.notes, proof.note)) if proof and self.by_sympy and not wrong else report

    def compare(self, points: Sequence[Mapping[str, np.ndarray]]) -> Proof:
        from ..analysis.compare_formulas import compare_formulas

        given = [name for name in points[0] if self.domain.shapes and name not in self.domain.shapes]
        return compare_formulas(self.domain.formulas, self.domain.claimed, points, given)

    def counterexample(self, suspects: Sequence[Mapping[str, np.ndarray]], names: set[str]) -> CheckReport | None:
        """Return the report at the first of the suspects at which the derivatives by `names` are wrong, if any is."""
        reports = map(self.refute_at, suspects[:MOST_JUDGED])
        return next((report for report in reports if report is not None and names <= names_wrong(report)), None)

    def refute_around(self) -> CheckReport | None:
        """Return the report at a point around the constants of the formulas if the claim is finite and wrong there.

        Of several such points, take the first one with the most wrong inputs.
        """
        points = self.domain.points_around(self.request.seed) if self.domain.shapes else []
        if not points:
            return None
        from .search import PointSearch

        hunt = PointSearch(self, points[0])
        found = [(report, at) for at in points if hunt.fails(at) and (report := self.refute_at(at)) is not None]
        found = [(report, at) for report, at in found if all(claims_finite(item) for item in report.inputs)]
        if not found:
            return None
        report, at = max(found, key=lambda item: len(names_wrong(item[0])))
        return with_words(report, self.compare([at]).words) if self.by_sympy else report

    def refute_at(self, at: Mapping[str, np.ndarray]) -> CheckReport | None:
        """Return the report at a point if the claim is wrong there; None if it is not, or at a kink."""
        place = self.place(self.request.seed)
        if not self.request.shapes:
            place = place._replace(replay=replay_command(self.target, self.request._replace(values=at)))
        report = run_check(functools.partial(self.claim, at), place, self.request)
        item = next((item for item in report.inputs if item.verdict == "fail"), None)
        if item is None or item.worst is None or item.worst.sides is not None:
            return None
        of = f" of d/d{self.domain.claimed[0].names[0]}" if self.domain.claimed[0].option == "hess" else ""
        found = Finding("counterexample", describe_counterexample(item, at, of))
        return replace(report, diagnosis=(*report.diagnosis, found))


PROVEN = "SymPy proves the claim"
SAME_AS_WORDS = ("factor", "symmetric part", "dropped term", "chain factor")
"""Findings that a ratio or a difference of formulas makes superfluous."""


def names_wrong(report: CheckReport) -> set[str]:
    return {item.name for item in report.inputs if item.verdict == "fail"}


def claims_finite(item: InputCheck) -> bool:
    return item.worst is None or bool(np.isfinite(item.worst.claimed))


def as_proven(report: CheckReport) -> CheckReport:
    """Return a report on a claim that sympy proves: a pass, unless the function jumps."""
    report = replace(report, notes=tuple(note for note in report.notes if TRIVIAL not in note))
    known = all(item.worst is None or np.isfinite(item.worst.numeric_error) for item in report.inputs)
    jumps = any(finding.kind == "jump" for finding in report.diagnosis)  # sympy leaves jumps out of derivatives
    if report.verdict != "inconclusive" or not known or jumps:
        return replace(report, message="; ".join(filter(None, (report.message, PROVEN))))
    undecided = {*undecided_notes(report.inputs)}  # the proof has decided
    notes = [note for note in report.notes if note not in undecided]
    notes.append(f"numeric derivatives could not decide: {report.message}")
    proven = observe(report, {"exact": "proves"}, message=PROVEN, notes=tuple(notes), diagnosis=())
    inputs = tuple(replace(item, verdict=proven.verdict) for item in report.inputs)  # a proof needs no values
    return replace(proven, inputs=inputs)


def with_words(report: CheckReport, words: Sequence[Wording]) -> CheckReport:
    """Replace findings from numbers with what sympy says about the same mistake."""
    for text, inputs, holds in reversed(words):
        stale = {f for f in report.diagnosis if (f.input in inputs if holds else f.kind in SAME_AS_WORDS)}
        others = (f for f in report.diagnosis if f not in stale)
        report = replace(report, diagnosis=(Finding("symbolic", text), *others))
    return report


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
