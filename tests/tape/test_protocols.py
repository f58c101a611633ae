"""NumPy's functions on Tensors: values match NumPy's, and gradients match finite differences."""

import warnings

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_equal

import gradcli
from gradcli.rules.table import BY_NUMPY
from gradcli.tape.protocols import parameters_in_numpy

from ..api.slopes import check
from ..rules.calls import calls

X = np.array([[3.0, -1.0, 2.0, 0.5], [0.2, 4.0, -2.0, 1.0], [1.5, 0.7, -0.3, 2.5]]) * 1.07 + 0.013
HOLE = X[0, 2] == X
V = np.array([0.3, 2.0, 1.2, 0.9])
CALLS = [
    lambda x: np.sin(x) * np.ones(4) + np.sum(x) - V / x,
    lambda x: np.array_split(x, 3, axis=1)[0],
    lambda x: np.append(x, x[0]),
    lambda x: np.meshgrid(x[0], x[:, 0])[1],
    lambda x: np.where(x > 0.5, x, 0.0),
    lambda x: np.select([x > 1, x > 0], [x**2, x * 3], -1.0),
    lambda x: np.choose(np.array([[0], [1], [0]]), [x, x**2]),
    lambda x: np.pad(x, ((1, 0), (2, 1)), mode="reflect"),
    lambda x: np.unique(x[0]),
    lambda x: np.average(x, axis=1, weights=V, returned=True)[0],
    lambda x: np.percentile(x, [20, 70], axis=0),
    np.median,
    lambda x: np.nanmedian(np.where(HOLE, np.nan, x), axis=1),
    lambda x: np.nanstd(np.where(HOLE, np.nan, x), axis=1, ddof=1),
    lambda x: np.nanmax(np.where(HOLE, np.nan, x), axis=0),
    lambda x: np.quantile(x, 0.3, axis=1, method="midpoint"),
    lambda x: np.gradient(x)[1],
    lambda x: np.convolve(x[0], x[1], "same"),
    lambda x: np.interp(x[0], np.array([-2.0, 0.0, 5.0]), x[1, :3]),
    lambda x: np.sum(x, axis=1, where=X > 0, initial=2.0),
    lambda x: np.prod(x, axis=1, where=X > 0),
    lambda x: np.max(x, axis=0, where=X < 2.9, initial=-9.0),
    lambda x: np.sum(x, dtype=np.float64),
    lambda x: np.sum(x, 0, np.float64),
    lambda x: np.var(x, 0, None, None, 1, True),
    lambda x: np.max(x, 1, None, True),
    lambda x: np.trace(x, 1, 1, 0),
    lambda x: np.diff(x, 1, 0, 0.0),
    lambda x: np.sort(x, 0, "stable"),
    lambda x: np.reshape(x, (2, -1), "F"),
    lambda x: np.ravel(x, "F"),
    lambda x: np.round(x / 10, 1) * x,
    lambda x: np.add.outer(x[0], x[:, 1] ** 2),
    lambda x: np.multiply.reduce(x, axis=1, keepdims=True),
    np.logaddexp.reduce,
    lambda x: np.minimum.reduce(x, axis=None),
    lambda x: np.add.accumulate(x, axis=1),
    *([lambda x: np.matvec(x, V)] if hasattr(np, "matvec") else []),  # NumPy 2.2
    lambda x: np.cov(x, aweights=V),
    lambda x: np.block([[x, x**2], [x[:1], x[:1]]]),
    lambda x: np.vstack([x, V]),
    scipy.special.expit,
    lambda x: scipy.special.jv(2, x + 3),
    scipy.special.j0,
    lambda x: scipy.special.betaln(abs(x), 2.0),
    lambda x: scipy.special.gammainc(2.0, abs(x)),
    lambda x: scipy.special.betainc(2.0, 3.0, scipy.special.expit(x)),
]


@pytest.mark.parametrize("call", CALLS, ids=map(str, range(len(CALLS))))
def test_values_match_numpy_and_gradients_match_differences(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(call, (X,), call(X))


PLACED = {
    function: call
    for call in calls()
    if not call.sample.kwargs
    for function, found in BY_NUMPY.items()
    if found is call.entry and parameters_in_numpy(function)
}


@pytest.mark.parametrize("function", PLACED, ids=lambda f: f.__name__)
def test_arguments_have_numpys_places(function):
    """Pass the defaults of NumPy's parameters by place: the result is that of the call without them."""
    call = PLACED[function]
    parameters = [p for p in parameters_in_numpy(function).values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = [p.default for p in parameters[len(call.template) :]]
    values = call.leaves()
    expected = function(*(part(values) for part in call.template))
    found = function(*(part(values) for part in call.template), *defaults)
    assert_equal(plain(found), plain(expected))


def plain(x):
    return [plain(part) for part in x] if isinstance(x, tuple | list) else np.asarray(getattr(x, "_data", x))


@pytest.mark.parametrize(
    "call", [lambda x: np.nan_to_num(x, False, 1.0), lambda x: np.linspace(x, x, 3, False), lambda x: np.angle(x, True)]
)
def test_an_argument_that_no_entry_takes_is_refused(call):
    with pytest.raises(TypeError, match=r"unexpected keyword argument '(copy|endpoint|deg)'"):
        call(gradcli.tensor([1.0, 2.0], requires_grad=True))


def test_indices_and_predicates_have_no_gradient():
    x = gradcli.tensor(X, requires_grad=True)
    for call in (np.argwhere, np.flatnonzero, lambda a: np.searchsorted(V[:1], a), lambda a: np.isclose(a, 2.0)):
        found = call(x)
        assert not found.requires_grad
        assert_allclose(found.numpy(), call(X))
    assert np.nonzero(x)[0].tolist() == np.nonzero(X)[0].tolist() == np.where(x)[0].tolist()
    assert np.array_equiv(x, X)


def test_matrix_transpose_python_numbers_and_dtypes():
    x = gradcli.tensor(X, requires_grad=True)
    assert_allclose(x.reshape(2, 2, 3).mT.detach().numpy(), X.reshape(2, 2, 3).swapaxes(1, 2))
    assert complex(gradcli.tensor(1 + 2j)) == 1 + 2j
    assert float(gradcli.tensor(3 + 0j)) == 3.0
    with pytest.raises(RuntimeError, match="without overflow"):
        float(gradcli.tensor(1 + 2j))
    assert np.sum(gradcli.tensor([1.0, 2.0]), dtype=np.float64).dtype is gradcli.float64
    assert (gradcli.tensor([1], dtype=gradcli.int32) + gradcli.tensor([1])).dtype is gradcli.int64


def test_in_searches_all_elements():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert 4.0 in x
    assert gradcli.tensor(2.0) in x
    assert 5.0 not in x


@pytest.mark.parametrize("data", [X, np.array([1 + 2j, 3.0]), np.array(2.5)], ids=["matrix", "complex", "number"])
def test_questions_about_an_array_have_numpys_answers(data):
    x = gradcli.tensor(data, requires_grad=True)
    for ask in (np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj):
        answer = ask(x)
        assert type(answer) is type(ask(data)) and answer == ask(data), ask
    for axis in range(data.ndim):
        assert np.size(x, axis) == data.shape[axis]


@pytest.mark.skipif(not hasattr(np, "astype"), reason="NumPy 2.1")
def test_astype_is_recorded():
    x = gradcli.tensor(X, requires_grad=True)
    y = np.astype(x, np.float32)
    assert y.dtype is gradcli.float32 and y.requires_grad
