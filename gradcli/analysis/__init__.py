"""What gradcli computes for a program: gradients, products, formulas, digits, graphs, traces, curves."""
