"""Stubs for type checkers and editors, for names of the package that are looked up at run time.

The functions of the table have no `def` that a type checker could read. Their stubs have the signatures that `help`
shows. A result is a Tensor if the table says so; unknown types are Any.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import gradcli
from gradcli.api.ndarray import TwoMeanings
from gradcli.api.wrap import OFFERED_METHODS
from gradcli.rules import by_torch
from gradcli.rules.table import ELEMENTWISE
from gradcli.tape import operators
from gradcli.tape.tensor import Tensor

HEAD = """# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any
"""
ROOT = Path(__file__).parents[2]
PLAIN = {"bool", "int", "float", "complex", "str", "None", "Any", "Tensor"}
CALLED = {
    "gradcli.check": "gradcli.check.declare",
    "gradcli.autograd.gradcheck": "gradcli.check.pytorch",
    "gradcli.numeric": "gradcli.analysis.numeric_derivatives",
}
"""Callable modules, with the module of the function that a call runs."""
INTS = set("dim ndimension nelement numel".split())
TUPLES = set("array_split broadcast_arrays dsplit eig eigh hsplit slogdet svd unstack vsplit".split())
"""Functions without annotations whose result is not a tensor (`is_...`: a bool)."""


class Text:
    """Text that a signature shows unquoted."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


DEFAULT = Text("...")


def annotation(text: Any, function: Callable) -> str:
    """Return an annotation if a stub can express it, otherwise Any. Builtin names are qualified, to avoid clashes."""
    words = re.split(r" \| ", text) if isinstance(text, str) else ["?"]
    if set(words) <= PLAIN:
        return " | ".join(f"builtins.{word}" if hasattr(builtins, word) and word != "None" else word for word in words)
    if words == ["tuple"]:
        return "builtins.tuple[Any, ...]"
    found = inspect.unwrap(function).__globals__.get(text)
    if inspect.isclass(found) and found.__module__.startswith("gradcli."):
        return f"{found.__module__}.{found.__qualname__}"
    return "Any"


def result_of(name: str, function: Callable, says: Any) -> str:
    """Return the type of a function's result: its annotation, if any. Functions made from entries have none."""
    if inspect.getmodule(function) is operators:
        return "Tensor"  # the recorder of an elementwise function
    if says is not inspect.Signature.empty:
        return annotation(says, function)
    if name.startswith("is_") or name in INTS:
        return f"builtins.{'int' if name in INTS else 'bool'}"
    return "Any" if name in TUPLES else "Tensor"


def definition(name: str, function: Callable, is_method: bool = False) -> str:
    """Return a function as a line of a stub."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"def {name}({'self, ' * is_method}*args: Any, **kwargs: Any) -> Any: ..."
    result = result_of(name, function, signature.return_annotation)
    parameters = list(signature.parameters.values())
    if is_method and parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        parameters = parameters[1:]
    texts = [
        p.replace(
            annotation=Text(annotation(p.annotation, function)),
            default=DEFAULT if p.default is not p.empty else p.empty,
        )
        for p in parameters
    ]
    shown = str(inspect.Signature(texts))
    shown = shown.replace("(", "(self, " if texts else "(self", 1) if is_method else shown
    return f"def {name}{shown} -> {result}: ..."


def is_readable(value: Any, module: ModuleType) -> bool:
    """Return whether a type checker can read the definition of a class or function in its own module."""
    home = inspect.getmodule(value)
    if home in (None, module) or getattr(home, getattr(value, "__name__", ""), None) is not value:
        return False
    if inspect.isclass(value):
        return True
    says = inspect.signature(value).return_annotation if isinstance(value, FunctionType) else ""
    return isinstance(value, FunctionType) and (not hasattr(value, "__wrapped__") or str(says).startswith("Iterator"))


def line(name: str, module: ModuleType) -> str:
    """Return the line of a module's stub for one public name."""
    value = getattr(module, name)
    if isinstance(value, ModuleType):
        package, _, last = value.__name__.rpartition(".")
        package = CALLED.get(value.__name__, package)
        return f"from {package} import {last} as {name}"
    if is_readable(value, module):
        home, own = value.__module__, value.__name__
        return f"from {home} import {own} as {name}" if own == name else f"{name} = {home}.{own}"
    if callable(value):
        return definition(name, value)
    kind = type(value)
    return f"{name}: " + (f"builtins.{kind.__name__}" if hasattr(builtins, kind.__name__) else qualified(kind))


def qualified(kind: type) -> str:
    return "None" if kind is type(None) else f"{kind.__module__}.{kind.__name__}"


def write_stub(body: list[str]) -> str:
    """Return the text of a stub, with imports of the modules that its lines name."""
    homes = sorted({home for text in body for home in re.findall(r"(?:-> |: |= )(gradcli[\w.]*)\.\w+", text)})
    imports = [f"import {home}" for home in homes]
    if not any(text.endswith(" as Tensor") for text in body):
        imports.append("from gradcli.tape.tensor import Tensor")
    return "\n".join([HEAD, *imports, "", *body]) + "\n"


def module_stub(module: ModuleType, names: Iterable[str]) -> str:
    lines = [line(name, module) for name in names]
    return write_stub(sorted(lines, key=lambda text: (not text.startswith("from "), text)))


def is_offered(name: str) -> bool:
    """Return whether a name is offered to users. The parts of which entries are composed are not."""
    found = by_torch(name)
    return name.isidentifier() and (found is None or found[0].public or bool(found[1]))


def methods_stub() -> str:
    """Return the stub of Tensor methods that are looked up by name, with in-place forms of elementwise ones."""
    names = sorted(filter(is_offered, {*gradcli.offered_names(), *OFFERED_METHODS}))
    elementwise = {name for name in names if (found := by_torch(name)) and found[0].pattern == ELEMENTWISE}
    names = sorted({*names, *(f"{name}_" for name in elementwise if not name.endswith("_"))})
    methods = {name: method for name in names if (method := gradcli.find_method(name)) is not None}
    own = {name for name, x in vars(Tensor).items() if not isinstance(x, TwoMeanings) and x is not methods.get(name)}
    looked_up = {name: m for name, m in methods.items() if name not in own}
    lines = [definition(name, method, is_method=True) for name, method in looked_up.items()]
    lines.append(definition("backward", Tensor.backward, is_method=True))
    lines += [f"def __{name}__(self) -> Tensor: ..." for name in ("neg", "pos", "abs", "invert")]
    reflected = [f"r{name}" for name in (*operators.BINARY, *operators.BITS)]
    for name in (*operators.BINARY, *operators.BITS, *reflected, *operators.COMPARISON_METHODS):
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"def __{name}__(self, other: Any) -> Tensor: ...{ignored}")
    lines += ["def __setitem__(self, key: Any, value: Any) -> None: ...", "__record__: Any"]
    return write_stub(["class Methods:", *(f"    {text}" for text in lines)])


def stubs() -> dict[str, str]:
    """Return the text of every stub by its path in the project."""
    own = [
        *filter(is_offered, gradcli.offered_names()),
        "__version__",
        "offered_names",
        "find_method",
        "find_attribute",
    ]
    texts = {"__init__": module_stub(gradcli, own), "tape/methods": methods_stub()}
    for path in ("fft", "linalg", "special", "nn/functional", "nn/__init__", "autograd/__init__"):
        module = import_module(f"gradcli.{path.removesuffix('/__init__').replace('/', '.')}")
        parts = vars(module).get("AUTOGRAD_SUBMODULES", {})
        texts[path] = module_stub(module, [*module.__all__, *parts])
        for name in parts:
            part = import_module(f"{module.__name__}.{name}")
            texts[f"{module.__name__.removeprefix('gradcli.')}/{name}"] = module_stub(part, part.__all__)
    return {f"gradcli/{path}.pyi": text for path, text in texts.items()}
