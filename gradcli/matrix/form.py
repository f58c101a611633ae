"""Convert terms in index notation to matrix formulas: products, transposes, sums, traces, diagonals.

The factors of a product are combined in pairs: vectors first, then matrices. A product has no matrix formula if three
matrices share an index.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import GradcliError
from .index_terms import ONE, Atom, Factor, Index, Product, Term, common_factor, exact_power, expand_products
from .reader import BY_ELEMENTS


class Form(NamedTuple):
    """A formula of matrices, vectors and numbers.

    op and detail: number (a fraction), name, size (dimensions whose lengths are multiplied), ones and zeros
    (dimensions), eye (one), sum (a coefficient per part), product (elementwise: a coefficient, and an exponent per
    part), matmul, T, column (a vector as a matrix of one column), call (a function, and its axis or None). rank: 0, 1
    or 2.
    """

    op: str
    parts: tuple[Any, ...] = ()
    detail: Any = None
    rank: int = 0
    symmetric: bool = False


def literal(value: Any) -> Form:
    return Form("number", (), Fraction(value))


def call_form(name: str, *parts: Form, axis: int | None = None, rank: int = 0, symmetric: bool = False) -> Form:
    return Form("call", parts, (name, axis), rank, symmetric)


def product_form(coefficient: Fraction, parts: Sequence[tuple[Form, Fraction]]) -> Form:
    """Build an elementwise product of powers: move numbers into the coefficient, and join equal parts."""
    joined: dict[Form, Fraction] = {}
    for form, exponent in parts:
        if form.op == "number" and exponent == 1:
            coefficient *= form.detail
            continue
        inner = [(form, ONE)]
        outer = exact_power(form.detail[0], exponent) if form.op == "product" and exponent.denominator == 1 else None
        if outer is not None:
            coefficient *= outer
            inner = list(zip(form.parts, form.detail[1], strict=True))
        for part, power in inner:
            joined[part] = joined.get(part, Fraction(0)) + power * exponent
    joined = {form: e for form, e in joined.items() if e}
    if coefficient == 0 or not joined:
        return literal(coefficient)
    if coefficient == 1 and len(joined) == 1 and next(iter(joined.values())) == 1:
        return next(iter(joined))
    rank = max(form.rank for form in joined)
    return Form("product", tuple(joined), (coefficient, tuple(joined.values())), rank)


def factors_of(form: Form) -> tuple[Fraction, dict[Form, Fraction]]:
    """Split a formula into a coefficient and powers."""
    if form.op == "product":
        return form.detail[0], dict(zip(form.parts, form.detail[1], strict=True))
    return (form.detail, {}) if form.op == "number" else (ONE, {form: ONE})


Powers = list[tuple[Form, Fraction]]


def split_scalars(form: Form) -> tuple[Fraction, Powers, Form]:
    """Split a formula into a coefficient, powers of scalars, and the product of its arrays."""
    number, powers = factors_of(form)
    arrays = [(f, e) for f, e in powers.items() if f.rank]
    return number, [(f, e) for f, e in powers.items() if f.rank == 0], product_form(ONE, arrays)


def transpose_form(form: Form) -> Form:
    """Transpose a formula, moving the transpose inward if that does not lengthen the formula."""
    if form.rank < 2:
        return Form("column", (form,), rank=2) if form.rank == 1 else form
    if form.symmetric or form.op == "eye" or form.detail == ("diag", None):
        return form
    if form.op in ("T", "column"):
        return form.parts[0]
    if form.op == "matmul":
        return form._replace(parts=tuple(map(transpose_form, reversed(form.parts))))
    if form.op in ("sum", "product"):
        return form._replace(parts=tuple(map(transpose_form, form.parts)))
    if form.op in ("ones", "zeros"):
        return form._replace(detail=form.detail[::-1])
    if form.detail == ("outer", None):
        return form._replace(parts=form.parts[::-1])
    return Form("T", (form,), rank=2)


def chain(*forms: Form) -> Form:
    """Build a matrix product: flatten nested products, and move scalars outward."""
    parts: list[Form] = []
    coefficient = ONE
    outer: Powers = []
    rank = sum(f.rank for f in forms) - 2 * (len(forms) - 1)
    for k, form in enumerate(forms):
        number, scalars, inner = split_scalars(form)
        coefficient *= number
        outer += scalars
        # a vector in front of another factor is a row: (A@x)@B is not A@x@B
        parts += inner.parts if inner.op == "matmul" and (inner.rank == 2 or k == len(forms) - 1) else [inner]
    return product_form(coefficient, [*outer, (Form("matmul", tuple(parts), rank=rank), ONE)])


def cost(form: Form) -> int:
    """Estimate the number of characters of a formula."""
    if not form.parts:
        return {"size": 6, "ones": 11, "zeros": 12, "eye": 10}.get(form.op, len(str(form.detail)))
    inner = sum(map(cost, form.parts))
    if form.op == "sum":
        return inner + 3 * (len(form.parts) - 1) + sum(1 + len(str(abs(c))) for c in form.detail if abs(c) != 1) + 2
    if form.op == "product":
        coefficient, exponents = form.detail
        powers = sum(2 + len(str(abs(e))) for e in exponents if abs(e) != 1)
        return inner + len(form.parts) - 1 + powers + (1 + len(str(abs(coefficient))) if abs(coefficient) != 1 else 0)
    return inner + len(form.parts) + {"T": 1, "matmul": -1, "column": 8, "call": len(str(form.detail)) - 12}[form.op]


# -- one product ------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    form: Form
    indices: tuple[Index, ...]

    def turned(self, *indices: Index) -> Form:
        """Return the formula, transposed if necessary to give these indices in this order."""
        return self.form if self.indices == indices or len(indices) < 2 else transpose_form(self.form)


class Assembly:
    """Converts a product to a formula. Keeps scalars, and pieces with one or two indices."""

    def __init__(self, one: Product, axes: tuple[Index, ...]):
        self.free, self.coefficient = set(axes), one.coefficient
        self.scalars: Powers = []
        self.pieces: list[Piece] = []
        self.coming = [i for f in one.factors for i in f.indices]
        for f in one.factors:
            del self.coming[: len(f.indices)]
            self.add(factor_form(f), f.indices)
        rules: tuple[Callable[[], bool], ...] = (
            self.sum_alone, self.dot, self.join_vectors, self.times_vector, self.join_matrices, self.times_matrix,
            self.scale_rows,
        )  # fmt: skip
        while any(rule() for rule in rules):
            pass

    def add(self, form: Form, indices: tuple[Index, ...], *used: Piece) -> bool:
        """Replace the pieces `used` with a formula made from them."""
        self.pieces = [p for p in self.pieces if all(p is not u for u in used)]
        if len(indices) == 2 and indices[0] is indices[1]:
            (i, _) = indices
            if i in self.free or i in self.coming or self.uses(i):
                form, indices = call_form("diag", form, rank=1), (i,)
            else:
                form, indices = call_form("trace", form), ()
        if len(indices) > 2:
            raise no_form()
        number, scalars, arrays = split_scalars(form)
        self.coefficient *= number
        self.scalars += scalars
        if indices:
            self.pieces.append(Piece(arrays, indices))
        return True

    def bound(self, count: int) -> list[tuple[Index, list[Piece]]]:
        """Return the bound indices that exactly `count` pieces use, each with these pieces."""
        indices = dict.fromkeys(i for p in self.pieces for i in p.indices if i not in self.free)
        return [(i, self.uses(i)) for i in indices if len(self.uses(i)) == count]

    def sum_alone(self) -> bool:
        for i, (p,) in self.bound(1):
            if len(p.indices) == 1 or all(j in [k for k, _ in self.bound(1)] for j in p.indices):
                return self.add(sum_of(p.form), (), p)
            place = p.indices.index(i)
            return self.add(call_form("sum", p.form, axis=place, rank=1), (p.indices[1 - place],), p)
        return False

    def dot(self) -> bool:
        for _, (p, q) in self.bound(2):
            if len(p.indices) == len(q.indices) == 1:
                first, last = (q, p) if factors_of(p.form)[1].keys() and p.form.op == "matmul" else (p, q)
                return self.add(chain(first.form, last.form), (), p, q)
        return False

    def join_vectors(self) -> bool:
        for i in dict.fromkeys(i for p in self.pieces for i in p.indices):
            vectors = [p for p in self.pieces if p.indices == (i,)]
            if len(vectors) > 1:
                return self.add(product_form(ONE, [(p.form, ONE) for p in vectors]), (i,), *vectors)
        return False

    def times_vector(self) -> bool:
        pairs = [(p, q) if len(p.indices) > len(q.indices) else (q, p) for _, (p, q) in self.bound(2)]
        pairs = [(m, v) for m, v in pairs if (len(m.indices), len(v.indices)) == (2, 1)]
        for m, v in sorted(pairs, key=lambda pair: pair[0].indices[1] is not pair[1].indices[0]):
            (j,) = v.indices
            (i,) = (k for k in m.indices if k is not j)
            return self.add(chain(m.turned(i, j), v.form), (i,), m, v)
        return False

    def join_matrices(self) -> bool:
        for k, p in enumerate(self.pieces):
            for q in self.pieces[k + 1 :]:
                if len(p.indices) != 2 or set(p.indices) != set(q.indices):
                    continue
                alone = all(i not in self.free and len(self.uses(i)) == 2 for i in p.indices)
                if alone and p.indices != q.indices:
                    return self.add(call_form("trace", chain(p.form, q.form)), (), p, q)
                joined = product_form(ONE, [(p.form, ONE), (q.turned(*p.indices), ONE)])
                return self.add(sum_of(joined), (), p, q) if alone else self.add(joined, p.indices, p, q)
        return False

    def uses(self, i: Index) -> list[Piece]:
        return [p for p in self.pieces if i in p.indices]

    def times_matrix(self) -> bool:
        for j, (p, q) in self.bound(2):
            if p.indices[0] is j and q.indices[1] is j:
                p, q = q, p
            (i,), (k,) = ([x for x in piece.indices if x is not j] for piece in (p, q))
            return self.add(chain(p.turned(i, j), q.turned(j, k)), (i, k), p, q)
        return False

    def scale_rows(self) -> bool:
        """Multiply a matrix by a vector that shares an index with it, written as a diagonal matrix."""
        for v in (p for p in self.pieces if len(p.indices) == 1):
            (i,) = v.indices
            matrices = [p for p in self.uses(i) if p is not v]
            if matrices:
                m = matrices[-1]
                (k,) = (x for x in m.indices if x is not i)
                diagonal = call_form("diag", v.form, rank=2)
                if m.form.op == "eye":
                    return self.add(diagonal, (i, k), m, v)
                links = (diagonal, m.form) if m.indices[0] is i else (m.form, diagonal)
                return self.add(chain(*links), m.indices, m, v)
        return False

    def result(self, axes: tuple[Index, ...]) -> tuple[Fraction, Form, tuple[Index, ...]]:
        """Return the coefficient, the formula without it, and its axes. Raises GradcliError if it has none."""
        layout = [i for p in self.pieces for i in p.indices]
        if len(set(layout)) < len(layout) or not self.free.issuperset(layout):
            raise no_form()
        pieces = sorted(self.pieces, key=lambda p: axes.index(p.indices[0]))
        if len(pieces) == 2 and len(layout) == 2:
            (p, q) = pieces
            pieces = [Piece(call_form("outer", p.form, q.form, rank=2), p.indices + q.indices)]
        elif len(pieces) > 1:
            raise no_form()
        order = tuple(i for i in axes if any(i in p.indices for p in pieces))
        main = [(p.turned(*order), ONE) for p in pieces]
        return self.coefficient, product_form(ONE, [*self.scalars, *main]), order


def no_form() -> GradcliError:
    return GradcliError("this derivative cannot be written with vectors and matrices", hint=BY_ELEMENTS, kind="exact")


def sum_of(form: Form) -> Form:
    """Sum over all elements; the sum of squares of a named vector is x@x."""
    if form.op == "product" and form.rank == 1 and form.detail == (ONE, (Fraction(2),)) and form.parts[0].op == "name":
        return chain(form.parts[0], form.parts[0])
    number, scalars, arrays = split_scalars(form)
    return product_form(number, [*scalars, (call_form("sum", arrays), ONE)])


def factor_form(f: Factor) -> Form:
    """Convert a power of an atom; the square root of a sum of squares becomes a norm."""
    atom, exponent = f.atom, f.exponent
    inside = atom.args[0].products if atom.op == "group" and exponent.denominator == 2 else ()
    if len(inside) == 1 and inside[0].coefficient == 1 and [g.exponent for g in inside[0].factors] == [2]:
        (only,) = inside[0].factors
        bound = [k for k, i in enumerate(only.indices) if i not in atom.args[0].axes]
        if bound and len(set(only.indices)) == len(only.indices):
            axis = bound[0] if f.indices else None
            norm = call_form("norm", atom_form(only.atom, only.indices), axis=axis, rank=len(f.indices))
            return product_form(ONE, [(norm, 2 * exponent)])
    return product_form(ONE, [(atom_form(atom, f.indices), exponent)])


def atom_form(atom: Atom, indices: tuple[Index, ...]) -> Form:
    rank = len(indices)
    if atom.op in ("input", "constant"):
        return Form("name", (), atom.detail, rank, atom.symmetric)
    if atom.op == "size":
        return Form("size", (), (atom.detail,))
    if atom.op == "delta":
        return Form("eye", (), indices[0].dim, 2, True)
    if atom.op == "group":
        return matrix_form(atom.args[0])
    is_lane = atom.op in ("softmax", "logsumexp")
    whole = is_lane or atom.op in ("inv", "det", "logdet", "logabsdet", "signdet")
    parts = [matrix_form(x, whole) for x in atom.args]
    axis = atom.detail if is_lane and parts[0].rank == 2 and (atom.op, atom.detail) != ("softmax", 1) else None
    return call_form(atom.op, *parts, axis=axis, rank=rank, symmetric=rank == 2 and atom.symmetric)


# -- sums ---------------------------------------------------------------------------------------------------


def matrix_form(term: Term, whole: bool = True) -> Form:
    """Return the shortest formula of a term. whole: whether to include axes along which it is constant."""
    forms = sum_forms(term, whole)
    with contextlib.suppress(GradcliError):
        forms += sum_forms(expand_products(term), whole)
    return min(forms, key=cost)


def sum_forms(term: Term, whole: bool) -> list[Form]:
    """Return formulas of a sum, with and without common factors moved outside."""
    axes = term.axes
    if not term.products:
        return [Form("zeros", (), term.dims, len(axes)) if whole and axes else literal(0)]
    assembled = [Assembly(one, axes).result(axes) for one in term.products]
    covered = tuple(i for i in axes if any(i in layout for _, _, layout in assembled))
    parts = [(c, fit_layout(form, layout, covered)) for c, form, layout in assembled]
    joined = join_chains(parts)
    results = [join_factors(joined), add_forms(joined), join_factors(parts), add_forms(parts)]
    return [(spread_over_axes if whole else fit_layout)(form, covered, axes) for form in results]


def fit_layout(form: Form, layout: tuple[Index, ...], axes: tuple[Index, ...]) -> Form:
    """Make a vector over the first of two axes a column, so that it broadcasts correctly."""
    if len(layout) == 1 and len(axes) == 2 and layout[0] is axes[0]:
        return Form("column", (form,), rank=2)
    return form


def spread_over_axes(form: Form, layout: tuple[Index, ...], axes: tuple[Index, ...]) -> Form:
    """Extend a formula to all axes, multiplying it by ones along axes where it is constant."""
    if layout == axes:
        return form
    missing = [i for i in axes if i not in layout]
    ones = Form("ones", (), tuple(i.dim for i in missing), len(missing))
    if not layout:
        return product_form(ONE, [(form, ONE), (ones, ONE)])
    number, scalars, vector = split_scalars(form)
    pair = (vector, ones) if layout[0] is axes[0] else (ones, vector)
    return product_form(number, [*scalars, (call_form("outer", *pair, rank=2), ONE)])


def add_forms(parts: Sequence[tuple[Fraction, Form]]) -> Form:
    """Add up multiples of formulas: join equal formulas, and put positive terms first."""
    joined: dict[Form, Fraction] = {}
    for c, form in parts:
        number, powers = factors_of(form)
        inner = product_form(ONE, list(powers.items()))
        more = zip(inner.detail, inner.parts, strict=True) if inner.op == "sum" else [(ONE, inner)]
        for by, part in more:
            joined[part] = joined.get(part, Fraction(0)) + c * number * by
    pairs = sorted(join_choices([(c, form) for form, c in joined.items() if c]), key=lambda part: part[0] < 0)
    if len(pairs) < 2:
        return product_form(pairs[0][0], [(pairs[0][1], ONE)]) if pairs else literal(0)
    rank = max(form.rank for _, form in pairs)
    symmetric = rank == 2 and all(form.symmetric or form.rank == 0 for _, form in pairs)
    return Form("sum", tuple(form for _, form in pairs), tuple(c for c, _ in pairs), rank, symmetric)


def join_choices(parts: list[tuple[Fraction, Form]]) -> list[tuple[Fraction, Form]]:
    """Replace x*where(c, 1, 0) + y*where(c, 0, 1) in a sum with where(c, x, y)."""
    sides = (literal(1), literal(0))
    for k, (_, form) in enumerate(parts):
        for choice in (f for f, e in factors_of(form)[1].items() if e == 1 and f.detail == ("where", None)):
            condition, yes, no = choice.parts
            other = choice._replace(parts=(condition, no, yes))
            place = next((n for n, (_, f) in enumerate(parts) if factors_of(f)[1].get(other) == 1), None)
            if (yes, no) != sides or place is None:
                continue
            rests = []
            for n, own in ((k, choice), (place, other)):
                number, powers = factors_of(parts[n][1])
                rests.append(product_form(parts[n][0] * number, [(f, e) for f, e in powers.items() if f != own]))
            whole = call_form("where", condition, *rests, rank=form.rank)
            return join_choices([*(part for n, part in enumerate(parts) if n not in (k, place)), (ONE, whole)])
    return parts


def join_factors(parts: Sequence[tuple[Fraction, Form]]) -> Form:
    """Add up formulas, moving the common number and powers outside the sum."""
    if len(parts) == 1:
        return add_forms(parts)
    powers = [factors_of(form)[1] for _, form in parts]
    numbers = [c * factors_of(form)[0] for c, form in parts]
    least = {f: min((p.get(f, Fraction(0)) for p in powers), key=abs) for f in powers[0]}
    common = {f: e for f, e in least.items() if all(p.get(f, 0) * e > 0 for p in powers)}
    content = common_factor(numbers)
    rests = (product_form(ONE, [(f, e - common.get(f, 0)) for f, e in p.items()]) for p in powers)
    inner = [(c / content, rest) for c, rest in zip(numbers, rests, strict=True)]
    return product_form(content, [*common.items(), (add_forms(inner), ONE)])


def join_chains(parts: Sequence[tuple[Fraction, Form]]) -> list[tuple[Fraction, Form]]:
    """Replace A@x + B@x in a sum with (A + B)@x, and A@B + A@C with A@(B + C)."""
    parts = list(parts)
    for k, (c, form) in enumerate(parts):
        for m in range(k + 1, len(parts)):
            number, scalars, links = links_of(form)
            other, others, more = links_of(parts[m][1])
            joined = join_two((c * number, links), (parts[m][0] * other, more)) if scalars == others else None
            if joined is not None:
                whole = (ONE, product_form(ONE, [*scalars.items(), (joined, ONE)]))
                return join_chains([*parts[:k], whole, *parts[k + 1 : m], *parts[m + 1 :]])
    return parts


def join_two(one: tuple[Fraction, tuple[Form, ...]], other: tuple[Fraction, tuple[Form, ...]]) -> Form | None:
    """Add two matrix products, moving common first and last factors outside; return None if there are none."""
    (c, links), (d, more) = one, other
    most = min(len(links), len(more)) - 1
    head = next((k for k in range(most) if links[k] != more[k]), max(most, 0))
    tail = next((k for k in range(most - head) if links[-1 - k] != more[-1 - k]), max(most - head, 0))
    if most < 1 or not head + tail:
        return None
    pairs = [(c, links[head : len(links) - tail]), (d, more[head : len(more) - tail])]
    if all(len(inner) == 1 and inner[0].detail == ("diag", None) and inner[0].rank == 2 for _, inner in pairs):
        middle = call_form("diag", join_factors([(by, inner[0].parts[0]) for by, inner in pairs]), rank=2)
    else:
        middle = join_factors([(by, inner[0] if len(inner) == 1 else chain(*inner)) for by, inner in pairs])
    return chain(*links[:head], middle, *links[len(links) - tail :])


def links_of(form: Form) -> tuple[Fraction, dict[Form, Fraction], tuple[Form, ...]]:
    """Split a matrix product into number, scalars and factors; outer(A@x, B@y) counts as A@outer(x, y)@B.T."""
    number, scalars, whole = split_scalars(form)
    if whole.op == "matmul":
        return number, dict(scalars), whole.parts
    if whole.detail != ("outer", None) or all(f.op != "matmul" for f in whole.parts):
        return number, {}, ()
    first, last = (f.parts if f.op == "matmul" else (f,) for f in whole.parts)
    middle = call_form("outer", first[-1], last[-1], rank=2)
    return number, dict(scalars), (*first[:-1], middle, *map(transpose_form, reversed(last[:-1])))
