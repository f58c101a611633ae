"""torch.autograd.function: custom functions."""

from ..tape.function import Function, FunctionNode, once_differentiable

FunctionCtx = FunctionNode
__all__ = ["Function", "FunctionCtx", "once_differentiable"]
