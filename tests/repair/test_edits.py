"""The edits of a function: they parse, they fit where they are put, and they use only what is there."""

import ast
import importlib.util
import textwrap

import numpy as np
import pytest

from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.flat import Flat
from gradcli.repair.candidates import candidates
from gradcli.repair.edits import fitted
from gradcli.repair.scope import scope_of
from gradcli.repair.search import SearchLimits, find_patch
from gradcli.repair.trial import Trial, parts_to_repair
from gradcli.results.checks import CheckReport, Finding
from gradcli.user.source import apply_edits, source_of

HEADER = """
import numpy as np

def helper(x):
    return 1 / (1 + np.exp(-x))

"""


def load(tmp_path, code):
    path = tmp_path / "edited_module.py"
    path.write_text(HEADER + textwrap.dedent(code))
    spec = importlib.util.spec_from_file_location("edited_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts_of(module, f="f", g="g", findings=()):
    """Return the definitions that the edits of g result in, in the order in which they are tried."""
    source = source_of(getattr(module, g), g)
    start, end = source.definition
    found = candidates(source, scope_of(source, getattr(module, f)), findings)
    return [apply_edits(source.text, c.edits)[start : len(source.text) + c.length - (len(source.text) - end)]
            for c in found]  # fmt: skip


def bodies(module, **more):
    return [text.partition("return ")[2] for text in texts_of(module, **more)]


@pytest.mark.parametrize(
    ("whole", "inner", "text", "fits"),
    [
        ("a * x", "x", "x + y", "(x + y)"),
        ("a + x", "x", "x + y", "x + y"),
        ("a - x", "x", "x + y", "(x + y)"),
        ("a / x", "x", "x * y", "(x * y)"),
        ("x ** 2", "x", "-x", "(-x)"),
        ("x.T", "x", "x + y", "(x + y)"),
        ("x[0]", "x", "x.T", "x.T"),
        ("f(x)", "x", "x + y", "x + y"),
        ("-x", "x", "x + y", "(x + y)"),
    ],
)
def test_a_new_text_is_in_parentheses_only_where_it_needs_them(whole, inner, text, fits):
    tree = ast.parse(whole, mode="eval").body
    parent, node = next(
        (p, n) for p in ast.walk(tree) for n in ast.iter_child_nodes(p) if isinstance(n, ast.Name) and n.id == inner
    )
    assert fitted(text, parent, node) == fits


EDITED = """
def f(x, w):
    return np.sum(np.tanh(x @ w) ** 3) + 0.25 * np.sum(w)

def g(x, w):
    s = helper(x @ w)
    return x.T @ (s * (1 - s)) / len(x)
"""


def test_edits_parse_and_each_occurs_once(tmp_path):
    texts = texts_of(load(tmp_path, EDITED))
    assert len(texts) == len(set(texts)) > 500
    for text in texts:
        ast.parse(text)


def test_edits_never_call_the_function(tmp_path):
    for text in texts_of(load(tmp_path, EDITED)):
        calls = [n.func for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
        called = {n.id for n in calls if isinstance(n, ast.Name)}
        assert called <= {"helper", "len"}


def test_edits_use_names_numbers_and_pieces_that_are_there(tmp_path):
    found = bodies(load(tmp_path, EDITED))
    assert "x.T @ (s * (1 - s)) * 0.25 / len(x)" in found or "0.25 * (x.T @ (s * (1 - s)) / len(x))" in found
    assert "x.T @ (s * (1 - s)) / len(w)" in found
    assert "x @ (s * (1 - s)) / len(x)" in found


def test_suggested_edits_come_first(tmp_path):
    module = load(tmp_path, EDITED)
    wanted = "x @ (s * (1 - s)) / len(x)"
    assert bodies(module, findings=["transposed"]).index(wanted) < bodies(module).index(wanted)


def test_docstrings_and_decorators_are_not_edited(tmp_path):
    code = '''
    def f(x):
        return x

    def g(x):
        """2 * x"""
        return x
    '''
    assert all('"""2 * x"""' in text for text in texts_of(load(tmp_path, code)))


class Report:
    """A report, as far as the search reads it."""

    def __init__(self, verdict):
        self.verdict, self.resolution, self.diagnosis = verdict, 1e-9, (Finding("factor", "half"),)


def patch_for(module, at, check=lambda inputs: Report("pass"), limits=SearchLimits(seconds=60.0), grad="g", wrt=None):
    claim = HandWritten(module.f, at, wrt=wrt, grad=getattr(module, grad))
    report: CheckReport = Report("fail")
    return find_patch(claim, module.f, report, check, limits)


LENGTHS = """
def f(x):
    return np.sum(x**2) / len(x)

def g(x):
    return 2 * x

def only(x):
    if len(x) != 7:
        raise ValueError("7 numbers")
    return np.sum(x**2) / len(x)

def only_grad(x):
    if len(x) != 7:
        raise ValueError("7 numbers")
    return 2 * x / 6
"""


def test_a_length_is_not_a_constant(tmp_path):
    module = load(tmp_path, LENGTHS)
    patch = patch_for(module, {"x": np.arange(1.0, 8.0) ** 0.5})
    assert "len(x)" in patch.after.partition("def g")[2].partition("def only")[0]


def test_a_constant_that_is_a_length_is_not_proposed_where_no_other_shape_shows_it(tmp_path):
    module = load(tmp_path, LENGTHS)
    module.f = module.only
    patch = patch_for(module, {"x": np.arange(1.0, 8.0) ** 0.5}, grad="only_grad")
    assert patch.after.endswith("return 2 * x / len(x)\n")


MASKED = """
M = np.array([1.0, 0, 1, 1, 0])

def f(x):
    return np.sum(M * x**2) / np.sum(M)

def g(x):
    return 2 * M * x / len(x)
"""


def test_a_length_less_a_number_is_not_proposed_where_no_other_shape_shows_it(tmp_path):
    module = load(tmp_path, MASKED)
    patch = patch_for(module, {"x": np.arange(1.0, 6.0) ** 0.5})
    assert patch is None or "len(x) -" not in patch.after


def test_an_edit_that_fails_the_whole_check_is_not_proposed(tmp_path):
    module = load(tmp_path, LENGTHS)
    assert patch_for(module, {"x": np.arange(1.0, 4.0)}, check=lambda inputs: Report("fail")) is None
    assert patch_for(module, {"x": np.arange(1.0, 4.0)}, check=lambda inputs: Report("inconclusive")) is None


def test_limits_bound_the_search(tmp_path):
    module = load(tmp_path, LENGTHS)
    at = {"x": np.arange(1.0, 4.0)}
    patch = patch_for(module, at)
    assert patch_for(module, at, limits=SearchLimits(candidates=patch.tried, seconds=60.0)).after == patch.after
    assert patch_for(module, at, limits=SearchLimits(candidates=1, seconds=60.0)) is None


def test_the_function_is_as_before_after_the_search(tmp_path):
    module = load(tmp_path, LENGTHS)
    code = module.g.__code__
    patch_for(module, {"x": np.arange(1.0, 4.0)})
    assert module.g.__code__ is code


LOOP = """
def f(x):
    return np.sum(x**4)

def g(x):
    y, k = x, 0
    while k < 2:
        y = y * x
        k = k + 1
    return 2 * y
"""


def test_an_edited_loop_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    def endless_first(*given):
        found = {edit.text: c for c in candidates(*given) for edit in c.edits}
        return [found["k - 1"], found["4"]]

    monkeypatch.setattr("gradcli.repair.search.candidates", endless_first)
    patch = patch_for(load(tmp_path, LOOP), {"x": np.array([1.5, -0.5, 2.0])})
    assert patch.tried == 2
    assert "return 4 * y" in patch.after


def test_a_trial_computes_slopes_once(tmp_path):
    module = load(tmp_path, LENGTHS)
    claim = HandWritten(module.f, {"x": np.arange(1.0, 4.0)}, grad=module.g)
    trial = Trial(claim, 0)
    made = claim.budget.made
    assert not trial.accepts()
    assert claim.budget.made == made


TWO = """
def f(x, y):
    return np.sum(x**2 * y) + np.sum(np.cos(y))

def g(x, y):
    dx = x * y
    dy = x**2 + np.sin(y)
    return dx, dy

def branches(x, y):
    return np.sum(np.where(x > y, x**3, np.exp(x)))

def grad_of_branches(x, y):
    return np.where(x > y, 3 * x, x * np.exp(x))

def both_terms(x, y):
    return np.sum(x**3 + np.cos(x))

def grad_of_both_terms(x, y):
    return 3 * x + np.sin(x)
"""
AT_TWO = {"x": np.array([1.2, -0.7, 2.1]), "y": np.array([0.3, 1.4, 0.8])}


def test_two_edits_repair_two_inputs_or_two_branches(tmp_path):
    module = load(tmp_path, TWO)
    patch = patch_for(module, AT_TWO)
    assert "dy = x**2 - np.sin(y)" in patch.after and "2 *" in patch.diff
    assert patch.edits == 2 and patch.summary.startswith("two edits in ")
    module.f = module.branches
    patch = patch_for(module, AT_TWO, grad="grad_of_branches", wrt=["x"])
    assert patch.edits == 2 and "np.exp(x))\n" in patch.diff


def test_two_edits_in_one_term_each_are_not_found(tmp_path):
    module = load(tmp_path, TWO)
    module.f = module.both_terms
    assert patch_for(module, AT_TWO, grad="grad_of_both_terms", wrt=["x"]) is None


@pytest.mark.parametrize("n", [3, 30])
def test_parts_are_single_elements_if_there_are_few(n):
    at = {"x": np.linspace(1.0, 2.0, n), "y": np.ones(2)}
    flat = Flat(HandWritten(lambda x, y: np.sum(x) + np.sum(y), at, grad=lambda x, y: (1 + 0 * x, 1 + 0 * y)))
    parts = parts_to_repair(flat)
    assert len(parts) == (5 if n == 3 else 2)
    assert (parts.sum(axis=0) == 1).all()


REVERSED = """
def f(x):
    return np.sum(np.cumsum(x)**2)

def g(x):
    return 2 * np.cumsum(np.cumsum(x)[::-1])

def h(x):
    return np.sum(np.cumsum(x[::-1])**2)

def grad_of_h(x):
    return 2 * np.cumsum(np.cumsum(x[::-1])[::-1][::-1])[::-1]
"""


def test_what_is_reversed_is_not_reversed_twice(tmp_path):
    module = load(tmp_path, REVERSED)
    at = {"x": np.array([0.5, 1.3, -0.7, 2.1])}
    assert "return 2 * np.cumsum(np.cumsum(x)[::-1])[::-1]\n" in patch_for(module, at).after
    module.f = module.h
    assert patch_for(module, at, grad="grad_of_h").after.count("[::-1]") < module_text(tmp_path).count("[::-1]")


def module_text(tmp_path):
    return (tmp_path / "edited_module.py").read_text()
