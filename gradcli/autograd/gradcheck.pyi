# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.check.pytorch import GradcheckError as GradcheckError
from gradcli.check.pytorch import gradcheck as gradcheck
from gradcli.check.pytorch import gradgradcheck as gradgradcheck
