"""What products of a claim with vectors must satisfy, which needs no value: linear, fresh, adjoint to each other."""
