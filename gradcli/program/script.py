"""Scripts that use gradcli's tensors: executed as `python FILE.py` would, and again with other values."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from ..errors import ENDINGS, GradcliError, TargetError, check_known
from ..request import Request
from ..tape.backward import reachable
from ..tape.modes import Observer, enable_grad, observing, random_numbers
from ..tape.record import recorder
from ..tape.tensor import Tensor
from ..user.forks import end_forks
from ..user.frameworks import FRAMEWORKS, framework_imported
from ..user.instrument import BIND_NAME, LAST_NAME, instrument, last_names
from ..user.tracebacks import exit_text, python_syntax_error, script_error
from .base import UNPREPARED, Names, Prepare, Program, Run, Values, is_module, line_of


def keep_random_state() -> Callable[[], None]:
    """Return a function that restores the random generators of gradcli, NumPy and Python to their current state."""
    own, restores = copy.deepcopy(random_numbers.__dict__.get("rng")), []
    for name, save, restore in (("numpy.random", "get_state", "set_state"), ("random", "getstate", "setstate")):
        module: Any = sys.modules.get(name)
        if module is not None:
            restores.append(partial(getattr(module, restore), getattr(module, save)()))

    def restore_all() -> None:
        if own is not None:
            random_numbers.rng = copy.deepcopy(own)
        for restore in restores:
            restore()

    return restore_all


class ScriptProgram(Program):
    """A Python script; each run executes it again."""

    is_script = True

    def __init__(self, source: str, path: str, request: Request, stdout: Any = None):
        self.path = self.title = path
        self.source, self.stdout = source, stdout
        self.argv, self.torch = request.argv, request.torch
        self.runs = 0
        self.second_numbers: Callable[[], None] | None = None

    @contextlib.contextmanager
    def stream(self) -> Iterator[Any]:
        """Yield the stream of the next run; only the first prints. Later runs repeat the second's random numbers."""
        self.runs += 1
        if self.runs == 1:
            yield self.stdout or sys.stdout
            return
        if self.second_numbers is None:
            self.second_numbers = keep_random_state()
        self.second_numbers()
        with open(os.devnull, "w") as nothing:
            yield nothing

    def execute(self, given: Values, prepare: Prepare = UNPREPARED, keep: bool = False) -> Execution:
        """Execute the script with values for its leaves. Raises GradcliError if it raises, or lacks a given leaf.

        keep: whether to keep the graphs that it runs backward through.
        """
        execution = Execution(self, given, prepare, keep)
        execution.execute()
        if unknown := [name for name in given if name not in execution.replaced]:
            self.refuse_foreign(execution)
            if not (known := execution.leaves(every_name=True)):
                raise self.without_leaves(execution)
            check_known(unknown, known, "value")
        return execution

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        """Execute the script; its leaves are the inputs. Raises GradcliError, or TargetError if the script raises."""
        execution = self.execute(given, prepare, keep=out is not None)
        self.refuse_foreign(execution)
        wanted = None if wrt is None else list(wrt)
        output = None
        if (execution.made or wanted == []) and (not execution.backwards or out is not None):
            output = execution.output(out)
        leaves = execution.leaves(every_name=bool(wanted), output=output)
        if not leaves and wanted != []:
            raise self.without_leaves(execution)
        if wanted is not None:
            check_known(wanted, leaves, "--wrt")
            leaves = {name: leaves[name] for name in wanted}
        names, backwards = execution.tensors(), execution.backwards
        if not execution.prepared:
            prepare.tensors(names)
        modules = {n: x for n, x in vars(execution.module).items() if isinstance(n, str) and is_made_module(x)}
        ran_at = {n: execution.ran_at[t._node] for n, t in leaves.items() if t._node in execution.ran_at}
        return Run(leaves, output, names, out, line_of, modules=modules, backwards=backwards, ran_at=ran_at)

    def without_leaves(self, execution: Execution) -> GradcliError:
        message = f"{self.path}: the script made no tensor that requires grad"
        functions, example = functions_of_script(execution.module), "x = gradcli.tensor(2.0, requires_grad=True)"
        hint = f"make one: {example}"
        if functions:
            hint = f"name one of its functions, such as {self.path}:{functions[0]}, or make a tensor: {example}"
        return GradcliError(message, hint=hint, kind="target")

    def refuse_foreign(self, execution: Execution) -> None:
        """Raise GradcliError if the script imports a framework and made no Tensors."""
        if self.torch or execution.made or execution.tensors() or not (name := framework_imported(self.source)):
            return
        what, hint = "arrays", f"name a function: {self.path}:FUNCTION"
        if name == "torch":
            what, hint = "tensors", f"add --torch to run the script on gradcli's own engine, or {hint}"
        raise GradcliError(f"{self.path} uses {FRAMEWORKS[name]}, whose {what} gradcli does not record", hint=hint)


def functions_of_script(module: types.ModuleType) -> list[str]:
    """Return the names of the functions that a script defines, without private ones."""
    own = [x for x in vars(module).values() if isinstance(x, types.FunctionType) and x.__module__ == module.__name__]
    return [function.__name__ for function in own if not function.__name__.startswith(("_", "<"))]


class Execution(Observer):
    def __init__(self, script: ScriptProgram, given: Values, prepare: Prepare, keep: bool):
        self.script, self.given, self.prepare, self.keep = script, given, prepare, keep
        self.replaced: dict[str, int] = {}  # the lines that made the leaves with given values
        self.backwards: list[Any] = []
        self.ran_at: dict[Any, np.ndarray] = {}
        self.prepared = False
        self.last: Any = None
        self.made: list[tuple[Any, int]] = []
        self.floats: dict[int, Any] = {}
        self.module = types.ModuleType("__main__")

    def execute(self) -> None:
        """Run the script's code in a fresh `__main__`."""
        script = self.script
        try:
            code = instrument(script.source, script.path)
        except (SyntaxError, ValueError) as error:
            raise python_syntax_error(error, script.path, script.source) from None
        self.module.__dict__.update(
            {"__file__": script.path, "__builtins__": __builtins__, BIND_NAME: self.bind, LAST_NAME: self.see_last}
        )
        with self.surroundings():
            try:
                with end_forks():
                    exec(code, self.module.__dict__)
            except SystemExit as stop:
                if stop.code not in (None, 0):
                    raise TargetError(f"{script.path} {exit_text(stop.code)}") from None
            except (GradcliError, *ENDINGS):
                raise
            except BaseException as error:
                node, what = getattr(error, "hooked", (None, ""))  # name the hooked tensor as the script does
                name = next((n for n, t in self.tensors().items() if node is not None and t._node is node), None)
                if name is not None and getattr(error, "__notes__", None):
                    error.__notes__[-1] = f"raised in {what}'{name}'"
                raise script_error(error, script.path) from None

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """Set up the process as `python FILE.py` does, and restore it afterwards."""
        script, stand_in = self.script, cast(Any, contextlib.nullcontext)
        if script.torch:
            from ..user.torch_names import as_torch as stand_in
        saved = sys.argv, sys.modules.get("__main__"), sys.path, list(sys.path), sys.getrecursionlimit()
        folder = current_folder()
        sys.argv = [script.path, *script.argv]
        sys.modules["__main__"] = self.module
        sys.path.insert(0, os.path.dirname(os.path.abspath(script.path)))
        try:
            with (
                observing(self),
                script.stream() as stdout,
                contextlib.redirect_stdout(stdout),
                stand_in(),
                enable_grad(),
            ):
                yield
        finally:
            if folder is not None and current_folder() != folder:
                os.chdir(folder)
            sys.argv, main, sys.path, sys.path[:], limit = saved
            sys.setrecursionlimit(limit)
            if main is not None:
                sys.modules["__main__"] = main

    # -- called while the script runs -------------------------------------------------------------------

    def bind(self, value: Any, name: str) -> Any:
        """Note an assignment; replace the data of a tensor or parameter that was given a value.

        A tensor made again by the same line gets the value again; one assigned by another line does not.
        """
        line = sys._getframe(1).f_lineno
        for path, tensor in named_tensors(name, value):
            if recorder().field is not None and tensor.is_leaf and tensor.requires_grad:
                number = self.given.get(path, self.floats.pop(id(tensor), None))
                if number is not None:
                    self.replaced[path] = line
                    recorder().adopt(tensor, path, number)
            elif path not in self.given or tensor._data.dtype.kind not in "fc":
                continue
            elif self.replaced.setdefault(path, line) == line:
                replace_data(tensor, self.given[path], path)
        if is_made_module(value):
            self.prepare.module(name, value)
        return value

    def see_last(self, value: Any) -> Any:
        self.last = value
        return value

    def see_backward(self, kind: str, outputs: tuple) -> bool:
        """Note that the script runs backward, and from which output; attach hooks before the first time."""
        if kind == "backward":
            single = len(outputs) == 1 and isinstance(outputs[0], Tensor) and not self.backwards
            self.backwards.append(np.array(outputs[0]._data) if single else None)
            roots = {x._node for x in outputs if isinstance(x, Tensor)} - {None}
            self.ran_at |= {node: np.array(node.variable._data) for node in reachable(roots) if node.leaf}
        if not self.prepared:
            self.prepared = True
            self.prepare.tensors(self.tensors())
        return self.keep

    def see_leaf(self, tensor: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.script.path:
            frame = frame.f_back
        if frame is not None:
            self.made.append((tensor, frame.f_lineno))
        if recorder().field is not None:
            self.floats[id(tensor)] = tensor._data
            recorder().adopt(tensor, f"leaf_{len(self.made)}", tensor._data)

    # -- results -----------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Any]:
        """Return the tensors of the script's global names, and the parameters of its modules."""
        names = [(n, x) for n, x in self.module.__dict__.items() if isinstance(n, str) and not n.startswith("__")]
        return dict(pair for name, x in names for pair in named_tensors(name, x))

    def leaves(self, every_name: bool = False, output: Tensor | None = None) -> dict[str, Tensor]:
        """Return the leaves that require grad: named ones, then unnamed ones that were used, as `leaf@line 3`.

        A leaf was used if it has a gradient, or the output depends on it. every_name: list a leaf under each of its
        names, not only the first; a loop over parameters adds such a name.
        """
        leaves = {n: t for n, t in self.tensors().items() if t.requires_grad and t.is_leaf}
        if not every_name:
            first = {id(t): n for n, t in reversed(leaves.items())}
            leaves = {n: t for n, t in leaves.items() if first[id(t)] == n}
        known = {id(t) for t in leaves.values()}
        unnamed = [(t, line) for t, line in self.made if id(t) not in known and t._node is not None]
        root = None if output is None else output._node
        reached = set(reachable([root])) if unnamed and root is not None else set()
        for tensor, line in unnamed:
            if id(tensor) not in known and (tensor._grad is not None or tensor._node in reached):
                known.add(id(tensor))
                name = f"leaf@line {line}"
                count = sum(other == name or other.startswith(f"{name}#") for other in leaves)
                leaves[f"{name}#{count + 1}" if count else name] = tensor
        return leaves

    def output(self, out: str | None) -> Tensor:
        """Return the tensor to differentiate: the one named `out`, or the result of the last statement."""
        tensors = self.tensors()
        if out is not None:
            check_known([out], tensors, "--out")
            return tensors[out]
        if isinstance(self.last, Tensor):
            return self.last
        inside = []
        if isinstance(self.last, tuple | list | dict):
            parts = self.last.values() if isinstance(self.last, dict) else self.last
            inside = [x for x in parts if isinstance(x, Tensor) and not x.is_leaf]
            if len(inside) == 1:
                return inside[0]
        else:
            for name in last_names(self.script.source):
                if name in tensors and not tensors[name].is_leaf:
                    return tensors[name]
        what = "several tensors" if len(inside) > 1 else "no tensor that was computed from the leaves"
        results = [name for name, tensor in tensors.items() if not tensor.is_leaf]
        hint = "name the output with --out NAME" + (f"; NAME may be {', '.join(results)}" if results else "")
        raise GradcliError(f"{self.script.path}: the last statement gives {what}", hint=hint, kind="target")


def current_folder() -> str | None:
    with contextlib.suppress(OSError):
        return os.getcwd()
    return None


def is_made_module(value: Any) -> bool:
    return not issubclass(type(value), type) and is_module(value)


def named_tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a tensor under its name, or a module's parameters under their paths."""
    if issubclass(type(value), Tensor):
        yield name, value
    elif is_made_module(value):
        for path, parameter in value.named_parameters():
            yield f"{name}.{path}", parameter


def replace_data(tensor: Tensor, value: np.ndarray, name: str) -> None:
    data = tensor._data
    if np.shape(value) != data.shape:
        given = f"the given value has shape {np.shape(value)}"
        raise GradcliError(f"'{name}' has shape {data.shape} in the script; {given}", kind="shape")
    fresh = np.asarray(value, data.dtype)
    tensor._data = fresh[()] if data.ndim == 0 else fresh.copy()
    if tensor._node is not None:
        tensor._node.data = tensor._data
