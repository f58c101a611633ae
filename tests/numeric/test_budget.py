"""Call budgets are kept, and undecided checks state how many calls they need; Taylor remainders and their cost."""

import time
from typing import Any

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.check.check import Check
from gradcli.check.claim_check import Place, run_check
from gradcli.claims.claim import Capabilities, Claim
from gradcli.request import Request

COSTS = np.linspace(0.5, 2, 1000)


class Far(Claim):
    """A costly function: weighted sums of c_i sin(x_i), plus the sum of x_i x_(i+1) / 2; the claim may be wrong."""

    def __init__(self, n: int, m: int = 0, off: dict | None = None, noise: float = 0.0, products: str = "vjp"):
        super().__init__("far", {"x": np.linspace(0.1, 1.2, n)})
        self.capabilities = Capabilities(vjp="vjp" in products, jvp="jvp" in products, costly=True)
        self.weights = np.random.default_rng(1).standard_normal((m, n)) if m else np.ones((1, n))
        self.shape, self.off, self.noise, self.rng = (m,) if m else (), off or {}, noise, np.random.default_rng(0)

    def evaluate(self, arrays: Any) -> np.ndarray:
        self.budget.made += 1
        x = arrays["x"]
        y = self.weights @ (COSTS[: x.size] * np.sin(x)) + 0.5 * np.sum(x[1:] * x[:-1])
        return (y * (1 + self.noise * self.rng.uniform(-1, 1, y.shape))).reshape(self.shape)

    def jacobian(self, arrays: Any) -> np.ndarray:
        x = arrays["x"]
        beside = np.append(x[1:], 0) + np.insert(x[:-1], 0, 0)
        found = self.weights * (COSTS[: x.size] * np.cos(x)) + 0.5 * beside
        for place, factor in self.off.items():
            found[place] *= factor
        return found

    def vjp(self, arrays: Any, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": np.reshape(cotangent, -1) @ self.jacobian(arrays)}

    def jvp(self, arrays: Any, tangents: Any) -> np.ndarray:
        return (self.jacobian(arrays) @ tangents["x"]).reshape(self.shape)


def judged(program: Far, calls: int | None = None, seed: int = 0) -> Any:
    """Check a costly function, assert that the budget was kept, and return the report."""
    report = run_check(lambda: program, Place("far"), Request(calls=calls, seed=seed))
    assert report.evidence is not None
    assert report.evidence.points <= program.budget.made <= (calls or np.inf)
    return report


@pytest.mark.parametrize("products", ["vjp", "jvp", "vjp jvp"])
@pytest.mark.parametrize("n, m", [(1, 0), (2, 0), (3, 2), (1000, 0), (50, 5), (30, 40)])
def test_a_right_derivative_needs_few_calls(n, m, products):
    program = Far(n, m, products=products)
    report = judged(program)
    assert (report.verdict, program.budget.made <= 60) == ("pass", True)
    assert report.inputs[0].resolution < 2e-5
    assert report.inputs[0].digits > 6


def test_a_jvp_is_called_once_per_direction():
    asked = []

    class Counted(Far):
        def jvp(self, arrays, tangents):
            asked.append(tangents)
            return super().jvp(arrays, tangents)

    assert judged(Counted(50, products="jvp")).verdict == "pass"
    assert len(asked) <= 50 + 7  # one per column, and seven to check linearity and the like


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_a_wrong_element_among_a_thousand_is_found_by_bisection(noise):
    program = Far(1000, off={(0, 437): 1.05}, noise=noise)
    report = judged(program)
    assert (report.verdict, program.budget.made < 350) == ("fail", True)
    worst = report.inputs[0].worst
    assert worst.place == (437,)
    assert worst.claimed / worst.numeric == pytest.approx(1.05, rel=1e-3)
    assert "(the claim is 1.05 times the derivative); the other 999 are right" in report.diagnosis[0].text


@pytest.mark.parametrize("products", ["vjp", "jvp", "vjp jvp"])
@pytest.mark.parametrize("m", [5, 40])
def test_the_output_of_a_wrong_element_is_found(m, products):
    program = Far(50, m, off={(3, 7): -1.0}, products=products)
    report = judged(program)
    assert (report.verdict, program.budget.made < 200) == ("fail", True)
    assert (report.inputs[0].worst.output, report.inputs[0].worst.place) == ((3,), (7,))
    assert report.inputs[0].worst.claimed == pytest.approx(-report.inputs[0].worst.numeric)


@pytest.mark.parametrize("factor, words", [(-1.0, "sign"), (2.0, "twice"), (1.05, "the claim is 1.05 times")])
def test_a_common_factor_needs_no_search(factor, words):
    program = Far(1000, off={(0, ...): factor})
    report = judged(program)
    assert (report.verdict, program.budget.made < 120) == ("fail", True)  # a search takes some 300
    assert words in report.diagnosis[0].text


@pytest.mark.parametrize("off", [{}, {(0, 5): 1.05}, {(0, 5): -1.0, (0, 9): 0.0}], ids=["right", "one", "two"])
@pytest.mark.parametrize("noise", [0.0, 1e-9])
@pytest.mark.parametrize("n", [2, 30, pytest.param(300, marks=pytest.mark.nightly)])
def test_an_undecided_check_states_the_calls_it_needs(n, noise, off):
    off = {(j, i % n): factor for (j, i), factor in off.items()}
    verdicts = []
    for calls in (1, 4, 11, 16, 20, 40, 80, 160, 320, 700):
        report = judged(Far(n, noise=noise, off=off), calls)
        verdicts.append(report.verdict)
        if report.verdict == "inconclusive":
            assert str(report.evidence.needed) in report.message
            assert report.evidence.needed > calls
            assert judged(Far(n, noise=noise, off=off), report.evidence.needed).verdict != "inconclusive"
    assert set(verdicts) <= {"inconclusive", "fail" if off else "pass"}
    assert verdicts[0] == "inconclusive" and verdicts[-1] != "inconclusive"


SIZES = [20, 200, 1000]


def with_relative_errors(size, errors, calls=None, strict=False):
    """Check sum(sin(x) + x**2), whose gradient has relative errors; return the report and the number of calls."""
    made, x = [], np.random.default_rng(0).standard_normal(size)

    def f(x):
        made.append(x)
        return np.sum(np.sin(x) + x**2)

    def grad(x):
        return (np.cos(x) + 2 * x) * (1 + errors)

    return check_gradient(f, grad, at={"x": x}, calls=calls, strict=strict), len(made)


@pytest.mark.parametrize("size", SIZES)
def test_slight_differences_of_all_elements_pass_in_few_calls(size):
    report, calls = with_relative_errors(size, 5e-7)
    assert (report.verdict, calls <= 200 + 20 * np.log2(size)) == ("pass", True)
    assert any(note.startswith("x: differs by 5e-07, more than rounding") for note in report.notes)
    random = 9e-7 * np.random.default_rng(1).uniform(-1, 1, size)
    report, calls = with_relative_errors(size, random)
    assert (report.verdict, calls <= 600) == ("pass", True)
    assert any("more than rounding" in note for note in report.notes)
    assert with_relative_errors(size, 5e-7, strict=True)[0].verdict == "fail"
    assert with_relative_errors(size, 2e-6)[0].verdict == "fail"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("others", [0.0, 5e-7], ids=["right", "slight"])
@pytest.mark.parametrize("error", [1e-2, 1e-4])
def test_one_wrong_element_fails_whether_or_not_the_others_differ_slightly(error, others, size):
    errors = np.full(size, others)
    errors[3] = error
    report, _ = with_relative_errors(size, errors)
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (3,))


@pytest.mark.parametrize(
    "calls",
    [12, 50, 200, 400, 1100, *(pytest.param(n, marks=pytest.mark.nightly) for n in (20, 100, 300, 500, 600, 800))],
)
@pytest.mark.parametrize("size", SIZES)
def test_no_budget_turns_slight_differences_into_a_fail(size, calls):
    random = 9e-7 * np.random.default_rng(1).uniform(-1, 1, size)
    for errors in (5e-7, random):
        assert with_relative_errors(size, errors, calls)[0].verdict in ("pass", "inconclusive")
    errors = np.full(size, 5e-7)
    errors[3] = 1e-4  # below what the others may add up to
    assert with_relative_errors(size, errors, calls)[0].verdict != "pass"
    errors[3] = 0.1  # above that
    assert with_relative_errors(size, errors, calls)[0].verdict == ("fail" if calls > 12 else "inconclusive")


@pytest.mark.parametrize("seed", range(3))
def test_slight_differences_that_noise_hides_in_each_element_do_not_fail(seed):
    """Along a direction, the difference shows; of the elements, none is known to be off by more than a little."""
    slight, wrong = (Far(30, noise=1e-9, off={(0, ...): factor}) for factor in (1 + 5e-7, 1 + 1e-4))
    assert judged(slight, seed=seed).verdict in ("pass", "inconclusive")
    assert judged(wrong, seed=seed).verdict == "fail"


@pytest.mark.parametrize(("errors", "verdict"), [(0.0, "pass"), (5e-7, "pass"), (0.01, "fail")])
@pytest.mark.parametrize("size", SIZES)
def test_the_calls_that_a_report_names_are_enough(size, errors, verdict):
    report, _ = with_relative_errors(size, errors, 10)
    assert report.verdict == "inconclusive"
    assert report.message == f"undecided after 10 calls; rerun with --calls {report.evidence.needed}"
    assert with_relative_errors(size, errors, report.evidence.needed)[0].verdict == verdict


def test_a_check_that_more_calls_than_usual_do_not_decide_names_no_number():
    report = judged(Far(1000, noise=1e-6), 399)
    assert (report.verdict, report.evidence.needed) == ("inconclusive", None)
    assert report.message == "undecided after 399 calls; rerun without --calls"


@pytest.mark.parametrize("noise", [1e-10, 1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("calls", [5, 16, 30, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_right_gradient_of_a_noisy_function_does_not_fail(noise, calls, seed):
    assert judged(Far(20, noise=noise), calls, seed).verdict in ("pass", "inconclusive")


@pytest.mark.parametrize("calls", [40, 100, 200, 500])
@pytest.mark.parametrize("distance", [1e-4, -1e-5, 1e-6, -1e-8])
@pytest.mark.parametrize("height", [0.003, 0.05, 1.0])
def test_a_right_gradient_near_a_kink_does_not_fail(height, distance, calls):
    """A symmetric fit that does not resolve the distance to the kink yields the mean of both sides."""
    x = np.array([0.7, -1.2, 0.4, -1.1])
    weights, place = np.array([0.9, -0.7, 1.3, 1.1]), x[0] - distance

    def f(x):
        return weights @ np.sin(3 * x) + height * max(x[0] - place, 0)

    def grad(x):
        return 3 * weights * np.cos(3 * x) + height * np.array([x[0] > place, 0, 0, 0])

    assert check_gradient(f, grad, at={"x": x}, calls=calls).verdict != "fail"
    wrong = check_gradient(f, lambda x: grad(x) * [1, 1, 1.1, 1], at={"x": x}, calls=calls)
    assert wrong.verdict != "pass"


@pytest.mark.parametrize("off, verdict", [(1.0, "pass"), (1.05, "fail")])
def test_small_arguments_get_larger_steps_if_noise_hides_the_slope(off, verdict):
    rng = np.random.default_rng(0)

    def f(x):
        return (1 + np.sin(x).sum()) * (1 + 1e-5 * rng.uniform(-1, 1))

    report = check_gradient(f, lambda x: off * np.cos(x), at={"x": 1e-3 * np.array([0.5, 1.0, 1.5])}, calls=500)
    assert report.verdict == verdict


def test_a_wrong_factor_fails_although_parts_of_a_direction_change_nothing():
    x = (100 * np.random.default_rng(0).uniform(0.5, 1.5, 2)).astype(np.float32)
    report = check_gradient(
        lambda x: np.sin(x.astype(float)).sum(), lambda x: 1.05 * np.cos(x.astype(float)), at={"x": x}, calls=200
    )
    assert report.verdict == "fail"


@pytest.mark.parametrize(
    "claim",
    [
        {"grad": lambda x, y: (np.cos(x) * y, np.sin(x).sum())},
        {"vjp": lambda g, x, y: (g * np.cos(x) * y, g * np.sin(x).sum())},
        {"jvp": lambda t, x, y: (np.cos(x) * y * t[0]).sum() + np.sin(x).sum() * t[1]},
    ],
    ids=lambda claim: next(iter(claim)),
)
@pytest.mark.parametrize("calls", [1, 7, 12, 50])
def test_hand_written_functions_keep_to_the_budget(claim, calls):
    made = []

    def f(x, y):
        made.append(x)
        return (np.sin(x) * y).sum()

    report = check_gradient(f, at={"x": np.linspace(0.1, 1, 40), "y": 2.0}, calls=calls, **claim)
    assert len(made) <= calls
    assert report.verdict == ("pass" if calls >= 12 else "inconclusive")  # one direction needs about that many


@pytest.mark.parametrize("seed", [7, 38, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(20))])
def test_an_error_of_twice_the_resolution_does_not_pass(seed):
    """The resolution is relative to the largest element of the derivative, whatever the scales of x."""
    rng = np.random.default_rng([3, seed])
    x = rng.normal(size=int(rng.integers(3, 40))) * 10 ** rng.uniform(-1, 1)
    x *= 10 ** rng.uniform(-1, 1, x.size)
    weights = rng.normal(size=x.size)

    def verdict(off):
        def grad(x):
            return weights * np.cos(x) + off

        return check_gradient(lambda x: weights @ np.sin(x), at={"x": x}, grad=grad, strict=True)

    right = verdict(0.0)
    assert right.verdict == "pass"
    error = 2 * right.inputs[0].resolution * np.abs(weights * np.cos(x)).max() * rng.choice([-1, 1])
    assert verdict(error * np.eye(x.size)[rng.integers(x.size)]).verdict != "pass"


X = np.linspace(0.1, 1, 30)


def with_taylor(factor, noise=0.0, x=X):
    """Check a sum of exponentials whose gradient is off by a factor; return the report and the number of calls."""
    made, rng = [], np.random.default_rng(0)

    def f(x):
        made.append(x)
        return np.exp(x).sum() * (1 + noise * rng.uniform(-1, 1))

    return check_gradient(f, lambda x: factor * np.exp(x), at={"x": x}, taylor=True), len(made)


def test_a_right_gradient_has_rate_two_in_few_calls():
    report, calls = with_taylor(1.0)
    assert (report.verdict, calls <= 60) == ("pass", True)
    assert report.taylor.rate == pytest.approx(2, abs=0.01)
    rows = report.taylor.rows
    assert len(rows) == 8 and not any(row.spoilt for row in rows[:6])
    # the remainder of exp is h^2/2 sum(d^2 exp(x)) + O(h^3), so it falls by a factor of 16 per step
    assert [rows[k].remainder / rows[k + 1].remainder for k in range(2, 5)] == pytest.approx([16] * 3, rel=0.02)


@pytest.mark.parametrize("factor", [1.01, -1.0, 0.0])
def test_a_wrong_gradient_has_rate_one_and_its_element_is_named(factor):
    report, _ = with_taylor(factor)
    assert report.verdict == "fail"
    assert report.taylor.rate == pytest.approx(1, abs=0.15)
    assert report.inputs[0].worst.claimed == pytest.approx(factor * report.inputs[0].worst.numeric)


def test_rows_spoilt_by_noise_are_left_out():
    report, _ = with_taylor(1.0, noise=1e-8)
    rows = report.taylor.rows
    assert [row.spoilt for row in rows[:2]] == [False, False]
    assert all(row.spoilt and row.rate is None for row in rows[-3:])
    assert report.taylor.rate == pytest.approx(2, abs=0.1)


def test_a_linear_function_leaves_only_rounding():
    report = check_gradient(lambda x: 3 * x.sum(), lambda x: np.full_like(x, 3), at={"x": X}, taylor=True)
    assert (report.verdict, report.taylor.rate) == ("pass", None)
    assert all(row.spoilt for row in report.taylor.rows)


def run_wrong(size, wrong, **options):
    """Check sum x^3 + sum x_i x_{i+1} with some elements of its gradient wrong; return the report and the calls."""
    calls = []

    def value(x):
        calls.append(x)
        return (x**3).sum() + (x[1:] * x[:-1]).sum()

    def gradient(x):
        g = 3 * x**2 + np.append(x[1:], 0) + np.insert(x[:-1], 0, 0)
        g[wrong] *= 1.5
        return g

    return Check.of(value, {"x": (size,)}, grad=gradient, **options).run(), len(calls)


@pytest.mark.parametrize("place", [0, 4321, 9_999])
def test_one_wrong_element_among_many_costs_little(place):
    report, calls = run_wrong(10_000, place)
    assert report.verdict == "fail"
    assert report.inputs[0].worst.place == (place,)
    assert calls < 1000


def test_clearly_wrong_elements_are_not_checked_again():
    report, calls = run_wrong(500, slice(None))
    assert report.verdict == "fail"
    assert calls < 20 * 500


@pytest.mark.parametrize("size", [7, 100])
def test_one_slow_call_changes_nothing(size):
    """Other processes may delay a call, which does not make the function a costly one."""

    def worst(delayed: int):
        calls = []

        def value(x):
            calls.append(x)
            time.sleep(0.02 * (len(calls) == delayed))
            return (x**3).sum()

        report = Check.of(value, {"x": np.linspace(1, 2, size)}, grad=lambda x: 3.01 * x**2).run()
        return repr(report.inputs)

    assert worst(2) == worst(0)


@pytest.mark.parametrize("calls", [20, 40])
def test_few_calls_give_a_verdict_with_the_resolution_of_one_direction(calls):
    weights, x = np.arange(1.0, 101.0), np.random.default_rng(0).normal(size=100)
    f, grad = (lambda x: np.sum(np.sin(x) * weights)), (lambda x: np.cos(x) * weights)
    right = check_gradient(f, grad, at={"x": x}, calls=calls)
    assert right.verdict == "pass" and right.evidence.points <= calls and right.resolution < 1e-4
    assert check_gradient(f, lambda x: 1.01 * grad(x), at={"x": x}, calls=calls).verdict == "fail"
    assert check_gradient(f, grad, at={"x": x}, calls=8).verdict == "inconclusive"


def test_structure_closer_than_kinks_are_looked_for_takes_no_calls_for_kinks():
    """The noise is a sawtooth with teeth of 1e-12: its slopes do not add up, and are not those at a kink either."""
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        tooth = 43758.5453 * np.sin(43758.5453 * (x @ [13.0, 14.8, 16.7]))
        return np.sum(np.sin(x)) * (1 + 1e-9 * (tooth - np.floor(tooth)))

    assert check_gradient(f, lambda x: 1.05 * np.cos(x), {"x": np.array([0.4, 0.8, 1.2])}).verdict == "fail"
    assert calls < 1500
