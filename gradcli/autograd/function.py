"""torch.autograd.function: custom functions."""

from ..tape.context import FunctionNode
from ..tape.function import Function, once_differentiable

FunctionCtx = BackwardCFunction = FunctionNode
__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]
