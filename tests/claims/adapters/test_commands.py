"""Commands print the derivatives that a server or process returns, not those of gradcli's own engine."""

import shlex

import numpy as np
import pytest

from .run import gradcheck, message_of, model, run, verdicts
from .servers import serve, umbridge
from .test_http import ROSENBROCK


def wrong(out, wrt, x, vector, config):
    """A made-up derivative, which can only come from the server."""
    return [vector[0] * 7.0, vector[0] * 11.0]


def push(out, wrt, x, vec, config):
    return [13.0 * vec[0] + 17.0 * vec[1]]


def value(x, config):
    return [[x[0][0] * x[0][1]]]


def three(x, config):
    return [[config["a"] * x[0][0] * x[0][1], x[0][0] ** 2, x[0][1]]]


def block(x, config):
    return np.array([[config["a"] * x[0][1], config["a"] * x[0][0]], [2 * x[0][0], 0], [0, 1]])


def pull_three(out, wrt, x, sens, config):
    return (np.array(sens) @ block(x, config)).tolist()


def push_three(out, wrt, x, vec, config):
    return (block(x, config) @ np.array(vec)).tolist()


MODELS = {
    "both": umbridge(value, wrong, ([2], [1]), push),
    "forward": umbridge(value, None, ([2], [1]), push),
    "three": umbridge(three, pull_three, ([2], [3]), push_three),
    "three by reverse": umbridge(three, pull_three, ([2], [3])),
    "three by forward": umbridge(three, None, ([2], [3]), push_three),
}
"""Models with one output and a wrong derivative, and with three outputs and an option, by the products they have."""
JACOBIAN = [[15, 10], [4, 0], [0, 1]]
"""Jacobian of (5 x y, x^2, y) at (2, 3)."""


@pytest.fixture(scope="module")
def url():
    with serve(MODELS["both"]) as server:
        yield f"{server.url}/forward"


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("both", "grad -g [2]", {"x0": [14.0, 22.0]}),
        ("both", "jacobian --mode rev", {"x0": [[7.0, 11.0]]}),
        ("both", "vjp -g [2]", {"x0": [14.0, 22.0]}),
        ("both", "jvp -t x0=[1,2]", [47.0]),
        ("forward", "jacobian", {"x0": [[13.0, 17.0]]}),
        ("forward", "grad -g [2]", {"x0": [26.0, 34.0]}),
        *(("three", f"jacobian --mode {mode}", {"x0": JACOBIAN}) for mode in ("auto", "rev", "fwd")),
        *(("three by forward", f"jacobian --mode {mode}", {"x0": JACOBIAN}) for mode in ("auto", "rev", "fwd")),
        *(("three by reverse", f"jacobian --mode {mode}", {"x0": JACOBIAN}) for mode in ("auto", "rev")),
        ("three by reverse", "jacobian --mode fwd", None),
        ("three", "vjp -g [1,0,0]", {"x0": [15, 10]}),
        ("three", "jvp -t x0=[1,0]", [15, 4, 0]),
        ("three", "grad -g [1,1,1] --check", {"x0": [19, 11]}),
    ],
)
def test_commands_print_what_the_server_returns(name, line, expected):
    command, *words = line.split()
    with serve(MODELS[name]) as server:
        given = (f"{server.url}/forward", "x0=[2,3]", "--config", '{"a": 5}', "--timeout", "9")
        code, found = run(command, *given, *words)
    assert (code, found.get(command)) == (0 if expected else 3, expected)
    assert "three" in name or found["value"] == [6.0]


UNKNOWN = [
    ("hvp {url} x0=[2,3] -t x0=[1,0]", 3, "only first derivatives"),
    ("jvp {model} x0=[2,3] -t x0=[1,0]", 3, "gives no Jacobian-vector products"),
    ("grad {dying} x0=[2,3] -g [1]", 3, "status 4"),
    ("grad cmd:cat x0=[2,3] --safe", 2, "--safe"),
    ("grad {url}", 2, "add to the command line: x0='randn(2)'"),
    ("grad x**2 --grad 'void g()' x=2", 2, "LIB.so"),
]


@pytest.mark.parametrize(("line", "code", "message"), UNKNOWN)
def test_derivatives_that_are_not_available_are_errors(line, code, message, url, tmp_path):
    targets = {"url": url, "model": model(tmp_path), "dying": model(tmp_path, "os._exit(4)")}
    got, found = run(*(word.format(**targets) for word in shlex.split(line)))
    assert (got, message in message_of(found)) == (code, True), found


def test_servers_and_processes_in_one_call(url, tmp_path):
    """Servers and processes (two right ones, a wrong one, and one that dies), checked by two workers."""
    with serve(ROSENBROCK) as server:
        targets = [f"{server.url}/forward", url, model(tmp_path), model(tmp_path, "os._exit(4)")]
        code, found, _ = gradcheck(*targets, "x0=[1.2,2]", "-j", "2")
    assert code == 1
    assert sorted(verdicts(found)) == ["error", "fail", "pass", "pass"]


@pytest.mark.parametrize(("command", "vector"), [("grad", ["-g", "[1]"]), ("jacobian", []), ("vjp", ["-g", "[2]"])])
def test_check_checks_what_a_server_returns(command, vector, url, tmp_path):
    for target, code, verdict in ((model(tmp_path), 0, "pass"), (url, 1, "fail")):
        got, found = run(command, target, "x0=[2,3]", *vector, "--check")
        assert (got, found["check"]["verdict"]) == (code, verdict)
