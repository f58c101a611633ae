"""Transformers (Vaswani et al. 2017) and their layers."""

from __future__ import annotations

import copy
from typing import Any

from ...face.create import full
from ...tape.tensor import Tensor
from .. import functional, init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

ACTIVATIONS = {"relu": functional.relu, "gelu": functional.gelu}


def activation_of(activation: Any) -> Any:
    """Return an activation by name, or the given one. Raises RuntimeError for other names."""
    if not isinstance(activation, str):
        return activation
    if activation not in ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return ACTIVATIONS[activation]


class Layer(Module):
    """What both kinds of layers share: steps that add to what comes in, each with a norm and dropout of its own."""

    _attentions: tuple[str, ...] = ("self_attn",)
    linear1: Any
    linear2: Any
    dropout: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        how = {"bias": bias, "dtype": dtype, "device": device}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **how))
        self.linear1 = Linear(d_model, dim_feedforward, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **how)
        self.norm_first = norm_first
        steps = range(1, len(self._attentions) + 2)
        for i in steps:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **how))
        for i in steps:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = activation_of(activation)

    def _added(self, x: Tensor, i: int, step: Any) -> Tensor:
        """Add what step number i makes of x, normalized before or after."""
        norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        return x + drop(step(norm(x))) if self.norm_first else norm(x + drop(step(x)))

    def _attended(self, name: str, x: Tensor, source: Tensor | None, mask: Any, padding: Any, causal: bool) -> Tensor:
        source = x if source is None else source
        out, _ = getattr(self, name)(
            x, source, source, attn_mask=mask, key_padding_mask=padding, is_causal=causal, need_weights=False
        )
        return out

    def _forth(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(Layer):
    """Self-attention, then two linear maps with an activation between."""

    def forward(
        self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        """Return the result in the shape of src."""
        x = self._added(
            src, 1, lambda x: self._attended("self_attn", x, None, src_mask, src_key_padding_mask, is_causal)
        )
        return self._added(x, 2, self._forth)


class TransformerDecoderLayer(Layer):
    """Self-attention, attention to a memory, then two linear maps with an activation between."""

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the result in the shape of tgt."""
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._added(tgt, 1, lambda x: self._attended("self_attn", x, None, *own))
        x = self._added(x, 2, lambda x: self._attended("multihead_attn", x, memory, *other))
        return self._added(x, 3, self._forth)


def is_causal_mask(mask: Any) -> bool:
    """Return whether a mask hides exactly what comes later."""
    if mask is None or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    raw = mask.detach().numpy()
    return bool((raw == square_mask(mask.shape[0]).to(mask.dtype).numpy()).all())


def square_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Return the mask (sz, sz) that hides what comes later: -inf above the diagonal, 0 elsewhere."""
    return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


class Stack(Module):
    """A layer several times, each with parameters of its own, and a norm at the end."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def _run(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(Stack):
    """Encoder layers one after another."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Tensor:
        """Return the result in the shape of src."""
        causal = is_causal_mask(mask) if is_causal is None else is_causal
        return self._run(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)


class TransformerDecoder(Stack):
    """Decoder layers one after another."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the result in the shape of tgt."""
        return self._run(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=is_causal_mask(tgt_mask) if tgt_is_causal is None else tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder, and a decoder that attends to what it makes of the source."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        how = {"bias": bias, "dtype": dtype, "device": device}

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, **how)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings, **how), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings, **how), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    generate_square_subsequent_mask = staticmethod(square_mask)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's result in the shape of tgt."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
