"""Neural networks with the names and arguments of torch.nn. Modules are imported on first use.

Read module and call (hooks) first, then layers, conv, norm, loss, sequences and init.
"""

from __future__ import annotations

from ..api.wrap import lazy, namespace

NN_NAMES = {
    "gradcli.nn.module": "Module",
    "gradcli.nn.layers": """
        Dropout Dropout2d ELU Embedding Flatten GELU Identity LeakyReLU Linear LogSoftmax ModuleDict ModuleList PReLU
        ReLU Sequential SiLU Sigmoid Softmax Softplus Tanh
    """,
    "gradcli.nn.conv": "AdaptiveAvgPool1d AdaptiveAvgPool2d AvgPool1d AvgPool2d Conv1d Conv2d MaxPool1d MaxPool2d",
    "gradcli.nn.norm": "BatchNorm1d BatchNorm2d GroupNorm LayerNorm",
    "gradcli.nn.loss": """
        BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss SmoothL1Loss
    """,
    "gradcli.nn.sequences": "GRU LSTM MultiheadAttention RNN RNNBase",
}
PARAMETER_HOME = {"gradcli.tape.tensor": "Parameter"}
namespace(f"{__name__}.modules", NN_NAMES)
namespace(f"{__name__}.parameter", PARAMETER_HOME)
__all__, __getattr__ = lazy(__name__, NN_NAMES | PARAMETER_HOME, "functional", "init", "utils")
