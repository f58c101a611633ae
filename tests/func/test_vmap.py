"""vmap where the mapped function takes gradients, draws numbers, or looks at its values."""

import pytest

import gradcli
from gradcli.func import vmap
from gradcli.func.mapping import loops


def test_one_pass_serves_all_vectors_that_vmap_maps_over():
    x = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    rows = vmap(lambda v: gradcli.autograd.grad(y, x, v)[0])(gradcli.eye(3))
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


@pytest.mark.parametrize(("randomness", "count"), [("different", 100), ("same", 2)])
def test_vmap_draws_different_numbers_where_it_is_asked_to(randomness, count):
    drawn = vmap(lambda x: x + gradcli.rand(2), randomness=randomness)(gradcli.zeros(50))
    assert len(set(drawn.reshape(-1).tolist())) == count


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.item(), r"vmap: It looks like you're calling .item\(\) on a Tensor"),
        (lambda x: x if x > 0 else -x, "data-dependent control flow"),
        (lambda x: x + gradcli.rand(1), "called random operation while in randomness error mode"),
    ],
)
def test_vmap_refuses_what_pytorch_refuses_where_that_is_asked_for(monkeypatch, function, text):
    monkeypatch.setattr(loops, "allowed", False)
    with pytest.raises(RuntimeError, match=text):
        vmap(function)(gradcli.ones(3))
