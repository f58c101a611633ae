"""Graphs and backward's steps as JSON."""

from __future__ import annotations

from typing import Any

from ..results.graphs import Graph, GraphNode, Step, Trace
from . import Style, renders
from .json_document import document, optional


@renders(form="json")
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


@renders(form="json")
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
            {"name": h.name, "before": optional(h.before, style), "after": optional(h.after, style)}
            for h in step.hooks
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
