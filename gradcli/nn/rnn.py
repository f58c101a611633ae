"""Recurrent networks."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..api.create import zeros
from ..api.join import cat, stack
from ..tape.tensor import Tensor
from . import functional
from .layers import fill_uniform, parameter
from .module import Module

State = tuple[Tensor, ...]


def tanh_step(x: Tensor, h: Tensor, state: State) -> State:
    """tanh(x + h)."""
    return ((x + h).tanh(),)


def relu_step(x: Tensor, h: Tensor, state: State) -> State:
    """relu(x + h)."""
    return ((x + h).relu(),)


def lstm_step(x: Tensor, h: Tensor, state: State) -> State:
    """Input, forget, cell and output gates (Hochreiter and Schmidhuber 1997): (hidden, cell)."""
    i, f, g, o = (x + h).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(x: Tensor, h: Tensor, state: State) -> State:
    """Reset and update gates (Cho et al. 2014)."""
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, -1), h.chunk(3, -1)
    update = (xz + hz).sigmoid()
    new = (xn + (xr + hr).sigmoid() * hn).tanh()
    return (new + update * (state[0] - new),)


STEPS = {"RNN_TANH": (tanh_step, 1), "RNN_RELU": (relu_step, 1), "LSTM": (lstm_step, 4), "GRU": (gru_step, 3)}
"""For each kind, what one step computes and how many gates there are."""


def check_type(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")


class RNNBase(Module):
    """Layers of one recurrent step, run along a sequence (L, N, features), (N, L, features) or (L, features)."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            check_type(name, value, int)
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        for name, value in (("bias", bias), ("batch_first", batch_first)):
            check_type(name, value, bool)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates, out = STEPS[mode][1] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * (1 + bidirectional)
            for end in self._ends(layer):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                for name, shape in shapes.items():
                    setattr(self, name + end, parameter(*shape, dtype=dtype, device=device))
        self.reset_parameters()

    def _ends(self, layer: int) -> list[str]:
        """Return how the names of a layer's parameters end, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
        fill_uniform(self, 1 / math.sqrt(self.hidden_size))

    def flatten_parameters(self) -> None:
        """Do nothing: there is nothing to gain here."""

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if input.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        weight = self.weight_ih_l0
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        alone = input.ndim == 2
        x = input.unsqueeze(1) if alone else input.transpose(0, 1) if self.batch_first else input
        x, final = self._layers(x, self._states(hx, x, alone))
        if alone:
            x, final = x.squeeze(1), tuple(s.squeeze(1) for s in final)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, final if self.mode == "LSTM" else final[0]

    def _layers(self, x: Tensor, states: State) -> tuple[Tensor, State]:
        """Run all layers; return the outputs of the last, and the last states."""
        last: list[State] = []
        for layer in range(self.num_layers):
            ends = self._ends(layer)
            runs = [self._run(x, end, tuple(s[len(last) + i] for s in states)) for i, end in enumerate(ends)]
            last.extend(state for _, state in runs)
            x = runs[0][0] if len(runs) == 1 else cat([outputs for outputs, _ in runs], -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = functional.dropout(x, self.dropout)
        return x, tuple(stack(list(parts)) for parts in zip(*last, strict=True))

    def _states(self, hx: Any, x: Tensor, alone: bool) -> State:
        """Return the first states (layers and directions, N, size). Raises RuntimeError for other shapes."""
        count, batch = self.num_layers * (1 + self.bidirectional), x.shape[1]
        sizes = [self.proj_size or self.hidden_size, *([self.hidden_size] if self.mode == "LSTM" else [])]
        if hx is None:
            return tuple(zeros(count, batch, size, dtype=x.dtype) for size in sizes)
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        for state, size in zip(states, sizes, strict=True):
            wanted = (count, size) if alone else (count, batch, size)
            if tuple(state.shape) != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {list(state.shape)}")
        return tuple(s.unsqueeze(1) for s in states) if alone else states

    def _run(self, x: Tensor, end: str, state: State) -> tuple[Tensor, State]:
        """Run one layer in one direction; return its outputs and its last state."""
        step = STEPS[self.mode][0]
        weight, bias = getattr(self, "weight_hh" + end), getattr(self, "bias_hh" + end, None)
        projection = getattr(self, "weight_hr" + end, None)
        through = functional.linear(x, getattr(self, "weight_ih" + end), getattr(self, "bias_ih" + end, None))
        outputs: list = [None] * x.shape[0]
        times = range(x.shape[0])

        def run(x: Tensor, state: State) -> State:
            state = step(x, functional.linear(state[0], weight, bias), state)
            return state if projection is None else (functional.linear(state[0], projection), *state[1:])

        for t in reversed(times) if end.endswith("_reverse") else times:
            state = run(through[t], state)
            outputs[t] = state[0]
        return stack(outputs), state

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        return ", ".join(parts + [f"{k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v])


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu: (outputs, last h)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: (outputs, (last h, last c))."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent unit: (outputs, last h)."""

    def __init__(self, *args: Any, **kwargs: Any):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)
