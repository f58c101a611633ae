"""UM-Bridge 1.0 models, over HTTP or with lines of JSON to a process.

Source: Seelinger et al., "UM-Bridge: Uncertainty quantification and modeling bridge", JOSS 8 (2023), and
https://um-bridge-benchmarks.readthedocs.io/en/docs/umbridge/protocol.html.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import GradcliError, count_of
from ...request import Request
from ..claim import Arrays, CallError, Capabilities, Claim
from ..open import refuse_config
from . import ANSWER_SECONDS
from .process import Process, error_text, shorten_answer


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    """Connect to a process or server; a server without a model's name is a Tesseract. Raises GradcliError."""
    seconds = request.timeout or ANSWER_SECONDS
    connection: Any = None
    if text.startswith("cmd:"):
        try:
            words = shlex.split(text.removeprefix("cmd:"))
        except ValueError as error:
            message = f'the command in "{text}" has a quotation mark that is not closed, or ends with a backslash'
            raise GradcliError(message, hint="put the whole target in quotation marks: 'cmd:COMMAND'") from error
        if not words:
            raise GradcliError(f"'{text}' names no command", hint="write cmd:COMMAND")
        connection = Process(words, text, seconds)
    else:
        from .http import Server

        connection = Server(text, seconds)
        if not connection.model:
            from .tesseract import Tesseract

            refuse_config(text, request)
            return lambda inputs: Tesseract(text, connection, inputs, request)
    try:
        config = json.loads("{}" if request.config is None else request.config)
    except (ValueError, RecursionError) as error:
        raise GradcliError(f"--config is not valid JSON: {error}") from None
    if not isinstance(config, dict):
        raise GradcliError("--config is not a JSON object", hint="for example --config '{\"level\": 2}'")
    return lambda inputs: UmBridge(text, connection, inputs, config, request)


class RefusedError(CallError):
    """The model answered with an error."""


class UmBridge(Claim):
    """A model from vectors x0, x1, ... to y0, y1, ..., which are joined. connection: its `ask` calls a method."""

    by_tangent = True

    def __init__(self, title: str, connection: Any, inputs: Arrays, config: Mapping[str, Any], request: Request):
        self.connection, self.config = connection, config
        support = self.support()
        vjp, jvp = bool(support.get("Gradient")), bool(support.get("ApplyJacobian"))
        if not support.get("Evaluate", True):
            raise CallError(f"{title} does not support Evaluate")
        if not (vjp or jvp or request.numeric):
            raise CallError(f"{title} gives no derivative: it supports neither Gradient nor ApplyJacobian")
        super().__init__(title, vectors_in_order(title, inputs, self.sizes("InputSizes", "inputSizes")))
        self.capabilities = Capabilities(vjp=vjp, jvp=jvp, costly=True)
        self.names = list(self.at)
        self.wrt = [name for name in self.names if request.wrt is None or name in request.wrt]
        self.lengths = self.sizes("OutputSizes", "outputSizes") or [len(part) for part in self.outputs(self.at)]
        names = [f"y{i}" for i in range(len(self.lengths))]
        if request.out not in (None, *names):
            listed = f"its outputs are {', '.join(names)}"
            raise GradcliError(f"--out: {title} has no '{request.out}'", hint=listed, kind="name")
        self.chosen = [i for i, name in enumerate(names) if request.out in (None, name)]

    def part(self, method: str, body: dict[str, Any], key: str, kind: type, config: bool = True) -> Any:
        """Return an entry of the answer to a method. kind: its type. Raises CallError."""
        whole = {"name": getattr(self.connection, "model", ""), **body, **({"config": self.config} if config else {})}
        answer = self.connection.ask(method, whole)
        if isinstance(answer, dict) and "error" in answer:
            raise RefusedError(f"{method}: {error_text(answer['error'])}")
        if not isinstance(answer, dict) or not isinstance(answer.get(key), kind):
            raise CallError(f"{method}: the answer has no {kind.__name__} '{key}': {shorten_answer(answer)}")
        return answer[key]

    def support(self) -> Mapping[str, Any]:
        """Return the methods that the model supports; assume Gradient if it does not say."""
        try:
            return self.part("ModelInfo", {}, "support", dict, config=False)
        except RefusedError:
            return {"Gradient": True}

    def sizes(self, method: str, key: str) -> list[int] | None:
        """Return the lengths of the inputs or outputs; None if the model does not say."""
        try:
            return [int(n) for n in self.part(method, {}, key, list)]
        except (CallError, TypeError, ValueError, OverflowError):
            return None

    def vectors(self, arrays: Arrays) -> list[list[float]]:
        return [np.asarray(arrays[name], float).tolist() for name in self.names]

    def outputs(self, arrays: Arrays) -> list[np.ndarray]:
        self.budget.made += 1
        parts = self.part("Evaluate", {"input": self.vectors(arrays)}, "output", list)
        return [vector_of_numbers(part, f"Evaluate: output {i}") for i, part in enumerate(parts)]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        parts = self.outputs(arrays)
        lengths = [len(part) for part in parts]
        if lengths != self.lengths:
            raise CallError(f"Evaluate: the outputs have lengths {lengths}, but OutputSizes says {self.lengths}")
        return np.concatenate([parts[i] for i in self.chosen])

    def sum(self, method: str, key: str, arrays: Arrays, terms: Sequence[tuple[int, str, np.ndarray]]) -> np.ndarray:
        """Return the sum of products. terms: output number, input name and vector of each."""
        products = []
        for out, name, vector in terms:
            body = {"outWrt": out, "inWrt": self.names.index(name), "input": self.vectors(arrays), key: vector.tolist()}
            products.append(vector_of_numbers(self.part(method, body, "output", list), method))
        if len({len(product) for product in products}) != 1:
            raise CallError(f"{method}: the products have different lengths, {[len(product) for product in products]}")
        return functools.reduce(np.add, products)

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        parts = np.split(cotangent, np.cumsum([self.lengths[i] for i in self.chosen])[:-1])
        pairs = list(zip(self.chosen, parts, strict=True))
        return {name: self.sum("Gradient", "sens", arrays, [(i, name, part) for i, part in pairs]) for name in self.wrt}

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        terms = ([(i, name, part) for name, part in tangents.items()] for i in self.chosen)
        return np.concatenate([self.sum("ApplyJacobian", "vec", arrays, part) for part in terms])


def vectors_in_order(title: str, inputs: Arrays, sizes: Sequence[int] | None) -> dict[str, np.ndarray]:
    """Return the inputs x0, x1, ... as vectors in order. Raises GradcliError for missing and unknown ones."""
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
            message = f"{title}: '{name}' has {count_of(len(x), 'element')}; the model takes {sizes[i]}"
            raise GradcliError(message, kind="shape")
        vectors[name] = x.astype(float)
    return vectors


def vector_of_numbers(numbers: Any, what: str) -> np.ndarray:
    try:
        x = np.array(numbers, float)
    except (TypeError, ValueError, OverflowError):
        x = None
    if x is None or x.ndim != 1:
        raise CallError(f"{what} is not a vector of numbers: {shorten_answer(numbers)}")
    return x
