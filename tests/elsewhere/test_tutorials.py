"""What beginners' scripts use, next to PyTorch: values, gradients and learning rates of lines that both engines run."""

import gradcli.utils.data
import numpy as np
import pytest

import gradcli

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
        # without the own elements, PyTorch counts one that equals the extreme among those that share its gradient
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
def test_functions(text, data):
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
def test_what_has_no_gradient(text):
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
def test_schedules_that_look_at_the_loss(options):
    losses = [3.0, 2.0, 2.0, 2.1, 1.99999, 1.0, float("nan"), 1.0, 1.0, 0.9, 0.9, 0.9]
    ours, theirs = (rates(engine, f"ReduceLROnPlateau(optimizer, {options})", losses) for engine in engines())
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.framework("torch")
def test_generators_without_recording():
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
