"""The state of entries, as it follows from what stand-ins for comparisons say of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.claims.hand_written import HandWritten
from gradcli.errors import GradcliError
from gradcli.numeric import steps
from gradcli.numeric.chain import FIRST
from gradcli.numeric.compare import COARSE, FINE, MARGIN
from gradcli.numeric.decide import Observation
from gradcli.numeric.flat import Flat
from gradcli.numeric.rows import ClaimedRows
from gradcli.numeric.sampler import Sampler
from gradcli.numeric.verdict import (
    FAIL,
    HALF_COARSE,
    NEGLIGIBLE,
    NEGLIGIBLE_PART,
    NO_EFFECT,
    NOT_REGULAR,
    OPEN,
    OWN_NOISE,
    PASS,
    ROUNDING,
    SMALL_EFFECT,
    UNDECIDED,
    ZERO_UNITS,
    Entries,
    change_between_ends,
    compare_by_tolerances,
    differ_by,
    entries_that_count,
)

from .lines import entries_of


def entries_by(f, at, grad, products_rounding=0.0, strict=False, left_out=None):
    claim = HandWritten(f, at, grad=grad)
    claim.left_out = left_out or {}
    flat = Flat(claim)
    return Entries(flat, Sampler(flat), ClaimedRows(flat, np.random.default_rng(0)), products_rounding, strict)


def claiming(*claimed, x=None):
    """Return the entries of a sum of elements of size 2, or x, with the claimed slopes."""
    return entries_of(np.sum, np.full(len(claimed), 2.0) if x is None else x, lambda x: np.array(claimed, float))


def test_a_difference_between_calls_is_given_as_a_relative_number():
    assert differ_by(1.234e-5) == "non-deterministic: two calls at the same point differ by 1.2e-05 relative"


def test_functions_change_between_the_ends_of_the_first_fit():
    ends = np.array([[7.1, np.nan, np.inf], [6.8, 1.2, 1.3]])
    line = SimpleNamespace(
        base=np.array([7.0, 1.0, 1.0]), values=lambda t: (t, ends) if list(t) == [-FIRST, FIRST] else None
    )
    assert change_between_ends(line) == pytest.approx([0.2 / FIRST, 0.2 / FIRST, 0.3 / FIRST])


@pytest.mark.parametrize(
    ("kind", "part"), [(np.float64, ROUNDING * 2.0**-53), (np.float32, ROUNDING * 2.0**-24), (np.float16, HALF_COARSE)]
)
def test_a_claim_may_be_off_by_its_own_rounding_and_that_of_products(kind, part):
    """In float16, 32 rounding units would be 1.6 %."""
    for more in (0.0, 0.25):
        entries = entries_by(np.sum, {"x": np.ones(2, kind)}, lambda x: np.array([3.0, -4.0]).astype(x.dtype), more)
        assert entries.own_rounding == pytest.approx(np.array([[3, 4]]) * (part + more), rel=1e-6)


def test_terms_that_a_claim_leaves_out_are_a_part_of_the_largest_effect_of_an_input():
    """The effects on the first input are 3 * 2 and 4 * 0.5, of which a tenth of the larger one may be left out."""
    at = {"x": np.array([2.0, 0.5]), "y": np.ones(1)}
    claim = lambda x, y: (np.array([3.0, -4.0]), 100.0 * y)  # noqa: E731
    entries = entries_by(lambda x, y: x.sum() + y.sum(), at, claim, left_out={"x": 0.1})
    assert entries.effects.tolist() == [[6, 2, 100]]
    assert entries.left_out == pytest.approx(np.array([[0.3, 1.2, 0]]))
    assert (entries.own_rounding >= entries.left_out).all()
    assert (entries_by(lambda x, y: x.sum() + y.sum(), at, claim, strict=True, left_out={"x": 0.1}).left_out == 0).all()


def test_limits_along_an_element_are_in_units_of_its_scale():
    """The values within the width of the estimate are 7 and 8, so their rounding is 8e-3."""
    entries = claiming(3.0, x=[0.5])
    line = SimpleNamespace(
        kept={0.0: np.array([7.0]), 1e-3: np.array([8.0]), -5e-4: np.array([np.nan]), 0.01: np.array([1e6])},
        weights=None,
        base=np.array([7.0]),
        rounding=lambda values: np.abs(values).max(axis=0) * 1e-3,
        values=lambda t: (t, np.array([[7.0], [7.4]])),
    )
    slopes = SimpleNamespace(change=np.array([5.0]), width=np.array([1e-3]))
    limits = entries.limits_of(0, line, slopes)
    assert limits.own == pytest.approx(entries.own_rounding[0] * 0.5)
    assert limits.least == pytest.approx(entries.least_accused[0] * 0.5)
    assert limits.zero == pytest.approx([SMALL_EFFECT * 0.4 / FIRST]) and entries.changes.tolist() == [5]
    assert limits.negligible == pytest.approx([NEGLIGIBLE_PART * 2**53 * 8e-3 * 0.5])
    line.weights = np.ones((1, 1))
    assert entries.limits_of(0, line, slopes).negligible == pytest.approx([NEGLIGIBLE_PART * 2**53 * 7e-3 * 0.5])
    line.values = lambda t: (t, np.full((2, 1), 7.0))
    entries.changes[:], slopes.change = 0.0, np.zeros(1)
    assert entries.limits_of(0, line, slopes).zero == pytest.approx([ZERO_UNITS * 2.0**-53 * 7], rel=1e-6)


@pytest.mark.parametrize(
    ("proven", "slight", "integrated"),
    [
        (False, None, [0, 1, 2]),
        (True, None, [1]),
        (False, [0.5, 0.5, 0.5], [1, 2]),
        (False, [0.1, 0.1, 0.1], [0, 1, 2]),
        (True, [9.0] * 3, [1]),
    ],
)
def test_claims_are_integrated_unless_the_integral_adds_nothing(proven, slight, integrated):
    entries, asked = claiming(1.0, 1.0), []
    entries.proven, entries.measure_scatter = proven, lambda: asked.append("scatter")
    found = SimpleNamespace(
        in_doubt=True, unsettled=[0, 1, 2], words=["contradicts", "unknown", "contradicts"], proves=True
    )
    found.measure_rounding, found.integrate = lambda: asked.append("rounding"), asked.append
    found.gap = lambda j: [0.3, 0.3, 0.7][j]
    entries.look_again(found, None if slight is None else np.array(slight))
    assert asked == ["scatter", "rounding", integrated] and entries.proven is True
    found.in_doubt, entries.proven = False, False
    entries.look_again(found)
    assert len(asked) == 3 and entries.proven is False


def test_a_tolerance_is_measured_once_from_the_difference_along_a_direction(monkeypatch):
    made = []

    class Differences:
        def __init__(self, line, claimed, j):
            made.append(line.direction)

        def jump(self, off):
            return off

    monkeypatch.setattr(steps, "Differences", Differences)
    weights = np.array([1.0, 2.0])
    for claimed in (weights, 0 * weights, -weights):
        entries = entries_of(lambda x: weights @ x, [3.0, 5.0], lambda x, c=claimed: c)
        made.clear()
        off = entries.tolerance_of(0)
        assert off == pytest.approx((weights - claimed) @ made[0], abs=1e-9) and entries.tolerance_of(0) == off
        assert len(made) == 1 and (np.abs(made[0]) >= [1.5, 2.5]).all()


def compared(word, verdict="pass", **more):
    """Return a stand-in for a comparison along an element of size 2."""
    slopes = SimpleNamespace(left=np.array([-2.0]), right=np.array([4.0]), side_error=np.array([1e-9]))
    found = SimpleNamespace(words=[word], slopes=slopes, answers={0: SimpleNamespace(bound=0.5)}, **more)
    found.decision, found.is_rough = lambda j: SimpleNamespace(verdict=verdict), lambda j: more.get("rough", False)
    found.reason = lambda j: Observation("noise", "why")
    return found


@pytest.mark.parametrize(
    ("word", "verdict", "state"),
    [
        ("agrees", "pass", PASS),
        ("negligible", "pass", NEGLIGIBLE),
        ("differs slightly", "pass", PASS),
        ("unknown", "inconclusive", UNDECIDED),
        ("contradicts", "fail", FAIL),
        ("disagrees", "pass", PASS),
        ("kink", "", PASS),
    ],
)
def test_a_comparison_decides_an_entry(word, verdict, state):
    entries = claiming(1.5)
    entries.value[0, 0], entries.slight = 1.5 / (1 + 1e-7), {0: 2e-8}
    assert entries.state_of(compared(word, verdict), 0, 0) == state
    assert entries.reasons == ({(0, 0): Observation("noise", "why")} if state == UNDECIDED else {})
    assert entries.slight[0] == pytest.approx(1e-7 if word == "differs slightly" else 2e-8)
    assert np.isnan(entries.value[0, 0]) == (word == "disagrees")
    assert entries.bound[0, 0] == (0.25 if word == "disagrees" else np.inf)
    assert entries.sides == ({(0, 0): (-1, 2)} if word == "kink" else {})


@pytest.mark.parametrize("explains", [True, False, None])
@pytest.mark.parametrize("word", ["contradicts", "kink"])
def test_what_is_seen_next_to_a_kink_may_explain_a_wrong_entry(explains, word):
    entries = claiming(2.5)
    entries.nearby = None if explains is None else SimpleNamespace(explains=lambda j, i: explains)
    state = entries.state_of(compared(word, "fail", rough=True), 0, 0)
    assert state == (UNDECIDED if explains else FAIL)
    assert [why.text for why in entries.reasons.values()] == ([NOT_REGULAR] if explains else [])
    assert entries.rough is (word == "contradicts" and not explains)


def test_a_claim_that_scatters_too_much_agrees_with_nothing():
    entries = claiming(2.0)
    entries.scattered[:], entries.own_rounding[:] = True, 0.6
    assert entries.state_of(compared("agrees"), 0, 0) == UNDECIDED
    part = 0.6 / OWN_NOISE / 2
    assert entries.reasons[0, 0].text.endswith(f"between close points, it scatters by about {part:.1g} (relative)")
    assert entries.state_of(compared("negligible"), 0, 0) == NEGLIGIBLE


@pytest.mark.parametrize(("wrong", "text"), [([], None), ([0], "x"), ([2], "y"), ([1, 2], "x and y")])
def test_inputs_with_wrong_elements_are_reported_while_a_check_runs(wrong, text):
    at, reported = {"x": np.ones(2), "y": np.ones(1)}, []
    entries = entries_by(lambda x, y: x.sum() + y.sum(), at, lambda x, y: (x, y))
    entries.flat.claim.progress.callback = lambda *words: reported.append(words)
    entries.compare_element = lambda i: entries.state.__setitem__((0, i), FAIL if i in wrong else PASS)
    entries.compare_elements(range(3), "part")
    assert [words[:3] for words in reported if words[0]] == [("part", k, 3) for k in range(3)]
    partial = [words[3] for words in reported if not words[0]]
    assert partial[-1:] == ([] if text is None else [f"elements wrong so far in {text}"])


def test_wrong_entries_may_be_slopes_at_a_kink_unless_there_is_structure_nearby():
    entries = entries_of(
        lambda x: np.array([x[0], x[1], 1.0]), np.ones(2), lambda x: np.array([[1.0, 1], [1, np.nan], [1, 1]])
    )
    entries.state[:] = [[FAIL, PASS], [PASS, FAIL], [PASS, PASS]]
    assert entries.may_be_kinks.tolist() == [True, False, False]
    for limit, may_be in ((FINE, False), (2 * FINE, True)):
        entries.estimates = {
            0: (None, SimpleNamespace(limit=np.full(3, np.inf))),
            1: (None, SimpleNamespace(limit=np.full(3, limit))),
        }
        assert entries.may_be_kinks.tolist() == [may_be, False, False]


def test_rows_that_no_element_changes_by_itself():
    entries = entries_of(lambda x: np.array([x[0], x[1]]), np.ones(2), lambda x: np.eye(2))
    entries.value, entries.error = (
        np.array([[1e-3, -1e-3], [1e-3, -1e-3]]),
        np.array([[1e-3, 1e-3], [1e-3, 1e-3 / MARGIN / 2]]),
    )
    assert entries.is_constant.tolist() == [True, False]


def test_slopes_at_kinks_are_not_those_of_a_smooth_function():
    entries = claiming(1.0, 1.0)
    entries.value, entries.sides = np.array([[0.5, 3.0]]), {(0, 0): (0.0, 1.0)}
    assert np.isnan(entries.value_if_smooth[0, 0]) and entries.value_if_smooth[0, 1] == 3 and entries.value[0, 0] == 0.5


@pytest.mark.parametrize(("kind", "steps"), [("staircase", True), ("solver", True), ("noise", False), (None, False)])
def test_entries_of_a_function_in_steps_say_so(kind, steps):
    entries, why = claiming(1.0), Observation(str(kind), "why")
    if kind is not None:
        entries.reasons[0, 0] = why
    assert entries.in_steps(0, 0) == (why if steps else None)
    entries.state[:] = UNDECIDED
    assert entries.reason() == (
        why if kind is not None else Observation("undecided", "not all elements could be estimated")
    )
    assert entries.unknown_at_kinks.tolist() == [[False]]


@pytest.mark.parametrize(("width", "state"), [(1.1, PASS), (0.9, UNDECIDED)])
def test_sides_of_a_kink_must_be_known_to_a_part_of_their_distance(width, state):
    entries = claiming(0.5)
    entries.sides[0, 0], entries.own_rounding[:], entries.least_accused[:] = (1.0, 0.0), 0.0, 0.0
    assert entries.at_kink(0, 0, COARSE / MARGIN / width) == state
    assert entries.kinks == ({0: [0]} if state == PASS else {})


@pytest.mark.parametrize(
    ("claimed", "error", "value", "scale", "state"),
    [
        (0.009, 1e-3 / MARGIN, 0.009, 1.0, UNDECIDED),
        (0.009, 0.5e-3 / MARGIN, 0.009, 1.0, NEGLIGIBLE),
        (0.009, 0.5e-3 / MARGIN, 0.009, 2.0, UNDECIDED),
        (0.002, 0.5e-3 / MARGIN, 0.002, 2.0, NEGLIGIBLE),
        (0.005, 0.5e-3 / MARGIN, 0.008, 1.0, UNDECIDED),
    ],
)
def test_an_undecided_entry_is_negligible_next_to_one_that_passed(claimed, error, value, scale, state):
    """That changes the output by 1, less 0.05 by which it may be off, so the limit is 0.0095."""
    entries = claiming(1.0, claimed, x=[1.0, scale])
    entries.value, entries.error = np.array([[1.0, value]]), np.array([[0.05 / MARGIN, error]])
    entries.state[:] = [[PASS, UNDECIDED]]
    entries.own_rounding[:], entries.least_accused[:] = 0.0, 0.0
    entries.mark_negligible()
    assert entries.state.tolist() == [[PASS, state]]


def test_an_entry_that_passed_by_its_integral_counts_up_to_its_bound():
    for bound, state in ((0.05, NEGLIGIBLE), (0.2, UNDECIDED), (np.inf, UNDECIDED)):
        entries = claiming(1.0, 0.009)
        entries.value, entries.error = np.array([[np.nan, 0.009]]), np.array([[np.inf, 1e-5]])
        entries.bound[0, 0], entries.state[:] = bound, [[PASS, UNDECIDED]]
        entries.mark_negligible()
        assert entries.state.tolist() == [[PASS, state]]


@pytest.mark.parametrize(("part", "state"), [(0.9, NEGLIGIBLE), (1.1, UNDECIDED)])
def test_an_undecided_entry_is_nothing_next_to_another_output_of_its_element(part, state):
    small = part * NO_EFFECT
    entries = entries_of(lambda x: np.array([1.0, small]) * x, [3.0], lambda x: np.array([[1.0], [small]]))
    entries.value, entries.error = np.array([[1.0], [small]]), np.array([[0.0], [1e-20]])
    entries.state[:] = [[PASS], [UNDECIDED]]
    entries.mark_negligible()
    assert entries.state.tolist() == [[PASS], [state]]


@pytest.mark.parametrize(
    ("claimed", "wrong", "diagonal"),
    [
        (np.diag([1.0, 0.0]), np.zeros((2, 2)), True),
        (np.diag([1.0, 2.0]), np.eye(2), True),
        (np.array([[1.0, 0], [3, 2]]), np.zeros((2, 2)), False),
        (np.diag([1.0, 2.0]), np.array([[0, 1], [0, 0]]), False),
        (np.zeros((2, 3)), np.zeros((2, 3)), False),
        (np.ones((1, 1)), np.zeros((1, 1)), False),
    ],
)
def test_only_the_diagonal_of_an_elementwise_function_counts(claimed, wrong, diagonal):
    found = entries_that_count(claimed, wrong.astype(bool))
    assert found.tolist() == (np.eye(len(claimed)) > 0 if diagonal else np.ones(claimed.shape, bool)).tolist()


@pytest.mark.parametrize(
    ("tolerances", "states"),
    [
        ((None, None, None), [PASS, PASS, FAIL]),
        ((1e-6, 1e-5, 3e-3), [PASS, PASS, PASS]),
        ((None, 0.0, 0.0), [FAIL, FAIL, FAIL]),
        ((None, 1.0, 0.0), [PASS, PASS, PASS]),
        ((None, 0.0, 1e-3), [PASS, FAIL, FAIL]),
    ],
)
def test_tolerances_are_those_of_pytorch_by_default(tolerances, states):
    """The slopes are 2, 0 and 1, and the claims are off by 0.001, 5e-6 and 0.002: rtol is 1e-3, and atol 1e-5."""
    entries = entries_of(lambda x: 2 * x[0] + x[2], np.ones(3), lambda x: np.array([2.001, 5e-6, 1.002]))
    compare_by_tolerances(entries, tolerances)
    assert entries.state.tolist() == [states] and entries.value == pytest.approx(np.array([[2, 0, 1]]), abs=1e-9)


def test_a_step_must_change_all_inputs():
    entries = claiming(1.0, 1.0, x=[1.0, 1e12])
    with pytest.raises(GradcliError, match="--eps 1e-06 is too small: it does not change all inputs") as raised:
        compare_by_tolerances(entries, (1e-6, None, None))
    assert raised.value.hint == "leave out --eps, or use a step such as 1e-06"


def test_a_note_says_why_values_at_a_kink_are_wrong():
    entries = claiming(1.0, 1.0, 1.0)
    entries.state[:] = [[PASS, OPEN, UNDECIDED]]
    entries.outside(0, np.array([True, False, True]), "because")
    assert entries.state.tolist() == [[FAIL, OPEN, FAIL]]
    assert entries.notes == ["taken together, the values at this kink lie outside the generalized gradient: because"]
