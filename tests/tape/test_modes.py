"""Grad modes as decorators: generators and classes."""

from __future__ import annotations

import pytest

import gradcli as g


@pytest.mark.parametrize("mode", [g.no_grad, g.enable_grad])
def test_a_generator_runs_in_its_mode_whatever_reaches_it(mode):
    inside, seen = mode is g.enable_grad, []

    @mode()
    def numbers():
        total = 0
        try:
            while True:
                try:
                    seen.append(g.is_grad_enabled())
                    total += (yield total) or 0
                except KeyError:
                    seen.append(g.is_grad_enabled())
                    total = -1
        finally:
            seen.append(g.is_grad_enabled())

    with g.set_grad_enabled(not inside):
        steps = numbers()
        assert [next(steps), steps.send(5), steps.throw(KeyError("now")), next(steps)] == [0, 5, -1, -1]
        assert g.is_grad_enabled() is not inside
        with pytest.raises(ZeroDivisionError):
            steps.throw(ZeroDivisionError())
        steps = numbers()
        next(steps)
        steps.close()
    assert set(seen) == {inside}


def test_a_decorated_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @g.no_grad()
        class Thing:
            def __init__(self):
                self.mode = g.is_grad_enabled()

    assert Thing().mode is False


def test_tensors_made_in_inference_mode():
    x = g.ones(2, requires_grad=True)
    normal = x * 1
    with g.inference_mode():
        made = g.ones(2)
        leaf = g.ones(2, requires_grad=True)
        result = leaf * x
        view, part = normal[:1], made[:1]
        made.add_(1)
        normal.add_(1)
    assert [g.is_inference(t) for t in (made, leaf, result, part, made[:1], made.detach())] == [True] * 6
    assert [t.is_inference() for t in (x, normal, view, made * 1, normal.detach())] == [False] * 5
    assert leaf.requires_grad
    assert not result.requires_grad
    with pytest.raises(RuntimeError, match="do not track version"):
        made._version  # noqa: B018
    for target in (made, made[:1]):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            target.add_(1)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            target[0] = 3
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
        made.requires_grad_()
    with pytest.raises(RuntimeError, match="created in inference mode"):
        view.add_(1)
    assert (made.clone().requires_grad_() * 2).grad_fn is not None
    assert not g.ones(1).is_inference()


def test_inference_mode_decorates_in_all_its_forms():
    def call():
        return g.is_inference_mode_enabled()

    forms = [g.inference_mode(call), g.inference_mode(mode=call), g.inference_mode()(call)]
    assert [form() for form in forms] == [True] * 3
    assert g.inference_mode(False)(call)() is False
