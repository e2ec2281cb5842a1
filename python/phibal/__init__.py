"""phi-balancing for mixture-of-experts training, and a judge for router kernels.

phibal.numpy      kernels on numpy arrays
phibal.reference  potentials in certified enclosures
phibal.torch      differentiable operators and balancing modules for PyTorch
phibal.check      marks a test that the judge decides (pytest); phibal.vectors: its cases as arrays
phibal.play       plays scripts of events to a balancing class and judges its state
"""
from __future__ import annotations

from ._library import (ArgumentError, DomainError, Error, FormatError, NonFiniteError, UndecidedError, UnsupportedError,
                       command, instruction_set, set_threads)
from .reference import Enclosed, Potential, audit
from .verify import Case, Report, check, judge, play, vectors

__all__ = ["ArgumentError", "Case", "DomainError", "Enclosed", "Error", "FormatError", "NonFiniteError", "Potential",
           "Report", "UndecidedError", "UnsupportedError", "audit", "check", "command", "instruction_set", "judge",
           "play", "set_threads", "vectors"]
