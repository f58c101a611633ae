"""Schedules of learning rates against their closed forms."""

import math

import pytest

import gradcli
from gradcli.optim import SGD, lr_scheduler

EPOCHS = range(9)


def cosine(t, top=1.0, low=0.1, half=4):
    return low + (top - low) * (1 + math.cos(math.pi * t / half)) / 2


SCHEDULES = {
    "lambda": (lambda o: lr_scheduler.LambdaLR(o, lambda t: 0.9**t), lambda t: 0.9**t),
    "multiplicative": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda t: 0.5), lambda t: 0.5**t),
    "step": (lambda o: lr_scheduler.StepLR(o, 3, gamma=0.5), lambda t: 0.5 ** (t // 3)),
    "milestones": (
        lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5], gamma=0.5),
        lambda t: 0.5 ** ((t >= 2) + 2 * (t >= 5)),
    ),
    "constant": (lambda o: lr_scheduler.ConstantLR(o, 0.5, 4), lambda t: 0.5 if t < 4 else 1.0),
    "linear": (
        lambda o: lr_scheduler.LinearLR(o, 0.2, 1.0, total_iters=4),
        lambda t: 0.2 + 0.8 * min(t, 4) / 4,
    ),
    "exponential": (lambda o: lr_scheduler.ExponentialLR(o, 0.7), lambda t: 0.7**t),
    "polynomial": (lambda o: lr_scheduler.PolynomialLR(o, 5, power=2.0), lambda t: (1 - min(t, 5) / 5) ** 2),
    "cosine": (lambda o: lr_scheduler.CosineAnnealingLR(o, 4, eta_min=0.1), cosine),
}


def optimizer_at(rate=1.0):
    return SGD([gradcli.zeros(1, requires_grad=True)], lr=rate)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates(name):
    make, expected = SCHEDULES[name]
    optimizer = optimizer_at()
    schedule = make(optimizer)
    for t in EPOCHS:
        assert optimizer.param_groups[0]["lr"] == schedule.get_last_lr()[0] == pytest.approx(expected(t), abs=1e-12)
        schedule.step()


def test_plateau():
    optimizer = optimizer_at()
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    rates = []
    for loss in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0):
        schedule.step(gradcli.tensor(loss, requires_grad=True) * 1)
        rates.append(schedule.get_last_lr()[0])
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_state():
    first, second = (lr_scheduler.StepLR(optimizer_at(), 2) for _ in range(2))
    first.step()
    second.load_state_dict(first.state_dict())
    assert second.last_epoch == 1
    with pytest.raises(TypeError, match="is not an Optimizer"):
        lr_scheduler.StepLR(None, 2)
    with pytest.raises(AttributeError, match="nearest: StepLR"):
        lr_scheduler.SteplR()
