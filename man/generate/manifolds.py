"""The page gradcli-manifolds(7): rotations, poses and other manifolds, and the conventions of their tangents."""

from __future__ import annotations

from .mdoc import argument, page, paragraphs, tag_list

DESCRIPTION = """
gradcli-gradcheck(1) with `--on NAME=MANIFOLD` checks a derivative whose input lies on a manifold, such as a rotation or
a pose. Such an input cannot move in every direction, so a Jacobian by its entries is not what optimizers use. They move
the point by a tangent: a vector d with as many numbers as the point has degrees of freedom. The claim is the Jacobian
by d at d = 0.

How d moves the point is a convention, and programs differ. `--on` names it, with words after colons. A claim for
another convention fails, and the report says which one it follows and by which matrix to multiply it. The Jacobians of
two conventions differ by a known matrix, so this needs few further calls.

In Python, pass `on={"T": "SE3:left"}` to `gradcli.check` and `gradcli.check_gradient`. A retraction may be given as a
function, too.

# Manifolds
"""
MANIFOLDS = [
    (
        "SO3",
        """Rotation matrices, of shape (3, 3). The tangent has 3 numbers, an axis times an angle. It acts on the right,
R exp(d). With `:left`, it acts on the left, exp(d) R.""",
    ),
    (
        "SE3",
        """Poses: matrices of shape (4, 4) or (3, 4), or 7 numbers, position and quaternion. The tangent is (v, w), a
translation and a rotation, or with `:rotation-first` (w, v). It moves T to T exp(d). With `:left`, it moves T to
exp(d) T. Two more words move rotation and translation apart: `:split` to R exp(w), t + v, and `:split-left` to
exp(w) R, t + v. The quaternion in 7 numbers is w, x, y, z. With `:xyzw`, it is x, y, z, w, and with
`:quaternion-first` it comes before the position.""",
    ),
    (
        "quaternion",
        """Unit quaternions w, x, y, z, or with `:xyzw` x, y, z, w. The tangent is as for SO3, and `:left` as well. With
`:half-angle`, the tangent is an axis times half the angle.""",
    ),
    (
        "unit",
        """Vectors of norm 1, along the last axis. The claim has the shape of the output followed by that of the input,
and its rows must be tangent: orthogonal to x.""",
    ),
    (
        "sphere",
        """All numbers of the array together have a constant norm, that of the given point. The claim is as for
`unit`.""",
    ),
    (
        "stiefel",
        """Matrices with orthonormal columns. The claim is a Riemannian gradient in the Euclidean metric, or with
`:canonical` in the canonical metric.""",
    ),
    (
        "spd",
        """Symmetric positive definite matrices. The claim is a Riemannian gradient in the affine-invariant metric
tr(X^-1 A X^-1 B), or with `:euclidean` in the Euclidean metric.""",
    ),
    (
        "FILE.py:RETRACT",
        """A manifold of your own. `RETRACT(x, d)` returns the point to which d moves x. The number of coordinates
follows from the width of the claim. If that is not given by hand, add it: `FILE.py:RETRACT:2`.""",
    ),
]
MORE = """
Inputs without `--on` are ordinary arrays, and several inputs may lie on different manifolds. A batch of points has more
axes in front: N poses have the shape (N, 4, 4), and the claim has the shape of the output followed by (N, 6), or both
are joined to two axes. The claim may be a sparse matrix of SciPy, one for each input or one with the columns of all
inputs.

With `--on out=SO3`, the output lies on a manifold, too. The claim is then the matrix from tangents of the input to
tangents of the output, as in a between factor. SO3, SE3 and quaternion are possible here.

With `--shape R=3,3`, gradcheck draws a random point on the manifold.

A derivative by PyTorch, JAX, HIPS autograd or gradcli is by the entries of the array. gradcheck multiplies it by the
derivative of the entries by the tangent. PyPose and lietorch return a gradient by the tangent, followed by zeros:
declare it with `:padded`. A C function and a UM-Bridge model give a Jacobian by the tangent. There, a matrix may be a
vector of 9, 12 or 16 numbers.

# Conventions of programs
"""
PROGRAMS = [
    ("program, type", "--on NAME=..."),
    ("GTSAM Rot3", "SO3"),
    ("GTSAM Pose3", "SE3:rotation-first"),
    ("Ceres QuaternionManifold", "quaternion:left:half-angle"),
    ("Ceres EigenQuaternionManifold", "quaternion:left:half-angle:xyzw"),
    ("Sophus SO3, SE3: x * exp(d)", "SO3, SE3"),
    ("manif SO3, SE3: right plus", "SO3, SE3"),
    ("Theseus SO3, SE3", "SO3, SE3"),
    ("PyPose, lietorch SO3", "quaternion:left:xyzw:padded"),
    ("PyPose, lietorch SE3", "SE3:left:xyzw:padded"),
    ("jaxlie SO3, as wxyz", "quaternion"),
    ("jaxlie SE3, as wxyz_xyz", "SE3:quaternion-first"),
    ("MuJoCo ball joint", "quaternion"),
    ("MuJoCo free joint, as qpos", "SE3:split"),
]
"""The conventions, from the sources of these programs: where their retraction multiplies, and the order of numbers."""
CONVENTIONS = """
Ceres Solver multiplies a Jacobian by the entries of the quaternion by PlusJacobian. The convention above is that of the
product. Check the Jacobian by the entries without `--on`.

# From one convention to another

A claim for left perturbations becomes one for right perturbations by a matrix on the right:

    SO3:  J_right = J_left R
    SE3:  J_right = J_left Ad(T)
          J_right = J_split diag(R, I)
          J_right = J_split-left diag(R, R)

Ad(T) is (R, hat(t) R; 0, R) for the tangent (v, w), where hat(t) is the matrix of the cross product with t.

# Where conventions agree

At the identity, left and right perturbations have the same Jacobian. A claim that is right there may follow either, so
the check is inconclusive, with the finding `same-convention`. Check at another point. If two
conventions have the same Jacobian at every point, as for a function of the translation only, the check passes.

Near a rotation by pi, the logarithm jumps. A check of a logarithm is inconclusive there.

# Points that are not on the manifold

A matrix that is not a rotation, a quaternion whose norm is not 1 and a matrix that is not positive definite are errors.
The message gives the distance, and the nearest rotation. A deviation up to 1e-6 is allowed. A claim by the entries of
the array, such as a matrix of shape (3, 9) for a rotation, fails with the finding `shape`.

Second derivatives, `--search` and `--reference` move the entries of inputs, so they cannot be combined with `--on`.
"""
EXAMPLES = [
    "gradcli gradcheck samples/poses.py:camera --grad camera_jacobian --on pose=SE3 --shape pose=4,4 "
    "--shape point=3 --seed 1",
    "gradcli gradcheck samples/poses.py:between --grad between_jacobians --on X=SE3 --on Y=SE3 --on out=SE3 "
    "--shape X=4,4 --shape Y=4,4",
]


def manifolds_page() -> str:
    width = max(len(program) for program, _ in PROGRAMS)
    table = "\n".join(f"    {program:{width}}  {on}".rstrip() for program, on in PROGRAMS)
    manifolds = tag_list((f"Cm {argument(name)}", text) for name, text in MANIFOLDS)
    description = [*paragraphs(DESCRIPTION), *manifolds, ".Pp", *paragraphs(f"{MORE}\n{table}\n{CONVENTIONS}")]
    return page(
        "gradcli-manifolds(7)",
        "check derivatives on rotations, poses and other manifolds",
        description,
        EXAMPLES,
        ["gradcli-gradcheck(1)", "gradcli-verdict(7)"],
        files=[("samples/poses.py", "A camera, a position and the motion between two poses.")],
    )
