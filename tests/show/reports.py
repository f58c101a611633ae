"""Sample reports, and the lines that rich prints for a result, for the tests in this folder."""

import io

from rich.console import Console

from gradcli.results.checks import CheckReport, Evidence, Finding
from gradcli.results.inputs import Element, ElementCounts, InputCheck


def printed(*renderables, width=80):
    """Return the lines that rich prints, without trailing blanks."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for renderable in renderables:
        console.print(renderable, crop=False)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def element(claimed=4.0, numeric=2.0, error=1e-9, output=(), place=(), **more):
    return Element(output, place, claimed, numeric, error, **more)


def checked(name="x", verdict="pass", worst=None, shape=(), **more):
    """Return the check of an input; unless given, its worst element agrees to within 1e-9."""
    worst = element(2.0) if worst is None else worst
    off = abs(worst.claimed - worst.numeric)
    found = {
        "max_abs_error": off,
        "max_rel_error": off / (abs(worst.numeric) or 1.0),
        "digits": 9.0,
        "resolution": 1e-8,
    }
    return InputCheck(name, shape, verdict, worst=worst, **{**found, **more})


def report(verdict="fail", name="f", **more):
    given = {"file": "f.py", "line": 3, "seconds": 0.25, **more}
    return CheckReport(name, given.pop("file"), given.pop("line"), verdict, given.pop("seconds"), **given)


WRONG = checked("x", "fail", element(-4.0, 2.0, place=(1,)), (3,), counts=ElementCounts(2, 0, 3, 3))
SIGN = Finding("sign", "the sign is wrong in all elements", "x")
FAILED = report(inputs=(WRONG,), diagnosis=(SIGN,), replay="gradcli gradcheck f.py:f x=1", hint="look")
PASSED = report("pass", "g", inputs=(checked(),), evidence=Evidence(1, 1, 14))
UNDECIDED = report("inconclusive", "h", message="noise of 1% hides the derivative", line=9)
RAISED = report("error", "k", message="ValueError: bad\nvalue", file=None, line=None, trace='File "k.py", line 7')
SKIPPED = report("skipped", "s", message="needs a GPU")
