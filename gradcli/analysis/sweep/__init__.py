"""Sweeps: a program's value and derivatives at every row of a table, from a file into a file.

`rows` asks a program about a block of rows, `points` and `text` read tables in blocks, `parts` writes results and
joins them, `run` goes through the parts of a sweep, here or elsewhere.
"""
