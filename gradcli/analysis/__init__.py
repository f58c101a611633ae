"""What is asked of a differentiable program: gradients, products, formulas, digits, graphs, traces, curves."""
