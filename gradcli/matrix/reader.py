"""Convert programs in the expression language to terms in index notation, and differentiate the terms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from ..errors import GradcliError, count_of, did_you_mean
from ..exact.field import CONDITIONS
from ..lang import tree
from ..lang.evaluate import advice_for, find_function
from ..lang.limits import CONSTANTS
from ..lang.operations import derivative_texts
from ..lang.parse import parse
from ..rules import entry
from .index_terms import (
    ONE,
    Atom,
    Dim,
    Factor,
    Index,
    Product,
    Term,
    apply_function,
    as_product,
    contract_indices,
    inverse_matrix,
    multiply_elementwise,
    number_term,
    power_term,
    product_of,
    renamed_indices,
    scale,
    size_term,
    term_of,
)

BY_ELEMENTS = "'gradcli symbolic' without --matrix works element by element and supports more functions"
STEP_FUNCTIONS = {
    *CONDITIONS.split(),
    "bitwise_and",
    "bitwise_or",
    "invert",
    "heaviside",
}  # elementwise, with zero derivative
FIXED_EXPONENTS = {"sqrt": Fraction(1, 2), "square": Fraction(2), "reciprocal": Fraction(-1), "rsqrt": Fraction(-1, 2)}


def input_term(name: str, dims: Sequence[Dim]) -> Term:
    axes = tuple(map(Index, dims))
    return term_of(Factor(Atom("input", detail=name), axes), axes=axes)


def identity_term(i: Index) -> Term:
    axes = (i, Index(i.dim))
    return term_of(Factor(Atom("delta"), axes), axes=axes)


def transpose_term(x: Term) -> Term:
    return Term(x.axes[::-1], x.products)


def count_elements(axes: Iterable[Index]) -> Term:
    return multiply_elementwise((), number_term(1), *(Term((), [size_term(i.dim)]) for i in axes))


def write_dims(dims: Sequence[Dim]) -> str:
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"


def elementwise_name(name: str) -> str | None:
    primitive = find_function(name)
    if primitive is None or (primitive.kind != "elementwise" and primitive.name not in STEP_FUNCTIONS):
        return None
    return primitive.name


TABLE_SLOPES = {
    "absolute": ("sign(x)",), "exp": ("exp(x)",), "expm1": ("exp(x)",), "tan": ("1 + tan(x)**2",),
    "relu": ("heaviside(x, 0)",), "softplus": ("sigmoid(x)",), "silu": ("sigmoid(x)*(1 + x*(1 - sigmoid(x)))",),
    "maximum": ("heaviside(x - y, 0.5)", "heaviside(y - x, 0.5)"),
    "minimum": ("heaviside(y - x, 0.5)", "heaviside(x - y, 0.5)"),
    "power": ("y*x**(y - 1)", "x**y*log(x)"),
    "where": ("0", "where(x, 1, 0)", "where(x, 0, 1)"),
}  # fmt: skip
"""Derivatives that the table describes in words, or in a form made for numerical accuracy."""


@functools.cache
def slope_formula(op: str, position: int) -> tree.ParsedProgram | None:
    """Return the formula of a derivative in x, y and z, as in `gradcli ops`; None if it is 0."""
    if op in STEP_FUNCTIONS:
        return None
    text = TABLE_SLOPES[op][position] if op in TABLE_SLOPES else derivative_texts(entry(op))[position][1]
    return None if text == "0" else parse(text)


@functools.cache
def has_slopes(op: str, arity: int) -> bool:
    """Report whether the derivatives of an elementwise function are formulas in the expression language."""
    try:
        formulas = [slope_formula(op, k) for k in range(arity)]
    except GradcliError:
        return False
    nodes = [node for f in formulas if f is not None for s in f.statements for node in s.value.walk()]
    names = all(node.name in (*"xyz", *CONSTANTS) for node in nodes if isinstance(node, tree.Name))
    calls = (node.function for node in nodes if isinstance(node, tree.Call) and node.function not in (op, "where"))
    return names and all(elementwise_name(name) is not None for name in calls)


class TermReader:
    """Runs the statements of a program on terms, as `lang.evaluate` runs them on arrays.

    names: the terms of the inputs. dims: names of dimensions, which the program may read as numbers. watch: called with
    each node and its value; returns the value to use.
    """

    def __init__(self, program: tree.ParsedProgram, names: Mapping[str, Any], dims: frozenset[str] = frozenset()):
        self.program, self.names, self.dims = program, dict(names), dims
        self.given = frozenset(names)
        self.watch: Callable[[tree.Expr, Any, str | None], Any] = lambda node, value, name: value

    def run(self, out: str | None = None) -> Any:
        """Return the value of the last expression or assignment, or of the name `out`."""
        result: Any = None
        has_expression = any(s.target is None for s in self.program.statements)
        for s in self.program.statements:
            if s.index is not None:
                self.refuse(s.value, "assignment to elements")
            if s.target is None:
                result = self.value(s.value)
            elif s.target not in self.given or s.target in self.program.free:
                self.names[s.target] = self.watch(s.value, self.value(s.value, watched=False), s.target)
                result = result if has_expression else self.names[s.target]
        if out is not None and out not in self.names:
            hint = did_you_mean(out, self.names)
            raise GradcliError(f"--out: the program does not define '{out}'", hint=hint, kind="name")
        return result if out is None else self.names[out]

    def value(self, node: tree.Expr, watched: bool = True) -> Any:
        """Evaluate an expression to a term, a tuple, a truth value, or None."""
        result = getattr(self, f"_{type(node).__name__.lower()}", self._unknown)(node)
        is_step = watched and isinstance(node, tree.Binary | tree.Unary | tree.Call | tree.Choice)
        return self.watch(node, result, None) if is_step and isinstance(result, Term) else result

    def error(self, place: Any, message: str, hint: str | None = None, kind: str = "shape") -> GradcliError:
        return GradcliError(message, span=self.program.span(place), hint=hint, kind=kind)

    def refuse(self, place: Any, what: str) -> NoReturn:
        raise self.error(place, f"--matrix does not support {what}", BY_ELEMENTS, "exact")

    def term(self, node: tree.Expr) -> Term:
        result = self.value(node)
        if not isinstance(result, Term):
            raise self.error(node, "this is not a number or an array", kind="value")
        return result

    def _unknown(self, node: tree.Expr) -> NoReturn:
        self.refuse(node, {"Sequence": "a list of numbers", "Slice": "a slice"}.get(type(node).__name__, "this"))

    def _number(self, node: tree.Number) -> Term:
        if isinstance(node.value, complex):
            self.refuse(node, "a complex number")
        return number_term(Fraction(self.program.source[node.start : node.end].replace("_", "")))

    def _constant(self, node: tree.Constant) -> Any:
        return node.value

    def _name(self, node: tree.Name) -> Any:
        if node.name in self.names:
            return self.names[node.name]
        if node.name in self.dims:
            return Term((), [size_term(node.name)])
        if node.name in ("inf", "nan"):
            self.refuse(node, f"'{node.name}'")
        if node.name in CONSTANTS:
            return term_of(Factor(Atom("constant", detail=node.name)))
        raise self.error(node, f"'{node.name}' has no value", advice_for(node.name), "name")

    def _unary(self, node: tree.Unary) -> Term:
        x = self.term(node.x)
        if node.op in STEP_FUNCTIONS:
            return apply_function(node.op, x.axes, [x])
        return scale(x, -1) if node.op == "negative" else x

    def _sequence(self, node: tree.Sequence) -> Any:
        return self._unknown(node) if node.is_list else tuple(self.value(item) for item in node.items)

    def _property(self, node: tree.Property) -> Any:
        x = self.term(node.x)
        if node.name in ("T", "mT"):
            return transpose_term(x)
        if node.name == "shape":
            return tuple(Term((), [size_term(d)]) for d in x.dims)
        if node.name == "size":
            return count_elements(x.axes)
        if node.name == "ndim":
            return number_term(len(x.axes))
        self.refuse(node, f".{node.name}")

    def _item(self, node: tree.Item) -> Any:
        x = self.value(node.x)
        if isinstance(x, tuple):
            place = self.value(node.index)
            whole = place.number() if isinstance(place, Term) else None
            if whole is None or whole.denominator != 1 or not -len(x) <= whole < len(x):
                raise self.error(node.index, f"there are {len(x)} parts; use an index from 0 to {len(x) - 1}")
            return x[int(whole)]
        self.refuse(node, "an element of an array")

    def _choice(self, node: tree.Choice) -> Term:
        return self.elementwise("where", node, [self.term(x) for x in (node.condition, node.x, node.y)])

    def _binary(self, node: tree.Binary) -> Term:
        x, y = self.term(node.x), self.term(node.y)
        return self.product(node, x, y) if node.op == "matmul" else self.elementwise(node.op, node, [x, y])

    # -- arithmetic -----------------------------------------------------------------------------------

    def align(self, node: Any, terms: Sequence[Term]) -> tuple[tuple[Index, ...], list[Term]]:
        """Broadcast terms. Return their common axes, and the terms over these axes."""
        rank = max(len(x.axes) for x in terms)
        axes: list[Index] = []
        for place in range(-rank, 0):
            there = [x.axes[place] for x in terms if len(x.axes) >= -place]
            long = [i for i in there if i.dim != 1] or there
            if any(i.dim != long[0].dim for i in long):
                shapes = " and ".join(write_dims(x.dims) for x in terms)
                first, other = long[0].dim, next(i.dim for i in long if i.dim != long[0].dim)
                hint = "if equal, give them the same name in --shape" if isinstance(first, str) else None
                raise self.error(node, f"shapes {shapes} do not match: {first} is not {other}", hint)
            axes.append(Index(long[0].dim))
        aligned = []
        for x in terms:
            own = axes[rank - len(x.axes) :]
            new = [i if i.dim == j.dim else Index(1) for i, j in zip(own, x.axes, strict=True)]
            aligned.append(x.with_axes(new, [i for i in new if i in axes]))
        return tuple(axes), aligned

    def elementwise(self, op: str, node: Any, terms: Sequence[Term]) -> Term:
        axes, aligned = self.align(node, terms)
        x, y = aligned[0], aligned[-1]
        if op in ("add", "subtract"):
            return Term(axes, [*x.products, *scale(y, 1 if op == "add" else -1).products])
        if op == "multiply":
            return multiply_elementwise(axes, x, y)
        if op == "divide":
            return multiply_elementwise(axes, x, self.checked_power(node, y, Fraction(-1)))
        exponent = y.number() if op == "power" else FIXED_EXPONENTS.get(op)
        if exponent is not None:
            return self.checked_power(node, Term(axes, x.products), exponent)
        return apply_function(op, axes, aligned)

    def checked_power(self, node: Any, x: Term, exponent: Fraction) -> Term:
        if exponent < 0 and not x.products:
            raise self.error(node, "this divides by zero", kind="value")
        return power_term(x, exponent)

    def product(self, node: Any, x: Term, y: Term) -> Term:
        if not x.axes or not y.axes:
            raise self.error(node, "matmul: a scalar has no axis to sum over; use *", "set shapes with --shape")
        inner, first = x.axes[-1], y.axes[-2:][0]
        if inner.dim != first.dim:
            hint = "if equal, give them the same name in --shape"
            if len(x.axes) == 2 and x.dims[0] == first.dim:
                hint = "transpose the first operand: A.T"
            elif len(y.axes) == 2 and inner.dim == y.dims[1]:
                hint = "transpose the second operand: B.T"
            raise self.error(node, f"{write_dims(x.dims)} @ {write_dims(y.dims)}: {inner.dim} is not {first.dim}", hint)
        i, j, k = Index(inner.dim), tuple(Index(a.dim) for a in x.axes[:-1]), tuple(Index(a.dim) for a in y.axes[1:])
        return contract_indices(multiply_elementwise((*j, i, *k), x.with_axes((*j, i)), y.with_axes((i, *k))), i)

    # -- functions --------------------------------------------------------------------------------------

    def _call(self, node: tree.Call) -> Any:
        args = [self.value(x) for x in node.args]
        named = {k: self.value(x) for k, x in zip(node.keywords, node.values, strict=True)}
        named = {{"dim": "axis", "keepdim": "keepdims"}.get(k, k): x for k, x in named.items()}
        function = MATRIX_FUNCTIONS.get(MATRIX_ALIASES.get(node.function, node.function))
        if function is not None:
            try:
                return function(self, node, *args, **named)
            except (TypeError, AttributeError):  # too many arguments, or a shape instead of an array
                self.refuse(node, f"{node.function} with these arguments")
        primitive = find_function(node.function)
        if node.function != "where" and primitive is None:
            raise self.error(node.place, f"unknown function '{node.function}'", advice_for(node.function), "name")
        name = "where" if node.function == "where" else elementwise_name(node.function)
        arity = 3 if name == "where" else getattr(primitive, "arity", 0)
        is_known = name is not None and not named and all(isinstance(x, Term) for x in args)
        if name is None or not is_known or not has_slopes(name, arity):
            self.refuse(node.place, f"'{node.function}'")
        if len(args) != arity:
            raise self.error(node, f"{node.function} takes {count_of(arity, 'argument')}", kind="value")
        return self.elementwise(name, node, args)

    def axes_of(self, node: tree.Call, x: Term, axis: Any) -> list[Index]:
        """Return the axes for an argument `axis`: a number, a tuple of numbers, or None for all."""
        if axis is None:
            return list(x.axes)
        found = []
        for item in axis if isinstance(axis, tuple) else (axis,):
            place = item.number() if isinstance(item, Term) else None
            if place is None or place.denominator != 1 or not -len(x.axes) <= place < len(x.axes):
                raise self.error(node, f"this axis does not exist: the shape is {write_dims(x.dims)}")
            found.append(x.axes[int(place)])
        return found

    def call_sum(self, node: tree.Call, x: Term, axis: Any = None, keepdims: Any = False) -> Term:
        gone = self.axes_of(node, x, axis)
        result = contract_indices(x, *gone)
        kept = [Index(1) if i in gone else i for i in x.axes] if keepdims else result.axes
        return Term(kept, result.products)

    def call_mean(self, node: tree.Call, x: Term, axis: Any = None, keepdims: Any = False) -> Term:
        count = count_elements(self.axes_of(node, x, axis))
        total = self.call_sum(node, x, axis, keepdims)
        return multiply_elementwise(total.axes, total, power_term(count, Fraction(-1)))

    def call_outer(self, node: tree.Call, x: Term, y: Term) -> Term:
        if len(x.axes) != 1 or len(y.axes) != 1:
            raise self.error(node, f"outer takes two vectors, not shapes {write_dims(x.dims)} and {write_dims(y.dims)}")
        x, y = (v.with_axes([Index(d) for d in v.dims]) for v in (x, y))
        return multiply_elementwise((*x.axes, *y.axes), x, y)

    def square(self, node: tree.Call, x: Term) -> Term:
        """Give a matrix fresh axes. Raises GradcliError unless it is square."""
        if len(x.axes) != 2 or x.dims[0] != x.dims[1]:
            hint = "give both axes the same length: --shape A=n,n" if len(x.axes) == 2 else None
            raise self.error(node, f"{node.function} takes a square matrix, not shape {write_dims(x.dims)}", hint)
        return x.with_axes([Index(d) for d in x.dims])

    def call_trace(self, node: tree.Call, x: Term) -> Term:
        x = self.square(node, x)
        return contract_indices(x.with_axes((x.axes[0], x.axes[0]), x.axes[:1]), x.axes[0])

    def call_diag(self, node: tree.Call, x: Term) -> Term:
        if len(x.axes) == 1:
            delta = identity_term(x.axes[0])
            return multiply_elementwise(delta.axes, x, delta)
        x = self.square(node, x)
        return x.with_axes((x.axes[0], x.axes[0]), x.axes[:1])

    def call_norm(self, node: tree.Call, x: Term, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Term:
        order = None if ord is None else ord.number()
        if order is not None and len(x.axes) != 1 and axis is None:
            self.refuse(node, "matrix norms other than Frobenius")
        if order == 1:
            return self.call_sum(node, apply_function("absolute", x.axes, [x]), axis, keepdims)
        if ord is not None and (order is None or order < 2 or order.numerator % 2 or order.denominator != 1):
            self.refuse(node, "a norm of this order")
        order = order or Fraction(2)
        return power_term(self.call_sum(node, power_term(x, order), axis, keepdims), 1 / order)

    def lanes(self, node: tree.Call, x: Term, axis: Any) -> tuple[Term, int]:
        """Give a term fresh axes. Return it, and the position of the given axis."""
        x = x.with_axes([Index(d) for d in x.dims])
        found = self.axes_of(node, x, axis)
        if len(found) != 1:
            self.refuse(node, f"{node.function} over {len(found)} axes")
        return x, x.axes.index(found[0])

    def call_softmax(self, node: tree.Call, x: Term, axis: Any = number_term(-1)) -> Term:
        x, place = self.lanes(node, x, axis)
        return term_of(Factor(Atom("softmax", (x,), place), x.axes), axes=x.axes)

    def call_logsumexp(self, node: tree.Call, x: Term, axis: Any = None, keepdims: Any = False) -> Term:
        x, place = self.lanes(node, x, axis)
        rest = tuple(i for k, i in enumerate(x.axes) if k != place)
        kept = [*rest[:place], Index(1), *rest[place:]] if keepdims else rest
        return term_of(Factor(Atom("logsumexp", (x,), place), rest), axes=kept)

    def axes_from(self, node: tree.Call, lengths: Sequence[Any]) -> list[Index]:
        """Return axes for lengths given as numbers, names of dimensions, or parts of shapes."""
        axes: list[Index] = []
        for x in lengths[0] if lengths and isinstance(lengths[0], tuple) else lengths:
            n = x.number() if isinstance(x, Term) else None
            one = x.products[0] if isinstance(x, Term) and len(x.products) == 1 else Product(ONE)
            if n is not None and n.denominator == 1 and n >= 1:
                axes.append(Index(int(n)))
            elif n is None and one.coefficient == 1 and [f.atom.op for f in one.factors] == ["size"]:
                axes.append(Index(one.factors[0].atom.detail))
            else:
                raise self.error(node, "a length must be a number, a name from --shape, or part of a shape: x.shape[0]")
        return axes

    def call_eye(self, node: tree.Call, *lengths: Any) -> Term:
        axes = self.axes_from(node, lengths)
        if len(axes) not in (1, 2) or axes[0].dim != axes[-1].dim:
            self.refuse(node, "an identity matrix that is not square")
        return identity_term(axes[0])


def function_of_matrix(op: str) -> Callable[[TermReader, tree.Call, Term], Term]:
    return lambda reader, node, x: term_of(Factor(Atom(op, (reader.square(node, x),))))


MATRIX_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name.removeprefix("call_"): method for name, method in vars(TermReader).items() if name.startswith("call_")},
    "matmul": TermReader.product,
    "dot": lambda reader, node, x, y: (
        reader.product(node, x, y) if x.axes and y.axes else reader.elementwise("multiply", node, [x, y])
    ),
    "inner": lambda reader, node, x, y: reader.product(node, x, transpose_term(y)),
    "vdot": lambda reader, node, x, y: reader.call_sum(node, reader.elementwise("multiply", node, [x, y])),
    "transpose": lambda reader, node, x: transpose_term(x),
    "det": function_of_matrix("det"),
    "logdet": function_of_matrix("logdet"),
    "slogdet": lambda *args: tuple(function_of_matrix(op)(*args) for op in ("signdet", "logabsdet")),
    "inv": lambda reader, node, x: inverse_matrix(reader.square(node, x)),
    "solve": lambda reader, node, a, b: reader.product(node, inverse_matrix(reader.square(node, a)), b),
    "log_softmax": lambda reader, node, x, axis=number_term(-1): reader.elementwise(
        "subtract", node, [x, reader.call_logsumexp(node, x, axis, True)]
    ),
    "ones": lambda reader, node, *lengths: Term(reader.axes_from(node, lengths), [Product(ONE)]),
    "zeros": lambda reader, node, *lengths: Term(reader.axes_from(node, lengths), []),
    "ones_like": lambda reader, node, x: Term(x.axes, [Product(ONE)]),
}
"""Functions that are not elementwise."""
MATRIX_ALIASES = {"mm": "matmul", "mv": "matmul", "identity": "eye", "amean": "mean", "matrix_transpose": "transpose"}


# -- derivatives ------------------------------------------------------------------------------------


def derive(term: Term, name: str, seeds: Sequence[Index]) -> Term:
    """Differentiate with respect to an input. seeds: the input's indices, after the term's axes in the result."""

    def derive_at(x: Term, indices: Sequence[Index]) -> Iterator[Product]:
        return derive(x, name, [Index(i.dim) for i in seeds]).at((*indices, *seeds))

    products: list[Product] = []
    for one in term.products:
        for k, f in enumerate(one.factors):
            if f.atom.op == "input" and f.atom.detail == name:
                pairs = zip(f.indices, seeds, strict=True)
                inner: Iterable[Product] = [Product(ONE, tuple(Factor(Atom("delta"), pair) for pair in pairs))]
            else:
                inner = derive_atom(f.atom, f.indices, derive_at) if depends(f.atom, name) else ()
            rest = (*one.factors[:k], f._replace(exponent=f.exponent - 1), *one.factors[k + 1 :])
            products += times_products(one.coefficient * f.exponent, rest, inner)
    return Term((*term.axes, *seeds), products)


@functools.cache
def depends(atom: Atom, name: str) -> bool:
    if atom.op == "input":
        return atom.detail == name
    return any(depends(f.atom, name) for x in atom.args for one in x.products for f in one.factors)


DeriveAt = Callable[[Term, Sequence[Index]], Iterator[Product]]  # yields the derivative of a term at given indices


def derive_atom(atom: Atom, indices: tuple[Index, ...], derive_at: DeriveAt) -> Iterator[Product]:
    """Yield the products whose sum is the derivative of an atom at its indices."""
    if atom.op == "group":
        yield from derive_at(atom.args[0], indices)
    elif atom.op in ("inv", "det", "logdet", "logabsdet", "signdet"):
        (x,) = atom.args
        k, m = (Index(d) for d in x.dims)
        if atom.op == "inv":
            factors = tuple(Factor(Atom("inv", atom.args), pair) for pair in ((indices[0], k), (m, indices[1])))
            yield from times_products(-ONE, factors, derive_at(x, (k, m)))
        elif atom.op != "signdet":
            own = (Factor(atom),) if atom.op == "det" else ()
            (inv_product,) = inverse_matrix(x).at((m, k))
            factors = (*own, *inv_product.factors)
            yield from times_products(inv_product.coefficient, factors, derive_at(x, (k, m)))
    elif atom.op in ("softmax", "logsumexp"):
        yield from derive_lanes(atom, indices, derive_at)
    else:
        yield from derive_elementwise(atom, indices, derive_at)


def times_products(
    coefficient: Fraction, factors: tuple[Factor, ...], products: Iterable[Product]
) -> Iterator[Product]:
    return (product_of([Product(coefficient, factors), one]) for one in products)


def derive_lanes(atom: Atom, indices: tuple[Index, ...], derive_at: DeriveAt) -> Iterator[Product]:
    """Differentiate softmax: s (du - sum(s du)), or logsumexp: sum(s du), with s = softmax(u)."""
    (x,), place = atom.args, atom.detail
    soft = Atom("softmax", atom.args, place)
    bound = Index(x.dims[place])
    if atom.op == "logsumexp":
        lane = (*indices[:place], bound, *indices[place:])
        yield from times_products(ONE, (Factor(soft, lane),), derive_at(x, lane))
        return
    lane = (*indices[:place], bound, *indices[place + 1 :])
    yield from times_products(ONE, (Factor(soft, indices),), derive_at(x, indices))
    yield from times_products(-ONE, (Factor(soft, indices), Factor(soft, lane)), derive_at(x, lane))


def derive_elementwise(atom: Atom, indices: tuple[Index, ...], derive_at: DeriveAt) -> Iterator[Product]:
    for position, x in enumerate(atom.args):
        formula, inner = slope_formula(atom.op, position), list(derive_at(x, indices))
        if formula is None or not inner:
            continue
        partial = TermReader(formula, dict(zip("xyz", atom.args, strict=False))).run()
        whole = as_product(partial)
        factors = renamed_indices(whole.factors, dict(zip(partial.axes, indices, strict=False)))
        yield from times_products(whole.coefficient, factors, inner)
