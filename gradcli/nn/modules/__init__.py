"""The modules of torch.nn. A file is imported when a name in it is first looked up."""

from __future__ import annotations

from ...api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        "activation": """
            CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
            PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh
            Tanhshrink Threshold
        """,
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        "cells": "GRUCell LSTMCell RNNCell RNNCellBase",
        "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "linear": "Identity Linear",
        "loss": """
            BCELoss BCEWithLogitsLoss CrossEntropyLoss GaussianNLLLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss
            PoissonNLLLoss SmoothL1Loss
        """,
        "module": "Module",
        "normalization": "GroupNorm LayerNorm RMSNorm",
        "pooling": """
            MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d
            AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
        """,
        "rnn": "GRU LSTM RNN RNNBase",
        "shaping": "Flatten Fold Unflatten Unfold",
        "sparse": "Embedding",
    },
)
