"""Repairs of usual mistakes, and of the bank: they are right at points and in shapes that the search did not see."""

import warnings

import numpy as np
import pytest

from gradcli.check.check import Check
from gradcli.explain.points import resized
from gradcli.repair.search import SearchLimits
from gradcli.request import Request

from ..explain.mistakes import cases

BANK = {case.name: case for case in cases()}
USUAL = """
mse_without_two mse_without_mean mse_sign_of_residual ridge_penalty_halved cross_entropy_without_mean kl_without_one
hinge_without_margin huber_without_sign tanh_not_squared sigmoid_slope_of_the_input silu_without_x gelu_tanh_cubic
sin_for_cos softmax_diagonal layernorm_without_mean dense_weights_transposed dense_bias_wrong_axis
avgpool_without_window
norm_squared_denominator quadratic_form_half logdet_not_transposed gaussian_one_for_reciprocal lennard_jones_exponent
cumsum_wrong_way rotation_angle_sign jvp_of_rotation
""".split()
STEP = 6  # every sixth case, unless all tests run
EVERY = [pytest.param(n, marks=() if k % STEP == 0 else pytest.mark.nightly) for k, n in enumerate(USUAL)]


def repair(case):
    at = {name: float(x) if np.ndim(x) == 0 else x for name, x in case.at().items()}
    limits, claim = SearchLimits(seconds=60.0), {case.form: case.wrong}
    request = Request(repair=limits, wrt=case.wrt, elementwise=case.elementwise, **claim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Check.of(case.f, at, request=request, name=case.name, file=case.file).run()


def repaired(case, patch):
    """Return the derivative in the changed text of the case's file."""
    space = {"__name__": "repaired", "__package__": __package__}
    exec(compile(patch.after, "repaired.py", "exec"), space)
    return getattr(space[case.name], case.form)


def unseen(case):
    """Yield inputs and leading arguments: other numbers, and the same in another shape."""
    for seed in (31, 32, 33):
        rng = np.random.default_rng(seed + 100)
        at = {name: np.asarray(x) for name, x in case.at(seed).items()}
        larger = next(resized(at, case.wrt or list(at)), at)
        for point in (at, larger):
            try:
                shape = np.shape(case.f(**point))
            except (ValueError, IndexError, ZeroDivisionError):
                continue  # the function needs its own shape
            if case.form == "vjp":
                yield [rng.standard_normal(shape)], point
            elif case.form == "jvp":
                yield [tuple(rng.standard_normal(np.shape(x)) for x in point.values())], point
            else:
                yield [], point


def assert_right(case, patch):
    derivative, several = repaired(case, patch), list(unseen(case))
    assert several
    for lead, at in several:
        want, got = case.right(*lead, *at.values()), derivative(*lead, *at.values())
        pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
        for right, found in pairs:
            size = np.abs(right).max(initial=1e-300)
            np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-8 * size, err_msg=patch.diff)


@pytest.mark.parametrize("name", EVERY)
def test_a_usual_mistake_is_repaired(name):
    case = BANK[name]
    patch = repair(case).patch
    assert patch is not None
    assert_right(case, patch)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BANK)
def test_no_repair_of_the_bank_is_wrong(name):
    case = BANK[name]
    patch = repair(case).patch
    if patch is not None and not case.local:
        assert_right(case, patch)
