"""What `import torch` offers beyond the names of this engine."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.program.torch_names import as_torch


@pytest.fixture
def torch():
    with as_torch():
        import torch

        yield torch


def test_results_are_written_to_out(torch):
    a, b, x = torch.ones(2, 2) * 3, torch.ones(2, 2) * 2, torch.zeros(2, 2)
    assert torch.mul(a, b, out=x) is x
    assert x.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    empty = torch.Tensor()
    torch.add(a, b, out=empty)
    assert empty.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    values, places = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    torch.max(torch.tensor([[1.0, 4.0], [3.0, 2.0]]), 1, out=(values, places))
    assert (values.tolist(), places.tolist()) == ([4.0, 3.0], [1, 0])
    with pytest.raises(RuntimeError, match=r"out=\.\.\. arguments don't support automatic differentiation"):
        torch.mul(a.requires_grad_(), b, out=x)
    with torch.no_grad():
        torch.mul(a, b, out=x)
    with pytest.raises(RuntimeError, match="out="):
        torch.sin(b, out=x.requires_grad_())


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
    assert x.new(2, 3).shape == (2, 3)
    assert x.new([4]).tolist() == [4.0]


def test_the_engine_of_old_programs(torch):
    from torch.autograd import Variable

    seen = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda _: Variable._execution_engine.queue_callback(lambda: seen.append("end")))
    y.backward()
    assert seen == ["end"]


def test_classes_and_hooks_print_as_pytorchs():
    with as_torch():
        import torch
        from torch import optim

        module = torch.nn.Linear(2, 2)
        assert str(type(module)) == "<class 'torch.nn.modules.linear.Linear'>"
        assert str(optim.SGD) == "<class 'torch.optim.sgd.SGD'>"
        assert repr(module._forward_pre_hooks) == "OrderedDict()"
    assert type(module).__module__ == "gradcli.nn.modules.linear"
