"""Processes that answer JSON lines: the samples, and messages of any size; see tests/cases/claims/processes.txt."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradcli.claims.adapters.process import Process
from gradcli.claims.claim import GoneError

from .run import gradcheck, verdicts

SAMPLES = Path(__file__).parents[3] / "samples" / "elsewhere"
TOOLS = {"c": "cc", "f90": "gfortran", "R": "Rscript", "js": "node"}
POINT = "x0=[1.2,2]"


def command_of(suffix: str, folder: Path, edit: tuple[str, str] | None = None) -> str:
    """Return the target of a sample, with `edit` applied to its text; skip the test if its tool is missing."""
    tool = TOOLS[suffix]
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool} here")
    text = (SAMPLES / f"rosen.{suffix}").read_text()
    if edit:
        assert edit[0] in text
        text = text.replace(*edit)
    source = folder / f"rosen.{suffix}"
    source.write_text(text)
    if suffix in ("js", "R"):
        return f"cmd:{tool} {shlex.quote(str(source))}"
    subprocess.run([tool, source, "-o", folder / "rosen"], check=True)
    return f"cmd:{shlex.quote(str(folder / 'rosen'))}"


RIGHT = {"c": "s * 200 * d", "f90": "200 * d]", "R": "200 * d)", "js": "s * 200"}
"""Part of the right derivative in each sample; with 202 instead of 200 it is wrong."""


@pytest.mark.parametrize("suffix", TOOLS)
def test_the_samples_pass_and_fail_with_a_mistake(suffix, tmp_path):
    code, found, errors = gradcheck(command_of(suffix, tmp_path), POINT)
    assert (code, verdicts(found)) == (0, ["pass"])
    assert errors.startswith("1 passed in ") and errors.count("\n") == 1
    # d/dy = 200 (y - x^2) = 112, d/dx = 0.4 - 480 (0.56) = -268.4
    worst = found["checks"][0]["inputs"]["x0"]["worst"]
    assert worst["claimed"] == pytest.approx([-268.4, 112.0][worst["index"][0]], rel=1e-12)
    wrong = (RIGHT[suffix], RIGHT[suffix].replace("200", "202"))
    code, found, _ = gradcheck(command_of(suffix, tmp_path, wrong), POINT)
    assert (code, verdicts(found)) == (1, ["fail"])
    worst = found["checks"][0]["inputs"]["x0"]["worst"]
    assert worst["index"] == [1]
    assert worst["claimed"] == pytest.approx(202 * 0.56, rel=1e-12)


def test_a_process_that_ended_is_restarted(tmp_path):
    path = tmp_path / "once.py"
    path.write_text("print('{\"pid\": %d}' % __import__('os').getpid(), flush=True); input(); input()")
    process = Process([sys.executable, str(path)], "once", 60)
    first = process.ask("a", {})["pid"]
    with pytest.raises(GoneError, match="exited with status 0"):
        process.ask("b", {})
    assert process.ask("c", {})["pid"] != first
    process.close()


def test_endless_answers_and_endless_output_to_stderr(monkeypatch, capfd):
    """Neither fills the memory: the answer is an error, and the other output is passed on in pieces."""
    monkeypatch.setattr("gradcli.claims.adapters.process.LONGEST_ANSWER", 1 << 24)
    code = "import os, sys\nfor i in range({}): os.write({}, b'x' * 100000)\nprint('{{}}', flush=True); input()"
    process = Process([sys.executable, "-c", code.format(1000, 1)], "floods", 60)
    with pytest.raises(GoneError, match="the answer is longer than 16 MiB"):
        process.ask("a", {})
    process = Process([sys.executable, "-c", code.format(100, 2)], "floods", 60)
    assert process.ask("a", {}) == {}
    process.close()
    assert capfd.readouterr().err.count("x") > 9_000_000


def test_long_lines_in_both_directions():
    """Lines longer than the buffers of the pipes do not cause a deadlock."""
    code = "import sys\nfor line in sys.stdin: print('x' * 10**6 + chr(10) + line, end='', flush=True)"
    process = Process([sys.executable, "-c", code], "echo", 20)
    numbers = list(range(300_000))
    assert process.ask("echo", {"input": numbers}) == {"method": "echo", "input": numbers}
    process.close()
