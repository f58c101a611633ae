"""Functions that read one triangle of a symmetric matrix are checked along symmetric changes, and reports say so."""

import numpy as np
import pytest

import gradcli
from gradcli.check.declare import check_gradient
from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.flat import Flat
from gradcli.numeric.sampler import Sampler
from gradcli.numeric.symmetric import is_symmetric, move_elements, restrict_to_symmetric, triangle_read

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
    assert is_symmetric(np.zeros((2, 2)), 0.0)
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


def sampler_for(f, claim, **at):
    return Sampler(Flat(claim_by_hand(f, {name: np.array(x) for name, x in at.items()}, claim, None, False)))


def lower(a):
    return (np.tril(a) * W).sum()


LOWER = (np.tril(W) + np.tril(W).T) / 2  # the gradient of lower along symmetric changes
NOT_READ = "the upper triangle is not read: checked along symmetric changes only"
B = np.array([[0.5, 1.0, 2.0], [1.0, -1.0, 3.0], [2.0, 3.0, 0.25]]) + np.triu(W, 1)  # not symmetric


def mean(x):
    return (x + x.T) / 2


def test_a_restricted_function_and_its_claim_are_those_of_symmetric_parts():
    """The claim is not symmetric, but right along symmetric changes."""
    slant = np.triu(W, 1) - np.triu(W, 1).T
    sampler = sampler_for(
        lambda a, b: lower(a) + 2 * b.sum(), {"grad": lambda a, b: (LOWER + slant, 2 + 0 * b)}, a=A, b=B
    )
    found = restrict_to_symmetric(sampler)
    assert found.restriction == f"a: {NOT_READ}, and right only along those"
    assert found.notes[-1] == found.restriction and found.names == ["a"]
    assert found.here == pytest.approx(lower(A) + 2 * B.sum())
    assert found.value({"a": B, "b": B}) == pytest.approx(lower(mean(B)) + 2 * B.sum())
    like = np.zeros(())
    np.testing.assert_allclose(
        found.values({"a": np.stack([A, B]), "b": np.stack([B, B])}, 2, like),
        [lower(A) + 2 * B.sum(), lower(mean(B)) + 2 * B.sum()],
    )
    whole = found.whole({"a": B, "b": B})
    np.testing.assert_allclose(whole["a"], LOWER)
    np.testing.assert_allclose(whole["b"], 2)
    assert not found.capabilities.traced and not found.capabilities.second


def test_products_of_a_restricted_claim_are_those_of_symmetric_parts():
    claim = {"vjp": lambda g, a: g * LOWER * a, "jvp": lambda t, a: (LOWER * t[0] * a).sum()}
    found = restrict_to_symmetric(sampler_for(lambda a: lower(a * a) / 2, claim, a=A))
    (pulled,) = found.pulls({"a": B}, [np.array(3.0)])
    np.testing.assert_allclose(pulled["a"], 3 * LOWER * mean(B))
    assert found.push({"a": B}, {"a": B}) == pytest.approx((LOWER * mean(B) ** 2).sum())
    assert restrict_to_symmetric(sampler_for(lower, {"grad": lambda a: LOWER}, a=A)).restriction == f"a: {NOT_READ}"


def test_a_function_is_not_restricted_if_its_claim_raises_or_is_about_the_other_triangle():
    def broken(g, a):
        raise ValueError("no gradient")

    for claim in ({"vjp": broken}, {"grad": lambda a: np.tril(W).T}):
        assert restrict_to_symmetric(sampler_for(lower, claim, a=A)) is None


def test_a_restricted_function_starts_at_the_symmetric_part_of_its_input():
    claim = {"grad": lambda a, b: (LOWER, 1 + 0 * b)}
    near = A + 1e-13 * np.triu(A, 1)
    found = restrict_to_symmetric(sampler_for(lambda a, b: lower(a) + b.sum(), claim, a=near, b=B))
    assert np.array_equal(found.at["a"], mean(near)) and not np.array_equal(near, near.T)
    assert np.array_equal(found.at["b"], B)


@pytest.mark.parametrize("claimed", [0 * LOWER, LOWER, 1e6 * LOWER + 1e-3 * W])
def test_a_claim_is_symmetric_to_within_rounding_of_its_largest_element(claimed):
    found = restrict_to_symmetric(sampler_for(lower, {"grad": lambda a: claimed}, a=A))
    assert found.restriction == f"a: {NOT_READ}"


def test_all_symmetric_inputs_are_restricted_together():
    claim = {"grad": lambda a, b: (LOWER, LOWER)}
    found = restrict_to_symmetric(sampler_for(lambda a, b: lower(a) + lower(b), claim, a=A, b=2 * A))
    assert found.restriction == f"a: {NOT_READ}; b: {NOT_READ}" and len(found.notes) == 2


@pytest.mark.parametrize(
    ("f", "read", "word"),
    [(lower, "lower", "upper"), (lambda a: lower(a.T), "upper", "lower"), (strict, "both", ""), (np.trace, "none", "")],
)
def test_the_triangle_that_is_read_is_found(f, read, word):
    found = triangle_read(sampler_for(f, {"grad": lambda a: LOWER}, a=A), "a")
    masks = {"lower": np.tri(3, k=-1) > 0, "upper": np.tri(3, k=-1).T > 0, "both": ~np.eye(3, dtype=bool)}
    if read == "none":
        assert found is None
        return
    mask, reason = found
    assert mask.tolist() == masks[read].tolist()
    only = "checked along symmetric changes only"
    assert reason == (
        f"the {word} triangle is not read: {only}" if word else f"only symmetric matrices are accepted: {only}"
    )


def test_triangles_of_all_matrices_of_a_stack_are_found():
    mask, _ = triangle_read(sampler_for(volume, {"grad": np.linalg.inv}, a=np.stack([A, 2 * A])), "a")
    assert mask.tolist() == [(np.tri(3, k=-1) > 0).tolist()] * 2
