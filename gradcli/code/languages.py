"""The languages, each by the name of its format."""

from __future__ import annotations

from importlib import import_module

from .language import Language

LANGUAGE_HOMES = {
    "c": ("c", "C"),
    "fortran": ("fortran", "Fortran"),
    "js": ("javascript", "JavaScript"),
    "julia": ("julia", "Julia"),
    "matlab": ("matlab", "Matlab"),
    "python": ("python", "Python"),
    "rust": ("rust", "Rust"),
}
"""Module and class of each language."""


def language_of(form: str) -> Language:
    module, name = LANGUAGE_HOMES[form]
    return getattr(import_module(f".{module}", __package__), name)()
