"""Exact twins: the same programs on symbols (sympy) and in high precision (mpmath).

Exact arithmetic is another kind of element: inside `exactly(field)`, operations on Tensors compute on object arrays
whose elements are the field's, elementwise ones through the twin of their table entry.
"""
