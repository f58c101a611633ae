"""Gradients of a program: one run, one backward pass, with hooks and retained gradients on request."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import EXIT_TARGET, GradcliError, Span, check_known
from ..lang.limits import out_of_memory
from ..program.base import Prepare, Program, Run, check_output, check_vector, silence_prints
from ..request import Request
from ..results.base import Gradients, InputGradient, Value
from ..rules.shapes import is_complex
from ..tape.backward import backward
from ..tape.memory import change_since
from ..tape.modes import no_grad
from ..tape.record import recorder
from ..tape.tensor import Tensor

Read = Callable[[], Mapping[str, Any]]  # reads values; called inside exact arithmetic, so that no digit is lost


class Watched(Prepare):
    """Installs the hooks of a request, and retains gradients of the tensors in `retained`."""

    def __init__(self, request: Request):
        self.hooks, self.retain = list(request.hooks), request.retain
        self.retained: dict[str, Tensor] = {}
        self.on_modules: dict[str, list] = {}

    def module(self, name: str, module: Any) -> None:
        from ..program.hooks import attach

        for path, part in module.named_modules():
            full = f"{name}.{path}" if name and path else name or path
            attach(full, part, self.hooks, self.on_modules)

    def tensors(self, names: Mapping[str, Any]) -> None:
        tensors = {name: x for name, x in names.items() if isinstance(x, Tensor)}
        for hook in self.hooks:
            if hook.name in self.on_modules:
                continue
            check_known([hook.name], [*tensors, *self.on_modules], "--hook")
            node_of(tensors[hook.name], hook.name, "--hook").add_hook("tensor", hook)
        retain = self.retain
        if retain is None:
            retain = [n for n, t in tensors.items() if t._node is not None and not t._node.leaf]
        check_known(retain, tensors, "--retain")
        for name in retain:
            node_of(tensors[name], name, "--retain")
            tensors[name].retain_grad()
            self.retained[name] = tensors[name]


def node_of(tensor: Tensor, name: str, option: str) -> Any:
    if tensor._node is None:
        raise GradcliError(f"{option}: no gradient flows to '{name}'", kind="name")
    return tensor._node


def compute_gradient(program: Program, given: Mapping[str, np.ndarray], request: Request) -> Gradients:
    """Run a program and differentiate its output by its inputs. Raises GradcliError."""
    watched = Watched(request)
    run = run_for(program, given, request, watched)
    output = run.output
    if output is not None:
        check_has_inputs(run)
        run_backward(output, request)
    script = program.is_script
    inputs = tuple(describe_input(run, name, leaf, script) for name, leaf in run.leaves.items())
    retained = {name: read_gradient(t, script) for name, t in watched.retained.items() if name not in run.leaves}
    value = value_of(run) if request.with_value or output is not None else None
    detached = output is not None and output._node is None
    parts = (program.title, value, inputs, retained, run.output_name)
    return Gradients(*parts, detached=detached, with_value=request.with_value)


def check_has_inputs(run: Run) -> None:
    if not run.leaves:
        hint = "use names in the expression, as in 'x**2', and give them values: x=3"
        raise GradcliError("the program has no inputs, so there is nothing to differentiate", hint=hint, kind="name")


def describe_input(run: Run, name: str, leaf: Tensor, script: bool) -> InputGradient:
    value, gradient = np.array(leaf._data), read_gradient(leaf, script)
    root = None if run.output is None else run.output._node
    if gradient is None or (root is not None and change_since(leaf._data, root.seq) is None):
        return InputGradient(name, value, gradient)
    at = run.ran_at.get(name)
    if at is None:
        return InputGradient(name, value, gradient, note=CHANGED_SINCE if root is not None else "")
    return InputGradient(name, at, gradient, note=MOVED_ON if at.tobytes() != value.tobytes() else "")


MOVED_ON = "the value shown is that at backward(); the script changed it later"
CHANGED_SINCE = "the value shown is the current one; the script changed it after computing the output"


def run_for(program: Program, given: Mapping[str, np.ndarray], request: Request, watched: Watched | None = None) -> Run:
    """Run a program, ready for backward. Raises GradcliError for options that do not fit it."""
    watched = watched or Watched(request)
    run = program.run(given, wrt=request.wrt, out=request.out, prepare=watched)
    if run.output is None and request.gradient is not None:
        hint = "name what to run backward on: --out NAME"
        raise GradcliError("--gradient has no effect here: the script runs backward itself", hint=hint)
    if request.retain is None and not watched.retained:
        message = "--retain-all has no effect here: no intermediate result has a name"
        raise GradcliError(message, hint="name them in a program: 'y = 2*x; sum(y^2)'")
    for tensor in (*run.leaves.values(), *watched.retained.values()) if run.output is not None else ():
        tensor._grad = None  # the script may have run backward before
    return run


def gradient_at(program: Program, values: Mapping[str, Any], request: Request, field: Any) -> tuple:
    """Return value, gradients by input, and the run itself, in the current field."""
    from ..exact.field import exact  # a gradient in floats does not need it
    from ..rules.exact import map_elements, without_field

    with silence_prints(program):
        run = run_for(program, values, request)
    if run.output is not None:
        run_backward(run.output, request)
    single = run.output is not None or (len(run.backwards) == 1 and run.backwards[0] is not None)
    # a script that runs backward more than once has no single value
    value = without_field(value_of(run)) if single or request.with_value else None
    grads = {
        name: map_elements(field.number, (without_field(exact(np.asarray(leaf._grad._data))),))
        if leaf._grad is not None
        else np.full(np.shape(leaf._data), field.number(0), object)
        for name, leaf in run.leaves.items()
    }
    return value, grads, run


def compute_value(program: Program, given: Mapping[str, np.ndarray], out: str | None) -> Value:
    with no_grad():
        run = program.run(given, wrt=(), out=out)
    return Value(program.title, value_of(run), run.output_name)


def value_of(run: Run) -> np.ndarray:
    """Return the value of the output, or of what a script ran backward on. Raises GradcliError if it is unknown."""
    if run.output is not None:
        return np.asarray(run.output._data)
    if len(run.backwards) == 1 and run.backwards[0] is not None:
        return run.backwards[0]
    message = "the script runs backward more than once, so it has no single output"
    raise GradcliError(message, hint="name the output with --out NAME", kind="target")


def run_backward(output: Tensor, request: Request) -> None:
    check_output(output)
    shape, output_is_complex = output._data.shape, is_complex(output)
    vector = request.gradient
    if vector is None:
        if output._data.size != 1:
            raise needs_vector(shape)
        if output_is_complex:
            hint = "take real(...), imag(...) or abs(...) of it, or pass --gradient"
            message = "the output is complex; a gradient needs a real number"
            raise GradcliError(message, hint=hint, kind="shape")
        vector = np.ones(shape)
    check_vector(vector, output._data)
    if vector.dtype.kind == "c" and not output_is_complex:
        raise GradcliError("--gradient is complex, but the output is real", kind="value")
    if output._node is None:
        return
    with reword_engine_errors("backward"):
        if recorder().field is not None:
            backward(output, recorder().lift(vector))
        else:
            backward(output, Tensor._wrap(np.array(vector, output._data.dtype)[()], None))


def needs_vector(shape: tuple[int, ...]) -> GradcliError:
    hint = f"pass --gradient with a vector of shape {shape}, or use 'gradcli jacobian'"
    return GradcliError(f"the output has shape {shape}; a gradient needs a single number", hint=hint, kind="shape")


@contextlib.contextmanager
def reword_engine_errors(what: str = "differentiating") -> Iterator[None]:
    try:
        yield
    except GradcliError:
        raise
    except MemoryError:
        raise out_of_memory(what) from None
    except Exception as error:
        failure = GradcliError(f"{what} failed: {error}", kind="target", exit_code=EXIT_TARGET)
        failure.cause = error
        raise failure from None


def read_gradient(tensor: Tensor, is_script: bool) -> np.ndarray | None:
    """Return a tensor's gradient as an array. If it has none: None in a script, as the script prints it, else zeros."""
    if tensor._grad is not None:
        return np.array(tensor._grad._data)
    return None if is_script else np.zeros(tensor._data.shape, tensor._data.dtype)


def first_nan(program: Program, given: Mapping[str, np.ndarray], request: Request) -> tuple[str, Span | None] | None:
    """Return the operation that first makes a nan, forward or backward, and its place; None if none does."""
    from ..tape.anomaly import AnomalyError, nan_search

    with nan_search():
        run = program.run(given, wrt=request.wrt, out=request.out)
        if run.first_nan is not None:
            return f"{run.first_nan[0]} returns nan, but its operands contain no nan", run.first_nan[1]
        if run.output is not None:
            try:
                run_backward(run.output, request)
            except GradcliError as error:
                if isinstance(error.cause, AnomalyError):
                    node = error.cause.node
                    return f"the derivative of this step ({node.name()}) is the first to be nan", run.where(node)
    return None
