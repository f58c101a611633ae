"""`python -m tests.bank CHECKER`: print one line per bank."""

import argparse
import warnings

from . import run

parser = argparse.ArgumentParser(prog="tests.bank", description="Run a gradient checker on the bank.")
parser.add_argument("checker", help=f"{', '.join(run.CHECKERS)}, or the path of a Python file with a function judge")
parser.add_argument("--functions", type=int, default=200, help="random functions [200]")
parser.add_argument("--bank", choices=run.BANKS, action="append", help="this bank only; repeatable")
asked = parser.parse_args()
try:
    judge = run.load(asked.checker)
except ModuleNotFoundError as error:
    parser.error(f"cannot load the checker '{asked.checker}': {error}")
warnings.simplefilter("ignore")
columns = (*run.COUNTED, "calls", "milliseconds")
print(f"{'bank':12}", *(f"{name:>{max(7, len(name))}}" for name in columns))
for name in asked.bank or run.BANKS:
    counts = run.count_verdicts(judge, run.BANKS[name](asked.functions))
    print(f"{name:12}", *(f"{counts[key]:>{max(7, len(key))}}" for key in columns), flush=True)
