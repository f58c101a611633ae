"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api.create import empty, zeros
from ..api.shape import cat, stack
from ..tape.tensor import Parameter, Tensor
from .layers import check_probability, dropout, fill_uniform, linear
from .module import Module

State = tuple[Tensor, ...]


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


STEPS: dict[str, tuple[Callable[..., State], int]] = {
    "RNN_TANH": (lambda x, h, _: ((x + h).tanh(),), 1),
    "RNN_RELU": (lambda x, h, _: ((x + h).relu(),), 1),
    "LSTM": (lstm_step, 4),
    "GRU": (gru_step, 3),
}
"""For each kind, the function of one step and the number of gates."""


class RNNBase(Module):
    """Layers of one recurrent step, run along a sequence (L, N, features), (N, L, features) or (L, features)."""

    mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        check_probability(dropout)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        gates = STEPS[self.mode][1] * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, hidden_size)}
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}
            for end in self._ends(layer):
                for name, shape in shapes.items():
                    setattr(self, name + end, Parameter(empty(*shape, dtype=dtype, device=device)))
        self.reset_parameters()

    def _ends(self, layer: int) -> list[str]:
        """Return the suffix of a layer's parameter names, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
        fill_uniform(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: PyTorch programs call this to speed up GPUs."""

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if input.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.dtype != self.weight_ih_l0.dtype:
            kinds = f"({input.dtype}) does not match weight dtype ({self.weight_ih_l0.dtype})"
            raise ValueError(f"RNN input dtype {kinds}: convert the input or the model with .to()")
        alone = input.ndim == 2
        x = input.unsqueeze(1) if alone else input.transpose(0, 1) if self.batch_first else input
        x, final = self._layers(x, self._states(hx, x, alone))
        if alone:
            x, final = x.squeeze(1), tuple(s.squeeze(1) for s in final)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, final if self.mode == "LSTM" else final[0]

    def _states(self, hx: Any, x: Tensor, alone: bool) -> State:
        """Return the first states (layers and directions, N, size). Raises RuntimeError for other shapes."""
        count, size = self.num_layers * (1 + self.bidirectional), self.hidden_size
        if hx is None:
            return (zeros(count, x.shape[1], size, dtype=x.dtype),) * (2 if self.mode == "LSTM" else 1)
        wanted = (count, size) if alone else (count, x.shape[1], size)
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        for state in states:
            if tuple(state.shape) != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {list(state.shape)}")
        return tuple(s.unsqueeze(1) for s in states) if alone else states

    def _layers(self, x: Tensor, states: State) -> tuple[Tensor, State]:
        """Run all layers; return the last one's outputs, and the last states."""
        last: list[State] = []
        for layer in range(self.num_layers):
            ends = self._ends(layer)
            runs = [self._run(x, end, tuple(s[len(last) + i] for s in states)) for i, end in enumerate(ends)]
            last.extend(state for _, state in runs)
            x = runs[0][0] if len(runs) == 1 else cat([outputs for outputs, _ in runs], -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = dropout(x, self.dropout)
        return x, tuple(stack(list(parts)) for parts in zip(*last, strict=True))

    def _run(self, x: Tensor, end: str, state: State) -> tuple[Tensor, State]:
        """Run one layer in one direction; return its outputs and its last state."""
        step = STEPS[self.mode][0]
        weights = {name: getattr(self, name + end, None) for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")}
        through = linear(x, weights["weight_ih"], weights["bias_ih"])  # type: ignore[arg-type]
        outputs: list = [None] * x.shape[0]
        times = range(x.shape[0])
        for t in reversed(times) if end.endswith("_reverse") else times:
            hidden = linear(state[0], weights["weight_hh"], weights["bias_hh"])  # type: ignore[arg-type]
            state = step(through[t], hidden, state)
            outputs[t] = state[0]
        return stack(outputs), state

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        unusual = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *unusual])


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
        self.__dict__.update(nonlinearity=nonlinearity, mode=f"RNN_{nonlinearity.upper()}")
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: (outputs, (last h, last c))."""

    mode = "LSTM"


class GRU(RNNBase):
    """Gated recurrent unit: (outputs, last h)."""

    mode = "GRU"
