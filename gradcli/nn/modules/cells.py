"""Single steps of recurrent networks."""

from __future__ import annotations

import math
from typing import Any

from ...api.create import zeros
from ...tape.tensor import Tensor
from .. import functional
from .linear import fill_uniform, parameter
from .module import Module
from .rnn import STEPS, State


class RNNCellBase(Module):
    """One recurrent step of (N, input_size) or (input_size,)."""

    mode = ""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = STEPS[self.mode][1] * hidden_size
        self.weight_ih = parameter(gates, input_size, dtype=dtype, device=device)
        self.weight_hh = parameter(gates, hidden_size, dtype=dtype, device=device)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, parameter(gates, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
        fill_uniform(self, 1 / math.sqrt(self.hidden_size))

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Return the next state from this one (zeros unless given)."""
        if input.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        count = 2 if self.mode == "LSTM" else 1
        if hx is None:
            state: State = (zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype),) * count
        else:
            state = tuple(hx) if count == 2 else (hx,)
            self._check_state(input, state)
        x = functional.linear(input, self.weight_ih, self.bias_ih)
        h = functional.linear(state[0], self.weight_hh, self.bias_hh)
        new = STEPS[self.mode][0](x, h, state)
        return new if count == 2 else new[0]

    def _check_state(self, input: Tensor, state: State) -> None:
        for i, part in enumerate(state):
            if part.ndim != input.ndim:
                kind = type(self).__name__
                raise ValueError(f"{kind}: Expected hidden to be {input.ndim}D, got {part.ndim}D instead")
            if part.shape[:-1] != input.shape[:-1]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{i} batch size {part.shape[0]}"
                )
            if part.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {part.shape[-1]}, expected {self.hidden_size}"
                )

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self.__dict__["nonlinearity"] = nonlinearity
        self.__dict__["mode"] = f"RNN_{nonlinearity.upper()}"
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """One step of LSTM: (h, c)."""

    mode = "LSTM"


class GRUCell(RNNCellBase):
    """One step of GRU: h."""

    mode = "GRU"
