"""Programs in machine code, for very many points.

`record` runs a program once and keeps what it computes for a point as a graph of elementwise operations, which
`expression` differentiates; `operations` has those of C, `source` writes them; `build` has the system's compiler make
a library, once; `evaluate` calls that for blocks of rows. What they do not take is refused by name, and interpreted.
"""
