"""Terms in index notation: sums of products such as 2 A[i,j] x[j], summed over every index that is not free.

The notation needs no transposes, no parentheses, no order of factors and no arrays of ones, and differentiation is the
product rule: Laue, Mitterreiter and Giesen, Computing Higher Order Derivatives of Matrix and Tensor Expressions,
NeurIPS 2018. Equal products have the same key, whatever the names of their indices, and are added up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any, NamedTuple

Dim = int | str  # the length of an axis: a number, or a name for an arbitrary one
ONE = Fraction(1)
MOST_ORDERS = 720  # orders of indistinguishable indices to try for the smallest key
MOST_NUMBER_BITS = 1024  # longer numbers, which exceed the range of floats, are not computed


class Index:
    """An index over a dimension; two indices are equal only if they are the same object."""

    __slots__ = ("dim",)

    def __init__(self, dim: Dim):
        self.dim = dim


class Atom:
    """The base of a factor: an input, a named number, or a function of terms.

    op: "input", "constant", "size", "delta" (1 where two indices are equal), "group" (a sum in parentheses), or a
    function, which is elementwise unless `derive_atom` lists it. detail: the name of an input or a dimension, or the
    axis of a softmax. symmetric: whether its two indices may be exchanged.
    """

    __slots__ = ("args", "detail", "key", "op", "symmetric")

    def __init__(self, op: str, args: tuple[Term, ...] = (), detail: Any = "", symmetric: bool = False):
        self.op, self.args, self.detail = op, args, detail
        self.key = f"{op}:{detail}({','.join(x.key for x in args)})"
        pairs = op not in ("softmax", "logsumexp") and args and all(len(x.axes) == 2 for x in args)
        self.symmetric = symmetric or op == "delta" or bool(pairs and all(is_symmetric_term(x) for x in args))


class Factor(NamedTuple):
    atom: Atom
    indices: tuple[Index, ...] = ()
    exponent: Fraction = ONE


class Product(NamedTuple):
    coefficient: Fraction
    factors: tuple[Factor, ...] = ()

    def indices(self) -> dict[Index, None]:
        return dict.fromkeys(i for f in self.factors for i in f.indices)


class Term:
    """A sum of products. axes: the free indices; a product without one of them is constant along it."""

    __slots__ = ("axes", "key", "products")

    def __init__(self, axes: Sequence[Index], products: Iterable[Product]):
        self.axes = tuple(axes)
        joined: dict[str, Product] = {}
        for one in (normal for p in products for normal in normalize(p, self.axes)):
            key = product_key(one, self.axes)
            joined[key] = Product(one.coefficient + (joined[key].coefficient if key in joined else 0), one.factors)
        joined = {key: one for key, one in joined.items() if one.coefficient}
        self.products = tuple(joined.values())
        self.key = "+".join(sorted(f"{one.coefficient}{key}" for key, one in joined.items()))
        self.key = f"[{','.join(str(i.dim) for i in self.axes)}]{self.key}"

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(i.dim for i in self.axes)

    def number(self) -> Fraction | None:
        """Return the value of a term that is a plain number, else None."""
        if not self.products:
            return Fraction(0)
        (first, *more) = self.products
        return None if more or first.factors else first.coefficient

    def at(self, indices: Sequence[Index]) -> Iterator[Product]:
        """Yield the products with other free indices and fresh bound indices."""
        for one in self.products:
            new = dict(zip(self.axes, indices, strict=True))
            for i in one.indices():
                new.setdefault(i, Index(i.dim))
            factors = (f._replace(indices=tuple(new[i] for i in f.indices)) for f in one.factors)
            yield Product(one.coefficient, tuple(factors))

    def with_axes(self, axes: Sequence[Index], kept: Sequence[Index] | None = None) -> Term:
        """Substitute indices for the free ones. kept: the free indices of the result; by default all the new ones."""
        return Term(axes if kept is None else kept, self.at(axes))

    def present(self) -> tuple[Index, ...]:
        used = {i for one in self.products for i in one.indices()}
        return tuple(i for i in self.axes if i in used)


def common_factor(numbers: Sequence[Fraction]) -> Fraction:
    """Return the greatest common divisor of fractions, with the sign of the first."""
    divisor = Fraction(math.gcd(*(n.numerator for n in numbers)), math.lcm(*(n.denominator for n in numbers)))
    return -divisor if numbers[0] < 0 else divisor


def number_term(value: Any) -> Term:
    return Term((), [Product(Fraction(value))])


def product_of(products: Sequence[Product]) -> Product:
    coefficient = math.prod((p.coefficient for p in products), start=ONE)
    return Product(coefficient, tuple(f for p in products for f in p.factors))


def size_term(dim: Dim) -> Product:
    return Product(Fraction(dim)) if isinstance(dim, int) else Product(ONE, (Factor(Atom("size", detail=dim)),))


def is_symmetric_term(term: Term) -> bool:
    return term.dims[0] == term.dims[1] and term.with_axes(term.axes[::-1], term.axes).key == term.key


# -- normal form ------------------------------------------------------------------------------------


def normalize(one: Product, axes: tuple[Index, ...]) -> list[Product]:
    """Return a product in normal form; a sum in parentheses that is the only factor gives several products."""
    one = substitute_indices(one, axes)
    joined: dict[Any, Factor] = {}
    for f in one.factors:
        key = f.atom.key, frozenset(f.indices) if f.atom.symmetric else f.indices
        before = joined[key].exponent if key in joined else 0
        joined[key] = f._replace(exponent=ONE if f.atom.op == "delta" else f.exponent + before)
    one = sum_over(Product(one.coefficient, tuple(f for f in joined.values() if f.exponent)), one.indices(), axes)
    for rule in (cancel_inverse, join_exponentials):
        simpler = rule(one, axes)
        if simpler is not None:
            return normalize(simpler, axes)
    alone = [f for f in one.factors if f.atom.op == "group" and f.exponent == 1]
    if len(alone) == len(one.factors) == 1:
        inner = alone[0].atom.args[0].at(alone[0].indices)
        scaled = (Product(p.coefficient * one.coefficient, p.factors) for p in inner)
        return [normal for p in scaled for normal in normalize(sum_over(p, alone[0].indices, axes), axes)]
    return [one]


def sum_over(one: Product, indices: Iterable[Index], axes: Sequence[Index]) -> Product:
    """Sum a product over the indices that are not free; if it lacks an index, multiply by the length of that index."""
    used = one.indices()
    return product_of([one, *(size_term(i.dim) for i in indices if i not in axes and i not in used)])


def substitute_indices(one: Product, axes: tuple[Index, ...]) -> Product:
    """Eliminate indices that a delta equates with others, and all but one of the indices of length 1."""
    units = [i for i in (*axes, *one.indices()) if i.dim == 1]
    new = dict.fromkeys(units[1:], units[0]) if units else {}
    coefficient, factors = one.coefficient, renamed_indices(one.factors, new)
    while True:
        deltas = [f for f in factors if f.atom.op == "delta"]
        trivial = next((f for f in deltas if f.indices[0] is f.indices[1]), None)
        if trivial is not None:
            i = trivial.indices[0]
            factors = tuple(f for f in factors if f is not trivial)
            coefficient, factors = sum_over(Product(coefficient, factors), (i,), axes)
            continue
        for f in deltas:
            gone, kept = sorted(f.indices, key=lambda i: -axes.index(i) if i in axes else -len(axes))
            if gone not in axes:
                factors = renamed_indices(factors, {gone: kept})
                break
            others = [g for g in factors if gone in g.indices and g is not f]
            if others:
                factors = tuple(g if g is f else renamed_indices((g,), {gone: kept})[0] for g in factors)
                break
        else:
            return Product(coefficient, factors)


def renamed_indices(factors: tuple[Factor, ...], new: Mapping[Index, Index]) -> tuple[Factor, ...]:
    return tuple(f._replace(indices=tuple(new.get(i, i) for i in f.indices)) for f in factors) if new else factors


def cancel_inverse(one: Product, axes: tuple[Index, ...]) -> Product | None:
    """Replace inv(A) A with a delta; return None if there is nothing to replace."""
    for f in one.factors:
        if f.atom.op != "inv" or f.exponent != 1:
            continue
        argument = f.atom.args[0]
        own = next(iter(argument.at(argument.axes)))
        inner = own.factors[0] if len(argument.products) == len(own.factors) == 1 else None
        for g in one.factors:
            whole = g.atom.op == "group" and g.atom.args[0].key == argument.key
            if g is f or g.exponent != 1 or not (whole or (inner is not None and g.atom.key == inner.atom.key)):
                continue
            straight = whole or (inner is not None and tuple(inner.indices) == argument.axes)
            behind = g.indices if straight else g.indices[::-1]
            for p, q in ((1, 0), (0, 1), (0, 0), (1, 1))[: 4 if f.atom.symmetric else 2]:
                bound = f.indices[p]
                uses = sum(h.indices.count(bound) for h in one.factors)
                if bound is behind[q] and bound not in axes and uses == 2:
                    rest = tuple(h for h in one.factors if h is not f and h is not g)
                    delta = Factor(Atom("delta"), (f.indices[1 - p], behind[1 - q]))
                    return Product(one.coefficient, (*rest, delta))
    return None


def join_exponentials(one: Product, axes: tuple[Index, ...]) -> Product | None:
    """Write 1/(1+exp(-u)) and exp(u)sigmoid(-u) as sigmoid(u), exp(u)/sum(exp(u)) as softmax(u); None if neither."""
    for f in one.factors:
        own = f.atom.args[0].products if f.atom.op == "group" and f.exponent < 0 else ()
        numbers = [p for p in own if p == Product(ONE)]
        exps = [p for p in own if p.coefficient == 1 and [g.atom.op for g in p.factors] == ["exp"]]
        (g,) = exps[0].factors if len(exps) == 1 and len(own) == len(numbers) + 1 else (None,)
        if g is None or g.exponent != 1 or f.exponent.denominator != 1:
            continue
        (u,), inside = g.atom.args, f.atom.args[0].axes
        bound = [k for k, i in enumerate(g.indices) if i not in inside]
        above = [h for h in one.factors if h.atom.key == g.atom.key]
        if numbers and not bound and g.indices == inside:
            power = sum((h.exponent for h in above if h.indices == f.indices), Fraction(0))
            if power.denominator == 1 and 0 <= power <= -f.exponent:
                rest = (h for h in one.factors if h is not f and not (h in above and h.indices == f.indices))
                signed = [(u, power), (scale(u, -1), -f.exponent - power)]
                made = (Factor(Atom("sigmoid", (x,)), f.indices, e) for x, e in signed if e)
                return Product(one.coefficient, (*rest, *made))
        if not numbers and len(bound) == 1 and len(g.indices) <= 2 and f.exponent == -1:
            for h in above:
                if h.exponent == 1 and h.indices[: bound[0]] + h.indices[bound[0] + 1 :] == f.indices:
                    rest = (k for k in one.factors if k is not f and k is not h)
                    return Product(one.coefficient, (*rest, Factor(Atom("softmax", (u,), bound[0]), h.indices)))
    for f in (f for f in one.factors if f.atom.op == "exp" and f.exponent == 1):
        turned = Atom("sigmoid", (scale(f.atom.args[0], -1),))
        for g in one.factors:
            if g.atom.key == turned.key and g.indices == f.indices and g.exponent == 1:
                rest = (h for h in one.factors if h is not f and h is not g)
                return Product(one.coefficient, (*rest, Factor(Atom("sigmoid", f.atom.args), f.indices)))
    return None


def product_key(one: Product, axes: tuple[Index, ...]) -> str:
    """Return a text that is the same for products that differ only in the names of bound indices or in order."""
    names = {i: str(k) for k, i in enumerate(axes)}
    bound = [i for i in one.indices() if i not in names]
    looks = dict.fromkeys(bound, 0)

    def write(f: Factor, labels: Mapping[Index, str]) -> str:
        words = [labels[i] for i in f.indices]
        return f"{f.atom.key}^{f.exponent}{sorted(words) if f.atom.symmetric else words}"

    for _ in bound:
        labels = {j: f"?{looks[j]}" for j in bound} | names
        seen = {i: str(sorted(write(f, labels | {i: "="}) for f in one.factors if i in f.indices)) for i in bound}
        ranks = {text: k for k, text in enumerate(sorted(set(seen.values())))}
        looks = {i: ranks[seen[i]] for i in bound}
    alike: dict[int, list[Index]] = {}
    for i in bound:
        alike.setdefault(looks[i], []).append(i)
    groups = [alike[look] for look in sorted(alike)]
    many = math.prod(math.factorial(len(g)) for g in groups) > MOST_ORDERS
    orders = [tuple(map(tuple, groups))] if many else product(*(permutations(g) for g in groups))
    keys = []
    for order in orders:
        place = {**names, **{i: f"b{k}" for k, i in enumerate(i for g in order for i in g)}}
        keys.append("*".join(sorted(write(f, place) for f in one.factors)))
    return min(keys)


# -- arithmetic ---------------------------------------------------------------------------------------


def term_of(*factors: Factor, axes: Sequence[Index] = ()) -> Term:
    return Term(axes, [Product(ONE, factors)])


def scale(term: Term, by: Any) -> Term:
    return Term(term.axes, (Product(one.coefficient * by, one.factors) for one in term.products))


def as_product(term: Term) -> Product:
    """Return a term as one product; several products become a sum in parentheses."""
    if len(term.products) == 1:
        return next(term.at(term.axes))
    if not term.products:
        return Product(Fraction(0))
    content, atom = group(term)
    return Product(content, (Factor(atom, term.present()),))


def group(term: Term, signed: bool = True) -> tuple[Fraction, Atom]:
    """Return a sum as a number times a group over the axes it uses. signed: whether to move a number outward."""
    content = common_factor([one.coefficient for one in term.products]) if signed else ONE
    return content, Atom("group", (scale(Term(term.present(), term.products), 1 / content),))


def multiply_elementwise(axes: Sequence[Index], *terms: Term) -> Term:
    """Multiply terms elementwise; their free indices must be among the axes."""
    factor = math.prod((n for x in terms if (n := x.number()) is not None), start=ONE)
    others = [x for x in terms if x.number() is None]
    if len(others) == 1:
        return scale(Term(axes, others[0].products), factor)
    return Term(axes, [product_of([Product(factor), *map(as_product, others)])])


def power_term(term: Term, exponent: Fraction) -> Term:
    if exponent == 1:
        return term
    if exponent == 0:
        return Term(term.axes, [Product(ONE)])
    whole = exponent.denominator == 1
    if len(term.products) == 1:
        (one,) = term.products
        bound = any(i not in term.axes for i in one.indices())
        root = exact_power(one.coefficient, exponent)
        # (x**2)**0.5 is |x|, not x
        if root is not None and not bound and (whole or all(f.exponent.numerator % 2 for f in one.factors)):
            factors = tuple(f._replace(exponent=f.exponent * exponent) for f in one.factors)
            return Term(term.axes, [Product(root, factors)])
    if not term.products:
        return term
    content, atom = group(term)
    coefficient = exact_power(content, exponent) if whole else None
    if coefficient is None:
        coefficient, (_, atom) = ONE, group(term, signed=False)
    return Term(term.axes, [Product(coefficient, (Factor(atom, term.present(), exponent),))])


def exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Return a power of a number if it is rational and not too long, else None."""
    if max(base.numerator.bit_length(), base.denominator.bit_length()) * max(abs(exponent), ONE) >= MOST_NUMBER_BITS:
        return None
    if exponent.denominator == 1:
        return None if base == 0 and exponent < 0 else base ** int(exponent)
    if base <= 0:
        return None
    parts = [round(n ** (1 / exponent.denominator)) for n in (base.numerator, base.denominator)]
    root = Fraction(*parts)
    return root**exponent.numerator if root**exponent.denominator == base else None


def contract_indices(term: Term, *indices: Index) -> Term:
    return Term([i for i in term.axes if i not in indices], (sum_over(one, indices, ()) for one in term.products))


def apply_function(op: str, axes: Sequence[Index], args: Sequence[Term], detail: Any = "") -> Term:
    """Apply an elementwise function to terms; their free indices must be among the axes."""
    used = {i for x in args for i in x.present()}
    present = [i for i in axes if i in used]
    atom = Atom(op, tuple(Term(present, x.products) for x in args), detail)
    return Term(axes, [Product(ONE, (Factor(atom, tuple(present)),))])


def inverse_matrix(x: Term) -> Term:
    """Invert a square matrix: move scalars outward, and simplify inv(inv(A)) to A and inv(A B) to inv(B) inv(A)."""
    i, j = x.axes
    if len(x.products) == 1:
        (one,) = x.products
        outer = [f for f in one.factors if not f.indices]
        inner = [f for f in one.factors if f.indices]
        back = Product(1 / one.coefficient, tuple(f._replace(exponent=-f.exponent) for f in outer))
        (only,) = inner if len(inner) == 1 else (None,)
        if only is not None and only.exponent == 1 and only.atom.op in ("delta", "inv"):
            products = [Product(ONE, (only,))] if only.atom.op == "delta" else only.atom.args[0].at(only.indices)
            return multiply_elementwise(x.axes, Term((), [back]), Term(x.axes, products))
        if outer or one.coefficient != 1:
            return multiply_elementwise(
                x.axes, Term((), [back]), inverse_matrix(Term(x.axes, [Product(ONE, tuple(inner))]))
            )
        if len(inner) > 1 and (path := square_path(inner, i, j)):
            parts = [next(inverse_matrix(Term(ends, [Product(ONE, (f,))])).at(ends[::-1])) for f, *ends in path]
            return Term((j, i), [product_of(parts[::-1])]).with_axes((i, j))
    swapped = x.with_axes((j, i), (i, j))
    turned = swapped.key < x.key
    factor = Factor(Atom("inv", (swapped if turned else x,)), (j, i) if turned else (i, j))
    return term_of(factor, axes=(i, j))


def square_path(factors: Sequence[Factor], start: Index, end: Index) -> list[tuple[Factor, Index, Index]]:
    """Return the factors of a product of square matrices in order, each with its two indices; [] for other products."""
    path: list[tuple[Factor, Index, Index]] = []
    left = list(factors)
    while left:
        before = path[-1][2] if path else start
        fits = [f for f in left if before in f.indices]
        if len(fits) != 1 or len(fits[0].indices) != 2 or fits[0].exponent != 1:
            return []
        (behind,) = [k for k in fits[0].indices if k is not before] or [before]
        path.append((fits[0], before, behind))
        left.remove(fits[0])
    is_square = all(a.dim == b.dim for _, a, b in path)
    return path if is_square and path[-1][2] is end else []


def expand_products(term: Term) -> Term:
    """Multiply out sums in parentheses, but not their powers."""
    products = list(term.products)
    while True:
        for k, one in enumerate(products):
            f = next((f for f in one.factors if f.atom.op == "group" and f.exponent == 1), None)
            if f is not None:
                rest = tuple(g for g in one.factors if g is not f)
                inner = f.atom.args[0].at(f.indices)
                parts = (product_of([Product(one.coefficient, rest), p]) for p in inner)
                products[k : k + 1] = [sum_over(p, one.indices(), term.axes) for p in parts]
                break
        else:
            return Term(term.axes, products)


def assume_symmetric(term: Term, names: frozenset[str]) -> Term:
    @functools.cache
    def visit(atom: Atom) -> Atom:
        if atom.op == "input":
            return Atom("input", detail=atom.detail, symmetric=atom.detail in names)
        return Atom(atom.op, tuple(assume_symmetric(x, names) for x in atom.args), atom.detail) if atom.args else atom

    products = (Product(p.coefficient, tuple(f._replace(atom=visit(f.atom)) for f in p.factors)) for p in term.products)
    return Term(term.axes, products)
