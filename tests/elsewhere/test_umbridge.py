"""Models served by the real umbridge package, checked over HTTP."""

import contextlib
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from tests.claims.adapters.run import gradcheck, message_of, verdicts
from tests.command import ROOT

pytestmark = pytest.mark.framework("umbridge")

SERVER = """
    import sys
    import umbridge
    from tests.claims.adapters.test_http import products, pull, push

    class Model(umbridge.Model):
        def __init__(self, name, factor):
            super().__init__(name)
            self.factor = factor

        def get_input_sizes(self, config):
            return [2, 2]

        def get_output_sizes(self, config):
            return [1, 2]

        def __call__(self, x, config):
            if config.get("cold"):
                raise ValueError("too cold")
            return products(x, config)

        def gradient(self, *of):
            return [self.factor * g for g in pull(*of)]

        def apply_jacobian(self, *of):
            return [self.factor * g for g in push(*of)]

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


@pytest.fixture(scope="module")
def url():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            limit = time.monotonic() + 60
            while time.monotonic() < limit and process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


POINT = ("x0=[1,2]", "x1=[3,-1]")


@pytest.mark.parametrize("model", ["reverse", "forward", "both", "wrong_reverse", "wrong_forward"])
@pytest.mark.parametrize("more", [(), ("--out", "y1"), ("--wrt", "x1", "--out", "y0")])
def test_right_models_pass_and_wrong_ones_fail_with_the_factor(url, model, more):
    code, found, _ = gradcheck(f"{url}/{model}", *POINT, *more)
    assert (code, verdicts(found)) == ((1, ["fail"]) if "wrong" in model else (0, ["pass"]))
    assert ("1.05" in " ".join(finding["text"] for finding in found["checks"][0]["diagnosis"])) == ("wrong" in model)


@pytest.mark.parametrize(
    ("model", "words", "code", "message"),
    [
        ("sideways", POINT, 3, "Model sideways not found"),
        ("both", (*POINT, "--config", '{"cold": true}'), 3, "status 500"),
        ("both", ("x0=[1,2,3]", "x1=[3,-1]"), 2, "the model takes 2"),
    ],
)
def test_errors_are_shown(url, model, words, code, message):
    got, found, _ = gradcheck(f"{url}/{model}", *words)
    assert (got, message in message_of(found)) == (code, True), found
