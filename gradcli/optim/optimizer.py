"""What optimizers share: groups of parameters with their settings, and a state for each parameter."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..tape import versions
from ..tape.leaf import clear_grad
from ..tape.modes import enable_grad
from ..tape.tensor import Tensor


class Optimizer:
    """Changes parameters in place, given their gradients. Derived classes define `update`.

    params: tensors, or dicts with `params` and settings of a group of their own. Raises
    TypeError and ValueError as PyTorch does. The settings foreach, fused and capturable choose among ways to compute
    the same in PyTorch; they are kept in the groups and mean nothing here.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"torch.{params.dtype.title}Tensor"
            )
        if defaults.get("differentiable"):
            raise RuntimeError(f"{type(self).__name__}: differentiable=True is not supported")
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with `params` and settings that differ from the usual."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        listed = [params] if isinstance(params, Tensor) else list(params)
        for p in listed:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(set(listed)) != len(listed):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        others = {id(p) for group in self.param_groups for p in group["params"]}
        if not others.isdisjoint(map(id, listed)):
            raise ValueError("some parameters appear in more than one parameter group")
        param_group["params"] = listed
        self.param_groups.append({**self.defaults, **param_group})

    # -- steps ------------------------------------------------------------------------------------

    def step(self, closure: Callable | None = None) -> Any:
        """Change every parameter that has a gradient. closure: computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with np.errstate(all="ignore"):
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is not None:
                        data = p._array()
                        grad = p._grad._array()
                        self.update(data, -grad if group["maximize"] else grad, self.state[p], group)
                        versions.mark_changed(data)
        return loss

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter's data in place; `state` is its own, `group` has the settings."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients: to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    # -- state ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return settings and states; parameters are numbered across the groups."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            settings = {k: v for k, v in group.items() if k != "params"}
            groups.append({**settings, "params": [numbers[id(p)] for p in group["params"]]})
        return {"state": {numbers[id(p)]: s for p, s in self.state.items() if s}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and states from what state_dict returned. Raises ValueError for other groups."""
        given = state_dict["param_groups"]
        if len(given) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(o["params"]) for g, o in zip(given, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_number: dict[Any, Tensor] = {}
        for new, old in zip(given, self.param_groups, strict=True):
            by_number.update(zip(new["params"], old["params"], strict=True))
            old.update(copy.deepcopy({k: v for k, v in new.items() if k != "params"}))
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = by_number.get(number, number)
            self.state[p] = {name: _fitting(name, value, p) for name, value in values.items()}

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            settings = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n{settings}"
        return text + ")"


def _fitting(name: str, value: Any, p: Any) -> Any:
    """Return a copy of a loaded value; tensors get the parameter's type, but for the count of steps."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    return value.detach().clone() if name == "step" else value.detach().clone().to(p.dtype)


def refuse_unless(settings: Iterable[tuple[bool, str]]) -> None:
    """Raise ValueError with the first message whose condition does not hold."""
    for holds, message in settings:
        if not holds:
            raise ValueError(message)
