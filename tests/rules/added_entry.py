"""One entry added to the table, and used in every way there is; run as a script by test_added_entry.py."""

import contextlib
import inspect
import io
import sys

import numpy as np

import gradcli
from gradcli.cli.main import main
from gradcli.rules import full_table
from gradcli.rules.shapes import negative_axis, rank
from gradcli.rules.table import A, Sample, elementwise, general, linear

full_table()
elementwise(
    lambda x: x * x * x,
    lambda _, x: 3 * x * x,
    name="threefold",
    twin="x**3",
    doc="The third power, in an entry of its own.",
)
linear(
    "thrice",
    lambda x: np.concatenate([x, x, x], axis=-1),
    lambda g, _, x: sum(np.split(g, 3, axis=-1)),
    samples=(Sample(A(3)),),
    pattern="selection",
    exact=lambda field, x: np.concatenate([x, x, x], axis=-1),
    size=lambda x: 3 * x.size,
    doc="An array three times over.",
)
general(
    "centre",
    lambda x, *, axis: x - np.mean(x, axis=axis, keepdims=True),
    lambda g, _, _x, *, axis: g - np.mean(g, axis=axis, keepdims=True),
    bind=lambda x, axis=-1: ((x,), {"axis": negative_axis(axis, rank(x))}),
    torch="centre centred(input, dim=-1, *, dtype=None) -> CentreBackward0, CentreBackward1",
    floats_only="centre(): no {type}",
    pattern="lanes",
    samples=(Sample(A(3, 4)),),
    doc="x less its mean along axis.",
)
elementwise(
    lambda x, *, rate: x * x * rate,
    lambda _, x, *, rate: 2 * rate * x,
    torch="parabola(input, rate=0.5)",
    samples=(Sample(A(3, 4)), Sample(A(3), rate=2.0)),
    twin="rate * x**2",
    doc="rate times the square of x.",
)


def refusal(call, *args, **kwargs):
    """Return the error that a call raises."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        return error


def printed(*argv: str) -> str:
    """Return what a command prints."""
    out = io.StringIO()
    sys.argv = ["gradcli", *argv]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        main()
    return out.getvalue()


x = gradcli.tensor([1.0, 2.0], requires_grad=True)
assert gradcli.threefold(x).tolist() == [1.0, 8.0]
x.threefold().sum().backward()
assert x.grad.tolist() == [3.0, 12.0]
points = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]])
assert gradcli.func.vmap(gradcli.thrice)(points).shape == (2, 6)
assert printed("grad", "sum(threefold(x))", "x=[1,2]") == "x[0]\t3.0\nx[1]\t12.0\n"
assert printed("grad", "sum(thrice(x)**2)", "x=[1,2]") == "x[0]\t6.0\nx[1]\t12.0\n"
assert "3*x**2" in printed("symbolic", "threefold(x)")
assert printed("grad", "threefold(x)", "x=0.1", "--digits", "20").startswith("x\t0.03")
assert "12" in printed("grad", "sum(thrice(x)**2)", "x=[1,2]", "--digits", "20")
sparse = printed("jacobian", "thrice(x)", "x=[1,2]", "--sparse")
assert sparse.count("\n") == 6, sparse
assert "third power" in printed("ops", "threefold")
refused = printed("grad", "sum(thrice(x))", "x=[1,2]", "--max-elements", "5")
assert "this value would have 6 elements; the limit is 5" in refused, refused

# what follows from PyTorch's signature
assert str(inspect.signature(gradcli.parabola)) == "(input, rate=0.5)"
assert gradcli.parabola.__doc__ == "rate times the square of x."
assert gradcli.parabola(input=x, rate=2.0).tolist() == x.parabola(2.0).tolist() == [2.0, 8.0]
assert x.parabola().grad_fn.name() == "ParabolaBackward0"
assert gradcli.tensor([2.0]).parabola_(3.0).tolist() == [12.0]
assert isinstance(refusal(x.parabola, slope=1), TypeError)
assert printed("grad", "sum(parabola(x, rate=3))", "x=[1,2]") == "x[0]\t6.0\nx[1]\t12.0\n"
assert "rate times the square" in printed("ops", "parabola")
pair = gradcli.tensor([[1.0, 3.0]], requires_grad=True)
assert gradcli.centre.__doc__ == "x less its mean along dim."
assert gradcli.centre(pair).tolist() == pair.centred(dim=1).tolist() == gradcli.centre(pair, axis=1).tolist()
assert [t.grad_fn.name() for t in (pair.centre(dim=None), pair.centre(0))] == ["CentreBackward0", "CentreBackward1"]
assert gradcli.centre(pair, dtype=gradcli.float32).dtype == gradcli.float32
assert gradcli.tensor(2.0, requires_grad=True).sum(0).grad_fn.name() == "SumBackward1"
assert "[-2, 1], but got 5" in str(refusal(pair.centre, 5)) and isinstance(refusal(pair.centre, 5), IndexError)
assert str(refusal(gradcli.tensor([1]).centre)) == "centre(): no Long"
assert "two names of one argument" in str(refusal(pair.centre, axis=0, dim=0))
print("used in every way")
