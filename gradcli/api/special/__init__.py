"""Special functions that are no entries of the table: families of polynomials."""
