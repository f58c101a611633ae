# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.tape.hooks import saved_tensors_hooks as saved_tensors_hooks
from gradcli.tape.node import Node as Node
