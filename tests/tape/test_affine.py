"""The affine map in one step gives what its parts give, whatever kind of pass runs through it, in any order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradcli

RNG = np.random.default_rng(0)
DATA = [RNG.standard_normal(shape) for shape in ((4, 3), (3, 3), (3,))]
VECTORS = RNG.standard_normal((2, 4, 3))


def in_one_step(x, w, b):
    return gradcli.nn.functional.linear(x, w, b)


def in_parts(x, w, b):
    return x @ w.T + b


def passes(kinds, affine):
    """Run several passes over one graph and return all that they give."""
    leaves = [gradcli.tensor(x, requires_grad=True) for x in DATA]
    x, w, b = leaves
    y = affine(affine(x, w, b).tanh(), w, b)
    loss, found = (y * y).sum(), []
    for kind in kinds:
        if kind == "backward":
            loss.backward(retain_graph=True)
            found += [p.grad.clone() for p in leaves]
        elif kind == "second":
            first = gradcli.autograd.grad(loss, leaves, create_graph=True)
            found += gradcli.autograd.grad(sum((g * g).sum() for g in first), leaves, retain_graph=True)
        elif kind == "inputs":
            (first,) = gradcli.autograd.grad(loss, x, create_graph=True)
            ((first * first).sum() + loss).backward(retain_graph=True)
            found += [p.grad.clone() for p in leaves]
        elif kind == "batched":
            vectors = gradcli.tensor(VECTORS)
            found += gradcli.autograd.grad(y, leaves, vectors, retain_graph=True, is_grads_batched=True)
        else:
            y.grad_fn.next_functions  # noqa: B018 - looking is what matters
    return [g.detach().numpy() for g in found]


@pytest.mark.parametrize(
    "kinds", list(itertools.permutations(["backward", "second", "inputs", "batched", "look"])), ids="-".join
)
def test_all_passes_agree_with_the_parts(kinds):
    for got, wanted in zip(passes(kinds, in_one_step), passes(kinds, in_parts), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_the_graph_is_that_of_pytorch():
    x, w, b = (gradcli.tensor(x, requires_grad=True) for x in DATA)
    out = in_one_step(x, w, b)
    node = out.grad_fn
    turn = node.next_functions[2][0]
    assert [parent.name() for parent, _ in node.next_functions] == ["AccumulateGrad", "AccumulateGrad", "TBackward0"]
    assert (node.name(), turn.next_functions[0][0].variable is w) == ("AddmmBackward0", True)
    seen = []
    node.register_hook(lambda grads, _: seen.append([tuple(g.shape) for g in grads]))
    turn.register_hook(lambda grads, outs: seen.append(grads[0].tolist() == outs[0].T.tolist()))
    out.sum().backward()
    assert seen == [[(3,), (4, 3), (3, 3)], True]
    np.testing.assert_allclose(w.grad.numpy(), np.ones((3, 4)) @ DATA[0])


@pytest.mark.parametrize("place", [0, 2])
def test_the_user_may_look_first_while_backward_is_on_its_way(place):
    leaves = [gradcli.tensor(x, requires_grad=True) for x in DATA]
    x, w, b = leaves
    inner = in_one_step(x, w, b)
    outer = in_one_step(inner.tanh(), w, b)
    seen = []
    (inner, outer)[place // 2].register_hook(lambda g: seen.append(inner.grad_fn.next_functions[2][0].name()))
    got = gradcli.autograd.grad((outer * outer).sum(), leaves)
    again = in_parts(in_parts(x, w, b).tanh(), w, b)
    for g, wanted in zip(got, gradcli.autograd.grad((again * again).sum(), leaves), strict=True):
        np.testing.assert_allclose(g.numpy(), wanted.numpy(), rtol=1e-10)
    assert seen == ["TBackward0"]


def test_what_is_saved_is_the_transpose_as_in_pytorch():
    x, w, b = (gradcli.tensor(x, requires_grad=True) for x in DATA)
    node = in_one_step(x, w, b).grad_fn
    assert node._saved_mat1.tolist() == x.tolist()
    assert node._saved_mat2.tolist() == w.T.tolist()


def test_forward_mode_and_types():
    x, w, b = (gradcli.tensor(x) for x in DATA)
    for i in range(3):
        forth = gradcli.func.jacfwd(in_one_step, i)(x, w, b)
        np.testing.assert_allclose(forth.numpy(), gradcli.func.jacrev(in_parts, i)(x, w, b).numpy(), atol=1e-12)
    single = [gradcli.tensor(x, dtype=gradcli.float32, requires_grad=True) for x in DATA]
    in_one_step(*single).sum().backward()
    assert {p.grad.dtype for p in single} == {gradcli.float32}
    with gradcli.no_grad():
        assert not in_one_step(*single).requires_grad
    complex_ones = [gradcli.tensor(x + 1j * x, requires_grad=True) for x in DATA]
    in_one_step(*complex_ones).abs().sum().backward()
    assert complex_ones[1].grad.dtype == gradcli.complex128


@pytest.mark.parametrize("wanted", [True, False])
def test_changes_in_place_are_noticed(wanted):
    x, w, b = (gradcli.tensor(x, requires_grad=True) for x in DATA)
    y = in_one_step(x * 1, w.requires_grad_(wanted), b)
    with gradcli.no_grad():
        w.add_(1)
    origin = ", which is output 0 of AsStrided," if wanted else ""
    with pytest.raises(
        RuntimeError, match=rf"modified by an inplace operation: \[.*\[3, 3\]\]{origin} is at version 1"
    ):
        y.sum().backward()


def test_large_nodes_say_that_they_were_freed():
    x = gradcli.ones(200, 200, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 2, 16, 32, 33, 61, 62, 300])
@pytest.mark.parametrize(
    "size",
    [(256, 255), (256, 256), (256, 260), (512, 64), (500, 65), (64, 512), (128, 63)],
    ids="{0[0]}x{0[1]}".format,
)
def test_values_and_gradients_of_large_layers_are_products(rows, size, dtype):
    x, vector = (RNG.standard_normal((rows, n)).astype(dtype) for n in size[::-1])
    leaves = [gradcli.tensor(RNG.standard_normal(shape), dtype=dtype) for shape in (size, size[:1])]
    w, b = (leaf.requires_grad_() for leaf in leaves)
    y = in_one_step(gradcli.tensor(x), w, b)
    y.backward(gradcli.tensor(vector))
    near = {"rtol": 1e-4, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(y.detach().numpy(), x @ w.detach().numpy().T + b.detach().numpy(), **near)
    np.testing.assert_allclose(w.grad.numpy(), vector.T @ x, **near)
    assert w.grad.numpy().flags.c_contiguous
