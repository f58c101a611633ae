"""Places and hints are about the user's code, also behind decorators and calls of libraries."""

import contextlib

import pytest

from gradcli.user.frameworks import cuts_graph
from gradcli.user.tracebacks import line_of_return, place_of_return


@contextlib.contextmanager
def decorated():
    yield
    return


def test_the_place_of_a_decorated_function_is_its_own():
    file, line = __file__, decorated.__wrapped__.__code__.co_firstlineno + 3
    assert line_of_return(decorated) == (file, line)
    assert place_of_return(decorated).startswith(f"{place_of_return(decorated.__wrapped__)}")
    assert f"test_users_code.py:{line}\n    return" in place_of_return(decorated)


@pytest.mark.parametrize("folder", ["site-packages", "project"])
def test_only_the_users_code_cuts_values_off(tmp_path, folder):
    place = tmp_path / folder / "scores.py"
    space = {"__name__": "scores"}
    exec(compile("def score(x):\n    return x - x.detach()\n", place, "exec"), space)
    user = {"__name__": "train", "score": space["score"]}
    exec(compile("def loss(x):\n    return score(x)\n", tmp_path / "train.py", "exec"), user)
    assert cuts_graph(user["loss"]) is (folder == "project")
