"""Run the small programs in the text files of tests/tape and tests/nn, and check their values and errors.

`== TITLE` begins a program. `EXPRESSION -> VALUE` compares values, a tensor as numbers. `STATEMENT !! ERROR TEXT` must
raise an error of that type with that text. Lines before the first title of a file run before each of its programs.
"""

import builtins
import re
from pathlib import Path

import numpy as np
import pytest

import gradcli
from gradcli import autograd, nn

from .build import function, leaf

FILES = [*Path(__file__).parent.glob("*.txt"), *Path(__file__).parents[1].glob("nn/*.txt")]
NAMES = {name: getattr(gradcli, name) for name in gradcli.__all__ if not hasattr(builtins, name)}
NAMES |= {"gradcli": gradcli, "nn": nn, "F": nn.functional, "np": np, "pytest": pytest, "approx": pytest.approx}
NAMES |= {"leaf": leaf, "function": function, "grad": autograd.grad, "backward": autograd.backward}
NAMES |= {"gradcheck": autograd.gradcheck, "gradgradcheck": autograd.gradgradcheck}


def programs():
    for path in sorted(FILES):
        common, *others = path.read_text(encoding="utf-8").split("\n== ")
        for text in others:
            title, _, program = text.partition("\n")
            yield pytest.param(common, program, id=f"{path.stem}: {title}")


@pytest.mark.parametrize(("common", "program"), [*programs()])
def test_small_program(common, program):
    names, waiting = dict(NAMES), [common]
    for line in program.splitlines():
        code, sign, wanted = re.fullmatch(r"(.*?)(?: (->|!!) (.*))?", line).groups()
        if sign is None:
            waiting.append(line)
            continue
        exec("\n".join(waiting), names)
        waiting.clear()
        if sign == "->":
            shown = eval(code, names)
            shown = shown.tolist() if isinstance(shown, gradcli.Tensor) else shown
            assert shown == eval(wanted, names), line
        else:
            kind, _, text = wanted.partition(" ")
            with pytest.raises(Exception, match=re.escape(text)) as caught:
                exec(code, names)
            assert type(caught.value).__name__ == kind, line
    exec("\n".join(waiting), names)


def test_programs_are_found_and_wrong_results_are_detected():
    assert len({path.stem for path in FILES}) >= 2
    for wrong in (
        "1 + 1 -> 3",
        "1 + 1 !! TypeError text",
        "1 / 0 !! TypeError division",
        "1 / 0 !! ZeroDivisionError text",
    ):
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            test_small_program("", wrong)
