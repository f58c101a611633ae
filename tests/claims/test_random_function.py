"""What the parameters of random functions mean, how they are called, and whether they loop."""

import random

import numpy as np
import pytest

from gradcli.claims.random_function import AsGradients, AsValues, RandomFunction, roles_of, seeds_of
from gradcli.claims.streams import Streams
from gradcli.errors import GradcliError
from gradcli.program.arguments import Arguments

AT = {"theta": np.array([0.5, -0.4])}


@pytest.mark.parametrize(
    ("function", "inputs", "random_one", "number"),
    [
        (lambda theta, rng, n: 0, ["theta"], "rng", "n"),
        (lambda theta, rng: 0, ["theta"], "rng", ""),
        (lambda theta, key, num_samples: 0, ["theta"], "key", "num_samples"),
        (lambda rng, theta, n: 0, ["theta"], "rng", "n"),
        (lambda theta: 0, ["theta"], "", ""),
        (lambda x, generator, size: 0, ["x"], "generator", "size"),
        (lambda theta, rng=None: 0, ["theta"], "rng", ""),
        (lambda theta, rng, n=100: 0, ["theta"], "rng", "n"),
        (lambda theta, rng, batch=8: 0, ["theta"], "rng", ""),
        (lambda theta, stream, m: 0, ["theta"], "stream", "m"),
    ],
)
def test_roles(function, inputs, random_one, number):
    roles = roles_of(function, ["theta"], "f")
    assert (list(roles.inputs), roles.random, roles.number) == (inputs, random_one, number)


def test_parameters_without_a_role_are_named():
    with pytest.raises(GradcliError, match="needs a value for 'scale'"):
        roles_of(lambda theta, scale, rng, n: 0, ["theta"], "f")
    with pytest.raises(GradcliError, match="takes only 1 of the inputs"):
        roles_of(lambda a: 0, ["a", "b"], "f")


def made(function):
    arguments = Arguments(AT, None)
    found = RandomFunction(function, arguments, "f", AsGradients("f", arguments, ["theta"]))
    found.settle()
    return found


def vectorized(theta, rng, n):
    return theta + rng.standard_normal((n, 2))


def in_a_loop(theta, rng, n):
    return [theta + rng.standard_normal(2) for _ in range(n)]


def into_an_array(theta, rng, n):
    out = np.empty((n, 2))
    for i in range(n):
        out[i] = theta + rng.standard_normal(2)
    return out


def loop_of_fixed_length(theta, rng, n):
    return sum(theta + rng.standard_normal((n, 2)) for _ in range(50)) / 50


def single(theta, rng):
    return theta + rng.standard_normal(2)


@pytest.mark.parametrize(
    ("function", "loops"),
    [(vectorized, False), (in_a_loop, True), (into_an_array, True), (loop_of_fixed_length, False), (single, True)],
)
def test_loops_are_recognized(function, loops):
    assert made(function).is_loop is loops


@pytest.mark.parametrize(
    "function",
    [
        vectorized,
        single,
        lambda theta, random_state: theta + random_state.randn(2),  # randn: RandomState, no Generator
        lambda theta, seed: theta + np.random.default_rng(int(seed)).standard_normal(2),
        lambda theta: theta + np.random.standard_normal(2),
        lambda theta: theta + random.gauss(0, 1),
    ],
)
def test_a_seed_gives_the_same_samples(function):
    f = made(function)
    first, again, other = (f.samples(AT, seed, 20) for seed in (1, 1, 2))
    assert first.shape == (20, 2)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_pairs_come_from_calls_for_two_samples():
    counts = []

    def f(theta, rng, n):
        counts.append(n)
        return theta + rng.standard_normal((n, 2))

    pairs = made(f).pairs(AT, 3, 5)
    assert pairs.shape == (10, 2)
    assert len(np.unique(pairs)) == 20
    assert counts[-5:] == [2] * 5


def test_inputs_are_copied():
    def writes(theta, rng, n):
        theta += 1
        return vectorized(theta, rng, n)

    f = made(writes)
    np.testing.assert_array_equal(f.samples(AT, 1, 4), f.samples(AT, 1, 4))
    np.testing.assert_array_equal(AT["theta"], [0.5, -0.4])


def test_values_are_one_number_for_each_sample():
    fit = AsValues("f")
    assert fit(np.arange(3.0), (3,)).shape == (3, 1)
    assert fit(2.0, ()).shape == (1,)
    for wrong, lead in ((np.zeros((3, 2)), (3,)), (np.zeros(2), (3,)), (np.zeros(2), ())):
        with pytest.raises(GradcliError):
            fit(wrong, lead)


def test_streams_are_seeded_and_restored():
    own = np.random.default_rng(7)

    def f():
        return own.random(), np.random.random(), random.random()

    with Streams(f).kept() as streams:
        expected = f()
    assert f() == expected
    with streams.kept():
        streams.seed(1)
        first = f()
        streams.seed(1)
        assert f() == first
        streams.seed(2)
        assert all(a != b for a, b in zip(f(), first, strict=True))


def test_streams_of_seeds_differ():
    a, b = (seeds_of(0, k) for k in (0, 1))
    first = [next(a) for _ in range(2000)]
    assert first[:5] == [next(s) for s in [seeds_of(0, 0)] for _ in range(5)]
    assert len({*first, *(next(b) for _ in range(2000))}) > 3990
    assert max(first) < 2**32
