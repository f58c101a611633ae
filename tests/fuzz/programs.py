"""Random programs of the expression language, differentiated by every method of gradcli.

A program is also valid Python, so the reference can run it with torch's functions under NumPy's names.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.analysis import precision as digits
from gradcli.analysis import transform
from gradcli.analysis.compare_formulas import FormulaComparison
from gradcli.analysis.gradient import compute_gradient
from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request

INPUTS: dict[str, tuple] = {"x": (), "y": (3,), "A": (2, 2), "B": (2, 3)}
POINTWISE = (  # defined on the whole line, or made so
    "sin({})", "cos({})", "tanh({})", "exp({} / 3)", "sigmoid({})", "softplus({})", "arctan({})", "arcsinh({})",
    "erf({})", "square({})", "sqrt({}**2 + 1)", "log({}**2 + 2)", "1 / ({}**2 + 1)", "-{}", "{}**3", "{} * 0.5",
    "abs({})", "relu({})", "log1p({}**2)", "expm1({} / 2)", "cosh({} / 2)", "sinh({} / 2)", "gammaln({}**2 + 1)",
    "arctanh(tanh({}) / 2)", "arcsin(sin({}) / 2)", "digamma({}**2 + 1)", "sinc({})", "2**{}", "erfc({})",
    "log2({}**2 + 1)", "clip({}, -1, 1)", "silu({})", "reciprocal({}**2 + 3)", "exp2({} / 2)",
    "where({0} > 0, {0}**2, sin({0}))", "i0({} / 2)", "logsigmoid({})", "softsign({})",
)  # fmt: skip
VECTORS = ("softmax({}, axis=-1)", "cumsum({}, axis=-1)", "flip({}, axis=-1)", "cumprod({}, axis=-1)")
PAIRS = (
    "{} + {}", "{} - {}", "{} * {}", "{} * {}", "{} / ({}**2 + 1)", "maximum({}, {})", "minimum({}, {})",
    "arctan2({}, {}**2 + 1)", "hypot({}, {} + 3)", "logaddexp({}, {})", "where({0} > {1}, {0} * {1}, {1})",
    "({}**2 + 1)**({} / 3)",
)  # fmt: skip
TO_NUMBER = (
    "sum({})", "mean({})", "prod({})", "max({})", "min({})", "logsumexp({}, axis=None)", "norm({})", "var({})",
)  # fmt: skip
MATRICES = {  # function of A, or of anything of its shape -> shape of the result
    "{}.T": (2, 2), "{} @ A": (2, 2), "{} @ B": (2, 3), "inv({} @ {}.T + eye(2))": (2, 2), "det({})": (),
    "trace({})": (), "solve({0} @ {0}.T + eye(2), B)": (2, 3), "cholesky({0} @ {0}.T + eye(2))": (2, 2),
    "diagonal({})": (2,), "logdet({0} @ {0}.T + eye(2))": (), "tril({})": (2, 2), "outer({}[0], y)": (2, 3),
}  # fmt: skip
ROUGH = ("digamma(", "gammaln(")
"""Functions whose second derivatives have only ten digits in PyTorch, which truncates its polygamma series early."""
WITHOUT_FORMULA = ("gammaln", "digamma", "cholesky", "softmax", "cumprod", "solve", "inv(", "det(", "max(", "min(")
"""Functions that take sympy long, or have no formula in the usual form."""


def make_program(seed: int) -> str:
    rng = random.Random(seed)
    first, shape = expression(rng, rng.randrange(1, 4))
    if rng.random() < 0.3:
        name, (second, other) = "t", expression(rng, rng.randrange(0, 3))
        body = f"{number_of(rng, name, shape)} * {number_of(rng, second, other)}"
        return f"{name} = {first}\n{body}"
    return number_of(rng, first, shape)


def number_of(rng: random.Random, text: str, shape: tuple) -> str:
    """Return an expression that reduces an array to a number."""
    return rng.choice(TO_NUMBER).format(text) if shape else text


def expression(rng: random.Random, depth: int) -> tuple[str, tuple]:
    if depth == 0:
        name = rng.choice(list(INPUTS))
        return name, INPUTS[name]
    text, shape = expression(rng, depth - 1)
    text = f"({text})"
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(POINTWISE[:-8] if rng.random() < 0.8 else POINTWISE).format(text), shape
    if kind < 0.7:
        other, second = expression(rng, rng.randrange(depth))
        try:
            shape = np.broadcast_shapes(shape, second)
        except ValueError:
            other, second = "x", ()
        return rng.choice(PAIRS).format(text, f"({other})"), np.broadcast_shapes(shape, second)
    if shape == (2, 2) and kind < 0.9:
        form = rng.choice(list(MATRICES))
        return form.format(text, text), MATRICES[form]
    if shape:
        return rng.choice(VECTORS).format(text), shape
    return rng.choice(POINTWISE[:-8]).format(text), shape


def point_for(text: str, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = {name: np.asarray(rng.uniform(-1.5, 1.5, shape).round(3)) for name, shape in INPUTS.items()}
    free = ExpressionProgram(parse(text), text).free_names()
    return {name: value for name, value in values.items() if name in free}


class Answers:
    """All derivatives of one program by gradcli; `parts` holds them by method and input."""

    def __init__(self, text: str, seed: int):
        self.given = point_for(text, seed)
        self.program = ExpressionProgram(parse(text), text)
        rng = np.random.default_rng(seed + 1)
        self.tangent = {name: np.asarray(rng.normal(size=v.shape)) for name, v in self.given.items()}
        found = compute_gradient(self.program, self.given, Request())
        self.value = np.asarray(found.value)
        self.parts: dict[str, dict[str, Any]] = {"grad": {x.name: x.grad for x in found.inputs}}
        self.parts["vjp"] = transform.compute_vjp(self.program, self.given, Request(gradient=np.asarray(1.0))).parts
        for mode in ("rev", "fwd"):
            found_blocks = transform.compute_jacobian(self.program, self.given, Request(), mode=mode)
            self.parts[f"jacobian {mode}"] = found_blocks.blocks
        (self.jvp,) = transform.compute_jvp(self.program, self.given, Request(), self.tangent).parts.values()
        self.hessian = transform.compute_hessian(self.program, self.given, Request()).blocks

    def in_digits(self, count: int = 30) -> dict[str, np.ndarray]:
        """Return the gradients computed in `count` digits, as floats. Raises GradcliError if that fails."""
        found = digits.gradient_in_digits(self.program, lambda: self.given, Request(), count)
        return {name: np.vectorize(float, otypes=[float])(text) for name, text in found.parts.items()}

    def symbolic_agrees(self, seconds: float = 2.0) -> bool | None:
        """Return whether the formulas agree with the gradient, or None if there are no formulas."""
        try:
            comparison = FormulaComparison(self.program, lambda: self.given, Request(timeout=seconds))
            return all(item.agrees for item in comparison.gradient(self.given, self.parts["grad"]))
        except GradcliError:
            return None

    def disagreements(self) -> list[str]:
        """Return the methods that disagree with the gradient in reverse mode."""
        grad = self.parts["grad"]
        wrong = [way for way, found in self.parts.items() if any(not close(found[n], grad[n]) for n in grad)]
        along = sum(float(np.sum(grad[name] * self.tangent[name])) for name in grad)
        size = sum(float(np.sum(np.abs(grad[name] * self.tangent[name]))) for name in grad)
        if not close(self.jvp, along, size):
            wrong.append("jvp")
        pairs = [(a, b) for a in grad for b in grad]
        if any(not close(matrix(self.hessian, a, b), matrix(self.hessian, b, a).T) for a, b in pairs):
            wrong.append("hessian")
        return wrong


def matrix(hessian: Any, a: str, b: str) -> np.ndarray:
    block = np.asarray(hessian[a][b])
    return block.reshape(int(np.prod(INPUTS[a])), int(np.prod(INPUTS[b])))


def close(a: Any, b: Any, scale: float = 0.0) -> bool:
    """Return whether two results agree to rounding, where nan equals nan."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape:
        return False
    largest = max(scale, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
    return np.allclose(a, b, rtol=1e-9, atol=1e-10 * largest + 1e-13, equal_nan=True)


def close_where_known(mine: Any, theirs: np.ndarray, scale: float) -> bool:
    """Return whether second derivatives agree, wherever the reference has one.

    scale: the program's largest second derivative. At a kink, such as a norm at 0, the reference's rules give 0/0.
    """
    return close(mine, np.where(np.isnan(theirs), mine, theirs), scale)


def has_formula(text: str) -> bool:
    """Return whether to ask sympy about a program: it must be short, and its functions must have formulas."""
    return len(text) < 60 and not any(word in text for word in WITHOUT_FORMULA)


Reference = Callable[[str, dict[str, np.ndarray]], tuple[Any, dict, dict]]
"""A function that returns the value, gradients and Hessian of a program from another engine."""


def compare(
    text: str, seed: int, reference: Reference | None = None, with_digits: bool = True, with_formulas: bool = True
) -> list[str]:
    """Return which results for a program disagree, with each other or with a reference, if given."""
    answers = Answers(text, seed)
    wrong = answers.disagreements()
    grad = answers.parts["grad"]
    if with_digits:
        try:
            wide = answers.in_digits()
        except GradcliError as error:
            wrong.append(f"digits: {error.message}")
        else:
            wrong += ["digits"] if any(not close(grad[name], wide[name]) for name in grad) else []
    if with_formulas and has_formula(text) and answers.symbolic_agrees() is False:
        wrong.append("symbolic")
    if reference is not None and not any(word in text for word in ROUGH):
        value, theirs, hessian = reference(text, answers.given)
        wrong += [] if close(answers.value, value) else ["value by the reference"]
        wrong += [f"grad {n} by the reference" for n in grad if not close(grad[n], theirs[n])]
        blocks = [(answers.hessian[a][b], hessian[a][b]) for a in grad for b in grad]
        scale = max(float(np.max(np.abs(block[np.isfinite(block)]), initial=0.0)) for _, block in blocks)
        if any(not close_where_known(ours, block, scale) for ours, block in blocks):
            wrong.append("hessian by the reference")
    return wrong
