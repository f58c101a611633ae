"""Calculators of ASE: their forces and stress as derivatives of the energy of a structure."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import GradcliError, describe_error, need_extra, unknown_name
from ...lang.tables import nearest_file
from ...request import Request
from ..claim import Arrays, CallError, Capabilities, Claim, failing_as, in_shape
from ..target import KINDS, Target, load_named
from ..user_code import blame_user_code

DISPLACEMENT = 0.05  # standard deviation in Å, about that of an atom at room temperature
FARTHEST = {"positions": 0.5, "strain": 0.1}
"""How far from the point the energy is asked for, in Å and 1: where atoms meet, a call may take minutes."""
MEANING = "the derivative by positions is minus the forces"


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    need_extra("ase", "ase", text)
    target, match = Target(text, request), KINDS["ase"].match(text)
    if target.name is None or match is None or not match["structure"]:
        hint = "write ase:FILE.py:CALCULATOR STRUCTURE; ase.io.read reads the structure"
        raise GradcliError(f"{text} does not name a calculator and a structure", hint=hint)
    calculator = load_named(target)
    if isinstance(calculator, type) or not hasattr(calculator, "get_potential_energy"):
        with blame_user_code(target.path, text):
            calculator = calculator()
    atoms = read_structure(match["structure"])
    atoms.calc = calculator
    return lambda inputs: Energy(text, atoms, inputs, request)


def read_structure(path: str) -> Any:
    from ase.io import read

    try:
        atoms = read(path)
    except FileNotFoundError:
        raise GradcliError(f"no such file: {path}", hint=nearest_file(path), kind="file") from None
    except Exception as error:
        raise GradcliError(f"{path} cannot be read as a structure: {describe_error(error)}", kind="file") from None
    if isinstance(atoms, list):
        raise GradcliError(f"{path} names several structures", hint="choose one: FILE@-1 is the last", kind="file")
    return atoms


class Energy(Claim):
    """The energy of atoms at positions (n, 3), and under a strain (6,) in Voigt order; both derivatives by ASE."""

    capabilities = Capabilities(vjp=True, costly=True)
    jitter = MappingProxyType({"positions": DISPLACEMENT})

    def __init__(self, title: str, atoms: Any, inputs: Arrays, request: Request):
        self.atoms, self.cell = atoms, atoms.cell.array.copy()
        own = {"positions": atoms.get_positions(), **({"strain": np.zeros(6)} if request.stress else {})}
        for name in inputs:
            if name not in own:
                raise unknown_name(f"{title} has no input '{name}'", name, own, "its inputs are")
        super().__init__(title, {**own, **inputs})
        for name, x in own.items():
            in_shape(self.at[name], x.shape, f"'{name}'")
        meaning = MEANING + (", that by strain the stress times the volume" if request.stress else "")
        moved = float(np.abs(self.at["positions"] - own["positions"]).max(initial=0.0))
        self.notes = (f"{meaning}; atoms are up to {moved:.2g} Å from their places in the structure",)
        properties = getattr(atoms.calc, "implemented_properties", ())
        self.free = {"force_consistent": True} if "free_energy" in properties else {}

    def put(self, arrays: Arrays) -> np.ndarray:
        """Move the atoms, strained with their cell; return the deformation, which is symmetric."""
        from ase.stress import voigt_6_to_full_3x3_strain

        deformation = voigt_6_to_full_3x3_strain(arrays.get("strain", np.zeros(6)))
        self.atoms.set_cell(self.cell @ deformation)
        self.atoms.set_positions(arrays["positions"] @ deformation, apply_constraint=False)
        return deformation

    def evaluate(self, arrays: Arrays) -> Any:
        self.budget.made += 1
        for name, x in arrays.items():
            if (np.abs(x - self.at[name]) > FARTHEST[name]).any():
                raise CallError(f"{self.title}: {name} more than {FARTHEST[name]} away are not tried")
        with failing_as(self.title):
            self.put(arrays)
            return self.atoms.get_potential_energy(apply_constraint=False, **self.free)

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, Any]:
        from ase.stress import full_3x3_to_voigt_6_stress

        gradients = {}
        with failing_as(self.title):
            deformation = self.put(arrays)
            gradients["positions"] = -cotangent * (self.atoms.get_forces(apply_constraint=False) @ deformation)
            if "strain" in self.wrt:
                stress = self.atoms.get_stress(voigt=False, apply_constraint=False) * self.atoms.get_volume()
                gradients["strain"] = cotangent * full_3x3_to_voigt_6_stress(np.linalg.solve(deformation, stress))
        return gradients
