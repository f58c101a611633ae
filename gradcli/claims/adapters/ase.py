"""Calculators of ASE: forces and stress as derivatives of the energy of a structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import GradcliError, describe_error, need_extra, unknown_name
from ...lang.tables import nearest_file
from ...program.target import Target, load_named
from ...request import Request
from ...user.address import ADDRESS_KINDS
from ...user.tracebacks import blame_user_code
from ..claim import Arrays, CallError, Capabilities, Claim, failing_as, in_shape

FARTHEST = {"positions": 0.5, "strain": 0.1}
"""Largest moves at which the energy is computed, in Å for positions: if atoms collide, a call may take minutes."""


def open_address(text: str, request: Request) -> Callable[[Arrays], Claim]:
    need_extra("ase", "ase", text)
    from ase.io import read

    target, match = Target(text, request), ADDRESS_KINDS["ase"].match(text)
    if target.name is None or match is None or not (structure := match["structure"]):
        hint = "write ase:FILE.py:CALCULATOR STRUCTURE; ase.io.read reads the structure"
        raise GradcliError(f"{text} does not name a calculator and a structure", hint=hint)
    calculator = load_named(target)
    if isinstance(calculator, type) or not hasattr(calculator, "get_potential_energy"):
        with blame_user_code(target.path, text):
            calculator = calculator()
    try:
        atoms = read(structure)
    except Exception as error:
        near = nearest_file(structure) if isinstance(error, FileNotFoundError) else None
        raise GradcliError(f"{structure} cannot be read: {describe_error(error)}", hint=near, kind="file") from None
    if isinstance(atoms, list):
        raise GradcliError(f"{structure} names several structures", hint="choose one: FILE@-1 is the last", kind="file")
    atoms.calc = calculator
    return lambda inputs: Energy(text, atoms, inputs, request)


class Energy(Claim):
    """The energy of atoms at positions (n, 3) and under a strain (6,) in Voigt order; ASE gives both derivatives."""

    capabilities = Capabilities(vjp=True, costly=True)

    def __init__(self, title: str, atoms: Any, inputs: Arrays, request: Request):
        self.atoms, self.cell = atoms, atoms.cell.array.copy()
        own = {"positions": atoms.get_positions(), **({"strain": np.zeros(6)} if request.stress else {})}
        for name, x in inputs.items():
            if name not in own:
                raise unknown_name(f"{title} has no input '{name}'", name, own, "its inputs are")
            in_shape(x, own[name].shape, f"'{name}'")
        super().__init__(title, {**own, **inputs})
        self.jitter = {"positions": 0.05}  # in Å: forces that are 0 by symmetry agree with many wrong formulas
        moved = np.abs(self.at["positions"] - own["positions"]).max(initial=0.0)
        meaning = "minus the forces" + (", and for strain the stress times the volume" if request.stress else "")
        where = f"atoms are up to {moved:.2g} Å from their positions in the structure"
        self.notes = (f"the derivative with respect to positions is {meaning}; {where}",)
        self.free = "free_energy" in getattr(atoms.calc, "implemented_properties", ())

    def put(self, arrays: Arrays) -> np.ndarray:
        """Move the atoms and strain them with their cell; return the deformation, which is symmetric."""
        from ase.stress import voigt_6_to_full_3x3_strain

        deformation = voigt_6_to_full_3x3_strain(arrays.get("strain", np.zeros(6)))
        self.atoms.set_cell(self.cell @ deformation)
        self.atoms.set_positions(arrays["positions"] @ deformation, apply_constraint=False)
        return deformation

    def energy(self, free: bool) -> float:
        return self.atoms.get_potential_energy(force_consistent=free, apply_constraint=False)

    def evaluate(self, arrays: Arrays) -> Any:
        self.budget.made += 1
        for name, x in arrays.items():
            if (np.abs(x - self.at[name]) > FARTHEST[name]).any():
                raise CallError(
                    f"{self.title}: values of {name} more than {FARTHEST[name]} from the point are not evaluated"
                )
        with failing_as(self.title):
            self.put(arrays)
            return self.energy(self.free)

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, Any]:
        from ase.stress import full_3x3_to_voigt_6_stress

        with failing_as(self.title):
            deformation = self.put(arrays)
            gradients = {"positions": -self.atoms.get_forces(apply_constraint=False) @ deformation}
            if "strain" in self.wrt:
                stress = self.atoms.get_stress(voigt=False, apply_constraint=False) * self.atoms.get_volume()
                gradients["strain"] = full_3x3_to_voigt_6_stress(np.linalg.solve(deformation, stress))
            if len(self.notes) == 1 and (gap := self.energy(self.free) - self.energy(False)):
                self.notes += (f"forces are compared with the free energy, {abs(gap):.3g} eV off the energy",)
        return {name: cotangent * gradient for name, gradient in gradients.items()}
