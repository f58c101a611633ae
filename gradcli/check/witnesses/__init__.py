"""Independent answers about the derivative: 50 digits, and formulas."""
