"""Open an objective and an estimator of its gradient, whichever framework they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import GradcliError
from ..program.arguments import Arguments
from ..request import Request
from .adapters.framework import framework_call
from .claim import Arrays, CallError, Claim, WrongShapeError, callable_name
from .hand_written import claim_by_hand
from .random_function import AsGradients, AsValues, RandomFunction, random_function, roles_of

VALUE_SAMPLES, VALUE_CALLS = 4096, 256  # samples in the value of an objective, and if each takes a call: a choice
RANDOM_TRIES = 8  # calls that show whether a function without random numbers uses some nevertheless: a choice


class SampledObjective(Claim):
    """An objective that is sampled. Its value is the mean of some samples, with the same random numbers everywhere."""

    def __init__(self, objective: RandomFunction, seed: int):
        super().__init__(objective.title, objective.arguments.arrays)
        self.objective, self.functions = objective, (objective.function,)
        self.seed, self.count = seed, VALUE_CALLS if objective.is_loop else VALUE_SAMPLES

    def evaluate(self, arrays: Arrays) -> Any:
        self.budget.made += 1
        leaves = {name: arrays[name] for name in self.wrt}
        return self.objective.samples(leaves, self.seed % 2**32, self.count).mean()


def open_objective(f: Callable, at: Mapping[str, Any], request: Request, engine: str | None, title: str) -> Claim:
    """Return the objective as a claim without a derivative; a SampledObjective if it is random. Raises CallError."""
    arguments = Arguments(at, request.wrt)
    if not arguments.arrays:
        raise CallError(f"{title} has no inputs of floating-point numbers, so there is nothing to check")
    if complex_names := [name for name, x in arguments.arrays.items() if x.dtype.kind == "c"]:
        raise CallError(f"'{complex_names[0]}' is complex; the inputs of an estimator must be real")
    try:
        roles = roles_of(f, list(arguments.tree), title)
        values = random_function(f, arguments, AsValues(title), title=title)
    except GradcliError as error:
        plain = isinstance(error, CallError) and not isinstance(error, WrongShapeError)
        raise error if plain else CallError(error.message, error.hint) from error
    if roles.random or roles.number or uses_random_numbers(values):
        return SampledObjective(values, request.seed)
    names = list(arguments.arrays)
    return claim_by_hand(f, at, {}, names) if engine is None else framework_call(engine, f, at, title, wrt=names)


def uses_random_numbers(function: RandomFunction) -> bool:
    """Report whether a function that takes no random numbers uses some nevertheless."""
    first, *others = (function.samples(function.arguments.arrays, seed, 1)[0, 0] for seed in range(RANDOM_TRIES))
    return any(abs(x - first) > 1e-6 * abs(first) for x in others)


def open_estimator(f: Callable, claim: Claim, at: Mapping[str, Any], is_loss: bool) -> RandomFunction:
    """Return the estimator. Raises CallError. is_loss: a framework computes gradients of its values."""
    arguments, title = Arguments(at, claim.wrt), callable_name(f)
    try:
        return random_function(f, arguments, AsGradients(title, arguments, claim.wrt), is_loss, title)
    except GradcliError as error:
        raise error if isinstance(error, CallError) else CallError(error.message, error.hint) from error
