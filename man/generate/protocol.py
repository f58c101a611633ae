"""The page gradcli-protocol(7): how a program answers gradcli, line by line."""

from __future__ import annotations

from .mdoc import argument, page, paragraphs, tag_list

DESCRIPTION = """
With the target `cmd:COMMAND`, gradcli-gradcheck(1) starts a program, asks it for values and derivatives of a function,
and checks the derivatives. The command is split into words as a shell would split it, but no shell runs it.

The program reads requests from standard input and writes answers to standard output. Each request is one JSON object on
one line, without spaces, with its keys in the order given below. Each answer is one JSON object on one line. The
program must flush its output after each answer. gradcli copies other lines from standard output to standard error. The
program must keep running until its input ends. If it ends earlier, or takes longer for an answer than `--timeout`
allows, the verdict is error, and the report shows the last lines that the program printed. The next check starts the
program again.

The objects are those of UM-Bridge 1.0, with the method as an additional key. Inputs and outputs are vectors, numbered
from 0. On the command line, the inputs are called x0, x1 and so on. Write numbers with 17 significant digits, so that
no precision is lost. `config` is the object given with `--config`, or an empty object. `name` is an empty string.

The last key of each request is `id`, a number that increases from request to request, such as `"id":7`. Answers may
repeat the `id`. gradcli then ignores an answer with a different `id`, so it never takes a late or repeated answer for
the answer to a later request. Without an `id`, the first answer after a request counts, and gradcli drops further
answers with a warning.
"""
METHODS = [
    (
        '{"method":"ModelInfo","name":""}',
        "What the program can do. The answer is "
        '`{"support":{"Evaluate":true,"Gradient":true,"ApplyJacobian":false}}`. '
        "The program must support Gradient, ApplyJacobian or both. If the answer is an error, gradcli assumes Evaluate "
        "and Gradient.",
    ),
    (
        '{"method":"InputSizes","name":"","config":{}}',
        'The lengths of the inputs, such as `{"inputSizes":[2]}`. If the answer is an error, the lengths are those on '
        "the command line.",
    ),
    (
        '{"method":"OutputSizes","name":"","config":{}}',
        'The lengths of the outputs, such as `{"outputSizes":[1]}`. If the answer is an error, gradcli '
        "takes the lengths from an answer to Evaluate.",
    ),
    (
        '{"method":"Evaluate","name":"","input":[[1.2,2.0]],"config":{}}',
        'The outputs at the inputs: `{"output":[[31.4]]}`.',
    ),
    (
        '{"method":"Gradient","name":"","outWrt":0,"inWrt":0,"input":[[1.2,2.0]],"sens":[1.0],"config":{}}',
        "The product of the vector `sens` with the derivative of output `outWrt` with respect to input `inWrt`. `sens` "
        "has the length of the output, and the answer has the length of the input, such as "
        '`{"output":[-268.4,112.0]}`.',
    ),
    (
        '{"method":"ApplyJacobian","name":"","outWrt":0,"inWrt":0,"input":[[1.2,2.0]],"vec":[1.0,0.0],"config":{}}',
        "The product of the derivative of output `outWrt` with respect to input `inWrt` and the vector `vec`. `vec` "
        'has the length of the input, and the answer has the length of the output, such as `{"output":[-268.4]}`.',
    ),
]
ERRORS = """
If the program cannot answer, it returns `{"error":{"type":"InvalidInput","message":"x must be positive"}}`. At the
checked point, the verdict is then error. At other points, gradcli concludes that the function has no value there.
"""
FILES = [
    ("samples/elsewhere/rosen.c", "A complete program in C."),
    ("samples/elsewhere/rosen.f90", "The same in Fortran."),
    ("samples/elsewhere/rosen.R", "The same in R."),
    ("samples/elsewhere/rosen.js", "The same in JavaScript."),
]
EXAMPLES = [
    "gradcli gradcheck 'cmd:python3 rosen.py' 'x0=[1.2, 2]'",
    "gradcli gradcheck 'cmd:python3 rosen.py' --shape x0=2 --samples 3 --timeout 10",
]


def protocol_page() -> str:
    return page(
        "gradcli-protocol(7)",
        "how programs answer gradcli",
        [
            *paragraphs(DESCRIPTION),
            ".Ss Requests and answers",
            *tag_list((f"Li {argument(request)}", text) for request, text in METHODS),
            ".Ss Errors",
            *paragraphs(ERRORS),
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-gradcheck(1)"],
        files=FILES,
        compact=True,
    )
