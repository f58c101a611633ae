"""Tesseracts that the real runtime serves, judged through HTTP."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request

import pytest

from tests.program.elsewhere.run import gradcheck, message_of, run, verdicts

pytestmark = pytest.mark.framework("tesseract_core")

MODEL = """
    import numpy as np
    from pydantic import BaseModel
    from tesseract_core.runtime import Array, Differentiable, Float32, Float64

    Vector = Differentiable[Array[(None,), Float64]]

    class Material(BaseModel):
        e: Differentiable[Float64]
        label: str = "steel"

    class InputSchema(BaseModel):
        m: Material
        layers: list[Vector]
        loads: dict[str, Vector]
        f: Differentiable[Array[(2, 2), Float32]]
        n: int = 2

    class Deep(BaseModel):
        z: Vector

    class OutputSchema(BaseModel):
        o: Deep
        s: Differentiable[Float64]

    def parts(i):
        f = i.f.astype(float).sum(0)
        z = i.m.e * np.sin(i.layers[0]) * i.layers[1] + i.loads["top"] ** i.n + f**2
        return z, i.m.e * i.loads["top"].sum(), f

    def apply(inputs: InputSchema) -> OutputSchema:
        z, s, _ = parts(inputs)
        return OutputSchema(o=Deep(z=z), s=s)

    def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
        i, (_, _, f) = inputs, parts(inputs)
        g = np.asarray(cotangent_vector.get("o.z", np.zeros(2)))
        h = float(cotangent_vector.get("s", 0.0))
        (a, b), top, e = i.layers, i.loads["top"], i.m.e
        found = {
            "m.e": (g * np.sin(a) * b).sum() + h * top.sum(),
            "layers.[0]": g * e * np.cos(a) * b,
            "layers.[1]": FACTOR * g * e * np.sin(a),
            "loads.{top}": g * i.n * top ** (i.n - 1) + h * e,
            "f": (np.ones((2, 1)) * (2 * g * f)).astype("float32"),
        }
        return {name: found[name] for name in vjp_inputs}
"""
POINT = ["m.e=2", "layers[0]=[1,2]", "layers[1]=[3,4]", "loads.top=[1.5,2]", "f=[[1,2],[3,4]]"]


@contextlib.contextmanager
def served(folder, factor):
    path = folder / "tesseract_api.py"
    path.write_text(f"FACTOR = {factor}\n{textwrap.dedent(MODEL)}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [os.path.join(os.path.dirname(sys.executable), "tesseract-runtime"), "serve", "--port", str(port)]
    with open(folder / "log", "w") as log:
        given = {**os.environ, "TESSERACT_API_PATH": str(path)}
        server = subprocess.Popen(command, env=given, cwd=folder, stdout=log, stderr=log)  # it leaves folders behind
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def test_a_tesseract_with_lists_and_objects(tmp_path):
    with served(tmp_path, 1.0) as url:
        code, found, errors = gradcheck(url, *POINT)
        assert (code, verdicts(found)) == (0, ["pass"]), (found, errors)
        (check,) = found["checks"]
        assert list(check["inputs"]) == ["m.e", "layers[0]", "layers[1]", "loads.top", "f"]
        assert gradcheck(url, *POINT, "n=3", "--out", "o.z", "--wrt", "loads.top")[0] == 0
        assert gradcheck(url, *POINT, "--out", "o.y")[0] == 2
        code, found, _ = gradcheck(url, *POINT[:1])
        assert (code, "'layers'" in message_of(found)) == (2, True)
        code, found = run("grad", url, *POINT, "--out", "s")
        zeros = {"layers[0]": [0.0, 0.0], "layers[1]": [0.0, 0.0], "f": [[0.0, 0.0], [0.0, 0.0]]}
        assert (code, found["grad"]) == (0, {**zeros, "m.e": 3.5, "loads.top": [2.0, 2.0]})


def test_a_wrong_element_of_a_list_is_named(tmp_path):
    with served(tmp_path, 1.05) as url:
        code, found, _ = gradcheck(url, *POINT)
    assert code == 1
    (check,) = found["checks"]
    assert [name for name, item in check["inputs"].items() if item["verdict"] == "fail"] == ["layers[1]"]
    assert "1.05" in json.dumps(check["diagnosis"])
