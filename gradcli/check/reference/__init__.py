"""Numeric derivatives with an error estimate, from values alone: along a line, and as a whole Jacobian."""
