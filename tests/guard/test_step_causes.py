"""From an observed gradient to its cause: each cause is made of random gradients, and must be named."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from gradcli.claims.declared import Declared
from gradcli.guard.step_causes import explain_whole
from gradcli.guard.step_evidence import StepEvidence
from gradcli.guard.step_fit import GradientComparison, join_vectors

NAMES = {"first": 24, "second": 40, "bias": 3}
SIZES = tuple(NAMES.values())
COUNTS = np.array([7.0, 12.0, 3.0, 18.0])
RNG = np.random.default_rng(71)


def by_name(x):
    return dict(zip(NAMES, np.split(x, np.cumsum(SIZES)[:-1]), strict=True))


@dataclass
class FakeStep:
    """A step whose loss is a weighted sum over batches, for each term. weights, parts: by term, for each batch."""

    weights: dict = field(default_factory=lambda: {"": COUNTS / COUNTS.sum()})
    parts: dict = field(default_factory=lambda: {"": RNG.normal(size=(4, sum(SIZES)))})
    moved: np.ndarray | None = None
    cast: np.ndarray | None = None
    names: tuple = tuple(NAMES)
    unused: tuple = ()
    before: tuple | None = None
    parameters: dict = field(default_factory=lambda: by_name(RNG.normal(size=sum(SIZES))))
    batches: tuple = (0, 1, 2, 3)
    ranks: tuple = ()
    loss_scale: float | None = None
    clips: tuple = ()
    windows_before: tuple = ()
    counts: tuple = (("rows", 12.0), ("labels", 40.0), ("shifted labels", 30.0), ("positions", 96.0))

    @property
    def has_moved(self):
        return self.moved is not None

    def term(self, name, some=None):
        """Return the gradient of a term; of one batch alone, its mean."""
        weights, parts = self.weights[name], self.parts[name]
        which = list(range(len(parts)) if some is None else some)
        chosen = weights[which] / (weights[which].sum() if some is not None else 1)
        return chosen @ parts[which]

    @property
    def exact(self):
        return sum(self.term(name) for name in self.weights)

    def declared(self, some=None, at="", **_):
        if at == "call":
            return Declared({"": 0.0}, {"": by_name(self.moved)})
        if at == "before":
            return Declared({"": 0.0}, {"": by_name(self.exact[::-1])})
        return Declared(
            dict.fromkeys(self.weights, 0.0), {name: by_name(self.term(name, some)) for name in self.weights}
        )

    def declared_with_stale_casts(self):
        return None if self.cast is None else Declared({"": 0.0}, {"": by_name(self.cast)})


def cause_of(step, observed):
    exact = step.exact
    noise = 1e-7 * np.random.default_rng(5).normal(size=exact.size)
    rounded = observed * (1 + 1e-7 * np.random.default_rng(6).normal(size=exact.size))
    compared = GradientComparison(rounded, exact, exact * (1 + noise), SIZES)
    assert compared.wrong
    return explain_whole(StepEvidence(step, compared, step.declared().gradients))


EQUAL = {"": np.full(4, 0.25)}
TERMS = {"nll": np.full(4, 0.25), "aux": np.full(4, 0.25)}


def two_terms(**more):
    return FakeStep(TERMS, {name: RNG.normal(size=(4, sum(SIZES))) for name in TERMS}, **more)


def scaled_block(step, name, factor):
    return join_vectors(by_name(step.exact) | {name: factor * by_name(step.exact)[name]}, NAMES)


def mean(step):
    return step.parts[""].mean(0)


def norm(x):
    return float(np.linalg.norm(x))


def clipped_each(step, limit):
    total = np.zeros(sum(SIZES))
    for weight, part in zip(step.weights[""], step.parts[""], strict=True):
        total = total + weight * part
        total = total * min(1, limit / norm(total))
    return total


CANCELLING = (np.eye(4) - 0.249) @ RNG.normal(size=(4, sum(SIZES)))  # the mean is much smaller than each batch
GROUPS = np.array([7, 12, 0, 0]) / 19 + np.array([0, 0, 3, 18]) / 21
CASES = {
    "not-divided": (FakeStep(EQUAL), lambda s: 4 * s.exact, "4 times too large"),
    "divided-twice": (FakeStep(EQUAL), lambda s: s.exact / 4, "4 times too small"),
    "not-divided of batches that cancel": (
        FakeStep(EQUAL, {"": CANCELLING}),
        lambda s: (1 + 1e-6 * np.array([4, -3, 2, -4])) @ s.parts[""],
        "4 times too large",
    ),
    "incomplete-window": (FakeStep(EQUAL, windows_before=(2, 6)), lambda s: s.exact * 4 / 6, "divided by 6"),
    "loss-scale-left": (FakeStep(loss_scale=65536.0), lambda s: 65536 * s.exact, "65536 times too large"),
    "loss-scale-left twice": (FakeStep(loss_scale=1024.0), lambda s: s.exact / 1024, "divided out twice"),
    "loss-scale-left by hand": (FakeStep(), lambda s: 512 * s.exact, "2^9 times"),
    "clipped": (FakeStep(), lambda s: 0.5 * s.exact / norm(s.exact), "to norm 0.5"),
    "clipped noted": (
        FakeStep(clips=(("norm", 0.37, None),)),
        lambda s: 0.37 * s.exact / norm(s.exact),
        "to norm 0.37",
    ),
    "clipped elements": (FakeStep(), lambda s: np.clip(s.exact, -0.3, 0.3), "each element is limited to ±0.3"),
    "clipped-before-unscaling": (
        FakeStep(clips=(("norm", 1.0, None),), loss_scale=4096.0),
        lambda s: s.exact / norm(s.exact) / 4096,
        "before the loss scale 4096",
    ),
    "clipped-each-batch": (
        FakeStep(clips=(("norm", 1.0, None),) * 4),
        lambda s: clipped_each(s, 1.0),
        "each batch is clipped to norm 1",
    ),
    "equal-weights": (FakeStep(), mean, "the same weight 0.25"),
    "last-batch-only": (FakeStep(), lambda s: s.parts[""][3] * 18 / 40, "only the last of 4"),
    "last-batch-only two": (FakeStep(), lambda s: np.array([0, 0, 3, 18]) / 40 @ s.parts[""], "batch"),
    "batch-missing": (FakeStep(), lambda s: np.array([7, 0, 3, 18]) / 40 @ s.parts[""], "batch 2 of 4"),
    "batch-weights": (FakeStep(), lambda s: np.array([0.1, 0.2, 0.3, 0.4]) @ s.parts[""], "other weights"),
    "uneven-ranks": (FakeStep(ranks=(0, 0, 1, 1)), lambda s: GROUPS / 2 @ s.parts[""], "batches {1, 2} and {3, 4}"),
    "uneven-ranks of one batch": (FakeStep(ranks=(0, 1, 2, 3)), mean, "the batch of each process"),
    "averaged-twice": (FakeStep(ranks=(0, 0, 1, 1)), lambda s: s.exact / 2, "averaged over the 2 processes"),
    "ranks-not-averaged": (FakeStep(ranks=(0, 0, 1, 1)), lambda s: 2 * s.exact, "not divided by 2"),
    "parameter-without-gradient": (
        FakeStep(unused=("second",)),
        lambda s: scaled_block(s, "second", 0),
        "second: no gradient",
    ),
    "parameter-without-gradient all": (FakeStep(), lambda s: 0 * s.exact, "other than zero"),
    "parameter-scaled": (FakeStep(), lambda s: scaled_block(s, "first", 10), "first: 10 times"),
    "term-missing": (two_terms(), lambda s: s.term("nll"), "term 'aux' does not contribute"),
    "term-repeated": (two_terms(), lambda s: s.term("nll") + 4 * s.term("aux"), "counts 4 times, once for each batch"),
    "term-scaled by a whole number": (two_terms(), lambda s: s.term("nll") + 3 * s.term("aux"), "aux 3"),
    "term-scaled": (two_terms(), lambda s: s.term("nll") + 0.3 * s.term("aux"), "aux 0.3"),
    "term-detached of one number": (
        two_terms(),
        lambda s: join_vectors(by_name(s.exact) | {"bias": by_name(s.term("nll"))["bias"]}, NAMES),
        "to the gradient of bias",
    ),
    "term-detached": (
        two_terms(),
        lambda s: join_vectors(by_name(s.exact) | {"first": by_name(s.term("nll"))["first"]}, NAMES),
        "term 'aux' does not contribute to the gradient of first",
    ),
    "gradient-kept": (
        FakeStep(before=(by_name(np.sin(np.arange(67.0))), by_name(np.ones(67)))),
        lambda s: s.exact + np.sin(np.arange(67)),
        ".grad still contains the gradient of earlier steps: zero_grad() is probably missing",
    ),
    "weight-decay": (
        FakeStep(),
        lambda s: s.exact + 0.01 * join_vectors(s.parameters, NAMES),
        "0.01 times the parameters",
    ),
    "weight-decay of signs": (
        FakeStep(),
        lambda s: s.exact + 0.02 * np.sign(join_vectors(s.parameters, NAMES)),
        "0.02 times the signs",
    ),
    "weight-decay declared, but smaller than the rest": (
        FakeStep(),
        lambda s: 0.3 * s.exact + 0.02 * join_vectors(s.parameters, NAMES),
        "0.3 times it plus 0.02 times the parameters: weight decay, or a penalty that counts more than the rest",
    ),
    "penalty-missing": (
        FakeStep(),
        lambda s: s.exact - 0.01 * join_vectors(s.parameters, NAMES),
        "minus 0.01 times the parameters: a penalty on the parameters is missing or smaller than declared",
    ),
    "penalty-missing next to a larger rest": (
        FakeStep(),
        lambda s: 5.3 * s.exact - 0.02 * join_vectors(s.parameters, NAMES),
        "5.3 times it minus 0.02 times the parameters: a penalty on the parameters counts less than declared",
    ),
    "stale-weights": (FakeStep(moved=np.cos(np.arange(67.0))), lambda s: s.moved, "have changed since"),
    "stale-weights of autocast": (FakeStep(cast=np.cos(np.arange(67.0))), lambda s: s.cast, "inside autocast"),
    "counted-before-shift": (FakeStep(), lambda s: s.exact * 30 / 40, "30/40: labels are counted before the shift"),
    "counted-otherwise": (FakeStep(), lambda s: s.exact * 40 / 96, "divided by the number of positions"),
    "summed": (FakeStep(), lambda s: 12 * s.exact, "the sum over 12 rows was not divided"),
    "step-factor": (FakeStep(), lambda s: 1.7 * s.exact, "1.7 times"),
    "step-factor of the sign": (FakeStep(), lambda s: -s.exact, "opposite sign"),
    "gradient-not-finite": (FakeStep(), lambda s: np.r_[s.exact[:-1], np.nan], "bias is nan or infinite"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named(case):
    step, make, words = CASES[case]
    found = cause_of(step, make(step))
    assert found is not None
    assert found.rule == case.partition(" ")[0] and words in found.text, found


def test_another_gradient_has_no_known_cause():
    step = FakeStep()
    assert cause_of(step, RNG.normal(size=sum(SIZES))) is None


def test_weights_are_given_next_to_the_declared_ones():
    step = FakeStep()
    found = cause_of(step, mean(step))
    assert [name for name, _, _ in found.weights] == [f"batch {k}" for k in (1, 2, 3, 4)]
    assert np.allclose([w for _, w, _ in found.weights], 0.25)
    assert np.allclose([w for _, _, w in found.weights], COUNTS / 40)


@pytest.mark.parametrize(("numbers", "declared"), [(8, "the weights are 0.175"), (4, "whatever its size")])
def test_equal_weights_are_found_in_gradients_of_few_numbers(numbers, declared):
    step = FakeStep(parts={"": RNG.normal(size=(4, numbers))}, names=("first",))
    exact = step.exact
    compared = GradientComparison(mean(step), exact, exact * (1 + 1e-7), (numbers,))
    step.declared = lambda some=None, **_: Declared({"": 0.0}, {"": {"first": step.term("", some)}})
    found = explain_whole(StepEvidence(step, compared, step.declared().gradients))
    assert found.rule == "equal-weights" and declared in found.text


def test_terms_of_each_batch_are_weighted():
    """The term of tokens is a mean of means; the other one is right."""
    weights = {"nll": COUNTS / 40, "aux": np.full(4, 0.25)}
    step = FakeStep(weights, {name: RNG.normal(size=(4, sum(SIZES))) for name in weights})
    found = cause_of(step, step.parts["nll"].mean(0) + step.term("aux"))
    assert found.rule == "equal-weights" and "'nll' with weights 0.25" in found.text


def cause_in_numbers(count, observed, **more):
    """Return the cause of a step of one batch with a few parameters. observed: from the declared gradient."""
    step = FakeStep({"": np.ones(1)}, {"": 3.7 + RNG.uniform(size=(1, count))}, names=("first",), batches=(0,), **more)
    step.parameters = {"first": np.cos(np.arange(count))}
    exact = step.exact
    compared = GradientComparison(np.asarray(observed(exact)), exact, exact * (1 + 1e-7), (count,))
    declared = lambda at="", **_: {"first": exact if at == "" else 2 * exact}  # noqa: E731
    step.declared = lambda some=None, at="", **_: Declared({"": 0.0}, {"": declared(at)})
    return explain_whole(StepEvidence(step, compared, {"": {"first": exact}}))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_kept_gradient_and_usual_factors_are_named_for_few_numbers(count):
    before = RNG.normal(size=count)
    found = cause_in_numbers(count, lambda exact: exact + before, before=({"first": before}, {"first": before}))
    assert found.rule == "gradient-kept"
    assert cause_in_numbers(count, lambda exact: 12 * exact).rule == "summed"
    found = cause_in_numbers(count, lambda exact: exact / 12)
    both = "by the number of rows twice, or by a number of batches although this step has 1 batch"
    assert found.rule == "step-factor" and both in found.text
    assert "opposite sign" in cause_in_numbers(count, lambda exact: -exact).text


def test_a_factor_or_a_limit_that_fits_any_single_number_is_not_named():
    before = ({"first": np.ones(1)}, {"first": np.ones(1)})
    assert cause_in_numbers(1, lambda exact: 0.6172 * exact, before=before) is None
    assert "0.6172 times" in cause_in_numbers(2, lambda exact: 0.6172 * exact, before=before).text
    assert cause_in_numbers(1, lambda exact: np.full(1, 0.25)).rule == "clipped"
