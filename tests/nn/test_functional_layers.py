"""Embeddings, normalization and attention against plain loops and formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli
import gradcli.nn.functional as F

from .compare import check, t

RNG = np.random.default_rng(8)
inf = math.inf


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


# -- embeddings, normalization, attention ---------------------------------------------------------


def test_embeddings_are_rows():
    w = gradcli.tensor(normal(5, 3), requires_grad=True)
    rows = F.embedding(t(np.array([[1, 1], [4, 0]])), w, padding_idx=-1)
    check(rows, w.detach().numpy()[[[1, 1], [4, 0]]])
    rows.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 0, 0, 0]
    large = t(np.array([[3.0, 4.0], [0.3, 0.4]]))
    F.embedding(t(np.array([0, 1])), large, max_norm=1.0)
    assert_allclose(large.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    assert F.one_hot(t(np.array([2, 0]))).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("mode,reduce", [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_embedding_bags_reduce_their_rows(mode, reduce):
    w, numbers = normal(6, 3), np.array([1, 3, 3, 0, 5])
    out = F.embedding_bag(t(numbers), t(w), t(np.array([0, 2, 2])), mode=mode)
    check(out, [reduce(w[[1, 3]], 0), np.zeros(3), reduce(w[[3, 0, 5]], 0)])
    padded = F.embedding_bag(t(numbers[None]), t(w), mode=mode, padding_idx=3)
    check(padded[0], reduce(w[[1, 0, 5]], 0))


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


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
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0)))
    mean3 = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    check(F.local_response_norm(t(x), 3, 0.2, 0.5, 2.0), x / (2 + 0.2 * mean3) ** 0.5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention_averages_values():
    q, k, v = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6)
    scores = q @ k.swapaxes(1, 2) / 2
    check(F.scaled_dot_product_attention(t(q), t(k), t(v)), softmax(scores) @ v)
    causal = np.where(np.tri(3, 5, dtype=bool), scores, -inf)
    check(F.scaled_dot_product_attention(t(q), t(k), t(v), is_causal=True), softmax(causal) @ v)
    nothing = t(np.array([[True] * 5, [False] * 5, [True] * 5]))
    assert F.scaled_dot_product_attention(t(q), t(k), t(v), nothing)[:, 1].tolist() == [[0.0] * 6] * 2
    heads = F.scaled_dot_product_attention(t(normal(4, 3, 2)), t(k[:, :, :2]), t(v), enable_gqa=True)
    assert heads.shape == (4, 3, 6)


def test_several_heads_are_attention_side_by_side():
    x, w, b = normal(3, 2, 4), normal(12, 4), normal(12)
    out, weights = F.multi_head_attention_forward(
        t(x), t(x), t(x), 4, 2, t(w), t(b), None, None, False, 0.0, t(np.eye(4)), t(np.zeros(4))
    )
    q, k, v = np.split(x @ w.T + b, 3, -1)
    for sample, head in np.ndindex(2, 2):
        part = slice(2 * head, 2 * head + 2)
        chosen = softmax(q[:, sample, part] @ k[:, sample, part].T / math.sqrt(2))
        check(out[:, sample, part], chosen @ v[:, sample, part])
    check(weights.sum(-1), np.ones((2, 3)))
