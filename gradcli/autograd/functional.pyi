# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.func.autograd_functional import hessian as hessian
from gradcli.func.autograd_functional import hvp as hvp
from gradcli.func.autograd_functional import jacobian as jacobian
from gradcli.func.autograd_functional import jvp as jvp
from gradcli.func.autograd_functional import vhp as vhp
from gradcli.func.autograd_functional import vjp as vjp
