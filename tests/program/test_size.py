"""Programs at the size limits are answered or refused in good time and within 2 GiB."""

import json
import subprocess
import sys

import numpy as np
import pytest

GIB = 1 << 30


TENTH = "import gradcli.lang.limits as p; p.MOST_MEMORY //= 10; from gradcli.__main__ import main; main()"


MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout, done.stderr, used.ru_maxrss << 10, used.ru_utime + used.ru_stime]))
"""


def measured(*words: str, start: tuple[str, str] = ("-m", "gradcli")) -> tuple[int, str, str, int, float]:
    """Return exit code, output, errors, peak memory in bytes and CPU seconds of a call.

    A small process starts it, because peak memory includes what the parent used at the fork, which is much in tests.
    """
    command = [sys.executable, "-c", MEASURE, sys.executable, *start, *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is bounded on Linux only")
@pytest.mark.parametrize(
    ("program", "tenth"),
    [
        ("std(x*linspace(0, 1, 9999999))", True),
        pytest.param("std(x*linspace(0, 1, 99999999))", False, marks=pytest.mark.nightly),
        pytest.param("sum(sin(linspace(0, x, 99999999)))", False, marks=pytest.mark.nightly),
        pytest.param("sort(x*linspace(0, 1, 49999999))[3]", False, marks=pytest.mark.nightly),
    ],
)
def test_values_of_the_largest_size_stay_within_two_gibibytes(program, tenth):
    code, out, error, peak, _ = measured("grad", program, "x=2", **{"start": ("-c", TENTH)} if tenth else {})
    assert (code, out) == (2, "")
    assert f"would take more than {0.2 if tenth else 1.9} GiB of memory" in error
    assert "--max-elements" in error
    assert peak <= (0.4 if tenth else 2) * GIB


@pytest.mark.nightly
def test_one_value_of_the_largest_size_is_allowed():
    code, out, _, peak, _ = measured("grad", "sum(ones(9999, 9999) * x)", "x=2")
    assert (code, out) == (0, "x\t99980001.0\n")
    assert peak <= 2 * GIB


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is bounded on Linux only")
@pytest.mark.parametrize("kind", [pytest.param("<c16", marks=pytest.mark.nightly), "<c32"])
def test_files_of_the_largest_size_stay_within_two_gibibytes(tmp_path, kind):
    path = tmp_path / "large.npy"
    with path.open("wb") as file:
        header = {"descr": kind, "fortran_order": False, "shape": (99_999_999,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 99_999_999 * np.dtype(kind).itemsize)  # a sparse file: takes no disk space
    code, out, error, peak, _ = measured("grad", "sum(x)", f"x=@{path}")
    name = "'x'" if kind == "<c16" else f"x: {path}"  # <c16 can be read, but not computed with
    hint = "hint: a larger --max-elements raises this limit in proportion\n"
    assert (code, out, error) == (2, "", f"error: {name} would take more than 1.9 GiB of memory\n{hint}")
    assert peak <= 2 * GIB


@pytest.mark.nightly
@pytest.mark.parametrize("letter", ["x", "\u03b1"])
def test_a_program_of_one_mebibyte_is_read_and_differentiated(tmp_path, letter):
    size = len(letter.encode())
    count = ((1 << 20) - size) // (size + 1)
    path = tmp_path / "long.expr"
    path.write_text(letter + f"+{letter}" * count, encoding="utf-8")
    code, out, error, peak, seconds = measured("grad", str(path), f"{letter}=2", "-f", "json")
    assert (code, error) == (0, "")
    assert json.loads(out)["grad"][letter] == count + 1
    assert peak <= GIB
    assert seconds < 60  # took minutes when each non-ASCII letter caused the whole line to be read again
