"""One check from beginning to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ..func.forward import push_all
from ..func.pullback import pull
from ..results.checks import CheckReport, Finding
from ..tape.tensor import Tensor
from .blame import blame
from .compressed import LEAST, all_right
from .diagnose import diagnose
from .digits import digits_of
from .fixed import judge_fixed
from .flat import Flat
from .kink import at_joint_kinks, in_hull
from .measure import MARGIN, Reference
from .reference import estimate
from .subject import CheckError, ComplexError, Subject, WrongShapeError, raised
from .traced import Traced
from .verdict import PASS, Judgement, input_checks, rounding_slack

NEIGHBOURS = 3
"""Points a few rounding units away at which a hand-written derivative is called to see its own rounding."""
SCATTER_LIMIT = 200_000
"""Elements of a Jacobian up to which that is done."""


class Options:
    """How to check.

    seed: of random directions. fast: random directions first, elements only on suspicion. tolerances: (eps, atol,
    rtol) for PyTorch's rule. blame: look for the guilty custom function after a fail.
    """

    def __init__(self, *, fast: bool = False, seed: int = 0, tolerances: tuple | None = None, blame: bool = True):
        self.blame = blame
        self.fast = fast
        self.seed = seed
        self.tolerances = tolerances


class Place:
    """What a check is called and where it was declared."""

    def __init__(self, name: str, file: str | None = None, line: int | None = None, replay: str | None = None):
        self.name, self.file, self.line, self.replay = name, file, line, replay


def run_check(make: Callable[[], Subject], place: Place, options: Options | None = None) -> CheckReport:
    """Check the subject that `make` returns; whatever goes wrong becomes a report."""
    options = options or Options()
    start = time.perf_counter()

    def report(verdict: str, message: str = "", **more: object) -> CheckReport:
        return CheckReport(
            place.name,
            place.file,
            place.line,
            verdict,
            time.perf_counter() - start,
            message=message,
            replay=place.replay if verdict == "fail" else None,
            **more,  # type: ignore[arg-type]
        )

    try:
        with np.errstate(all="ignore"):
            return checked(make(), options, report)
    except WrongShapeError as error:
        return report("fail", str(error), diagnosis=(Finding("shape", "the gradient has a wrong shape"),))
    except ComplexError as error:
        return report("fail", str(error), diagnosis=(Finding("complex", "a real input has a real gradient"),))
    except CheckError as error:
        cause = error.__cause__
        return report("error", str(error), error=cause if isinstance(cause, Exception) else None)
    except RecursionError:
        return report("error", "the function recurses too deeply")
    except MemoryError:
        return report("error", "not enough memory")


def checked(subject: Subject, options: Options, report: Callable[..., CheckReport]) -> CheckReport:
    """Return the report on a subject. Raises CheckError."""
    flat = Flat(subject)
    again = flat.value_again()
    notes: list[str] = []
    with np.errstate(all="ignore"):
        drift = np.abs(flat.f0 - again)
        size = np.abs(flat.f0)
    if not np.isfinite(flat.f0).all():
        return report("inconclusive", "the function is not finite at this point")
    strange = [name for name in subject.wrt if not np.isfinite(subject.at[name]).all()]
    if strange:
        return report("inconclusive", f"the input {', '.join(strange)} holds nan or infinity")
    if (drift > 1e3 * flat.unit * size).any():
        worst = float((drift / np.maximum(size, 1e-300)).max())
        return report(
            "inconclusive", f"non-deterministic: two calls at the same point differ by {worst:.2g} relative"
        )
    if isinstance(subject, Traced) and options.tolerances is None and len(flat.f0) * flat.size >= LEAST:
        found = all_right(subject, flat)
        if found is not None:
            return report("pass", inputs=found)
    blocks = subject.jacobian(subject.at)
    analytic = flat.jacobian(blocks)
    if analytic.shape != (len(flat.f0), flat.size):
        raise WrongShapeError(f"the derivative has {analytic.shape} elements, {(len(flat.f0), flat.size)} are needed")
    again_called = analytic.size <= SCATTER_LIMIT and not subject.traced
    repeated = flat.jacobian(subject.jacobian(subject.at)) if again_called else analytic
    reference = Reference(flat)
    many = analytic.size > SCATTER_LIMIT
    own_noise = np.zeros_like(analytic) if many or subject.traced else scatter(subject, flat, analytic)
    rounding = rounding_slack(analytic, own_noise, item_size(subject))
    judgement = Judgement(analytic, reference, *rounding)
    unsteady = unsteady_finding(analytic, repeated)
    if options.tolerances is not None:
        judge_fixed(flat, judgement, *options.tolerances)
    elif not (options.fast and projections_agree(flat, judgement, options.seed)):
        reference.look()
        judgement.run(lambda kinks: in_hull(flat, analytic, kinks, sides_of(reference), options.seed))
        if judgement.verdict == "fail":
            judgement.accept(at_joint_kinks(flat, analytic, reference, judgement.wrong(), options.seed))
        if judgement.verdict == "fail" and not many:
            judgement.doubt(roughness(subject, flat, analytic))
    if judgement.kinks and judgement.verdict == "pass":
        notes.append("a kink: the claimed value lies between the one-sided derivatives")
    verdict = judgement.verdict
    message = reason_of(judgement) if verdict == "inconclusive" else ""
    findings: tuple[Finding, ...] = ()
    if verdict == "fail":
        findings = (*unsteady, *diagnose(flat, judgement))
    elif unsteady:
        verdict, findings, message = "fail", unsteady, unsteady[0].text
    witnesses: tuple[tuple[str, float], ...] = ()
    guilty = None
    if isinstance(subject, Traced):
        if verdict == "fail" and options.blame:
            guilty = blame(subject, is_wrong)
        agreement = adjoint_digits(subject, options.seed)
        witnesses = () if np.isnan(agreement) else (("forward mode", agreement),)
        if agreement < ADJOINT_DIGITS:
            text = f"forward and reverse mode agree to {agreement:.1f} digits only"
            findings = (*findings, Finding("modes disagree", text))
    return report(
        verdict,
        message,
        witnesses=witnesses,
        blame=guilty,
        inputs=input_checks(flat, judgement),
        diagnosis=findings,
        notes=(*notes, *judgement.notes),
    )


def is_wrong(subject: Traced) -> bool:
    """Return whether a part of a function fails its own check."""
    return run_check(lambda: subject, Place(subject.title), Options(blame=False)).verdict == "fail"


ADJOINT_DIGITS = 6.0


def adjoint_digits(subject: Traced, seed: int) -> float:
    """Return to how many digits <v, J u> and <J^T v, u> agree for random u and v: forward against reverse mode.

    nan where they are not finite.
    """
    rng = np.random.default_rng(seed + 2)
    record = subject.recorded(subject.at, tuple(i for i, n in enumerate(subject.at) if n in subject.wrt))
    (out,) = record.outputs
    if out._node is None:
        return 17.0
    tangents = [Tensor._wrap(np.asarray(rng.standard_normal(x.shape), x._data.dtype), None) for x in record.inputs]
    vector = np.asarray(rng.standard_normal(out.shape), out._data.dtype)
    try:
        (pushed,) = push_all(record, tangents, False)
        pulled = pull(record, [(out, Tensor._wrap(vector, None))], False, False)
    except RuntimeError:  # forward mode lacks it: reverse mode is what is checked
        return 17.0
    except Exception as error:
        raise raised("forward mode", error) from error
    forward = 0.0 if pushed is None else np.vdot(pushed, vector).real
    parts = [np.vdot(g, t._data).real for g, t in zip(pulled, tangents, strict=True) if g is not None]
    size = max(abs(forward), *(abs(p) for p in parts), 1e-300) if parts else 1.0
    return digits_of(abs(forward - sum(parts)) / size)


def item_size(subject: Subject) -> int:
    """Return the bytes of a real number in the least precise input."""
    return min((x.real.dtype.itemsize for x in (subject.at[name] for name in subject.wrt)), default=8)


def scatter(subject: Subject, flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how much the claimed derivative changes a few rounding units away from the point."""
    rng = np.random.default_rng(1)
    wanted = {name: subject.at[name] for name in subject.wrt}
    most = np.zeros_like(analytic)
    for _ in range(NEIGHBOURS):
        units = {name: np.finfo(x.dtype).eps * rng.integers(-2, 3, x.shape) for name, x in wanted.items()}
        moved = claimed_near(subject, flat, units, analytic.shape)
        if moved is not None:
            most = np.fmax(most, np.abs(moved - analytic))
    return np.where(np.isfinite(most), most, 0.0)


def claimed_near(subject: Subject, flat: Flat, moves: dict[str, np.ndarray], shape: tuple) -> np.ndarray | None:
    """Return the claimed derivative where inputs move by such parts of themselves; None where it has none."""
    near = dict(subject.at)
    for name, move in moves.items():
        near[name] = (subject.at[name] * (1 + move)).astype(subject.at[name].dtype)
    try:
        found = flat.jacobian(subject.jacobian(near))
    except CheckError:
        return None
    return found if found.shape == shape else None


def roughness(subject: Subject, flat: Flat, analytic: np.ndarray) -> np.ndarray:
    """Return how far the claimed derivative scatters about a smooth curve through close points.

    Third differences along a line of random signs (as in More and Wild, 2011), of which the lower quartile counts: an
    edge raises only those beside it.
    """
    rng = np.random.default_rng(1)
    signs = {name: rng.choice([-1.0, 1.0], subject.at[name].shape) for name in subject.wrt}
    most = np.zeros_like(analytic)
    for spacing in (3e-9, 3e-11):
        rows = []
        for k in range(-4, 5):
            moves = {name: spacing * k * sign for name, sign in signs.items()}
            row = claimed_near(subject, flat, moves, analytic.shape)
            if row is None:
                return np.zeros_like(analytic)
            rows.append(row)
        third = np.abs(np.diff(np.stack(rows), n=3, axis=0)) / np.sqrt(20)
        most = np.fmax(most, np.quantile(third, 0.25, axis=0))
    return np.where(np.isfinite(most), most, 0.0)


def unsteady_finding(first: np.ndarray, second: np.ndarray) -> tuple[Finding, ...]:
    """Return what a second call of the derivative at the same point tells: nothing when it gives the same."""
    if first is second or np.allclose(first, second, rtol=1e-12, atol=0, equal_nan=True):
        return ()
    if np.allclose(second, 2 * first, rtol=1e-9, atol=0):
        return (Finding("accumulated", "accumulated twice: a second call at the same point gives twice as much"),)
    if np.allclose(second, first, rtol=1e-3):
        return ()
    return (
        Finding("unsteady", "two calls at the same point give different gradients (stale or accumulated values)"),
    )


def sides_of(reference: Reference) -> dict:
    """Return left and right derivatives by row and column."""
    return {
        (int(j), i): (estimate.left[k], estimate.right[k])
        for i, (rows, estimate) in reference.estimates.items()
        for k, j in enumerate(rows)
    }


def reason_of(judgement: Judgement) -> str:
    """Return the commonest reason why elements are undecided."""
    reasons: Sequence[tuple[str, int]] = sorted(judgement.reasons.items(), key=lambda item: -item[1])
    return reasons[0][0] if reasons else "not all elements could be looked at"


DIRECTIONS = 3


def projections_agree(flat: Flat, judgement: Judgement, seed: int) -> bool:
    """Return whether the derivative is right in a few Gaussian directions, scaled by x; then all passes.

    One wrong element among a thousand can hide from random directions: this is the quick way, not the sure one.
    """
    rng = np.random.default_rng(seed)
    x = np.concatenate([part.astype(float) for part in flat.parts])
    analytic = judgement.analytic
    least = np.inf
    for _ in range(DIRECTIONS):
        direction = rng.standard_normal(flat.size) * flat.scales
        claimed = analytic @ direction

        def line(offsets: np.ndarray, direction: np.ndarray = direction) -> np.ndarray:
            return flat.points(x + offsets[:, None] * direction)

        found = estimate(line, np.float64(1.0), 0.3, flat.f0, flat.unit)
        room = MARGIN * found.error + (judgement.slack + judgement.floor) @ np.abs(direction)
        if not ((found.kind == "smooth") & (np.abs(claimed - found.value) <= room)).all():
            return False
        with np.errstate(all="ignore"):
            least = min(least, float(np.nanmin(np.abs(found.value) / np.maximum(room, 1e-300))))
    judgement.state[:] = PASS
    judgement.reference.value[:] = analytic
    judgement.reference.error[:] = np.abs(analytic) / max(least, 1e-300) / MARGIN
    judgement.notes.append(f"{DIRECTIONS} random directions")
    return True
