"""Sweeps: a program's value and derivatives at every row of a table, from a file into a file.

`rows` asks a program about a block of rows, `tables` reads points in blocks, `run` goes through the parts of a sweep,
writes them and joins them, `workers` does so elsewhere.
"""
