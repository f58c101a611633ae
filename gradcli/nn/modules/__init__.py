"""The modules of torch.nn. A file is imported when a name in it is first looked up."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...face.wrap import missing

HOMES = {
    name: module
    for module, names in {
        "activation": """
            CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
            PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh
            Tanhshrink Threshold
        """,
        "attention": "MultiheadAttention",
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        "cells": "GRUCell LSTMCell RNNCell RNNCellBase",
        "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "lazy": """
            LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
            LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
            LazyLinear
        """,
        "linear": "Bilinear Identity Linear NonDynamicallyQuantizableLinear",
        "loss": """
            BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss
            HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiLabelMarginLoss
            MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss
            TripletMarginLoss TripletMarginWithDistanceLoss
        """,
        "module": "Module",
        "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
        "parallel": "DataParallel",
        "pooling": """
            MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d LPPool3d MaxUnpool1d
            MaxUnpool2d MaxUnpool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
            AdaptiveMaxPool2d AdaptiveMaxPool3d FractionalMaxPool2d FractionalMaxPool3d
        """,
        "rnn": "GRU LSTM RNN RNNBase",
        "shaping": """
            ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
            CosineSimilarity Flatten Fold PairwiseDistance PixelShuffle PixelUnshuffle ReflectionPad1d
            ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d Unflatten Unfold
            Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
        """,
        "sparse": "Embedding EmbeddingBag",
        "transformer": """
            Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
        """,
    }.items()
    for name in names.split()
}
__all__ = sorted(HOMES)  # noqa: PLE0605
absent = missing(__name__, lambda: __all__)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        return absent(name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    return found
