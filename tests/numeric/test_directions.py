"""Sizes of moves, limits of what claimed products may be off by, and the bounds that follow for single elements."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.numeric.chain import WANTED
from gradcli.numeric.compare import COARSE, MARGIN, SLIGHT, Limits
from gradcli.numeric.decide import Observation
from gradcli.numeric.directions import ADDS_UP, MOST_SIGMAS, SCATTERED, Directions, Probed
from gradcli.numeric.verdict import FAIL, NEGLIGIBLE, OPEN, PASS, SMALL_EFFECT, UNDECIDED, ZERO_UNITS, least_accused

from .lines import entries_of


def directions_of(f, x, grad=np.zeros_like):
    return Directions(entries_of(f, x, grad), 1)


def moving(direction, **seen):
    """Return a stand-in for a direction along which a claim was compared."""
    return SimpleNamespace(line=SimpleNamespace(direction=np.array(direction)), **seen)


def test_elements_move_by_their_own_size_or_by_the_root_mean_square_of_their_array():
    """Of 3, 4 and 0 the mean square is 25 / 3. A zero moves by the median of 3 and 4, at most 1."""
    families = directions_of(np.sum, [3.0, -4.0, 0.0], np.ones_like).families
    assert families["relative"].tolist() == [3, 4, 1]
    assert families["array"] == pytest.approx([np.sqrt(25 / 3)] * 3)


def test_elements_of_an_array_of_zeros_move_by_1():
    families = directions_of(np.sum, np.zeros(3), np.ones_like).families
    assert families["relative"].tolist() == families["array"].tolist() == [1, 1, 1]


def test_zeros_move_by_at_most_the_typical_size():
    """The median of 1, 1, 1 and 1e-4 is 1, and the root of the mean square of the five is about 0.77."""
    families = directions_of(np.sum, [0.0, 1, 1, 1, 1e-4], np.ones_like).families
    typical = np.sqrt((3 + 1e-8) / 5)
    assert families["relative"] == pytest.approx([typical, 1, 1, 1, 1e-4])


def test_elements_that_are_not_finite_do_not_move():
    families = directions_of(lambda x: x[:2].sum(), [3.0, 4.0, np.inf], lambda x: np.array([1.0, 1, 0])).families
    assert families["relative"].tolist() == [3, 4, 0]
    assert families["array"] == pytest.approx([np.sqrt(12.5), np.sqrt(12.5), 0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("slope", "mixed"), [(1e3, False), (2e3, True)])
def test_elements_of_mixed_units_move_by_their_own_sizes(slope, mixed, size):
    """If both move by the root of their mean square, 0.7, the second changes the output 0.7 times its slope as much."""
    claimed = size * np.array([1.0, slope])
    families = directions_of(lambda x: claimed @ x, [1.0, 1e-6], lambda x: claimed).families
    assert families["array"] == pytest.approx([1, 1e-6] if mixed else [np.sqrt(0.5)] * 2)


def test_only_elements_of_a_group_move():
    directions = directions_of(np.sum, [3.0, -4.0, 5.0], np.ones_like)
    moves = np.abs(directions.draw("relative")) / [3, 4, 5]
    assert (moves >= 0.5).all() and (moves <= 1.5).all()
    assert (directions.draw("relative", np.array([True, False, True])) != 0).tolist() == [True, False, True]


def probed(claimed, value, verdicts, error=0.0, beyond=0.0, slight=0.0, **slopes):
    """Return a direction along which claims were compared, with a tolerance of MARGIN errors."""
    count = len(claimed)
    known = {"kind": np.full(count, "smooth"), "limit": np.full(count, np.inf), **slopes}
    slopes = SimpleNamespace(value=np.array(value), error=np.full(count, error), **known)
    found = SimpleNamespace(
        claimed=SimpleNamespace(here=np.array(claimed)),
        slopes=slopes,
        verdicts=verdicts,
        bound=np.full(count, 0.5),
        limits=Limits(*np.zeros((4, count))),
        line=None,
    )
    return Probed("relative", found, np.full(count, beyond), np.full(count, slight))


def test_a_disagreement_proves_a_mistake_beyond_rounding_and_slight_differences():
    """Claims are off by 3, -3 and 0; the last agrees."""
    for beyond, slight, exceeds, may_be in ((2, 2, True, False), (4, 2, False, False), (2, 4, True, True)):
        found = probed([5.0, 1.0, 2.0], [2.0, 4.0, 2.0], ["fail", "fail", "pass"], 0.4, beyond, slight)
        assert found.off.tolist() == [3, -3, 0] and found.tolerance == pytest.approx([0.4 * MARGIN] * 3)
        assert found.exceeds_rounding.tolist() == [exceeds, exceeds, False]
        assert found.may_be_slight.tolist() == [may_be, may_be, False]
        assert found.proves.tolist() == [exceeds and not may_be] * 2 + [False]
        assert found.excess.tolist() == pytest.approx([3, 3, 0])  # the tolerance is 1
    nan = probed([np.nan], [2.0], ["fail"], 0.4, 2, 2)
    assert nan.exceeds_rounding.all() and not nan.may_be_slight.any() and nan.proves.all()


def test_a_disagreement_that_is_accepted_widens_the_bound():
    found = probed([5.0, 1.0, 2.0], [2.0, 4.0, 2.0], ["fail", "fail", "pass"], beyond=0.25)
    found.accept()
    assert found.bound.tolist() == [3.25, 3.25, 0.5]
    assert found.agrees.tolist() == [True] * 3 and not found.wrong.any()


@pytest.mark.parametrize(
    ("verdicts", "kinds", "limits", "noisy"),
    [
        (["inconclusive", "pass"], ["smooth", "kink"], [np.inf, 1.0], True),
        (["inconclusive", "fail"], ["smooth", "kink"], [np.inf, 1.0], True),
        (["inconclusive", "inconclusive"], ["smooth", "kink"], [np.inf, np.inf], False),
        (["inconclusive", "inconclusive"], ["smooth", "smooth"], [np.inf, 1.0], False),
        (["inconclusive", "pass"], ["kink", "smooth"], [np.inf, np.inf], False),
    ],
)
def test_claims_are_open_because_of_noise_if_fits_of_all_widths_agree(verdicts, kinds, limits, noisy):
    found = probed([1.0, 1.0], [1.0, 1.0], verdicts, kind=np.array(kinds), limit=np.array(limits))
    assert found.is_noisy is noisy


def test_slight_differences_add_up_to_at_most_six_norms_or_the_sum_of_all_terms():
    directions = directions_of(np.sum, [1.0, 1.0], lambda x: np.array([3.0, -4.0]))
    slight = directions.slight(np.array([1.0, 2.0]), np.array([0.1]))
    assert slight == pytest.approx([SLIGHT * MOST_SIGMAS * 0.1])
    assert directions.slight(np.array([1.0, 2.0]), np.array([50.0])) == pytest.approx([SLIGHT * 11])
    directions.rows.known = False
    assert directions.slight(np.array([1.0, 2.0]), np.array([50.0])) == pytest.approx([SLIGHT * MOST_SIGMAS * 50])
    directions.entries.strict = True
    assert directions.slight(np.array([1.0, 2.0]), np.array([50.0])).tolist() == [0]


def test_limits_along_a_direction_follow_from_the_rounding_of_claim_and_point():
    """The norm of the claim's own rounding is 3 * 1e-3, and the point's, of 1e-10 in a width of 1e-4, is 1e-6."""
    directions = directions_of(np.sum, [1.0, 1.0], np.ones_like)
    directions.entries.products_rounding, directions.entries.own_rounding = 1e-5, np.array([[1e-3, 0.0]])
    changes = {
        "values": lambda t: (t, np.array([[7.0], [7.0 + 0.02 * 5]])),
        "rounding": lambda values: np.array([1e-9]),
    }
    line = SimpleNamespace(
        direction=np.array([3.0, 4.0]), alone=False, unit_of_x=1e-10, base=np.array([7.0]), **changes
    )
    slopes, size, largest = SimpleNamespace(width=np.array([1e-4])), np.array([2.5]), np.array([4.0])
    limits = directions.limits_of(size, largest, line, slopes)
    assert limits.own == pytest.approx([3e-3 + 1e-6 * 2.5]) and limits.negligible.tolist() == [0]
    assert limits.least == pytest.approx([least_accused(2.0**-53) * 4])
    assert limits.zero == pytest.approx([SMALL_EFFECT**2 * 5])
    line.rounding = lambda values: np.array([1.0])
    assert directions.limits_of(size, largest, line, slopes).zero == pytest.approx([ZERO_UNITS])
    directions.rows.known = False
    assert directions.limits_of(size, largest, line, slopes).own == pytest.approx([(1e-5 + 1e-6) * 2.5])
    line.alone = True
    assert directions.limits_of(size, largest, line, slopes).own == pytest.approx([1e-5 * 2.5])


def test_a_claim_is_integrated_along_relative_moves_only():
    """Along the others, the rounding is measured if the numeric derivative does not agree."""
    weights = np.array([3.0, -4.0])
    for claimed, tried in ((weights, False), (2 * weights, True)):
        directions, asked = directions_of(lambda x: weights @ x, np.ones(2), lambda x, c=claimed: c), []
        directions.entries.look_again = lambda found, slight, asked=asked: asked.append(slight)
        found = directions.compare(np.array([1.0, 0.5]), "array").found
        assert (
            found.tried is tried
            and asked == []
            and found.enough == pytest.approx([WANTED / 10 * np.abs(claimed * [1, 0.5]).max()])
        )
        directions.compare(np.array([1.0, 0.5]), "relative")
        assert asked == [None] and len(directions.probed) == 2
        directions.entries.slight = {0: 1e-7}
        directions.compare(np.array([1.0, 0.5]), "relative")
        assert asked[1] == pytest.approx([SLIGHT * np.abs(claimed * [1, 0.5]).sum()])


def test_terms_that_a_claim_leaves_out_are_known_along_a_direction():
    """The norm of 0.3 * 1 and 0.2 * 2 is 0.5."""
    directions = directions_of(np.sum, np.ones(2), np.ones_like)
    directions.entries.left_out, directions.flat.claim.left_out = np.array([[0.3, 0.2]]), {"x": 0.1}
    assert directions.compare(np.array([1.0, 2.0]), "array").found.claimed.left_out == pytest.approx([0.5])


def test_the_bound_of_a_direction_holds_for_each_element_that_moves():
    directions = directions_of(lambda x: np.stack([x.sum(), x[0]]), np.ones(3), lambda x: np.ones((2, 3)))
    entries = directions.entries
    entries.bound[0, 0] = 0.01
    found = moving([0.5, 0.0, -2.0], agrees=np.array([True, False]), bound=np.array([0.1, 0.1]))
    directions.bound_by(found)
    assert entries.bound.tolist() == [[0.01, np.inf, 0.05], [np.inf] * 3]


def settled(claimed, bound, scales=(1.0, 1.0), changes=0.0, rounding=0.0, known=True):
    """Return the states of the entries of a claim after its bounds are seen, and whether none is open."""
    directions = directions_of(np.sum, np.array(scales), lambda x: np.array(claimed))
    entries = directions.entries
    entries.bound[:], entries.changes[:] = bound, changes
    directions.rows.known = known
    if not known:
        entries.claimed = np.full((1, 2), np.nan)
    line = SimpleNamespace(direction=np.ones(2), base=np.zeros(1), rounding=lambda values: np.array([rounding]))
    directions.probed = [SimpleNamespace(line=line, claimed=np.array(x)) for x in ([1.0], [-4.0])]
    return directions.settle(), entries.state[0].tolist()


@pytest.mark.parametrize(
    ("bound", "states"), [([0.019, 0.04], [PASS, PASS]), ([0.021, 0.04], [OPEN, PASS]), ([np.inf, 0.01], [OPEN, PASS])]
)
def test_bounds_of_two_percent_settle_an_element(bound, states):
    assert COARSE == 0.02
    assert settled([1.0, -3.0], bound) == (OPEN not in states, states)


@pytest.mark.parametrize(
    ("bound", "changes", "rounding", "state"),
    [
        (0.9e-4, 0.0, 0.0, PASS),
        (1.1e-4, 0.0, 0.0, OPEN),
        (1.1e-4, 2.0, 0.0, PASS),
        (2.1e-4, 2.0, 0.0, OPEN),
        (1.1e-4, 0.0, 1.2e-7, PASS),
        (1.3e-4, 0.0, 1.2e-7, OPEN),
    ],
)
def test_a_claimed_zero_is_settled_by_a_small_bound(bound, changes, rounding, state):
    """It must be below 1e-4 of the change by the other element, of 0.5 * 2, or of all, or below 1000 roundings."""
    assert settled([0.0, 0.5], [bound / 4, 0.0], (4.0, 2.0), changes, rounding)[1][0] == state


@pytest.mark.parametrize(("bound", "state"), [(0.027, PASS), (0.029, OPEN)])
def test_elements_whose_claims_are_unknown_have_a_typical_size(bound, state):
    """The claim changes by 4 along two elements of size 2. Slopes are about 4 / sqrt(2) / 2, of which 2 % is 0.028."""
    assert settled([1.0, 1.0], [bound, bound], (2.0, 2.0), known=False) == (state == PASS, [state] * 2)


def test_open_elements_are_negligible_or_undecided_with_their_bounds():
    """The largest effect is 2 * 100. With its bound, the second has 2 * (0.5 + 0.4), and the third 2 * (0.5 + 0.6)."""
    directions = directions_of(np.sum, np.full(3, 2.0), lambda x: np.array([100.0, 0.5, 0.5]))
    entries = directions.entries
    entries.bound[:], entries.state[0, 0] = [[0.0, 0.4, 0.6]], PASS
    directions.leave_open()
    assert entries.state[0].tolist() == [PASS, NEGLIGIBLE, UNDECIDED]
    assert list(entries.reasons) == [(0, 2)]
    assert entries.reasons[0, 2].text == "0.5 is claimed, and rounding or noise hides any error below 0.6"


def test_open_elements_may_be_undecided_for_another_reason():
    directions = directions_of(np.sum, np.ones(2), np.ones_like)
    directions.entries.state[0, 0] = FAIL
    why = Observation("staircase", "steps")
    directions.leave_open(why)
    assert directions.entries.state[0].tolist() == [FAIL, UNDECIDED] and directions.entries.reasons == {(0, 1): why}


X = np.array([0.3, 1.2, -0.7])


@pytest.mark.parametrize(
    ("f", "slopes", "error", "adds_up"),
    [
        (lambda x: np.sin(x).sum(), np.cos(X), 0.0, True),
        (lambda x: np.sin(x).sum(), np.cos(X) * (1 + 1e-8), 0.0, True),
        (lambda x: np.sin(x).sum(), np.cos(X) + [0, 1e-3, 0], 0.0, False),
        (lambda x: np.sin(x).sum(), np.cos(X) + [0, 1e-3, 0], 1e-2, True),
        (lambda x: np.sin(x).sum(), np.cos(X) + [0, np.nan, 0], 0.0, True),
        (lambda x: np.abs(x - X).sum(), np.zeros(3), 0.0, False),
        (lambda x: np.abs(x - X).sum(), np.zeros(3), 10.0, False),
    ],
)
def test_slopes_of_elements_add_up_to_that_along_a_direction_without_kinks(f, slopes, error, adds_up):
    assert ADDS_UP == 1e-6
    directions = directions_of(f, X)
    directions.entries.value, directions.entries.error = slopes[None], np.full((1, 3), error)
    assert directions.adds_up() is adds_up


@pytest.mark.parametrize(
    ("noise", "limit", "scatters"), [(0.9, np.inf, False), (1.1, np.inf, True), (0.0, 0.1, True), (0.0, np.inf, False)]
)
def test_values_scatter_by_more_than_their_rounding_or_in_steps(noise, limit, scatters):
    line = SimpleNamespace(base=np.zeros(1), rounding=lambda values: np.array([1e-3]))
    smooth = SimpleNamespace(noise=np.zeros(1), limit=np.full(1, np.inf))
    other = SimpleNamespace(noise=np.array([noise * SCATTERED * 1e-3]), limit=np.array([limit]))
    directions = directions_of(np.sum, X)
    directions.entries.estimates = {0: (line, smooth), 2: (line, other)}
    assert directions.scatters() is scatters
    directions.entries.estimates = {}
    directions.probed = [SimpleNamespace(line=line, slopes=other)]
    assert directions.scatters() is scatters
