"""How converting a module, or loading its state, changes its parameters (torch.__future__)."""

from __future__ import annotations

from typing import Any

from ...face.wrap import missing
from ...tape.exchange import swap_tensors
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor


class conversion:  # noqa: N801 - a namespace
    """swap: parameters trade places with new ones; overwrite: new ones are assigned; otherwise `.data` is set."""

    swap = False
    overwrite = False


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose whether Module.to and load_state_dict swap parameters with new ones; this goes before overwriting."""
    conversion.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether parameters are swapped."""
    return conversion.swap


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose whether Module.to assigns new parameters rather than give data to those that there are."""
    conversion.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether new parameters are assigned."""
    return conversion.overwrite


def converted(parameter: Any, convert: Any) -> Any:
    """Return a module's parameter after a conversion of its data and gradient: itself, or a new one."""
    grad, data = parameter._grad, convert(parameter.data)
    new_grad: Any = None if grad is None else convert(grad)
    if conversion.swap:
        parameter._grad = None
        swap_tensors(parameter, Parameter(data, parameter.requires_grad))
        if grad is not None:
            swap_tensors(grad, Tensor._wrap(new_grad._data, None))
    elif conversion.overwrite:
        parameter, grad = Parameter(data, parameter.requires_grad), new_grad
    else:
        parameter.data = data
        if grad is not None:
            grad.data = new_grad
    parameter._grad = grad
    return parameter


def swapped_in(x: Tensor, value: Tensor, assign: bool) -> None:
    """Give a parameter or buffer a value by swapping it with a new tensor; assign: with the value's memory."""
    taken = x.module_load(value, assign=assign)
    if taken is value or taken is x:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load"
        )
    if isinstance(x, Parameter):
        taken = Parameter(taken, x.requires_grad)
    swap_tensors(x, taken)


__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]
__getattr__ = missing(__name__, lambda: __all__)
