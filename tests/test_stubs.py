"""Stubs for type checkers: they are current, and functions return the types that their stubs declare."""

import inspect
import re
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
    """Return whether a function has no return annotation of its own; if it has one, mypy checks it."""
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
"""Arguments for functions with neither annotations nor examples in the table. Each function accepts some of them."""


OF_NUMBERS = dict.fromkeys("identity hanning hamming bartlett blackman".split(), (3,)) | {"geomspace": (1, 8)}


@pytest.mark.parametrize("path", STUBS)
def test_stub_is_current(path):
    assert (ROOT / path).read_text() == STUBS[path], "run make man"


def test_there_are_no_stale_stubs():
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "gradcli").rglob("*.pyi")} == set(STUBS)


def kinds_of_examples(entry: Primitive) -> set[type]:
    """Return the result types of an entry for its examples, with integers if it does not take floats."""
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
def test_a_function_returns_the_type_in_its_stub(path, name):
    function, expected = find(path, name), RETURNS[path, name]
    found = by_torch(name) or by_torch(f"{Path(path).stem}.{name}")
    if found is not None and found[0].samples:
        kinds = kinds_of_examples(found[0])
    else:
        trials = [OF_NUMBERS[name]] if name in OF_NUMBERS else TRIALS
        kinds = {type(result) for arguments in trials if (result := attempt(function, arguments)) is not None}
    assert {kind.__name__ for kind in kinds} == {expected.removeprefix("builtins.")}


def attempt(function: Callable, arguments: tuple) -> object:
    try:
        return function(*arguments)
    except (TypeError, RuntimeError, ValueError, IndexError):
        return None


def test_methods_in_the_stub_exist():
    for name in re.findall(r"^    def (\w+)\(", STUBS["gradcli/tape/methods.pyi"], re.M):
        assert callable(getattr(Tensor, name, None) or gradcli.find_method(name)), name
