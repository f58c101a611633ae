"""What backward frees, how far it reaches, and what it does without: threads, memory, large tensors."""

import threading
import warnings
import weakref

import numpy as np
import pytest

import gradcli
from gradcli.autograd import grad
from gradcli.tape.modes import Observer, observing

from .build import leaf


def test_saved_memory_goes_during_backward(no_collector):
    y = leaf([1.0] * 10).exp()
    middle = weakref.ref(y._data)
    z = y.sin().sum()
    del y
    assert middle() is not None
    z.backward()
    assert middle() is None


def test_what_no_rule_needs_is_not_kept():
    y = leaf([1.0] * 10) * 2.0
    kept = weakref.ref(y._data)
    z = (y + 1).sum()
    del y
    assert kept() is None
    assert z.requires_grad


def test_graphs_hold_no_reference_cycles(no_collector):
    x = leaf(1.0, 1.0, 1.0)
    y = (x.exp() * x).sum()
    y.backward()
    gone = weakref.ref(y._node)
    del x, y
    assert gone() is None


def test_recording_is_a_matter_of_each_thread():
    x = leaf(1.0)
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with gradcli.no_grad():
            entered.set()
            leave.wait(10)
            seen.append((x * 2).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    assert (x * 2).requires_grad
    leave.set()
    thread.join()
    assert seen == [False]


LARGE_PROGRAMS = {
    "sigmoid": gradcli.sigmoid,
    "exp": gradcli.exp,
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    "quotient": lambda x: 1 / (x * x + 1),
    "constant": lambda x: 3 - x,
}


@pytest.mark.parametrize("function", LARGE_PROGRAMS.values(), ids=LARGE_PROGRAMS)
def test_second_derivatives_of_large_tensors(function):
    numbers = np.linspace(-2, 2, 20_000)
    seconds = []
    for x in (numbers, numbers[:10]):
        t = gradcli.tensor(x, requires_grad=True)
        (first,) = grad((function(t) * t).sum(), t, create_graph=True)
        seconds.append(np.asarray(grad(first.sum(), t)[0]))
    assert np.allclose(seconds[0][:10], seconds[1])


UNREAD = {
    **{name: (name, "x") for name in "exp exp2 expm1 sqrt rsqrt reciprocal tanh sigmoid tan".split()},
    "softmax": (lambda a: a.softmax(0), "x"),
    "log_softmax": (lambda a: a.log_softmax(0), "x"),
    "erfinv": (gradcli.erfinv, "out"),
    "log": ("log", "out"),
    "sin": ("sin", "out"),
    "a / 2": (lambda a: a / 2, "x out"),
    "2 / a": (lambda a: 2 / a, "out"),
    "a / a.exp()": (lambda a: a / a.exp(), "out"),
    "a / (a + 1)": (lambda a: a / (a + 1), "out"),
    "tensor(2) / a": (lambda a: gradcli.tensor(2.0) / a, "out"),
}
"""What PyTorch lets change in place before backward: the operand, the result."""


@pytest.mark.parametrize("function, changed", UNREAD.values(), ids=UNREAD)
def test_what_the_rule_does_not_read_may_change(function, changed):
    def slope(which):
        x = leaf(0.3, 0.6)
        a = x * 1
        out = getattr(a, function)() if isinstance(function, str) else function(a)
        weighted = out * gradcli.tensor([1.0, 5.0])
        if which:
            (a if which == "x" else out).mul_(2)
        return gradcli.autograd.grad(weighted.sum(), x)[0].numpy()

    for which in changed.split():
        assert slope(which) == pytest.approx(slope(""), rel=1e-14)


def test_h1_a_hook_may_be_print(x, capsys):
    y = 2 * x
    y.register_hook(print)
    gradcli.mean(y).backward()
    assert capsys.readouterr().out == "tensor([0.5000, 0.5000])\n"
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("pairs", [20_000, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_s5_chains_of_a_million_operations(pairs):
    x = leaf(1.0)
    y = x
    for _ in range(pairs):
        y = y * 1.0000001 + 1e-9
    y.backward()
    assert x.grad.item() == pytest.approx(1.0000001**pairs)
    del y


def test_no_warning_comes_from_the_engine_itself():
    x = leaf(0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x**2).sqrt().sum().backward()
    assert np.isnan(x.grad.numpy()[0])


@pytest.mark.parametrize("count", [15, 255, 300])
def test_dead_views_are_seldom_swept_from_among_many_living_ones(count):
    base = gradcli.zeros(count)
    views = list(base)
    sweeps = 0
    for _ in range(4 * count):
        before = len(base._views)
        base[0]
        sweeps += len(base._views) <= before
    assert sweeps <= 4
    assert len(views) <= len(base._views) <= 4 * count


def test_observers_take_note_in_every_thread_and_only_while_in_force():
    class Seen(Observer):
        def __init__(self):
            self.what = []

        def see_leaf(self, tensor):
            self.what.append("leaf")

        def see_backward(self, kind, outputs):
            self.what.append(kind)

    seen = Seen()
    with observing(seen):
        thread = threading.Thread(target=lambda: leaf(1.0).sin().backward())
        thread.start()
        thread.join()
    leaf(1.0).sin().backward()
    assert seen.what == ["leaf", "backward"]
