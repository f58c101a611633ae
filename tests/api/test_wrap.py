"""What help() shows of a function that is an entry of the table alone."""

import inspect

import gradcli


def test_the_entrys_own_arguments():
    assert str(inspect.signature(gradcli.rot90)) == "(x, k=1, axes=(0, 1))"
    assert gradcli.rot90.__name__ == "rot90"
    assert gradcli.fft.fftshift.__name__ == "fftshift"
