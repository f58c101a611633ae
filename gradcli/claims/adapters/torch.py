"""Functions, custom Functions, operators and modules of PyTorch."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...errors import GradcliError
from ...program.arguments import Arguments, Path, arrays_in, call_with, forward_parameters, tensor_data
from ...user.frameworks import reachable_from
from ...user.tracebacks import place_of_return
from ..claim import Arrays, CallError, Claim, Difference
from .framework import FrameworkCall
from .torch_calls import (
    as_given,
    differences_of_calls,
    functions_in,
    gradient_arrays,
    is_torch_float,
    nodes_of,
    operator_behind,
    tensor_copy,
)


class TypesComputed(TorchFunctionMode):
    """A context that notes the types of all tensors computed in it, including those in custom Functions."""

    def __init__(self) -> None:
        super().__init__()
        self.types: set[torch.dtype] = set()

    def __torch_function__(self, function: Any, _: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        parts = result if isinstance(result, tuple | list) else (result,)
        self.types.update(x.dtype for x in parts if isinstance(x, torch.Tensor))
        return result


TORCH_OPERATORS = (torch._library.custom_ops.CustomOpDef, torch._ops.OpOverload, torch._ops.OpOverloadPacket)
WIDER_TYPES = {torch.float32: torch.float64, torch.complex64: torch.complex128}
SMALL_INPUTS = 10_000
"""Below this many elements, one thread is used: several threads took 9 ms instead of 60 us on a busy machine."""


class Adapter(FrameworkCall):
    """A call in PyTorch: reverse mode by torch.autograd.grad, forward mode by torch.autograd.forward_ad."""

    engine = "torch"
    records = False  # whether values need a graph, because the function differentiates inside or registers hooks

    @classmethod
    def of(
        cls, function: Any, given: Mapping[str, Any], title: str, dtype: str | None, wrt: Sequence[str] | None = None
    ) -> FrameworkCall:
        function = as_callable(function, title)
        if isinstance(function, torch.nn.Module):
            return ModuleCall(function, given, title, dtype, wrt)
        if wrt is None and (constants := getattr(function, "constants", ())):
            wrt = [name for name in given if name not in constants]
        return super().of(function, given, title, dtype, wrt)

    @classmethod
    def signature(cls, function: Any, title: str) -> tuple[list[inspect.Parameter], list[str]] | None:
        function = as_callable(function, title)
        if isinstance(function, torch.nn.Module):
            signature = super().signature(forward_with_names(function), title)
            return signature and (signature[0], [name for name, p in function.named_parameters() if p.requires_grad])
        return super().signature(function, title)

    def __init__(self, function: Callable, arguments: Arguments, title: str, *, dtype: str | None = None):
        self.reached = tensors_behind(function)
        super().__init__(function, arguments, title, dtype=dtype)

    @classmethod
    def on_device(cls, device: str) -> contextlib.AbstractContextManager:
        if device == "cuda" and not torch.cuda.is_available():
            raise GradcliError(f"PyTorch {torch.__version__} finds no CUDA device")
        return torch.device(device)

    def precision(self, narrow: bool) -> contextlib.AbstractContextManager:
        return DefaultPrecision(self.reached, narrow, sum(x.size for x in self.arguments.arrays.values()))

    @staticmethod
    def array(x: np.ndarray) -> Any:
        return tensor_copy(x)

    def shortened(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(getattr(torch, str(self.short))) if x.is_floating_point() else x

    def compute(self, at: Arrays) -> Any:
        try:
            with torch.set_grad_enabled(self.records):
                return self.join_result(self.result({name: self.as_argument(x) for name, x in at.items()})).detach()
        except RuntimeError as error:
            if self.records or "require" not in str(error) or "grad" not in str(error):
                raise
        self.records = True
        return self.compute(at)

    def as_argument(self, x: np.ndarray) -> torch.Tensor:
        return as_given(tensor_copy(x).requires_grad_()) if self.records else tensor_copy(x)

    def record(self, at: Arrays, chosen: Collection[str] | None = None) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Return leaves (those chosen, or all, require grad) and the joined output with its graph."""
        with torch.enable_grad():
            leaves = {n: tensor_copy(x).requires_grad_(chosen is None or n in chosen) for n, x in at.items()}
            result = self.result({name: as_given(x) for name, x in leaves.items()})
            if isinstance(result, float | np.ndarray):
                what, method = ("a float", "item") if isinstance(result, float) else ("an array", "numpy")
                raise CallError(f"{self.title} returned {what}, not a tensor: return it without .{method}()")
            return leaves, self.join_result(result)

    def short_types(self) -> Iterator[tuple[float, str]]:
        with TypesComputed() as computed:
            self.evaluate(self.claimed(self.at))
        for dtype in computed.types:
            if dtype.is_floating_point and dtype.itemsize <= 2:
                yield torch.finfo(dtype).eps / 2, str(dtype).removeprefix("torch.")

    def linearize(self, at: Arrays) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]:
        leaves, out = self.record(at)
        return tensor_data(out), functools.partial(pull_leaves, leaves, out)

    def pull_of(self, arrays: Arrays, cotangent: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray] | None:
        at = self.claimed(arrays)
        self.budget.made += 1
        with self.running(self.is_narrow(at)):
            leaves, out = self.record(at, names)
            with self.failing_backward():
                return pull_leaves({n: leaves[n] for n in names}, out, cotangent) if functions_in(out.grad_fn) else None

    @functools.cached_property
    def drops_tangents(self) -> bool:
        """Whether forward mode silently ignores part of the function: code from torch.compile, or a custom operator."""
        functions = functions_in(self.record(self.at)[1].grad_fn)
        return any(f.__name__ == "CompiledFunction" or operator_behind(f) for f in functions)

    def along(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        from torch.autograd import forward_ad

        if self.drops_tangents:
            raise NotImplementedError("forward mode does not support code from torch.compile or operators")
        with forward_ad.dual_level():
            duals = {n: forward_ad.make_dual(self.as_argument(x), tensor_copy(tangents[n])) for n, x in at.items()}
            out = self.join_result(self.result(duals))
            tangent = forward_ad.unpack_dual(out).tangent
            return np.zeros_like(tensor_data(out)) if tangent is None else tensor_data(tangent)

    def lacks_forward(self, error: BaseException) -> bool:
        text = str(error).lower()
        words = ("forward ad", "forward mode", "jvp function", "jvp is not", "forward-mode", "forward gradient")
        return isinstance(error, NotImplementedError) or any(word in text for word in words)

    def join_result(self, result: Any) -> torch.Tensor:
        tensors = list(arrays_in(result, is_torch_float))
        if not tensors and isinstance(result, float | np.ndarray | np.floating):
            tensors = [(Path(), torch.as_tensor(result))]
        parts = self.note_layout(result, tensors, torch.is_complex, "tensor")
        pairs = [torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in parts]
        if len(pairs) == 1:
            return pairs[0]
        common = max((x.dtype for x in pairs), key=lambda d: d.itemsize)
        return torch.cat([x.reshape(-1).to(common) for x in pairs])

    def product(self, *given: torch.Tensor) -> tuple:
        with torch.enable_grad():
            xs = [x if x.requires_grad else x.clone().requires_grad_() for x in given[:-1]]
            out = self.join_result(self.result(dict(zip(self.at, xs, strict=True))))
            if not out.requires_grad:
                return tuple(torch.zeros_like(x) for x in xs)
            seed = given[-1].reshape(out.shape).to(out.dtype)
            grads = torch.autograd.grad(out, xs, seed, create_graph=True, allow_unused=True)
            nodes = (node for g in grads if g is not None for node in nodes_of(g.grad_fn))
            if any(type(node).__name__ == "Error" for node in nodes):
                raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
            return tuple(torch.zeros_like(x) if g is None else g for x, g in zip(xs, grads, strict=True))

    def as_called(self) -> Iterator[Difference]:
        return differences_of_calls(self)

    def surrogates_at(self, at: Arrays) -> Iterator[Claim | None]:
        from .torch_surrogate import surrogates_of

        return surrogates_of(self, at)

    def parts(self) -> Iterator[tuple[Claim, Callable[[], str]]]:
        with self.running(self.single), torch.enable_grad():
            calls = calls_in(self)
        for function, arguments, title, place in calls:
            given = {f"argument {i}": x for i, x in enumerate(arguments)}
            wrt = [name for name, x in given.items() if isinstance(x, torch.Tensor) and x.requires_grad]
            with contextlib.suppress(CallError):
                dtype = "float32" if self.single and self.short is None else None
                part = Adapter.of(function, given, title, dtype, None if isinstance(function, torch.nn.Module) else wrt)
                yield part, functools.partial("there is a mistake in {}: {}".format, title, place)


class DefaultPrecision(contextlib.AbstractContextManager):
    """Makes single (narrow) or double precision the default, also of tensors that functions refer to.

    size: elements of the inputs.
    """

    def __init__(self, reached: Sequence[torch.Tensor], narrow: bool, size: int):
        self.reached, self.narrow, self.size = reached, narrow, size

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype(), torch.get_num_threads()
        device, wide = torch.get_default_device(), {} if self.narrow else WIDER_TYPES
        other = [x for x in self.reached if x.dtype in wide or device.type not in ("cpu", x.device.type)]
        self.kept = [(x, x.data) for x in other]
        if self.size < SMALL_INPUTS:
            torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32 if self.narrow else torch.float64)
        for x, data in self.kept:
            x.data = data.to(data.device if device.type == "cpu" else device, wide.get(data.dtype, data.dtype))

    def __exit__(self, *_: object) -> None:
        dtype, threads = self.before
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        for x, data in self.kept:
            x.data = data


def pull_leaves(leaves: Mapping[str, torch.Tensor], out: torch.Tensor, cotangent: np.ndarray) -> dict[str, np.ndarray]:
    """Return by leaf the product of a cotangent with the derivative, in reverse mode."""
    xs = list(leaves.values())
    if not out.requires_grad:
        return gradient_arrays(leaves, [None] * len(xs))
    seed = tensor_copy(cotangent).to(out.dtype).reshape(out.shape)
    try:
        grads = torch.autograd.grad(out, xs, seed, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        missing = next(filter(lacks_backward, functions_in(out.grad_fn)), None)
        if missing is not None and isinstance(error, NotImplementedError):
            raise CallError(f"{missing.__name__} has no backward") from error
        if "use_reentrant" not in str(error):  # older forms of torch.utils.checkpoint support backward only
            raise
        for x in xs:
            x.grad = None
        out.backward(seed, retain_graph=True)
        grads = tuple(x.grad for x in xs)
    return gradient_arrays(leaves, grads)


class ModuleCall(Adapter):
    """A call of a module: inputs are those of forward and the parameters; buffers stay as they are."""

    def __init__(self, module: Any, given: Mapping[str, Any], title: str, dtype: str | None, wrt: Sequence[str] | None):
        weights = {name: p for name, p in module.named_parameters() if p.requires_grad}
        inputs = {name: x for name, x in given.items() if name not in weights}
        for name in given.keys() & weights.keys():
            if np.shape(given[name]) != tuple(weights[name].shape):
                own = f"'{name}' has shape {tuple(weights[name].shape)} in the module"
                raise CallError(f"{own}; the given value has shape {np.shape(given[name])}")
        self.modules = {
            False: copy_module(module).double(),
            True: copy_module(module).to(getattr(torch, dtype or "float32")),
        }
        values = {n: np.array(given[n] if n in given else tensor_data(p), np.float64) for n, p in weights.items()}
        self.calling, self.names = list(inputs), list(weights)
        super().__init__(module, Arguments({**inputs, **values}, wrt), title, dtype=dtype)

    def result(self, leaves: Mapping[str, Any]) -> Any:
        filled = self.filled(leaves)
        narrow = any(x.dtype in WIDER_TYPES for x in leaves.values())
        module = self.modules[narrow]
        weights = {name: torch.as_tensor(filled[name]) for name in self.names}
        buffers = {name: x.clone() for name, x in module.named_buffers()}
        inputs = {name: filled[name] for name in self.calling}

        def call(*args: Any, **kwargs: Any) -> Any:
            return torch.func.functional_call(module, {**weights, **buffers}, args, kwargs)

        with contextlib.suppress(TypeError, ValueError):
            call.__signature__ = inspect.signature(forward_with_names(module))  # type: ignore[attr-defined]
        return call_with(call, inputs)


def calls_in(call: Adapter) -> list[tuple[Any, tuple, str, str]]:
    """Return (function or module, arguments, name, place) of the calls in one run, innermost and earliest first."""
    recorded = functions_in(call.record(call.at)[1].grad_fn)
    functions = {f.forward.__code__: f for f in recorded if hasattr(f.forward, "__code__")}
    calls: list[tuple[Any, tuple, str, str]] = []

    def watch(frame: Any, event: str, _: Any) -> None:
        function = functions.get(frame.f_code)
        if event == "call" and function is not None:
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount]
            rest = frame.f_locals[code.co_varnames[code.co_argcount]] if code.co_flags & inspect.CO_VARARGS else ()
            values = [*(frame.f_locals[name] for name in names), *rest]
            if not has_torch_setup(function):
                function = getattr(values.pop(0), "_forward_cls", function)
            title, backward = f"{function.__name__}Backward", function.backward
            if (operator := operator_behind(function)) is not None:
                function, backward = operator
                title = f"backward of {function}"
                values.pop()  # PyTorch's own argument
            place = place_of_return(function if lacks_backward(function) else backward)
            calls.append((function, tuple(map(detach_argument, values)), title, place))

    def note(name: str) -> Callable:
        def hook(module: Any, args: tuple, output: Any) -> None:
            arguments, title = tuple(map(detach_argument, args)), f"{name} ({type(module).__name__})"
            calls.append((module, arguments, title, place_of_return(type(module).forward)))

        return hook

    roots = call.modules.values() if isinstance(call, ModuleCall) else reachable_from(call.function)
    modules = [named for root in roots if isinstance(root, torch.nn.Module) for named in root.named_modules()]
    handles = [module.register_forward_hook(note(name)) for name, module in modules if name]
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call.record(call.at)
    finally:
        sys.setprofile(before)
        for handle in handles:
            handle.remove()
    return calls


def forward_with_names(module: Any) -> Callable:
    """Return the forward method with the names of a module's inputs: of a compiled module, that of the original."""
    return getattr(module, "_orig_mod", module).forward


def as_callable(function: Any, title: str) -> Any:
    """Return a function for a Function or an operator, and a module for a class of modules. Raises CallError."""
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        return custom_as_function(function)
    if isinstance(function, TORCH_OPERATORS):
        return as_operator(function)
    if not isinstance(function, type) or not issubclass(function, torch.nn.Module):
        return function
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return function()
    except TypeError as error:
        name = title.rpartition(":")[2]
        advice = f"create one in the file, net = {name}(...)"
        raise CallError(f"{title} cannot be created without arguments ({error}): {advice}") from error


def lacks_backward(function: Any) -> bool:
    base = torch.autograd.Function
    return function.backward is base.backward and function.vjp is base.vjp


def has_torch_setup(function: Any) -> bool:
    return function.setup_context is not torch.autograd.Function.setup_context


def custom_as_function(function: Any) -> Callable:
    """Return a function for a Function, with None for the outputs that it marks as non-differentiable."""
    parameters = forward_parameters(function, has_torch_setup(function))
    marked: list[set[int]] = []

    def apply(*args: Any) -> Any:
        result = function.apply(*args)
        if not isinstance(result, tuple):
            return result
        if not marked:
            with torch.enable_grad():
                leaves = [as_given(x.detach().requires_grad_()) if is_torch_float(x) else x for x in args]
                recorded = [getattr(x, "requires_grad", False) for x in function.apply(*leaves)]
            marked.append({k for k, wanted in enumerate(recorded) if any(recorded) and not wanted})
        return tuple(None if k in marked[0] else x for k, x in enumerate(result))

    return with_parameters(apply, parameters)


def as_operator(operator: Any) -> Callable:
    """Return an operator of torch.library as a function with the arguments of its schema."""
    operator = getattr(operator, "_opoverload", operator)
    operator = getattr(operator, "default", operator)  # if it is a packet of overloads
    named = operator._schema.arguments
    call: Any = with_parameters(operator, [as_python_parameter(x) for x in named])
    call.constants = [x.name for x in named if "Tensor" not in str(x.type)]
    return call


def with_parameters(function: Callable, parameters: Sequence[inspect.Parameter]) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def as_python_parameter(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    annotation = int if "int" in str(argument.type) else inspect.Parameter.empty
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default, annotation=annotation)


def tensors_behind(function: Any) -> list[Any]:
    if isinstance(function, torch.nn.Module):
        return []
    tensors: dict[int, Any] = {}
    for x in reachable_from(function):
        inside = [*x.parameters(), *x.buffers()] if isinstance(x, torch.nn.Module) else [x]
        tensors |= {id(t): t for t in inside if isinstance(t, torch.Tensor)}
    return list(tensors.values())


def copy_module(module: Any) -> Any:
    try:
        return copy.deepcopy(module).to(torch.get_default_device())
    except Exception as error:
        raise CallError(f"{type(module).__name__} cannot be copied: {error}") from error


def detach_argument(x: Any) -> Any:
    return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
