"""Laws of products with a derivative, and of repeated calls, tested one by one with stand-ins for claims."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.claims.claim import CallError, OutOfCallsError
from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.flat import Flat
from gradcli.numeric.products import (
    ADJOINT_DIGITS,
    STALE,
    adjoint_test,
    find_broken_law,
    find_nonlinear,
    gradients_apart,
    is_stair,
    nonlinearity,
    other_value,
    products_of_both_modes,
    rounding_of_products,
    scatter_nearby,
    special_cotangent,
    staleness,
    tolerance_of_products,
)
from gradcli.numeric.repeated import (
    claim_at_other_point,
    differing_calls,
    find_unsteady,
    is_same,
    late_difference,
    product_here,
)

X = np.array([0.3, 1.2, -0.7])


def flat_of(f=np.sin, at=None, **claims):
    return Flat(HandWritten(f, {"x": X} if at is None else at, **(claims or {"vjp": lambda g, x: g * np.cos(x)})))


def both_modes(jvp, kind=float):
    at = {"x": np.array(0.3, kind)}
    return HandWritten(np.sin, at, vjp=lambda g, x: g * np.cos(x), jvp=lambda t, x: np.asarray(jvp(t[0], x), kind))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_both_modes_must_agree_to_the_digits_of_their_type(kind):
    """One factor of two numbers is 1.25 times the other, so they differ by 0.2 of the larger: 0.7 digits."""
    needed = ADJOINT_DIGITS[np.dtype(kind).itemsize]
    digits, least = adjoint_test(both_modes(lambda t, x: t * np.cos(x), kind), 0)
    assert least == needed and digits > needed
    digits, least = adjoint_test(both_modes(lambda t, x: 1.25 * t * np.cos(x), kind), 0)
    assert least == needed and digits == pytest.approx(-np.log10(0.2), abs=0.01)


def test_a_claim_in_a_narrower_type_must_agree_to_fewer_digits():
    claim = both_modes(lambda t, x: t * np.cos(x))
    claim.capabilities = replace(claim.capabilities, claim_unit=2.0**-9)
    assert adjoint_test(claim, 0)[1] == ADJOINT_DIGITS[2]


@pytest.mark.parametrize("jvp", [lambda t, x: t * np.nan, lambda t, x: t * (np.cos(x) + np.sin(1e17 * x))])
def test_modes_that_are_nan_or_only_rounding_are_not_compared(jvp):
    digits, least = adjoint_test(both_modes(jvp), 0)
    assert np.isnan(digits) and least == ADJOINT_DIGITS[8]


def test_complex_tangents_show_a_conjugate():
    z = {"z": np.array([0.3 + 1j])}
    for jvp, agree in ((lambda t, z: 2 * t[0], True), (lambda t, z: 2 * np.conj(t[0]), False)):
        digits, least = adjoint_test(HandWritten(lambda z: 2 * z, z, vjp=lambda g, z: 2 * g, jvp=jvp), 0)
        assert (digits >= least) is agree


def test_the_worst_of_three_pairs_counts():
    seen: list[float] = []

    def wrong_for_the_second(t, x):
        seen.extend({float(t)}.difference(seen))
        return (1.25 if seen[1:2] == [float(t)] else 1.0) * t * np.cos(x)

    digits, _ = adjoint_test(both_modes(wrong_for_the_second), 0)
    assert len(seen) == 3
    assert digits == pytest.approx(-np.log10(0.2), abs=0.01)


def test_products_of_both_modes_are_sums_of_terms():
    """The claims are 3 v and 2 w: terms of 15 and -42, and of 10 and -28."""
    claim = HandWritten(lambda x: 3 * x, {"x": np.ones(2)}, vjp=lambda g, x: 2 * g, jvp=lambda t, x: 3 * t[0])
    tangents, w = {"x": np.array([5.0, 7.0])}, np.array([1.0, -2.0])
    assert products_of_both_modes(claim, claim.at, tangents, w) == (-27, -18, 57)
    z = HandWritten(lambda z: 1j * z, {"z": np.array([1 + 1j])}, vjp=lambda g, z: -1j * g, jvp=lambda t, z: 1j * t[0])
    forward, reverse, size = products_of_both_modes(z, z.at, {"z": np.array([2 + 1j])}, np.array([3 - 1j]))
    assert forward == reverse == -5 and size == pytest.approx(np.sqrt(50))  # Re((3 + i) i (2 + i)) = Re(-5 + 5 i)


@pytest.mark.parametrize(("count", "place"), [(3, 0), (3, 1), (3, 2), (2, 1), (9, 4), (9, 8)])
def test_a_backward_that_treats_a_single_output_in_another_way_is_named(count, place):
    x, unit = np.linspace(0.1, 1, count), np.eye(1, count, place)[0]
    flat = flat_of(at={"x": x}, vjp=lambda g, x: g * np.cos(x) * (2 if np.array_equal(g, unit) else 1))
    found = special_cotangent(flat, np.linspace(2, 3, count))
    numbers = f"{2 * np.cos(x[place]):.6g}; for others, {np.cos(x[place]):.6g}:"
    assert found.kind == "nonlinear"
    assert found.text.startswith(
        f"for a cotangent of 1 for output {place}, and 0 for the others, the backward gives {numbers}"
    )


@pytest.mark.parametrize(("more", "seen"), [(0.0, False), (2e-3, False), (2e-2, True), (np.nan, False)])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_ones_are_special_from_a_thousandth_on(more, seen, size):
    """The product with 1 is off by `more`, which is a quarter of that relative to those with 1 and 3 together."""
    flat = flat_of(
        lambda x: size * np.sin(x), {"x": 0.3}, vjp=lambda g, x: size * g * np.cos(x) * (1 + more * (g == 1))
    )
    found = special_cotangent(flat, np.array([3.0]))
    assert (found is not None and found.text.startswith("for a cotangent of ones, as a sum passes it, ")) is seen


U, V = np.array([1.0, 2.0]), np.array([0.5, -1.0])
WORDS = ("it does not multiply", "backward", "grad_output")


def law_of(b, kind=np.float64):
    flat = flat_of(at={"x": np.ones(2, kind)})
    return find_nonlinear(flat, lambda vectors, at=None: np.array([b(v) for v in vectors]), U, V, WORDS)


@pytest.mark.parametrize(
    ("b", "text"),
    [
        (lambda v: v + 1e-3, "given zeros, backward still returns values up to 0.001"),
        (lambda v: v + np.where(v == 0, np.nan, 0), "given zeros, backward still returns nan"),
        (np.abs, "b(-u) is not -b(u) (relative error 1)"),
        (lambda v: v**3, "b(u + v) is not b(u) + b(v) (relative error 0.4)"),
        (lambda v: np.clip(v, -10, 10), "b(1024 u) is not 1024 b(u) (relative error 0.99)"),
        (lambda v: np.where(np.abs(v) > 0.01, v, 0), "b(u / 1024) is not b(u) / 1024 (relative error 0.5)"),
    ],
)
def test_the_first_law_that_is_broken_is_named(b, text):
    """Cubes: (1.5, 1) gives (3.375, 1), not (1, 8) + (0.125, -1), off by 6 of 8 + 7. A clip gives 10, not 2048."""
    found = law_of(b)
    assert found.kind == "nonlinear" and text in found.text


@pytest.mark.parametrize(
    "b", [lambda v: 3 * v, lambda v: v[::-1] - v, lambda v: np.inf * v, lambda v: v * (1 + 1e-9 * v)]
)
def test_linear_products_break_no_law(b):
    with np.errstate(invalid="ignore"):
        assert law_of(b) is None


def test_large_cotangents_are_not_tried_in_half_precision():
    assert law_of(lambda v: np.clip(v, -10, 10), np.float16) is None
    assert law_of(lambda v: np.clip(v, -10, 10), np.float32) is not None


def test_products_that_change_between_calls_are_not_reproducible():
    calls = []

    def products(vectors, at=None):
        calls.append(1)
        return np.array([len(calls) * (v + np.abs(v)) for v in vectors])

    found = find_nonlinear(flat_of(at={"x": np.ones(2)}), products, U, V, WORDS)
    assert found == (
        "unsteady",
        "the backward gives another result on a second call with the same grad_output",
        *found[2:],
    )


def test_products_scatter_between_points_that_are_a_few_units_apart():
    flat, unit = flat_of(), 2.0**-52
    here = np.array([v * X for v in (X, 2 * X)])
    found = scatter_nearby(flat, lambda vectors, at: np.array([v * at["x"] for v in vectors]), [X, 2 * X], here)
    largest = np.abs(X * X).max()
    assert (found <= np.array([3, 6]) * unit * largest).all() and (found >= np.array([0.5, 1]) * unit * largest).all()


def to_bfloat16(v):
    return (np.asarray(v, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(float)


@pytest.mark.parametrize(
    ("b", "gap", "stair"),
    [
        (to_bfloat16, 2.0**-8, True),
        (to_bfloat16, 0.06, False),
        (lambda v: v**3, 2.0**-8, False),
        (lambda v: v, 1e-3, False),
    ],
)
def test_a_type_of_few_digits_makes_stairs(b, gap, stair):
    for size in (2.0**-10, 1.0, 2.0**10):
        scaled = lambda vectors, k=size: np.array([k * b(v / k) for v in vectors])  # noqa: E731
        assert is_stair(scaled, size * np.array([1.1, 1.7]), size * gap * 1.7, size * 1.7) is stair


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("factor", "seen"), [(1 + 1e-4, True), (1 + 1e-8, False)])
def test_values_are_equal_relative_to_their_size(size, factor, seen):
    claim = HandWritten(lambda x: size * np.sin(x), {"x": X}, vjp=lambda g, x: size * g * np.cos(x))
    claim.recorded = size * factor * np.sin(X)
    found = other_value(Flat(claim))
    away = np.sin(X + 0.05 * (1 + np.abs(X)))
    relative = (factor - 1) * np.abs(np.sin(X)).max() / (np.abs(np.sin(X)).max() + np.abs(away - np.sin(X)).max())
    assert (found is not None and f"(relative error {relative:.2g})" in found.text) is seen


@pytest.mark.parametrize(("off", "seen"), [(1e-9, False), (1e-6, True)])
def test_values_of_0_are_equal_relative_to_their_change(off, seen):
    """Between 0 and 0.05, the sine changes by 0.05, of which 1e-6 may be rounding."""
    claim = HandWritten(np.sin, {"x": np.zeros(1)}, vjp=lambda g, x: g * np.cos(x))
    claim.recorded = np.array([off])
    assert (other_value(Flat(claim)) is not None) is seen


def test_values_are_not_compared_if_the_function_has_none_nearby():
    def f(x):
        if not np.array_equal(x, X):
            raise ValueError("elsewhere")
        return np.sin(x)

    claim = HandWritten(f, {"x": X}, vjp=lambda g, x: g * np.cos(x))
    claim.recorded = 2 * np.sin(X)
    assert other_value(Flat(claim)) is None


def apart(names, pull_of, whole=lambda name: np.full(2, 3.0)):
    """Return what is found of gradients of some inputs alone. pull_of: gives those, from the names."""
    at = {name: np.ones(2) for name in names}
    flat = flat_of(lambda *arrays: sum(arrays), at, vjp=lambda g, *arrays: tuple(whole(name) for name in names))
    flat.claim.pull_of = lambda at, cotangent, chosen: pull_of(chosen)
    return gradients_apart(flat, 0)


def test_gradients_of_all_subsets_of_few_inputs_are_compared():
    asked = []
    same = lambda chosen: asked.append(chosen) or {name: np.full(2, 3.0) for name in chosen}  # noqa: E731
    assert apart("ab", same) is None and asked == [("a",), ("b",)]
    asked.clear()
    assert apart("abcd", same) is None and len(asked) == 4 + 6 + 4
    asked.clear()
    assert apart("abcde", same) is None and asked == [(name,) for name in "abcde"]
    asked.clear()
    assert apart("a", same) is None and asked == []


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(("off", "seen"), [(1e-5, False), (1e-3, True), (-2.0, True), (np.nan, True)])
def test_a_gradient_that_changes_without_another_input_is_reported(off, seen, size):
    found = apart(
        "ab",
        lambda chosen: {n: np.full(2, size * (1 + (off if n == "b" else 0))) for n in chosen},
        lambda n: np.full(2, size),
    )
    text = "the gradient of b changes if requires_grad is False for a (needs_input_grad)"
    assert (found is not None) is seen and (found is None or found[:2] == ("partial gradients", text))


def test_gradients_of_single_inputs_are_compared_only_if_the_claim_gives_them():
    at = {"a": np.ones(2), "b": np.ones(2)}
    for claims, seen, reported in (("vjp", None, True), ("vjp", ({}, []), False), ("grad", None, False)):
        rule = {"vjp": lambda g, a, b: (a, b), "grad": lambda a, b: (np.eye(2), np.eye(2))}[claims]
        claim = flat_of(lambda a, b: a + b, at, **{claims: rule})
        claim.claim.pull_of, claim.claim.seen = lambda at, cotangent, names: {n: 5 * np.ones(2) for n in names}, seen
        assert (gradients_apart(claim, 0) is not None) is reported


def test_a_gradient_that_is_lost_next_to_that_of_another_input_is_not_compared():
    whole = {"a": np.full(2, 1e-12), "b": np.ones(2)}
    assert apart("ab", lambda chosen: {n: whole[n] * (2 if n == "a" else 1) for n in chosen}, whole.get) is None


def test_a_rule_that_raises_without_another_input_is_reported():
    def raises(chosen):
        raise CallError("no gradient")

    assert apart("ab", raises).text == "no gradient, if requires_grad is False for b (needs_input_grad)"
    assert apart("ab", lambda chosen: None) is None
    with pytest.raises(CallError, match="undefined"):
        apart("ab", raises, lambda name: name.undefined)


@pytest.mark.parametrize(
    ("kind", "unit", "tolerance"),
    [
        (float, 0.0, 1e-5),
        (np.float32, 0.0, 1e-3),
        (np.float16, 0.0, 0.1),
        (float, 2.0**-24, 1e-3),
        (np.float16, 1e-3, 0.1),
    ],
)
def test_the_tolerance_of_products_is_that_of_the_type_with_fewest_digits(kind, unit, tolerance):
    flat = flat_of(at={"x": X.astype(kind)})
    flat.claim.capabilities = replace(flat.claim.capabilities, claim_unit=unit)
    assert tolerance_of_products(flat) == tolerance


@pytest.mark.parametrize(("off", "broken"), [(1e-7, False), (0.1, True)])
def test_products_differ_from_those_with_the_whole_jacobian(off, broken):
    """The Jacobian is off by a factor, so the products differ by about that, relative to the larger ones."""
    flat = flat_of()
    found, law = rounding_of_products(flat, np.diag(np.cos(X) * (1 + off)), 0)
    assert found == pytest.approx(off / (1 + off) if broken else 2 * off, rel=1e-3)
    assert (law is not None and f"(relative error {off / (1 + off):.2g})" in law.text) is broken


def test_products_are_compared_with_a_jacobian_only_if_both_are_known():
    wrong = np.diag(2 * np.cos(X))
    assert rounding_of_products(flat_of(grad=lambda x: wrong), wrong, 0) == (0.0, None)
    assert rounding_of_products(flat_of(jvp=lambda t, x: t[0]), wrong, 0) == (0.0, None)
    assert rounding_of_products(flat_of(vjp=lambda g, x: g * np.nan), wrong, 0) == (0.0, None)
    limited = flat_of()
    limited.claim.budget.allowed = 1000
    assert rounding_of_products(limited, wrong, 0) == (0.0, None)
    assert rounding_of_products(flat_of(), wrong, 0)[1] is not None


def test_products_that_scatter_between_close_points_break_no_law():
    flat = flat_of(vjp=lambda g, x: g * np.cos(x) * (1 + np.sin(1e17 * x)))
    assert rounding_of_products(flat, np.diag(np.cos(X) * (1 + 0.1 * np.sin(1e17 * X))), 0) == (0.0, None)


@pytest.mark.parametrize(
    ("late", "noise", "stale"),
    [(0.0, 0.0, False), (1e-5, 0.0, False), (1e-3, 0.0, True), (1e-3, 1e-3, False), (-1.0, 0.0, True)],
)
def test_a_gradient_is_stale_if_it_changes_by_a_call_in_between(late, noise, stale):
    factors = iter([1.0, 1 + noise])
    flat = flat_of(vjp=lambda g, x: next(factors) * np.ones(3))
    flat.claim.late_pull = lambda at, cotangent, away: {"x": np.ones(3) + [0, late, 0]}
    assert staleness(flat, 0) == (STALE if stale else None)


def test_a_gradient_is_not_stale_if_that_is_unknown():
    flat = flat_of()
    assert staleness(flat, 0) is None  # forward and backward are a single call
    flat.claim.late_pull = lambda at, cotangent, away: raise_call_error()
    assert staleness(flat, 0) is None
    without = flat_of(grad=lambda x: np.diag(np.cos(x)))
    without.claim.late_pull = lambda at, cotangent, away: {"x": 7 * np.ones(3)}
    assert staleness(without, 0) is None


def raise_call_error():
    raise CallError("no")


def test_forward_products_break_laws_as_well():
    assert nonlinearity(flat_of(jvp=lambda t, x: t[0] * np.cos(x)), 0) is None
    found = nonlinearity(flat_of(jvp=lambda t, x: np.cos(x)), 0)
    assert found.text.startswith(
        "the result of the jvp is not multiplied by its tangents: given zeros, jvp still returns values"
    )
    flat = flat_of(jvp=lambda t, x: np.abs(t[0]))
    assert "the jvp is not linear in its tangents" in nonlinearity(flat, 0).text
    flat.claim.capabilities = replace(flat.claim.capabilities, traced=True)
    assert nonlinearity(flat, 0) is None


def test_with_a_call_budget_only_linearity_is_checked():
    flat = flat_of()
    flat.claim.late_pull = lambda at, cotangent, away: {"x": 7 * np.ones(3)}
    assert find_broken_law(flat, 0) == STALE
    flat.claim.budget.allowed = 1000
    assert find_broken_law(flat, 0) is None
    assert find_broken_law(flat_of(at={"x": np.zeros(0)}, vjp=lambda g, x: g), 0) is None


G = np.array([[1.0, -2.0, 4.0]])


@pytest.mark.parametrize(
    ("first", "second", "other", "kind"),
    [
        (G, G + 1e-14, None, None),
        (G * [1, np.nan, 1], G * [1, np.nan, 1], None, None),
        (G, 2 * G, None, "accumulated"),
        (3 * G, 4 * G, None, "accumulated"),
        (G + 5, 2 * G + 5, np.full((1, 3), 5.0), "accumulated"),
        (G, 2 * G, np.full((1, 4), 5.0), "accumulated"),
        (G, 0 * G, None, "unsteady"),
        (G, G * [1, 1, 2], None, "unsteady"),
        (G, G * (1 + 1e-4 * np.array([1, -1, 2])), None, None),
        (G, G * [1, 1, 1.01], None, "unsteady"),
    ],
)
def test_a_second_call_shows_what_is_kept_of_the_first(first, second, other, kind):
    with np.errstate(all="ignore"):
        found = find_unsteady(first, second, other)
    assert (found and found.kind) == kind
    assert find_unsteady(first, first, other) is None


def test_calls_may_differ_by_what_is_allowed():
    assert find_unsteady(G, G * [1.1, 1.1, 1.5], None, 3.0) is None
    assert find_unsteady(G, G * [1.1, 1.1, 1.5], None, 1.0).kind == "unsteady"


def test_the_gradient_at_another_point_is_that_of_one_cheap_call():
    """The other point is 0.05 (1 + |x|) further."""
    away, seen = X + 0.05 * (1 + np.abs(X)), []
    flat = flat_of(lambda x: np.sin(x).sum(), grad=np.cos)
    assert claim_at_other_point(flat) == pytest.approx(np.cos(away)[None])
    backward = flat_of(lambda x: np.sin(x).sum(), vjp=lambda g, x: seen.append(x) or g * np.cos(x))
    assert claim_at_other_point(backward) is None and np.array(seen) == pytest.approx(away[None])
    forward = flat_of(lambda x: np.sin(x).sum(), jvp=lambda t, x: seen.append(x) or np.cos(x) @ t[0])
    assert claim_at_other_point(forward) is None and len(seen) == 1
    assert (
        claim_at_other_point(flat_of(lambda x: x.sum(), grad=lambda x: x if (x == X).all() else raise_call_error()))
        is None
    )
    for changes in ({"traced": True}, {"costly": True}):
        claim = flat_of(lambda x: np.sin(x).sum(), grad=np.cos)
        claim.claim.capabilities = replace(claim.claim.capabilities, **changes)
        assert claim_at_other_point(claim) is None
    flat.claim.budget.allowed = 1000
    assert claim_at_other_point(flat) is None
    assert claim_at_other_point(flat_of(lambda x: x.sum(), {"x": np.zeros(0)}, grad=lambda x: x)) is None


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    ("here", "there", "numbers"),
    [([1, 2], [3, 4], None), ([1, 2.0001], [3, 4], None), ([1, 3], [3, 4], (2, 3)), ([1, 2], [5, 4], (3, 5))],
)
def test_a_gradient_may_not_depend_on_earlier_calls(here, there, numbers, size):
    """At first, it was (1, 2) at the point and (3, 4) at the other one."""
    x = np.ones(2)
    flat = flat_of(
        lambda x: x.sum(), {"x": x}, grad=lambda y: size * np.array(here if (y == x).all() else there, float)
    )
    found = late_difference(flat, size * np.array([[1.0, 2.0]]), size * np.array([[3.0, 4.0]]))
    assert (found is None) is (numbers is None)
    if found is not None:
        values = f"{size * numbers[0]:.6g} in the first call at a point, {size * numbers[1]:.6g} later"
        assert found[:2] == (
            "unsteady",
            f"the gradient depends on earlier calls: {values} (a state is kept in between)",
        )


def test_infinite_gradients_and_those_that_cannot_be_computed_are_not_compared():
    flat = flat_of(lambda x: x.sum(), {"x": np.ones(2)}, grad=lambda x: x)
    with np.errstate(invalid="ignore"):
        assert late_difference(flat, np.array([[np.inf, 1]]), np.full((1, 2), np.inf)) is None
    flat.matrix = lambda at=None: raise_call_error()
    assert late_difference(flat, np.zeros((1, 2)), np.zeros((1, 2))) is None


@pytest.mark.parametrize(("results", "differ"), [([1, 1, 1, 2], None), ([1, 1, 2], (1, 2)), ([1, 3, 1], (1, 3))])
def test_any_of_three_calls_may_differ(results, differ):
    calls = iter(results)
    claim = HandWritten(lambda x: x.sum(), {"x": np.ones(2)}, grad=lambda x: np.full(2, float(next(calls))))
    found = differing_calls(claim, 0.0)
    assert (found and tuple(x[0] for x in found)) == differ
    assert differing_calls(HandWritten(np.sum, {"x": X}, grad=lambda x: raise_call_error()), 0.0) is None
    short = HandWritten(np.sum, {"x": X}, grad=np.ones_like)
    short.value_here = lambda: (_ for _ in ()).throw(OutOfCallsError(1))
    assert differing_calls(short, 0.0) is None


def test_the_product_at_the_point_is_the_cheapest_that_the_claim_gives():
    """A backward pass takes weights from 0.5 to 1.5, a forward derivative takes ones."""
    pulled = product_here(HandWritten(np.sin, {"x": X}, vjp=lambda g, x: 2 * g)) / 2
    assert (pulled >= 0.5).all() and (pulled <= 1.5).all() and len(set(pulled.tolist())) == 3
    at = {"x": X, "y": 2 * X}
    assert product_here(HandWritten(np.add, at, jvp=lambda t, x, y: 2 * t[0] + t[1])).tolist() == [3, 3, 3]
    assert product_here(HandWritten(lambda x, y: x.sum(), at, grad=lambda x, y: (x, y))).tolist() == [*X, *(2 * X)]
    assert (
        product_here(
            SimpleNamespace(
                **{**vars(HandWritten(np.sin, {"x": X})), "value_here": lambda: X, "whole": lambda at: None}
            )
        ).tolist()
        == []
    )


@pytest.mark.parametrize(
    ("b", "options", "same"),
    [
        ([1.0, 1000.0], {}, True),
        ([1.0 + 5e-10, 1000.0], {}, True),
        ([1.0 + 5e-9, 1000.0], {}, False),
        ([1.1, 1000.0], {"allowed": 0.2}, True),
        ([1.3, 1000.0], {"allowed": 0.2}, False),
        ([1.5, 1000.0], {"relative": 1e-3}, True),
        ([3.0, 1000.0], {"relative": 1e-3}, False),
        ([1.0, 1000.0, 1.0], {}, False),
    ],
)
def test_results_are_the_same_up_to_rounding_of_the_largest(b, options, same):
    assert is_same(np.array([1.0, 1000.0]), np.array(b), **options) is same
    assert is_same(np.array([np.nan]), np.array([np.nan]))
