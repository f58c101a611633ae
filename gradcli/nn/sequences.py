"""Modules for sequences: recurrent networks and attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.create import empty, zeros
from ..api.shape import cat, stack
from ..rules import entry
from ..tape.tensor import Parameter, Tensor, as_raw
from . import init
from .layers import Linear, check_probability, dropout, fill_uniform, linear
from .module import Module

State = tuple[Tensor, ...]


def lstm_step(x: Tensor, h: Tensor, state: State) -> State:
    """Return (hidden, cell) from input, forget, cell and output gates (Hochreiter and Schmidhuber 1997)."""
    i, f, g, o = (x + h).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(x: Tensor, h: Tensor, state: State) -> State:
    """Return (hidden,) from reset and update gates (Cho et al. 2014)."""
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, -1), h.chunk(3, -1)
    update = (xz + hz).sigmoid()
    new = (xn + (xr + hr).sigmoid() * hn).tanh()
    return (new + update * (state[0] - new),)


CELL_STEPS: dict[str, tuple[Callable[..., State], int]] = {
    "RNN_TANH": (lambda x, h, _: ((x + h).tanh(),), 1),
    "RNN_RELU": (lambda x, h, _: ((x + h).relu(),), 1),
    "LSTM": (lstm_step, 4),
    "GRU": (gru_step, 3),
}
"""The function of one step and the number of gates for each kind of network."""


class RNNBase(Module):
    """Recurrent layers, run along a sequence (L, N, features), (N, L, features) or (L, features)."""

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
        gates = CELL_STEPS[self.mode][1] * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, hidden_size)}
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}
            for end in self._ends(layer):
                for name, shape in shapes.items():
                    setattr(self, name + end, Parameter(empty(*shape, dtype=dtype, device=device)))
        self.reset_parameters()

    def _ends(self, layer: int) -> list[str]:
        """Return the suffix of a layer's parameter names in each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def reset_parameters(self) -> None:
        """Fill all parameters with uniform random numbers in +-1 / sqrt(hidden_size)."""
        fill_uniform(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing. PyTorch programs call this method to speed up GPUs."""

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
        """Return the initial states (layers * directions, N, size). Raises RuntimeError for other shapes."""
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
        """Run all layers. Return the outputs of the last layer, and the final states of all."""
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
        """Run one layer in one direction. Return its outputs and its final state."""
        step = CELL_STEPS[self.mode][0]
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
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        others = [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu instead of tanh. Returns (outputs, final h)."""

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
    """Long short-term memory. Returns (outputs, (final h, final c))."""

    mode = "LSTM"


class GRU(RNNBase):
    """Gated recurrent unit. Returns (outputs, final h)."""

    mode = "GRU"


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """Return softmax(query key^T scale + mask) over the keys; a boolean mask is True for keys to use."""
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if as_raw(mask).dtype == bool else scores + mask
    return scores.softmax(-1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query key^T / sqrt(width) + attn_mask) value; is_causal: use keys up to the query's position only."""
    if is_causal:
        attn_mask = entry("tril").function(Tensor._wrap(np.ones((query.shape[-2], key.shape[-2]), bool), None))
    return dropout(attention_weights(query, key, attn_mask, scale), dropout_p) @ value


class NonDynamicallyQuantizableLinear(Linear):
    __doc__ = Linear.__doc__


class MultiheadAttention(Module):
    """Attention with num_heads heads, whose queries, keys and values are linear functions of the inputs.

    Inputs have shape (L, N, E), (N, L, E) with batch_first, or (L, E). The result is (outputs, weights or None).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        check_probability(dropout)
        if num_heads < 1 or embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, dtype=dtype, device=device))
        in_proj_bias = Parameter(empty(3 * embed_dim, dtype=dtype, device=device)) if bias else None
        self.register_parameter("in_proj_bias", in_proj_bias)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        init.xavier_uniform_(self.in_proj_weight)
        for x in (in_proj_bias, self.out_proj.bias):
            if x is not None:
                init.zeros_(x)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return (outputs, weights). Numeric masks are added to the scores; boolean masks exclude keys where True."""
        alone, turned = query.ndim == 2, query.ndim == 3 and not self.batch_first
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        inputs = [x.unsqueeze(0) if alone else x.transpose(0, 1) if turned else x for x in (query, key, value)]
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        heads = [
            linear(x, weight, bias).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, weight, bias in zip(inputs, self.in_proj_weight.chunk(3), biases, strict=True)
        ]
        mask = None if attn_mask is None else as_added(attn_mask, query)
        if mask is not None and mask.ndim == 3:
            mask = mask.unflatten(0, (-1, self.num_heads))
        if key_padding_mask is not None:
            padding = as_added(key_padding_mask, query).reshape(-1, 1, 1, key_padding_mask.shape[-1])
            mask = padding if mask is None else mask + padding
        weights = attention_weights(heads[0], heads[1], mask)
        weights = dropout(weights, self.dropout, self.training)
        out = self.out_proj((weights @ heads[2]).transpose(1, 2).flatten(2))
        out = out.squeeze(0) if alone else out.transpose(0, 1) if turned else out
        if not need_weights:
            return out, None
        weights = weights.mean(1) if average_attn_weights else weights
        return out, weights.squeeze(0) if alone else weights


def as_added(mask: Tensor, query: Tensor) -> Tensor:
    """Convert a mask to numbers to add to the scores, in query's type: -inf where a boolean mask is True."""
    forbidden = as_raw(mask)
    added = np.where(forbidden, -np.inf, 0.0).astype(query._data.dtype)
    return Tensor._wrap(added, None) if forbidden.dtype == bool else mask
