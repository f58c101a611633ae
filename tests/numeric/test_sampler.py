"""The sampler, the only caller of a checked function: it caches and counts values at representable points."""

import numpy as np
import pytest

from .lines import sampler_of


def test_values_are_cached_and_counted():
    made = []
    sampler = sampler_of(lambda x: made.append(1) or x.sum(), np.ones(3))
    line = sampler.line(np.array([1.0, 2.0, 0.0]))
    offsets, values = line.values(np.array([0.5, -0.5, 0.0, 0.5]))
    np.testing.assert_array_equal(values[:, 0], 3 + 3 * offsets)
    assert sampler.calls == len(made) == 3
    line.values(np.array([0.5]))
    line.with_weights(np.array([[2.0]])).values(np.array([-0.5]))
    assert len(made) == 3


def test_offsets_of_an_element_are_rounded_to_representable_points():
    sampler = sampler_of(lambda x: x, 1e8)
    offsets, values = sampler.element(0).values(np.array([1e-17, 1e-8]))
    assert offsets[0] == 0.0
    assert values[1, 0] == 1e8 + 1e8 * offsets[1]


def test_noise_between_two_calls_counts_as_rounding():
    calls = []
    sampler = sampler_of(lambda x: calls.append(1) or 1 + 1e-9 * len(calls), 1.0)
    line = sampler.element(0)
    before = line.rounding(line.base[None])[0]
    assert sampler.drift[0] > 1e-10 > before
    assert line.rounding(line.base[None])[0] == sampler.drift[0]


def test_many_points_are_evaluated_in_batches(monkeypatch):
    monkeypatch.setattr("gradcli.numeric.sampler.MOST_BYTES", 1)
    sampler = sampler_of(lambda x: x.sum(), np.arange(4.0))
    _, values = sampler.line(np.ones(4)).values(np.linspace(-1, 1, 5))
    np.testing.assert_allclose(values[:, 0], 6 + 4 * np.linspace(-1, 1, 5))


def test_changes_are_seen_over_a_hundredth_of_the_scale_on_both_sides():
    rng = np.random.default_rng(0)
    assert sampler_of(lambda x: 7 * x, 3.0).changes(rng)[0] == pytest.approx(7 * 0.03, rel=1e-12)
    assert sampler_of(lambda x: x * x, 3.0).changes(rng)[0] == pytest.approx(3.03**2 - 9, rel=1e-12)
    assert sampler_of(lambda x: x if x == 3 else np.nan, 3.0).changes(rng)[0] == 3.0
    held = sampler_of(lambda x: 7 * x[0] + 0 * np.minimum(x[1], 1), np.array([3.0, np.inf]))
    assert held.changes(rng)[0] == pytest.approx(0.21, rel=1e-12)


def test_the_measured_rounding_is_that_of_the_closest_values_that_differ():
    """Values of 1e6 + x - 1e6 are multiples of 2**-33: at close points they are equal, and say nothing of rounding."""

    def off_by(*offsets):
        return max(abs(round(1e-10 * (1 + t) * 2**33) / 2**33 - 1e-10 * (1 + t)) for t in offsets)

    line = sampler_of(lambda x: (1e6 + x) - 1e6, 1e-10).element(0)
    line.values(np.linspace(-0.07, 0.07, 9))
    assert line.measure_rounding()
    assert line.measured_rounding[0] == pytest.approx(off_by(-0.07), rel=1e-6)
    line.measured = None
    line.values(np.array([3.0, -3.0, 30.0]))
    assert line.measure_rounding()
    assert line.measured_rounding[0] == pytest.approx(off_by(3, -3, 30), rel=1e-6)
    both = line.with_weights(np.array([[-2.0]]))
    assert both.measured_rounding[0] == 2 * line.measured_rounding[0]
