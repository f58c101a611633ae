"""Claims of the engine's own derivatives, for Tensor functions and scripts: values, products, second order."""

import numpy as np
import pytest

import gradcli
from gradcli.claims.claim import CallError, OutOfCallsError, second_order
from gradcli.claims.open import load_program
from gradcli.claims.recorded import ScriptClaim, Traced, as_one_output, last_line
from gradcli.program.target import Target
from gradcli.user.loading import change_to
from tests.tape.build import function

X, A = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])


def product(a, x):
    return (a @ x) ** 2


AT = {"a": A, "x": X}  # a @ x is (5, 11)


def test_the_jacobian_and_the_products_agree():
    made = Traced(product, AT)
    assert made.value_here().tolist() == [25, 121] and made.title == "product"
    whole = made.whole(made.at)
    assert whole["x"].tolist() == [[10, 20], [66, 88]]
    np.testing.assert_array_equal(whole["a"], [[[10, 20], [0, 0]], [[0, 0], [22, 44]]])
    pulled = made.pull(made.at, np.array([1.0, 2.0]))
    assert pulled["x"].tolist() == [142, 196] and pulled["a"].tolist() == [[10, 20], [44, 88]]
    assert made.push(made.at, {"x": np.array([1.0, 0.0])}).tolist() == [10, 66]
    assert made.budget.made == 1  # values count, recordings do not


def test_wrt_limits_what_is_recorded():
    made = Traced(product, AT, wrt=["x"])
    assert list(made.whole(made.at)) == ["x"] == list(made.pull(made.at, np.ones(2)))
    with pytest.raises(CallError, match="wrt names 'z', which is not an input"):
        Traced(product, AT, wrt=["z"])


def test_inputs_without_influence_have_zero_derivatives():
    made = Traced(lambda x, y: x * 2, {"x": X, "y": X})
    assert made.pull(made.at, np.ones(2))["y"].tolist() == [0, 0]
    assert made.push(made.at, {"y": X}).tolist() == [0, 0]


@pytest.mark.parametrize("batchable", [True, False])
def test_values_at_many_points(batchable):
    made = Traced(product, AT)
    made.batchable = batchable
    rows = made.values({"x": np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]])}, 3, np.zeros(2))
    assert rows.tolist() == [[25, 121], [4, 16], [1, 9]]
    assert made.budget.made == 3


def test_outputs_are_joined_and_their_layout_is_kept():
    def several(x):
        return {"loss": x.sum(), "z": (gradcli.complex(x, 2 * x), 3 * x)}

    made = Traced(several, {"x": X})
    assert made.value_here().tolist() == [3, 1, 2, 2, 4, 3, 6]
    assert [(part.path, part.shape, part.pairs) for part in made.layout] == [
        (("loss",), (), False),
        (("z", 0), (2,), True),
        (("z", 1), (2,), False),
    ]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (1.0, "f returned float, not a Tensor: compute with gradcli's"),
        (np.ones(2), "f returned ndarray, not a Tensor"),
        ((1, 2), "f returned no Tensor of floating-point numbers"),
        ({"n": gradcli.tensor([1])}, "f returned no Tensor of floating-point numbers"),
    ],
)
def test_results_that_are_not_tensors_are_errors(result, message):
    with pytest.raises(CallError, match=message):
        as_one_output([], result, "f")


def test_an_exception_names_the_function():
    def f(x):
        raise ValueError("bad")

    with pytest.raises(CallError, match="f raised ValueError: bad"):
        Traced(f, {"x": X}).value_here()


def test_a_function_that_needs_a_graph_for_its_values_gets_one():
    seen = []

    def hooked(x):
        y = x * 2
        y.register_hook(seen.append)
        return y.sum()

    made = Traced(hooked, {"x": X})
    assert made.value_here() == 6 and made.records
    assert made.pull(made.at, np.array(1.0))["x"].tolist() == [2, 2]
    assert len(seen) == 1


def test_second_derivatives_are_derivatives_of_the_pull():
    made = Traced(lambda x: (x**3).sum(), {"x": X})
    pull = made.pull_function(np.array(2.0))
    assert pull.value_here().tolist() == [6, 24] and list(pull.at) == ["x", "gradient"]  # 2 * 3 x**2
    whole = pull.whole(pull.at)
    assert whole["x"].tolist() == [[12, 0], [0, 24]] and whole["gradient"].tolist() == [3, 12]
    assert pull.first is made and pull.vector == "gradient"
    third = second_order(made, seed=0)
    assert third.title == "the derivative of <lambda>" and third.at["gradient"].shape == ()
    taken = Traced(lambda gradient: gradient**2, {"gradient": X}).pull_function(X)
    assert list(taken.at) == ["gradient", "gradient_"]


CONSTANT = Traced(lambda x: gradcli.ones(2), {"x": X})


def test_a_constant_function_has_no_second_derivative():
    with pytest.raises(CallError, match="does not depend on its inputs through recorded operations"):
        CONSTANT.pull_function(np.ones(2)).value_here()
    assert CONSTANT.pull(CONSTANT.at, np.ones(2))["x"].tolist() == [0, 0]


@function(lambda ctx, g: 3 * g * ctx.saved_tensors[0])
def wrong_square(ctx, x):
    ctx.save_for_backward(x)
    return x * x


def test_custom_functions_are_parts_with_their_own_points():
    made = Traced(lambda x: gradcli.exp(wrong_square.apply(2 * x)), {"x": X})
    ((part, described),) = made.parts()
    assert part.title == "wrong_square" and part.at["argument 0"].tolist() == [2, 4]
    assert part.value_here().tolist() == [4, 16]
    assert part.whole(part.at)["argument 0"].tolist() == [[6, 0], [0, 12]]  # as it claims: 3 x
    assert (
        described().startswith("the first wrong node is wrong_squareBackward: ") and "test_recorded.py" in described()
    )
    assert last_line(part, wrong_square) is not None
    assert made.pull_of(made.at, np.ones(2), ["x"]) is not None  # custom functions may read needs_input_grad
    assert Traced(product, AT).pull_of(AT, np.ones(2), ["x"]) is None
    assert part.push(part.at, {"argument 0": X}).tolist() == [6, 24]  # its backward, transposed


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(text, at=None, **more):
        (tmp_path / "s.py").write_text("import gradcli\n" + text)
        return ScriptClaim(load_program(Target("s.py")), at or {"x": X}, **more)

    yield make
    change_to(None)


LEAF = "x = gradcli.tensor([3.0, 4.0], requires_grad=True)\n"


def test_a_script_is_a_function_of_its_leaves(script):
    made = script(LEAF + "y = (x**2).sum()\n")
    assert made.value_here() == 5 and made.title == "s.py"
    assert made.whole(made.at)["x"].tolist() == [2, 4]
    assert made.pull(made.at, np.array(2.0))["x"].tolist() == [4, 8]
    pull = made.pull_function(np.array(2.0))
    assert pull.value_here().tolist() == [4, 8]
    assert pull.whole(pull.at)["x"].tolist() == [[4, 0], [0, 4]]


def test_runs_of_a_script_count_as_calls(script):
    made = script(LEAF + "y = (x**2).sum()\n")
    made.budget.allowed = 2
    made.value(made.at), made.whole(made.at), made.value(made.at)
    with pytest.raises(OutOfCallsError):
        made.value(made.at)
    assert made.budget.made == 2  # values count, recordings do not


def test_a_script_that_runs_backward_claims_its_own_gradients(script):
    made = script(LEAF + "y = (x**2).sum()\ny.backward()\nx.grad *= 3\n")
    assert made.value_here() == 5
    assert made.whole(made.at)["x"].tolist() == [6, 12]
    with pytest.raises(CallError, match="runs backward itself, so its graph is gone"):
        made.pull_function(np.array(1.0)).value_here()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for i in range(2):\n    (x**2).sum().backward()\n", "runs backward 2 times itself"),
        ("y = x.sum()\nwith gradcli.no_grad():\n    x += 1\ny", "changes 'x' after making it"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_scripts_that_cannot_be_checked(script, text, message):
    with pytest.raises(CallError, match=message):
        script(LEAF + text).value_here()


def test_rounding_is_measured_by_values_with_more_digits():
    def cancelling(x):
        return (x + 1e6) - 1e6

    x = np.array([1.3, 0.7])
    made = Traced(cancelling, {"x": x})
    values = np.array([made.value({"x": x})])
    before = made.budget.made
    off = made.rounding([{"x": x}], values)
    np.testing.assert_allclose(off[0], abs(values[0] - x), rtol=1e-3)  # in long double, 1e6 + x loses 2e-14 only
    assert made.budget.made == before + 1


def test_rounding_stays_unknown_if_the_function_has_a_type_of_its_own():
    made = Traced(lambda x: x.double(), {"x": X})
    assert made.rounding([{"x": X}], np.array([X])) is None
