"""Evaluates a Functional Mock-up Unit for another process: JSON lines on standard input and output.

It imports nothing of gradcli, and is executed as a file, so that what the model breaks is this process alone. What
the model prints goes to standard error. The model stays in initialization mode, where FMI 2.0 (section 2.1.6) lets
inputs and parameters be set, and outputs and directional derivatives be asked, at one instant.
"""

from __future__ import annotations

import json
import os
import sys

import fmpy
from fmpy.fmi2 import FMU2Model, FMU2Slave


class Model:
    """A model in initialization mode. folder: where its binaries are unpacked."""

    def __init__(self, path, folder):
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
        """Return the inputs and parameters with their values, the outputs, and whether there are derivatives."""
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
        """Return the derivative of outputs at inputs along a direction."""
        self.unit.setReal(self.refer(request["inputs"]), list(request["inputs"].values()))
        outputs, along = self.refer(request["outputs"]), request["direction"]
        return {"outputs": self.unit.getDirectionalDerivative(outputs, self.refer(along), list(along.values()))}


def main(path, folder):
    """Answer every line; after an error with a model that is made anew."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    model = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            model = model or Model(path, folder)
            answer = getattr(model, request["method"])(request)
        except Exception as error:
            answer, model = {"error": f"{type(error).__name__}: {error}"}, None
        print(json.dumps({**answer, "id": request["id"]}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
