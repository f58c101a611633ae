"""Servers on the loopback interface that speak UM-Bridge and Tesseract and run in a thread of the test."""

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[str, dict], tuple[int, Any]]
"""Returns status and document (or text) for a path and a body; a status of 3xx adds a Location header."""


@contextlib.contextmanager
def serve(respond: Respond, kept: bool = True, tls: ssl.SSLContext | None = None) -> Iterator[Any]:
    """Yield a running server; `requests` lists the requested paths, and `connections` counts the connections."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if kept else "HTTP/1.0"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            server.connections += 1

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.requests.append(self.path)
            status, found = respond(self.path, json.loads(body) if body else {})
            text = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            if 300 <= status < 400:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *words: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        connections = 0

    server = Server(("127.0.0.1", 0), Handler)
    server.requests = []  # type: ignore[attr-defined]
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def umbridge(
    evaluate: Callable[..., list[list[float]]],
    gradient: Callable[..., list[float]] | None,
    sizes: tuple[list[int], list[int]],
    apply_jacobian: Callable[..., list[float]] | None = None,
    name: str = "forward",
) -> Respond:
    """Answer for a model given by evaluate(input, config), gradient(out, in, input, sens, config) and
    apply_jacobian(out, in, input, vec, config).
    """

    def respond(path: str, body: dict) -> tuple[int, Any]:
        if path != "/Info" and body["name"] != name:
            return 400, {"error": {"type": "ModelNotFound", "message": f"Model {body['name']} not found!"}}
        support = {"Evaluate": True, "Gradient": gradient is not None, "ApplyJacobian": apply_jacobian is not None}
        facts = {"support": support, "inputSizes": sizes[0], "outputSizes": sizes[1]}
        keys = {"/ModelInfo": "support", "/InputSizes": "inputSizes", "/OutputSizes": "outputSizes"}
        if path in keys:
            return 200, {keys[path]: facts[keys[path]]}
        config = body.get("config", {})
        if path == "/Evaluate":
            found = evaluate(body["input"], config)
            return (200, {"output": found}) if isinstance(found, list) else (400, found)
        function, key = (gradient, "sens") if path == "/Gradient" else (apply_jacobian, "vec")
        assert function is not None
        return 200, {"output": function(body["outWrt"], body["inWrt"], body["input"], body[key], config)}

    return respond
