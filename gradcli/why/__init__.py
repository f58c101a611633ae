"""Record a script and find where a gradient is lost.

Read record (what is recorded) and recorder (how) first, then cause, which searches the record, and explain, which runs
a script and reports. record_torch records PyTorch, and record_jax the gradients that JAX computes.
"""
