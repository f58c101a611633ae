"""Servers that speak JSON over one kept connection, and models that speak UM-Bridge 1.0.

Source: Seelinger et al., "UM-Bridge: Uncertainty quantification and modeling bridge", JOSS 8 (2023), and
https://um-bridge-benchmarks.readthedocs.io/en/docs/umbridge/protocol.html.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ...errors import GradcliError, TimeIsUp
from ...lang.limits import within
from ...request import Request
from ..claim import Arrays, CallError, Claim, GoneError
from .process import MOST_BYTES, error_text, shorten_answer

CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)
"""What a kept connection raises when the server has closed it in the meantime."""
NOT_THE_MODEL = (401, 403, 404, 405, 407, 502, 503, 504)
"""Statuses that come from what stands before a model: at no other point it will be another."""


class Server:
    """A server under an address http://HOST:PORT/PATH or https://...

    model: the last part of the path; requests begin with what stands before. timeout: seconds for one request.
    """

    def __init__(self, address: str, timeout: float):
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError as error:
            raise GradcliError(f"{address} is no address: {error}", kind="usage") from None
        if not parts.hostname or parts.query or parts.fragment or parts.username is not None:
            raise GradcliError(f"{address} is no address of a model", hint="write http://HOST:PORT/MODEL", kind="usage")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.place = f"{parts.scheme}://{parts.netloc}"
        self.path, _, self.model = parts.path.rpartition("/")
        self.timeout, self.owner = timeout, os.getpid()
        self.open = lambda: kind(parts.hostname or "", port, timeout=timeout)
        self.connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Any:
        return self.send("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self.send("POST", path, json.dumps(body).encode())

    def send(self, method: str, path: str, body: bytes | None) -> Any:
        """Return the JSON that a request is answered with. Raises CallError."""
        if self.owner != os.getpid():  # a forked process must not speak on its parent's connection
            self.connection, self.owner = None, os.getpid()
        kept = self.connection is not None
        where = f"{self.place}{self.path}{path}"
        try:
            with within(self.timeout):  # an answer may come byte by byte
                try:
                    status, text, location = self.exchange(method, path, body)
                except CLOSED:
                    self.close()
                    if not kept:
                        raise
                    status, text, location = self.exchange(method, path, body)
        except (TimeoutError, TimeIsUp):
            self.close()
            raise GoneError(f"{where}: no answer within {self.timeout:g} seconds (--timeout)") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise GoneError(f"{where}: {reason}") from None
        if 300 <= status < 400:
            raise GoneError(f"{where}: answered with status {status}, to go on at {location}; that is not followed")
        return read_answer(where, status, text)

    def exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, str, str | None]:
        """Return status, text and Location of the answer to a request; the whole of it in time."""
        limit = time.monotonic() + self.timeout
        if self.connection is None:
            self.connection = self.open()
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {})}
        if self.connection.sock is not None:
            self.connection.sock.settimeout(self.timeout)
        self.connection.request(method, self.path + path, body, headers)
        socket = self.connection.sock  # the connection lets go of it when the server says that it will close
        with self.connection.getresponse() as response:
            parts, size = [], 0
            while part := response.read1(1 << 20):
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise http.client.HTTPException(f"an answer of more than {MOST_BYTES >> 20} MiB")
                left = limit - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                with contextlib.suppress(OSError):
                    socket.settimeout(left)
            return response.status, b"".join(parts).decode("utf-8", "replace"), response.getheader("Location")

    def close(self) -> None:
        if self.connection is not None and self.owner == os.getpid():
            self.connection.close()
        self.connection = None


def read_answer(where: str, status: int, text: str) -> Any:
    """Return the JSON of an answer. Raises CallError for a status that is no success, and for other text."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if status != 200:
        said = answer.get("error", answer.get("detail", answer)) if isinstance(answer, dict) else text.strip()
        message = f"{where}: status {status}: {error_text(said)}"
        raise (GoneError if status in NOT_THE_MODEL else CallError)(message)
    if answer is None:
        raise CallError(f"{where}: the answer is no JSON: {shorten_answer(text)}")
    return answer


Ask = Callable[[str, dict[str, Any]], Any]
"""Sends a method with its body, and returns the answer. Raises CallError."""


class UmBridge(Claim):
    """A model with vectors as inputs, x0, x1 and so on, and vectors as outputs, y0, y1 and so on, laid end to end."""

    costly = True

    def __init__(
        self,
        title: str,
        ask: Ask,
        close: Callable[[], None],
        inputs: Arrays,
        config: Mapping[str, Any],
        request: Request,
        model: str = "",
    ):
        self.ask, self.model, self.config = ask, model, config
        self.close = close  # type: ignore[method-assign]
        support = self.part("ModelInfo", {}, "support", dict, config=False)
        self.has_pull, self.has_push = bool(support.get("Gradient")), bool(support.get("ApplyJacobian"))
        if not support.get("Evaluate", True):
            raise CallError(f"{title} does not support Evaluate")
        if not (self.has_pull or self.has_push):
            raise CallError(f"{title} gives no derivative: it supports neither Gradient nor ApplyJacobian")
        super().__init__(title, in_order(title, inputs, self.sizes("InputSizes", "inputSizes")))
        self.names = list(self.at)
        self.wrt = [name for name in self.names if request.wrt is None or name in request.wrt]
        self.lengths = self.sizes("OutputSizes", "outputSizes") or [len(part) for part in self.outputs(self.at)]
        self.chosen = range(len(self.lengths)) if request.out is None else [self.output_named(request.out)]

    def output_named(self, out: str) -> int:
        """Return the place of an output. Raises GradcliError when there is none of that name."""
        names = [f"y{i}" for i in range(len(self.lengths))]
        if out not in names:
            raise GradcliError(
                f"--out: {self.title} has no '{out}'", hint=f"its outputs are {', '.join(names)}", kind="name"
            )
        return names.index(out)

    def part(self, method: str, body: dict[str, Any], key: str, kind: type, config: bool = True) -> Any:
        """Return what the answer to a method holds under a key. Raises CallError."""
        whole = {"name": self.model, **body, **({"config": self.config} if config else {})}
        answer = self.ask(method, whole)
        if isinstance(answer, dict) and "error" in answer:
            raise CallError(f"{method}: {error_text(answer['error'])}")
        if not isinstance(answer, dict) or not isinstance(answer.get(key), kind):
            raise CallError(f"{method}: the answer has no {kind.__name__} '{key}': {shorten_answer(answer)}")
        return answer[key]

    def sizes(self, method: str, key: str) -> list[int] | None:
        """Return the lengths of the inputs or outputs; None for a model that does not tell them."""
        try:
            return [int(n) for n in self.part(method, {}, key, list)]
        except (CallError, TypeError, ValueError, OverflowError):
            return None

    def vectors(self, arrays: Arrays) -> list[list[float]]:
        """Return the inputs as the protocol has them."""
        return [np.asarray(arrays[name], float).tolist() for name in self.names]

    def outputs(self, arrays: Arrays) -> list[np.ndarray]:
        self.calls += 1
        parts = self.part("Evaluate", {"input": self.vectors(arrays)}, "output", list)
        return [vector_of_numbers(part, f"Evaluate: output {i}") for i, part in enumerate(parts)]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        parts = self.outputs(arrays)
        if [len(part) for part in parts] != self.lengths:
            raise CallError(
                f"Evaluate: outputs of length {[len(part) for part in parts]}; OutputSizes says {self.lengths}"
            )
        return np.concatenate([parts[i] for i in self.chosen])

    def product(self, method: str, out: int, name: str, arrays: Arrays, key: str, vector: np.ndarray) -> np.ndarray:
        """Return one product with the derivative of one output with respect to one input."""
        body = {"outWrt": out, "inWrt": self.names.index(name), "input": self.vectors(arrays), key: vector.tolist()}
        return vector_of_numbers(self.part(method, body, "output", list), method)

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        parts = np.split(cotangent, np.cumsum([self.lengths[i] for i in self.chosen])[:-1])
        sums = {}
        for name in self.wrt:
            products = [
                self.product("Gradient", i, name, arrays, "sens", part)
                for i, part in zip(self.chosen, parts, strict=True)
            ]
            sums[name] = add_vectors(products, "Gradient")
        return sums

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        return np.concatenate(
            [
                add_vectors(
                    [self.product("ApplyJacobian", i, name, arrays, "vec", part) for name, part in tangents.items()],
                    "ApplyJacobian",
                )
                for i in self.chosen
            ]
        )


def in_order(title: str, inputs: Arrays, sizes: Sequence[int] | None) -> dict[str, np.ndarray]:
    """Return the inputs x0, x1, ... as vectors in their order. Raises GradcliError for others than there are."""
    count = len(inputs) if sizes is None else len(sizes)
    names = [f"x{i}" for i in range(count)]
    for name in inputs:
        if name not in names:
            listed = f"the inputs are {', '.join(names)}" if sizes is not None else "the first is x0, the next x1"
            raise GradcliError(f"{title} has no input '{name}'", hint=listed, kind="name")
    missing = [(name, None if sizes is None else sizes[i]) for i, name in enumerate(names) if name not in inputs]
    if missing or not names:
        words = " ".join(f"{name}='randn({n})'" for name, n in missing if n is not None) or "x0=[1,2]"
        listed = ", ".join(f"'{name}'" for name, _ in missing) or "'x0'"
        raise GradcliError(f"{title} needs a value for {listed}", hint=f"add to the command line: {words}", kind="name")
    vectors = {}
    for i, name in enumerate(names):
        x = np.atleast_1d(np.asarray(inputs[name]))
        if x.dtype.kind not in "biuf" or x.ndim != 1:
            raise GradcliError(f"{title}: '{name}' must be a vector of real numbers", kind="shape")
        if sizes is not None and len(x) != sizes[i]:
            raise GradcliError(f"{title}: '{name}' has {len(x)} elements; the model takes {sizes[i]}", kind="shape")
        vectors[name] = x.astype(float)
    return vectors


def vector_of_numbers(numbers: Any, what: str) -> np.ndarray:
    """Return a list of numbers as a vector. Raises CallError for anything else."""
    try:
        x = np.array(numbers, float)
    except (TypeError, ValueError, OverflowError):
        x = None
    if x is None or x.ndim != 1:
        raise CallError(f"{what} is no vector of numbers: {shorten_answer(numbers)}")
    return x


def add_vectors(parts: Sequence[np.ndarray], what: str) -> np.ndarray:
    """Return the sum of vectors. Raises CallError when their lengths differ."""
    if len({len(part) for part in parts}) != 1:
        raise CallError(f"{what}: products of different lengths, {[len(part) for part in parts]}")
    return functools.reduce(np.add, parts)
