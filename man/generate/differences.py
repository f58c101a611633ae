"""Deliberate differences from PyTorch."""

from __future__ import annotations

DIFFERENCES = """
Scripts follow PyTorch in values, gradients and errors. These differences are deliberate:
"""
DELIBERATE = [
    (
        "Views made without recording",
        "A view that was made under `no_grad` does not require grad. In PyTorch, it requires grad if its base does, "
        "but gets no gradient.",
    ),
    (
        "Views from one function",
        "You may change a result of `split`, `chunk` or `unbind` in place, and also the tensor that was split. Views "
        "of the same memory change, too, and their gradients are right. PyTorch raises an error for this.",
    ),
    (
        "Hooks on views",
        "If the memory of a view is changed through another tensor, the view keeps its hooks and its node.",
    ),
    (
        "Parts of complex numbers",
        "The real and imaginary parts of complex tensors cannot change in place while gradients are recorded.",
    ),
    ("Loaders", "A `DataLoader` loads in the main process: `num_workers` and `pin_memory` have no effect."),
    (
        "vmap",
        "A function that cannot be computed for all points together is called once for each point. Examples are "
        "functions that contain a custom Function or a branch on a number. Random numbers are the same for all points "
        "unless `randomness='different'`.",
    ),
    (
        "Operands that overlap",
        "An in-place operation computes its result before it writes. Its operands may therefore overlap with the "
        "destination, and `x *= x` has the right gradient. An expanded tensor cannot change in place.",
    ),
    (
        "Copies instead of views",
        "`as_strided` returns a copy, and so does `view` of a result with a different order in memory. The memory "
        "order of results is not always that of PyTorch.",
    ),
    (
        "Memory behind .data and detach",
        "After a change through `.data`, a saved value may be the old or the new one. backward() accepts an operand "
        "that `detach_` has removed from the graph.",
    ),
    (
        "Elements assigned twice",
        "If `x[[0, 0]] = v` or `scatter` writes one place twice, the last value remains, and only it gets the "
        "gradient. PyTorch also gives the gradient to the overwritten values.",
    ),
    (
        "Names of types",
        "With `--torch`, a type prints as in PyTorch: `torch.float64`. In a script that imports gradcli, it prints as "
        "`gradcli.float64`.",
    ),
    ("Hooks that change their argument", "A hook gets its own copy of the gradient, which it may change in place."),
    (
        "Parts of a backward pass",
        "If backward() is called with `inputs`, the nodes that computed these inputs do not run, and keep their saved "
        "values. Operations without saved values may run backward a second time.",
    ),
    (
        "Extreme values",
        "Values are those of NumPy, for example for the logarithm of the gamma function at tiny numbers and for the "
        "sign of nan. If a value is nan, its gradient is also nan, even if it is 0 or 1 in PyTorch, as for `abs`, "
        "`sign` and `i1`. At modulus 0, the slope of `polar` is finite and right. The same is true of `atan2`, `angle` "
        "and complex `abs` at huge and tiny numbers. On a branch cut of complex `asin`, `acos`, `asinh` and `acosh`, "
        "the sign of the zero part selects the side whose slope is used; PyTorch may use the other side. For complex "
        "numbers above 1e154 in modulus, the slopes of the inverse functions are nan, as in PyTorch.",
    ),
]
