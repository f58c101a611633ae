"""Optimizers: their steps against formulas in plain numbers, their groups, and schedules."""

import math

import pytest

import gradcli
from gradcli.optim import SGD, Adam, AdamW, lr_scheduler

GRADS = [0.5, -2.0, 1.5, 0.25]


def sgd(grads, lr, momentum=0.0, dampening=0.0, decay=0.0, nesterov=False, sign=1):
    x, total, places = 1.0, None, []
    for g in grads:
        d = sign * g + decay * x
        if momentum:
            total = d if total is None else momentum * total + (1 - dampening) * d
            d = d + momentum * total if nesterov else total
        x -= lr * d
        places.append(x)
    return places


def adam(grads, lr, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, decoupled=False, sign=1):
    x, m, v, places = 1.0, 0.0, 0.0, []
    for t, g in enumerate(grads, 1):
        d = sign * g
        if decoupled:
            x *= 1 - lr * decay
        else:
            d += decay * x
        m, v = b1 * m + (1 - b1) * d, b2 * v + (1 - b2) * d * d
        x -= lr * m / (1 - b1**t) / (math.sqrt(v / (1 - b2**t)) + eps)
        places.append(x)
    return places


STEPS = {
    "SGD": (lambda p: SGD(p, lr=0.1), sgd(GRADS, 0.1)),
    "momentum": (lambda p: SGD(p, lr=0.1, momentum=0.9), sgd(GRADS, 0.1, 0.9)),
    "dampening": (lambda p: SGD(p, lr=0.1, momentum=0.9, dampening=0.3), sgd(GRADS, 0.1, 0.9, 0.3)),
    "decay": (lambda p: SGD(p, lr=0.1, momentum=0.5, weight_decay=0.2), sgd(GRADS, 0.1, 0.5, 0, 0.2)),
    "nesterov": (lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True), sgd(GRADS, 0.1, 0.9, nesterov=True)),
    "maximize": (lambda p: SGD(p, lr=0.1, maximize=True, weight_decay=0.1), sgd(GRADS, 0.1, decay=0.1, sign=-1)),
    "Adam": (lambda p: Adam(p, lr=0.1), adam(GRADS, 0.1)),
    "Adam settings": (
        lambda p: Adam(p, lr=0.1, betas=(0.5, 0.6), eps=0.1, weight_decay=0.2),
        adam(GRADS, 0.1, 0.5, 0.6, 0.1, 0.2),
    ),
    "Adam up": (lambda p: Adam(p, lr=0.1, maximize=True), adam(GRADS, 0.1, sign=-1)),
    "AdamW": (lambda p: AdamW(p, lr=0.1, weight_decay=0.5), adam(GRADS, 0.1, decay=0.5, decoupled=True)),
}


@pytest.mark.parametrize(("make", "wanted"), STEPS.values(), ids=STEPS)
def test_steps(make, wanted):
    """A parameter starts at 1."""
    p = gradcli.tensor([1.0], requires_grad=True)
    optimizer, places = make([p]), []
    for g in GRADS:
        p.grad = gradcli.tensor([g])
        optimizer.step()
        places.append(p.item())
    assert places == pytest.approx(wanted, rel=1e-12)


def test_groups_closures_and_gradients():
    x, y = gradcli.tensor(1.0, requires_grad=True), gradcli.tensor([2.0], requires_grad=True)
    optimizer = SGD([{"params": [x]}, {"params": y, "lr": 0.5}], lr=0.1)
    unused = gradcli.tensor(7.0, requires_grad=True)
    optimizer.add_param_group({"params": [unused], "momentum": 0.9})
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 0.1]

    def loss():
        optimizer.zero_grad()
        value = x * x + 3 * y.sum()
        value.backward()
        return value

    with gradcli.no_grad():
        assert optimizer.step(loss).item() == 7
    assert (x.item(), y.item(), unused.item()) == (0.8, 0.5, 7)
    optimizer.zero_grad(set_to_none=False)
    assert (x.grad.item(), unused.grad) == (0, None)
    optimizer.zero_grad()
    assert x.grad is None


def test_steps_are_changes_in_place():
    x = gradcli.tensor(2.0, requires_grad=True)
    y = x * x
    x.grad = gradcli.tensor(1.0)
    SGD([x], lr=1.0).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_the_rate_falls_by_steps():
    optimizer = SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    for t in range(9):
        assert optimizer.param_groups[0]["lr"] == schedule.get_last_lr()[0] == 0.5 ** (t // 3)
        schedule.step()


def test_printing():
    text = repr(SGD([gradcli.ones(1)], lr=0.1, momentum=0.9))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert text.endswith("    momentum: 0.9\n    nesterov: False\n    weight_decay: 0\n)")


def test_an_optimizer_of_ones_own_has_settings_of_its_own():
    class Sign(gradcli.optim.Optimizer):
        def update(self, data, grad, state, group):
            data += group["momentum"] * (grad > 0)

    x = gradcli.tensor(1.0, requires_grad=True)
    optimizer = Sign([x], {"momentum": -0.5, "eps": (1e-30, 1e-3), "weight_decay": None})
    x.backward()
    optimizer.step()
    assert x.item() == 0.5
