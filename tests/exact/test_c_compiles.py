"""Every function's C compiles with -std=c99 -pedantic -Werror, and computes what the engine does."""

import ctypes
import shutil

import numpy as np
import pytest

from gradcli.analysis.gradient import compute_gradient
from gradcli.analysis.symbolic import derive_formulas
from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request
from gradcli.rules import full_table
from tests.command import compile_c

NAMES = [
    name
    for name, entry in full_table().items()
    if (entry.kind == "elementwise" and entry.public and entry.arity < 3) or name == "clip"
]


def written_in_c(name):
    """Return the C of a function's value and gradient, and what the engine computes; None where C lacks it."""
    entry = full_table()[name]
    inputs = "xy"[: 1 if name == "clip" else entry.arity]
    text = f"{name}({', '.join([*inputs, *(['0', '1'] if name == 'clip' else [])])}) + pi + log(2) * x"
    program = ExpressionProgram(parse(text), text)
    given = {n: np.array(low + 0.37 * (high - low)) for n, (low, high) in zip(inputs, entry.domain, strict=False)}
    try:
        code = derive_formulas(program, given, Request(), code="c").code
        return code, given, compute_gradient(program, given, Request())
    except GradcliError:
        return None


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_compiles_and_agrees(tmp_path):
    functions = [written for name in NAMES if (written := written_in_c(name)) is not None]
    assert len(functions) >= 80
    texts = [code.replace("value_and_gradient", f"function_{k}") for k, (code, *_) in enumerate(functions)]
    (tmp_path / "all.c").write_text("\n".join(texts))
    flags = ("-std=c99", "-pedantic", "-Wall", "-Werror")
    library = ctypes.CDLL(str(compile_c(tmp_path / "all.c", tmp_path / "all.so", *flags)))
    for k, (_, given, expected) in enumerate(functions):
        function = library[f"function_{k}"]
        function.restype = ctypes.c_double
        slopes = [ctypes.c_double() for _ in given]
        value = function(*map(ctypes.c_double, map(float, given.values())), *map(ctypes.byref, slopes))
        assert value == pytest.approx(float(expected.value), rel=1e-12), expected.target
        wanted = [float(item.grad) for item in expected.inputs]
        assert [slope.value for slope in slopes] == pytest.approx(wanted, rel=1e-11, abs=1e-13), expected.target
