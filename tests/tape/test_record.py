"""Recording: nodes of operations, type promotion, modes, and agreement of the quick path with the general one."""

import threading

import numpy as np
import pytest

import gradcli
from gradcli.rules import entry
from gradcli.tape.node import OutputNode
from gradcli.tape.record import (
    ENGINE,
    Engine,
    Mode,
    begin,
    cast,
    cast_cotangent,
    dispatch,
    end_mode,
    keep_flags,
    name_nodes,
    record,
    recorder,
    recording,
    relabel,
    unpack_operands,
)

from .build import leaf

BINARY = "add subtract multiply divide power maximum arctan2 hypot logaddexp".split()
UNARY = "sin exp log sqrt tanh sigmoid relu absolute reciprocal square erf floor".split()


def run(how, name, *operands):
    """Return the value, gradients and node name of an operation on leaves."""
    leaves = [leaf(list(x)) for x in operands]
    out = how(entry(name), tuple(leaves))
    weights = gradcli.tensor(np.linspace(1, 2, out.numel()).reshape(out.shape))
    if out.requires_grad:
        (out * weights).sum().backward()
    return (
        out.tolist(),
        [None if x.grad is None else x.grad.tolist() for x in leaves],
        out.grad_fn and out.grad_fn.name(),
    )


@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_the_quick_path_matches_the_general_one(name):
    operands = [[0.5, 1.5, 2.5], [1.25, 0.75, 2.0]][: 2 if name in BINARY else 1]
    quick = run(lambda e, xs: e.function(*xs), name, *operands)
    general = run(lambda e, xs: ENGINE.record(e, xs, {}), name, *operands)
    assert quick == general


def test_a_node_is_recorded_only_if_a_gradient_is_needed():
    x, y = leaf(1.0, 2.0), gradcli.tensor([3.0, 4.0])
    product = record(entry("multiply"), (x, y), {})
    assert product.tolist() == [3, 8] and product._node.parents == (x._node, None)
    assert product._node.outline == ((2,), np.dtype(float))
    assert record(entry("multiply"), (y, y), {})._node is None
    assert record(entry("less"), (x, y), {})._node is None  # booleans have no gradient
    with gradcli.no_grad():
        assert record(entry("multiply"), (x, y), {})._node is None


def kept(name, *needed):
    """Return what an entry keeps for each of (out, *operands), as words."""
    words = {0: "-", 1: "array", 2: "shape"}
    return " ".join(words[flag] for flag in keep_flags(entry(name), needed))


def test_only_values_that_the_rules_read_are_kept():
    assert kept("multiply", True, True) == "- array array"
    assert kept("multiply", True, False) == "- - array"  # d/dx (x y) is y
    assert kept("multiply", False, True) == "- array -"
    assert kept("exp", True) == "array -"
    assert kept("sin", True) == "- array"
    assert kept("add", True, True).replace("shape", "-") == "- - -"


T = gradcli.tensor
TYPES = [  # operands, and the type of their sum in PyTorch
    ((T([1.0], dtype=gradcli.float32), 2.5), gradcli.float32),
    ((T([1.0], dtype=gradcli.float32), T([1.0], dtype=gradcli.float64)), gradcli.float64),
    ((T([1.0], dtype=gradcli.float32), T(1.0, dtype=gradcli.float64)), gradcli.float32),  # 0-d tensors do not widen
    ((T([1.0], dtype=gradcli.float32), np.ones(1)), gradcli.float64),
    ((T([1]), 2), gradcli.int64),
    ((T([1], dtype=gradcli.int32), T([1])), gradcli.int64),
    ((T([1], dtype=gradcli.int32), T(1)), gradcli.int32),
    ((T([True]), T([True])), gradcli.bool),
    ((T([True]), 1), gradcli.int64),
    ((T([1]), 0.5), gradcli.float64),
    ((T([1.0], dtype=gradcli.float32), 1j), gradcli.complex64),
    ((T([1]), T([1j])), gradcli.complex128),
]


@pytest.mark.parametrize(("operands", "dtype"), TYPES, ids=range(len(TYPES)))
def test_mixed_types_are_promoted_as_in_pytorch(operands, dtype):
    for pair in (operands, operands[::-1]):
        assert record(entry("add"), pair, {}).dtype == dtype


def test_gradients_have_the_types_of_their_operands():
    single = gradcli.tensor([1.0, 2.0], dtype=gradcli.float32, requires_grad=True)
    double = leaf(3.0, 4.0)
    (single * double).sum().backward()
    assert (single.grad.dtype, double.grad.dtype) == (gradcli.float32, gradcli.float64)
    assert single.grad.tolist() == [3, 4]


def test_integers_become_the_default_type():
    whole = gradcli.tensor([1, 4])
    assert record(entry("sqrt"), (whole,), {}).dtype == gradcli.float64
    gradcli.set_default_dtype(gradcli.float32)
    try:
        assert record(entry("sqrt"), (whole,), {}).dtype == gradcli.float32
        assert record(entry("divide"), (whole, 2), {}).dtype == gradcli.float32
    finally:
        gradcli.set_default_dtype(gradcli.float64)
    truths = gradcli.tensor([True, False])
    assert record(entry("sqrt"), (truths,), {}).dtype == gradcli.float64  # NumPy would return float16


def test_invalid_operands_are_rejected():
    with pytest.raises(TypeError, match=r"add\(\): None is not a number"):
        unpack_operands(entry("add"), (leaf(1.0), None))
    with pytest.raises(RuntimeError, match="must match the size"):
        record(entry("add"), (leaf(1.0, 2.0), leaf(1.0, 2.0, 3.0)), {})
    with pytest.raises(RuntimeError, match="maximum does not support automatic differentiation for complex"):
        record(entry("maximum"), (leaf(1j), 0.0), {})


def test_several_outputs_share_a_parent_node():
    x = leaf([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = dispatch(entry("eigh_outputs"), (x,))
    assert isinstance(values._node, OutputNode) and values._node.parent is vectors._node.parent
    main = values._node.parent
    assert main.output(0) is values._node and main.parents == (x._node,)
    assert main.outlines == [((2,), np.dtype(float)), ((2, 2), np.dtype(float))]
    with gradcli.no_grad():
        assert dispatch(entry("eigh_outputs"), (x,))[0]._node is None


def test_backward_sums_over_broadcast_axes():
    x, y = leaf([[1.0, 2.0, 3.0]]), leaf([[10.0], [20.0]])
    (x * y).sum().backward()
    assert x.grad.tolist() == [[30, 30, 30]] and y.grad.tolist() == [[6], [6]]


def test_complex_operands_get_conjugate_factors():
    """As in PyTorch, the gradient of a real L is dL/dRe + i dL/dIm, which is conj(f') for L = Re f."""
    x, y = np.array([[1 + 2j, 3 - 1j]]), np.array([[2 - 1j], [1j]])
    slopes = {
        "divide": (1 / y + 0 * x, -x / y**2),
        "multiply": (y + 0 * x, x + 0 * y),
        "subtract": (1 + 0 * x * y, -1 + 0 * x * y),
    }
    for name, (by_x, by_y) in slopes.items():
        leaves = [gradcli.tensor(z, requires_grad=True) for z in (x, y)]
        record(entry(name), tuple(leaves), {}).sum().real.backward()
        np.testing.assert_allclose(leaves[0].grad.numpy(), np.conj(by_x).sum(axis=0, keepdims=True), rtol=1e-14)
        np.testing.assert_allclose(leaves[1].grad.numpy(), np.conj(by_y).sum(axis=1, keepdims=True), rtol=1e-14)


class Counting(Mode):
    """A mode that lists the names of recorded operations."""

    def __init__(self):
        self.names = []

    def record(self, primitive, operands, params):
        self.names.append(primitive.name)
        return self.below.record(primitive, operands, params)


def test_modes_form_a_stack():
    x, outer, inner = leaf(1.0), Counting(), Counting()
    with recording(outer):
        x + 1
        with recording(inner):
            assert recorder() is inner and inner.below is outer
            assert inner.renames is True  # attributes that a mode lacks come from the one below
            x * 2
        x - 3
    x / 4
    assert (outer.names, inner.names) == (["add", "multiply", "subtract"], ["multiply"])
    assert recorder() is ENGINE


def test_a_mode_may_end_before_those_above_it():
    lower, upper = Counting(), Counting()
    begin(lower)
    begin(upper)
    end_mode(lower)
    assert recorder() is upper and upper.below is ENGINE
    end_mode(upper)
    assert recorder() is ENGINE


def test_a_mode_is_active_only_in_its_thread():
    mode, seen = Counting(), []
    with recording(mode):
        thread = threading.Thread(target=lambda: seen.append((recorder() is ENGINE, (leaf(1.0) * 2).tolist())))
        thread.start()
        thread.join()
    assert seen == [(True, [2])] and mode.names == []


def test_a_mode_ends_when_its_block_raises():
    with pytest.raises(ValueError, match="stop"), recording(Engine()):
        raise ValueError("stop")
    assert recorder() is ENGINE


def test_casts_are_recorded_if_a_gradient_is_needed():
    x = leaf(1.0, 2.0)
    assert cast(x, np.dtype(float)) is x and cast(2.5, np.dtype(np.float32)) == 2.5
    single = cast(x, np.dtype(np.float32))
    assert single.dtype == gradcli.float32 and single.requires_grad
    (single * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and x.grad.dtype == gradcli.float64
    assert not cast(x, np.dtype(np.int64)).requires_grad
    assert cast(np.ones(1), np.dtype(np.float32)).dtype == np.float32


def test_cotangents_of_real_operands_are_real():
    g = np.array([1 + 2j])
    assert cast_cotangent(g, np.dtype(float)).tolist() == [1] and cast_cotangent(g, g.dtype) is g
    assert cast_cotangent(np.ones(1), np.dtype(complex)).dtype == complex and cast_cotangent(None, g.dtype) is None


def test_nodes_of_composed_functions_are_renamed():
    x = leaf(1.0, 2.0)
    y = relabel(x * 2, "DoubledBackward0")
    assert y.grad_fn.name() == "DoubledBackward0" and (x * 2).grad_fn.name() == "MulBackward0"
    assert relabel(x, "NoBackward0") is x and x.grad_fn is None  # a leaf keeps its node
    name_nodes((y, 3), "AgainBackward0", (y,))
    assert y.grad_fn.name() == "DoubledBackward0"  # an operand that is returned unchanged keeps its name
    name_nodes((y, 3), "AgainBackward0", (x,))
    assert y.grad_fn.name() == "AgainBackward0"
