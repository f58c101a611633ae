"""The one device there is."""

from __future__ import annotations

from typing import NoReturn

from .dtypes import naming


def refuse_device(device: object) -> NoReturn:
    """Raise what asking for another device than the CPU leads to."""
    text = str(device)
    if naming.prefix != "torch":
        raise RuntimeError(f"gradcli computes on the CPU only: device={text!r} is not available")
    if text.startswith("cuda"):
        raise AssertionError("Torch not compiled with CUDA enabled")
    raise RuntimeError(
        "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
        "mps, meta, hpu, mtia, privateuseone device type at start of device string: " + text
    )


class Device:
    """A device; only the CPU exists."""

    type = "cpu"
    index = None

    def __init__(self, type: str = "cpu", index: int | None = None):
        if not str(type).startswith("cpu"):
            refuse_device(type)

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return str(other) == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")


class Layout:
    """How elements lie in memory: at fixed distances along each axis."""

    def __repr__(self) -> str:
        return f"{naming.prefix}.strided"


strided = Layout()
cpu = Device()
