"""The report on an estimator: its bias in each element, and what its mean is."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..claims.claim import CallError
from ..claims.estimators import open_objective
from ..claims.hand_written import HandWritten
from ..claims.random_function import RandomFunction, roles_of, seeds_of
from ..errors import GradcliError
from ..explain.kl import other_directions
from ..explain.mean import MEAN_SIGMAS, GradientSource, Means, explain_mean, numbers_in_code, sizes_in, usual_multiple
from ..numeric.decide import FAIL, OPEN, PASS, worst
from ..numeric.flat import Flat
from ..numeric.sampler import TINY
from ..numeric.verdict import digits_of
from ..request import Request
from ..results.checks import CheckReport, Finding
from ..results.estimators import Bias, MeanSoFar
from ..results.inputs import Element, ElementCounts, Elements, InputCheck
from ..user.frameworks import engine_of
from .estimation import MOST_BIAS, Estimation
from .expectation import FromSamples, FromValues, numeric_derivative
from .sequential import Look

OTHER_STREAM = 3  # the stream of seeds for other functions of the file
MOST_FUNCTIONS = 50  # other functions of the file whose gradients are compared with the mean: a choice
OTHER_DRAWS = 1 << 17  # samples of such a function, if it is random: a choice
SCREENED, SCREEN_STEP, SCREEN_SIGMAS = 2048, 0.1, 10.0  # of a first comparison with few samples: a choice


def report_on_estimator(estimation: Estimation, request: Request, report: Callable[..., CheckReport]) -> CheckReport:
    look, word = estimation.deciding, estimation.word
    inputs = tuple(estimated_input(estimation, k, request.show == "all") for k in range(len(estimation.groups)))
    findings: list[Finding] = []
    message = f"level {estimation.level:g}, {look.count} samples"
    if word == "wrong":
        findings = explain_bias(estimation, request)
    elif word == "undecided":
        findings = [reason_undecided(estimation)]
        message = findings[0].text
    else:
        message = f"{pass_text(estimation)} ({message})"
    notes = [*estimation.claim.notes, *filter(None, [estimation.estimator.note, objective_note(estimation)])]
    return report({"elements": word}, message, inputs=inputs, diagnosis=tuple(findings), notes=tuple(notes))


def objective_note(estimation: Estimation) -> str:
    truth = estimation.truth
    if isinstance(truth, FromValues):
        return ""
    count = truth.blocks.count
    how = f"{count} differences of samples with common random numbers"
    return f"{estimation.claim.title} is random; its derivative is known from {how}"


def pass_text(estimation: Estimation) -> str:
    """Say which bias is excluded: relative to the largest derivative, or absolute where that is zero."""
    look, parts, zeros = estimation.looks[-1], [0.0], [0.0]
    for group in estimation.groups:
        largest, bound = largest_derivative(look, group), float(look.bound[group].max(initial=0.0))
        (parts if largest else zeros).append(bound / largest if largest else bound)
    texts = [f"a bias above {max(parts):.2g} of the largest derivative"] if max(parts) else []
    texts += [f"where the derivative is zero, a bias above {max(zeros):.2g}"] if max(zeros) else []
    return f"unbiased: {'; '.join(texts) or 'any bias'} would have been seen"


def largest_derivative(look: Look, group: slice) -> float:
    """Return the largest derivative by an input, 0 if none differs from 0."""
    size = np.abs(look.truth.value[group])
    return float(size.max(initial=0.0)) if (look.scale[group] == size.max(initial=0.0)).all() else 0.0


def states_of(look: Look) -> np.ndarray:
    states = np.where(look.within(MOST_BIAS), PASS, OPEN).astype(object)
    states[look.wrong] = FAIL
    return states


def estimated_input(estimation: Estimation, k: int, every: bool) -> InputCheck:
    """Return the result for one input. every: with all elements."""
    look, group, flat = estimation.deciding, estimation.groups[k], estimation.flat
    states = states_of(look)[group]
    bias, mean, truth, width = (x[group] for x in (look.bias, look.claimed.value, look.truth.value, look.half_width))
    largest = largest_derivative(look, group)
    with np.errstate(all="ignore"):
        order = np.where(states == FAIL, 1e6, 1.0) * np.nan_to_num(np.abs(bias) / (width + TINY), nan=np.inf)
        relative = float(np.nanmax(np.abs(bias)) / largest) if largest and not np.isnan(bias).all() else 0.0
    i = int(order.argmax())
    name, index, _ = flat.label(group.start + i)
    bound = float(look.bound[group].max(initial=0.0))
    return InputCheck(
        name,
        flat.arrays[k].shape,
        worst(states),
        float(np.nanmax(np.abs(bias), initial=0.0)),
        relative,
        digits_of(relative),
        bound / largest if largest else None,
        Element((), index, float(mean[i]), float(truth[i]), float(width[i])),
        elements=elements_of(flat, k, mean, truth, width, states) if every else None,
        point=flat.arrays[k] if every else None,
        of_largest=bound / largest if largest else None,
        counts=ElementCounts(int((states == FAIL).sum()), int((states == OPEN).sum()), len(bias), len(bias)),
        bias=bias_of(estimation, group.start + i),
    )


def elements_of(flat: Flat, k: int, *columns: np.ndarray) -> Elements:
    shape = flat.arrays[k].shape
    places = tuple((tuple(map(int, np.unravel_index(i, shape))), "") for i in range(flat.arrays[k].size))
    return Elements((((), ""),), places, *(x.reshape(1, -1) for x in columns))


def bias_of(estimation: Estimation, i: int) -> Bias:
    look = estimation.deciding
    looks = [look] if look is estimation.pairs else estimation.looks
    path = tuple(MeanSoFar(x.count, float(x.claimed.value[i]), float(x.half_width[i])) for x in looks)
    tail = float(min(look.claimed.tail[i], look.truth.tail[i]))
    return Bias(
        estimation.level,
        look.count,
        estimation.plan.most,
        float(look.bias[i]),
        float(look.error[i]),
        float(look.half_width[i]),
        tail if np.isfinite(tail) else None,
        path,
    )


def reason_undecided(estimation: Estimation) -> Finding:
    """Return why a check is inconclusive."""
    look, flat = estimation.looks[-1], estimation.flat

    def place(mask: np.ndarray) -> str:
        name, index, _ = flat.label(int(mask.argmax()))
        return f"{name}{list(index) or ''}"

    unknown = ~np.isfinite(look.truth.value)
    if unknown.any():
        text = f"the numeric derivative of {estimation.claim.title} by {place(unknown)} is not known"
        return Finding("no slope", text)
    if look.heavy.any():
        tail = np.minimum(look.claimed.tail, look.truth.tail)
        own = look.claimed.tail[tail.argmin()] == tail.min()
        what = "samples" if own else f"samples of {estimation.claim.title}"
        text = "the variance seems infinite, so the probability of a false alarm is unknown: "
        text += f"at {place(look.heavy)}, the largest {what} follow a power law with index {tail.min():.2g}"
        return Finding("heavy tail", text)
    open_ones = ~look.within(MOST_BIAS)
    with np.errstate(all="ignore"):
        part = np.where(open_ones, look.bound / look.scale, 0.0).max()
    bound = "any bias" if not np.isfinite(part) else f"a bias of {part:.2g} of the largest derivative"
    text = f"undecided after {look.count} samples: {bound} is still possible at {place(open_ones)}"
    return Finding("too few samples", f"{text}; rerun with --draws {4 * estimation.plan.most}")


def explain_bias(estimation: Estimation, request: Request) -> list[Finding]:
    """Return what the mean is, or that it is biased."""
    look = estimation.looks[-1]
    if not look.wrong.any():
        return [of_sample_pairs(estimation)]
    means = Means(look.claimed.value, look.truth.value, look.error, look.truth.doubt, look.wrong)
    sizes = sizes_in(estimation.estimator.function, estimation.leaves)
    found = explain_mean(means, [*inputs_of_estimation(estimation)], sizes, other_gradients(estimation, request))
    return found or [Finding("biased", "the mean is not the derivative, and no known mistake explains it")]


def inputs_of_estimation(estimation: Estimation) -> Iterator[tuple[str, tuple[int, ...], slice]]:
    yield from zip(estimation.claim.wrt, (x.shape for x in estimation.flat.arrays), estimation.groups, strict=True)


def of_sample_pairs(estimation: Estimation) -> Finding:
    """Return how the mean depends on the number of samples of a call."""
    pairs = estimation.pairs
    assert pairs is not None
    multiple = usual_multiple(
        Means(pairs.claimed.value, pairs.truth.value, pairs.error, pairs.truth.doubt, pairs.wrong), {}
    )
    mean = f"the mean is {multiple[1]}" if multiple else "the mean is not the derivative"
    why = "the samples of a call depend on each other, such as through a baseline that includes the sample itself"
    return Finding("dependent samples", f"in calls with n = 2, {mean}: {why}")


def other_gradients(estimation: Estimation, request: Request) -> Iterator[tuple[str, GradientSource]]:
    """Yield the gradients of other functions of the file, and of the other direction of a divergence."""
    claim, estimator = estimation.claim, estimation.estimator
    functions = [f for f in (*claim.functions, estimator.function) if inspect.isfunction(f)]
    scopes = [f.__globals__.values() for f in functions]
    files = {f.__code__.co_filename for f in functions}
    found = {f: None for scope in scopes for f in scope if inspect.isfunction(f) and f.__code__.co_filename in files}
    ranked = {f: rank for f in found if f not in functions and (rank := rank_of(f, list(estimator.arguments.tree)))}
    for f in sorted(ranked, key=lambda f: ranked[f])[:MOST_FUNCTIONS]:
        yield f.__name__, functools.partial(gradient_of_other, f, estimation, request)
    if isinstance(estimation.truth, FromValues) and functions:
        value = lambda at: float(claim.value({**claim.at, **at}).reshape(()))  # noqa: E731
        constants = numbers_in_code(functions[0])
        for words, other in other_directions(functions[0], value, claim.at, claim.wrt, constants):
            yield words, functools.partial(gradient_of_values, other, estimation)


def rank_of(function: Callable, names: Sequence[str]) -> int:
    """Return 1 for a function that takes these inputs by name, 2 if it also takes random numbers, 0 for any other."""
    with contextlib.suppress(GradcliError):
        roles = roles_of(function, names, "")
        if roles.parameters is not None and list(roles.inputs) == list(names):
            return 2 if roles.random or roles.number else 1
    return 0


def gradient_of_other(f: Callable, estimation: Estimation, request: Request) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the gradient of a function of the file and its error; None if it is not a number at this point."""
    with contextlib.suppress(GradcliError):
        at, wrt = estimation.estimator.arguments.tree, estimation.claim.wrt
        claim = open_objective(f, at, request._replace(wrt=wrt), engine_of(f, None), f.__name__)
        flat, objective = Flat(claim), getattr(claim, "objective", None)
        if flat.f0.size != 1 or not np.isfinite(flat.f0).all():
            return None
        if objective is None:
            return numeric_derivative(flat)
        if objective.is_loop or not may_explain(objective, flat, estimation.looks[-1], request.seed):
            return None
        samples = FromSamples(objective, flat, seeds_of(request.seed, OTHER_STREAM), OTHER_DRAWS, estimation.groups)
        samples.draw(estimation.looks[-1].claimed)
        mean = samples.mean
        return mean.value, MEAN_SIGMAS * mean.error + mean.doubt
    return None


def may_explain(objective: RandomFunction, flat: Flat, look: Look, seed: int) -> bool:
    """Report whether the means may be the gradient of a random function, by few samples along one direction.

    The means have their largest product with this direction. A full comparison takes many times more samples.
    """
    direction = np.where(look.claimed.value < 0, -1.0, 1.0) * flat.scales
    ends = [
        flat.arrays_at(flat.x + t * direction) for t in (-SCREEN_STEP, SCREEN_STEP, -SCREEN_STEP / 2, SCREEN_STEP / 2)
    ]
    low, high, near_low, near_high = (objective.samples(at, seed, SCREENED)[:, 0] for at in ends)
    slopes = (near_high - near_low) / SCREEN_STEP
    off = slopes.mean() - look.claimed.value @ direction
    error = np.hypot(slopes.std() / np.sqrt(SCREENED), np.linalg.norm(look.claimed.error * direction))
    curved = abs(slopes.mean() - ((high - low) / (2 * SCREEN_STEP)).mean())
    return not abs(off) > SCREEN_SIGMAS * (error + curved)


def gradient_of_values(f: Callable, estimation: Estimation) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the gradient of a function of inputs by name, and its error."""
    at, wrt = estimation.claim.at, estimation.claim.wrt
    with contextlib.suppress(CallError):
        return numeric_derivative(Flat(HandWritten(lambda *xs: f(dict(zip(at, xs, strict=True))), at, wrt=wrt)))
    return None
