"""Every entry of the table, forward and batched, compared with its reverse mode and with a loop."""

import zlib

import numpy as np
import pytest

from gradcli import func
from gradcli.tape.tensor import Tensor
from tests.rules.calls import calls
from tests.rules.per_entry import per_entry

CALLS = [call for call in calls() if call.arrays]
SIZES = (3, 5)
"""Batch sizes: one equals a length in the samples, one does not."""


def rng_for(call):
    return np.random.default_rng(zlib.crc32(repr(call).encode()))


def tensors(arrays):
    return tuple(Tensor._wrap(np.array(x), None) for x in arrays)


def raw(x):
    return np.asarray(x.detach()._data)


def outputs(result):
    return result if isinstance(result, tuple) else (result,)


@per_entry(CALLS)
def test_forward_mode_is_the_transpose_of_reverse_mode(call):
    rng = rng_for(call)
    primals = tensors(call.arrays)
    tangents = tensors(rng.normal(size=x.shape) for x in call.arrays)
    out, product = func.jvp(lambda *xs: call.on(list(xs)), primals, tangents)
    vectors = tensors(rng.normal(size=o.shape) for o in outputs(out))
    _, pull = func.vjp(lambda *xs: call.on(list(xs)), *primals)
    back = pull(vectors if isinstance(out, tuple) else vectors[0])
    forward = sum(np.vdot(raw(v), raw(p)) for v, p in zip(vectors, outputs(product), strict=True))
    reverse = sum(np.vdot(raw(g), raw(t)) for g, t in zip(back, tangents, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-11)


@per_entry(CALLS)
def test_many_points_at_once_equal_a_loop(call):
    rng = rng_for(call)
    everything = (True,) * len(call.arrays)
    single = [tuple(i == j for j in range(len(call.arrays))) for i in range(len(call.arrays))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradcli.func.mapping.loop_over_points", refuse_loop)
        for size, chosen in [(SIZES[1], everything), *((SIZES[0], chosen) for chosen in {everything, *single})]:
            arrays = [
                np.stack([x] * size) + 0.001 * rng.random((size, *x.shape)) if many else x
                for x, many in zip(call.arrays, chosen, strict=True)
            ]
            check_batch(call, arrays, chosen, size)


def refuse_loop(func, *_):
    raise AssertionError(f"{func} is called point by point")


def check_batch(call, arrays, chosen, size):
    dims = tuple(0 if many else None for many in chosen)
    result = func.vmap(lambda *xs: call.on(list(xs)), dims)(*tensors(arrays))
    for k, out in enumerate(outputs(result)):
        loop = []
        for i in range(size):
            point = [x[i] if many else x for x, many in zip(arrays, chosen, strict=True)]
            loop.append(raw(outputs(call.on(list(tensors(point))))[k]))
        np.testing.assert_allclose(raw(out), np.stack(loop), rtol=1e-10, atol=1e-12)


@per_entry(CALLS)
def test_jacobians_agree_in_both_modes_and_with_a_batch(call):
    primals = tensors(call.arrays)
    places = tuple(range(len(primals)))

    def f(*xs):
        return call.on(list(xs))

    reverse = func.jacrev(f, places)(*primals)
    forward = func.jacfwd(f, places)(*primals)
    compare(reverse, forward)
    batch = tensors(np.stack([x, x]) for x in call.arrays)
    compare(func.vmap(func.jacrev(f, places))(*batch), reverse, lead=True)
    compare(func.vmap(func.jacfwd(f, places))(*batch), reverse, lead=True)


def compare(got, wanted, lead=False):
    if isinstance(got, tuple):
        for a, b in zip(got, wanted, strict=True):
            compare(a, b, lead)
        return
    expected = raw(wanted)
    np.testing.assert_allclose(raw(got), np.stack([expected] * 2) if lead else expected, rtol=1e-9, atol=1e-10)
