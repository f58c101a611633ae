"""The backward pass: its order, sums and extent, and the values that it keeps and frees."""

import threading
import warnings
import weakref

import numpy as np
import pytest

import gradcli
from gradcli.autograd import grad
from gradcli.tape.backward import (
    Plan,
    as_gradient,
    as_inputs,
    batch_for,
    cotangent_for,
    is_mine,
    reachable,
    roots_of,
    uses_of_leaves,
)
from gradcli.tape.modes import Observer, observing
from gradcli.tape.node import Rule, new_node, to_parents

from .build import function, leaf


def graph(**parents):
    """Return nodes by name, oldest first, and a list that records the nodes that run.

    parents: each node's parents with the factors for their cotangents, as in b="a*2 a*3".
    """
    nodes, ran = {}, []
    for name, text in parents.items():
        edges = [edge.split("*") for edge in text.split()]
        factors = [float(factor) for _, factor in edges]

        def vjp(node, g, name=name, factors=factors):
            ran.append(name)
            return tuple(g * factor for factor in factors)

        nodes[name] = new_node(Rule(name, to_parents(vjp)), tuple(nodes[parent] for parent, _ in edges))
    return nodes, ran


def sent(nodes, wanted, *roots):
    """Return the cotangents that reach the wanted nodes."""
    found = Plan(False, False, dict.fromkeys(nodes[name] for name in wanted)).run([(nodes[n], g) for n, g in roots])
    return [found[nodes[name]] for name in wanted]


def test_a_node_runs_once_with_the_sum_of_its_cotangents():
    nodes, ran = graph(x="", a="x*2", b="a*3", c="a*5 b*7", d="b*11 c*13")
    # d sends 11 to b and 13 to c; c sends 65 to a and 91 to b; b sends 3 * 102 to a
    assert sent(nodes, "xab", ("d", 1.0)) == [2 * (65 + 306), 65 + 306, 102]
    assert ran == ["d", "c", "b", "a"]  # newest first


def test_parents_may_repeat_and_roots_may_be_inside_the_graph():
    nodes, ran = graph(x="", a="x*2 x*3", b="a*1")
    assert sent(nodes, "x", ("b", 1.0), ("a", 10.0), ("b", 100.0)) == [5 * 111]
    assert ran == ["b", "a"]


def test_only_nodes_leading_to_wanted_nodes_run():
    nodes, ran = graph(x="", y="", a="x*2", b="y*3", c="a*1 b*1", d="y*1")
    assert sent(nodes, "x", ("c", 1.0), ("d", 1.0)) == [2] and ran == ["c", "a"]
    ran.clear()
    assert sent(nodes, "cy", ("c", 1.0)) == [1, 3] and ran == ["c", "b"]  # a root may be wanted
    assert sent(nodes, "x", ("d", 1.0)) == [None]


def test_reachable_nodes_are_listed_oldest_first():
    nodes, _ = graph(x="", a="x*1", other="", b="a*1 x*1")
    assert reachable([nodes["b"], nodes["a"]]) == [nodes["x"], nodes["a"], nodes["b"]]
    x, y = leaf(1.0), leaf(2.0)
    z = x * x + y
    assert uses_of_leaves([z._node], None) == {x._node: 2, y._node: 1}
    assert uses_of_leaves([z._node, x._node], {z._node, y._node}) == {y._node: 1}


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_match_forward_mode(seed):
    """Compute forward mode by hand: each value carries its derivatives."""
    rng = np.random.default_rng(seed)
    leaves = [leaf(float(x)) for x in rng.uniform(0.5, 1.5, 4)]
    made = [(x, x.item(), np.eye(4)[i]) for i, x in enumerate(leaves)]
    for _ in range(40):
        (x, a, da), (y, b, db) = (made[i] for i in rng.integers(0, len(made), 2))
        match rng.integers(4):
            case 0:
                made.append((x + y, a + b, da + db))
            case 1:
                made.append((x * y / 2, a * b / 2, (a * db + b * da) / 2))
            case 2:
                made.append((gradcli.sin(x), np.sin(a), np.cos(a) * da))
            case 3:
                made.append((x / (y * y + 1), a / (b * b + 1), da / (b * b + 1) - 2 * a * b * db / (b * b + 1) ** 2))
    outputs = [made[-1], made[-3], made[rng.integers(4, 40)]]
    total = sum(x[0] * weight for x, weight in zip(outputs, (1.0, -2.0, 0.5), strict=True))
    total.backward()
    expected = outputs[0][2] - 2 * outputs[1][2] + 0.5 * outputs[2][2]
    found = [0.0 if x.grad is None else x.grad.item() for x in leaves]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_only_newly_allocated_arrays_are_owned():
    received, own = np.ones(3), np.ones(3)
    assert is_mine(own, received)
    assert not is_mine(received, received) and not is_mine(own[:], received) and not is_mine(1.0, received)


def test_backward_frees_saved_values_unless_the_graph_is_retained():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    product = y._node.parents[0]
    y.backward(retain_graph=True)
    assert product.kept[1] is not None
    y.backward()
    assert product.kept == (None, None, None) and x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_initial_cotangents():
    number, pair, z = leaf(3.0).sum(), leaf(1.0, 2.0) * 1, leaf(1j).sum()
    assert cotangent_for(number, None, False) == 1 and cotangent_for(number, None, True).tolist() == 1
    given = gradcli.tensor([5.0, 6.0])
    assert cotangent_for(pair, given, False) is given._data and cotangent_for(pair, given, True) is given
    for output, vector, text in [
        (pair, None, "grad can be implicitly created only for scalar outputs"),
        (z, None, "grad can be implicitly created only for real scalar outputs but got"),
        (pair, gradcli.ones(3), "grad_output[0] has a shape of"),
        (pair, gradcli.tensor([1j, 1j]), "grad_output and output are required to have the same dtype"),
    ]:
        with pytest.raises(RuntimeError) as raised:
            cotangent_for(output, vector, False)
        assert text in str(raised.value)
    several = gradcli.ones(7, 2)
    assert batch_for(pair, several, True) is several
    with pytest.raises(RuntimeError, match=r"expected shape \[N, \*\[2\]\], got \[2\]"):
        batch_for(pair, gradcli.ones(2), True)


def test_roots_and_inputs_are_validated():
    x = leaf(1.0)
    ((node, vector),) = roots_of((x * 2,), None, False)
    assert node.name() == "MulBackward0" and vector == 1
    for outputs, vectors, error, text in [
        ((gradcli.ones(1),), None, RuntimeError, "element 0 of tensors does not require grad"),
        ((1.0,), None, TypeError, "only Tensors can be differentiated, but got float"),
        ((x * 2,), (2.0,), TypeError, "gradients can be either Tensors or None, but got float"),
        ((x * 2,), (None, None), RuntimeError, "got 1 tensors and 2 gradients"),
    ]:
        with pytest.raises(error, match=text):
            roots_of(outputs, vectors, False)
    assert as_inputs([x]) == (x,) and as_inputs(x) == (x,)
    for wrong, text in [
        (1.0, "all inputs have to be Tensors, but got float"),
        (gradcli.ones(1), "does not require grad"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            as_inputs(wrong)


def test_gradients_own_their_memory_and_have_the_leafs_dtype():
    x, whole = leaf(1.0, 2.0), np.ones((2, 2))
    assert as_gradient(None, x, False, False) is None
    zeros = as_gradient(None, x, True, True)
    assert zeros.tolist() == [0, 0] and zeros.requires_grad
    view = as_gradient(whole[0], x, False, False)
    assert not np.shares_memory(view.numpy(), whole)
    assert as_gradient(np.ones(2, np.float32), x, False, False).dtype == gradcli.float64


def test_unwanted_gradients_are_not_computed():
    ran = []

    @function(lambda ctx, g: ran.append(1) or g)
    def same(ctx, x):
        return x.clone()

    x, y = leaf(1.0), leaf(2.0)
    total = same.apply(x) + y
    assert grad(total, y, retain_graph=True)[0].tolist() == [1] and ran == []
    total.backward(inputs=[y], retain_graph=True)
    assert ran == [] and x.grad is None
    total.backward()
    assert ran == [1] and y.grad.tolist() == [2]


def test_saved_memory_is_freed_during_backward(no_collector):
    y = leaf([1.0] * 10).exp()
    middle = weakref.ref(y._data)
    z = y.sin().sum()
    del y
    assert middle() is not None
    z.backward()
    assert middle() is None


def test_values_that_no_rule_needs_are_not_kept():
    y = leaf([1.0] * 10) * 2.0
    kept = weakref.ref(y._data)
    z = (y + 1).sum()
    del y
    assert kept() is None
    assert z.requires_grad


def test_graphs_have_no_reference_cycles(no_collector):
    x = leaf(1.0, 1.0, 1.0)
    y = (x.exp() * x).sum()
    y.backward()
    gone = weakref.ref(y._node)
    del x, y
    assert gone() is None


def test_no_grad_applies_only_to_its_thread():
    x = leaf(1.0)
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with gradcli.no_grad():
            entered.set()
            leave.wait(10)
            seen.append((x * 2).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    assert (x * 2).requires_grad
    leave.set()
    thread.join()
    assert seen == [False]


LARGE_PROGRAMS = {
    "sigmoid": gradcli.sigmoid,
    "exp": gradcli.exp,
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    "quotient": lambda x: 1 / (x * x + 1),
    "constant": lambda x: 3 - x,
}


@pytest.mark.parametrize("function", LARGE_PROGRAMS.values(), ids=LARGE_PROGRAMS)
def test_second_derivatives_of_large_tensors(function):
    numbers = np.linspace(-2, 2, 20_000)
    seconds = []
    for x in (numbers, numbers[:10]):
        t = gradcli.tensor(x, requires_grad=True)
        (first,) = grad((function(t) * t).sum(), t, create_graph=True)
        seconds.append(np.asarray(grad(first.sum(), t)[0]))
    assert np.allclose(seconds[0][:10], seconds[1])


UNREAD = {
    **{name: (name, "x") for name in "exp exp2 expm1 sqrt rsqrt reciprocal tanh sigmoid tan".split()},
    "softmax": (lambda a: a.softmax(0), "x"),
    "log_softmax": (lambda a: a.log_softmax(0), "x"),
    "erfinv": (gradcli.erfinv, "out"),
    "log": ("log", "out"),
    "sin": ("sin", "out"),
    "a / 2": (lambda a: a / 2, "x out"),
    "2 / a": (lambda a: 2 / a, "out"),
    "a / a.exp()": (lambda a: a / a.exp(), "out"),
    "a / (a + 1)": (lambda a: a / (a + 1), "out"),
    "tensor(2) / a": (lambda a: gradcli.tensor(2.0) / a, "out"),
}
"""Functions whose operand (x) or result (out) may change in place before backward in PyTorch."""


@pytest.mark.parametrize("function, changed", UNREAD.values(), ids=UNREAD)
def test_values_that_the_rule_does_not_read_may_change(function, changed):
    def slope(which):
        x = leaf(0.3, 0.6)
        a = x * 1
        out = getattr(a, function)() if isinstance(function, str) else function(a)
        weighted = out * gradcli.tensor([1.0, 5.0])
        if which:
            (a if which == "x" else out).mul_(2)
        return gradcli.autograd.grad(weighted.sum(), x)[0].numpy()

    for which in changed.split():
        assert slope(which) == pytest.approx(slope(""), rel=1e-14)


def test_h1_a_hook_may_be_print(x, capsys):
    y = 2 * x
    y.register_hook(print)
    gradcli.mean(y).backward()
    assert capsys.readouterr().out == "tensor([0.5000, 0.5000])\n"
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("pairs", [20_000, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_s5_chains_of_a_million_operations(pairs):
    x = leaf(1.0)
    y = x
    for _ in range(pairs):
        y = y * 1.0000001 + 1e-9
    y.backward()
    assert x.grad.item() == pytest.approx(1.0000001**pairs)
    del y


def test_the_engine_emits_no_warnings():
    x = leaf(0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x**2).sqrt().sum().backward()
    assert np.isnan(x.grad.numpy()[0])


@pytest.mark.parametrize("count", [15, 255, 300])
def test_dead_views_are_swept_rarely_among_many_live_ones(count):
    base = gradcli.zeros(count)
    views = list(base)
    sweeps = 0
    for _ in range(4 * count):
        before = len(base._views)
        base[0]
        sweeps += len(base._views) <= before
    assert sweeps <= 4
    assert len(views) <= len(base._views) <= 4 * count


def test_observers_see_every_thread_and_only_while_active():
    class Seen(Observer):
        def __init__(self):
            self.what = []

        def see_leaf(self, tensor):
            self.what.append("leaf")

        def see_backward(self, kind, outputs):
            self.what.append(kind)

    seen = Seen()
    with observing(seen):
        thread = threading.Thread(target=lambda: leaf(1.0).sin().backward())
        thread.start()
        thread.join()
    leaf(1.0).sin().backward()
    assert seen.what == ["leaf", "backward"]
