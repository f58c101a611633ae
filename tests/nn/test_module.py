"""Modules: growing lists, saved states and errors; modules.txt has the rest."""

import pytest

import gradcli
from gradcli import nn


def test_extend_and_insert_return_the_list():
    modules = nn.ModuleList([nn.ReLU()])
    assert modules.extend([nn.Tanh()]) is modules
    assert len(modules) == 2
    chain = nn.Sequential(nn.ReLU())
    assert chain.insert(0, nn.Tanh()) is chain


def test_states_may_use_any_names(tmp_path):
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
    with pytest.raises(KeyError, match="must be a non-empty string"):
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
