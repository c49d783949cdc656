"""The banded routines of LAPACK and BLAS that solvers use, without the rest of `scipy.linalg`.

Importing `scipy.linalg` takes longer than retargeting a short clip. Only the two extension modules that contain the
routines are loaded. If that fails, `scipy.linalg` is imported as usual.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _extension(name: str) -> ModuleType:
    """An extension module of `scipy.linalg`, loaded without the package around it."""
    # The package is not imported for its place alone.
    package = find_spec("scipy")
    if package is None or package.origin is None:
        raise ImportError("scipy is not installed")
    folder = Path(package.origin).parent / "linalg"
    for suffix in EXTENSION_SUFFIXES:
        file = folder / f"{name}{suffix}"
        if file.is_file():
            spec = spec_from_file_location(f"scipy.linalg.{name}", file)
            if spec is not None and spec.loader is not None:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    raise ImportError(f"scipy has no extension module `{name}` in {folder}")


try:
    _flapack, _fblas = _extension("_flapack"), _extension("_fblas")
    dpbtrf, dpbtrs, dsbmv = _flapack.dpbtrf, _flapack.dpbtrs, _fblas.dsbmv
except (ImportError, AttributeError):
    assert find_spec("scipy.linalg") is not None
    from scipy.linalg.blas import dsbmv
    from scipy.linalg.lapack import dpbtrf, dpbtrs

__all__ = ["dpbtrf", "dpbtrs", "dsbmv"]
