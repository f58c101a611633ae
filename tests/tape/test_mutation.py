"""Saved tensors that are changed in place where that is allowed, and elements of broadcast gradients."""

from __future__ import annotations

import pytest

import gradcli as g
from gradcli.autograd import Function, grad
from gradcli.autograd.graph import allow_mutation_on_saved_tensors


def leaf(*numbers):
    return g.tensor(numbers, dtype=g.double, requires_grad=True)


def whole(a):
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    return out


def through_a_view(a):
    b = a.clone()
    out = (b**2).sum()
    b[:1].mul_(10)
    return out


def its_base(a):
    b = a.clone()
    out = (b[:] ** 2).sum()
    b[0] = 7
    return out


@pytest.mark.parametrize("program", [whole, through_a_view, its_base])
def test_backward_sees_the_old_values(program):
    a = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        program(a).backward()
    with allow_mutation_on_saved_tensors() as kept:
        out = program(a)
        assert len(kept.cloned) == 1
        assert grad(out, a, create_graph=True)[0].tolist() == [2.0, 4.0]
        out.backward()
        assert len(kept.cloned) == 0
    assert a.grad.tolist() == [2.0, 4.0]


def test_copies_are_made_once_and_only_where_needed():
    with allow_mutation_on_saved_tensors() as kept:
        a = leaf(1.0, 2.0).clone()
        b, c = a**2, a**3
        a.sin_()
        assert len(kept.cloned) == 1
        d = a**2
        a.sin_()
        assert len(kept.cloned) == 2
        del b, c
        assert len(kept.cloned) == 1
        del d
        a.sin_()
        assert len(kept.cloned) == 0


def test_both_passes_run_inside_of_one_context():
    a = leaf(1.0)
    with allow_mutation_on_saved_tensors():
        out = a**2
        with pytest.raises(RuntimeError, match="cannot be nested"), allow_mutation_on_saved_tensors():
            pass
    with pytest.raises(AssertionError, match="Trying to backward outside of the"):
        out.backward()


def test_elements_of_a_broadcast_gradient_can_be_written_in_backward():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, grad):
            result = grad.clone().expand(3)
            result[0] = 0
            result[0] += 5
            return result

    x = leaf(1.0, 2.0, 3.0)
    First.apply(x).backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]
