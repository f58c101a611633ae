"""Low-precision derivatives compared with a reference: right ones pass, wrong ones fail."""

import numpy as np
import pytest

pytestmark = pytest.mark.framework("torch")
EVERY = 4  # one of this many kernels is checked in each run, the others in nightly tests


def cases():
    try:
        from . import kernels
    except ModuleNotFoundError:  # torch is missing
        return
    for number, case in enumerate(kernels.cases()):
        marks = [pytest.mark.nightly] if number % EVERY else []
        yield pytest.param(*case, number, marks=marks, id="-".join(map(str, case[:3])))


@pytest.mark.parametrize(("name", "way", "dtype", "right", "number"), [*cases()])
def test_right_kernels_pass_and_wrong_ones_fail(name, way, dtype, right, number):
    from . import kernels

    report = kernels.judge(name, way, dtype, kernels.SIZES[number % len(kernels.SIZES)], number)
    assert report.verdict == ("pass" if right else "fail"), (report.message, report.diagnosis, report.notes)


@pytest.mark.parametrize("per_cent", [1, 2])
def test_a_bias_below_one_ulp_is_found_and_measured(per_cent):
    from . import kernels

    report = kernels.judge("silu", f"{per_cent} % too large", "bfloat16", (32, 128))
    (item,) = report.inputs
    assert report.diagnosis[0].kind == "systematic"
    assert item.accuracy.bias == pytest.approx(per_cent / 100, abs=2e-3)


def test_an_error_of_about_one_ulp_in_one_term_does_not_pass(monkeypatch):
    from . import kernels

    kernel = kernels.KERNELS["silu"]
    wrong = {"term": kernels.in_type(lambda *a: kernels.silu_rule(*a, factor=1.029), kernels.wide)}
    monkeypatch.setitem(kernels.KERNELS, "silu", kernel._replace(wrong=wrong))
    report = kernels.judge("silu", "term", "bfloat16", (33, 80))
    assert report.verdict != "pass", report.message


def test_a_right_kernel_has_only_the_error_of_rounding_to_its_type():
    from . import kernels

    (item,) = kernels.judge("silu", "wide", "bfloat16", (64, 64)).inputs
    assert 0.15 < item.accuracy.error < 0.35  # 1 / sqrt(12) ulps between powers of two, and less at 1
    assert abs(item.accuracy.bias) < 1e-3


def test_rounding_to_bfloat16_agrees_with_torch():
    torch = pytest.importorskip("torch")
    from gradcli.check.reference import rounded_to

    x = np.random.default_rng(0).standard_normal(10_000) * 10.0 ** np.random.default_rng(1).integers(-30, 30, 10_000)
    expected = torch.from_numpy(x.astype(np.float32)).bfloat16().float().numpy()
    np.testing.assert_array_equal(rounded_to(x, "bfloat16"), expected)


def test_nested_arguments_of_a_reference_are_rounded():
    torch = pytest.importorskip("torch")
    from dataclasses import dataclass

    from gradcli.check.check import Check

    @dataclass
    class Layer:
        w: object
        more: tuple = ()

    def f(layer, x):
        return torch.tanh(layer.w * x + layer.more[0])

    at = {"layer": Layer(np.full(3, 0.1), (np.ones(3),)), "x": np.arange(3.0)}
    report = Check.of(f, at, reference=f, dtype="bfloat16", engine="torch").run()
    assert report.passed, report.message
    assert [item.name for item in report.inputs] == ["layer.w", "layer.more[0]", "x"]


def test_tensors_are_made_on_and_moved_to_the_given_device():
    torch = pytest.importorskip("torch")
    from gradcli.check.check import Check

    seen = []

    def function(x, y):
        seen.append((x, y, torch.zeros(1)))
        return x * y

    class Layer(torch.nn.Linear):
        def forward(self, x):
            seen.append((x, self.weight, self.offset))
            return super().forward(x) + self.offset

    layer = Layer(3, 3)
    layer.register_buffer("offset", torch.ones(3))
    for f, at in ((function, {"x": np.ones(3), "y": [1, 2, 3]}), (layer, {"x": np.ones(3)})):
        Check.of(f, at, device="meta", engine="torch").run()  # the only other device that every machine has
        assert {x.device.type for xs in seen for x in xs} == {"meta"}
        seen.clear()
    assert layer.weight.device.type == "cpu"
    assert Check.of(function, at | {"y": 2.0}, device="cpu", engine="torch").run().passed
