"""The interface of programs, the result of a run, and checks of outputs."""

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, Span, lines_of_file
from ..lang.limits import out_of_memory
from ..tape.record import recorder
from ..tape.tensor import Tensor
from .arguments import must_be_number


def line_of(node: Any) -> Span | None:
    made_at = getattr(node.origin, "made_at", None)
    return None if not made_at else line_span(*made_at)


def line_span(path: str, line: int) -> Span | None:
    """Return the span of a line without surrounding blanks; None if the file has no such line."""
    lines = lines_of_file(path)
    if not 0 < line <= len(lines):
        return None
    start = sum(map(len, lines[: line - 1]))
    text = lines[line - 1]
    indent = len(text) - len(text.lstrip())
    return Span("".join(lines), start + indent, start + len(text.rstrip()), path)


Values = Mapping[str, np.ndarray]  # values of inputs by name
Names = Iterable[str] | None


class Run(NamedTuple):
    """One run of a program.

    leaves: the inputs as Tensors that require grad, by name. output: the Tensor to differentiate; None if the program
    ran backward itself. names: every named Tensor, for hooks and retained gradients. where: maps a node to its place
    in the source, for messages. first_nan: the first operation that made a nan, and its place, if it was
    looked for. modules: the nn modules by name. backwards: one entry for each backward that the program ran, the value
    of its only output or None. ran_at: the values of the leaves when backward last reached them.
    """

    leaves: dict[str, Tensor]
    output: Tensor | None
    names: dict[str, Any]
    output_name: str | None = None
    where: Callable[[Any], Any] = lambda node: None
    first_nan: tuple[str, Any] | None = None
    modules: Mapping[str, Any] = {}
    backwards: Sequence[Any] = ()
    ran_at: Mapping[str, np.ndarray] = {}


class Prepare:
    """Called with the tensors and modules of a run, to attach hooks or retain gradients; does nothing by default."""

    def tensors(self, names: Mapping[str, Any]) -> None:
        """Receive the named Tensors of a run, before anything runs backward."""

    def module(self, name: str, module: Any) -> None:
        """Receive a module before it is called; `name` is empty if the program is the module."""


UNPREPARED = Prepare()


class Program:
    """Something with named inputs and an output.

    is_script: whether the inputs are leaves that the program makes; their `.grad` is None unless backward reached them.
    stdout: the stream for its output, None for standard output.
    dtype: the type of its inputs if it can be called as a function of Tensors; None if every point needs a new run.
    row_by_row: why, in that case. constants: names of inputs that are constant, unless wrt names them.
    """

    title = ""
    is_script = False
    row_by_row = "a script starts again for each row"
    stdout: Any = None
    dtype: Any = None
    constants: Collection[str] = ()

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        """Run on values of the inputs (defaults for those not given).

        wrt: the inputs to differentiate [all]. out: the name of the output. Raises GradcliError for missing, unknown
        and unsuitable values.
        """
        raise NotImplementedError

    def input_names(self, given: Iterable[str] = ()) -> list[str] | None:
        """Return the names of the inputs, with constants such as pi if given; None if only a run reveals them."""
        return None

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Return the inputs without a given value and without a default."""
        return []

    def as_function(self, given: Values, out: str | None = None) -> tuple[Callable, dict[str, np.ndarray]]:
        """Return the program as a positional function of Tensors, and the values of its inputs in order.

        Requires a `dtype`. Raises GradcliError as `run` does.
        """
        raise NotImplementedError


def as_leaf(value: Any, dtype: Any, name: str) -> Tensor:
    exact = recorder().leaf(value, name)
    if exact is not None:
        return exact
    raw = np.asarray(value)
    if raw.dtype.kind not in "biufc":
        raise must_be_number(name, value)
    if raw.dtype.kind == "c" and dtype.kind != "c":
        dtype = np.dtype(np.complex128 if dtype == np.float64 else np.complex64)
    try:
        raw = np.array(raw, dtype)
    except MemoryError:
        raise out_of_memory(f"'{name}'") from None
    return Tensor._wrap(raw[()] if raw.ndim == 0 else raw, None).requires_grad_()


def new_tensor(x: np.ndarray) -> Tensor:
    raw = np.array(x)
    return Tensor._wrap(raw[()] if raw.ndim == 0 else raw, None)


def check_output(output: Tensor) -> None:
    data = output._data
    dtype = "bool" if data.size and recorder().is_condition(data) else data.dtype
    if dtype == "bool" or data.dtype.kind not in "fcO":
        message = f"the output has type {dtype}, which has no gradient"
        raise GradcliError(message, hint="choose a real output with --out NAME", kind="shape")


def check_vector(vector: np.ndarray, output: np.ndarray) -> None:
    """Raise GradcliError if --gradient does not have the output's shape."""
    if vector.shape != output.shape:
        message = f"--gradient has shape {vector.shape}; the output has shape {output.shape}"
        raise GradcliError(message, hint="they must be equal", kind="shape")


def check_number(output: Tensor, what: str, of: str = "", hint: str = "take one element or the sum of it") -> None:
    """Raise GradcliError unless the output is one real number. what: why it must be. of: the owner of the output."""
    check_output(output)
    size, is_real = output._data.size, output._data.dtype.kind != "c"
    if size != 1 or not is_real:
        fault = "is complex" if size == 1 else f"has shape {output._data.shape}"
        message = f"the output {of}{fault}; {what}"
        raise GradcliError(message, hint="take real(...) or abs(...) of it" if size == 1 else hint, kind="shape")


@contextlib.contextmanager
def silence_prints(program: Program) -> Iterator[None]:
    saved = program.stdout
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        program.stdout = nothing
        try:
            yield
        finally:
            program.stdout = saved


def is_module(x: Any) -> bool:
    """Report whether something is a module or a class of modules, without importing gradcli.nn."""
    modules = sys.modules.get("gradcli.nn.module")
    return modules is not None and issubclass(x if issubclass(type(x), type) else type(x), modules.Module)
