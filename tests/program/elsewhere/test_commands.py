"""Commands that print derivatives print those that a server or a process gives; nothing of them is our engine's."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

from .run import gradcheck, verdicts
from .servers import serve, umbridge
from .test_http import ROSENBROCK
from .test_process import model


def run(*words: str) -> tuple[int, dict]:
    """Return exit code and JSON of a command."""
    command = [sys.executable, "-m", "gradcli", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, json.loads(done.stdout)


def wrong(out, wrt, x, vector, config):
    """A derivative that is none, so that nobody but the server can have told it."""
    return [vector[0] * 7.0, vector[0] * 11.0]


def push(out, wrt, x, vec, config):
    return [13.0 * vec[0] + 17.0 * vec[1]]


def value(x, config):
    return [[x[0][0] * x[0][1]]]


@pytest.fixture(scope="module")
def url():
    with serve(umbridge(value, wrong, ([2], [1]), push)) as server:
        yield f"{server.url}/forward"


def test_grad_prints_what_the_server_gives(url):
    code, found = run("grad", url, "x0=[2,3]", "-g", "[2]")
    assert (code, found["value"], found["grad"]) == (0, [6.0], {"x0": [14.0, 22.0]})


def test_jacobian_vjp_and_jvp(url):
    assert run("jacobian", url, "x0=[2,3]", "--mode", "rev")[1]["jacobian"] == {"x0": [[7.0, 11.0]]}
    assert run("vjp", url, "x0=[2,3]", "-g", "[2]")[1]["vjp"] == {"x0": [14.0, 22.0]}
    assert run("jvp", url, "x0=[2,3]", "-t", "x0=[1,2]")[1]["jvp"] == [47.0]


def test_a_model_that_gives_forward_products_only():
    with serve(umbridge(value, None, ([2], [1]), push)) as server:
        assert run("jacobian", f"{server.url}/forward", "x0=[2,3]")[1]["jacobian"] == {"x0": [[13.0, 17.0]]}
        assert run("grad", f"{server.url}/forward", "x0=[2,3]", "-g", "[2]")[1]["grad"] == {"x0": [26.0, 34.0]}


def test_what_cannot_be_told_is_an_error(url, tmp_path):
    code, found = run("hvp", url, "x0=[2,3]", "-t", "x0=[1,0]")
    assert code == 3
    code, found = run("jvp", model(tmp_path), "x0=[2,3]", "-t", "x0=[1,0]")
    assert (code, found["error"]["message"].endswith("gives no Jacobian-vector products")) == (3, True)
    code, found = run("grad", model(tmp_path, "os._exit(4)"), "x0=[2,3]", "-g", "[1]")
    assert (code, "status 4" in found["error"]["message"]) == (3, True)
    code, found = run("grad", "cmd:cat", "x0=[2,3]", "--safe")
    assert (code, "--safe" in found["error"]["message"]) == (2, True)
    code, found = run("grad", url)
    assert (code, found["error"]["hint"]) == (2, "add to the command line: x0='randn(2)'")


def test_all_kinds_of_targets_in_one_call(url, tmp_path):
    """Servers and processes, right ones, a wrong one and one that dies, in two processes."""
    with serve(ROSENBROCK) as server:
        targets = [f"{server.url}/forward", url, model(tmp_path), model(tmp_path, "os._exit(4)", name="dying")]
        code, found, _ = gradcheck(*targets, "x0=[1.2,2]", "-j", "2")
    assert code == 1
    assert sorted(verdicts(found)) == ["error", "fail", "pass", "pass"]


WORDS = {"grad": [], "jacobian": [], "vjp": ["-g", "[2]"]}


@pytest.mark.parametrize("command", WORDS)
def test_check_judges_what_a_server_gives(command, url, tmp_path):
    more = WORDS[command] if command != "grad" else ["-g", "[1]"]
    code, found = run(command, model(tmp_path), "x0=[2,3]", *more, "--check")
    assert (code, found["check"]["verdict"]) == (0, "pass")
    code, found = run(command, url, "x0=[2,3]", *more, "--check")
    assert (code, found["check"]["verdict"]) == (1, "fail")


def test_commands_take_the_derivative_of_a_library(library):
    f, of = f"{library}:double f(int n, const double *x)", "(int n, const double *x, double *g)"
    code, found = run("jacobian", f, "--grad", f"void f_grad{of}", "x=[1,2]", "--check")
    assert (code, found["check"]["verdict"]) == (0, "pass")
    code, found = run("grad", f, "--grad", f"void f_sign{of}", "x=[1,2]", "--check")
    assert (code, found["check"]["verdict"]) == (1, "fail")
    code, found = run(
        "vjp", f, "--vjp", "void f_b(int n, const double *x, double *xb, double fb)", "x=[0,2]", "-g", "2"
    )
    assert (code, found["vjp"]["x"][0]) == (0, 0.0)
    code, found = run("grad", "x**2", "--grad", "void g()", "x=2")
    assert (code, "LIB.so" in found["error"]["message"]) == (2, True)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "libk.so"
    source = str(pathlib.Path(__file__).parent / "kernels.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), source, "-lm"], check=True)
    return path
