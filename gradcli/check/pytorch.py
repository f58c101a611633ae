"""torch.autograd.gradcheck and gradgradcheck with PyTorch's signatures, and our verdict if no tolerance is given."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..claims.claim import CallError, NoForwardError, callable_name, second_order
from ..claims.recorded import Traced, new_tensor
from ..func.trace import pull
from ..numeric.products import adjoint_test
from ..numeric.verdict import EPS
from ..program.arguments import Path
from ..request import Request
from ..results.checks import CheckReport
from ..results.inputs import Element
from ..tape.modes import enable_grad
from ..tape.tensor import Tensor
from .claim_check import Place, run_check


class PytorchFunction(Traced):
    """A function that sees its inputs as the user's program would: those to be checked require grad."""

    changed = ""  # how the form of a later call differs

    def __init__(self, *given: Any, **options: Any):
        super().__init__(*given, **options)
        self.forms: dict[tuple, Any] = {}  # paths, shapes and dtype of the outputs of a first call, by dtypes of inputs

    def call(self, tensors: Sequence[Tensor]) -> Tensor:
        names = list(self.at)
        for name, x in zip(names, tensors, strict=True):
            if name in self.wrt and x._node is None:
                x.requires_grad_()
        with enable_grad():
            out = super().call(tensors)
        form = [(part.path, part.shape) for part in self.layout], out.dtype
        first = self.forms.setdefault(tuple(x.dtype for x in tensors), form)
        if form != first:
            self.changed = (
                "the function must return outputs with the same shape and dtype when inputs are perturbed: got "
                f"{first}, then {form}"
            )
            raise CallError(self.changed)
        return out

    def leaf(self, name: str, x: np.ndarray) -> Tensor:
        return new_tensor(x).requires_grad_(name in self.wrt)

    def place_of(self, worst: Element) -> tuple[int, tuple[int | str, ...], str]:
        paths = [part.path for part in self.layout] or [Path()]
        number = next(i for i, path in enumerate(paths) if worst.output[: len(path)] == path)
        word = {"re": "real", "im": "imaginary"}.get(worst.output_part)
        part = f"While considering the {word} part of complex outputs only, " if word else ""
        return number, worst.output[len(paths[number]) :], part


class ForwardFunction(PytorchFunction):
    """A function that is differentiated in forward mode, one column at a time."""

    capabilities = replace(Traced.capabilities, vjp=False)

    def whole(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return None, so that each column comes from its own call, as in PyTorch."""
        return None


def complaint(claim: Traced, nondet_tol: float, batched: bool, forward: bool) -> str | None:
    """Return a message if a backward pass differs between two runs, on a batch, or from forward mode; None if not."""
    record = claim.record_call(claim.at)
    (out,) = record.outputs
    if out._node is None:
        return None
    rng = np.random.default_rng(3)
    vectors = [np.asarray(rng.standard_normal(out._data.shape), out._data.dtype) for _ in range(2)]

    def pulled(raw: Any) -> list:
        grads = pull(record, [(out, Tensor._wrap(raw, None))], True, False)
        return [np.zeros(()) if g is None else g for g in grads]

    def same(one: list, other: list, rtol: float, atol: float) -> list[bool]:
        return [np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) for a, b in zip(one, other, strict=True)]

    single = [pulled(v) for v in vectors]
    if not all(same(single[0], pulled(vectors[0]), 0, nondet_tol)):
        return (
            "Backward is not reentrant: two runs with the same gradient gave values that differ by more than "
            f"nondet_tol={nondet_tol}"
        )
    if batched:
        agree = same(pulled(np.stack(vectors)), [np.stack(both) for both in zip(*single, strict=True)], 1e-3, 1e-5)
        if False in agree:
            place = agree.index(False)
            return f"gradcheck or gradgradcheck failed while testing batched gradient computation: input {place}"
    if forward:
        with contextlib.suppress(NoForwardError):
            if np.less(*adjoint_test(claim, 0)):
                return "forward and reverse mode disagree"
    return None


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
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    request = Request(eps=eps, atol=atol, rtol=rtol)
    options = (nondet_tol, check_batched_grad, check_forward_ad, check_backward_ad)
    return _check(func, inputs, request, raise_exception, *options)


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
    request = Request(order=2, eps=eps, atol=atol, rtol=rtol)
    return _check(func, inputs, request, raise_exception, nondet_tol, check_batched_grad, check_fwd_over_rev)


def _check(
    func: Callable,
    inputs: Any,
    request: Request,
    raise_exception: bool,
    nondet_tol: float,
    batched: bool,
    forward: bool,
    backward: bool = True,
) -> bool:
    given, second = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), request.order == 2
    tensors = {f"input {i}": x for i, x in enumerate(given) if isinstance(x, Tensor)}
    wanted = [name for name, x in tensors.items() if x._node is not None]
    check_inputs(given, wanted)

    def call(*xs: Tensor) -> Any:
        moved = iter(xs)
        return func(*(next(moved) if isinstance(x, Tensor) else x for x in given))

    kind = PytorchFunction if backward else ForwardFunction
    first = kind(call, tensors, wrt=wanted, title=callable_name(func))

    def make() -> Any:
        return second_order(first, 0) if second else first

    connected = True
    if not second:
        result = func(*given)
        outputs = [x for x in (result if isinstance(result, tuple | list) else (result,)) if isinstance(x, Tensor)]
        if not outputs:
            return True
        connected = any(x.requires_grad for x in outputs)
    if nondet_tol and request.tolerances is None:
        request = request._replace(eps=EPS)
    report = run_check(make, Place(callable_name(func)), request)
    if first.changed:
        raise AssertionError(first.changed)
    if report.error is not None:
        raise report.error
    if report.verdict != "pass":
        text = failure_message(report, None if second else first)
        if connected and backward:
            text = complaint(make(), nondet_tol, False, False) or text
        if not connected:
            text = f"Numerical gradient for function expected to be zero: no output requires grad\n{text}"
    else:
        if report.message:
            warnings.warn(report.message, stacklevel=3)
        text = (backward and complaint(make(), nondet_tol, batched, forward)) or ""
    if text and raise_exception:
        raise GradcheckError(text)
    return not text


def check_inputs(given: tuple, wanted: list[str]) -> None:
    """Warn about low precision. Raises ValueError when no input requires grad."""
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i, x in enumerate(given):
        if isinstance(x, Tensor) and x._node is not None and x._data.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex: its "
                "rounding may hide a wrong derivative",
                stacklevel=4,
            )


def failure_message(report: CheckReport, claim: PytorchFunction | None) -> str:
    """Return a report as the message of an exception. claim: finds the output that an element belongs to."""
    lines = []
    for item in report.inputs:
        if item.verdict != "pass" and item.worst is not None:
            worst = item.worst
            output, place, part = claim.place_of(worst) if claim is not None else (0, worst.output, "")
            lines.append(
                f"{part}Jacobian mismatch for output {output} with respect to {item.name}, at {list(place)} and "
                f"{list(worst.place)}: numerical: {worst.numeric:.12g} (error {worst.numeric_error:.2g}), "
                f"analytical: {worst.claimed:.12g}"
            )
    lines += [finding.named for finding in report.diagnosis]
    if report.message:
        lines.append(report.message)
    return f"gradcheck: {report.verdict}\n" + "\n".join(lines)
