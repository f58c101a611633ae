"""One JSON document per command, of schema gradcli/1."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .. import __version__
from ..errors import GradcliError, visible
from . import Style, renders
from .check_results import (
    SCHEMA,
    CheckList,
    CheckReport,
    CheckSummary,
    Comparison,
    Evidence,
    InputCheck,
    Lock,
    Mutation,
    Taylor,
    Verification,
    document_of_lines,
)
from .checks import ElementRow, rows_of
from .formula_results import Formulas, LongNumbers, Precision
from .graph_results import Graph, GraphNode, Step, Trace
from .numbers import agreement_json
from .results import Curve, Gradients, Hessian, Jacobian, Operations, Products, Surface, Swept, Value


def as_plain_data(x: Any, precision: int | None = None) -> Any:
    """Return an array as nested lists, 0-d ones as a number; nan and the infinities as strings."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and precision is None and np.isfinite(x).all():
        return x.tolist()
    if isinstance(x, np.ndarray):
        return [as_plain_data(item, precision) for item in x] if x.ndim else as_plain_data(x[()], precision)
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, complex | np.complexfloating):
        return {"re": as_plain_data(float(x.real), precision), "im": as_plain_data(float(x.imag), precision)}
    if isinstance(x, np.integer):
        return int(x)
    value = float(str(x)) if isinstance(x, np.float32) else float(x)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if precision is None else float(f"{value:.{precision}g}")


def document(style: Style, target: str, **parts: Any) -> str:
    return json_line({**head(style, target), **parts})


def head(style: Style, target: str) -> dict[str, Any]:
    """Return the keys that all documents begin with."""
    return {"schema": SCHEMA, "command": style.command, "target": target, "version": __version__}


def present(**parts: Any) -> dict[str, Any]:
    """Return the parts that there are: neither None nor empty."""
    return {name: part for name, part in parts.items() if part not in (None, "", [], {})}


def json_line(document: dict[str, Any]) -> str:
    return visible(json.dumps(document, ensure_ascii=False, allow_nan=False)) + "\n"


def optional(x: np.ndarray | None, style: Style) -> Any:
    return None if x is None else as_plain_data(x, style.precision)


@renders("json")
def render_graph(result: Graph, style: Style) -> str:
    nodes = [graph_node(node, style, result.values) for node in result.nodes]
    return document(style, result.target, outputs=list(result.outputs), nodes=nodes)


def graph_node(node: GraphNode, style: Style, values: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": node.number,
        "kind": node.kind,
        "op": node.op,
        "name": node.name,
        "formula": node.formula,
        "shape": None if node.shape is None else list(node.shape),
        "dtype": node.dtype,
        "inputs": list(node.inputs),
        "file": node.file,
        "line": node.line,
        "hooks": list(node.hooks),
        "scope": list(node.scope),
    }
    if node.operations > 1:
        document["operations"] = node.operations
    if values:
        document["value"] = optional(node.value, style)
        document["grad"] = optional(node.grad, style)
    return document


@renders("json")
def render_trace(result: Trace, style: Style) -> str:
    passes = [
        {
            "pass": i,
            "kind": run.kind,
            "output": run.output,
            "line": run.line,
            "forward": [
                {"label": c.label, "formula": c.formula, "value": optional(c.value, style)} for c in run.forward
            ],
            "steps": [trace_step(step, style) for step in run.steps],
        }
        for i, run in enumerate(result.passes, result.first)
    ]
    return document(style, result.target, passes=passes)


def trace_step(step: Step, style: Style) -> dict[str, Any]:
    document: dict[str, Any] = {
        "step": step.number,
        "op": step.op,
        "label": step.label,
        "formula": step.formula,
        "line": step.line,
        "incoming": optional(step.incoming, style),
        "hooks": [
            {"name": h.name, "before": optional(h.before, style), "after": optional(h.after, style)} for h in step.hooks
        ],
    }
    if step.leaf:
        document["grad"] = {"before": optional(step.before, style), "after": optional(step.after, style)}
        return document
    document["sends"] = [
        {
            "to": flow.to,
            "derivative": flow.slope,
            "rule": flow.formula,
            "local": optional(flow.local, style),
            "grad": optional(flow.grad, style),
            "total": optional(flow.grad if flow.total is None else flow.total, style),
        }
        for flow in step.flows
    ]
    return document


@renders("json")
def render_gradients(result: Gradients, style: Style) -> str:
    more = present(
        output=result.output,
        retained={name: optional(g, style) for name, g in result.retained.items()},
        check=first_check(result),
        symbolic=agreements(result),
    )
    slopes = {item.name: optional(item.grad, style) for item in result.inputs}
    return document(style, result.target, value=optional(result.value, style), grad=slopes, **more)


def first_check(result: Any) -> dict[str, Any] | None:
    return next((check_part(report) for report in getattr(result, "witnesses", ())), None)


def agreements(result: Any) -> dict[str, Any]:
    return {item.name: agreement_json(item) for item in getattr(result, "symbolic", ())}


@renders("json")
def render_value(result: Value, style: Style) -> str:
    value = as_plain_data(result.value, style.precision)
    return document(style, result.target, value=value, **present(output=result.output))


def derivative(result: Any, style: Style, **parts: Any) -> str:
    """Return a document with the value of the output, its name, and the inputs that it does not depend on."""
    more = present(
        output=result.output, unused=list(result.unused), symbolic=agreements(result), check=first_check(result)
    )
    return document(style, result.target, value=as_plain_data(result.value, style.precision), **parts, **more)


@renders("json")
def render_jacobian(result: Jacobian, style: Style) -> str:
    """Return value and blocks; a sparse block is {shape, row, col, data}."""
    blocks: dict[str, Any] = {}
    for item in result.blocks:
        if item.block is not None:
            blocks[item.name] = as_plain_data(item.block, style.precision)
            continue
        entries = item.sparse.tocoo()
        blocks[item.name] = {
            "shape": list(entries.shape),
            "row": entries.row.tolist(),
            "col": entries.col.tolist(),
            "data": as_plain_data(entries.data, style.precision),
        }
    return derivative(result, style, jacobian=blocks, **present(products=result.products))


@renders("json")
def render_hessian(result: Hessian, style: Style) -> str:
    blocks = {
        name: {other: as_plain_data(block, style.precision) for other, block in row.items()}
        for name, row in result.blocks.items()
    }
    return derivative(result, style, hessian=blocks)


@renders("json")
def render_products(result: Products, style: Style) -> str:
    """Return value and products: by input for vjp and hvp, one array for jvp."""
    parts = {name: as_plain_data(x, style.precision) for name, x in result.parts.items()}
    product = next(iter(parts.values())) if result.kind == "jvp" else parts
    return derivative(result, style, **{result.kind: product})


@renders("json")
def render_operations(result: Operations, style: Style) -> str:
    entries = [{**op._asdict(), "derivatives": dict(op.derivatives)} for op in result.entries]
    return document(style, "", ops=entries)


def input_part(item: InputCheck) -> dict[str, Any]:
    part: dict[str, Any] = {
        "verdict": item.verdict,
        "max_abs_error": as_plain_data(np.float64(item.max_abs_error)),
        "max_rel_error": as_plain_data(np.float64(item.max_rel_error)),
        "digits": round(item.digits, 2),
        "resolution": None if item.resolution is None else as_plain_data(np.float64(item.resolution)),
        "not_decidable": item.hidden,
        "worst": None,
    }
    if item.elements is not None:
        part["elements"] = [element_part(row) for row in rows_of(item)]
    worst = item.worst
    if worst is not None:
        part["worst"] = {
            "output": list(worst.output),
            "index": list(worst.place),
            "analytic": as_plain_data(worst.analytic),
            "numeric": as_plain_data(worst.numeric),
            "numeric_error": as_plain_data(np.float64(worst.numeric_error)),
        }
        part["worst"] |= present(output_part=worst.output_part, part=worst.part)
        if worst.sides is not None:
            part["worst"]["one_sided"] = [as_plain_data(np.float64(x)) for x in worst.sides]
    return part


def element_part(row: ElementRow) -> dict[str, Any]:
    values = {"analytic": row.claimed, "numeric": row.numeric, "numeric_error": row.error}
    return {
        "output": list(row.output),
        "index": list(row.place),
        **{key: as_plain_data(np.float64(x)) for key, x in values.items()},
        **present(output_part=row.output_part, part=row.part),
        "verdict": row.verdict,
    }


def evidence_part(evidence: Evidence) -> dict[str, Any]:
    part: dict[str, Any] = {"elements": evidence.elements, "closely": evidence.closely, "points": evidence.points}
    if evidence.directions:
        words = ("analytic", "numeric", "numeric_error")
        part["directions"] = [
            dict(zip(words, (as_plain_data(np.float64(x)) for x in row), strict=True)) for row in evidence.directions
        ]
    if evidence.needed is not None:
        part["calls_needed"] = evidence.needed
    return part


def taylor_part(taylor: Taylor) -> dict[str, Any]:
    rows = [row._asdict() | {"remainder": as_plain_data(np.float64(row.remainder))} for row in taylor.rows]
    return {"rate": taylor.rate, "rows": rows}


def check_part(check: CheckReport) -> dict[str, Any]:
    point = check.found and {
        "at": {name: as_plain_data(np.asarray(x)) for name, x in check.found.at.items()},
        "line": check.found.line,
    }
    return {
        "name": check.name,
        "file": check.file,
        "line": check.line,
        "verdict": check.verdict,
        "seconds": round(check.seconds, 4),
        "inputs": {item.name: input_part(item) for item in check.inputs},
        "diagnosis": [finding._asdict() for finding in check.diagnosis],
        "message": check.message,
        "notes": list(check.notes),
        "replay": check.replay,
        "blame": check.blame,
        "trace": check.trace or None,
        "hint": check.hint,
        "evidence": None if check.evidence is None else evidence_part(check.evidence),
        "witnesses": {name: round(digits, 2) for name, digits in check.witnesses},
        **({} if check.taylor is None else {"taylor": taylor_part(check.taylor)}),
        **({"found": point} if point else {}),
    }


@renders("json")
def render_checksummary(result: CheckSummary, style: Style) -> str:
    words = {"passed": "pass", "failed": "fail", "inconclusive": "inconclusive", "errors": "error"}
    summary = {word: result.count(verdict) for word, verdict in words.items()}
    summary["seconds"] = round(result.seconds, 4)  # type: ignore[assignment]
    return document(style, result.target, checks=[check_part(c) for c in result.checks], summary=summary)


@renders("json")
def render_checklist(result: CheckList, style: Style) -> str:
    checks = [{"name": name, "file": file, "line": line} for name, file, line in result.checks]
    return document(style, result.target, checks=checks)


@renders("json")
def render_mutation(result: Mutation, style: Style) -> str:
    keys = ("name", "line", "relative_error", "killed", "timed_out", "seconds", "test")
    parts = ("score", "smallest_noticed", "at_least", "equal", "calls", "seconds")
    mutants = [{key: getattr(run, key) for key in keys} for run in result.mutants]
    return document(style, result.target, mutants=mutants, **{key: getattr(result, key) for key in parts})


@renders("json")
def render_lock(result: Lock, style: Style) -> str:
    """Return the content of a lock file: a line per check."""
    more = {"settings": result.settings, "libraries": result.libraries}
    return document_of_lines({**head(style, result.target), **more}, "checks", result.entries)


def comparison_part(check: Comparison) -> dict[str, Any]:
    worst = check.worst and {
        "input": check.worst.input,
        "index": list(check.worst.place),
        **{key: as_plain_data(np.asarray(getattr(check.worst, key))) for key in check.worst._fields[2:]},
    }
    return {**check._asdict(), "worst": worst}


@renders("json")
def render_verification(result: Verification, style: Style) -> str:
    """Return what became of every check, and the versions that differ."""
    checks = [comparison_part(check) for check in result.checks]
    versions = {name: {"locked": old, "now": new} for name, old, new in result.libraries}
    return document(style, result.target, checks=checks, versions=versions)


def error(problem: GradcliError) -> str:
    span = problem.span
    keys = {"start": "start", "end": "end", "line": "line", "column": "column", "text": "text", "file": "origin"}
    parts = {
        "kind": problem.kind,
        "message": problem.message,
        "span": span and {key: getattr(span, name) for key, name in keys.items()},
        "hint": problem.hint,
        "exit": problem.exit_code,
    }
    return json_line({"error": parts})


@renders("json")
def render_longnumbers(result: LongNumbers, style: Style) -> str:
    """Return rounded numbers where they always are, and their digits as strings."""
    digits = {"n": result.digits, "value": None if result.value is None else result.value.tolist()}
    parts: dict[str, Any] = {name: round_digits(x) for name, x in result.parts.items()}
    texts: dict[str, Any] = {name: None if x is None else x.tolist() for name, x in result.parts.items()}
    numbers = {"value": round_digits(result.value), "grad": parts, **present(output=result.output)}
    return document(style, result.target, **numbers, digits={**digits, "grad": texts})


def round_digits(x: np.ndarray | None) -> Any:
    if x is None:
        return None
    return as_plain_data(np.vectorize(lambda text: complex(text) if "j" in text else float(text), otypes=[object])(x))


@renders("json")
def render_formulas(result: Formulas, style: Style) -> str:
    def one(d: Any) -> dict[str, Any]:
        formula = {"name": d.name, "text": d.formula.text, "latex": d.formula.latex}
        return formula if d.value is None else {**formula, "at": d.value}

    matrix = result.matrix and {
        **result.matrix._asdict(),
        "entries": [[d.formula.text for d in row] for row in result.matrix.entries],
    }
    steps = [{"text": s.text, "latex": s.latex} for s in result.steps]
    return document(
        style,
        result.target,
        order=result.order,
        value=[one(d) for d in result.value],
        derivatives=[one(d) for d in result.derivatives],
        **present(output=result.output, matrix=matrix, steps=steps),
    )


@renders("json")
def render_swept(result: Swept, style: Style) -> str:
    parts = {**result._asdict(), "seconds": round(result.seconds, 4)}
    return document(style, parts.pop("target"), **parts)


@renders("json")
def render_curve(result: Curve, style: Style) -> str:
    return plot_document(result, style, {result.name: result.x}, {result.name: result.derivative})


@renders("json")
def render_surface(result: Surface, style: Style) -> str:
    """Return the points of both axes; value and derivatives have a row for each point of the first."""
    over = dict(zip(result.names, (result.x, result.y), strict=True))
    return plot_document(result, style, over, dict(zip(result.names, result.slopes, strict=True)))


def plot_document(result: Any, style: Style, over: dict[str, Any], slopes: dict[str, Any]) -> str:
    numbers = {
        "over": {name: as_plain_data(x, style.precision) for name, x in over.items()},
        "value": as_plain_data(result.value, style.precision),
        "derivative": {name: as_plain_data(x, style.precision) for name, x in slopes.items()},
    }
    return document(style, result.target, **numbers, **present(output=result.output))


@renders("json")
def render_precision(result: Precision, style: Style) -> str:
    return document(
        style,
        result.target,
        over={result.name: as_plain_data(result.x, style.precision)},
        full=result.full,
        value=as_plain_data(result.value, style.precision),
        gradient={name: as_plain_data(x, style.precision) for name, x in result.gradients.items()},
        losses=[
            {
                **loss._asdict(),
                "parts": [as_plain_data(x) for x in loss.parts],
                "ways": list(loss.ways),
                "result": as_plain_data(loss.result),
                "right": as_plain_data(loss.right),
            }
            for loss in result.losses
        ],
        **present(output=result.output),
    )
