"""Evaluate terms in index notation with NumPy's einsum, directly from their definition."""

import math

import numpy as np

ELEMENTWISE = {
    **{
        name: getattr(np, name)
        for name in "exp log sin cos tanh absolute sign maximum minimum greater where power".split()
    },
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "heaviside": np.heaviside,
}
OF_MATRICES = {"inv": np.linalg.inv, "det": np.linalg.det, "signdet": lambda a: np.linalg.slogdet(a)[0]}
OF_MATRICES["logdet"] = OF_MATRICES["logabsdet"] = lambda a: np.linalg.slogdet(a)[1]


def array_of(factor, inputs, lengths):
    """Return the array of a factor, with an axis for each of its indices."""
    atom, n = factor.atom, [lengths.get(i.dim, i.dim) for i in factor.indices]
    args = [numbers_of(x, inputs, lengths) for x in atom.args]
    match atom.op:
        case "input":
            return inputs[atom.detail]
        case "constant":
            return getattr(math, atom.detail)
        case "size":
            return float(lengths[atom.detail])
        case "delta":
            return np.eye(n[0])
        case "group":
            return args[0]
        case "softmax":
            e = np.exp(args[0])
            return e / e.sum(axis=atom.detail, keepdims=True)
        case "logsumexp":
            return np.log(np.exp(args[0]).sum(axis=atom.detail))
    return {**ELEMENTWISE, **OF_MATRICES}[atom.op](*args)


def numbers_of(term, inputs, lengths):
    """Return the array of a term, which sums each product over its bound indices."""
    lengths = {1: 1, **lengths}
    shape = [lengths.get(i.dim, i.dim) for i in term.axes]
    total = np.zeros(shape)
    for product in term.products:
        names = {i: k for k, i in enumerate(dict.fromkeys((*term.axes, *product.indices())))}
        operands = [1.0, []]
        for i, n in zip(term.axes, shape, strict=True):
            operands += [np.ones(n), [names[i]]]
        for factor in product.factors:
            array = np.asarray(array_of(factor, inputs, lengths), float) ** float(factor.exponent)
            operands += [array, [names[i] for i in factor.indices]]
        total = total + float(product.coefficient) * np.einsum(*operands, [names[i] for i in term.axes])
    return total
