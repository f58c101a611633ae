"""scikit-learn 1.9.1: MLPRegressor._loss_grad_lbfgs

With k outputs, the loss is the mean over samples and outputs, but the gradient is divided only by the number of
samples. The gradient is k times that of the loss, apart from the penalty, so that L-BFGS gets a value and a gradient
that do not belong together.

Right: d loss / d w_ij = sum over samples of x_i (w_j x + b_j - y_j) / (n k), for a network without hidden layer
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

X = [[0.5, -1.0], [1.5, 0.3], [-0.7, 0.8]]
Y = [[1.0, 0.2], [-0.5, 0.4], [0.3, -1.1]]
AT = [0.4, -0.2, 0.7, 0.1, 0.05, -0.3]  # w00, w01, w10, w11, b0, b1; w_ij leads from input i to output j


def residuals(p):
    return [[x[0] * p[j] + x[1] * p[2 + j] + p[4 + j] - y[j] for j in (0, 1)] for x, y in zip(X, Y, strict=True)]


def loss(p):
    return sum(r**2 for row in residuals(p) for r in row) / (2 * len(X) * 2)


def right(p):
    inputs = [[*x, 1] for x in X]
    pairs = [(inputs[n], row) for n, row in enumerate(residuals(p))]
    return [sum(x[i] * row[j] for x, row in pairs) / (len(X) * 2) for i in (0, 1, 2) for j in (0, 1)]


prove(loss, right, AT)
require("scikit-learn", "1.9.1")
from sklearn.neural_network import MLPRegressor  # noqa: E402

MODEL = MLPRegressor(hidden_layer_sizes=(), alpha=0.0, solver="lbfgs", max_iter=1)
MODEL.fit(np.array(X), np.array(Y))


def both(p):
    data = np.array(X), np.array(Y)
    activations = [data[0], np.empty((len(X), 2))]
    deltas, slopes, offsets = [np.empty((len(X), 2))], [np.empty((2, 2))], [np.empty(2)]
    return MODEL._loss_grad_lbfgs(np.array(p), *data, None, activations, deltas, slopes, offsets)


gradcli.check(lambda p: both(p)[0], at={"p": AT}, grad=lambda p: both(p)[1], name="_loss_grad_lbfgs")
gradcli.check(lambda p: both(p)[0], at={"p": AT}, grad=in_floats(right), name="right formula")
