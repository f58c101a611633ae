"""What gradcli computes for a program: gradients, products, formulas, digits, graphs, traces, curves.

Read gradient first, then transform (Jacobians, Hessians, products), symbolic with chain_rule and compare_formulas,
graph and trace, precision and plot. sweep/ computes gradients at every row of a table.
"""
