"""The modules of torch.nn. A file is imported when a name in it is first looked up."""

from __future__ import annotations

from ...api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        "activation": "ELU GELU LeakyReLU LogSoftmax ReLU SiLU Sigmoid Softmax Softplus Tanh",
        "batchnorm": "BatchNorm1d BatchNorm2d",
        "container": "ModuleDict ModuleList Sequential",
        "conv": "Conv1d Conv2d",
        "dropout": "Dropout",
        "linear": "Identity Linear",
        "loss": """
            BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss
            SmoothL1Loss
        """,
        "module": "Module",
        "normalization": "GroupNorm LayerNorm",
        "pooling": "MaxPool1d MaxPool2d AvgPool1d AvgPool2d",
        "rnn": "GRU LSTM RNN RNNBase",
        "shaping": "Flatten",
        "sparse": "Embedding",
    },
)
