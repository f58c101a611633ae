"""One entry added to the table, and used in every way there is; run as a script by test_added_entry.py."""

import contextlib
import io
import sys

import numpy as np

import gradcli
from gradcli.cli.main import main
from gradcli.rules import full_table
from gradcli.rules.table import A, Sample, elementwise, linear

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
print("used in every way")
