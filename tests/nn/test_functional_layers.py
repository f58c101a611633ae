"""Embeddings and normalization against plain loops and formulas."""

import numpy as np

import gradcli
import gradcli.nn.functional as F

from .compare import check, normal, standard, t


def test_embeddings_are_rows():
    w = gradcli.tensor(normal(5, 3), requires_grad=True)
    rows = F.embedding(t(np.array([[1, 1], [4, 0]])), w, padding_idx=-1)
    check(rows, w.detach().numpy()[[[1, 1], [4, 0]]])
    rows.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 0, 0, 0]
    assert F.one_hot(t(np.array([2, 0]))).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_normalizations_standardize():
    x, w, b = normal(4, 6, 5), normal(6), normal(6)
    channels = w[:, None], b[:, None]
    check(F.layer_norm(t(x), (6, 5)), standard(x, (1, 2)))
    check(F.instance_norm(t(x), weight=t(w), bias=t(b)), standard(x, 2) * channels[0] + channels[1])
    groups = standard(x.reshape(4, 3, 10), 2).reshape(x.shape)
    check(F.group_norm(t(x), 3, t(w), t(b)), groups * channels[0] + channels[1])
    check(F.rms_norm(t(x), (5,), eps=0.1), x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1))
    mean, variance = t(np.zeros(6)), t(np.ones(6))
    check(F.batch_norm(t(x), mean, variance, training=True, momentum=0.25), standard(x, (0, 2)))
    check(mean, 0.25 * x.mean((0, 2)))
    check(variance, 0.75 + 0.25 * x.var((0, 2), ddof=1))
    want = (x - mean.numpy()[:, None]) / np.sqrt(variance.numpy()[:, None] + 1e-5)
    check(F.batch_norm(t(x), mean, variance), want)
