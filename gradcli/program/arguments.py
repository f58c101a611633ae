"""Match values to parameters by name, and name the arrays inside nested arguments and outputs."""

import contextlib
import copy
import dataclasses
import functools
import inspect
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, refuse_unknown

WHOLE_ANNOTATIONS = ("int", "int64", "int32", "long", "LongTensor", "IntTensor")
"""Annotations of parameters that take whole numbers."""
RANDOM_NAMES = set("rng key generator gen random_state prng prng_key rng_key seed rngs rs random".split())
"""Names of parameters that take random numbers."""


def annotation_name(annotation: Any) -> str:
    """Return the type of an annotation without its module: LongTensor for torch.LongTensor."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.rpartition(".")[2]


def takes_whole(annotation: Any) -> bool:
    """Return whether an annotation stands for whole numbers: int, or an array of them such as NDArray[np.int64]."""
    text = annotation_name(annotation) if isinstance(annotation, type) else str(annotation)
    return "float" not in text and any(re.search(rf"\b{word}\b", text) for word in WHOLE_ANNOTATIONS)


WRAP_ADVICE = "call it in a function whose parameters have names, such as def wrapper(x, y)"


def named_parameters(function: Callable, title: str) -> list[inspect.Parameter]:
    """Return a function's parameters without *args and **kwargs.

    Raises GradcliError if it has no other parameters, and ValueError or TypeError if it has no known signature.
    """
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if parameters and not named:
        starred = " and ".join(str(p).partition(":")[0] for p in parameters)
        raise GradcliError(f"{title} takes only {starred}, so its inputs have no names", hint=WRAP_ADVICE)
    return named


def takes_only_rest(function: Callable) -> bool:
    """Report whether a function takes *args and no parameters with names."""
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    return inspect.Parameter.VAR_POSITIONAL in kinds and kinds <= {
        inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD,
    }  # fmt: skip


def takes_random(functions: Iterable[Any], f: Callable) -> tuple[Callable, str] | None:
    """Return the first function that must be given random numbers, and the parameter for them, if any.

    f: the function whose derivatives these are, and whose own parameters are inputs.
    """
    own = set(needed_by(f))
    for function in filter(callable, functions):
        for name in needed_by(function):
            if name in RANDOM_NAMES - own:
                return function, name
    return None


def needed_by(function: Callable) -> list[str]:
    """Return the names of the parameters without a default; none if they are unknown."""
    with contextlib.suppress(TypeError, ValueError):
        return [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return []


def forward_parameters(function: Any, has_setup: bool) -> list[inspect.Parameter]:
    """Return the parameters of a custom Function's forward that are inputs. Raises GradcliError.

    has_setup: whether forward takes no context, because the Function has a `setup_context`.
    """
    parameters = list(inspect.signature(function.forward).parameters.values())[0 if has_setup else 1 :]
    is_static = isinstance(inspect.getattr_static(function, "forward"), staticmethod)
    if not is_static and parameters and parameters[0].name in ("self", "ctx"):
        hint = "put @staticmethod above forward and backward"
        raise GradcliError(f"forward of {function.__name__} must be a static method", hint=hint)
    return parameters


def describe_value(x: Any) -> str:
    names = {str: "a string", bool: "a truth value", type(None): "None"}
    return names.get(type(x), f"a value of type {getattr(x, 'dtype', type(x).__name__)}")


def must_be_number(name: str, x: Any) -> GradcliError:
    return GradcliError(f"'{name}' must be a number or an array, not {describe_value(x)}", kind="value")


def pass_by_name(parameters: Iterable[inspect.Parameter], given: Mapping[str, Any]) -> tuple[list, dict[str, Any]]:
    """Split named values into positional arguments (for positional-only parameters) and keyword arguments."""
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in given]
    return [given[name] for name in positional], {name: x for name, x in given.items() if name not in positional}


def by_name(function: Callable, names: Iterable[str], first: int = 0) -> Callable:
    """Return a function of `first` leading arguments, then the values of these names in order.

    Returns the function itself if its parameters are in that order already, or if one of the names is missing.
    """
    names = list(names)
    try:
        parameters = list(inspect.signature(function).parameters.values())[first:]
    except (TypeError, ValueError):
        return function
    ordered = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if ordered[: len(names)] == names or not known.issuperset(names):
        return function

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        positional, named = pass_by_name(parameters, dict(zip(names, values[first:], strict=True)))
        return function(*values[:first], *positional, **named)

    return call


def default_arrays(parameters: Iterable[inspect.Parameter], given: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the defaults of parameters that are not given, if these defaults are floating-point arrays.

    Arrays without axes count, too, but numbers of NumPy's types do not: these are constants, as Python's are.
    """
    others = (p for p in parameters if p.name not in given and not isinstance(p.default, np.generic))
    defaults = {p.name: as_array(p.default) for p in others if hasattr(p.default, "shape")}
    return {name: x for name, x in defaults.items() if x is not None and x.dtype.kind in "fc"}


def missing_values(title: str, names: Iterable[str], more: str = "") -> GradcliError:
    """Return the error for parameters without a value. more: text to append to the hint."""
    listed, words = ", ".join(f"'{name}'" for name in names), " ".join(f"{name}=1" for name in names)
    hint = f"add to the command line: {words}{more}"
    if "self" in names:
        owner, _, method = title.rpartition(".")
        path, _, kind = owner.rpartition(":")
        hint = f"make an instance in the file, model = {kind}(...), and write {path}:model.{method}"
    return GradcliError(f"{title} needs a value for {listed}", hint=hint, kind="name")


def bind(
    function: Any,
    parameters: Sequence[inspect.Parameter],
    given: Mapping[str, Any],
    title: str,
    whole: Container[str],
    others: Iterable[str] = (),
    more: str = "",
) -> dict[str, Any]:
    """Return arguments in the order of parameters and others, with dicts and whole numbers converted as declared.

    whole: names of integer parameters. more: text to append to the hint for missing values, where {} becomes the
    first missing name. Raises GradcliError.
    """
    if missing := [p.name for p in parameters if p.name not in given and p.default is p.empty]:
        raise missing_values(title, missing, more.format(missing[0]))
    given = as_declared(parameters, given, function)
    known = [name for name in (*(p.name for p in parameters), *others) if name in given]
    if known and not others and all(isinstance(given[name], str | bool | None) for name in known):
        raise must_be_number(known[0], given[known[0]])
    return {n: as_whole(given[n]) if n in whole and is_whole_number(given[n]) else given[n] for n in known}


class Path(tuple[int | str, ...]):
    """The keys that lead to a part of a nested structure: ("layers", 0, "w") for layers[0].w."""

    __slots__ = ()

    @classmethod
    def parse(cls, name: str) -> "Path":
        return cls(int(number) if number else key for number, key in re.findall(r"\[(\d+)\]|([^.\[]+)", name))

    def __str__(self) -> str:
        return "".join(f".{key}" if isinstance(key, str) else f"[{key}]" for key in self).removeprefix(".")

    def below(self, key: Any) -> "Path":
        return Path((*self, key))


class OutputPart(NamedTuple):
    """One array of an output. path: its keys. pairs: whether it is complex, so that elements are pairs of reals."""

    path: Path
    shape: tuple[int, ...]
    pairs: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape) * (2 if self.pairs else 1)


def arrays_in(result: Any, is_float: Callable[[Any], bool], path: Path = Path()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each floating-point array in nested dicts, lists and tuples, in order."""
    if is_float(result):
        yield path, result
    elif isinstance(result, Mapping | list | tuple):  # includes lists of numbers, which are arrays only in arguments
        for key, part in result.items() if isinstance(result, Mapping) else enumerate(result):
            yield from arrays_in(part, is_float, path.below(key if isinstance(key, int) else str(key)))


def layout_of(arrays: Sequence[tuple[Path, Any]], is_complex: Callable[[Any], bool]) -> tuple[OutputPart, ...]:
    """Describe the arrays of an output; a single one has an empty path."""
    alone = len(arrays) == 1
    return tuple(OutputPart(Path() if alone else p, tuple(getattr(x, "shape", ())), is_complex(x)) for p, x in arrays)


def element_at(parts: Sequence[OutputPart], row: int) -> tuple[Path, str]:
    """Return the path of the element in a row of the joined output, and its part: "", "re" or "im"."""
    for part in parts:
        if row < part.size:
            place, which = (row // 2, "im" if row % 2 else "re") if part.pairs else (row, "")
            index = np.unravel_index(place, part.shape) if part.shape else ()
            return Path((*part.path, *map(int, index))), which
        row -= part.size
    raise IndexError(row)


class Arguments:
    """Nested arguments. Inputs are the floating-point arrays that `wrt` names by path: `x` or `params.w[0]`."""

    def __init__(self, tree: Mapping[str, Any], wrt: Sequence[str] | None = None):
        self.wrt = wrt
        self.arrays: dict[str, np.ndarray] = {}
        self.tree: dict[str, Any] = map_leaves(self.take_in, tree)

    def take_in(self, path: Path, x: Any) -> Any:
        """Return numbers as a NumPy array, but fixed Python numbers as they are; collect the inputs in `arrays`."""
        raw, name = as_array(x), str(path)
        if raw is None:
            return x
        if raw.dtype.kind in "fc" and is_named(name, self.wrt):
            self.arrays[name] = raw
        elif not raw.ndim and not is_framework_array(x):
            return raw.item()
        return raw

    def fill_in(self, leaves: Mapping[str, Any], fixed: Callable[[np.ndarray], Any]) -> dict[str, Any]:
        """Return the arguments with new values for the inputs. fixed: converts the remaining arrays."""

        def fill(path: Path, x: Any) -> Any:
            return leaves[name] if (name := str(path)) in leaves else fixed(x) if isinstance(x, np.ndarray) else x

        # most inputs are not nested; skipping their paths makes this 20 times faster, in every call of the function
        return {n: leaves[n] if n in leaves else map_leaves(fill, x, Path([n])) for n, x in self.tree.items()}


def as_array(x: Any) -> np.ndarray | None:
    """Return numbers of any framework as an array; None for anything else."""
    if x is None or isinstance(x, str | bytes | bool) or callable(x):
        return None
    try:
        raw = tensor_data(x) if hasattr(x, "detach") else np.array(x)
    except Exception:  # it is not an array
        return None
    if raw.dtype.kind == "V" and raw.dtype.itemsize == 2:  # bfloat16
        raw = raw.astype(np.float32)
    return raw if raw.dtype.kind in "biufc" else None


def is_framework_array(x: Any) -> bool:
    """Report whether numbers are a tensor of PyTorch or an array of JAX, which functions may call methods of."""
    return hasattr(x, "detach") or hasattr(x, "aval")


def tensor_data(x: Any) -> np.ndarray:
    """Return a tensor of PyTorch or gradcli as an array; bfloat16, which NumPy lacks, becomes float32."""
    if not hasattr(x, "to_dense"):
        return x.detach()._data
    x = x.detach().cpu().resolve_conj().resolve_neg().to_dense()
    return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()


def is_branch(x: Any) -> bool:
    """Report whether an argument contains others: a dict, dataclass, tuple, or list that is not an array of numbers."""
    if isinstance(x, list | np.ndarray):
        return isinstance(x, list) and not is_number(x)
    return isinstance(x, Mapping | tuple) or is_record(x)


def is_record(x: Any) -> bool:
    return dataclasses.is_dataclass(x) and not isinstance(x, type)


def as_declared(parameters: Iterable[inspect.Parameter], given: Mapping[str, Any], function: Any) -> dict[str, Any]:
    """Replace dicts with objects of the dataclass or named tuple that the parameter's annotation names.

    Fields that are missing in a dict keep their values from the parameter's default.
    """
    made = dict(given)
    for p in parameters:
        fields = made.get(p.name)
        kind = p.annotation
        if isinstance(kind, str):
            kind = getattr(function, "__globals__", {}).get(kind)
        if is_record(p.default):
            kind = functools.partial(dataclasses.replace, p.default)
        elif not (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
            continue
        if isinstance(fields, dict):
            try:
                made[p.name] = kind(**fields)  # type: ignore[operator, misc]
            except TypeError as error:
                raise GradcliError(f"'{p.name}': {error}", kind="name") from None
    return made


def is_number(x: Any) -> bool:
    """Report whether something is a number, or a possibly nested list of numbers."""
    if isinstance(x, list):
        return all(map(is_number, x))
    return isinstance(x, int | float | complex | np.number) and not isinstance(x, bool)


def map_leaves(change: Callable[[Path, Any], Any], x: Any, path: Path = Path()) -> Any:
    """Return a copy of an argument with each leaf replaced by `change(path, leaf)`."""
    if not is_branch(x):
        return change(path, x)
    inside = vars(x) if is_record(x) else x
    keyed = inside.items() if isinstance(inside, Mapping) else enumerate(inside)
    parts = [map_leaves(change, part, path.below(key)) for key, part in keyed]
    if is_record(x):
        made = copy.copy(x)
        for name, part in zip(inside, parts, strict=True):
            object.__setattr__(made, name, part)
        return made
    if isinstance(x, Mapping):
        return dict(zip(x, parts, strict=True))
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def by_path(given: Mapping[str, Any]) -> dict[str, Any]:
    """Nest values by path: `params.w[0]` goes into a dict and a list. Raises GradcliError."""
    tree: dict[Any, Any] = {}
    for name, x in given.items():
        *above, last = Path.parse(name)
        place = tree
        for key in above:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise GradcliError(f"'{name}' is part of a value that is also given as a whole")
        if last in place:
            raise GradcliError(f"'{name}' is given both as a whole and in parts")
        place[last] = x
    return with_lists(tree)


def with_lists(x: Any, path: Path = Path()) -> Any:
    """Turn nested dicts with integer keys into lists. Raises GradcliError if an index is missing."""
    if not isinstance(x, dict) or not x:
        return x
    parts = {key: with_lists(part, path.below(key)) for key, part in x.items()}
    if not all(isinstance(key, int) for key in parts):
        return parts
    if gaps := set(range(len(parts))) - parts.keys():
        raise GradcliError(f"'{path}' is missing its element {path}[{min(gaps)}]")
    return [parts[i] for i in range(len(parts))]


def call_with(function: Callable, values: Mapping[str, Any]) -> Any:
    """Call a function on named values, positionally if its parameters allow, as derived functions require."""
    return by_name(function, values)(*values.values())


def is_under(path: str, name: str) -> bool:
    return path == name or (path.startswith(name) and path[len(name)] in ".[")


def is_named(path: str, wrt: Iterable[str] | None) -> bool:
    """Report whether a path is to be differentiated: `wrt` names it or something that contains it, or is None (all)."""
    return wrt is None or any(is_under(path, name) for name in wrt)


def is_whole_number(x: Any) -> bool:
    raw = np.asarray(x) if isinstance(x, float | np.ndarray | np.floating) else None
    return raw is not None and raw.dtype.kind == "f" and bool((np.isfinite(raw) & (raw == np.round(raw))).all())


def as_whole(x: Any) -> Any:
    return np.asarray(x).astype(np.int64)


def expand_paths(wrt: Sequence[str] | None, paths: Sequence[str]) -> list[str]:
    """Return the paths of the inputs that `wrt` names [all]; unknown names are kept."""
    if wrt is None:
        return list(paths)
    return [path for name in wrt for path in ([p for p in paths if is_under(p, name)] or [name])]


def arguments_of(
    f: Callable,
    given: Mapping[str, Any],
    title: str,
    wrt: Sequence[str],
    more: str = "",
    choose: Callable[[Sequence[inspect.Parameter]], list[inspect.Parameter]] | None = None,
) -> dict[str, Any]:
    """Return the inputs of a plain function in the order of its parameters. Raises GradcliError for missing ones.

    An array default is an input only if no value is given, or if `wrt` names it. more: text to append to the hint for
    missing values, as in `bind`. choose: returns those parameters that are inputs; without it, all are.
    """
    try:
        parameters = named_parameters(f, title)
    except (TypeError, ValueError):
        return dict(given)
    parameters = parameters if choose is None else choose(parameters)
    names = [p.name for p in parameters]
    if not names:
        raise GradcliError(f"{title} has no parameters, so there is nothing to check", kind="name")
    refuse_unknown(given, names, f"{title} has no parameter", "its parameters are")
    whole = {p.name for p in parameters if takes_whole(p.annotation)}
    defaults = {n: x for n, x in default_arrays(parameters, given).items() if n in wrt or not given}
    return bind(f, parameters, {**defaults, **given}, title, whole, more=more)


def without(constants: set[str], names: Sequence[str], at: Mapping[str, Any]) -> list[str]:
    """Return the names of inputs that are not constant; of inputs that are so in part, the paths of the other parts."""
    free = []
    for name in names:
        parts = [name]
        if any(is_under(path, name) and path != name for path in constants):
            parts = list(Arguments({name: at[name]}).arrays)
        free += [part for part in parts if not is_named(part, constants)]
    return free


def free_inputs(at: Mapping[str, Any], constants: set[str]) -> list[str] | None:
    """Return the inputs of a plain function that are differentiated; None for all of them.

    Whole numbers, strings and constants are not.
    """
    arrays = {n: as_array(x) for n, x in at.items() if isinstance(x, int | list | np.ndarray)}
    fixed = [n for n, x in arrays.items() if x is not None and x.dtype.kind in "iu"]
    if not fixed and not constants:
        return None
    return without(constants, [n for n, x in at.items() if n not in fixed and not isinstance(x, str | bool | None)], at)
