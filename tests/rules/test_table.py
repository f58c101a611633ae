"""Run every check on every entry of the table."""

import numpy as np
from numpy.testing import assert_allclose

from gradcli.rules.table import BY_NUMPY
from gradcli.tape.backward import grad
from gradcli.tape.tensor import Tensor

from .calls import Call, calls, numeric_gradient
from .per_entry import per_entry

ALL = calls()
RULED = [c for c in ALL if c.entry.kind != "composition"]


def wrap(x) -> Tensor:
    return Tensor._wrap(np.asarray(x), None)


def gradients(call: Call, v: np.ndarray, dtype=float, **options) -> tuple:
    leaves = call.leaves(dtype)
    out = call.on(leaves)
    return grad(out, leaves, wrap(v.astype(dtype)), allow_unused=True, materialize_grads=True, **options)


def vector_for(call: Call) -> np.ndarray:
    shape = call.plain(*call.arrays).shape
    return np.random.default_rng(5).uniform(0.5, 1.5, shape)


@per_entry([c for c in calls() if c.entry in BY_NUMPY.values()])
def test_values_match_numpy(call):
    functions = [f for f, entry in BY_NUMPY.items() if entry is call.entry]
    for function in functions:
        if function in (np.clip, np.linalg.solve) or (function is np.std and call.sample.kwargs.get("correction")):
            continue
        expected = function(*(part(call.arrays) for part in call.template), **call.sample.kwargs)
        assert_allclose(call.plain(*call.arrays), expected, rtol=1e-13, atol=1e-14)


@per_entry(ALL)
def test_gradients_match_differences(call):
    v = vector_for(call)
    expected = numeric_gradient(call.plain, call.arrays, v)
    for got, want, x in zip(gradients(call, v), expected, call.arrays, strict=True):
        assert got.shape == x.shape
        assert_allclose(got._data, want, rtol=2e-8, atol=2e-8)


@per_entry(ALL)
def test_second_gradients_match_differences(call):
    """Compare along one direction of each operand, in which elements move by different lengths."""
    v = vector_for(call)
    weights, ways = (
        [np.random.default_rng(seed + i).uniform(0.5, 1.5, x.shape) for i, x in enumerate(call.arrays)]
        for seed in (7, 70)
    )

    def first(*steps):
        leaves = [wrap(x + t / 4 * way).requires_grad_() for x, t, way in zip(call.arrays, steps, ways, strict=True)]
        grads = grad(call.on(leaves), leaves, wrap(v), materialize_grads=True)
        return np.asarray(sum(float((w * g._data).sum()) for w, g in zip(weights, grads, strict=True)))

    leaves = call.leaves()
    grads = grad(call.on(leaves), leaves, wrap(v), create_graph=True, materialize_grads=True)
    total = sum(((wrap(w) * g).sum() for w, g in zip(weights, grads, strict=True)), wrap(0.0))
    expected = numeric_gradient(first, [np.zeros(()) for _ in ways], np.asarray(1.0))
    got = (
        grad(total, leaves, materialize_grads=True)
        if total.requires_grad
        else [wrap(np.zeros(x.shape)) for x in call.arrays]
    )
    for g, way, want in zip(got, ways, expected, strict=True):
        assert g.shape == way.shape
        assert_allclose(np.sum(g._data * way), 4 * want, rtol=2e-7, atol=2e-7)


@per_entry(ALL)
def test_create_graph_does_not_change_the_gradient(call):
    v = vector_for(call)
    for plain, recorded in zip(gradients(call, v), gradients(call, v, create_graph=True), strict=True):
        assert_allclose(recorded._data, plain._data, rtol=1e-14, atol=1e-14)


@per_entry(ALL)
def test_batched_cotangents_equal_a_loop(call):
    shape = vector_for(call).shape
    for batch in {5, *shape[:1]}:
        vectors = np.random.default_rng(3).uniform(-1, 1, (batch, *shape))
        rows = [gradients(call, v) for v in vectors]
        for create in (False, True):
            leaves = call.leaves()
            out = call.on(leaves)
            options = {"is_grads_batched": True, "materialize_grads": True, "create_graph": create}
            for i, got in enumerate(grad(out, leaves, wrap(vectors), **options)):
                want = np.array([row[i]._data for row in rows]).reshape((batch, *call.arrays[i].shape))
                unused = got.shape == call.arrays[i].shape  # zeros in the input's own shape, as in PyTorch
                rows_found = np.broadcast_to(got._data, want.shape) if unused else got._data
                assert_allclose(rows_found, want, rtol=1e-12, atol=1e-12, err_msg=f"create_graph={create}")


@per_entry([c for c in ALL if c.entry.name != "astype"])
def test_the_dtype_is_kept(call):
    leaves = call.leaves(np.float32)
    out = call.on(leaves)
    assert out._data.dtype == np.float32
    if not out.requires_grad:
        return
    v = wrap(np.ones(out.shape, np.float32))
    for leaf, raw, recorded in zip(
        leaves,
        grad(out, leaves, v, retain_graph=True, materialize_grads=True),
        grad(out, leaves, v, create_graph=True, materialize_grads=True),
        strict=True,
    ):
        assert raw._data.dtype == recorded._data.dtype == leaf._data.dtype


def ends_in_one_node(call: Call) -> bool:
    """Return whether a sample records a single node on its leaves, without casts or reshaping in between."""
    leaves = call.leaves(np.float32)
    node = call.on(leaves)._node
    return node is not None and list(node.parents) == [leaf._node for leaf in leaves]


@per_entry([c for c in RULED if ends_in_one_node(c)])
def test_rules_return_cotangents_of_the_operands_dtype(call):
    """Call the rule itself, since backward would cast the cotangents."""
    leaves = call.leaves(np.float32)
    out = call.on(leaves)
    result = out._node.rule.vjp(out._node, np.ones(out.shape, np.float32))
    for g in result if isinstance(result, tuple) else (result,):
        assert g is None or g.dtype == np.float32


@per_entry(ALL)
def test_results_share_no_memory_unless_they_are_views(call):
    leaves = [wrap(np.array(x)) for x in call.arrays]
    out = call.on(leaves)
    if out._base is None and isinstance(out._data, np.ndarray) and not any(out is x for x in leaves):
        assert not any(np.shares_memory(out._data, x._data) for x in leaves if isinstance(x._data, np.ndarray))


@per_entry(RULED)
def test_arrays_that_no_rule_reads_are_not_kept(call):
    out = call.on(call.leaves())
    node = out._node
    if node is not None and node.rule.primitive is call.entry:
        flags = [any(k[i : i + 1] == (1,) for k in call.entry.keeps) for i in range(1 + len(call.arrays))]
        if call.entry.arity is not None and not any(flags):
            assert not any(isinstance(x, np.ndarray) and x.size for x in node.kept)
