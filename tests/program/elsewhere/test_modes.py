"""Jacobians and products of servers, processes and libraries in both modes, with the options of addresses."""

from __future__ import annotations

import numpy as np
import pytest

from ...command import compile_c, gradcli
from .run import gradcheck, verdicts
from .servers import serve, umbridge


def evaluate(x, config):
    a = config.get("a", 1)
    return [[a * x[0][0] * x[0][1], x[0][0] ** 2, x[0][1]]]


def block(x, config):
    a, (x, y) = config.get("a", 1), x[0]
    return np.array([[a * y, a * x], [2 * x, 0], [0, 1]])


def pull(out, wrt, x, sens, config):
    return (np.array(sens) @ block(x, config)).tolist()


def push(out, wrt, x, vec, config):
    return (block(x, config) @ np.array(vec)).tolist()


def run(command, url, *words):
    done = gradcli(command, f"{url}/forward", "x0=[2,3]", *words)
    return done.returncode, [float(line.partition("\t")[2]) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("functions", [(pull, push), (pull, None), (None, push)])
@pytest.mark.parametrize("mode", ["auto", "rev", "fwd"])
def test_jacobians_in_both_modes(functions, mode):
    with serve(umbridge(evaluate, functions[0], ([2], [3]), functions[1])) as server:
        code, found = run("jacobian", server.url, "--mode", mode, "--config", '{"a": 5}')
    if mode == "fwd" and functions[1] is None:
        assert code == 3
    else:  # d(5 x y, x^2, y) at (2, 3)
        assert (code, found) == (0, [15, 10, 4, 0, 0, 1])


@pytest.mark.parametrize(
    "command, words, expected",
    [
        ("vjp", ("-g", "[1,0,0]"), [15, 10]),
        ("jvp", ("-t", "x0=[1,0]"), [15, 4, 0]),
        ("grad", ("-g", "[1,1,1]", "--check"), [19, 11]),
    ],
)
def test_the_config_reaches_every_command(command, words, expected):
    with serve(umbridge(evaluate, pull, ([2], [3]), push)) as server:
        code, found = run(command, server.url, *words, "--config", '{"a": 5}', "--timeout", "9")
    assert (code, found) == (0, expected)


SOURCE = """
double f(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i] * x[i]; return s; }
double f_d(int n, const double *x, const double *xd) {
    double s = 0; for (int i = 0; i < n; i++) s += 3 * x[i] * x[i] * xd[i]; return s; }
double wrong_d(int n, const double *x, const double *xd) { return 1.01 * f_d(n, x, xd); }
"""


def test_a_librarys_forward_derivative_is_checked(tmp_path):
    (tmp_path / "k.c").write_text(SOURCE)
    target = f"{compile_c(tmp_path / 'k.c', tmp_path / 'libk.so')}:double f(int n, const double *x)"
    for name, code, verdict in (("f_d", 0, "pass"), ("wrong_d", 1, "fail")):
        forward = f"double {name}(int n, const double *x, const double *xd)"
        got, found, errors = gradcheck(target, "--jvp", forward, "x=[1,2,3]")
        assert (got, verdicts(found)) == (code, [verdict]), (found, errors)
