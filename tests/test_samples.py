"""The samples for the shell and for CI; tests/cases/cli/samples.txt tests the others."""

import re
import shutil
import subprocess

import pytest

from .command import ROOT, run

SAMPLES = ROOT / "samples"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_bisect_finds_the_commit_that_broke_a_gradient(path):
    """The sixth of eight revisions drops the 1/n; the fourth does not import and is skipped."""
    done = run(["sh", "samples/bisect.sh"], PATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the first bad commit: Save a division\nrevisions that could not be checked: 1\n"


def test_every_sample_is_tested():
    files = {p.name for p in SAMPLES.iterdir() if p.suffix in (".expr", ".py")}
    tried = (ROOT / "tests/cases/cli/samples.txt").read_text()
    elsewhere = {"fit.py", "training.py"}  # tested with the README, and in tests/elsewhere
    assert {name for name in files if f"samples/{name}" not in tried} == elsewhere


def test_three_ways_to_sweep_agree(path, tmp_path):
    said = run_sweeps(path, tmp_path)
    assert "skipped: the command 'dask' is missing" in said or said.endswith("the same\n")


def run_sweeps(path, folder):
    """Run the sample and return its output."""
    done = run(["bash", "samples/sweep.sh", folder], PATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"rows": 3000, "not_finite": 0') >= 1
    return done.stdout


def test_the_demo_runs(path):
    done = run(["bash", "samples/demo.sh"], PATH=path)
    assert done.returncode == 0, done.stderr
    parts = ("1/N is probably missing", "0.56448", "SinBackward0", "minimum at [1. 1.]")
    places = [done.stdout.index(part) for part in parts]
    assert places == sorted(places) and places[0] < 1000
    assert "\x1b[" not in done.stdout
    assert "2 passed" in done.stderr
    assert "1 of 2 derivatives wrong" in done.stderr
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


def test_gradient_descent_reports_failures(path):
    done = descend(path, STEPS="1")
    assert done.returncode == 1
    assert "no minimum in 1 steps" in done.stderr
    assert descend(path, "x +").returncode == 2


def test_the_workflow_fails_on_a_wrong_gradient(path, tmp_path):
    """Run the workflow's own commands on a project with the files it names, first right and then wrong."""
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
