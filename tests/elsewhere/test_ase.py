"""Forces and stress of ASE calculators as derivatives of the energy: right ones pass, changed ones fail."""

import functools

import numpy as np
import pytest

from tests import command

ase = pytest.importorskip("ase")
gradcli = functools.partial(command.gradcli, frameworks=("ase",))

CALCULATORS = """
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.calculators.morse import MorsePotential
from ase.calculators.tip3p import TIP3P

emt = EMT
lj = LennardJones(sigma=2.3, epsilon=0.3, rc=4.2)
smooth = LennardJones(sigma=2.3, epsilon=0.3, rc=4.2, ro=3.5, smooth=True)
morse = MorsePotential(epsilon=0.3, r0=2.5, rho0=4)
at_cutoff = LennardJones(sigma=2.0, epsilon=0.3, rc=3.61)

def tip3p():
    return TIP3P(rc=4.4)

def changed(base, name, change, **arguments):
    class Changed(base):
        def calculate(self, *args, **more):
            super().calculate(*args, **more)
            self.results[name] = change(self.results[name].copy())
    return Changed(**arguments)

def one(x):
    x[1, 2] *= 1.01
    return x

sign = changed(EMT, "forces", lambda x: -x)
columns = changed(LennardJones, "forces", lambda x: x[:, [1, 0, 2]], sigma=2.3, epsilon=0.3, rc=4.2)
constant = changed(MorsePotential, "forces", lambda x: x + 0.01, epsilon=0.3, r0=2.5, rho0=4)
single = changed(TIP3P, "forces", one, rc=4.4)
volume = changed(EMT, "stress", lambda x: x * 100)
order = changed(LennardJones, "stress", lambda x: x[[0, 1, 2, 5, 4, 3]], sigma=2.3, epsilon=0.3, rc=4.2)
pressure = changed(MorsePotential, "stress", lambda x: -x, epsilon=0.3, r0=2.5, rho0=4)

class Jump(LennardJones):
    "The energy jumps where a pair passes the cutoff."
    def calculate(self, atoms=None, properties=("energy",), system_changes=("positions", "numbers", "cell", "pbc")):
        super().calculate(atoms, list(properties), list(system_changes))
        distances = atoms.get_all_distances()
        self.results["free_energy"] += 0.1 * np.sum(distances < self.parameters.rc)

import numpy as np
jump = Jump(sigma=2.0, epsilon=0.3, rc=3.61)

class Smeared(EMT):
    def calculate(self, *args, **more):
        super().calculate(*args, **more)
        self.results["energy"] = self.results["energy"] + 0.5

class Raises(EMT):
    def calculate(self, *args, **more):
        raise RuntimeError("no convergence")
"""
CUTOFF = "positions=[[0, 0, 0], [0, 0, 3.61], [0, 2.2, 1.7]]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with calculators, a perfect crystal, three water molecules, and three atoms."""
    from ase import Atoms
    from ase.build import bulk, molecule
    from ase.io import write

    place = tmp_path_factory.mktemp("ase")
    (place / "calc.py").write_text(CALCULATORS)
    write(place / "bulk.xyz", bulk("Cu", cubic=True))
    water = molecule("H2O").positions
    positions = [water + np.array([3, 0.2, 0.1]) * i for i in range(3)]
    write(place / "water.xyz", Atoms("OH2OH2OH2", np.concatenate(positions), cell=[9, 9, 9], pbc=True))
    write(place / "three.xyz", Atoms("Ar3", [[0, 0, 0], [0, 0, 3], [0, 2.2, 1.7]]))
    return place


@pytest.mark.parametrize("name", ["emt", "lj", "smooth", "morse"])
def test_right_forces_and_stress_pass(name, folder):
    done = gradcli("gradcheck", f"ase:calc.py:{name}", "bulk.xyz", "--stress", cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith(f"pass\tase:calc.py:{name} bulk.xyz\t"), done


def test_several_calculators_pass_in_one_command(folder):
    words = ["ase:calc.py:tip3p", "water.xyz", "ase:calc:lj", "three.xyz", "ase:ase.calculators.emt:EMT", "bulk.xyz"]
    done = gradcli("gradcheck", *words, cwd=folder)
    assert done.returncode == 0 and done.stdout.count("pass\t") == 3, done


@pytest.mark.parametrize(
    ("name", "structure", "words", "found"),
    [
        ("sign", "bulk.xyz", (), "[sign]"),
        ("columns", "bulk.xyz", (), "of 12 elements wrong"),
        ("constant", "bulk.xyz", (), "[dropped-term]"),
        ("single", "water.xyz", (), "positions[1,2]: claimed"),
        ("volume", "bulk.xyz", ("--stress",), "[factor]"),
        ("order", "bulk.xyz", ("--stress",), "elements 3 and 5 are exchanged [permuted]"),
        ("pressure", "bulk.xyz", ("--stress", "--wrt", "strain"), "[sign]"),
    ],
)
def test_changed_calculators_fail(name, structure, words, found, folder):
    done = gradcli("gradcheck", f"ase:calc.py:{name}", structure, *words, "-f", "table", cwd=folder, COLUMNS="200")
    assert done.returncode == 1 and found in done.stdout, done
    assert f"again: gradcli gradcheck 'ase:calc.py:{name} {structure}' " in done.stdout


def test_forces_pass_if_only_the_stress_is_wrong(folder):
    assert gradcli("gradcheck", "ase:calc.py:pressure bulk.xyz", cwd=folder).returncode == 0


def test_a_cutoff_at_the_point_is_a_kink_or_a_jump(folder):
    done = gradcli("gradcheck", "ase:calc.py:at_cutoff", "three.xyz", CUTOFF, "-f", "table", cwd=folder)
    assert done.returncode == 0 and "a kink" in done.stdout, done
    done = gradcli("gradcheck", "ase:calc.py:jump", "three.xyz", CUTOFF, cwd=folder)
    assert done.returncode == 4 and "the function jumps" in done.stdout, done
    assert gradcli("gradcheck", "ase:calc.py:jump", "three.xyz", cwd=folder).returncode == 0


def test_forces_are_compared_with_the_free_energy(folder):
    done = gradcli("gradcheck", "ase:calc.py:Smeared", "bulk.xyz", "-f", "table", cwd=folder, COLUMNS="200")
    assert done.returncode == 0 and "with the free energy, 0.5 eV off the energy" in done.stdout, done


def test_derivatives_in_a_strained_cell_are_those_of_the_energy(folder):
    """For moved atoms in a strained cell, ASE has nothing to compare with, so this takes central differences."""
    from ase.calculators.lj import LennardJones
    from ase.io import read

    from gradcli.claims.adapters.ase import Energy
    from gradcli.request import Request

    atoms = read(folder / "bulk.xyz")
    atoms.calc = LennardJones(sigma=2.3, epsilon=0.3, rc=4.2)
    rng = np.random.default_rng(0)
    x, strain = atoms.positions + 0.05 * rng.standard_normal((4, 3)), 0.02 * rng.standard_normal(6)
    claim = Energy("energy", atoms, {"positions": x, "strain": strain}, Request(stress=True))
    gradients = claim.vjp(claim.at, np.array(2.0))
    for name, at in claim.at.items():
        for place in np.ndindex(at.shape):
            h = np.zeros(at.shape)
            h[place] = 1e-5
            slope = (claim.evaluate({**claim.at, name: at + h}) - claim.evaluate({**claim.at, name: at - h})) / 1e-5
            assert gradients[name][place] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_grad_prints_minus_the_forces(folder):
    from ase.calculators.lj import LennardJones
    from ase.io import read

    atoms = read(folder / "three.xyz")
    atoms.calc = LennardJones(sigma=2.3, epsilon=0.3, rc=4.2)
    done = gradcli("grad", "ase:calc.py:lj", "three.xyz", cwd=folder)
    values = [float(line.split("\t")[1]) for line in done.stdout.splitlines()]
    np.testing.assert_allclose(values, -atoms.get_forces().reshape(-1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("ase:calc.py:lj", 2, "does not name a calculator and a structure"),
        ("ase:calc.py bulk.xyz", 2, "does not name a calculator and a structure"),
        ("ase:calc.py:ljj bulk.xyz", 2, "did you mean 'lj'?"),
        ("ase:calc.py:lj bulk.xy", 2, "did you mean 'bulk.xyz'?"),
        ("ase:calc.py:lj calc.py", 2, "calc.py cannot be read: "),
        ("ase:calc.py:lj bulk.xyz@:", 2, "names several structures"),
        ("ase:calc.py:changed bulk.xyz", 3, "missing 3 required positional arguments"),
        ("ase:calc.py:Raises bulk.xyz", 3, "RuntimeError: no convergence"),
        ("ase:calc.py:tip3p water.xyz --stress", 3, "stress property not implemented"),
        ("ase:calc.py:lj three.xyz --stress", 3, "stress not present in this calculation"),
        ("ase:calc.py:lj bulk.xyz y=2", 2, "its inputs are positions"),
        ("ase:calc.py:lj bulk.xyz --safe", 2, "--safe"),
        ("x**2 --stress", 2, "--stress is for calculators of ASE"),
    ],
)
def test_what_cannot_be_checked_is_an_error(words, code, said, folder):
    done = gradcli("gradcheck", *words.split(), cwd=folder)
    assert done.returncode == code and said in done.stdout + done.stderr and "Traceback" not in done.stderr, done
