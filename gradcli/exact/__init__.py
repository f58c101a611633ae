"""Run programs on symbols (sympy) or in high precision (mpmath).

Inside `exactly(field)`, operations on Tensors compute with object arrays whose elements belong to the field.
Elementwise operations use the exact twin in their table entry. Read field (exact numbers in arrays) and record (how a
program runs on them) first, then symbolic, multiprecision and printing.
"""
