"""Every sample runs and prints what is expected; the expected numbers are derived in the comments."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"

# name -> (arguments, expected lines that are no gradients, expected gradients)
EXPECTED = {
    "scalar.expr": ([], [], {"x": 4 * math.sin(3), "y": 4 * math.cos(3)}),
    # A x - b = (1, 2, -2), so 2 A^T r = 2 (2*1 + 1*2, 3*2 - 2)
    "arrays.expr": ([], [], {"x[0]": 8, "x[1]": 8}),
    # the log-density of a normal: ((x - mu) / sigma^2, ...), and d/d sigma = ((x - mu)^2 - sigma^2) / sigma^3
    "density.expr": ([], [], {"x": -0.2, "mu": 0.2, "sigma": -0.42}),
    "jacobian_rows.expr": (["-g", "[0, 1]"], [], {"x[0]": 2, "x[1]": 6}),
    "leaves.py": ([], ["is_leaf: True False False False", "gradient of y1: tensor(-4.)"], {"x": 4}),
    # 2 y = (4, 8, 12) is clipped to (4, 5, 5), then doubled
    "hooks.py": (
        [],
        ["before clipping: tensor([ 4.,  8., 12.])", "after clipping:  tensor([4., 5., 5.])"],
        {"x[0]": 8, "x[1]": 10, "x[2]": 10},
    ),
    "assignment.expr": (["-g", "[[1, 1]]"], [], {"m[0,0]": 4, "m[0,1]": 27}),
    # X^T (sigmoid(X w + b) - t) / 4, by mpmath in 30-digit arithmetic
    "logistic.expr": (
        ["w=@samples/weights.json"],
        [],
        {"w[0]": -0.195536216344221, "w[1]": 0.070291556796074, "b": -0.012935495134478},
    ),
    # u = 6 and z = sin u + u, so dz/dx = y (cos u + 1) and dz/dy = x (cos u + 1)
    "trace.py": ([], ["tensor(5.8805) tensor(3.9203)"], {"x": 3 * (math.cos(6) + 1), "y": 2 * (math.cos(6) + 1)}),
    "script.py": (["a=9"], [], {"a": 1 / 6}),
    # only (0, 1) is predicted wrongly, 1 for 2: d loss / d prediction = 2 (1 - 2) / 4
    "network.py": (
        ["--wrt", "net.out.weight,net.out.bias"],
        ["loss before: 0.25", "gradient of the hidden units: 1.0", "loss after:  0.16478"],
        {
            "net.out.weight[0,0]": 0,
            "net.out.weight[0,1]": -0.5,
            "net.out.weight[0,2]": -0.25,
            "net.out.bias[0]": -0.5,
        },
    ),
}


def gradcli(*words: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gradcli", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", EXPECTED)
def test_sample(name):
    words, lines, gradients = EXPECTED[name]
    done = gradcli("grad", f"samples/{name}", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = done.stdout.splitlines()
    assert printed[: len(lines)] == lines
    got = dict(line.split("\t") for line in printed[len(lines) :])
    assert got.keys() == gradients.keys()
    for key, value in gradients.items():
        assert float(got[key]) == pytest.approx(value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in EXPECTED if n.endswith(".py")])
def test_scripts_run_under_plain_python(name):
    done = subprocess.run(
        [sys.executable, f"samples/{name}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == EXPECTED[name][1]


def test_the_function_sample():
    done = gradcli("grad", "samples/function.py:rosenbrock", "x=-1", "y=2")
    # d/dx = -2 (1 - x) - 400 x (y - x^2), d/dy = 200 (y - x^2)
    assert done.stdout == "x\t396.0\ny\t200.0\n"


def test_declared_checks():
    done = gradcli("gradcheck", "samples/gradients.py")
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [
        ["pass", "cross_entropy"],
        ["pass", "softmax"],
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_bisect_finds_the_commit_that_broke_a_gradient(tmp_path):
    """The sixth of eight revisions drops the 1/n; the fourth does not import and is skipped."""
    (tmp_path / "gradcli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    (tmp_path / "gradcli").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "samples/bisect.sh"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the first bad commit: Save a division\nrevisions that could not be checked: 1\n"


def test_the_c_kernel(tmp_path):
    """Where there is a C compiler, the kernel is built and checked; elsewhere the sample says what is missing."""
    library = tmp_path / "kernel.so"
    compiler = shutil.which("cc")
    if compiler is None:
        done = gradcli("grad", "samples/kernel.py")
        assert done.returncode == 3
        assert "build it: cc" in done.stderr
        return
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), "samples/kernel.c", "-lm"], cwd=ROOT, check=True
    )
    environment = {**os.environ, "KERNEL_LIBRARY": str(library), "NO_COLOR": "1"}

    def run(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "gradcli", *words]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    done = run("grad", "samples/kernel.py")
    got = dict(line.split("\t") for line in done.stdout.splitlines())
    for name, x in (("x[0]", -1.0), ("x[1]", 0.0), ("x[2]", 2.0)):
        s = 1 / (1 + math.exp(-x))
        assert float(got[name]) == pytest.approx(s + x * s * (1 - s), rel=1e-12)
    done = run("gradcheck", "samples/kernel.py:Swish", "x=[-1, 0, 2]")
    assert done.returncode == 0, done.stderr
    done = run("gradcheck", "samples/kernel.py:Swish", "x=[-1, 0, 2]", "--order", "2")
    assert done.returncode == 3  # backward is in C, too, so there is no second derivative
    assert "once_differentiable" in done.stdout + done.stderr


def test_every_sample_is_tested():
    files = {p.name for p in SAMPLES.iterdir() if p.suffix in (".expr", ".py")}
    assert files == {*EXPECTED, "function.py", "gradients.py", "kernel.py"}


def test_sweeps_three_ways(tmp_path):
    said = run_sweeps(tmp_path)
    assert "skipped: there is no command 'dask'" in said or said.endswith("the same\n")


def run_sweeps(folder):
    """Run the sample, with the commands that stand beside this Python, and return what it prints."""
    script = f'gradcli() {{ "{sys.executable}" -m gradcli "$@"; }}\n. samples/sweep.sh'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "sweep.sh", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"rows": 3000, "not_finite": 0') >= 2
    return done.stdout


def test_the_demo_runs():
    script = f'gradcli() {{ "{sys.executable}" -m gradcli "$@"; }}\n. samples/demo.sh'
    done = subprocess.run(
        ["bash", "-c", script, str(SAMPLES / "demo.sh")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "0.56448" in done.stdout
    assert "\x1b[" in done.stdout
    assert "did you mean 'sin'" in done.stderr


@pytest.fixture
def on_path(tmp_path):
    """Return an environment in which `gradcli` is a command."""
    script = tmp_path / "bin" / "gradcli"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{script.parent}:{os.environ['PATH']}"}


def descend(environment: dict, *words: str, **more: str) -> subprocess.CompletedProcess:
    command = ["sh", str(SAMPLES / "descent.sh"), *words]
    return subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, check=False)


def test_gradient_descent_in_the_shell(on_path):
    done = descend(on_path)
    assert done.returncode == 0, done.stderr
    # 2 (x - 1) + y / 2 = 0 and 4 (y + 1/2) + x / 2 = 0
    point = dict(word.split("=") for word in done.stdout.splitlines()[-1].split(" ")[2:])
    assert float(point["x"]) == pytest.approx(36 / 31, abs=1e-4)
    assert float(point["y"]) == pytest.approx(-20 / 31, abs=1e-4)
    assert descend(on_path, "cosh(t)", "t=1", RATE="1", SMALL="1e-9").stdout.startswith("0 1.18 t=1\n")


def test_gradient_descent_says_when_it_fails(on_path):
    done = descend(on_path, STEPS="1")
    assert done.returncode == 1
    assert "no minimum in 1 steps" in done.stderr
    assert descend(on_path, "x +").returncode == 2


def test_the_workflow_guards_a_gradient(on_path, tmp_path):
    """The workflow's own commands, on a project with the files that it names: right, and then wrong."""
    text = (SAMPLES / "ci" / "gradcheck.yml").read_text()
    commands = re.findall(r"run: (gradcli .*)", text)
    loss = "def loss(w):\n    return (w**2).sum()\n\n\ndef loss_gradient(w):\n    return %s * w\n"
    for factor, code in ((2, 0), (3, 1)):
        project = tmp_path / f"project{factor}"
        (project / "src").mkdir(parents=True)
        source = (SAMPLES / "gradients.py").read_text()
        broken = source.replace("/ len(y)", "") if code else source
        (project / "src" / "gradients.py").write_text(broken)
        (project / "src" / "loss.py").write_text(loss % factor)
        for command in commands:
            done = subprocess.run(
                ["sh", "-c", command], cwd=project, env=on_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert done.stdout.startswith("::error file=src/") == bool(code)
        assert (project / "gradcheck.xml").exists()
    assert len(commands) == 2
    assert not re.search(r"\t| $", text, re.M)
