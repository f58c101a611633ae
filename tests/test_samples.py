"""Every sample runs and prints what is expected; the expected numbers are derived in the comments."""

import math
import re
import shutil
import subprocess
import sys

import pytest

from .command import ROOT, compile_c, gradcli, run

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
        {"net.out.weight[0,0]": 0, "net.out.weight[0,1]": -0.5, "net.out.weight[0,2]": -0.25, "net.out.bias[0]": -0.5},
    ),
}

NOTES = {
    "network.py": "note: net.out.weight, net.out.bias: the value is the one that backward ran on; the script has "
    "changed it since\n"
}


@pytest.mark.parametrize("name", EXPECTED)
def test_sample(name):
    words, lines, gradients = EXPECTED[name]
    done = gradcli("grad", f"samples/{name}", *words, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, NOTES.get(name, ""))
    printed = done.stdout.splitlines()
    assert printed[: len(lines)] == lines
    got = {key: float(value) for key, value in (line.split("\t") for line in printed[len(lines) :])}
    assert got == pytest.approx(gradients, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in EXPECTED if n.endswith(".py")])
def test_scripts_run_under_plain_python(name):
    done = run([sys.executable, f"samples/{name}"])
    assert (done.returncode, done.stdout.splitlines()) == (0, EXPECTED[name][1]), done.stderr


def test_the_function_sample():
    # d/dx = -2 (1 - x) - 400 x (y - x^2), d/dy = 200 (y - x^2)
    assert gradcli("grad", "samples/function.py:rosenbrock", "x=-1", "y=2", cwd=ROOT).stdout == "x\t396.0\ny\t200.0\n"


def test_declared_checks():
    done = gradcli("gradcheck", "samples/gradients.py", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = [line.split("\t")[:2] for line in done.stdout.splitlines()]
    assert found == [["pass", "cross_entropy"], ["pass", "softmax"]]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_bisect_finds_the_commit_that_broke_a_gradient(path):
    """The sixth of eight revisions drops the 1/n; the fourth does not import and is skipped."""
    done = run(["sh", "samples/bisect.sh"], PATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the first bad commit: Save a division\nrevisions that could not be checked: 1\n"


def test_the_c_kernel(tmp_path):
    """Where there is a C compiler, the kernel is built and checked; elsewhere the sample says what is missing."""
    if shutil.which("cc") is None:
        done = gradcli("grad", "samples/kernel.py", cwd=ROOT)
        assert done.returncode == 3
        assert "build it: cc" in done.stderr
        return
    library = compile_c(SAMPLES / "kernel.c", tmp_path / "kernel.so", "-O2")
    given = {"cwd": ROOT, "KERNEL_LIBRARY": str(library)}
    printed = gradcli("grad", "samples/kernel.py", **given).stdout.splitlines()
    slopes = [1 / (1 + math.exp(-x)) for x in (-1.0, 0.0, 2.0)]
    expected = {f"x[{i}]": s + x * s * (1 - s) for i, (s, x) in enumerate(zip(slopes, (-1.0, 0.0, 2.0), strict=True))}
    assert {key: float(x) for key, x in (line.split("\t") for line in printed)} == pytest.approx(expected, rel=1e-12)
    done = gradcli("gradcheck", "samples/kernel.py:Swish", "x=[-1, 0, 2]", **given)
    assert done.returncode == 0, done.stderr
    done = gradcli("gradcheck", "samples/kernel.py:Swish", "x=[-1, 0, 2]", "--order", "2", **given)
    assert done.returncode == 3  # backward is in C, too, so there is no second derivative
    assert "once_differentiable" in done.stdout + done.stderr


def test_every_sample_is_tested():
    files = {p.name for p in SAMPLES.iterdir() if p.suffix in (".expr", ".py")}
    assert files == {*EXPECTED, "fit.py", "function.py", "gradients.py", "kernel.py"}  # the README has fit.py


def test_sweeps_three_ways(path, tmp_path):
    said = run_sweeps(path, tmp_path)
    assert "skipped: there is no command 'dask'" in said or said.endswith("the same\n")


def run_sweeps(path, folder):
    """Run the sample, and return what it prints."""
    done = run(["bash", "samples/sweep.sh", folder], PATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"rows": 3000, "not_finite": 0') >= 1
    return done.stdout


def test_the_demo_runs(path):
    done = run(["bash", "samples/demo.sh"], PATH=path)
    assert done.returncode == 0, done.stderr
    parts = ("a missing 1/N", "0.56448", "SinBackward0", "minimum at [1. 1.]")
    places = [done.stdout.index(part) for part in parts]
    assert places == sorted(places) and places[0] < 1000
    assert "\x1b[" in done.stdout
    assert "2 passed" in done.stderr
    assert "1 wrong of 2 derivatives" in done.stderr
    assert "did you mean 'sin'" in done.stderr


def descend(path: str, *words: str, **more: str) -> subprocess.CompletedProcess:
    return run(["sh", SAMPLES / "descent.sh", *words], PATH=path, **more)


def test_gradient_descent_in_the_shell(path):
    done = descend(path)
    assert done.returncode == 0, done.stderr
    # 2 (x - 1) + y / 2 = 0 and 4 (y + 1/2) + x / 2 = 0
    point = {name: float(x) for name, x in (word.split("=") for word in done.stdout.splitlines()[-1].split(" ")[2:])}
    assert point == pytest.approx({"x": 36 / 31, "y": -20 / 31}, abs=1e-4)
    assert descend(path, "cosh(t)", "t=1", RATE="1", SMALL="1e-9").stdout.startswith("0 1.18 t=1\n")


def test_gradient_descent_says_when_it_fails(path):
    done = descend(path, STEPS="1")
    assert done.returncode == 1
    assert "no minimum in 1 steps" in done.stderr
    assert descend(path, "x +").returncode == 2


def test_the_workflow_guards_a_gradient(path, tmp_path):
    """The workflow's own commands, on a project with the files that it names: right, and then wrong."""
    text = (SAMPLES / "ci" / "gradcheck.yml").read_text()
    commands = re.findall(r"run: (gradcli .*)", text)
    loss = "def loss(w):\n    return (w**2).sum()\n\n\ndef loss_gradient(w):\n    return %s * w\n"
    source = (SAMPLES / "gradients.py").read_text()
    for factor, gradients, code in ((2, source, 0), (3, source.replace("/ len(y)", ""), 1)):
        project = tmp_path / f"project{factor}"
        (project / "src").mkdir(parents=True)
        (project / "src" / "gradients.py").write_text(gradients)
        (project / "src" / "loss.py").write_text(loss % factor)
        for command in commands:
            done = run(["sh", "-c", command], project, PATH=path)
            assert done.returncode == code, done.stdout + done.stderr
            assert done.stdout.startswith("::error file=src/") == bool(code)
        assert (project / "gradcheck.xml").exists()
    assert len(commands) == 2
    assert not re.search(r"\t| $", text, re.M)
