"""Calls functions of a shared library for another process: JSON lines on standard input and output.

It imports nothing but the standard library, and is executed as a file, so that what the library breaks is this
process alone. What the library prints goes to standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

ARRAYS = {"float64": ctypes.c_double, "float32": ctypes.c_float}


def c_type(name):
    return ARRAYS.get(name) or getattr(ctypes, f"c_{name}")


def call(library, request):
    """Call a function: arguments are [type, value], where a list is an array. Return the result and the arrays."""
    function = getattr(library, request["function"])
    function.restype = None if request["returns"] == "void" else c_type(request["returns"])
    arguments, arrays = [], []
    for kind, value in request["arguments"]:
        if isinstance(value, list):
            array = (c_type(kind) * max(len(value), 1))(*value)
            arguments.append(array)
            arrays.append((array, len(value)))
        else:
            arguments.append(c_type(kind)(value))
    returned = function(*arguments)
    return {"returned": returned, "arrays": [array[:count] for array, count in arrays]}


def main(path):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    library = None
    for line in sys.stdin:
        try:
            if library is None:
                library = ctypes.CDLL(path)
            answer = call(library, json.loads(line))
        except Exception as error:
            answer = {"error": f"{error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
