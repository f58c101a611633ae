"""Formulas of matrices as text: the expression language, NumPy, LaTeX, and as on paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from ..show.formula_results import bold_symbol, symbol
from .index_terms import ONE, Dim
from .matrix_form import Form

CONDITION, SUM, MINUS, PRODUCT, POWER, ATOM = range(6)
"""How tightly a formula holds together."""
INFIX = {
    "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "logical_and": "and", "logical_or": "or", "remainder": "%",
    "floor_divide": "//",
}  # fmt: skip
SHORT = {"absolute": "abs"}


class Language:
    """Writes formulas so that the expression language reads them. shapes: of the inputs, by name."""

    minus, transposed = "-", "{}.T"
    column = "{}[:, None]"

    def __init__(self, shapes: Mapping[str, Sequence[Dim]], named: frozenset[str] = frozenset()):
        self.shapes, self.named = shapes, named

    def write(self, form: Form) -> str:
        return self.at(form, CONDITION)

    def at(self, form: Form, least: int) -> str:
        """Return a formula, in parentheses where it holds together less tightly than that."""
        text, level = getattr(self, f"_{form.op}")(form)
        return text if level >= least else f"({text})"

    def _number(self, form: Form) -> tuple[str, int]:
        text = write_number(abs(form.detail))
        level = PRODUCT if "/" in text else ATOM
        return (f"-{text}", MINUS) if form.detail < 0 else (text, level)

    def _name(self, form: Form) -> tuple[str, int]:
        return form.detail, ATOM

    def _sum(self, form: Form) -> tuple[str, int]:
        text = ""
        for c, part in zip(form.detail, form.parts, strict=True):
            word, level = self.scaled(abs(c), part)
            word = f"({word})" if level < PRODUCT else word
            sign = self.minus if c < 0 else "+"
            text += f" {sign} {word}" if text else ("" if c > 0 else sign) + word
        return text, SUM

    def scaled(self, by: Fraction, form: Form) -> tuple[str, int]:
        if by == 1:
            return getattr(self, f"_{form.op}")(form)
        if form.op == "product":
            coefficient, exponents = form.detail
            return self._product(form._replace(detail=(coefficient * by, exponents)))
        if form.op == "number":
            return self._number(form._replace(detail=form.detail * by))
        return self._product(Form("product", (form,), (by, (ONE,)), form.rank))

    def _product(self, form: Form) -> tuple[str, int]:
        """Return number, scalars, arrays, and what divides: a matrix product behind numbers needs no parentheses."""
        coefficient, exponents = form.detail
        pairs = in_order(zip(form.parts, exponents, strict=True))
        coefficient, pairs = turn_sign(coefficient, pairs)
        if coefficient == 1 and [e for _, e in pairs] == [1]:
            return getattr(self, f"_{pairs[0][0].op}")(pairs[0][0])
        top = [(f, e) for f, e in pairs if e > 0]
        over, under, fraction = split_number(abs(coefficient))
        words = [over] if over != "1" or not top else []
        for k, (f, e) in enumerate(top):
            after_numbers = e == 1 and f.op == "matmul" and all(g.rank == 0 for g, _ in top[:k])
            last = k == len(top) - 1
            words.append(self.power(f, e, PRODUCT if after_numbers and last and (words or len(top) == 1) else POWER))
        text = "*".join(words)
        for f, e in join_sizes([(f, -e) for f, e in pairs if e < 0], self.shapes):
            text += "/" + self.power(f, e, POWER)
        text += f"/{under}" if under != "1" else ""
        if len(words) == 1 and len(pairs) == 1 and top and fraction == 1:
            return (f"-{text}", MINUS) if coefficient < 0 else (text, POWER)
        return (f"-{text}", MINUS) if coefficient < 0 else (text, PRODUCT)

    def power(self, form: Form, exponent: Fraction, least: int) -> str:
        if exponent == 1:
            return self.at(form, least)
        if exponent == Fraction(1, 2):
            return self.function("sqrt", [self.write(form)])
        word = str(exponent) if exponent.denominator == 1 else f"({exponent})"
        return f"{self.at(form, ATOM)}**{word}"

    def _matmul(self, form: Form) -> tuple[str, int]:
        """Return a chain, from the right where it ends in a vector: A.T@(A@x)."""
        parts = form.parts
        if len(parts) > 2 and parts[-1].rank == 1 and parts[0].rank == 2:
            inner = form._replace(parts=parts[1:])
            return f"{self.at(parts[0], POWER)}@({self.write(inner)})", PRODUCT
        return "@".join(self.at(part, POWER) for part in parts), PRODUCT

    def _T(self, form: Form) -> tuple[str, int]:  # noqa: N802 - the name of the operation
        return self.transposed.format(self.at(form.parts[0], ATOM)), ATOM

    def _column(self, form: Form) -> tuple[str, int]:
        return self.column.format(self.at(form.parts[0], ATOM)), ATOM

    def _call(self, form: Form) -> tuple[str, int]:
        name, axis = form.detail
        if name in INFIX:
            return f" {INFIX[name]} ".join(self.at(x, PRODUCT) for x in form.parts), CONDITION
        if name == "power":
            return f"{self.at(form.parts[0], ATOM)}**{self.at(form.parts[1], ATOM)}", POWER
        if name in ("invert", "logical_not"):
            return f"~{self.at(form.parts[0], ATOM)}", MINUS
        words = [self.write(x) for x in form.parts]
        return self.function(name, words if axis is None else [*words, f"axis={axis}"]), ATOM

    def function(self, name: str, words: list[str]) -> str:
        if name in ("signdet", "logabsdet"):
            return f"slogdet({words[0]})[{int(name == 'logabsdet')}]"
        return f"{SHORT.get(name, name)}({', '.join(words)})"

    def length(self, dim: Dim) -> str:
        """Return the length of a dimension: x.size of a vector, else A.shape[0]."""
        if isinstance(dim, int):
            return str(dim)
        if dim in self.named:
            return dim
        words = [
            f"{name}.size" if len(dims) == 1 else f"{name}.shape[{place}]"
            for name, dims in self.shapes.items()
            for place, own in enumerate(dims)
            if own == dim
        ]
        return min(words, key=len)

    def _size(self, form: Form) -> tuple[str, int]:
        for name, dims in self.shapes.items():
            if len(form.detail) == 2 and sorted(map(str, dims)) == sorted(map(str, form.detail)):
                return f"{name}.size", ATOM
        return "*".join(map(self.length, form.detail)), ATOM if len(form.detail) == 1 else PRODUCT

    def shape(self, dims: Sequence[Dim]) -> str:
        """Return the arguments of ones: the shape of an input that has it, else lengths."""
        lengths = ", ".join(map(self.length, dims))
        words = [f"{name}.shape" for name, own in self.shapes.items() if tuple(own) == tuple(dims)]
        return min([lengths, *words], key=len)

    def _ones(self, form: Form) -> tuple[str, int]:
        return f"{form.op}({self.shape(form.detail)})", ATOM

    _zeros = _ones

    def _eye(self, form: Form) -> tuple[str, int]:
        return f"eye({self.length(form.detail)})", ATOM


def write_number(x: Fraction) -> str:
    """Return a number that is not negative: whole, as a fraction with a small denominator, or as a decimal."""
    if x.denominator < 10:
        return str(x)
    decimal = repr(float(x))
    return decimal if Fraction(decimal) == x else str(x)


def split_number(x: Fraction) -> tuple[str, str, Fraction]:
    """Return what stands above and below a fraction bar, and the number as it is above."""
    over, _, under = write_number(x).partition("/")
    return over, under or "1", Fraction(over)


def in_order(pairs: Iterable[tuple[Form, Fraction]]) -> list[tuple[Form, Fraction]]:
    """Return the factors of a product, numbers before arrays, and names before longer formulas."""
    return sorted(pairs, key=lambda pair: (pair[0].rank, pair[0].op != "name"))


def turn_sign(coefficient: Fraction, pairs: list[tuple[Form, Fraction]]) -> tuple[Fraction, list]:
    """Return a product in which a sum takes the sign in, or gives it, where that leaves fewer minus signs."""
    for k, (form, e) in enumerate(pairs):
        turned = turn(form) if coefficient < 0 and e.denominator == 1 and e % 2 else None
        if turned is not None:
            return -coefficient, [*pairs[:k], (turned, e), *pairs[k + 1 :]]
    return coefficient, pairs


def turn(form: Form) -> Form | None:
    """Return the negative of a sum with a minus sign in it, or of a matrix product with such a sum; None of others."""
    if form.op == "matmul":
        for k, part in enumerate(form.parts):
            turned = turn(part)
            if turned is not None:
                return form._replace(parts=(*form.parts[:k], turned, *form.parts[k + 1 :]))
    if form.op != "sum" or min(form.detail) > 0:
        return None
    parts = sorted(zip(form.detail, form.parts, strict=True), key=lambda pair: pair[0] > 0)
    return form._replace(parts=tuple(p for _, p in parts), detail=tuple(-c for c, _ in parts))


def join_sizes(pairs: list[tuple[Form, Fraction]], shapes: Mapping[str, Sequence[Dim]]) -> list[tuple[Form, Fraction]]:
    """Return factors in which the two lengths of a matrix are its size."""
    dims = [f.detail[0] for f, e in pairs for _ in range(int(e)) if f.op == "size" and len(f.detail) == 1]
    if len(dims) == 2 and any(sorted(map(str, own)) == sorted(map(str, dims)) for own in shapes.values()):
        return [*((f, e) for f, e in pairs if f.op != "size"), (Form("size", (), tuple(dims)), ONE)]
    return pairs


LINEAR_ALGEBRA = ("inv", "det", "norm", "slogdet", "solve")


class Python(Language):
    """Writes NumPy, with functions of scipy.special that NumPy does not have. special: those that were used."""

    def __init__(self, shapes: Mapping[str, Sequence[Dim]], named: frozenset[str] = frozenset()):
        super().__init__(shapes, named)
        self.special: set[str] = set()

    def function(self, name: str, words: list[str]) -> str:
        if name in ("signdet", "logabsdet", "logdet"):
            return f"np.linalg.slogdet({words[0]})[{int(name != 'signdet')}]"
        if name in LINEAR_ALGEBRA:
            return f"np.linalg.{name}({', '.join(words)})"
        from ..rules import lookup

        entry = lookup(name)
        known = entry.numpy[0].__name__ if entry is not None and entry.numpy else name
        if name in PLAIN:
            return PLAIN[name].format(*words)
        import numpy as np

        if hasattr(np, known):
            return f"np.{known}({', '.join(words)})"
        special = entry.scipy or name if entry is not None else name
        special = {"sigmoid": "expit"}.get(special, special)
        self.special.add(special)
        return f"{special}({', '.join(words)})"

    def _call(self, form: Form) -> tuple[str, int]:
        if form.detail == ("softmax", None) and form.rank == 2:  # scipy's is over all elements
            form = form._replace(detail=("softmax", 1))
        return super()._call(form)

    def _matmul(self, form: Form) -> tuple[str, int]:
        """Return a chain in which inv(A)@b is solve(A, b), and diag(v)@B is v[:, None]*B."""
        parts = list(form.parts)
        for k in range(len(parts) - 2, -1, -1):
            first, rest = parts[k], parts[k + 1 :]
            turned = first.op == "T" and first.parts[0].detail == ("inv", None)
            if first.detail == ("inv", None) or turned:
                inner = Form("T", first.parts[0].parts, rank=2) if turned else first.parts[0]
                after = rest[0] if len(rest) == 1 else form._replace(parts=tuple(rest), rank=rest[-1].rank)
                parts[k:] = [Form("call", (inner, after), ("solve", None), after.rank)]
            elif first.detail == ("diag", None) and rest[0].rank == 2:
                column = Form("column", first.parts, rank=2)
                parts[k : k + 2] = [Form("product", (column, rest[0]), (ONE, (ONE, ONE)), 2)]
        if parts[-1].detail == ("diag", None) and parts[-1].rank == 2:
            parts[-2:] = [Form("product", (parts[-2], *parts[-1].parts), (ONE, (ONE, ONE)), 2)]
        if len(parts) == 1:
            return getattr(self, f"_{parts[0].op}")(parts[0])
        return super()._matmul(form._replace(parts=tuple(parts)))

    def _ones(self, form: Form) -> tuple[str, int]:
        words = self.shape(form.detail)
        return f"np.{form.op}({words if words.endswith('.shape') or len(form.detail) == 1 else f'({words})'})", ATOM

    _zeros = _ones

    def _eye(self, form: Form) -> tuple[str, int]:
        return f"np.eye({self.length(form.detail)})", ATOM

    def _name(self, form: Form) -> tuple[str, int]:
        is_constant = form.detail in ("pi", "e", "tau") and form.detail not in self.shapes
        return {"pi": "np.pi", "e": "np.e", "tau": "(2*np.pi)"}[form.detail] if is_constant else form.detail, ATOM


PLAIN = {"softplus": "np.logaddexp(0, {0})", "relu": "np.maximum({0}, 0)", "logsigmoid": "-np.logaddexp(0, -{0})"}


class Paper(Language):
    """Writes formulas as on paper, in Unicode; `Latex` says what is other there."""

    minus, times, over, top = "−", " ⊙ ", " ⊘ ", "ᵀ"

    def length(self, dim: Dim) -> str:
        return str(dim)

    def _size(self, form: Form) -> tuple[str, int]:
        return " ".join(map(str, form.detail)), PRODUCT if len(form.detail) > 1 else ATOM

    def at(self, form: Form, least: int) -> str:
        text, level = getattr(self, f"_{form.op}")(form)
        return text if level >= least else self.braced(text)

    def braced(self, text: str) -> str:
        return f"({text})"

    def _number(self, form: Form) -> tuple[str, int]:
        text, level = super()._number(form)
        return text.replace("-", self.minus), level

    def _product(self, form: Form) -> tuple[str, int]:
        coefficient, exponents = form.detail
        pairs = in_order(zip(form.parts, exponents, strict=True))
        coefficient, pairs = turn_sign(coefficient, pairs)
        if coefficient == 1 and [e for _, e in pairs] == [1]:
            return getattr(self, f"_{pairs[0][0].op}")(pairs[0][0])
        over, under, _ = split_number(abs(coefficient))
        sign = self.minus if coefficient < 0 else ""
        numbers = [(f, e) for f, e in pairs if f.rank == 0]
        arrays = [(f, e) for f, e in pairs if f.rank]
        single = sum(e > 0 for _, e in arrays) == len(arrays) == 1
        top = [self.power(f, e, POWER) for f, e in numbers if e > 0]
        bottom = ([under] if under != "1" else []) + [self.power(f, -e, POWER) for f, e in numbers if e < 0]
        above = [self.power(f, e, PRODUCT if single else POWER) for f, e in arrays if e > 0]
        below = [self.power(f, -e, POWER) for f, e in arrays if e < 0]
        main = self.times.join(above) or ("1" if below else "")
        main += "".join(self.over + word for word in below)
        lead = [*([over] if over != "1" or not (top or main) else []), *top]
        if bottom:
            text = self.quotient(lead, bottom, main)
        else:
            text = " ".join(
                [*lead, *([main if len(above) + len(below) < 2 or not lead else self.braced(main)] if main else [])]
            )
        alone = len(pairs) == 1 and coefficient == 1 and not bottom
        return sign + text, (MINUS if sign else POWER if alone and pairs[0][1] != 1 else PRODUCT)

    def quotient(self, lead: list[str], bottom: list[str], main: str) -> str:
        words = [*lead, *([main] if main else [])]
        below = " ".join(bottom)
        return f"{' '.join(words) or '1'} / {below if len(bottom) == 1 else self.braced(below)}"

    def power(self, form: Form, exponent: Fraction, least: int) -> str:
        if exponent == 1:
            return self.at(form, least)
        if exponent == Fraction(1, 2):
            return self.root(form)
        word = self.at(form, ATOM)
        return self.raised(word, exponent, form.rank > 0)

    def root(self, form: Form) -> str:
        return f"√{self.at(form, ATOM)}"

    def raised(self, word: str, exponent: Fraction, elementwise: bool) -> str:
        digits = str.maketrans("0123456789-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᐟ")
        return f"{word}{'˙' if elementwise else ''}{str(exponent).translate(digits)}"

    def _matmul(self, form: Form) -> tuple[str, int]:
        """Return factors side by side, a vector before others as a row."""
        first, *rest = form.parts
        words = [self.transpose_of(first) if first.rank == 1 else self.at(first, POWER)]
        words += [self.at(part, POWER) for part in rest]
        return self.side_by_side(words), PRODUCT

    def side_by_side(self, words: list[str]) -> str:
        text = words[0]
        for before, word in pairwise(words):
            long = re.search(r"[^\W⁰¹²³⁴-⁹ᵀ]{2}$", before) or re.match(r"\w\w", word) or " " in word.split("(")[0]
            text += (" " if long else "") + word
        return text

    def transpose_of(self, form: Form) -> str:
        return f"{self.at(form, ATOM)}{self.top}"

    def _T(self, form: Form) -> tuple[str, int]:  # noqa: N802 - the name of the operation
        (inner,) = form.parts
        if inner.detail == ("inv", None):
            return self.inverse(inner.parts[0], True), POWER
        return self.transpose_of(inner), POWER

    def inverse(self, form: Form, turned: bool) -> str:
        return f"{self.at(form, ATOM)}⁻{'ᵀ' if turned else '¹'}"

    def _column(self, form: Form) -> tuple[str, int]:
        return self.side_by_side([self.at(form.parts[0], POWER), f"1{self.top}"]), PRODUCT

    def _call(self, form: Form) -> tuple[str, int]:
        name, axis = form.detail
        x, *more = form.parts
        if name in INFIX:
            signs = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}
            sign = signs.get(INFIX[name], INFIX[name])
            return f" {sign} ".join(self.at(part, PRODUCT) for part in form.parts), CONDITION
        if name == "power":
            return f"{self.at(x, ATOM)}^{self.at(more[0], ATOM)}", POWER
        if name == "inv":
            return self.inverse(x, False), POWER
        if name == "outer":
            return self.side_by_side([self.at(x, POWER), self.transpose_of(more[0])]), PRODUCT
        if name == "sum" and axis is None and x.op == "product" and x.detail == (ONE, (Fraction(2),)):
            return self.raised(self.fence("norm", self.write(x.parts[0]), x.rank), Fraction(2), False), POWER
        if name in ("norm", "absolute") and axis is None:
            return self.fence(name, self.write(x), x.rank), ATOM
        words = [self.write(part) for part in form.parts]
        return self.function(name, words if axis is None else [*words, f"axis={axis}"]), ATOM

    def fence(self, name: str, text: str, rank: int) -> str:
        return f"|{text}|" if name == "absolute" else f"‖{text}‖{'F' if rank == 2 else ''}"

    def function(self, name: str, words: list[str]) -> str:
        name = {
            "trace": "tr",
            "sigmoid": "σ",
            "logdet": "log det",
            "logabsdet": "log |det|",
            "signdet": "sign det",
        }.get(name, name)
        return f"{name}({', '.join(words)})"

    def _ones(self, form: Form) -> tuple[str, int]:
        return "1" if len(form.detail) == 1 else f"1 1{self.top}", ATOM

    def _zeros(self, form: Form) -> tuple[str, int]:
        return "0", ATOM

    def _eye(self, form: Form) -> tuple[str, int]:
        return "I", ATOM


class Latex(Paper):
    """Writes LaTeX: vectors and matrices in bold, transposes with \\top."""

    minus, times, over, top = "-", r" \odot ", r" \oslash ", r"^\top"

    def _name(self, form: Form) -> tuple[str, int]:
        return bold_symbol(form.detail) if form.rank else symbol(form.detail), ATOM

    def braced(self, text: str) -> str:
        return rf"\left({text}\right)"

    def quotient(self, lead: list[str], bottom: list[str], main: str) -> str:
        head = rf"\frac{{{' '.join(lead) or '1'}}}{{{' '.join(bottom)}}}"
        return f"{head} {main}" if main else head

    def root(self, form: Form) -> str:
        return rf"\sqrt{{{self.write(form)}}}"

    def raised(self, word: str, exponent: Fraction, elementwise: bool) -> str:
        return rf"{word}^{{{chr(92) + 'odot ' if elementwise else ''}{exponent}}}"

    def side_by_side(self, words: list[str]) -> str:
        return " ".join(words)

    def transpose_of(self, form: Form) -> str:
        return rf"{self.at(form, ATOM)}^\top"

    def inverse(self, form: Form, turned: bool) -> str:
        return rf"{self.at(form, ATOM)}^{{-{chr(92) + 'top' if turned else '1'}}}"

    def _call(self, form: Form) -> tuple[str, int]:
        text, level = super()._call(form)
        for sign, word in (("≥", r"\geq"), ("≤", r"\leq"), ("≠", r"\neq"), (" & ", r" \wedge "), (" | ", r" \vee ")):
            text = text.replace(sign, word)
        return text, level

    def fence(self, name: str, text: str, rank: int) -> str:
        if name == "absolute":
            return rf"\left|{text}\right|"
        return rf"\left\lVert {text} \right\rVert_{{{'F' if rank == 2 else '2'}}}"

    def function(self, name: str, words: list[str]) -> str:
        inside = rf"\left({', '.join(words)}\right)"
        if name == "sigmoid":
            return rf"\sigma{inside}"
        if name in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "det", "arcsin", "arccos", "arctan"):
            return rf"\{name}{inside}"
        if name in ("logdet", "logabsdet"):
            return rf"\log \det{inside}"
        word = {"trace": "tr", "signdet": "sign det"}.get(name, name).replace("_", r"\_")
        return rf"\operatorname{{{word}}}{inside}"

    def _ones(self, form: Form) -> tuple[str, int]:
        first, *rest = (rf"\mathbf{{1}}_{{{dim}}}" for dim in form.detail)
        return f"{first} {rest[0]}^\\top" if rest else first, ATOM

    def _zeros(self, form: Form) -> tuple[str, int]:
        return r"\mathbf{0}", ATOM

    def _eye(self, form: Form) -> tuple[str, int]:
        return rf"\mathbf{{I}}_{{{form.detail}}}", ATOM


# -- common parts ---------------------------------------------------------------------------------------------


def subforms(form: Form) -> list[Form]:
    """Return a formula and all in it, the inner ones first."""
    return [*(inner for part in form.parts for inner in subforms(part)), form]


def replace(form: Form, old: Form, new: Form) -> Form:
    if form == old:
        return new
    return form._replace(parts=tuple(replace(part, old, new) for part in form.parts)) if form.parts else form


def name_parts(
    forms: Sequence[Form], taken: Collection[str], length: Callable[[Form], int] | None = None
) -> tuple[list[tuple[str, Form]], list[Form]]:
    """Return names for parts that come twice, in the order of computing, and the formulas in terms of these.

    length: how many characters a formula has: only what shortens the whole is named. Without, all is.
    """
    parts: list[tuple[Form, Form]] = []
    forms = list(forms)
    while True:
        counts = Counter(inner for form in (*(f for _, f in parts), *forms) for inner in subforms(form))
        repeated = [f for f, n in counts.items() if n > 1 and f.op in ("sum", "product", "matmul", "call")]
        gain = {
            f: len(subforms(f)) if length is None else (counts[f] - 1) * length(f) - 2 * counts[f] - 7 for f in repeated
        }
        best = max(repeated, key=gain.__getitem__, default=None)
        if best is None or gain[best] <= 0:
            break
        own = Form("name", (), f"\0{len(parts)}", best.rank, best.symmetric)
        parts = [(name, replace(f, best, own)) for name, f in parts]
        place = next((k for k, (_, f) in enumerate(parts) if own in subforms(f)), len(parts))
        parts.insert(place, (own, best))
        forms = [replace(f, best, own) for f in forms]
    names = [name for name in (f"t{k}" for k in range(len(parts) + len(taken))) if name not in taken]
    for k, (old, _) in enumerate(parts):
        new = old._replace(detail=names[k])
        parts = [(new if name == old else name, replace(f, old, new)) for name, f in parts]
        forms = [replace(f, old, new) for f in forms]
    return [(name.detail, f) for name, f in parts], forms
