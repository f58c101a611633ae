"""From wrong elements to a mistake in words.

Read input_block (the claimed and the numeric derivative by one input) first, then diagnose (the hypotheses), factors
(missing factors and terms) and shortcuts (a path of the function whose derivative is missing).
"""
