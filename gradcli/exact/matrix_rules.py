"""The derivative of a term for an input: the product rule, and a rule per function, all in index notation."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from .index_terms import ONE, Atom, Factor, Index, Product, Term, as_product, product_of, renamed
from .matrix_reader import TermReader, inverse, slope


def derive(term: Term, name: str, seeds: Sequence[Index]) -> Term:
    """Return the derivative for an input, whose indices are seeds: they come behind the term's axes."""
    products = []
    for one in term.products:
        for k, f in enumerate(one.factors):
            rest = (*one.factors[:k], f._replace(exponent=f.exponent - 1), *one.factors[k + 1 :])
            products += [
                product_of([Product(one.coefficient * f.exponent, rest), d])
                for d in derive_atom(f.atom, f.indices, name, seeds)
            ]
    return Term((*term.axes, *seeds), products)


@functools.cache
def depends(atom: Atom, name: str) -> bool:
    if atom.op == "input":
        return atom.detail == name
    return any(depends(f.atom, name) for x in atom.args for one in x.products for f in one.factors)


def derive_atom(atom: Atom, indices: tuple[Index, ...], name: str, seeds: Sequence[Index]) -> Iterator[Product]:
    """Yield the products whose sum is the derivative of an atom at its indices."""
    if not depends(atom, name):
        return
    if atom.op == "input":
        yield Product(ONE, tuple(Factor(Atom("delta"), pair) for pair in zip(indices, seeds, strict=True)))
    elif atom.op == "group":
        yield from at_indices(atom.args[0], indices, name, seeds)
    elif atom.op in ("inv", "det", "logdet", "logabsdet", "signdet"):
        (x,) = atom.args
        k, m = (Index(d) for d in x.dims)
        if atom.op == "inv":
            inv = Atom("inv", atom.args)
            yield from times(
                -ONE, (Factor(inv, (indices[0], k)), Factor(inv, (m, indices[1]))), at_indices(x, (k, m), name, seeds)
            )
        elif atom.op != "signdet":
            own = (Factor(atom),) if atom.op == "det" else ()
            (inv_product,) = inverse(x).at((m, k))
            factors = (*own, *inv_product.factors)
            yield from times(inv_product.coefficient, factors, at_indices(x, (k, m), name, seeds))
    elif atom.op in ("softmax", "logsumexp"):
        yield from derive_lanes(atom, indices, name, seeds)
    else:
        yield from derive_elementwise(atom, indices, name, seeds)


def at_indices(term: Term, indices: Sequence[Index], name: str, seeds: Sequence[Index]) -> Iterator[Product]:
    own = [Index(i.dim) for i in seeds]
    return derive(term, name, own).at((*indices, *seeds))


def times(coefficient: Fraction, factors: tuple[Factor, ...], products: Iterator[Product]) -> Iterator[Product]:
    return (product_of([Product(coefficient, factors), one]) for one in products)


def derive_lanes(atom: Atom, indices: tuple[Index, ...], name: str, seeds: Sequence[Index]) -> Iterator[Product]:
    """softmax: s (du - sum(s du)); logsumexp: sum(s du) with s = softmax(u)."""
    (x,), place = atom.args, atom.detail
    soft = Atom("softmax", atom.args, place)
    bound = Index(x.dims[place])
    if atom.op == "logsumexp":
        lane = (*indices[:place], bound, *indices[place:])
        yield from times(ONE, (Factor(soft, lane),), at_indices(x, lane, name, seeds))
        return
    lane = (*indices[:place], bound, *indices[place + 1 :])
    yield from times(ONE, (Factor(soft, indices),), at_indices(x, indices, name, seeds))
    yield from times(-ONE, (Factor(soft, indices), Factor(soft, lane)), at_indices(x, lane, name, seeds))


def derive_elementwise(atom: Atom, indices: tuple[Index, ...], name: str, seeds: Sequence[Index]) -> Iterator[Product]:
    for position, x in enumerate(atom.args):
        formula = slope(atom.op, position)
        if formula is None or not any(depends(f.atom, name) for one in x.products for f in one.factors):
            continue
        partial = TermReader(formula, dict(zip("xyz", atom.args, strict=False))).run()
        whole = as_product(partial)
        factors = renamed(whole.factors, dict(zip(partial.axes, indices, strict=False)))
        yield from times(whole.coefficient, factors, at_indices(x, indices, name, seeds))
