"""Manifolds: which small moves a point allows, in coordinates that are free, and what conventions name them.

A manifold moves a point by a tangent (`retract`), and turns a derivative claimed at a moved point into one by the
coordinates of the move (`pull`, `push`). `gradcli.claims.on_manifolds` uses this to make a claim on manifolds a claim
of a function of plain arrays. Read the modules in this order:

    manifold      the interface
    rotations     exponential, logarithm and products of rotations, as matrices and as quaternions
    groups        SO3 and unit quaternions, with their conventions for tangents
    poses         SE3
    riemannian    unit vectors, spheres, Stiefel matrices, positive definite matrices, with their metrics
    custom        a retraction of the user
    named         how options name manifolds
"""
