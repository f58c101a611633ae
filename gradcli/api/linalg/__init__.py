"""Linear algebra: what `gradcli.linalg` hands on beyond the functions of the top level."""
