"""Compile and run generated functions in each language, many in one program.

A runner takes a folder, the sources, and for each source the points at which to call its function: numbers or nested
lists, one for each input. It returns, for each point of each source in order, the value and the elements of the
derivatives.
"""

import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

Points = list[list[tuple]]
SEPARATORS = re.compile(r"[\s,\[\]()]+")


def read_numbers(text: str) -> list[list[float]]:
    return [[float(word) for word in SEPARATORS.split(line) if word] for line in text.splitlines() if line.strip()]


def run(words: list, folder: Path, seconds: int = 300) -> list[list[float]]:
    """Run a compiler or a program in a folder; return the numbers that it prints."""
    given = {"cwd": folder, "capture_output": True, "text": True, "timeout": seconds}
    done = subprocess.run([*map(str, words)], check=False, **given)
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-1000:]
    return read_numbers(done.stdout)


def calls(points: Points) -> list[tuple[int, tuple]]:
    return [(k, at) for k, some in enumerate(points) for at in some]


def literal(x: float, infinity: str = "INFINITY", nan: str = "NAN", suffix: str = "") -> str:
    return f"{float(x)!r}{suffix}" if math.isfinite(x) else nan if x != x else infinity if x > 0 else f"-{infinity}"


def flat(x: Any, *words: str) -> list[str]:
    """Return the elements of an array as literals, row by row. words: as for `literal`."""
    return [literal(e, *words) for e in np.ravel(x).tolist()]


def nested(x: Any, *words: str) -> str:
    return f"[{', '.join(nested(e, *words) for e in x)}]" if np.ndim(x) else literal(x, *words)


def run_python(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    spaces: list[dict] = []
    for source in sources:
        spaces.append({})
        exec(source, spaces[-1])
    results = (spaces[k]["value_and_gradient"](*at) for k, at in calls(points))
    return [[float(e) for part in result for e in np.ravel(part)] for result in results]


def run_c(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    lines = ["#include <math.h>", "#include <stdio.h>"]
    for k, source in enumerate(sources):
        names = [*re.findall(r"static double (\w+)\(", source), "value_and_gradient"]
        lines += [f"#define {name} {name}_{k}" for name in names]
        lines += [source.replace("\ndouble value_", "\nstatic double value_"), *(f"#undef {name}" for name in names)]
    lines.append("int main(void) {")
    for k, at in calls(points):
        arrays = [f"double x{i}[] = {{{', '.join(flat(x))}}}, d{i}[{np.size(x)}];" for i, x in enumerate(at)]
        inputs = [f"x{i}" if np.ndim(x) else f"x{i}[0]" for i, x in enumerate(at)]
        lines += ["{", *arrays]
        lines.append(
            f'printf("%.17g", value_and_gradient_{k}({", ".join(inputs + [f"d{i}" for i in range(len(at))])}));'
        )
        lines += [f'for (int i = 0; i < {np.size(x)}; i++) printf(" %.17g", d{i}[i]);' for i, x in enumerate(at)]
        lines.append('puts(""); }')
    (folder / "main.c").write_text("\n".join([*lines, "return 0; }"]))
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-ffp-contract=off"]
    run(["cc", *flags, "main.c", "-o", "main", "-lm"], folder)
    return run(["./main"], folder)


def run_fortran(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    modules = [source.replace("module gradients", f"module gradients_{k}") for k, source in enumerate(sources)]
    lines = ["program main", "  use, intrinsic :: iso_fortran_env, only: dp => real64"]
    lines += ["  use, intrinsic :: ieee_arithmetic", "  implicit none", "  real(dp) :: infinite, nan"]
    lines += ["  infinite = ieee_value(0.0_dp, ieee_positive_inf)", "  nan = ieee_value(0.0_dp, ieee_quiet_nan)"]
    for k, at in calls(points):
        lines += ["block", f"  use gradients_{k}, only: value_and_gradient", "  real(dp) :: v"]
        shapes = [f"({', '.join(map(str, np.shape(x)))})" if np.ndim(x) else "" for x in at]
        lines += [f"  real(dp) :: x{i}{shape}, d{i}{shape}" for i, shape in enumerate(shapes)]
        for i, x in enumerate(at):
            words = flat(np.transpose(x), "infinite", "nan", "_dp")
            elements, shape = ", &\n  ".join(words), ", ".join(map(str, np.shape(x)))
            lines.append(f"  x{i} = reshape([{elements}], [{shape}])" if np.ndim(x) else f"  x{i} = {words[0]}")
        places = range(len(at))
        names = [*(f"x{i}" for i in places), "v", *(f"d{i}" for i in places)]
        lines.append(f"  call value_and_gradient({', '.join(names)})")
        shown = [f"transpose(d{i})" if np.ndim(x) == 2 else f"d{i}" for i, x in enumerate(at)]
        lines += [f"  print '(*(es26.17e3))', v, {', '.join(shown)}", "end block"]
    (folder / "main.f90").write_text("\n".join([*modules, *lines, "end program main", ""]))
    flags = ["-std=f2008", "-Wall", "-Wextra", "-Werror", "-Wno-compare-reals", "-Wno-maybe-uninitialized"]
    run(["gfortran", *flags, "-Wno-unused-dummy-argument", "main.f90", "-o", "main"], folder)
    return run(["./main"], folder)


def run_rust(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    lines = [f"mod f{k} {{\n{source}}}\n" for k, source in enumerate(sources)]
    lines.append("fn main() {")
    for k, at in calls(points):
        inputs = [f"{'&' if np.ndim(x) else ''}{nested(x, 'f64::INFINITY', 'f64::NAN')}" for x in at]
        lines.append(f'println!("{{:?}}", f{k}::value_and_gradient({", ".join(inputs)}));')
    (folder / "main.rs").write_text("\n".join([*lines, "}"]))
    run(["rustc", "-D", "warnings", "-A", "unused-variables", "main.rs", "-o", "main"], folder)
    return run(["./main"], folder)


def run_js(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    lines = []
    for k, source in enumerate(sources):
        (folder / f"f{k}.mjs").write_text(source)
        lines.append(f'import {{ value_and_gradient as f{k} }} from "./f{k}.mjs";')
    for k, at in calls(points):
        inputs = ", ".join(nested(x, "Infinity", "NaN") for x in at)
        lines.append(f"console.log(f{k}({inputs}).flat(9).join(' '));")
    (folder / "main.mjs").write_text("\n".join(lines))
    return run(["node", "main.mjs"], folder)


def run_matlab(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    for k, source in enumerate(sources):
        (folder / f"f{k}.m").write_text(source.replace("value_and_gradient(", f"f{k}("))
    lines = []
    for k, at in calls(points):
        inputs = [f"[{'; '.join(', '.join(flat(row, 'Inf', 'NaN')) for row in np.atleast_2d(x))}]" for x in at]
        names = ["v", *(f"d{i}" for i in range(len(at)))]
        lines.append(f"[{', '.join(names)}] = f{k}({', '.join(inputs)});")
        lines.append("".join(f'printf("%.17g ", transpose({name}));' for name in names) + ' disp("");')
    (folder / "main.m").write_text("\n".join(lines))
    return run(["octave", "--no-gui", "--no-history", "--norc", "--quiet", "main.m"], folder)


def run_julia(folder: Path, sources: list[str], points: Points) -> list[list[float]]:
    lines = [f"module F{k}\n{source}end\n" for k, source in enumerate(sources)]
    lines.append(
        "show_all(xs) = println(join(Iterators.flatten(map(x -> ndims(x) < 2 ? x : permutedims(x), xs)), ' '))"
    )
    for k, at in calls(points):
        inputs = []
        for x in at:
            words, shape = flat(np.transpose(x), "Inf", "NaN"), ", ".join(map(str, np.shape(x)))
            inputs.append(f"reshape([{', '.join(words)}], {shape})" if np.ndim(x) else words[0])
        lines.append(f"show_all(F{k}.value_and_gradient({', '.join(inputs)}))")
    (folder / "main.jl").write_text("\n".join(lines))
    return run(["julia", "--startup-file=no", "main.jl"], folder)


RUNNERS = {
    "python": ("", run_python),
    "c": ("cc", run_c),
    "fortran": ("gfortran", run_fortran),
    "js": ("node", run_js),
    "julia": ("julia", run_julia),
    "matlab": ("octave", run_matlab),
    "rust": ("rustc", run_rust),
}
"""For each format, the command that it needs, and its runner."""
