"""Checks of Monte-Carlo estimators: verdicts on a bank, the level, names of means, reports, and declarations."""

import numpy as np
import pytest

import gradcli
from gradcli import check_gradient
from gradcli.check.check import REGISTRY
from gradcli.results.checks import CheckSummary
from gradcli.results.formats import Style, render

from .estimators import CASES, Case

EVERY = 20  # one of this many cases is checked with few samples in each run
FEW = 20_000
DAILY = "leave_one_out batch_mean_baseline reparametrized_one one_number_twice"
BY_NAME = {case.name: case for case in CASES}


def check(case: Case, **more):
    return check_gradient(case.objective, stochastic=case.estimator, at=case.at, **more)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for k, c in enumerate(CASES) if k % EVERY == 0])
def test_few_samples_never_give_the_opposite_verdict(case):
    assert check(case, draws=FEW).verdict in (case.verdict, "inconclusive")


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=[] if c.name in DAILY.split() else pytest.mark.nightly) for c in CASES]
)
def test_the_bank(case):
    report = check(case)
    assert report.verdict == case.verdict, report.message
    assert case.kind is None or case.kind in [finding.kind for finding in report.diagnosis]


@pytest.mark.nightly
@pytest.mark.parametrize(("level", "most"), [(1e-6, 0), (0.05, 40)])
def test_right_estimators_fail_at_most_at_the_level(level, most):
    right = [case for case in CASES if case.verdict == "pass"]
    reports = [check(right[k % len(right)], level=level, draws=FEW, seed=k) for k in range(500)]
    assert sum(report.verdict == "fail" for report in reports) <= most


BATCH = BY_NAME["mini_batch"]
HALF = BY_NAME["arm_halved"]


def numbers(report):
    return [(item.bias, item.worst) for item in report.inputs]


def test_the_seed_makes_a_run_repeatable():
    first, again, other = (check(BATCH, draws=FEW, seed=seed) for seed in (3, 3, 4))
    assert numbers(first) == numbers(again)
    assert numbers(first) != numbers(other)


def test_global_streams_are_seeded_and_restored():
    case = BY_NAME["global_numbers"]
    np.random.seed(5)
    first = check(case, draws=1000)
    after = np.random.random()
    np.random.seed(5)
    assert after == np.random.random()
    assert numbers(first) == numbers(check(case, draws=1000))


def test_a_fail_states_bias_level_samples_and_resolution():
    """The mean is half the derivative, so the bias is minus the mean."""
    report = check(HALF, level=0.01, draws=1 << 17)
    (item,) = report.inputs
    bias = item.bias
    assert report.verdict == "fail"
    assert bias.level == 0.01
    assert bias.bias == pytest.approx(item.worst.claimed - item.worst.numeric)
    assert bias.bias == pytest.approx(-item.worst.claimed, abs=6 * bias.standard_error)
    assert bias.samples == bias.mean_so_far[-1].samples <= bias.draws == 1 << 17
    assert [look.samples for look in bias.mean_so_far[1:]] == [2 * look.samples for look in bias.mean_so_far[:-1]]
    assert report.message == f"level 0.01, {bias.samples} samples"


@pytest.fixture(scope="module")
def summary():
    return CheckSummary("est.py", (check(HALF, draws=FEW), check(BATCH, draws=FEW)), 1.0)


def test_tsv_has_a_row_with_the_bias(summary):
    rows = [line.split("\t") for line in render(summary, "tsv", Style()).splitlines() if line.startswith("bias")]
    for row, report in zip(rows, summary.checks, strict=True):
        (item,) = report.inputs
        bias = item.bias
        assert row[2] == item.worst.name(item.name)
        assert [float(x) for x in row[3:]] == [
            *(bias.bias, bias.standard_error, bias.level, bias.samples),
            item.resolution,
        ]


def test_a_page_plots_the_mean_of_passes_and_fails(summary):
    page = render(summary, "html", Style())
    for report in summary.checks:
        (item,) = report.inputs
        assert f"derivative {item.worst.numeric:.6g}" in page
        assert f"mean {item.worst.claimed:.6g} with its interval at level 1e-06" in page
    assert page.count("<figure>") == 2
    assert "nan" not in page.partition("<body")[2]


def test_text_compares_the_mean_with_the_derivative(summary):
    (item,) = summary.checks[0].inputs
    expected = (
        f"the mean is {item.worst.claimed:.4g}, the derivative {item.worst.numeric:.4g}; bias {item.bias.bias:.4g}"
    )
    assert expected in str(summary.checks[0])


def judge(f, **options):
    """Declare a check, run it, and forget it."""
    gradcli.check(**options)(f)
    return REGISTRY.pop().run()


def square(theta):
    return float(theta @ theta)


def right(theta, rng, n):
    return 2 * (theta + rng.standard_normal((n, 2)))


def twice(theta, rng, n):
    return 2 * right(theta, rng, n)


AT = {"theta": np.array([0.5, -0.4])}
DRAWN = []


def sum_of_cubes(theta, rng, n):
    return ((theta + rng.standard_normal((n, 2))) ** 3).sum(axis=1)


def sum_of_sines(theta, rng, n):
    DRAWN.append(n)
    return np.sin(theta + rng.standard_normal((n, 2))).sum(axis=1)


def slope_of_cubes(theta, rng, n):
    return 3 * (theta + rng.standard_normal((n, 2))) ** 2


def test_the_mean_may_be_the_gradient_of_a_random_function_of_the_file():
    """Few samples of another function show that it is not meant."""
    DRAWN.clear()
    (finding,) = check_gradient(square, at=AT, stochastic=slope_of_cubes).diagnosis
    assert (finding.kind, finding.text) == ("other function", "the mean is the gradient of sum_of_cubes")
    assert check_gradient(square, at=AT, stochastic=lambda theta, rng, n: 5 + twice(theta, rng, n)).verdict == "fail"
    assert sum(DRAWN) < 20_000


@pytest.mark.parametrize(
    ("estimator", "verdict"), [(right, "pass"), (twice, "fail"), ("right", "pass"), ("twice", "fail")]
)
def test_declared_checks(estimator, verdict):
    report = judge(square, at=AT, stochastic=estimator, level=1e-4, draws=FEW)
    assert report.verdict == verdict
    assert report.inputs[0].bias.level == 1e-4


def test_points_may_be_drawn():
    assert judge(square, at=lambda rng: {"theta": 1 + rng.random(2)}, stochastic=right, draws=FEW).verdict == "pass"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stochastic": right, "grad": right}, "stochastic checks an estimator, so grad has no effect: leave it out"),
        ({"stochastic": right, "order": 2}, "stochastic checks first derivatives, so order must be 1"),
        ({"stochastic": right, "level": 1}, "level must be a number between 0 and 1, got 1"),
        ({"stochastic": right, "draws": 10}, "draws must be a whole number of at least 1000, got 10"),
        ({"stochastic": 3}, "stochastic is int, not a function"),
        ({"grad": right, "level": 0.1}, "level and draws belong to an estimator: add stochastic"),
    ],
)
def test_options_of_a_declaration_that_do_not_fit(options, text):
    report = judge(square, at=AT, **options)
    assert (report.verdict, report.message) == ("error", text)


@pytest.mark.parametrize(
    ("estimator", "verdict", "text"),
    [
        (lambda theta, rng, n: right(theta, rng, n).T, "fail", "256 samples of the gradient must have shape (256, 2)"),
        (lambda theta, rng: [1.0], "fail", "a sample of the gradient must have shape (2,)"),
        (lambda theta, rng, n: np.full((n, 2), np.nan), "fail", "32 of 32 samples of <lambda> are nan"),
        (lambda theta, rng, n: 1j * right(theta, rng, n), "error", "returned complex numbers"),
        (lambda theta, rng, n: 1 / 0, "error", "<lambda> raised ZeroDivisionError"),
        (lambda: 0, "error", "takes only 0 of the inputs"),
        (lambda theta, other, rng, n: 0, "error", "needs a value for 'other'"),
    ],
)
def test_estimators_that_cannot_be_used(estimator, verdict, text):
    report = check_gradient(square, at=AT, stochastic=estimator)
    assert report.verdict == verdict
    assert text in report.message


def test_an_objective_returns_one_number():
    report = check_gradient(lambda theta: theta**2, at=AT, stochastic=right)
    assert report.verdict == "error"
    assert "returned values of shape (2,); an objective returns one number" in report.message


def test_gradients_of_several_inputs():
    def f(a, b):
        return float(a * np.sum(b))

    def tuples(a, b, rng, n):
        noise = rng.standard_normal(n)
        return np.sum(b) + noise, np.full((n, 2), a) + noise[:, None]

    def by_name(a, b, rng, n):
        found = tuples(a, b, rng, n)
        return {"b": 0 * found[1], "a": found[0]}

    at = {"a": 1.5, "b": np.array([1.0, 2.0])}
    assert check_gradient(f, at=at, stochastic=tuples, draws=FEW).verdict == "pass"
    report = check_gradient(f, at=at, stochastic=by_name, draws=1 << 17)
    assert [item.verdict for item in report.inputs] == ["pass", "fail"]
    assert report.diagnosis[0].text == "the mean is 0 for b: this part of the gradient is missing"


def test_constant_samples_are_wrong_only_if_there_are_many():
    assert check_gradient(square, at=AT, stochastic=lambda theta, rng, n: np.zeros((n, 2)), draws=FEW).verdict == (
        "inconclusive"
    )


RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(
    "claim",
    [
        lambda theta: 2 * theta + np.random.standard_normal(2),
        lambda theta: 2 * theta * (1 + 1e-3 * RANDOM.standard_normal(2)),
        lambda theta: 2 * theta + np.random.default_rng().standard_normal(2),
        lambda theta, rng: 2 * theta + rng.standard_normal(2),
        right,
    ],
)
def test_without_the_option_a_random_claim_is_inconclusive(claim):
    report = check_gradient(square, at=AT, grad=claim)
    assert report.verdict == "inconclusive"
    assert [finding.kind for finding in report.diagnosis] == ["random"]
    assert f"check its mean with --stochastic {claim.__name__} " in report.hint


@pytest.mark.parametrize(("factor", "verdict"), [(1, "pass"), (2, "fail")])
def test_random_numbers_within_nondet_tol_do_not_matter(factor, verdict):
    generator = np.random.default_rng(2)

    def claim(theta):
        return factor * 2 * theta * (1 + 1e-4 * generator.uniform(-1, 1, 2))

    assert check_gradient(square, at=AT, grad=claim).verdict == "inconclusive"
    assert check_gradient(square, at=AT, grad=claim, nondet_tol=1e-3).verdict == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1, "inconclusive"), (2, "fail")])
def test_small_random_differences_do_not_explain_a_wrong_claim(factor, verdict):
    """Differences such as of float32 sums in another order."""
    generator = np.random.default_rng(2)

    def claim(theta):
        return factor * 2 * theta * (1 + 1e-7 * generator.uniform(-1, 1, 2))

    assert check_gradient(square, at=AT, grad=claim).verdict == verdict


def test_claims_that_only_change_are_not_random():
    """A result that grows with each call is wrong, not random."""
    calls = []

    def grows(theta):
        calls.append(0)
        return 2 * theta + len(calls)

    assert check_gradient(square, at=AT, grad=grows).verdict == "fail"
    assert check_gradient(square, at=AT, grad=lambda theta: 3 * theta).verdict == "fail"


def test_a_random_function_is_not_a_random_claim():
    report = check_gradient(lambda theta: square(theta) + np.random.random(), at=AT, grad=lambda theta: 2 * theta)
    assert [finding.kind for finding in report.diagnosis] == ["non-deterministic"]
