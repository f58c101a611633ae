"""Places of wrong elements in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.claims.hand_written import HandWritten
from gradcli.explain import places
from gradcli.explain.block import InputBlock
from gradcli.explain.evidence import DiagnosisEvidence
from gradcli.explain.places import patterns_around
from gradcli.numeric.flat import Flat
from gradcli.numeric.rows import ClaimedRows
from gradcli.numeric.sampler import Sampler
from gradcli.numeric.verdict import FAIL, Entries


def at(shape, *index):
    full = np.zeros(shape, bool)
    for place in index:
        full[place] = True
    return full


EVERY = slice(None)


def test_patterns_around_elements_of_a_field_contain_them_and_include_their_box():
    wrong = at((4, 6), (1, 2), (2, 4))
    patterns = list(patterns_around(wrong))
    assert not any((wrong & ~pattern).any() for pattern in patterns)
    sizes = [pattern.sum() for pattern in patterns]
    assert sizes == sorted(sizes)
    expected = [
        at((4, 6), np.s_[1:3, 2:5]),
        at((4, 6), np.s_[1:3, :]),
        at((4, 6), np.s_[:, 2:5]),
        at((4, 6), np.s_[:, [2, 4]]),
    ]
    for pattern in expected:
        assert any(np.array_equal(found, pattern) for found in patterns)


def test_the_border_is_a_pattern_around_elements_of_the_border_only():
    border = ~at((3, 4), np.s_[1:-1, 1:-1])
    for wrong, count in ((at((3, 4), (0, 1), (2, 3)), 1), (at((3, 4), (0, 1), (1, 1)), 0)):
        assert sum(np.array_equal(found, border) for found in patterns_around(wrong)) == count


@pytest.mark.parametrize(
    ("full", "words"),
    [
        (at(5, 0, 4), "at both ends, x[0] and x[4]"),
        (at(3, 0, 2), "in x[0] and x[2]"),
        (at(5, 1, 3), "in x[1] and x[3]"),
        (at(5, 1, 2, 3), "in x[1:4]"),
        (at(6, np.s_[::2]), "in x[::2]"),
        (at(7, np.s_[1::2]), "in x[1::2]"),
        (at(9, 0, 1, 4), "in x[0:2] and x[4]"),
        (at(20, 0, 1, 4, 6, 9), "in x[0:2], x[4], x[6] and x[9]"),
        (at(20, 0, 1, 4, 6, 9, 12), ""),
        (at((3, 3), (1, EVERY)), "in x[1]"),
        (at((3, 3), (EVERY, [0, 1])), "in x[:,0:2]"),
        (at((5, 3), ([0, 2], EVERY)), "in x[0] and x[2]"),
        (at((20, 3), (np.s_[::3], EVERY)), "in x[0], x[3], x[6], x[9], x[12] and more"),
        (at((2, 3, 4), (EVERY, 1)), "in x[:,1]"),
        (at((3, 3), ([0, 1, 2], [0, 1, 2])), "on the diagonal of x"),
        (at((4, 5), 0, -1, (EVERY, 0), (EVERY, -1)), "along all four edges of x"),
        (at((4, 5), 0, (EVERY, -1)), "along the top and the right edges of x"),
        (at((4, 5), (-1, np.s_[1:-1])), "along the bottom edge of x"),
        (at((4, 5), (np.s_[1:-1], 0)), "along the left edge of x"),
        (at((4, 5), ([0, 0, -1, -1], [0, -1, 0, -1])), "in the four corners of x"),
        (at((5, 5), np.s_[1:3, 1:4]), "in x[1:3,1:4]"),
        (at((5, 5, 5), np.s_[2, 1:4, 3]), "in x[2,1:4,3]"),
        (at((2, 3, 4), np.s_[:, 1:3, 2:4]), "in x[:,1:3,2:4]"),
        (at((5, 5), (1, 0), (1, 2), (2, 4)), "within x[1:3]"),
        (at((5, 5), (0, 1), (2, 1), (4, 2)), "within x[:,1:3]"),
        (at((5, 5), (0, 0), (1, 3), (4, 1)), ""),
    ],
)
def test_places_in_words(full, words):
    assert places.describe_places(full, "x") == words


def test_parts_of_complex_elements():
    block = SimpleNamespace(array=np.zeros(4, complex), name="z")
    text = lambda *columns: places.wrong_place_text(block, at(8, *columns))  # noqa: E731
    assert text(np.s_[::2]) == "in the real parts of z"
    assert text(np.s_[1::2]) == "in the imaginary parts of z"
    assert text(0, 4) == "in the real parts of z[0] and z[2]"
    assert text(3, 5, 7) == "in the imaginary parts of z[1:4]"
    assert text(2, 5) == ""
    assert text(EVERY) == ""


@pytest.mark.parametrize(
    ("paths", "shared"),
    [([("loss", 0), ("loss", 1)], "loss"), ([("loss", 0), ("aux", 0)], ""), ([("a", "b", 0), ("a", "b", 1)], "ab")],
)
def test_keys_that_several_outputs_share(paths, shared):
    """Paths are joined by their type; here the words are joined."""
    flat = SimpleNamespace(claim=SimpleNamespace(layout=(1, 2)), row=lambda j: (paths[j], ""))
    block = SimpleNamespace(flat=flat)
    found = places.shared_path(block, np.arange(len(paths)))
    assert found.count("loss") == shared.count("loss")
    assert bool(found) is bool(shared)
    flat.claim.layout = (1,)
    assert places.shared_path(block, np.arange(len(paths))) == ""


RNG = np.random.default_rng(4)
WEIGHTS = RNG.normal(size=(4, 5))
AT = {"x": RNG.normal(size=5)}


def layer(x):
    return np.sin(WEIGHTS @ x)


def jacobian(x):
    return np.cos(WEIGHTS @ x)[:, None] * WEIGHTS


def scattered(shape):
    """Return factors that no mistake explains."""
    return 2 + np.random.default_rng(7).uniform(size=shape)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (at((4, 5), (1, EVERY)), "all wrong elements are in d out[1]/d x; the other 15 are right"),
        (at((4, 5), ([0, 1], EVERY)), "all wrong elements are in d out[0:2]/d x; the other 10 are right"),
        (at((4, 5), (EVERY, [2, 3])), "all wrong elements are in d out/d x[2:4]; the other 12 are right"),
        (at((4, 5), (0, 2), (1, 3)), "all wrong elements are in d out[0:2]/d x[2:4]"),
    ],
)
def test_wrong_parts_of_a_jacobian_are_placed(where, words):
    claim = lambda x: np.where(where, scattered(where.shape), 1) * jacobian(x)  # noqa: E731
    report = check_gradient(layer, claim, AT)
    assert words in report.diagnosis[0].text, report.diagnosis


def square(x):
    return np.sin(WEIGHTS[:3, :3] @ x)


def square_jacobian(x):
    return np.cos(WEIGHTS[:3, :3] @ x)[:, None] * WEIGHTS[:3, :3]


DIAGONAL = np.eye(3, dtype=bool)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            lambda x: np.where(DIAGONAL, scattered((3, 3)) * square_jacobian(x), 0),
            "the claim has only the diagonal of the Jacobian",
        ),
        (lambda x: np.where(DIAGONAL, scattered((3, 3)), 1) * square_jacobian(x), "on the diagonal of the Jacobian"),
        (lambda x: np.where(DIAGONAL, 1, scattered((3, 3))) * square_jacobian(x), "are off the diagonal of the Jac"),
        (
            lambda x: square_jacobian(x) * np.array([[1.2], [1.7], [3.1]]),
            "each output has a factor of its own: the claim is 1.2, 1.7, 3.1 times",
        ),
        (
            lambda x: square_jacobian(x) * [1.2, 1.7, 3.1],
            "each element of x has a factor of its own: the claim is 1.2, 1.7, 3.1 times",
        ),
    ],
    ids=["no others", "diagonal", "others", "by output", "by element"],
)
def test_patterns_of_a_square_jacobian(claim, words):
    report = check_gradient(square, claim, {"x": AT["x"][:3]})
    assert words in report.diagnosis[0].text, report.diagnosis


@pytest.mark.parametrize(("minus", "other", "named"), [(9, 1, True), (8, 1, False), (18, 2, True), (10, 0, False)])
def test_a_wrong_sign_is_named_if_it_explains_nine_of_ten(minus, other, named):
    r = np.linspace(1, 2, minus + other + 1)
    a = r.copy()
    a[:minus] *= -1
    a[minus : minus + other] *= 1.7
    wrong = (a != r)[None]
    block = SimpleNamespace(a=a[None], r=r[None], error=np.zeros((1, len(r))), wrong=wrong, array=np.zeros(len(r)))
    block.flat = SimpleNamespace(edges=[0], label=lambda i: ("x", (i,), ""))
    block.k, block.whole, block.name = 0, True, "x"
    assert places.mostly_negative(block).startswith(f"the sign is wrong in {minus} elements") is named


@pytest.mark.parametrize(
    ("a", "r", "error", "words"),
    [
        (3.0, 2.0, 1e-12, " (the claim is 1.5 times the derivative)"),
        (0.0, 2.0, 1e-12, " (the claim is 0)"),
        (2.0 + 2e-7, 2.0, 1e-12, " (relative error 1e-07)"),
        (6.2831853, 2.0, 1e-12, " (the claim is 3.14159 times the derivative)"),
        (6.2831853, 2.0, 1e-3, " (the claim is 3.14 times the derivative)"),
        (3.0, 2.0, 0.1, ""),
        (300.0, 200.0, 1.0, " (the claim is 1.5 times the derivative)"),
        (0.03, 0.02, 0.01, ""),
        (3.0, 0.0, 1e-12, ""),
        (3.0, np.nan, np.inf, ""),
    ],
)
def test_the_multiple_of_a_single_element_has_the_digits_that_are_known(a, r, error, words):
    numbers = {"a": a, "r": r, "error": error, "wrong": True}
    block = SimpleNamespace(rows=slice(None), **{name: np.array([[x]]) for name, x in numbers.items()})
    assert places.times_claimed(block) == words
    block.rows = slice(0, 1)
    assert places.times_claimed(block) == ""


@pytest.mark.parametrize(
    ("a", "r", "error", "words"),
    [
        (
            [0.0, 3.0, 1.0],
            [2.0, 0.0, 1.0],
            1e-9,
            "in 1 of the wrong elements, the derivative is 0 but the claim is not; in the other 1, the claim is 0 but ",
        ),
        ([0.0, 0.0, 1.0], [2.0, 3.0, 1.0], 1e-9, "in the wrong elements, the claim is 0 but the derivative is not"),
        ([4.0, 5.0, 1.0], [2.0, 3.0, 1.0], 1e-9, ""),
        ([4.0, 0.0, 1.0], [2.0, 3.0, 1.0], 1e-9, "in the other 1, both are nonzero but differ"),
        ([0.4, 0.2, 1.0], [-7e-4, 0.1, 1.0], 3e-4, ""),  # of float32 code: too little is known to say that it is 0
        ([0.4, 0.2, 1.0], [-7e-8, 0.1, 1.0], 3e-8, "the derivative is 0 but the claim is not; in the other 1, both"),
    ],
)
def test_wrong_claims_are_counted_by_zeros(a, r, error, words):
    block = SimpleNamespace(a=np.array([a]), r=np.array([r]), error=np.full((1, 3), error), unit=1e-14, whole=True)
    block.wrong, block.zero = block.a != block.r, InputBlock.zero.func(block)
    assert words in places.wrong_pattern(block)
    assert bool(words) is bool(places.wrong_pattern(block))


@pytest.mark.parametrize(
    ("a", "words"),
    [
        ([2.0, 9.0], "all elements are off by different factors: the claim is 2 to 3 times the derivative"),
        ([2.0, 6.000001], "at this point, the claim is about 2 times the derivative"),
        ([1.001, 3.009], "the wrong elements have relative errors of 0.001 to 0.003"),
    ],
)
def test_ratios_in_words(a, words):
    block = SimpleNamespace(a=np.array([a]), r=np.array([[1.0, 3.0]]), wrong=np.ones((1, 2), bool), whole=True)
    block.known = block.wrong
    assert places.range_of_ratios(block) == words
    block.whole = False
    assert places.range_of_ratios(block) == f"{words} of a random combination of the outputs"


def test_only_square_jacobians_have_a_diagonal():
    text = lambda wrong: places.diagonal_text(SimpleNamespace(wrong=np.asarray(wrong)))  # noqa: E731
    assert text(np.eye(3, dtype=bool)) == "on the diagonal of the Jacobian"
    assert text(~np.eye(3, dtype=bool)) == "off the diagonal of the Jacobian"
    assert text(np.tri(3, dtype=bool)) == text(np.eye(3, 4, dtype=bool)) == text(np.eye(2, dtype=bool)) == ""
    assert text(~np.eye(3, 4, dtype=bool)) == ""


def test_two_outputs_show_a_factor_of_each_element():
    weights = WEIGHTS[:2, :3]
    claim = lambda x: np.cos(weights @ x)[:, None] * weights * [1.2, 1.7, 3.1]  # noqa: E731
    report = check_gradient(lambda x: np.sin(weights @ x), claim, {"x": AT["x"][:3]})
    assert "each element of x has a factor of its own: the claim is 1.2, 1.7, 3.1 times" in report.diagnosis[0].text, (
        report.diagnosis
    )


def guesses(wrong, found, calls=True):
    """Return what is said of a claim that is wrong in some places, of which the check has found a few."""

    def claim(x):
        return np.where(wrong, scattered(wrong.shape), 1) * np.cos(x)

    x = np.linspace(-1, 2, wrong.size).reshape(wrong.shape)
    flat = Flat(HandWritten(lambda x: np.sin(x).sum(), {"x": x}, grad=claim))
    entries = Entries(flat, Sampler(flat), ClaimedRows(flat, np.random.default_rng(0)))
    entries.state[0, np.flatnonzero(found)] = FAIL
    evidence = DiagnosisEvidence.of(entries, frozenset())
    if not calls:
        evidence.limit = 0
    return [finding.text for finding in places.places_of_wrong(evidence.here[0], evidence)]


ROW = at((4, 6), (1, EVERY))
"""The wrong elements; the check has found every other one of them."""


def test_elements_that_are_not_decided_are_placed_by_a_direction():
    text = "x: all wrong elements are in x[1]; the others agree along a random direction"
    assert guesses(ROW, at((4, 6), (1, np.s_[::2]))) == [text]
    assert guesses(ROW, at((4, 6), (1, [1, 3]))) == []  # two elements show no pattern
    assert guesses(ROW | at((4, 6), (3, 2)), at((4, 6), (1, np.s_[::2]))) == []
    assert guesses(ROW, at((4, 6), (1, np.s_[::2])), calls=False) == []


def test_a_pattern_that_covers_most_of_an_input_is_not_guessed():
    rows = at((4, 6), ([1, 2, 3], EVERY))
    assert guesses(rows, rows & ~at((4, 6), (EVERY, 2))) == []


def top_three(x):
    return np.sort(x)[-3:].sum()


def row_max(x):
    return x.max(axis=1)


def of_ties(x):
    return 1.0 * (x == x.max(axis=-1, keepdims=True))


def shared(of_all, x):
    """Give each of the largest elements of a row the same part of the slope."""
    return of_all / of_all.sum(axis=-1, keepdims=True)


TIED, ROWS = np.array([2.0, 2, 2, 1]), np.array([[2.0, 2, 1], [3, 7, 4]])
TIES = {
    "a maximum": (np.max, of_ties, shared, TIED, "x: all wrong elements are in x[0:3]; the other is right"),
    "two pools": (
        lambda x: x.reshape(2, 3).max(axis=1).sum(),
        lambda x: of_ties(x.reshape(2, 3)).ravel(),
        lambda g, x: shared(g.reshape(2, 3), x).ravel(),
        np.array([1.0, 3, 3, 5, 5, 0]),
        "x: all wrong elements are in x[1:5]; the other 2 are right",
    ),
    "the three largest": (
        top_three,
        lambda x: 1.0 * (x >= 1),
        lambda g, x: np.where(x == 1, 2 / 3, g),
        np.array([1.0, 1, 1, 2, 0, 0.5]),
        "x: all wrong elements are in x[0:3]; the other 3 are right",
    ),
}


@pytest.mark.parametrize("name", TIES)
def test_all_elements_of_a_shared_kink_are_wrong_if_their_values_are_not_possible_together(name):
    f, wrong, repaired, x, words = TIES[name]
    assert check_gradient(f, lambda x: repaired(wrong(x), x), {"x": x}).verdict == "pass"
    (finding,) = check_gradient(f, wrong, {"x": x}).diagnosis
    assert finding.text == words


def test_all_elements_of_a_shared_kink_of_one_output_are_wrong():
    vjp = lambda g, x: g[:, None] * of_ties(x)  # noqa: E731
    right = lambda g, x: shared(of_ties(x), x) * g[:, None]  # noqa: E731
    assert check_gradient(row_max, vjp=right, at={"x": ROWS}).verdict == "pass"
    (item,) = check_gradient(row_max, vjp=vjp, at={"x": ROWS}).inputs
    assert item.counts.wrong == 2


def test_ties_of_two_inputs_are_wrong_together():
    f, at = lambda x, y: np.maximum(x, y).sum(), {"x": np.array([2.0, 1, 3]), "y": np.array([2.0, 3, 1])}
    assert check_gradient(f, lambda x, y: (1.0 * (x >= y), 1.0 * (y > x)), at).verdict == "pass"
    x, y = check_gradient(f, lambda x, y: (1.0 * (x >= y), 1.0 * (y >= x)), at).inputs
    assert x.counts.wrong == y.counts.wrong == 1
