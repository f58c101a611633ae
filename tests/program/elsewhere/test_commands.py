"""Commands that print derivatives print those that a server or a process gives; nothing of them is our engine's."""

from __future__ import annotations

import shutil

import pytest

from ...command import compile_c
from .run import gradcheck, message_of, run, verdicts
from .servers import serve, umbridge
from .test_http import ROSENBROCK
from .test_library import KERNELS
from .test_process import model


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


UNKNOWN = [
    ("hvp {url} x0=[2,3] -t x0=[1,0]", 3, "first derivatives only"),
    ("jvp {model} x0=[2,3] -t x0=[1,0]", 3, "gives no Jacobian-vector products"),
    ("grad {dying} x0=[2,3] -g [1]", 3, "status 4"),
    ("grad cmd:cat x0=[2,3] --safe", 2, "--safe"),
    ("grad {url}", 2, "add to the command line: x0='randn(2)'"),
]


@pytest.mark.parametrize(("line", "code", "message"), UNKNOWN)
def test_what_cannot_be_told_is_an_error(line, code, message, url, tmp_path):
    targets = {"url": url, "model": model(tmp_path), "dying": model(tmp_path, "os._exit(4)", name="dying")}
    got, found = run(*(word.format(**targets) for word in line.split()))
    assert (got, message in message_of(found)) == (code, True), found


def test_all_kinds_of_targets_in_one_call(url, tmp_path):
    """Servers and processes, right ones, a wrong one and one that dies, in two processes."""
    with serve(ROSENBROCK) as server:
        targets = [f"{server.url}/forward", url, model(tmp_path), model(tmp_path, "os._exit(4)", name="dying")]
        code, found, _ = gradcheck(*targets, "x0=[1.2,2]", "-j", "2")
    assert code == 1
    assert sorted(verdicts(found)) == ["error", "fail", "pass", "pass"]


@pytest.mark.parametrize(("command", "vector"), [("grad", ["-g", "[1]"]), ("jacobian", []), ("vjp", ["-g", "[2]"])])
def test_check_judges_what_a_server_gives(command, vector, url, tmp_path):
    for target, code, verdict in ((model(tmp_path), 0, "pass"), (url, 1, "fail")):
        got, found = run(command, target, "x0=[2,3]", *vector, "--check")
        assert (got, found["check"]["verdict"]) == (code, verdict)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_commands_take_the_derivative_of_a_library(tmp_path):
    library = compile_c(KERNELS, tmp_path / "libk.so")
    f, of = f"{library}:double f(int n, const double *x)", "(int n, const double *x, double *g)"
    code, found = run("jacobian", f, "--grad", f"void f_grad{of}", "x=[1,2]", "--check")
    assert (code, found["check"]["verdict"]) == (0, "pass")
    code, found = run("grad", f, "--grad", f"void f_sign{of}", "x=[1,2]", "--check")
    assert (code, found["check"]["verdict"]) == (1, "fail")
    backward = "void f_b(int n, const double *x, double *xb, double fb)"
    code, found = run("vjp", f, "--vjp", backward, "x=[0,2]", "-g", "2")
    assert (code, found["vjp"]["x"][0]) == (0, 0.0)
    code, found = run("grad", "x**2", "--grad", "void g()", "x=2")
    assert (code, "LIB.so" in message_of(found)) == (2, True)
