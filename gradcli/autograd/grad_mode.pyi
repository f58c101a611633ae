# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.tape.modes import enable_grad as enable_grad
from gradcli.tape.modes import inference_mode as inference_mode
from gradcli.tape.modes import no_grad as no_grad
from gradcli.tape.modes import set_grad_enabled as set_grad_enabled
