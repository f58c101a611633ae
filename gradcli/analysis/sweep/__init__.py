"""Sweeps: a program's value and derivatives at every row of a table, from a file into a file.

`rows` evaluates a block of rows, `tables` reads points in blocks, `run` computes, writes and joins parts, `workers`
computes parts in other processes, and `plan` coordinates them.
"""
