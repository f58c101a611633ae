"""Steps of optimizers against formulas in plain Python; nn/training.txt tests groups and schedules."""

import math

import pytest

import gradcli
from gradcli.optim import SGD, Adagrad, Adam, AdamW, RMSprop

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


def rmsprop(grads, lr, alpha=0.99, eps=1e-8, momentum=0.0, centered=False):
    x, squares, mean, total, places = 1.0, 0.0, 0.0, 0.0, []
    for g in grads:
        squares, mean = alpha * squares + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
        total = momentum * total + g / (math.sqrt(squares - centered * mean * mean) + eps)
        x -= lr * total
        places.append(x)
    return places


def adagrad(grads, lr, fall=0.0, start=0.0, eps=1e-10):
    x, total, places = 1.0, start, []
    for t, g in enumerate(grads):
        total += g * g
        x -= lr / (1 + t * fall) * g / (math.sqrt(total) + eps)
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
    "RMSprop": (lambda p: RMSprop(p, 0.1, 0.9), rmsprop(GRADS, 0.1, 0.9)),
    "RMSprop centered": (
        lambda p: RMSprop(p, lr=0.1, momentum=0.5, centered=True),
        rmsprop(GRADS, 0.1, momentum=0.5, centered=True),
    ),
    "Adagrad": (Adagrad, adagrad(GRADS, 0.01)),
    "Adagrad settings": (lambda p: Adagrad(p, 0.1, 0.5, initial_accumulator_value=0.2), adagrad(GRADS, 0.1, 0.5, 0.2)),
}


@pytest.mark.parametrize(("make", "wanted"), STEPS.values(), ids=STEPS)
def test_steps(make, wanted):
    """The parameter starts at 1, as in the formulas."""
    p = gradcli.tensor([1.0], requires_grad=True)
    optimizer, places = make([p]), []
    for g in GRADS:
        p.grad = gradcli.tensor([g])
        optimizer.step()
        places.append(p.item())
    assert places == pytest.approx(wanted, rel=1e-12)


def test_a_custom_optimizer_may_have_its_own_settings():
    class Sign(gradcli.optim.Optimizer):
        def update(self, data, grad, state, group):
            data += group["momentum"] * (grad > 0)

    x = gradcli.tensor(1.0, requires_grad=True)
    optimizer = Sign([x], {"momentum": -0.5, "eps": (1e-30, 1e-3), "weight_decay": None})
    x.backward()
    optimizer.step()
    assert x.item() == 0.5
