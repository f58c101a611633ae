"""Types and the device, as keys and as values."""

import gradcli


def test_devices_are_keys():
    assert {gradcli.ones(1).device, gradcli.device("cpu")} == {gradcli.device("cpu")}
