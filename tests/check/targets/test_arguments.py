"""Arguments of functions by hand that are no arrays of real numbers."""

import json
import subprocess
import sys

import pytest

SOURCE = """
import numpy as np
from numpy.typing import NDArray

def f(x, kind, k: int = 2):
    assert isinstance(kind, str), kind
    return np.sum(np.sin(x)) if kind == "sine" else np.sum(x ** k) * range(5)[k]

def g(x, kind, k: int = 2):
    return np.cos(x) if kind == "sine" else k * x ** (k - 1) * k

def take(x, i: NDArray[np.int64], k: "int"):
    return x[i].sum() * len(range(k))

def take_grad(x, i, k):
    found = np.zeros_like(x)
    np.add.at(found, i, k)
    return found

def powers(x, options):
    return sum(np.sum(x ** p) for p in options["powers"])

def powers_grad(x, options):
    return sum(p * x ** (p - 1) for p in options["powers"])
"""


def run(folder, *words):
    """Return exit code and what the command printed."""
    (folder / "h.py").write_text(SOURCE)
    command = [sys.executable, "-m", "gradcli", "gradcheck", *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("h.py:f", "--grad", "g", "x=[1,2]", "kind=sine"),
        ("h.py:f", "--grad", "g", "x=[1,2]", 'kind="power"'),
        ("h.py:f", "--grad", "g", "x=[1,2]", "kind=power", "k=3"),
        ("h.py:f", "--grad", "g", "x=[1,2]", "--arg", 'kind="power"', "--arg", "k=3"),
        ("h.py:take", "--grad", "take_grad", "x=[1,2,3]", "i=[0,2]", "k=3"),
        ("h.py:take", "--grad", "take_grad", "x=[1,2,3]", "--arg", "i=[0,2]", "k=3"),
        ("h.py:powers", "--grad", "powers_grad", "x=[1,2]", "--arg", 'options={"powers": [1, 3]}'),
    ],
    ids=lambda words: " ".join(words[3:]),
)
def test_strings_whole_numbers_and_objects_are_passed_on(words, tmp_path):
    code, found = run(tmp_path, *words)
    assert (code, found["checks"][0]["verdict"]) == (0, "pass"), found
    assert list(found["checks"][0]["inputs"]) == ["x"]


def test_what_is_no_json_is_refused(tmp_path):
    code, found = run(tmp_path, "h.py:f", "--grad", "g", "x=1", "--arg", "kind=sine")
    assert (code, "--arg kind=sine" in found["error"]["message"]) == (2, True)


def test_the_language_still_wants_numbers(tmp_path):
    code, found = run(tmp_path, "x**2", "x=b")
    assert (code, "may not use the name 'b'" in found["error"]["message"]) == (2, True)
