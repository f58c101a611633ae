"""torch.autograd.gradcheck and gradgradcheck: their signatures, and our verdict where no tolerance is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..results.checks import CheckReport
from ..tape.tensor import Tensor
from .fixed import ATOL, EPS, RTOL
from .run import Options, Place, run_check
from .second import second_order
from .subject import Traced, name_of


class GradcheckError(RuntimeError):
    """A derivative was found wrong, or could not be confirmed."""


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check derivatives computed by backward against numeric ones; return True when they are right.

    inputs: a Tensor or a tuple; those that require grad are checked. Without eps, atol and rtol the verdict comes
    from the estimated error of the numeric derivative, otherwise from PyTorch's rule. Raises GradcheckError when a
    derivative is wrong or cannot be confirmed (or returns False with raise_exception=False), ValueError when no
    input requires grad.
    """
    return _check(func, inputs, None, eps, atol, rtol, raise_exception, fast_mode)


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: those of the gradient, as a function of the inputs. Arguments as in gradcheck."""
    return _check(func, inputs, 2, eps, atol, rtol, raise_exception, fast_mode)


def _check(
    func: Callable,
    inputs: Any,
    order: int | None,
    eps: float | None,
    atol: float | None,
    rtol: float | None,
    raise_exception: bool,
    fast: bool,
) -> bool:
    given = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    tensors = {f"input {i}": x for i, x in enumerate(given) if isinstance(x, Tensor)}
    wanted = [name for name, x in tensors.items() if x._node is not None]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them do")
    places = [i for i, x in enumerate(given) if isinstance(x, Tensor)]

    def call(*xs: Tensor) -> Any:
        arguments = list(given)
        for i, x in zip(places, xs, strict=True):
            arguments[i] = x
        return func(*arguments)

    def make() -> Traced:
        arrays = {name: np.array(x.detach()._data) for name, x in tensors.items()}
        subject = Traced(call, arrays, wrt=wanted, title=name_of(func))
        return second_order(subject, 0) if order == 2 else subject

    tolerances = None
    if eps is not None or atol is not None or rtol is not None:
        tolerances = (EPS if eps is None else eps, ATOL if atol is None else atol, RTOL if rtol is None else rtol)
    report = run_check(make, Place(name_of(func)), Options(fast=fast, tolerances=tolerances))
    if report.verdict == "pass":
        return True
    if raise_exception:
        if report.error is not None:
            raise report.error
        raise GradcheckError(text_of(report))
    return False


def text_of(report: CheckReport) -> str:
    """Return a report as an exception's message."""
    lines = []
    for item in report.inputs:
        if item.verdict != "pass" and item.worst is not None:
            worst = item.worst
            lines.append(
                f"Jacobian mismatch for output {list(worst.output)} with respect to {item.name} at "
                f"{list(worst.place)}: numerical: {worst.numeric:.12g} (error {worst.numeric_error:.2g}), "
                f"analytical: {worst.analytic:.12g}"
            )
    lines += [finding.text for finding in report.diagnosis]
    if report.message:
        lines.append(report.message)
    return f"gradcheck: {report.verdict}\n" + "\n".join(lines)
