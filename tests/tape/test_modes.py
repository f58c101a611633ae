"""Grad modes: switches, and decorators of functions; observers."""

import threading

import pytest

import gradcli as g
from gradcli.tape.modes import Observer, observing

from .build import leaf


def test_generators_are_not_decorated():
    def numbers():
        yield 1

    for mode in (g.no_grad, g.no_grad(), g.set_grad_enabled(True)):
        with pytest.raises(TypeError, match=r"put `with .*:` inside numbers"):
            mode(numbers)


def call():
    return (g.ones(1, requires_grad=True) * 2).requires_grad


@pytest.mark.parametrize(
    "mode", [g.no_grad, g.no_grad(), g.inference_mode, lambda f: g.inference_mode(mode=f), g.inference_mode()]
)
def test_decorators_switch_recording_off(mode):
    assert mode(call)() is False
    assert call() is True


def test_set_grad_enabled_is_a_call_and_a_context():
    g.set_grad_enabled(False)
    assert not call()
    g.set_grad_enabled(True)
    with g.set_grad_enabled(False):
        assert not g.is_grad_enabled()
    assert g.is_grad_enabled()


def test_inference_mode_can_be_switched_off_and_leaves_no_mark():
    assert g.inference_mode(False)(call)() is True
    with g.inference_mode():
        made = g.ones(1).add_(1)
    assert (made * g.ones(1, requires_grad=True)).requires_grad


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
