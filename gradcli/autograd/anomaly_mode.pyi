# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.tape.anomaly import detect_anomaly as detect_anomaly
from gradcli.tape.anomaly import set_detect_anomaly as set_detect_anomaly
