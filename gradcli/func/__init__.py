"""Transforms of functions with the names and arguments of torch.func."""
