"""Where scripts behave otherwise than under PyTorch, on purpose."""

from __future__ import annotations

DIFFERENCES = """
Scripts follow PyTorch in values, gradients and errors. What is different is so on purpose:
"""
DELIBERATE = [
    (
        "Views made without recording",
        "A view that was made under `no_grad` requires no grad; under PyTorch it says that it does where its base "
        "does, and gets no gradient.",
    ),
    (
        "Views from one function",
        "One part from `split`, `chunk` or `unbind`, or what they were taken from, may change in place: the other "
        "parts follow, and their gradients are right. PyTorch refuses to change them, and to look at them.",
    ),
    ("Hooks on views", "A view keeps its hooks, and its node, when its memory is changed elsewhere."),
    (
        "Parts of complex numbers",
        "The real and imaginary parts of complex numbers are not changed in place where gradients are recorded.",
    ),
    ("Loaders", "A `DataLoader` loads in its own process: `num_workers` and `pin_memory` change nothing."),
    (
        "vmap",
        "What cannot be computed for all points at once, such as a custom Function or a branch on a number, is called "
        "point by point. Random numbers are the same for all points, unless `randomness='different'`.",
    ),
    (
        "Operands that overlap",
        "What is written in place is computed first: operands may overlap with it, and `x *= x` has the right "
        "gradient. An expanded tensor is not changed in place at all.",
    ),
    (
        "Copies instead of views",
        "`as_strided`, and `view` of computed numbers that lie in another order in memory, give copies. "
        "The order of computed numbers in memory is not always that of PyTorch.",
    ),
    (
        "Memory behind .data and detach",
        "What was saved before a change through `.data` may be the old value or the new one. An operand that "
        "left the graph by `detach_` is not refused by backward.",
    ),
    (
        "Elements assigned twice",
        "Of `x[[0, 0]] = v` and `scatter` to one place, the last value stays, and it alone gets the "
        "gradient; PyTorch gives it to the overwritten ones, too.",
    ),
    (
        "Names of types",
        "With `--torch` a type prints as PyTorch prints it, `torch.float64`; in a script that imports gradcli as "
        "`gradcli.float64`, by which name it is found there.",
    ),
    ("Hooks that change their argument", "A hook gets a gradient of its own, which it may change in place."),
    (
        "Parts of a backward pass",
        "With `inputs`, the nodes that made these inputs do not run, so that what they saved is kept. Operations "
        "that have saved nothing may run backward again.",
    ),
    (
        "Extreme values",
        "Values are those of NumPy, as in the logarithm of the gamma function at tiny numbers or the sign of nan. "
        "Gradients are nan where the value is, also where PyTorch's are 0 or 1 (`abs`, `sign`, `i1`). "
        "`polar` at the modulus 0, `atan2`, `angle` and complex `abs` at huge and tiny numbers have the finite slope "
        "that is right. On a branch cut, the slopes of complex `asin`, `acos`, `asinh` and `acosh` are those of the "
        "side that the sign of the part that is 0 names, where PyTorch's may be the other side's. Of complex numbers "
        "beyond 1e154, the inverse functions' slopes are nan, as in PyTorch.",
    ),
]
