"""Derivatives in matrix form, for arrays of any size: found as terms, and each held against the engine's numbers."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import EXIT_DEFECT, GradcliError, check_known
from ..exact.index_terms import Dim, Index, Term, assume_symmetric
from ..exact.matrix_form import Form, matrix_form
from ..exact.matrix_printing import Language, Latex, Paper, Python, name_parts
from ..exact.matrix_reader import BY_ELEMENTS, TermReader, input_term
from ..exact.matrix_rules import derive
from ..lang.parse import parse
from ..program.base import Program
from ..program.expression import ExpressionProgram
from ..request import Request
from ..show.study_results import Formula, MatrixDerivative, MatrixFormulas
from .gradient import compute_gradient
from .transform import compute_hessian, compute_jacobian

POINTS = 3
"""Random sizes and points at which a formula is held against the engine."""
TRIES = 60
"""Points that may have no value before one is given up."""
STYLES = ("normal", "positive", "spd", "small", "spd positive")
RELATIVE, ABSOLUTE = 1e-8, 1e-10
"""What rounding may make of a difference; a wrong formula differs by about the number itself."""


class Inputs:
    """The inputs of a program as arrays of any size.

    shapes: of the inputs, by name. dims: names of dimensions. wrt: what is differentiated. symmetric, spd: matrices
    that are symmetric, and those that are positive definite besides.
    """

    def __init__(
        self, program: ExpressionProgram, shapes: Mapping[str, Sequence[Dim]], wrt: Iterable[str] | None,
        symmetric: Iterable[str], spd: Iterable[str],
    ):  # fmt: skip
        self.program = program
        dims = {d for own in shapes.values() for d in own if isinstance(d, str)}
        free = list(program.free_names(shapes))
        wanted = None if wrt is None else list(dict.fromkeys(wrt))
        known = program.input_names(shapes)
        check_known(shapes, known, "--shape")
        check_known(wanted or (), known, "--wrt")
        names = [n for n in known if n in shapes or (n in free and n not in dims) or n in (wanted or ())]
        self.shapes = {n: tuple(shapes.get(n, ())) for n in names}
        self.wrt = wanted or names
        self.dims = sorted(dims)
        self.named = frozenset(n for n in free if n in dims and n not in self.shapes)
        self.spd, self.symmetric = frozenset(spd), frozenset(symmetric) | frozenset(spd)
        for option, given in (("--symmetric", symmetric), ("--spd", spd)):
            check_known(given, self.shapes, option)
            for name in given:
                own = self.shapes[name]
                if len(own) != 2 or own[0] != own[1]:
                    hint = f"--shape {name}=n,n"
                    raise GradcliError(f"{option}: '{name}' is no square matrix", hint=hint, kind="shape")
        if not self.wrt:
            raise GradcliError("the program has no inputs, so there is nothing to differentiate", kind="name")

    def reader(self) -> TermReader:
        names = {name: input_term(name, own) for name, own in self.shapes.items()}
        return TermReader(self.program.parsed, names, self.named)

    def draw(self, lengths: Mapping[str, int], style: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return random values of inputs, and of dimensions that the program reads."""
        values: dict[str, np.ndarray] = {n: np.float64(lengths[n]) for n in sorted(self.named)}  # type: ignore[misc]
        for name, own in self.shapes.items():
            shape = tuple(d if isinstance(d, int) else lengths[d] for d in own)
            x = rng.standard_normal(shape) if style in ("normal", "spd") else rng.uniform(0.2, 1.4, shape)
            x = x * 0.4 if style == "small" else x
            square = len(shape) == 2 and own[0] == own[1]
            if name in self.spd or (square and style.startswith("spd")):
                x = x @ x.T / shape[0] + np.eye(shape[0])
            elif name in self.symmetric:
                x = (x + x.T) / 2
            values[name] = np.asarray(x)
        return values


def matrix_formulas(
    program: Program,
    shapes: Mapping[str, Sequence[Dim]],
    request: Request,
    *,
    order: int = 1,
    symmetric: Iterable[str] = (),
    spd: Iterable[str] = (),
    code: bool = False,
    steps: bool = False,
) -> MatrixFormulas:
    """Return the derivatives of a program in matrix form: gradients, Jacobians or Hessians.

    shapes: of the inputs, with names for dimensions of any length; none is a number. Raises GradcliError for what has
    no such form, and with the exit code of a defect for a formula that the engine's numbers contradict.
    """
    if not isinstance(program, ExpressionProgram):
        raise GradcliError(f"--matrix needs an expression, and {program.title} is none", hint=BY_ELEMENTS)
    try:
        inputs = Inputs(program, shapes, request.wrt, tuple(symmetric), tuple(spd))
        return derive_matrix_formulas(inputs, request, order, code, steps)
    except RecursionError:
        raise GradcliError("the formulas are nested too deeply", hint=BY_ELEMENTS, kind="limit") from None


def derive_matrix_formulas(inputs: Inputs, request: Request, order: int, code: bool, steps: bool) -> MatrixFormulas:
    program = inputs.program
    output = inputs.reader().run(request.out)
    if not isinstance(output, Term):
        raise GradcliError("the output is no number and no array", kind="shape")
    kind = kind_of(output, order)
    terms, notes = derive_all(output, inputs, order, named=request.wrt is not None)
    forms = {name: matrix_form(assume_symmetric(term, inputs.symmetric)) for name, term in terms.items()}
    value = matrix_form(assume_symmetric(output, inputs.symmetric))
    writer = FormulaWriter(inputs)
    texts = {name: writer.formula(form) for name, form in forms.items()}
    agreements = prove(inputs, texts, request.out, kind)
    targets = [s.target for s in program.parsed.statements]
    name = request.out or (None if None in targets else targets[-1])
    function = name or next(n for n in ("f", "g", "h", "F", "output") if n not in inputs.shapes)
    lines: tuple[Formula, ...] = ()
    if steps:
        from .matrix_steps import matrix_steps

        lines = matrix_steps(inputs, request.out, function, texts)
    return MatrixFormulas(
        program.title,
        kind,
        order,
        name,
        function,
        writer.formula(value),
        tuple(MatrixDerivative(name, term.dims, texts[name], agreements[name]) for name, term in terms.items()),
        inputs.shapes,
        python_code(program.title, inputs, value, forms) if code else "",
        lines,
        tuple(notes),
    )


def kind_of(output: Term, order: int) -> str:
    """Return what the derivatives are. Raises GradcliError for outputs that have none in matrix form."""
    rank = sum(d != 1 for d in output.dims)
    if rank > 1 or (rank and (len(output.axes) > 1 or order > 1)):
        what = "second derivatives of a number" if order > 1 else "derivatives of a number or a vector"
        dims = ", ".join(map(str, output.dims))
        raise GradcliError(
            f"the output has shape ({dims}); --matrix has {what}",
            hint=f"sum it, or choose a part; {BY_ELEMENTS}",
            kind="shape",
        )
    if order > 2:
        raise GradcliError("--matrix has first and second derivatives", hint=BY_ELEMENTS)
    return "hessian" if order == 2 else "jacobian" if rank else "gradient"


def derive_all(output: Term, inputs: Inputs, order: int, named: bool) -> tuple[dict[str, Term], list[str]]:
    """Return the derivatives by name, and what is to be said of inputs left out. named: whether inputs were chosen.

    Of second derivatives, each pair of inputs comes once.
    """
    scalar = Term((), output.products) if all(d == 1 for d in output.dims) else output
    terms: dict[str, Term] = {}
    for k, name in enumerate(inputs.wrt):
        first = derive(scalar, name, [Index(d) for d in inputs.shapes[name]])
        if order == 1:
            terms[name] = first
        for other in inputs.wrt[k:] if order == 2 else ():
            terms[f"{name}/{other}"] = derive(first, other, [Index(d) for d in inputs.shapes[other]])
    left_out = [label for label, term in terms.items() if len(term.axes) > 2]
    terms = {label: term for label, term in terms.items() if label not in left_out}
    if left_out and (named or not terms):
        what = "block" if order == 2 else "Jacobian"
        raise GradcliError(
            f"the {what} for {left_out[0]} has more than two axes, and no matrix form", hint=BY_ELEMENTS, kind="shape"
        )
    return terms, [f"{', '.join(left_out)}: more than two axes, so there is no matrix form"] if left_out else []


class FormulaWriter:
    """Writes formulas in the names of a program, in the language, in LaTeX and as on paper."""

    def __init__(self, inputs: Inputs):
        self.language = Language(inputs.shapes, inputs.named)
        self.latex, self.paper = Latex(inputs.shapes), Paper(inputs.shapes)
        self.taken = frozenset(inputs.program.input_names(inputs.shapes)) | set(inputs.program.bound)

    def formula(self, form: Form) -> Formula:
        """Return a formula as a program of the language: common parts first, where that shortens it."""
        parts, (short,) = name_parts([form], self.taken, lambda f: len(self.language.write(f)))
        named = [(Form("name", (), name, part.rank), part) for name, part in parts]

        def join(writer: Language, glue: str, first: bool) -> str:
            lines = [f"{writer.write(name)} = {writer.write(part)}" for name, part in named]
            last = writer.write(short)
            return glue.join([*lines, last] if first else [last, *lines])

        return Formula(
            join(self.language, "; ", True), join(self.latex, r",\quad ", False), join(self.paper, ", ", False)
        )


# -- proof ------------------------------------------------------------------------------------------------


def prove(inputs: Inputs, texts: Mapping[str, Formula], out: str | None, kind: str) -> dict[str, dict[str, Any]]:
    """Return how formulas agree with the engine at random sizes and points. Raises GradcliError where one does not."""
    rng = np.random.default_rng(0)
    programs = {name: ExpressionProgram(parse(formula.text), formula.text) for name, formula in texts.items()}
    sizes, errors = [], dict.fromkeys(texts, 0.0)
    for _ in range(POINTS):
        lengths, numbers, engine, noise = regular_point(inputs, programs, out, kind, rng)
        sizes.append(lengths)
        for name, theirs in engine.items():
            ours = numbers[name]
            scale = max(largest(theirs), largest(ours))
            error = largest(ours - theirs) if ours.shape == theirs.shape else np.inf
            if error > RELATIVE * scale + 100 * noise[name] + ABSOLUTE:
                raise GradcliError(
                    f"gradcli has a defect: its formula for {name} disagrees with its engine: {texts[name].text}",
                    hint=f"please report it with the command line; {BY_ELEMENTS}",
                    kind="defect",
                    exit_code=EXIT_DEFECT,
                )
            errors[name] = max(errors[name], error / scale if scale else 0.0)
    return {name: {"agrees": True, "points": POINTS, "sizes": sizes, "max_error": errors[name]} for name in texts}


def largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


Arrays = dict[str, np.ndarray]


def regular_point(
    inputs: Inputs, programs: Mapping[str, ExpressionProgram], out: str | None, kind: str, rng: np.random.Generator
) -> tuple[dict[str, int], Arrays, Arrays, dict[str, float]]:
    """Return lengths of dimensions, and what formulas and the engine say at a point where rounding hides nothing.

    There all is finite, and the engine's derivatives hardly change where the point does by a rounding error: by how
    much comes last.
    """
    choices = range(2, 2 + max(len(inputs.dims), 6))
    for attempt in range(TRIES):
        lengths = dict(zip(inputs.dims, map(int, rng.permutation(choices)), strict=False))
        values = inputs.draw(lengths, STYLES[attempt % len(STYLES)], rng)
        beside = {n: values[n] * (1 + 1e-13 * rng.standard_normal(values[n].shape)) for n in inputs.shapes}
        try:
            with np.errstate(all="ignore"):
                engine = engine_derivatives(inputs, values, programs, out, kind)
                moved = engine_derivatives(inputs, values | beside, programs, out, kind)
                value = evaluate(inputs.program, values, out)
                numbers = {name: evaluate(program, values) for name, program in programs.items()}
        except GradcliError as error:
            if error.kind == "target":  # a singular matrix
                continue
            raise
        if all(np.isfinite(x).all() for x in (value, *engine.values(), *numbers.values())):
            noise = {name: largest(x - moved[name]) for name, x in engine.items()}
            if all(noise[name] <= 1e-9 * largest(x) + ABSOLUTE for name, x in engine.items()):
                return lengths, numbers, engine, noise
    raise GradcliError(
        "no random point was found where the derivatives have values, so the formulas cannot be proven",
        hint="say what a matrix is: --spd A, --symmetric A",
        kind="value",
    )


def evaluate(program: ExpressionProgram, values: Mapping[str, np.ndarray], out: str | None = None) -> np.ndarray:
    output = program.run({n: values[n] for n in program.free_names(values)}, wrt=(), out=out).output
    assert output is not None
    return np.asarray(output._data)


def engine_derivatives(
    inputs: Inputs, values: Mapping[str, np.ndarray], labels: Iterable[str], out: str | None, kind: str
) -> dict[str, np.ndarray]:
    """Return the engine's own derivatives by label."""
    wrt = list(dict.fromkeys(name for label in labels for name in label.split("/")))
    request = Request(wrt=wrt, out=out)
    if kind == "hessian":
        blocks = compute_hessian(inputs.program, values, request).blocks
        return {label: np.asarray(blocks[label.split("/")[0]][label.split("/")[1]]) for label in labels}
    if kind == "jacobian":
        return {item.name: np.asarray(item.block) for item in compute_jacobian(inputs.program, values, request).blocks}
    return {item.name: item.slope for item in compute_gradient(inputs.program, values, request).inputs}


# -- code ------------------------------------------------------------------------------------------------


def python_code(title: str, inputs: Inputs, value: Form, forms: Mapping[str, Form]) -> str:
    """Return a NumPy function with the value and the derivatives, each common part computed once."""
    from ..exact.printing import UniqueNames, python_function

    names = UniqueNames([(name, ()) for name in inputs.shapes], [*keyword.kwlist, "np"])
    used = {name: names.parameters[name] for name in inputs.shapes}
    parts, (value, *slopes) = name_parts([value, *forms.values()], names.taken)
    names.taken.update(name for name, _ in parts)
    writer = Python({used[name]: own for name, own in inputs.shapes.items()})
    write = lambda form: writer.write(rename_inputs(form, used))  # noqa: E731
    common = [(name, write(form)) for name, form in parts]
    texts = dict(zip(forms, map(write, slopes), strict=True))
    function = python_function(names, used.values(), title, common, write(value), texts)
    head = "import numpy as np\n"
    if writer.special:
        head += f"from scipy.special import {', '.join(sorted(writer.special))}\n"
    return f"{head}\n\n{function}"


def rename_inputs(form: Form, names: Mapping[str, str]) -> Form:
    if form.op == "name":
        return form._replace(detail=names.get(form.detail, form.detail))
    return form._replace(parts=tuple(rename_inputs(part, names) for part in form.parts))
