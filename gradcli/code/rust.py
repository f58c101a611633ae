"""Rust, with its standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .language import CHOSEN_BINDS, Argument, Body, Definition, Language, Text, doc_line, split_body
from .names import nest_lists

RUST_METHODS = "sqrt cbrt exp exp2 log2 log10 sin cos tan sinh cosh tanh floor ceil trunc copysign hypot"
UNUSUAL = "#[allow(non_snake_case, unused_parens, clippy::all)]"


class Rust(Language):
    """Functions of f64; arrays are nested arrays of fixed sizes."""

    title = "Rust's standard library"
    operations: ClassVar = {
        **{name: f"f64::{name}({{0}})" for name in RUST_METHODS.split()},
        "copysign": "f64::copysign({0}, {1})",
        "hypot": "f64::hypot({0}, {1})",
        "absolute": "f64::abs({0})",
        "power": "f64::powf({0}, {1})",
        "expm1": "f64::exp_m1({0})",
        "log": "f64::ln({0})",
        "log1p": "f64::ln_1p({0})",
        "arcsin": "f64::asin({0})",
        "arccos": "f64::acos({0})",
        "arctan": "f64::atan({0})",
        "arctan2": "f64::atan2({0}, {1})",
        "fmax": "f64::max({0}, {1})",
        "fmin": "f64::min({0}, {1})",
        "fmod": "modulo({0}, {1})",
        "rint": "f64::round_ties_even({0})",
        "isnan": "f64::is_nan({0})",
        "isinf": "f64::is_infinite({0})",
        "isfinite": "f64::is_finite({0})",
        "signbit": "f64::is_sign_negative({0})",
    }
    support: ClassVar = {"modulo": "fn modulo(x: f64, y: f64) -> f64 {\n    x % y\n}\n"}
    keywords = frozenset(
        "as async await box break const continue crate do dyn else enum extern false final fn for gen if impl in let "
        "loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type "
        "typeof unsafe unsized use virtual where while yield abstract become f64 bool union".split()
    )
    infinity, not_a_number = "f64::INFINITY", "f64::NAN"
    integers = False

    def choice(self, condition: Text, x: Text, y: Text) -> Text:
        return Text(f"if {condition.text} {{ {x.text} }} else {{ {y.text} }}", CHOSEN_BINDS)

    def statement(self, statement: Definition) -> str:
        return f"    let {statement.name} = {statement.text};"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        head = f"fn {name}({', '.join(f'{p}: f64' for p in parameters)}) -> f64 {{"
        return "\n".join([UNUSUAL, head, *map(self.statement, body.statements), f"    {body.results[0]}", "}", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        arguments = [f"{name}: &{array_type(shape)}" if shape else f"{name}: f64" for name, shape in inputs]
        types = ["f64", *(array_type(x.shape) for x in slopes)]
        lines = [
            f"/// {doc_line(target)}",
            UNUSUAL,
            f"pub fn value_and_gradient({', '.join(arguments)}) -> ({', '.join(types)}) {{",
            *map(self.statement, body.statements),
            f"    let {value}: f64 = {result};",
            *(
                f"    let {x.name}: {kind} = {nest_lists(words, x.shape)};"
                for x, kind, words in zip(slopes, types[1:], parts, strict=True)
            ),
            f"    ({', '.join([value, *(x.name for x in slopes)])})",
            "}",
            "",
        ]
        return "\n".join(lines)

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        return "\n".join([*support, *functions])


def array_type(shape: tuple[int, ...]) -> str:
    """Return the type of an array of f64: [[f64; 3]; 2] for shape (2, 3)."""
    return f"[{array_type(shape[1:])}; {shape[0]}]" if shape else "f64"
