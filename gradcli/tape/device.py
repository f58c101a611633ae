"""The one device there is."""

from __future__ import annotations


class Device:
    """A device; only the CPU exists."""

    type = "cpu"
    index = None

    def __init__(self, type: str = "cpu", index: int | None = None):
        if not str(type).startswith("cpu"):
            raise RuntimeError(f"gradcli computes on the CPU only: device={str(type)!r} is not available")

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return str(other) == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")


cpu = Device()
