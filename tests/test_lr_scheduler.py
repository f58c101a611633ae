"""Schedules of learning rates."""

import gradcli
from gradcli.optim import SGD, lr_scheduler


def optimizer_at(rate=1.0):
    return SGD([gradcli.zeros(1, requires_grad=True)], lr=rate)


def test_rates():
    optimizer = optimizer_at()
    schedule = lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    for t in range(9):
        assert optimizer.param_groups[0]["lr"] == schedule.get_last_lr()[0] == 0.5 ** (t // 3)
        schedule.step()
