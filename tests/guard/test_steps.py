"""One step, from its gradients to a verdict, with a step that needs no framework."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.claims.declared import Declared, NotDeclaredError
from gradcli.errors import GradcliError
from gradcli.guard import steps
from gradcli.guard.steps import check_training_step
from gradcli.results.steps import Problem

EXACT = np.random.default_rng(3).normal(size=30)


class Step:
    """A step of one parameter with two batches of equal weight. factor: of its observed gradient."""

    names, shapes, batches, unequal, unused = ("w",), {"w": (30,)}, (0, 1), (), ()
    before, parameters, ranks, loss_scale, clips = None, {"w": np.ones(30)}, (), None, ()
    windows_before, counts, has_moved, model = (), (), False, None
    frozen, outside, not_updated, repeats = (), (), (), False

    def __init__(self, factor=1.0, exact=EXACT, rounding=1e-7, fresh=EXACT, replayed=True, narrow=()):
        self.observed = {"w": factor * EXACT * (1 + 0.3 * rounding)}
        self.exact, self.rounding, self.fresh = exact, rounding, fresh
        self.replayed, self.narrow, self.calls = replayed, narrow, 0

    def declared(self, some=None, wide=True, replayed=True, **_):
        self.calls += 1
        value = self.exact(self.calls) if callable(self.exact) else self.exact
        value = value if replayed else self.fresh
        if some is not None:
            value = value + (1 if some == [0] else -1) * np.arange(30.0)
        noise = 0 if wide else self.rounding * np.random.default_rng(1).normal(size=30)
        return Declared({"": 1.0}, {"": {"w": value * (1 + noise)}}, self.replayed, self.narrow)

    def declared_with_stale_casts(self):
        return None

    def description(self):
        return "2 batches of (x: 3 float32)"


def judged(step, monkeypatch, **settings):
    def open_step(_):
        if isinstance(step, Exception):
            raise step
        return step

    monkeypatch.setattr(steps, "find_loss", lambda *_: settings.get("found", len))
    moment = SimpleNamespace(
        progress=SimpleNamespace(number=0, title="SGD"), file="train.py", line=3, step=2, turn=None, world=1, calls=[],
        open=open_step,
    )  # fmt: skip
    return check_training_step(moment, {"loss": ("train.py", "full_loss"), "clip": None, "folder": "", **settings})[1]


def test_a_right_step_passes_with_a_resolution(monkeypatch):
    found = judged(Step(), monkeypatch)
    assert found.verdict == "pass" and 1e-8 < found.resolution < 1e-5 and found.batches == 2


def test_a_multiple_fails_with_its_cause(monkeypatch):
    found = judged(Step(2.0), monkeypatch)
    assert (found.verdict, found.rule, found.optimizer, found.step) == ("fail", "not-divided", "SGD", 2)
    assert [item.verdict for item in found.inputs] == ["fail"]


def test_an_unexplained_gradient_says_how_it_differs(monkeypatch):
    step = Step()
    step.observed = {"w": EXACT[::-1].copy()}
    found = judged(step, monkeypatch)
    assert found.rule == "other-gradient" and "cosine" in found.headline()


def test_clipping_on_purpose_passes(monkeypatch):
    limit = 0.5 * float(np.linalg.norm(EXACT))
    assert judged(Step(0.5), monkeypatch, clip=limit).verdict == "pass"
    assert judged(Step(0.4), monkeypatch, clip=limit).verdict == "fail"


def test_a_gradient_that_is_not_clipped_fails(monkeypatch):
    size = float(np.linalg.norm(EXACT))
    assert judged(Step(), monkeypatch, clip=1.01 * size).verdict == "pass"
    found = judged(Step(), monkeypatch, clip=0.9 * size)
    assert (found.verdict, found.rule) == ("fail", "not-clipped")
    assert found.message == f"not clipped: the norm is {size:.4g}, the limit {0.9 * size:g}"


def test_clipping_a_small_gradient_as_pytorch_does_passes(monkeypatch):
    """It divides by the norm plus 1e-6."""
    step = Step()
    step.exact = step.fresh = 1e-4 / np.linalg.norm(EXACT) * EXACT
    step.observed = {"w": 0.5e-4 / (1e-4 + 1e-6) * step.exact * (1 + 3e-8)}
    assert judged(step, monkeypatch, clip=0.5e-4).verdict == "pass"


def test_rounding_that_hides_everything_is_inconclusive(monkeypatch):
    found = judged(Step(rounding=0.1), monkeypatch)
    assert found.verdict == "inconclusive" and "rounding hides relative errors" in found.headline()


def test_a_loss_with_random_numbers_of_its_own_is_inconclusive(monkeypatch):
    other = Step(exact=lambda call: EXACT * (1 + 0.2 * np.sin(call * np.arange(30.0))), fresh=2 * EXACT)
    found = judged(other, monkeypatch)
    assert found.verdict == "inconclusive" and "changes from call to call" in found.headline()


def test_calls_that_could_not_be_replayed_are_inconclusive(monkeypatch):
    step = Step(fresh=EXACT + 1, replayed=False)
    step.observed = {"w": EXACT + np.cos(np.arange(30.0))}
    found = judged(step, monkeypatch)
    assert found.verdict == "inconclusive" and "random numbers could not be replayed" in found.headline()


def test_a_declared_gradient_that_is_nan_is_inconclusive(monkeypatch):
    assert judged(Step(exact=EXACT * np.nan), monkeypatch).verdict == "inconclusive"


def test_a_gradient_that_is_nan_has_no_right_digits(monkeypatch):
    step = Step()
    step.observed = {"w": EXACT * np.nan}
    found = judged(step, monkeypatch)
    assert found.rule == "gradient-not-finite" and [item.digits for item in found.inputs] == [0.0]


def test_functions_without_float64_are_named(monkeypatch):
    assert judged(Step(narrow=("fft",)), monkeypatch).notes == ("no float64 for fft: computed in float32",)


def test_processes_with_different_gradients_fail(monkeypatch):
    step = Step()
    step.unequal = ["w"]
    assert judged(step, monkeypatch).rule == "ranks-differ"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (GradcliError("full_loss returned 3 numbers", hint="their mean"), "full_loss returned 3 numbers"),
        (ValueError("bad shape"), "full_loss raised ValueError: bad shape"),
    ],
)
def test_errors_of_the_loss_say_what_was_recorded(monkeypatch, error, message):
    step = Step()

    def fail(*_, **__):
        raise error

    step.declared = fail
    found = judged(step, monkeypatch)
    assert isinstance(found, Problem) and found.message == message
    assert found.recorded == "recorded at step 2: 2 batches of (x: 3 float32); the model is NoneType"


@pytest.mark.parametrize(
    ("loss", "hinted"),
    [
        (lambda batches: 0.0, True),
        (lambda model, x, y: 0.0, True),
        (lambda model, batches: batches.mean(), True),
        (lambda model, batches: 2.0 * batches, True),
        (lambda model, batches: batches[0] + "a", False),
        (lambda model, batches: {}["a"], False),
        (lambda model, batches, scale=1.0: 1 / 0, False),
    ],
)
def test_an_error_says_how_the_loss_is_called_if_it_expects_something_else(monkeypatch, loss, hinted):
    step = Step()
    step.declared = lambda **_: loss(None, [1.0])
    found = judged(step, monkeypatch, found=loss)
    assert isinstance(found, Problem) and found.message.startswith("full_loss raised ")
    assert ("gradcli calls full_loss(model, batches)" in (found.hint or "")) is hinted


def test_a_loss_that_is_not_defined_yet(monkeypatch):
    found = judged(Step(), monkeypatch, found=None)
    assert isinstance(found, Problem) and "did not define 'full_loss' before step 2" in found.message


def test_a_step_without_batches(monkeypatch):
    step = Step()
    step.batches = ()
    assert "no batch was used before step 2" in judged(step, monkeypatch).message


def test_a_second_step_with_the_same_gradient_fails(monkeypatch):
    step = Step()
    step.batches, step.repeats = (), True
    assert judged(step, monkeypatch).rule == "stale-weights"


def test_parameters_without_a_part_in_the_loss_are_named(monkeypatch):
    step = Step()
    step.frozen, step.outside = ("w",), ("a", "b")
    assert judged(step, monkeypatch).notes == (
        "w: frozen (requires_grad is False), not checked",
        "2 parameters of the optimizer belong to no model that ran: a, b",
    )


def test_a_loss_that_says_nothing_is_skipped(monkeypatch):
    assert judged(NotDeclaredError(), monkeypatch) == "full_loss"
