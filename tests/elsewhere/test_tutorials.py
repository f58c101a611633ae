"""Lines from beginners' scripts give the same values, gradients and learning rates as in PyTorch."""

import contextlib
import importlib
import io
import re

import gradcli.utils.data
import numpy as np
import pytest

import gradcli
from gradcli.user.torch_names import as_torch

RNG = np.random.default_rng(6)
MATRIX, CUBE, TIES = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4)), np.array([[1.0, 3, 3, 0], [0, 2, 2, 2]])
ROWS = "torch.tensor([[0, 0, 2, 1], [1, 1, 1, 1]])"
FUNCTIONS = [
    *((f"F.pad(x, {pad}, mode='{mode}')", CUBE) for pad in ((2, 1), (0, 3)) for mode in ("reflect", "replicate")),
    *((f"F.pad(x[None], (1, 2, 2, 0), mode='{mode}')", CUBE) for mode in ("reflect", "replicate")),
    *((f"torch.{name}_mean(x{more})", CUBE) for name in ("std", "var") for more in ("", ", 1", ", (0, 2), True, True")),
    ("torch.std_mean(x, False)", MATRIX),
    ("torch.var_mean(x, dim=0, correction=0)", MATRIX),
    ("x.index_fill(1, torch.tensor([0, 2]), 5.0)", MATRIX),
    ("(x * 1).index_fill_(0, torch.tensor([1]), x[0, 0])", MATRIX),
    ("x.index_copy(0, torch.tensor([2, 0]), x[:2] ** 2)", MATRIX),
    *((f"torch.tensor_split(x, {how})", MATRIX) for how in ("3", "(1, 3), dim=1", "5, 1", "[1, 2]")),
    *((f"x.unfold({how})", CUBE) for how in ("0, 2, 1", "-1, 2, 2", "1, 3, 1")),
    *(
        # without include_self, PyTorch still shares the gradient with an element of x that equals the extreme
        (f"x.scatter_reduce(1, {ROWS}, x ** 2 + {0 if own else 10}, '{how}', include_self={own})", data)
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
        for data in (MATRIX[:2], TIES)
    ),
    ("F.scaled_dot_product_attention(x, x ** 2, x, is_causal=True)", CUBE),
    ("F.scaled_dot_product_attention(x, x ** 2, x, torch.ones(3, 3).tril(1).bool(), scale=2.0)", CUBE),
    ("F.prelu(x, x[0] * 0.1)", MATRIX),
    ("(x * 2).unsqueeze_(1).transpose_(0, 2)", MATRIX),
    ("(x[:1] * 2).squeeze_().unsqueeze_(-1).t_()", MATRIX),
    ("((y := x * 2), y[0], y.t_(), y.add_(1))", MATRIX),
]
CONSTANT = [
    "torch.bincount(torch.tensor([1, 3, 1]), minlength=6)",
    "torch.bincount(torch.tensor([1, 3, 1]), torch.tensor([0.5, 1.0, 2.0]))",
    "torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 4]))",
    "torch.isin(torch.tensor([1, 2, 3]), 2, invert=True)",
    "torch.tensor([5, 1, 7]).scatter_reduce(0, torch.tensor([0, 0, 2]), torch.tensor([3, 9, 8]), 'amax')",
    "list(DataLoader(TensorDataset(torch.arange(7), torch.arange(7) * 0.5), batch_size=3))",
    "list(DataLoader(TensorDataset(torch.arange(7)), batch_size=3, drop_last=True))",
    "list(DataLoader([(1, 2.5, 'a'), (2, 0.5, 'b')], batch_size=2))",
    "list(DataLoader([{'a': [1, 2]}, {'a': [3, 4]}], 2, collate_fn=lambda batch: [x['a'] for x in batch]))",
    "list(DataLoader(range(3), batch_size=None)), len(DataLoader(range(7), 2, drop_last=True))",
]
SCHEDULES = [
    "StepLR(optimizer, 3, gamma=0.5)",
    "ExponentialLR(optimizer, 0.9)",
    "CosineAnnealingLR(optimizer, T_max=5, eta_min=0.01)",
    "LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))",
    "LambdaLR(optimizer, [lambda epoch: 0.5**epoch, lambda epoch: 1.0])",
]
PLATEAUS = ["patience=1", "'max', 0.5, 0, cooldown=2", "patience=0, min_lr=0.02, threshold=0.5, threshold_mode='abs'"]
OPTIMIZERS = [
    "RMSprop([p])",
    "RMSprop([p], lr=0.1, alpha=0.5, momentum=0.9, weight_decay=0.1)",
    "RMSprop([p], centered=True, maximize=True)",
    "Adagrad([p])",
    "Adagrad([p], lr=0.1, lr_decay=0.5, weight_decay=0.1, initial_accumulator_value=0.3)",
]


def engines():
    import torch
    import torch.utils.data

    return gradcli, torch


def names(engine):
    data = engine.utils.data
    loaders = {"DataLoader": data.DataLoader, "TensorDataset": data.TensorDataset}
    return {"torch": engine, "F": engine.nn.functional, **loaders}


def plain(value):
    return [plain(x) for x in value] if isinstance(value, tuple | list) else getattr(value, "tolist", lambda: value)()


@pytest.mark.framework("torch")
@pytest.mark.parametrize(("text", "data"), FUNCTIONS, ids=[text for text, _ in FUNCTIONS])
def test_functions_agree_with_torch(text, data):
    found = []
    for engine in engines():
        x = engine.tensor(data, requires_grad=True)
        results = eval(text, {**names(engine), "x": x})
        results = results if isinstance(results, tuple) else (results,)
        sum((i + 1) * (y**3).sum() for i, y in enumerate(results)).backward()
        found.append(([y.detach().numpy() for y in results], x.grad.numpy(), [y.grad_fn.name() for y in results]))
    (values, grad, _), (wanted, reference, _) = found
    for value, want in zip(values, wanted, strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-14)
        assert value.shape == want.shape
    np.testing.assert_allclose(grad, reference, rtol=1e-9, atol=1e-12)


@pytest.mark.framework("torch")
@pytest.mark.parametrize("text", CONSTANT)
def test_results_without_gradients_agree(text):
    ours, theirs = (plain(eval(text, names(engine))) for engine in engines())
    assert ours == theirs


@pytest.mark.framework("torch")
@pytest.mark.parametrize("text", OPTIMIZERS)
def test_optimizers(text):
    places = []
    for engine in engines():
        p = engine.tensor([1.0, -2.0, 0.0], dtype=engine.float64, requires_grad=True)
        optimizer = eval(f"optim.{text}", {"optim": engine.optim, "p": p})
        for t in range(6):
            optimizer.zero_grad()
            ((p - t) ** 2 * engine.tensor([1.0, 3.0, 0.5], dtype=engine.float64)).sum().backward()
            optimizer.step()
            places.append(p.tolist())
    assert places[:6] == pytest.approx(np.array(places[6:]), rel=1e-12)


def rates(engine, text, metrics=None):
    p, q = (engine.zeros(1, requires_grad=True) for _ in range(2))
    optimizer = engine.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=0.1)
    schedule = eval(f"torch.optim.lr_scheduler.{text}", {"torch": engine, "optimizer": optimizer})
    seen = []
    for t in range(12):
        optimizer.step()
        schedule.step(*([] if metrics is None else [metrics[t]]))
        seen.append([*schedule.get_last_lr(), *(group["lr"] for group in optimizer.param_groups)])
    return np.array(seen)


@pytest.mark.framework("torch")
@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules(text):
    ours, theirs = (rates(engine, text) for engine in engines())
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.framework("torch")
@pytest.mark.parametrize("options", PLATEAUS)
def test_schedules_that_depend_on_the_loss(options):
    losses = [3.0, 2.0, 2.0, 2.1, 1.99999, 1.0, float("nan"), 1.0, 1.0, 0.9, 0.9, 0.9]
    ours, theirs = (rates(engine, f"ReduceLROnPlateau(optimizer, {options})", losses) for engine in engines())
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.framework("torch")
def test_no_grad_works_for_generators():
    for engine in engines():
        x, log = engine.ones(1, requires_grad=True), []

        @engine.no_grad()
        def steps(x, log=log):
            try:
                got = yield x * 2
                log.append((got, (x * 3).requires_grad))
                yield x
            except KeyError:
                log.append("thrown")
                yield x * 4

        body = steps(x)
        assert not next(body).requires_grad
        assert (x * 2).requires_grad
        body.send(5)
        assert not body.throw(KeyError()).requires_grad
        body.close()
        assert log == [(5, False), "thrown"]


SCRIPTS = {
    "tensors": """
import numpy as np
x = torch.tensor([5.5, 3])
print(x, x.new_ones(2, 3, dtype=torch.double), torch.zeros(2, 2, dtype=torch.long), x.size())
total = torch.empty(2)
print(torch.add(x, x, out=total), total, torch.mul(x, 2, out=total) is total)
powers = (torch.ones(2, 2) * 2) ** torch.tensor([[1, 2], [3, 4]])
print(powers, torch.ones((2, 3), dtype=torch.int16), (powers / 3).to(torch.int32))
print(torch.eq(powers, torch.ones(1, 2) * 4), torch.std(powers), torch.prod(powers), torch.max(powers).item())
print(torch.bitwise_xor(torch.tensor([1, 5, 11]), torch.tensor([2, 7, 10])), torch.unique(torch.tensor([1, 2, 1])))
a, b = torch.tensor([0.0, 1, 0]), torch.tensor([1.0, 0, 0])
print(torch.cross(b, a, dim=0), torch.svd(torch.tensor([[3.0, 0], [0, 2]])).S)
angles = torch.tensor([0, np.pi / 4])
print(torch.sin_(angles), angles, torch.asin(angles), torch.clamp(angles, -0.5, 0.5))
rows = torch.ones(4, 4)
rows[:, 1] = 0
print(rows[0], rows[..., -1], torch.cat([rows, rows], dim=1), rows.sum().item(), rows.view(-1, 8).size())
n = np.ones(3)
t = torch.from_numpy(n)
np.add(n, 1, out=n)
print(t, t.add_(1).numpy(), n, rows.unsqueeze(0).shape, rows.reshape(16).shape, rows.T.is_contiguous())
print(torch.rand(2, 2, out=torch.zeros(2, 2)).shape, rows.to("cpu", torch.double).dtype, rows.type())
""",
    "autograd": """
x = torch.ones(2, 2, requires_grad=True)
z = (x + 2) * (x + 2) * 3
out = z.mean()
print(x, x + 2, z, out, (x + 2).grad_fn.name())
out.backward()
print(x.grad)
a = torch.linspace(0, 2 * torch.pi, steps=7, requires_grad=True)
d = 2 * torch.sin(a) + 1
print(d.grad_fn.name(), [f.name() for f, _ in d.grad_fn.next_functions if f], a.grad_fn, d.sum())
d.sum().backward()
print(torch.allclose(a.grad, 2 * torch.cos(a)), a.grad)
y = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
w = y * 2
while w.data.norm() < 1000:
    w = w * 2
w.backward(torch.tensor([0.1, 1.0, 0.0001]))
print(w, y.grad)
y.requires_grad = False
print((y * 2).requires_grad, y.detach())
square = torch.eye(3, 4, requires_grad=True)
out = (square + 1).pow(2).t()
for again in range(2):
    out.backward(torch.ones_like(out), retain_graph=True)
    print(square.grad)
square.grad.zero_()
print(torch.autograd.functional.jacobian(lambda x, y: 2 * x.exp() + 3 * y, (torch.zeros(2), torch.ones(2))))
print(torch.autograd.functional.vjp(lambda x: x * x, torch.arange(3.0), v=torch.tensor([0.1, 1, 2])))
print(torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.arange(2.0)))
""",
    "polynomial": """
class Legendre(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


x = torch.linspace(-3, 2.5, 50, dtype=torch.double)
y = torch.sin(x)
a, b, c, d = (torch.full((), v, dtype=torch.double, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
for t in range(50):
    loss = (a + b * Legendre.apply(c + d * x) - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 1e-3 * p.grad
            p.grad = None
print(f"{loss.item():.6f} {a.item():.6f} {b.item():.6f} {c.item():.6f} {d.item():.6f}")


class Polynomial(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (torch.nn.Parameter(torch.tensor(v)) for v in (0.1, 0.2))

    def forward(self, x):
        y = self.a + self.b * x
        for exponent in range(4, 5):
            y = y + self.b * x**exponent
        return y

    def string(self):
        return f"y = {self.a.item():.4f} + {self.b.item():.4f} x"


model = Polynomial().double()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-7, momentum=0.9)
criterion = torch.nn.MSELoss(reduction="sum")
for t in range(30):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model, model.string(), f"{loss.item():.4f}", len(list(model.parameters())))
features = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
net = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1)).double()
fill(net)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for t in range(40):
    loss = criterion(net(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(net[0].bias, f"{net[0].weight[:, 0].item():.8f} {loss.item():.4f}")
""",
    "networks": """
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 3, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(3 * 3 * 3, 5)
        self.fc2 = nn.Linear(5, 4)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
fill(net)
print(net, [(name, tuple(p.size())) for name, p in net.named_parameters()])
image = torch.linspace(-1, 1, 2 * 64).view(2, 1, 8, 8).cos()
net.conv1.register_forward_hook(lambda m, i, o: print(type(m).__name__, type(i), len(i), o.data.size()))
out = net(image)
loss = nn.CrossEntropyLoss()(out, torch.tensor([3, 1], dtype=torch.long))
print(loss.grad_fn.name(), out.grad_fn.next_functions[0][0].name(), out.argmax(1), net.conv1.bias.grad)
loss.backward()
print(out, loss, net.conv1.bias.grad, net.fc2.weight.grad.norm())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
for epoch in range(4):
    optimizer.step()
    scheduler.step()
print(scheduler.get_last_lr(), net.fc2.bias)
embedding, lstm, head = nn.Embedding(6, 4), nn.LSTM(4, 3), nn.Linear(3, 2)
for part in (embedding, lstm, head):
    fill(part)
words = torch.tensor([0, 3, 5])
hidden, (h, c) = lstm(embedding(words).view(3, 1, -1))
scores = F.log_softmax(head(hidden.view(3, -1)), dim=1)
loss = nn.NLLLoss()(scores, torch.tensor([0, 1, 1]))
loss.backward()
print(scores, loss, h, lstm.weight_hh_l0.grad[:2], embedding.weight.grad[0])
_, predicted = torch.max(scores.data, 1)
print(predicted, (predicted == torch.tensor([0, 1, 1])).sum().item())
""",
}
"""Scripts in the style of PyTorch's tutorials for beginners; fill() sets parameters to the same numbers."""


def run_script(engine, text):
    def fill(module):
        with engine.no_grad():
            for k, p in enumerate(module.parameters()):
                p.copy_(engine.linspace(-0.5, 0.5 + 0.1 * k, p.numel()).view(p.shape))

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, {"torch": engine, "fill": fill, "__name__": "__main__"})
    return out.getvalue()


@pytest.mark.framework("torch")
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_print_the_same(name):
    import torch

    text = SCRIPTS[name]
    theirs = run_script(torch, text)
    with as_torch():
        ours = run_script(importlib.import_module("torch"), text)
    assert ours == theirs


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("torch.mul(torch.ones(2, requires_grad=True), 2, out=torch.ones(2))", "don't support automatic"),
        ("torch.mul(torch.ones(2), 2, out=torch.ones(3))", "out has shape [3], but the result [2]"),
    ],
)
def test_invalid_out_arguments_are_errors(call, text):
    with as_torch(), pytest.raises(RuntimeError, match=re.escape(text)):
        eval(call, {"torch": importlib.import_module("torch")})
