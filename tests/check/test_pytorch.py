"""What PyTorch's gradcheck and its options check beyond the Jacobian, with PyTorch's messages."""

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.autograd.gradcheck import GradcheckError
from tests.tape.build import function, leaf


def shifted(x):
    y = x.clone()
    y.register_hook(lambda grad: grad + 1e-2)
    return y


def noisy_backward(ctx, grad):
    noise = g.tensor(np.random.default_rng().normal(size=tuple(grad.shape)))
    return jitter.apply(grad, ctx.size) * (1 + ctx.size * noise), None


@function(noisy_backward)
def jitter(ctx, x, size):
    ctx.size = size
    return x.clone()


def test_a_base_requires_grad_after_an_in_place_change_of_its_view():
    def doubled(x, y):
        base = x.clone()
        assert not base.requires_grad
        base[:1].mul_(y)
        assert base.requires_grad
        return base

    assert gradcheck(doubled, (leaf(1.0, 2.0).detach(), leaf(3.0)))


def test_a_mismatch_names_output_and_input():
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(shifted, leaf(1.0, 2.0))
    with pytest.raises(GradcheckError, match="mismatch for output 1 with respect to input 0, at \\[1\\]"):
        gradcheck(lambda x: (x * 2, x + (x - x.detach()) * g.tensor([0.0, 1.0])), leaf(1.0, 2.0))
    assert not gradcheck(shifted, leaf(1.0, 2.0), fast_mode=True, raise_exception=False)
    z = leaf(1 + 2j, 3 - 1j)
    with pytest.raises(GradcheckError, match="part of complex outputs only, Jacobian mismatch for output 0"):
        gradcheck(shifted, z.reshape(1, 2).clone())


def test_complex_outputs_are_checked_in_both_parts():
    z = leaf(1 + 2j, 3 - 1j)
    assert gradcheck(lambda z: (z * z.conj() * z, z.real), (z,))
    assert gradgradcheck(lambda z: (z * z).exp(), (z * 0.1,))


def test_backward_must_be_linear_and_repeatable():
    with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
        gradcheck(shifted, leaf(1.0), atol=1e-1)
    x = leaf(1.0, 2.0)
    assert gradcheck(lambda x: jitter.apply(x, 0.0), x)
    for check, size in ((gradcheck, 1e-6), (gradgradcheck, 1e-9)):
        with pytest.raises(GradcheckError, match="Backward is not reentrant"):
            check(lambda x, size=size: jitter.apply(x, size), x)
    assert gradcheck(lambda x: jitter.apply(x, 1e-6), x, nondet_tol=1e-4)


@pytest.mark.parametrize("raise_exception", [True, False])
def test_errors_of_the_function_are_propagated(raise_exception):
    with pytest.raises(KeyError, match="mine"):
        gradcheck(lambda x: {}["mine"], leaf(1.0), raise_exception=raise_exception)


@pytest.mark.parametrize("change", [lambda x: g.cat([x, x]), lambda x: x.float()])
def test_outputs_that_change_shape_or_dtype_are_errors(change):
    with pytest.raises(AssertionError, match="outputs with the same shape and dtype when inputs are perturbed"):
        gradcheck(lambda x: change(x) if bool((x >= 1).all()) else x, leaf(1.0))


def test_outputs_that_depend_on_no_input():
    assert gradcheck(lambda x: (), leaf(1.0))
    assert gradcheck(lambda x: g.ones(2, dtype=g.double), leaf(1.0))
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))


def test_inputs_that_cannot_be_checked_well():
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, g.ones(1, dtype=g.float32, requires_grad=True), atol=1e-1)
    assert gradcheck(lambda x: x * 2, leaf(1.0).expand(2, 1))


def test_batches_and_forward_mode_are_checked_on_request():
    assert gradcheck(lambda x: x.sin() * x.flip(0), leaf(1.0, 2.0), check_batched_grad=True, check_forward_ad=True)
    for f in (lambda x, z: z * z.conj() * x, lambda x, z: (x, (z * z).real)):
        alone = {"check_forward_ad": True, "check_backward_ad": False}
        assert gradcheck(f, (leaf(1.0, 2.0), leaf(1 + 2j, 3 - 1j)), **alone)


def scaled(factor):
    """Return tanh with a backward that is off by a factor in one element."""

    class Tanh(g.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.tanh()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            slope = 1 - out * out
            slope[7, 11] = slope[7, 11] * factor
            return grad * slope

    return Tanh.apply


@pytest.mark.parametrize("factor, right", [pytest.param(1.0, True, marks=pytest.mark.nightly), (1.001, False)])
def test_large_sparse_jacobians(factor, right):
    rng = np.random.default_rng(0)
    x, w = (g.tensor(0.3 * rng.standard_normal(shape), requires_grad=True) for shape in ((8, 12), (12, 12)))
    assert gradcheck(lambda a, b: scaled(factor)(a @ b.t()), (x, w), raise_exception=False) == right
