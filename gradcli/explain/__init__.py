"""From wrong elements to a mistake in words: a mistake is named only if the claim without it passes.

Read its modules in this order:

    rest        after a fail, decide the elements that are still open, so that counts are complete
    points      other points like the checked one, and the same inputs in other sizes
    block       one input's block of the Jacobian, and whether a corrected claim is right there
    evidence    the blocks at the checked point and elsewhere; a hypothesis passes at all of them, or is not printed
    diagnose    the order of the hypotheses; what shows without one (nan, zeros, lost digits, exchanged inputs)
    surrogate   gradients of frameworks that replace the derivative on purpose: straight-through, past detached values

The hypotheses are, in the order in which they are tried: constants (a factor, and what it stands for), moves (values in
the wrong place), regions (masks and branches), places (a part of the elements), factors with quantities (functions of
inputs and of the output), paths (a mean, a norm, a softmax; other arguments) and shortcuts (parts of the chain rule, if
gradcli's engine can record the function). If none is confirmed, places says where the wrong elements are.
"""
