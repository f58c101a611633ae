"""Whether a function takes NumPy's arrays or gradcli's tensors, which decides what methods such as x.var() mean in it.

Its file shows that if it imports NumPy, and neither gradcli nor PyTorch, or if the function's code uses gradcli. If it
does not, both meanings are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..api.ndarray import NDARRAY_FORMS
from ..errors import TargetError
from ..tape.modes import no_grad
from ..tape.tensor import Tensor
from ..user.frameworks import LIBRARIES, names_in, reachable_from
from .arguments import arrays_in

ARRAY_PACKAGES, TENSOR_PACKAGES = {"numpy", "scipy"}, {"gradcli", "torch"}


def home_of(x: Any) -> str:
    """Return the package that defines a module, class, function or object."""
    home = x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", None)
    return home.partition(".")[0] if isinstance(home, str) else ""


def called_functions(function: Any) -> Iterator[Any]:
    """Yield a function and those that it calls, also of packages, except for those of NumPy, SciPy and gradcli."""
    for x in reachable_from(function):
        if isinstance(getattr(x, "__code__", None), CodeType) and home_of(x) not in LIBRARIES - {"__main__"}:
            yield x


def takes_arrays(function: Any) -> bool | None:
    """Return whether a function takes NumPy's arrays; False if it takes gradcli's tensors, None if that is open."""
    if any(home_of(x) in TENSOR_PACKAGES for x in reachable_from(function)):
        return False
    files = [getattr(user, "__globals__", {}) for user in called_functions(function)]
    imported = {home_of(x) for file in files for name, x in file.items() if not name.startswith("__")}
    return True if imported & ARRAY_PACKAGES and not imported & TENSOR_PACKAGES else None


def means_arrays(function: Any, title: str, call: Callable[[Callable[[np.ndarray], Any]], Any]) -> bool:
    """Return whether methods in a function have NumPy's meaning.

    call: runs the function on its inputs, each converted by an argument of `call`. Raises TargetError if the meaning is
    open and makes a difference.
    """
    known = takes_arrays(function)
    names = sorted({name for x in called_functions(function) for name in names_in(x.__code__)} & NDARRAY_FORMS.keys())
    if known is not None or not names:
        return bool(known)
    with no_grad(), np.errstate(all="ignore"):
        try:
            of_arrays = numbers_in(call(np.array))
        except Exception:
            return False
        try:
            of_tensors = numbers_in(call(lambda x: Tensor._wrap(np.array(x), None)))
        except Exception:  # it runs on arrays only
            return True
        random = not agree(of_arrays, numbers_in(call(np.array)))
    if not random and not agree(of_arrays, of_tensors):
        name = next((name for name in names if hasattr(np, name)), "sum")
        what = f"{title}: methods in it ({', '.join(names)}) give another value for NumPy's arrays than for tensors"
        raise TargetError(f"{what}; write np.{name}(x) or gradcli.{name}(x) instead of x.{name}()")
    return False


def numbers_in(result: Any) -> list[np.ndarray]:
    found = arrays_in(result, lambda x: isinstance(x, Tensor | np.ndarray | np.generic | int | float | complex))
    return [np.asarray(getattr(x, "_data", x)) for _, x in found]


def agree(results: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return len(results) == len(others) and all(map(is_same_result, results, others))


def is_same_result(x: np.ndarray, y: np.ndarray) -> bool:
    """Report whether two results agree, in their shape and in half of the digits."""
    if x.shape != y.shape or x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    tolerance = float(np.sqrt(np.finfo(x.dtype).eps))
    size = np.abs(x[np.isfinite(x)]).max(initial=0.0)
    return np.allclose(x, y, rtol=tolerance, atol=tolerance * size, equal_nan=True)
