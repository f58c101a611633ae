"""The page gradcli-protocol(7): how a program answers gradcli, line by line."""

from __future__ import annotations

from .mdoc import argument, page, paragraphs, tag_list

DESCRIPTION = """
With the target `cmd:COMMAND`, gradcli-gradcheck(1) starts a program, asks it for values and derivatives of a function,
and checks the derivatives. The command is split into words as a shell would split it, but no shell runs it.

The program reads requests from standard input and writes answers to standard output. Each request is one JSON object on
one line, without blanks, with its keys in the order given below. Each answer is one JSON object on one line, and must
be flushed. Other lines on standard output are copied to standard error. The program runs until its input ends. If it
dies, or takes longer for an answer than `--timeout` allows, the check ends as an error that shows the end of what the
program printed. The next check starts the program again.

The bodies are those of UM-Bridge 1.0, with the method inside the object. Inputs and outputs are vectors, numbered from
0; on the command line the inputs are called x0, x1 and so on. Write numbers with 17 significant digits, so that no
precision is lost. `config` is the object given with `--config`, or else an empty object; `name` is empty.

Each request ends with an `id`, a number that grows: `"id":7`. An answer may repeat the `id`. Then gradcli ignores
answers with another `id`, so a program that answers twice, or late, does not shift the answers that follow. Without an
`id`, the first answer after a request counts, and anything between two requests is dropped with a warning.
"""
METHODS = [
    (
        '{"method":"ModelInfo","name":""}',
        "What the program can do. The answer is "
        '`{"support":{"Evaluate":true,"Gradient":true,"ApplyJacobian":false}}`. '
        "One of Gradient and ApplyJacobian is needed. After an error, gradcli assumes Evaluate and Gradient.",
    ),
    (
        '{"method":"InputSizes","name":"","config":{}}',
        'The lengths of the inputs, such as `{"inputSizes":[2]}`. If the answer is an error, the inputs are those of '
        "the command line.",
    ),
    (
        '{"method":"OutputSizes","name":"","config":{}}',
        'The lengths of the outputs, such as `{"outputSizes":[1]}`. If the answer is an error, gradcli evaluates them.',
    ),
    (
        '{"method":"Evaluate","name":"","input":[[1.2,2.0]],"config":{}}',
        'The outputs at the inputs: `{"output":[[31.4]]}`.',
    ),
    (
        '{"method":"Gradient","name":"","outWrt":0,"inWrt":0,"input":[[1.2,2.0]],"sens":[1.0],"config":{}}',
        "The product of the vector `sens`, as long as output `outWrt`, with the derivative of that output with "
        "respect to input `inWrt`: a vector as long as that input, such as "
        '`{"output":[-268.4,112.0]}`.',
    ),
    (
        '{"method":"ApplyJacobian","name":"","outWrt":0,"inWrt":0,"input":[[1.2,2.0]],"vec":[1.0,0.0],"config":{}}',
        "The product of the derivative of output `outWrt` with respect to input `inWrt` with the vector `vec`: a "
        'vector as long as that output, such as `{"output":[-268.4]}`.',
    ),
]
ERRORS = """
If the program cannot answer, it returns `{"error":{"type":"InvalidInput","message":"x must be positive"}}`. At the
checked point, this ends the check as an error. At points nearby, the function counts as having no value there.
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
