"""Random numbers are those that PyTorch 2.13 draws from the same seed; the expected ones were printed by it."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as gc
from gradcli.nn import functional, init

WEIGHTS = [0.1, 0.2, 0.7, 0.3]
DRAWS = {
    "rand": lambda: gc.rand(3),
    "rand64": lambda: gc.rand(2, dtype=gc.float64),
    "randn3": lambda: gc.randn(3),
    "randn18": lambda: gc.randn(18),
    "randn17 64": lambda: gc.randn(17, dtype=gc.float64)[[0, 8, 16]],
    "complex": lambda: gc.view_as_real(gc.randn(2, dtype=gc.complex64)),
    "randint": lambda: gc.randint(-5, 10, (4,)),
    "randint big": lambda: gc.randint(0, 2**40, (2,)),
    "randperm": lambda: gc.randperm(7),
    "normal": lambda: gc.normal(gc.arange(3.0), 0.1),
    "uniform_": lambda: gc.empty(3).uniform_(-1, 1),
    "random_": lambda: gc.empty(2).random_(),
    "random64": lambda: gc.zeros(1, dtype=gc.int64).random_(),
    "exponential_": lambda: gc.empty(2).exponential_(2.0),
    "bernoulli": lambda: gc.bernoulli(gc.tensor([0.3, 0.6, 0.5, 0.9])),
    "bernoulli_": lambda: gc.empty(6).bernoulli_(p=0.4),
    "multinomial": lambda: gc.multinomial(gc.tensor(WEIGHTS), 3),
    "multinomial r": lambda: gc.multinomial(gc.tensor(WEIGHTS[:3]), 5, replacement=True),
    "dropout": lambda: functional.dropout(gc.ones(6), 0.3),
    "linear": lambda: gc.nn.Linear(2, 2).weight,
    "trunc": lambda: init.trunc_normal_(gc.empty(4), 0.0, 1.0, 1.5, 3.0),
    "orth": lambda: init.orthogonal_(gc.empty(2, 3)),
    "sparse": lambda: init.sparse_(gc.empty(4, 2), 0.5),
    "generator": lambda: gc.rand(2, generator=gc.Generator().manual_seed(2**40 + 7)),
}
PYTORCH = {
    "rand": [0.496257, 0.768222, 0.088477],
    "rand64": [0.056244, 0.07263],
    "randn3": [0.164216, 0.305761, 0.209981],
    "randn18": [
        *(0.850377, -1.352654, 0.031593, -0.492677, 0.248415, 0.439696, 0.112411, 0.640792, 0.441156, -0.215863),
        *(0.792444, -0.289668, 0.052507, 0.52286, 2.302205, -1.468894, -1.586689, 1.203224),
    ],
    "randn17 64": [-1.966645, -1.30886, -1.384709],
    "complex": [0.640374, -0.31175, -0.319157, 0.49641],
    "randint": [2, 8, 0, -1],
    "randint big": [297197058217, 701663331776],
    "randperm": [4, 2, 5, 3, 1, 0, 6],
    "normal": [-0.023447, 0.929573, 1.896476],
    "uniform_": [0.635056, 0.949414, -0.072322],
    "random_": [852691.0, 4411746.0],
    "random64": [1934058440007560085],
    "exponential_": [0.005942, 0.148255],
    "bernoulli": [0.0, 0.0, 0.0, 1.0],
    "bernoulli_": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0],
    "multinomial": [2, 3, 1],
    "multinomial r": [2, 1, 2, 2, 2],
    "dropout": [1.428571, 0.0, 1.428571, 1.428571, 1.428571, 1.428571],
    "linear": [-0.421374, -0.015427, 0.029747, 0.455817],
    "trunc": [2.3441, 2.078742, 1.932131, 2.345695],
    "orth": [0.677518, 0.264779, 0.686194, -0.138034, -0.870603, 0.472225],
    "sparse": [0.003956, 0.0, -0.001682, -0.004728, 0.0, 0.0, 0.0, 0.004631],
    "generator": [0.534923, 0.198803],
}


@pytest.fixture
def single():
    gc.set_default_dtype(gc.float32)
    yield
    gc.set_default_dtype(gc.float64)


def test_one_seed_gives_what_it_gives_in_pytorch(single):
    gc.manual_seed(0)
    for name, draw in DRAWS.items():
        np.testing.assert_allclose(draw().detach().numpy().ravel(), PYTORCH[name], rtol=0, atol=1.5e-6, err_msg=name)


def test_memory_is_filled_in_its_own_order(single):
    gc.manual_seed(0)
    gc.rand(3), gc.randn(5)
    whole = gc.empty(3, 2).t().normal_()
    gc.manual_seed(0)
    gc.rand(3), gc.randn(5)
    assert whole.tolist() == gc.randn(6).reshape(3, 2).T.tolist()
    gc.manual_seed(0)
    assert gc.rand(2, dtype=gc.float16).tolist() == gc.tensor([0.4963, 0.7681], dtype=gc.float16).tolist()


def test_loaders_and_splits_draw_as_in_pytorch():
    data = gc.utils.data
    gc.manual_seed(0)
    samples = data.TensorDataset(gc.arange(10))
    loader = data.DataLoader(samples, batch_size=4, shuffle=True)
    epochs = [[batch[0].tolist() for batch in loader] for _ in range(2)]
    assert epochs == [[[6, 7, 1, 4], [2, 0, 9, 8], [3, 5]], [[2, 4, 7, 0], [8, 9, 5, 3], [6, 1]]]
    parts = data.random_split(samples, [0.5, 0.5], generator=gc.Generator().manual_seed(42))
    assert [part.indices for part in parts] == [[2, 6, 1, 8, 4], [5, 0, 9, 3, 7]]


def test_samplers_draw_as_in_pytorch():
    data = gc.utils.data
    gc.manual_seed(0)
    weights = [0.1, 0.9, 0.4, 0.7]
    assert list(data.WeightedRandomSampler(weights, 6)) == [3, 3, 1, 3, 2, 3]
    assert list(data.SubsetRandomSampler([3, 5, 7, 9])) == [3, 5, 7, 9]
    assert list(data.WeightedRandomSampler(weights, 3, replacement=False)) == [3, 1, 2]
    assert gc.from_numpy(np.sort(gc.tensor([2.0, 1.0]))).tolist() == [1.0, 2.0]


def test_states_are_kept_and_put_back():
    assert gc.manual_seed(7).initial_seed() == gc.initial_seed() == 7
    gc.randn(3)
    state = gc.get_rng_state()
    first = gc.randn(5).tolist()
    with gc.random.fork_rng():
        gc.rand(9)
    second = gc.randn(5).tolist()
    gc.set_rng_state(state)
    assert [gc.randn(5).tolist(), gc.randn(5).tolist()] == [first, second]
    with pytest.raises(RuntimeError, match="wrong size"):
        gc.set_rng_state(gc.zeros(3, dtype=gc.uint8))
    assert gc.seed() == gc.initial_seed() != 7
    assert gc.Generator().initial_seed() != gc.Generator().initial_seed()
    ours, theirs = (init.normal_(gc.empty(3), generator=np.random.default_rng(5)).tolist() for _ in range(2))
    assert ours == theirs


def test_bad_ranges_are_refused():
    with pytest.raises(RuntimeError, match="expects 'from' to be less than 'to'"):
        gc.randint(3, 3, (2,))
    with pytest.raises(RuntimeError, match="lambda > 0"):
        gc.empty(2).exponential_(0)
    with pytest.raises(TypeError, match=r"must be a gradcli\.Generator, not int"):
        gc.rand(2, generator=3)
    with pytest.raises(RuntimeError, match="p_in >= 0"):
        gc.empty(2).bernoulli_(1.5)


def test_both_parts_of_complex_numbers_have_the_mean():
    gc.manual_seed(0)
    drawn = init.normal_(gc.empty(2, dtype=gc.complex64), 1, 2).numpy()
    np.testing.assert_allclose(drawn, [3.1792977 + 0.5850289j, -2.0812736 + 1.8038832j], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_normal_numbers_have_the_moments_of_the_distribution(dtype):
    drawn = gc.Generator(seed=1).normal(2.0, 3.0, (200_000,), dtype)
    mean = 2 + 2j if dtype.startswith("complex") else 2  # PyTorch gives both parts the mean
    assert abs(drawn.mean() - mean) < 0.03
    assert abs(drawn.std() - 3) < 0.03
    inner = np.abs(drawn.real - 2) < drawn.real.std()
    assert abs(inner.mean() - 0.6827) < 0.005
