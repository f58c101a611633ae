"""What type checkers are told: the stubs are current and true, and code that uses the public names is clean."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import gradcli
from gradcli import Tensor
from gradcli.rules import by_torch
from gradcli.rules.table import Primitive
from man.generate.stubs import ROOT, stubs

from .rules.calls import Call

STUBS = stubs()


def find(path: str, name: str) -> Callable:
    return getattr(import_module(path.removesuffix(".pyi").replace("/", ".").removesuffix(".__init__")), name)


def says_nothing(function: Callable) -> bool:
    """Return whether a function's own annotation does not say its result; else mypy holds it to that."""
    return inspect.signature(function).return_annotation in (inspect.Signature.empty, "Any")


RETURNS = {
    (path, name): kind
    for path, text in STUBS.items()
    for name, kind in re.findall(r"^def (\w+)\(.*\) -> (Tensor|builtins\.\w+): ", text, re.M)
    if says_nothing(find(path, name))
}
MATRIX = gradcli.tensor([[2.0, 1.0], [1.0, 3.0]])
WHOLE = gradcli.tensor([1, 2])
TRIALS = [(MATRIX,), (MATRIX, MATRIX), (WHOLE, WHOLE), (gradcli.tensor([1.0]),), (gradcli.tensor([1j]),)]
"""Arguments of which some suit every function without annotations that the table has no example of."""

USER = """
import numpy as np
import gradcli
from gradcli import Tensor, autograd, func, linalg, nn, optim
from gradcli.autograd.gradcheck import GradcheckError

def loss(w: Tensor, rows: Tensor) -> Tensor:
    return ((rows @ w - 1) ** 2).sum() + gradcli.softmax(w, dim=0).exp().mean() + linalg.inv(rows).sum()

@gradcli.check(at={"x": 1.0}, grad=lambda x: 2 * x)
def square(x: float) -> float:
    return x**2

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(x)

class Cube(autograd.Function):
    @staticmethod
    def forward(ctx: autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

x = gradcli.tensor([1.0, 2.0], dtype=gradcli.float64, requires_grad=True)
y = loss(x, gradcli.eye(2))
y.backward()
with gradcli.no_grad():
    total: float = y.item()
report = gradcli.check_gradient(np.sin, np.cos, at={"x": 1.0})
print(report.verdict, report.passed, report.inputs[0].digits)
steps = optim.SGD([x], lr=0.1)
steps.step()
reveal_type(x)
reveal_type(x + 1)
reveal_type(1 < x)
reveal_type(x.sin())
reveal_type(x.grad)
reveal_type(x.shape)
reveal_type(gradcli.sin(x))
reveal_type(y.is_complex())
reveal_type(square)
reveal_type(Net().forward(x))
reveal_type(report)
reveal_type(autograd.gradcheck(loss, (x, gradcli.eye(2))))
gradcli.sinn(x)
"""
REVEALED = """Tensor Tensor Tensor Tensor Tensor|None Size Tensor bool def(x:float)->float Tensor CheckReport bool"""


@pytest.mark.parametrize("path", STUBS)
def test_stub_is_current(path):
    assert (ROOT / path).read_text() == STUBS[path], "run make man"


def test_no_stub_is_left_over():
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "gradcli").rglob("*.pyi")} == set(STUBS)


def kinds_of_examples(entry: Primitive) -> set[type]:
    """Return the types of what an entry returns for its examples; those that take no floats are left out."""
    kinds = set()
    for number, sample in enumerate(entry.samples):
        call = Call(entry, number, sample)
        try:
            kinds.add(type(call.on(call.leaves())))
        except TypeError:
            kinds.add(type(call.on([gradcli.tensor(x).to(gradcli.int64) for x in call.arrays])))
    return kinds


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize(("path", "name"), RETURNS)
def test_a_function_returns_what_its_stub_says(path, name):
    function, expected = find(path, name), RETURNS[path, name]
    found = by_torch(name) or by_torch(f"{Path(path).stem}.{name}")
    if found is not None and found[0].samples:
        kinds = kinds_of_examples(found[0])
    else:
        trials = [(3,)] if name == "identity" else TRIALS
        kinds = {type(result) for arguments in trials if (result := attempt(function, arguments)) is not None}
    assert {kind.__name__ for kind in kinds} == {expected.removeprefix("builtins.")}


def attempt(function: Callable, arguments: tuple) -> object:
    try:
        return function(*arguments)
    except (TypeError, RuntimeError, ValueError, IndexError):
        return None


@pytest.mark.nightly
def test_code_that_uses_the_public_names_is_clean(tmp_path):
    pytest.importorskip("mypy")
    path = tmp_path / "user.py"
    path.write_text(USER)
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path), "--config-file", ""]
    command = [sys.executable, "-m", "mypy", *options, path]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    errors = re.findall(r"error: (.*)", done.stdout)
    assert [text.partition(";")[0] for text in errors] == ['Module has no attribute "sinn"']
    revealed = [re.sub(r"[\w.]+\.|\s", "", text) for text in re.findall(r'type is "(.*)"', done.stdout)]
    assert revealed == REVEALED.split()


def test_methods_of_the_stub_are_methods():
    for name in re.findall(r"^    def (\w+)\(", STUBS["gradcli/tape/methods.pyi"], re.M):
        assert callable(getattr(Tensor, name, None) or gradcli.find_method(name)), name
