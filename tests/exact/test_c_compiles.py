"""Generated C compiles as the standard says: -std=c99 -pedantic -Werror."""

import shutil
import subprocess

import pytest

from gradcli.rules import full_table
from tests.command import gradcli

FEW = {"clip(x, 0, 1)", "arccos(x)", "erf(x)", "gelu(x)", "log2(x)", "rad2deg(x)"}
ALL = {
    f"{name}({', '.join('xy'[: entry.arity])})"
    for name, entry in full_table().items()
    if entry.kind == "elementwise" and entry.public and entry.arity < 3
}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("formulas", [FEW, pytest.param(ALL, marks=pytest.mark.nightly)], ids=["few", "all"])
def test_c_compiles(formulas, tmp_path):
    functions = []
    for k, formula in enumerate(sorted(formulas)):
        result = gradcli("symbolic", f"{formula} + pi + log(2) * x", "-f", "c")
        if not result.returncode:  # those that C has not are refused
            functions.append(result.stdout.replace("value_and_gradient", f"function_{k}"))
    assert len(functions) >= min(len(formulas), 80)
    (tmp_path / "all.c").write_text("\n".join(functions))
    command = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Werror", "-c", "all.c"]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not compiled.returncode, compiled.stderr
