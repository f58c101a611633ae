"""Functional Mock-up Units (FMI 2.0)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import GradcliError, need_extra, refuse_unknown
from ...program.arguments import OutputPart, Path
from ...request import Request
from ..claim import Arrays, CallError, Capabilities, Claim
from . import ANSWER_SECONDS
from .process import Process, host_words


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    need_extra("fmpy", "fmu", text)
    if not os.path.isfile(text):
        raise GradcliError(f"no such file: {text}", kind="file")
    folder = tempfile.TemporaryDirectory(prefix="gradcli-fmu-", ignore_cleanup_errors=True)
    process = Process(host_words("model", text, folder.name), text, request.timeout or ANSWER_SECONDS)
    process.holds = folder
    return lambda inputs: Fmu(text, inputs, process, request)


class Fmu(Claim):
    """A model's outputs, with fmi2GetDirectionalDerivative. Inputs without a value keep the model's default."""

    capabilities = Capabilities(jvp=True, costly=True)

    def __init__(self, title: str, inputs: Arrays, process: Process, request: Request):
        self.connection, out, wrt = process, request.out, request.wrt
        description = self.ask(title, "describe", {})
        own, outputs = description["inputs"], description["outputs"]
        if not description["derivatives"] and not request.numeric:
            raise CallError(f"{title} gives no derivative: it does not provide directional derivatives")
        refuse_unknown(inputs, own, f"{title} has no input", "its inputs and parameters are")
        if not inputs:
            words = " ".join(f"{name}={value:g}" for name, value in own.items())
            raise GradcliError(f"{title} needs a value for an input", hint=f"its defaults are: {words}", kind="name")
        refuse_unknown([] if out is None else [out], outputs, f"--out: {title} has no", "its outputs are")
        super().__init__(title, {name: as_fmu_number(title, name, x) for name, x in inputs.items()})
        self.wrt = [name for name in self.at if wrt is None or name in wrt]
        self.outputs = outputs if out is None else [out]
        self.layout = tuple(OutputPart(Path([n]), (), False) for n in self.outputs) if len(self.outputs) > 1 else ()

    def ask(self, title: str, method: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.connection.ask(method, body)
        if "error" in answer:
            raise CallError(f"{title}: {answer['type']}: {answer['error']}")
        return answer

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return self.result("evaluate", arrays, {})

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        return self.result("differentiate", arrays, {"direction": flat_numbers(tangents)})

    def result(self, method: str, arrays: Arrays, more: dict[str, Any]) -> np.ndarray:
        self.budget.made += method == "evaluate"
        body = {"inputs": flat_numbers(arrays), "outputs": self.outputs, **more}
        parts = self.ask(self.title, method, body)["outputs"]
        return np.array(parts if len(self.outputs) > 1 else parts[0], float)


def as_fmu_number(title: str, name: str, x: Any) -> np.ndarray:
    raw = np.asarray(x)
    if raw.ndim or raw.dtype.kind not in "biuf":
        raise GradcliError(f"{title}: '{name}' must be a single real number", kind="shape")
    return raw.astype(float)


def flat_numbers(arrays: Arrays) -> dict[str, float]:
    return {name: float(x) for name, x in arrays.items()}
