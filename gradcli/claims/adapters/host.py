"""Evaluate a shared library or a Functional Mock-up Unit for another process, with lines of JSON on standard streams.

This file runs as a process that does not import gradcli, so that foreign code can crash only this process. Output of
that code goes to standard error.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys

C_TYPES = {"float64": ctypes.c_double, "float32": ctypes.c_float}


def c_type(name):
    return C_TYPES.get(name) or getattr(ctypes, f"c_{name}")


def base64_text(array, size):
    return base64.b64encode(memoryview(array).cast("B")[:size]).decode("ascii")


class HostLibrary:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)

    def call(self, request, changes=None):
        """Return the result of a call, and its output arrays after it.

        Arguments are [type, value, whether it is an output]. Arrays are texts, in base64; lists would be slow. changes:
        for each argument another number, or [place, number] for elements of an array; None if it stays.
        """
        function = getattr(self.functions, request["function"])
        function.restype = None if request["returns"] == "void" else c_type(request["returns"])
        arguments, arrays = [], []
        changes = changes or [None] * len(request["arguments"])
        for (kind, value, is_output), change in zip(request["arguments"], changes, strict=True):
            if isinstance(value, str):
                content = base64.b64decode(value)
                array = (c_type(kind) * max(len(content) // ctypes.sizeof(c_type(kind)), 1))()
                ctypes.memmove(array, content, len(content))
                for place, number in change or ():
                    array[place] = number
                arguments.append(array)
                if is_output:
                    arrays.append((array, len(content)))
            else:
                arguments.append(c_type(kind)(value if change is None else change))
        returned = function(*arguments)
        return {"returned": returned, "arrays": [base64_text(array, size) for array, size in arrays]}

    def call_all(self, request):
        """Return the answers of several calls. rows: how their arguments differ from those of the request."""
        return {"answers": [self.call(request, row) for row in request["rows"]]}


class Model:
    """A model that stays in initialization mode. folder: for its unpacked binaries.

    In that mode, FMI 2.0 (section 2.1.6) allows setting inputs and parameters, and getting outputs and directional
    derivatives, at one instant.
    """

    def __init__(self, path, folder):
        import fmpy
        from fmpy.fmi2 import FMU2Model, FMU2Slave

        self.description = description = fmpy.read_model_description(path)
        if description.fmiVersion != "2.0":
            raise ValueError(f"it follows FMI {description.fmiVersion}, not 2.0")
        fmpy.extract(path, folder)
        self.kind = description.coSimulation or description.modelExchange
        make = FMU2Slave if description.coSimulation else FMU2Model
        self.unit = make(
            guid=description.guid,
            unzipDirectory=folder,
            modelIdentifier=self.kind.modelIdentifier,
            instanceName="gradcli",
        )
        self.unit.instantiate()
        self.unit.setupExperiment(startTime=0.0)
        self.unit.enterInitializationMode()
        self.references = {v.name: v.valueReference for v in description.modelVariables if v.type == "Real"}

    def describe(self, _):
        """Return the inputs and parameters with their values, the outputs, and whether the model has derivatives."""
        real = [v for v in self.description.modelVariables if v.type == "Real"]
        inputs = [v.name for v in real if v.causality == "input"]
        inputs += [v.name for v in real if v.causality == "parameter"]
        return {
            "inputs": dict(zip(inputs, self.unit.getReal(self.refer(inputs)), strict=True)),
            "outputs": [v.name for v in real if v.causality == "output"],
            "derivatives": bool(self.kind.providesDirectionalDerivative),
        }

    def refer(self, names):
        return [self.references[name] for name in names]

    def evaluate(self, request):
        self.unit.setReal(self.refer(request["inputs"]), list(request["inputs"].values()))
        return {"outputs": list(self.unit.getReal(self.refer(request["outputs"])))}

    def differentiate(self, request):
        self.unit.setReal(self.refer(request["inputs"]), list(request["inputs"].values()))
        outputs, along = self.refer(request["outputs"]), request["direction"]
        return {"outputs": self.unit.getDirectionalDerivative(outputs, self.refer(along), list(along.values()))}


def main(kind, *place):
    """Answer every line; after an error, reopen the library or model."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    host = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            host = host or {"library": HostLibrary, "model": Model}[kind](*place)
            answer = getattr(host, request["method"])(request)
        except Exception as error:
            answer, host = {"error": f"{error}", "type": type(error).__name__}, None
        print(json.dumps({**answer, "id": request["id"]}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
