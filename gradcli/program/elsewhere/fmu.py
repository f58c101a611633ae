"""Functional Mock-up Units (FMI 2.0): outputs at the start time as a function of inputs and parameters."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GradcliError, need_extra
from ..outputs import OutputPart
from ..parameters import unknown_name
from .base import Arrays, Elsewhere, ElsewhereError
from .process import Process, host_words

if TYPE_CHECKING:
    from .address import CallOptions


class Fmu(Elsewhere):
    """A model's outputs, whose derivative is what its fmi2GetDirectionalDerivative gives.

    Inputs and parameters that no value is given for keep that of the model, and are not differentiated.
    process: what evaluates it.
    """

    has_jvp = True

    def __init__(self, title: str, inputs: Arrays, process: Process, options: CallOptions):
        self.process, out, wrt = process, options.out, options.wrt
        description = self.ask(title, "describe", {})
        own, outputs = description["inputs"], description["outputs"]
        if not description["derivatives"]:
            raise ElsewhereError(f"{title} gives no derivative: it does not provide directional derivatives")
        for name in inputs:
            if name not in own:
                raise unknown_name(f"{title} has no input '{name}'", name, own, "its inputs and parameters are")
        if not inputs:
            words = " ".join(f"{name}={value:g}" for name, value in own.items())
            raise GradcliError(f"{title} needs a value for an input", hint=f"its own are: {words}", kind="name")
        if out is not None and out not in outputs:
            raise unknown_name(f"--out: {title} has no '{out}'", out, outputs, "its outputs are")
        super().__init__(title, {name: as_number(title, name, x) for name, x in inputs.items()})
        self.wrt = [name for name in self.inputs if wrt is None or name in wrt]
        self.outputs = outputs if out is None else [out]
        self.layout = tuple(OutputPart((name,), (), False) for name in self.outputs) if len(self.outputs) > 1 else ()

    def ask(self, title: str, method: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a method. Raises ElsewhereError."""
        answer = self.process.ask(method, body)
        if "error" in answer:
            raise ElsewhereError(f"{title}: {answer['type']}: {answer['error']}")
        return answer

    def value(self, arrays: Arrays) -> np.ndarray:
        """Return the outputs: a number where there is one."""
        return self.result("evaluate", arrays, {})

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        return self.result("differentiate", arrays, {"direction": flat_numbers(tangents)})

    def result(self, method: str, arrays: Arrays, more: dict[str, Any]) -> np.ndarray:
        """Return what a method gives for the outputs."""
        self.calls += method == "evaluate"
        parts = self.ask(self.title, method, {"inputs": flat_numbers(arrays), "outputs": self.outputs, **more})[
            "outputs"
        ]
        return np.array(parts if len(self.outputs) > 1 else parts[0], float)

    def close(self) -> None:
        self.process.close()


class FmuProcess(Process):
    """The process that evaluates a model, and the folder in which the model is unpacked."""

    def __init__(self, path: str, timeout: float):
        self.folder = tempfile.TemporaryDirectory(prefix="gradcli-fmu-", ignore_cleanup_errors=True)
        super().__init__(host_words("model", os.path.abspath(path), self.folder.name), path, timeout)


def host(path: str, timeout: float) -> Process:
    """Return a process of its own that evaluates a model. Raises GradcliError without FMPy, and for no file."""
    need_extra("fmpy", "fmu", path)
    if not os.path.isfile(path):
        raise GradcliError(f"no such file: {path}", kind="file")
    return FmuProcess(path, timeout)


def as_number(title: str, name: str, x: Any) -> np.ndarray:
    """Return a value as a number. Raises GradcliError for others."""
    raw = np.asarray(x)
    if raw.ndim or raw.dtype.kind not in "biuf":
        raise GradcliError(f"{title}: '{name}' is a single real number", kind="shape")
    return raw.astype(float)


def flat_numbers(arrays: Arrays) -> dict[str, float]:
    return {name: float(x) for name, x in arrays.items()}
