"""Devices as keys."""

import gradcli


def test_devices_are_keys():
    assert {gradcli.ones(1).device, gradcli.device("cpu")} == {gradcli.device("cpu")}
