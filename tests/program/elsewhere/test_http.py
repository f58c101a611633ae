"""Models behind HTTP: UM-Bridge and Tesseract, right and wrong ones, and servers that fail."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from gradcli.program.elsewhere.base import ElsewhereError
from gradcli.program.elsewhere.tesseract import decode

from .run import gradcheck, verdicts
from .servers import serve, umbridge


def rosenbrock(x, config):
    a = config.get("a", 1)
    (x, y) = x[0]
    return [[(a - x) ** 2 + 100 * (y - x * x) ** 2]]


def rosenbrock_gradient(out, wrt, x, sens, config):
    a = config.get("a", 1)
    (x, y), (s,) = x[0], sens
    return [s * (-2 * (a - x) - 400 * x * (y - x * x)), s * 200 * (y - x * x)]


ROSENBROCK = umbridge(rosenbrock, rosenbrock_gradient, ([2], [1]))


@pytest.mark.parametrize("kept", [True, False])
def test_a_right_model_passes_on_one_kept_connection(kept):
    with serve(ROSENBROCK, kept) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]")
    (check,) = found["checks"]
    assert (code, check["verdict"], check["name"]) == (0, "pass", f"{server.url}/forward")
    assert check["inputs"]["x0"]["digits"] > 9
    # d/dy = 200 (y - x^2) = 112, d/dx = 0.4 - 480 (0.56) = -268.4
    worst = check["inputs"]["x0"]["worst"]
    assert worst["analytic"] == pytest.approx({0: -268.4, 1: 112.0}[worst["index"][0]], rel=1e-12)
    assert server.connections == 1 if kept else server.connections == len(server.requests)
    assert server.requests[:3] == ["/ModelInfo", "/InputSizes", "/OutputSizes"]


def test_the_config_reaches_every_call():
    with serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]", "--config", '{"a": 3}')
    assert code == 0
    # at a = 3: d/dx = -2 (3 - 1.2) - 268.8
    worst = found["checks"][0]["inputs"]["x0"]["worst"]
    assert worst["analytic"] == pytest.approx({0: -272.4, 1: 112.0}[worst["index"][0]], rel=1e-12)


def products(x, config):
    """Two outputs of two inputs: (x0 . x1), and x0 * x0 elementwise."""
    return [[float(np.dot(x[0], x[1]))], (np.array(x[0]) ** 2).tolist()]


def block(out, wrt, x):
    """The Jacobian of one output with respect to one input."""
    if out == 0:
        return np.array([x[1 - wrt]])
    return np.diag(2 * np.array(x[0])) if wrt == 0 else np.zeros((2, 2))


def pull(out, wrt, x, sens, config):
    return (np.array(sens) @ block(out, wrt, x)).tolist()


def push(out, wrt, x, vec, config):
    return (block(out, wrt, x) @ np.array(vec)).tolist()


@pytest.mark.parametrize("functions", [(pull, None), (None, push), (pull, push)])
@pytest.mark.parametrize("more", [(), ("--out", "y1"), ("--wrt", "x1")])
def test_several_inputs_and_outputs(functions, more):
    with serve(umbridge(products, functions[0], ([2, 2], [1, 2]), functions[1])) as server:
        code, found, errors = gradcheck(f"{server.url}/forward", "x0=[1,2]", "x1=[3,-1]", *more)
    assert (code, verdicts(found)) == (0, ["pass"]), (found, errors)
    assert list(found["checks"][0]["inputs"]) == (["x1"] if "--wrt" in more else ["x0", "x1"])


@pytest.mark.parametrize("functions", [(lambda *a: (-np.array(pull(*a))).tolist(), None), (None, pull)])
def test_wrong_ones_fail(functions):
    """A wrong sign, and a transposed product where the Jacobian is not symmetric."""

    def skew(x, config):
        return [[x[0][0] * x[0][1], x[0][1] ** 2]]

    def transposed(out, wrt, x, vector, config):
        jacobian = np.array([[x[0][1], x[0][0]], [0, 2 * x[0][1]]])
        return (jacobian.T @ np.array(vector)).tolist()

    model = umbridge(products, functions[0], ([2, 2], [1, 2])) if functions[0] else None
    model = model or umbridge(skew, None, ([2], [2]), transposed)
    given = ["x0=[1,2]", "x1=[3,-1]"] if functions[0] else ["x0=[1,2]"]
    with serve(model) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", *given)
    assert (code, verdicts(found)) == (1, ["fail"])
    kinds = [finding["kind"] for finding in found["checks"][0]["diagnosis"]]
    assert ("sign" if functions[0] else "transposed") in kinds


def noisy(x, config):
    """A smooth function of many inputs whose values are off by about 1e-9 relative, as those of a solver are."""
    x = np.array(x[0])
    exact = float(np.sum(np.linspace(0.5, 2, len(x)) * np.sin(x)) + 0.5 * np.sum(x[1:] * x[:-1]))
    digest = hashlib.sha256(x.tobytes()).digest()
    return [[exact * (1 + 1e-9 * (int.from_bytes(digest[:8], "little") / 2**63 - 1))]]


def noisy_gradient(factors):
    def gradient(out, wrt, x, sens, config):
        x = np.array(x[0])
        beside = np.concatenate([x[1:], [0]]) + np.concatenate([[0], x[:-1]])
        return (sens[0] * factors * (np.linspace(0.5, 2, len(x)) * np.cos(x) + 0.5 * beside)).tolist()

    return gradient


def test_a_noisy_model_with_a_thousand_inputs_passes(tmp_path):
    np.save(tmp_path / "x.npy", np.linspace(0.1, 1.2, 1000))
    with serve(umbridge(noisy, noisy_gradient(np.ones(1000)), ([1000], [1]))) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", f"x0=@{tmp_path}/x.npy")
    (check,) = found["checks"]
    assert (code, check["verdict"]) == (0, "pass")
    assert 1e-9 < check["inputs"]["x0"]["resolution"] < 0.02
    assert server.connections == 1
    assert server.requests.count("/Evaluate") < 100


def test_among_a_thousand_inputs_the_wrong_one_is_named(tmp_path):
    np.save(tmp_path / "x.npy", np.linspace(0.1, 1.2, 1000))
    off = np.ones(1000)
    off[637] = 1.05
    with serve(umbridge(noisy, noisy_gradient(off), ([1000], [1]))) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", f"x0=@{tmp_path}/x.npy")
        assert server.requests.count("/Evaluate") < 250
        few = gradcheck(f"{server.url}/forward", f"x0=@{tmp_path}/x.npy", "--calls", "4")
    (check,) = found["checks"]
    assert (code, check["verdict"], check["inputs"]["x0"]["worst"]["index"]) == (1, "fail", [637])
    assert "1.05 times" in check["diagnosis"][0]["text"]
    assert (few[0], verdicts(few[1])) == (4, ["inconclusive"])
    assert few[1]["checks"][0]["evidence"]["points"] <= 4 < few[1]["checks"][0]["evidence"]["calls_needed"]


def test_a_noisy_model_with_one_gradient_off_fails():
    point = np.linspace(0.1, 1.2, 12).tolist()
    off = np.ones(12)
    off[7] = 1.05
    with serve(umbridge(noisy, noisy_gradient(off), ([12], [1]))) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", f"x0={point}")
    (check,) = found["checks"]
    assert (code, check["verdict"]) == (1, "fail")
    worst = check["inputs"]["x0"]["worst"]
    assert worst["index"] == [7]
    assert worst["analytic"] / worst["numeric"] == pytest.approx(1.05, rel=1e-4)
    assert server.connections == 1


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "needs a value for 'x0'"),
        (("x0=[1,2,3]",), "has 3 elements; the model takes 2"),
        (("x0=[1,2]", "x1=3"), "no input 'x1'"),
        (("x0=[1,2]", "--wrt", "x1"), "no 'x1'"),
        (("x0=[1,2]", "--out", "y1"), "no 'y1'"),
        (("x0=[[1,2]]",), "must be a vector"),
        (("x0=[1,2]", "--config", "[1]"), "no JSON object"),
        (("x0=[1,2]", "--config", "{"), "no JSON"),
        (("x0=[1,2]", "--grad", "g"), "--grad"),
    ],
)
def test_what_the_command_line_lacks(words, message):
    with serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", *words)
    assert code == 2
    assert message in found["error"]["message"] + (found["error"]["hint"] or "")


def test_random_points():
    with serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "--shape", "x0=2", "--samples", "3")
    assert (code, verdicts(found)) == (0, ["pass"])
    assert "3 samples" in found["checks"][0]["notes"]


def answers(status, document):
    """What answers every Evaluate so, and all else as a right model does."""
    return lambda path, body: (status, document) if path == "/Evaluate" else ROSENBROCK(path, body)


ERRORS = [
    (answers(400, {"error": {"type": "InvalidInput", "message": "too hot"}}), "InvalidInput: too hot"),
    (answers(500, "the pump broke"), "status 500: the pump broke"),
    (answers(302, ""), "that is not followed"),
    (answers(200, "<html>"), "is no JSON: <html>"),
    (answers(200, {"outputs": [[1]]}), "no list 'output'"),
    (answers(200, {"output": [["a"]]}), "no vector of numbers"),
    (answers(200, {"output": [[1, 2]]}), "OutputSizes says [1]"),
    (answers(200, {"output": [1]}), "no vector of numbers"),
    (answers(404, "not here"), "status 404"),
    (answers(200, "[" * 100_000), "is no JSON: [[["),
    (answers(200, f'{{"output": [[{10**400}]]}}'), "no vector of numbers"),
    (answers(200, f'{{"output": [[{"9" * 5000}]]}}'), "is no JSON"),
]


@pytest.mark.parametrize("respond, message", ERRORS, ids=[message for _, message in ERRORS])
def test_errors_of_the_server_are_shown(respond, message):
    with serve(respond) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]")
    assert (code, verdicts(found)) == (3, ["error"])
    assert message in found["checks"][0]["message"]


def test_another_model_is_not_found():
    with serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{server.url}/backward", "x0=[1.2,2]")
    assert code == 3
    assert "ModelNotFound: Model backward not found!" in found["checks"][0]["message"]


@pytest.mark.parametrize("wrong", [False, True])
def test_more_points_are_searched(wrong):
    def gradient(out, wrt, x, sens, config):
        right = rosenbrock_gradient(out, wrt, x, sens, config)
        return [-g for g in right] if wrong and x[0][0] < 0 else right

    with serve(umbridge(rosenbrock, gradient, ([2], [1]))) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]", "--search", "50")
    assert (code, verdicts(found)) == ((1, ["fail"]) if wrong else (0, ["pass"]))


def test_a_model_without_derivatives():
    with serve(umbridge(rosenbrock, None, ([2], [1]))) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]")
    assert code == 3
    assert "supports neither Gradient nor ApplyJacobian" in found["checks"][0]["message"]


def test_nobody_listens():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        code, found, _ = gradcheck(f"http://127.0.0.1:{other.getsockname()[1]}/forward", "x0=[1.2,2]")
    assert (code, verdicts(found)) == (3, ["error"])
    assert "refused" in found["checks"][0]["message"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_https(tmp_path, monkeypatch):
    """A server whose certificate is trusted passes; one whose certificate nobody knows is no answer."""
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *words.split(), "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with serve(ROSENBROCK, tls=context) as server:
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]")
        assert code == 3
        assert "CERTIFICATE_VERIFY_FAILED" in found["checks"][0]["message"].upper().replace(" ", "_")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]")
        assert (code, verdicts(found)) == (0, ["pass"])


def test_https_is_spoken():
    """A server without TLS is met with a handshake, which it does not understand."""
    with serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{server.url.replace('http', 'https')}/forward", "x0=[1.2,2]", "--timeout", "5")
    assert code == 3
    assert server.requests == []
    assert "https://" in found["checks"][0]["message"]


def test_a_hang_ends_in_time():
    def hang(path, body):
        if path == "/Gradient":
            time.sleep(30)
        return ROSENBROCK(path, body)

    with serve(hang) as server:
        start = time.monotonic()
        code, found, _ = gradcheck(f"{server.url}/forward", "x0=[1.2,2]", "--timeout", "1")
    assert (code, verdicts(found)) == (3, ["error"])
    assert "no answer within 1 seconds" in found["checks"][0]["message"]
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("head, drop", [("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", " "), ("", "H")])
def test_an_answer_that_trickles_ends_in_time(head, drop):
    listener = socket.create_server(("127.0.0.1", 0))
    with subprocess.Popen(
        [sys.executable, "-m", "gradcli", "gradcheck", f"http://127.0.0.1:{listener.getsockname()[1]}/m", "x0=1"]
        + ["--timeout", "1"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        connection, _ = listener.accept()
        with connection, listener:
            connection.recv(1 << 16)
            connection.sendall(head.encode())
            start = time.monotonic()
            while process.poll() is None and time.monotonic() - start < 10:
                try:
                    connection.sendall(drop.encode())
                except OSError:
                    break
                time.sleep(0.1)
            assert "no answer within 1 seconds" in process.communicate(timeout=10)[0]
    assert process.returncode == 3


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {root!r})
    from tests.program.elsewhere.servers import serve
    from tests.program.elsewhere.test_http import ROSENBROCK
    count = 0

    def respond(path, body):
        global count
        count += path == "/Evaluate"
        if count == 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return ROSENBROCK(path, body)

    with serve(respond) as server:
        print(server.url, flush=True)
        sys.stdin.read()
"""


def test_a_server_that_is_killed_is_an_error_and_others_are_unharmed():
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    code = textwrap.dedent(KILLED).format(root=root)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as killed:
        url = killed.stdout.readline().strip()
        with serve(ROSENBROCK) as server:
            start = time.monotonic()
            code, found, _ = gradcheck(f"{url}/forward", f"{server.url}/forward", "x0=[1.2,2]", "-j", "2")
        assert time.monotonic() - start < 30
    assert killed.returncode == -signal.SIGKILL
    assert (code, verdicts(found)) == (3, ["error", "pass"])
    assert url in found["checks"][0]["message"]


def array(x):
    x = np.asarray(x)
    data = {"buffer": x.reshape(-1).tolist(), "encoding": "json"}
    return {"object_type": "array", "shape": list(x.shape), "dtype": str(x.dtype), "data": data}


def packed(x):
    x = np.asarray(x)
    data = {"buffer": base64.b64encode(x.tobytes()).decode(), "encoding": "base64"}
    return {"object_type": "array", "shape": list(x.shape), "dtype": str(x.dtype), "data": data}


def unpacked(document):
    if not isinstance(document, dict):
        return np.array(document)
    return np.array(document["data"]["buffer"], document["dtype"]).reshape(document["shape"])


def tesseract(dtype="float64", give=array, factor=1.0, products=("vector", "jacobian")):
    """A Tesseract: loss = sum(sin(w) * scale) with w a matrix inside of `model`, and squares = w * w."""
    outline = {"shape": [None, None], "dtype": dtype}
    schemas = {
        "Apply_InputSchema": {
            "properties": {"model": {}, "scale": {}, "steps": {}},
            "required": ["model", "scale"],
        },
        "ApplyInputSchema": {"differentiable_arrays": {"model.w": outline, "scale": {"shape": [], "dtype": dtype}}},
        "ApplyOutputSchema": {
            "differentiable_arrays": {"loss": {"shape": [], "dtype": dtype}, "squares": outline},
        },
    }
    endpoints = {"vector": "/vector_jacobian_product", "jacobian": "/jacobian_vector_product"}
    paths = {"/apply": {}, **{endpoints[name]: {} for name in products}}

    def respond(path, body):
        if path == "/openapi.json":
            return 200, {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}
        w, scale = unpacked(body["inputs"]["model"]["w"]), unpacked(body["inputs"]["scale"])
        assert w.dtype == scale.dtype == dtype
        assert isinstance(body["inputs"].get("steps", 1), int | float)
        parts = {"model.w": np.cos(w) * scale, "scale": np.sum(np.sin(w))}
        if path == "/apply":
            return 200, {"loss": give(np.sum(np.sin(w) * scale).astype(dtype)), "squares": give(w * w), "note": "ok"}
        found = {}
        if path == endpoints["vector"]:
            for name in body["vjp_inputs"]:
                g = np.zeros_like(parts[name])
                if "loss" in body["vjp_outputs"]:
                    g = g + factor * unpacked(body["cotangent_vector"]["loss"]) * parts[name]
                if "squares" in body["vjp_outputs"] and name == "model.w":
                    g = g + 2 * w * unpacked(body["cotangent_vector"]["squares"])
                found[name] = give(g.astype(dtype))
            return 200, found
        tangents = {name: unpacked(x) for name, x in body["tangent_vector"].items()}
        assert body["jvp_inputs"] == list(tangents)
        if "loss" in body["jvp_outputs"]:
            found["loss"] = give(factor * sum(np.sum(parts[n] * t) for n, t in tangents.items()).astype(dtype))
        if "squares" in body["jvp_outputs"]:
            found["squares"] = give((2 * w * tangents.get("model.w", 0 * w)).astype(dtype))
        return 200, found

    return respond


POINT = ("model.w=[[0.3,0.7,1],[1.5,2,-1]]", "scale=1.5")


@pytest.mark.parametrize("give", [array, packed])
@pytest.mark.parametrize("products", [("vector",), ("jacobian",), ("vector", "jacobian")])
@pytest.mark.parametrize("more", [(), ("--out", "loss"), ("--out", "squares", "--wrt", "model.w")])
def test_a_tesseract(give, products, more):
    with serve(tesseract(give=give, products=products)) as server:
        code, found, errors = gradcheck(server.url, *POINT, "steps=3", *more)
    assert (code, verdicts(found)) == (0, ["pass"]), (found, errors)
    assert list(found["checks"][0]["inputs"]) == (["model.w"] if "--wrt" in more else ["model.w", "scale"])
    assert server.connections == 1


def test_a_tesseract_in_float32():
    with serve(tesseract("float32")) as server:
        code, found, _ = gradcheck(server.url, *POINT, "--out", "loss")
    assert (code, verdicts(found)) == (0, ["pass"])
    assert found["checks"][0]["inputs"]["scale"]["digits"] < 9


@pytest.mark.parametrize("products", [("vector",), ("jacobian",)])
def test_a_wrong_tesseract(products):
    with serve(tesseract(factor=1.01, products=products)) as server:
        code, found, _ = gradcheck(server.url, *POINT, "--out", "loss")
    assert (code, verdicts(found)) == (1, ["fail"])
    worst = found["checks"][0]["inputs"]["scale"]["worst"]
    # d loss / d scale is the sum of sin(w)
    exact = sum(map(math.sin, (0.3, 0.7, 1, 1.5, 2, -1)))
    assert worst["analytic"] == pytest.approx(1.01 * exact, rel=1e-12)
    assert worst["numeric"] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "words, message",
    [
        (("scale=2",), "needs a value for 'model'"),
        ((*POINT, "scales=2"), "no input 'scales'"),
        ((*POINT, "steps=2", "--wrt", "steps"), "does not differentiate 'steps'"),
        ((*POINT, "--out", "note"), "no 'note'"),
        ((*POINT, "--config", "{}"), "--config"),
    ],
)
def test_what_a_tesseract_is_not_given(words, message):
    with serve(tesseract()) as server:
        code, found, _ = gradcheck(server.url, *words)
    text = found["error"]["message"] if "error" in found else found["checks"][0]["message"]
    assert message in text
    assert code == 2 or "--out" in words


SPOILT = [
    ({"paths": {"/predict": {}}}, "is no Tesseract"),
    ({"paths": {"/apply": {}, "/vector_jacobian_product": {}}, "components": []}, "is no object"),
    ({"paths": {"/apply": {}, "/vector_jacobian_product": {}}, "components": {"schemas": 1}}, "is no object"),
]


@pytest.mark.parametrize("document, message", SPOILT)
def test_what_is_no_tesseract(document, message):
    with serve(lambda path, body: (200, document if path == "/openapi.json" else [1])) as server:
        code, found, _ = gradcheck(server.url, "x=1")
    assert code == 3
    assert message in found["checks"][0]["message"]


ARRAYS = [
    {"shape": [], "dtype": "float64", "data": {"encoding": "json", "buffer": 10**400}},
    {"shape": [], "dtype": "object", "data": {"encoding": "json", "buffer": {"a": 1}}},
    {"shape": [], "dtype": "M8[s]", "data": {"encoding": "json", "buffer": 1}},
]


@pytest.mark.parametrize("array", ARRAYS, ids=["huge", "object", "date"])
def test_what_is_no_array(array):
    with pytest.raises(ElsewhereError, match="y is no array"):
        decode(array, "y")
