"""Derivatives in matrix form, for arrays of any size, also node by node; each is checked against the engine."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..analysis.gradient import compute_gradient
from ..analysis.transform import compute_hessian, compute_jacobian
from ..errors import EXIT_DEFECT, GradcliError, check_known
from ..lang import tree
from ..lang.parse import parse
from ..program.base import Program, Values
from ..program.expression import ExpressionProgram
from ..request import Request
from ..results.studies import Derivative, Formulas, PrintedFormula, bold_symbol
from .form import Form, matrix_form
from .index_terms import Dim, Index, Term, assume_symmetric, contract_indices, multiply_elementwise
from .printing import LanguageWriter, Latex, NumpyWriter, Paper, name_parts
from .reader import BY_ELEMENTS, TermReader, derive, input_term

COMPARED_AT = 3  # random sizes and points at which a formula is compared with the engine
POINT_TRIES = 60  # points to try in search of one where all values are finite
STYLES = ("normal", "positive", "spd", "small", "spd positive")
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-8, 1e-10  # tolerance for rounding; a wrong formula differs by about 100%


class Inputs:
    """The inputs of a program as arrays of any size, and the name of its output, if given.

    dims: names of dimensions. spd: inputs that are symmetric and positive definite.
    """

    def __init__(
        self,
        program: ExpressionProgram,
        shapes: Mapping[str, Sequence[Dim]],
        request: Request,
        symmetric: Sequence[str],
        spd: Sequence[str],
    ):
        self.program, self.out = program, request.out
        dims = {d for own in shapes.values() for d in own if isinstance(d, str)}
        free = list(program.free_names(shapes))
        wanted = None if request.wrt is None else list(dict.fromkeys(request.wrt))
        known = program.input_names(shapes)
        check_known(shapes, known, "--shape")
        check_known(wanted or (), known, "--wrt")
        names = [n for n in known if n in shapes or (n in free and n not in dims) or n in (wanted or ())]
        self.shapes = {n: tuple(shapes.get(n, ())) for n in names}
        self.wrt = wanted or names
        self.dims = sorted(dims)
        self.named = frozenset(n for n in free if n in dims and n not in self.shapes)
        self.spd, self.symmetric = frozenset(spd), frozenset((*symmetric, *spd))
        for option, given in (("--symmetric", symmetric), ("--spd", spd)):
            check_known(given, self.shapes, option)
            for name in given:
                own = self.shapes[name]
                if len(own) != 2 or own[0] != own[1]:
                    hint = f"--shape {name}=n,n"
                    raise GradcliError(f"{option}: '{name}' is not a square matrix", hint=hint, kind="shape")
        if not self.wrt:
            raise GradcliError("the program has no inputs, so there is nothing to differentiate", kind="name")

    def reader(self) -> TermReader:
        names = {name: input_term(name, own) for name, own in self.shapes.items()}
        return TermReader(self.program.parsed, names, self.named)

    def draw(self, lengths: Mapping[str, int], style: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
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
    symmetric: Sequence[str] = (),
    spd: Sequence[str] = (),
    code: bool = False,
    steps: bool = False,
) -> Formulas:
    """Derive gradients, Jacobians or Hessians of a program in matrix form. Raises GradcliError.

    symmetric, spd: inputs that are symmetric, or also positive definite. steps: the chain rule, too.
    """
    if not isinstance(program, ExpressionProgram):
        raise GradcliError(f"--matrix needs an expression; {program.title} is not one", hint=BY_ELEMENTS)
    try:
        inputs = Inputs(program, shapes, request, symmetric, spd)
        return derive_matrix_formulas(inputs, request, code, steps)
    except RecursionError:
        raise GradcliError("the formulas are nested too deeply", hint=BY_ELEMENTS, kind="limit") from None


def derive_matrix_formulas(inputs: Inputs, request: Request, code: bool, steps: bool) -> Formulas:
    program, order = inputs.program, request.order
    output = inputs.reader().run(inputs.out)
    if not isinstance(output, Term):
        raise GradcliError("the output is not a number or an array", kind="shape")
    kind = kind_of_derivatives(output, order)
    terms, notes = derive_all(output, inputs, order, named=request.wrt is not None)
    forms = {name: matrix_form(assume_symmetric(term, inputs.symmetric)) for name, term in terms.items()}
    value = matrix_form(assume_symmetric(output, inputs.symmetric))
    texts = {name: write_matrix_formula(form, inputs) for name, form in forms.items()}
    agreements = prove(inputs, texts, kind)
    targets = [s.target for s in program.parsed.statements]
    name = inputs.out or (None if None in targets else targets[-1])
    function = name or next(n for n in ("f", "g", "h", "F", "output") if n not in inputs.shapes)
    derivatives = (Derivative(n, texts[n], dims=term.dims, agreement=agreements[n]) for n, term in terms.items())
    return Formulas(
        program.title,
        (Derivative("value", write_matrix_formula(value, inputs)),),
        tuple(derivatives),
        order,
        python_code(program.title, inputs, value, forms) if code else "",
        matrix_steps(inputs, function, texts) if steps else (),
        name,
        function,
        notes=tuple(notes),
        kind=kind,
        shapes=inputs.shapes,
    )


def kind_of_derivatives(output: Term, order: int) -> str:
    """Return the kind of derivatives. Raises GradcliError for outputs whose derivatives have no matrix form."""
    rank = sum(d != 1 for d in output.dims)
    if rank > 1 or (rank and (len(output.axes) > 1 or order > 1)):
        what = "second derivatives of a number" if order > 1 else "derivatives of a number or a vector"
        dims = ", ".join(map(str, output.dims))
        hint = f"sum it, or choose a part; {BY_ELEMENTS}"
        raise GradcliError(f"the output has shape ({dims}); --matrix supports only {what}", hint=hint, kind="shape")
    if order > 2:
        raise GradcliError("--matrix supports only first and second derivatives", hint=BY_ELEMENTS)
    return "hessian" if order == 2 else "jacobian" if rank else "gradient"


def derive_all(output: Term, inputs: Inputs, order: int, named: bool) -> tuple[dict[str, Term], list[str]]:
    """Return the derivatives by name, each pair of inputs once, and a note on those left out (an error if `named`)."""
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
        message = f"the {what} for {left_out[0]} has more than two axes, so it has no matrix form"
        raise GradcliError(message, hint=BY_ELEMENTS, kind="shape")
    return terms, [f"{', '.join(left_out)}: more than two axes, so it has no matrix form"] if left_out else []


def write_matrix_formula(form: Form, inputs: Inputs) -> PrintedFormula:
    """Write a formula in the language, in LaTeX and as on paper; name common parts where that shortens it."""
    language = LanguageWriter(inputs.shapes, inputs.named)
    taken = frozenset(inputs.program.input_names(inputs.shapes)) | set(inputs.program.bound)
    parts, (short,) = name_parts([form], taken, lambda f: len(language.write(f)))
    named = [(Form("name", (), name, part.rank), part) for name, part in parts]

    def join(writer: LanguageWriter, glue: str, first: bool) -> str:
        lines = [f"{writer.write(name)} = {writer.write(part)}" for name, part in named]
        last = writer.write(short)
        return glue.join([*lines, last] if first else [last, *lines])

    latex, paper = Latex(inputs.shapes), Paper(inputs.shapes)
    return PrintedFormula(join(language, "; ", True), join(latex, r",\quad ", False), join(paper, ", ", False))


# -- check ------------------------------------------------------------------------------------------------


def prove(inputs: Inputs, texts: Mapping[str, PrintedFormula], kind: str) -> dict[str, dict[str, Any]]:
    """Compare formulas with the engine at random sizes and points. Raises GradcliError if one differs."""
    rng = np.random.default_rng(0)
    programs = {name: ExpressionProgram(parse(formula.text), formula.text) for name, formula in texts.items()}
    sizes, errors = [], dict.fromkeys(texts, 0.0)
    for _ in range(COMPARED_AT):
        lengths, numbers, engine, noise = regular_point(inputs, programs, kind, rng)
        sizes.append(lengths)
        for name, theirs in engine.items():
            ours = numbers[name]
            scale = max(largest_element(theirs), largest_element(ours))
            error = largest_element(ours - theirs) if ours.shape == theirs.shape else np.inf
            if error > RELATIVE_TOLERANCE * scale + 100 * noise[name] + ABSOLUTE_TOLERANCE:
                message = f"gradcli has a defect: its formula for {name} disagrees with its engine: {texts[name].text}"
                hint = f"please report it with the command line; {BY_ELEMENTS}"
                raise GradcliError(message, hint=hint, kind="defect", exit_code=EXIT_DEFECT)
            errors[name] = max(errors[name], error / scale if scale else 0.0)
    return {name: {"agrees": True, "points": COMPARED_AT, "sizes": sizes, "max_error": errors[name]} for name in texts}


def largest_element(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


ArraysByName = dict[str, np.ndarray]


def regular_point(
    inputs: Inputs, programs: Mapping[str, ExpressionProgram], kind: str, rng: np.random.Generator
) -> tuple[dict[str, int], ArraysByName, ArraysByName, dict[str, float]]:
    """Find a point where all values are finite. Return lengths, values of formulas and engine, and rounding effects."""
    choices = range(2, 2 + max(len(inputs.dims), 6))
    for attempt in range(POINT_TRIES):
        lengths = dict(zip(inputs.dims, map(int, rng.permutation(choices)), strict=False))
        values = inputs.draw(lengths, STYLES[attempt % len(STYLES)], rng)
        nearby = {n: values[n] * (1 + 1e-13 * rng.standard_normal(values[n].shape)) for n in inputs.shapes}
        try:
            with np.errstate(all="ignore"):
                engine = engine_derivatives(inputs, values, programs, kind)
                moved = engine_derivatives(inputs, values | nearby, programs, kind)
                value = evaluate(inputs.program, values, inputs.out)
                numbers = {name: evaluate(program, values) for name, program in programs.items()}
        except GradcliError as error:
            if error.kind == "target":  # a singular matrix
                continue
            raise
        if all(np.isfinite(x).all() for x in (value, *engine.values(), *numbers.values())):
            noise = {name: largest_element(x - moved[name]) for name, x in engine.items()}
            if all(noise[name] <= 1e-9 * largest_element(x) + ABSOLUTE_TOLERANCE for name, x in engine.items()):
                return lengths, numbers, engine, noise
    message = "found no random point where the derivatives have values, so the formulas cannot be checked"
    raise GradcliError(message, hint="declare the properties of a matrix: --spd A or --symmetric A", kind="value")


def evaluate(program: ExpressionProgram, values: Values, out: str | None = None) -> np.ndarray:
    output = program.run({n: values[n] for n in program.free_names(values)}, wrt=(), out=out).output
    assert output is not None
    return np.asarray(output._data)


def engine_derivatives(inputs: Inputs, values: Values, labels: Iterable[str], kind: str) -> dict[str, np.ndarray]:
    wrt = list(dict.fromkeys(name for label in labels for name in label.split("/")))
    request = Request(wrt=wrt, out=inputs.out)
    if kind == "hessian":
        blocks = compute_hessian(inputs.program, values, request).blocks
        return {label: np.asarray(blocks[label.split("/")[0]][label.split("/")[1]]) for label in labels}
    if kind == "jacobian":
        return compute_jacobian(inputs.program, values, request).blocks
    return {item.name: item.slope for item in compute_gradient(inputs.program, values, request).inputs}


# -- code ------------------------------------------------------------------------------------------------


def python_code(title: str, inputs: Inputs, value: Form, forms: Mapping[str, Form]) -> str:
    """Write a NumPy function for the value and the derivatives that computes common parts once."""
    from ..code.names import UniqueNames
    from ..code.python import python_function

    names = UniqueNames([(name, ()) for name in inputs.shapes], [*keyword.kwlist, "np"])
    used = {name: names.parameters[name] for name in inputs.shapes}
    parts, (value, *slopes) = name_parts([value, *forms.values()], names.taken)
    names.taken.update(name for name, _ in parts)
    writer = NumpyWriter({used[name]: own for name, own in inputs.shapes.items()})
    write = lambda form: writer.write(rename_inputs(form, used))  # noqa: E731
    common = [(name, write(form)) for name, form in parts]
    texts = dict(zip(forms, map(write, slopes), strict=True))
    returned = {names.free("value"): write(value), **{names.derivative(label): text for label, text in texts.items()}}
    function = python_function(used.values(), title, common, returned)
    head = "import numpy as np\n"
    if writer.special:
        head += f"from scipy.special import {', '.join(sorted(writer.special))}\n"
    return f"{head}\n\n{function}"


def rename_inputs(form: Form, names: Mapping[str, str]) -> Form:
    if form.op == "name":
        return form._replace(detail=names.get(form.detail, form.detail))
    return form._replace(parts=tuple(rename_inputs(part, names) for part in form.parts))


# -- steps -----------------------------------------------------------------------------------------------


class ProgramNodes:
    """The nodes of a program that depend on inputs, by name (their own, or v1, v2, ...): terms in earlier nodes."""

    def __init__(self, inputs: Inputs):
        self.terms: dict[str, Term] = {}
        self.taken = {*inputs.shapes, *inputs.program.bound, *inputs.named}
        self.keys: dict[str, str] = {}
        reader = inputs.reader()
        reader.watch = self.take
        reader.run(inputs.out)

    def take(self, node: tree.Expr, value: Any, name: str | None) -> Any:
        """Name a node, and return a term with this name instead of its value; equal nodes share a name."""
        if not isinstance(value, Term) or not any(f.atom.op != "size" for one in value.products for f in one.factors):
            return value
        if name is None and value.key in self.keys:
            name = self.keys[value.key]
        elif name is None:
            names = (f"v{k}" for k in range(1, len(self.terms) + len(self.taken) + 2))
            name = next(name for name in names if name not in self.terms and name not in self.taken)
        self.terms.setdefault(name, value)
        self.keys.setdefault(value.key, name)
        return input_term(name, value.dims)


def matrix_steps(inputs: Inputs, function: str, results: Mapping[str, PrintedFormula]) -> tuple[PrintedFormula, ...]:
    """Return a line for each node, then one for the derivative by each. Those for inputs end with the result."""
    nodes = ProgramNodes(inputs)
    names = list(nodes.terms)
    last = names[-1] if names else function
    shapes = {**inputs.shapes, **{name: term.dims for name, term in nodes.terms.items()}}
    language, latex = LanguageWriter(shapes, inputs.named), Latex(shapes)
    shown = {last: function} if last.startswith("v") and last not in nodes.taken else {}
    lines: list[PrintedFormula] = []

    def write(term: Term) -> tuple[str, str]:
        form = matrix_form(assume_symmetric(term, inputs.symmetric))
        return language.write(form), latex.write(form)

    def name_in_latex(name: str) -> str:
        return bold_symbol(name) if shapes.get(name) else name

    for name, term in nodes.terms.items():
        text, code = write(term)
        lines.append(
            PrintedFormula(f"{shown.get(name, name)} = {text}", f"{shown.get(name, name_in_latex(name))} = {code}")
        )
    slopes = differentiate_nodes(nodes, inputs)
    for name in [*reversed(names[:-1]), *inputs.wrt]:
        if name not in slopes:
            continue
        text, code = write(slopes[name])
        if name in results and results[name].text != text:
            text, code = f"{text} = {results[name].text}", f"{code} = {results[name].latex}"
        top, below = shown.get(last, last), name_in_latex(name)
        head = rf"\frac{{\partial {top}}}{{\partial {below}}}"
        lines.append(PrintedFormula(f"∂{top}/∂{name} = {text}", f"{head} = {code}"))
    return tuple(lines)


def differentiate_nodes(nodes: ProgramNodes, inputs: Inputs) -> dict[str, Term]:
    """Return the derivative of the last node by each node and input, in the names of the nodes."""
    names = list(nodes.terms)
    if not names:
        return {}
    dims = {**inputs.shapes, **{name: term.dims for name, term in nodes.terms.items()}}
    last = input_term(names[-1], dims[names[-1]])
    slopes = {names[-1]: derive(last, names[-1], list(map(Index, last.dims)))}
    for name in (n for n in reversed(names) if n in slopes):
        slope, term = slopes[name], nodes.terms[name]
        inner = slope.axes[len(last.axes) :]
        for other in (n for n in [*names, *inputs.wrt] if n != name):
            seeds = tuple(map(Index, dims[other]))
            local = derive(term, other, seeds)
            if not local.products:
                continue
            part = contract_indices(
                multiply_elementwise([*slope.axes, *seeds], slope, local.with_axes([*inner, *seeds])), *inner
            )
            before = slopes[other].with_axes(part.axes).products if other in slopes else ()
            slopes[other] = Term(part.axes, [*part.products, *before])
    return slopes
