"""Results about formulas, digits, locks, mutants and watched commands, and the functions of the language."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_OK, EXIT_TARGET, count_of, visible
from .base import ResultBlock, Rows, declare, document_of, label, own_block
from .checks import CheckReport, CheckSummary


@declare(json="text latex")
class PrintedFormula(NamedTuple):
    """A formula, in the expression language, in LaTeX, and as a terminal shows it over several lines."""

    text: str
    latex: str
    pretty: str = ""


@declare(json="name *formula at=value? shape? agreement?")
class Derivative(NamedTuple):
    """One derivative: its variables (x[0,1], or x/y for a mixed one), its formula, and its value if asked for.

    In matrix form: dims, its shape in names of dimensions; agreement: the number and the sizes of the random points at
    which it was compared with the engine, and the largest error.
    """

    name: str
    formula: PrintedFormula
    value: str | None = None
    dims: tuple[int | str, ...] = ()
    agreement: dict[str, Any] | None = None

    @property
    def shape(self) -> list[int | str] | None:
        return None if self.agreement is None else [*self.dims]


@declare(json="kind rows columns entries=texts")
class FormulaMatrix(NamedTuple):
    """The derivatives as a matrix: the Jacobian of an output with several elements, or the Hessian of a number.

    rows: the elements of the output, [0] and so on; for a Hessian the elements of the inputs, like columns.
    """

    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: tuple[tuple[Derivative, ...], ...]

    @property
    def texts(self) -> list[list[str]]:
        return [[d.formula.text for d in row] for row in self.entries]


@declare(json="order kind? value derivatives shapes? output? matrix? steps?")
class Formulas(NamedTuple):
    """The formula of an output and those of its derivatives.

    value: labelled elements of the output. code: a function to paste, for such a format. steps: lines of the chain
    rule. output: its name, if any; function: its name in formulas. single: whether it is a function of one number. In
    matrix form, for arrays of any size: kind, gradient, jacobian or hessian; shapes: of the inputs, in names of
    dimensions.
    """

    target: str
    value: tuple[Derivative, ...]
    derivatives: tuple[Derivative, ...]
    order: int
    code: str = ""
    steps: tuple[PrintedFormula, ...] = ()
    output: str | None = None
    function: str = "f"
    single: bool = False
    matrix: FormulaMatrix | None = None
    notes: tuple[str, ...] = ()
    kind: str = ""
    shapes: Mapping[str, tuple[int | str, ...]] = {}

    def rows(self) -> Rows:
        """Return name, formula and value, if any, of every derivative; or the steps."""
        rows = ((d.name, d.formula.text, *([] if d.value is None else [d.value])) for d in self.derivatives)
        return ((step.text,) for step in self.steps) if self.steps else rows


@declare(json="text=texts latex value=values agrees decided max_abs_error=error")
class Agreement(NamedTuple):
    """A formula for one input's gradient, compared with the engine: text and value of each element.

    agrees: whether all elements agree. error: the largest absolute difference. notes: on individual points.
    decided: False if rounding hides whether an element is right; such elements count as agreeing.
    """

    name: str
    texts: np.ndarray
    latex: np.ndarray
    values: np.ndarray
    agrees: bool
    error: float
    notes: tuple[str, ...] = ()
    decided: bool = True


@declare(json="value=rounded_value grad=rounded_parts? output? digits=all_digits", without=("npz", "npy"))
class LongNumbers(NamedTuple):
    """Values and derivatives to many digits, as text with only digits that are right.

    digits: how many were asked for. value: an array of strings, None if a script runs backward more than once. parts:
    arrays of strings by input, None for a leaf without a gradient. with_value: put the value into formats that leave it
    out.
    """

    target: str
    digits: int
    value: np.ndarray | None
    parts: dict[str, Any]
    output: str | None = None
    with_value: bool = False

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        return tuple(own_block(name, f"the gradient for {name}", x) for name, x in self.parts.items())

    @property
    def rounded_value(self) -> np.ndarray | None:
        return round_digits(self.value)

    @property
    def rounded_parts(self) -> dict[str, Any]:
        return {name: round_digits(x) for name, x in self.parts.items()}

    @property
    def all_digits(self) -> dict[str, Any]:
        return document_of(self, "n=digits value grad=parts?")


def round_digits(x: np.ndarray | None) -> np.ndarray | None:
    if x is None:
        return None
    return np.vectorize(lambda text: complex(text) if "j" in text else float(text), otypes=[object])(x)


class DigitLoss(NamedTuple):
    """The operation that loses the digits of a value or of a gradient at a point.

    of: "value" or the input whose gradient it is. kind: forward, backward (the local rule of an operation) or sum (of
    the gradients that reach a result in several ways). formula: the operation in the program's words; line: its line,
    if the source has several. before, after: right digits of the operands and of the result. parts: the operands,
    unless there are many. result, right: computed and exact result. ways: the operations that a sum's parts came from.
    """

    of: str
    at: float
    kind: str
    formula: str
    line: int | None
    before: float
    after: float
    parts: tuple[float, ...]
    result: float
    right: float
    ways: tuple[str, ...] = ()


@declare(json="over full value gradient=gradients losses output?")
class Precision(NamedTuple):
    """Right digits of a value and its gradients along one input.

    x: the points. full: the digits of the type. value, gradients by input: digits at each point, nan if there is no
    value.
    """

    target: str
    name: str
    x: np.ndarray
    full: float
    value: np.ndarray
    gradients: dict[str, np.ndarray]
    losses: tuple[DigitLoss, ...] = ()
    output: str | None = None

    @property
    def curves(self) -> dict[str, np.ndarray]:
        return {"value": self.value, **{f"d/d{name}": x for name, x in self.gradients.items()}}

    def rows(self) -> Rows:
        return zip(self.x, *self.curves.values(), strict=True)

    @property
    def over(self) -> dict[str, np.ndarray]:
        return {self.name: self.x}


GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def symbol(name: str) -> str:
    """Write a name as LaTeX: x_1 for x1, Greek letters by name, longer words upright."""
    match = re.fullmatch(r"([A-Za-z]+)_?(\d*)", name)
    if match is None:
        return r"\mathrm{" + re.sub(r"([#$%&_{}])", r"\\\1", visible(" ".join(name.split()))) + "}"
    word, digits = match.groups()
    word = "\\" + word if word in GREEK else word if len(word) == 1 else r"\mathrm{" + word + "}"
    return f"{word}_{{{digits}}}" if digits else word


def element_symbol(name: str) -> str:
    """Write the name of an element, or of a number, as LaTeX: x_{0,1} for x[0,1]."""
    base, _, rest = name.partition("[")
    text, index = symbol(base), rest.rstrip("]")
    if not index:
        return text
    return f"{{{text}}}_{{{index}}}" if "_" in text else f"{text}_{{{index}}}"


def bold_symbol(name: str) -> str:
    """Write the name of a vector or matrix as LaTeX: \\mathbf{x}_{1} for x1, \\boldsymbol{\\theta} for theta."""
    word, low, rest = symbol(name).partition("_{")
    if word.startswith(r"\mathrm{"):
        return r"\mathbf{" + word.removeprefix(r"\mathrm{") + low + rest
    return (rf"\boldsymbol{{{word}}}" if word.startswith("\\") else rf"\mathbf{{{word}}}") + low + rest


@declare(json="settings libraries checks=entries", on_lines="checks")
class Lock(NamedTuple):
    """The content of a lock file.

    settings: the words and options that selected the checks. libraries: versions. entries: plain data per check,
    sorted: file, check, at, value, value_error, grad, error.
    """

    target: str
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    entries: tuple[Mapping[str, Any], ...]

    def rows(self) -> Rows:
        return ((entry["check"], entry["file"]) for entry in self.entries)


@declare(json="input index=place locked locked_error now now_error")
class LockDifference(NamedTuple):
    """A number in the lock and now, each with its error. input: whose gradient it is; None for the value."""

    input: str | None
    place: tuple[int, ...]
    locked: Any
    locked_error: float
    now: Any
    now_error: float

    def __str__(self) -> str:
        name = "value" if self.input is None else f"d/d{self.input}"
        pairs = (("locked", self.locked, self.locked_error), ("now", self.now, self.now_error))
        words = [f"{when} {complex(x) if np.iscomplexobj(x) else float(x)!r} ± {error:.2g}" for when, x, error in pairs]
        return f"{label(name, self.place)}: {', '.join(words)}"


class LockComparison(NamedTuple):
    """One check compared with its lock. verdict: same, changed, new, gone, or error with a message.

    worst: the number that is furthest outside its intervals; if nothing changed, the one furthest from its lock.
    """

    name: str
    file: str | None
    verdict: str
    worst: LockDifference | None = None
    message: str = ""

    @property
    def reason(self) -> str:
        return self.message if self.worst is None else str(self.worst)


@declare(json="checks versions")
class Verification(NamedTuple):
    """All checks compared with their lock. libraries: those whose version differs, with both versions."""

    target: str
    checks: tuple[LockComparison, ...]
    libraries: tuple[tuple[str, str, str], ...]

    def rows(self) -> Rows:
        return ((check.verdict, check.name, check.file or "", check.reason) for check in self.checks)

    @property
    def versions(self) -> dict[str, Any]:
        return {name: {"locked": old, "now": new} for name, old, new in self.libraries}

    @property
    def exit_code(self) -> int:
        return EXIT_FAIL if self.count("changed") else EXIT_TARGET if self.count("error") else EXIT_OK

    @property
    def notes(self) -> tuple[str, ...]:
        """Advice on checks without an entry in the lock, and on entries without a check."""
        stale = [f"{n} {word}" for word in ("new", "gone") if (n := self.count(word))]
        return (f"{' and '.join(stale)}: run gradcli lock again to update the lock file",) if stale else ()

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)


class MutantRun(NamedTuple):
    """One wrong version of a function: its name, its error at random points, and whether the tests failed with it.

    line: of the change in the source; None if the results were changed. test: Python code that fails with a surviving
    mutant, if it can be written. timed_out: whether the tests had to be terminated.
    """

    name: str
    line: int | None
    relative_error: float | None
    killed: bool
    timed_out: bool
    seconds: float
    test: str | None = None


@declare(json="mutants score smallest_noticed at_least equal calls seconds")
class Mutation(NamedTuple):
    """All mutants of a function.

    at_least: surviving mutants count if their error is larger. equal: how many were left out because they gave the same
    values at random points, or the same mean if the function is random. calls: how often the tests call the function.
    """

    target: str
    mutants: tuple[MutantRun, ...]
    at_least: float
    equal: int
    calls: int
    seconds: float
    is_random: bool = False

    def rows(self) -> Rows:
        for run in self.mutants:
            error = "" if run.relative_error is None else repr(run.relative_error)
            yield ("killed" if run.killed else "survived", error, f"{run.seconds:.3f}", run.name)

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def score(self) -> float:
        return self.killed / len(self.mutants) if self.mutants else 1.0

    @property
    def smallest_noticed(self) -> float | None:
        factors = (m for m in self.mutants if m.killed and m.name.startswith("factor"))
        return min((m.relative_error for m in factors if m.relative_error), default=None)

    @property
    def exit_code(self) -> int:
        return EXIT_FAIL if self.survivors else EXIT_OK

    @property
    def survivors(self) -> tuple[MutantRun, ...]:
        """Mutants with an error above `at_least` that were not noticed."""
        return tuple(m for m in self.mutants if not m.killed and (m.relative_error or 0.0) > self.at_least * (1 + 1e-9))


@declare(json="*report role function=name points calls")
class WatchedDerivative(NamedTuple):
    """A derivative that a command used: its role, name, number of points and calls, and the verdict."""

    role: str
    name: str
    points: int
    calls: int
    report: CheckReport

    @property
    def uses(self) -> str:
        return f"checked at {self.points} of {count_of(self.calls, 'call')}"


@declare(
    json="checks=derivatives summary=checks.summary",
    columns=("verdict", "role", "function", "file", "line", "points", "calls", "message"),
)
class WatchSummary(NamedTuple):
    """The derivatives that a command used. seconds: time of checking them. status: the command's exit code.

    whole: the summary of all derivatives, if this one has only some of them.
    """

    target: str
    derivatives: tuple[WatchedDerivative, ...]
    seconds: float
    status: int
    whole: "WatchSummary | None" = None

    @property
    def checks(self) -> CheckSummary:
        """The same as plain checks, for formats that do not show how derivatives were used."""
        return CheckSummary(self.target, tuple(item.report for item in self.derivatives), self.seconds)

    @property
    def failed(self) -> "WatchSummary":
        """The derivatives that failed alone."""
        wrong = tuple(x for x in self.derivatives if x.report.verdict == "fail")
        return self._replace(derivatives=wrong, whole=self)

    def rows(self) -> Rows:
        for item in self.derivatives:
            report = item.report
            place = (report.file or "", str(report.line or ""), str(item.points), str(item.calls))
            yield (report.verdict, item.role, item.name, *place, report.headline())


@declare(json="name aliases kind signature doc derivatives=rules domain subgradient twin numpy")
class Operation(NamedTuple):
    """A function of the language, described in text. derivatives: pairs of an operand and its rule."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    signature: str
    doc: str
    derivatives: tuple[tuple[str, str], ...]
    domain: str
    subgradient: str
    twin: str
    numpy: tuple[str, ...]

    @property
    def rules(self) -> dict[str, str]:
        return dict(self.derivatives)


@declare(json="ops=entries")
class Operations(NamedTuple):
    """Functions of the language. full: show everything about them, not one line each."""

    entries: tuple[Operation, ...]
    full: bool = False

    def rows(self) -> Rows:
        return ((op.name, op.kind, "; ".join(f"{a}: {b}" for a, b in op.derivatives), op.doc) for op in self.entries)
