"""Random hostile command lines and the files that they read, by group."""

import io
import os
import random
import struct
import zipfile
from pathlib import Path

import numpy as np

from .outside import group

NAMES = (
    "__class__", "__globals__", "_data", "grad_fn", "tofile", "dump", "ctypes", "base", "setflags", "astype", "view",
)  # fmt: skip
WORDS = ("ünï", "ﬁ", "ℝ", "𝐱", "x\u200b", "х", "__x__", "e", "pi", "sum", "lambda", "True", "None", "if", "x" * 300)
NUMBERS = (
    "1e308", "-1e308", "nan", "inf", "5e-324", "0", "-0.0", "1e400", "9" * 400, "2j", "1e-320", "0x1f", "1_000",
    ".5.",
)  # fmt: skip
WEIRD = (
    "a\tb", "::error file=a::b", "a%0Ab", "\x1b[31mred", "<script>alert(1)</script>", "a\x00b", "a\nb", "'\"`$(id)",
    "]]>", "\\input{/etc/passwd}", "a;b", "\u202etxt", "\ud800", "=cmd()", "a,b", '"', "&amp;", "\x9b31m", "$x$",
    "{x}",
)  # fmt: skip


def command(rng: random.Random) -> str:
    """Return a command that takes a program of one number."""
    return rng.choice(("grad", "jacobian", "hessian", "vjp", "gradcheck", "symbolic", "graph", "trace", "eval"))


@group
def escapes(rng: random.Random) -> list[str]:
    """Return an expression that tries to leave the language."""
    name, word, number = rng.choice(NAMES), rng.choice(WORDS), rng.choice(NUMBERS)
    program = rng.choice((
        f"x.{name}", f"x.{name}()", f"sum.{name}(x)", f"x.sum.{name}", f"[x.{name}][0]", f"(x).T.{name}.T",
        f"sum(x, out={word})", "add(x, x, out=x)", f"sum(x, where={number})", f"sum(x, dtype={word})",
        f"{word}(x)", f"einsum({word}, x)", "einsum('i->', x)", f"{word} = x; {word} + {number}", f"x[{word}]",
        f"x[{number}:{number}]", f"{word} = {number}; sum = x; sum(x)", f"x if {word} else x", "[y for y in x]",
        "f'{x}'", f"x := {number}", f"@{name}", f"import {name}", f"del {word}", f"x.{name} = 1",
        f"{number} ** {number} ** {number} * x", "x" + "[0]" * 90, f"sum({{{word}: x}})", "sum(*x)",
        f"sum(**{word})", f"x{number}", f"{'-' * 150}x", f"{'(' * 250}x{')' * 250}", f"print({word})",
        f"zeros({number})+x", f"reshape(x, ({number}, {number}))", f"tile(x, {number})", f"roll(x, {number})",
        f"x << {number}",
    ))  # fmt: skip
    return [command(rng), "-e", program, f"x={rng.choice(('1', '[1,2]', '[[1,2],[3,4]]', '[]', number))}"]


def header(shape: str, kind: str = "<f8", order: str = "False") -> bytes:
    text = f"{{'descr': {kind!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(names: list[str], content: bytes, squeeze: bool) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if squeeze else zipfile.ZIP_STORED) as file:
        for name in dict.fromkeys(names):
            file.writestr(name, content)
    return buffer.getvalue()


@group
def files(rng: random.Random) -> list[str]:
    end = rng.choice((".npy", ".npz", ".csv", ".tsv", ".txt", ".json", ".bin", ""))
    shape = rng.choice(
        ("(1000000000000,)", "(-1,)", "(2,)", "()", "(2, 2, 0)", "(1,) * 3", "(9,) ", "(True,)", "(2.5,)", "None")
    )
    kind = rng.choice(("<f8", "|O", "<U9", "<M8[s]", "<c16", "|V8", ">i4", "<f2", "|b1", "zz", "<f16"))
    npy = header(shape, kind, rng.choice(("False", "True", "None"))) + bytes(rng.choice((0, 8, 16, 100)))
    content = rng.choice((
        npy, npy[: rng.randrange(len(npy) + 1)], archive(["x.npy", "a/../b.npy"], npy, rng.random() < 0.5),
        archive(["x.npy"], header("(1000000,)") + bytes(8_000_000), True), b"PK\x03\x04" + rng.randbytes(40),
        rng.randbytes(rng.randrange(200)), b"[" * 5000, b'{"re": 1, "re": 2}', b'[{"re": 1}]', b"[1, NaN, 1e999]",
        b"[[1, 2], [3, [4]]]", b"1,2\n3", b"x,x\n1,2\n", b"\xff\xfe1\x00", b"\xef\xbb\xbf1,2\n", b"1;2\n",
        b"1e5,0x1,1_0", b'"a\n', b"\n\n\n", b"1\x00,2", b"nan,inf\n-inf,1e999", b"[" + b"9" * 5000 + b"]",
        b'{"x": null}', b"true", b'"1"', np.array([1, "a"], object).tobytes(), b"# c\n1 2\n", "१,२".encode(),
        b"1," * 3000, b"{}", b"[]", b"1 2\n3\n",
    ))  # fmt: skip
    name = rng.choice(("f", "-f", "a b", "a\nb", "é", "..f", "x=y")) + end
    how = rng.random()
    if how < 0.05:
        os.mkdir(name)
    elif how < 0.1:
        os.symlink(name, name)
    elif how < 0.15:
        os.symlink(rng.choice(("/dev/null", "/proc/self/mem", "missing")), name)
    else:
        Path(name).write_bytes(content)
    key = rng.choice(("", "", ":x", ":missing", ":", ":a/../b"))
    if rng.random() < 0.2:
        return [command(rng), name, "x=1"]
    return [rng.choice(("grad", "jacobian", "eval")), "sum(x)", f"x=@{rng.choice(('', './'))}{name}{key}"]


@group
def options(rng: random.Random) -> list[str]:
    """Return a command line with an option whose value is absurd."""
    option = rng.choice((
        "--samples", "--jobs", "--digits", "--precision", "--max-elements", "--seed", "--order", "--timeout",
        "--rtol", "--atol", "--eps", "--wrt", "--out", "--gradient", "--tangent", "--shape", "--hook", "--retain",
        "--format", "--output", "--color", "--over", "--points", "--mode", "--chunk-size",
        "--max-symbols", "--at", "--junit", "--dtype", "--engine", "--config", "--columns", "--search",
    ))  # fmt: skip
    value = rng.choice((
        *NUMBERS, *WORDS[:6], *WEIRD[:8], "", "-1", "1", "x=1", "x=nan", "x=[]", "x=-1e308:1e308", "/dev/full",
        "/", "-",
    ))  # fmt: skip
    if option in ("--jobs", "--samples", "--search") and value.strip("-").isdigit():
        value = value[:2]  # large valid values would take too long
    more = rng.choice(([], ["--json"], ["-qf", "json"], ["-f", "tsv"], ["--json", "-o", "-"]))
    return [
        rng.choice((command(rng), "plot", "jvp", "hvp")), "x**2", rng.choice(("x=2", "x=[1,2]", "")), option, value,
        *more,
    ]  # fmt: skip
