"""Tensors as Python objects: numbers, indices, flags, and what leaves the graph."""

import pickle

import numpy as np
import pytest

import gradcli
from gradcli.autograd import no_grad, set_grad_enabled
from gradcli.tape import dtypes
from gradcli.tape.modes import Observer, observing
from gradcli.tape.record import ENGINE
from gradcli.tape.torch_errors import mismatch, shapes_error, types_error

from .build import leaf


def test_values_leave_the_graph_only_on_request():
    x = leaf(1.0, 2.0)
    for data in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match="requires grad"):
            data()
    assert x.numpy(force=True).tolist() == x.detach().numpy().tolist() == np.asarray(x.detach()).tolist() == [1, 2]
    with no_grad():
        assert x.numpy().tolist() == [1, 2]
    y = x.detach().numpy()
    y[0] = 7
    assert x.tolist() == [7, 2]


def test_only_results_that_keep_their_gradient_say_so():
    x = leaf(1.0)
    y = x * 2
    constant = gradcli.tensor([1.0])
    assert not (x.retains_grad or y.retains_grad or constant.retains_grad)
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad


def test_a_switch_decorates_functions_without_switching_now():
    @set_grad_enabled(False)
    def double(x):
        """Double."""
        return x * 2

    x = leaf(1.0)
    assert (x * 2).requires_grad
    assert not double(x).requires_grad and double.__doc__ == "Double."
    assert (x * 2).requires_grad


def test_products_with_numbers_have_the_tensor_first():
    x = leaf(1.0)
    for y in (3 * x, x * 3, 3 + x, x + 3):
        assert [node is not None for node, _ in y.grad_fn.next_functions] == [True, False]
    for y, value, slope in ((3 - x, 2, -1), (3 / x, 3, -3), (x - 3, -2, 1), (x / 4, 0.25, 0.25)):
        x.grad = None
        y.backward()
        assert y.item() == value and x.grad.item() == slope


def test_numbers_of_the_engine_are_what_they_are():
    x = gradcli.tensor([1.0], requires_grad=True)
    assert ENGINE.literal(0.1, "0.1") == 0.1
    assert ENGINE.whole_number(x) is x
    assert ENGINE.leaf(0.1, "x") is None
    assert not ENGINE.constant(x).requires_grad and ENGINE.constant(x).tolist() == [1]
    assert ENGINE.is_condition(np.array([True])) and not ENGINE.is_condition(np.array([1.0]))


def test_tensors_as_indices_and_numbers():
    letters = ["a", "b", "c"]
    assert letters[gradcli.tensor(2)] == "c"
    for x in (gradcli.tensor([2]), gradcli.tensor(2.0)):
        with pytest.raises(TypeError, match="only integer tensors"):
            letters[x]
    assert f"{gradcli.tensor(0.126):.2f}" == "0.13"
    assert f"{gradcli.tensor([1.0])}" == "tensor([1.])"
    assert int(gradcli.tensor(2.7)) == 2 and float(gradcli.tensor([2.5])) == 2.5
    with pytest.raises(ValueError, match="only one element"):
        float(gradcli.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="would lose its graph"):
        float(leaf(1.0))
    assert bool(gradcli.tensor([0.0])) is False
    for x, words in ((gradcli.zeros(2), "more than one value"), (gradcli.zeros(0), "no values")):
        with pytest.raises(RuntimeError, match=words):
            bool(x)
    for call in (len, iter):
        with pytest.raises(TypeError, match="0-d tensor"):
            call(gradcli.tensor(1.0))
    assert [row.tolist() for row in gradcli.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]


def test_sizes_are_tuples():
    size = gradcli.zeros(2, 3, 4).shape
    assert size == (2, 3, 4) and size.numel() == 24 and type(size[1:]) is type(size + (5,)) is type(size)
    assert repr(size[:2]) == "gradcli.Size([2, 3])" and size[-1] == 4


def test_products_from_the_right_and_with_an_array():
    a, b = np.array([[1.0, 2], [3, 4]]), gradcli.tensor([[0.0, 1], [1, 1]])
    assert (a @ b).tolist() == (a @ b.numpy()).tolist()
    assert (b @ a).tolist() == (b.numpy() @ a).tolist()
    with pytest.raises(TypeError):
        b @ "a"


def test_flags_are_set_on_leaves_only():
    x = gradcli.tensor([1.0])
    x.requires_grad = True
    assert x.requires_grad and x.is_leaf
    y = x * 2
    assert not y.is_leaf
    for change in (lambda: setattr(y, "requires_grad", True), lambda: y.requires_grad_(False)):
        with pytest.raises(RuntimeError, match="leaf variables"):
            change()
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = 1
    with pytest.raises(RuntimeError, match="floating point"):
        gradcli.tensor([1]).requires_grad_()
    x.requires_grad = False
    assert not x.requires_grad


def test_methods_are_listed_and_unknown_ones_are_not_found():
    assert {"exp", "backward", "sum"} <= {*dir(gradcli.tensor(1.0))}
    with pytest.raises(AttributeError):
        gradcli.tensor(1.0).no_such_method  # noqa: B018


@pytest.mark.parametrize("kind", [gradcli.tensor, lambda x, **k: gradcli.nn.Parameter(gradcli.tensor(x))])
def test_leaves_can_be_pickled(kind):
    x = kind([1.0, 2.0], requires_grad=True)
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is type(x) and y.requires_grad and y.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(gradcli.float32)) is gradcli.float32


def test_observers_see_events_while_they_are_active():
    class Seen(Observer):
        def __init__(self):
            self.kinds = []

        def see_event(self, kind, source, result=None):
            self.kinds.append(kind)

    seen, x = Seen(), gradcli.tensor(1.0)
    with observing(seen):
        x.item()
        x.numpy()
        x.requires_grad_().requires_grad_(False)
    x.item()
    assert seen.kinds == ["item", "numpy", "freeze"]


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ("f4", "f8", "f8"),
        ("f4", "i8", "f4"),
        ("i4", "f4", "f4"),
        ("b1", "u1", "u1"),
        ("u1", "i2", "i2"),
        ("f8", "c8", "c16"),
        ("f4", "c8", "c8"),
        ("i8", "c8", "c8"),
    ],
)
def test_the_higher_category_of_two_types_wins(a, b, joined):
    assert dtypes.join(np.dtype(a), np.dtype(b)) == dtypes.join(np.dtype(b), np.dtype(a)) == np.dtype(joined)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([np.ones(2, "f4"), np.array(1.0)], "f4"),
        ([np.ones(2, "i4"), np.array(1.0, "f4")], "f4"),
        ([np.ones(2, "f4"), 2.5], "f4"),
        ([np.ones(2, "i4"), 3], "i4"),
        ([np.ones(2, "f4"), 1j], "c8"),
        ([np.ones(2, "f8"), 1j], "c16"),
        ([np.ones(2, bool), 3], "i8"),
        ([np.ones(2, bool), True], "b1"),
        ([np.array(1, "i4"), np.array(2, "i8")], "i8"),
    ],
)
def test_arrays_outrank_numbers_of_the_same_category(operands, expected):
    """The expected types are those that PyTorch documents for torch.result_type."""
    assert dtypes.result_type(operands) == np.dtype(expected)


def test_only_the_cpu_exists():
    assert dtypes.Device("cpu:0") == "cpu" and repr(dtypes.cpu) == "device(type='cpu')" and str(dtypes.cpu) == "cpu"
    with pytest.raises(RuntimeError, match="CPU only: device='cuda'"):
        dtypes.Device("cuda")


def test_the_default_type():
    before = gradcli.get_default_dtype()
    try:
        gradcli.set_default_dtype(gradcli.float32)
        assert gradcli.get_default_dtype() is gradcli.float32 is gradcli.tensor(1.0).dtype
        with pytest.raises(TypeError, match="only floating-point types"):
            gradcli.set_default_dtype(gradcli.int64)
    finally:
        gradcli.set_default_dtype(before)


@pytest.mark.parametrize(
    ("shapes", "place"),
    [
        ([(2, 3), (2, 4)], "a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
        ([(5,), (3, 1), (2,)], "a (5) must match the size of tensor b (2) at non-singleton dimension 1"),
        ([(2, 3), (4, 1)], "a (2) must match the size of tensor b (4) at non-singleton dimension 0"),
        ([(2, 3), (3,), ()], ""),
        ([(4, 1), (1, 5)], ""),
    ],
)
def test_sizes_that_do_not_fit_are_named(shapes, place):
    assert mismatch(shapes).endswith(place) and bool(mismatch(shapes)) is bool(place)


def test_products_that_do_not_fit_are_described():
    def text(a, b):
        error = shapes_error(np.zeros(a), np.zeros(b))
        return None if error is None else str(error)

    assert text((2, 3), (4, 5)) == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
    assert text((6, 2, 3), (4, 5)) == "mat1 and mat2 shapes cannot be multiplied (12x3 and 4x5)"
    assert text((6, 2, 3), (6, 4, 5)).endswith("to be: [6, 3] but got: [6, 4].")
    assert text((), (4, 5)) is text((2, 3), (4,)) is None
    x, y = gradcli.zeros(2), gradcli.zeros(2, dtype=gradcli.float32)
    words = str(types_error(x, y))
    assert words.index("ouble" if x.dtype is gradcli.float64 else "loat") > 0 and words.endswith("Float")
