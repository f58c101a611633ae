"""What grad, jacobian and hessian do with --digits and --symbolic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import GradcliError
from .call import Call

if TYPE_CHECKING:
    from ..analysis.compare_formulas import EngineAt, FormulaComparison
    from ..analysis.gradient import Request
    from ..program.base import Program
    from ..results.checks import CheckReport
    from ..results.exact import LongNumbers


def compute_in_digits(
    call: Call, compute: Callable[..., LongNumbers], program: Program, request: Request, digits: int, *, alone: bool
) -> LongNumbers:
    """Return values and derivatives in many digits, in time. alone: whether nothing else is asked for besides."""
    from ..analysis.digits import TIMEOUT, in_time

    if not alone:
        raise GradcliError("--digits goes alone, without --symbolic and --check", kind="usage")
    return in_time(lambda: compute(program, call.values, request, digits), digits, call.asked.timeout or TIMEOUT)


def formulas_of(
    call: Call, program: Program, max_symbols: int, engine_at: EngineAt | None = None
) -> FormulaComparison:
    """Return the formulas that a result is to be compared with.

    engine_at: the engine's answer for other values of the inputs.
    """
    from ..analysis.compare_formulas import TIMEOUT, FormulaComparison
    from ..analysis.gradient import Request

    request = Request(wrt=call.asked.wrt, out=call.asked.out, vector=call.vector())
    return FormulaComparison(program, call.values, request, max_symbols, call.asked.timeout or TIMEOUT, engine_at)


def check_derivative(call: Call, *, symbolic: bool = False, order: int = 1) -> CheckReport:
    """Return the report on a derivative: numeric, forward mode, and 50 digits and formulas where there are such."""
    from ..check.check import Check
    from ..check.targets.request import Wanted, only_given
    from ..check.targets.resolve import checks_of

    asked = call.asked
    more = {"digits": 50, "symbolic": symbolic or None} if order == 1 else {"order": order}
    wanted = Wanted(
        call.values(),
        grad=asked.library_grad,
        vjp=asked.library_vjp,
        jvp=asked.library_jvp,
        wrt=asked.wrt,
        out=asked.out,
        options=only_given({**more, "engine": asked.engine}),
        timeout=asked.timeout,
        config=asked.config,
    )
    (check,) = checks_of([call.target()], wanted)
    return check.run() if isinstance(check, Check) else check
