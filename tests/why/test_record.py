"""Explanations of gradcli why from records made by hand, without running a script or an engine."""

from gradcli.why.cause import explain_record
from gradcli.why.record import ArraySize, Event, NodeRun, Note, Record, RecordedPass, RecordedStep, RecordedValue

FINE, ZERO, NAN = (
    ArraySize("ok", 1.0, -1.0, 1.0),
    ArraySize("zero", 0.0),
    ArraySize("nan", float("inf"), bad=1, total=2),
)
FLOAT32 = 1.2e-7


class Script:
    """A record that grows line by line: each operation, pass and event gets the next line."""

    def __init__(self):
        self.line, self.steps, self.passes, self.names, self.used = 0, [], [], {}, []

    def place(self):
        self.line += 1
        return ("script.py", self.line)

    def leaf(self, name, **more):
        self.names[name] = value = RecordedValue(
            self.line + 1, wants=True, chain=((self.place(), "<module>"),), name=name, **more
        )
        return value

    def op(self, operation, *inputs, wants=True, kind="f", state="ok", shape=(), **more):
        place = self.place()
        step = RecordedStep(self.line, operation, inputs, place=place, **more)
        value = RecordedValue(
            self.line, kind, state, wants and kind == "f", not wants, shape, ((place, "<module>"),), step
        )
        step.outputs = (value,)
        self.steps.append(step)
        return value

    def backward(self, root, *runs, leaves=()):
        which = RecordedPass(
            self.line + 1, "backward", (root,), place=self.place(), runs=list(runs), leaves=set(leaves)
        )
        for value in {to for run in runs for to, _ in run.sent if isinstance(to, RecordedValue)}:
            value.filled, value.gradient = which, value.gradient or FINE
        self.passes.append(which)
        return which

    def event(self, kind, value, size=None):
        place = self.place()
        value.events[kind] = Event(self.line, place, size, value.filled, value.events.get("clear"), "<module>")
        self.used += [value] * (value not in self.used)

    def why(self, *names):
        items = explain_record(Record(self.steps, self.passes, self.names, self.used), list(names))
        return [(item.name, item.state, item.rule, item.line) for item in items if item.state != "ok"]


def node(key, step_of, sent, received=FINE, name="", eps=FLOAT32, note=None):
    step = step_of.step
    return NodeRun(key, name or f"{step.name.title()}Backward0", step, received, tuple(sent), eps, note)


# -- None -----------------------------------------------------------------------------------------------------


def test_a_cut_is_reported_where_data_goes_on_to_the_root():
    script = Script()
    x, w = script.leaf("x"), script.leaf("w")
    h = script.op("mul", x, x)
    script.op("detach", h, wants=False)  # only printed
    cut = script.op("detach", h, wants=False)
    loss = script.op("mul", cut, w)
    script.backward(loss, node(0, loss, [(w, FINE)]), leaves=[w])
    assert script.why() == [("x", "none", "detached", 5)]


def test_a_real_cut_takes_precedence_over_comparisons():
    script = Script()
    x, w = script.leaf("x"), script.leaf("w")
    mask = script.op("gt", x, kind="b")
    masked = script.op("mul", mask, w)
    cut = script.op("item", x, wants=False, kind="p")
    loss = script.op("mul", masked, cut)
    script.backward(loss, leaves=[w])
    assert script.why("x") == [("x", "none", "detached", 5)]


def test_kinds_of_cuts():
    for operation, kind, more, rule in (
        ("gt", "b", {}, "comparison"),
        ("argmax", "i", {}, "indices"),
        ("long", "i", {}, "integer-cast"),
        ("to", "b", {}, "integer-cast"),
        ("numpy", "p", {}, "numpy"),
        ("mul", "f", {"recorded": False}, "no-grad"),
        ("mul", "f", {"recorded": False, "checkpoint": ("script.py", 2)}, "checkpoint"),
    ):
        script = Script()
        x = script.leaf("x")
        cut = script.op(operation, x, wants=False, kind=kind, **more)
        loss = script.op("sum", cut, wants=False)
        script.backward(loss)
        assert script.why() == [("x", "none", rule, 2)], operation


def test_numbers_are_followed_through_the_source_text(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("a = x.item()\nb = a + 1\nunrelated = 3.0\nloss = w * b\nother = w * unrelated\n")
    for line, rule in ((4, "detached"), (5, "never-used")):
        x, w = RecordedValue(1, wants=True, name="x"), RecordedValue(2, wants=True, name="w")
        item = RecordedStep(3, "item", (x,), place=(str(file), 1))
        item.outputs = (RecordedValue(4, "p", step=item),)
        last = RecordedStep(5, "mul", (w,), place=(str(file), line), is_open=True)
        last.outputs = (RecordedValue(6, wants=True, leaf=False, step=last),)
        which = RecordedPass(7, "backward", last.outputs, leaves={w})
        found = explain_record(Record([item, last], [which], {"x": x, "w": w}, []), ["x"])
        assert [item.rule for item in found] == [rule]


def test_numbers_are_followed_into_leaves_from_functions_that_are_not_recorded(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("a = x.numpy()\nb = a + 1\nunrelated = [3.0]\ny = from_numpy(b)\nz = from_numpy(unrelated)\n")
    for line, rule in ((4, "numpy"), (5, "never-used")):
        x = RecordedValue(1, wants=True, name="x")
        step = RecordedStep(2, "numpy", (x,), place=(str(file), 1))
        step.outputs = (RecordedValue(3, "p", step=step),)
        leaf = RecordedValue(4, wants=True, chain=(((str(file), line), "<module>"),))
        which = RecordedPass(5, "backward", (leaf,), leaves={leaf})
        found = explain_record(Record([step], [which], {"x": x}, []), ["x"])
        assert [item.rule for item in found] == [rule]


def test_leaves_without_a_path_to_the_root():
    script = Script()
    x, y, z = (script.leaf(name) for name in "xyz")
    loss = script.op("mul", x, x)
    penalty = script.op("mul", y, y)
    script.op("mul", z, z, shape=(2,))
    script.backward(loss, node(0, loss, [(x, FINE)]), leaves=[x])
    assert penalty.leaf is False
    assert script.why() == [("y", "none", "other-output", 7), ("z", "none", "never-used", 6)]


def test_no_backward_and_a_gradient_of_a_result():
    script = Script()
    x = script.leaf("x")
    script.names["y"] = y = script.op("mul", x, x)
    script.event("read", y)
    assert script.why() == [("x", "none", "no-backward", 2), ("y", "none", "non-leaf", 2)]


def test_leaves_that_no_name_refers_to():
    for operation, line, shape, rule in (
        ("to", 2, (), "lost-leaf"),
        ("mul", 1, (), "lost-leaf"),
        ("mul", 2, (), "non-leaf"),
        ("to", 2, (3,), "non-leaf"),  # not just a conversion of the leaf
    ):
        script = Script()
        x = script.leaf("x")
        script.line = line - 1
        script.names = {"w": script.op(operation, x, shape=shape)}
        assert script.why("w") == [("w", "none", rule, line)], (operation, line, shape)


def test_clearing_counts_only_before_the_gradient_is_used():
    for early in (True, False):
        script = Script()
        x = script.leaf("x")
        loss = script.op("mul", x, x)
        script.event("step" if early else "clear", x)
        script.backward(loss, node(0, loss, [(x, FINE)]), leaves=[x])
        if early:
            script.event("clear", x)
            x.gradient = None
        script.event("step", x, None if early else FINE)
        assert script.why() == ([("x", "none", "cleared", 5)] if early else [])


def test_frozen_and_not_required():
    script = Script()
    x, y = script.leaf("x"), script.leaf("y")
    script.event("freeze", x)
    x.wants = y.wants = False
    assert script.why("x", "y") == [("x", "none", "frozen", 3), ("y", "none", "not-required", 2)]


def test_parameters_outside_the_optimizer_are_reported_only_on_request():
    script = Script()
    script.leaf("base.weight")
    head = script.leaf("head.weight")
    script.event("optimizer", head)
    loss = script.op("sum", head)
    script.backward(loss, node(0, loss, [(head, FINE)]), leaves=[head])
    assert script.why() == []
    assert script.why("base.weight") == [("base.weight", "none", "never-used", 1)]


def test_replaced_parameter():
    script = Script()
    old = script.leaf("net.weight")
    script.event("optimizer", old)
    new = script.leaf("net.weight")
    loss = script.op("sum", new)
    script.backward(loss, node(0, loss, [(new, FINE)]), leaves=[new])
    script.event("step", old)
    assert script.why() == [("net.weight (in the optimizer)", "none", "replaced", 3)]


# -- zero -----------------------------------------------------------------------------------------------------


def test_zeros_are_reported_only_if_every_path_sends_them():
    script = Script()
    x = script.leaf("x")
    h = script.op("mul", x)
    a, b = script.op("relu", h), script.op("clamp", h)
    loss = script.op("sum", a, b)
    x.gradient = ZERO
    script.backward(
        loss, node(0, loss, [(1, FINE), (2, FINE)]), node(1, a, [(3, ZERO)]), node(2, b, [(3, ZERO)]),
        node(3, h, [(x, ZERO)], received=ZERO), leaves=[x],
    )  # fmt: skip
    assert [(state, rule) for _, state, rule, _ in script.why()] in ([("zero", "dead-relu")], [("zero", "clamped")])
    script.passes[0].runs[2:] = [node(2, b, [(3, FINE)]), node(3, h, [(x, FINE)])]
    x.gradient = FINE
    assert script.why() == []


def test_zero_is_relative_to_rounding():
    def states(size, gradient, parts):
        script = Script()
        x = script.leaf("x", gradient=ArraySize("ok", gradient, gradient, gradient))
        loss = script.op("sub", x, x)
        script.backward(loss, node(0, loss, [(x, ArraySize("ok", part, -part, part)) for part in parts], received=size))
        return script.why()

    big = ArraySize("ok", 1.0, 1.0, 1.0)
    assert states(big, 1e-7, [1.0, 1.0]) == [("x", "zero", "cancelled", 2)]
    assert states(big, 1e-3, [1.0, 1.0]) == []
    assert states(big, 1e-7, [1e-7]) == [("x", "zero", "cancelled", 2)]
    assert states(ArraySize("ok", 1e-7, 1e-7, 1e-7), 1e-7, [1e-7]) == []


def test_a_gradient_from_an_earlier_pass_is_not_zero():
    script = Script()
    x = script.leaf("x", gradient=FINE)
    loss = script.op("mul", x)
    script.backward(loss, node(0, loss, [(x, FINE)]), leaves=[x])
    script.backward(loss, node(0, loss, [(x, ZERO)]), leaves=[x])
    assert script.why() == []


def test_the_operation_that_did_not_choose_an_element_is_named():
    script = Script()
    a = script.leaf("a", gradient=ZERO)
    both = script.op("stack", a)
    loss = script.op("max", both)
    script.backward(loss, node(0, loss, [(1, FINE)]), node(1, both, [(a, ZERO)]), leaves=[a])
    assert script.why() == [("a", "zero", "not-chosen", 3)]


def test_the_cause_of_a_zero_factor_is_named():
    for kind, operation, rule, line in (
        ("b", "gt", "masked", 3),
        ("f", "relu", "dead-relu", 2),
        ("f", "mul", "times-zero", 3),
    ):
        script = Script()
        x = script.leaf("x", gradient=ZERO)
        factor = script.op(operation, wants=False, kind=kind, state="zero")
        loss = script.op("mul", x, factor)
        script.backward(loss, node(0, loss, [(x, ZERO)]), leaves=[x])
        assert script.why() == [("x", "zero", rule, line)]


def test_dropped_elements_are_not_called_a_zero_factor():
    script = Script()
    x = script.leaf("x", gradient=ZERO)
    loss = script.op("dropout", x)
    script.backward(loss, node(0, loss, [(x, ZERO)], name="MulBackward0"), leaves=[x])
    assert script.why() == [("x", "zero", "masked", 2)]


def test_a_mask_counts_only_if_it_masks():
    for state, rule, line in (("ok", "masked", 3), ("zero", "times-zero", 4)):  # zeros stay zeros without a mask, too
        script = Script()
        w = script.leaf("w", gradient=ZERO)
        mask = script.op("gt", wants=False, kind="b", state="zero")
        x = RecordedValue(9, state=state)
        filled = script.op("masked_fill", x, mask, wants=False, state="zero")
        loss = script.op("mul", w, filled)
        script.backward(loss, node(0, loss, [(w, ZERO)]), leaves=[w])
        assert script.why() == [("w", "zero", rule, line)], state


def test_a_missing_slope_is_not_called_a_slope_of_zero():
    for operation, state, rule in (
        ("abs", "zero", "singular-point"),
        ("linalg_vector_norm", "zero", "singular-point"),
        ("atan2", "zero", "singular-point"),
        ("atan2", "ok", "flat-point"),
        ("cos", "zero", "flat-point"),
    ):
        script = Script()
        x = script.leaf("x", gradient=ZERO, state=state)
        loss = script.op(operation, x)
        script.backward(loss, node(0, loss, [(x, ZERO)]), leaves=[x])
        assert script.why() == [("x", "zero", rule, 2)], operation


# -- nan ------------------------------------------------------------------------------------------------------


def test_the_first_node_that_makes_nan_is_named():
    script = Script()
    x = script.leaf("x", gradient=NAN)
    square = script.op("mul", x)
    root = script.op("sqrt", square)
    runs = [node(0, root, [(1, NAN)]), node(1, square, [(x, NAN)], received=NAN)]
    script.backward(root, *runs, leaves=[x])
    assert script.why() == [("x", "nan", "nan-sqrt", 3)]


def test_a_where_that_hides_the_value_is_named():
    for hidden, rule in ((True, "nan-where"), (False, "nan-log")):
        script = Script()
        x = script.leaf("x", gradient=NAN)
        inner = script.op("log", x)
        loss = script.op("where", inner)
        note = Note(x, "[0] = 0", hidden)
        script.backward(loss, node(0, loss, [(1, FINE)]), node(1, inner, [(x, NAN)], note=note), leaves=[x])
        assert script.why() == [("x", "nan", rule, 2)]


def test_operands_that_overflowed_in_the_forward_pass_are_named():
    script = Script()
    x = script.leaf("x", gradient=NAN)
    grown = script.op("exp", x, state="inf")
    loss = script.op("mul", grown)
    script.backward(loss, node(0, loss, [(1, NAN)]), node(1, grown, [(x, NAN)], received=NAN), leaves=[x])
    assert script.why() == [("x", "nan", "overflow", 2)]
