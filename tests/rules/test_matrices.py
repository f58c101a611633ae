"""Run the table's checks on matrix functions with several results or for special matrices.

The checked quantities do not depend on the signs or phases of vectors. Complex matrices are made of real ones, so
that finite differences apply to them too.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gradcli.rules import entry
from gradcli.rules.matrix_functions import pinv_with
from gradcli.rules.table import A, Sample
from gradcli.tape.backward import grad
from gradcli.tape.tensor import Tensor
from tests.func import test_table as forward

from . import test_table as net
from .calls import Call, Stand, numeric_gradient


def c(x):
    """Combine the halves of a real array's first axis into a complex array."""
    half = x.shape[0] // 2
    return x[:half] + 1j * x[half:]


def positive(x):
    """A positive definite matrix."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 3 * np.eye(x.shape[-1], dtype=x.dtype)


def mean(x):
    """The Hermitian part of a matrix."""
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def parts(x):
    """A real function that depends on both parts of a complex array."""
    return np.real(x) + 2 * np.imag(x) if x.dtype.kind == "c" else x


def size2(x):
    """|x|^2."""
    return np.real(x * np.conj(x))


def rebuilt(x, full=False):
    """U S^3 V^H."""
    u, s, vh = np.linalg.svd(x, full)
    n = s.shape[-1]
    return (u[..., :n] * s[..., None, :] ** 3) @ vh[..., :n, :]


SQUARE, STACK, COMPLEX = (A(3, 3),), (A(2, 3, 3),), (A(2, 3, 3),)
CASES = [
    ("eigh values", lambda x: np.linalg.eigh(mean(x)).eigenvalues, STACK),
    ("eigh vectors", lambda x: np.linalg.eigh(mean(x), "U").eigenvectors ** 2, SQUARE),
    ("eigh complex", lambda x: size2(np.linalg.eigh(mean(c(x)))[1]) * np.linalg.eigvalsh(mean(c(x))), COMPLEX),
    ("eig values", lambda x: parts(np.linalg.eig(x).eigenvalues ** 2), STACK),
    ("eig vectors", lambda x: size2(np.linalg.eig(x).eigenvectors), SQUARE),
    ("eig complex", lambda x: size2(np.linalg.eig(c(x))[1]) * parts(np.linalg.eigvals(c(x))), COMPLEX),
    ("svd tall", lambda x: np.linalg.svd(x, False).U ** 2, (A(4, 2),)),
    ("svd wide", lambda x: np.linalg.svd(x).Vh[..., :2, :] ** 2, (A(2, 2, 4),)),
    ("svd all", rebuilt, (A(3, 4),)),
    ("svd complex", lambda x: parts(rebuilt(c(x), True)), (A(2, 3, 2),)),
    ("svd hermitian", lambda x: np.linalg.svd(mean(x), hermitian=True).S, SQUARE),
    ("qr tall", lambda x: np.linalg.qr(x).Q, (A(4, 3),)),
    ("qr R", lambda x: np.linalg.qr(x, mode="r"), (A(2, 3, 3),)),
    ("qr wide", lambda x: np.linalg.qr(x, "complete").R @ np.linalg.qr(x).R.swapaxes(-1, -2), (A(2, 4),)),
    ("qr complex", lambda x: parts(np.linalg.qr(c(x)).Q) @ parts(np.linalg.qr(c(x)).R), COMPLEX),
    ("cholesky", lambda x: np.linalg.cholesky(positive(x)), STACK),
    ("cholesky upper", lambda x: np.linalg.cholesky(positive(x), upper=True), SQUARE),
    ("cholesky complex", lambda x: parts(np.linalg.cholesky(positive(c(x)))), COMPLEX),
    ("slogdet", lambda x: np.linalg.slogdet(x).logabsdet, STACK),
    ("slogdet complex", lambda x: parts(np.linalg.slogdet(c(x)).sign) + np.linalg.slogdet(c(x))[1], COMPLEX),
    ("logdet complex", lambda x: parts(entry("logdet").function(c(x))), COMPLEX),
    ("lstsq", lambda x, b: np.linalg.lstsq(x, b, None).solution, (A(4, 2), A(4))),
    ("lstsq residuals", lambda x, b: np.linalg.lstsq(x, b).residuals, (A(4, 2), A(4, 2))),
    ("pinv low rank", lambda x, y: np.linalg.pinv(x @ y, rtol=None), (A(4, 2), A(2, 3))),
    ("pinv symmetric", lambda x: pinv_with(mean(x), 0.0, 1e-12, hermitian=True), SQUARE),
    ("pinv complex", lambda x: parts(np.linalg.pinv(c(x))), (A(2, 3, 2),)),
    ("exp complex", lambda x: parts(entry("matrix_exp").function(c(x) / 3)), (A(2, 2, 2),)),
    ("norm complex", lambda x: np.linalg.norm(c(x), "nuc", (1, 2)), COMPLEX),
    ("fft", lambda x: parts(np.fft.fft(x, 5, norm="ortho")), (A(3, 4),)),
    ("ifft", lambda x: parts(np.fft.ifftn(c(x), (2, 3), (0, 2))), (A(2, 2, 3),)),
    ("rfft", lambda x: parts(np.fft.rfft2(x, (4, 5))), (A(2, 3, 4),)),
    ("rfft even", lambda x: parts(np.fft.rfft(x, axis=0, norm="forward")), (A(4, 2),)),
    ("irfft", lambda x: np.fft.irfftn(c(x)), (A(4, 2, 3),)),
    ("irfft odd", lambda x: np.fft.irfft(c(x), 5), (A(2, 3),)),
    ("hfft", lambda x: np.fft.hfft(c(x)), (A(2, 3),)),
    ("ihfft", lambda x: parts(np.fft.ihfft(x, 7)), (A(5),)),
]
CALLS = [Call(Stand(name, function), 0, Sample(*args)) for name, function, args in CASES]
CHECKS = [
    net.test_gradients_match_differences.check,
    net.test_second_gradients_match_differences.check,
    net.test_the_dtype_is_kept.check,
    forward.test_forward_mode_is_the_transpose_of_reverse_mode.check,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("test_"))
@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_matrices(call, check):
    check(call)


@pytest.mark.parametrize("create", [False, True], ids=["raw", "graph"])
@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_batched_cotangents_equal_a_loop(call, create):
    shape = net.vector_for(call).shape
    vectors = np.random.default_rng(3).uniform(-1, 1, (5, *shape))
    rows = [net.gradients(call, v, create_graph=create) for v in vectors]
    leaves = call.leaves()
    together = grad(call.on(leaves), leaves, net.wrap(vectors), is_grads_batched=True, create_graph=create)
    for i, got in enumerate(together):
        assert_allclose(got._data, np.array([row[i]._data for row in rows]), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("call", [c for c in CALLS if c.entry.name.split()[0] not in ("eig", "lstsq")], ids=repr)
def test_a_batch_of_points_equals_a_loop(call):
    arrays = [np.stack([x, x[::-1]]) for x in call.arrays]
    forward.check_batch(call, arrays, (True,) * len(arrays), 2)


NUMPY = {
    "eigh": np.linalg.eigh,
    "eigh U": lambda x: np.linalg.eigh(x, UPLO="U"),
    "eig": np.linalg.eig,
    "eig real": lambda x: np.linalg.eig(np.triu(x)),
    "svd": lambda x: np.linalg.svd(x[:, :2]),
    "svd reduced": lambda x: np.linalg.svd(x[:2], full_matrices=False),
    "svd values": lambda x: np.linalg.svd(x, compute_uv=False),
    "qr": lambda x: np.linalg.qr(x[:, :2]),
    "qr complete": lambda x: np.linalg.qr(x[:, :2], mode="complete"),
    "slogdet": np.linalg.slogdet,
    "lstsq": lambda x: np.linalg.lstsq(x[:, :2], x[:, 2], None),
    "lstsq many": lambda x: np.linalg.lstsq(x, x),
    "rank": lambda x: np.linalg.matrix_rank(x[:, :2] @ x[:2]),
    "pinv": lambda x: np.linalg.pinv(x[:, :2]),
    "fft2": lambda x: np.fft.fft2(x, (2, 4)),
    "ifft2": lambda x: np.fft.ifft2(x, axes=(1, 0), norm="ortho"),
    "irfft2": np.fft.irfft2,
    "rfftn": lambda x: np.fft.rfftn(x, axes=(0,), norm="forward"),
    "hfft": lambda x: np.fft.hfft(x, 6, 0),
    "ihfft": np.fft.ihfft,
    "ifftshift": lambda x: np.fft.ifftshift(x, 1),
}


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_match_numpy(name, dtype):
    x = np.random.default_rng(2).normal(size=(3, 3)).astype(dtype)
    got, want = NUMPY[name](Tensor._wrap(x, None)), NUMPY[name](x)
    got, want = ([r] if not isinstance(r, tuple) else list(r) for r in (got, want))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        a = getattr(a, "_data", a)
        assert_allclose(a, b, rtol=1e-12 if dtype == np.float64 else 1e-4, atol=1e-13 if dtype == np.float64 else 1e-5)
        if name != "eig real":  # complex since NumPy 2.5
            assert np.asarray(a).dtype == np.asarray(b).dtype or np.asarray(b).dtype.kind == "i"


def test_one_triangle_is_read_and_the_gradient_is_symmetric():
    """As in PyTorch, each of two mirrored elements gets half of their slope."""
    x = np.random.default_rng(0).normal(size=(3, 3))
    for triangle in "LU":
        leaf = Tensor._wrap(x, None).requires_grad_()
        (g,) = grad(np.linalg.eigvalsh(leaf, triangle)[0], leaf)
        want = numeric_gradient(lambda a, t=triangle: np.linalg.eigvalsh(a, t)[0], [x], np.asarray(1.0))[0]
        assert_allclose(g._data, (want + want.T) / 2, atol=1e-9)
        vectors = np.linalg.eigh(leaf, triangle).eigenvectors
        (g,) = grad((vectors**2 * x).sum(), leaf)
        want = numeric_gradient(lambda a, t=triangle: (np.linalg.eigh(a, t)[1] ** 2 * x).sum(), [x], np.asarray(1.0))[0]
        assert_allclose(g._data, (want + want.T) / 2, atol=1e-8)


@pytest.mark.parametrize("call", [np.linalg.svd, np.linalg.pinv])
def test_hermitian_requires_a_square_matrix(call):
    with pytest.raises(ValueError, match=r"a square matrix is needed, got shape \(3, 2\)"):
        call(Tensor._wrap(np.ones((3, 2)), None), hermitian=True)


def test_the_sum_of_repeated_eigenvalues_has_a_gradient():
    leaf = Tensor._wrap(np.eye(3), None).requires_grad_()
    assert_allclose(grad(np.linalg.eigvalsh(leaf).sum(), leaf)[0]._data, np.eye(3), atol=1e-15)
    assert_allclose(grad(np.linalg.svdvals(leaf).sum(), leaf)[0]._data, np.eye(3), atol=1e-15)


@pytest.mark.parametrize("function", [np.linalg.eigh, np.linalg.eig, np.linalg.svd])
def test_a_loss_that_depends_on_a_phase_is_rejected(function):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    leaf = Tensor._wrap(x, None).requires_grad_()
    vectors = function(leaf)[0 if function is np.linalg.svd else 1]
    with pytest.raises(RuntimeError, match="ill-defined"):
        grad(np.imag(vectors[0, 0]), leaf)


def test_undetermined_columns_of_qr_have_no_gradient():
    leaf = Tensor._wrap(np.random.default_rng(1).normal(size=(4, 2)), None).requires_grad_()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
        grad(np.linalg.qr(leaf, "complete").Q.sum(), leaf)


def test_saved_outputs_are_connected_to_the_users_tensors():
    """Differentiate a gradient with respect to an output that it reads."""
    x = Tensor._wrap(np.diag([1.0, 2.0]) + 0.5, None).requires_grad_()
    w, v = np.linalg.eigh(x)
    (g,) = grad((w**2).sum(), x, create_graph=True)
    (back,) = grad(g.sum(), v, allow_unused=True)
    assert_allclose(back._data, np.ones((2, 1)) * (4 * w._data * v._data.sum(0)), rtol=1e-12)
