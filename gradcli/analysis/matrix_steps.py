"""Backward in matrix form, node by node, fit for a slide: what every node is, and the derivative for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..exact.index_terms import Index, Term, assume_symmetric, contract, multiply
from ..exact.matrix_form import matrix_form
from ..exact.matrix_printing import Language, Latex
from ..exact.matrix_reader import input_term
from ..exact.matrix_rules import derive
from ..lang import tree
from ..show.study_results import Formula, bold_symbol

if TYPE_CHECKING:
    from .matrix_symbolic import Inputs


class Nodes:
    """The nodes of a program that depend on inputs, each a term in those before it.

    terms: by name, in the order of computing: v1 and so on, or the program's own.
    """

    def __init__(self, inputs: Inputs, out: str | None):
        self.terms: dict[str, Term] = {}
        self.taken = {*inputs.shapes, *inputs.program.bound, *inputs.named}
        self.keys: dict[str, str] = {}
        reader = inputs.reader()
        reader.watch = self.take
        self.output = reader.run(out)

    def take(self, node: tree.Expr, value: Any, name: str | None) -> Any:
        """Give a node a name, and return the term that stands for it; the same for equal nodes."""
        if not isinstance(value, Term) or not any(f.atom.op != "size" for one in value.products for f in one.factors):
            return value
        if name is None and value.key in self.keys:
            name = self.keys[value.key]
        elif name is None:
            name = next(f"v{k}" for k in range(1, len(self.terms) + len(self.taken) + 2) if self.is_free(f"v{k}"))
        self.terms.setdefault(name, value)
        self.keys.setdefault(value.key, name)
        return input_term(name, value.dims)

    def is_free(self, name: str) -> bool:
        return name not in self.terms and name not in self.taken


def matrix_steps(inputs: Inputs, out: str | None, function: str, results: Mapping[str, Formula]) -> tuple[Formula, ...]:
    """Return the nodes as lines, and from the last one on the derivative of the output for each.

    results: the derivatives in the inputs alone, which the last lines end with.
    """
    nodes = Nodes(inputs, out)
    names = list(nodes.terms)
    last = names[-1] if names else function
    shapes = {**inputs.shapes, **{name: term.dims for name, term in nodes.terms.items()}}
    language, latex = Language(shapes, inputs.named), Latex(shapes)
    shown = {last: function} if last.startswith("v") and last not in nodes.taken else {}
    lines: list[Formula] = []

    def write(term: Term) -> tuple[str, str]:
        form = matrix_form(assume_symmetric(term, inputs.symmetric))
        return language.write(form), latex.write(form)

    def name_in_latex(name: str) -> str:
        return bold_symbol(name) if shapes.get(name) else name

    for name, term in nodes.terms.items():
        text, code = write(term)
        lines.append(Formula(f"{shown.get(name, name)} = {text}", f"{shown.get(name, name_in_latex(name))} = {code}"))
    slopes = backward(nodes, inputs)
    for name in [*reversed(names[:-1]), *inputs.wrt]:
        if name not in slopes:
            continue
        text, code = write(slopes[name])
        if name in results and results[name].text != text:
            text, code = f"{text} = {results[name].text}", f"{code} = {results[name].latex}"
        top, below = shown.get(last, last), name_in_latex(name)
        head = rf"\frac{{\partial {top}}}{{\partial {below}}}"
        lines.append(Formula(f"∂{top}/∂{name} = {text}", f"{head} = {code}"))
    return tuple(lines)


def backward(nodes: Nodes, inputs: Inputs) -> dict[str, Term]:
    """Return the derivative of the last node for every node and input, in the names of the nodes."""
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
            part = contract(multiply([*slope.axes, *seeds], slope, local.with_axes([*inner, *seeds])), *inner)
            before = slopes[other].with_axes(part.axes).products if other in slopes else ()
            slopes[other] = Term(part.axes, [*part.products, *before])
    return slopes
