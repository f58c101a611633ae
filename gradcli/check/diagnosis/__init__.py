"""Which mistake was made, and in which part of the function."""
