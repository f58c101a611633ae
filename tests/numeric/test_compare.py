"""What a numeric derivative and the integral of a claim say of it together, and the reasons that reports give."""

import dataclasses

import numpy as np
import pytest

from gradcli.numeric.compare import MARGIN, USUAL, Comparison, Limits
from gradcli.numeric.decide import Observation
from gradcli.numeric.estimate import Estimate
from gradcli.numeric.integral import Answer, Claimed

from .lines import fit_of, line_of, sampler_of, window

INF, NAN = np.inf, np.nan
LATE = len(USUAL)  # as many windows as every claim in doubt is tested in


def compared(f=np.sin, x=1.0, **known):
    """Return a comparison for a function of a number, along that number in units of 1, of which only this is known."""
    found = object.__new__(Comparison)
    line = line_of(f, x)
    rest = {"line": line, "scale": 1.0, "strict": False, "tried": True, "looked": LATE, "tolerance_of": None}
    vars(found).update(rest, windows=[], answers={}, reasons={}, claimed=claimed(1.0), slopes=slopes(), limits=limits())
    vars(found).update(known)
    return found


def array(x):
    return np.array([x], object if isinstance(x, str) else None)


def claimed(a):
    return Claimed(lambda t, _: np.full((len(t), 1), a), array(a), array(abs(a)))


def slopes(fits=(), **known):
    known = {"kind": "smooth", "value": 0.0, "error": 0.0, **known}
    return dataclasses.replace(Estimate.unknown(1), fits=tuple(fits), **{key: array(x) for key, x in known.items()})


def limits(own=0.0, least=0.0, zero=0.0, negligible=0.0):
    return Limits(*map(array, (own, least, zero, negligible)))


AGREES = [window(2e-2, 0.0), window(0.6, 0.0)]
DISAGREES = [window(2e-2, 0.5), window(0.6, 0.5)]
UNCLEAR = [window(2e-2, 0.5)]  # one window does not decide
WRONG_HERE = [window(2e-2, 0.0, gap=1.0), window(0.6, 0.0, gap=1.0)]
RIGHT_IN_WIDE = [window(2e-2, 0.5), window(0.6, 0.0)]
RIGHT_IN_NARROW = [window(2e-5, 0.0), window(2e-2, 0.5), window(0.6, 0.5)]
METHODS = ("is_right_in_a_fit", "is_right_too_close", "agrees_with_trend", "is_right_beside", "may_be_tolerance")


@pytest.mark.parametrize(
    ("word", "windows", "true", "says"),
    [
        ("disagrees", DISAGREES, "", "disagrees"),
        ("disagrees", UNCLEAR, "", "unclear"),
        ("disagrees", WRONG_HERE, "", "wrong at the point"),
        ("contradicts", AGREES, "", "agrees"),
        ("disagrees", DISAGREES, "is_right_in_a_fit", "right on one step"),
        ("disagrees", UNCLEAR, "is_right_in_a_fit", "right on one step"),
        ("disagrees", WRONG_HERE, "is_right_in_a_fit", "right on one step"),
        ("disagrees", AGREES, "is_right_in_a_fit", "agrees"),
        ("disagrees", DISAGREES, "is_right_too_close", "right only very near"),
        ("disagrees", UNCLEAR, "is_right_too_close", "right only very near"),
        ("disagrees", WRONG_HERE, "is_right_too_close", "right only very near"),
        ("disagrees", AGREES, "is_right_too_close", "agrees"),
        ("disagrees", DISAGREES, "agrees_with_trend", "right over many steps"),
        ("contradicts", AGREES, "agrees_with_trend", "right over many steps"),
        ("agrees", DISAGREES, "agrees_with_trend", "disagrees"),
        ("disagrees", DISAGREES, "is_right_beside", "right on one step"),
        ("contradicts", UNCLEAR, "is_right_beside", "right on one step"),
        ("contradicts", WRONG_HERE, "is_right_beside", "wrong at the point"),
        ("agrees", DISAGREES, "is_right_beside", "disagrees"),
        ("disagrees", DISAGREES, "may_be_tolerance", "the kind of structure"),
        ("disagrees", AGREES, "may_be_tolerance", "agrees"),
        ("disagrees", RIGHT_IN_WIDE, "", "the kind of structure"),
        ("disagrees", RIGHT_IN_NARROW, "", "the kind of structure"),
    ],
)
def test_the_integral_counts_unless_something_else_explains_the_difference(word, windows, true, says):
    """The claim is 1, the numeric derivative 0.5."""
    methods = {name: lambda j, name=name: name == true for name in METHODS}
    methods["kind_of_structure"] = lambda j, answer: "the kind of structure"
    assert compared(words=[word], windows=windows, slopes=slopes(value=0.5), **methods).answer(0).says == says


@pytest.mark.parametrize(
    ("windows", "limit", "step", "says"),
    [
        (DISAGREES, 0.01, True, "right on one step"),  # the claim is off by as much in both windows
        ([window(2e-2, 0.5), window(0.03, 0.5), window(0.6, 0.2)], 0.01, True, "agrees"),
        (DISAGREES, 0.01, False, "unclear"),
        (DISAGREES, INF, True, "disagrees"),
        (AGREES, 0.01, True, "agrees"),
    ],
)
def test_windows_wider_than_a_step_do_not_refute_a_slope_that_agrees(windows, limit, step, says):
    asked = []
    found = compared(
        words=["agrees"],
        windows=windows,
        slopes=slopes(value=1.0, limit=limit),
        jumps=lambda *place: asked.append(place) or step,
    )
    assert found.answer(0).says == says
    assert asked == ([(0, 1.0, limit)] if windows is not AGREES and limit < INF else [])


@pytest.mark.parametrize(("value", "says"), [(0.99, "agrees"), (1 - 1e-6, "unclear"), (1 + 1e-6, "unclear")])
@pytest.mark.parametrize("word", ["disagrees", "contradicts"])
def test_the_integral_agrees_only_if_it_resolves_the_difference_from_the_numeric_derivative(word, value, says):
    """These windows know the slope to within 1e-6."""
    assert compared(words=[word], windows=AGREES, slopes=slopes(value=value)).answer(0).says == says


@pytest.mark.parametrize(("gap", "says"), [(3 * 2.0**-8, "agrees"), (3 * 2.0**-8 - 2.0**-20, "unclear")])
def test_the_integral_resolves_a_difference_of_twice_its_bound(gap, says):
    """The bound is 2**-8 for the slope and 2**-9 for the claim at the point itself."""
    seen = [window(2e-2, 0.0, 2.0**-8, gap_error=2.0**-9), window(0.6, 0.0, 2.0**-8, gap_error=2.0**-9)]
    assert compared(words=["disagrees"], windows=seen, slopes=slopes(value=1 - gap)).answer(0).says == says


@pytest.mark.parametrize(
    ("windows", "constant", "says"),
    [
        (AGREES, 0.0, "agrees"),
        (DISAGREES, 0.0, "unclear"),
        ([window(1e-7, 0.5), window(1e-6, 0.5), *AGREES], 1e-6, "agrees"),
        ([window(1e-7, 0.5), window(1e-6, 0.5), *AGREES], 1e-9, "unclear"),
        ([*AGREES, window(30.0, 0.5), window(90.0, 0.5)], 0.3, "agrees"),
        ([*AGREES, window(30.0, 0.5), window(90.0, 0.5)], 0.0, "agrees"),  # wider than every usual window
        ([window(30.0, 0.0), window(90.0, 0.0)], 1e-6, "agrees"),
        ([window(30.0, 0.0), window(90.0, 0.0)], 60.0, "agrees"),
        ([window(30.0, 0.0), window(90.0, 0.0)], 90.0, "unclear"),
    ],
)
def test_where_values_next_to_the_point_are_equal_only_wider_windows_that_agree_count(windows, constant, says):
    fits = [fit_of(constant, 0.0, 0.0, constant=True)] if constant else []
    known = slopes(fits=[*fits, fit_of(100.0, 0.0, 1.0)], lost=True, value=0.0)
    assert compared(words=["unknown"], windows=windows, slopes=known).answer(0).says == says

    methods = {name: lambda j: False for name in METHODS}
    if windows is DISAGREES:  # these count if the numeric derivative is known, or unknown for another reason
        assert compared(words=["disagrees"], windows=windows, slopes=known, **methods).answer(0).says == "disagrees"
        known = slopes(lost=False)
        assert compared(words=["unknown"], windows=windows, slopes=known, **methods).answer(0).says == "disagrees"


@pytest.mark.parametrize(
    ("reach", "windows", "says"),
    [
        (1e-3, [window(2e-2, 1.0, 0.1), window(0.6, 1.15, 0.1)], "right on one step"),
        (1e-3, [window(2e-2, 1.0, 0.125), window(0.6, 1.25, 0.125)], "right on one step"),  # the intervals meet
        (1e-3, [window(2e-2, 30.0, 1.0), window(0.6, 1.0, 1.0)], "agrees"),
        (1e-3, [window(1e-4, 30.0, 1.0), window(1e-3, 1.5, 1.0), window(0.6, 1.0, 1.0)], "right on one step"),
        (1e-3, [window(1e-3, 30.0, 1.0), window(0.6, 1.0, 1.0)], "agrees"),
        (1e-3, [], "right on one step"),
    ],
)
def test_many_steps_follow_the_same_slope_in_all_wider_windows(reach, windows, says):
    assert compared(windows=windows).on_a_step(0, reach) == says


@pytest.mark.parametrize(
    ("says", "looked", "jumps", "kind"),
    [
        ("right in wide windows", LATE - 1, True, "unclear"),
        ("right in wide windows", LATE, True, "right over many steps"),
        ("right in wide windows", LATE, False, "disagrees"),
        ("right in narrow windows", LATE, True, "right on one step"),
        ("right in narrow windows", LATE, False, "agrees"),
        ("disagrees", LATE - 1, True, "unclear"),
        ("disagrees", LATE, True, "disagrees"),
    ],
)
def test_windows_that_contradict_each_other_show_steps_if_the_function_jumps(says, looked, jumps, kind):
    asked = []
    found = compared(slopes=slopes(value=0.25), looked=looked, jumps=lambda *place: asked.append(place) or jumps)
    assert found.kind_of_structure(0, Answer(says, -1.0, 1.0, reach=0.125)) == kind
    assert set(asked) <= {(0, 0.25, 0.125)}


@pytest.mark.parametrize(
    ("jump", "kind"),
    [(None, "disagrees"), (0.0, "disagrees"), (1e-9, "disagrees"), (0.125, "right but for a tolerance")],
)
def test_a_difference_that_the_slope_jumps_by_elsewhere_may_be_due_to_a_tolerance(jump, kind):
    """The claim is 1, the numeric derivative 0.875."""
    tolerance_of = None if jump is None else lambda j: jump
    found = compared(slopes=slopes(value=0.875), tolerance_of=tolerance_of)
    assert found.kind_of_structure(0, Answer("disagrees", 0.1, 0.2)) == kind


STEPS = "a staircase: the slope is {} on the step here and {} over many steps"


@pytest.mark.parametrize(
    ("says", "kind", "text"),
    [
        ("right on one step", "staircase", STEPS.format("0.5", "0.75")),
        ("right over many steps", "staircase", STEPS.format("0.4", "0.5")),
        (
            "right only very near",
            "no slope",
            "the claim says that the function changes much within 6 of the point, which is too close for a numeric "
            "derivative",
        ),
        (
            "right but for a tolerance",
            "solver",
            "claim and values differ by 0.4, and the slope of the values jumps nearby, as for an iteration that stops "
            "at a tolerance: use a smaller one",
        ),
        (
            "unclear",
            "noise",
            "the numeric derivative, 0.416667 ± 0.05, is uncertain, and so is the integral of the claim",
        ),
        (None, "noise", "the numeric derivative, 0.416667 ± 0.05, is uncertain, and so is the integral of the claim"),
    ],
)
def test_the_reason_for_an_undecided_element_gives_its_slopes_in_its_own_units(says, kind, text):
    """The element moves by 2 over one unit of the line, on which the claim is 1 and the function, -3, changes by 5/6.

    At such a slope, it changes by its own size over 3 units, in which the element moves by 6. The widest window leaves
    over a slope of 0.5. A claim of 1 is 1.4 times 1 / 1.4; 5 / 6 / 2 is 0.416667.
    """
    value = {"staircase": 0.8, "solver": 1 / 1.4}.get(kind, 5 / 6)
    found = compared(
        lambda x: -3 * x,
        scale=2.0,
        slopes=slopes(value=value, error=0.1 / MARGIN),
        windows=[window(0.6, 0.5), window(0.02, 7.0)],
        answers={} if says is None else {0: Answer(says, -1.0, 1.0)},
    )
    assert found.reason(0) == Observation(kind, text)
    found.reasons[0] = Observation("jump", "another")
    assert found.reason(0) == (Observation("jump", "another") if says in ("unclear", None) else Observation(kind, text))


def test_steps_that_no_window_saw_are_not_the_reason():
    found = compared(answers={0: Answer("right on one step", -1.0, 1.0)}, slopes=slopes(value=0.0, error=1.0))
    assert found.reason(0).kind == "noise"


@pytest.mark.parametrize(
    ("a", "fit", "consensus", "right"),
    [
        (1.0, fit_of(0.1, 1.0, 1e-9), {"value": -1.0, "error": 1e-3}, True),
        (-1.0, fit_of(0.1, -1.0, 1e-9), {"value": 1.0, "error": 1e-3}, True),
        (1.0, fit_of(0.1, 1.0, 1e-9, constant=True), {"value": -1.0, "error": 1e-3}, False),
        (1.0, fit_of(0.1, 1.0, 1e-3), {"value": -1.0, "error": 1e-3}, False),
        (1.0, fit_of(0.1, 1.1, 1e-9), {"value": -1.0, "error": 1e-3}, False),
        (1.0, fit_of(0.1, 1 + 2.0**-24, 2.0**-24), {"value": -1.0, "error": 1e-3}, True),
        (1.0, fit_of(0.1, 1.0, 1e-9), {"value": 1.0009, "error": 1e-3}, False),
        (1.0, fit_of(0.1, 1.0, 1e-9), {"value": 1.0, "error": INF, "kind": "none"}, True),
        (1.0, fit_of(0.1, 1.0, 1e-9), {"value": NAN, "error": INF, "kind": "jump"}, True),
    ],
)
def test_a_claim_may_be_right_in_a_precise_fit_that_others_contradict(a, fit, consensus, right):
    found = compared(claimed=claimed(a), slopes=slopes(fits=[fit_of(0.02, 9.0, 1.0), fit], **consensus))
    assert found.is_right_in_a_fit(0) == right


@pytest.mark.parametrize(("a", "reach"), [(1.5, 2.0), (-1.5, 2.0), (0.0, INF), (INF, INF)])
def test_the_reach_of_a_claim_is_the_distance_over_which_the_function_changes_by_its_size(a, reach):
    assert compared(lambda x: -3 * x, claimed=claimed(a)).reach(0) == reach


@pytest.mark.parametrize(
    ("factor", "own", "value", "narrowest", "right"),
    [
        (1.0, 0.0, 0.0, 1e-3, True),
        (1.01, 0.0, 0.0, 1e-3, False),
        (0.99, 0.0, 0.0, 1e-3, False),
        (1.01, 0.02, 0.0, 1e-3, True),
        (1.0, 0.0, 1.0, 1e-3, False),  # the estimate agrees with the narrow fit
        (1.0, 0.0, 0.0, 1e-12, False),  # the fits are narrower
        (1.0, 0.0, 0.0, None, True),
    ],
)
def test_next_to_a_pole_a_claim_may_be_right_only_very_near(factor, own, value, narrowest, right):
    """1 / (x - 1) changes by its own size within 2**-20 of 1 + 2**-20; its slope is -2**40. own, value: parts of it."""
    slope = -(2.0**40)
    found = compared(
        lambda x: 1 / (x - 1),
        1 + 2.0**-20,
        claimed=claimed(factor * slope),
        limits=limits(own=-own * slope),
        slopes=slopes(fits=[fit_of(narrowest, 0.0, 1.0)] if narrowest else [], value=value * slope, error=1.0),
    )
    assert found.is_right_too_close(0) == right


@pytest.mark.parametrize(
    ("f", "right"),
    [
        (lambda x: 2 * x if x >= 0 else 5 * x - 1, True),
        (lambda x: 2 * x if x <= 0 else 5 * x + 1, True),
        (lambda x: 3 * x if x >= 0 else 5 * x - 1, False),
    ],
)
def test_a_claim_may_be_right_on_one_side_of_a_jump(f, right):
    """Between both sides, the slope seems to be 1e6. own: the claim's own rounding."""
    known = {"claimed": claimed(2.0), "slopes": slopes(value=1e6, error=1.0), "scatters": lambda j: True}
    assert compared(f, 0.0, **known).is_right_beside(0) == right
    assert compared(f, 0.0, **known, limits=limits(own=1.5)).is_right_beside(0)
    for other in ({"looked": LATE - 1}, {"scatters": lambda j: False}, {"slopes": slopes(value=NAN)}):
        assert not compared(f, 0.0, **{**known, **other}).is_right_beside(0)


@pytest.mark.parametrize(
    ("fits", "limit", "other", "agrees"),
    [
        ([fit_of(0.02, 1.0, 0.01), fit_of(0.6, 1.01, 0.02)], 0.02, {}, True),
        ([fit_of(0.02, 1.0, 0.01), fit_of(0.6, 1.1, 0.02)], 0.02, {}, False),
        ([fit_of(0.02, 1.0, 0.01), fit_of(0.6, 1.125, 0.125)], 0.02, {}, True),
        ([fit_of(0.02, 1.0, 0.01), fit_of(0.6, 9.0, 0.5)], 0.02, {}, True),  # the second is not clear
        ([fit_of(0.01, 7.0, 0.01), fit_of(0.02, 1.0, 0.01)], 0.02, {}, True),  # the first is within a step
        ([fit_of(0.01, 1.0, 0.01)], 0.02, {}, False),
        ([fit_of(0.02, 1.0, 0.01)], INF, {}, False),
        ([fit_of(0.02, 1.0, 0.01)], 0.02, {"looked": LATE - 1}, False),
        ([fit_of(0.02, 1.0, 0.01)], 0.02, {"jumps": lambda *_: False}, False),
    ],
)
def test_a_claim_agrees_with_a_trend_if_all_fits_over_many_steps_agree_with_it(fits, limit, other, agrees):
    def jumps(j, slope, reach):
        return (j, slope, reach) == (0, 0.25, 0.02)  # the slope on a step, and the narrowest fit that agrees

    known = {"jumps": jumps, "slopes": slopes(fits=fits, value=0.25, limit=limit), **other}
    assert compared(**known).agrees_with_trend(0) == agrees


@pytest.mark.parametrize(("a", "small"), [(100.5, True), (99.5, True), (150.0, False), (-100.0, False)])
def test_only_small_differences_may_be_due_to_a_tolerance(a, small):
    found = compared(claimed=claimed(a), slopes=slopes(value=100.0), tolerance_of=lambda j: 1.0)
    assert found.is_small(0) == found.may_be_tolerance(0) == small
    found.tolerance_of = None
    assert not found.may_be_tolerance(0)


@pytest.mark.parametrize(
    ("answer", "other", "open_"),
    [
        (Answer("disagrees", 0.1, 0.2, final=True), {}, False),
        (Answer("disagrees", 0.1, 0.2), {}, True),
        (Answer("disagrees", 0.1, 0.2, final=True), {"may_be_tolerance": lambda j: True}, True),
        (Answer("disagrees", 0.1, 0.2, final=True), {"scatters": lambda j: True}, True),
        (Answer("disagrees", 0.1, 0.2, final=True), {"slopes": slopes(lost=True)}, True),
        (Answer("agrees", 0.0, 0.1, final=True), {"slopes": slopes(lost=True)}, False),
        (Answer("agrees", 0.0, 0.1, final=True), {"scatters": lambda j: True}, True),
    ],
)
def test_more_windows_are_needed_if_none_is_final_or_the_function_may_have_steps(answer, other, open_):
    rest = {"may_be_tolerance": lambda j: False, "scatters": lambda j: False}
    assert compared(answers={0: answer}, **{**rest, **other}).is_open(0) == open_


def test_values_scatter_only_if_their_rounding_was_measured_and_is_smaller():
    found = compared(slopes=slopes(noise=1e-9))
    assert not found.scatters(0)
    found.line.measured = np.array([1e-16])
    assert found.scatters(0)
    found.line.measured = np.array([1e-9])
    assert not found.scatters(0)


@pytest.mark.parametrize(
    ("word", "says", "value", "tolerance", "proves"),
    [
        ("disagrees", "disagrees", 0.5, True, True),
        ("disagrees", "disagrees", 0.5, False, True),
        ("disagrees", "disagrees", 0.999, False, False),  # along a direction, many slight differences may add up
        ("disagrees", "disagrees", 0.999, True, True),
        ("disagrees", "agrees", 0.5, True, False),
    ],
)
def test_a_claim_is_proven_wrong_by_both_tests_if_no_tolerance_explains_it(word, says, value, tolerance, proves):
    found = compared(
        words=[word],
        answers={0: Answer(says, 0.1, 0.2)},
        slopes=slopes(value=value),
        tolerance_of=(lambda j: 0.0) if tolerance else None,
    )
    assert found.proves == proves


@pytest.mark.parametrize(
    ("word", "answer", "bound"),
    [
        ("agrees", None, 0.75),  # off by 0.25, and its own rounding is 0.5
        ("differs slightly", Answer("agrees", -0.1, 0.2), 0.75),
        ("disagrees", Answer("agrees", -0.1, 0.2), 0.2),
        ("disagrees", Answer("agrees", -0.3, 0.2), 0.3),
        ("disagrees", Answer("disagrees", 0.1, 0.2), INF),
        ("unknown", None, INF),
    ],
)
def test_the_bound_of_a_claim_that_passes_comes_from_what_decided_it(word, answer, bound):
    answers = {} if answer is None else {0: answer}
    found = compared(words=[word], answers=answers, slopes=slopes(value=0.75), limits=limits(own=0.5, least=9.0))
    assert found.bound.tolist() == [bound]


@pytest.mark.parametrize(
    ("a", "known", "own", "excluded"),
    [
        (3.0, {}, 0.0, True),
        (3.0, {}, 2.0, False),
        (2.5 + 1e-7, {"error": 1e-9, "noise": 1e-12}, 0.5, False),  # with noise, central differences do not show it
        (2.0, {}, 0.0, False),
        (3.0, {"limit": 1e-5}, 0.0, True),  # one central difference is left
        (3.0, {"limit": 1e-6}, 0.0, False),
        (3.0, {"limit": 1e-6, "settled": True}, 0.0, True),
        (2.0, {"limit": 1e-6, "settled": True}, 0.0, False),
        (7.0, {"value": 5.0}, 0.0, False),  # central differences do not agree with the fit
    ],
)
def test_a_claim_is_excluded_by_fits_at_two_scales_or_by_central_differences(a, known, own, excluded):
    """The slope of x^2 at 1 is 2. One fit, narrower than the central differences, has seen that."""
    known = {"value": 2.0, "error": 1e-6, **known}
    fits = [fit_of(1e-7, known["value"], known["error"])]
    found = compared(np.square, claimed=claimed(a), slopes=slopes(fits=fits, **known), limits=limits(own=own))
    assert found.excluded().tolist() == [excluded]


def test_differences_that_may_be_rounding_of_the_claim_are_not_excluded():
    """Rounding counts only up to a number of errors of the estimate; an error of 1e-6 is too small."""
    for error, least, excluded in ((0.25, 0.0, True), (0.25, 2.0, False), (1e-6, 2.0, True)):
        fits = [fit_of(1e-7, 2.0, error), fit_of(1e-6, 2.0, error)]
        known = slopes(fits=fits, value=2.0, error=error)
        assert compared(claimed=claimed(3.0), slopes=known, limits=limits(least=least)).excluded() == excluded


def test_two_fits_exclude_a_claim_without_more_calls():
    fits = [fit_of(1e-7, 2.0, 1e-6), fit_of(1e-6, 2.0, 1e-6)]
    found = compared(np.square, claimed=claimed(3.0), slopes=slopes(fits=fits, value=2.0, error=1e-6))
    before = found.line.sampler.calls
    assert found.excluded().all() and found.line.sampler.calls == before


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_the_error_of_a_central_difference_covers_curvature_and_noise(width):
    """That of 100 x^3 at 1 is 300 + 100 width^2; values are below 128, and their rounding below 2**-47."""
    value, error = compared(lambda x: 100 * x**3).central_difference(width)
    assert abs(value[0] - 300 - 100 * width**2) <= 2.0**-44 / width
    assert 100 * width**2 + 2.0**-47 / width <= error[0] <= 1e4 * width**2 + 2.0**-40 / width
    _, noisy = compared(lambda x: 100 * x**3, slopes=slopes(noise=1e-5)).central_difference(width)
    assert noisy[0] >= 1e-5 / width


@pytest.mark.parametrize(
    ("scale", "width", "lost", "found"),
    [
        (1.0, 18.0, False, [18.0, 6.0, 1.8]),
        (1.0, 1e-9, False, [1e-9, 1e-9 / 3]),
        (1.0, 0.02, False, []),
        (1.0, max(USUAL), False, []),
        (1.0, min(USUAL), False, []),
        (0.01, 0.02, True, [100 / 3, 10 / 3]),
        (100.0, 0.02, True, []),
    ],
)
def test_windows_are_as_wide_as_a_fit_that_disagrees_or_as_the_steps_may_be(scale, width, lost, found):
    """Values that are equal close to x may change over a distance of 1, or of the scale of x if that is larger."""
    comparison = compared(words=["disagrees"], slopes=slopes(width=width, lost=lost))
    comparison.line = sampler_of(np.sin, scale).element(0)
    assert comparison.deciding_widths([0]) == pytest.approx(found)
    comparison.words = ["agrees"]
    assert comparison.deciding_widths([0]) == pytest.approx(found if lost else [])


@pytest.mark.parametrize("widths", [(18.0, 540.0), (540.0, 18.0), (1e-9, 1e-10), (1e-10, 1e-9)])
def test_windows_are_as_wide_as_the_most_extreme_fit_that_disagrees(widths):
    known = dataclasses.replace(Estimate.unknown(2), width=np.array(widths))
    found = compared(words=["disagrees", "disagrees"], slopes=known).deciding_widths([0, 1])
    most, less = (540.0, 18.0) if 18.0 in widths else (1e-10, 1e-9)
    assert most in found and less not in found


def test_the_excess_of_a_claim_is_relative_to_what_is_allowed():
    assert compared(claimed=claimed(-1.0), slopes=slopes(value=0.5), limits=limits(own=0.5)).excess(0) == 3.0
    assert compared(slopes=slopes(value=NAN, error=INF)).excess(0) == INF
    assert compared(slopes=slopes(value=0.5)).excess(0) > 1e300  # nothing is allowed


@pytest.mark.parametrize(
    ("known", "a", "word", "reason"),
    [
        ({"kind": "jump"}, 1.0, "unknown", "jump"),
        ({"kind": "none"}, 1.0, "unknown", "no slope"),
        ({"kind": "kink", "value": 0.5, "error": 0.5}, 0.7, "kink", None),
        ({"kind": "kink", "value": INF}, 0.7, "kink", None),
        ({"kind": "kink", "value": INF}, INF, "unknown", "infinite slope"),
        ({"kind": "edge", "value": INF}, INF, "unknown", "infinite slope"),
        ({"kind": "edge", "value": -INF}, INF, "contradicts", None),
        ({"kind": "edge", "value": INF}, 1.0, "contradicts", None),
        ({"value": 1e200, "error": 1e199}, INF, "unknown", "infinite slope"),
        ({"value": 0.0, "error": 1e101}, -INF, "unknown", "infinite slope"),
        ({"value": 1e200, "error": 0.0}, INF, "contradicts", None),
        ({"value": 1.0, "error": 0.1}, INF, "contradicts", None),
        ({"value": 1.0, "error": 0.5}, INF, "unknown", "infinite slope"),
        ({"value": 1e200, "error": 1e199}, NAN, "contradicts", None),
        ({"value": 2.0, "error": 1e-9}, 2.0, "agrees", None),
        ({"value": 2.0, "error": 1e-9}, -2.0, "disagrees", None),
        ({"value": 2.0, "error": 1.0}, 2.0, "unknown", "noise"),
        ({"value": 2.0, "error": 0.0}, 2.0 + 1e-7, "differs slightly", None),
        ({"value": -2.0, "error": 0.0}, -2.0 + 1e-7, "differs slightly", None),
        ({"value": 0.0, "error": 0.0}, 1e-7, "disagrees", None),
    ],
)
def test_the_numeric_derivative_is_summed_up_in_a_word(known, a, word, reason):
    fits = [fit_of(0.02, 2.0, 0.0)]
    found = compared(claimed=claimed(a), slopes=slopes(fits=fits, **known))
    found.line.values(np.array([1.0]))  # where the sine has changed by 0.07
    assert found.word(0, False) == word
    assert (found.reasons[0].kind if found.reasons else None) == reason
    assert found.word(0, True) == ("contradicts" if word == "disagrees" else word)


def test_slight_differences_are_not_excused_if_the_check_is_strict():
    known = {"claimed": claimed(2.0 + 1e-7), "slopes": slopes([fit_of(0.02, 2.0, 0.0)], value=2.0)}
    assert compared(strict=False, **known).word(0, True) == "differs slightly"
    assert compared(strict=True, **known).word(0, True) == "contradicts"


@pytest.mark.parametrize(("negligible", "word"), [(3.0, "negligible"), (2.5, "negligible"), (2.0, "disagrees")])
@pytest.mark.parametrize(("a", "value"), [(2.5, 1.0), (1.0, 2.5), (-2.5, 1.0), (1.0, -2.5)])
def test_a_difference_is_negligible_if_neither_slope_has_an_effect(negligible, word, a, value):
    known = slopes([fit_of(0.02, 2.0, 0.0)], value=value)
    found = compared(claimed=claimed(a), slopes=known, limits=limits(negligible=negligible))
    assert found.word(0, False) == word


@pytest.mark.parametrize(
    ("a", "value", "tolerance", "known", "word"),
    [
        (1.0, 1.0, 1e-3, {}, "agrees"),
        (-1.0, 0.0, 1e-3, {}, "agrees"),
        (0.0, -1.0, 1e-3, {}, "agrees"),
        (1.0, 1.0, 0.5, {}, "unknown"),
        (1.0, 1.0, 0.5, {"zero": 0.5}, "unknown"),
        (0.0, 0.1, 0.5, {"zero": 0.5}, "agrees"),
        (0.0, 0.1, 0.5, {"zero": 0.4}, "unknown"),
        (0.0, 0.1, 0.5, {"negligible": 0.1}, "negligible"),
        (-0.1, 0.0, 0.5, {"negligible": 0.1}, "negligible"),
        (0.2, 0.0, 0.5, {"negligible": 0.1}, "unknown"),
        (0.0, -0.2, 0.5, {"negligible": 0.1}, "unknown"),
    ],
)
def test_a_claim_within_the_interval_agrees_only_if_that_is_narrow(a, value, tolerance, known, word):
    found = compared(claimed=claimed(a), slopes=slopes(value=value), limits=limits(**known))
    assert found.word_within(0, tolerance) == word


def test_slopes_in_reasons_are_those_of_the_element():
    found = compared(slopes=slopes(value=1.0, error=0.4 / MARGIN), scale=2.0)
    assert found.word_within(0, 1.0) == "unknown"
    assert found.reasons[0].text == "the derivative is lost in rounding or noise: 0.5 ± 0.2"
    found.line.flat.claim.trouble = "f raised ValueError"
    assert found.text_of_noise(1.0, 0.4 / MARGIN).endswith("0.5 ± 0.2; near the point, f raised ValueError")
    assert found.why_no_slope("none")[1].endswith("does not exist here: near the point, f raised ValueError")
    found.line.flat.claim.trouble = ""
    assert found.why_no_slope("none")[1].endswith("does not exist here: nan, infinity or a singularity nearby")
    assert found.why_no_slope("jump") == ("jump", "the function jumps at this point")


CONSTANT = fit_of(0.02, 0.0, 0.0, constant=True)


@pytest.mark.parametrize(
    ("known", "a", "word"),
    [
        ({"tried": False}, 0.0, "unknown"),  # the same values may be due to rounding
        ({}, 0.0, "agrees"),
        ({}, 1.0, "disagrees"),
        ({"tried": False, "lost": True}, 0.0, "unknown"),
        ({"lost": True, "is_flat": lambda j: True}, 0.0, "agrees"),
        ({"lost": True, "is_flat": lambda j: True, "error": 1.0}, 0.0, "agrees"),
        ({"lost": True, "is_flat": lambda j: True}, 1.0, "disagrees"),
        ({"lost": True, "is_flat": lambda j: False}, 0.0, "unknown"),
        ({"lost": True, "is_flat": lambda j: True, "tried": False}, 0.0, "unknown"),
        ({"lost": True, "is_flat": lambda j: False, "measured": True}, 0.0, "agrees"),
        ({"lost": True, "is_flat": lambda j: False, "measured": True}, 1.0, "disagrees"),
    ],
)
def test_equal_values_next_to_the_point_show_a_slope_of_0_once_rounding_is_ruled_out(known, a, word):
    error = known.pop("error", 0.0)
    known, measured = dict(known), known.get("measured")
    known.pop("measured", None)
    slope = slopes([CONSTANT], lost=known.pop("lost", False), error=error)
    found = compared(claimed=claimed(a), slopes=slope, **known)
    found.line.measured = np.zeros(1) if measured else None
    assert found.word(0, False) == word


@pytest.mark.parametrize(("negligible", "word"), [(1.25, "negligible"), (1.0, "unknown")])
@pytest.mark.parametrize(("a", "value"), [(1.0, 0.5), (-0.5, -1.0)])
def test_a_slope_lost_in_rounding_is_negligible_if_its_interval_is(negligible, word, a, value):
    """The interval ends at 1 + 0.25."""
    fits = [CONSTANT, fit_of(0.6, 0.0, 1.0)]
    found = compared(
        claimed=claimed(a),
        slopes=slopes(fits, lost=True, value=value, error=0.25 / MARGIN),
        limits=limits(negligible=negligible),
        is_flat=lambda j: False,
    )
    assert found.word(0, False) == word
    found.slopes = slopes(fits, lost=False, value=value, error=0.25 / MARGIN)
    found.steps_are_rounding = lambda j: False
    found.words = ["unknown"]
    assert found.known_error(0) == 0.25 / MARGIN
    found.slopes = slopes(fits, lost=True, value=value, error=0.25 / MARGIN)
    assert found.known_error(0) == INF and found.word(0, False) == "unknown"
    found.words = ["agrees"]  # since the function is constant
    assert found.known_error(0) == 0.25 / MARGIN
    found.line.measured = np.zeros(1)
    assert found.known_error(0) == 0.25 / MARGIN


@pytest.mark.parametrize(
    ("fits", "rounding"),
    [
        ([], False),
        ([CONSTANT, fit_of(0.6, 1.0, 0.1, noise=1e-16)], True),
        ([CONSTANT, fit_of(0.6, 1.0, 0.1, noise=1e-9)], False),
        ([CONSTANT, fit_of(0.6, 1.0, 0.1, noise=1e-9), fit_of(18.0, 1.0, 0.1, noise=1e-16)], True),
        ([CONSTANT, fit_of(0.6, 1.0, INF, noise=1e-16)], False),
        ([CONSTANT, fit_of(0.6, 1.0, 0.1, noise=1e-16, constant=True)], False),
    ],
)
def test_steps_are_rounding_if_a_fit_over_them_has_no_more_noise(fits, rounding):
    assert compared(slopes=slopes(fits)).steps_are_rounding(0) == rounding


@pytest.mark.parametrize(
    ("fit", "jumps", "flat"),
    [
        (fit_of(0.02, 1e-9, 1e-8), True, True),
        (fit_of(0.02, -1e-9, 1e-8), True, True),
        (fit_of(0.02, 1e-8, 1e-9), True, False),
        (fit_of(0.02, 1e-8, 1e-9), False, True),  # it ends at a kink
        (fit_of(0.01, 1e-9, 1e-8), True, False),
        (fit_of(0.02, 1e-9, INF), True, False),
        (fit_of(0.02, 1e-9, 1e-8, noise=1e-9), True, False),
    ],
)
def test_a_function_is_flat_if_a_wide_fit_says_so_or_it_ends_at_a_kink(fit, jumps, flat):
    found = compared(slopes=slopes([fit]), jumps=lambda j, slope, reach: jumps and (slope, reach) == (0.0, max(USUAL)))
    assert found.is_flat(0) == flat


@pytest.mark.parametrize(
    ("word", "known", "unsettled"),
    [
        ("agrees", {}, []),
        ("negligible", {}, []),
        ("differs slightly", {}, []),
        ("kink", {"kind": "kink", "limit": 1e-6}, []),
        ("disagrees", {}, [0]),
        ("unknown", {}, [0]),
        ("agrees", {"limit": 1e-6}, [0]),
        ("agrees", {"limit": 0.1}, []),
        ("agrees", {"limit": 1e-6, "kind": "edge"}, []),
        ("negligible", {"limit": 1e-6}, []),
    ],
)
def test_a_claim_is_settled_if_the_numeric_derivative_agrees_and_no_step_is_close(word, known, unsettled):
    assert compared(words=[word], slopes=slopes(**known)).unsettled == unsettled


@pytest.mark.parametrize(
    ("word", "known", "fit", "doubt"),
    [
        ("agrees", {}, fit_of(0.6, 1.0, 0.1, noise=0.1), False),
        ("disagrees", {}, fit_of(0.6, 1.0, 0.1, noise=0.1), True),
        ("agrees", {"limit": 0.1}, fit_of(0.6, 1.0, 0.1, noise=0.1), True),
        ("kink", {"limit": 0.1, "kind": "kink"}, fit_of(0.6, 1.0, 0.1, noise=0.1), False),
        ("agrees", {}, fit_of(0.6, 1.0, 2.0, noise=0.1), True),  # a wider fit resolves nothing
        ("agrees", {"value": -3.0}, fit_of(0.6, 1.0, 2.0, noise=0.1), False),
        ("agrees", {}, fit_of(0.6, 1.0, 2.0, noise=0.0), False),
        ("agrees", {}, fit_of(0.01, 1.0, 2.0, noise=0.1), False),
        ("agrees", {}, fit_of(0.02, 1.0, 2.0, noise=0.1), False),  # this is the most precise one itself
        ("agrees", {}, fit_of(0.6, 1.0, 1.0, noise=0.1), False),
        ("agrees", {"kind": "edge"}, fit_of(0.6, 1.0, 2.0, noise=0.1), False),
    ],
)
def test_more_has_to_be_known_of_a_claim_if_there_is_structure_near_the_point(word, known, fit, doubt):
    known = slopes([fit], **{"value": 1.0, "width": 0.02, **known})
    assert compared(words=[word], slopes=known).in_doubt == doubt


@pytest.mark.parametrize(("factor", "says", "verdict"), [(1.0, "agrees", "pass"), (1.5, "disagrees", "fail")])
def test_a_claim_is_integrated_until_it_is_decided(factor, says, verdict):
    line = line_of(np.sin, 1.0)
    slope = factor * np.cos(1.0)
    claim = Claimed(lambda t, _: factor * np.cos(1 + t)[:, None], np.array([slope]), np.abs([slope]))
    found = Comparison(line, claim, lambda *_: limits())
    found.integrate([0])
    assert (found.answers[0].says, found.verdicts) == (says, [verdict])
    assert found.looked > 0 and len(found.windows) == found.looked
    assert found.trend(0) == pytest.approx(np.cos(1.0), rel=1e-3)
    assert found.text_of_slope(0.123456, 0.0) == "0.123 ± 0"
    assert not found.is_rough(0)


def test_rounding_is_measured_once():
    line = line_of(np.sin, 1.0)
    found = Comparison(line, claimed(np.cos(1.0)), lambda *_: limits())
    assert not found.tried
    line.measure_rounding = lambda: setattr(line, "measured", np.array([1e-16]))
    before, found.slopes = found.slopes, None
    found.measure_rounding()
    assert found.tried and found.slopes.value == pytest.approx(before.value)
    found.slopes = None
    found.measure_rounding()
    assert found.slopes is None


def test_functions_in_steps_are_those_that_are_right_in_part():
    words = ["agrees", "disagrees", "right on one step", "right over many steps", "right but for a tolerance"]
    found = compared(answers={j: Answer(says, 0.0, 0.0) for j, says in enumerate(words)})
    assert found.in_steps == [2, 3, 4]


def test_only_a_claim_that_was_integrated_may_be_rough():
    """Its series ends as late in a narrow window, and the claim is off by 1 / 64, as much as its jumps."""
    known = {"windows": [window(0.01, tail=0.01), window(0.6, tail=0.01)], "slopes": slopes(value=1 + 2.0**-6)}
    assert compared(**known, answers={0: Answer("disagrees", 0.0, 0.1)}).is_rough(0)
    assert not compared(**known).is_rough(0)


@pytest.mark.parametrize(("f", "jumps"), [(np.floor, True), (np.sin, False)])
def test_a_function_jumps_if_a_change_stays_as_large_between_closer_points(f, jumps):
    found = compared(f, 0.75)
    found.line.values(np.array([-0.5, 0.5]))
    assert found.jumps(0, 0.0, 1.0) == jumps
