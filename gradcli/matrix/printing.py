"""Print matrix formulas in the expression language, NumPy, LaTeX, or mathematical notation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import count, pairwise
from typing import ClassVar

from ..results.studies import bold_symbol, symbol
from .form import Form, Powers, call_form, product_form
from .index_terms import ONE, Dim

CONDITION_LEVEL, SUM_LEVEL, MINUS_LEVEL, PRODUCT_LEVEL, POWER_LEVEL, ATOM_LEVEL = range(
    6
)  # precedence, from low to high
PRINTED_SIGNS = {
    "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "logical_and": "and", "logical_or": "or", "remainder": "%",
    "floor_divide": "//",
}  # fmt: skip
FormulaText = tuple[str, int]  # a formula as text, and its precedence


class LanguageWriter:
    """Writes formulas in the expression language. shapes: of the inputs. named: dimensions that are also inputs."""

    signs, minus, braces, exponent, negation = PRINTED_SIGNS, "-", "({})", "{}**{}", "~{}"
    prefix = ""
    constants: ClassVar[dict[str, str]] = {}
    calls: ClassVar = {"absolute": "abs({})", "signdet": "slogdet({})[0]", "logabsdet": "slogdet({})[1]"}

    def __init__(self, shapes: Mapping[str, Sequence[Dim]], named: frozenset[str] = frozenset()):
        self.shapes, self.named = shapes, named
        self.special: set[str] = set()

    def write(self, form: Form) -> str:
        return self.at(form, CONDITION_LEVEL)

    def at(self, form: Form, least: int) -> str:
        """Write a formula, in parentheses if its precedence is below `least`."""
        text, level = self.print(form)
        return text if level >= least else self.braces.format(text)

    def print(self, form: Form) -> FormulaText:
        return getattr(self, f"_{form.op}")(form)

    def _number(self, form: Form) -> FormulaText:
        text = write_number(abs(form.detail)).replace("-", self.minus)
        level = PRODUCT_LEVEL if "/" in text else ATOM_LEVEL
        return (f"{self.minus}{text}", MINUS_LEVEL) if form.detail < 0 else (text, level)

    def _name(self, form: Form) -> FormulaText:
        return form.detail if form.detail in self.shapes else self.constants.get(form.detail, form.detail), ATOM_LEVEL

    def _sum(self, form: Form) -> FormulaText:
        text = ""
        for c, part in zip(form.detail, form.parts, strict=True):
            word, level = self.print(part if abs(c) == 1 else product_form(abs(c), [(part, ONE)]))
            word = f"({word})" if level < PRODUCT_LEVEL else word
            sign = self.minus if c < 0 else "+"
            text += f" {sign} {word}" if text else ("" if c > 0 else sign) + word
        return text, SUM_LEVEL

    def _product(self, form: Form) -> FormulaText:
        """Write a product: numbers before arrays, names before longer formulas."""
        coefficient, exponents = form.detail
        pairs = sorted(zip(form.parts, exponents, strict=True), key=lambda pair: (pair[0].rank, pair[0].op != "name"))
        for k, (f, e) in enumerate(pairs):  # move the sign into a sum, for fewer minus signs
            turned = negated_form(f) if coefficient < 0 and e.denominator == 1 and e % 2 else None
            if turned is not None:
                coefficient, pairs[k] = -coefficient, (turned, e)
        if coefficient == 1 and [e for _, e in pairs] == [1]:
            return self.print(pairs[0][0])
        text, level = self.positive_product(abs(coefficient), pairs)
        return (f"{self.minus}{text}", MINUS_LEVEL) if coefficient < 0 else (text, level)

    def positive_product(self, coefficient: Fraction, pairs: Powers) -> FormulaText:
        """Write the number, scalars, arrays, then divisors. A matrix product after numbers needs no parentheses."""
        top = [(f, e) for f, e in pairs if e > 0]
        over, _, under = write_number(coefficient).partition("/")
        words = [over] if over != "1" or not top else []
        for k, (f, e) in enumerate(top):
            last = k == len(top) - 1 and e == 1 and f.op == "matmul" and all(g.rank == 0 for g, _ in top[:k])
            words.append(self.power(f, e, PRODUCT_LEVEL if last and (words or k == 0) else POWER_LEVEL))
        text = "*".join(words)
        below = [(f, -e) for f, e in pairs if e < 0]
        dims = [f.detail[0] for f, e in below for _ in range(int(e)) if f.op == "size"]
        if len(dims) == 2 and matrix_of_size(dims, self.shapes) is not None:  # write them as A.size
            below = [*((f, e) for f, e in below if f.op != "size"), (Form("size", (), tuple(dims)), ONE)]
        for f, e in below:
            text += "/" + self.power(f, e, POWER_LEVEL)
        text += f"/{under}" if under else ""
        return text, POWER_LEVEL if len(words) == len(pairs) == len(top) == 1 and over == "1" else PRODUCT_LEVEL

    def power(self, form: Form, exponent: Fraction, least: int) -> str:
        if exponent == 1:
            return self.at(form, least)
        if exponent == Fraction(1, 2):
            return self.function("sqrt", [self.write(form)])
        return self.exponent.format(
            self.at(form, ATOM_LEVEL), exponent if exponent.denominator == 1 else f"({exponent})"
        )

    def _matmul(self, form: Form) -> FormulaText:
        """Write a matrix product; if it ends in a vector, associate from the right: A.T@(A@x)."""
        parts = form.parts
        if len(parts) > 2 and parts[-1].rank == 1 and parts[0].rank == 2:
            inner = form._replace(parts=parts[1:])
            return f"{self.at(parts[0], POWER_LEVEL)}@({self.write(inner)})", PRODUCT_LEVEL
        return "@".join(self.at(part, POWER_LEVEL) for part in parts), PRODUCT_LEVEL

    def _T(self, form: Form) -> FormulaText:  # noqa: N802 - the name of the operation
        return f"{self.at(form.parts[0], ATOM_LEVEL)}.T", ATOM_LEVEL

    def _column(self, form: Form) -> FormulaText:
        return f"{self.at(form.parts[0], ATOM_LEVEL)}[:, None]", ATOM_LEVEL

    def _call(self, form: Form) -> FormulaText:
        name, axis = form.detail
        if name in self.signs:
            return f" {self.signs[name]} ".join(self.at(x, PRODUCT_LEVEL) for x in form.parts), CONDITION_LEVEL
        if name == "power":
            return self.exponent.format(*(self.at(x, ATOM_LEVEL) for x in form.parts)), POWER_LEVEL
        if name in ("invert", "logical_not"):
            return self.negation.format(self.at(form.parts[0], ATOM_LEVEL)), MINUS_LEVEL
        words = [self.write(x) for x in form.parts]
        return self.function(name, words if axis is None else [*words, f"axis={axis}"]), ATOM_LEVEL

    def function(self, name: str, words: list[str]) -> str:
        return self.calls.get(name, name + "({})").format(", ".join(words))

    def length(self, dim: Dim) -> str:
        """Write the length of a dimension: x.size for a vector, else A.shape[0]."""
        if isinstance(dim, int) or dim in self.named:
            return str(dim)
        places = [(name, dims, k) for name, dims in self.shapes.items() for k, own in enumerate(dims) if own == dim]
        return min((f"{n}.size" if len(dims) == 1 else f"{n}.shape[{k}]" for n, dims, k in places), key=len)

    def _size(self, form: Form) -> FormulaText:
        whole = matrix_of_size(form.detail, self.shapes) if len(form.detail) == 2 else None
        if whole is not None:
            return f"{whole}.size", ATOM_LEVEL
        return "*".join(map(self.length, form.detail)), ATOM_LEVEL if len(form.detail) == 1 else PRODUCT_LEVEL

    def _ones(self, form: Form) -> FormulaText:
        """Write ones or zeros, with the shape of an input if one has it."""
        lengths = ", ".join(map(self.length, form.detail))
        words = [f"{name}.shape" for name, own in self.shapes.items() if tuple(own) == tuple(form.detail)]
        word = min([lengths, *words], key=len)
        word = f"({word})" if self.prefix and word == lengths and len(form.detail) > 1 else word
        return f"{self.prefix}{form.op}({word})", ATOM_LEVEL

    _zeros = _ones

    def _eye(self, form: Form) -> FormulaText:
        return f"{self.prefix}eye({self.length(form.detail)})", ATOM_LEVEL


class NumpyWriter(LanguageWriter):
    """Writes NumPy code. special: functions of scipy.special used so far because NumPy lacks them."""

    prefix = "np."
    constants: ClassVar = {"pi": "np.pi", "e": "np.e", "tau": "(2*np.pi)"}
    calls: ClassVar = {
        **{name: f"np.linalg.{name}({{}})" for name in ("inv", "det", "norm", "solve")},
        "signdet": "np.linalg.slogdet({})[0]", "logabsdet": "np.linalg.slogdet({})[1]",
        "logdet": "np.linalg.slogdet({})[1]", "relu": "np.maximum({}, 0)",
        "softplus": "np.logaddexp(0, {})", "logsigmoid": "-np.logaddexp(0, -{})",
    }  # fmt: skip

    def function(self, name: str, words: list[str]) -> str:
        import numpy as np

        from ..rules import lookup

        if name in self.calls:
            return super().function(name, words)
        entry = lookup(name)
        known = entry.numpy[0].__name__ if entry is not None and entry.numpy else name
        if hasattr(np, known):
            return super().function(f"np.{known}", words)
        special = "expit" if name == "sigmoid" else (entry and entry.scipy) or name
        self.special.add(special)
        return super().function(special, words)

    def _call(self, form: Form) -> FormulaText:
        if form.detail == ("softmax", None) and form.rank == 2:  # scipy's softmax defaults to all elements
            form = form._replace(detail=("softmax", 1))
        return super()._call(form)

    def _matmul(self, form: Form) -> FormulaText:
        """Write a matrix product, with solve(A, b) for inv(A)@b and v[:, None]*B for diag(v)@B."""
        parts = list(form.parts)
        for k in range(len(parts) - 2, -1, -1):
            first, rest = parts[k], parts[k + 1 :]
            turned = first.op == "T" and first.parts[0].detail == ("inv", None)
            if first.detail == ("inv", None) or turned:
                inner = Form("T", first.parts[0].parts, rank=2) if turned else first.parts[0]
                after = rest[0] if len(rest) == 1 else form._replace(parts=tuple(rest), rank=rest[-1].rank)
                parts[k:] = [call_form("solve", inner, after, rank=after.rank)]
            elif first.detail == ("diag", None) and rest[0].rank == 2:
                column = Form("column", first.parts, rank=2)
                parts[k : k + 2] = [product_form(ONE, [(column, ONE), (rest[0], ONE)])]
        if parts[-1].detail == ("diag", None) and parts[-1].rank == 2:
            parts[-2:] = [product_form(ONE, [(parts[-2], ONE), (parts[-1].parts[0], ONE)])]
        return self.print(parts[0]) if len(parts) == 1 else super()._matmul(form._replace(parts=tuple(parts)))


class Paper(LanguageWriter):
    """Writes formulas in mathematical notation, in Unicode; `Latex` overrides its tables."""

    signs = PRINTED_SIGNS | {"greater_equal": "≥", "less_equal": "≤", "equal": "=", "not_equal": "≠"}
    minus, times, over, exponent, negation = "−", " ⊙ ", " ⊘ ", "{}^{}", "¬{}"
    transposed, inverse, inverse_transposed, square = "{}ᵀ", "{}⁻¹", "{}⁻ᵀ", "{}²"
    fences: ClassVar[dict[str, str]] = {"absolute": "|{}|", "norm": "‖{}‖", "norm of a matrix": "‖{}‖F"}
    default = "{}"
    calls: ClassVar = {
        "trace": "tr", "sigmoid": "σ", "logdet": "log det", "logabsdet": "log |det|", "signdet": "sign det",
    }  # fmt: skip
    zeros, eye, one, ones = "0", "I", "1", "1 1ᵀ"

    def _size(self, form: Form) -> FormulaText:
        return " ".join(map(str, form.detail)), PRODUCT_LEVEL if len(form.detail) > 1 else ATOM_LEVEL

    def positive_product(self, coefficient: Fraction, pairs: Powers) -> FormulaText:
        """Write numbers before arrays, and scalar divisors as a fraction."""
        over, _, under = write_number(coefficient).partition("/")
        arrays = [(f, e) for f, e in pairs if f.rank]
        single = len(arrays) == 1 and arrays[0][1] > 0
        top = [self.power(f, e, POWER_LEVEL) for f, e in pairs if e > 0 and not f.rank]
        bottom = [under] * bool(under) + [self.power(f, -e, POWER_LEVEL) for f, e in pairs if e < 0 and not f.rank]
        main = self.times.join(self.power(f, e, PRODUCT_LEVEL if single else POWER_LEVEL) for f, e in arrays if e > 0)
        divisors = [self.over + self.power(f, -e, POWER_LEVEL) for f, e in arrays if e < 0]
        main = (main or "1" * bool(divisors)) + "".join(divisors)
        lead = [over] * (over != "1" or not (top or main)) + top
        if bottom:
            return self.quotient(lead, bottom, main), PRODUCT_LEVEL
        main = self.braces.format(main) if lead and len(arrays) > 1 else main
        alone = len(pairs) == 1 and coefficient == 1 and pairs[0][1] != 1
        return " ".join([*lead, *[main] * bool(main)]), POWER_LEVEL if alone else PRODUCT_LEVEL

    def quotient(self, lead: list[str], bottom: list[str], main: str) -> str:
        below = " ".join(bottom)
        return f"{' '.join([*lead, *[main] * bool(main)])} / {below if len(bottom) == 1 else self.braces.format(below)}"

    def power(self, form: Form, exponent: Fraction, least: int) -> str:
        if exponent == 1:
            return self.at(form, least)
        return self.root(form) if exponent == Fraction(1, 2) else self.raise_to(form, exponent)

    def root(self, form: Form) -> str:
        return f"√{self.at(form, ATOM_LEVEL)}"

    def raise_to(self, form: Form, exponent: Fraction) -> str:
        digits = str.maketrans("0123456789-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᐟ")
        return f"{self.at(form, ATOM_LEVEL)}{'˙' if form.rank else ''}{str(exponent).translate(digits)}"

    def _matmul(self, form: Form) -> FormulaText:
        """Write factors side by side; a vector at the start is written as a row."""
        first, *rest = form.parts
        words = [self.transpose(first) if first.rank == 1 else self.at(first, POWER_LEVEL)]
        return self.side_by_side([*words, *(self.at(part, POWER_LEVEL) for part in rest)]), PRODUCT_LEVEL

    def side_by_side(self, words: list[str]) -> str:
        text = words[0]
        for before, word in pairwise(words):
            long = re.search(r"[^\W⁰¹²³⁴-⁹ᵀ]{2}$", before) or re.match(r"\w\w", word) or " " in word.split("(")[0]
            text += (" " if long else "") + word
        return text

    def transpose(self, form: Form) -> str:
        return self.transposed.format(self.at(form, ATOM_LEVEL))

    def _T(self, form: Form) -> FormulaText:  # noqa: N802 - the name of the operation
        (inner,) = form.parts
        if inner.detail == ("inv", None):
            return self.inverse_transposed.format(self.at(inner.parts[0], ATOM_LEVEL)), POWER_LEVEL
        return self.transpose(inner), POWER_LEVEL

    def _column(self, form: Form) -> FormulaText:
        return self.side_by_side([self.at(form.parts[0], POWER_LEVEL), self.transposed.format("1")]), PRODUCT_LEVEL

    def _call(self, form: Form) -> FormulaText:
        name, axis = form.detail
        x, *more = form.parts
        if name == "inv":
            return self.inverse.format(self.at(x, ATOM_LEVEL)), POWER_LEVEL
        if name == "outer":
            return self.side_by_side([self.at(x, POWER_LEVEL), self.transpose(more[0])]), PRODUCT_LEVEL
        if axis is None and name == "sum" and x.op == "product" and x.detail == (ONE, (Fraction(2),)):
            return self.square.format(self.at(call_form("norm", x.parts[0]), ATOM_LEVEL)), POWER_LEVEL
        if axis is None and name in self.fences:
            fence = self.fences["norm of a matrix" if x.rank == 2 and name == "norm" else name]
            return fence.format(self.write(x)), ATOM_LEVEL
        return super()._call(form)

    def function(self, name: str, words: list[str]) -> str:
        word = self.calls.get(name) or self.default.format(name.replace("_", r"\_"))
        return word + self.braces.format(", ".join(words))

    def _ones(self, form: Form) -> FormulaText:
        return (self.one if len(form.detail) == 1 else self.ones).format(*form.detail), ATOM_LEVEL

    def _zeros(self, form: Form) -> FormulaText:
        return self.zeros, ATOM_LEVEL

    def _eye(self, form: Form) -> FormulaText:
        return self.eye.format(form.detail), ATOM_LEVEL


class Latex(Paper):
    """Writes LaTeX, with vectors and matrices in bold and transposes as \\top."""

    signs = PRINTED_SIGNS | {
        "greater_equal": r"\geq", "less_equal": r"\leq", "equal": "=", "not_equal": r"\neq",
        "bitwise_and": r"\wedge", "bitwise_or": r"\vee",
    }  # fmt: skip
    minus, times, over, negation, braces = "-", r" \odot ", r" \oslash ", r"\neg {}", r"\left({}\right)"
    exponent = "{}^{{{}}}"
    transposed, inverse, inverse_transposed, square = r"{}^\top", "{}^{{-1}}", r"{}^{{-\top}}", "{}^{{2}}"
    fences: ClassVar = {
        "absolute": r"\left|{}\right|",
        "norm": r"\left\lVert {} \right\rVert_{{2}}",
        "norm of a matrix": r"\left\lVert {} \right\rVert_{{F}}",
    }
    default = r"\operatorname{{{}}}"
    calls: ClassVar = {
        **{name: f"\\{name}" for name in "exp log sin cos tan sinh cosh tanh det arcsin arccos arctan".split()},
        "sigmoid": r"\sigma", "logdet": r"\log \det", "logabsdet": r"\log \det", "trace": r"\operatorname{tr}",
        "signdet": r"\operatorname{sign det}",
    }  # fmt: skip
    zeros, eye = r"\mathbf{0}", r"\mathbf{{I}}_{{{}}}"
    one, ones = r"\mathbf{{1}}_{{{}}}", r"\mathbf{{1}}_{{{}}} \mathbf{{1}}_{{{}}}^\top"

    def _name(self, form: Form) -> FormulaText:
        return bold_symbol(form.detail) if form.rank else symbol(form.detail), ATOM_LEVEL

    def quotient(self, lead: list[str], bottom: list[str], main: str) -> str:
        head = rf"\frac{{{' '.join(lead) or '1'}}}{{{' '.join(bottom)}}}"
        return f"{head} {main}" if main else head

    def root(self, form: Form) -> str:
        return rf"\sqrt{{{self.write(form)}}}"

    def raise_to(self, form: Form, exponent: Fraction) -> str:
        return rf"{self.at(form, ATOM_LEVEL)}^{{{chr(92) + 'odot ' if form.rank else ''}{exponent}}}"

    def side_by_side(self, words: list[str]) -> str:
        return " ".join(words)


def write_number(x: Fraction) -> str:
    """Write a nonnegative number as an integer or fraction, or as a decimal if exact and the denominator is above 9."""
    if x.denominator < 10:
        return str(x)
    decimal = repr(float(x))
    return decimal if Fraction(decimal) == x else str(x)


def negated_form(form: Form) -> Form | None:
    """Negate a sum that contains a minus sign, or a matrix product with one; return None for other formulas."""
    if form.op == "matmul":
        for k, part in enumerate(form.parts):
            turned = negated_form(part)
            if turned is not None:
                return form._replace(parts=(*form.parts[:k], turned, *form.parts[k + 1 :]))
    if form.op != "sum" or min(form.detail) > 0:
        return None
    parts = sorted(zip(form.detail, form.parts, strict=True), key=lambda pair: pair[0] > 0)
    return form._replace(parts=tuple(p for _, p in parts), detail=tuple(-c for c, _ in parts))


def matrix_of_size(dims: Sequence[Dim], shapes: Mapping[str, Sequence[Dim]]) -> str | None:
    return next((name for name, own in shapes.items() if sorted(map(str, own)) == sorted(map(str, dims))), None)


# -- common parts ---------------------------------------------------------------------------------------------


def subforms(form: Form) -> list[Form]:
    return [*(inner for part in form.parts for inner in subforms(part)), form]


def replace_form(form: Form, old: Form, new: Form) -> Form:
    if form == old:
        return new
    return form._replace(parts=tuple(replace_form(part, old, new) for part in form.parts)) if form.parts else form


def name_parts(
    forms: Sequence[Form], taken: Collection[str], length: Callable[[Form], int] | None = None
) -> tuple[list[tuple[str, Form]], list[Form]]:
    """Name parts that occur more than once. Return (name, part) pairs, and the formulas with these names.

    length: returns the length of a formula as text; if given, name only parts whose names shorten the text.
    """
    names: list[Form] = []
    lines = list(forms)  # the named parts, each before its first use, then the formulas
    while True:
        counts = Counter(inner for form in lines for inner in subforms(form))
        repeated = [f for f, n in counts.items() if n > 1 and f.op in ("sum", "product", "matmul", "call")]
        gain = [
            len(subforms(f)) if length is None else (counts[f] - 1) * length(f) - 2 * counts[f] - 7 for f in repeated
        ]
        if max(gain, default=0) <= 0:
            break
        best = repeated[gain.index(max(gain))]
        own = Form("name", (), f"\0{len(names)}", best.rank, best.symmetric)
        lines = [replace_form(f, best, own) for f in lines]
        place = next(k for k, f in enumerate(lines) if k == len(names) or own in subforms(f))
        names.insert(place, own)
        lines.insert(place, best)
    free = (name for name in map("t{}".format, count()) if name not in taken)
    for k, own in enumerate(names):
        names[k] = own._replace(detail=next(free))
        lines = [replace_form(f, own, names[k]) for f in lines]
    return [(name.detail, f) for name, f in zip(names, lines, strict=False)], lines[len(names) :]
