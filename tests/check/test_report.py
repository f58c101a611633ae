"""Contents of reports: single elements, parts of complex numbers, nested outputs, and commands that repeat a check."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

import gradcli
from gradcli.check.check import Check
from gradcli.check.declare import check_gradient
from gradcli.cli.main import cli
from gradcli.show.checks import details
from tests.tape.build import function

X = np.array([1.0, 2.0, 4.0])
Z = np.array([1 + 2j, 3 - 1j])


def every(f, at, **claims):
    return Check.of(f, at, **claims, show="all").run().inputs


def test_every_element_is_reported_on_request():
    (found,) = every(lambda x: x**2, {"x": X}, grad=lambda x: np.diag([2 * x[0], 2 * x[1], 1.0]))
    elements = found.elements
    assert elements.rows == tuple(((i,), "") for i in range(3)) == elements.columns
    np.testing.assert_array_equal(elements.claimed, np.diag([2.0, 4.0, 1.0]))
    np.testing.assert_allclose(elements.numeric, np.diag(2 * X), atol=1e-9)
    assert (np.abs(elements.numeric - np.diag(2 * X)) <= elements.error).all()
    assert elements.verdicts.tolist() == [["pass"] * 3, ["pass"] * 3, ["pass", "pass", "fail"]]


def test_elements_of_large_sparse_jacobians_are_reported_too():
    (found,) = every(gradcli.sin, {"x": np.linspace(0, 1, 150)})
    assert found.elements.claimed.shape == (150, 150)


@pytest.mark.parametrize("wrong", [0, 40])
def test_many_elements_are_reported_by_few_calls_each(wrong):
    calls = []
    x = np.random.default_rng(0).standard_normal(600)
    factors = np.where(np.arange(600) % 600 < wrong, 1.5, 1.0)

    def f(x):
        calls.append(1)
        return np.sum(np.exp(x / 3) * np.sin(x))

    slopes = np.exp(x / 3) * (np.sin(x) / 3 + np.cos(x))
    (found,) = every(f, {"x": x}, grad=lambda x: factors * slopes)
    elements = found.elements
    assert (np.abs(elements.numeric[0] - slopes) <= elements.error[0]).all() and np.isfinite(elements.error).all()
    assert (elements.verdicts[0] == "fail").tolist() == (factors > 1).tolist()
    assert len(calls) < 9 * 600


def backward(g, z):
    """Backward of sum |z|^2 with the imaginary part of the second element doubled."""
    right = 2 * z * g
    return right + 1j * np.array([0, 1]) * right.imag


def test_the_wrong_part_of_a_complex_input_is_named():
    (found,) = every(lambda z: (abs(z) ** 2).sum(), {"z": Z}, vjp=backward)
    assert found.elements.columns == (((0,), "re"), ((0,), "im"), ((1,), "re"), ((1,), "im"))
    report = check_gradient(lambda z: (abs(z) ** 2).sum(), at={"z": Z}, vjp=backward)
    assert report.inputs[0].worst[:2] == ((), (1,))
    assert (report.inputs[0].worst.claimed, report.inputs[0].worst.part) == (-4.0, "im")
    assert report.headline().startswith("imaginary part of z[1]: claimed -4, numeric -2")
    assert all("the imaginary part of z[1]" in finding.text for finding in report.diagnosis)


@pytest.mark.parametrize("traced", [True, False])
def test_the_wrong_part_of_a_complex_output_is_named(traced):
    @function(lambda ctx, g: g.real + 4 * g.imag)
    def wrong(ctx, x):
        return gradcli.complex(x, 3 * x)

    if traced:
        report = check_gradient(wrong.apply, at={"x": X})
    else:
        report = check_gradient(lambda x: x + 3j * x, lambda x: np.diag([1 + 4j] * 3), {"x": X})
    worst = report.inputs[0].worst
    assert (worst.output_part, worst.output, worst.place) in {("im", (i,), (i,)) for i in range(3)}
    assert report.headline().startswith(f"d imaginary part of out[{worst.place[0]}]/d x[{worst.place[0]}]: claimed 4")


def test_wrong_imaginary_parts_are_reported_together():
    def vjp(g, z):
        return g * (2 * z.real + 3j * z.imag)

    report = check_gradient(lambda z: (abs(z) ** 2).sum(), at={"z": Z}, vjp=vjp)
    assert "the claim is 3/2 times the derivative in the imaginary parts" in report.diagnosis[0].text


@pytest.mark.parametrize(("count", "words"), [(1, "1 element is nan"), (2, "2 elements are nan")])
def test_counts_of_elements_use_singular_and_plural(count, words):
    claim = np.where(np.arange(3) < count, np.nan, 2 * X)
    assert words in check_gradient(lambda x: (x**2).sum(), lambda x: claim, {"x": X}).diagnosis[0].text


def test_all_elements_that_are_nan_are_counted():
    """Only ten are estimated one by one, which nan does not need if the derivative is known."""
    report = check_gradient(lambda x: (x**2).sum(), lambda x: np.nan * x, at={"x": np.ones(30)})
    assert "30 elements are nan" in report.diagnosis[0].text
    assert report.inputs[0].counts.wrong == 30


@pytest.mark.parametrize("options", [{"calls": 30}, {"taylor": True}, {}], ids=str)
@pytest.mark.parametrize("claimed", [2.0, np.nan])
def test_a_non_finite_function_is_reported_with_any_options(options, claimed):
    report = check_gradient(lambda x: np.nan * x.sum(), lambda x: claimed * x, at={"x": np.ones(30)}, **options)
    assert (report.verdict, report.message) == ("inconclusive", "the function is not finite at this point")


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match=r"check_gradient\(\) got an unexpected argument 'rounds'; it takes at, atol"):
        check_gradient(np.sin, np.cos, 1.0, rounds=3)


def test_a_pass_counts_negligible_elements():
    x = np.r_[np.linspace(-1, 1, 9), 16.0]
    report = check_gradient(lambda x: np.tanh(x).sum(), lambda x: 1 / np.cosh(x) ** 2, at={"x": x})
    assert report.verdict == "pass"
    said = re.search(r"an error above (.*) of the largest slope", report.agreement())
    assert float(said[1]) < 1e-7
    assert report.inputs[0].negligible == 1  # the slope at 16 is 5.1e-14, while the sum is about 1
    same = check_gradient(lambda x: np.tanh(x).sum(), lambda x: 1 / np.cosh(x) ** 2, at={"x": x[:9]})
    assert same.verdict == "pass"


REAL = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("x", [1.5 - 0.5j, np.array([1 + 1j, 2 - 1j])], ids=["scalar", "vector"])
@pytest.mark.parametrize(
    ("f", "vjp", "wrong"),
    [
        (np.square, lambda g, x: g * np.conj(2 * x), lambda g, x: g * 2 * x),
        (np.conj, lambda g, x: np.conj(g), lambda g, x: g),
        (lambda x: x * abs(x) ** 2, lambda g, x: 2 * abs(x) ** 2 * g + x**2 * np.conj(g), lambda g, x: g * x),
    ],
    ids=["square", "conj", "mixed"],
)
def test_a_backward_of_complex_inputs(f, vjp, wrong, x):
    assert check_gradient(f, at={"x": x}, vjp=vjp).verdict == "pass"
    assert check_gradient(f, at={"x": x}, vjp=wrong).verdict == "fail"


def test_a_gradient_of_complex_inputs_is_an_error_with_a_hint():
    report = check_gradient(np.square, lambda x: 2 * x, {"x": 1j})
    assert report.verdict == "error"
    assert "check a backward written by hand (vjp)" in report.message


@pytest.mark.parametrize(
    ("f", "grad"),
    [
        (lambda x: x * 1j, lambda x: 1j * np.eye(len(x))),
        (lambda x: np.exp(1j * x), lambda x: np.diag(1j * np.exp(1j * x))),
        (lambda x: (x**2 + 1j * x).sum(), lambda x: 2 * x + 1j),
    ],
    ids=["line", "circle", "sum"],
)
def test_a_gradient_of_complex_outputs_by_real_inputs(f, grad):
    assert check_gradient(f, grad, {"x": REAL}).verdict == "pass"
    assert check_gradient(f, lambda x: np.conj(grad(x)), {"x": REAL}).verdict == "fail"


@pytest.mark.parametrize(("sign", "verdict"), [(1, "pass"), (-1, "fail")])
def test_a_backward_of_real_inputs_may_return_an_imaginary_part(sign, verdict):
    found = check_gradient(
        lambda x: np.exp(1j * x), at={"x": REAL}, vjp=lambda g, x: sign * g * np.conj(1j * np.exp(1j * x))
    )
    assert found.verdict == verdict


def half_backward(ctx, g, h):
    (x,) = ctx.saved_tensors
    return g.real + (h.conj() * 2j).real * x * gradcli.where(x > 1.5, 1.0, 2.0)


@function(half_backward)
def half(ctx, x):
    """Return two complex outputs; the backward of the second lacks a factor of 2 where x > 1.5."""
    ctx.save_for_backward(x)
    return x * (1 + 0j), x**2 * 2j


NESTED = {
    "a tuple": (half.apply, (1, 2), "im"),
    "one of two": (lambda x: half.apply(x)[1], (2,), "im"),
    "a list in a tuple": (lambda x: (x, [*half.apply(x)]), (1, 1, 2), "im"),
    "a dict": (lambda x: dict(zip("ab", half.apply(x), strict=True)), ("b", 2), "im"),
    "a dict of lists": (lambda x: {"sum": [half.apply(x)[1].sum(), x]}, ("sum", 0), "im"),
    "parts": (lambda x: (x, half.apply(x)[1].imag), (1, 2), ""),
}


@pytest.mark.parametrize(("f", "path", "part"), NESTED.values(), ids=NESTED)
def test_the_wrong_part_of_one_of_several_outputs_is_named(f, path, part):
    report = check_gradient(f, at={"x": REAL})
    worst = report.inputs[0].worst
    assert (report.verdict, worst.output, worst.output_part, worst.place) == ("fail", path, part, (2,))
    out = "imaginary part of " * bool(part) + f"out[{','.join(map(repr, path))}]"
    assert any(out in finding.text for finding in report.diagnosis)
    assert report.headline().startswith(f"d {out}/d x[2]: claimed 4, ")


DRAWN = np.random.default_rng(0).random(2).tolist()


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["x**2", "x=3"], ["x=3.0"]),
        (["x**2", "x=rand(2)"], [f"'x={DRAWN}'"]),
        (["sum(x)*y[0]", "x=rand(2)", "y=[1,2]"], [f"'x={DRAWN}'", "'y=[1.0, 2.0]'"]),
        (["sum(x)*y[0]", "x=rand(2)", "y=rand(2)"], ["'x=rand(2)'", "'y=rand(2)'"]),  # y is drawn after x
        (["sum(x)", "x=rand(20)"], ["'x=rand(20)'"]),
    ],
)
def test_the_command_that_repeats_a_check_gives_numbers_or_draws_them_again(words, again):
    done = CliRunner().invoke(cli, ["gradcheck", *words, "--wrt", "x", "--grad", "3*x", "-f", "table"])
    assert f" {' '.join(again)} --wrt x" in done.output.partition("again: gradcli gradcheck ")[2]


HIDDEN = np.random.default_rng(1).normal(size=(6, 3))


def network(w, b, v):
    return np.sum((np.maximum(HIDDEN @ w + b, 0) @ v - 1) ** 2)


def network_gradient(w, b, v, sign=1.0):
    z = HIDDEN @ w + b
    off = 2 * (np.maximum(z, 0) @ v - 1)
    back = np.outer(off, v) * (z > 0)
    return HIDDEN.T @ back, back.sum(axis=0), sign * np.maximum(z, 0).T @ off


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["pass", "fail"])
@pytest.mark.parametrize(("v", "unseen"), [(np.zeros(4), "wb"), (np.ones(4), "")], ids=["zeros", "ones"])
def test_inputs_whose_derivative_is_zero_at_the_point_are_noted_once(v, unseen, sign):
    at = {"w": np.random.default_rng(2).normal(size=(3, 4)), "b": np.full(4, 0.1), "v": v}
    report = check_gradient(network, lambda w, b, v: network_gradient(w, b, v, sign), at)
    assert report.verdict == ("pass" if sign > 0 else "fail")
    noted = [note.partition(":")[0] for note in report.notes if "no effect on the output at this point" in note]
    assert noted == list(unseen)
    for item, line in zip(report.inputs, details(report)[1:-1], strict=True):
        assert ("digits agree" in line) is (item.name not in unseen), line


@pytest.mark.parametrize("count", [2, 12])
def test_a_claim_of_zero_at_a_kink_is_no_derivative_of_zero(count):
    report = check_gradient(lambda x: np.abs(x).sum(), np.sign, {"x": np.zeros(count)})
    assert report.verdict == "pass" and not any("no effect" in note for note in report.notes)
