"""Speed as ratios, in one run: the engine against hand-written NumPy, and against PyTorch where it is installed.

Below 1 gradcli is faster. Every figure is the median over interleaved pairs.
"""

import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import gradcli


def paired(ours, theirs, repeat=7):
    """Return the median of ours / theirs, the two run in turn after a warm-up."""
    ours(), theirs()
    ratios = []
    for _ in range(repeat):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


def small(module, shape, n=1000):
    """2000 small operations, forward and backward."""
    x = module.tensor(np.full(shape, 0.7), dtype=module.float64, requires_grad=True)
    y = x
    for _ in range(n):
        y = module.sin(y) * x
    (y.sum() if shape else y).backward()
    return x.grad


def small_by_hand(shape, n=1000):
    """The same, written by hand."""
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


def chain(module, n=50_000):
    """A chain of 100,000 operations."""
    x = module.tensor(1.0, dtype=module.float64, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * 1.0000001 + 1e-9
    y.backward()


def command():
    """The whole command, piped."""
    words = [sys.executable, "-m", "gradcli", "grad", "x**2*sin(y)", "x=2", "y=3"]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def imports():
    """What any command of this kind has to import."""
    subprocess.run([sys.executable, "-c", "import numpy, click"], check=True)


SWEPT = "x**2*sin(y)+exp(-x*y)"
BY_HAND = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table("points.parquet")
x, y = table["x"].to_numpy(), table["y"].to_numpy()
s, c, e = np.sin(y), np.cos(y), np.exp(-x * y)
columns = {"value": x**2 * s + e, "d_x": 2 * x * s - y * e, "d_y": x**2 * c - x * e}
pq.write_table(pa.table(columns), "hand.parquet", compression="snappy")
"""


def processor_seconds(words, folder):
    """Return what a command takes of the processors, for itself and for the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sweep(rows=10_000_000, repeat=3):
    """Compare sweeps with a script that computes all rows in one pass: Parquet in and out, by whole processes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    x, y = np.random.default_rng(0).normal(size=(2, rows))
    ours = [sys.executable, "-m", "gradcli", "sweep", SWEPT, "points.parquet", "-o", "ours.parquet", "--restart"]
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({"x": x, "y": y}), f"{folder}/points.parquet", compression="snappy")
        del x, y
        ratios = []
        for _ in range(repeat):
            seconds = processor_seconds(ours, folder)
            ratios.append(seconds / processor_seconds([sys.executable, "-c", BY_HAND], folder))
        mine, hand = (pq.read_table(f"{folder}/{name}.parquet") for name in ("ours", "hand"))
        for name in hand.column_names:
            np.testing.assert_allclose(mine[name].to_numpy(), hand[name].to_numpy(), rtol=1e-9, atol=1e-9)
        print(f"{'gradcli sweep, 10^7 rows, CPU':38} vs NumPy and pyarrow by hand {statistics.median(ratios):6.2f}")


def main():
    """Print a line per comparison."""
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    print(f"{'gradcli grad, whole process':38} vs importing numpy, click  {paired(command, imports, 15):6.2f}")
    for shape in [(), (10,), (1000,)]:
        np.testing.assert_allclose(small(gradcli, shape, 20)._data, small_by_hand(shape, 20))
        work = f"2000 small operations, shape {shape}"
        ratio = paired(lambda shape=shape: small(gradcli, shape), lambda shape=shape: small_by_hand(shape))
        print(f"{work:38} vs hand-written NumPy     {ratio:6.2f}")
        if torch:
            ratio = paired(lambda shape=shape: small(gradcli, shape), lambda shape=shape: small(torch, shape))
            print(f"{work:38} vs PyTorch eager          {ratio:6.2f}")
    if torch:
        ratio = paired(lambda: chain(gradcli), lambda: chain(torch), 3)
        print(f"{'a chain of 100,000 operations':38} vs PyTorch eager          {ratio:6.2f}")
    if importlib.util.find_spec("pyarrow"):
        sweep()
    else:
        print("gradcli sweep: needs pyarrow")


if __name__ == "__main__":
    main()
