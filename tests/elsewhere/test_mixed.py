"""A folder whose files declare checks of every kind, run in two processes."""

import textwrap

import pytest

from tests.command import compile_c
from tests.program.elsewhere.run import gradcheck, model
from tests.program.elsewhere.servers import serve, umbridge
from tests.program.elsewhere.test_commands import KERNELS, value, wrong
from tests.program.elsewhere.test_http import ROSENBROCK

FILES = {
    "by_hand.py": """
        import numpy as np
        import gradcli

        @gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 2 * x)
        def hand(x):
            return np.sum(x * x)

        @gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 2.02 * x)
        def hand_wrong(x):
            return np.sum(x * x)
        """,
    "net.py": """
        import torch
        import gradcli

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**2

            @staticmethod
            def backward(ctx, g):
                return -2 * ctx.saved_tensors[0] * g

        @gradcli.check(at={"x": [1.0, 2.0]})
        def torch_wrong(x):
            return Square.apply(x).sum()
        """,
    **{
        f"{name}.py": f"""
        import {engine} as np
        import gradcli

        @gradcli.check(at={{"x": [1.0, 2.0]}})
        def {name}(x):
            return np.sin(x).sum()
        """
        for name, engine in {
            "own": "gradcli",
            "torch_right": "torch",
            "jax_right": "jax.numpy",
            "hips_right": "autograd.numpy",
        }.items()
    },
    "elsewhere.py": """
        import gradcli

        at, f = {"x0": [1.2, 2.0]}, "FOLDER/libk.so:double f(int n, const double *x)"
        for name, url in ("right", "RIGHT/forward"), ("wrong", "WRONG/forward"), ("none", "RIGHT/none"):
            gradcli.check(url, at=at, name=f"server {name}")
        gradcli.check("PROCESS", at=at, name="process")
        gradcli.check("cmd:sh -c 'kill -9 $$'", at=at, name="process killed")
        for name in ("f_grad", "f_sign", "f_abort"):
            grad = f"void {name}(int n, const double *x, double *g)"
            gradcli.check(f, at={"x": (3,)}, grad=grad, samples=2, name=name)
        """,
}
WRONG = ["f_sign", "hand_wrong", "server wrong", "torch_wrong"]
ENDED = ["f_abort", "process killed", "server none"]
RIGHT = ["f_grad", "hand", "hips_right", "jax_right", "own", "process", "server right", "torch_right"]


@pytest.mark.framework("torch")
@pytest.mark.framework("jax")
@pytest.mark.framework("autograd")
def test_a_folder_that_mixes_all_kinds(tmp_path):
    compile_c(KERNELS, tmp_path / "libk.so")
    with serve(ROSENBROCK) as right, serve(umbridge(value, wrong, ([2], [1]))) as bad:
        words = {"RIGHT": right.url, "WRONG": bad.url, "PROCESS": model(tmp_path), "FOLDER": str(tmp_path)}
        for name, text in FILES.items():
            for word, meaning in words.items():
                text = text.replace(word, meaning)
            (tmp_path / name).write_text(textwrap.dedent(text))
        code, found, errors = gradcheck(".", "-j", "2", "--timeout", "60", cwd=tmp_path)
    named = {
        verdict: sorted(check["name"] for check in found["checks"] if check["verdict"] == verdict)
        for verdict in ("pass", "fail", "error", "inconclusive")
    }
    assert (code, named) == (1, {"pass": RIGHT, "fail": WRONG, "error": ENDED, "inconclusive": []}), errors
