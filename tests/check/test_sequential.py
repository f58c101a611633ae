"""The sequential test keeps its level, sees a bias, and leaves means without a finite variance undecided."""

import numpy as np
import pytest
from scipy import stats

from gradcli.check.sequential import (
    BLOCKS,
    FEWEST_CONSTANT,
    INFINITE,
    Blocks,
    Look,
    Mean,
    SamplePlan,
    half_width,
    level_share,
    parts_of_draw,
)

MOST = 1 << 15


def look_at(draw, expected, seed=0, level=1e-6, most=MOST):
    """Return all looks at the mean of samples, compared with a number."""
    rng, plan = np.random.default_rng(seed), SamplePlan.of(most)
    blocks, looks = Blocks(1, plan.most), []
    truth, share = Mean.exact(np.array([expected]), np.zeros(1)), level_share(level, 1, plan.looks)
    for k in range(plan.looks):
        rows = plan.rows_at(k)
        for _ in range(blocks.start_look(rows)):
            blocks.add(draw(rng, rows)[:, None])
        before = looks[-1] if looks else None
        looks.append(Look(blocks.mean, truth, np.ones(1), share, before, k == plan.looks - 1))
    return looks


def ever_wrong(*args, **more):
    return any(look.wrong[0] for look in look_at(*args, **more))


@pytest.mark.parametrize(("most", "looks"), [(1, 1), (4096, 1), (8191, 1), (8192, 2), (10_000, 2), (1 << 20, 9)])
def test_a_plan_doubles_the_samples_up_to_the_most(most, looks):
    plan = SamplePlan.of(most)
    assert plan.looks == looks
    assert plan.most == BLOCKS * plan.rows << (looks - 1)
    assert max(most, BLOCKS) / 2 < plan.most <= max(most, BLOCKS)


def test_blocks_are_merged_and_keep_mean_and_range():
    x = np.random.default_rng(1).exponential(size=(BLOCKS, 64, 2))
    blocks = Blocks(2, x.size)
    assert blocks.start_look(32) == BLOCKS
    for block in x[: BLOCKS // 2].reshape(BLOCKS, 32, 2):
        blocks.add(block[:10], block[10:])
    assert blocks.start_look(64) == BLOCKS // 2
    for block in x[BLOCKS // 2 :]:
        blocks.add(block)
    mean, flat = blocks.mean, x.reshape(-1, 2)
    np.testing.assert_allclose(mean.value, flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(mean.error, x.mean(axis=1).std(axis=0, ddof=1) / BLOCKS**0.5, rtol=1e-12)
    np.testing.assert_allclose(mean.spread, np.full(2, np.ptp(flat, axis=0).max() / len(flat)), rtol=1e-12)
    assert mean.count == len(flat)


def test_the_interval_is_that_of_t_and_the_range_term_of_bernstein():
    """Checked against scipy.stats, and the bound of Maurer and Pontil: 7 ln(2/share) / (3 n) times the range."""
    mean = Mean(np.zeros(1), np.array([0.2]), np.array([1e-3]), np.array([0.05]), np.full(1, np.inf), 10_000)
    expected = stats.t.isf(1e-7 / 2, BLOCKS - 1) * 0.2 + 7 / 3 * np.log(2 / 1e-7) * 1e-3 + 0.05
    assert half_width(mean, 1e-7)[0] == pytest.approx(expected, rel=1e-9)
    both = half_width(mean, 1e-7, Mean.exact(np.ones(1), np.array([0.01])))
    assert both[0] == pytest.approx(expected + 0.01, rel=1e-9)


def test_the_level_is_divided_among_elements_and_looks():
    assert level_share(0.05, 10, 5) * 50 == pytest.approx(0.05)


@pytest.mark.parametrize(("rows", "size", "parts"), [(10, 1, [10]), (3, 1 << 20, [1, 1, 1]), (5, 1 << 19, [2, 2, 1])])
def test_many_numbers_are_drawn_in_parts(rows, size, parts):
    assert list(parts_of_draw(rows, size)) == parts


SKEWED = {
    "normal": (lambda rng, n: rng.standard_normal(n), 0.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(size=n), np.exp(0.5)),
    "one in a thousand": (lambda rng, n: (rng.random(n) < 1e-3) / 1e-3, 1.0),
    "sixth power": (lambda rng, n: rng.standard_normal(n) ** 6, 15.0),
}


@pytest.mark.parametrize("name", SKEWED)
def test_a_mean_without_bias_is_seldom_wrong(name):
    draw, expected = SKEWED[name]
    wrong = sum(ever_wrong(draw, expected, seed, 0.05, 1 << 14) for seed in range(40))
    assert wrong <= 7  # more than 7 of 40 have a probability of 0.001 if 5 % are wrong
    assert not any(ever_wrong(draw, expected, seed, 1e-6, 1 << 14) for seed in range(40, 50))


@pytest.mark.parametrize("name", ["normal", "exponential", "lognormal"])
def test_a_bias_is_wrong(name):
    draw, expected = SKEWED[name]
    assert ever_wrong(draw, expected + 0.2, most=1 << 16)


@pytest.mark.parametrize("index", [1.0, 1.5, 1.8])
def test_an_infinite_variance_is_never_wrong_and_never_right(index):
    for seed in range(5):
        last = look_at(lambda rng, n: rng.pareto(index, n), 5.0, seed)[-1]
        assert last.heavy[0]
        assert last.claimed.tail[0] < INFINITE
        assert not last.wrong[0]
        assert not last.within(1e9)[0]


@pytest.mark.parametrize("index", [3.0, 5.0])
def test_a_finite_variance_is_not_taken_for_an_infinite_one(index):
    looks = [look_at(lambda rng, n: rng.standard_t(index, n), 0.0, seed)[-1] for seed in range(8)]
    assert sum(look.heavy[0] for look in looks) <= 1


def test_constant_samples_need_a_minimum_number():
    few, many = (look_at(lambda rng, n: np.full(n, 2.0), 1.0, most=n)[-1] for n in (1 << 12, FEWEST_CONSTANT))
    assert np.isinf(few.half_width[0])
    assert not few.wrong[0]
    assert many.wrong[0]


def test_an_element_must_be_excluded_twice():
    share, scale, truth = 1e-8, np.ones(1), Mean.exact(np.zeros(1), np.zeros(1))
    far = Mean(np.ones(1), np.full(1, 1e-3), np.zeros(1) + 1e-9, np.zeros(1), np.full(1, np.inf), 1 << 16)
    first = Look(far, truth, scale, share, None, last=False)
    assert first.excluded[0]
    assert not first.wrong[0]
    assert Look(far, truth, scale, share, first, last=False).wrong[0]
    assert Look(far, truth, scale, share, None, last=True).wrong[0]
