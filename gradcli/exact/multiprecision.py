"""High precision: a field whose elements are mpmath numbers.

Local derivatives are finite differences of the twins at three times the precision. They do not use the table's rules,
so that a wrong rule shows up. At kinks, where the one-sided derivatives differ, the table's subgradient is used.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from ..rules.exact import map_elements, without_field
from ..rules.table import Primitive
from .field import Field, Literal, exact, exact_numbers


class Multiprecision(Field):
    """Real and complex numbers with a given number of decimal digits, in a separate mpmath context."""

    advice = "it can be computed only in floating point"

    def __init__(self, digits: int, decimal: bool = True):
        """decimal: convert a float from its shortest decimal form, not from its exact value."""
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self.decimal = decimal
        self.functions = functions_of(self.context)
        self.constants = {"pi": self.context.pi + 0, "e": self.context.e + 0, "tau": 2 * self.context.pi}

    def number(self, x: Any) -> Any:
        mp = self.context
        if isinstance(x, mp.mpf | mp.mpc):
            return x
        if isinstance(x, Literal):
            return self.constants.get(x.text) or mp.mpf(x.text)
        if isinstance(x, complex | np.complexfloating):
            return mp.mpc(self.number(float(x.real)), self.number(float(x.imag)))
        if isinstance(x, int | np.integer | np.bool_):
            return mp.mpf(int(x))
        return mp.mpf(repr(float(x))) if self.decimal else mp.mpf(float(x))

    def input_array(self, name: str, value: Any) -> Any:
        return exact_numbers(self, value)

    def as_float(self, x: Any) -> float | None:
        return None if isinstance(x, self.context.mpc) else float(x)

    def is_element(self, x: Any) -> bool:
        return isinstance(x, self.context.mpf | self.context.mpc)

    def is_complex(self, x: Any) -> bool:
        return isinstance(x, self.context.mpc)

    def as_complex(self, x: Any) -> Any:
        return self.context.mpc(x)

    def parts(self, x: Any) -> tuple[Any, Any]:
        number = self.number(x)
        return number.real, number.imag

    def compare(self, name: str) -> Callable | None:
        if name in ("isnan", "isinf", "isfinite"):
            return lambda x: bool(getattr(self.context, name)(x))
        return (lambda x: bool(x < 0)) if name == "signbit" else None

    def guard(self, function: Callable, primitive: Primitive, params: dict) -> Callable:
        """Wrap a twin to return the floating-point result at poles, and nan on complex branches.

        A formula of several steps is computed with as many digits as it needs, because 1 + 1e-99 would round to 1.
        """
        mp = self.context
        single = is_single(primitive.twin)

        def call(*xs: Any, once: bool = single) -> Any:
            xs = tuple(self.number(x) for x in xs)
            try:
                result = self.number(function(*xs) if once else settle(mp, lambda: function(*xs)))
            except (ZeroDivisionError, ValueError, OverflowError, mp.NoConvergence):
                return self.at_pole(primitive, params, xs)
            if isinstance(result, mp.mpc) and not any(isinstance(x, mp.mpc) for x in xs):
                return result.real if result.imag == 0 else mp.nan
            return result

        return call

    def at_pole(self, primitive: Primitive, params: dict, xs: tuple) -> Any:
        if any(isinstance(x, self.context.mpc) for x in xs):
            return self.context.mpc(self.context.nan, self.context.nan)
        with np.errstate(all="ignore"):
            rounded = float(primitive.forward(*(np.float64(x) for x in xs), **params))
        return self.context.nan if np.isfinite(rounded) else self.context.mpf(rounded)

    def partial(self, primitive: Primitive, place: int, operands: tuple, params: dict) -> Any:
        rule = primitive.rules[place]
        if not callable(rule) and rule == int(rule):
            return self.number(rule)
        twin, more = self.twin(primitive, params)
        single = is_single(primitive.twin)

        def derivative(*xs: Any) -> Any:
            def along(t: Any) -> Any:
                return twin(*xs[:place], t, *xs[place + 1 :], once=True)

            x = self.number(xs[place])
            mp = self.context
            slope = numeric_slope(mp, along, x) if single and abs(x) > mp.ldexp(1, -mp.prec) else None
            if slope is None or not abs(slope * x) > mp.ldexp(abs(along(x)), -mp.prec):  # lost in rounding
                slope = settle(mp, lambda: numeric_slope(mp, along, x))
            if slope is not None and self.is_complex(x) and not primitive.holomorphic:
                upwards = settle(mp, lambda: numeric_slope(mp, lambda t: along(x + 1j * t), mp.mpf(0)))
                slope = None if upwards is None else slope + 1j * upwards  # dL/dRe + i dL/dIm
            return self.by_rule(primitive, place, xs[: len(operands)], params) if slope is None else slope

        result = exact(map_elements(derivative, (*map(without_field, operands), *more)))
        return np.conj(result) if primitive.holomorphic else result

    def by_rule(self, primitive: Primitive, place: int, xs: tuple, params: dict) -> Any:
        """Return the table's derivative in floating point, for use at a kink."""
        rounded = [np.asarray(complex(x) if self.is_complex(x) else float(self.number(x))) for x in xs]
        with np.errstate(all="ignore"):
            out = primitive.forward(*rounded, **params)
            if not callable(primitive.rules[place]):
                return self.number(primitive.rules[place])
            return self.number(np.asarray(primitive.rules[place](out, *rounded, **params)).item())


@functools.cache
def is_single(twin: str | None) -> bool:
    """Report whether a formula cannot lose digits, being one operation or a product of functions of the operands."""
    tree = ast.parse(twin or "x + (y + z)", mode="eval").body
    if isinstance(tree, ast.BinOp) and isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Name):
        return True
    for part in ast.walk(tree):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub):
            return False
        if isinstance(part, ast.Call) and not all(isinstance(x, ast.Name | ast.Constant) for x in part.args):
            return False
    return True


MARGIN_BITS = 64  # extra bits, to see whether they change the result
MOST_BITS = 2**11  # a result that is still zero at this precision counts as zero


def settle(mp: Any, work: Callable[[], Any]) -> Any:
    """Repeat work() with more bits until the digits of the current precision are stable. Return None if it stays None.

    If the result is 0, repeat with MOST_BITS, because a small number may have been lost next to a large one.
    """
    asked, most = mp.prec, max(MOST_BITS, 2 * mp.prec)
    bits, before = asked + MARGIN_BITS, work()
    while True:
        with mp.workprec(bits):
            now = work()
        if now is None and before is None:
            return None
        if now is not None and not mp.isfinite(now):
            return now
        if now and before is not None and abs(now - before) <= mp.ldexp(abs(now), 2 - asked):
            return +now
        if bits >= most:
            break
        lost = now == 0 and before == 0
        before, bits = now, most if lost else min(2 * bits, most)
    if now and before and abs(now) <= mp.ldexp(abs(before), -asked // 2):
        return now * 0  # it keeps shrinking with more bits, so it is only rounding error
    return now


def numeric_slope(mp: Any, function: Callable, x: Any) -> Any:
    """Differentiate a function of one number; return None at a kink or jump, or if the derivative is not finite."""
    digits = mp.prec
    with mp.workprec(3 * digits + 40):
        h = mp.ldexp(max(abs(x), mp.ldexp(1, -digits)), -digits - 10)
        left, middle, right = (function(x + k * h) for k in (-1, 0, 1))
        slopes = [(right - middle) / h, (middle - left) / h]
        if abs(slopes[0]) > mp.ldexp(1, digits):  # a large slope may grow as the step shrinks
            slopes.append((function(x + 2 * h) - right) / h)
        tolerance = mp.ldexp(sum(map(abs, slopes)) + mp.ldexp(1, -digits), -(digits // 2))
        if not all(mp.isfinite(slope) and abs(slope - slopes[0]) <= tolerance for slope in slopes):
            return None
        result = (right - left) / (2 * h)
    return +result


def functions_of(mp: Any) -> dict[str, Any]:
    def extreme(choose: Callable) -> Callable:
        return lambda *xs: mp.nan if any(x != x for x in xs) else choose(xs)

    names = (
        "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log sqrt floor ceil erf erfc erfinv "
        "erfi gamma besselj bessely besseli besselk airyai polylog zeta expint sign pi nan"
    )
    return {
        **{name: getattr(mp, name) for name in names.split()},
        "abs": abs,
        "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
        "round": mp.nint,
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "maximum": extreme(max),
        "minimum": extreme(min),
        "loggamma": lambda x: mp.re(mp.loggamma(x)) if isinstance(x, mp.mpf) else mp.loggamma(x),
        "polygamma": lambda n, x: mp.psi(int(n), x),
        "airyaiprime": lambda x: mp.airyai(x, derivative=1),
        "erfcinv": lambda x: mp.erfinv(1 - x),
        "Ei": mp.ei,
        "LambertW": mp.lambertw,
        "elliptic_k": mp.ellipk,
        "elliptic_e": mp.ellipe,
        "betainc_regularized": lambda a, b, low, x: mp.betainc(a, b, low, x, regularized=True),
        "gammainc_regularized": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        "gammaincc_regularized": lambda a, x: mp.gammainc(a, x, regularized=True),
        "Eq": lambda a, b: a == b,
    }
