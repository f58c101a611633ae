"""Check one step of training: the gradient that an optimizer gets, against that of the loss declared for the step.

This runs inside the user's command. An adapter (`claims.adapters.torch_step`, `jax_step`) evaluates the loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..claims.declared import NotDeclaredError
from ..errors import GradcliError, count_of, describe_error
from ..results.checks import Finding
from ..results.inputs import InputCheck
from ..results.steps import Problem, StepReport, StepWeight
from ..user.tracebacks import users_path, users_trace
from .declared_loss import find_loss, hint_on_call
from .step_causes import explain_whole
from .step_evidence import Named, StepEvidence, list_of_names
from .step_fit import ROUNDING_MARGIN, GradientComparison, clipped_norms, join_vectors, vector_length
from .step_processes import gather_shares

COARSEST_PASS = 0.05
"""A pass with a coarser resolution is inconclusive: bfloat16 reaches about 0.01, and a wrong weight is larger."""


def check_training_step(moment: Any, settings: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a key and the report on a step, or the problem that prevents one.

    If several processes train together, the first one checks for all, and the others return None.
    """
    start = time.monotonic()
    progress = moment.progress
    key = ("step", progress.number, moment.step, moment.turn)
    place = {
        "file": users_path(moment.file), "line": moment.line, "step": moment.step, "turn": moment.turn,
        "optimizer": progress.title, "of": progress.number,
    }  # fmt: skip
    file, name = settings["loss"]
    loss = find_loss(file, name)
    if loss is None:
        message = f"{users_path(file)} did not define '{name}' before step {moment.step}"
        return key, Problem(message, "define it above the training loop", **place)
    step = None
    try:
        step = moment.open(loss)
        if moment.world > 1 and not gather_shares(step, moment, settings["folder"]):
            return None
        found = report_on_step(step, moment, settings)
    except NotDeclaredError:
        return ("skipped", *key[1:]), name
    except GradcliError as error:
        return key, Problem(error.message, error.hint, recorded(step, moment), **place)
    except Exception as error:
        message = f"{name} raised {describe_error(error)}"
        hint = hint_on_call(loss, name, error)
        return key, Problem(message, hint, recorded(step, moment), users_trace(error), **place)
    seconds = time.monotonic() - start
    return key, StepReport(name, verdict=found.pop("verdict"), seconds=seconds, **place, **found)


def recorded(step: Any, moment: Any) -> str:
    """Describe what was recorded for a step, for an error."""
    if step is None:
        return f"recorded at step {moment.step}: {len(moment.calls)} calls of modules"
    return f"recorded at step {moment.step}: {step.description()}; the model is {type(step.model).__name__}"


def report_on_step(step: Any, moment: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the report on a step."""
    if not len(step.batches):
        raise_if_not_declared(step)
        if step.repeats:
            return repeated_step()
        hint = "a batch is what a loader yielded, or what the model was called with, since the step before"
        raise GradcliError(f"no batch was used before step {moment.step}", hint=hint)
    computed = step.declared(wide=False)  # first, since it notes the types of random numbers
    exact = step.declared()
    names = list(step.names)
    compared = GradientComparison(
        join_vectors(step.observed, names),
        join_vectors(exact.total, names),
        join_vectors(computed.total, names),
        tuple(len(step.observed[name]) for name in names),
    )
    verdict, message, named = decide_step(step, compared, exact, computed, settings)
    return {
        "verdict": verdict,
        "message": message,
        "diagnosis": findings_of(named),
        "weights": () if named is None else tuple(StepWeight(*row) for row in named.weights),
        "notes": notes_on_step(step, compared, exact),
        "inputs": tuple(parameter_results(step, compared, verdict)),
        "batches": len(step.batches),
        "resolution_of_step": compared.resolution,
        "not_updated": step.not_updated,
    }


def repeated_step() -> dict[str, Any]:
    """Return the fields of the report on a step that takes the gradient of the step before again."""
    text = "the optimizer takes another step with the gradient of the step before, without a backward pass in between"
    return {"verdict": "fail", "message": text, "diagnosis": findings_of(Named("stale-weights", text))}


def findings_of(named: Named | None) -> tuple[Finding, ...]:
    return () if named is None else (Finding(named.rule.replace("-", " "), named.text),)


def raise_if_not_declared(step: Any) -> None:
    """Raise NotDeclaredError if the loss says, without any batch, that it does not cover a step."""
    try:
        found = step.loss(step.model, [])
    except Exception:
        return
    if found is None:
        raise NotDeclaredError


def decide_step(
    step: Any, compared: GradientComparison, exact: Any, computed: Any, settings: Mapping[str, Any]
) -> tuple[str, str, Named | None]:
    """Return the verdict on a step, its reason, and the cause of a fail."""
    limit = settings.get("clip")
    if not np.isfinite(compared.exact).all():
        return "inconclusive", "the gradient of the declared loss is nan or infinite here", None
    if np.isfinite(compared.observed).all() and not compared.wrong and not step.unequal:
        if compared.resolution > COARSEST_PASS:
            hidden = f"rounding hides relative errors below {compared.resolution:.1g}"
            return "inconclusive", not_replayed(step, compared, exact, computed) or hidden, None
        if limit and vector_length(compared.exact) > limit and not is_clipped(compared, limit):
            text = f"not clipped: the norm is {vector_length(compared.observed):.4g}, the limit {limit:g}"
            return "fail", text, Named("not-clipped", text)
        return "pass", "", None
    if limit and is_clipped(compared, limit):
        return "pass", f"clipped from norm {vector_length(compared.exact):.4g} to {limit:g}", None
    evidence = StepEvidence(step, compared, exact.gradients)
    if unequal := step.unequal:
        text = f"the processes hold different gradients of {', '.join(unequal[:3])}: they were not averaged"
        return "fail", text, Named("ranks-differ", text)
    if reason := not_replayed(step, compared, exact, computed):
        named = explain_whole(evidence) if np.isfinite(compared.observed).all() else None
        return ("fail", named.text, named) if named is not None else ("inconclusive", reason, None)
    named = explain_whole(evidence)
    if named is None:
        text = unexplained_parameters(compared, list(step.names))
        return "fail", text, Named("other-gradient", text)
    return "fail", named.text, named


def is_clipped(compared: GradientComparison, limit: float) -> bool:
    size = vector_length(compared.exact)
    return size > limit and any(
        not compared.differing(clipped / size * compared.exact) for clipped in clipped_norms(size, limit)
    )


def not_replayed(step: Any, compared: GradientComparison, exact: Any, computed: Any) -> str:
    """Return the reason why a loss cannot be evaluated as in the run, or ""."""
    names = list(step.names)
    again = join_vectors(step.declared().total, names)
    tolerance = ROUNDING_MARGIN * vector_length(compared.least)
    if vector_length(again - compared.exact) > tolerance:
        return "the declared loss changes from call to call: it draws random numbers from a generator of its own"
    fresh = join_vectors(step.declared(replayed=False).total, names)
    if computed.replayed or vector_length(fresh - compared.exact) <= tolerance:
        return ""
    if computed.replayed is False:
        return "the model gives different outputs for these batches now: its random numbers could not be replayed"
    return "the loss is random, and its calls of the model could not be matched with those of the run"


def unexplained_parameters(compared: GradientComparison, names: list[str]) -> str:
    sizes = vector_length(compared.observed) * vector_length(compared.exact)
    cosine = float(compared.observed @ compared.exact / sizes) if sizes else 0.0
    wrong = [names[k] for k in compared.wrong]
    shown = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    ratio = (
        vector_length(compared.observed) / vector_length(compared.exact)
        if vector_length(compared.exact)
        else float("inf")
    )
    return (
        f"not the gradient of the declared loss, and no known mistake explains it: the gradients of {len(wrong)} of "
        f"{len(names)} parameters differ ({shown}); the cosine is {cosine:.4f}, the ratio of the norms {ratio:.4g}"
    )


def notes_on_step(step: Any, compared: GradientComparison, exact: Any) -> tuple[str, ...]:
    notes = []
    if exact.narrow:
        notes.append(f"no float64 for {', '.join(exact.narrow)}: computed in float32")
    if step.frozen:
        notes.append(f"{list_of_names(step.frozen)}: frozen (requires_grad is False), not checked")
    if step.outside:
        count = count_of(len(step.outside), "parameter")
        belong = "belongs" if len(step.outside) == 1 else "belong"
        notes.append(f"{count} of the optimizer {belong} to no model that ran: {list_of_names(step.outside)}")
    hidden = [list(step.names)[k] for k in compared.negligible]
    shown = [name for name in hidden if name not in (*step.frozen, *step.outside)]
    if shown and len(hidden) < len(compared.sizes):
        notes.append(f"the gradient of {list_of_names(shown)} is smaller than its rounding error")
    return tuple(notes)


def parameter_results(step: Any, compared: GradientComparison, verdict: str) -> Iterator[InputCheck]:
    """Yield the result for each parameter."""
    for k, (name, block) in enumerate(zip(step.names, compared.blocks, strict=True)):
        g, h, tolerance = compared.observed[block], compared.exact[block], float(compared.tolerances[k])
        size, off = vector_length(h), vector_length(g - h)
        right = k not in compared.wrong
        state = "pass" if right else "fail"
        if verdict != "fail":
            state = verdict
        relative = off / size if size else 0.0 if off == 0 else float("inf")
        digits = float(np.clip(-np.log10(max(relative, 1e-16)), 0.0, 16.0)) if np.isfinite(relative) else 0.0
        seen = tolerance / size if size > tolerance else None
        largest = float(np.abs(g - h).max(initial=0.0))
        yield InputCheck(name, step.shapes[name], state, largest, relative, digits, seen, None)
