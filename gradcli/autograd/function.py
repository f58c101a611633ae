"""torch.autograd.function: custom functions."""

from ..tape.function import Function, once_differentiable
from ..tape.function_node import FunctionNode

FunctionCtx = BackwardCFunction = FunctionNode
__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]
