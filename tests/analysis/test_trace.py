"""What a trace says takes time in proportion to what it says."""

from gradcli.analysis import trace
from gradcli.program.target import Target, load_program
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
