"""Data sets and loaders."""

import numpy as np
import pytest

import gradcli
from gradcli.nn.functional import dropout
from gradcli.utils.checkpoint import checkpoint, checkpoint_sequential
from gradcli.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, TensorDataset, random_split

ROWS = gradcli.arange(10.0).reshape(5, 2)


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return {"x": index, "y": float(index) ** 2, "z": np.full(2, index), "name": str(index)}


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [2, 2, 1]), (True, [2, 2])])
def test_batches(drop_last, sizes):
    loader = DataLoader(TensorDataset(ROWS, ROWS[:, 0]), batch_size=2, drop_last=drop_last)
    assert [x.shape[0] for x, _ in loader] == sizes
    assert len(loader) == len(sizes)
    x, y = next(iter(loader))
    assert x.tolist() == [[0, 1], [2, 3]]
    assert y.tolist() == [0, 2]


def test_structures_are_joined_part_by_part():
    batch = next(iter(DataLoader(Squares(), batch_size=3)))
    assert batch["x"].tolist() == [0, 1, 2]
    assert batch["y"].dtype == gradcli.float64
    assert batch["z"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert batch["name"] == ["0", "1", "2"]


def test_shuffling_visits_each_sample_once():
    gradcli.manual_seed(0)
    seen = [x for (batch,) in DataLoader(TensorDataset(gradcli.arange(50)), 7, shuffle=True) for x in batch.tolist()]
    assert sorted(seen) == list(range(50)) != seen


def test_other_sources():
    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    both = ConcatDataset([[1, 2], [3]])
    assert [both[i] for i in (0, 1, 2, -1)] == [1, 2, 3, 3]
    assert list(DataLoader([3, 4], batch_size=None)) == [3, 4]
    assert [b.tolist() for b in DataLoader(range(4), batch_size=2, sampler=[3, 1, 2])] == [[3, 1], [2]]


def test_split():
    parts = random_split(range(10), [0.75, 0.25])
    assert [len(p) for p in parts] == [8, 2]
    assert sorted(x for p in parts for x in (p[i] for i in range(len(p)))) == list(range(10))
    with pytest.raises(ValueError, match="does not equal"):
        random_split(range(10), [3, 3])


@pytest.mark.parametrize("keep", [False, True])
def test_checkpoints_compute_anew(keep):
    x, w = gradcli.tensor([2.0], requires_grad=True), gradcli.tensor([3.0], requires_grad=True)
    calls = []

    def cube(t):
        calls.append(t.requires_grad)
        return dropout(t * w * t.exp().log() * t, 0.5) if keep else t * w * t.exp().log() * t

    gradcli.manual_seed(1)
    y = checkpoint(cube, x, use_reentrant=False)
    assert calls == [True]
    y.backward(retain_graph=keep)
    assert calls == [True, True]
    share = y.item() / 24  # 0, or 2 where dropout let it pass: the second call draws the same
    assert x.grad.item() == pytest.approx(36 * share)
    assert w.grad.item() == pytest.approx(8 * share)


def test_checkpoints_in_segments():
    x = gradcli.tensor([2.0], requires_grad=True)
    calls = []
    steps = [lambda t, i=i: calls.append(i) or t * t for i in range(3)]
    checkpoint_sequential(steps, 2, x, use_reentrant=False).backward()
    assert calls == [0, 1, 2, 0]
    assert x.grad.tolist() == [8 * 2.0**7]
    with gradcli.no_grad():
        assert checkpoint(steps[0], x).tolist() == [4.0]


def test_a_checkpoint_that_changes_is_refused():
    x, calls = gradcli.tensor([2.0], requires_grad=True), []
    y = checkpoint(lambda t: (calls.append(1) or t * t) if not calls else t * 2, x)
    with pytest.raises(RuntimeError, match="different number of tensors"):
        y.backward()
