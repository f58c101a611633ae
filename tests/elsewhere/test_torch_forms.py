"""Forms of calls that PyTorch accepts and programs seldom use: values and gradients are PyTorch's."""

import numpy as np
import pytest

import gradcli
import gradcli.linalg
import gradcli.nn.functional

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(3)
NAMES = {
    "s": RNG.standard_normal(()),
    "v": RNG.standard_normal(5),
    "A": RNG.standard_normal((5, 5)),
    "B": RNG.standard_normal((2, 3)),
    "P": RNG.standard_normal((1, 3, 4, 4)),
    "E": np.zeros((0, 3, 3)),
    "one": np.array([0.7]),
}
INDICES = {"i": np.array([0]), "j": np.array(0), "f": np.array([1, 2, 3]), "w": np.float32([0.3, 0.9, 0.7])}
FORMS = [
    "m.gather(s, 0, i)",
    "m.gather(s, 0, j)",
    "m.scatter(s, 0, j, s * 2)",
    "m.scatter(s, 0, j, 2.5)",
    "m.scatter_add(s, -1, j, s)",
    "m.scatter_reduce(s, 0, j, s * 3, 'prod')",
    "m.scatter_reduce(s, 0, j, s * 3, 'mean', include_self=False)",
    "m.index_select(s, 0, i)",
    "m.index_add(s, 0, i, s, alpha=2)",
    "m.index_copy(s, 0, i, s * 2)",
    "m.index_fill(s, 0, i, 3.0)",
    "m.quantile(s, 0.5, dim=0)",
    "m.nanquantile(s, 0.5, dim=-1, keepdim=True)",
    "m.all(s, dim=0)",
    "m.any(s, dim=-1)",
    "m.count_nonzero(s, dim=0)",
    "m.nonzero(s)",
    "m.nonzero(s, as_tuple=True)",
    "m.atleast_1d((A, v, s))",
    "m.atleast_2d(v, s)",
    "m.atleast_3d((B, s))",
    "m.cov(B, aweights=w)",
    "m.cov(B, fweights=f, correction=0)",
    "m.diff(A, 0, 0, A[:1], A[:2])",
    "m.diff(A, 1, 1, A[:, :1], A[:, :2])",
    "m.gradient(v, spacing=None)",
    "m.gradient(A, spacing=None, edge_order=2)",
    "m.nn.functional.prelu(s, one)",
    "m.nn.functional.pad(A, (-1, -2, 1, 1), 'constant', 2.0)",
    "m.nn.functional.pad(P, (-4, 5, 0, 0), 'replicate')",
    "m.nn.functional.pad(P, (2, -1), 'constant')",
    "m.nn.functional.pad(P, (1, 2, 3, 0), 'circular')",
    "m.nn.functional.pad(E, (1, 2), 'reflect')",
    "m.norm(A, 'nuc')",
    "m.norm(P, 'nuc', (1, 3), keepdim=True)",
    "m.tensordot(A[:1, :1], A, dims=([0, 1], [1, 0]))",
    "m.nn.functional.batch_norm(A[:0, 0], A[:0, 0], A[:0, 0], training=True)",
    "m.linalg.lstsq(A, B.T.sum() * A, driver='gels')[0]",
    "m.searchsorted(v.sort()[0], A)",
    "m.searchsorted(A.sort(-1)[0], A, right=True)",
    "m.searchsorted(v, v, sorter=m.argsort(v), out_int32=True)",
    "m.searchsorted(E[:, :, 0], E[:, :2, 0])",
    "m.searchsorted(A[:0, :0], A[:0, :0], side='right')",
]


def flat(x):
    return [t for part in x for t in flat(part)] if isinstance(x, tuple | list) else [x]


def computed(module, text, tensor, run_backward):
    """Return the results and the gradients of their weighted sum."""
    leaves = {name: tensor(x).requires_grad_() for name, x in NAMES.items()}
    given = {**leaves, **{name: tensor(x) for name, x in INDICES.items()}, "m": module}
    results = flat(eval(text, given))
    floating = [x for x in results if x.requires_grad]
    arrays = [x.detach().numpy() for x in results]
    if not floating:
        return arrays, []
    total = sum((x * tensor(np.cos(np.arange(x.numel())).reshape(tuple(x.shape)))).sum() for x in floating)
    if not total.requires_grad:
        return arrays, []
    grads = run_backward(total, list(leaves.values()), allow_unused=True)
    return arrays, [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(grads, leaves.values(), strict=True)]


@pytest.mark.parametrize("text", FORMS)
def test_forms_agree_with_torch(text):
    ours = computed(gradcli, text, gradcli.tensor, gradcli.autograd.grad)
    theirs = computed(torch, text, torch.tensor, torch.autograd.grad)
    for got, want in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        assert got.shape == want.shape and got.dtype.kind == want.dtype.kind
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-9)
