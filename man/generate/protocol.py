"""The page gradcli-protocol(7): how a program answers gradcli, line by line."""

from __future__ import annotations

from .mdoc import argument, page, paragraphs, tag_list

DESCRIPTION = """
With `cmd:COMMAND` as its target, gradcli-gradcheck(1) starts a program, asks it for values and derivatives of a
function, and judges the derivatives. The command is split into words as a shell would, but no shell runs it.

The program reads its standard input and writes to its standard output. Each request is one JSON object on one line,
without blanks, its keys in the order given below. Each answer is one JSON object on one line, which has to be
flushed. Other lines on standard output go to standard error. The program goes on until its input ends. When it
dies, or takes longer for an answer than `--timeout` allows, that check ends as an error, with the end of what it
printed; the next check starts it anew.

The bodies are those of UM-Bridge 1.0, with the method in the object. The inputs are vectors, x0, x1 and so on on the
command line, and the outputs are vectors, too; they are numbered from 0. A number has to be written with 17
significant digits, so that nothing is lost. The `config` is what `--config` gives, else an empty object; the `name`
is empty.

Each request ends with an `id`, a number that grows: `"id":7`. An answer may carry the same `id`; then one with
another is taken for no answer, so that a program which answers twice, or late, does not shift what follows.
Without it the first answer after a request counts, and what comes between two requests is dropped, with a
warning.
"""
METHODS = [
    (
        '{"method":"ModelInfo","name":""}',
        "What the program can do. The answer is "
        '`{"support":{"Evaluate":true,"Gradient":true,"ApplyJacobian":false}}`. '
        "One of Gradient and ApplyJacobian is needed. An error will do: then the program is taken to have Evaluate and "
        "Gradient.",
    ),
    (
        '{"method":"InputSizes","name":"","config":{}}',
        'The lengths of the inputs, such as `{"inputSizes":[2]}`. An error will do: then the inputs are those that '
        "the command line gives.",
    ),
    (
        '{"method":"OutputSizes","name":"","config":{}}',
        'The lengths of the outputs, such as `{"outputSizes":[1]}`. An error will do: then they are evaluated.',
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
What cannot be done is answered with `{"error":{"type":"InvalidInput","message":"x must be positive"}}`. At the point
itself that ends the check as an error; beside it, the function counts as having no value there.
"""
FILES = [
    ("samples/elsewhere/rosen.c", "A whole program in C."),
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
