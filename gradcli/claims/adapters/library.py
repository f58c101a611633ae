"""Functions of shared libraries, described by their declarations in C.

Parameters of derivatives are recognized by names as in Tapenade (xb, xd) and Enzyme (dx), and by x_b, x_bar, x_dot and
grad_x.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import GradcliError, refuse_unknown
from ...program.arguments import missing_values
from ...request import Request
from ...user.address import ADDRESS_KINDS
from ..claim import Arrays, CallError, Capabilities, Claim, GoneError
from . import ANSWER_SECONDS
from .process import Process, host_words

INTEGER_TYPES = {
    "int": "int", "signed": "int", "long": "long", "short": "short", "long long": "longlong",
    "unsigned": "uint", "unsigned long": "ulong", "unsigned long long": "ulonglong", "unsigned short": "ushort",
    "size_t": "size_t", "ssize_t": "ssize_t", "ptrdiff_t": "ssize_t",
    "int32_t": "int32", "int64_t": "int64", "uint32_t": "uint32", "uint64_t": "uint64",
}  # fmt: skip
"""Integer types in C, and their names in ctypes (without c_)."""
REAL_TYPES = {"double": "float64", "float": "float32"}
RESULT_TYPES = {"void": "void", **INTEGER_TYPES, **REAL_TYPES}
DECLARATION = re.compile(r"\s*(?P<returns>[\w\s*]*?[\s*])(?P<name>[A-Za-z_]\w*)\s*\((?P<rest>.*)\)\s*;?\s*\Z", re.S)
PARAMETER = re.compile(r"(?P<type>[\w\s]*?[\w\s])(?P<star>\*?)\s*\b(?P<name>[A-Za-z_]\w*)\s*(?P<length>(?:\[\w*\])*)\Z")
QUALIFIERS = re.compile(r"\b(?:const|restrict|__restrict|__restrict__|volatile|extern|static|inline|struct)\b")


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    path, declaration = split_address(text)
    if not os.path.isfile(path):
        raise GradcliError(f"no such file: {path}", kind="file")
    process = Process(host_words("library", path), path, request.timeout or ANSWER_SECONDS)
    return lambda inputs: Library(path, declaration, inputs, process, request)


def split_address(text: str) -> tuple[str, str]:
    match = ADDRESS_KINDS["library"].match(text)
    assert match is not None
    return match["path"], match["declaration"]


class CParameter(NamedTuple):
    """kind: whole, number, input (const double *) or output (double *). type: its name in NumPy or ctypes."""

    name: str
    kind: str
    type: str


class Declaration(NamedTuple):
    """A function. returns: the type's name in NumPy or ctypes, or void."""

    name: str
    returns: str
    parameters: tuple[CParameter, ...]


def read_declaration(text: str) -> Declaration:
    match = DECLARATION.match(text)
    if not match:
        message = f"'{text}' is not a declaration of a C function"
        raise GradcliError(
            message, hint="copy the line that declares it in the header, such as 'double f(int n, const double *x)'"
        )
    returns = plain_type(match["returns"])
    if returns not in RESULT_TYPES:
        raise GradcliError(f"'{text}': it returns {returns}, not double, float, int or void")
    rest = match["rest"].strip()
    words = [] if rest in ("", "void") else rest.split(",")
    parameters = tuple(read_parameter(word.strip(), text) for word in words)
    names = [p.name for p in parameters]
    if len(set(names)) != len(names):
        raise GradcliError(f"'{text}': two parameters have the same name")
    return Declaration(match["name"], RESULT_TYPES[returns], parameters)


def read_parameter(word: str, text: str) -> CParameter:
    plain = re.sub(r"\*\s*(?:const|restrict|__restrict|__restrict__)\s*", "*", word)
    match = PARAMETER.match(plain)
    if not match:
        raise GradcliError(f"'{text}': the parameter '{word}' cannot be read", hint="every parameter needs a name")
    kind, is_array = plain_type(match["type"]), bool(match["star"] or match["length"])
    if (match["star"] and match["length"]) or match["length"].count("[") > 1 or (is_array and kind not in REAL_TYPES):
        raise GradcliError(f"'{text}': '{word}' is not an array of double or float")
    if kind in REAL_TYPES:
        is_input = bool(re.search(r"\bconst\b", match["type"]))
        return CParameter(
            match["name"], ("input" if is_input else "output") if is_array else "number", REAL_TYPES[kind]
        )
    if kind not in INTEGER_TYPES:
        raise GradcliError(f"'{text}': '{word}' has an unknown type: {kind}")
    return CParameter(match["name"], "whole", INTEGER_TYPES[kind])


def plain_type(words: str) -> str:
    """Return a type without qualifiers: `const long int` is long."""
    return " ".join(QUALIFIERS.sub(" ", words).split()).removesuffix(" int")


MOST_SENT_TOGETHER = 16  # elements that move in points that are sent together: a choice
ANSWER_TOGETHER = 1.0  # seconds: points whose calls take longer together are sent one by one
REVERSE = ("{}_b", "{}b", "{}_bar", "{}bar", "d{}", "d_{}", "grad_{}", "{}_grad", "g{}", "g_{}", "{}_g")
"""Names of the cotangent or the gradient of {}."""
FORWARD = ("{}_d", "{}d", "{}_dot", "{}dot", "d{}", "d_{}", "{}_t", "{}t")  # of the tangent


class Library(Claim):
    """A C function and derivatives from its library; integers without a value are sizes. process: runs the library."""

    by_tangent = True

    def __init__(self, path: str, declaration: str, inputs: Arrays, process: Process, request: Request):
        self.f = read_declaration(declaration)
        given = (request.grad, request.vjp, request.jvp)
        self.grad, self.back, self.forward = (text and read_declaration(text) for text in given)
        self.advice = f"--grad 'void {self.f.name}_grad(int n, const double *x, double *g)', as declared in its header"
        self.capabilities = Capabilities(vjp=bool(self.grad or self.back), jvp=bool(self.forward), costly=True)
        # inputs are numbers, const arrays, and other arrays with a given value
        names = [p.name for p in self.f.parameters if p.kind != "whole" and (p.kind != "output" or p.name in inputs)]
        super().__init__(f"{path}:{self.f.name}", self.points(names, inputs))
        whole = [p.name for p in self.f.parameters if p.kind == "whole"]
        self.whole_numbers = {name: inputs[name] for name in whole if name in inputs}
        self.wrt = names if request.wrt is None else list(request.wrt)
        self.result = self.output_of(request.out)
        self.derivatives: list[Any] = [function for function in (self.grad, self.back, self.forward) if function]
        self.result_shape = self.output_shape(request.shapes)
        self.connection = process
        self.seconds = math.inf  # how long the last call took
        for function in (self.f, *self.derivatives):
            self.sizes(function)
        for function in self.derivatives:
            self.roles(function)

    def points(self, names: list[str], inputs: Arrays) -> dict[str, np.ndarray]:
        """Return the inputs in their declared types. Raises GradcliError for missing and unknown ones."""
        known = [p.name for p in self.f.parameters]
        refuse_unknown(inputs, known, f"{self.f.name} has no parameter", "its parameters are")
        if missing := [name for name in names if name not in inputs]:
            raise missing_values(self.f.name, missing)
        if not names:
            hint = "add to the command line: x=1"
            raise GradcliError(f"{self.f.name} needs a value for an input", hint=hint, kind="name")
        points = {}
        for p in self.f.parameters:
            if p.name in names:
                x = np.asarray(inputs[p.name])
                if x.dtype.kind not in "biuf":
                    raise GradcliError(f"{self.f.name}: '{p.name}' must be real numbers", kind="value")
                if p.kind == "number" and x.ndim:
                    raise GradcliError(f"{self.f.name}: '{p.name}' must be a single number", kind="shape")
                points[p.name] = (x if p.kind == "number" else np.atleast_1d(x)).astype(p.type)
        return points

    def output_of(self, out: str | None) -> CParameter:
        """Return the parameter that is the output; a returned number has the function's name."""
        written = [p for p in self.f.parameters if p.kind == "output" and p.name not in self.at]
        candidates = written
        if self.f.returns in REAL_TYPES.values():
            candidates = [CParameter(self.f.name, "number", self.f.returns)]
        if out is not None:
            candidates = [p for p in candidates if p.name == out]
        if len(candidates) != 1:
            names = ", ".join(p.name for p in written)
            what = f"several outputs: {names}" if names else "no output: it returns no number and has no double *"
            hint = f"choose one with --out: {names}" if names else None
            raise GradcliError(f"{self.f.name} has {what}", hint=hint)
        return candidates[0]

    def output_shape(self, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        if self.result.kind == "number":
            return ()
        if self.result.name in shapes:
            return shapes[self.result.name]
        if "m" in self.whole_numbers:
            return (int(self.whole_numbers["m"]),)
        mine = (self.result.name, f"{self.result.name}'")
        for function in self.derivatives:
            roles = self.roles(function)
            if any(p.kind == "number" and roles[p.name] in mine for p in function.parameters if p.kind != "whole"):
                return ()  # a single number, because a derivative takes it by value
        message = f"{self.f.name}: the size of '{self.result.name}' is unknown"
        raise GradcliError(message, hint=f"pass its shape, such as --shape {self.result.name}=3")

    def sizes(self, function: Declaration) -> dict[str, int]:
        """Return the values of a function's integers. Raises GradcliError for an unknown one."""
        arrays = [p.name for p in self.f.parameters if p.name in self.at and p.kind != "number"]
        sizes: dict[str, int] = {}
        of_first = False
        for p in function.parameters:
            if p.kind != "whole":
                continue
            own = [name for name in arrays if p.name in (f"n{name}", f"n_{name}", f"{name}_n", f"len_{name}")]
            if p.name in self.whole_numbers:
                sizes[p.name] = whole_number(p.name, self.whole_numbers[p.name])
            elif p.name == "m":
                sizes[p.name] = math.prod(self.result_shape)
            elif own:
                sizes[p.name] = self.at[own[0]].size
            elif arrays and not of_first:
                sizes[p.name], of_first = self.at[arrays[0]].size, True
            else:
                raise missing_values(function.name, [p.name])
        return sizes

    def roles(self, function: Declaration) -> dict[str, str]:
        """Return the role of each array and number of a derivative, by name.

        The role `x` is the value of an input or the output; `x'` is its gradient, cotangent or tangent. Raises
        GradcliError for a name without a recognizable role.
        """
        known, habits = [*self.at, self.result.name], FORWARD if function is self.forward else REVERSE
        parameters = [p for p in function.parameters if p.kind != "whole"]
        belongs = {habit.format(name): f"{name}'" for name in known for habit in habits}
        roles = {p.name: p.name if p.name in known else belongs.get(p.name, "") for p in parameters}
        into, back = self.sides(function)
        for side, kinds in ((back, ("output",)), (self.wrt, ("output",)), (into, ("input", "number"))):
            free = [p.name for p in parameters if not roles[p.name] and p.kind in kinds]
            wanted = [f"{name}'" for name in side if f"{name}'" not in roles.values()]
            if free and len(free) == len(wanted):
                roles.update(zip(free, wanted, strict=True))
        if open_ := [name for name, role in roles.items() if not role]:
            hint = f"name it after an input or the output: {self.wrt[0]}_b, d{self.wrt[0]} or grad_{self.wrt[0]}"
            raise GradcliError(f"{function.name}: the role of '{open_[0]}' is not clear", hint=hint)
        returned = back if function.returns in REAL_TYPES.values() and len(back) == 1 else []
        wanted = [name for name in back if name in self.wrt or name == self.result.name]
        if lacking := [name for name in wanted if f"{name}'" not in roles.values() and name not in returned]:
            raise GradcliError(f"{function.name} gives no derivative for '{lacking[0]}'")
        return roles

    def sides(self, function: Declaration) -> tuple[list[str], list[str]]:
        """Return the names of the vectors that a derivative takes, and of those that it returns."""
        if function is self.forward:
            return list(self.at), [self.result.name]
        return ([] if function is self.grad else [self.result.name]), list(self.at)

    def call(self, function: Declaration, values: Mapping[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        """Call a function; return its result, and its output arrays after the call. Raises CallError."""
        request = {"function": function.name, "returns": function.returns}
        began = time.monotonic()
        answer = self.connection.ask("call", {**request, "arguments": self.arguments(function, values)})
        self.seconds = time.monotonic() - began
        return self.results(function, answer)

    def arguments(self, function: Declaration, values: Mapping[str, Any]) -> list[Any]:
        given = {**self.sizes(function), **values}
        return [[p.type, as_json_argument(p, given[p.name]), p.kind == "output"] for p in function.parameters]

    def results(self, function: Declaration, answer: Mapping[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        if "error" in answer:
            raise CallError(f"{self.title}: {answer['error']}")
        if function.returns not in ("void", *REAL_TYPES.values()) and answer["returned"]:
            raise CallError(f"{function.name} returned the error code {answer['returned']}")
        written = [p for p in function.parameters if p.kind == "output"]
        after = {p.name: array_in(text, p.type) for p, text in zip(written, answer["arrays"], strict=True)}
        return answer["returned"], after

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        self.budget.made += 1
        return self.output_in(*self.call(self.f, {**self.zeros, **arrays}))

    @property
    def zeros(self) -> dict[str, np.ndarray]:
        return {p.name: np.zeros(self.result_shape) for p in self.f.parameters if p.kind == "output"}

    def values(self, stacks: Arrays, count: int, like: np.ndarray) -> np.ndarray:
        """Return f at several points; if calls are fast and few elements move, ask for all of them in one request."""
        rows = [self.changes({name: x[i] for name, x in stacks.items()}) for i in range(count)]
        moved = max((len(change) for row in rows for change in row if isinstance(change, list)), default=0)
        if count > 1 and moved <= MOST_SENT_TOGETHER and self.seconds * count < ANSWER_TOGETHER:
            self.budget.require(count)
            request = {"function": self.f.name, "returns": self.f.returns, "rows": rows}
            with contextlib.suppress(CallError, GoneError):  # calls one by one show which of them failed
                arguments = self.arguments(self.f, {**self.zeros, **self.at})
                answer = self.connection.ask("call_all", {**request, "arguments": arguments})
                outputs = [self.output_in(*self.results(self.f, one)) for one in answer.get("answers", [answer])]
                self.budget.made += count
                return np.array(outputs, like.dtype)
        return super().values(stacks, count, like)

    def changes(self, arrays: Arrays) -> list[Any]:
        """Return how the arguments at other inputs differ from those at the point: new numbers, places of arrays."""
        found: list[Any] = []
        for p in self.f.parameters:
            x, at = arrays.get(p.name), self.at.get(p.name)
            if x is None or at is None:
                found.append(None)
            elif p.kind == "number":
                found.append(x.item())
            else:
                new = x.reshape(-1)
                places = np.flatnonzero(new != at.reshape(-1))
                found.append(list(zip(places.tolist(), new[places].tolist(), strict=True)))
        return found

    def output_in(self, returned: Any, after: Mapping[str, np.ndarray]) -> np.ndarray:
        if self.result.kind == "number":
            return np.array(returned, self.result.type)
        return after[self.result.name].reshape(self.result_shape)

    def derivative(self, function: Declaration, arrays: Arrays, given: Arrays) -> dict[str, np.ndarray]:
        """Return the results of a derivative by input or output name. given: cotangents or tangents."""
        roles, (_, back), values = self.roles(function), self.sides(function), {}
        result = self.result_shape if self.out_tangent is None else self.out_tangent
        shapes = {**{name: self.tangents.get(name, x.shape) for name, x in self.at.items()}, self.result.name: result}
        if function is self.grad:
            shapes = {name: result + shape for name, shape in shapes.items()}
        for p in function.parameters:
            role = roles.get(p.name, "")
            if role == self.result.name:
                values[p.name] = self.output(arrays) if p.kind == "input" else np.zeros(self.result_shape)
            elif role in arrays:
                values[p.name] = arrays[role]
            elif role:
                name = role[:-1]
                values[p.name] = given.get(name, np.zeros(shapes[name]))
        returned, after = self.call(function, values)
        gained = {name: role[:-1] for name, role in roles.items() if name in after and role.endswith("'")}
        results = {of: after[name].reshape(shapes[of]) for name, of in gained.items() if of in back}
        if function.returns in REAL_TYPES.values() and len(back) == 1 and back[0] not in results:
            results[back[0]] = np.array(returned, function.returns).reshape(shapes[back[0]])
        return results

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        if self.back:
            return self.derivative(self.back, arrays, {self.result.name: cotangent})
        assert self.grad
        gradients = self.derivative(self.grad, arrays, {})
        return {name: np.tensordot(cotangent, gradients[name], cotangent.ndim) for name in self.wrt}

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        assert self.forward
        return self.derivative(self.forward, arrays, tangents)[self.result.name]


def as_json_argument(p: CParameter, x: Any) -> Any:
    """Return a value for JSON; an array is a text in base64."""
    if p.kind == "whole":
        return x
    raw = np.asarray(x, p.type)
    if p.kind != "number":
        return base64.b64encode(raw.tobytes()).decode("ascii")
    if raw.size != 1:
        message = f"'{p.name}' is declared as one number, but has {raw.size} elements"
        raise GradcliError(message, hint=f"declare it as an array: const double *{p.name}", kind="shape")
    return raw.item()


def array_in(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind).copy()


def whole_number(name: str, x: Any) -> int:
    raw = np.asarray(x)
    if raw.ndim or raw.dtype.kind not in "iuf" or raw != np.round(raw):
        raise GradcliError(f"'{name}' must be an integer", kind="value")
    return int(raw)
