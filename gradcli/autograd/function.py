"""torch.autograd.function: custom functions."""

from ..tape.context import FunctionNode
from ..tape.function import Function, InplaceFunction, once_differentiable

FunctionCtx = BackwardCFunction = FunctionNode
__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
