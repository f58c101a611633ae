"""What `import torch` offers beyond the names of this engine."""

import numpy as np
import pytest

from gradcli.program.torch_names import as_torch


@pytest.fixture
def torch():
    with as_torch():
        import torch

        yield torch


def test_types_and_their_limits(torch):
    x = torch.tensor([1.0])
    assert isinstance(x, torch.FloatTensor)
    assert not isinstance(x, torch.BoolTensor)
    assert x.type(torch.DoubleTensor).dtype == torch.float64
    assert torch.IntTensor([1, 2]).dtype == torch.int32
    assert torch.finfo(torch.float32).eps == np.finfo(np.float32).eps
    assert torch.finfo().bits == 32
    assert torch.iinfo(torch.int8).max == 127
    assert torch.detach(x).tolist() == [1.0]


def test_hooks_print_as_pytorchs():
    with as_torch():
        import torch

        module = torch.nn.Linear(2, 2)
        assert repr(module._forward_pre_hooks) == "OrderedDict()"
