"""The page gradcli-manifolds(7): rotations, poses and other manifolds, and the conventions of their tangents."""

from __future__ import annotations

from .mdoc import argument, page, paragraphs, tag_list

DESCRIPTION = """
gradcli-gradcheck(1) with `--on NAME=MANIFOLD` checks a derivative whose input lies on a manifold, such as a rotation or
a pose. Such an input cannot move in every direction, so optimizers do not use the Jacobian with respect to its entries.
They move the point by a tangent: a vector d with as many numbers as the point has degrees of freedom. For SO3, SE3,
quaternion and manifolds of your own, the claim is the Jacobian with respect to d, at d = 0. For unit, sphere, stiefel
and spd, the claim is a Riemannian gradient. It has a number for each number of the input, and no part that leads off
the manifold.

How d moves the point is a convention, and programs differ. `--on` names the convention, with words after colons. If the
claim follows another convention, the check fails. The report then names this convention, and the matrix that converts
the claim. gradcheck needs only a few more calls to find this out.

In Python, pass `on={"T": "SE3:left"}` to `gradcli.check` and `gradcli.check_gradient`. Instead of a name, you can also
give a function R(x, d), which returns the point to which d moves x.

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
        """Poses: matrices of shape (4, 4) or (3, 4), or 7 numbers, the position followed by a quaternion. The tangent d
is (v, w): a translation v followed by a rotation w. With `:rotation-first`, the order is (w, v). The pose T moves to T
exp(d). With `:left`, it moves to exp(d) T. With `:split`, rotation and translation move separately: R to R exp(w), and
t to t + v. With `:split-left`, R moves to exp(w) R, and t to t + v. The quaternion in 7 numbers is w, x, y, z. With
`:xyzw`, it is x, y, z, w. With `:quaternion-first`, it comes before the position.""",
    ),
    (
        "quaternion",
        """Unit quaternions w, x, y, z. With `:xyzw`, they are x, y, z, w. The tangent and `:left` are the same as for
SO3. With `:half-angle`, the tangent is an axis times half the angle.""",
    ),
    (
        "unit",
        """Vectors of norm 1. If the input has several axes, each vector along its last axis has norm 1. The claim has
the shape of the output followed by that of the input. For each output element, it must be tangent: orthogonal to x.""",
    ),
    (
        "sphere",
        """Arrays whose norm is that of the given point. The norm is the square root of the sum of the squares of all
numbers in the array. The claim has the same form as for `unit`.""",
    ),
    (
        "stiefel",
        """Matrices with orthonormal columns. The claim is a Riemannian gradient in the Euclidean metric. With
`:canonical`, it is the gradient in the canonical metric.""",
    ),
    (
        "spd",
        """Symmetric positive definite matrices. The claim is a Riemannian gradient in the affine-invariant metric
tr(X^-1 A X^-1 B). With `:euclidean`, it is the gradient in the Euclidean metric.""",
    ),
    (
        "FILE.py:RETRACT",
        """A manifold of your own. `RETRACT(x, d)` returns the point to which d moves x. If the claim is written by
hand, the length of d follows from its number of columns. For other claims, write the length after a colon:
`FILE.py:RETRACT:2`.""",
    ),
]
MORE = """
Inputs without `--on` are ordinary arrays, and several inputs may lie on different manifolds. A batch of points has more
axes in front. N poses have the shape (N, 4, 4), and the claim has the shape of the output followed by (N, 6). The claim
may also be a matrix, with a row for each number of the output and 6 N columns. Such a matrix may be sparse (SciPy).
There may be a sparse matrix for each input, or a single one with the columns of all inputs.

With `--on out=SO3`, the output lies on a manifold, too. The claim is then the matrix that maps tangents of the input to
tangents of the output. An example is the motion between two poses. The output may lie on SO3, SE3 or quaternion.

With `--shape R=3,3`, gradcheck draws a random point on the manifold.

PyTorch, JAX, HIPS autograd and gradcli differentiate with respect to the entries of the array. gradcheck therefore
multiplies their derivatives by the derivative of the entries with respect to the tangent. PyPose and lietorch return
the gradient with respect to the tangent, followed by zeros: declare this with `:padded`. C functions and UM-Bridge
models give the Jacobian with respect to the tangent. Their inputs may be matrices that are written as a vector of 9, 12
or 16 numbers.

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
A cost function of Ceres Solver gives the Jacobian with respect to the entries of the quaternion. Ceres multiplies this
Jacobian by PlusJacobian, and the table gives the convention of the result. To check the cost function's own Jacobian,
leave out `--on`.

# From one convention to another

To convert a Jacobian for left or split perturbations to one for right perturbations, multiply it by a matrix:

    SO3:  J_right = J_left R
    SE3:  J_right = J_left Ad(T)
          J_right = J_split diag(R, I)
          J_right = J_split-left diag(R, R)

Ad(T) is (R, hat(t) R; 0, R) for the tangent (v, w), where hat(t) is the matrix of the cross product with t.

# Where conventions agree

At the identity, left and right perturbations have the same Jacobian. A claim that is right there may follow either
convention, so the check is inconclusive, with the finding `same-convention`. Check at another point. If two conventions
have the same Jacobian at every point, a right claim passes. Examples are `:split` and `:split-left` for a function of
the translation only.

Near the identity, many programs leave out small terms of a Jacobian, as in `if angle < 1e-8: return identity`. An
element of the claim may therefore differ by 1e-8 of the largest derivative of the same output element with respect to
the same input. With `--strict`, it may not.

Near a rotation by pi, the logarithm jumps. A check of a logarithm is inconclusive there.

# Points that are not on the manifold

A matrix that is not a rotation, a quaternion whose norm is not 1 and a matrix that is not positive definite are errors.
The message says how far off the point is, and for a rotation or a quaternion, it gives a nearby point on the manifold.
A deviation up to 1e-6 is allowed. A claim with respect to the entries of the array, such as a matrix of shape (3, 9)
for a rotation, fails with the finding `shape`.

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
