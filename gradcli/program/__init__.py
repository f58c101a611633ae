"""Programs: expressions, functions and scripts with named inputs and an output, to run on any values."""
