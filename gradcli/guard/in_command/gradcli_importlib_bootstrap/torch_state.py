# mypy: ignore-errors
"""The state of PyTorch in the command: random numbers, autocast, and the processes that train together."""

import contextlib
import random
import sys


def random_state():
    """Return the state of the random numbers of PyTorch, Python and NumPy."""
    torch = sys.modules["torch"]
    state = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if "numpy.random" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_random_state(state):
    torch = sys.modules["torch"]
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if "numpy" in state:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "cuda" in state:
        torch.cuda.set_rng_state_all(state["cuda"])


def autocast_state(tensors):
    """Return the device type and the type of autocast, or None if it is off."""
    torch = sys.modules["torch"]
    device = tensors[0].device.type if tensors else "cpu"
    with contextlib.suppress(TypeError, RuntimeError):
        if torch.is_autocast_enabled(device):
            return device, torch.get_autocast_dtype(device)
    return None


def place_among_processes():
    """Return the rank of this process and the number of processes that train together."""
    distributed = getattr(sys.modules["torch"], "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def inside_autocast():
    torch = sys.modules["torch"]
    with contextlib.suppress(TypeError, RuntimeError):
        return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    return torch.is_autocast_enabled()
