"""Record the output and verdicts of gradcli, and compare a later state with the record: a safety net for refactoring.

python -m tests.freeze write FILE      before: record everything (a few minutes)
python -m tests.freeze compare FILE    after: print what differs; exit code 1 if anything does

A record holds the exit code and the output of every command in tests/cases and of every sample, and the verdicts on
the bank and on the hunt of tests/bank. It is valid for one machine and one environment, so it is not committed.
`--only WORDS` selects entries whose names contain one of the words: `--only sweep.txt bank`.
A difference is either intended or a mistake. After an intended one, write the record again.
"""

import argparse
import difflib
import json
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .bank import hunt
from .bank.functions import mistakes
from .check import test_bank
from .command import ROOT, gradcli, shell
from .test_cases import CASES, Case, cases_of
from .text import matches

COMMAND_SAMPLES = [
    *("bash samples/bisect.sh", "bash samples/demo.sh", "bash samples/descent.sh", "bash samples/sweep.sh")
]
SCRIPT = """
mkdir "$TMPDIR/bin"
printf '#!/bin/sh\\nexec "$GRADCLI_PYTHON" -m gradcli "$@"\\n' > "$TMPDIR/bin/gradcli"
chmod +x "$TMPDIR/bin/gradcli"
PATH=$TMPDIR/bin:$PATH
"""
"""Makes `gradcli` a command for the scripts that a shell line runs."""
FUNCTIONS = 500
"""Number of functions of the hunt to check."""
VARYING = {
    r'"seconds": [\d.e-]+': '"seconds": TIME',
    r"\b\d+(\.\d+)? ?(s|ms|seconds)\b": "TIME",
    r"(?m)^((?:pass|fail|inconclusive|error)(?:\t[^\t\n]*){3}\t)[\d.]+": r"\1TIME",
    r'time="[\d.]+"': 'time="TIME"',
    r"0x[0-9a-f]{6,}": "ADDRESS",
}
"""Text that varies between runs, and what is recorded in its place."""


def normalise(text: str, folder: str) -> str:
    for place, word in ((folder, "FOLDER"), (str(ROOT), "ROOT"), (sys.executable, "PYTHON"), (sys.prefix, "PREFIX")):
        text = text.replace(place, word)
    for pattern, word in VARYING.items():
        text = re.sub(pattern, word, text)
    return text


def run_command(line: str, case: Case | None = None) -> dict[str, Any]:
    """Run a shell line: for a case in a folder of its own, for a sample in the project."""
    with tempfile.TemporaryDirectory(prefix="frozen") as folder:
        if case is not None:
            case.write_files(Path(folder))
        done = shell(line, folder if case else ROOT, TMPDIR=folder)
        return {
            "exit": done.returncode,
            "stdout": normalise(done.stdout, folder),
            "stderr": normalise(done.stderr, folder),
        }


def commands() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield names and functions to run. A name is the command, since numbers would change with other cases."""
    seen: Counter = Counter()
    for case in (case for path in CASES for case in cases_of(path)):
        name = f"{case.path.name}: {case.command}"
        seen[name] += 1
        again = f" ({seen[name]})" if seen[name] > 1 else ""
        yield name + again, lambda case=case: run_command(case.command, case)
    for line in COMMAND_SAMPLES:
        yield f"sample: {line}", lambda line=line: run_command(SCRIPT + line)


def describe_report(report: Any) -> dict[str, Any]:
    """Return the verdicts and kinds of findings of a report."""
    inputs = {item.name: item.verdict for item in report.inputs}
    return {"verdict": report.verdict, "kinds": sorted({f.kind for f in report.diagnosis}), **inputs}


def judgements() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield names of claimed gradients and functions that check them."""
    for case in test_bank.RIGHT:
        for what, grad in [("right", case.grad), *mistakes(case)]:
            yield f"bank: {case.name}: {what}", lambda c=case, g=grad: describe_report(test_bank.judge(c, g))
    for k in range(FUNCTIONS):
        rng = np.random.default_rng([16, k])
        function = hunt.Function(rng)
        with np.errstate(all="ignore"):
            found = hunt.claims(function, rng)
        for what in ("right", [*found][1:][k % (len(found) - 1)]):
            yield f"hunt: {k}: {what}", lambda f=function, g=found[what]: describe_report(test_bank.report(f, g))


def record(words: list[str]) -> dict[str, Any]:
    """Run all entries, or those whose names contain one of the words; return the results by name."""

    def chosen(entries: Iterator) -> list:
        return [entry for entry in entries if not words or any(word in entry[0] for word in words)]

    gradcli("--version")  # starts the fork server, which two threads would start twice
    with ThreadPoolExecutor(2) as pool:
        lines = chosen(commands())
        found = dict(zip([name for name, _ in lines], pool.map(lambda entry: entry[1](), lines), strict=True))
    return found | {name: judge() for name, judge in chosen(judgements())}


def same(before: Any, after: Any) -> bool:
    """Compare entries, with full-precision floats in text to 13 digits."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same(before[key], after[key]) for key in before)
    return before == after or (isinstance(before, str) and isinstance(after, str) and matches(before, after))


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Yield a paragraph for each entry that differs, is gone, or is new."""
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield f"gone: {name}"
        elif name not in before:
            yield f"new: {name}"
        elif not same(before[name], after[name]):
            old, new = (json.dumps(entry[name], indent=1).replace("\\n", "\n") for entry in (before, after))
            changes = [*difflib.unified_diff(old.split("\n"), new.split("\n"), "before", "after", n=1, lineterm="")]
            yield "\n".join([f"changed: {name}", *changes[2:], ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only entries whose names contain a word")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = record(asked.only)
    if asked.action == "write":
        asked.file.write_text(json.dumps(found, indent=1))
        return 0
    before = json.loads(asked.file.read_text())
    if asked.only:
        before = {name: entry for name, entry in before.items() if any(word in name for word in asked.only)}
    lines = [*differences(before, found)]
    print("\n".join([*lines, f"{len(lines)} of {len(before)} entries differ"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
