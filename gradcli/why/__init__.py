"""Record a script and find where a gradient is lost.

Read record (what is recorded, and how) first, then cause, which searches the record; record_torch records
PyTorch.
"""
