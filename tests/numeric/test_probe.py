"""Probe and locate at any size: verdict, element, resolution and calls, none of which depends on the clock."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.claims.claim import OutOfCallsError
from gradcli.numeric.probe import Probe

from ..bank import hunt
from .lines import entries_of

MANY = pytest.param(1_000_000, marks=pytest.mark.nightly)


def loss(n):
    """Return a sum of sines plus terms that couple all inputs, its gradient, and a point with some tiny elements."""
    rng = np.random.default_rng(11)
    x, c = rng.normal(size=n), rng.normal(size=n) + 2
    x[::97] *= 1e-7

    def f(x):
        return np.sum(np.sin(x) * c) + 0.5 * np.mean(x) ** 2 + np.log(np.sum(np.exp(x)))

    def g(x):
        e = np.exp(x - x.max())
        return np.cos(x) * c + np.mean(x) / n + e / e.sum()

    return f, g, x


def most_calls(n, verdict):
    """Return the number of calls that the contract allows."""
    return (200 if verdict == "pass" else 600) + 20 * np.log2(n)


@pytest.mark.parametrize("n", [1000, 20_000, MANY])
def test_a_right_gradient_of_any_size_passes_with_a_resolution(n):
    f, g, x = loss(n)
    report = check_gradient(f, g, at={"x": x})
    assert report.verdict == "pass"
    assert report.evidence.points <= most_calls(n, "pass")
    assert report.resolution < 1e-4


@pytest.mark.parametrize("n", [1000, 20_000, MANY])
@pytest.mark.parametrize("place, factor", [(123, 1.001), (97, 1.01), (123, 1 + 2e-6), (123, -1.0)])
def test_a_wrong_element_is_found_among_any_number(n, place, factor):
    f, g, x = loss(n)
    off = np.ones(n)
    off[place] = factor
    report = check_gradient(f, lambda x: g(x) * off, at={"x": x})
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (place,))
    assert report.evidence.points <= most_calls(n, "fail")
    assert report.inputs[0].counts.wrong == 1


def test_many_wrong_elements_are_counted_in_a_sample():
    f, g, x = loss(20_000)
    report = check_gradient(f, lambda x: g(x) * np.where(np.arange(len(x)) < 10_000, 1 + 1e-3, 1), at={"x": x})
    counts = report.inputs[0].counts
    assert report.verdict == "fail" and report.evidence.points <= most_calls(20_000, "fail")
    assert 10 < counts.wrong < counts.sampled <= 64 < counts.of == 20_000


def test_units_from_tiny_to_huge_in_one_vector():
    rng = np.random.default_rng(11)
    s = 10.0 ** rng.uniform(-12, 12, 5000)
    x = s * rng.uniform(0.5, 2, 5000)
    f = lambda x: np.sum(np.log1p((x / s) ** 2))  # noqa: E731
    g = lambda x: 2 * x / s**2 / (1 + (x / s) ** 2)  # noqa: E731
    right = check_gradient(f, g, at={"x": x})
    assert right.verdict == "pass" and right.evidence.points <= most_calls(5000, "pass")
    wrong = check_gradient(f, lambda x: g(x) * np.where(np.arange(5000) == 33, 1.001, 1), at={"x": x})
    assert (wrong.verdict, wrong.inputs[0].worst.place) == ("fail", (33,))


def test_thousands_of_kinks_next_to_the_point():
    rng = np.random.default_rng(5)
    x, t = rng.normal(size=20_000), rng.normal(size=20_000)
    g = np.sign(x - t) * (1 + t * t)
    f = lambda x: np.sum(np.abs(x - t) * (1 + t * t))  # noqa: E731
    assert check_gradient(f, lambda x: g, at={"x": x}).verdict == "pass"
    w = g * np.where(np.arange(20_000) == 55, -1, 1)
    report = check_gradient(f, lambda x: w, at={"x": x})
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (55,))


def test_elements_at_a_kink_are_noted_and_hide_no_wrong_one():
    x = np.where(np.arange(300) % 3, np.linspace(-1, 1, 300), 0.0)
    f = lambda x: np.abs(x).sum() + (x**2).sum()  # noqa: E731
    right = check_gradient(f, lambda x: np.sign(x) + 2 * x, at={"x": x})
    assert right.verdict == "pass" and any("a kink" in note for note in right.notes)
    wrong = check_gradient(f, lambda x: np.sign(x) + 2 * x + 0.1 * (np.arange(300) == 100), at={"x": x})
    assert wrong.verdict == "fail"


def test_elements_that_are_not_finite_are_held_constant():
    x = np.array([1.0, -np.inf, 0.3, 2.0])
    f = lambda x: np.log(np.sum(np.exp(x)))  # noqa: E731
    right = check_gradient(f, lambda x: np.exp(x - f(x)), at={"x": x})
    assert right.verdict == "pass" and "x: 1 element is nan or infinite, and kept constant" in right.notes
    assert check_gradient(f, lambda x: 2 * np.exp(x - f(x)), at={"x": x}).verdict == "fail"
    assert check_gradient(lambda x: np.nansum(x**2), lambda x: 2 * x, at={"x": np.array([1, np.nan])}).verdict == "pass"


def test_a_clear_disagreement_fails_within_a_small_budget():
    x = np.array([0.3, 1.2, 0.7, 2.0])
    wrong = np.array([1, 1.1, 1, 1])
    report = check_gradient(lambda x: np.sin(x).sum(), lambda x: wrong * np.cos(x), at={"x": x}, calls=40)
    assert report.verdict == "fail" and report.evidence.points <= 40


def test_a_twelve_by_twelve_jacobian():
    rng = np.random.default_rng(2)
    weights, x = rng.normal(size=(12, 12)), rng.normal(size=12)
    f = lambda x: np.tanh(weights @ x)  # noqa: E731
    g = lambda x: (1 - f(x) ** 2)[:, None] * weights  # noqa: E731
    right = check_gradient(f, g, at={"x": x})
    assert right.verdict == "pass" and right.evidence.points <= 120
    off = np.ones((12, 12))
    off[3, 7] = 1.01
    wrong = check_gradient(f, lambda x: off * g(x), at={"x": x})
    assert wrong.verdict == "fail" and wrong.evidence.points <= 600
    assert (wrong.inputs[0].worst.output, wrong.inputs[0].worst.place) == ((3,), (7,))


def test_the_output_of_a_wrong_element_is_named_among_many():
    wrong = np.where(np.arange(300) == 77, 1.1, 1)
    x = np.linspace(-1, 1, 300)
    report = check_gradient(np.tanh, vjp=lambda g, x: g * (1 - np.tanh(x) ** 2) * wrong, at={"x": x})
    worst = report.inputs[0].worst
    assert (worst.output, worst.place, worst.ratio) == ((77,), (77,), pytest.approx(1.1))
    assert report.inputs[0].counts[:3] == (1, 0, 300)


def said(count):
    """Return all contents of reports on random claims, except times."""
    reports = []
    for k in range(count):
        rng = np.random.default_rng([31, k])
        function = hunt.Function(rng)
        with np.errstate(all="ignore"):
            found = hunt.claims(function, rng)
        for claim in list(found.values())[:2]:
            report = check_gradient(function.value, at={"x": function.x}, grad=lambda x, g=claim: g)
            reports.append(repr((report.verdict, report.message, report.inputs, report.diagnosis, report.evidence)))
    return reports


@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.nightly)])
def test_no_verdict_depends_on_the_clock(monkeypatch, count):
    honest = said(count)
    ticks = itertools.count()
    real = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 10 * real() + next(ticks) ** 2 % 7)
    assert said(count) == honest


@pytest.mark.parametrize("spread", [1, 3, 4, 6, 12])
@pytest.mark.parametrize("seed", range(2))
def test_units_of_many_sizes_in_one_array(spread, seed):
    """No step suits all elements, so a common step is not evidence of an oscillating function."""
    rng = np.random.default_rng([spread, seed])
    x = rng.standard_normal(200) * 10.0 ** rng.uniform(-spread, spread, 200)
    unit = np.abs(x) * rng.uniform(0.3, 3, 200)

    def grad(x, off=1.0):
        return np.cos(x / unit) / unit * np.where(np.arange(200) == 7, off, 1.0)

    right, wrong = (
        check_gradient(lambda x: np.sin(x / unit).sum(), at={"x": x}, grad=lambda x, off=off: grad(x, off))
        for off in (1.0, 1.02)
    )
    assert right.verdict == "pass" and right.evidence.points <= 200 + 20 * np.log2(200)
    assert wrong.verdict == "fail" and wrong.inputs[0].worst.place == (7,)


SIZES = 10.0 ** -np.linspace(0, 14, 20)


@pytest.mark.parametrize("place", [None, 0, 9, 15])
def test_a_wrong_element_is_found_among_others_of_all_sizes(place):
    x, factors = np.linspace(0.3, 2, 20), np.where(np.arange(20) == place, 2.0, 1.0)
    report = check_gradient(lambda x: (SIZES * np.sin(x)).sum(), lambda x: factors * SIZES * np.cos(x), at={"x": x})
    assert report.verdict == ("pass" if place is None else "fail")
    assert report.inputs[0].counts.wrong == (place is not None)
    assert place is None or report.inputs[0].worst.place == (place,)


def test_the_element_that_makes_a_direction_undecided_is_located_if_there_are_calls():
    probe = Probe(entries_of(lambda x: np.abs(x - [0.3, 2.0]).sum(), [1.0, 2.0]), 1)
    direction = SimpleNamespace(line=SimpleNamespace(direction=np.ones(2)))
    assert probe.rough_elements(direction).tolist() == [1]
    probe.sampler.calls = 10_000
    assert probe.rough_elements(direction).tolist() == []


@pytest.mark.parametrize(
    ("family", "proves", "slight", "ends"),
    [
        ("relative", True, False, True),
        ("relative", False, False, False),
        ("relative", False, True, True),
        ("array", True, False, False),
    ],
)
def test_without_calls_only_a_direction_of_relative_moves_proves_a_disagreement(family, proves, slight, ends):
    """If all elements may differ slightly, nothing is proven, and the direction is not accepted either."""
    probe, accepted = Probe(entries_of(np.sum, [1.0, 2.0], np.ones_like), 1), []

    def search(probed):
        raise OutOfCallsError(5)

    probe.locator.search = search
    seen = {"proves": np.array([proves]), "may_be_slight": np.array([slight])}
    probed = SimpleNamespace(family=family, accept=lambda: accepted.append(family), **seen)
    probe.directions.probed.append(probed)
    assert probe.find_wrong(probed) is ends and probe.out_of_calls
    assert (probe.proven is probed) is (proves and family == "relative")
    assert bool(accepted) is (family == "relative" and not ends)
    assert probe.directions.probed == ([probed] if family == "relative" else [])
