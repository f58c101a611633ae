"""Tesseracts over HTTP: named inputs and outputs, and products with the derivative if the server has them.

Source: the OpenAPI document of each server, and https://docs.pasteurlabs.ai/projects/tesseract-core.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import GradcliError, refuse_unknown, unknown_name
from ...program.arguments import Path, by_path, missing_values
from ...request import Request
from ..claim import Arrays, CallError, Capabilities, Claim
from .http import Server
from .process import shorten_answer

APPLY, VJP, JVP = "/apply", "/vector_jacobian_product", "/jacobian_vector_product"


class Tesseract(Claim):
    """A Tesseract; several differentiable outputs are joined.

    Nested inputs and outputs have names such as material.stiffness and layers[0].w. paths: the server's names of the
    inputs that it differentiates.
    """

    def __init__(self, title: str, server: Server, inputs: Arrays, request: Request):
        self.connection, out = server, request.out
        document = server.ask("openapi.json")
        paths = document.get("paths") if isinstance(document, dict) else None
        if not isinstance(paths, dict) or APPLY not in paths:
            raise CallError(f"{title} is not a Tesseract: its openapi.json has no /apply")
        self.capabilities = Capabilities(vjp=VJP in paths, jvp=JVP in paths, costly=True)
        if VJP not in paths and JVP not in paths and not request.numeric:
            raise CallError(f"{title} gives no derivative: it has neither {VJP} nor {JVP}")
        schemas = object_at(object_at(document, "components"), "schemas")
        known = differentiable(schemas, "ApplyInputSchema")
        outlines = {name: outline for name in inputs if (outline := input_outline(name, known))}
        paths = {name: path for name, (path, _) in outlines.items()}
        if not known:  # the server has no schema
            paths = {n: ".".join(f"[{x}]" if isinstance(x, int) else x for x in Path.parse(n)) for n in inputs}
        self.paths = paths
        super().__init__(
            title, {name: in_declared_dtype(x, outlines.get(name, ("", {}))[1]) for name, x in inputs.items()}
        )
        self.wrt = self.choose(known, request.wrt)
        self.refuse_unknown(object_at(schemas, "Apply_InputSchema"))
        self.out, self.outputs = out, list(differentiable(schemas, "ApplyOutputSchema"))
        if out is not None and self.outputs and input_outline(out, dict.fromkeys(self.outputs)) is None:
            raise self.no_output([own_name(path) for path in self.outputs])
        self.shapes: dict[str, tuple[int, ...]] = {}

    def choose(self, known: Mapping[str, Any], wrt: Sequence[str] | None) -> list[str]:
        """Return the inputs to differentiate. Raises GradcliError for one that the server does not differentiate."""
        names = list(self.paths)
        for name in wrt or ():
            if name not in names:
                message = f"--wrt: {self.title} does not differentiate '{name}'"
                raise GradcliError(message, hint=f"it differentiates {', '.join(map(own_name, known))}", kind="name")
        if not names:
            words = " ".join(f"{own_name(path).replace('[]', '[0]')}=1" for path in known) or "x=1"
            message = f"{self.title} needs a value for an input that it differentiates"
            raise GradcliError(message, hint=f"add to the command line: {words}", kind="name")
        return names if wrt is None else list(wrt)

    def refuse_unknown(self, schema: Mapping[str, Any]) -> None:
        """Raise GradcliError for inputs that are not in the schema, and for required ones without a value."""
        properties, required = object_at(schema, "properties"), schema.get("required")
        if not properties:
            return
        heads = {str(Path.parse(name)[0]) for name in self.at}
        refuse_unknown(sorted(heads), properties, f"{self.title} has no input", "the inputs are")
        if missing := [name for name in (required if isinstance(required, list) else ()) if name not in heads]:
            raise missing_values(self.title, missing)

    def apply(self, arrays: Arrays) -> dict[str, Any]:
        """Return the server's outputs; the first answer determines their names and shapes."""
        self.budget.made += 1
        answer = self.document(APPLY, {"inputs": self.nest(arrays)})
        if not self.shapes:
            paths = [path for template in self.outputs or answer for path in paths_in(answer, template)]
            known = {own_name(path): path for path in paths}
            if self.out is not None and self.out not in known:
                raise self.no_output(known)
            self.outputs = paths if self.out is None else [known[self.out]]
            self.shapes = {name: decode_array(at_path(answer, name), name).shape for name in self.outputs}
        return answer

    def no_output(self, known: Iterable[str]) -> GradcliError:
        return unknown_name(f"--out: {self.title} has no '{self.out}'", str(self.out), known, "its outputs are")

    def nest(self, arrays: Arrays) -> dict[str, Any]:
        """Nest inputs by name; those without a derivative are sent as plain numbers."""
        return by_path({name: encode(x) if name in self.paths else x.tolist() for name, x in arrays.items()})

    def document(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that is an object. Raises CallError."""
        answer = self.connection.ask(path[1:], body)
        if not isinstance(answer, dict):
            raise CallError(f"{path}: the answer is not an object: {shorten_answer(answer)}")
        return answer

    def join_result(self, answer: Mapping[str, Any]) -> np.ndarray:
        """Return outputs as one array: a single one in its shape, several flattened and joined."""
        parts = [decode_array(at_path(answer, name), name) for name in self.outputs]
        for name, part in zip(self.outputs, parts, strict=True):
            if part.shape != self.shapes[name]:
                raise CallError(f"'{name}' has shape {part.shape}; at the first point it had {self.shapes[name]}")
        return parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return self.join_result(self.apply(arrays))

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        if not self.shapes:
            self.apply(arrays)
        sizes = [int(np.prod(self.shapes[name])) for name in self.outputs]
        parts = np.split(cotangent.reshape(-1), np.cumsum(sizes)[:-1])
        vector = {name: encode(part.reshape(self.shapes[name])) for name, part in zip(self.outputs, parts, strict=True)}
        wanted = {name: self.paths[name] for name in self.wrt}
        body = {"vjp_inputs": list(wanted.values()), "vjp_outputs": self.outputs, "cotangent_vector": vector}
        answer = self.document(VJP, {"inputs": self.nest(arrays), **body})
        return {name: decode_array(at_path(answer, path), f"{VJP}: '{name}'") for name, path in wanted.items()}

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        if not self.shapes:
            self.apply(arrays)
        vector = {self.paths[name]: encode(x) for name, x in tangents.items()}
        body = {"jvp_inputs": list(vector), "jvp_outputs": self.outputs, "tangent_vector": vector}
        return self.join_result(self.document(JVP, {"inputs": self.nest(arrays), **body}))


def differentiable(schemas: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the differentiable arrays of a schema by name, with shape and type if given."""
    listed = object_at(schemas, name).get("differentiable_arrays", {})
    if isinstance(listed, dict):
        return dict(listed)
    return {name: {} for name in listed if isinstance(name, str)} if isinstance(listed, list) else {}


def object_at(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = document.get(key)
    return inner if isinstance(inner, dict) else {}


def in_declared_dtype(x: Any, outline: Mapping[str, Any]) -> np.ndarray:
    raw = np.asarray(x)
    wanted = str(outline.get("dtype", "float64")) if outline and isinstance(outline, dict) else ""
    if wanted in ("float16", "float32", "float64"):
        return raw.astype(wanted)
    return raw if outline == {} or raw.dtype.kind in "fc" else raw.astype(float)


def encode(x: np.ndarray) -> Any:
    data = {"buffer": x.reshape(-1).tolist(), "encoding": "json"}
    return {"object_type": "array", "shape": list(x.shape), "dtype": str(x.dtype), "data": data}


def decode_array(document: Any, what: str) -> np.ndarray:
    try:
        if not isinstance(document, dict):
            return np.array(document, float)
        data, dtype = document["data"], np.dtype(document["dtype"])
        if dtype.kind not in "biufc":
            raise TypeError
        if data["encoding"] == "base64":
            return np.frombuffer(base64.b64decode(data["buffer"]), dtype).reshape(document["shape"])
        return np.array(data["buffer"], dtype).reshape(document["shape"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise CallError(f"{what} is not an array: {shorten_answer(document)}") from None


def at_path(document: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, which may be one key or lead into objects and lists. Raises CallError."""
    if path in document:
        return document[path]
    inner: Any = document
    for part in Path.parse(own_name(path)):
        try:
            inner = inner[part]
        except (KeyError, IndexError, TypeError):
            raise CallError(f"the answer has no '{path}': {shorten_answer(document)}") from None
    return inner


def own_name(path: str) -> str:
    """Return gradcli's name for a server's path: layers[0].w for layers.[0].{w}."""
    return re.sub(r"\{(.+?)\}", r"\1", path.replace(".[", "["))


def input_outline(name: str, known: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return an input's path and outline, if known. Schemas write layers.[].w for lists, layers.{}.w for objects."""
    parts = Path.parse(name)
    for template, outline in known.items():
        words = template.split(".")
        if len(words) != len(parts):
            continue
        pairs = list(zip(parts, words, strict=True))
        if all(isinstance(part, int) == (word == "[]") and word in (part, "[]", "{}") for part, word in pairs):
            forms = {"[]": "[{}]", "{}": "{{{}}}"}
            return ".".join(forms.get(word, "{}").format(part) for part, word in pairs), outline
    return None


def paths_in(answer: Any, template: str) -> list[str]:
    if template in answer:
        return [template]
    paths: list[tuple[str, Any]] = [("", answer)]
    for word in template.split("."):
        if word == "[]":
            paths = [(f"{path}.[{i}]", x) for path, inner in paths for i, x in enumerate(inner)]
        elif word == "{}":
            paths = [(f"{path}.{{{key}}}", x) for path, inner in paths for key, x in inner.items()]
        else:
            paths = [(f"{path}.{word}", at_path(inner, word)) for path, inner in paths]
    return [path.removeprefix(".") for path, _ in paths]
