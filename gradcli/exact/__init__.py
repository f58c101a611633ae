"""Run programs on symbols (sympy) or in high precision (mpmath).

Inside `exactly(field)`, operations on Tensors compute with object arrays whose elements belong to the field.
Elementwise operations use the exact twin in their table entry.
"""
