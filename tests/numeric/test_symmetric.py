"""Functions that read one triangle of a symmetric matrix are checked along symmetric changes, and reports say so."""

import numpy as np
import pytest

import gradcli
from gradcli.check.declare import check_gradient
from gradcli.numeric.symmetric import is_symmetric, move_elements

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
H = np.array([[4.0, 1 + 1j], [1 - 1j, 3.0]])
W = np.array([[1.0, 2.0, 3.0], [0.5, 1.0, -1.0], [7.0, 2.0, 1.0]])


def volume(a):
    return 2 * np.log(np.diagonal(np.linalg.cholesky(a), axis1=-2, axis2=-1).real).sum()


def strict(a):
    if not np.array_equal(a, a.T):
        raise ValueError("not symmetric")
    return np.linalg.inv((a + a.T) / 2).sum()


def strict_gradient(a):
    p = np.linalg.inv(a)
    return -np.outer(p.sum(0), p.sum(0))


def largest(a, triangle="L"):
    return np.linalg.eigvalsh(a, triangle)[-1]


def largest_gradient(a):
    v = np.linalg.eigh(a)[1][:, -1]
    return np.outer(v, v.conj())


def ways(calls):
    """Return the options of all ways to check."""
    return [{}, {"calls": calls}]


RIGHT = {
    "cholesky": (volume, np.linalg.inv, A),
    "Hermitian": (volume, np.linalg.inv, H),
    "many": (volume, np.linalg.inv, np.stack([A, A + np.eye(3)])),
    "eigenvalue": (largest, largest_gradient, A),
    "eigenvalue, Hermitian": (largest, largest_gradient, H),
    "upper triangle": (lambda a: largest(a, "U"), largest_gradient, A),
    "requires symmetry": (strict, strict_gradient, A),
    "gradient not symmetric": (volume, lambda a: np.linalg.inv(a) + np.triu(W, 1) - np.triu(W, 1).T, A),
    "half in each triangle": (lambda a: (np.tril(a) * W).sum(), lambda a: (np.tril(W) + np.tril(W).T) / 2, A),
}


@pytest.mark.parametrize("way", ways(400), ids=str)
@pytest.mark.parametrize(("f", "gradient", "at"), RIGHT.values(), ids=RIGHT)
def test_a_right_gradient_passes_and_the_report_mentions_symmetry(f, gradient, at, way):
    report = check_gradient(f, gradient, at={"a": at}, **way)
    assert report.verdict == "pass", report
    assert "checked along symmetric changes only" in report.message
    assert any(note.endswith(report.message.removeprefix("a: ")) for note in report.notes)


WRONG = {
    "factor": (volume, lambda a: 1.01 * np.linalg.inv(a), A),
    "one element": (volume, lambda a: np.linalg.inv(a) + 0.1 * np.eye(3), A),
    "not halved": (volume, lambda a: 2 * np.linalg.inv(a) - np.diag(np.diag(np.linalg.inv(a))), A),
    "both triangles are read": (lambda a: (a * W).sum(), lambda a: (W + W.T) / 2, A),
    "a term reads both triangles": (lambda a: volume(a) + (a * W).sum(), lambda a: np.linalg.inv(a) + (W + W.T) / 2, A),
    "transposed": (lambda a: (np.tril(a) * W).sum(), lambda a: np.tril(W).T, A),
    "neither triangle is read": (np.trace, lambda a: np.eye(3) + np.triu(W, 1) - np.triu(W, 1).T, A),
    "at ones": (lambda a: (a @ W).sum(), lambda a: (W @ np.ones((3, 3)) + np.ones((3, 3)) @ W.T) / 2, np.ones((3, 3))),
    "point not symmetric": (volume, np.linalg.inv, A + np.triu(0.1 * W, 1)),
}


@pytest.mark.parametrize("way", ways(300), ids=str)
@pytest.mark.parametrize(("f", "gradient", "at"), WRONG.values(), ids=WRONG)
def test_a_wrong_gradient_fails(f, gradient, at, way):
    assert check_gradient(f, gradient, at={"a": at}, **way).verdict == "fail"


@pytest.mark.parametrize(("f", "gradient"), [(volume, np.linalg.inv), (largest, largest_gradient)])
def test_the_gradient_of_the_triangle_that_is_read_passes_without_notes(f, gradient):
    report = check_gradient(f, lambda a: (2 * np.tri(3) - np.eye(3)) * gradient(a), at={"a": A})
    assert (report.verdict, report.message, report.notes) == ("pass", "", ())


def test_the_symmetric_part_is_named():
    report = check_gradient(lambda a: (a * W).sum(), lambda a: (W + W.T) / 2, at={"a": A})
    assert [finding.kind for finding in report.diagnosis] == ["symmetric part"]


@pytest.mark.parametrize("calls", [3, 12, 30, 150, 300])
def test_the_call_budget_is_kept(calls):
    seen = []
    report = check_gradient(lambda a: seen.append(1) or volume(a), np.linalg.inv, at={"a": A}, calls=calls)
    assert len(seen) <= calls
    assert report.verdict == ("pass" if calls >= 150 else "inconclusive")


def test_gradcheck_warns_if_it_checked_only_symmetric_changes():
    with pytest.warns(UserWarning, match="symmetric"):
        assert gradcli.autograd.gradcheck(gradcli.linalg.cholesky, gradcli.tensor(A, requires_grad=True))


@pytest.mark.parametrize("x", [A, H, np.zeros((2, 2))], ids=["real", "complex", "zero"])
def test_every_element_moves_relative_to_the_largest(x):
    size = np.abs(x).max() or 1.0
    moves = (move_elements(x, 1e-3) - x) / size
    for part in (moves.real, moves.imag) if x.dtype.kind == "c" else (moves,):
        assert (np.abs(part) > 0.4e-3).all() and (np.abs(part) < 1.6e-3).all()
    assert not np.allclose(moves, moves.T)


def test_symmetric_matrices_are_square_and_equal_to_their_adjoints():
    assert is_symmetric(A, 0.0) and is_symmetric(H, 0.0) and is_symmetric(np.stack([A, A]), 0.0)
    assert not is_symmetric(np.triu(A), 0.0) and not is_symmetric(H.T * [[1], [2]], 0.0)
    assert not is_symmetric(A[:2], 0.0) and not is_symmetric(A[0], 0.0) and not is_symmetric(A[:1, :1], 0.0)
    rough = A + 1e-6 * np.triu(A, 1)
    assert not is_symmetric(rough, 0.0) and is_symmetric(rough, 6e-8 * 8)


@pytest.mark.parametrize("way", ["vjp", "jvp"])
@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_products_with_vectors_are_symmetrized(way, factor):
    claim = {
        "vjp": lambda g, a: factor * g * np.linalg.inv(a),
        "jvp": lambda t, a: factor * (np.linalg.inv(a) * t[0]).sum(),
    }
    report = check_gradient(volume, at={"a": A}, **{way: claim[way]})
    assert report.verdict == ("pass" if factor == 1 else "fail")
    assert "symmetric changes only" in report.message or factor != 1
