"""Neural networks with the names and arguments of torch.nn. Modules are imported when they are first used."""

from __future__ import annotations

from ..api.wrap import lazy, namespace

NAMES = {
    "gradcli.nn.module": "Module",
    "gradcli.nn.containers": "ModuleDict ModuleList Sequential",
    "gradcli.nn.layers": """
        AvgPool1d AvgPool2d BCELoss BCEWithLogitsLoss Conv1d Conv2d CrossEntropyLoss Dropout ELU Embedding Flatten
        GELU
        HuberLoss Identity
        KLDivLoss L1Loss LeakyReLU Linear LogSoftmax MSELoss MaxPool1d MaxPool2d NLLLoss ReLU
        SiLU Sigmoid SmoothL1Loss Softmax Softplus Tanh
    """,
    "gradcli.nn.normalization": "BatchNorm1d BatchNorm2d GroupNorm LayerNorm",
    "gradcli.nn.rnn": "GRU LSTM RNN RNNBase",
}
PARAMETER = {"gradcli.tape.tensor": "Parameter"}
namespace(f"{__name__}.modules", NAMES)
namespace(f"{__name__}.parameter", PARAMETER)
__all__, __getattr__ = lazy(__name__, NAMES | PARAMETER, "functional", "init", "utils")
