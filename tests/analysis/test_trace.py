"""Traces describe each rule once, and tensors have a trace and a graph."""

import numpy as np
import pytest

import gradcli
from gradcli.analysis import trace
from gradcli.claims.open import load_program
from gradcli.program.target import Target
from gradcli.request import Request


def test_the_rule_of_a_list_is_described_once(monkeypatch):
    described = []
    describe = trace.describe_rule
    monkeypatch.setattr(trace, "describe_rule", lambda *args: described.append(args[1].name()) or describe(*args))
    program = load_program(Target(f"sum([{', '.join(f'x*{k}' for k in range(50))}])", inline=True))
    (run,) = trace.trace_program(program, {"x": 2.0}, Request()).passes
    assert sorted(described) == ["StackBackward0", "SumBackward0"]
    (stack,) = (step for step in run.steps if step.op == "StackBackward0")
    assert len(stack.flows) == 50 and len({flow.formula for flow in stack.flows}) == 1


def test_graph_and_trace_of_a_tensor():
    x = gradcli.tensor([1.0, 2.0], requires_grad=True)
    w = gradcli.tensor(3.0, requires_grad=True)
    y = (x * w).sin().sum()
    drawn = gradcli.graph(y)
    assert [(node.label, node.formula) for node in drawn.nodes] == [
        ("x", ""), ("w", ""), ("v1", "x * w"), ("v2", "sin(v1)"), ("y", "sum(v2)"),
    ]  # fmt: skip
    assert drawn._repr_svg_().startswith("<svg ")
    assert "x * w" in repr(drawn)
    x.grad = gradcli.tensor([5.0, 5.0])
    (run,) = gradcli.trace(y).passes
    assert [step.label for step in run.steps] == ["y", "v2", "v1", "w", "x"]
    assert run.steps[1].flows[0].formula == "cos(v1)"
    assert w.grad is None
    assert x.grad.tolist() == [5.0, 5.0]
    assert "<iframe srcdoc=" in gradcli.trace(y)._repr_html_()
    y.backward()
    assert x.grad.tolist() == pytest.approx([5 + 3 * np.cos(3), 5 + 3 * np.cos(6)])
    assert gradcli.trace(gradcli.ones(2, 2)).item() == 2
    with pytest.raises(RuntimeError, match="has no graph"):
        gradcli.graph(y.detach())
