"""Terms and factors that a claimed derivative lacks: what its error is proportional to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from .patterns import Case


def forgotten_quantities(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Yield quantities that a forgotten factor or term is often made of, one value per element."""
    x = case.x
    with np.errstate(all="ignore"):
        own = {
            case.name: x,
            f"{case.name}**2": x**2,
            f"1/{case.name}": 1 / x,
            f"1/{case.name}**2": x**-2.0,
            f"exp({case.name})": np.exp(x),
            f"exp(-{case.name})": np.exp(-x),
            f"sin({case.name})": np.sin(x),
            f"cos({case.name})": np.cos(x),
            f"log({case.name})": np.log(x),
            f"tanh({case.name})": np.tanh(x),
            f"sqrt({case.name})": np.sqrt(x),
            f"sign({case.name})": np.sign(x),
        }
    yield from own.items()
    for name, other in case.flat.subject.at.items():
        if name != case.name and other.dtype.kind == "f":
            try:
                wide = np.broadcast_to(other, case.array.shape).reshape(-1).astype(float)
            except ValueError:
                continue
            yield name, wide
            with np.errstate(all="ignore"):
                yield f"1/{name}", 1 / wide
    if len(case.flat.f0) == 1:
        yield "the value", np.full(len(x), case.flat.f0[0])


def constant_term(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the constant 1."""
    yield "1", np.ones(len(case.x))


def enough(case: Case, where: np.ndarray) -> bool:
    """Return whether so many elements take part that a fit of one constant means something."""
    return int((case.known & where).sum()) >= 3


def chain_factor(case: Case) -> tuple[str, str] | None:
    """A factor that varies with the element is missing, or too many."""
    if not enough(case, case.wrong) or case.array.dtype.kind == "c":
        return None
    for name, q in forgotten_quantities(case):
        if not np.isfinite(q).all() or np.ptp(np.abs(q)) < 1e-9 * np.abs(q).max():
            continue
        with np.errstate(all="ignore"):
            product, quotient = case.r * q, case.r / q
        for expected, word in ((quotient, "missing"), (product, "too many")):
            known = case.known & np.isfinite(expected) & (expected != 0) & case.wrong
            if int(known.sum()) < 3:
                continue
            c = float(np.median(case.a[known] / expected[known]))
            wanted = np.where(case.wrong, c * expected, case.r)
            if np.isfinite(c) and c and case.explains(wanted):
                times = "" if abs(c - 1) < 1e-5 else f" (and a constant {c:.6g})"
                return "chain factor", f"a factor {name} is {word} (chain rule){times}"
    return None


def term(case: Case) -> tuple[str, str] | None:
    """The difference is proportional to a known quantity: a term was dropped, or is one too many."""
    gap = np.where(np.isfinite(case.r), case.a - case.r, 0.0)
    if not enough(case, case.wrong) or case.array.dtype.kind == "c":
        return None
    pairs: Iterator[tuple[str, np.ndarray]] = chain(constant_term(case), forgotten_quantities(case))
    for name, q in pairs:
        if not np.isfinite(q).all():
            continue
        wide = np.broadcast_to(q, gap.shape)
        known = case.known & (wide != 0)
        if int(known.sum()) < 3:
            continue
        c = float(np.median(gap[known] / wide[known]))
        if c and case.explains(case.r + c * wide):
            word = "an additive constant" if name == "1" else f"a term {abs(c):.6g} * {name}"
            action = "dropped, or of the wrong sign" if c < 0 else "too many"
            if name == "1":
                return "dropped term", f"the difference is the same everywhere, {c:.6g}: a term is dropped or added"
            return "dropped term", f"{word} is {action}: the difference is proportional to {name}"
    return None
