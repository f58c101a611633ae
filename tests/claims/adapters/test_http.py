"""UM-Bridge and Tesseract models behind HTTP: right ones, wrong ones, and servers that fail."""

import base64
import contextlib
import functools
import math
import shutil
import socket
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest

from .run import gradcheck, judge, message_of, verdicts
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


# d/dy = 200 (y - x^2) = 112, d/dx = 2 (1.2 - a) - 480 (0.56), which is -268.4 for a = 1
@pytest.mark.parametrize(
    ("kept", "words", "slope"),
    [(True, (), -268.4), (False, (), -268.4), (True, ("--config", '{"a": 3}'), -272.4)],
    ids=["kept", "closed", "config"],
)
def test_a_right_model_passes_with_kept_or_closed_connections(kept, words, slope):
    ended, found, server = judge(ROSENBROCK, "x0=[1.2,2]", *words, kept=kept)
    (check,) = found["checks"]
    assert (ended, check["name"]) == ([0, "pass"], f"{server.url}/forward")
    assert check["inputs"]["x0"]["digits"] > 9
    worst = check["inputs"]["x0"]["worst"]
    assert worst["claimed"] == pytest.approx([slope, 112.0][worst["index"][0]], rel=1e-12)
    assert server.connections == 1 if kept else server.connections == len(server.requests)
    assert server.requests[:3] == ["/ModelInfo", "/InputSizes", "/OutputSizes"]


def products(x, config):
    """Two outputs of two inputs: (x0 . x1), and x0 * x0 elementwise."""
    return [[float(np.dot(x[0], x[1]))], (np.array(x[0]) ** 2).tolist()]


def block(out, wrt, x):
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
    model = umbridge(products, functions[0], ([2, 2], [1, 2]), functions[1])
    ended, found, _ = judge(model, "x0=[1,2]", "x1=[3,-1]", *more)
    assert ended == [0, "pass"], found
    assert list(found["checks"][0]["inputs"]) == (["x1"] if "--wrt" in more else ["x0", "x1"])


def skew(x, config):
    return [[x[0][0] * x[0][1], x[0][1] ** 2]]


def transposed(out, wrt, x, vector, config):
    jacobian = np.array([[x[0][1], x[0][0]], [0, 2 * x[0][1]]])
    return (jacobian.T @ np.array(vector)).tolist()


WRONG = {
    "sign": (umbridge(products, lambda *a: (-np.array(pull(*a))).tolist(), ([2, 2], [1, 2])), "x0=[1,2]", "x1=[3,-1]"),
    "transposed": (umbridge(skew, None, ([2], [2]), transposed), "x0=[1,2]"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_models_fail(kind):
    ended, found, _ = judge(*WRONG[kind])
    assert ended == [1, "fail"]
    assert kind in [finding["kind"] for finding in found["checks"][0]["diagnosis"]]


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "needs a value for 'x0'"),
        (("x0=[1,2,3]",), "has 3 elements; the model takes 2"),
        (("x0=[1,2]", "x1=3"), "no input 'x1'"),
        (("x0=[1,2]", "--wrt", "x1"), "no 'x1'"),
        (("x0=[1,2]", "--out", "y1"), "no 'y1'"),
        (("x0=[[1,2]]",), "must be a vector"),
        (("x0=[1,2]", "--config", "[1]"), "--config is not a JSON object"),
        (("x0=[1,2]", "--config", "{"), "--config is not valid JSON"),
        (("x0=[1,2]", "--grad", "g"), "--grad"),
    ],
)
def test_mistakes_on_the_command_line_are_errors(words, message):
    ended, found, _ = judge(ROSENBROCK, *words)
    assert ended == [2]
    assert message in message_of(found)


def test_a_call_budget_counts_evaluations_by_the_server():
    ended, found, server = judge(ROSENBROCK, "x0=[1.2,2]", "--calls", "4")
    evidence = found["checks"][0]["evidence"]
    assert ended == [4, "inconclusive"]
    assert evidence["points"] <= server.requests.count("/Evaluate") <= 4 < evidence["calls_needed"]


def test_several_random_points():
    ended, found, _ = judge(ROSENBROCK, "--shape", "x0=2", "--samples", "3")
    assert ended == [0, "pass"]
    assert "checked at 3 random points" in found["checks"][0]["notes"]


def answers(status, document):
    """Answer every Evaluate with this document, and anything else as a right model does."""
    return lambda path, body: (status, document) if path == "/Evaluate" else ROSENBROCK(path, body)


ERRORS = [
    (answers(400, {"error": {"type": "InvalidInput", "message": "too hot"}}), "InvalidInput: too hot"),
    (answers(500, "the pump broke"), "status 500: the pump broke"),
    (answers(302, ""), "does not follow redirects"),
    (answers(200, "<html>"), "is not JSON: <html>"),
    (answers(200, {"outputs": [[1]]}), "no list 'output'"),
    (answers(200, {"output": [["a"]]}), "is not a vector of numbers"),
    (answers(200, {"output": [[1, 2]]}), "OutputSizes says [1]"),
    (answers(200, {"output": [1]}), "is not a vector of numbers"),
    (answers(404, "not here"), "status 404"),
    (answers(200, "[" * 100_000), "is not JSON: [[["),
    (answers(200, f'{{"output": [[{10**400}]]}}'), "is not a vector of numbers"),
    (answers(200, f'{{"output": [[{"9" * 5000}]]}}'), "is not JSON"),
    (umbridge(rosenbrock, None, ([2], [1])), "supports neither Gradient nor ApplyJacobian"),
    (umbridge(rosenbrock, None, ([2], [1]), name="other"), "ModelNotFound: Model forward not found!"),
]


@pytest.mark.parametrize("respond, message", ERRORS, ids=[message for _, message in ERRORS])
def test_errors_of_the_server_are_shown(respond, message):
    ended, found, _ = judge(respond, "x0=[1.2,2]")
    assert ended == [3, "error"]
    assert message in message_of(found)


@pytest.mark.parametrize("wrong", [False, True])
def test_more_points_are_searched(wrong):
    def gradient(out, wrt, x, sens, config):
        right = rosenbrock_gradient(out, wrt, x, sens, config)
        return [-g for g in right] if wrong and x[0][0] < 0 else right

    ended, _, _ = judge(umbridge(rosenbrock, gradient, ([2], [1])), "x0=[1.2,2]", "--search", "50")
    assert ended == ([1, "fail"] if wrong else [0, "pass"])


def test_a_refused_connection_is_an_error():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        code, found, _ = gradcheck(f"http://127.0.0.1:{other.getsockname()[1]}/forward", "x0=[1.2,2]")
    assert (code, verdicts(found)) == (3, ["error"])
    assert "refused" in message_of(found)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_https(tmp_path, monkeypatch):
    """A server with a trusted certificate passes; an unknown certificate is an error."""
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *words.split(), "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    ended, found, _ = judge(ROSENBROCK, "x0=[1.2,2]", tls=context)
    assert ended == [3, "error"]
    assert "CERTIFICATE_VERIFY_FAILED" in message_of(found).upper().replace(" ", "_")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    assert judge(ROSENBROCK, "x0=[1.2,2]", tls=context)[0] == [0, "pass"]


def test_a_server_that_hangs_times_out():
    def hang(path, body):
        if path == "/Gradient":
            time.sleep(30)
        return ROSENBROCK(path, body)

    start = time.monotonic()
    ended, found, _ = judge(hang, "x0=[1.2,2]", "--timeout", "1")
    assert time.monotonic() - start < 15
    assert ended == [3, "error"]
    assert "no answer within 1 seconds" in message_of(found)


@pytest.mark.parametrize("head, drop", [("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", " "), ("", "H")])
def test_an_answer_that_trickles_in_times_out(head, drop):
    def trickle():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(head.encode())
            while True:
                connection.sendall(drop.encode())
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=trickle, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/m"
        code, found, _ = gradcheck(url, "x0=1", "--timeout", "1")
    assert code == 3
    assert "no answer within 1 seconds" in message_of(found)


def test_a_server_that_stops_answering_is_an_error_and_does_not_affect_others():
    count = 0

    def respond(path, body):
        nonlocal count
        count += path == "/Evaluate"
        if count >= 10:
            raise ConnectionError("closed")
        return ROSENBROCK(path, body)

    with serve(respond) as ending, serve(ROSENBROCK) as server:
        code, found, _ = gradcheck(f"{ending.url}/forward", f"{server.url}/forward", "x0=[1.2,2]", "-j", "2")
    assert (code, verdicts(found)) == (3, ["error", "pass"])
    assert ending.url in message_of(found)


def array(x, encoding="json"):
    x = np.asarray(x)
    buffer = x.reshape(-1).tolist() if encoding == "json" else base64.b64encode(x.tobytes()).decode()
    data = {"buffer": buffer, "encoding": encoding}
    return {"object_type": "array", "shape": list(x.shape), "dtype": str(x.dtype), "data": data}


def unpacked(document):
    if not isinstance(document, dict):
        return np.array(document)
    return np.array(document["data"]["buffer"], document["dtype"]).reshape(document["shape"])


def tesseract(dtype="float64", encoding="json", factor=1.0, products=("vector", "jacobian")):
    """A Tesseract: loss = sum(sin(w) * scale), where w is a matrix inside `model`, and squares = w * w."""
    give = functools.partial(array, encoding=encoding)
    outline = {"shape": [None, None], "dtype": dtype}
    schemas = {
        "Apply_InputSchema": {"properties": {"model": {}, "scale": {}, "steps": {}}, "required": ["model", "scale"]},
        "ApplyInputSchema": {"differentiable_arrays": {"model.w": outline, "scale": {"shape": [], "dtype": dtype}}},
        "ApplyOutputSchema": {"differentiable_arrays": {"loss": {"shape": [], "dtype": dtype}, "squares": outline}},
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


@pytest.mark.parametrize("encoding", ["json", "base64"])
@pytest.mark.parametrize("products", [("vector",), ("jacobian",), ("vector", "jacobian")])
@pytest.mark.parametrize("more", [(), ("--out", "loss"), ("--out", "squares", "--wrt", "model.w")])
def test_a_right_tesseract_passes(encoding, products, more):
    ended, found, server = judge(tesseract("float64", encoding, 1.0, products), *POINT, "steps=3", *more, path="")
    assert ended == [0, "pass"], found
    assert list(found["checks"][0]["inputs"]) == (["model.w"] if "--wrt" in more else ["model.w", "scale"])
    assert server.connections == 1


def test_a_tesseract_in_float32():
    ended, found, _ = judge(tesseract("float32"), *POINT, "--out", "loss", path="")
    assert ended == [0, "pass"]
    assert found["checks"][0]["inputs"]["scale"]["digits"] < 9


@pytest.mark.parametrize("products", [("vector",), ("jacobian",)])
def test_a_wrong_tesseract_fails(products):
    ended, found, _ = judge(tesseract(factor=1.01, products=products), *POINT, "--out", "loss", path="")
    assert ended == [1, "fail"]
    worst = found["checks"][0]["inputs"]["scale"]["worst"]
    # d loss / d scale is the sum of sin(w)
    exact = sum(map(math.sin, (0.3, 0.7, 1, 1.5, 2, -1)))
    assert worst["claimed"] == pytest.approx(1.01 * exact, rel=1e-12)
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
def test_mistakes_in_the_inputs_of_a_tesseract_are_errors(words, message):
    ended, found, _ = judge(tesseract(), *words, path="")
    assert message in message_of(found)
    assert ended == [2] or "--out" in words


def nested(factor):
    """A Tesseract with a list and an object: o.z = sin(layers[0]) * layers[1] + loads.top**2."""
    vector = {"shape": [None], "dtype": "float64"}
    known = {"ApplyInputSchema": {"layers.[]": vector, "loads.{}": vector}, "ApplyOutputSchema": {"o.z": vector}}
    schemas = {name: {"differentiable_arrays": arrays} for name, arrays in known.items()}
    paths = {"/apply": {}, "/vector_jacobian_product": {}}

    def respond(path, body):
        if path == "/openapi.json":
            return 200, {"paths": paths, "components": {"schemas": schemas}}
        (a, b), top = map(unpacked, body["inputs"]["layers"]), unpacked(body["inputs"]["loads"]["top"])
        if path == "/apply":
            return 200, {"o": {"z": array(np.sin(a) * b + top**2)}}
        g = unpacked(body["cotangent_vector"]["o.z"])
        found = {"layers.[0]": g * np.cos(a) * b, "layers.[1]": factor * g * np.sin(a), "loads.{top}": 2 * g * top}
        return 200, {name: array(found[name]) for name in body["vjp_inputs"]}

    return respond


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, []), (1.05, ["layers[1]"])])
def test_paths_through_lists_and_objects(factor, wrong):
    ended, found, _ = judge(nested(factor), "layers[0]=[1,2]", "layers[1]=[3,4]", "loads.top=[1.5,2]", path="")
    (check,) = found["checks"]
    assert list(check["inputs"]) == ["layers[0]", "layers[1]", "loads.top"]
    assert [name for name, item in check["inputs"].items() if item["verdict"] == "fail"] == wrong
    assert ended == ([1, "fail"] if wrong else [0, "pass"])


SPOILT = [
    ({"paths": {"/predict": {}}}, "is not a Tesseract"),
    ({"paths": {"/apply": {}, "/vector_jacobian_product": {}}, "components": []}, "is not an object"),
    ({"paths": {"/apply": {}, "/vector_jacobian_product": {}}, "components": {"schemas": 1}}, "is not an object"),
]


@pytest.mark.parametrize("document, message", SPOILT)
def test_what_is_not_a_tesseract_is_an_error(document, message):
    ended, found, _ = judge(lambda path, body: (200, document if path == "/openapi.json" else [1]), "x=1", path="")
    assert ended == [3, "error"]
    assert message in message_of(found)
