"""Right and wrong training steps for test_steps.py: `python training.py SET` runs each function of a set.

Each function makes one SGD optimizer and takes steps. Its docstring is the finding, or empty for a right step. The
declared loss is an attribute of the function, else `mean_of_tokens`.
"""

import contextlib
import itertools
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.checkpoint import checkpoint

WORDS, PAD, WINDOW = 11, -100, 4


class Net(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.embed, self.first = nn.Embedding(WORDS, 8), nn.Linear(8, 16)
        self.drop, self.norm, self.last = nn.Dropout(dropout), nn.BatchNorm1d(16), nn.Linear(16, WORDS)
        self.saves_memory = False

    def hidden(self, x):
        return self.norm(torch.tanh(self.first(self.embed(x))).transpose(1, 2)).transpose(1, 2)

    def forward(self, x):
        hidden = checkpoint(self.hidden, x, use_reentrant=False) if self.saves_memory else self.hidden(x)
        return self.last(self.drop(hidden))


class Rows(torch.utils.data.Dataset):
    """Rows of tokens of different lengths, or all of the same length."""

    def __init__(self, equal):
        numbers = torch.Generator().manual_seed(1)
        self.x, self.y = (torch.randint(0, WORDS, (24, 7), generator=numbers) for _ in "xy")
        for row in range(0 if equal else 24):
            self.y[row, 1 + 5 * row % 7 :] = PAD

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        return self.x[row], self.y[row]


def loss_of(model, x, y, reduction="sum"):
    z = model(x)
    z = z if z.dtype == torch.float64 else z.float()
    return F.cross_entropy(z.reshape(-1, WORDS), y.reshape(-1), ignore_index=PAD, reduction=reduction)


def tokens(batches):
    return sum(int((y != PAD).sum()) for _, y in batches)


def mean_of_tokens(model, batches):
    return sum(loss_of(model, x, y) for x, y in batches) / tokens(batches)


def with_penalty(model, batches):
    penalty = sum(model.hidden(x).pow(2).mean() for x, _ in batches) / len(batches)
    return {"nll": mean_of_tokens(model, batches), "aux": 0.1 * penalty}


def full_loss(model, batches):
    return getattr(current, "declared", mean_of_tokens)(model, batches)


def windows(equal=False, size=WINDOW, workers=0):
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Rows(equal), batch_size=3, num_workers=workers)
    rest = iter(loader)
    while window := list(itertools.islice(rest, size)):
        yield window


def start(model=None, rate=0.1, **options):
    """Return a model and its optimizer."""
    torch.manual_seed(3)
    model = Net() if model is None else model
    return model, torch.optim.SGD(model.parameters(), lr=rate, **options)


def steps(model, optimizer, backward, equal=False, after=lambda: None, size=WINDOW):
    """Take steps with backward(batch, number of tokens in the step, number of the batch)."""
    for window in windows(equal, size):
        optimizer.zero_grad()
        count = tokens(window)
        for k, batch in enumerate(window):
            backward(batch, count, k)
        after()
        optimizer.step()


def means(model, divisor):
    return lambda batch, count, k: (loss_of(model, *batch, "mean") / divisor).backward()


def shares(model, factor=1.0):
    return lambda batch, count, k: (factor * loss_of(model, *batch) / count).backward()


SETS = {"first": [], "second": []}


def case(which, declared=None):
    def add(function):
        SETS[which].append(function)
        if declared is not None:
            function.declared = declared
        return function

    return add


@case("first")
def accumulated():
    model, optimizer = start(momentum=0.9, weight_decay=0.1)
    steps(model, optimizer, shares(model))


@case("first")
def dropout():
    model, optimizer = start(Net(0.3))
    steps(model, optimizer, shares(model))


@case("first")
def checkpointed():
    model, optimizer = start(Net(0.3))
    model.saves_memory = True
    steps(model, optimizer, shares(model))


@case("first")
def autocast():
    model, optimizer = start()

    def backward(batch, count, k):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model, *batch) / count
        loss.backward()

    steps(model, optimizer, backward)


@case("first")
def scaled():
    model, optimizer = start()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    for ((x, y),) in windows(size=1):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = loss_of(model, x, y, "mean")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 100.0)
        scaler.step(optimizer)
        scaler.update()


@case("first")
def tied_and_frozen():
    model = nn.Sequential(nn.Embedding(WORDS, 8), nn.Linear(8, 8), nn.Dropout(0.2), nn.Linear(8, WORDS, bias=False))
    model[3].weight = model[0].weight
    model[1].bias.requires_grad_(False)
    model[1].register_module("unused", nn.Linear(2, 2))
    model, optimizer = start(model)
    steps(model, optimizer, shares(model))


@case("first")
def compiled():
    model, optimizer = start()
    fast = torch.compile(model, backend="eager")
    steps(model, optimizer, shares(fast))


@case("first")
def with_workers():
    model, optimizer = start()
    for window in windows(workers=1):
        optimizer.zero_grad()
        mean_of_tokens(model, window).backward()
        optimizer.step()


@case("first")
def validated_in_between():
    model, optimizer = start()
    for window in windows():
        model.eval()
        for x, y in next(windows(size=2)):
            loss_of(model, x, y)
        model.train()
        optimizer.zero_grad()
        mean_of_tokens(model, window).backward()
        optimizer.step()


@case("first", lambda model, batches: sum((model(x) ** 2).mean() for x in batches) / len(batches))
def without_loader():
    model, optimizer = start(nn.Linear(4, 3))
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(3):
            ((model(torch.randn(5, 4)) ** 2).mean() / 3).backward()
        optimizer.step()


@case("first", lambda model, batches: sum(F.mse_loss(model(b["in"]["x"]), b["out"][0]) for b in batches))
def nested_batches():
    model, optimizer = start(nn.Linear(3, 1))
    rows = [{"in": {"x": torch.randn(3), "name": "a"}, "out": [torch.randn(1), k]} for k in range(8)]
    for batch in torch.utils.data.DataLoader(rows, batch_size=4):
        optimizer.zero_grad()
        F.mse_loss(model(batch["in"]["x"]), batch["out"][0]).backward()
        optimizer.step()


@case("first", lambda model, batches: sum((model(x) ** 2).mean() for x in batches) / len(batches))
def validated_on_the_same_memory():
    model, optimizer = start(nn.Linear(4, 3))
    rows = torch.randn(12, 4)
    with torch.no_grad():
        for x in torch.utils.data.DataLoader([rows[:5], rows[5:]], batch_size=None):
            model(x)
    for x in torch.utils.data.DataLoader([rows[:5], rows[5:]], batch_size=None):
        ((model(x) ** 2).mean() / 2).backward()
    optimizer.step()


@case("first", with_penalty)
def with_two_terms():
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: with_penalty_of(model, batch, count, 0.1 / WINDOW).backward())


def with_penalty_of(model, batch, count, factor):
    return loss_of(model, *batch) / count + factor * model.hidden(batch[0]).pow(2).mean()


@case("first")
def closure_of_sgd():
    model, optimizer = start()
    for ((x, y),) in windows(size=1):

        def closure():
            optimizer.zero_grad()
            loss = loss_of(model, x, y, "mean")  # noqa: B023 - called in this turn
            loss.backward()
            return loss

        optimizer.step(closure)


def after_a_call_in_train(factor):
    """Train a batch norm in eval() whose running statistics a call with a graph has changed before."""
    model, optimizer = start()
    model(torch.randint(0, WORDS, (3, 7)))
    model.eval()
    steps(model, optimizer, shares(model, factor))


@case("first")
def norm_in_eval():
    after_a_call_in_train(1.0)


@case("first")
def norm_in_eval_with_a_factor():
    """step-factor"""
    after_a_call_in_train(1.3)


@case("first")
def undivided():
    """not-divided"""
    model, optimizer = start()
    steps(model, optimizer, means(model, 1), equal=True)


@case("first")
def twice_divided():
    """divided-twice"""
    model, optimizer = start()
    steps(model, optimizer, means(model, WINDOW * WINDOW), equal=True)


@case("first")
def mean_of_means():
    """equal-weights"""
    model, optimizer = start(Net(0.2))
    steps(model, optimizer, means(model, WINDOW))


@case("first")
def mean_of_means_in_bfloat16():
    """equal-weights"""
    model, optimizer = start()

    def backward(batch, count, k):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model, *batch, "mean") / WINDOW
        loss.backward()

    steps(model, optimizer, backward)


@case("first")
def cleared_inside():
    """last-batch-only"""
    model, optimizer = start()

    def backward(batch, count, k):
        optimizer.zero_grad()
        (loss_of(model, *batch) / count).backward()

    steps(model, optimizer, backward)


@case("first")
def first_batch_lost():
    """batch-missing"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: (loss_of(model, *batch) / count * (k > 0)).backward())


@case("first")
def fading_batches():
    """batch-weights"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: (loss_of(model, *batch, "mean") * 0.5**k).backward())


@case("first")
def scale_left():
    """loss-scale-left"""
    model, optimizer = start()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    steps(model, optimizer, lambda batch, count, k: scaler.scale(loss_of(model, *batch) / count).backward())


@case("first")
def clipped():
    """clipped"""
    model, optimizer = start()
    steps(model, optimizer, shares(model), after=lambda: clip_grad_norm_(model.parameters(), 0.03))


@case("first")
def clipped_elements():
    """clipped"""
    model, optimizer = start()
    steps(model, optimizer, shares(model), after=lambda: clip_grad_value_(model.parameters(), 0.01))


@case("first")
def clipped_too_early():
    """clipped-before-unscaling"""
    model, optimizer = start()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for window in windows():
        optimizer.zero_grad()
        scaler.scale(mean_of_tokens(model, window)).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


@case("first")
def clipped_each():
    """clipped-each-batch"""
    model, optimizer = start()

    def backward(batch, count, k):
        (loss_of(model, *batch) / count).backward()
        clip_grad_norm_(model.parameters(), 0.05)

    steps(model, optimizer, backward)


@case("first")
def group_scaled():
    """parameter-scaled"""
    model, optimizer = start()
    model.last.weight.register_hook(lambda g: 10 * g)
    steps(model, optimizer, shares(model))


@case("first")
def features_detached():
    """parameter-without-gradient"""
    model, optimizer = start()

    def backward(batch, count, k):
        z = model.last(model.hidden(batch[0]).detach())
        loss = F.cross_entropy(z.reshape(-1, WORDS), batch[1].reshape(-1), ignore_index=PAD, reduction="sum")
        (loss / count).backward()

    steps(model, optimizer, backward)


def head_of_frozen(model, x, y):
    with torch.no_grad():
        hidden = model.hidden(x)
    return F.cross_entropy(model.last(hidden).reshape(-1, WORDS), y.reshape(-1), ignore_index=PAD, reduction="sum")


@case("first", lambda model, batches: sum(head_of_frozen(model, *b) for b in batches) / tokens(batches))
def features_frozen():
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: (head_of_frozen(model, *batch) / count).backward())


@case("first")
def features_without_graph():
    """parameter-without-gradient"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: (head_of_frozen(model, *batch) / count).backward())


@case("first", with_penalty)
def penalty_lost():
    """term-missing"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: with_penalty_of(model, batch, count, 0.0).backward())


@case("first", with_penalty)
def penalty_for_each_batch():
    """term-repeated"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: with_penalty_of(model, batch, count, 0.1).backward())


@case("first", with_penalty)
def penalty_halved():
    """term-scaled"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: with_penalty_of(model, batch, count, 0.05 / WINDOW).backward())


@case("first")
def decay_added():
    """weight-decay"""
    model, optimizer = start()

    def decay():
        for p in model.parameters():
            p.grad.add_(p.detach(), alpha=0.01)

    steps(model, optimizer, shares(model), after=decay)


def all_parameters(model):
    return torch.cat([p.flatten() for p in model.parameters()])


def penalized(model, batches):
    return mean_of_tokens(model, batches) + 0.1 * all_parameters(model).pow(2).sum()


def penalized_by_name(model, batches):
    return {"nll": mean_of_tokens(model, batches), "l2": 0.1 * all_parameters(model).pow(2).sum()}


def train_penalized(penalize):
    model, optimizer = start()
    for window in windows():
        optimizer.zero_grad()
        (mean_of_tokens(model, window) + penalize(model)).backward()
        optimizer.step()


@case("first", penalized)
def penalty_on_parameters():
    train_penalized(lambda model: 0.1 * all_parameters(model).pow(2).sum())


@case("first", penalized)
def penalty_on_parameters_forgotten():
    """penalty-missing"""
    train_penalized(lambda model: 0.0)


@case("first", penalized)
def penalty_on_parameters_too_large():
    """weight-decay"""
    train_penalized(lambda model: 0.3 * all_parameters(model).pow(2).sum())


@case("first", penalized_by_name)
def penalty_on_weights_only():
    """term-detached"""
    train_penalized(lambda model: 0.1 * sum(p.pow(2).sum() for p in model.parameters() if p.dim() > 1))


@case("first", penalized_by_name)
def named_penalty_forgotten():
    """term-missing"""
    train_penalized(lambda model: 0.0)


def small_terms(model, batches):
    (x,) = batches
    z = model(x) - x.sum(1, keepdim=True)
    return {"squares": z.pow(2).mean(), "sizes": 0.5 * z.abs().mean()}


def train_small(loss):
    model, optimizer = start(nn.Linear(4, 1))
    for _ in range(2):
        x = torch.randn(30, 4)
        optimizer.zero_grad()
        loss(model(x) - x.sum(1, keepdim=True), model).backward()
        optimizer.step()


@case("first", small_terms)
def small_network():
    train_small(lambda z, _: z.pow(2).mean() + 0.5 * z.abs().mean())


@case("first", small_terms)
def term_three_times_in_a_small_network():
    """term-scaled"""
    train_small(lambda z, _: z.pow(2).mean() + 1.5 * z.abs().mean())


@case("first", small_terms)
def term_forgotten_in_a_small_network():
    """term-missing"""
    train_small(lambda z, _: z.pow(2).mean())


@case("first", small_terms)
def another_loss_of_a_small_network():
    """other-gradient"""
    train_small(lambda z, _: F.huber_loss(z, torch.zeros_like(z)))


def small_penalized(model, batches):
    (x,) = batches
    return (model(x) - x.sum(1, keepdim=True)).pow(2).mean() + 0.1 * all_parameters(model).pow(2).sum()


@case("first", small_penalized)
def penalty_forgotten_in_a_small_network():
    """penalty-missing"""
    train_small(lambda z, _: z.pow(2).mean())


@case("first", small_penalized)
def penalty_without_the_bias_in_a_small_network():
    """other-gradient"""
    train_small(lambda z, model: z.pow(2).mean() + 0.1 * model.weight.pow(2).sum())


@case("first")
def summed_rows():
    """summed"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: loss_of(model, *batch).backward(), equal=True, size=1)


@case("first")
def ascent():
    """step-factor"""
    model, optimizer = start()
    steps(model, optimizer, shares(model, -1.0))


@case("first")
def not_finite():
    """gradient-not-finite"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: (loss_of(model, *batch) / count * float("inf")).backward())


@case("first")
def another_loss():
    """other-gradient"""
    model, optimizer = start()
    steps(model, optimizer, lambda batch, count, k: model(batch[0]).pow(3).mean().backward())


@case("second")
def last_window():
    """incomplete-window"""
    model, optimizer = start()
    steps(model, optimizer, means(model, 5), equal=True, size=5)


@case("second")
def never_cleared():
    """gradient-kept"""
    model, optimizer = start()
    for window in windows():
        mean_of_tokens(model, window).backward()
        optimizer.step()


@case("second")
def step_inside_autocast():
    """stale-weights"""
    model, optimizer = start(rate=3.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for window in windows():
            optimizer.zero_grad()
            mean_of_tokens(model, window).backward()
            optimizer.step()


@case("second")
def second_step():
    model, optimizer = start(Net(0.2))
    steps(model, optimizer, shares(model))


if __name__ == "__main__":
    for current in SETS[sys.argv[1]]:
        with contextlib.suppress(ValueError):
            current()
    print("trained", len(SETS[sys.argv[1]]))
