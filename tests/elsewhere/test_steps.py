"""gradcli watch --loss on training runs of PyTorch: verdicts, causes, errors, and an unchanged program."""

import json
import sys
from pathlib import Path

import pytest

from gradcli.claims.declared import NotDeclaredError
from gradcli.errors import GradcliError
from tests.command import gradcli, python, run
from tests.schemas import validate

pytest.importorskip("torch")

from . import training

pytestmark = pytest.mark.framework("torch")
SCRIPT = Path(training.__file__)
NAMES = [(which, number, f.__name__) for which, some in training.SETS.items() for number, f in enumerate(some)]


def watch(folder, loss, *command, framework="torch", process=False, **more):
    """Run a script with watch --loss, and return its result and the checks of the report.

    framework: what the script imports. process: start new processes instead of forks that have imported it.
    """
    program = sys.executable if process else python(framework)
    words = ["watch", "--loss", loss, "-o", "report.json", *more.pop("options", ()), "--", program, *command]
    done = gradcli(*words, cwd=folder, process=process, frameworks=(framework,), **more)
    report = folder / "report.json"
    if not report.exists():
        return done, []
    assert validate(report.read_text()) == 1
    return done, json.loads(report.read_text())["checks"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return the checks of each set, by the name of the optimizer."""
    results = {}
    for which, step in (("first", "1"), ("second", "2")):
        folder = tmp_path_factory.mktemp(which)
        done, checks = watch(folder, f"{SCRIPT}:full_loss", SCRIPT, which, options=["--steps", step])
        assert done.stdout == f"trained {len(training.SETS[which])}\n", done.stderr
        results[which] = {check["optimizer"]: check for check in checks}
    return results


@pytest.mark.parametrize(("which", "number", "name"), NAMES, ids=[name for _, _, name in NAMES])
def test_steps_and_their_causes(which, number, name, found):
    check = found[which]["SGD" if not number else f"SGD {number + 1}"]
    rule = training.SETS[which][number].__doc__
    said = [item["rule"] for item in check.get("diagnosis", ())]
    assert (check["verdict"], said) == ("fail" if rule else "pass", [rule] if rule else []), check


PARAMETERS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 1)
    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))
def full_loss(model, batches):
    return sum(((model(x) - y) ** 2).mean() for x, y in batches) / len(batches)
def train(change=lambda model: None, parts=(nn.Module.parameters,), times=1):
    model = Net()
    optimizers = [torch.optim.SGD(part(model), lr=0.1) for part in parts]
    change(model)
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 6), torch.randn(8, 1)), 4):
        model.zero_grad()
        full_loss(model, [(x, y)]).backward()
        for optimizer in optimizers * times:
            optimizer.step()
torch.manual_seed(0)
train()
train(lambda model: setattr(model, "head", nn.Linear(8, 1)))
train(lambda model: model.body.requires_grad_(False))
train(parts=[lambda model: model.head.parameters()])
train(parts=[lambda model: model.head.parameters(), lambda model: model.body.parameters()])
train(times=2)
"""


def test_parameters_of_optimizer_and_model_are_compared(tmp_path):
    (tmp_path / "train.py").write_text(PARAMETERS)
    _, checks = watch(tmp_path, "train.py:full_loss", "train.py", options=["--steps", "2"])
    outside = "2 parameters of the optimizer belong to no model that ran: parameter 3, parameter 4"
    assert [(check["verdict"], check["notes"]) for check in checks] == [
        ("pass", []),
        ("pass", [outside, "no optimizer updates head.weight, head.bias, although they get a gradient"]),
        ("pass", ["body.weight, body.bias: frozen (requires_grad is False), not checked"]),
        ("pass", ["no optimizer updates body.weight, body.bias, although they get a gradient"]),
        ("pass", []),
        ("pass", []),
        ("fail", []),
    ]
    assert checks[-1]["diagnosis"][0]["rule"] == "stale-weights"


SAME = """
import hashlib, random, sys, warnings
import numpy as np, torch
torch.manual_seed(0), random.seed(1), np.random.seed(2)
model = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.BatchNorm1d(9), torch.nn.Dropout(), torch.nn.Linear(9, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(40, 6)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
calls = []
def full_loss(model, batches):
    print("inside"), calls.append(1), warnings.warn("inside")
    return sum(((model(x) - y) ** 2).mean() for x, y in batches) / len(batches)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        ((model(x + random.random() * 1e-9 + np.random.rand() * 1e-9) - y) ** 2).mean().backward()
        optimizer.step()
numbers = b"".join(p.detach().numpy().tobytes() for p in [*model.parameters(), *model.buffers()])
print(hashlib.sha256(numbers + torch.get_rng_state().numpy().tobytes()).hexdigest())
print(random.random(), np.random.rand(), len(calls), file=sys.stderr)
sys.exit(3)
"""


def test_output_weights_random_numbers_and_exit_code_stay_the_same(tmp_path):
    (tmp_path / "same.py").write_text(SAME)
    plain = run([sys.executable, "same.py"], tmp_path, OMP_NUM_THREADS="1")
    done, checks = watch(tmp_path, "same.py:full_loss", "same.py", process=True, OMP_NUM_THREADS="1")
    assert checks[0]["verdict"] == "pass", checks
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.returncode == 3 and " 0\n" in plain.stderr


TWO_NETWORKS = """
import sys, torch
from torch.nn.functional import softplus
torch.manual_seed(0)
draws = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
def critic_loss(model, batches):
    if model is not critic:
        return None
    (real,) = batches
    return softplus(-critic(real)).mean() + softplus(critic(draws(torch.randn(5, 3)))).mean()
def draws_loss(model, batches):
    return softplus(-critic(draws(batches[0]))).mean() if model is draws else None
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
of_draws = torch.optim.Adam(draws.parameters(), lr=0.1)
for real in torch.utils.data.DataLoader(torch.randn(30, 2) + 1, batch_size=6):
    fake = draws(torch.randn(5, 3))
    of_critic.zero_grad()
    (softplus(-critic(real)).mean() + softplus(critic(fake.detach())).mean()).backward()
    if sys.argv[1] == "right":
        of_critic.step()
    of_draws.zero_grad()
    (float(sys.argv[2]) * softplus(-critic(fake)).mean()).backward()
    if sys.argv[1] == "late":
        of_critic.step()
    of_draws.step()
"""


@pytest.mark.parametrize(
    ("loss", "words", "optimizer", "rules"),
    [
        ("critic_loss", ("right", 1), "SGD", []),
        ("critic_loss", ("late", 1), "SGD", ["other-gradient"]),
        ("draws_loss", ("right", 1), "Adam", []),
        ("draws_loss", ("right", 3), "Adam", ["step-factor"]),
    ],
)
def test_two_networks_that_share_a_graph(loss, words, optimizer, rules, tmp_path):
    (tmp_path / "two.py").write_text(TWO_NETWORKS)
    done, checks = watch(tmp_path, f"two.py:{loss}", "two.py", *words, options=["--steps", "2"])
    (check,) = checks
    said = [item["rule"] for item in check.get("diagnosis", ())]
    assert (check["optimizer"], check["verdict"], said) == (optimizer, "fail" if rules else "pass", rules), check
    assert done.returncode == bool(rules), done.stderr


NO_FORKS = """
import os, torch
own = os.getpid()
backward = torch.autograd.backward
def backward_of_own_process(*args, **kwargs):
    if os.getpid() != own:
        raise RuntimeError("Unable to handle autograd's threading in combination with fork-based multiprocessing.")
    return backward(*args, **kwargs)
torch.autograd.backward = backward_of_own_process
def full_loss(model, batches):
    print("inside")
    return sum(((model(x) - y) ** 2).mean() for x, y in batches) / len(batches)
"""


def test_a_program_whose_forks_cannot_differentiate(tmp_path):
    (tmp_path / "threads.py").write_text(NO_FORKS + BASE.replace("TRAINS", "True"))
    done, checks = watch(tmp_path, "threads.py:full_loss", "threads.py")
    assert [check["verdict"] for check in checks] == ["pass"], (checks, done.stderr)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


SHARDED = """
import sys, torch.distributed as dist, torch.multiprocessing as processes
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
def train(rank, file):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=init_device_mesh("cpu", (2,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(16, 4)[rank::2]
    for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=2):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    if not rank:
        print(loss.item(), flush=True)
    dist.destroy_process_group()
if __name__ == "__main__":
    processes.start_processes(train, sys.argv[1:], nprocs=2, start_method="fork")
"""


def test_a_model_that_is_split_over_processes_is_restored_without_a_fork(tmp_path):
    own = "own = os.getpid()"
    script = NO_FORKS.replace(own, "").replace("os.getpid() != own", "os.getppid() != main").replace("print", "str")
    (tmp_path / "split.py").write_text(f"import os\nmain = os.getpid()\n{script}{SHARDED}")
    plain = run([sys.executable, "split.py", str(tmp_path / "one")], tmp_path, OMP_NUM_THREADS="1")
    given = {"options": ["--steps", "1,2"], "process": True, "OMP_NUM_THREADS": "1"}
    done, checks = watch(tmp_path, "split.py:full_loss", "split.py", tmp_path / "two", **given)
    assert [(check["verdict"], check["batches"]) for check in checks] == [("pass", 2)], (checks, done.stderr)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr


PROCESSES = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel
PAD = -100
def loss_of(model, x, y):
    return torch.nn.functional.cross_entropy(model(x).reshape(-1, 5), y.reshape(-1), ignore_index=PAD, reduction="sum")
def full_loss(model, batches):
    return sum(loss_of(model, x, y) for x, y in batches) / sum(int((y != PAD).sum()) for _, y in batches)
def train(rank, kinds, file):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    for kind in kinds.split():
        train_kind(rank, kind)
    dist.destroy_process_group()
def train_kind(rank, kind):
    torch.manual_seed(0)
    x, y = torch.randint(0, 5, (12, 6)), torch.randint(0, 5, (12, 6))
    for row in range(12):
        y[row, 1 + row // 2 :] = PAD
    inside = torch.nn.Sequential(torch.nn.Embedding(5, 6), torch.nn.Dropout(0.2), torch.nn.Linear(6, 5))
    model = DistributedDataParallel(inside)
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = torch.utils.data.TensorDataset(x[6 * rank :][:6], y[6 * rank :][:6])
    for a, b in torch.utils.data.DataLoader(rows, batch_size=3):
        count = own = (b != PAD).sum()
        if kind != "uneven":
            count = own.clone()
            dist.all_reduce(count)
        optimizer.zero_grad()
        loss = loss_of(inside if kind == "around" else model, a, b) / count
        (2 * loss if kind == "right" else loss).backward()
        optimizer.step()
if __name__ == "__main__":
    processes.start_processes(train, sys.argv[1:], nprocs=2, start_method="fork")
"""


KINDS = {"right": [], "twice": ["averaged-twice"], "uneven": ["uneven-ranks"], "around": ["ranks-differ"]}


@pytest.fixture(scope="module")
def found_in_two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    (folder / "two.py").write_text(PROCESSES)
    given = {"options": ["--steps", "1"], "process": True, "OMP_NUM_THREADS": "1"}
    done, checks = watch(folder, "two.py:full_loss", "two.py", " ".join(KINDS), folder / "store", **given)
    assert len(checks) == len(KINDS), (checks, done.stderr)
    return dict(zip(KINDS, checks, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_that_train_together(kind, found_in_two_processes):
    check = found_in_two_processes[kind]
    found = [item["rule"] for item in check.get("diagnosis", ())]
    assert (check["verdict"], found) == ("fail" if KINDS[kind] else "pass", KINDS[kind]), check
    assert check["batches"] == 2


WINDOWS = """
import sys, torch
torch.manual_seed(0)
x = torch.randn(30, 4)
rows = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
loader = torch.utils.data.DataLoader(rows, batch_size=5)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_of = torch.nn.MSELoss()
def full_loss(model, batches):
    inputs = [batch[0] if type(batch) is list else batch for batch in batches]
    return sum(loss_of(model(x), x.sum(1, keepdim=True)) for x in inputs) / len(inputs)
for epoch in range(4):
    for k, (x, y) in enumerate(loader if sys.argv[1] == "loader" else list(zip(x.split(5), rows.tensors[1].split(5)))):
        wanted = 4 if k < 4 or sys.argv[2] != "right" else 2
        (loss_of(model(x), y) / wanted).backward()
        if k in ((3,) if sys.argv[2] == "left" else (3, 5)):
            optimizer.step(), optimizer.zero_grad()
    x = rows.tensors[0]
"""


@pytest.mark.parametrize("source", ["loader", "tensors"])
def test_all_incomplete_windows_have_one_name(source, tmp_path):
    (tmp_path / "windows.py").write_text(WINDOWS)
    _, checks = watch(tmp_path, "windows.py:full_loss", "windows.py", source, "right")
    assert [check["verdict"] for check in checks] == ["pass"], checks
    _, checks = watch(tmp_path, "windows.py:full_loss", "windows.py", source, "wrong")
    assert [(check["verdict"], check["steps"]) for check in checks] == [("pass", ["1"]), ("fail", ["2", "4", "8"])]
    assert [item["rule"] for item in checks[1]["diagnosis"]] == ["incomplete-window"], checks


def test_a_step_that_uses_the_last_batches_of_the_epoch_before_is_checked(tmp_path):
    (tmp_path / "windows.py").write_text(WINDOWS)
    _, checks = watch(tmp_path, "windows.py:full_loss", "windows.py", "loader", "left")
    assert [(check["verdict"], check["steps"]) for check in checks] == [("pass", ["1"]), ("fail", ["2", "3", "4"])]
    assert "1.5 times the declared one" in checks[1]["diagnosis"][0]["text"]


BASE = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=4)
for x, y in loader if TRAINS else ():
    optimizer.zero_grad(), ((model(x) - y) ** 2).mean().backward(), optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return batches[0]['x']", "full_loss raised TypeError"),
        ("return model(batches).mean()", "full_loss raised TypeError"),
        ("return model(batches[0][0])", "full_loss returned 4×1 numbers instead of one"),
        (
            "return torch.nn.Linear(3, 1)(batches[0][0]).mean()",
            "full_loss does not depend on the parameters of this optimizer",
        ),
    ],
)
def test_a_loss_that_cannot_be_used_is_one_error(body, message, tmp_path):
    (tmp_path / "bad.py").write_text(f"def full_loss(model, batches): {body}\n{BASE.replace('TRAINS', 'True')}")
    done, checks = watch(tmp_path, "bad.py:full_loss", "bad.py")
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and not checks and "Traceback" not in said
    assert said.startswith(f"error: {message}")
    assert "recorded at step 1: 1 batch of (4×3 float32, 4×1 float32); the model is Linear" in said
    assert ("hint: gradcli calls full_loss(model, batches)" in said) is ("TypeError" in message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda torch: torch.ones(2, 3, requires_grad=True), "returned 2×3 numbers instead of one"),
        (lambda torch: torch.ones(()), "a number that does not depend on the parameters"),
        (lambda torch: 1.5, "a number that does not depend on the parameters"),
        (lambda torch: "text", "returned str, not a number"),
        (lambda torch: {"a": torch.ones((), requires_grad=True), "b": [1]}, "term 'b' of f returned list"),
    ],
)
def test_what_a_loss_may_return(make, message):
    import torch

    from gradcli.claims.adapters.torch_step import terms_of_torch_loss

    with pytest.raises(GradcliError, match=message):
        terms_of_torch_loss(make(torch), "f")


def test_one_number_or_named_terms_are_a_loss():
    import torch

    from gradcli.claims.adapters.torch_step import terms_of_torch_loss

    number = torch.ones(1, requires_grad=True)
    assert list(terms_of_torch_loss(number, "f")) == [""] and terms_of_torch_loss(number, "f")[""].shape == ()
    assert list(terms_of_torch_loss({"a": number, 2: 0.0}, "f")) == ["a", "2"]
    with pytest.raises(NotDeclaredError):
        terms_of_torch_loss(None, "f")


def test_a_copy_is_kept_only_while_the_values_are_the_same():
    import torch

    from gradcli.guard.in_command.gradcli_importlib_bootstrap.training import is_unchanged

    norm = torch.nn.BatchNorm1d(3)
    x, mean, sparse = norm.weight, norm.running_mean, torch.eye(3).to_sparse()
    copies = [(y, y._version, y.detach().clone()) for y in (x, mean, sparse)]
    assert [is_unchanged(old, old[0]) for old in copies] == [True, True, True]
    norm(torch.randn(4, 3))
    x.data.add_(1)
    assert [old[1] == old[0]._version for old in copies] == [True, True, True]  # PyTorch does not count these changes
    assert [is_unchanged(old, old[0]) for old in copies] == [False, False, True]
    assert not is_unchanged(None, x) and not is_unchanged(copies[0], mean)


def test_no_step_is_an_error(tmp_path):
    loss = "def full_loss(model, batches): return 0\n"
    (tmp_path / "none.py").write_text(loss + BASE.replace("TRAINS", "False"))
    done, _ = watch(tmp_path, "none.py:full_loss", "none.py")
    assert done.returncode == 2 and "no optimizer took a step" in done.stderr
    (tmp_path / "late.py").write_text(BASE.replace("TRAINS", "True") + loss)
    done, _ = watch(tmp_path, "late.py:full_loss", "late.py")
    assert done.returncode == 2 and "did not define 'full_loss' before step 1" in done.stderr
