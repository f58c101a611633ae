"""What nodes of the graph show: hooks on leaves, saved values, names; calls of single nodes."""

import pytest

import gradcli
from gradcli import ones
from gradcli.autograd import grad

from .build import function, leaf


def test_hooks_after_accumulation_run_for_chosen_inputs_too(x):
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * x).sum().backward(inputs=[x])
    assert seen == [[2.0, 4.0]]
    grad((x * x).sum(), x)
    assert len(seen) == 1


def test_a_hook_that_raises_after_accumulation_has_used_up_the_graph(x):
    def refuse(_):
        raise ValueError("no")

    x.register_post_accumulate_grad_hook(refuse)
    y = (x * x).sum()
    with pytest.raises(ValueError, match="no"):
        y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_a_scan_along_any_axis_is_one_node(name, dim):
    x = ones(2, 3).requires_grad_()
    y = getattr(gradcli, name)(x, dim)
    assert y.grad_fn.name() == f"{name.capitalize()}Backward0"
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    weights = gradcli.arange(6.0).reshape(2, 3)
    (y * weights).sum().backward()
    assert seen == [weights.tolist()]


@pytest.mark.parametrize(("dim", "name"), [(None, "_unique2"), (0, "unique_dim")])
def test_unique_has_no_derivative_and_says_so(x, dim, name):
    y = gradcli.unique(x, dim=dim)
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize("chosen", [False, True])
def test_hooks_of_a_leafs_node(x, chosen):
    y = x * 2 + x
    node = y.grad_fn.next_functions[1][0]
    seen = []
    handle = node.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].tolist())))
    y.sum().backward(inputs=[x] if chosen else None)
    assert seen == [((), [3.0, 3.0])]
    assert x.grad.tolist() == [3.0, 3.0]
    handle.remove()
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_the_order_of_a_leafs_hooks(x):
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    seen = []
    node.register_hook(lambda *_: seen.append("after"))
    x.register_post_accumulate_grad_hook(lambda _: seen.append("accumulated"))
    x.register_hook(lambda _: seen.append("tensor"))
    node.register_prehook(lambda _: seen.append("before"))
    y.sum().backward()
    assert seen == ["tensor", "before", "accumulated", "after"]


def test_zeros_for_unused_inputs(x):
    u = ones(2).requires_grad_()
    assert not grad((x * x).sum(), u, materialize_grads=True)[0].requires_grad
    assert grad((x * x).sum(), u, materialize_grads=True, create_graph=True)[0].requires_grad
    (g,) = grad(x * x, u, gradcli.eye(2), is_grads_batched=True, materialize_grads=True)
    assert tuple(g.shape) == (2,)


def test_hooks_of_captured_nodes_run_only_where_the_node_runs(x):
    seen = []
    y = x * 2
    z = (y * 3).sum()
    y.register_hook(lambda _: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda _: seen.append("before"))
    y.grad_fn.register_hook(lambda *_: seen.append("after"))
    grad(z, y, retain_graph=True)
    assert seen == ["tensor"]
    grad(z, (x, y), retain_graph=True)
    assert seen[1:] == ["tensor", "before", "after"]
    z.backward(inputs=[y])
    assert seen[4:] == ["tensor", "before"]


def test_hooks_before_a_leaf_change_what_is_added_to_chosen_inputs(x):
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda gs: (gs[0] * 10,))
    y.sum().backward(inputs=[x])
    assert x.grad.tolist() == [20.0, 20.0]


def test_hooks_after_accumulation_return_nothing(x):
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()


def test_hooks_on_a_view_do_not_see_what_becomes_of_it(x):
    base = x * 1
    view = base[:1]
    view.register_hook(lambda p: pytest.fail("the hook ran"))
    view.mul_(5)
    (view.sum() + base.sum()).backward()
    assert x.grad.tolist() == [10.0, 1.0]


# -- operands and outputs ----------------------------------------------------------------------------


def test_operands_that_count_are_the_next_functions():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    following = gradcli.where(x.detach() > 1, x, y).grad_fn.next_functions
    assert [node.variable for node, _ in following] == [x, y]


def test_a_hook_before_a_node_sees_none_for_an_output_without_gradient():
    @function(lambda ctx, first, second: first + second)
    def twice(ctx, x):
        return x * 1, x * 1

    first, _ = twice.apply(leaf([1.0, 2.0]))
    seen = []
    first.grad_fn.register_prehook(seen.append)
    first.sum().backward()
    ((given, nothing),) = seen
    assert (given.tolist(), nothing) == ([1.0, 1.0], None)
