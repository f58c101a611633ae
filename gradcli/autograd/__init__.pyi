# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.autograd import anomaly_mode as anomaly_mode
from gradcli.autograd import function as function
from gradcli.autograd import functional as functional
from gradcli.autograd import grad_mode as grad_mode
from gradcli.autograd import graph as graph
from gradcli.check.pytorch import gradcheck as gradcheck
from gradcli.check.pytorch import gradgradcheck as gradgradcheck
from gradcli.tape.anomaly import detect_anomaly as detect_anomaly
from gradcli.tape.anomaly import set_detect_anomaly as set_detect_anomaly
from gradcli.tape.backward import backward as backward
from gradcli.tape.backward import grad as grad
from gradcli.tape.function import Function as Function
from gradcli.tape.modes import enable_grad as enable_grad
from gradcli.tape.modes import inference_mode as inference_mode
from gradcli.tape.modes import no_grad as no_grad
from gradcli.tape.modes import set_grad_enabled as set_grad_enabled
