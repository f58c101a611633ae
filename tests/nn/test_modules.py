"""Modules: what they register, give out and take back, and how they print."""

import copy

import numpy as np
import pytest

import gradcli
from gradcli import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f1 = nn.Linear(2, 3)
        self.scale = nn.Parameter(gradcli.ones(1))
        self.register_parameter("bias", None)
        self.register_buffer("count", gradcli.tensor(0))
        self.register_buffer("cache", gradcli.zeros(2), persistent=False)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False), nn.Dropout(0.25))

    def forward(self, x):
        return self.rest(self.f1(x)) * self.scale


NAMES = ["scale", "f1.weight", "f1.bias", "rest.1.weight"]


def test_what_is_registered():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert all(p.requires_grad and isinstance(p, nn.Parameter) for p in net.parameters())
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert [name for name, _ in net.named_buffers()] == ["count", "cache"]
    assert [name for name, _ in net.named_children()] == ["f1", "rest"]
    assert [name for name, _ in net.named_modules()] == ["", "f1", "rest", "rest.0", "rest.1", "rest.2"]
    assert list(net.state_dict()) == ["scale", "count", *NAMES[1:]]
    assert net.bias is None
    assert {"f1", "scale", "count"} <= set(dir(net))


def test_shared_things_count_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net.append(net[0])
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [name for name, _ in net.named_modules()] == ["", "0", "1"]


def test_attributes_move_between_registries():
    net = Net()
    net.f1 = None
    assert "f1" in net._modules
    net.scale = None
    assert net.scale is None
    net.count = gradcli.ones(1)
    assert net.state_dict()["count"].tolist() == [1]
    del net.rest, net.cache
    assert not hasattr(net, "rest")
    net.cache = nn.Parameter(gradcli.ones(1))
    assert "cache" in dict(net.named_parameters())
    net.cache = nn.ReLU()
    assert "cache" not in dict(net.named_parameters())
    assert isinstance(net.cache, nn.ReLU)


def test_modes_types_and_gradients():
    net = Net()
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    net.rest.train()
    assert net.rest[2].training
    assert not net.f1.training
    net.float()
    assert {p.dtype for p in net.parameters()} == {gradcli.float32}
    assert net.count.dtype == gradcli.int64
    net.to(gradcli.float64).requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_().eval()(gradcli.ones(2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0]
    net.zero_grad()
    assert net.scale.grad is None
    seen = []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "ReLU", "Linear", "Dropout", "Sequential", "Net"]


def test_state_goes_out_and_comes_back():
    one, two = Net().eval(), Net().eval()
    state = one.state_dict()
    assert str(two.load_state_dict(state)) == "<All keys matched successfully>"
    x = gradcli.ones(3, 2)
    assert two(x).tolist() == one(x).tolist()
    assert two.f1.weight is not one.f1.weight
    state["f1.bias"].fill_(7)  # shares memory with the module it came from
    assert one.f1.bias.tolist() == [7, 7, 7]
    two.load_state_dict({"scale": np.array([4.0])}, strict=False)
    assert two.scale.tolist() == [4]


def test_what_does_not_fit_is_listed():
    state = {name: value for name, value in Net().state_dict().items() if name != "scale"}
    state |= {"f1.bias": gradcli.ones(2), "extra": gradcli.ones(1), "rest.9.weight": gradcli.ones(1)}
    with pytest.raises(RuntimeError) as caught:
        Net().load_state_dict(state)
    assert str(caught.value).split("\n\t") == [
        "Error(s) in loading state_dict for Net:",
        'Missing key(s) in state_dict: "scale". ',
        'Unexpected key(s) in state_dict: "extra", "rest.9.weight". ',
        "size mismatch for f1.bias: copying a param with shape gradcli.Size([2]) from checkpoint, the shape in "
        "current model is gradcli.Size([3]).",
    ]
    missing, unexpected = Net().load_state_dict({"extra": gradcli.ones(1)}, strict=False)
    assert (len(missing), unexpected) == (5, ["extra"])
    with pytest.raises(TypeError, match="dict-like"):
        Net().load_state_dict(3)


def test_copies_are_independent():
    net = Net().eval()
    twin = copy.deepcopy(net)
    twin.f1.weight.data.fill_(0)
    assert net.f1.weight.abs().sum().item() > 0
    assert repr(twin) == repr(net)
    x = gradcli.ones(2)
    twin(x).sum().backward()
    assert net.scale.grad is None
    assert twin.scale.grad is not None


def test_other_tensors_in_place_of_parameters():
    net = nn.Linear(2, 1)
    weight = gradcli.tensor([[2.0, 3.0]], requires_grad=True)
    bias, x = gradcli.zeros(1), gradcli.tensor([5.0, 7.0])
    gradcli.func.functional_call(net, {"weight": weight, "bias": bias}, x).backward()
    assert weight.grad.tolist() == [[5, 7]]
    assert net.weight.grad is None
    assert isinstance(net.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match="Linear has no parameter or buffer"):
        gradcli.func.functional_call(net, {"weights": weight}, x)


def test_parameters_give_plain_tensors():
    p = nn.Parameter(gradcli.tensor([1.0, 2.0]))
    assert type(p * 2) is gradcli.Tensor
    assert p.is_leaf
    (p * p).sum().backward()
    assert p.grad.tolist() == [2, 4]
    assert type(copy.deepcopy(p)) is nn.Parameter


def test_containers():
    net = nn.Sequential(*(nn.Linear(1, 1) for _ in range(4)))
    assert len(net[1:3]) == 2
    assert net[-1] is net[3]
    assert isinstance(net.pop(0), nn.Linear)
    net.insert(0, nn.Tanh())
    del net[1]
    assert [type(m).__name__ for m in net] == ["Tanh", "Linear", "Linear"]
    with pytest.raises(IndexError):
        net[3]
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    table.update([("c", nn.Sigmoid())])
    assert list(table.keys()) == ["a", "b", "c"]
    assert "b" in table
    assert isinstance(table.pop("b"), nn.Tanh)
    assert len({table, nn.ModuleDict(table)}) == 2  # by identity, as all modules
    assert nn.Sequential(table)[0] is table


def test_lists_that_grow_are_returned():
    modules = nn.ModuleList([nn.ReLU()])
    assert modules.extend([nn.Tanh()]) is modules
    assert len(modules) == 2
    chain = nn.Sequential(nn.ReLU())
    assert chain.insert(0, nn.Tanh()) is chain


def test_a_state_has_any_names(tmp_path):
    module = nn.Module()
    module.file, module.allow_pickle = nn.Parameter(gradcli.ones(2)), nn.Parameter(gradcli.zeros(1))
    gradcli.save(module.state_dict(), tmp_path / "state.npz")
    assert {name: x.tolist() for name, x in gradcli.load(tmp_path / "state.npz").items()} == {
        "file": [1, 1],
        "allow_pickle": [0],
    }


def test_errors_have_the_types_of_pytorch():
    with pytest.raises(TypeError, match="parameter name should be a string"):
        nn.Module().register_parameter(3, None)
    with pytest.raises(KeyError, match="not empty and contains no"):
        nn.Module().register_buffer("a.b", None)
    with pytest.raises(ValueError, match="training mode"):
        nn.Linear(1, 1).train("no")
    with pytest.raises(ValueError, match="not supported for strided"):
        nn.Conv1d(1, 1, 3, stride=2, padding="same")
    with pytest.raises(ValueError, match="Invalid padding string 'sane'"):
        nn.Conv1d(1, 1, 3, padding="sane")
    with pytest.raises(RuntimeError, match="Invalid padding string 'sane'"):
        nn.functional.conv1d(gradcli.ones(1, 1, 5), gradcli.ones(1, 1, 3), padding="sane")
    with pytest.raises(RuntimeError, match="3 output channels cannot be divided into 2 groups"):
        nn.functional.conv1d(gradcli.ones(1, 4, 5), gradcli.ones(3, 2, 3), groups=2)
    with pytest.raises(RuntimeError, match="'weight' must be 2-D"):
        nn.functional.embedding(gradcli.tensor([0, 1]), gradcli.ones(5))
    with pytest.raises(AssertionError, match="2-dimensional"):
        nn.Embedding.from_pretrained(gradcli.ones(5))
