"""Finding the loss that --loss names: in a file before the command runs, then in the modules of the command."""

import sys

import pytest

from gradcli.errors import GradcliError
from gradcli.guard.declared_loss import find_loss, read_address

FILE = """
from other import imported
import helpers as tools
def full_loss(model, batches): return 0
if True:
    later = full_loss
class Loss:
    def __call__(self, model, batches): return 3
loss = Loss()
a, (b, c) = 1, (2, 3)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train_of_a_test.py"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize("name", ["full_loss", "imported", "tools", "later", "loss", "c"])
def test_names_at_the_top_level_are_found(file, name):
    assert read_address(f"{file}:{name}") == (file, name)


def test_an_import_of_all_names_may_define_any(tmp_path):
    path = tmp_path / "star.py"
    path.write_text("from losses import *")
    assert read_address(f"{path}:full_loss") == (str(path), "full_loss")


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("FILE:ful_loss", "does not define 'ful_loss'", "did you mean 'full_loss'"),
        ("FILE:__call__", "does not define '__call__'", "at the top level"),
        ("FILE", "write FILE.py:NAME", "NAME(model, batches)"),
        ("FILE:f(x)", "write FILE.py:NAME", "NAME(model, batches)"),
        ("nowhere.py:f", "no such file: nowhere.py", None),
    ],
)
def test_errors_name_what_is_missing(file, address, message, hint):
    with pytest.raises(GradcliError) as caught:
        read_address(address.replace("FILE", file))
    assert message in caught.value.message
    assert hint is None or hint in caught.value.hint


def test_a_file_that_python_cannot_read_is_an_error(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def f(:")
    with pytest.raises(GradcliError, match="is not valid Python"):
        read_address(f"{path}:f")


def test_a_loaded_module_is_not_imported_again(file, monkeypatch):
    module = type(sys)("__main__")
    module.__file__ = file
    module.full_loss = lambda model, batches: 7
    monkeypatch.setitem(sys.modules, "some_main", module)
    assert find_loss(file, "full_loss")(None, None) == 7
    assert find_loss(file, "loss") is None  # the script has not reached its definition


def test_another_file_is_imported_with_its_folder(tmp_path, monkeypatch):
    (tmp_path / "helper_of_a_loss.py").write_text("value = 5")
    path = tmp_path / "loss_of_a_test.py"
    path.write_text("from helper_of_a_loss import value\nclass L:\n    def __call__(s, m, b): return value\nf = L()\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    found = find_loss(str(path), "f")
    assert (found(None, None), found.__name__) == (5, "f")
