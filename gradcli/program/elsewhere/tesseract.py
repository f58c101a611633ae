"""Tesseracts behind HTTP: inputs and outputs by name, products with the derivative where the server has them.

Source: the OpenAPI document that each of them serves, and https://docs.pasteurlabs.ai/projects/tesseract-core.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import GradcliError, did_you_mean
from .base import Arrays, Elsewhere, ElsewhereError
from .http import Server
from .umbridge import shortened

VJP, JVP = "/vector_jacobian_product", "/jacobian_vector_product"


class Tesseract(Elsewhere):
    """A Tesseract; several differentiable outputs are laid end to end.

    Inputs inside of others have dotted names (material.stiffness). out: the one output that is meant. wrt: the
    inputs to differentiate, all that can be unless given.
    """

    def __init__(
        self, title: str, server: Server, inputs: Arrays, *, out: str | None = None, wrt: Sequence[str] | None = None
    ):
        self.server = server
        document = server.get("/openapi.json")
        paths = document.get("paths") if isinstance(document, dict) else None
        if not isinstance(paths, dict) or "/apply" not in paths:
            raise ElsewhereError(f"{title} is no Tesseract: its openapi.json names no /apply")
        self.has_vjp, self.has_jvp = VJP in paths, JVP in paths
        if not (self.has_vjp or self.has_jvp):
            raise ElsewhereError(f"{title} gives no derivative: it has neither {VJP} nor {JVP}")
        schemas = document.get("components", {}).get("schemas", {})
        known = differentiable(schemas, "ApplyInputSchema")
        self.known = set(known)
        super().__init__(title, {name: typed(x, known.get(name, {})) for name, x in inputs.items()})
        self.wrt = self.choose(known, wrt)
        self.refuse_unknown(schemas.get("Apply_InputSchema", {}))
        self.out, self.outputs = out, list(differentiable(schemas, "ApplyOutputSchema"))
        self.shapes: dict[str, tuple[int, ...]] = {}

    def choose(self, known: Mapping[str, Any], wrt: Sequence[str] | None) -> list[str]:
        """Return the inputs to differentiate. Raises GradcliError for one that cannot be."""
        found = [name for name in self.inputs if not known or name in known]
        for name in wrt or ():
            if name not in found:
                raise GradcliError(
                    f"--wrt: {self.title} does not differentiate '{name}'",
                    hint=f"it does {', '.join(known)}",
                    kind="name",
                )
        if not found:
            words = " ".join(f"{name}=1" for name in known) or "x=1"
            raise GradcliError(
                f"{self.title} needs values for what it differentiates",
                hint=f"add to the command line: {words}",
                kind="name",
            )
        return found if wrt is None else list(wrt)

    def refuse_unknown(self, schema: Mapping[str, Any]) -> None:
        """Raise GradcliError for inputs that the schema lacks, and for those without a value."""
        properties = schema.get("properties")
        if not properties:
            return
        heads = {name.partition(".")[0] for name in self.inputs}
        for name in sorted(heads - set(properties)):
            hint = did_you_mean(name, properties) or f"the inputs are {', '.join(properties)}"
            raise GradcliError(f"{self.title} has no input '{name}'", hint=hint, kind="name")
        missing = [name for name in schema.get("required", ()) if name not in heads]
        if missing:
            listed, words = ", ".join(f"'{name}'" for name in missing), " ".join(f"{name}=1" for name in missing)
            raise GradcliError(
                f"{self.title} needs a value for {listed}", hint=f"add to the command line: {words}", kind="name"
            )

    def apply(self, arrays: Arrays) -> dict[str, Any]:
        """Return the outputs as the server gives them; see from the first what there is."""
        self.calls += 1
        found = self.document("/apply", {"inputs": self.nested(arrays)})
        if not self.shapes:
            known = self.outputs or list(found)
            if self.out is not None and self.out not in known:
                hint = did_you_mean(self.out, known) or f"its outputs are {', '.join(known)}"
                raise GradcliError(f"--out: {self.title} has no '{self.out}'", hint=hint, kind="name")
            self.outputs = known if self.out is None else [self.out]
            self.shapes = {name: decoded(at_path(found, name), name).shape for name in self.outputs}
        return found

    def nested(self, arrays: Arrays) -> dict[str, Any]:
        """Return inputs by dotted name as one object of objects; those without a derivative may be plain numbers."""
        found: dict[str, Any] = {}
        for name, x in arrays.items():
            *heads, last = name.split(".")
            inner = found
            for head in heads:
                inner = inner.setdefault(head, {})
            inner[last] = encoded(x) if name in self.known else x.tolist()
        return found

    def document(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that is an object. Raises ElsewhereError."""
        found = self.server.post(path, body)
        if not isinstance(found, dict):
            raise ElsewhereError(f"{path}: the answer is no object: {shortened(found)}")
        return found

    def joined(self, found: Mapping[str, Any]) -> np.ndarray:
        """Return outputs by name as one array: the only one in its shape, several end to end."""
        parts = [decoded(at_path(found, name), name) for name in self.outputs]
        for name, part in zip(self.outputs, parts, strict=True):
            if part.shape != self.shapes[name]:
                raise ElsewhereError(
                    f"'{name}' has shape {part.shape}; at the first point it had {self.shapes[name]}"
                )
        return parts[0] if len(parts) == 1 else np.concatenate([part.reshape(-1) for part in parts])

    def value(self, arrays: Arrays) -> np.ndarray:
        """Return the chosen outputs."""
        return self.joined(self.apply(arrays))

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the server gives for the chosen outputs."""
        if not self.shapes:
            self.apply(arrays)
        sizes = [int(np.prod(self.shapes[name])) for name in self.outputs]
        parts = np.split(cotangent.reshape(-1), np.cumsum(sizes)[:-1])
        vector = {
            name: encoded(part.reshape(self.shapes[name])) for name, part in zip(self.outputs, parts, strict=True)
        }
        body = {"vjp_inputs": self.wrt, "vjp_outputs": self.outputs, "cotangent_vector": vector}
        found = self.document(VJP, {"inputs": self.nested(arrays), **body})
        return {name: decoded(at_path(found, name), f"{VJP}: '{name}'") for name in self.wrt}

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        """Return what the server gives for tangents."""
        if not self.shapes:
            self.apply(arrays)
        vector = {name: encoded(x) for name, x in tangents.items()}
        body = {"jvp_inputs": list(tangents), "jvp_outputs": self.outputs, "tangent_vector": vector}
        return self.joined(self.document(JVP, {"inputs": self.nested(arrays), **body}))

    def close(self) -> None:
        """Close the connection."""
        self.server.close()


def differentiable(schemas: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what a schema can be differentiated by: shape and type by name, where it tells them."""
    found = schemas.get(name, {}).get("differentiable_arrays", {})
    return dict(found) if isinstance(found, dict) else {name: {} for name in found}


def typed(x: Any, outline: Mapping[str, Any]) -> np.ndarray:
    """Return an input in the type that the server computes in."""
    raw, wanted = np.asarray(x), str(outline.get("dtype", "float64") if outline else "")
    if wanted in ("float16", "float32", "float64"):
        return raw.astype(wanted)
    return raw if outline == {} or raw.dtype.kind in "fc" else raw.astype(float)


def encoded(x: np.ndarray) -> Any:
    """Return an array as JSON."""
    data = {"buffer": x.reshape(-1).tolist(), "encoding": "json"}
    return {"object_type": "array", "shape": list(x.shape), "dtype": str(x.dtype), "data": data}


def decoded(found: Any, what: str) -> np.ndarray:
    """Return an array from JSON. Raises ElsewhereError."""
    try:
        if not isinstance(found, dict):
            return np.array(found, float)
        data, dtype = found["data"], np.dtype(found["dtype"])
        if data["encoding"] == "base64":
            return np.frombuffer(base64.b64decode(data["buffer"]), dtype).reshape(found["shape"])
        return np.array(data["buffer"], dtype).reshape(found["shape"])
    except (KeyError, TypeError, ValueError):
        raise ElsewhereError(f"{what} is no array: {shortened(found)}") from None


def at_path(found: Mapping[str, Any], name: str) -> Any:
    """Return what stands under a dotted name, as one key or inside objects. Raises ElsewhereError."""
    if name in found:
        return found[name]
    inner: Any = found
    for part in name.split("."):
        if not isinstance(inner, dict) or part not in inner:
            raise ElsewhereError(f"the answer has no '{name}': {shortened(found)}")
        inner = inner[part]
    return inner
