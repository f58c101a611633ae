"""What the processes of a command report on steps: results, skipped steps, and errors that say what was seen."""

from dataclasses import replace

from gradcli.errors import GradcliError
from gradcli.guard.step_summary import StepOptions, summarize
from gradcli.results.checks import Finding
from gradcli.results.inputs import InputCheck
from gradcli.results.steps import Problem, StepReport, StepWeight

OPTIONS = StepOptions(("train.py", "full_loss"))


def report(step, verdict, of=0, rule="", turn=None, resolution=1e-6):
    diagnosis = (Finding(rule, f"text of step {step}"),) if rule else ()
    return StepReport(
        "full_loss", "train.py", 9, verdict, 0.5, step=step, of=of, optimizer="SGD" if not of else f"SGD {of + 1}",
        turn=turn, diagnosis=diagnosis, message=diagnosis[0].text if rule else "", resolution_of_step=resolution,
        weights=(StepWeight("batch 1", 0.5, 1.0),),
    )  # fmt: skip


def taken(**steps):
    return {("taken", 1): {"steps": steps, "fetched": 2, "calls": 30, "trouble": ""}}


def reports(*found):
    return {("step", r.of, r.step, r.turn): r for r in found}


def summary_of(*processes, options=OPTIONS, status=0):
    return summarize(options, "python train.py", processes, (), status)


def test_steps_with_the_same_result_are_joined():
    found = reports(report(4, "pass", resolution=2e-6), report(1, "pass"), report(2, "fail", rule="x"))
    summary, problem = summary_of(found | taken(SGD=5))
    assert problem is None
    assert [(r.verdict, r.steps, r.resolution) for r in summary.reports] == [
        ("pass", ("1", "4"), 2e-6),
        ("fail", ("2",), 1e-6),
    ]
    assert summary.line == "1 of 3 checked steps wrong; SGD took 5 steps; 1.5 s of checking"
    assert summary.reports[0].where == "steps 1 and 4 of SGD"


def test_joined_steps_say_for_which_of_them_a_number_holds():
    found = reports(report(1, "fail", rule="x"), report(2, "fail", rule="x"), report(4, "fail", rule="y"))
    summary, _ = summary_of(found)
    assert [(r.steps, r.diagnosis[0].text) for r in summary.reports] == [
        (("1", "2"), "text of step 1 (at step 1)"),
        (("4",), "text of step 4"),
    ]
    same = [replace(report(k, "fail", rule="x"), message="same", diagnosis=(Finding("x", "same"),)) for k in (1, 2)]
    summary, _ = summary_of(reports(*same))
    assert [(r.steps, r.message, r.diagnosis[0].text) for r in summary.reports] == [(("1", "2"), "same", "same")]


def test_joined_steps_say_for_which_of_them_the_wrong_parameters_are_counted():
    def with_parameters(step, verdicts):
        inputs = tuple(
            InputCheck(name, (2,), v, 0.0, 0.0, 6.0, None, None) for name, v in zip("abc", verdicts, strict=True)
        )
        return replace(report(step, "fail", rule="x"), inputs=inputs)

    failed = ["fail", "pass", "pass"]
    (joined,) = summary_of(reports(with_parameters(1, failed), with_parameters(2, ["fail", "fail", "pass"])))[0].reports
    assert joined.differing == "1 of 3 parameters have a wrong gradient (at step 1)"
    (joined,) = summary_of(reports(with_parameters(1, failed), with_parameters(2, failed)))[0].reports
    assert joined.differing == "1 of 3 parameters have a wrong gradient"


def test_steps_that_pass_clipped_say_at_which_step_the_norm_is_clipped():
    clipped = replace(report(2, "pass", resolution=1e-7), message="clipped from norm 5 to 1")
    (joined,) = summary_of(reports(report(1, "pass"), clipped))[0].reports
    assert (joined.message, joined.resolution) == ("clipped from norm 5 to 1 (at step 2)", 1e-6)


def test_optimizers_and_closures_are_told_apart():
    found = reports(report(1, "pass", of=1), report(1, "pass", turn=0), report(1, "pass", turn=1))
    summary, _ = summary_of(found)
    assert [r.where for r in summary.reports] == ["steps 1 and 1.2 of SGD", "step 1 of SGD 2"]


def test_a_step_whose_check_was_stopped_is_inconclusive():
    stopped = {("stopped", 0, 3, None): ("time limit of 600 s reached", "train.py", 9, 3, None, "SGD", 0)}
    summary, problem = summary_of(stopped)
    assert problem is None
    assert (summary.reports[0].verdict, summary.reports[0].steps) == ("inconclusive", ("3",))


def test_an_error_of_the_loss_is_the_error_of_the_command_if_nothing_else_was_found():
    bad = Problem(
        "full_loss raised KeyError: 'x'", "a hint", "recorded at step 1: 3 batches of (x: 8×12 int64)", step=1
    )
    summary, problem = summary_of({("step", 0, 1, None): bad})
    assert isinstance(problem, GradcliError) and summary.reports == ()
    assert problem.message.splitlines() == [bad.message, bad.recorded] and problem.hint == "a hint"


def test_an_error_at_one_of_several_steps_is_inconclusive():
    bad = Problem("full_loss raised KeyError", step=2, optimizer="SGD")
    summary, problem = summary_of(reports(report(1, "pass")) | {("step", 0, 2, None): bad})
    assert problem is None
    assert [(r.verdict, r.steps) for r in summary.reports] == [("pass", ("1",)), ("inconclusive", ("2",))]


def test_a_loss_that_says_nothing_about_any_step():
    _, problem = summary_of({("skipped", 0, 1, None): "full_loss"})
    assert problem.message == "full_loss returned None for each step"


def test_errors_say_what_was_seen():
    _, problem = summary_of(taken())
    assert problem.message == "no optimizer took a step: 30 calls of modules with parameters, 2 loops over loaders"
    _, problem = summary_of({})
    assert problem.message == "no optimizer took a step: no framework was imported"
    failed = {("taken", 1): {"steps": {"SGD": 2}, "fetched": 2, "calls": 0, "trouble": "TypeError: no shape"}}
    _, problem = summary_of(failed)
    assert problem.message == "gradcli could not record the steps: TypeError: no shape"
    _, problem = summary_of({}, status=3)
    assert problem.message == "the program ended with exit code 3 before an optimizer took a step"
    _, problem = summary_of(taken(SGD=3), options=OPTIONS._replace(steps=(50, 60)))
    assert problem.message == "no step was checked: SGD took 3" and "50, 60" in problem.hint


def test_with_quiet_only_fails_are_kept():
    summary, _ = summary_of(reports(report(1, "pass"), report(2, "fail", rule="x")))
    assert [r.step for r in summary.failed.reports] == [2]
    assert summary.failed.line == summary.line and summary.line.startswith("1 of 2 checked steps wrong; ")


def test_lines_and_names():
    summary, _ = summary_of(reports(report(2, "fail", rule="equal-weights")))
    (row,) = summary.rows()
    assert row[:8] == ("fail", "2", "SGD", "full_loss", "train.py", "9", "0", "equal-weights")
    assert summary.checks.checks[0].name == "full_loss at step 2 of SGD"
