"""Sequences of several lengths: padded, packed, and run through recurrent networks."""

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn.utils import rnn

LENGTHS = [2, 4, 1]
SEQUENCES = [gradcli.arange(2.0 * n).reshape(n, 2) / 7 + i for i, n in enumerate(LENGTHS)]


@pytest.mark.parametrize(("first", "side"), [(True, "right"), (False, "right"), (True, "left")])
def test_padding(first, side):
    found = rnn.pad_sequence(SEQUENCES, first, padding_value=-1.0, padding_side=side)
    expected = np.full((3, 4, 2), -1.0)
    for row, x in zip(expected, SEQUENCES, strict=True):
        row[slice(len(x)) if side == "right" else slice(4 - len(x), None)] = x.numpy()
    np.testing.assert_allclose(found, expected if first else expected.swapaxes(0, 1))


def test_packing():
    packed = rnn.pack_sequence(SEQUENCES, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    a, b, c = (x.tolist() for x in SEQUENCES)
    assert packed.data.tolist() == [b[0], a[0], c[0], b[1], a[1], b[2], b[3]]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=5)
    assert lengths.tolist() == LENGTHS
    assert padded.shape == (3, 5, 2)
    for x, y in zip(rnn.unpack_sequence(packed), SEQUENCES, strict=True):
        assert x.tolist() == y.tolist()
    assert packed.to(gradcli.float64).data.dtype == gradcli.float64


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("both", [False, True])
def test_each_sequence_runs_as_if_it_were_alone(kind, both):
    gradcli.manual_seed(0)
    net = kind(2, 3, num_layers=2, bidirectional=both)
    out, state = net(rnn.pack_sequence(SEQUENCES, enforce_sorted=False))
    hidden = state[0] if kind is nn.LSTM else state
    total = sum((x**2).sum() for x in rnn.unpack_sequence(out)) + hidden.sum()
    total.backward()
    grads = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    expected = 0
    for i, (x, y) in enumerate(zip(SEQUENCES, rnn.unpack_sequence(out), strict=True)):
        alone, last = net(x)
        last = last[0] if kind is nn.LSTM else last
        np.testing.assert_allclose(y.detach(), alone.detach(), atol=1e-6)
        np.testing.assert_allclose(hidden[:, i].detach(), last.detach(), atol=1e-6)
        expected = expected + (alone**2).sum() + last.sum()
    expected.backward()
    for g, p in zip(grads, net.parameters(), strict=True):
        np.testing.assert_allclose(g, p.grad, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rnn.pack_sequence(SEQUENCES), RuntimeError, "sorted in decreasing order"),
        (lambda: rnn.pack_padded_sequence(gradcli.ones(2, 1, 1), [0]), RuntimeError, "greater than 0"),
        (
            lambda: rnn.pad_packed_sequence(rnn.pack_sequence(SEQUENCES[:1]), total_length=1),
            ValueError,
            "Expected total_length to be at least",
        ),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
