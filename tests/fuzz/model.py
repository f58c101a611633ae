"""A model x0 -> x0·x0 that answers badly, as a server or as a process on a pipe. Run it as a script.

`python model.py serve SEED KIND -- COMMAND...` listens, runs the command with PORT replaced by its port, and exits
with its code. `python model.py pipe SEED KIND` answers lines. KIND: the fault; `answer` sends wrong answers properly.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

DIGITS = "9" * 5000
VALUES = (
    "null", "true", "[]", "{}", '""', '"x"', "[[]]", "[[1, 2]]", "[[1], [2]]", "[1]", "NaN", "[[NaN]]",
    "[[Infinity]]", "[[1e999]]", f"[[{DIGITS}]]", f"[[{'9' * 400}]]", "[[null]]", '[["1"]]', '[{"x": 1}]',
    "[[[[1]]]]", "-1", "[-1]", "[1.5]", "[1e300]", "[99999999999]", "[0]", "[[1, [2]]]", "[[true]]",
    "[" * 3000 + "]" * 3000, "[" * 200000, '{"a":' * 3000 + "1" + "}" * 3000, "[[" + "1," * 100000 + "1]]",
    '"\\u001b[2J\\u0000"', '"\\ud800"', '{"type": [1], "message": {}}', "1", "1e5000", "[[0x1]]", "[1, 1, 1]",
)  # fmt: skip
"""Texts to send instead of a value."""
ARRAYS = (
    *(
        '{"object_type": "array"}',
        '{"shape": [2], "dtype": "float64", "data": {"buffer": "AAAA", "encoding": "base64"}}',
    ),
    *(
        f'{{"shape": {shape}, "dtype": {dtype}, "data": {{"buffer": {buffer}, "encoding": "{encoding}"}}}}'
        for shape, dtype, buffer, encoding in (
            ("[1]", '"float64"', "[1, 2]", "json"), ("[-1]", '"float64"', "[1, 2]", "json"),
            ("[1000000000000]", '"float64"', "[1]", "json"), ("[]", '"object"', '[{"a": 1}]', "json"),
            ("[]", '"object"', '"AAAAAAAAAAA="', "base64"), ("[]", '"U9"', '"x"', "json"),
            ("[]", '"M8[s]"', '"x"', "json"), ("[]", '"M8[s]"', "1", "json"), ("[]", '"f4,f4"', "[1]", "json"),
            ("[]", "[]", "1", "json"), ("[]", '{"names": [], "formats": []}', "1", "json"),
            ("{}", '"float64"', "1", "json"), ('"1"', '"float64"', "1", "json"), ("null", '"float64"', "1", "raw"),
            ("[]", '"float64"', "9" * 400, "json"), ("[]", '"float64"', '"!!"', "base64"),
            ("[]", '"float64"', "null", "base64"), ("[]", '"complex128"', "1", "json"), ("[]", '"bool"', "1", "json"),
            ("[]", '"int8"', "300", "json"), ("[2.5]", '"float64"', "[1]", "json"),
            ("[true]", '"float64"', "[1]", "json"),
        )
    ),
)  # fmt: skip
"""Texts to send instead of a Tesseract's array."""
SUPPORT = {"Evaluate": True, "Gradient": True, "ApplyJacobian": True}
RIGHT = {"support": SUPPORT, "inputSizes": [2], "outputSizes": [1]}
TESSERACT = ("openapi.json", "apply", "vector_jacobian_product", "jacobian_vector_product")
KEYS = {"ModelInfo": "support", "InputSizes": "inputSizes", "OutputSizes": "outputSizes"}


def answer(rng, method, body, bad):
    """Return the answer to a method as text. bad: make it a wrong one."""
    if method in TESSERACT:
        return tesseract(rng, method, body, bad)
    key = KEYS.get(method, "output")
    if method in KEYS:
        right = RIGHT[key]
    else:
        x = body.get("input", [[1.0, 2.0]])[0]
        right = {
            "Evaluate": lambda: [[sum(v * v for v in x)]],
            "Gradient": lambda: [2 * v * body["sens"][0] for v in x],
            "ApplyJacobian": lambda: [sum(2 * v * t for v, t in zip(x, body["vec"], strict=True))],
        }[method]()
    text = json.dumps(right)
    if bad:
        wrong = rng.choice(VALUES)
        return rng.choice(
            (
                f'{{"{key}": {wrong}}}',
                f'{{"{key}": {wrong}}}',
                f'{{"{key}": {wrong}, "{key}": {text}}}',
                f'{{"{key}": {text}, "error": {wrong}}}',
                f'{{"error": {wrong}}}',
                f'{{"support": {{"Gradient": {wrong}, "Evaluate": {wrong}}}, "{key}": {text}}}',
                wrong,
                f'{{"{key}": {text}',
                f'{{"{key}": {text}}} junk',
                f'{{"{key}": {text}, "id": {wrong}}}',
            )
        )
    return f'{{"{key}": {text}}}'


def tesseract(rng, method, body, bad):
    """Return the answer of a Tesseract with one input x."""
    wrong = rng.choice((*VALUES, *ARRAYS, *ARRAYS))
    if method == "openapi.json":
        outline = '{"x": {"shape": [2], "dtype": "float64"}}'
        inner = f'{{"differentiable_arrays": {outline}}}'
        schemas = f'{{"ApplyInputSchema": {inner}, "ApplyOutputSchema": {{"differentiable_arrays": {{"y": {{}}}}}}}}'
        paths = '{"/apply": {}, "/vector_jacobian_product": {}, "/jacobian_vector_product": {}}'
        if bad:
            choice = rng.randrange(6)
            paths = wrong if choice == 0 else paths
            schemas = wrong if choice == 1 else schemas
            schemas = schemas.replace(outline, wrong) if choice == 2 else schemas
            schemas = schemas.replace('{"shape": [2], "dtype": "float64"}', wrong) if choice == 3 else schemas
            schemas = (
                f'{{"Apply_InputSchema": {{"properties": {wrong}, "required": {wrong}}}}}' if choice == 4 else schemas
            )
            if choice == 5:
                return f'{{"paths": {paths}, "components": {wrong}}}'
        return f'{{"paths": {paths}, "components": {{"schemas": {schemas}}}}}'
    x = body["inputs"]["x"]["data"]["buffer"]

    def array(value, shape):
        data = {"buffer": value, "encoding": "json"}
        return {"object_type": "array", "shape": shape, "dtype": "float64", "data": data}

    if method == "apply":
        found = {"y": array([sum(v * v for v in x)], [])}
    elif method == "vector_jacobian_product":
        c = body["cotangent_vector"]["y"]["data"]["buffer"][0]
        found = {"x": array([2 * v * c for v in x], [2])}
    else:
        t = body["tangent_vector"]["x"]["data"]["buffer"]
        found = {"y": array([sum(2 * v * w for v, w in zip(x, t, strict=True))], [])}
    if bad:
        return rng.choice((wrong, f'{{"{next(iter(found))}": {wrong}}}', f'{{"{next(iter(found))}": {wrong}}}'))
    return json.dumps(found)


def head(length, more="", status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def flood(connection, piece, seconds=30.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(piece)


def drip(connection, piece):
    while True:
        connection.sendall(piece)
        time.sleep(0.2)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TRANSPORT = {
    "nothing": lambda c, t: time.sleep(60),
    "close": lambda c, t: None,
    "reset": lambda c, t: c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"),
    "half": lambda c, t: c.sendall(head(len(t)) + t[: len(t) // 2]),
    "longer": lambda c, t: c.sendall(head(len(t) + 9) + t),
    "shorter": lambda c, t: c.sendall(head(max(len(t) - 3, 0)) + t),
    "huge": lambda c, t: (c.sendall(head(10**10)), flood(c, b" " * (1 << 20))),
    "hugelength": lambda c, t: c.sendall(head(10**30) + t),
    "negative": lambda c, t: c.sendall(head(-5) + t),
    "wordlength": lambda c, t: c.sendall(head("many") + t),
    "endless": lambda c, t: (c.sendall(b"HTTP/1.0 200 OK\r\n\r\n"), flood(c, b"[" * (1 << 20))),
    "dripbody": lambda c, t: (c.sendall(head(10**6)), drip(c, b" ")),
    "driphead": lambda c, t: (c.sendall(b"HTTP/1.1 200 OK\r\n"), drip(c, b"a")),
    "dripstatus": lambda c, t: drip(c, b"H"),
    "dripchunks": lambda c, t: (c.sendall(CHUNKED), drip(c, b"1\r\n \r\n")),
    "dripsize": lambda c, t: (c.sendall(CHUNKED), drip(c, b"0")),
    "chunks": lambda c, t: c.sendall(CHUNKED + b"zz\r\n" + t),
    "minuschunk": lambda c, t: c.sendall(CHUNKED + b"-5\r\n" + t),
    "bigchunk": lambda c, t: c.sendall(CHUNKED + b"ffffffffffffffff\r\n" + t),
    "goodchunk": lambda c, t: c.sendall(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(t), t)),
    "trailers": lambda c, t: (c.sendall(CHUNKED + b"0\r\n"), flood(c, b"a: b\r\n" * 1000)),
    "continue": lambda c, t: c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + head(len(t)) + t),
    "continues": lambda c, t: flood(c, b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "headers": lambda c, t: c.sendall(head(len(t), "".join(f"a{i}: b\r\n" for i in range(5000))) + t),
    "longheader": lambda c, t: c.sendall(head(len(t), f"a: {'b' * 100000}\r\n") + t),
    "binaryhead": lambda c, t: c.sendall(head(len(t), "\x00\x80: \xff\r\n: \r\nnocolon\r\n") + t),
    "nostatus": lambda c, t: c.sendall(b"\r\n\r\n" + t),
    "ftp": lambda c, t: c.sendall(b"220 ready\r\n"),
    "binary": lambda c, t: c.sendall(bytes(range(256)) * 10),
    "gzip": lambda c, t: c.sendall(head(len(Z), "Content-Encoding: gzip\r\n") + Z),
    "html": lambda c, t: c.sendall(head(20) + b"<html>\x1b[2J</html>  "),
    "utf16": lambda c, t: c.sendall(head(len(t) * 2 + 2) + t.decode().encode("utf-16")),
    "bom": lambda c, t: c.sendall(head(len(t) + 3) + b"\xef\xbb\xbf" + t),
    "redirect": lambda c, t: c.sendall(head(0, "Location: http://127.0.0.1:1/\x1b[2J\r\n", "302 Found")),
    "redirected": lambda c, t: c.sendall(head(0, "Location: file:///etc/passwd\r\n", "307 Moved")),
    "nowhere": lambda c, t: c.sendall(head(0, "", "301 Moved")),
    "error": lambda c, t: c.sendall(head(len(t), "", "500 \x1b[2J") + t),
    "unauthorized": lambda c, t: c.sendall(head(len(t), "WWW-Authenticate: Basic\r\n", "401 No") + t),
    "nocontent": lambda c, t: c.sendall(head(0, "", "204 No Content")),
    "status99": lambda c, t: c.sendall(head(len(t), "", "99 Low") + t),
    "status9999": lambda c, t: c.sendall(head(len(t), "", "9999 High") + t),
    "twice": lambda c, t: c.sendall((head(len(t)) + t) * 2),
    "http09": lambda c, t: c.sendall(t),
    "upgrade": lambda c, t: c.sendall(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n" + t),
}
"""Faults in how the server sends an answer."""
Z = b"\x1f\x8b\x08\x00" + bytes(20)


def converse(connection, rng, kind):
    file = connection.makefile("rb")
    while line := file.readline():
        path, length = line.split()[1].decode(), 0
        while (header := file.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        raw = file.read(length)
        method = path.rpartition("/")[2]
        bad = method in MEANT if MEANT else rng.random() < 0.5
        text = answer(rng, method, json.loads(raw) if raw else {}, bad and kind == "answer").encode("utf-8", "replace")
        if kind in TRANSPORT and bad:
            TRANSPORT[kind](connection, text)
            return
        connection.sendall(head(len(text)) + text)


MEANT = set()


def serve(seed, kind, command):
    """Serve until the command ends, then exit with its code."""
    rng = random.Random(seed)
    if rng.random() < 0.6:
        MEANT.add(rng.choice((*"ModelInfo InputSizes OutputSizes Evaluate Gradient".split(), *TESSERACT[:3])))
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(connection):
        try:
            with connection:
                converse(connection, rng, kind)
        except (OSError, ValueError, KeyError, IndexError):
            pass

    def listen():
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    words = [word.replace("PORT", str(listener.getsockname()[1])) for word in command]
    os._exit(subprocess.run(words, check=False).returncode % 256)


PIPE = {
    "noise": lambda t: sys.stderr.write("x" * 10**6 + "\n") and print(t),
    "flood": lambda t: [os.write(2, b"y\n" * 32768) for _ in range(10**5)],
    "floodout": lambda t: [os.write(1, b"y\n" * 32768) for _ in range(10**5)],
    "endless": lambda t: [os.write(1, b"{" * 65536) for _ in range(10**6)],
    "endlessword": lambda t: [os.write(2, b"w" * 65536) for _ in range(10**6)],
    "closeout": lambda t: (os.close(1), time.sleep(60)),
    "closeall": lambda t: (os.closerange(0, 9), time.sleep(60)),
    "closein": lambda t: (os.close(0), print(t)),
    "half": lambda t: (os.write(1, t.encode()[:9]), time.sleep(60)),
    "halfexit": lambda t: (os.write(1, t.encode()[:9]), os._exit(0)),
    "nonewline": lambda t: (os.write(1, t.encode()), os._exit(0)),
    "binary": lambda t: (os.write(1, bytes(range(256)) * 50 + b"\n"), print(t)),
    "carriage": lambda t: os.write(1, t.encode() + b"\r"),
    "twice": lambda t: (print(t), print(t)),
    "thousand": lambda t: print((t + "\n") * 1000),
    "before": lambda t: print("loading\n{\n{}\n[]\n" + t),
    "ignores": lambda t: (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(60)),
    "stops": lambda t: os.kill(os.getpid(), signal.SIGSTOP),
    "kills": lambda t: os.kill(os.getpid(), signal.SIGKILL),
    "child": lambda t: subprocess.Popen(["sleep", "60"]) and print(t),
    "childexit": lambda t: subprocess.Popen(["sleep", "60"]) and os._exit(3),
    "childout": lambda t: subprocess.Popen(["sleep", "60"], start_new_session=True) and os.close(1),
    "slow": lambda t: (time.sleep(0.7), print(t)),
    "exit": lambda t: os._exit(7),
    "raise": lambda t: 1 / 0,
    "escape": lambda t: (sys.stderr.write("\x1b[2J\x07::error\n"), print(t)),
    "memory": lambda t: print(t + " " * 10**8),
    "id": lambda t: print(t[:-1] + ', "id": 10}'),
}
"""What a process may do instead of just answering."""


def pipe(seed, kind):
    rng = random.Random(seed)
    at = rng.choice((1, 1, 2, 4, 5, 9))
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        bad = number >= at if kind == "answer" else number == at
        text = answer(rng, request["method"], request, bad and kind == "answer").replace("\n", " ")
        if kind in PIPE and bad:
            PIPE[kind](text)
        else:
            print(text.encode("utf-8", "replace").decode())
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3], sys.argv[5:])
    pipe(sys.argv[2], sys.argv[3])
