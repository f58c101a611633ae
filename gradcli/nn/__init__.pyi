# Written by `make man` from the table of functions: names that are looked up at run time.
import builtins
from typing import Any

from gradcli.tape.tensor import Tensor

from gradcli.nn import functional as functional
from gradcli.nn import init as init
from gradcli.nn import utils as utils
from gradcli.nn.conv import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from gradcli.nn.conv import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from gradcli.nn.conv import AvgPool1d as AvgPool1d
from gradcli.nn.conv import AvgPool2d as AvgPool2d
from gradcli.nn.conv import Conv1d as Conv1d
from gradcli.nn.conv import Conv2d as Conv2d
from gradcli.nn.conv import MaxPool1d as MaxPool1d
from gradcli.nn.conv import MaxPool2d as MaxPool2d
from gradcli.nn.layers import Dropout as Dropout
from gradcli.nn.layers import Dropout2d as Dropout2d
from gradcli.nn.layers import ELU as ELU
from gradcli.nn.layers import Embedding as Embedding
from gradcli.nn.layers import Flatten as Flatten
from gradcli.nn.layers import GELU as GELU
from gradcli.nn.layers import Identity as Identity
from gradcli.nn.layers import LeakyReLU as LeakyReLU
from gradcli.nn.layers import Linear as Linear
from gradcli.nn.layers import LogSoftmax as LogSoftmax
from gradcli.nn.layers import ModuleDict as ModuleDict
from gradcli.nn.layers import ModuleList as ModuleList
from gradcli.nn.layers import PReLU as PReLU
from gradcli.nn.layers import ReLU as ReLU
from gradcli.nn.layers import Sequential as Sequential
from gradcli.nn.layers import SiLU as SiLU
from gradcli.nn.layers import Sigmoid as Sigmoid
from gradcli.nn.layers import Softmax as Softmax
from gradcli.nn.layers import Softplus as Softplus
from gradcli.nn.layers import Tanh as Tanh
from gradcli.nn.loss import BCELoss as BCELoss
from gradcli.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from gradcli.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from gradcli.nn.loss import HuberLoss as HuberLoss
from gradcli.nn.loss import KLDivLoss as KLDivLoss
from gradcli.nn.loss import L1Loss as L1Loss
from gradcli.nn.loss import MSELoss as MSELoss
from gradcli.nn.loss import NLLLoss as NLLLoss
from gradcli.nn.loss import SmoothL1Loss as SmoothL1Loss
from gradcli.nn.module import Module as Module
from gradcli.nn.norm import BatchNorm1d as BatchNorm1d
from gradcli.nn.norm import BatchNorm2d as BatchNorm2d
from gradcli.nn.norm import GroupNorm as GroupNorm
from gradcli.nn.norm import LayerNorm as LayerNorm
from gradcli.nn.sequences import GRU as GRU
from gradcli.nn.sequences import LSTM as LSTM
from gradcli.nn.sequences import MultiheadAttention as MultiheadAttention
from gradcli.nn.sequences import RNN as RNN
from gradcli.nn.sequences import RNNBase as RNNBase
from gradcli.tape.tensor import Parameter as Parameter
