"""Benchmark gradcli against its peers, in one run on one machine.

The tables are ratios of speed, gradient checkers on one bank, and numeric derivatives (`bench_derivatives`).

python -m tests.bench         prints the tables
python -m tests.bench FILE    also writes them as JSON, which `man.generate` puts into gradcli-bench(7)

A ratio below 1 means that gradcli is faster. It is the median over interleaved pairs, after a warm-up. Peers that are
not installed get no ratio. Results are compared before anything is timed.
"""

import argparse
import datetime
import functools
import importlib
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradcli

from . import bench_derivatives
from .bank import run as bank
from .bank import trials

HAND, CLICK = "hand-written NumPy", "importing only NumPy and click"
PEERS = {"PyTorch": "torch", "JAX": "jax", "HIPS autograd": "autograd", "a script with PyArrow": "pyarrow"}
"""The module that each reference needs."""
COMMAND = [sys.executable, "-m", "gradcli", "grad", "x**2*sin(y)", "x=2", "y=3"]
SCRIPTS = {
    CLICK: "import numpy, click",
    "PyTorch": "import torch as t; x, y = (t.tensor(v, dtype=t.double, requires_grad=True) for v in (2., 3.)); "
    "(x**2 * t.sin(y)).backward(); print(x.grad, y.grad)",
    "JAX": "import jax, jax.numpy as np; jax.config.update('jax_enable_x64', True); "
    "print(jax.grad(lambda x, y: x**2 * np.sin(y), (0, 1))(2., 3.))",
    "HIPS autograd": "import autograd.numpy as np; from autograd import grad; f = lambda x, y: x**2 * np.sin(y); "
    "print(grad(f, 0)(2., 3.), grad(f, 1)(2., 3.))",
}
RNG = np.random.default_rng(0)
A, B, X = (RNG.normal(size=shape) / 200**0.5 for shape in ((200, 200), (200, 200), (200,)))
ROSEN_AT = RNG.normal(size=100)
LEFT, RIGHT = RNG.normal(size=(20, 20)), RNG.normal(size=(30, 20))
SWEPT, SWEPT_ROWS = "x**2*sin(y)+exp(-x*y)", 10_000_000
BY_HAND = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table("points.parquet")
x, y = table["x"].to_numpy(), table["y"].to_numpy()
s, c, e = np.sin(y), np.cos(y), np.exp(-x * y)
columns = {"x": x, "y": y, "value": x**2 * s + e, "d_x": 2 * x * s - y * e, "d_y": x**2 * c - x * e}
pq.write_table(pa.table(columns), "hand.parquet", compression="snappy")
"""


def paired(ours: Callable, theirs: Callable, repeat: int = 7) -> float:
    """Return the median ratio of ours to theirs, run alternately after a warm-up."""
    ours(), theirs()
    ratios = []
    for _ in range(repeat):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


def module_of(peer: str) -> Any:
    """Return a peer's module, ready for double precision."""
    module = importlib.import_module(PEERS[peer])
    if peer == "JAX":
        module.config.update("jax_enable_x64", True)
    return module


def start_up(peer: str) -> float:
    def run(words: list[str]) -> Any:
        return subprocess.run(words, stdout=subprocess.DEVNULL, check=True, cwd=tempfile.gettempdir())

    return paired(lambda: run(COMMAND), lambda: run([sys.executable, "-c", SCRIPTS[peer]]), 5)


def chain_of_sines(sin: Callable, x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = sin(y) * x
    return y


def small_graph(peer: str, shape: tuple[int, ...]) -> float:
    """2000 small operations, forward and backward."""
    np.testing.assert_allclose(sines(gradcli, shape, 20).numpy(), small_by(peer, shape, 20), rtol=1e-12)
    return paired(lambda: sines(gradcli, shape, 1000), lambda: small_by(peer, shape, 1000), 5)


def sines(module: Any, shape: tuple[int, ...], n: int) -> Any:
    x = module.tensor(np.full(shape, 0.7), dtype=module.float64, requires_grad=True)
    chain_of_sines(module.sin, x, n).sum().backward()
    return x.grad


def small_by(peer: str, shape: tuple[int, ...], n: int) -> Any:
    if peer == HAND:
        return sines_by_hand(shape, n)
    module = module_of(peer)
    if peer == "PyTorch":
        return sines(module, shape, n)
    numpy = importlib.import_module(f"{PEERS[peer]}.numpy")
    return module.grad(lambda x: chain_of_sines(numpy.sin, x, n).sum())(np.full(shape, 0.7))


def sines_by_hand(shape: tuple[int, ...], n: int) -> Any:
    x = np.full(shape, 0.7)
    y, saved = x, []
    for _ in range(n):
        s = np.sin(y)
        saved.append((s, y))
        y = s * x
    g, gx = np.ones_like(y), np.zeros_like(x)
    for s, y0 in reversed(saved):
        gx = gx + g * s
        g = g * x * np.cos(y0)
    return gx + g


def long_chain(peer: str) -> float:
    """100,000 operations on one number."""

    def chain(module: Any) -> None:
        x = module.tensor(1.0, dtype=module.float64, requires_grad=True)
        y = x
        for _ in range(50_000):
            y = y * 1.0000001 + 1e-9
        y.backward()

    return paired(lambda: chain(gradcli), lambda: chain(module_of(peer)), 3)


def network(numpy: Any, convert: Callable) -> Callable:
    a, b = convert(A), convert(B)
    return lambda x: numpy.tanh(b @ numpy.tanh(a @ x))


def jacobian(peer: str) -> float:
    """The Jacobian of a network from 200 to 200."""
    x = gradcli.tensor(X)
    ours = gradcli.func.jacrev(network(gradcli, gradcli.tensor))
    theirs = jacobian_by(peer)
    np.testing.assert_allclose(ours(x).numpy(), np.asarray(theirs()), rtol=1e-9, atol=1e-12)
    return paired(lambda: ours(x), theirs)


def jacobian_by(peer: str) -> Callable:
    if peer == HAND:

        def by_hand() -> np.ndarray:
            h = np.tanh(A @ X)
            y = np.tanh(B @ h)
            return ((1 - y**2)[:, None] * B) * (1 - h**2) @ A

        return by_hand
    module = module_of(peer)
    if peer == "PyTorch":
        return lambda x=module.tensor(X): module.func.jacrev(network(module, module.tensor))(x)
    numpy = importlib.import_module(f"{PEERS[peer]}.numpy")
    if peer == "JAX":
        compiled = module.jit(module.jacrev(network(numpy, numpy.asarray)))
        return lambda: compiled(X).block_until_ready()
    return lambda: module.jacobian(network(numpy, np.asarray))(X)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def hessian(peer: str) -> float:
    """The Hessian of Rosenbrock's function of 100 numbers."""
    x, module = gradcli.tensor(ROSEN_AT), module_of(peer)
    ours = gradcli.func.hessian(rosenbrock)
    if peer == "PyTorch":
        at, function = module.tensor(ROSEN_AT), module.func.hessian(rosenbrock)
    else:
        at, function = ROSEN_AT, module.jit(module.hessian(rosenbrock)) if peer == "JAX" else module.hessian(rosenbrock)
    np.testing.assert_allclose(ours(x).numpy(), np.asarray(function(at)), rtol=1e-9, atol=1e-9)
    return paired(lambda: ours(x), lambda: np.asarray(function(at)))


def gradcheck(peer: str) -> float:
    """gradcheck of tanh(a b^T), every element of both."""
    module = module_of(peer)

    def run(module: Any) -> Any:
        pair = [module.tensor(x, requires_grad=True) for x in (LEFT, RIGHT)]
        return module.autograd.gradcheck(lambda a, b: module.tanh(a @ b.T), pair)

    assert run(gradcli) and run(module)
    return paired(lambda: run(gradcli), lambda: run(module), 3)


def processor_seconds(words: list[str], folder: str) -> float:
    """Return the CPU time of a command, user plus system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sweep(_: str) -> float:
    """CPU time of a sweep relative to a script that computes all rows in one pass, with Parquet in and out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    x, y = np.random.default_rng(0).normal(size=(2, SWEPT_ROWS))
    ours = [sys.executable, "-m", "gradcli", "sweep", SWEPT, "points.parquet", "-o", "ours.parquet"]
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({"x": x, "y": y}), f"{folder}/points.parquet", compression="snappy")
        del x, y
        pairs = [
            [processor_seconds(words, folder) for words in (ours, [sys.executable, "-c", BY_HAND])] for _ in range(3)
        ]
        mine, hand = (pq.read_table(f"{folder}/{name}.parquet") for name in ("ours", "hand"))
        assert mine.column_names == hand.column_names
        for name in hand.column_names:
            np.testing.assert_allclose(mine[name].to_numpy(), hand[name].to_numpy(), rtol=1e-9, atol=1e-9)
    return statistics.median(a / b for a, b in pairs)


class Row(NamedTuple):
    """Some work, the reference that gradcli is compared with, and the function that measures the ratio."""

    work: str
    reference: str
    measure: Callable[[str], float]


FRAMEWORKS = ("PyTorch", "JAX", "HIPS autograd")
ROWS = [
    *(Row("gradcli grad, from start to exit", peer, start_up) for peer in SCRIPTS),
    *(
        Row(f"2000 operations on {count}", peer, lambda peer, shape=shape: small_graph(peer, shape))
        for count, shape in {"one number": (), "10 numbers": (10,), "1000 numbers": (1000,)}.items()
        for peer in (HAND, *FRAMEWORKS)
    ),
    Row("a chain of 100,000 operations", "PyTorch", long_chain),
    *(Row("Jacobian of a network with 200 inputs and outputs", peer, jacobian) for peer in (HAND, *FRAMEWORKS)),
    *(Row("Hessian of Rosenbrock's function of 100 numbers", peer, hessian) for peer in FRAMEWORKS),
    Row("gradcheck of tanh(a b^T), 1000 elements", "PyTorch", gradcheck),
    Row("sweep over 10,000,000 rows", "a script with PyArrow", sweep),
]

CHECKERS = {"gradcli": "gradcli", "PyTorch gradcheck": "pytorch", "SciPy check_grad": "scipy"}
CHECKERS |= {"numdifftools": "numdifftools", "jacobi": "jacobi"}
"""The checkers, with their modules in tests/bank/checkers."""
FUNCTIONS = 100
SHOWN = ("right", "accused", "wrong", "found", "open", "calls", "milliseconds")


def count_verdicts(checker: str) -> dict[str, Any] | None:
    """Return the counts of a checker on random functions; None if its package is not installed."""
    try:
        judge = bank.load(checker)
    except ModuleNotFoundError:
        return None
    claims = (t for t in trials.random_claims(FUNCTIONS) if t[0] == "right" or t[-1] >= bank.SMALL)
    counts = bank.count_verdicts(judge, claims)
    return {name: counts[name] for name in SHOWN}


SIZES = [10**k for k in range(2, 7)]
LONGEST = 60.0  # seconds; sizes expected to take longer are left out


def scaled_loss(n: int) -> tuple[Callable, np.ndarray, np.ndarray, np.ndarray]:
    """Return a smooth loss of n inputs, a point, the gradient there, and that gradient with one element off by 5 %."""
    x, c = RNG.normal(size=n), RNG.normal(size=n) + 2
    right = np.cos(x) * c
    return lambda x: np.sum(np.sin(x) * c), x, right, right * np.where(np.arange(n) == n // 3, 1.05, 1.0)


SCALED: dict[str, tuple[str, dict[str, bool]]] = {
    "gradcli": ("gradcli", {}),
    "PyTorch gradcheck, fast_mode": ("pytorch", {"fast_mode": True}),
    "PyTorch gradcheck": ("pytorch", {}),
    "SciPy check_grad": ("scipy", {}),
}
"""The checkers, with their modules in tests/bank/checkers and their options."""


def scale(checker: str, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Return for each size the calls and seconds for a right gradient, and whether one wrong element is found."""
    module, options = SCALED[checker]
    rows: list[dict[str, Any]] = []
    try:
        judge = functools.partial(bank.load(module), **options)
    except ModuleNotFoundError:
        return rows
    f, x, right, _ = scaled_loss(2)
    judge(f, x, right)  # so that imports are not timed
    for n in sizes:
        if rows and rows[-1]["seconds"] * (n / rows[-1]["n"]) ** (2 if rows[-1]["calls"] > n / 20 else 1) > LONGEST:
            break
        f, x, right, wrong = scaled_loss(n)
        counted, start = bank.Counting(f, x.shape), time.perf_counter()
        passes = judge(counted, x, right) == "pass"
        seconds, found = time.perf_counter() - start, judge(f, x, wrong) == "fail"
        rows.append({"n": n, "calls": counted.calls, "seconds": round(seconds, 4), "passes": passes, "finds": found})
    return rows


def processor() -> str:
    """Return the name of the processor, on Linux from /proc/cpuinfo."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def measure() -> dict[str, Any]:
    """Return all tables, printing each row as soon as it is measured."""
    ratios, checkers = [], []
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    for work, reference, run in ROWS:
        ratio = round(run(reference), 3) if is_there(PEERS.get(reference, "numpy")) else None
        ratios.append({"work": work, "reference": reference, "ratio": ratio})
        print(f"{work:50} {reference:26} {'not installed' if ratio is None else f'{ratio:8.3f}'}", flush=True)
    for checker, module in CHECKERS.items():
        counts = count_verdicts(module)
        checkers.append({"checker": checker, "counts": counts})
        print(checker, counts or "not installed", flush=True)
    scales = []
    for checker in SCALED:
        scales.append({"checker": checker, "sizes": scale(checker)})
        print(scales[-1], flush=True)
    machine = f"{processor()}, {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    head = {"machine": machine, "date": today, "load": load, "functions": FUNCTIONS}
    derivatives = bench_derivatives.measure()
    print(derivatives, flush=True)
    return {**head, "ratios": ratios, "checkers": checkers, "scales": scales, "derivatives": derivatives}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table = measure()
    if asked.file is not None:
        asked.file.write_text(json.dumps(table, indent=2) + "\n")
