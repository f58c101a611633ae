"""gradcli why finds the cause in scripts run by PyTorch, and finds nothing in right scripts."""

import pytest

from ..why.why_scripts import cases, check_cause, check_nothing, tutorials

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize("case", cases("torch"), ids=repr)
def test_the_cause_is_found_and_nothing_in_the_right_twin(case, tmp_path):
    check_cause(case, "torch", tmp_path)
    check_nothing(case.right, "torch", tmp_path)


TUTORIALS = [pytest.param(x, marks=pytest.mark.nightly) if k % 2 else x for k, x in enumerate(tutorials())]
"""Half of them are nightly, because gradcli's own engine runs all of them every time."""


@pytest.mark.parametrize("title", TUTORIALS)
def test_nothing_is_found_in_tutorials(title, tmp_path):
    check_nothing(tutorials()[title], "torch", tmp_path)


def test_a_script_with_vmap_runs(tmp_path):
    """Tensors inside vmap have no values to inspect."""
    check_nothing(ROWS, "torch", tmp_path)


ROWS = """
x = T.ones(5, 3)
w = T.ones(3, requires_grad=True)
def loss(w, row):
    return (w * row).sum() ** 2
print(T.func.vmap(T.func.grad(loss), (None, 0))(w, x).shape)
loss(w, x[0]).backward()
"""

SCRIPTS = """# a view in no_grad(), whose base changes in place
w = T.ones(3, 2, requires_grad=True)
with T.no_grad():
    row = w[0]
    row.fill_(0)
    for part in w.split(1):
        part.add_(1)
w.sum().backward()

# a view in no_grad() of a tensor that requires grad only later
w, buffer = T.ones(3, requires_grad=True), T.ones(3)
with T.no_grad():
    first = buffer[:1]
buffer.mul_(w)
buffer.sum().backward()

# several views of a tensor that changes in place
x = T.ones(3, 2, requires_grad=True)
y = x * 2
a, b = y.unbind(1)
total = a.sum()
y.add_(1)
y.sum().backward()

# a view from a custom function
class Flat(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(2, 2)
x = T.ones(2, 2, requires_grad=True)
y = x * 1
total = Flat.apply(y).sum()
y.add_(1)
(total + y.sum()).backward()

# storage that changes its size
x, out = T.ones(2, requires_grad=True), T.empty(0)
out.add_(1)
T.mul(x.detach(), 2, out=out.resize_(2))
(x * out).sum().backward()
out.untyped_storage().resize_(0)

# parameters without values
net = T.nn.LazyLinear(2)
net(T.ones(4, 3)).sum().backward()

# modules that write to their parameters
emb = T.nn.Embedding(5, 2, padding_idx=0, max_norm=1.0)
bag = T.nn.EmbeddingBag(5, 2, padding_idx=0)
(emb(T.tensor([1, 2])).sum() + bag(T.tensor([[1, 2]])).sum()).backward()
"""
RIGHT = dict(part.split("\n", 1) for part in SCRIPTS.split("# ")[1:])


@pytest.mark.parametrize("title", RIGHT)
def test_a_right_script_runs_as_without_why(title, tmp_path):
    """Recording must not read what PyTorch refuses to read, and must not change tensors."""
    check_nothing(RIGHT[title], "torch", tmp_path)
