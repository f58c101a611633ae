"""Models that the real umbridge package serves, judged through HTTP."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from tests.program.elsewhere.run import gradcheck, verdicts

pytestmark = pytest.mark.framework("umbridge")

SERVER = """
    import sys
    import umbridge

    class Model(umbridge.Model):
        def __init__(self, name, factor):
            super().__init__(name)
            self.factor = factor

        def get_input_sizes(self, config):
            return [2, 1]

        def get_output_sizes(self, config):
            return [1, 2]

        def __call__(self, parameters, config):
            (x, y), (z,) = parameters
            if config.get("cold"):
                raise ValueError("too cold")
            return [[x**2 * y * z], [x * z, y**3]]

        def block(self, out, wrt, parameters):
            (x, y), (z,) = parameters
            return {
                (0, 0): [[2 * x * y * z, x**2 * z]],
                (0, 1): [[x**2 * y]],
                (1, 0): [[z, 0.0], [0.0, 3 * y**2]],
                (1, 1): [[x], [0.0]],
            }[out, wrt]

        def gradient(self, out, wrt, parameters, sens, config):
            rows = self.block(out, wrt, parameters)
            return [self.factor * sum(s * row[i] for s, row in zip(sens, rows)) for i in range(len(rows[0]))]

        def apply_jacobian(self, out, wrt, parameters, vec, config):
            return [self.factor * sum(a * v for a, v in zip(row, vec)) for row in self.block(out, wrt, parameters)]

        def supports_evaluate(self):
            return True

        def supports_gradient(self):
            return "forward" not in self.name

        def supports_apply_jacobian(self):
            return "reverse" not in self.name

    models = [Model("reverse", 1.0), Model("forward", 1.0), Model("both", 1.0)]
    models += [Model("wrong_reverse", 1.05), Model("wrong_forward", 1.05)]
    umbridge.serve_models(models, int(sys.argv[1]))
"""


@contextlib.contextmanager
def served():
    """Yield address and process of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            limit = time.monotonic() + 60
            while time.monotonic() < limit and process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def url():
    with served() as (address, _):
        yield address


POINT = ("x0=[1.5,-0.5]", "x1=2")


@pytest.mark.parametrize("model", ["reverse", "forward", "both"])
@pytest.mark.parametrize("more", [(), ("--out", "y1"), ("--wrt", "x1", "--out", "y0")])
def test_right_models_pass(url, model, more):
    code, found, _ = gradcheck(f"{url}/{model}", *POINT, *more)
    assert (code, verdicts(found)) == (0, ["pass"])


@pytest.mark.parametrize("model", ["wrong_reverse", "wrong_forward"])
def test_wrong_models_fail_with_the_factor(url, model):
    code, found, _ = gradcheck(f"{url}/{model}", *POINT)
    assert (code, verdicts(found)) == (1, ["fail"])
    assert "1.05" in " ".join(finding["text"] for finding in found["checks"][0]["diagnosis"])


def test_errors_are_shown(url):
    code, found, _ = gradcheck(f"{url}/sideways", *POINT)
    assert code == 3
    assert "Model sideways not found" in found["checks"][0]["message"]
    code, found, _ = gradcheck(f"{url}/both", *POINT, "--config", '{"cold": true}')
    assert code == 3
    assert "status 500" in found["checks"][0]["message"]
    code, found, _ = gradcheck(f"{url}/both", "x0=[1,2,3]", "x1=2")
    assert code == 2
    assert "the model takes 2" in found["error"]["message"]


def test_a_stopped_server_ends_in_time_and_others_are_unharmed(url):
    with served() as (address, process):
        process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        code, found, _ = gradcheck(f"{address}/both", f"{url}/both", *POINT, "-j", "2", "--timeout", "2")
        assert time.monotonic() - start < 30
        assert (code, verdicts(found)) == (3, ["error", "pass"])
        os.kill(process.pid, signal.SIGKILL)
        code, found, _ = gradcheck(f"{address}/both", *POINT)
        assert (code, verdicts(found)) == (3, ["error"])
