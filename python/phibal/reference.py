"""Potentials in certified enclosures: value, gradient, Hessian, conjugate and its gradient (SPEC.md, section P).

Each result is a pair of float64 arrays (lo, hi), rounded outward from an enclosure on MPFR that is proved to hold the
exact value (proofs/STATUS.md): lo <= exact value <= hi, and lo == hi where the exact value is a binary64 number that
was found exactly. `precision` is in bits; more of it narrows the enclosures, down to two neighbouring numbers."""
from __future__ import annotations

import ctypes
import json
import subprocess
from ctypes import byref
from typing import NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _library

Number = Union[float, str]
_DOWN, _UP = 3, 2  # MPFR_RNDD, MPFR_RNDU


class Enclosed(NamedTuple):
    lo: NDArray[np.float64]  #: at most the exact value
    hi: NDArray[np.float64]  #: at least the exact value


class _Vector:
    """n enclosures, of numbers or of text such as '1/3' or '0.1', which are read exactly up to `precision`."""

    def __init__(self, n: int, precision: int, numbers: Sequence[Number] = ()):
        self.library, self.n = _library.reference(), n
        self.data = self.library.phibal_enclosure_vector(n, precision)
        if not self.data:
            raise MemoryError(f"no memory for {n} enclosures of {precision} bits")
        for e, number in enumerate(numbers):
            at = ctypes.pointer(self.data[e])
            if isinstance(number, str):
                _require(self.library, self.library.phibal_enclosure_set_str(at, number.encode()))
            else:
                number = float(number)
                if number != number:
                    raise _library.DomainError(f"coordinate {e + 1}: expected a number, got NaN")
                self.library.phibal_enclosure_set_d(at, number)

    def __del__(self):
        if getattr(self, "data", None):
            self.library.phibal_enclosure_vector_clear(self.data, self.n)

    def read(self) -> Enclosed:
        end = lambda name, way: np.array([self.library.mpfr_get_d(byref(getattr(self.data[e], name)), way)
                                          for e in range(self.n)])
        return Enclosed(end("lo", _DOWN), end("hi", _UP))


def _require(library: ctypes.CDLL, status: int) -> None:
    _library.require(status)


class _ReferencePotential(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("parameter", _library.Enclosure)]


class Potential:
    """A potential by its name, such as 'tsallis', and its parameter: a number (exactly that binary64 number) or text
    such as '1/3', which stands for the real number; the default of the catalogue where None.

    Errors: ValueError (DomainError) where a gradient does not exist at the argument, ArithmeticError where the
    precision does not decide, ValueError for a name or parameter that is not valid."""

    def __init__(self, name: str, parameter: Optional[Number] = None, precision: int = 128):
        if not isinstance(precision, int) or not 32 <= precision <= 1 << 20:
            raise ValueError(f"precision: expected 32 to {1 << 20} bits, got {precision!r}")
        near = float(_Vector(1, 64, [parameter]).read().lo[0]) if isinstance(parameter, str) else parameter
        self.kernel = _library.find_potential(name, near)
        self.name, self.precision = name, precision
        self._parameter = _Vector(1, precision, [self.kernel.parameter if parameter is None else parameter])
        self._phi = _ReferencePotential(self.kernel.id, self._parameter.data[0])

    def _evaluate(self, function: str, x, size=None) -> Enclosed:
        if isinstance(x, (str, bytes)):
            raise TypeError("expected a sequence of numbers, got text")
        n = len(x)
        if n < 1:
            raise ValueError("expected at least one coordinate")
        argument = _Vector(n, self.precision, x)
        result = _Vector(size or n, self.precision)
        call = getattr(argument.library, "phibal_reference_" + function)
        _require(argument.library, call(byref(self._phi), n, argument.data, result.data))
        return result.read()

    def value(self, x) -> Enclosed:
        """phi(x) (.v), +inf outside the domain; x: [E]. Both ends are arrays of one element."""
        return self._evaluate("value", x, 1)

    def gradient(self, x) -> Enclosed:
        """grad phi(x) (.g), [E]: the exact prices at loads x."""
        return self._evaluate("gradient", x)

    def hessian(self, x) -> Enclosed:
        """(.h): the diagonal [E]; for renyi the matrix, row by row, [E * E]."""
        return self._evaluate("hessian", x, len(x) ** 2 if self.name == "renyi" else len(x))

    def conjugate(self, y) -> Enclosed:
        """phi*(y) (.c), +inf outside the dual domain. Both ends are arrays of one element."""
        return self._evaluate("conjugate", y, 1)

    def conjugate_gradient(self, y) -> Enclosed:
        """grad phi*(y) (.d), [E]: the loads at prices y."""
        return self._evaluate("conjugate_gradient", y)


def audit(potential: str, *options: str) -> dict:
    """The certificate of `phibal audit` (spec/AUDIT.md, spec/audit-certificate.schema.json) of a .phi file, by its path, or
    of a built-in potential, by its name. options: those of the command, such as '--param=alpha=1/2' or '--quick'.

    ValueError with the command's message where the file or an option is wrong."""
    given = [potential] if potential.endswith(".phi") else ["--potential", potential]
    run = subprocess.run([_library.command(), "audit", *given, *options, "--json"], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise _library.ArgumentError(run.stderr.strip())
    return json.loads(run.stdout)
