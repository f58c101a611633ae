"""Probe and locate at any size: verdict, element, resolution and calls, none of which depends on the clock."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.claims.claim import OutOfCallsError
from gradcli.numeric.decide import Observation
from gradcli.numeric.estimate import PER_ESTIMATE
from gradcli.numeric.locate import ONE_BY_ONE
from gradcli.numeric.probe import Probe
from gradcli.numeric.verdict import FAIL, NEGLIGIBLE, OPEN, PASS, UNDECIDED

from ..bank import hunt
from .lines import entries_of

MANY = pytest.param(1_000_000, marks=pytest.mark.nightly)


def loss(n):
    """Return a sum of sines plus terms that couple all inputs, its gradient, and a point with some tiny elements."""
    rng = np.random.default_rng(11)
    x, c = rng.normal(size=n), rng.normal(size=n) + 2
    x[::97] *= 1e-7

    def f(x):
        return np.sum(np.sin(x) * c) + 0.5 * np.mean(x) ** 2 + np.log(np.sum(np.exp(x)))

    def g(x):
        e = np.exp(x - x.max())
        return np.cos(x) * c + np.mean(x) / n + e / e.sum()

    return f, g, x


def most_calls(n, verdict):
    """Return the number of calls that the contract allows."""
    return (200 if verdict == "pass" else 600) + 20 * np.log2(n)


@pytest.mark.parametrize("n", [1000, 20_000, MANY])
def test_a_right_gradient_of_any_size_passes_with_a_resolution(n):
    f, g, x = loss(n)
    report = check_gradient(f, g, at={"x": x})
    assert report.verdict == "pass"
    assert report.evidence.points <= most_calls(n, "pass")
    assert report.resolution < 1e-4


@pytest.mark.parametrize("n", [1000, 20_000, MANY])
@pytest.mark.parametrize("place, factor", [(123, 1.001), (97, 1.01), (123, 1 + 2e-6), (123, -1.0)])
def test_a_wrong_element_is_found_among_any_number(n, place, factor):
    f, g, x = loss(n)
    off = np.ones(n)
    off[place] = factor
    report = check_gradient(f, lambda x: g(x) * off, at={"x": x})
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (place,))
    assert report.evidence.points <= most_calls(n, "fail")
    assert report.inputs[0].counts.wrong == 1


def test_many_wrong_elements_are_counted_in_a_sample():
    f, g, x = loss(20_000)
    report = check_gradient(f, lambda x: g(x) * np.where(np.arange(len(x)) < 10_000, 1 + 1e-3, 1), at={"x": x})
    counts = report.inputs[0].counts
    assert report.verdict == "fail" and report.evidence.points <= most_calls(20_000, "fail")
    assert 10 < counts.wrong < counts.sampled <= 64 < counts.of == 20_000


def test_units_from_tiny_to_huge_in_one_vector():
    rng = np.random.default_rng(11)
    s = 10.0 ** rng.uniform(-12, 12, 5000)
    x = s * rng.uniform(0.5, 2, 5000)
    f = lambda x: np.sum(np.log1p((x / s) ** 2))  # noqa: E731
    g = lambda x: 2 * x / s**2 / (1 + (x / s) ** 2)  # noqa: E731
    right = check_gradient(f, g, at={"x": x})
    assert right.verdict == "pass" and right.evidence.points <= most_calls(5000, "pass")
    wrong = check_gradient(f, lambda x: g(x) * np.where(np.arange(5000) == 33, 1.001, 1), at={"x": x})
    assert (wrong.verdict, wrong.inputs[0].worst.place) == ("fail", (33,))


def test_thousands_of_kinks_next_to_the_point():
    rng = np.random.default_rng(5)
    x, t = rng.normal(size=20_000), rng.normal(size=20_000)
    g = np.sign(x - t) * (1 + t * t)
    f = lambda x: np.sum(np.abs(x - t) * (1 + t * t))  # noqa: E731
    assert check_gradient(f, lambda x: g, at={"x": x}).verdict == "pass"
    w = g * np.where(np.arange(20_000) == 55, -1, 1)
    report = check_gradient(f, lambda x: w, at={"x": x})
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (55,))


def test_elements_at_a_kink_are_noted_and_hide_no_wrong_one():
    x = np.where(np.arange(300) % 3, np.linspace(-1, 1, 300), 0.0)
    f = lambda x: np.abs(x).sum() + (x**2).sum()  # noqa: E731
    right = check_gradient(f, lambda x: np.sign(x) + 2 * x, at={"x": x})
    assert right.verdict == "pass" and any("a kink" in note for note in right.notes)
    wrong = check_gradient(f, lambda x: np.sign(x) + 2 * x + 0.1 * (np.arange(300) == 100), at={"x": x})
    assert wrong.verdict == "fail"


def test_elements_that_are_not_finite_are_held_constant():
    x = np.array([1.0, -np.inf, 0.3, 2.0])
    f = lambda x: np.log(np.sum(np.exp(x)))  # noqa: E731
    right = check_gradient(f, lambda x: np.exp(x - f(x)), at={"x": x})
    assert right.verdict == "pass" and "x: 1 element is nan or infinite, and kept constant" in right.notes
    assert check_gradient(f, lambda x: 2 * np.exp(x - f(x)), at={"x": x}).verdict == "fail"
    assert check_gradient(lambda x: np.nansum(x**2), lambda x: 2 * x, at={"x": np.array([1, np.nan])}).verdict == "pass"


def test_a_clear_disagreement_fails_within_a_small_budget():
    x = np.array([0.3, 1.2, 0.7, 2.0])
    wrong = np.array([1, 1.1, 1, 1])
    report = check_gradient(lambda x: np.sin(x).sum(), lambda x: wrong * np.cos(x), at={"x": x}, calls=40)
    assert report.verdict == "fail" and report.evidence.points <= 40


def test_a_twelve_by_twelve_jacobian():
    rng = np.random.default_rng(2)
    weights, x = rng.normal(size=(12, 12)), rng.normal(size=12)
    f = lambda x: np.tanh(weights @ x)  # noqa: E731
    g = lambda x: (1 - f(x) ** 2)[:, None] * weights  # noqa: E731
    right = check_gradient(f, g, at={"x": x})
    assert right.verdict == "pass" and right.evidence.points <= 120
    off = np.ones((12, 12))
    off[3, 7] = 1.01
    wrong = check_gradient(f, lambda x: off * g(x), at={"x": x})
    assert wrong.verdict == "fail" and wrong.evidence.points <= 600
    assert (wrong.inputs[0].worst.output, wrong.inputs[0].worst.place) == ((3,), (7,))


def test_the_output_of_a_wrong_element_is_named_among_many():
    wrong = np.where(np.arange(300) == 77, 1.1, 1)
    x = np.linspace(-1, 1, 300)
    report = check_gradient(np.tanh, vjp=lambda g, x: g * (1 - np.tanh(x) ** 2) * wrong, at={"x": x})
    worst = report.inputs[0].worst
    assert (worst.output, worst.place, worst.ratio) == ((77,), (77,), pytest.approx(1.1))
    assert report.inputs[0].counts[:3] == (1, 0, 300)


def said(count):
    """Return all contents of reports on random claims, except times."""
    reports = []
    for k in range(count):
        rng = np.random.default_rng([31, k])
        function = hunt.Function(rng)
        with np.errstate(all="ignore"):
            found = hunt.claims(function, rng)
        for claim in list(found.values())[:2]:
            report = check_gradient(function.value, at={"x": function.x}, grad=lambda x, g=claim: g)
            reports.append(repr((report.verdict, report.message, report.inputs, report.diagnosis, report.evidence)))
    return reports


@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.nightly)])
def test_no_verdict_depends_on_the_clock(monkeypatch, count):
    honest = said(count)
    ticks = itertools.count()
    real = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 10 * real() + next(ticks) ** 2 % 7)
    assert said(count) == honest


@pytest.mark.parametrize("spread", [1, 3, 4, 6, 12])
@pytest.mark.parametrize("seed", range(2))
def test_units_of_many_sizes_in_one_array(spread, seed):
    """No step suits all elements, so a common step is not evidence of an oscillating function."""
    rng = np.random.default_rng([spread, seed])
    x = rng.standard_normal(200) * 10.0 ** rng.uniform(-spread, spread, 200)
    unit = np.abs(x) * rng.uniform(0.3, 3, 200)

    def grad(x, off=1.0):
        return np.cos(x / unit) / unit * np.where(np.arange(200) == 7, off, 1.0)

    right, wrong = (
        check_gradient(lambda x: np.sin(x / unit).sum(), at={"x": x}, grad=lambda x, off=off: grad(x, off))
        for off in (1.0, 1.02)
    )
    assert right.verdict == "pass" and right.evidence.points <= 200 + 20 * np.log2(200)
    assert wrong.verdict == "fail" and wrong.inputs[0].worst.place == (7,)


SIZES = 10.0 ** -np.linspace(0, 14, 20)


@pytest.mark.parametrize("place", [None, 0, 9, 15])
def test_a_wrong_element_is_found_among_others_of_all_sizes(place):
    x, factors = np.linspace(0.3, 2, 20), np.where(np.arange(20) == place, 2.0, 1.0)
    report = check_gradient(lambda x: (SIZES * np.sin(x)).sum(), lambda x: factors * SIZES * np.cos(x), at={"x": x})
    assert report.verdict == ("pass" if place is None else "fail")
    assert report.inputs[0].counts.wrong == (place is not None)
    assert place is None or report.inputs[0].worst.place == (place,)


def test_the_element_that_makes_a_direction_undecided_is_located_if_there_are_calls():
    probe = Probe(entries_of(lambda x: np.abs(x - [0.3, 2.0]).sum(), [1.0, 2.0]), 1)
    direction = SimpleNamespace(line=SimpleNamespace(direction=np.ones(2)))
    assert probe.rough_elements(direction).tolist() == [1]
    probe.sampler.calls = 10_000
    assert probe.rough_elements(direction).tolist() == []


@pytest.mark.parametrize(
    ("family", "proves", "slight", "ends"),
    [
        ("relative", True, False, True),
        ("relative", False, False, False),
        ("relative", False, True, True),
        ("array", True, False, False),
    ],
)
def test_without_calls_only_a_direction_of_relative_moves_proves_a_disagreement(family, proves, slight, ends):
    """If all elements may differ slightly, nothing is proven, and the direction is not accepted either."""
    probe, accepted = Probe(entries_of(np.sum, [1.0, 2.0], np.ones_like), 1), []

    def search(probed):
        raise OutOfCallsError(5)

    probe.locator.search = search
    seen = {"proves": np.array([proves]), "may_be_slight": np.array([slight])}
    probed = SimpleNamespace(family=family, accept=lambda: accepted.append(family), **seen)
    probe.directions.probed.append(probed)
    assert probe.find_wrong(probed) is ends and probe.out_of_calls
    assert (probe.proven is probed) is (proves and family == "relative")
    assert bool(accepted) is (family == "relative" and not ends)
    assert probe.directions.probed == ([probed] if family == "relative" else [])


def probe_of(size=12, grad=np.ones_like):
    """Return a probe of a sum, and a list in which stand-ins for its steps note their names."""
    probe, asked = Probe(entries_of(np.sum, np.ones(size), grad), 1), []
    probe.restrict = lambda: asked.append("symmetry")
    probe.directions.leave_open = lambda *why: asked.append(("left", *why))
    return probe, asked


def seen_along(says, family="relative", size=12, words=("smooth",), steps=(), noisy=True, proves=False):
    """Return a stand-in for a direction along which the claim agrees, is wrong, or is open."""
    found = SimpleNamespace(words=words, in_steps=list(steps), reason=lambda j: Observation("staircase", f"row {j}"))
    line = SimpleNamespace(direction=np.linspace(1, 2, size))
    flags = {"wrong": np.array([says == "wrong"]), "agrees": np.array([says == "agrees"]), "proves": np.array([proves])}
    return SimpleNamespace(family=family, found=found, line=line, is_noisy=noisy, **flags)


ROUTES = [
    (["agrees", "agrees"], 2, {}, ["relative", "bound", "array", "bound"]),
    (["agrees"] * 3, 9, {}, ["relative", "bound", "array", "bound", "relative", "bound", "groups"]),
    (["wrong"], 9, {"found": True}, ["relative", "find"]),
    (["wrong", "agrees"], 2, {}, ["relative", "find", "array", "bound"]),
    (["open"], 9, {"settled": True}, ["relative", "symmetry", "open"]),
    (["open", "agrees", "agrees"], 2, {}, ["relative", "symmetry", "open", "array", "bound"]),
    (["agrees", "open", "agrees"], 2, {}, ["relative", "bound", "array", "symmetry", "relative", "bound"]),
]


@pytest.mark.parametrize(("says", "enough", "answers", "route"), ROUTES)
def test_directions_are_compared_until_every_element_has_a_bound(says, enough, answers, route):
    """They are relative, of the typical sizes, and relative; one that is open of the typical sizes is forgotten."""
    probe, asked = probe_of()
    directions, remaining = probe.directions, iter(says)

    def compare(direction, family):
        asked.append(family)
        directions.probed.append(seen_along(next(remaining), family))
        return directions.probed[-1]

    directions.compare, directions.bound_by = compare, lambda probed: asked.append("bound")
    directions.settle = lambda: len(directions.probed) >= enough
    probe.find_wrong = lambda probed: asked.append("find") or answers.get("found", False)
    probe.settle_open = lambda probed: asked.append("open") or answers.get("settled", False)
    probe.groups = lambda: asked.append("groups")
    directions.families["array"] = directions.families["relative"] * 2
    probe.along_directions()
    assert asked == route
    opened = says == ["agrees", "open", "agrees"]
    kept = [name for name in route if name == "relative" or (name == "array" and not opened)]
    assert [probed.family for probed in directions.probed] == kept
    local = (directions.families["array"] == directions.families["relative"]).all()
    assert local == opened


def test_without_elements_that_move_no_direction_is_compared():
    probe, asked = probe_of()
    probe.directions.families["relative"] = np.zeros(12)
    probe.groups = lambda: asked.append("groups")
    probe.along_directions()
    assert asked == ["groups"]


ROUNDS = ["direction", "bound", "settle"] * 3


@pytest.mark.parametrize(
    ("count", "calls", "found", "asked"),
    [
        (0, 0, False, [("left",)]),
        (1, 0, False, ["element", "negligible", ("left",)]),
        (3, 0, False, [*ROUNDS, *["element"] * 3, "negligible", ("left",)]),
        (ONE_BY_ONE, 0, False, [*ROUNDS, *["element"] * ONE_BY_ONE, "negligible", ("left",)]),
        (3, 10_000, False, [*ROUNDS, ("left",)]),
        (9, 0, False, [*ROUNDS, ("left",)]),
        (9, 0, True, ["direction", "find"]),
    ],
)
def test_elements_without_a_tight_bound_are_compared_as_a_group_and_then_alone(count, calls, found, asked):
    probe, seen = probe_of()
    entries, directions = probe.entries, probe.directions
    entries.state[0, count:], probe.sampler.calls = PASS, calls
    entries.compare_element = lambda i: seen.append("element")
    entries.mark_negligible = lambda: seen.append("negligible")

    def compare(direction, family):
        assert (direction != 0).tolist() == [i < count for i in range(12)] and family == "relative"
        seen.append("direction")
        return seen_along("wrong" if found else "agrees")

    directions.compare, directions.bound_by = compare, lambda probed: seen.append("bound")
    directions.settle = lambda: seen.append("settle")
    probe.find_wrong = lambda probed: seen.append("find") or True
    probe.groups()
    assert seen == asked


@pytest.mark.parametrize(
    ("says", "state", "proves", "few", "ends", "asked"),
    [
        ("agrees", PASS, False, [1, 3], True, ["elements", "relative", "bound"]),
        ("open", PASS, False, [1, 3], False, ["elements", "relative", "bound"]),
        ("wrong", PASS, False, [1, 3], True, ["elements", "relative", "find"]),
        ("agrees", PASS, False, range(12), True, ["elements"]),
        ("agrees", FAIL, False, [1, 3], True, ["elements", "relative", "bound", "settle"]),
        ("open", FAIL, True, [1, 3], True, ["elements", "relative", "bound", "settle"]),
        ("wrong", FAIL, True, [1, 3], True, ["elements", "relative", "find"]),
    ],
)
def test_elements_that_make_a_direction_undecided_are_taken_out_of_all(says, state, proves, few, ends, asked):
    probe, seen = probe_of()
    few, probed = np.array(few), seen_along("open", proves=proves)

    def compare_elements(elements):
        seen.append("elements")
        probe.entries.state[0, elements] = state

    def compare(direction, family):
        seen.append(family)
        assert np.flatnonzero(direction == 0).tolist() == [1, 3] and probed.line.direction.all()
        return seen_along(says)

    probe.entries.compare_elements = compare_elements
    probe.directions.compare, probe.directions.bound_by = compare, lambda probed: seen.append("bound")
    probe.directions.settle = lambda: seen.append("settle")
    probe.find_wrong = lambda probed: seen.append("find") or True
    assert probe.take_out(few, probed) is ends and seen == asked
    assert (probe.proven is probed) is proves
    if "relative" in asked:
        for sizes in probe.directions.families.values():
            assert np.flatnonzero(sizes == 0).tolist() == [1, 3]


def opening(jumps, taken, settles, state=PASS, near=True, rough=()):
    probe, asked = probe_of()

    def settle(rows):
        asked.append(("settles", rows.tolist()))
        return settles

    def take_out(few, probed):
        asked.append(("take", few.tolist()))
        probe.entries.state[0, few] = state
        return taken

    seen = SimpleNamespace(kinked=np.array(jumps, int), settles=settle)
    probe.directions.bound_by, probe.directions.settle = lambda probed: None, lambda: False
    probe.near, probe.nearby, probe.take_out = near, lambda: seen, take_out
    probe.rough_elements = lambda probed: np.array(rough, int)
    probe.locator.compare_all_or_some = lambda probed: asked.append("all")
    return probe, asked


@pytest.mark.parametrize(
    ("case", "noisy", "words", "asked", "ends"),
    [
        (([1, 2], True, False), False, ("kink",), [("take", [1, 2])], False),
        (([1], True, False), False, ("kink",), [("take", [1])], False),
        (([1, 2], True, False, FAIL), False, ("kink",), [("take", [1, 2])], True),
        (([1, 2], False, True), False, ("kink",), [("take", [1, 2]), ("settles", [True]), ("left",)], True),
        ((range(9), True, True), False, ("kink",), [("settles", [True]), ("left",)], True),
        ((range(9), True, False), False, ("kink",), [("settles", [True]), "all"], True),
        (([], True, False, PASS, True, [5]), False, ("noise",), [("take", [5])], False),
        (([], True, False, PASS, True, [5]), False, ("kink",), [("settles", [True]), "all"], True),
        (([1], True, False, PASS, True, [5]), True, ("noise",), [("take", [5])], False),
        (([1], True, False, PASS, False, [5]), False, ("noise",), [("take", [5])], False),
        (([1], True, True, PASS, False, []), False, ("noise",), ["all"], True),
    ],
)
def test_a_direction_that_decides_nothing_is_settled_next_to_kinks_or_by_few_elements(case, noisy, words, asked, ends):
    probe, seen = opening(*case)
    assert probe.settle_open(seen_along("open", noisy=noisy, words=words)) is ends
    assert seen == asked


def test_elements_of_a_function_in_steps_are_undecided_for_that_reason():
    probe, asked = probe_of()
    assert probe.settle_open(seen_along("open", steps=[2, 1])) is True
    assert asked == [("left", Observation("staircase", "row 2"))]


def at_kinks(states, settled=None, known=True, constant=False, explained=False, close=True):
    """Look next to kinks if entries have these states, of which undecided ones are at kinks."""
    probe, asked = probe_of(len(states))
    entries = probe.entries
    entries.state[0], entries.proven, probe.locator.proven = states, True, "direction"
    for i in np.flatnonzero(np.array(states) == UNDECIDED):
        entries.reasons[0, int(i)] = Observation("kink", "why")

    def settles(rows):
        asked.append(entries.state[0].tolist())
        entries.state[0] = settled

    near = SimpleNamespace(explains_jumps=lambda failed: np.array([explained]), is_known=known, settles=settles)
    near.constant = np.array([constant])
    probe.nearby, probe.jumps_close = lambda: near, lambda failed: close
    probe.look_next_to_kinks()
    return probe, asked, entries.state[0].tolist()


def test_entries_that_are_undecided_at_kinks_are_settled_by_a_look_next_to_them():
    """What stays open is as before."""
    probe, asked, states = at_kinks([PASS, UNDECIDED, UNDECIDED, NEGLIGIBLE], [PASS, PASS, OPEN, NEGLIGIBLE])
    assert asked == [[PASS, OPEN, OPEN, NEGLIGIBLE]] and states == [PASS, PASS, UNDECIDED, NEGLIGIBLE]
    assert probe.proven == "direction" and probe.entries.proven
    for options in ({"known": False}, {"constant": True}):
        probe, asked, states = at_kinks([PASS, UNDECIDED], [PASS, PASS], **options)
        assert asked == [] and states == [PASS, UNDECIDED]


@pytest.mark.parametrize("after", [PASS, FAIL])
def test_wrong_claims_that_jump_next_to_a_kink_are_looked_at_again(after):
    probe, asked, states = at_kinks([PASS, FAIL], [PASS, after], explained=True)
    assert asked == [[PASS, OPEN]] and states == [PASS, after]
    assert probe.entries.proven is (after == FAIL) and (probe.proven is None) is (after == PASS)
    for options in ({"close": False, "explained": True}, {"explained": False}):
        probe, asked, states = at_kinks([PASS, FAIL], [PASS, PASS], **options)
        assert asked == [] and states == [PASS, FAIL] and probe.proven == "direction"


def test_no_entry_of_a_row_is_looked_at_again_if_its_jumps_explain_no_wrong_one():
    assert at_kinks([UNDECIDED, FAIL], [PASS, PASS], explained=False)[1] == []
    assert at_kinks([UNDECIDED, FAIL], [PASS, PASS], explained=True)[1] == [[UNDECIDED, OPEN]]
    assert at_kinks([UNDECIDED, FAIL], [PASS, FAIL], close=False)[1] == [[OPEN, FAIL]]


def test_without_kinks_nothing_is_looked_at_again():
    assert at_kinks([PASS, PASS])[1] == []


@pytest.mark.parametrize(("places", "jump"), [([0], True), ([1], False), ([0, 1], False)])
def test_claims_jump_close_to_a_kink_or_are_smooth(places, jump):
    entries = entries_of(np.sum, [0.0, 2.0], lambda x: np.array([np.sign(x[0]), x[1]]))
    assert Probe(entries, 1).jumps_close(np.isin(np.arange(2), places)[None]) is jump


@pytest.mark.parametrize(
    ("size", "every", "left", "alone"),
    [(8, False, None, True), (9, False, None, False), (9, True, None, True), (8, False, 8 * PER_ESTIMATE - 1, False),
     (8, False, 8 * PER_ESTIMATE, True), (1, False, 1, True)],
)  # fmt: skip
def test_few_elements_are_estimated_one_by_one_if_there_are_calls_for_that(size, every, left, alone):
    probe, asked = probe_of(size)
    budget = probe.flat.claim.budget
    budget.allowed = None if left is None else budget.made + left
    probe.along_directions = lambda: asked.append("directions")
    words = f"element (about {PER_ESTIMATE * size} calls)" if every else "element"

    def compare_elements(live, what):
        assert len(live) == size and what == words
        asked.append("elements")
        probe.entries.state[:] = PASS

    probe.entries.compare_elements = compare_elements
    probe.run(every)
    assert asked == ["elements" if alone else "directions"] and not probe.out_of_calls


def test_symmetry_is_tested_once_if_an_element_does_not_pass():
    probe, asked = probe_of(2)
    probe.entries.compare_elements = lambda live, what: probe.entries.state.__setitem__((0, 1), FAIL)
    probe.run()
    probe.run()
    assert asked == ["symmetry"]


@pytest.mark.parametrize(("count", "settles", "out"), [(0, True, True), (1, True, False), (1, False, True)])
def test_without_calls_a_check_ends_unless_a_direction_settles_all_elements(count, settles, out):
    probe, _ = probe_of()

    def along_directions():
        raise OutOfCallsError(5)

    probe.along_directions, probe.directions.settle = along_directions, lambda: settles
    probe.directions.probed = [seen_along("agrees")] * count
    probe.run()
    assert probe.out_of_calls is out


FLOAT32_RNG = np.random.default_rng(0)
FLOAT32_WEIGHTS = [FLOAT32_RNG.normal(size=shape).astype(np.float32) / 4 for shape in ((8, 16), (16, 4))]


def float32_net(x):
    h = np.tanh(x.astype(np.float32) @ FLOAT32_WEIGHTS[0])
    return np.mean((h @ FLOAT32_WEIGHTS[1] - 1) ** 2)


def float32_gradient(x):
    h = np.tanh(x.astype(np.float32) @ FLOAT32_WEIGHTS[0])
    d = 2 * (h @ FLOAT32_WEIGHTS[1] - 1) / (4 * len(x))
    return ((d @ FLOAT32_WEIGHTS[1].T) * (1 - h**2)) @ FLOAT32_WEIGHTS[0].T


@pytest.mark.parametrize("seed", range(2, 6))
def test_a_right_network_in_float32_passes_and_a_wrong_one_fails(seed):
    """Its smaller elements are known too roughly from directions in which all move."""
    x = np.random.default_rng(seed).normal(size=(5, 8))
    assert check_gradient(float32_net, float32_gradient, {"x": x}).verdict == "pass"
    assert check_gradient(float32_net, lambda x: 1.1 * float32_gradient(x), {"x": x}).verdict == "fail"
