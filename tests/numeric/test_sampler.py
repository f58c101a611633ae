"""The sampler, the only caller of a checked function: it caches and counts values at representable points."""

import math

import numpy as np
import pytest

from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.flat import Flat
from gradcli.numeric.sampler import Sampler, rounding_of

from .lines import line_of, sampler_of


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


def test_rounding_is_relative_and_at_least_a_few_of_the_smallest_numbers():
    """The smallest number of float64 is 2**-1074, that of float32 2**-149."""
    assert rounding_of(np.array([8.0]), 2.0**-53) == 2.0**-50
    assert rounding_of(np.zeros(1), 2.0**-53) == 16 * 2.0**-1074
    assert rounding_of(np.zeros(1), 2.0**-24) == 16 * 2.0**-149


def flat_of(f, **at):
    """Return a function of several arrays as a function of one vector."""
    return Flat(claim_by_hand(f, {name: np.asarray(x) for name, x in at.items()}, {"grad": f}, None, False))


def test_inputs_that_do_not_move_are_not_copied_and_keep_their_values():
    moved = []

    class Watched(Sampler):
        def points(self, xs, moved_inputs=None):
            moved.append(list(moved_inputs))
            return super().points(xs, moved_inputs)

    sampler = Watched(flat_of(lambda a, b, c: a.sum() + 10 * b + 100 * c, a=np.array([1.0, 2]), b=3.0, c=4.0))
    for direction, inputs, change in (
        ([0, 0, 1, 0], [1], 10), ([0, 1, 0, 0], [0], 1), ([0, 0, 0, 1], [2], 100), ([1, 0, 0, 1], [0, 1, 2], 101),
        ([0, 0, 1, 1], [1, 2], 110), ([0, 0, 0, 0], [0], 0),
    ):  # fmt: skip
        values = sampler.along(None, np.array(direction, float), np.array([0.0, 0.5, -1.0]))
        np.testing.assert_allclose(values[:, 0] - 433, change * np.array([0, 0.5, -1]), atol=1e-12)
        assert moved.pop() == inputs
    away = sampler.along(np.zeros(4), np.array([0, 0, 1.0, 0]), np.array([0.5]))
    assert away[0, 0] == 5 and moved.pop() == [0, 1, 2]
    np.testing.assert_allclose(sampler.points(np.array([[1.0, 1.0, 1.0, 1.0]]), [0, 1, 2])[0, 0], 112)


def test_complex_outputs_are_pairs_of_numbers():
    line = Sampler(flat_of(lambda x: np.exp(1j * x), x=0.5)).line(np.ones(1))
    _, values = line.values(np.array([0.25]))
    np.testing.assert_allclose(values, [[np.cos(0.75), np.sin(0.75)]])


def test_a_line_that_starts_elsewhere_has_no_value_at_the_point():
    sampler = sampler_of(lambda x: (x**2).sum(), np.array([1.0, 2.0]))
    line = sampler.element(1, origin=np.array([3.0, 4.0]))
    assert line.kept == {} and not line.alone
    offsets, values = line.values(np.array([0.0, 0.5]))
    assert values[:, 0].tolist() == [25.0, 34.0] and offsets.tolist() == [0.0, 0.5]  # the scale of element 1 is 2
    assert line.with_weights(np.array([[2.0]])).values(np.array([0.5]))[1].tolist() == [[68.0]]
    assert not sampler.line(np.ones(2)).alone and sampler.line(np.array([0.0, 3.0])).alone
    weighted = sampler.line(np.ones(2), np.array([[3.0]]))
    assert weighted.base.tolist() == [15.0]


def test_a_line_has_the_rounding_unit_of_its_inputs_relative_to_what_it_moves_them_by():
    sampler = sampler_of(np.sum, np.array([8.0, 0.0, 3.0]))
    assert sampler.line(np.array([2.0, 1.0, 0.0])).unit_of_x == 4 * 2.0**-53
    assert sampler.line(np.array([0.0, 1.0, 0.0])).unit_of_x == 1e-9 * 2.0**-53
    single = Sampler(flat_of(lambda x: x.sum(), x=np.array([8.0], np.float32)))
    assert single.line(np.ones(1)).unit_of_x == 8 * 2.0**-24
    assert (sampler.line(np.array([2.0, -5.0, 0.0])).scale, sampler.line(np.zeros(3)).scale) == (5.0, 1.0)


def test_offsets_are_rounded_in_the_type_of_the_input():
    line = Sampler(flat_of(lambda x: x.sum(), x=np.array([1.0], np.float32))).line(np.array([2.0]))
    assert line.representable(np.array([2.0**-25, 0.75 * 2.0**-24, 0.5])).tolist() == [0.0, 2.0**-24, 0.5]


def test_weighted_values_have_the_rounding_of_the_largest_values_on_the_line():
    line = line_of(lambda x: np.array([x, 1e6 * x]), 1.0)
    both = line.with_weights(np.array([[1.0, -2.0], [0.0, 0.5]]))
    unit = 2.0**-53
    assert both.rounding(both.base[None]) == pytest.approx([(1 + 2e6) * unit, 5e5 * unit], rel=1e-9, abs=0)
    both.values(np.array([3.0, 1.0]))  # the values are up to 4 and 4e6
    assert both.rounding(both.base[None]) == pytest.approx([4 * (1 + 2e6) * unit, 2e6 * unit], rel=1e-9, abs=0)
    both.kept[7.0] = np.array([np.inf, np.nan])
    assert both.rounding(both.base[None]) == pytest.approx([4 * (1 + 2e6) * unit, 2e6 * unit], rel=1e-9, abs=0)
    both.measured = np.array([1.0, 2.0])
    assert both.rounding(both.base[None]) == pytest.approx([5.0, 1.0])
    assert both.measured_rounding.tolist() == [5.0, 1.0]
    line.measured = np.array([1.0, 1e-30])
    assert line.rounding(np.array([[1.0, 5.0], [-8.0, 2.0]])) == pytest.approx([1.0, 5 * unit], rel=1e-9, abs=0)
    assert line.measured_rounding.tolist() == [1.0, 1e-30]


def test_rounding_that_cannot_be_measured_is_unknown():
    line = line_of(math.sin, 0.3)
    line.values(np.array([0.1]))
    assert not line.measure_rounding() and line.measured is None and line.measured_rounding is None


def test_the_measured_rounding_is_the_largest_of_values_that_are_finite():
    """Rounded to multiples of 1/8, with 1/16 - 1/1024 lost at most; further away, values are not finite."""

    def f(x):
        return np.where(x > 2, np.nan, np.floor(8 * x) / 8 if x.dtype == np.float64 else x)

    line = line_of(f, 0.5)
    line.values(np.array([0.0625, 0.03125, -0.015625, 5.0]))
    assert line.measure_rounding()
    assert line.measured[0] == 0.125 - 0.015625  # just below 0.5, values are 0.375


def test_points_are_counted_and_reported():
    reported = []
    sampler = sampler_of(np.sum, np.ones(2))
    sampler.flat.claim.progress.callback = lambda *what: reported.append(what)
    sampler.line(np.ones(2)).values(np.array([0.1, 0.2]))
    assert reported == [("call", 3, 0)]
    assert sampler.noise.tolist() == [0.0] and sampler.drift.tolist() == [0.0] and sampler.calls == 4
    assert sampler.drift.tolist() == [0.0] and sampler.calls == 4


def test_the_rounding_of_a_complex_output_is_that_of_both_parts():
    sampler = Sampler(flat_of(lambda x: np.exp(1j * x), x=0.5))
    sampler.flat.claim.rounding = lambda points, values: np.array([0.25, np.nan, 0.125])[: len(points)]
    line = sampler.line(np.ones(1))
    line.values(np.array([0.25, -0.25]))
    assert line.measure_rounding() and line.measured.tolist() == [0.25, 0.25]
