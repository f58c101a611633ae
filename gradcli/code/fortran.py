"""Fortran 2008: a module with a pure subroutine."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from .language import (
    ATOM_BINDS,
    CHOSEN_BINDS,
    NEGATED_BINDS,
    POWER_BINDS,
    Argument,
    Body,
    Definition,
    Language,
    Text,
    doc_line,
    enclose,
    split_body,
)
from .matlab import by_columns
from .names import plain_identifier

FORTRAN_SAME = "sqrt exp log log10 sin cos tan sinh cosh tanh erf erfc gamma asin acos atan asinh acosh atanh"
FROM_C = "log1p expm1 cbrt log2 exp2"
LINE_WIDTH = 100  # columns; the standard allows 132
MOST_DECLARED = 12  # names in one declaration
INDENT = "    "


class Fortran(Language):
    """Functions of real(real64); log1p and the like come from C's library."""

    title = "Fortran"
    operations: ClassVar = {
        **{name: f"{name}({{0}})" for name in f"{FORTRAN_SAME} {FROM_C}".split()},
        "absolute": "abs({0})",
        "hypot": "hypot({0}, {1})",
        "arcsin": "asin({0})",
        "arccos": "acos({0})",
        "arctan": "atan({0})",
        "arctan2": "atan2({0}, {1})",
        "arcsinh": "asinh({0})",
        "arccosh": "acosh({0})",
        "arctanh": "atanh({0})",
        "power": "",
        "fmod": "mod({0}, {1})",
        "copysign": "sign({0}, {1})",
        "trunc": "aint({0})",
        "sign": "sign_of({0})",
        "floor": "round_down({0})",
        "ceil": "round_up({0})",
        "rint": "ieee_rint({0})",
        "gammaln": "log_gamma({0})",
        "isnan": "ieee_is_nan({0})",
        "isinf": "is_infinite({0})",
        "isfinite": "ieee_is_finite({0})",
    }
    support: ClassVar = {
        "sign_of": """\
  pure real(dp) function sign_of(x)
    real(dp), intent(in) :: x
    sign_of = merge(sign(1.0_dp, x), x, abs(x) > 0.0_dp)
  end function sign_of
""",
        "round_down": """\
  pure real(dp) function round_down(x)
    real(dp), intent(in) :: x
    round_down = aint(x) - merge(1.0_dp, 0.0_dp, x < aint(x))
  end function round_down
""",
        "round_up": """\
  pure real(dp) function round_up(x)
    real(dp), intent(in) :: x
    round_up = aint(x) + merge(1.0_dp, 0.0_dp, x > aint(x))
  end function round_up
""",
        "is_infinite": """\
  pure logical function is_infinite(x)
    real(dp), intent(in) :: x
    is_infinite = abs(x) > huge(x)
  end function is_infinite
""",
    }
    symbols: ClassVar = {"equal": " == ", "not_equal": " /= ", "logical_and": " .and. ", "logical_or": " .or. "}
    keywords = frozenset("dp real64 huge merge reshape ieee_value ieee_quiet_nan ieee_positive_inf gradients".split())
    fold_case = True
    negation = ".not. {0}"
    integers = False
    infinity = "ieee_value(0.0_dp, ieee_positive_inf)"
    not_a_number = "ieee_value(0.0_dp, ieee_quiet_nan)"
    spelling = staticmethod(plain_identifier)

    def float_text(self, x: float) -> str:
        return f"{x!r}_dp"

    def element(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        return f"{name}({', '.join(str(i + 1) for i in index)})" if index else name

    def call(self, template: str, operands: Sequence[Text]) -> Text:
        if template:
            return super().call(template, operands)
        base, exponent = operands
        return Text(f"{enclose(base, POWER_BINDS + 1)}**{enclose(exponent, POWER_BINDS + 1)}", POWER_BINDS)

    def choice(self, condition: Text, x: Text, y: Text) -> Text:
        return Text(f"merge({x.text}, {y.text}, {condition.text})", ATOM_BINDS)

    def opposite(self, x: Text) -> Text:
        return Text(self.negation.format(enclose(x, CHOSEN_BINDS)), NEGATED_BINDS)

    def statement(self, statement: Definition) -> str:
        return wrapped_line(f"{statement.name} = {statement.text}")

    def declarations(self, statements: Sequence[Definition]) -> list[str]:
        lines = []
        for kind, truth in (("real(dp)", False), ("logical", True)):
            names = [s.name for s in statements if s.truth == truth]
            groups = (names[i : i + MOST_DECLARED] for i in range(0, len(names), MOST_DECLARED))
            lines += [f"{INDENT}{kind} :: {', '.join(group)}" for group in groups]
        return lines

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        lines = [
            f"  pure real(dp) function {name}({', '.join(parameters)})",
            f"{INDENT}real(dp), intent(in) :: {', '.join(parameters)}",
            *self.declarations(body.statements),
            *map(self.statement, body.statements),
            wrapped_line(f"{name} = {body.results[0]}"),
            f"  end function {name}",
            "",
        ]
        return "\n".join(lines)

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        names = ", ".join([*(x.name for x in inputs), value, *(x.name for x in slopes)])
        lines = [
            f"  !> {doc_line(target)}",
            wrapped_line(f"pure subroutine value_and_gradient({names})", "  "),
            *(f"{INDENT}real(dp), intent(in) :: {declared(x)}" for x in inputs),
            *(f"{INDENT}real(dp), intent(out) :: {declared(x)}" for x in (Argument(value, ()), *slopes)),
            *self.declarations(body.statements),
            *map(self.statement, body.statements),
            wrapped_line(f"{value} = {result}"),
            *(
                wrapped_line(f"{x.name} = {fortran_array(words, x.shape)}")
                for x, words in zip(slopes, parts, strict=True)
            ),
            "  end subroutine value_and_gradient",
            "",
        ]
        return "\n".join(lines)

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        used = "\n".join([*support, *functions])
        outside = [interface(name) for name in FROM_C.split() if name in called]
        lines = ["module gradients", "  use, intrinsic :: iso_fortran_env, only: dp => real64"]
        if "ieee_" in used:
            lines.append("  use, intrinsic :: ieee_arithmetic")
        if outside:
            lines.append("  use, intrinsic :: iso_c_binding, only: c_double")
        lines += ["  implicit none", "  private", "  public :: value_and_gradient", ""]
        if outside:
            lines += ["  interface", *outside, "  end interface", ""]
        return "\n".join([*lines, "contains", "", *support, *functions, "end module gradients", ""])


def interface(name: str) -> str:
    return f"""\
    pure function {name}(x) bind(c)
      import :: c_double
      real(c_double), intent(in), value :: x
      real(c_double) :: {name}
    end function {name}"""


def declared(x: Argument) -> str:
    return f"{x.name}({', '.join(map(str, x.shape))})" if x.shape else x.name


def fortran_array(words: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return words[0]
    flat = f"[{', '.join(by_columns(words, shape))}]" if words else "[real(dp) ::]"
    return flat if len(shape) == 1 else f"reshape({flat}, [{', '.join(map(str, shape))}])"


def wrapped_line(line: str, indent: str = INDENT) -> str:
    """Break a long line after spaces, with Fortran's mark of continuation."""
    lines = textwrap.wrap(line, LINE_WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        f"{indent}{'' if i == 0 else '  '}{x}{' &' if i < len(lines) - 1 else ''}" for i, x in enumerate(lines)
    )
