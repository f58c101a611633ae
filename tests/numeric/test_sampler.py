"""The sampler, the only caller of a checked function: it caches and counts values at representable points."""

import numpy as np

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
