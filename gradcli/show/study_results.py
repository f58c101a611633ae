"""What formulas, digits, locks, mutants and watched commands find out, and functions of the table."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_OK, EXIT_TARGET, visible
from .check_results import CheckReport, CheckSummary
from .results import Block, Rows, fields, label, own_block, present


class Formula(NamedTuple):
    """A formula, in the expression language, in LaTeX, and as a terminal shows it over several lines."""

    text: str
    latex: str
    pretty: str = ""

    def document(self) -> dict[str, str]:
        return {"text": self.text, "latex": self.latex}


class Derivative(NamedTuple):
    """One derivative: with respect to what (x[0,1], or x/y for a mixed one), its formula, its value if asked for.

    In matrix form: dims, its shape in names of dimensions; agreement: at how many random points, of which sizes, it was
    held against the engine, and the largest error.
    """

    name: str
    formula: Formula
    value: str | None = None
    dims: tuple[int | str, ...] = ()
    agreement: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        held = {} if self.agreement is None else {"shape": self.dims, "agreement": self.agreement}
        return {"name": self.name, **self.formula.document(), **present(at=self.value), **held}


class FormulaMatrix(NamedTuple):
    """The derivatives as a matrix: the Jacobian of an output with several elements, or the Hessian of a number.

    rows: the elements of the output, [0] and so on; of a Hessian, like columns, those of the inputs.
    """

    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: tuple[tuple[Derivative, ...], ...]

    def document(self) -> dict[str, Any]:
        return {**self._asdict(), "entries": [[d.formula.text for d in row] for row in self.entries]}


class Formulas(NamedTuple):
    """The formula of an output and those of its derivatives.

    value: labelled elements of the output. code: a function ready to be pasted, where a format asked for one.
    steps: lines of the chain rule, as text and as LaTeX. output: the output's name, where it has one; function: what
    formulas call it. single: whether it is a function of a single number. matrix: where there is one.
    notes: what else there is to say. In matrix form, for arrays of any size: kind, gradient, jacobian or hessian;
    shapes of the inputs, in names of dimensions.
    """

    target: str
    value: tuple[Derivative, ...]
    derivatives: tuple[Derivative, ...]
    order: int
    code: str = ""
    steps: tuple[Formula, ...] = ()
    output: str | None = None
    function: str = "f"
    single: bool = False
    matrix: FormulaMatrix | None = None
    notes: tuple[str, ...] = ()
    kind: str = ""
    shapes: Mapping[str, tuple[int | str, ...]] = {}

    def rows(self) -> Rows:
        """Return name, formula and its value, if there is one, of every derivative; or the steps."""
        rows = ((d.name, d.formula.text, *([] if d.value is None else [d.value])) for d in self.derivatives)
        return ((step.text,) for step in self.steps) if self.steps else rows

    def document(self) -> dict[str, Any]:
        return {
            "order": self.order,
            **present(kind=self.kind),
            "value": self.value,
            "derivatives": self.derivatives,
            **present(shapes=self.shapes, output=self.output, matrix=self.matrix, steps=self.steps),
        }


class Agreement(NamedTuple):
    """What a formula says of one input's gradient: text and value of each element, beside the engine's.

    agrees: whether all do. error: the largest absolute difference. notes: what there is to say about single points.
    decided: False where rounding hides whether a number is right; such elements are no disagreement.
    """

    name: str
    texts: np.ndarray
    latex: np.ndarray
    values: np.ndarray
    agrees: bool
    error: float
    notes: tuple[str, ...] = ()
    decided: bool = True

    def document(self) -> dict[str, Any]:
        return {
            "text": self.texts,
            "latex": self.latex,
            "value": self.values,
            "agrees": self.agrees,
            "decided": self.decided,
            "max_abs_error": self.error,
        }


class LongNumbers(NamedTuple):
    """Values and derivatives in many digits, as text: only digits that are right.

    digits: how many were asked for. value and the arrays of `parts` hold strings; value: None where a script runs
    backward more than once; parts: label to array, where a label is an input's name; None for a leaf without gradient.
    with_value: whether formats that leave the value out are to have it.
    """

    target: str
    digits: int
    value: np.ndarray | None
    parts: dict[str, Any]
    output: str | None = None
    with_value: bool = False

    @property
    def without(self) -> tuple[str, ...]:
        return ("npz", "npy")

    @property
    def arrays(self) -> tuple[Block, ...]:
        return tuple(own_block(name, f"the gradient for {name}", x) for name, x in self.parts.items())

    def document(self) -> dict[str, Any]:
        """Return rounded numbers where they always are, and their digits as strings."""
        rounded = {name: round_digits(x) for name, x in self.parts.items()}
        numbers = {"value": round_digits(self.value), **present(grad=rounded, output=self.output)}
        return {**numbers, "digits": {"n": self.digits, "value": self.value, **present(grad=self.parts)}}


def round_digits(x: np.ndarray | None) -> np.ndarray | None:
    if x is None:
        return None
    return np.vectorize(lambda text: complex(text) if "j" in text else float(text), otypes=[object])(x)


class Loss(NamedTuple):
    """The operation that loses the digits of a value or of a gradient at a point.

    of: "value" or the input whose gradient it is. kind: forward, or in backward the local rule of an operation
    (backward) or the sum of what reaches a result along several ways (sum). formula: the operation in the program's
    words; line: of the source, where it has several. before, after: digits of what went in and of what came out.
    parts: the numbers that went in, result: what came out, right: what it should be; without parts where there are
    many. ways: the operations from which the parts of a sum came.
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


class Precision(NamedTuple):
    """Right digits of a value and its gradients along one input.

    x: the points. full: the digits of the type. value, gradients by input: digits at each point, nan where there is
    no value.
    """

    target: str
    name: str
    x: np.ndarray
    full: float
    value: np.ndarray
    gradients: dict[str, np.ndarray]
    losses: tuple[Loss, ...] = ()
    output: str | None = None

    @property
    def curves(self) -> dict[str, np.ndarray]:
        return {"value": self.value, **{f"d/d{name}": x for name, x in self.gradients.items()}}

    def rows(self) -> Rows:
        return zip(self.x, *self.curves.values(), strict=True)

    def document(self) -> dict[str, Any]:
        return {
            "over": {self.name: self.x},
            "full": self.full,
            "value": self.value,
            "gradient": self.gradients,
            "losses": self.losses,
            **present(output=self.output),
        }


GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def symbol(name: str) -> str:
    """Return a name as LaTeX: x_1 for x1, Greek letters by name, longer words upright."""
    match = re.fullmatch(r"([A-Za-z]+)_?(\d*)", name)
    if match is None:
        return r"\mathrm{" + re.sub(r"([#$%&_{}])", r"\\\1", visible(" ".join(name.split()))) + "}"
    word, digits = match.groups()
    word = "\\" + word if word in GREEK else word if len(word) == 1 else r"\mathrm{" + word + "}"
    return f"{word}_{{{digits}}}" if digits else word


def element_symbol(name: str) -> str:
    """Return the name of an element, or of a number, as LaTeX: x_{0,1} for x[0,1]."""
    base, _, rest = name.partition("[")
    text, index = symbol(base), rest.rstrip("]")
    if not index:
        return text
    return f"{{{text}}}_{{{index}}}" if "_" in text else f"{text}_{{{index}}}"


def bold_symbol(name: str) -> str:
    """Return the name of a vector or matrix as LaTeX: \\mathbf{x}_{1} for x1, \\boldsymbol{\\theta} for theta."""
    word, low, rest = symbol(name).partition("_{")
    if word.startswith(r"\mathrm{"):
        return r"\mathbf{" + word.removeprefix(r"\mathrm{") + low + rest
    return (rf"\boldsymbol{{{word}}}" if word.startswith("\\") else rf"\mathbf{{{word}}}") + low + rest


class Lock(NamedTuple):
    """What a lock file holds.

    settings: the words and options that chose the checks. libraries: the versions that computed. entries: plain data
    per check, sorted: file, check, at, value, value_error, grad, error.
    """

    target: str
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    entries: tuple[Mapping[str, Any], ...]

    @property
    def on_lines(self) -> str:
        return "checks"

    def rows(self) -> Rows:
        return ((entry["check"], entry["file"]) for entry in self.entries)

    def document(self) -> dict[str, Any]:
        return {"settings": self.settings, "libraries": self.libraries, "checks": self.entries}


class Difference(NamedTuple):
    """A number then and now, each with its error. input: whose gradient it is; None for the value."""

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

    def document(self) -> dict[str, Any]:
        return {"input": self.input, "index": self.place, **dict(zip(self._fields[2:], self[2:], strict=True))}


class Comparison(NamedTuple):
    """One check beside its lock. verdict: same, changed, new, gone, or error with a message.

    worst: the number that is furthest out of its intervals, of a changed check; else the furthest from the locked.
    """

    name: str
    file: str | None
    verdict: str
    worst: Difference | None = None
    message: str = ""

    @property
    def reason(self) -> str:
        return self.message if self.worst is None else str(self.worst)


class Verification(NamedTuple):
    """All checks beside their lock. libraries: what computed then and now, where versions differ."""

    target: str
    checks: tuple[Comparison, ...]
    libraries: tuple[tuple[str, str, str], ...]

    def rows(self) -> Rows:
        return ((check.verdict, check.name, check.file or "", check.reason) for check in self.checks)

    def document(self) -> dict[str, Any]:
        versions = {name: {"locked": old, "now": new} for name, old, new in self.libraries}
        return {"checks": self.checks, "versions": versions}

    @property
    def exit_code(self) -> int:
        return EXIT_FAIL if self.count("changed") else EXIT_TARGET if self.count("error") else EXIT_OK

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to do about checks without a line, and lines without a check."""
        stale = [f"{n} {word}" for word in ("new", "gone") if (n := self.count(word))]
        return (f"{' and '.join(stale)}: lock again to take that in",) if stale else ()

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)


class MutantRun(NamedTuple):
    """One wrong version: its name, how far off it is at random points, and whether the tests failed with it.

    line: where its source was changed; None where its results were. test: Python that fails with it, for survivors
    that are to be killed, where one can be written. timed_out: whether the tests had to be ended.
    """

    name: str
    line: int | None
    relative_error: float | None
    killed: bool
    timed_out: bool
    seconds: float
    test: str | None = None


class Mutation(NamedTuple):
    """All mutants of a function. at_least: the error from which on a survivor counts. equal: how many were left out,
    as they gave the same values at random points. calls: how often the tests call the function.
    """

    target: str
    mutants: tuple[MutantRun, ...]
    at_least: float
    equal: int
    calls: int
    seconds: float

    def rows(self) -> Rows:
        for run in self.mutants:
            error = "" if run.relative_error is None else repr(run.relative_error)
            yield ("killed" if run.killed else "survived", error, f"{run.seconds:.3f}", run.name)

    def document(self) -> dict[str, Any]:
        return fields(self, "mutants score smallest_noticed at_least equal calls seconds")

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def score(self) -> float:
        return self.killed / len(self.mutants) if self.mutants else 1.0

    @property
    def smallest_noticed(self) -> float | None:
        """The smallest relative error of a factor that was noticed."""
        factors = (m for m in self.mutants if m.killed and m.name.startswith("factor"))
        return min((m.relative_error for m in factors if m.relative_error), default=None)

    @property
    def exit_code(self) -> int:
        return EXIT_FAIL if self.survivors else EXIT_OK

    @property
    def survivors(self) -> tuple[MutantRun, ...]:
        """Those that are larger than `at_least` and were not noticed."""
        return tuple(m for m in self.mutants if not m.killed and (m.relative_error or 0.0) > self.at_least * (1 + 1e-9))


class WatchedDerivative(NamedTuple):
    """A derivative that a command used: as what, its name, the points and calls of it, and the verdict."""

    role: str
    name: str
    points: int
    calls: int
    report: CheckReport

    @property
    def uses(self) -> str:
        points, calls = ("1 point" if self.points == 1 else f"{self.points} points"), self.calls
        return f"{points} of {calls} call{'s' * (calls != 1)}"

    def document(self) -> dict[str, Any]:
        mine = {"role": self.role, "function": self.name, **fields(self, "points calls")}
        return {**self.report.document(), **mine}


class WatchSummary(NamedTuple):
    """The derivatives that a command used. seconds: of judging them."""

    target: str
    derivatives: tuple[WatchedDerivative, ...]
    seconds: float

    @property
    def columns(self) -> tuple[str, ...]:
        return ("verdict", "role", "function", "file", "line", "points", "calls", "message")

    @property
    def checks(self) -> CheckSummary:
        """The same as checks, for formats that have no place for more."""
        return CheckSummary(self.target, tuple(item.report for item in self.derivatives), self.seconds)

    def rows(self) -> Rows:
        from .checks import headline

        for item in self.derivatives:
            report = item.report
            place = (report.file or "", str(report.line or ""), str(item.points), str(item.calls))
            yield (report.verdict, item.role, item.name, *place, headline(report))

    def document(self) -> dict[str, Any]:
        return {**self.checks.document(), "checks": self.derivatives}


class Operation(NamedTuple):
    """A function of the table, described in text. Empty where there is nothing to say."""

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


class Operations(NamedTuple):
    """Functions of the table. full: whether everything about them is wanted, or one line each."""

    entries: tuple[Operation, ...]
    full: bool = False

    def rows(self) -> Rows:
        return ((op.name, op.kind, "; ".join(f"{a}: {b}" for a, b in op.derivatives), op.doc) for op in self.entries)

    def document(self) -> dict[str, Any]:
        return {"ops": [{**op._asdict(), "derivatives": dict(op.derivatives)} for op in self.entries]}
