# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

import gradcli.tape.function
from gradcli.tape.tensor import Tensor

from gradcli.tape.function import Function as Function
from gradcli.tape.function import once_differentiable as once_differentiable
BackwardCFunction = gradcli.tape.function.FunctionNode
FunctionCtx = gradcli.tape.function.FunctionNode
