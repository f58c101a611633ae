"""Numeric slopes and second derivatives hold what their errors promise, on any scale and with noise."""

import math
import random

import mpmath
import numpy as np
import pytest

from gradcli.analysis.numeric_derivatives import Differentiator
from gradcli.analysis.slopes import bends, slopes
from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.flat import Flat
from gradcli.numeric.sampler import Sampler

from ..bench_derivatives import FUNCTIONS, Counted, Found, by_gradcli, judge, scatter, try_program


def line_at(f, x):
    flat = Flat(HandWritten(Counted(f), {"x": x}))
    return Sampler(flat).element(0), float(flat.scales[0])


def slope_at(f, x):
    line, scale = line_at(f, x)
    found = slopes(line)
    return float(found.value[0]) / scale, float(found.error[0]) / scale, str(found.kind[0])


@pytest.mark.parametrize("hard", FUNCTIONS, ids=lambda hard: hard.name)
def test_hard_functions_have_right_slopes(hard):
    value, error, kind = slope_at(hard.f, hard.x)
    if hard.true is None:
        assert kind == "kink"
    else:
        assert abs(value - hard.true) <= min(error, 0.01 * abs(hard.true))


def test_hard_functions_take_few_calls():
    rows = try_program(by_gradcli)
    assert [verdict for verdict, _, _ in rows] == ["right"] * len(FUNCTIONS)
    assert sum(calls for *_, calls in rows) <= 560


def test_results_are_judged_by_their_own_error():
    assert judge(Found(1.001, 1e-9), 1.0) == "right" and judge(Found(1.1, 1e-9), 1.0) == "sure"
    assert judge(Found(1.1, 0.02), 1.0) == judge(Found(1.1, 1e-9, True), 1.0) == "honest"
    assert judge(Found(0.0, 1e-9), None) == "sure" and judge(Found(math.nan, math.inf), None) == "right"


def some_function(rng):
    """Return a function of (module, t) and a point, of a random kind, scale and steepness."""
    a, b, c = 10 ** rng.uniform(-3, 3), rng.uniform(-2, 2), 10 ** rng.uniform(-4, 2)
    x = rng.choice([rng.uniform(-3, 3), 10 ** rng.uniform(-6, 6), rng.uniform(-1, 1) * 10 ** rng.uniform(-4, 4)])
    return rng.choice(
        [
            (lambda m, t: m.sin(a * t) + b * t, x),
            (lambda m, t: m.exp(b * t), rng.uniform(-5, 5)),
            (lambda m, t: 1 / (t - x - c * max(abs(x), 1)), x),
            (lambda m, t: m.sqrt((t - x) ** 2 + c * c) + b * t, x + c * rng.uniform(-3, 3)),
            (lambda m, t: m.exp(-(((t - x) / c) ** 2)) + b, x + c * rng.uniform(-3, 3)),
            (lambda m, t: m.log(t) * t, 10 ** rng.uniform(-6, 8)),
            (lambda m, t: m.atan(a * (t - b)), b + rng.uniform(-2, 2) / a),
            (lambda m, t: 1e6 + m.sin(t), rng.uniform(-3, 3)),
            (lambda m, t: t**3 - 2 * b * t * t + t, x),
            (lambda m, t: m.sin(1 / t), 10 ** rng.uniform(-2, 1)),
        ]
    )


def exact(g, x, n=1):
    with mpmath.workdps(50):
        return float(mpmath.diff(lambda t: g(mpmath, t), mpmath.mpf(x), n, h=mpmath.mpf(10) ** -20))


@pytest.mark.parametrize("seed", range(60))
def test_the_true_slope_is_within_the_error(seed):
    g, x = some_function(random.Random(seed))
    value, error, kind = slope_at(lambda t: g(math, t), x)
    assert kind == "smooth" and abs(value - exact(g, x)) <= error, (value, error, exact(g, x))


@pytest.mark.parametrize("noise", [1e-12, 1e-9, 1e-6, 1e-4])
def test_noise_is_part_of_the_error(noise):
    """The error is as large as noise makes it, and not much larger."""
    for x in (0.3, 1.0, 2.0):
        value, error, _ = slope_at(lambda t: math.sin(t) + 3 + noise * scatter(t), x)
        assert abs(value - math.cos(x)) <= error <= 1e4 * noise + 1e-6


@pytest.mark.parametrize("x", [0.3, 1.5, 20.0])
def test_float32_inside_is_part_of_the_error(x):
    value, error, _ = slope_at(lambda t: float(np.sin(np.float32(t)) * np.float32(2)), x)
    assert abs(value - 2 * math.cos(x)) <= error <= 0.01


CANCELLING = [
    (lambda m, t: (1 - m.cos(t)) / t**2, (1e-6, 1e-7, 1e-8)),
    (lambda m, t: (m.exp(t) - 1) / t, (3e-9, 1e-12, 1e-15)),
    (lambda m, t: (t - m.sin(t)) / t**3, (1e-5, 1e-7)),
    (lambda m, t: m.log(1 - 1 / (1 + m.exp(-t))), (33.0, 36.0)),
    (lambda m, t: m.sqrt(t + 1) - m.sqrt(t), (1e14,)),
    (lambda m, t: (1 + 1 / t) ** t, (1e8, 1e13)),
    (lambda m, t: (1 - m.exp(-t * t)) / t**2, (3.15e-8,)),
    (lambda m, t: 1 - m.tanh(t), (12.0, 17.0)),
    (lambda m, t: 1 - m.erf(t), (5.1257829681120635,)),
]
"""Functions that rounding has made a staircase or a sawtooth, wide enough for a fit on a single step."""


@pytest.mark.parametrize(("g", "x"), [(g, x) for g, points in CANCELLING for x in points])
def test_the_error_covers_steps_of_rounding(g, x):
    value, error, _ = slope_at(lambda t: g(math, t), x)
    assert abs(value - exact(g, x)) <= error


def test_a_single_jump_nearby_does_not_blur_a_slope():
    for shift in (0.01, -0.01, 0.3):
        value, error, _ = slope_at(lambda t, shift=shift: math.sin(t) + 5 * (t > 1 + shift), 1.0)
        assert abs(value - math.cos(1)) <= error < 1e-6


def test_many_steps_nearby_are_part_of_the_error():
    value, error, _ = slope_at(lambda t: round(math.sin(t), 6), 1.0)
    assert abs(value - math.cos(1)) <= error <= 2


def test_second_derivatives_are_within_their_error():
    for seed in range(40):
        g, x = some_function(random.Random(seed))
        line, scale = line_at(lambda t, g=g: g(math, t), x)
        (value,), (error,), _ = bends(line)
        true = exact(g, x, 2)
        assert abs(value / scale**2 - true) <= error / scale**2 + 1e-14 * abs(true), seed


def test_second_derivatives_of_one_tooth_are_doubted():
    line, scale = line_at(lambda t: (1 - math.cos(t)) / t**2, 1e-7)
    (value,), (error,), _ = bends(line)
    assert abs(value / scale**2 + 1 / 12) <= error / scale**2


def test_a_second_derivative_needs_a_first_one():
    (value,), (error,), (kind,) = bends(line_at(abs, 0.0)[0])
    assert np.isnan(value) and error == np.inf and kind == "kink"


def test_outputs_of_one_function_have_scales_of_their_own():
    """Five outputs share the calls, although one is steep, one noisy and one has a kink."""

    def f(x):
        t = float(x)
        return np.array([math.sin(t), math.sin(400 * t), t * t + 1e-7 * scatter(t), abs(t - 1.0), math.exp(t)])

    found = slopes(Sampler(flat := Flat(HandWritten(f, {"x": 1.0}))).element(0))
    true = [math.cos(1), 400 * math.cos(400), 2.0, math.nan, math.e]
    assert [bool(known) for known in found.known] == [True, True, True, False, True] and found.kind[3] == "kink"
    for value, error, right in zip(found.value, found.error, true, strict=True):
        assert math.isnan(right) or abs(value - right) <= error <= 1e-4
    assert flat.claim.budget.made < 200


def notes_of(f, x):
    found = Differentiator(HandWritten(Counted(f), {"x": x}))
    value, error = found.along_elements()
    assert np.isnan(value).all() and np.isinf(error).all()
    return found.notes


def test_a_missing_derivative_has_a_reason():
    assert notes_of(lambda x: abs(x) + x, 0.0) == ("x: there is a kink, with slope 0 on the left and 2 on the right",)
    assert notes_of(lambda x: float(x > 0), 0.0) == ("x: the function jumps here",)
    assert notes_of(math.sqrt, 0.0) == ("x: the function is defined only to the right of this point",)
    (note,) = notes_of(lambda x: math.exp(x) if x >= 0 else math.nan, 0.0)
    assert note.startswith("x: the function is defined only to the right of this point; its slope there is 1 ±")
    assert notes_of(lambda x: math.nan, 0.0) == ("x: the function is not finite at this point",)


def test_an_unknown_element_leaves_the_others_known():
    found = Differentiator(HandWritten(lambda x: abs(x[0]) + x[1] ** 2, {"x": np.array([0.0, 3.0])}))
    (value,), (error,) = found.along_elements()
    assert np.isnan(value[0]) and abs(value[1] - 6) <= error[1] < 1e-9
    hessian, errors = Differentiator(HandWritten(lambda x: abs(x[0]) + x[1] ** 2, {"x": np.array([0.0, 3.0])})).second()
    assert abs(hessian[1, 1] - 2) <= errors[1, 1] < 1e-6
    assert np.isnan(hessian[[0, 0, 1], [0, 1, 0]]).all() and np.isinf(errors[0]).all()


def test_many_missing_elements_are_counted():
    found = Differentiator(HandWritten(lambda x: np.abs(x).sum(), {"x": np.zeros(6)}))
    found.along_elements()
    assert len(found.notes) == 4 and found.notes[-1] == "3 more elements have no known derivative"
