"""Matrix calculus for `symbolic --matrix`: derivatives in matrix form, for any size.

Read index_terms (sums over indices) first, then reader (a formula becomes index terms), form (they become matrices
again), printing, and symbolic, which puts the parts together.
"""
