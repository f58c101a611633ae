"""Relatives of Adam, L-BFGS and schedules that go up and down, against their formulas."""

import math

import numpy as np
import pytest

import gradcli
from gradcli.optim import ASGD, LBFGS, SGD, Adam, Adamax, NAdam, RAdam, Rprop, lr_scheduler

from .test_optim import GRADS, steps_of

B1, B2, EPS = 0.9, 0.999, 1e-8


def moments(grads):
    """Yield (t, g, mean, mean of squares) after each gradient."""
    m = v = 0.0
    for t, g in enumerate(grads, 1):
        m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g * g
        yield t, g, m, v


def adamax(lr):
    x, u, places = 1.0, 0.0, []
    for t, g, m, _ in moments(GRADS):
        u = max(B2 * u, abs(g) + EPS)
        x -= lr / (1 - B1**t) * m / u
        places.append(x)
    return places


def nadam(lr, decay=4e-3):
    x, product, places = 1.0, 1.0, []
    for t, g, m, v in moments(GRADS):
        now, after = (B1 * (1 - 0.5 * 0.96 ** ((t + i) * decay)) for i in (0, 1))
        product *= now
        root = math.sqrt(v / (1 - B2**t)) + EPS
        x -= lr * ((1 - now) / (1 - product) * g + after / (1 - product * after) * m) / root
        places.append(x)
    return places


def radam(grads, lr):
    x, most, places = 1.0, 2 / (1 - B2) - 1, []
    for t, _, m, v in moments(grads):
        length = most - 2 * t * B2**t / (1 - B2**t)
        step = m / (1 - B1**t)
        if length > 5:
            known = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            step *= math.sqrt(known) * math.sqrt(1 - B2**t) / (math.sqrt(v) + EPS)
        x -= lr * step
        places.append(x)
    return places


def asgd(lr, lambd=0.1, alpha=0.75):
    x, places = 1.0, []
    for t, g in enumerate(GRADS):
        eta = lr / (1 + lambd * lr * t) ** alpha
        x = x * (1 - lambd * eta) - eta * g
        places.append(x)
    return places


def rprop(lr):
    x, size, before, places = 1.0, lr, 0.0, []
    for g in GRADS:
        turned = g * before
        size *= 1.2 if turned > 0 else 0.5 if turned < 0 else 1
        g = 0.0 if turned < 0 else g
        x -= size * ((g > 0) - (g < 0))
        before = g
        places.append(x)
    return places


STEPS = {
    "Adamax": (lambda p: Adamax(p, lr=0.1), adamax(0.1)),
    "NAdam": (lambda p: NAdam(p, lr=0.1), nadam(0.1)),
    "RAdam": (lambda p: RAdam(p, lr=0.1), radam(GRADS, 0.1)),
    "ASGD": (lambda p: ASGD(p, lr=0.1, lambd=0.1), asgd(0.1)),
    "Rprop": (lambda p: Rprop(p, lr=0.1), rprop(0.1)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    make, wanted = STEPS[name]
    assert steps_of(make) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_a_state_goes_on_where_it_was(name):
    make, wanted = STEPS[name]
    p = gradcli.tensor(1.0, requires_grad=True, dtype=gradcli.float64)
    optimizer = make([p])
    for g, place in zip(GRADS, wanted, strict=True):
        p.grad = gradcli.tensor(g, dtype=gradcli.float64)
        optimizer.step()
        assert p.item() == pytest.approx(place)
        state, optimizer = optimizer.state_dict(), make([p])
        optimizer.load_state_dict(state)


def test_radam_divides_once_the_squares_are_known():
    p = gradcli.tensor(1.0, requires_grad=True, dtype=gradcli.float64)
    optimizer, grads = RAdam([p], lr=0.1), [math.cos(t) for t in range(12)]
    for g, place in zip(grads, radam(grads, 0.1), strict=True):
        p.grad = gradcli.tensor(g, dtype=gradcli.float64)
        optimizer.step()
        assert p.item() == pytest.approx(place)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: Adamax(p, lr=-1), ValueError, "^Invalid learning rate: -1$"),
        (lambda p: NAdam(p, momentum_decay=-1), ValueError, "^Invalid momentum_decay value: -1$"),
        (lambda p: Rprop(p, etas=(2, 0.5)), ValueError, "^Invalid eta values: 2, 0.5$"),
        (lambda p: NAdam(p, betas=(0.9, 1.0)), ValueError, "index 1"),
        (lambda p: RAdam(p, rate=1), TypeError, "unexpected keyword argument 'rate'"),
        (lambda p: LBFGS(p, line_search_fn="strong_wolfe"), RuntimeError, "line_search_fn"),
        (lambda p: LBFGS(p).step(), TypeError, "closure"),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make([gradcli.zeros(1, requires_grad=True)])


def test_lbfgs_finds_the_minimum_of_a_quadratic():
    a, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    x = gradcli.zeros(2, dtype=gradcli.float64, requires_grad=True)
    optimizer = LBFGS([x], max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = 0.5 * x @ gradcli.tensor(a) @ x - gradcli.tensor(b) @ x
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0
    np.testing.assert_allclose(x.detach(), np.linalg.solve(a, b), atol=1e-6)
    assert optimizer.state[x]["n_iter"] < 15


def test_the_first_step_of_lbfgs_is_at_most_one_long():
    x = gradcli.tensor([3.0, -4.0], dtype=gradcli.float64, requires_grad=True)
    optimizer = LBFGS([x], lr=0.5, max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = (x**2).sum() / 2
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(x.detach(), [3 - 0.5 * 3 / 7, -4 + 0.5 * 4 / 7])  # lr / |g|_1


def cosine(start, end, part):
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


RATES = {
    "one cycle": (
        lambda o: lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=11, pct_start=0.5, div_factor=10),
        lambda t: cosine(0.1, 1, t / 4.5) if t <= 4.5 else cosine(1, 1e-5, (t - 4.5) / 5.5),
    ),
    "linear cycle": (
        lambda o: lr_scheduler.OneCycleLR(
            o, 1.0, epochs=11, steps_per_epoch=1, pct_start=0.5, div_factor=10, anneal_strategy="linear"
        ),
        lambda t: 0.1 + 0.9 * t / 4.5 if t <= 4.5 else 1 + (1e-5 - 1) * (t - 4.5) / 5.5,
    ),
    "triangle": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.1, step_size_up=2, step_size_down=3),
        lambda t: [0.1, 0.6, 1.1, 0.1 + 2 / 3, 0.1 + 1 / 3][t % 5],
    ),
    "lower triangles": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.1, step_size_up=2, mode="triangular2"),
        lambda t: 0.1 + [0, 0.5, 1, 0.5][t % 4] * 0.5 ** (t // 4),
    ),
    "restarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, T_mult=2),
        lambda t: cosine(1, 0, t / 2) if t < 2 else cosine(1, 0, (t - 2) / 4) if t < 6 else cosine(1, 0, (t - 6) / 8),
    ),
    "chained": (
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)]
        ),
        lambda t: 0.9**t * (0.1 if t < 2 else 1),
    ),
    "in turn": (
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.ConstantLR(o, 0.1, 9), lr_scheduler.ExponentialLR(o, 0.9)], milestones=[3]
        ),
        lambda t: 0.1 if t < 3 else 0.9 ** (t - 3),
    ),
}


@pytest.mark.parametrize("name", RATES)
def test_rates(name):
    make, expected = RATES[name]
    optimizer = SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    schedule = make(optimizer)
    for t in range(9):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(expected(t), abs=1e-12)
        schedule.step()


def test_momenta_move_against_rates():
    optimizer = Adam([gradcli.zeros(1, requires_grad=True)])
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=5, pct_start=0.6)
    found = []
    for _ in range(4):
        found.append(optimizer.param_groups[0]["betas"][0])
        schedule.step()
    assert found == pytest.approx([0.95, 0.9, 0.85, 0.9])


def test_beginning_anew():
    optimizer = SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    schedule.step(3)
    assert schedule.get_last_lr() == [0.125]
    restarts = lr_scheduler.CosineAnnealingWarmRestarts(SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0), 2)
    restarts.step(2.5)
    assert restarts.get_last_lr()[0] == pytest.approx(cosine(1, 0, 0.25))
